"""Which model it is to be: the options that tell of it, and what comes of them.

The demo model needs nothing, and nothing of what the others need is imported for it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from acp_agent.models.demo import DemoModel
from acp_agent.models.model import Model
from acp_agent.models.services import SERVICES, SettingsError, service_found
from acp_agent.models.wishes import Prices, Wishes

if TYPE_CHECKING:
    from acp_agent.models.endpoint import Tape

EFFORTS: Final = ("low", "medium", "high")
LEAST_THOUGHT: Final = 1024
"""Tokens that a model has to be given for its thoughts if their number is told."""
_BY_TOKENS: Final = frozenset({"anthropic", "openrouter"})
"""Services that can be told with how many tokens to think."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a model, and tell of it."""
    group = parser.add_argument_group(
        "model", "Keys and addresses come from the environment, see docs/models.md."
    )
    prefixes = ", ".join(SERVICES)
    group.add_argument(
        "--model",
        type=_model,
        default=DemoModel.name,
        metavar="NAME",
        help="who decides what is said and done: demo, or SERVICE:NAME as in ollama:qwen3; "
        f"services: {prefixes} (default: %(default)s)",
    )
    group.add_argument(
        "--thinking",
        type=_thinking,
        metavar="EFFORT",
        help="how hard to think before answering: low, medium, high, or a number of tokens",
    )
    group.add_argument(
        "--max-tokens", type=_tokens, metavar="N", help="the most that one reply may be long"
    )
    group.add_argument(
        "--window",
        type=_tokens,
        metavar="N",
        help="tokens that the model can bear in mind, to tell the client how full that is",
    )
    group.add_argument(
        "--prices",
        type=_prices,
        metavar="IN/OUT",
        help="US dollars for a million tokens read and written, to tell the client the cost; "
        "IN/OUT/CACHED/CACHING with those of a cache",
    )
    group.add_argument(
        "--images",
        action=argparse.BooleanOptionalAction,
        help="whether the model looks at images (default: as the service's models mostly do)",
    )
    group.add_argument(
        "--cassette", type=Path, metavar="FILE", help="keep the traffic with the model in a file"
    )
    group.add_argument(
        "--cassette-mode",
        choices=("record", "replay"),
        default="replay",
        help="write the file, or let it answer instead of the service (default: %(default)s)",
    )


def chosen(options: argparse.Namespace, environment: Mapping[str, str]) -> Model:
    """Return the model that the options want.

    Raises:
        SettingsError: what was set cannot be; the message tells why.
    """
    name: str = options.model
    if name == DemoModel.name:
        if options.cassette is not None:
            raise SettingsError("The demo model has no traffic that a cassette could hold.")
        return DemoModel()
    wishes = Wishes(
        thinking=options.thinking,
        max_tokens=options.max_tokens,
        window=options.window,
        prices=options.prices,
        images=options.images,
    )
    prefix, _, rest = name.partition(":")
    if isinstance(wishes.thinking, int) and prefix not in _BY_TOKENS:
        raise SettingsError(
            f"{SERVICES[prefix].title} is told an effort, not a number of tokens: "
            "--thinking low, medium or high."
        )
    service = service_found(prefix, environment)
    tape = _tape(options.cassette, options.cassette_mode)
    # What follows takes longer to import than the rest of the agent takes to start.
    match service.speech:
        case "openai":
            from acp_agent.models.openai import ChatModel

            return ChatModel(service, rest, wishes, tape=tape)
        case "anthropic":
            from acp_agent.models.anthropic import MessagesModel

            return MessagesModel(service, rest, wishes, tape=tape)
        case _:
            assert_never(service.speech)


def _tape(path: Path | None, mode: str) -> Tape | None:
    if path is None:
        return None
    from acp_agent.models.cassette import RecordingCassette, ReplayingCassette

    return RecordingCassette(path) if mode == "record" else ReplayingCassette(path)


def _model(name: str) -> str:
    if name == DemoModel.name:
        return name
    prefix, colon, rest = name.partition(":")
    if prefix not in SERVICES or not colon or not rest.strip() or not rest.isprintable():
        known = ", ".join(f"{each}:NAME" for each in SERVICES)
        raise argparse.ArgumentTypeError(f"{name!r} is none of {DemoModel.name}, {known}")
    return name


def _thinking(told: str) -> str | int:
    if told in EFFORTS:
        return told
    if not re.fullmatch(r"\d{1,9}", told, re.ASCII) or int(told) < LEAST_THOUGHT:
        raise argparse.ArgumentTypeError(
            f"{told!r} is none of {', '.join(EFFORTS)}, and no number from {LEAST_THOUGHT} on"
        )
    return int(told)


def _tokens(told: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", told, re.ASCII):
        raise argparse.ArgumentTypeError(f"{told!r} is no number of tokens")
    return int(told)


def _prices(told: str) -> Prices:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?(/\d{1,6}(\.\d{1,6})?){1,3}", told, re.ASCII):
        raise argparse.ArgumentTypeError(f"{told!r} are no prices like 3/15 or 3/15/0.3/3.75")
    return Prices(*map(float, told.split("/")))
