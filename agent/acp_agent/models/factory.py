"""Which models are to be there: what can be set about one, and what comes of it.

The demo model needs nothing, and nothing of what the others need is imported for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, assert_never

from acp_agent.models.demo import DemoModel
from acp_agent.models.keys import keyring
from acp_agent.models.providers import (
    PROVIDERS,
    Provider,
    SettingsError,
    provider_at,
    provider_from_environment,
)
from acp_agent.models.routed import ProviderModel
from acp_agent.models.types import Effort, Model, ModelOptions, Prices, takes_images
from acp_agent.setting_types import (
    BOOLEAN,
    PATH,
    TEXT,
    URL,
    VARIABLE,
    InvalidSettingError,
    Key,
    SettingType,
    number_from_text,
    one_of,
    whole,
)

if TYPE_CHECKING:
    from acp_agent.models.http import Cassette

EFFORTS: Final[tuple[Effort, ...]] = ("low", "medium", "high")
LEAST_THOUGHT: Final = 1024
"""Tokens that a model has to be given for its thoughts if their number is told."""
_BY_TOKENS: Final = frozenset({"anthropic", "openrouter"})
"""Services that can be set with how many tokens to think."""
ALL: Final = "*"
"""Stands for each model that a service has."""
_ELSEWHERE: Final = (
    "another service that speaks chat completions is openai:NAME at OPENAI_BASE_URL or base_url"
)
_NAMES: Final = ", ".join(f"{each}:NAME" for each in PROVIDERS)


def _parse_thinking(raw: object) -> Effort | int:
    for effort in EFFORTS:
        if raw == effort:
            return effort
    if type(raw) is not int or not LEAST_THOUGHT <= raw < 10**9:
        raise ValueError
    return raw


def _parse_prices(raw: object) -> Prices:
    if not isinstance(raw, str) or not _PRICES.fullmatch(raw):
        raise ValueError
    return Prices(*map(float, raw.split("/")))


def _dump_prices(prices: Prices) -> str:
    each = (prices.read, prices.written, prices.cached_read, prices.cached_written)
    return "/".join(f"{price:g}" for price in each if price is not None)


_PRICES: Final = re.compile(r"\d{1,6}(\.\d{1,6})?(/\d{1,6}(\.\d{1,6})?){1,3}", re.ASCII)
CASSETTE_MODES: Final = ("record", "replay")
THINKING: Final = SettingType(
    f"one of {', '.join(EFFORTS)}, or a whole number of at least {LEAST_THOUGHT}",
    _parse_thinking,
    number_from_text,
)
TOKENS: Final = whole(1)
PRICES: Final = SettingType("prices like 3/15 or 3/15/0.3/3.75", _parse_prices, str, _dump_prices)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """A model and its options; None leaves an option to the provider."""

    service: Annotated[
        str | None, one_of(*PROVIDERS), Key("the provider of the model, if its name has no prefix")
    ] = None
    """Only files and variables set it: `name` begins with the provider once they are read."""
    name: Annotated[
        str,
        TEXT,
        Key(
            'model to use: "demo" or PROVIDER:NAME, e.g. ollama:qwen3; PROVIDER:* for all models '
            "that the provider has",
            "--model",
            "NAME",
        ),
    ] = DemoModel.name
    base_url: Annotated[
        str | None,
        URL,
        Key("the provider's URL; requests to it carry no key but that of api_key_env"),
    ] = None
    """None: the URL in the environment, or the provider's own."""
    api_key_env: Annotated[
        str | None, VARIABLE, Key("the environment variable that holds the key")
    ] = None
    """None: the provider's own variable, unless `base_url` is set."""
    thinking: Annotated[
        Effort | int | None,
        THINKING,
        Key(
            "how hard to think before answering: low, medium, high, or a number of tokens",
            "--thinking",
            "EFFORT",
        ),
    ] = None
    max_tokens: Annotated[
        int | None, TOKENS, Key("the longest reply, in tokens", "--max-tokens", "N")
    ] = None
    window: Annotated[
        int | None,
        TOKENS,
        Key("the context window of the model, in tokens, to show how full it is", "--window", "N"),
    ] = None
    prices: Annotated[
        Prices | None,
        PRICES,
        Key(
            "US dollars per million tokens read and written, to show the cost: IN/OUT, or "
            "IN/OUT/CACHED/CACHING with those of a cache",
            "--prices",
            "IN/OUT",
        ),
    ] = None
    images: Annotated[bool | None, BOOLEAN, Key("whether the model accepts images", "--images")] = (
        None
    )
    system_prompt: Annotated[
        str | None, TEXT, Key("text to add to the system prompt of the model")
    ] = None
    coding_agent_mode: Annotated[
        bool, BOOLEAN, Key("whether the system prompt says how to work as a coding agent")
    ] = True
    cassette: Annotated[
        Path | None, PATH, Key("a file for the HTTP traffic with the model", "--cassette", "FILE")
    ] = None
    cassette_mode: Annotated[
        str,
        one_of(*CASSETTE_MODES),
        Key(
            "record: write the cassette; replay: take responses from it instead of the provider",
            "--cassette-mode",
        ),
    ] = "replay"

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


def create_model(choice: ModelSettings, environment: Mapping[str, str]) -> Model:
    """Return the model that is wanted.

    Raises:
        SettingsError: what was set cannot be; the message tells why.
    """
    check_choice(choice)
    if choice.name == DemoModel.name:
        return DemoModel()
    prefix, _, rest = choice.name.partition(":")
    tape = _tape(choice.cassette, choice.cassette_mode)

    def found() -> Provider:
        return _service(prefix, choice, environment)

    def made(service: Provider, effort: Effort | None) -> Model:
        options = choice.options if effort is None else replace(choice.options, thinking=effort)
        # What follows takes longer to import than the rest of the agent takes to start.
        match service.api:
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
    return ProviderModel(found, made, forget=forget, is_replayed=is_replayed)


def expand_choices(choice: ModelSettings, environment: Mapping[str, str]) -> list[ModelSettings]:
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


def check_choice(choice: ModelSettings) -> None:
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
            f"{PROVIDERS[prefix].title} is told an effort, not a number of tokens: "
            "thinking may be low, medium or high."
        )


def takes_images_by_choice(choice: ModelSettings) -> bool:
    """Return whether that model looks at images."""
    if choice.name == DemoModel.name:
        return takes_images(DemoModel())
    if choice.images is not None:
        return choice.images
    return PROVIDERS[choice.name.partition(":")[0]].takes_images


def full_name(name: str, service: str | None = None) -> str:
    """Return the name of a model with its service before it.

    Raises:
        InvalidSettingError: it has none that is known, or that of another service.
    """
    named = name.partition(":")[0]
    if service is not None and ":" in name and named in PROVIDERS and named != service:
        raise InvalidSettingError(
            f"must be a model of {service}, not of {named}; one of the two has to go"
        )
    if service is not None and not name.startswith(f"{service}:"):
        name = f"{service}:{name}"
    if name == DemoModel.name:
        return name
    prefix, colon, rest = name.partition(":")
    if prefix not in PROVIDERS or not colon or not rest.strip() or not rest.isprintable():
        hint = f"; {_ELSEWHERE}" if colon and prefix not in PROVIDERS else ""
        raise InvalidSettingError(f"must be one of {DemoModel.name}, {_NAMES}{hint}")
    return name


def _service(prefix: str, choice: ModelSettings, environment: Mapping[str, str]) -> Provider:
    if choice.base_url is None and choice.api_key_env is None:
        service = provider_from_environment(prefix, environment)
        if service.needs_key and service.key is None:
            # Typed in for the service itself, so it goes nowhere else.
            service = replace(
                service,
                key=keyring(environment).get(prefix),
                key_origin="that was typed in",
                is_bearer=service.api != "anthropic",
                takes_typed=True,
            )
        return service
    return provider_at(prefix, choice.base_url, choice.api_key_env, environment)


def _tape(path: Path | None, mode: str) -> Cassette | None:
    if path is None:
        return None
    from acp_agent.models.cassette import RecordingCassette, ReplayingCassette

    return RecordingCassette(path) if mode == "record" else ReplayingCassette(path)


MODEL: Final = SettingType(f"one of {DemoModel.name}, {_NAMES}", full_name)
