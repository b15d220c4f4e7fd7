"""Traffic saved from the traffic buffer of acp.el, the library of agent-shell.

One list, each element with `:direction`, `:kind` and `:object`, the parsed message. acp.el parses
null, false and the empty object alike as `nil`. Emacs prints data as Lisp; `LispReader` reads the
subset of Lisp that parsed JSON needs.

Source: acp.el, acp-traffic.el, `acp-traffic-save-to`; acp.el, `acp--parse-json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, TypeAlias, cast

from acp_inspector.importers.json_exports import read_elements
from acp_inspector.importers.model import FrameItem, Item
from acp_protocol import jsonrpc
from acp_protocol.framing import Side

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
class LispSymbol:
    """A name."""

    name: str


@dataclass(slots=True)
class LispList:
    """A list, or with a tail a dotted one."""

    items: list[Any] = field(default_factory=list[Any])
    tail: Any = None


Lisp: TypeAlias = Any
NIL: Final = LispSymbol("nil")


class LispReader:
    """Reads expressions one by one; labels stay defined across expressions."""

    def __init__(self) -> None:
        self._labels: dict[str, Lisp] = {}
        self._text = ""
        self._at = 0

    def read(self, text: str) -> Lisp:
        """Return the expression in `text`.

        Raises:
            ValueError: there is none.
        """
        self._text, self._at = text, 0
        try:
            return self._expression(self._token())
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except KeyError:
            raise ValueError("a label that is not defined") from None

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
                atom = token["atom"]
                if not _NUMBER.fullmatch(atom):
                    return LispSymbol(re.sub(r"\\(.)", r"\1", atom))
                digits = atom.rstrip(".")
                return float(atom) if "." in digits or "e" in atom else int(digits)
            case "label":
                number = token["label"][1:-1]
                if token["label"].endswith("="):
                    self._labels[number] = self._expression(self._token())
                return self._labels[number]
            case _:
                return self._collection(token["mark"])

    def _collection(self, mark: str) -> Lisp:
        if mark not in "([":
            raise ValueError("a bracket that closes nothing")
        closing = ")" if mark == "(" else "]"
        pairs = LispList()
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


def lisp_member(value: Lisp, name: str) -> Lisp:
    """Return the value of `name` in a list of pairs; nil if there is none."""
    for pair in value.items if isinstance(value, LispList) else []:
        if isinstance(pair, LispList) and pair.items and pair.items[0] == LispSymbol(name):
            return _rest(pair)
    return NIL


def to_json(value: Lisp) -> Any:
    """Return the JSON that was parsed into `value`: pairs as an object, a vector as an array.

    Raises:
        ValueError: it does not represent JSON.
    """
    match value:
        case LispSymbol(name=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case str() | int() | float():
            return value
        case list():
            return [to_json(item) for item in cast("list[Lisp]", value)]
        case LispList(items=[]):
            return None
        case LispList(items=items, tail=None) if all(map(_is_pair, items)):
            return {pair.items[0].name.lstrip(":"): to_json(_rest(pair)) for pair in items}
        case LispList(items=items, tail=None):
            return [to_json(item) for item in items]
        case _:
            raise ValueError("neither a constant nor a list of pairs")


def _is_pair(value: Lisp) -> bool:
    return (
        isinstance(value, LispList) and bool(value.items) and isinstance(value.items[0], LispSymbol)
    )


def _rest(pair: LispList) -> Lisp:
    """Return the rest of a pair."""
    if len(pair.items) == 1:
        return NIL if pair.tail is None else pair.tail
    return LispList(pair.items[1:], pair.tail)


_CONSTANTS: Final = {"nil": None, ":null": None, "t": True, ":false": False, ":json-false": False}
_SIDES: Final[dict[str, Side]] = {"outgoing": "client", "incoming": "agent"}


def is_acp_el(head: bytes) -> bool:
    return head.lstrip().startswith(b"(") and b"(:direction . " in head


def read_acp_el(file: BinaryIO) -> Iterator[Item]:
    reader = LispReader()
    return read_elements(
        file, opens=(b"(", b"("), depth=1, read=lambda element: _item(reader.read(element.decode()))
    )


def _item(entry: Any) -> FrameItem:
    direction = lisp_member(entry, ":direction")
    message = to_json(lisp_member(entry, ":object"))
    if not isinstance(direction, LispSymbol) or not isinstance(message, dict):
        raise ValueError("no message")  # noqa: TRY004 - the file's fault, not a caller's
    members = cast("dict[str, Any]", message)
    if members.get("params", True) is None:
        # The params of ACP are objects.
        members["params"] = {}
    return FrameItem(_SIDES[direction.name], jsonrpc.encode(members))
