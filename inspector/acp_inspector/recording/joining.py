"""Joins frames with Content-Length headers, which logs and earlier recordings hold as lines.

Source: Language Server Protocol, "Base Protocol"; OpenOxide, "Local Transport".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Final

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Footer, decode_line, encode_entry
from acp_inspector.recording.lines import SkippedLine
from acp_protocol.framing import AutoFramer, Side, WireFrame, unfinished_frame

BEGIN: Final = 1 << 16
"""Bytes of a recording that decide whether frames are joined."""
_HEADER_LINE: Final = re.compile(
    rb'(?i)"text":"content-length[ \t]*:[ \t]*[0-9]{1,8}[ \t]*"'
    rb'(?:,"end":"\\r\\n")?\}\n'
)


def holds_lines(begin: bytes) -> bool:
    """Return whether a recording that begins so holds frames with headers as lines."""
    return _HEADER_LINE.search(begin) is not None


def joined_lines(lines: Iterable[bytes | SkippedLine]) -> Iterator[bytes]:
    """Yield the lines of a recording, with joined frames.

    The digest of a footer is made anew if it was right; a line that is too long is left empty.
    """
    joiner, before, after = FrameJoiner(), hashlib.sha256(), hashlib.sha256()
    for line in lines:
        if isinstance(line, SkippedLine):
            written = [b"\n"]
        else:
            row = decode_line(line.removesuffix(b"\n"))
            if isinstance(row, Frame | StderrChunk | JournalEvent):
                written = [encode_entry(each) for each in joiner.feed(row)]
            else:
                written = [*map(encode_entry, joiner.finish()), line]
            for each in written[:-1]:
                after.update(each)
            if isinstance(row, Footer) and row.digest == before.hexdigest():
                written[-1] = line.replace(row.digest.encode(), after.hexdigest().encode())
            before.update(line)
        if written:
            after.update(written[-1])
        yield from written
    yield from map(encode_entry, joiner.finish())


class FrameJoiner:
    """Joins the lines of frames with headers; frames that are whole stay as they are.

    The last bytes of a frame are recorded with the header of the next one, long after they arrived.
    So a joined frame takes the position of its own header, and later entries wait for it.
    """

    def __init__(self) -> None:
        self._streams = _opened()
        self._begun: int | None = None
        """The first frame that is not complete yet."""
        self._waiting: list[Entry] = []
        """The entries after it."""

    def feed(self, entry: Entry) -> list[Entry]:
        """Add the next entry; return the entries that are now complete."""
        if isinstance(entry, Frame):
            return self._due(self._streams[entry.side].take(entry))
        is_next = isinstance(entry, JournalEvent) and entry.begins_connection
        before = self.finish() if is_next else []
        return before + self._due([entry])

    def finish(self) -> list[Entry]:
        """Return the waiting entries, including incomplete frames."""
        cut = [each for stream in self._streams.values() for each in stream.rest()]
        self._streams = _opened()
        return self._due(cut)

    def _due(self, new: list[Entry]) -> list[Entry]:
        """Return what waits no longer, of the new entries too."""
        before, firsts = self._begun, [each.first for each in self._streams.values()]
        begun = self._begun = min((each.seq for each in firsts if each is not None), default=None)
        if before == begun is None:
            return new
        if begun is not None and (before == begun or not self._waiting):
            # Most entries go on waiting: to look at all of them each time would be slow.
            self._waiting += (each for each in new if each.seq >= begun)
            return [each for each in new if each.seq < begun]
        self._waiting += new
        due = [each for each in self._waiting if begun is None or each.seq < begun]
        self._waiting = [each for each in self._waiting if begun is not None and each.seq >= begun]
        return sorted(due, key=lambda each: each.seq)


def joined(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries, with joined frames."""
    joining = FrameJoiner()
    for entry in entries:
        yield from joining.feed(entry)
    yield from joining.finish()


class _Stream:
    """The output of one side."""

    def __init__(self) -> None:
        self._framer: AutoFramer | None = AutoFramer()
        """None once its frames are known to be whole, or lengths to be invalid."""
        self._begun: list[Frame] = []
        """The lines of the incomplete frame."""
        self._blank: Frame | None = None
        """Without one, the line with the first of the blank lines that precede the next header."""

    @property
    def first(self) -> Frame | None:
        """The first line of what is incomplete."""
        return self._begun[0] if self._begun else self._blank

    def take(self, line: Frame) -> list[Entry]:
        """Return the frames that a line completes."""
        if self._framer is None:
            return [line]
        if line.header and self._framer.framing is None:
            self._framer = None
            return [line]
        frames = self._framer.split(line.wire)
        if self._framer.framing != "headers":
            self._framer = None if self._framer.framing else self._framer
            return [line]
        self._begun.append(line)
        whole: list[Entry] = []
        for frame in frames:
            whole.append(_frame(self._begun[0], frame))
            self._begun = [line]
        if self._framer.problem is not None:
            # The first line may also have the end of the frame before.
            are_whole = self._framer.held == sum(len(each.wire) for each in self._begun)
            left = [*self._begun] if are_whole else self.rest()
            self._begun, self._blank, self._framer = [], None, None
            return [*whole, *left]
        self._note_blank(line, self._framer, is_first=bool(whole))
        return whole

    def _note_blank(self, line: Frame, framer: AutoFramer, *, is_first: bool) -> None:
        if framer.is_between:
            self._begun.clear()
        if not (framer.is_between and framer.held):
            self._blank = None
        elif is_first or self._blank is None:
            self._blank = line

    def rest(self) -> list[Entry]:
        """Return the incomplete frame at the end, or the blank lines there."""
        first, self._begun, self._blank = self.first, [], None
        if first is None or self._framer is None:
            return []
        return [_frame(first, unfinished_frame(self._framer.rest()))]


def _opened() -> dict[Side, _Stream]:
    return {"client": _Stream(), "agent": _Stream()}


def _frame(first: Frame, frame: WireFrame) -> Frame:
    return Frame(first.seq, first.time, first.side, frame.data, frame.ending, frame.header)
