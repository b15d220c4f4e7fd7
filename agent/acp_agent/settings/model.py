"""The settings of one model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, cast, get_args

from pydantic import PlainValidator, ValidationInfo, field_validator

from acp_agent.settings.providers import PROVIDERS
from acp_agent.settings.types import (
    Boolean,
    Count,
    InvalidSettingError,
    Section,
    Text,
    Url,
    Variable,
    Written,
    among,
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


def _thinking(raw: object) -> Effort | int:
    is_number = type(raw) is int and MIN_THINKING_TOKENS <= raw < 10**9
    if not is_number and raw not in EFFORTS:
        raise ValueError
    return cast("Effort | int", raw)


def _prices(raw: object) -> Prices:
    if isinstance(raw, Prices):
        return raw
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


Thinking = Annotated[
    Effort | int,
    PlainValidator(_thinking),
    Written(
        f"one of {', '.join(EFFORTS)}, or a whole number of at least {MIN_THINKING_TOKENS}",
        number_from_text,
    ),
]
PricesText = Annotated[
    Prices, PlainValidator(_prices), Written("prices like 3/15 or 3/15/0.3/3.75", dump=str)
]
MAX_TEMPERATURE: Final = 2.0


def parse_temperature(raw: object) -> float:
    """Return the temperature that `raw` is, as a number or as text.

    Raises:
        ValueError: it is none.
    """
    is_number = isinstance(raw, int | float) and not isinstance(raw, bool)
    if not is_number or not 0 <= cast("float", raw) <= MAX_TEMPERATURE:
        raise ValueError
    return float(cast("float", raw))


def _temperature_from_text(text: str) -> object:
    is_number = re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII)
    return float(text) if is_number else text


Temperature = Annotated[
    float,
    PlainValidator(parse_temperature),
    Written(f"a number from 0 to {MAX_TEMPERATURE:g}", _temperature_from_text),
]
Service = Annotated[str, among(PROVIDERS), one_of(PROVIDERS)]


class ModelSettings(Section):
    """A model and its options; None leaves an option to the provider."""

    service: Service | None = setting(None, "the provider of the model, if its name has no prefix")
    """Only files and variables set it: `name` begins with the provider once they are read."""
    name: Text = setting(
        DEMO,
        'model to use: "demo" or PROVIDER:NAME, e.g. ollama:qwen3; PROVIDER:* for all models that '
        "the provider has",
        "--model NAME",
    )
    base_url: Url | None = setting(
        None, "the provider's URL; requests to it carry no key but that of api_key_env"
    )
    """None: the URL in the environment, or the provider's own."""
    api_key_env: Variable | None = setting(None, "the environment variable that holds the key")
    """None: the provider's own variable, unless `base_url` is set."""
    thinking: Thinking | None = setting(
        None,
        "how hard to think before answering: low, medium, high, or a number of tokens",
        "--thinking EFFORT",
    )
    max_tokens: Count | None = setting(None, "the longest reply, in tokens", "--max-tokens N")
    temperature: Temperature | None = setting(
        None,
        "how freely the model chooses its words, from 0 to 2; models that think may take none",
        "--temperature N",
    )
    stream: Boolean = setting(True, "whether a reply is requested piece by piece, or as a whole")
    window: Count | None = setting(
        None,
        "the context window of the model, in tokens, to show how full it is",
        "--window N",
    )
    prices: PricesText | None = setting(
        None,
        "US dollars per million tokens read and written, to show the cost: IN/OUT, or "
        "IN/OUT/CACHED/CACHING with those of a cache",
        "--prices IN/OUT",
    )
    images: Boolean | None = setting(None, "whether the model accepts images", "--images")
    system_prompt: Text | None = setting(None, "text to add to the system prompt of the model")
    coding_agent_mode: Boolean = setting(
        True, "whether the system prompt says how to work as a coding agent"
    )

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str, info: ValidationInfo) -> str:
        return full_name(name, info.data.get("service"))

    @property
    def provider(self) -> str:
        """The prefix of the model's provider."""
        return self.name.partition(":")[0]
