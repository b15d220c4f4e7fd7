"""Searches a whole recording in one pass, with a filter that a byte search can prepare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from acp_inspector.filter.compiler import ESCAPE, Filter, Prefilter, TextTest, prefilter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.search import no_notes
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import decode_line
from acp_inspector.recording.scan import Block, Outline, RecordingScan
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
) -> Iterator[DecodedFrame | StderrChunk | JournalEvent]:
    """Yield the entries that match, in order; frames decoded, with the request of a response.

    Bad lines are reported if they can be found without decoding all lines. If the digest of the
    last footer matches, that is every bad line before it.

    Args:
        recording: The recording.
        wanted: The filter.
        passes: Its `scan_prefilter`.
        notes: Returns the notes for an entry.
    """
    passed = Counter[int]()
    """The lines of requests whose responses are decoded too; a batch holds several."""
    for block in recording.blocks():
        lines = recording.outline(block)
        found = {*_passing(block, passes), *lines.others}
        if not wanted.is_alone:
            _add_responses(found, lines, passed)
        for at in sorted(found):
            entry = decode_line(block.line_at(at))
            if isinstance(entry, Frame):
                decoded = DecodedFrame(entry)
                for request in dict.fromkeys(lines.responses.get(at, ())):
                    if frame := recording.frame_at(request, block):
                        decoded.respond_to(DecodedFrame(frame))
                if wanted.matches(EntryFields(entry, notes=notes(entry), decoded=decoded)):
                    yield decoded
            elif isinstance(entry, StderrChunk | JournalEvent) and wanted.matches(
                EntryFields(entry, notes=notes(entry))
            ):
                yield entry


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
