"""Searches a whole recording in one pass, with a filter that a byte search can prepare."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator

from acp_inspector.filter.compiler import ESCAPE, Filter, Prefilter, TextTest, prefilter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.search import no_notes
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.recording.format import Header, RecordingLine, decode_line
from acp_inspector.recording.index import MAX_WAITING
from acp_inspector.recording.scan import Block, Outline, RecordingScan
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.annotations import FrameNotes


def scan_prefilter(wanted: Filter) -> Prefilter | None:
    """Return the test of bytes that prepares a scan; None if an index searches faster."""
    if "pending" in wanted.fields:
        # Which requests have a response is known only at the end.
        return None
    return prefilter(wanted.expression, is_alone=wanted.is_alone, is_message=True)


def scan(
    recording: RecordingScan,
    wanted: Filter,
    passes: Prefilter,
    notes: Callable[[Entry], FrameNotes] = no_notes,
    *,
    dialect: str | None = None,
) -> Iterator[DecodedFrame | StderrChunk | JournalEvent]:
    """Yield the entries that match, in order; frames decoded, with the request of a response.

    Bad lines are reported if they can be found without decoding all lines. If the digest of the
    last footer matches, that is every bad line before it.

    Args:
        recording: The recording.
        wanted: The filter.
        passes: Its `scan_prefilter`.
        notes: Returns the notes for an entry.
        dialect: The dialect of the recording; None: it is recognised.
    """
    passed = Counter[int]()
    """The lines of requests whose responses are decoded too; a batch holds several."""
    dialects = _Dialects(dialect)
    dialects.begin(recording.header)
    for block in recording.blocks():
        lines = recording.outline(block)
        meant = dialects.read(block, lines)
        found = {*_passing(block, passes), *lines.others, *meant}
        if not wanted.is_alone:
            _add_responses(found, lines, passed)
        for at in sorted(found):
            entry = meant[at].frame if at in meant else decode_line(block.line_at(at))
            if isinstance(entry, Frame):
                requests = lines.responses.get(at, ())
                decoded = meant.get(at) or _as_sent(recording, block, entry, requests)
                if wanted.matches(EntryFields(entry, notes=notes(entry), decoded=decoded)):
                    yield decoded
            elif isinstance(entry, StderrChunk | JournalEvent) and wanted.matches(
                EntryFields(entry, notes=notes(entry))
            ):
                yield entry


def _as_sent(
    recording: RecordingScan, block: Block, frame: Frame, requests: Iterable[int]
) -> DecodedFrame:
    """Decode a frame; `requests` are where the requests are that it responds to."""
    decoded = DecodedFrame(frame)
    for at in dict.fromkeys(requests):
        if request := recording.frame_at(at, block):
            decoded.respond_to(DecodedFrame(request))
    return decoded


class _Dialects:
    """Decodes the frames in order where connections are, or may be, in a dialect."""

    def __init__(self, dialect: str | None) -> None:
        self._decoder = Decoder(dialect)
        self._exchanges = Exchanges(is_lean=True, max_open=MAX_WAITING)

    def begin(self, header: Header) -> None:
        self._decoder.begin_recording(header.dialect, header.cwd)

    def read(self, block: Block, lines: Outline) -> dict[int, DecodedFrame]:
        """Return the frames of the next block that are in a dialect, by their offset."""
        meant: dict[int, DecodedFrame] = {}
        begins = deque(lines.begins)
        at = block.offset
        while at < block.end:
            if self._decoder.is_official:
                if not begins:
                    break
                at = begins.popleft()
            line = block.line_at(at)
            self._add(at, decode_line(line), meant)
            at += len(line) + 1
            while begins and begins[0] < at:
                begins.popleft()
        return meant

    def _add(self, at: int, row: RecordingLine, meant: dict[int, DecodedFrame]) -> None:
        if isinstance(row, JournalEvent):
            self._decoder.note(row)
            if row.begins_connection:
                self._exchanges.restart(row.seq)
        elif isinstance(row, Frame):
            decoded = self._decoder.decode(row)
            self._exchanges.pair(decoded)
            if self._decoder.dialect is not None:
                meant[at] = decoded


def _add_responses(found: set[int], lines: Outline, passed: Counter[int]) -> None:
    """Add the requests that were found to `passed`, and the responses to those in it to `found`."""
    passed.update(at for at in lines.requests if at in found)
    for at, requests in lines.responses.items():
        for request in requests:
            if request in passed:
                found.add(at)
                passed[request] -= 1
                if not passed[request]:
                    del passed[request]


def _passing(block: Block, passes: Prefilter) -> Iterator[int]:
    """Yield the offsets of the lines that pass; some may come twice."""
    if isinstance(passes, TextTest):
        folded = Block(block.offset, block.content.lower()) if passes.ignores_case else block
        for text in passes.texts:
            yield from folded.lines_with(text)
        if passes.has_escapes and ESCAPE.search(block.content):
            yield from block.lines_with(b"\\u")
            yield from block.lines_with(b"\\/")
    elif passes(block.content):
        at = block.offset
        for line in block.content[:-1].split(b"\n"):
            if passes(line):
                yield at
            at += len(line) + 1
