"""Lines without a message: their errors, and whether they are pieces of one message.

The lines of each side are checked on arrival. The beginning of an array or object may continue on
the next lines, so it is kept until it is complete or cannot be completed.
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
"""Most lines of one JSON text that are joined."""
PIECES_BYTES: Final = 2**20

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_TOKEN: Final = re.compile(
    r"[ \t\n\r]*(?:([\[{])|([\]}])|([,:])|"
    r'("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null))"
)


def _refuse(constant: str) -> None:
    """Reject `NaN` and the like, which the standard library accepts."""
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


class JsonSyntaxError(NamedTuple):
    """The error in a line that is not JSON."""

    what: str
    place: int


@dataclass(slots=True)
class Pieces:
    """Lines of one side that may begin a JSON text spread over several lines."""

    lines: list[Frame] = field(default_factory=list[Frame])
    depth: int = 0
    """Brackets that are open at their end."""
    size: int = 0
    """Bytes."""
    is_refused: bool = False
    """The other side has answered a line of them with an error: to it they are lines alone."""


@dataclass(slots=True)
class LineState:
    """State from lines without a message, for later checks."""

    pieces: dict[Side, Pieces] = field(
        default_factory=lambda: {"client": Pieces(), "agent": Pieces()}
    )
    unreadable: Counter[Side] = field(default_factory=Counter[Side])
    """Unreadable lines of each side that may still get a response without an id."""
    deep: set[Side] = field(default_factory=set[Side])
    """Sides that sent JSON which is nested too deeply to be read here."""
    ids: set[IdKey] = field(default_factory=set[IdKey])
    """Ids of malformed requests, which may get a response."""
    newest: tuple[Frame, JsonSyntaxError | None] | None = None
    """The error in the last line."""


def is_not_json(context: Context) -> bool:
    """Return whether a line is not JSON."""
    return context.kind == "broken" and not context.value and syntax_error(context) is not None


def syntax_error(context: Context) -> JsonSyntaxError | None:
    """Return the error in a line and its position; None if it is JSON."""
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
    """Return whether a line seems to begin a JSON object or array that continues below."""
    text = context.frame.data.rstrip()
    wrong = syntax_error(context)
    return text[:1] in {b"{", b"["} and wrong is not None and wrong.place >= len(text)


def pieces_before(context: Context) -> list[Frame]:
    """Return the earlier lines that this one may continue."""
    kept = context.state.of(LineState).pieces[context.side].lines
    is_next = bool(kept) and context.previous is kept[-1]
    if is_next and context.state.of(LineState).pieces[context.side].is_refused:
        # What is JSON by itself is a message of its own.
        is_next = syntax_error(context) is not None
    return kept if is_next else []


def is_piece(context: Context) -> bool:
    """Return whether an array may continue earlier lines instead of being a message."""
    pieces = pieces_before(context)
    if not pieces or pieces[0].data.strip() not in {b"{", b"["}:
        return False
    return not any(isinstance(each, dict) for each in as_list(context.decoded.value))


def is_end(context: Context) -> bool:
    """Return whether the pieces and this line together are one JSON text."""
    kept = context.state.of(LineState).pieces[context.side]
    raw = context.frame.data
    if not pieces_before(context) or kept.depth + _depth(raw) != 0:
        return False
    return _is_json(b"\n".join((*(piece.data for piece in kept.lines), raw)))


def keep_pieces(context: Context) -> None:
    """Remember a line that begins or continues a JSON text."""
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
    """Return the number of brackets that a line opens minus those it closes."""
    bare = _STRING.sub(b"", raw)
    opened = bare.count(b"[") + bare.count(b"{")
    return opened - bare.count(b"]") - bare.count(b"}")


def _is_json(raw: bytes) -> Json:
    try:
        _DECODER.decode(raw.decode())
    except (ValueError, RecursionError):
        return False
    return True
