"""Framing: one JSON text per line, and nothing else.

Source: ACP, "Transports", stdio.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, cast

from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.lint import on
from acp_inspector.lint.context import (
    DELIVERY_TIMEOUT_S,
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    quoted,
)
from acp_inspector.lint.json_lines import (
    LineState,
    is_end,
    is_not_json,
    is_piece,
    is_unfinished,
    keep_pieces,
    pieces_before,
    syntax_error,
)
from acp_inspector.lint.registry import LintSubject, check, details, fix, track
from acp_inspector.lint.state import IdKey, LintState, Point, opposite
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import (
    PARSE_ERROR,
    Json,
    RequestId,
    id_key,
    is_json,
    is_request_id,
    message_at_end,
)

rule = LintSubject("framing", page="transports.mdx")
envelope = LintSubject("envelope", page="overview.mdx")

BOM: Final = codecs.BOM_UTF8
IDS: Final = 1000
"""Ids in invalid frames that are remembered."""
IDS_IN_LINE: Final = 16
"""Ids that are remembered of a line that is not JSON."""
MAX_NAMES_CHECKED: Final = 32
"""Most names to search for one by one."""
_ID: Final = re.compile(rb'"id"\s*:\s*("[^"\\]{0,200}"|-?(?:0|[1-9]\d{0,30})(?![\d.]))')
"""An id in a line that is not JSON."""
_HEADER: Final = re.compile(rb"\s*Content-(Length|Type)\s*:", re.IGNORECASE)
_LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_QUOTED: Final = {
    name: b'"%b"' % name.encode()
    for name in ("jsonrpc", "id", "method", "params", "result", "error", "sessionId", "update")
}


@dataclass(slots=True)
class _Stderr:
    """Decodes stderr incrementally: a character may be split between two chunks."""

    decoder: codecs.IncrementalDecoder = field(
        default_factory=codecs.getincrementaldecoder("utf-8")
    )


@rule.error(
    1, "must", "sender", on.INVALID, case="frames.one-json-text", exercised_by=on.EVERY_FRAME
)
@fix("Write each message as one JSON text on a line of its own.")
def not_json(context: Context) -> CheckResult:
    """Every line parses as exactly one JSON text. Anything else on stdout (Agent) or stdin (Client)
    is not an ACP message.
    """
    pieces = pieces_before(context)
    # If a JSON text that seemed to begin does not continue, its lines are checked one by one.
    kept = context.state.of(LineState).pieces[context.side].lines
    stray = () if pieces else _stray(kept)
    if not is_not_json(context) or _explained(context) or pieces or is_unfinished(context):
        return stray
    return (*stray, _no_json(context.frame, context.decoded.reason))


@check("not-json", on.END)
def no_line_is_left_unfinished(ending: EndContext) -> CheckResult:
    pieces = ending.state.of(LineState).pieces
    return _stray([*pieces["client"].lines, *pieces["agent"].lines]) or None


def _stray(pieces: list[Frame]) -> tuple[Problem, ...]:
    return tuple(_no_json(piece) for piece in pieces if not is_json(piece.data))


def _no_json(frame: Frame, reason: str = "") -> Problem:
    text = single_line(frame.data.decode(errors="replace"), 60)
    return Problem(f"a line is not JSON: “{text}”{f' ({reason})' if reason else ''}", (frame.seq,))


@rule.error(
    2, "must", "sender", on.INVALID, case="frames.one-json-text", exercised_by=on.EVERY_FRAME
)
@fix("Serialise messages without line breaks.")
def message_spans_lines(context: Context) -> CheckResult:
    """A JSON value does not span several lines (pretty-printed output: line N fails to parse,
    concatenation with the following lines succeeds).
    """
    if not is_end(context):
        return OK
    frames = (*(piece.seq for piece in pieces_before(context)), context.seq)
    return (Problem(f"one message is spread over {len(frames)} lines", frames),)


@track(on.INVALID, on.BATCHES)
def _keep_pieces(context: Context) -> None:
    if context.kind != "batch" or is_piece(context):
        keep_pieces(context)


@track(on.INVALID, on.BATCHES, on.DRAFT_BATCHES, on.request())
def _keep_unreadable(context: Context) -> None:
    """Count lines that cannot be read; a response to one may have no id."""
    if context.kind == "request" and context.key is not None:
        return
    if context.kind == "draft batch" and context.decoded.value:
        # Its messages are read one by one; an empty one gets a response of its own.
        return
    lines = context.state.of(LineState)
    lines.unreadable[context.side] += 1
    for id_ in islice(_ids(context), IDS - len(lines.ids)):
        lines.ids.add((context.side, *id_key(id_)))
    text = context.frame.data.lstrip(BOM).strip()
    if (
        text[:1] in {b"{", b"["}
        and not isinstance(context.decoded.value, dict | list)
        and syntax_error(context) is None
    ):
        lines.deep.add(context.side)


def _ids(context: Context) -> Iterator[RequestId]:
    """Yield the ids in a line without a valid message; a lenient reader may respond to them."""
    value = context.decoded.value
    if isinstance(value, dict | list):
        found = [as_object(each).get("id") for each in as_list(value) or [context.value]]
    else:
        spelt = _ID.finditer(context.frame.data)
        found = [json.loads(each[1].decode(errors="replace"), strict=False) for each in spelt]
    for id_ in found:
        if isinstance(id_, float) and id_.is_integer():
            yield int(id_)
        elif id_ is not None and is_request_id(id_):
            yield cast("RequestId", id_)


@dataclass(slots=True)
class _Unparsable:
    """Lines of the client that are not JSON."""

    open: dict[Point, set[IdKey]] = field(default_factory=dict[Point, set[IdKey]])
    """Those without an error response, oldest first, and the ids in them."""
    was_any: bool = False

    def accepted(self, context: Context) -> Point | None:
        """Return the line to whose id a message responds, as if it were a request."""
        if not self.open or context.request is not None or context.code == PARSE_ERROR:
            return None
        return next((line for line, ids in self.open.items() if context.key in ids), None)


@track(on.INVALID)
def _keep_unparsable(context: Context) -> None:
    own = context.state.of(_Unparsable)
    is_line = not context.frame.is_cut and context.frame.data.strip()
    if context.side == "client" and is_line and is_not_json(context) and len(own.open) < IDS:
        own.open[context.point] = {
            ("client", *id_key(id_)) for id_ in islice(_ids(context), IDS_IN_LINE)
        }
        own.was_any = True


@envelope.info(519, "json-rpc", "agent", on.response())
@fix("Respond to a line that cannot be parsed with -32700 and the id null.")
def parse_error_not_answered(context: Context) -> CheckResult:
    """A line that is not JSON gets the error -32700 with `id: null`, not silence."""
    line = context.state.of(_Unparsable).accepted(context)
    if line is None:
        return None
    return context.problem("a line that is not JSON is answered like a request", line)


@track(on.response())
def _answered_unparsable(context: Context) -> None:
    own = context.state.of(_Unparsable)
    line = own.accepted(context)
    if line is None and context.code == PARSE_ERROR and context.side == "agent":
        line = next(iter(own.open), None)
    if line is not None:
        del own.open[line]


@check("parse-error-not-answered", on.END)
def unparsable_lines_were_refused(ending: EndContext) -> CheckResult:
    own, state = ending.state.of(_Unparsable), ending.state
    if not own.was_any:
        return None
    return tuple(
        Problem("a line that is not JSON got no error -32700", (line.seq,))
        for line in own.open
        if state.seen["agent"] > line.seq or ending.point.time - line.time > DELIVERY_TIMEOUT_S
    )


@track(on.error())
def _answer_unreadable(context: Context) -> None:
    lines, sender = context.state.of(LineState), opposite(context.side)
    if context.id is not None:
        return
    if lines.unreadable[sender]:
        lines.unreadable[sender] -= 1
    if context.code == PARSE_ERROR and lines.pieces[sender].lines:
        lines.pieces[sender].is_refused = True


def _explained(context: Context) -> bool:
    """Return whether another rule reports what is wrong with a line that is not JSON."""
    wrong = syntax_error(context)
    return (
        not context.frame.data.strip()
        or (wrong is not None and wrong[0] == "utf-8")
        or bool(_HEADER.match(context.frame.data))
        or _is_glued(context)
        or _is_log_text(context)
    )


@rule.error(3, "must", "sender", on.INVALID, case="frames.utf8", exercised_by=on.EVERY_FRAME)
@fix("Encode what is written as UTF-8.")
def invalid_utf8(context: Context) -> CheckResult:
    """Bytes are valid UTF-8."""
    if context.kind != "broken" or context.value:
        return OK
    wrong = syntax_error(context)
    if wrong is None or wrong[0] != "utf-8":
        return OK
    return context.problem(f"the line is not UTF-8: byte {wrong[1]} begins no character")


@rule.warning(4, "heuristic", "sender", on.EVERY_FRAME)
@fix("Write UTF-8 without a byte order mark.")
def byte_order_mark(context: Context) -> CheckResult:
    """No UTF-8 BOM at stream start or line start."""
    if context.frame.data.startswith(BOM):
        return context.problem("the line begins with a byte order mark")
    return OK


@rule.warning(5, "heuristic", "sender", on.EVERY_FRAME)
@fix("End lines with \\n alone, also on Windows.")
def crlf_line_end(context: Context) -> CheckResult:
    """Delimiter is a bare LF; a CR before LF is tolerated but reported."""
    if context.frame.line_ending == b"\r\n":
        return context.problem("the line ends with \\r\\n instead of \\n")
    return OK


@rule.info(6, "heuristic", "sender", on.INVALID, exercised_by=on.EVERY_FRAME)
@fix("Write nothing between messages.")
def blank_line(context: Context) -> CheckResult:
    """No empty or whitespace-only lines between messages."""
    if not context.frame.data or context.frame.data.isspace():
        return context.problem("the line is empty")
    return OK


@rule.error(7, "must", "sender", on.EVERY_FRAME, case="frames.no-headers")
@fix("Write lines, without LSP's headers.")
def content_length_header(context: Context) -> CheckResult:
    """No LSP header framing: a header before a message, or a line matching `^Content-Length:`,
    means a foreign transport.
    """
    if context.frame.header.strip():
        text = "messages have LSP headers in place of line ends"
        return context.problem(text, topic=context.side)
    if context.kind == "broken" and _HEADER.match(context.frame.data):
        return context.problem("the line is an LSP header, not a message")
    return OK


@rule.error(8, "must", "agent", on.EVERY_FRAME, case="frames.no-logs")
@fix("Write logs to stderr; stdout is for messages alone.")
def text_on_stdout(context: Context) -> CheckResult:
    """No log text, banners, progress bars, ANSI escapes or stack traces on stdout; they belong on
    stderr.
    """
    if context.side != "agent":
        return None
    if not _is_log_text(context):
        return OK
    text = single_line(context.frame.data.decode(errors="replace"), 60)
    has_message = message_at_end(context.frame.data) is not None
    more = "; the line ends in a whole message, without a newline before it" if has_message else ""
    return context.problem(f"stdout has text that is not a message: “{text}”{more}")


def _is_log_text(context: Context) -> bool:
    if context.side != "agent" or context.kind != "broken" or context.value:
        return False
    text = context.frame.data.lstrip(BOM).strip()
    if not text or _HEADER.match(text) or pieces_before(context):
        return False
    wrong = syntax_error(context)
    if wrong is None or wrong[0] == "utf-8":
        return False
    # A line that begins like JSON counts as a message, except for prefixes such as "[INFO] ready".
    return text[:1] not in b"{[" or (text[:1] == b"[" and wrong[1] < len(text) and wrong[1] <= 1)


@rule.error(9, "must", "sender", on.INVALID, on.BATCHES, case="frames.objects")
@details(source="schema; v1/transports.mdx", since="2026-11", exercised_by=on.EVERY_FRAME)
@fix("Send each message as an object; the published versions have one on each line.")
def not_an_object(context: Context) -> CheckResult:
    """Top-level JSON value is an object. Arrays (batches) exist in no published version, only in
    the draft that `--dialect v2-batch` names, where each of their values is an object.
    """
    if context.kind == "batch":
        if is_piece(context):
            return OK
        return context.problem("the line is an array; batches are not part of the protocol")
    is_alone = not pieces_before(context)
    if (
        context.kind == "broken"
        and not context.value
        and syntax_error(context) is None
        and is_alone
    ):
        if context.frame.data.lstrip(BOM).lstrip()[:1] == b"{":
            return OK
        text = single_line(context.frame.data.decode(errors="replace"), 60)
        what = "an entry of the array" if context.state.is_in_batch else "the line"
        return context.problem(f"{what} is not an object: {text}")
    return OK


@rule.warning(11, "heuristic", "sender", on.END)
@fix("Write whole lines, and flush before the end.")
def truncated_last_line(ending: EndContext) -> CheckResult:
    """The stream does not end with a partial, undelimited line (truncated message)."""
    last = ending.state.last
    if not last:
        return None
    return tuple(
        Problem(f"the {side}'s stream ends within a line", (frame.seq,))
        for side, frame in last.items()
        if frame.is_cut
    )


@rule.error(
    12, "must", "sender", on.INVALID, case="frames.one-json-text", exercised_by=on.EVERY_FRAME
)
@fix("End each message with a line break.")
def glued_messages(context: Context) -> CheckResult:
    """Two messages are not glued on one line (`}{`), and no bytes follow the JSON value on its
    line.
    """
    if context.kind == "broken" and not context.value and _is_glued(context):
        return context.problem("bytes follow the JSON text on its line")
    return OK


def _is_glued(context: Context) -> bool:
    text = context.frame.data.removeprefix(BOM).lstrip()
    wrong = syntax_error(context)
    return (
        wrong is not None
        and wrong[0] == "Extra data"
        and text[:1] in {b"{", b"["}
        and (
            # A prefix such as "[12] ready" marks a log line.
            text[:1] == b"{" or context.side == "client"
        )
    )


@rule.warning(13, "json-rpc", "sender", on.EVERY_MESSAGE, source="overview.mdx")
@fix("Write each member once.")
def duplicate_member(context: Context) -> CheckResult:
    """No duplicate member names inside the envelope, params or result root (last-wins parsers
    disagree).
    """
    raw = context.frame.data
    inner = context.params or context.result_object
    if not (_may_repeat(raw, context.value) or (inner and _may_repeat(raw, inner))):
        return OK
    twice = _twice(raw)
    if not twice:
        return OK
    return context.problem(f"{quoted(twice[0])} occurs twice in one object")


def _may_repeat(raw: bytes, held: dict[str, Json]) -> bool:
    """Return whether a name occurs more than once in a line; checks at most so many names."""
    if len(held) > MAX_NAMES_CHECKED:
        return True
    for name in held:
        quoted_name = _QUOTED.get(name) or b'"%b"' % name.encode(errors="replace")
        if raw.count(quoted_name) > 1:
            return True
    return False


def _twice(raw: bytes) -> list[str]:
    """Return names that occur twice in the message, its params or its result."""
    marked: list[tuple[list[str], list[tuple[str, Json]]]] = []

    def pairs(members: list[tuple[str, Json]]) -> list[tuple[str, Json]]:
        names = Counter(name for name, _ in members)
        marked.append((sorted(name for name, times in names.items() if times > 1), members))
        return members

    try:
        json.loads(raw.decode("utf-8-sig"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return []
    found, whole = marked[-1] if marked else ([], [])
    inner = {id(value) for name, value in whole if name in {"params", "result"}}
    return found + [
        name for twice, members in marked[:-1] if id(members) in inner for name in twice
    ]


@rule.warning(14, "must", "sender", on.EVERY_MESSAGE)
@fix("Write both halves of a surrogate pair, or the character.")
def lone_surrogate(context: Context) -> CheckResult:
    """Strings contain no lone UTF-16 surrogate escapes (not representable in UTF-8)."""
    if not context.value:
        return None
    if not _LONE_SURROGATE.search(context.frame.data):
        return OK
    try:
        json.dumps(context.value, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        escape = problem.object[problem.start]
        return context.problem(f"\\u{ord(escape):04x} lacks the other half of its surrogate pair")
    except (RecursionError, ValueError):
        return OK
    return OK


@rule.info(15, "heuristic", "agent", on.EVENTS)
@fix("Write UTF-8 to stderr.")
def stderr_not_utf8(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """Stderr output is UTF-8 text; never interpreted as protocol."""
    if not isinstance(entry, StderrChunk):
        return None
    stderr = state.of(_Stderr)
    try:
        stderr.decoder.decode(entry.data)
    except UnicodeDecodeError:
        stderr.decoder.reset()
        return (Problem("stderr is not UTF-8", (entry.seq,)),)
    return OK
