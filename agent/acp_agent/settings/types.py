"""Types of settings: how a file, an environment variable, or a flag writes a value.

They serve as pydantic validators and as argparse types. Every start imports this module, so it
imports nothing heavy. Error messages never repeat a value: it may be a secret in the wrong place.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import urlsplit

from acp_protocol.host.arguments import parse_duration
from acp_protocol.host.state import AGENT_PREFIX
from acp_protocol.jsonrpc import Json

T = TypeVar("T")

PREFIX: Final = AGENT_PREFIX
"""Prefix of the environment variables that set keys."""
UNIT_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
NEVER: Final = "never"
MEMORY: Final = "memory"
UNIX: Final = "unix:"
"""Prefix of the address of a Unix domain socket."""
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
class SettingType(Generic[T]):
    """How a setting is written and read."""

    expected: str
    """Completes the sentence "must be …"."""
    parse: Callable[[Any], T]
    """Takes the value from a file; raises ValueError or TypeError if it is invalid."""
    from_text: Callable[[str], object] | None = str
    """Converts the text of a variable or a flag to what a file would hold; None: only files."""
    dump: Callable[[Any], object] = lambda value: value
    """Converts a value to what a file would hold."""
    choices: tuple[str, ...] = ()

    def validate(self, raw: object) -> T:
        """Return the value that a file writes as `raw`.

        Raises:
            InvalidSettingError: it has another type.
        """
        try:
            return self.parse(raw)
        except InvalidSettingError:
            raise
        except (TypeError, ValueError, OverflowError, RuntimeError):
            raise InvalidSettingError(f"must be {self.expected}") from None

    def __call__(self, text: str) -> T:
        """Return the value of a variable or a flag.

        Raises:
            InvalidSettingError: it has another type.
        """
        return self.validate(self.from_text(text) if self.from_text else None)


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the settings."""

    type: SettingType[Any]
    default: Any
    about: str
    flag: str | None
    metavar: str | None
    path: str = ""
    """Such as `sessions.max_concurrent`."""

    @property
    def section(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it; None for tables."""
        is_table = self.type.from_text is None
        return None if is_table else PREFIX + self.path.upper().replace(".", "_")

    def dump(self, value: Any) -> Json:
        """Return `value` as a file would hold it; None if it is not set."""
        # For these two types, None is a value.
        is_set = value is not None or self.type in (DURATION_OR_NEVER, STORAGE)
        return self.type.dump(value) if is_set else None  # pyright: ignore[reportReturnType]


def setting(
    default: Any, type_: SettingType[Any], about: str, flag: str = "", *, is_secret: bool = False
) -> Any:
    """Return a dataclass field for a setting; `flag` may have a metavar behind it."""
    name, _, metavar = flag.partition(" ")
    metadata = {"setting": Setting(type_, default, about, name or None, metavar or None)}
    if isinstance(default, dict):
        return field(default_factory=dict[str, Any], metadata=metadata, repr=not is_secret)
    return field(default=default, metadata=metadata, repr=not is_secret)


def whole(least: int, most: int = MAX_NUMBER) -> SettingType[int]:
    """Return the type of whole numbers from `least` to `most`."""

    def parse(raw: object) -> int:
        if type(raw) is not int or raw < least:
            raise ValueError
        if raw > most:
            raise InvalidSettingError(f"must be a whole number of at most {most}")
        return raw

    bounds = f"of at least {least}" if most == MAX_NUMBER else f"from {least} to {most}"
    return SettingType(f"a whole number {bounds}", parse, number_from_text)


def one_of(*choices: str) -> SettingType[str]:
    """Return the type that has these values."""

    def parse(raw: object) -> str:
        if not isinstance(raw, str) or raw not in choices:
            raise ValueError
        return raw

    return SettingType(f"one of {', '.join(choices)}", parse, choices=choices)


def list_of(known: Collection[str] = ()) -> SettingType[tuple[str, ...]]:
    """Return the type of lists of strings; of `known` ones, if there are any."""

    def parse(raw: object) -> tuple[str, ...]:
        if not isinstance(raw, list):
            raise TypeError
        items = tuple(_parse_text(each) for each in cast("list[object]", raw))
        if known and not set(items) <= set(known):
            raise ValueError
        return items

    what = f"with some of {', '.join(known)}" if known else "of strings"
    return SettingType(f"a list {what}", parse, _split, list)


def matching(expected: str, pattern: str) -> SettingType[str]:
    """Return the type of strings that match `pattern`."""

    def parse(raw: object) -> str:
        if not isinstance(raw, str) or not re.fullmatch(pattern, raw, re.ASCII):
            raise ValueError
        return raw

    return SettingType(expected, parse)


def number_from_text(text: str) -> object:
    """Return the number that `text` spells, or `text` itself."""
    return int(text) if re.fullmatch(r"\d{1,1000}", text, re.ASCII) else text


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")] if text.strip() else []


def _parse_boolean(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise TypeError
    return raw


def _parse_text(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip() or "\0" in raw:
        raise ValueError
    return raw


def _parse_duration(raw: object) -> float:
    """Return seconds; `raw` is a number of them, or a string like 90s, 30m, 1h."""
    if isinstance(raw, str):
        seconds = parse_duration(raw)
    elif isinstance(raw, int | float) and not isinstance(raw, bool):
        seconds = float(raw)
    else:
        raise TypeError
    if not MIN_DURATION_S <= seconds <= MAX_DURATION_S:
        raise ValueError
    return round(seconds, 3)


def _dump_duration(seconds: float | None) -> str:
    if seconds is None:
        return NEVER
    unit = [unit for unit, length in UNIT_SECONDS.items() if seconds % length == 0 or unit == "s"]
    return f"{seconds / UNIT_SECONDS[unit[-1]]:.15g}{unit[-1]}"


def _parse_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= MAX_DURATION_S:
        raise ValueError
    return seconds


def _parse_path(raw: object) -> Path:
    return Path(_parse_text(raw)).expanduser()


def _parse_url(raw: object) -> str:
    url = _parse_text(raw)
    parts = urlsplit(url)
    bad = "@" in parts.netloc or parts.query or parts.fragment or not url.isprintable()
    if parts.scheme not in {"http", "https"} or not parts.hostname or bad or parts.port == 0:
        raise ValueError
    return url.rstrip("/")


def _parse_listen(raw: object) -> str:
    # Little else at start-up needs this module, and it takes time.
    import ipaddress

    text = _parse_text(raw)
    if text.startswith(UNIX):
        _parse_path(text.removeprefix(UNIX))
        return text
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    is_local = bare == "localhost" or ipaddress.ip_address(bare).is_loopback
    if not colon or not port.isdecimal() or not 0 <= int(port) < 2**16 or not is_local:
        raise ValueError
    return text


def _parse_files(raw: object) -> tuple[str, ...]:
    names = list_of().validate(raw)
    for path in map(PurePosixPath, names):
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError
    return names


def _parse_hosts(raw: object) -> tuple[str, ...]:
    # Little else at start-up needs this module, and it takes time.
    from acp_agent.net import PrivateHosts

    hosts = list_of().validate(raw)
    PrivateHosts(hosts)
    return hosts


BOOLEAN: Final = SettingType(
    "true or false", _parse_boolean, lambda text: _WORDS.get(text.strip().lower(), text)
)
TEXT: Final = SettingType("a non-empty string", _parse_text)
COUNT: Final = whole(1)
DURATION: Final = SettingType(
    "a duration like 90s, 30m or 1h", _parse_duration, str, _dump_duration
)
DURATION_OR_NEVER: Final = SettingType(
    f"a duration like 90s, 30m or 1h, or {NEVER}",
    lambda raw: None if raw == NEVER else _parse_duration(raw),
    str,
    _dump_duration,
)
SECONDS: Final = SettingType("a number of seconds", _parse_seconds)
PATH: Final = SettingType("the path of a file or a directory", _parse_path, str, str)
STORAGE: Final = SettingType(
    f"{MEMORY}, or the path of a directory",
    lambda raw: None if raw == MEMORY else _parse_path(raw),
    str,
    lambda path: MEMORY if path is None else str(path),
)
VARIABLE: Final = matching(
    "the name of an environment variable, not its value", r"[A-Za-z_][A-Za-z0-9_]{0,127}"
)
NAMESPACE: Final = matching(
    "a name of letters, digits, dots, hyphens, underscores", r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
)
URL: Final = SettingType(
    "a URL with http:// or https://, without user, password, query and fragment", _parse_url
)
FILES: Final = SettingType(
    "a list of relative paths of files, without ..", _parse_files, _split, list
)
HOSTS: Final = SettingType(
    "a list of hosts: names such as wiki.intra and *.intra, addresses, networks such as 10.0.0.0/8",
    _parse_hosts,
    _split,
    list,
)
LISTEN: Final = SettingType(
    "HOST:PORT on this machine, such as 127.0.0.1:8127, or unix:FILE", _parse_listen
)
SERVER_TABLES: Final[SettingType[Any]] = SettingType(
    "a table with a table for each server", lambda raw: raw, None
)
RULE_TABLES: Final[SettingType[Any]] = SettingType(
    "a list of tables, as in [[permissions.rules]]", lambda raw: raw, None
)
