"""From what an expression says to a function that tells whether an entry is meant."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any as Anything
from typing import Final, TypeAlias, assert_never, cast

from acp_inspector.filter.expressions import (
    All,
    Any,
    Compare,
    Exists,
    Expression,
    Match,
    Not,
    Pattern,
    Range,
    Subject,
    Text,
    Value,
    Within,
)
from acp_inspector.filter.facts import Facts
from acp_inspector.filter.fields import FIELDS, SEVERITIES
from acp_inspector.filter.literals import compiled
from acp_inspector.filter.patterns import Bounded
from acp_protocol.jsonrpc import Json, encode

SEARCH_LIMIT: Final = 65_536
"""Characters of a text that a pattern is tried on; what stands behind them is not looked at."""

Matcher: TypeAlias = Callable[[Facts], bool]
_Test: TypeAlias = Callable[[Anything], bool]
_ORDER: Final[dict[str, Callable[[Anything, Anything], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RANKS: Final = {word: rank for rank, word in enumerate(SEVERITIES)}


def matcher(expression: Expression) -> Matcher:
    """Return the function; whatever an entry holds, it only fails where a pattern takes too long.

    That is a `SlowPatternError`.
    """
    match expression:
        case Text(text):
            return _anywhere(text)
        case Pattern(pattern):
            return _found_anywhere(pattern)
        case Exists() | Compare() | Match() | Within():
            return _asked(expression)
        case Not(term):
            inner = matcher(term)
            return lambda facts: not inner(facts)
        case All(terms):
            return _all_of([matcher(term) for term in terms])
        case Any(terms):
            return _any_of([matcher(term) for term in terms])
        case _:
            assert_never(expression)


def needs(expression: Expression) -> frozenset[str]:
    """Return the names of the fields that are asked for: `$` for a path, `text` for any text."""
    match expression:
        case Text() | Pattern():
            return frozenset({"text"})
        case Not(term):
            return needs(term)
        case All(terms) | Any(terms):
            return frozenset[str]().union(*(needs(term) for term in terms))
        case Exists(subject) | Compare(subject) | Match(subject) | Within(subject):
            return frozenset({subject if isinstance(subject, str) else "$"})
        case _:
            assert_never(expression)


def has_patterns(expression: Expression) -> bool:
    """Tell whether a pattern has to be tried, which may take long."""
    match expression:
        case Pattern() | Match():
            return True
        case Not(term):
            return has_patterns(term)
        case All(terms) | Any(terms):
            return any(map(has_patterns, terms))
        case _:
            return False


def _all_of(terms: Sequence[Matcher]) -> Matcher:
    if len(terms) == 2:
        first, second = terms
        return lambda facts: first(facts) and second(facts)
    return lambda facts: all(term(facts) for term in terms)


def _any_of(terms: Sequence[Matcher]) -> Matcher:
    if len(terms) == 2:
        first, second = terms
        return lambda facts: first(facts) or second(facts)
    return lambda facts: any(term(facts) for term in terms)


def _asked(expression: Exists | Compare | Match | Within) -> Matcher:
    match expression:
        case Exists(subject):
            return _exists(subject)
        case Compare(subject, "!=", value):
            return _differs(subject, _equals(value))
        case Compare(subject, sign, value):
            return _any(subject, _test(subject, sign, value))
        case Match(subject, pattern):
            return _any(subject, _searched(compiled(pattern)))
        case Within(subject, choices):
            return _any(subject, _one_of(choices))


# What is asked of a subject: of its one value, or of all that it holds.


def _any(subject: Subject, test: _Test) -> Matcher:
    if not isinstance(subject, str):
        return lambda facts: any(test(value) for value in facts.values(subject))
    read = FIELDS[subject].read
    if FIELDS[subject].is_many:
        return lambda facts: any(test(value) for value in read(facts))

    def matches(facts: Facts) -> bool:
        value = read(facts)
        return value is not None and test(value)

    return matches


def _differs(subject: Subject, test: _Test) -> Matcher:
    """Return whether there are values, and the test holds for none of them."""
    exists, equals = _exists(subject), _any(subject, test)
    return lambda facts: exists(facts) and not equals(facts)


def _exists(subject: Subject) -> Matcher:
    if not isinstance(subject, str):
        return lambda facts: bool(facts.values(subject))
    read = FIELDS[subject].read
    if FIELDS[subject].is_many:
        return lambda facts: bool(read(facts))
    return lambda facts: read(facts) is not None


# What is asked of one value.


def value_test(condition: Exists | Compare | Match | Within) -> Callable[[Anything], bool]:
    """Return what tells whether one value, which is there, meets a condition."""
    match condition:
        case Exists():
            return lambda found: True
        case Compare(_, "!=", value):
            equals = _equals(value)
            return lambda found: not equals(found)
        case Compare(subject, sign, value):
            return _test(subject, sign, value)
        case Match(_, pattern):
            return _searched(compiled(pattern))
        case Within(_, choices):
            return _one_of(choices)


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
    # True is no 1 in JSON.
    return lambda found: found == value and not isinstance(found, bool)


def _ordered(compare: Callable[[Anything, Anything], bool], value: Value) -> _Test:
    def test(found: Json) -> bool:
        if isinstance(value, str) or isinstance(found, str):
            return isinstance(value, str) and isinstance(found, str) and compare(found, value)
        return _is_number(found) and compare(found, value)

    return test


def _one_of(choices: Iterable[Value | Range]) -> _Test:
    tests = [_inside(each) if isinstance(each, Range) else _equals(each) for each in choices]
    return lambda found: any(test(found) for test in tests)


def _inside(range_: Range) -> _Test:
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


def _searched(pattern: Bounded[str]) -> _Test:
    return lambda found: isinstance(found, str) and pattern.is_in(found[:SEARCH_LIMIT])


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Text anywhere: in the bytes, and in the name of the method that an answer is about.


def _anywhere(text: str) -> Matcher:
    wanted = text.casefold()
    spellings = {each for form in (text, wanted) for each in _spellings(form)}
    if wanted.isascii():
        return _in_bytes(wanted, [spelling.encode() for spelling in spellings])

    def matches(facts: Facts) -> bool:
        said = facts.raw.decode(errors="replace").casefold()
        return any(each in said for each in spellings) or wanted in _answered(facts)

    return matches


def _spellings(text: str) -> Iterable[str]:
    """Yield how a text may stand in JSON: quotes and newlines, and all but ASCII, get escaped."""
    for each in (text, encode(text).decode()[1:-1], json.dumps(text)[1:-1]):
        yield each.casefold()


def _in_bytes(wanted: str, spellings: Sequence[bytes]) -> Matcher:
    def matches(facts: Facts) -> bool:
        said = facts.raw.lower()
        return any(each in said for each in spellings) or wanted in _answered(facts)

    return matches


def _found_anywhere(pattern: str) -> Matcher:
    search = compiled(Pattern(pattern, ignores_case=True)).is_in

    def matches(facts: Facts) -> bool:
        # A character has four bytes at most.
        said = facts.raw[: 4 * SEARCH_LIMIT].decode(errors="replace")[:SEARCH_LIMIT]
        return search(said) or search(_answered(facts))

    return matches


def _answered(facts: Facts) -> str:
    return (facts.answered_method or "").casefold()
