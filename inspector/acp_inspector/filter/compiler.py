"""Compiles expressions to functions that match entries, and to prefilters that match bytes.

The parser library is imported only when an expression is compiled: a proxy without breakpoints must
start fast.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any as Anything
from typing import Final, TypeAlias, assert_never, cast

from acp_inspector.filter.ast import (
    And,
    Compare,
    ContainsText,
    Exists,
    Expression,
    In,
    Match,
    Not,
    Or,
    Pattern,
    Subject,
    Value,
    ValueRange,
    format_expression,
)
from acp_inspector.filter.fields import FIELDS, Source
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.patterns import PatternTimeoutError
from acp_inspector.views.annotations import SEVERITIES
from acp_protocol.jsonrpc import Json, encode

MAX_SEARCHED: Final = 65_536
"""Most characters of a text that a pattern searches; the rest is ignored."""

Leaf: TypeAlias = ContainsText | Pattern | Exists | Compare | Match | In
Matcher: TypeAlias = Callable[[EntryFields], bool]
_Test: TypeAlias = Callable[[Anything], bool]
_ORDER: Final[dict[str, Callable[[Anything, Anything], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RANKS: Final = {word: rank for rank, word in enumerate(SEVERITIES)}


@dataclass(frozen=True, slots=True)
class Filter:
    """A compiled expression; `str` returns its canonical text."""

    source: str = field(compare=False)
    """The text that was compiled."""
    expression: Expression
    fields: frozenset[str] = field(compare=False)
    """The fields that it reads; `$` for a path, `text` for text anywhere."""
    _matcher: Matcher = field(compare=False, repr=False)
    _warnings: list[str] = field(default_factory=list[str], compare=False, repr=False)

    def matches(self, fields: EntryFields) -> bool:
        """Return whether an entry matches; a pattern that times out does not match."""
        try:
            return self.matches_or_raise(fields)
        except PatternTimeoutError as problem:
            self._warnings[:] = [str(problem)]
            return False

    def matches_or_raise(self, fields: EntryFields) -> bool:
        """Return whether an entry, or one of its messages, matches, or raise.

        Raises:
            PatternTimeoutError: a pattern took too long.
        """
        return any(map(self._matcher, fields.parts))

    @property
    def warning(self) -> str:
        """Why some entries could not be matched; empty if all could."""
        return self._warnings[0] if self._warnings else ""

    @property
    def is_empty(self) -> bool:
        return self.expression == And(())

    @property
    def has_patterns(self) -> bool:
        """Whether it contains patterns, which may take long."""
        return any(isinstance(leaf, Pattern | Match) for leaf in leaves(self.expression))

    @property
    def needs_exchanges(self) -> bool:
        return "exchanges" in self._costs()

    @property
    def is_alone(self) -> bool:
        """Whether it matches each entry by itself, without the request that it responds to."""
        # Text is also searched in the method of a response's request.
        return not (self.needs_exchanges or "text" in self.fields)

    @property
    def needs_notes(self) -> bool:
        """Whether it needs notes: turns, findings, paused or edited messages, marks."""
        return "notes" in self._costs()

    def __str__(self) -> str:
        return format_expression(self.expression)

    def _costs(self) -> frozenset[Source]:
        return frozenset("message" if name == "$" else FIELDS[name].cost for name in self.fields)


def compile_filter(text: str) -> Filter:
    """Compile `text`; an empty text matches every entry.

    Raises:
        FilterError: `text` is invalid.

    Source: docs/filters.md.
    """
    if text.strip():
        # Imported late: it imports the parser library.
        from acp_inspector.filter.transformer import parse_expression

        expression = parse_expression(text)
    else:
        expression = And(())
    fields = frozenset(map(_name, leaves(expression)))
    return Filter(text, expression, fields, _matcher_of(expression))


def leaves(expression: Expression) -> Iterator[Leaf]:
    """Yield the conditions that `not`, `and` and `or` join."""
    match expression:
        case Not(term):
            yield from leaves(term)
        case And(terms) | Or(terms):
            for term in terms:
                yield from leaves(term)
        case _:
            yield expression


def _name(leaf: Leaf) -> str:
    match leaf:
        case ContainsText() | Pattern():
            return "text"
        case Exists(subject) | Compare(subject) | Match(subject) | In(subject):
            return subject if isinstance(subject, str) else "$"


def _matcher_of(expression: Expression) -> Matcher:
    """Return a function that matches entries; it raises only `PatternTimeoutError`."""
    match expression:
        case ContainsText(text):
            return _anywhere(text)
        case Pattern(pattern):
            return _found_anywhere(pattern)
        case Exists() | Compare() | Match() | In():
            return _condition(expression)
        case Not(term):
            inner = _matcher_of(term)
            return lambda fields: not inner(fields)
        case And(()):
            return lambda fields: True
        case And(terms):
            return reduce(_both, map(_matcher_of, terms))
        case Or(terms):
            return reduce(_either, map(_matcher_of, terms))
        case _:
            assert_never(expression)


def _both(first: Matcher, second: Matcher) -> Matcher:
    return lambda fields: first(fields) and second(fields)


def _either(first: Matcher, second: Matcher) -> Matcher:
    return lambda fields: first(fields) or second(fields)


def _condition(expression: Exists | Compare | Match | In) -> Matcher:
    match expression:
        case Exists(subject):
            return _exists(subject)
        case Compare(subject, "!=", value):
            exists, equals = _exists(subject), _any(subject, _equals(value))
            return lambda fields: exists(fields) and not equals(fields)
        case Compare(subject, sign, value):
            return _any(subject, _test(subject, sign, value))
        case Match(subject, pattern):
            compiled = pattern.compile()
            return _any(
                subject,
                lambda found: isinstance(found, str) and compiled.is_found_in(found[:MAX_SEARCHED]),
            )
        case In(subject, choices):
            tests = [
                _inside(each) if isinstance(each, ValueRange) else _equals(each) for each in choices
            ]
            return _any(subject, lambda found: any(test(found) for test in tests))


# Tests of a subject: of its value, or of any of its values.


def _any(subject: Subject, test: _Test) -> Matcher:
    if not isinstance(subject, str):
        return lambda fields: any(test(value) for value in fields.values(subject))
    read = FIELDS[subject].read
    if FIELDS[subject].is_many:
        return lambda fields: any(test(value) for value in read(fields))

    def matches(fields: EntryFields) -> bool:
        value = read(fields)
        return value is not None and test(value)

    return matches


def _exists(subject: Subject) -> Matcher:
    if not isinstance(subject, str):
        return lambda fields: bool(fields.values(subject))
    read = FIELDS[subject].read
    if FIELDS[subject].is_many or FIELDS[subject].type == "flag":
        return lambda fields: bool(read(fields))
    return lambda fields: read(fields) is not None


# Tests of one value.


def _test(subject: Subject, sign: str, value: Value) -> _Test:
    if sign == "==":
        return _equals(value)
    if sign == "contains":
        return _contains(value)
    compare = _ORDER[sign]
    if not isinstance(subject, str):
        return _ordered(compare, value)
    if FIELDS[subject].type == "severity":
        rank = _RANKS[cast("str", value)]
        return lambda found: found in _RANKS and compare(_RANKS[found], rank)
    return lambda found: compare(found, value)


def _equals(value: Value) -> _Test:
    if isinstance(value, bool) or value is None:
        return lambda found: found is value
    if isinstance(value, str):
        return lambda found: found == value
    # In JSON, true is not equal to 1.
    return lambda found: found == value and not isinstance(found, bool)


def _ordered(compare: Callable[[Anything, Anything], bool], value: Value) -> _Test:
    def test(found: Json) -> bool:
        if isinstance(value, str) or isinstance(found, str):
            return isinstance(value, str) and isinstance(found, str) and compare(found, value)
        return _is_number(found) and compare(found, value)

    return test


def _inside(range_: ValueRange) -> _Test:
    low, high = range_.low, range_.high

    def test(found: Json) -> bool:
        if not _is_number(found):
            return False
        return (low is None or low <= found) and (high is None or found <= high)

    return test


def _contains(value: Value) -> _Test:
    if not isinstance(value, str):
        equals = _equals(value)
        return lambda found: isinstance(found, list) and any(map(equals, cast("list[Json]", found)))
    wanted = value.casefold()

    def test(found: Json) -> bool:
        if isinstance(found, str):
            return wanted in found.casefold()
        if isinstance(found, list | dict):
            parts = cast("Iterable[Json]", found)
            return any(isinstance(part, str) and wanted in part.casefold() for part in parts)
        return False

    return test


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Text anywhere: in the bytes of an entry, and in the method of the request that it responds to.


def _anywhere(text: str) -> Matcher:
    wanted = text.casefold()
    spellings = {each for form in (text, wanted) for each in _spellings(form)}
    encoded = [spelling.encode() for spelling in spellings]
    is_ascii = wanted.isascii()

    def matches(fields: EntryFields) -> bool:
        if is_ascii:
            content = fields.raw.lower()
            is_found = any(each in content for each in encoded)
        else:
            # Lower-casing bytes changes nothing beyond ASCII.
            decoded = fields.raw.decode(errors="replace").casefold()
            is_found = any(each in decoded for each in spellings)
        return is_found or wanted in (fields.request_method or "").casefold()

    return matches


def _spellings(text: str) -> Iterable[str]:
    """Yield the ways to write a text in JSON: plain, escaped, and escaped to ASCII."""
    for each in (text, encode(text).decode()[1:-1], json.dumps(text)[1:-1]):
        yield each.casefold()


def _found_anywhere(pattern: str) -> Matcher:
    search = Pattern(pattern, ignores_case=True).compile().is_found_in

    def matches(fields: EntryFields) -> bool:
        # A character has at most four bytes.
        content = fields.raw[: 4 * MAX_SEARCHED].decode(errors="replace")[:MAX_SEARCHED]
        if search(content):
            return True
        # A pattern that matches the empty text has matched the content.
        method = (fields.request_method or "").casefold()
        return bool(method) and search(method)

    return matches


# Prefilters.

Prefilter: TypeAlias = Callable[[bytes], bool]
"""Returns False if no entry in these bytes, of one line or many, matches."""

_WORDS: Final = frozenset(
    {"update", "status", "tool", "tool.kind", "terminal", "session", "method"}
)
"""Fields whose value occurs literally in the message."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_. /-]+")
"""Text that needs no escapes in JSON."""
ESCAPE: Final = re.compile(rb"\\[u/]")
"""An escape that may encode a plain character. Two searches for two bytes take longer."""


def prefilter(
    expression: Expression, *, is_alone: bool, is_message: bool = False
) -> Prefilter | None:
    """Return a fast test of bytes; None if every entry must be matched.

    Args:
        expression: The expression.
        is_alone: Entries are matched without the request that they respond to. Otherwise a response
            takes its method and session from its request, and is matched if its own bytes or those
            of the request pass.
        is_message: All tested lines are recorded as messages, and no method of a request among
            them has escapes.
    """
    inner = partial(prefilter, is_alone=is_alone, is_message=is_message)
    match expression:
        case And(terms):
            found = [each for term in terms if (each := inner(term))]
            if not is_alone:
                # One term may hold for the request, and another for the response.
                del found[1:]
            return (lambda lines: all(each(lines) for each in found)) if found else None
        case Or(terms):
            return _any_passes(map(inner, terms))
        case _:
            return _term_prefilter(expression, is_message=is_message)


def _term_prefilter(term: Expression, *, is_message: bool) -> Prefilter | None:
    holds = partial(_holds, is_message=is_message)
    match term:
        case ContainsText(text) if is_message and text.isascii():
            # It is searched in the bytes of a message: escapes count as they are.
            spellings = tuple({each.encode() for each in _spellings(text)})
            return TextTest(spellings, ignores_case=True, has_escapes=False)
        case ContainsText(text):
            return holds(text, ignores_case=True)
        case (
            Exists("stderr" | "event")
            | Compare("stderr" | "event")
            | Match("stderr" | "event")
            | In("stderr" | "event")
            | Compare("kind", "==", "stderr" | "event")
        ) if is_message:
            return lambda lines: False
        case (
            Exists("error")
            | Compare("error" | "code")
            | In("code")
            | Compare("kind", "==", "error")
        ):
            return holds("error")
        case Compare("size", ">" | ">=" | "==", int() | float() as size):
            return lambda lines: len(lines) >= size
        case Compare(str(name), "==", str(word)) if name in _WORDS:
            return holds(word)
        case In(str(name), choices) if name in _WORDS:
            return _any_passes(holds(word) if isinstance(word, str) else None for word in choices)
        case Compare(subject, "==" | "contains" as sign, str(word)) if not isinstance(subject, str):
            return holds(word, ignores_case=sign == "contains")
        case _:
            return None


def _any_passes(found: Iterable[Prefilter | None]) -> Prefilter | None:
    prefilters: list[Prefilter] = []
    for each in found:
        if each is None:
            return None
        prefilters.append(each)
    return lambda lines: any(each(lines) for each in prefilters)


def _holds(text: str, *, is_message: bool, ignores_case: bool = False) -> Prefilter | None:
    """Return a test whether bytes contain a text, or may contain it with escapes."""
    if not _PLAIN.fullmatch(text):
        return None
    wanted = text.encode()
    if is_message:
        return TextTest((wanted.lower() if ignores_case else wanted,), ignores_case)
    folded = wanted.lower()

    def passes(lines: bytes) -> bool:
        if wanted in lines or b'b64"' in lines or (ignores_case and folded in lines.lower()):
            return True
        return bool(ESCAPE.search(lines))

    return passes


@dataclass(frozen=True, slots=True)
class TextTest:
    """Tests whether bytes contain one of some texts, or an escape that may encode one."""

    texts: tuple[bytes, ...]
    ignores_case: bool
    has_escapes: bool = True

    def __call__(self, lines: bytes) -> bool:
        content = lines.lower() if self.ignores_case else lines
        return any(each in content for each in self.texts) or (
            self.has_escapes and bool(ESCAPE.search(lines))
        )
