"""Tables of a scenario whose values are checked as they are taken.

What is wrong is kept with its line, and reading goes on, so that all of it is told at once.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar, cast, get_args

from acp_agent.config.source import KeyPath, did_you_mean
from acp_protocol import jsonrpc
from acp_protocol.framing import Framing
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json

Word = TypeVar("Word", bound=str)

BIG: Final = 2**31
LONG: Final = 86400.0
"""Seconds that a single wait may last."""
FEW: Final = 12
"""Words of which all are named where none is near."""
SHOWN: Final = 60
"""Characters of a key or a word that a sentence repeats, at most."""


class WrongError(Exception):
    """One thing in a scenario is wrong; never leaves this room."""


@dataclass
class Page:
    """The file that is read, and what there is to say about it."""

    name: str
    lines: Mapping[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    framing: Framing = "lines"
    """How frames are kept apart, which not every fault makes sense for."""
    complaints: list[str] = field(default_factory=list[str])
    remarks: list[str] = field(default_factory=list[str])
    """What is allowed, but perhaps not meant."""

    @contextmanager
    def bearing(self) -> Generator[None]:
        """Keep what is wrong in the block as a complaint, and go on behind it."""
        try:
            yield
        except WrongError as problem:
            self.complaints.append(str(problem))

    def told(self) -> str:
        """Return what is wrong, from the top of the file to its end."""

        def line_of(complaint: str) -> int:
            number = complaint.removeprefix(f"{self.name}:").partition(":")[0]
            return int(number) if number.isdecimal() else 0

        return "\n".join(sorted("\n".join(self.complaints).splitlines(), key=line_of))

    def at(self, path: KeyPath, sentence: str) -> str:
        """Return a sentence with the line in which `path`, or the nearest around it, stands."""
        while path and path not in self.lines:
            path = path[:-1]
        line = f":{self.lines[path]}" if path else ""
        return f"{self.name}{line}: {sentence}"


class Table:
    """A table; `place` is what a sentence calls it."""

    def __init__(self, page: Page, members: Mapping[str, Any], path: KeyPath, place: str) -> None:
        self.page = page
        self.members = members
        self.path = path
        self.place = place

    def __contains__(self, key: str) -> bool:
        return key in self.members

    def wrong(self, key: str, sentence: str) -> WrongError:
        """Return what to raise about the value of `key`."""
        return WrongError(self.page.at((*self.path, key), self._about(key, sentence)))

    def wrong_itself(self, sentence: str) -> WrongError:
        """Return what to raise about the table as a whole."""
        return WrongError(self.page.at(self.path, f"{self.place}: {sentence}"))

    def remark(self, key: str, sentence: str) -> None:
        """Keep a remark about the value of `key`."""
        self.page.remarks.append(self.page.at((*self.path, key), self._about(key, sentence)))

    def _about(self, key: str, sentence: str) -> str:
        begin = f"{self.place}: " if self.place else ""
        return f"{begin}`{one_line(key, SHOWN)}` {sentence}"

    def allow(self, *known: str) -> None:
        """Refuse keys that are not known, each with the nearest that is.

        Raises:
            WrongError: there are some.
        """
        wrong = [
            str(self.wrong(key, f"is not known here{nearest(key, known) or _all_of(known)}"))
            for key in self.members
            if key not in known
        ]
        if wrong:
            raise WrongError("\n".join(wrong))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text."""
        value = self._taken(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "has to be a text")
        return value

    def text_if_any(self, key: str) -> str | None:
        """Return a text, or None where there is none."""
        return self.text(key) if key in self.members else None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return several texts; one alone may stand without brackets."""
        value = self._taken(key, ())
        items: Sequence[Any] = (value,) if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise self.wrong(key, "has to be a text, or a list of texts")
        return tuple(items)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return true or false."""
        value = self._taken(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "has to be `true` or `false`")
        return value

    def whole(
        self, key: str, default: int | None = None, *, least: int = 1, most: int = BIG
    ) -> int:
        """Return a whole number."""
        value = self._taken(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(key, f"has to be a whole number from {least} to {most}")
        return value

    def number(self, key: str, default: float | None = None, *, most: float = LONG) -> float:
        """Return a number from 0 on."""
        value = self._taken(key, default)
        if type(value) not in {int, float} or not 0 <= value <= most:
            raise self.wrong(key, f"has to be a number from 0 to {most:g}")
        return float(value)

    def word(self, key: str, words: Sequence[Word], default: str | None = None) -> Word:
        """Return one of some words."""
        value = self._taken(key, default)
        for word in words:
            if word == value:
                return word
        guess = nearest(value, words) if isinstance(value, str) else ""
        raise self.wrong(key, f"has to be {listed(words)}{guess}")

    def known(self, key: str, words: Sequence[str], what: str) -> str:
        """Return a text, with a remark if the protocol does not know it: that may be meant."""
        value = self.text(key)
        if value and value not in words and not value.startswith("_"):
            said = one_line(value, SHOWN)
            others = _all_of(words) if len(words) <= FEW else ""
            self.remark(key, f"is `{said}`, which is no {what}{nearest(value, words) or others}")
        return value

    def table(self, key: str, main: str = "") -> Table:
        """Return a table; a value that is none stands for its member `main`, and true for none."""
        value = self.members.get(key, {})
        if main and not isinstance(value, dict):
            value = {} if value is True else {main: value}
        if not isinstance(value, dict):
            raise self.wrong(key, "has to be a table, as in `{ key = value }`")
        place = f"{self.place}, `{key}`" if self.place else f"`{key}`"
        return Table(self.page, cast("dict[str, Any]", value), (*self.path, key), place)

    def tables(self, key: str, called: str) -> list[Table]:
        """Return the tables of a list; `called` is what each of them is, as in `step`.

        What is no table is kept as a complaint, and left out.
        """
        value = self.members.get(key, [])
        if isinstance(value, dict) and not self.path:
            raise self.wrong(key, f"is written with two brackets: `[[{key}]]`")
        if not isinstance(value, list):
            raise self.wrong(key, "has to be a list of tables, as in `[{ key = value }]`")
        begin = f"{self.place}, " if self.place else ""
        found: list[Table] = []
        for number, item in enumerate(cast("list[Any]", value)):
            path, place = (*self.path, key, number), f"{begin}{called} {number + 1}"
            if isinstance(item, dict):
                found.append(Table(self.page, cast("dict[str, Any]", item), path, place))
            else:
                sentence = f"{place}: has to be a table, as in `{{ key = value }}`"
                self.page.complaints.append(self.page.at(path, sentence))
        return found

    def json(self, key: str) -> Json:
        """Return any value that JSON knows; a text stays a text."""
        value = self._taken(key, None)
        if not _is_json(value):
            raise self.wrong(key, "has to be a value that JSON knows: no date, no inf, no nan")
        return value

    def object(self, key: str, default: Json = None) -> Json:
        """Return an object, as `value` does; a name like `$params` may stand for one."""
        value = self.value(key, default)
        if key in self.members and value.__class__ not in {dict, str}:
            raise self.wrong(key, "has to be a table, or a text that is an object in JSON")
        return value

    def value(self, key: str, default: Json = None) -> Json:
        """Return a value that JSON knows; a text is read as JSON, where null can be written.

        Where the key is not there, `default` is returned as it is.
        """
        if key not in self.members:
            return default
        value = self.json(key)
        if not isinstance(value, str) or value.startswith("$"):
            return value
        try:
            return jsonrpc.parse(value.encode())
        except ValueError as problem:
            raise self.wrong(key, f"has to be a table, or a text that is JSON: {problem}") from None

    def list(self, key: str) -> list[Json]:
        """Return the entries of a list; none where there is no such key."""
        value = self.value(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "has to be a list")
        return cast("list[Json]", value)

    def objects(self, key: str, *named: str) -> Sequence[Json]:
        """Return a list of objects, each of which has one of the members `named`."""
        found = self.list(key)
        for entry in found:
            if not (isinstance(entry, dict) and any(name in entry for name in named)):
                raise self.wrong(key, f"has to be a list of tables with {listed(named)}")
        return found

    def _taken(self, key: str, default: object) -> Any:
        value = self.members.get(key, default)
        if value is None:
            raise self.wrong(key, "is missing")
        return value


def nearest(word: str, known: Sequence[str]) -> str:
    """Return the half sentence that names the known word nearest to `word`; nothing if none is."""
    found = did_you_mean(word, known)
    return f"; did you mean `{found}`?" if found else ""


def _all_of(known: Sequence[str]) -> str:
    return f"; there is {listed(known)}"


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them."""
    ticked = [f"`{word}`" for word in words]
    return " or ".join([", ".join(ticked[:-1]), ticked[-1]] if len(ticked) > 1 else ticked)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_json(each) for each in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_json(each) for each in cast("list[Any]", value))
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int)


# The schema takes time to import, so it is imported by the scenarios that use its words.


@cache
def kinds() -> Sequence[str]:
    """Return the kinds of tool calls."""
    from acp_protocol.schema import v1

    return get_args(v1.ToolKind)


@cache
def statuses() -> Sequence[str]:
    """Return what a tool call is at, in any version."""
    from acp_protocol.schema import v1, v2

    return _spelled(v1.ToolCallStatus, v2.ToolCallStatus)


@cache
def stop_reasons() -> Sequence[str]:
    """Return why a turn ends."""
    from acp_protocol.schema import v1

    return get_args(v1.StopReason)


@cache
def updates() -> Sequence[str]:
    """Return what an update is about, in any version."""
    from acp_protocol.schema import v1, v2

    tags: list[Any] = [get_args(each)[1] for each in (v1.SessionUpdate, v2.SessionUpdate)]
    return tuple({word: None for tag in tags for word in tag.values if word != "*"})


def _spelled(*types: Any) -> Sequence[str]:
    """Return the words of literals, or of unions in which some stand, each once."""
    words: dict[str, None] = {}
    for each in types:
        for inner in get_args(each):
            words |= {inner: None} if isinstance(inner, str) else dict.fromkeys(get_args(inner))
    return tuple(words)
