"""Values as they are written: words, text in quotes, patterns, numbers with units, ranges."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_inspector.filter.errors import FilterError, nearest
from acp_inspector.filter.expressions import Pattern, Range, Subject, Value
from acp_inspector.filter.fields import FIELDS, UNITS, Field, Type
from acp_inspector.filter.patterns import Bounded
from acp_protocol.patterns import PatternError

DIGITS_LIMIT: Final = 40
"""Characters of a number, at most."""
PATTERN_LIMIT: Final = 1000
"""Characters of a pattern, at most."""

_NUMBER: Final = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_QUANTITY: Final = re.compile(rf"({_NUMBER})([A-Za-z]*)", re.ASCII)
_RANGE: Final = re.compile(rf"({_NUMBER}[A-Za-z]*)?\.\.({_NUMBER}[A-Za-z]*)?", re.ASCII)
_CONSTANTS: Final[dict[str, Value]] = {"true": True, "false": False, "null": None}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_EXPECTED: Final[dict[Type, str]] = {
    "number": "a number",
    "time": "a time such as 500ms, 2s or 1m",
    "size": "a size such as 100, 64kb or 1mb",
}


Form: TypeAlias = Literal["WORD", "STRING", "REGEX"]


@dataclass(frozen=True, slots=True)
class Written:
    """A value as it stands in an expression."""

    expression: str
    """The whole of it."""
    position: int
    written: str
    form: Form

    @property
    def text(self) -> str:
        """What it says, without quotes."""
        return unquoted(self.written) if self.form == "STRING" else self.written

    def error(self, sentence: str, suggestion: str = "") -> FilterError:
        """Return the error that points here."""
        length = len(self.written)
        return FilterError(self.expression, self.position, sentence, suggestion, length=length)


def unquoted(written: str) -> str:
    """Return the text of a string of the language."""
    return _ESCAPE.sub(r"\1", written[1:-1])


def read_value(written: Written, subject: Subject) -> Value:
    """Return the value in the type of its subject.

    Raises:
        FilterError: it does not fit.
    """
    if written.form == "REGEX":
        raise written.error("a pattern stands only behind `~`", "write ~, or put it in quotes")
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


def read_choice(written: Written, subject: Subject) -> Value | Range:
    """Return the value or the range in the type of its subject.

    Raises:
        FilterError: it does not fit.
    """
    found = _RANGE.fullmatch(written.written) if written.form == "WORD" else None
    if not found or not (found[1] or found[2]):
        return read_value(written, subject)
    field = FIELDS[subject] if isinstance(subject, str) else None
    type_ = field.type if field else "json"
    if type_ not in {"number", "time", "size", "json"}:
        raise written.error(f"{subject} has no order, hence no ranges", "list its values")
    low, high = (_end(written, end, type_) for end in (found[1], found[2]))
    if low is not None and high is not None and low > high:
        raise written.error("the range ends before it begins")
    return Range(low, high)


def read_pattern(written: Written) -> Pattern:
    """Return the pattern, whatever its form.

    Raises:
        FilterError: it is none.
    """
    text, ignores_case = written.text, False
    if written.form == "REGEX":
        ignores_case = text.endswith("i")
        text = text[1 : -2 if ignores_case else -1]
    text = _ESCAPE.sub(lambda pair: "/" if pair[1] == "/" else pair[0], text)
    if len(text) > PATTERN_LIMIT:
        raise written.error(f"a pattern has at most {PATTERN_LIMIT} characters")
    try:
        compiled(Pattern(text, ignores_case))
    except PatternError as problem:
        raise written.error(f"the pattern cannot be used: {problem}") from None
    return Pattern(text, ignores_case)


def compiled(pattern: Pattern) -> Bounded[str]:
    """Return the pattern ready for use.

    Raises:
        PatternError: it is none.
    """
    return Bounded(pattern.pattern, ignores_case=pattern.ignores_case)


def _json(written: Written) -> Value:
    """Return a value of JSON: in quotes it is text, whatever it looks like."""
    if written.form == "STRING":
        return written.text
    if written.text in _CONSTANTS:
        return _CONSTANTS[written.text]
    found = _QUANTITY.fullmatch(written.text)
    return _number(written, found[1]) if found and not found[2] else written.text


def _quantity(written: Written, field: Field) -> int | float:
    amount = _amount(written, written.written, field.type)
    if amount is None:
        shown = written.written if len(written.written) <= DIGITS_LIMIT else "this"
        raise written.error(f"{field.name} is {_EXPECTED[field.type]}, not {shown}")
    return amount


def _end(written: Written, end: str | None, type_: Type) -> int | float | None:
    if end is None:
        return None
    amount = _amount(written, end, type_)
    if amount is None:
        raise written.error(f"{end} is not {_EXPECTED.get(type_, 'a number')}")
    return amount


def _amount(written: Written, text: str, type_: Type) -> int | float | None:
    """Return a number in seconds, bytes, or what it counts; None if it is no such number."""
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


def _number(written: Written, text: str) -> int | float:
    if len(text) > DIGITS_LIMIT:
        raise written.error("the number is too long")
    number = int(text) if text.lstrip("+-").isdigit() else float(text)
    if not math.isfinite(number):
        raise written.error("the number is too large")
    return number


def _word(written: Written, field: Field) -> str:
    text = written.text
    if not field.values or text in field.values:
        return text
    if field.is_open and (written.form == "STRING" or text.startswith("_")):
        return text
    guess = nearest(text, field.values)
    if field.is_open and not guess:
        guess = "write it in quotes if it is meant"
    if field.name == "kind" and text in FIELDS["tool.kind"].values:
        guess = f"did you mean `tool.kind == {text}`?"
    shown = f'"{text}"' if len(text) <= DIGITS_LIMIT else "this"
    raise written.error(f"{field.name} is never {shown}, but {_listed(field.values)}", guess)


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
