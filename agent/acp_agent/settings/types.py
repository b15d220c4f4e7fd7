"""Types of settings: how a file, an environment variable, or a flag writes a value.

Each is a pydantic type that carries a `Written`. Error messages never repeat a value: it may be a
secret in the wrong place.
"""

from __future__ import annotations

import argparse
import ipaddress
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, TypeGuard, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationInfo

from acp_agent.net import PrivateHosts
from acp_protocol.host.arguments import parse_duration
from acp_protocol.net import UNIX, is_host_name, is_origin, is_server_address
from acp_protocol.schema.words import ToolKind

UNIT_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
NEVER: Final = "never"
MEMORY: Final = "memory"
HIDDEN: Final = "***"
"""Shown instead of a password."""
_USER_PASSWORD: Final = re.compile(r"(://[^:@/?]*:).*@")
_PASSWORD_PARAMETER: Final = re.compile(r"([?&](?:ssl)?password=)[^&]*")
MIN_DURATION_S: Final = 0.001
MAX_DURATION_S: Final = 366 * 86400.0
"""A longer duration is taken for a typing error."""
MAX_NUMBER: Final = 10**9
_WORDS: Final[dict[str, bool]] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class InvalidSettingError(argparse.ArgumentTypeError, ValueError):
    """A value has the wrong type; the message says which values are valid."""


@dataclass(frozen=True, slots=True)
class Written:
    """How values of a type are written."""

    expected: str
    """Completes the sentence "must be …"."""
    from_text: Callable[[str], object] | None = str
    """Converts the text of a variable or a flag to what a file would hold; None: only files."""
    dump: Callable[[Any], object] = lambda value: value
    """Converts a value to what a file would hold."""
    none: str | None = None
    """How None is written, if it is a value."""
    choices: tuple[str, ...] = ()


class Section(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), hide_input_in_errors=True
    )


def setting(default: Any, about: str, flag: str = "", *, is_secret: bool = False) -> Any:
    """Return the field of a key; `flag` may have a metavar behind it."""
    return Field(default, description=about, repr=not is_secret, json_schema_extra={"flag": flag})


def one_of(choices: Collection[str]) -> Written:
    """Return how one of these values is written."""
    return Written(f"one of {', '.join(choices)}", choices=tuple(choices))


def among(choices: Collection[str]) -> AfterValidator:
    """Return a check that a string is one of these."""

    def check(value: str) -> str:
        if value not in choices:
            raise ValueError
        return value

    return AfterValidator(check)


def number_from_text(text: str) -> object:
    """Return the number that `text` spells, or `text` itself."""
    return int(text) if re.fullmatch(r"\d{1,1000}", text, re.ASCII) else text


def parse_seconds(text: str) -> float:
    """Return the seconds that a flag gives, 0 or more.

    Raises:
        InvalidSettingError: it is no such number.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MAX_DURATION_S:
        raise InvalidSettingError("must be a number of seconds")
    return seconds


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")] if text.strip() else []


def _check_text(text: object) -> str:
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError
    return text


def _is_number(raw: object) -> TypeGuard[int | float]:
    return isinstance(raw, int | float) and not isinstance(raw, bool)


def _duration(raw: object) -> float:
    """Return seconds; `raw` is a number of them, or a string like 90s, 30m, 1h."""
    # A number may be too large for a float.
    seconds = min(raw, MAX_DURATION_S + 1) if _is_number(raw) else parse_duration(str(raw))
    if not MIN_DURATION_S <= seconds <= MAX_DURATION_S:
        raise ValueError
    return round(float(seconds), 3)


def _duration_or_none(raw: object) -> float | None:
    return None if raw is None or raw == NEVER else _duration(raw)


def _dump_duration(seconds: float) -> str:
    unit = [unit for unit, length in UNIT_SECONDS.items() if seconds % length == 0 or unit == "s"]
    return f"{seconds / UNIT_SECONDS[unit[-1]]:.15g}{unit[-1]}"


def _path(raw: object, info: ValidationInfo) -> Path:
    """Return a path; a relative one starts from the directory that the context names."""
    path = raw if isinstance(raw, Path) else Path(_check_text(raw))
    try:
        return (info.context or Path()) / path.expanduser()
    except RuntimeError:
        raise ValueError from None


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """The URL of a PostgreSQL database; it may hold a password, which `str` leaves out."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        hidden = _USER_PASSWORD.sub(rf"\1{HIDDEN}@", self.url)
        return _PASSWORD_PARAMETER.sub(rf"\1{HIDDEN}", hidden)

    @property
    def has_password(self) -> bool:
        """Whether the URL itself holds a password."""
        return str(self) != self.url


def _storage(raw: object, info: ValidationInfo) -> Path | DatabaseUrl | None:
    if raw is None or raw == MEMORY:
        return None
    if isinstance(raw, DatabaseUrl):
        return raw
    if isinstance(raw, str) and (url := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", raw)):
        parts = urlsplit(raw)
        if url[1] not in {"postgresql", "postgres"} or not raw.isprintable() or parts.fragment:
            raise ValueError
        return DatabaseUrl(raw)
    return _path(raw, info)


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    bad = "@" in parts.netloc or parts.query or parts.fragment or not url.isprintable()
    if parts.scheme not in {"http", "https"} or not parts.hostname or bad or parts.port == 0:
        raise ValueError
    return url.rstrip("/")


def _check_address(address: str, info: ValidationInfo) -> str:
    if address.startswith(UNIX):
        return f"{UNIX}{_path(address.removeprefix(UNIX), info)}"
    host, colon, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    is_local = bare == "localhost" or ipaddress.ip_address(bare).is_loopback
    if not colon or not port.isdecimal() or not 0 <= int(port) < 2**16 or not is_local:
        raise ValueError
    return address


def _check_server_address(address: str, info: ValidationInfo) -> str:
    if address.startswith(UNIX):
        return f"{UNIX}{_path(address.removeprefix(UNIX), info)}"
    if not is_server_address(address):
        raise ValueError
    return address


def _check_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    if not all(map(is_origin, origins)):
        raise ValueError
    return origins


def _check_host_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if not all(map(is_host_name, names)):
        raise ValueError
    return names


def _check_files(names: tuple[str, ...]) -> tuple[str, ...]:
    for path in map(PurePosixPath, names):
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError
    return names


def _check_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    PrivateHosts(hosts)
    return hosts


def _boolean_from_text(text: str) -> object:
    return _WORDS.get(text.strip().lower(), text)


Boolean = Annotated[bool, Field(strict=True), Written("true or false", _boolean_from_text)]
Text = Annotated[str, AfterValidator(_check_text), Written("a non-empty string")]
Count = Annotated[
    int,
    Field(strict=True, ge=1, le=MAX_NUMBER),
    Written("a whole number of at least 1", number_from_text),
]
Duration = Annotated[
    float,
    PlainValidator(_duration),
    Written("a duration like 90s, 30m or 1h", dump=_dump_duration),
]
DurationOrNever = Annotated[
    float | None,
    PlainValidator(_duration_or_none),
    Written(f"a duration like 90s, 30m or 1h, or {NEVER}", dump=_dump_duration, none=NEVER),
]
PathText = Annotated[
    Path, PlainValidator(_path), Written("the path of a file or a directory", dump=str)
]
Storage = Annotated[
    Path | DatabaseUrl | None,
    PlainValidator(_storage),
    Written(
        f"{MEMORY}, the path of a directory, or postgresql://USER@HOST/DATABASE",
        dump=str,
        none=MEMORY,
    ),
]
Variable = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"),
    Written("the name of an environment variable, not its value"),
]
Namespace = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"),
    Written("a name of letters, digits, dots, hyphens, underscores"),
]
Url = Annotated[
    Text,
    AfterValidator(_check_url),
    Written("a URL with http:// or https://, without user, password, query and fragment"),
]
Texts = Annotated[tuple[Text, ...], Written("a list of strings", _split, list)]
ToolKinds = Annotated[
    tuple[ToolKind, ...],
    Written(f"a list with some of {', '.join(get_args(ToolKind))}", _split, list),
]
Files = Annotated[
    tuple[Text, ...],
    AfterValidator(_check_files),
    Written("a list of relative paths of files, without ..", _split, list),
]
Hosts = Annotated[
    tuple[Text, ...],
    AfterValidator(_check_hosts),
    Written(
        "a list of hosts: names such as wiki.intra and *.intra, addresses, networks such as "
        "10.0.0.0/8",
        _split,
        list,
    ),
]
Address = Annotated[
    Text,
    AfterValidator(_check_address),
    Written("HOST:PORT on this machine, such as 127.0.0.1:8127, or unix:FILE"),
]
ServerAddress = Annotated[
    Text,
    AfterValidator(_check_server_address),
    Written("ADDRESS:PORT, such as 127.0.0.1:8765, or unix:FILE"),
]
Origins = Annotated[
    tuple[Text, ...],
    AfterValidator(_check_origins),
    Written("a list of origins such as https://pages.example:8080", _split, list),
]
HostNames = Annotated[
    tuple[Text, ...],
    AfterValidator(_check_host_names),
    Written("a list of names such as agents.example or 10.0.0.7:8765, in lower case", _split, list),
]
