"""What terminals run and what tool calls are called, which later frames name only by an id.

The rows before a frame are searched block by block, so recordings of any size need no pass over
all rows.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.filter.entries import EntrySequence, RecordingEntries
from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame
from acp_inspector.views.frame_row import command_line
from acp_inspector.views.subjects import NamedKind
from acp_protocol.errors import AcpError
from acp_protocol.json_values import get, get_string, get_text
from acp_protocol.jsonrpc import Json

BLOCK: Final = 256
"""Rows that are searched together."""
REACH: Final = 8
"""Blocks before that of a frame that are searched, at most."""
MAX_BLOCK_BYTES: Final = 4 << 20
"""A block with more bytes is not searched: reading it would take too long."""
MAX_BLOCKS: Final = 128
"""Blocks that are kept."""
MAX_NAME: Final = 200
_MARKERS: Final = (b'"terminalId"', b'"title"')


@dataclass(slots=True)
class _Block:
    """What the rows of a block name, up to before row `end`."""

    end: int
    names: dict[tuple[NamedKind, str], list[tuple[int, str]]] = field(
        default_factory=dict[tuple[NamedKind, str], list[tuple[int, str]]]
    )
    """By id: rows with the name from there on."""


class CalledNames:
    """The names of terminals and tool calls of one connection."""

    def __init__(self, entries: EntrySequence) -> None:
        self._entries = entries
        self._blocks: OrderedDict[int, _Block] = OrderedDict()

    def forget(self) -> None:
        """Restart: the entries were replaced."""
        self._blocks.clear()

    def name(self, row: int, kind: NamedKind, id_: str) -> str:
        """Return the command of a terminal or the title of a tool call as of a row; or ""."""
        last = row // BLOCK
        for block in range(last, max(last - REACH, -1), -1):
            named = self._block(block).names.get((kind, id_), [])
            for at, name in reversed(named):
                if at <= row:
                    return name
        return ""

    def _block(self, number: int) -> _Block:
        first = number * BLOCK
        end = min(first + BLOCK, len(self._entries))
        block = self._blocks.setdefault(number, _Block(first))
        self._blocks.move_to_end(number)
        if len(self._blocks) > MAX_BLOCKS:
            self._blocks.popitem(last=False)
        if block.end < end:
            for row in self._candidates(block.end, end):
                self._read(row, block)
            block.end = end
        return block

    def _candidates(self, first: int, end: int) -> list[int]:
        """Return the rows that may name something."""
        entries = self._entries
        if isinstance(entries, RecordingEntries):
            if entries.index.offset(end - 1) - entries.index.offset(first) > MAX_BLOCK_BYTES:
                return []
            try:
                lines = entries.raw_lines(first, end).split(b"\n")[: end - first]
            except AcpError:
                return []
        else:
            read = (entries[row] for row in range(first, end))
            lines = [each.data if isinstance(each, Frame) else b"" for each in read]
        found = {
            first + place
            for place, line in enumerate(lines)
            if len(line) <= MAX_BLOCK_BYTES and any(marker in line for marker in _MARKERS)
        }
        return sorted({*found, *entries.translated(first, end)})

    def _read(self, row: int, block: _Block) -> None:
        try:
            frame = self._entries[row]
            if not isinstance(frame, Frame):
                return
            for part in self._entries.decoded(row, frame).parts:
                for kind, id_, name in self._named(row, part):
                    if id_ and name:
                        named = block.names.setdefault((kind, id_), [])
                        named.append((row, name[:MAX_NAME]))
        except AcpError:
            return

    def _named(self, row: int, part: DecodedFrame) -> list[tuple[NamedKind, str, str]]:
        """Return the ids to which a message gives a name."""
        terminal = get_text(part.result, "terminalId")
        if terminal is not None:
            return [("terminal", terminal, self._command(row))]
        call = get(part.params, "toolCall") or part.update
        return [("call", get_string(call, "toolCallId"), get_string(call, "title"))]

    def _command(self, row: int) -> str:
        """Return the command of the request to which a row responds."""
        request_row = self._entries.request_row(row)
        request = None if request_row is None else self._entries[request_row]
        if request_row is None or not isinstance(request, Frame):
            return ""
        params: Json = self._entries.decoded(request_row, request).params
        return command_line(params)
