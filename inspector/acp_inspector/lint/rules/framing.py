"""How messages stand on the stream: one JSON text on each line, and nothing else.

Source: ACP, "Transports", stdio.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.journal import Frame, JournalEvent, StderrText
from acp_inspector.lint.checks import (
    BATCHES,
    BROKEN,
    EVERY_FRAME,
    EVERY_MESSAGE,
    check,
    check_at_end,
    check_beside,
    learns,
)
from acp_inspector.lint.moment import FINE, Ending, Found, Moment, Problem, quoted
from acp_inspector.lint.state import State
from acp_protocol.framing import Side
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json

BOM: Final = codecs.BOM_UTF8
PIECES: Final = 1000
"""Lines that one JSON text may be spread over, to be put together again."""
PIECES_BYTES: Final = 2**20

_HEADER: Final = re.compile(rb"\s*Content-(Length|Type)\s*:", re.IGNORECASE)
_LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_QUOTED: Final = {
    name: b'"%b"' % name.encode()
    for name in ("jsonrpc", "id", "method", "params", "result", "error", "sessionId", "update")
}
_DECODER: Final = json.JSONDecoder()


@dataclass(slots=True)
class _Pieces:
    """Lines of each side that may be the beginning of a JSON text that goes on below."""

    lines: dict[Side, list[Frame]] = field(
        default_factory=lambda: {"client": list[Frame](), "agent": list[Frame]()}
    )


@dataclass(slots=True)
class _Stderr:
    """Reads stderr as it comes: a character may be cut between two pieces."""

    decoder: codecs.IncrementalDecoder = field(
        default_factory=codecs.getincrementaldecoder("utf-8")
    )


@check(
    "ACP-L001",
    BROKEN,
    by=EVERY_FRAME,
    fix="Write each message as one JSON text on a line of its own.",
)
def every_line_is_json(moment: Moment) -> Found:
    """Tell of lines that are no JSON, but for those that a rule of their own speaks of."""
    pieces = _pieces(moment)
    # Where a text seemed to begin that never went on, its lines stand for themselves.
    stray = () if pieces else tuple(map(_no_json, moment.state.of(_Pieces).lines[moment.side]))
    if not _is_no_json(moment) or _explained(moment) or pieces or _is_unfinished(moment):
        return stray
    return (*stray, _no_json(moment.frame, moment.reason))


@check_at_end("ACP-L001", fix="Write each message as one JSON text on a line of its own.")
def no_line_is_left_unfinished(ending: Ending) -> Found:
    """Tell of lines that seemed to begin a JSON text that never went on."""
    lines = ending.state.of(_Pieces).lines
    left = (*lines["client"], *lines["agent"])
    return tuple(_no_json(piece) for piece in left) or None


def _no_json(frame: Frame, reason: str = "") -> Problem:
    text = one_line(frame.raw.decode(errors="replace"), 60)
    return Problem(f"a line is no JSON: “{text}”{f' ({reason})' if reason else ''}", (frame.n,))


@check("ACP-L002", BROKEN, by=EVERY_FRAME, fix="Serialise messages without line breaks.")
def no_message_over_several_lines(moment: Moment) -> Found:
    """Put lines together that are no JSON each on its own."""
    pieces = _pieces(moment)
    if not pieces or _whole(moment, pieces) is None:
        return FINE
    frames = (*(piece.n for piece in pieces), moment.n)
    return (Problem(f"one message is spread over {len(frames)} lines", frames),)


@learns(BROKEN)
def _keep_pieces(moment: Moment) -> None:
    kept = _pieces(moment)
    is_too_much = len(kept) >= PIECES or len(moment.frame.raw) > PIECES_BYTES
    if kept and (is_too_much or _whole(moment, kept) is not None):
        kept = []
    elif kept or _is_unfinished(moment):
        kept = [*kept, moment.frame]
    moment.state.of(_Pieces).lines[moment.side] = kept


def _pieces(moment: Moment) -> list[Frame]:
    """Return the lines before this one that it may go on with."""
    kept = moment.state.of(_Pieces).lines[moment.side]
    is_next = bool(kept) and moment.before is kept[-1]
    return kept if is_next else []


def _is_no_json(moment: Moment) -> bool:
    return moment.kind == "broken" and not moment.value and _slip(moment) is not None


def _slip(moment: Moment) -> tuple[str, int] | None:
    """Return what is wrong with a line, and where; None if it is JSON."""
    try:
        text = moment.frame.raw.decode("utf-8-sig")
        _DECODER.decode(text)
    except UnicodeDecodeError as problem:
        return "utf-8", problem.start
    except json.JSONDecodeError as problem:
        return problem.msg, problem.pos
    except (RecursionError, ValueError):
        return moment.reason, 0
    return None


def _is_unfinished(moment: Moment) -> bool:
    """Tell whether a line seems to begin a JSON object or array that goes on below."""
    text = moment.frame.raw.rstrip()
    slip = _slip(moment)
    return text[:1] in b"{[" and bool(text) and slip is not None and slip[1] >= len(text)


def _whole(moment: Moment, pieces: list[Frame]) -> Json:
    """Return the JSON value that the pieces and this line are together; None if none yet."""
    if moment.frame.raw.strip()[:1] not in {b"}", b"]"}:
        return None
    try:
        raw = b"\n".join((*(piece.raw for piece in pieces), moment.frame.raw))
        return _DECODER.decode(raw.decode())
    except (ValueError, RecursionError):
        return None


def _explained(moment: Moment) -> bool:
    """Tell whether a rule of its own tells what is wrong with a line that is no JSON."""
    slip = _slip(moment)
    return (
        not moment.frame.raw.strip()
        or (slip is not None and slip[0] == "utf-8")
        or bool(_HEADER.match(moment.frame.raw))
        or _is_glued(moment)
        or _is_log_text(moment)
    )


@check("ACP-L003", BROKEN, by=EVERY_FRAME, fix="Encode what is written as UTF-8.")
def bytes_are_utf8(moment: Moment) -> Found:
    """Tell of bytes that are no text."""
    if moment.kind != "broken" or moment.value:
        return FINE
    slip = _slip(moment)
    if slip is None or slip[0] != "utf-8":
        return FINE
    return moment.problem(f"the line is not UTF-8: byte {slip[1]} begins no character")


@check("ACP-L004", EVERY_FRAME, fix="Write UTF-8 without a byte order mark.")
def no_byte_order_mark(moment: Moment) -> Found:
    """Tell of a mark that some readers choke on."""
    if moment.frame.raw.startswith(BOM):
        return moment.problem("the line begins with a byte order mark")
    return FINE


@check("ACP-L005", EVERY_FRAME, fix="End lines with \\n alone, also on Windows.")
def lines_end_with_lf(moment: Moment) -> Found:
    """Tell of CR LF."""
    if moment.frame.end == b"\r\n":
        return moment.problem("the line ends with \\r\\n instead of \\n")
    return FINE


@check("ACP-L006", BROKEN, by=EVERY_FRAME, fix="Write nothing between messages.")
def no_empty_lines(moment: Moment) -> Found:
    """Tell of lines without anything on them."""
    if not moment.frame.raw or moment.frame.raw.isspace():
        return moment.problem("the line is empty")
    return FINE


@check("ACP-L007", BROKEN, by=EVERY_FRAME, fix="Write lines, without LSP's headers.")
def no_lsp_headers(moment: Moment) -> Found:
    """Tell of the framing of another protocol."""
    if moment.kind == "broken" and _HEADER.match(moment.frame.raw):
        return moment.problem("the line is a header as LSP has them, no message")
    return FINE


@check("ACP-L008", EVERY_FRAME, fix="Write logs to stderr; stdout is for messages alone.")
def no_log_text_on_stdout(moment: Moment) -> Found:
    """Tell of what an agent prints among its messages."""
    if moment.side != "agent":
        return None
    if not _is_log_text(moment):
        return FINE
    text = one_line(moment.frame.raw.decode(errors="replace"), 60)
    return moment.problem(f"stdout has text that is no message: “{text}”")


def _is_log_text(moment: Moment) -> bool:
    if moment.side != "agent" or moment.kind != "broken" or moment.value:
        return False
    text = moment.frame.raw.lstrip(BOM).strip()
    if not text or _HEADER.match(text) or _pieces(moment):
        return False
    slip = _slip(moment)
    if slip is None or slip[0] == "utf-8":
        return False
    # What begins like JSON was meant as a message, but for prefixes such as "[INFO] ready".
    return text[:1] not in b"{[" or (text[:1] == b"[" and slip[1] < len(text) and slip[1] <= 1)


@check(
    "ACP-L009",
    BROKEN,
    BATCHES,
    by=EVERY_FRAME,
    fix="Send each message as an object on a line of its own.",
)
def top_level_is_an_object(moment: Moment) -> Found:
    """Tell of arrays and scalars."""
    if moment.kind == "batch":
        return moment.problem("the line is an array; batches are not part of the protocol")
    is_alone = not _pieces(moment)
    if moment.kind == "broken" and not moment.value and _slip(moment) is None and is_alone:
        if moment.frame.raw.strip() == b"{}":
            return FINE
        text = one_line(moment.frame.raw.decode(errors="replace"), 60)
        return moment.problem(f"the line is no object: {text}")
    return FINE


@check_at_end("ACP-L011", fix="Write whole lines, and flush before the end.")
def stream_ends_with_a_whole_line(ending: Ending) -> Found:
    """Tell of a last line that was cut."""
    last = ending.state.last
    if not last:
        return None
    return tuple(
        Problem(f"the {side}'s stream ends within a line", (frame.n,))
        for side, frame in last.items()
        if not frame.end
    )


@check("ACP-L012", BROKEN, by=EVERY_FRAME, fix="End each message with a line break.")
def one_message_on_a_line(moment: Moment) -> Found:
    """Tell of messages that are glued together, and of bytes after one."""
    if moment.kind == "broken" and not moment.value and _is_glued(moment):
        return moment.problem("bytes follow the JSON text on its line")
    return FINE


def _is_glued(moment: Moment) -> bool:
    text = moment.frame.raw.removeprefix(BOM).lstrip()
    slip = _slip(moment)
    return (
        slip is not None
        and slip[0] == "Extra data"
        and text[:1] in {b"{", b"["}
        and (
            # A prefix such as "[12] ready" is a log's, no message.
            text[:1] == b"{" or moment.side == "client"
        )
    )


@check("ACP-L013", EVERY_MESSAGE, fix="Write each member once.")
def members_stand_once(moment: Moment) -> Found:
    """Tell of names that an object has twice: readers disagree on which one counts."""
    raw = moment.frame.raw
    if not (
        _may_repeat(raw, moment.value)
        or _may_repeat(raw, moment.params)
        or _may_repeat(raw, moment.result_object)
    ):
        return FINE
    twice = _twice(raw)
    if not twice:
        return FINE
    return moment.problem(f"{quoted(twice[0])} stands twice in one object")


def _may_repeat(raw: bytes, held: Iterable[str]) -> bool:
    for name in held:
        quoted_name = _QUOTED.get(name) or b'"%b"' % name.encode(errors="replace")
        if raw.count(quoted_name) > 1:
            return True
    return False


def _twice(raw: bytes) -> list[str]:
    """Return names that stand twice in the message, its params or its result."""
    marked: list[tuple[list[str], list[tuple[str, Json]]]] = []

    def pairs(members: list[tuple[str, Json]]) -> list[tuple[str, Json]]:
        names = [name for name, _ in members]
        marked.append((sorted({name for name in names if names.count(name) > 1}), members))
        return members

    try:
        json.loads(raw.decode("utf-8-sig"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return []
    found, whole = marked[-1] if marked else ([], [])
    inner = [value for name, value in whole if name in {"params", "result"}]
    for twice, members in marked[:-1]:
        if any(members is value for value in inner):
            found = found + twice
    return found


@check("ACP-L014", EVERY_MESSAGE, fix="Write both halves of a surrogate pair, or the character.")
def no_lone_surrogates(moment: Moment) -> Found:
    """Tell of escapes that stand for no character."""
    if not moment.value:
        return None
    if not _LONE_SURROGATE.search(moment.frame.raw):
        return FINE
    try:
        json.dumps(moment.value, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        escape = problem.object[problem.start]
        return moment.problem(f"\\u{ord(escape):04x} stands without its other half")
    except (RecursionError, ValueError):
        return FINE
    return FINE


@check_beside("ACP-L015", fix="Write UTF-8 to stderr.")
def stderr_is_utf8(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of stderr that cannot be read as text."""
    if not isinstance(entry, StderrText):
        return None
    stderr = state.of(_Stderr)
    try:
        stderr.decoder.decode(entry.text)
    except UnicodeDecodeError:
        stderr.decoder.reset()
        return (Problem("stderr is not UTF-8", (entry.n,)),)
    return FINE
