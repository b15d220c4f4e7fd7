"""Data as Emacs prints it: enough of Lisp to read JSON that was parsed into it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*+\")|(?P<label>#[0-9]+[=#])|(?P<mark>[][()])|"
    r"(?P<atom>(?:[^\s()\[\]\"\\]|\\.)+))",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", re.DOTALL)
_SHORT: Final = {
    "n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b", "e": "\x1b", "a": "\a", "v": "\v",
    "d": "\x7f", "\n": "", " ": "",
}  # fmt: skip
_NUMBER: Final = re.compile(
    r"[+-]?[0-9]+\.?|[+-]?[0-9]*\.[0-9]+(?:e[+-]?[0-9]+)?|[+-]?[0-9]+e[0-9]+"
)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name."""

    name: str


@dataclass(slots=True)
class Pairs:
    """A list, or with a tail a dotted one."""

    items: list[Any] = field(default_factory=list[Any])
    tail: Any = None


Lisp: TypeAlias = Any
NIL: Final = Symbol("nil")


class Reader:
    """Reads one expression after the other; labels hold from each to the next."""

    def __init__(self) -> None:
        self._labels: dict[str, Lisp] = {}
        self._text = ""
        self._at = 0

    def read(self, text: str) -> Lisp:
        """Return the expression that `text` spells.

        Raises:
            ValueError: it spells none.
        """
        self._text, self._at = text, 0
        try:
            return self._expression(self._token())
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def _token(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise ValueError("the expression does not end")
        self._at = found.end()
        return found

    def _expression(self, token: re.Match[str]) -> Lisp:
        match token.lastgroup:
            case "text":
                return _ESCAPE.sub(_character, token["text"][1:-1])
            case "atom":
                return _atom(token["atom"])
            case "label":
                return self._labelled(token["label"])
            case _:
                return self._collection(token["mark"])

    def _labelled(self, label: str) -> Lisp:
        number = label[1:-1]
        if label.endswith("#"):
            if number not in self._labels:
                raise ValueError("a label that was not told")
            return self._labels[number]
        value = self._expression(self._token())
        self._labels[number] = value
        return value

    def _collection(self, mark: str) -> Lisp:
        if mark not in "([":
            raise ValueError("a bracket that closes nothing")
        closing = ")" if mark == "(" else "]"
        pairs = Pairs()
        while (token := self._token())["mark"] != closing:
            if mark == "(" and token["atom"] == ".":
                pairs.tail = self._expression(self._token())
            else:
                pairs.items.append(self._expression(token))
        return pairs if mark == "(" else pairs.items


def _character(found: re.Match[str]) -> str:
    escape = found[1]
    if escape[0] == "x" and len(escape) > 1:
        return chr(min(int(escape[1:], 16), 0x10FFFF))
    if escape.isdigit():
        return chr(int(escape, 8))
    return _SHORT.get(escape, escape)


def _atom(atom: str) -> Lisp:
    if _NUMBER.fullmatch(atom):
        return float(atom) if "." in atom.rstrip(".") or "e" in atom else int(atom.rstrip("."))
    return Symbol(re.sub(r"\\(.)", r"\1", atom))


def member(value: Lisp, name: str) -> Lisp:
    """Return what `value`, a list of pairs, has under `name`; nil where it has nothing."""
    for pair in value.items if isinstance(value, Pairs) else []:
        if isinstance(pair, Pairs) and pair.items and pair.items[0] == Symbol(name):
            return _rest(pair)
    return NIL


def to_json(value: Lisp) -> Any:
    """Return the JSON that was parsed into `value`: pairs as an object, a vector as an array.

    Raises:
        ValueError: it was made of no JSON.
    """
    match value:
        case Symbol(name=name):
            return _constant(name)
        case str() | int() | float():
            return value
        case list():
            return [to_json(item) for item in cast("list[Lisp]", value)]
        case Pairs(items=[]):
            return None
        case Pairs(items=items, tail=None) if all(map(_is_pair, items)):
            return {pair.items[0].name.lstrip(":"): to_json(_rest(pair)) for pair in items}
        case Pairs(items=items, tail=None):
            return [to_json(item) for item in items]
        case _:
            raise ValueError("a pair that is no member")


def _is_pair(value: Lisp) -> bool:
    return isinstance(value, Pairs) and bool(value.items) and isinstance(value.items[0], Symbol)


def _rest(pair: Pairs) -> Lisp:
    """Return the pair without its first."""
    if len(pair.items) == 1:
        return NIL if pair.tail is None else pair.tail
    return Pairs(pair.items[1:], pair.tail)


def _constant(name: str) -> Any:
    constants = {"nil": None, ":null": None, "t": True, ":false": False, ":json-false": False}
    if name not in constants:
        raise ValueError("a symbol that is no constant")
    return constants[name]
