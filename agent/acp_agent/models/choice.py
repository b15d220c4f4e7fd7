"""Which models are to be there: what can be set about one, and what comes of it.

The demo model needs nothing, and nothing of what the others need is imported for it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from acp_agent.config.values import PATH, Kind, UnfitError, whole
from acp_agent.models.demo import DemoModel
from acp_agent.models.keyring import keyring
from acp_agent.models.model import Effort, Model, ModelOptions, Prices, takes_images
from acp_agent.models.routed import RoutedModel
from acp_agent.models.services import SERVICES, Service, SettingsError, service_at, service_found

if TYPE_CHECKING:
    from acp_agent.models.http import Tape

EFFORTS: Final[tuple[Effort, ...]] = ("low", "medium", "high")
LEAST_THOUGHT: Final = 1024
"""Tokens that a model has to be given for its thoughts if their number is told."""
_BY_TOKENS: Final = frozenset({"anthropic", "openrouter"})
"""Services that can be told with how many tokens to think."""
ALL: Final = "*"
"""Stands for each model that a service has."""
_ELSEWHERE: Final = (
    "another service that speaks chat completions is openai:NAME at OPENAI_BASE_URL or base_url"
)
_NAMES: Final = ", ".join(f"{each}:NAME" for each in SERVICES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model, and what its user wants of it; None leaves it to the service."""

    name: str = DemoModel.name
    """The demo, or SERVICE:NAME."""
    base_url: str | None = None
    """Where the service is; None: where the environment says, or where everybody finds it."""
    api_key_env: str | None = None
    """The variable that holds the key; None: the service's own, unless `base_url` is set."""
    thinking: Effort | int | None = None
    max_tokens: int | None = None
    window: int | None = None
    prices: Prices | None = None
    images: bool | None = None
    system_prompt: str | None = None
    """What the model is told besides."""
    coding_agent_mode: bool = True
    """Whether the model is told how to work as a coding agent."""
    cassette: Path | None = None
    cassette_mode: str = "replay"

    @property
    def options(self) -> ModelOptions:
        """What is wanted of the model itself."""
        return ModelOptions(
            thinking=self.thinking,
            max_tokens=self.max_tokens,
            window=self.window,
            prices=self.prices,
            images=self.images,
            system_prompt=self.system_prompt,
            is_coding=self.coding_agent_mode,
        )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a model, and tell of it; those not given are left out."""
    group = parser.add_argument_group(
        "model",
        "Keys and addresses come from the environment, see docs/models.md.",
        argument_default=argparse.SUPPRESS,
    )
    prefixes = ", ".join(SERVICES)
    group.add_argument(
        "--model",
        dest="model.name",
        type=MODEL,
        metavar="NAME",
        help="who decides what is said and done: demo, or SERVICE:NAME as in ollama:qwen3, or "
        "SERVICE:* to choose from all models that it has; "
        f"services: {prefixes} (default: {DemoModel.name})",
    )
    group.add_argument(
        "--thinking",
        dest="model.thinking",
        type=THINKING,
        metavar="EFFORT",
        help="how hard to think before answering: low, medium, high, or a number of tokens",
    )
    group.add_argument(
        "--max-tokens",
        dest="model.max_tokens",
        type=TOKENS,
        metavar="N",
        help="the most that one reply may be long",
    )
    group.add_argument(
        "--window",
        dest="model.window",
        type=TOKENS,
        metavar="N",
        help="tokens that the model can bear in mind, to tell the client how full that is",
    )
    group.add_argument(
        "--prices",
        dest="model.prices",
        type=PRICES,
        metavar="IN/OUT",
        help="US dollars for a million tokens read and written, to tell the client the cost; "
        "IN/OUT/CACHED/CACHING with those of a cache",
    )
    group.add_argument(
        "--images",
        dest="model.images",
        action=argparse.BooleanOptionalAction,
        help="whether the model looks at images (default: as the service's models mostly do)",
    )
    group.add_argument(
        "--cassette",
        dest="model.cassette",
        type=PATH,
        metavar="FILE",
        help="keep the traffic with the model in a file",
    )
    group.add_argument(
        "--cassette-mode",
        dest="model.cassette_mode",
        choices=CASSETTE_MODES,
        help="write the file, or let it answer instead of the service (default: replay)",
    )


def chosen(choice: ModelChoice, environment: Mapping[str, str]) -> Model:
    """Return the model that is wanted.

    Raises:
        SettingsError: what was set cannot be; the message tells why.
    """
    check(choice)
    if choice.name == DemoModel.name:
        return DemoModel()
    prefix, _, rest = choice.name.partition(":")
    tape = _tape(choice.cassette, choice.cassette_mode)

    def found() -> Service:
        return _service(prefix, choice, environment)

    def made(service: Service, effort: Effort | None) -> Model:
        options = choice.options if effort is None else replace(choice.options, thinking=effort)
        # What follows takes longer to import than the rest of the agent takes to start.
        match service.speech:
            case "openai":
                from acp_agent.models.openai import ChatModel

                return ChatModel(service, rest, options, tape=tape)
            case "anthropic":
                from acp_agent.models.anthropic import MessagesModel

                return MessagesModel(service, rest, options, tape=tape)
            case _:
                assert_never(service.speech)

    def forget() -> None:
        keyring(environment).remove(prefix)

    is_replayed = tape is not None and tape.is_replayed
    return RoutedModel(found, made, forget=forget, is_replayed=is_replayed)


def expanded(choice: ModelChoice, environment: Mapping[str, str]) -> list[ModelChoice]:
    """Return `choice`; where it wants all models of a service, one for each that it has now.

    Raises:
        SettingsError: the service does not say which it has.
    """
    prefix, _, rest = choice.name.partition(":")
    if rest != ALL:
        return [choice]
    if choice.cassette is not None:
        raise SettingsError("A cassette holds the traffic with one model, not with all.")
    from acp_agent.models.model_list import list_models

    names = list_models(_service(prefix, choice, environment))
    return [replace(choice, name=f"{prefix}:{name}") for name in names]


def check(choice: ModelChoice) -> None:
    """Look whether what is wanted of a model goes together.

    Raises:
        SettingsError: it does not; the message tells why.
    """
    if choice.name == DemoModel.name:
        if choice.cassette is not None:
            raise SettingsError("The demo model has no traffic that a cassette could hold.")
        return
    prefix = choice.name.partition(":")[0]
    if isinstance(choice.thinking, int) and prefix not in _BY_TOKENS:
        raise SettingsError(
            f"{SERVICES[prefix].title} is told an effort, not a number of tokens: "
            "thinking may be low, medium or high."
        )


def looks_at_images(choice: ModelChoice) -> bool:
    """Return whether that model looks at images."""
    if choice.name == DemoModel.name:
        return takes_images(DemoModel())
    if choice.images is not None:
        return choice.images
    return SERVICES[choice.name.partition(":")[0]].takes_images


def full_name(name: str, service: str | None = None) -> str:
    """Return the name of a model with its service before it.

    Raises:
        UnfitError: it has none that is known, or that of another service.
    """
    named = name.partition(":")[0]
    if service is not None and ":" in name and named in SERVICES and named != service:
        raise UnfitError(f"must be a model of {service}, not of {named}; one of the two has to go")
    if service is not None and not name.startswith(f"{service}:"):
        name = f"{service}:{name}"
    if name == DemoModel.name:
        return name
    prefix, colon, rest = name.partition(":")
    if prefix not in SERVICES or not colon or not rest.strip() or not rest.isprintable():
        hint = f"; {_ELSEWHERE}" if colon and prefix not in SERVICES else ""
        raise UnfitError(f"must be one of {DemoModel.name}, {_NAMES}{hint}")
    return name


def _service(prefix: str, choice: ModelChoice, environment: Mapping[str, str]) -> Service:
    if choice.base_url is None and choice.api_key_env is None:
        service = service_found(prefix, environment)
        if service.needs_key and service.key is None:
            # Typed in for the service itself, so it goes nowhere else.
            service = replace(
                service,
                key=keyring(environment).get(prefix),
                key_origin="that was typed in",
                is_bearer=service.speech != "anthropic",
                takes_typed=True,
            )
        return service
    return service_at(prefix, choice.base_url, choice.api_key_env, environment)


def _tape(path: Path | None, mode: str) -> Tape | None:
    if path is None:
        return None
    from acp_agent.models.cassette import RecordingCassette, ReplayingCassette

    return RecordingCassette(path) if mode == "record" else ReplayingCassette(path)


def _read_thinking(raw: object) -> Effort | int:
    for effort in EFFORTS:
        if raw == effort:
            return effort
    if type(raw) is not int or not LEAST_THOUGHT <= raw < 10**9:
        raise ValueError
    return raw


def _raw_thinking(told: str) -> object:
    return int(told) if re.fullmatch(r"\d{1,9}", told, re.ASCII) else told


def _read_prices(raw: object) -> Prices:
    if not isinstance(raw, str) or not _PRICES.fullmatch(raw):
        raise ValueError
    return Prices(*map(float, raw.split("/")))


def _write_prices(prices: Prices) -> str:
    told = (prices.read, prices.written, prices.cached_read, prices.cached_written)
    return "/".join(f"{each:g}" for each in told if each is not None)


_PRICES: Final = re.compile(r"\d{1,6}(\.\d{1,6})?(/\d{1,6}(\.\d{1,6})?){1,3}", re.ASCII)
CASSETTE_MODES: Final = ("record", "replay")
MODEL: Final = Kind(f"one of {DemoModel.name}, {_NAMES}", full_name)
THINKING: Final = Kind(
    f"one of {', '.join(EFFORTS)}, or a whole number of at least {LEAST_THOUGHT}",
    _read_thinking,
    _raw_thinking,
)
TOKENS: Final = whole(1)
PRICES: Final = Kind("prices like 3/15 or 3/15/0.3/3.75", _read_prices, write=_write_prices)
