"""The settings of one model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from acp_agent.settings.providers import PROVIDERS
from acp_agent.settings.types import (
    BOOLEAN,
    COUNT,
    TEXT,
    URL,
    VARIABLE,
    InvalidSettingError,
    SettingType,
    number_from_text,
    one_of,
    setting,
)

Effort = Literal["low", "medium", "high"]
DEMO: Final = "demo"
EFFORTS: Final[tuple[Effort, ...]] = get_args(Effort)
MIN_THINKING_TOKENS: Final = 1024
_PRICES: Final = re.compile(r"\d{1,6}(\.\d{1,6})?(/\d{1,6}(\.\d{1,6})?){1,3}", re.ASCII)
_NAMES: Final = f"one of {DEMO}, {', '.join(f'{each}:NAME' for each in PROVIDERS)}"


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; caching costs as much as reading unless it is set."""

    read: float
    written: float
    cached_read: float | None = None
    cached_written: float | None = None

    def __str__(self) -> str:
        each = (self.read, self.written, self.cached_read, self.cached_written)
        return "/".join(f"{price:g}" for price in each if price is not None)


def _parse_thinking(raw: object) -> object:
    if raw in EFFORTS or (type(raw) is int and MIN_THINKING_TOKENS <= raw < 10**9):
        return raw
    raise ValueError


def _parse_prices(raw: object) -> Prices:
    if not isinstance(raw, str) or not _PRICES.fullmatch(raw):
        raise ValueError
    return Prices(*map(float, raw.split("/")))


def full_name(name: str, service: str | None = None) -> str:
    """Return the name of a model with its provider before it.

    Raises:
        InvalidSettingError: the provider is missing, unknown, or not `service`.
    """
    prefix, colon, _ = name.partition(":")
    if service is not None and colon and prefix in PROVIDERS and prefix != service:
        raise InvalidSettingError(
            f"must be a model of {service}, not of {prefix}; one of the two has to go"
        )
    if service is not None and not name.startswith(f"{service}:"):
        name = f"{service}:{name}"
    if name == DEMO:
        return name
    prefix, colon, rest = name.partition(":")
    if colon and prefix not in PROVIDERS:
        raise InvalidSettingError(
            f"must be {_NAMES}; another service that speaks chat completions is openai:NAME at "
            "OPENAI_BASE_URL or base_url"
        )
    if not rest.strip() or not rest.isprintable():
        raise InvalidSettingError(f"must be {_NAMES}")
    return name


THINKING: Final = SettingType(
    f"one of {', '.join(EFFORTS)}, or a whole number of at least {MIN_THINKING_TOKENS}",
    _parse_thinking,
    number_from_text,
)
PRICES: Final = SettingType("prices like 3/15 or 3/15/0.3/3.75", _parse_prices, str, str)
MODEL: Final = SettingType(_NAMES, full_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """A model and its options; None leaves an option to the provider."""

    service: str | None = setting(
        None, one_of(*PROVIDERS), "the provider of the model, if its name has no prefix"
    )
    """Only files and variables set it: `name` begins with the provider once they are read."""
    name: str = setting(
        DEMO,
        TEXT,
        'model to use: "demo" or PROVIDER:NAME, e.g. ollama:qwen3; PROVIDER:* for all models that '
        "the provider has",
        "--model NAME",
    )
    base_url: str | None = setting(
        None, URL, "the provider's URL; requests to it carry no key but that of api_key_env"
    )
    """None: the URL in the environment, or the provider's own."""
    api_key_env: str | None = setting(None, VARIABLE, "the environment variable that holds the key")
    """None: the provider's own variable, unless `base_url` is set."""
    thinking: Effort | int | None = setting(
        None,
        THINKING,
        "how hard to think before answering: low, medium, high, or a number of tokens",
        "--thinking EFFORT",
    )
    max_tokens: int | None = setting(None, COUNT, "the longest reply, in tokens", "--max-tokens N")
    window: int | None = setting(
        None,
        COUNT,
        "the context window of the model, in tokens, to show how full it is",
        "--window N",
    )
    prices: Prices | None = setting(
        None,
        PRICES,
        "US dollars per million tokens read and written, to show the cost: IN/OUT, or "
        "IN/OUT/CACHED/CACHING with those of a cache",
        "--prices IN/OUT",
    )
    images: bool | None = setting(None, BOOLEAN, "whether the model accepts images", "--images")
    system_prompt: str | None = setting(None, TEXT, "text to add to the system prompt of the model")
    coding_agent_mode: bool = setting(
        True, BOOLEAN, "whether the system prompt says how to work as a coding agent"
    )

    @property
    def provider(self) -> str:
        """The prefix of the model's provider."""
        return self.name.partition(":")[0]
