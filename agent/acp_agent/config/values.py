"""The kinds of values that can be set, however they are written: in a file, a variable, a flag.

Imported at every start for the flags: nothing heavy belongs here. What does not fit is never
repeated in a message, for it may be a secret that stands in the wrong place.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import urlsplit

T = TypeVar("T")

UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds of each unit of time."""
NEVER: Final = "never"
UNIX: Final = "unix:"
"""Begins what names a socket of this machine."""
SHORTEST: Final = 0.001
"""Seconds."""
LONGEST: Final = 366 * 86400.0
"""Seconds; a time beyond it is taken for a slip."""
MOST: Final = 10**9
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})


class UnfitError(argparse.ArgumentTypeError, ValueError):
    """A value is not of its kind; the message says how it must be."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of values."""

    must: str
    """What stands behind "must be"."""
    read: Callable[[Any], T]
    """Takes what a file holds; raises ValueError or TypeError where that does not fit."""
    raw: Callable[[str], object] = str
    """Turns a text of the environment or a flag into what a file would hold."""
    write: Callable[[Any], object] = lambda value: value
    """Turns a value back into what a file would hold."""

    def value(self, raw: object) -> T:
        """Return the value that stands in a file as `raw`.

        Raises:
            UnfitError: it is of another kind.
        """
        try:
            return self.read(raw)
        except UnfitError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise UnfitError(f"must be {self.must}") from None

    def __call__(self, text: str) -> T:
        """Return the value that a variable or a flag names.

        Raises:
            UnfitError: it is of another kind.
        """
        return self.value(self.raw(text))


def whole(least: int, most: int = MOST) -> Kind[int]:
    """Return the kind of whole numbers in a range."""

    def read(raw: object) -> int:
        if type(raw) is not int or raw < least:
            raise ValueError
        if raw > most:
            raise UnfitError(f"must be a whole number of at most {most}")
        return raw

    bounds = f"of at least {least}" if most == MOST else f"from {least} to {most}"
    return Kind(f"a whole number {bounds}", read, _number)


def one_of(*words: str) -> Kind[str]:
    """Return the kind that has these values."""

    def read(raw: object) -> str:
        if not isinstance(raw, str) or raw not in words:
            raise ValueError
        return raw

    return Kind(f"one of {', '.join(words)}", read)


def words_of(known: Collection[str] = ()) -> Kind[tuple[str, ...]]:
    """Return the kind of lists of texts, of those that are `known` if some are."""

    def read(raw: object) -> tuple[str, ...]:
        if not isinstance(raw, list):
            raise TypeError
        words = tuple(_read_text(each) for each in cast("list[object]", raw))
        if known and not set(words) <= set(known):
            raise ValueError
        return words

    of = f"with some of {', '.join(known)}" if known else "of texts"
    return Kind(f"a list {of}", read, _split, list)


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")] if text.strip() else []


def _number(text: str) -> object:
    """Return the number that `text` is, or `text` itself."""
    return int(text) if re.fullmatch(r"\d{1,1000}", text, re.ASCII) else text


def _truth(text: str) -> object:
    word = text.strip().lower()
    return word in _TRUE if word in _TRUE | _FALSE else text


def _read_boolean(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise TypeError
    return raw


def _read_text(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip() or "\0" in raw:
        raise ValueError
    return raw


def _read_duration(raw: object) -> float:
    """Return seconds: a number of them, or a text like 90s, 30m, 1h."""
    if isinstance(raw, str):
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smhd]?)", raw.strip(), re.ASCII)
        if found is None:
            raise ValueError
        seconds = float(found[1]) * UNITS[found[2] or "s"]
    elif isinstance(raw, int | float) and not isinstance(raw, bool):
        seconds = float(raw)
    else:
        raise TypeError
    if not SHORTEST <= seconds <= LONGEST:
        raise ValueError
    return round(seconds, 3)


def _read_duration_or_never(raw: object) -> float | None:
    return None if raw == NEVER else _read_duration(raw)


def _write_duration(seconds: float | None) -> str:
    if seconds is None:
        return NEVER
    whole_units = [unit for unit, length in UNITS.items() if seconds % length == 0]
    unit = whole_units[-1] if whole_units else "s"
    return f"{seconds / UNITS[unit]:.15g}{unit}"


def _read_pause(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= LONGEST:
        raise ValueError
    return seconds


def _read_path(raw: object) -> Path:
    try:
        return Path(_read_text(raw)).expanduser()
    except RuntimeError:
        raise ValueError from None


def _read_variable(raw: object) -> str:
    name = _read_text(raw)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name, re.ASCII):
        raise ValueError
    return name


def _read_namespace(raw: object) -> str:
    name = _read_text(raw)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name, re.ASCII):
        raise ValueError
    return name


def _read_address(raw: object) -> str:
    url = _read_text(raw)
    parts = urlsplit(url)
    bad = "@" in parts.netloc or parts.query or parts.fragment or not url.isprintable()
    if parts.scheme not in {"http", "https"} or not parts.hostname or bad or parts.port == 0:
        raise ValueError
    return url.rstrip("/")


def _read_listen(raw: object) -> str:
    text = _read_text(raw)
    if text.startswith(UNIX):
        _read_path(text.removeprefix(UNIX))
        return text
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    is_here = bare == "localhost" or _is_loopback(bare)
    if not colon or not port.isdecimal() or not 0 <= int(port) < 2**16 or not is_here:
        raise ValueError
    return text


def _is_loopback(host: str) -> bool:
    # Little else starts with addresses, and their module takes time.
    import ipaddress

    return ipaddress.ip_address(host).is_loopback


def _read_files(raw: object) -> tuple[str, ...]:
    names = words_of().value(raw)
    for path in map(PurePosixPath, names):
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError
    return names


def _read_hosts(raw: object) -> tuple[str, ...]:
    # Little else starts with addresses, and their module takes time.
    from acp_agent.tools.addresses import PrivateHosts

    hosts = words_of().value(raw)
    PrivateHosts(hosts)
    return hosts


BOOLEAN: Final = Kind("true or false", _read_boolean, _truth)
TEXT: Final = Kind("a text that is not empty", _read_text)
COUNT: Final = whole(1)
DURATION: Final = Kind(
    "a length of time like 90s, 30m or 1h", _read_duration, write=_write_duration
)
DURATION_OR_NEVER: Final = Kind(
    "a length of time like 90s, 30m or 1h, or never",
    _read_duration_or_never,
    write=_write_duration,
)
PAUSE: Final = Kind("a number of seconds", _read_pause)
PATH: Final = Kind("the name of a file or a directory", _read_path, write=str)
VARIABLE: Final = Kind(
    "the name of an environment variable; what it holds stands in no file", _read_variable
)
NAMESPACE: Final = Kind("a name of letters, digits, dots, hyphens, underscores", _read_namespace)
ADDRESS: Final = Kind(
    "an address that begins with http:// or https://, without user, password, ? and #",
    _read_address,
)
FILES: Final = Kind(
    "a list of relative names of files, without ..",
    _read_files,
    _split,
    list,
)
HOSTS: Final = Kind(
    "a list of hosts: names such as wiki.intra and *.intra, addresses, networks such as 10.0.0.0/8",
    _read_hosts,
    _split,
    list,
)
LISTEN: Final = Kind(
    "HOST:PORT of this machine alone, as in 127.0.0.1:8127, or unix:FILE", _read_listen
)
