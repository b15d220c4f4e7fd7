"""Transforms the parse tree of an expression into its syntax tree, and checks types.

This module imports the parser library, so import it only when an expression is compiled.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from lark import Token
from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive

from acp_inspector.filter.ast import (
    And,
    Compare,
    Comparison,
    ContainsText,
    Exists,
    Expression,
    In,
    Match,
    Pattern,
    Subject,
    Value,
    ValueRange,
    conjunction,
    disjunction,
    negation,
)
from acp_inspector.filter.errors import FilterError, did_you_mean
from acp_inspector.filter.fields import FIELDS, OPERATORS, UNITS, Field, Operator, ValueType
from acp_inspector.filter.grammar import parse
from acp_inspector.jsonpath import JSONPathError, parse_path
from acp_protocol.safe_regex import PatternError

MAX_DEPTH: Final = 50
"""Deepest nesting of parentheses and `not`."""
MAX_NUMBER: Final = 40
"""Longest number, in characters."""
MAX_PATTERN: Final = 1000
"""Longest pattern, in characters."""

_NUMBER: Final = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_QUANTITY: Final = re.compile(rf"({_NUMBER})([A-Za-z]*)", re.ASCII)
_RANGE: Final = re.compile(rf"({_NUMBER}[A-Za-z]*)?\.\.({_NUMBER}[A-Za-z]*)?", re.ASCII)
_CONSTANTS: Final[dict[str, Value]] = {"true": True, "false": False, "null": None}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_EXPECTED: Final[dict[ValueType, str]] = {
    "number": "a number",
    "time": "a time such as 500ms, 2s or 1m",
    "size": "a size such as 100, 64kb or 1mb",
}
_SIGNS: Final = {"&&": "and", "&": "and", "||": "or", "|": "or"}


def parse_expression(text: str) -> Expression:
    """Parse an expression; an empty one matches everything.

    Raises:
        FilterError: it is invalid.
    """
    tree = parse(text)
    try:
        return cast("Expression", _Conditions(text).transform(tree))
    except VisitError as problem:
        raise problem.orig_exc from None


class _Nested(NamedTuple):
    """A condition, and the depth of parentheses and `not` in it."""

    expression: Expression
    depth: int


class _Conditions(Transformer_NonRecursive[Token, Any]):
    """Transforms each node; the methods are named like the grammar's rules."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def start(self, children: list[_Nested]) -> Expression:
        return children[0].expression if children else And(())

    def disjunction(self, terms: list[_Nested]) -> _Nested:
        depth = max(term.depth for term in terms)
        return _Nested(disjunction([term.expression for term in terms]), depth)

    def conjunction(self, terms: list[_Nested]) -> _Nested:
        depth = max(term.depth for term in terms)
        return _Nested(conjunction([term.expression for term in terms]), depth)

    def condition(self, terms: list[_Nested]) -> _Nested:
        return self._deeper(terms[0].expression, terms[0].depth)

    def negated(self, children: list[Any]) -> _Nested:
        term = cast("_Nested", children[-1])
        return self._deeper(negation(term.expression), term.depth)

    def _deeper(self, expression: Expression, depth: int) -> _Nested:
        if depth >= MAX_DEPTH:
            sentence = f"conditions are nested at most {MAX_DEPTH} deep"
            raise FilterError(self._text, 0, sentence)
        return _Nested(expression, depth + 1)

    def text(self, tokens: list[Token]) -> _Nested:
        return _Nested(ContainsText(_unquoted(tokens[0])), 0)

    def pattern(self, tokens: list[Token]) -> _Nested:
        return _Nested(Pattern(_read_pattern(self._literal(tokens[0])).pattern), 0)

    def path(self, tokens: list[Token]) -> _Nested:
        self._subject(tokens[0])
        raise self._error(tokens[0], "a path needs an operator", f"write `{tokens[0]} exists`")

    def words(self, tokens: list[Token]) -> _Nested:
        """Transform words without quotes: a flag, or text to search for."""
        first, last = tokens[0], tokens[-1]
        begin, end = first.start_pos or 0, last.end_pos or 0
        text = self._text[begin:end]
        for token in tokens:
            if token in _SIGNS:
                raise self._error(token, f"`{token}` is no word", f"write `{_SIGNS[token]}`")
        field = FIELDS.get(first)
        if field is None:
            return _Nested(ContainsText(text), 0)
        if len(tokens) == 1 and field.stands_alone:
            return _Nested(Exists(field.name), 0)
        suggestion = f'to look for the text, write "{text}"'
        if field.stands_alone:
            sentence = f"`{first}` is not connected to the words after it"
            raise self._error(first, sentence, suggestion)
        sentence = f"`{first}` needs an operator ({' '.join(field.operators)})"
        raise self._error(first, sentence, suggestion)

    def compare(self, children: list[Token]) -> _Nested:
        word, sign, literal = children
        subject = self._operand(word, sign)
        written = self._literal(literal)
        operator = cast("Comparison", str(sign))
        if sign == "~":
            return _Nested(Match(subject, _read_pattern(written)), 0)
        value = _read_value(written, subject)
        if operator in {"<", "<=", ">", ">="} and not isinstance(subject, str):
            _check_order(written, value)
        return _Nested(_of_entry(Compare(subject, operator, value)), 0)

    def contains(self, children: list[Token]) -> _Nested:
        subject = self._operand(children[0], children[-2])
        written = self._literal(children[-1])
        if written.form == "REGEX":
            raise written.error("a pattern is only allowed after `~`", "write ~ for contains")
        is_path = not isinstance(subject, str)
        value = _read_value(written, subject) if is_path else written.text
        return self._negated_if(children[1], Compare(subject, "contains", value))

    def within(self, children: list[Any]) -> _Nested:
        subject = self._operand(children[0], children[-2])
        literals: Token | list[Token] = children[-1]
        if isinstance(literals, Token):
            written = self._literal(literals)
            choice = _read_choice(written, subject)
            if not isinstance(choice, ValueRange):
                suggestion = f"write `in ({written.written})`"
                raise written.error("`in` takes a list or a range", suggestion)
            return self._negated_if(children[1], In(subject, (choice,)))
        choices = tuple(_read_choice(self._literal(each), subject) for each in literals)
        return self._negated_if(children[1], _of_entry(In(subject, choices)))

    def exists(self, children: list[Token]) -> _Nested:
        return self._negated_if(children[1], Exists(self._operand(children[0], children[-1])))

    def subject(self, tokens: list[Token]) -> Token:
        return tokens[0]

    def literal(self, tokens: list[Token]) -> Token:
        return tokens[0]

    def choices(self, literals: list[Token]) -> list[Token]:
        return literals

    def _negated_if(self, token: Token, positive: Expression) -> _Nested:
        """Return the negation if `token` is `not`."""
        return _Nested(negation(positive) if token.type == "NOT" else positive, 0)

    def _operand(self, word: Token, token: Token) -> Subject:
        """Return the subject, and check that it supports the operator."""
        subject = self._subject(word)
        operator = cast("Operator", token.lower())
        type_ = FIELDS[subject].type if isinstance(subject, str) else "json"
        if operator in OPERATORS[type_]:
            return subject
        if type_ == "flag":
            sentence = f"`{subject}` takes no value"
            raise self._error(token, sentence, f"write `{subject}` or `not {subject}`")
        sentence = f"`{operator}` does not fit {subject}, which takes {' '.join(OPERATORS[type_])}"
        raise self._error(token, sentence)

    def _subject(self, token: Token) -> Subject:
        if token.type == "PATH":
            try:
                return parse_path(token)
            except JSONPathError as problem:
                at = (token.start_pos or 0) + problem.position
                raise FilterError(self._text, at, str(problem)) from None
        if token in FIELDS:
            return str(token)
        guess = did_you_mean(token, FIELDS)
        shown = f"`{token}`" if len(token) <= 40 else "this name"
        raise self._error(token, f"there is no field {shown}", guess or _all_fields())

    def _literal(self, token: Token) -> _Literal:
        form = cast("_Form", token.type)
        return _Literal(self._text, token.start_pos or 0, str(token), form)

    def _error(self, token: Token, sentence: str, suggestion: str = "") -> FilterError:
        at, length = token.start_pos or 0, len(token)
        return FilterError(self._text, at, sentence, suggestion, length=length)


def _check_order(written: _Literal, value: Value) -> None:
    """Reject values that cannot be ordered against a value in a message."""
    if isinstance(value, bool) or value is None:
        raise written.error(f"{written.written} cannot be compared by order")
    if isinstance(value, str) and written.form == "WORD":
        sentence = "a value in a message is compared with a number without a unit"
        raise written.error(sentence, "put text in quotes")


def _of_entry(condition: Compare | In) -> Expression:
    """Return an equivalent condition that does not read the message, if there is one."""
    match condition:
        case Compare("kind", "==", "stderr" | "event" as word):
            return Exists(word)
        case Compare("kind", "!=", "stderr" | "event" as word):
            return negation(Exists(word))
        case In("kind", choices) if {"stderr", "event"}.issuperset(choices):
            return disjunction([Exists(str(word)) for word in choices])
        case _:
            return condition


def _all_fields() -> str:
    return f"there are: {' '.join(FIELDS)}"


_Form: TypeAlias = Literal["WORD", "STRING", "REGEX"]


@dataclass(frozen=True, slots=True)
class _Literal:
    """A value in an expression."""

    expression: str
    position: int
    written: str
    form: _Form

    @property
    def text(self) -> str:
        """The text without quotes."""
        return _unquoted(self.written) if self.form == "STRING" else self.written

    def error(self, sentence: str, suggestion: str = "") -> FilterError:
        length = len(self.written)
        return FilterError(self.expression, self.position, sentence, suggestion, length=length)


def _unquoted(written: str) -> str:
    """Return the text of a quoted string."""
    return _ESCAPE.sub(r"\1", written[1:-1])


def _read_value(written: _Literal, subject: Subject) -> Value:
    """Convert a literal to the type of its subject.

    Raises:
        FilterError: it has another type.
    """
    if written.form == "REGEX":
        raise written.error("a pattern is only allowed after `~`", "write ~, or put it in quotes")
    if not isinstance(subject, str):
        return _json(written)
    field = FIELDS[subject]
    match field.type:
        case "number" | "time" | "size":
            return _quantity(written, field)
        case "id":
            return _json(written)
        case _:
            return _word(written, field)


def _read_choice(written: _Literal, subject: Subject) -> Value | ValueRange:
    """Convert a literal to a value or range of the type of its subject.

    Raises:
        FilterError: it has another type.
    """
    found = _RANGE.fullmatch(written.written) if written.form == "WORD" else None
    if not found or not (found[1] or found[2]):
        return _read_value(written, subject)
    field = FIELDS[subject] if isinstance(subject, str) else None
    type_ = field.type if field else "json"
    if type_ not in {"number", "time", "size", "json"}:
        raise written.error(f"{subject} has no order, so it takes no ranges", "list its values")
    low, high = (_end(written, end, type_) for end in (found[1], found[2]))
    if low is not None and high is not None and low > high:
        raise written.error("the range ends before it begins")
    return ValueRange(low, high)


def _read_pattern(written: _Literal) -> Pattern:
    """Convert a literal of any form to a pattern.

    Raises:
        FilterError: it is invalid.
    """
    text, ignores_case = written.text, False
    if written.form == "REGEX":
        ignores_case = text.endswith("i")
        text = text[1 : -2 if ignores_case else -1]
    text = _ESCAPE.sub(lambda pair: "/" if pair[1] == "/" else pair[0], text)
    if len(text) > MAX_PATTERN:
        raise written.error(f"a pattern has at most {MAX_PATTERN} characters")
    try:
        Pattern(text, ignores_case).compile()
    except PatternError as problem:
        raise written.error(f"the pattern cannot be used: {problem}") from None
    return Pattern(text, ignores_case)


def _json(written: _Literal) -> Value:
    """Convert a literal to a JSON value; a quoted one is always text."""
    if written.form == "STRING":
        return written.text
    if written.text in _CONSTANTS:
        return _CONSTANTS[written.text]
    found = _QUANTITY.fullmatch(written.text)
    return _number(written, found[1]) if found and not found[2] else written.text


def _quantity(written: _Literal, field: Field) -> int | float:
    amount = _amount(written, written.written, field.type)
    if amount is None:
        shown = written.written if len(written.written) <= MAX_NUMBER else "this"
        raise written.error(f"{field.name} is {_EXPECTED[field.type]}, not {shown}")
    return amount


def _end(written: _Literal, end: str | None, type_: ValueType) -> int | float | None:
    if end is None:
        return None
    amount = _amount(written, end, type_)
    if amount is None:
        raise written.error(f"{end} is not {_EXPECTED.get(type_, 'a number')}")
    return amount


def _amount(written: _Literal, text: str, type_: ValueType) -> int | float | None:
    """Return a number, of times in seconds and of sizes in bytes; None if it is invalid."""
    found = _QUANTITY.fullmatch(text)
    if not found:
        return None
    number, unit = _number(written, found[1]), found[2].lower()
    if not unit:
        return float(number) if type_ == "time" else number
    if unit not in UNITS.get(type_, {}):
        return None
    times, parts = UNITS[type_][unit]
    return number * times / parts if type_ == "time" else number * times


def _number(written: _Literal, text: str) -> int | float:
    if len(text) > MAX_NUMBER:
        raise written.error("the number is too long")
    number = int(text) if text.lstrip("+-").isdigit() else float(text)
    if not math.isfinite(number):
        raise written.error("the number is too large")
    return number


def _word(written: _Literal, field: Field) -> str:
    text = written.text
    if not field.values or text in field.values:
        return text
    if field.is_open and (written.form == "STRING" or text.startswith("_")):
        return text
    guess = did_you_mean(text, field.values)
    if field.is_open and not guess:
        guess = "to use it anyway, put it in quotes"
    if field.name == "kind" and text in FIELDS["tool.kind"].values:
        guess = f"did you mean `tool.kind == {text}`?"
    shown = f'"{text}"' if len(text) <= MAX_NUMBER else "this"
    raise written.error(f"{field.name} is never {shown}, but {_listed(field.values)}", guess)


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
