"""The syntax tree of filter expressions, and its canonical text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from acp_inspector.filter.fields import FIELDS, ValueType
from acp_inspector.filter.grammar import KEYWORDS
from acp_inspector.filter.patterns import BoundedRegex
from acp_inspector.jsonpath import JSONPath

Value: TypeAlias = str | int | float | bool | None
Subject: TypeAlias = str | JSONPath
"""A field's name, or a path in the message."""
Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "contains"]


@dataclass(frozen=True, slots=True)
class ValueRange:
    """From `low` to `high`, inclusive; None means unbounded."""

    low: int | float | None
    high: int | float | None


@dataclass(frozen=True, slots=True)
class ContainsText:
    """`"text"`: the entry contains the text, ignoring case."""

    text: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """`/pattern/`: the entry matches, ignoring case; after `~`, `ignores_case` decides."""

    pattern: str
    ignores_case: bool = False

    def compile(self) -> BoundedRegex[str]:
        """Compile the pattern.

        Raises:
            PatternError: it is invalid.
        """
        return BoundedRegex(self.pattern, ignores_case=self.ignores_case)


@dataclass(frozen=True, slots=True)
class Exists:
    """The subject exists."""

    subject: Subject


@dataclass(frozen=True, slots=True)
class Compare:
    """The comparison of the subject with a value is true."""

    subject: Subject
    operator: Comparison
    value: Value


@dataclass(frozen=True, slots=True)
class Match:
    """The subject matches a pattern."""

    subject: Subject
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class In:
    """The subject is one of the values, or in one of the ranges."""

    subject: Subject
    choices: tuple[Value | ValueRange, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The condition does not hold."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    """All conditions hold; without conditions, everything matches."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the conditions holds."""

    operands: tuple[Expression, ...]


Expression: TypeAlias = ContainsText | Pattern | Exists | Compare | Match | In | Not | And | Or

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_/.:-]*")
_UNITS: Final[dict[ValueType, str]] = {"time": "s"}


def joined(operator: type[And | Or], terms: list[Expression]) -> Expression:
    """Join `terms` with `and` or `or`, without needless nesting."""
    flat: list[Expression] = []
    for term in terms:
        flat += term.operands if isinstance(term, operator) else (term,)
    return flat[0] if len(flat) == 1 else operator(tuple(flat))


def negation(term: Expression) -> Expression:
    return term.operand if isinstance(term, Not) else Not(term)


def format_expression(expression: Expression) -> str:
    """Return the canonical text of an expression."""
    match expression:
        case ContainsText(text):
            return quote(text)
        case Pattern(pattern, ignores_case):
            return _pattern(pattern, ignores_case=ignores_case)
        case Exists(subject):
            is_flag = isinstance(subject, str) and FIELDS[subject].stands_alone
            return str(subject) if is_flag else f"{subject} exists"
        case Compare(subject, operator, value):
            return f"{subject} {operator} {_value(subject, value)}"
        case Match(subject, pattern):
            return f"{subject} ~ {_pattern(pattern.pattern, ignores_case=pattern.ignores_case)}"
        case In(subject, choices):
            return f"{subject} in ({', '.join(_choice(subject, choice) for choice in choices)})"
        case Not(term):
            return f"not {_inner(term)}"
        case And(terms):
            return " and ".join(map(_inner, terms))
        case Or(terms):
            return " or ".join(
                format_expression(term) if isinstance(term, And) else _inner(term) for term in terms
            )
        case _:
            assert_never(expression)


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _inner(term: Expression) -> str:
    return f"({format_expression(term)})" if isinstance(term, And | Or) else format_expression(term)


def _pattern(pattern: str, *, ignores_case: bool) -> str:
    if not pattern:
        return '""'
    return f"/{pattern.replace('/', chr(92) + '/')}/{'i' if ignores_case else ''}"


def _choice(subject: Subject, choice: Value | ValueRange) -> str:
    if not isinstance(choice, ValueRange):
        return _value(subject, choice)
    low, high = ("" if end is None else _value(subject, end) for end in (choice.low, choice.high))
    return f"{low}..{high}"


def _value(subject: Subject, value: Value) -> str:
    if isinstance(value, str):
        field = FIELDS[subject] if isinstance(subject, str) else None
        can_be_bare = (
            field is not None and _PLAIN.fullmatch(value) and value.lower() not in KEYWORDS
        )
        if not can_be_bare or field is None or (field.values and value not in field.values):
            return quote(value)
        return quote(value) if field.type == "id" else value
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    unit = _UNITS.get(FIELDS[subject].type, "") if isinstance(subject, str) else ""
    return f"{value!r}{unit}"
