"""Transforms the parse tree of an expression into its syntax tree, and checks types.

This module imports the parser library, so import it only when an expression is compiled.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, cast

from lark import Token, Tree
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
    Or,
    Pattern,
    Subject,
    Value,
    ValueRange,
    joined,
    negation,
)
from acp_inspector.filter.errors import FilterError
from acp_inspector.filter.fields import FIELDS, OPERATORS, UNITS, Field, Operator, ValueType
from acp_inspector.filter.grammar import parse
from acp_inspector.jsonpath import JSONPathError, parse_path
from acp_protocol.host.did_you_mean import did_you_mean
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
    if _depth(tree) > MAX_DEPTH:
        raise FilterError(text, 0, f"conditions are nested at most {MAX_DEPTH} deep")
    try:
        return cast("Expression", _Conditions(text).transform(tree))
    except VisitError as problem:
        raise problem.orig_exc from None


def _depth(tree: Tree[Token]) -> int:
    """Return how deep parentheses and `not` are nested; not recursive, as they may be hostile."""
    deepest = 0
    stack: list[tuple[Tree[Token], int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        depth += node.data in {"condition", "negated"}
        deepest = max(deepest, depth)
        stack += ((child, depth) for child in node.children if isinstance(child, Tree))
    return deepest


class _Conditions(Transformer_NonRecursive[Token, Any]):
    """Transforms each node; the methods are named like the grammar's rules."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def start(self, terms: list[Expression]) -> Expression:
        return terms[0] if terms else And(())

    def disjunction(self, terms: list[Expression]) -> Expression:
        return joined(Or, terms)

    def conjunction(self, terms: list[Expression]) -> Expression:
        return joined(And, terms)

    def condition(self, terms: list[Expression]) -> Expression:
        return terms[0]

    def negated(self, children: list[Any]) -> Expression:
        return negation(children[-1])

    def text(self, tokens: list[Token]) -> Expression:
        return ContainsText(_text(tokens[0]))

    def pattern(self, tokens: list[Token]) -> Expression:
        return Pattern(self._pattern(tokens[0]).pattern)

    def path(self, tokens: list[Token]) -> Expression:
        self._subject(tokens[0])
        raise self._error(tokens[0], "a path needs an operator", f"write `{tokens[0]} exists`")

    def words(self, tokens: list[Token]) -> Expression:
        """Transform words without quotes: a flag, or text to search for."""
        first, last = tokens[0], tokens[-1]
        text = self._text[first.start_pos or 0 : last.end_pos or 0]
        for token in tokens:
            if token in _SIGNS:
                raise self._error(token, f"`{token}` is not a word", f"write `{_SIGNS[token]}`")
        field = FIELDS.get(first)
        if field is None:
            return ContainsText(text)
        if len(tokens) == 1 and field.stands_alone:
            return Exists(field.name)
        suggestion = f'to look for the text, write "{text}"'
        if field.stands_alone:
            sentence = f"`{first}` is not connected to the words after it"
            raise self._error(first, sentence, suggestion)
        sentence = f"`{first}` needs an operator ({' '.join(field.operators)})"
        raise self._error(first, sentence, suggestion)

    def compare(self, children: list[Token]) -> Expression:
        word, sign, literal = children
        subject = self._operand(word, sign)
        operator = cast("Comparison", str(sign))
        if sign == "~":
            return Match(subject, self._pattern(literal))
        value = self._value(literal, subject)
        if operator in {"<", "<=", ">", ">="} and not isinstance(subject, str):
            self._check_order(literal, value)
        return _of_entry(Compare(subject, operator, value))

    def contains(self, children: list[Token]) -> Expression:
        literal = children[-1]
        subject = self._operand(children[0], children[-2])
        if literal.type == "REGEX":
            sentence = "a pattern is only allowed after `~`"
            raise self._error(literal, sentence, "write ~ for contains")
        is_path = not isinstance(subject, str)
        value = self._value(literal, subject) if is_path else _text(literal)
        return _negated_if(children[1], Compare(subject, "contains", value))

    def within(self, children: list[Any]) -> Expression:
        subject = self._operand(children[0], children[-2])
        literals: Token | list[Token] = children[-1]
        if isinstance(literals, Token):
            choice = self._choice(literals, subject)
            if not isinstance(choice, ValueRange):
                suggestion = f"write `in ({literals})`"
                raise self._error(literals, "`in` takes a list or a range", suggestion)
            return _negated_if(children[1], In(subject, (choice,)))
        choices = tuple(self._choice(each, subject) for each in literals)
        return _negated_if(children[1], _of_entry(In(subject, choices)))

    def exists(self, children: list[Token]) -> Expression:
        return _negated_if(children[1], Exists(self._operand(children[0], children[-1])))

    def choices(self, literals: list[Token]) -> list[Token]:
        return literals

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
        guess = did_you_mean(token.lower(), FIELDS, mark="`")
        shown = f"`{token}`" if len(token) <= 40 else "this name"
        suggestion = guess or f"there are: {' '.join(FIELDS)}"
        raise self._error(token, f"there is no field {shown}", suggestion)

    def _value(self, token: Token, subject: Subject) -> Value:
        """Convert a literal to the type of its subject."""
        if token.type == "REGEX":
            sentence = "a pattern is only allowed after `~`"
            raise self._error(token, sentence, "write ~, or put it in quotes")
        if not isinstance(subject, str):
            return self._json(token)
        field = FIELDS[subject]
        match field.type:
            case "number" | "time" | "size":
                amount = self._amount(token, token, field.type)
                if amount is None:
                    shown = token if len(token) <= MAX_NUMBER else "this"
                    sentence = f"{field.name} is {_EXPECTED[field.type]}, not {shown}"
                    raise self._error(token, sentence)
                return amount
            case "id":
                return self._json(token)
            case _:
                return self._word(token, field)

    def _choice(self, token: Token, subject: Subject) -> Value | ValueRange:
        """Convert a literal to a value or range of the type of its subject."""
        found = _RANGE.fullmatch(token) if token.type == "WORD" else None
        if not found or not (found[1] or found[2]):
            return self._value(token, subject)
        type_ = FIELDS[subject].type if isinstance(subject, str) else "json"
        if type_ not in {"number", "time", "size", "json"}:
            sentence = f"{subject} has no order, so it takes no ranges"
            raise self._error(token, sentence, "list its values")
        low, high = (self._end(token, end, type_) for end in (found[1], found[2]))
        if low is not None and high is not None and low > high:
            raise self._error(token, "the range ends before it begins")
        return ValueRange(low, high)

    def _end(self, token: Token, end: str | None, type_: ValueType) -> int | float | None:
        if end is None:
            return None
        amount = self._amount(token, end, type_)
        if amount is None:
            raise self._error(token, f"{end} is not {_EXPECTED.get(type_, 'a number')}")
        return amount

    def _pattern(self, token: Token) -> Pattern:
        """Convert a literal of any form to a pattern."""
        text, ignores_case = _text(token), False
        if token.type == "REGEX":
            ignores_case = text.endswith("i")
            text = text[1 : -2 if ignores_case else -1]
        text = _ESCAPE.sub(lambda pair: "/" if pair[1] == "/" else pair[0], text)
        if len(text) > MAX_PATTERN:
            raise self._error(token, f"a pattern has at most {MAX_PATTERN} characters")
        pattern = Pattern(text, ignores_case)
        try:
            pattern.compile()
        except PatternError as problem:
            raise self._error(token, f"the pattern cannot be used: {problem}") from None
        return pattern

    def _json(self, token: Token) -> Value:
        """Convert a literal to a JSON value; a quoted one is always text."""
        if token.type == "STRING":
            return _text(token)
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        found = _QUANTITY.fullmatch(token)
        return self._number(token, found[1]) if found and not found[2] else str(token)

    def _amount(self, token: Token, text: str, type_: ValueType) -> int | float | None:
        """Return a number, of times in seconds and of sizes in bytes; None if it is invalid."""
        found = _QUANTITY.fullmatch(text)
        if not found:
            return None
        number, unit = self._number(token, found[1]), found[2].lower()
        if not unit:
            return float(number) if type_ == "time" else number
        if unit not in UNITS.get(type_, {}):
            return None
        times, parts = UNITS[type_][unit]
        return number * times / parts if type_ == "time" else number * times

    def _number(self, token: Token, text: str) -> int | float:
        if len(text) > MAX_NUMBER:
            raise self._error(token, "the number is too long")
        number = int(text) if text.lstrip("+-").isdigit() else float(text)
        if not math.isfinite(number):
            raise self._error(token, "the number is too large")
        return number

    def _word(self, token: Token, field: Field) -> str:
        text = _text(token)
        if not field.values or text in field.values:
            return text
        if field.is_open and (token.type == "STRING" or text.startswith("_")):
            return text
        guess = did_you_mean(text.lower(), field.values, mark="`")
        if field.is_open and not guess:
            guess = "to use it anyway, put it in quotes"
        if field.name == "kind" and text in FIELDS["tool.kind"].values:
            guess = f"did you mean `tool.kind == {text}`?"
        shown = f'"{text}"' if len(text) <= MAX_NUMBER else "this"
        known = f"{', '.join(field.values[:-1])} or {field.values[-1]}"
        raise self._error(token, f"{field.name} is never {shown}, but {known}", guess)

    def _check_order(self, token: Token, value: Value) -> None:
        """Reject values that cannot be ordered against a value in a message."""
        if isinstance(value, bool) or value is None:
            raise self._error(token, f"{token} cannot be compared by order")
        if isinstance(value, str) and token.type == "WORD":
            sentence = "a value in a message is compared with a number without a unit"
            raise self._error(token, sentence, "put text in quotes")

    def _error(self, token: Token, sentence: str, suggestion: str = "") -> FilterError:
        at, length = token.start_pos or 0, len(token)
        return FilterError(self._text, at, sentence, suggestion, length=length)


def _text(token: Token) -> str:
    return _ESCAPE.sub(r"\1", token[1:-1]) if token.type == "STRING" else str(token)


def _negated_if(token: Token, positive: Expression) -> Expression:
    return negation(positive) if token.type == "NOT" else positive


def _of_entry(condition: Compare | In) -> Expression:
    """Return an equivalent condition that does not read the message, if there is one."""
    match condition:
        case Compare("kind", "==", "stderr" | "event" as word):
            return Exists(word)
        case Compare("kind", "!=", "stderr" | "event" as word):
            return negation(Exists(word))
        case In("kind", choices) if {"stderr", "event"}.issuperset(choices):
            return joined(Or, [Exists(str(word)) for word in choices])
        case _:
            return condition
