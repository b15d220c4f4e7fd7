"""Lines that hold no message: what is wrong with them, and whether they are pieces of one.

Each side's lines are looked at as they come. What begins an array or an object may go on below, so
it is held back until it is whole, or until it is clear that it never will be.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from acp_inspector.journal import Frame
from acp_inspector.lint.context import Context
from acp_inspector.lint.state import IdKey
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list
from acp_protocol.jsonrpc import Json

PIECES: Final = 1000
"""Lines that one JSON text may be spread over, to be put together again."""
PIECES_BYTES: Final = 2**20

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_TOKEN: Final = re.compile(
    r"[ \t\n\r]*(?:([\[{])|([\]}])|([,:])|"
    r'("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null))"
)


def _refuse(constant: str) -> None:
    """Turn down `NaN` and the like, which the standard library takes."""
    raise ValueError(f"{constant} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


class JsonSyntaxError(NamedTuple):
    """What is wrong with a line that is no JSON."""

    what: str
    place: int


@dataclass(slots=True)
class Pieces:
    """Lines of one side that may be the beginning of a JSON text that goes on below."""

    lines: list[Frame] = field(default_factory=list[Frame])
    depth: int = 0
    """Brackets that are open at their end."""
    size: int = 0
    """Bytes."""


@dataclass(slots=True)
class LineState:
    """What lines without a message leave behind for what comes after them."""

    pieces: dict[Side, Pieces] = field(
        default_factory=lambda: {"client": Pieces(), "agent": Pieces()}
    )
    unreadable: Counter[Side] = field(default_factory=Counter[Side])
    """Lines of each side that may yet be answered, without an id."""
    deep: set[Side] = field(default_factory=set[Side])
    """Sides that sent JSON which is nested too deeply to be read here."""
    ids: set[IdKey] = field(default_factory=set[IdKey])
    """Ids of objects that ask for something, but not as they should; they may be answered."""
    newest: tuple[Frame, JsonSyntaxError | None] | None = None
    """What was wrong with the line that was looked at last."""


def is_not_json(context: Context) -> bool:
    """Return whether a line holds no JSON at all."""
    return context.kind == "broken" and not context.value and syntax_error(context) is not None


def syntax_error(context: Context) -> JsonSyntaxError | None:
    """Return what is wrong with a line, and where; None if it is JSON."""
    lines = context.state.of(LineState)
    if lines.newest is None or lines.newest[0] is not context.frame:
        lines.newest = context.frame, _error_reason(context)
    return lines.newest[1]


def _error_reason(context: Context) -> JsonSyntaxError | None:
    try:
        text = context.frame.data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        return JsonSyntaxError("utf-8", problem.start)
    try:
        _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        return JsonSyntaxError(problem.msg, problem.pos)
    except (RecursionError, ValueError):
        return None if spells_json(text) else JsonSyntaxError(context.decoded.reason, 0)
    return None


def spells_json(text: str) -> bool:
    """Return whether a text is JSON, however deeply it is nested."""
    open_: list[str] = []
    expected, at = "value", 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        opener, closer, sign, scalar = token.groups()
        if opener and expected in {"value", "]"}:
            open_.append("]" if opener == "[" else "}")
            expected = open_[-1]
        elif closer and open_ and open_[-1] == closer and expected in {"next", closer}:
            open_.pop()
            expected = "next"
        elif scalar and expected in {"value", "]"}:
            expected = "next"
        elif scalar and scalar[0] == '"' and expected in {"name", "}"}:
            expected = ":"
        elif sign == ":" and expected == ":":
            expected = "value"
        elif sign == "," and expected == "next" and open_:
            expected = "value" if open_[-1] == "]" else "name"
        else:
            return False
    return expected == "next" and not open_ and not text[at:].strip(" \t\n\r")


def is_unfinished(context: Context) -> bool:
    """Return whether a line seems to begin a JSON object or array that goes on below."""
    text = context.frame.data.rstrip()
    wrong = syntax_error(context)
    return text[:1] in {b"{", b"["} and wrong is not None and wrong.place >= len(text)


def pieces_before(context: Context) -> list[Frame]:
    """Return the lines before this one that it may go on with."""
    kept = context.state.of(LineState).pieces[context.side].lines
    is_next = bool(kept) and context.previous is kept[-1]
    return kept if is_next else []


def is_piece(context: Context) -> bool:
    """Return whether an array may be a piece of what began above rather than a line of its own."""
    pieces = pieces_before(context)
    if not pieces or pieces[0].data.strip() not in {b"{", b"["}:
        return False
    return not any(isinstance(each, dict) for each in as_list(context.decoded.value))


def is_end(context: Context) -> bool:
    """Return whether the pieces and this line are one JSON text together."""
    kept = context.state.of(LineState).pieces[context.side]
    raw = context.frame.data
    if not pieces_before(context) or kept.depth + _depth(raw) != 0:
        return False
    return _is_json(b"\n".join((*(piece.data for piece in kept.lines), raw)))


def keep_pieces(context: Context) -> None:
    """Remember a line that begins a JSON text, or goes on with one."""
    every = context.state.of(LineState).pieces
    kept, raw = every[context.side], context.frame.data
    if not pieces_before(context):
        kept = every[context.side] = Pieces()
        if not is_unfinished(context):
            return
    depth = kept.depth + _depth(raw)
    if len(kept.lines) >= PIECES or kept.size + len(raw) > PIECES_BYTES or is_end(context):
        every[context.side] = Pieces()
        return
    kept.lines.append(context.frame)
    kept.depth, kept.size = depth, kept.size + len(raw)


def _depth(raw: bytes) -> int:
    """Return how many brackets a line opens more than it closes."""
    bare = _STRING.sub(b"", raw)
    opened = bare.count(b"[") + bare.count(b"{")
    return opened - bare.count(b"]") - bare.count(b"}")


def _is_json(raw: bytes) -> Json:
    try:
        _DECODER.decode(raw.decode())
    except (ValueError, RecursionError):
        return False
    return True
