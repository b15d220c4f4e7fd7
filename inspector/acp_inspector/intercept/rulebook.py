"""The file in which rules are written.

Source: docs/intercept.md, "Rules".
"""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, Final, TypeAlias, cast

from acp_inspector.filter.errors import FilterError, nearest
from acp_inspector.filter.paths import Path, PathError, read_path
from acp_inspector.filter.patterns import Bounded
from acp_inspector.intercept import actions
from acp_inspector.intercept.actions import Action
from acp_inspector.intercept.matching import Matcher
from acp_inspector.intercept.passage import COPIES_LIMIT, WAIT_LIMIT, DeedError, encode
from acp_inspector.intercept.rules import Aim, Rule
from acp_protocol.errors import AcpError
from acp_protocol.framing import Side
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json
from acp_protocol.patterns import PatternError

PATIENCE: Final = 5.0
"""Seconds that a reordered frame waits for others where the rule does not say."""
_AIM: Final = ("name", "filter", "from", "after", "first", "every", "probability")
_BIG: Final = 2**31
SHOWN: Final = 60
"""Characters of a key or name that a sentence repeats, at most."""


class RulesError(AcpError):
    """A file of rules cannot be used; the message names file, rule and key in one sentence."""


def load_rules(path: FilePath, matcher: Callable[[str], Matcher]) -> Sequence[Rule]:
    """Return the rules of a file, in the order in which they stand.

    Args:
        path: The file.
        matcher: Compiles a filter; may raise `FilterError`.

    Raises:
        RulesError: the file cannot be read, or something in it makes no sense.
    """
    try:
        # Some editors put a mark in front.
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is no UTF-8"
        raise RulesError(f"{path} cannot be read: {reason}") from None
    try:
        return read_rules(text, matcher)
    except RulesError as problem:
        raise RulesError(f"{path}: {problem}") from None


def read_rules(text: str, matcher: Callable[[str], Matcher]) -> Sequence[Rule]:
    """Return the rules that `text` spells.

    Raises:
        RulesError: something makes no sense.
    """
    try:
        top = _Table(tomllib.loads(text), "")
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise RulesError(f"no TOML: {problem}") from None
    top.allow(("seed", "rule"))
    seed = top.whole("seed", 0, least=-_BIG)
    rules: list[Rule] = []
    for number, members in enumerate(top.tables("rule"), 1):
        rule = _read_rule(_Table(members, f"rule {number}"), seed, matcher)
        if rule.name in {other.name for other in rules}:
            raise RulesError(
                f"rule {number}: there are two of the name `{one_line(rule.name, SHOWN)}`"
            )
        rules.append(rule)
    return tuple(rules)


class _Table:
    """A table of the file, whose values are checked as they are taken."""

    def __init__(self, members: Mapping[str, Any], place: str) -> None:
        self.members = members
        self.place = place

    def wrong(self, key: str, sentence: str) -> RulesError:
        begin = f"{self.place}: " if self.place else ""
        return RulesError(f"{begin}`{one_line(key, SHOWN)}` {sentence}")

    def allow(self, known: Sequence[str]) -> None:
        for key in self.members:
            if key not in known:
                guess = nearest(key, known)
                raise self.wrong(key, f"is not known here{f'; {guess}' if guess else ''}")

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        found = self.members.get(key, [])
        items: list[Any] = cast("list[Any]", found) if isinstance(found, list) else [None]
        if not all(isinstance(item, dict) for item in items):
            raise self.wrong(key, f"is written as `[[{key}]]`, once for each")
        return items

    def text(self, key: str, default: str | None = None) -> str:
        value = self._taken(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "has to be a text")
        return value

    def whole(
        self, key: str, default: int | None = None, *, least: int = 1, most: int = _BIG
    ) -> int:
        value = self._taken(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(key, f"has to be a whole number from {least} to {most}")
        return value

    def number(self, key: str, default: float | None = None, *, most: float) -> float:
        value = self._taken(key, default)
        if type(value) not in {int, float} or not 0 <= value <= most:
            raise self.wrong(key, f"has to be a number from 0 to {most:g}")
        return float(value)

    def word(self, key: str, words: Sequence[str], default: str | None = None) -> str:
        value = self._taken(key, default)
        if value not in words:
            raise self.wrong(key, f"has to be {' or '.join(f'`{word}`' for word in words)}")
        return value

    def path(self, key: str) -> Path:
        text = self.text(key)
        if not text.startswith("$"):
            raise self.wrong(key, "has to be a path like `$.params.sessionId`")
        try:
            return read_path(text)
        except PathError as problem:
            raise self.wrong(key, f"is no path, see character {problem.position + 1}") from None

    def json(self, key: str) -> Json:
        value = self._taken(key, None)
        try:
            encode(value)
        except DeedError as problem:
            raise self.wrong(key, f"has to be a value that JSON knows: {problem}") from None
        return value

    def _taken(self, key: str, default: object) -> Any:
        value = self.members.get(key, default)
        if value is None:
            raise self.wrong(key, "is missing")
        return value


def _read_rule(table: _Table, seed: int, matcher: Callable[[str], Matcher]) -> Rule:
    name = table.text("name")
    table.place = f"rule `{one_line(name, SHOWN)}`"
    if not name or name == "person":
        raise table.wrong("name", "has to be a name of its own")
    table.allow((*_AIM, *_READERS))
    side = table.members.get("from")
    sides: dict[Any, Side] = {"client": "client", "agent": "agent"}
    if side is not None:
        table.word("from", tuple(sides))
    aim = Aim(
        sides.get(side),
        table.whole("after", 0, least=0),
        table.whole("first") if "first" in table.members else None,
        table.whole("every", 1),
        table.number("probability", 1.0, most=1.0),
    )
    try:
        matches = matcher(table.text("filter", ""))
    except FilterError as problem:
        raise table.wrong("filter", f"cannot be understood: {problem}") from None
    return Rule(name, matches, _read_action(table), aim, seed)


def _read_action(table: _Table) -> Action:
    found = [key for key in table.members if key in _READERS]
    if len(found) != 1:
        said = " and ".join(f"`{key}`" for key in found) or "nothing"
        raise RulesError(f"{table.place}: does {said}, and has to do one thing of {_words()}")
    key = found[0]
    members: Any = {} if table.members[key] is True else table.members[key]
    if not isinstance(members, dict):
        raise table.wrong(key, "has to be a table of what belongs to it, or `true`")
    keys, read = _READERS[key]
    inner = _Table(cast("dict[str, Any]", members), f"{table.place}, `{key}`")
    inner.allow(keys)
    return read(inner)


def _words() -> str:
    return ", ".join(f"`{key}`" for key in _READERS)


def _replace(table: _Table) -> Action:
    text = table.text("text")
    if not text:
        raise table.wrong("text", "has to hold something")
    return actions.Replace(text.encode(), _on_one_line(table, "with"))


def _rewrite(table: _Table) -> Action:
    try:
        pattern = Bounded(table.text("pattern").encode())
        replacement = _on_one_line(table, "with")
        # Groups that do not exist show here, and not in the middle of the traffic.
        _refuse_line_ending(table, "with", pattern.check(replacement))
    except PatternError as problem:
        raise table.wrong("pattern", f"is no pattern, or `with` does not fit: {problem}") from None
    return actions.Rewrite(pattern, replacement)


def _on_one_line(table: _Table, key: str) -> bytes:
    text = table.text(key).encode()
    _refuse_line_ending(table, key, text)
    return text


def _refuse_line_ending(table: _Table, key: str, text: bytes) -> None:
    if b"\n" in text or b"\r" in text:
        raise table.wrong(key, "must not hold a line ending")


def _answer(table: _Table) -> Action:
    if ("result" in table.members) == ("error" in table.members):
        raise RulesError(f"{table.place}: needs either `result` or `error`")
    if "result" in table.members:
        return actions.Answer(table.json("result"), None)
    error = table.json("error")
    members = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    inner = _Table(members, f"{table.place}, `error`")
    inner.allow(("code", "message", "data"))
    inner.whole("code", least=-_BIG)
    inner.text("message")
    return actions.Answer(None, error)


def _corrupt(table: _Table) -> Action:
    mode = table.word("mode", ("flip", "replace"), "flip")
    return actions.Corrupt(table.whole("bytes", 1), "flip" if mode == "flip" else "replace")


def _crash(table: _Table) -> Action:
    name = f"SIG{table.text('signal', 'KILL').removeprefix('SIG')}"
    try:
        return actions.Crash(signal.Signals[name])
    except KeyError:
        raise table.wrong("signal", "is no signal here; try `KILL`, `TERM` or `SEGV`") from None


def _split(table: _Table) -> Action:
    return actions.Split(table.whole("bytes"), table.number("pause", 0.0, most=WAIT_LIMIT))


def _throttle(table: _Table) -> Action:
    return actions.Throttle(table.whole("rate"))


def _delay(table: _Table) -> Action:
    # Together they stay below what a single wait may be.
    most = WAIT_LIMIT / 2
    return actions.Delay(table.number("seconds", most=most), table.number("jitter", 0.0, most=most))


def _reorder(table: _Table) -> Action:
    return actions.LetPass(
        table.whole("frames", 1), table.number("seconds", PATIENCE, most=WAIT_LIMIT)
    )


_Reader: TypeAlias = tuple[tuple[str, ...], Callable[[_Table], Action]]
_READERS: Final[Mapping[str, _Reader]] = {
    "replace": (("text", "with"), _replace),
    "rewrite": (("pattern", "with"), _rewrite),
    "set": (("path", "value"), lambda table: actions.Set(table.path("path"), table.json("value"))),
    "delete": (("path",), lambda table: actions.Delete(table.path("path"))),
    "delay": (("seconds", "jitter"), _delay),
    "throttle": (("rate",), _throttle),
    "drop": ((), lambda table: actions.Drop()),
    "discard": ((), lambda table: actions.Discard()),
    "duplicate": (
        ("times",),
        lambda table: actions.Duplicate(table.whole("times", 2, least=2, most=COPIES_LIMIT)),
    ),
    "reorder": (("frames", "seconds"), _reorder),
    "corrupt": (("bytes", "mode"), _corrupt),
    "cut": (("bytes",), lambda table: actions.Cut(table.whole("bytes", least=0))),
    "split": (("bytes", "pause"), _split),
    "hang": ((), lambda table: actions.Hang()),
    "crash": (("signal",), _crash),
    "answer": (("result", "error"), _answer),
}
"""Each deed's keys, and what reads them."""
DEEDS: Final = tuple(_READERS)
"""What a rule can do, one word each."""
