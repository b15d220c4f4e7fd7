"""Runs of streamed updates that a list shows as one row, and the lines of its rows.

A run never crosses a multiple of `BLOCK` rows. So it is found by reading one block, wherever that
is, and recordings of any size need no pass over all rows.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import orjson

from acp_inspector.filter.entries import EntrySequence, RecordingEntries
from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame
from acp_protocol.errors import AcpError

BLOCK: Final = 256
"""Rows that are read together; no run is longer."""
MAX_BLOCK_BYTES: Final = 4 << 20
"""A block with more bytes has no runs: reading it would take too long."""
MAX_BLOCKS: Final = 128
"""Blocks that are kept."""
_MARKERS: Final = (b'_chunk"', b'"tool_call_update"')
_Key: TypeAlias = tuple[str, str, str]
"""Session, name of the update, and tool call."""


@dataclass(frozen=True, slots=True)
class Run:
    """Rows that are one line of the list: from `begin` to before `end`.

    Below the row of a frame that holds several messages there may be a line for each.
    """

    begin: int
    end: int
    name: str = ""
    """Name of the updates; empty for a row of its own."""
    size: int = 0
    """Bytes of all frames."""
    parts: int = 0
    """Lines of messages that follow it."""
    part: int = 0
    """Which of these it is, from 1; 0: it is the line of the rows."""

    @property
    def is_folded(self) -> bool:
        return self.end - self.begin > 1

    @property
    def last(self) -> int:
        return self.end - 1


class Runs:
    """The runs of the entries of one connection, and which of them are unfolded."""

    def __init__(self, entries: EntrySequence) -> None:
        self._entries = entries
        self._blocks: OrderedDict[int, tuple[int, list[Run]]] = OrderedDict()
        """By block: how many rows it had, and the run of each of them."""
        self._unfolded: set[int] = set()

    def at(self, row: int) -> Run:
        """Return the line of a row: its run, or only itself."""
        run = self.whole_at(row)
        return Run(row, row + 1) if run.begin in self._unfolded else run

    def whole_at(self, row: int) -> Run:
        """Return the run of a row, folded or not."""
        block, place = divmod(row, BLOCK)
        first = block * BLOCK
        end = min(first + BLOCK, len(self._entries))
        known = self._blocks.get(block)
        if known is None or known[0] != end:
            known = self._blocks[block] = end, self._read(first, end)
            if len(self._blocks) > MAX_BLOCKS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(block)
        return known[1][place] if place < len(known[1]) else Run(row, row + 1)

    def toggle(self, row: int) -> bool | None:
        """Unfold or fold the run of a row; return whether it is unfolded, None without a run."""
        run = self.whole_at(row)
        if not run.is_folded:
            return None
        self._unfolded ^= {run.begin}
        return run.begin in self._unfolded

    def forget(self) -> None:
        self._blocks.clear()
        self._unfolded.clear()

    def _read(self, first: int, end: int) -> list[Run]:
        keys = self._keys(first, end)
        found: list[Run] = []
        begin = 0
        for place in range(1, len(keys) + 1):
            key = keys[begin][0]
            if place < len(keys) and key is not None and keys[place][0] == key:
                continue
            size = sum(each for _, each in keys[begin:place])
            run = Run(first + begin, first + place, key[1] if key else "", size)
            found += [run] * (place - begin)
            begin = place
        return found

    def _keys(self, first: int, end: int) -> list[tuple[_Key | None, int]]:
        keys = self._keys_as_sent(first, end)
        for row in self._entries.translated(first, end):
            frame = self._entries[row]
            if isinstance(frame, Frame):
                keys[row - first] = _key_of(self._entries.decoded(row, frame)), len(frame.data)
        return keys

    def _keys_as_sent(self, first: int, end: int) -> list[tuple[_Key | None, int]]:
        if not isinstance(self._entries, RecordingEntries):
            entries = (self._entries[row] for row in range(first, end))
            return [
                (_key(each.data), len(each.data)) if isinstance(each, Frame) else (None, 0)
                for each in entries
            ]
        recording = self._entries
        size = recording.index.offset(end - 1) - recording.index.offset(first)
        if size > MAX_BLOCK_BYTES:
            return [(None, 0)] * (end - first)
        try:
            lines = recording.raw_lines(first, end).split(b"\n")[: end - first]
        except AcpError:
            return [(None, 0)] * (end - first)
        # A frame is the last member of its line, and the line's only message.
        return [
            (_key(line, "msg"), len(line) - line.find(b'"msg":') - len('"msg":}')) for line in lines
        ]


def _key(raw: bytes, *path: str) -> _Key | None:
    """Return what the updates of one run have in common; None for any other frame."""
    if len(raw) > MAX_BLOCK_BYTES or not any(marker in raw for marker in _MARKERS):
        return None
    try:
        value: Any = orjson.loads(raw)
        for step in (*path, "params"):
            value = value[step]
        update, session = value["update"], value["sessionId"]
        return _key_in(update, session)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _key_of(decoded: DecodedFrame) -> _Key | None:
    """Return the key of a frame of a dialect, all of whose messages have it."""
    keys = {_key_in(part.update, part.session) for part in decoded.parts}
    return keys.pop() if len(keys) == 1 else None


def _key_in(update: Any, session: Any) -> _Key | None:
    name = update.get("sessionUpdate")
    call, status = update.get("toolCallId", ""), update.get("status")
    # What ends a tool call stands alone, in sight.
    is_output = name == "tool_call_update" and status in {None, "in_progress"}
    if not isinstance(name, str) or not (name.endswith("_chunk") or is_output):
        return None
    key = (session, name, call)
    return cast("_Key", key) if all(isinstance(each, str) for each in key) else None
