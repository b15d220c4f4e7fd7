"""Joins frames with Content-Length headers, which a recording splits into lines.

The last bytes of a frame are recorded with the header of the next one, long after they arrived. So
a joined frame takes the position of its own header, and later entries wait for it.

Source: Language Server Protocol, "Base Protocol"; OpenOxide, "Local Transport".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_protocol.errors import FrameTooLongError
from acp_protocol.framing import AutoFramer, Side

_Other = TypeVar("_Other")


class Reframer:
    """Joins the frames of sides that write Content-Length headers."""

    def __init__(self) -> None:
        self.has_reframed = False
        """Whether a side wrote lengths before its frames."""
        self._streams = _opened()
        self._waiting: list[Entry] = []
        """Entries after a frame that is not complete yet."""

    def feed(self, entry: Entry) -> list[Entry]:
        """Add the next entry; return the entries that are now complete."""
        if isinstance(entry, Frame):
            stream = self._streams[entry.side]
            self._waiting += stream.take(entry)
            self.has_reframed = self.has_reframed or stream.framing == "headers"
            return self._due()
        before = (
            self.finish() if isinstance(entry, JournalEvent) and entry.begins_connection else []
        )
        self._waiting.append(entry)
        return before + self._due()

    def finish(self) -> list[Entry]:
        """Return the waiting entries, including incomplete frames."""
        for stream in self._streams.values():
            self._waiting += stream.rest()
        self._streams = _opened()
        return self._due()

    def _due(self) -> list[Entry]:
        open_ = [each.first.seq for each in self._streams.values() if each.first is not None]
        if not open_ and len(self._waiting) == 1:
            due, self._waiting = self._waiting, []
            return due
        due = [each for each in self._waiting if not open_ or each.seq < min(open_)]
        self._waiting = [each for each in self._waiting if open_ and each.seq >= min(open_)]
        return sorted(due, key=lambda each: each.seq)


def reframe(rows: Iterable[Entry | _Other]) -> Iterator[Entry | _Other]:
    """Return rows with joined frames; other rows are passed on immediately."""
    joining = Reframer()
    for row in rows:
        if isinstance(row, Frame | StderrChunk | JournalEvent):
            yield from joining.feed(row)
        else:
            yield row
    yield from joining.finish()


class _Stream:
    """The output of one side."""

    def __init__(self) -> None:
        self.first: Frame | None = None
        """The first line of the incomplete frame."""
        self._framer: AutoFramer | None = AutoFramer()
        """None once lines are known to be complete frames, or lengths to be invalid."""
        self.framing = self._framer.framing

    def take(self, line: Frame) -> list[Frame]:
        """Return the frames that a line completes."""
        if self._framer is None:
            return [line]
        try:
            raws = self._framer.feed(line.data + line.line_ending)
        except FrameTooLongError:
            left = self.rest()
            self._framer = None
            return [*left, line]
        self.framing = self._framer.framing
        if self.framing != "headers":
            self._framer = None if self.framing else self._framer
            return [line]
        whole: list[Frame] = []
        for raw in raws:
            whole.append(_frame(self.first or line, raw, b"\n"))
            self.first = None
        if self.first is None and self._is_within(self._framer):
            self.first = line
        return whole

    def rest(self) -> list[Frame]:
        """Return the incomplete frame at the end."""
        first, self.first = self.first, None
        if first is None or self._framer is None:
            return []
        return [_frame(first, self._framer.rest(), b"")]

    def _is_within(self, framer: AutoFramer) -> bool:
        """Return whether a header has begun; no body has, as a blank line precedes it."""
        begun = framer.rest()
        framer.feed(begun)
        return bool(begun)


def _opened() -> dict[Side, _Stream]:
    return {"client": _Stream(), "agent": _Stream()}


def _frame(first: Frame, raw: bytes, end: bytes) -> Frame:
    return Frame(first.seq, first.time, first.side, raw, end)
