"""One direction of the traffic where somebody may interfere.

As long as nobody does, chunks pass as in any pump. Otherwise the stream is cut into lines, each
line is numbered and brought to its lane, and a second thread writes what the lane lets out. Going
over from one to the other happens where a line ends. A line that may never end is not waited for:
behind all that came before it, it passes as chunks do.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from acp_inspector.journal import split_ending
from acp_inspector.proxy.interference import Interference
from acp_inspector.proxy.pump import CHUNK, Pump
from acp_inspector.proxy.recorder import Recorder
from acp_protocol.framing import LineFramer, Side

if TYPE_CHECKING:
    from acp_inspector.intercept.lane import Lane

LONGEST: Final = 128 * 2**20
"""Bytes of a line, beyond which nobody interferes with it: it may have no end."""


class Crossing(Pump):
    """Moves one stream, as a whole or line by line."""

    def __init__(
        self, side: Side, source: int, sink: int, recorder: Recorder, interference: Interference
    ) -> None:
        super().__init__(side, source, sink, recorder)
        self._side: Side = side
        self._tape = recorder
        self._lane: Lane | None = None
        self._opening = threading.Lock()
        """Guards the next four; never held while bytes are read, noted or written."""
        self._is_passing = False
        """Whether a chunk is being written without a lane."""
        self._has_ended = False
        self._framer = LineFramer(LONGEST + CHUNK)
        """What came of a line that has not ended, where it goes line by line."""
        self._held = 0
        """How many bytes that is."""
        self._is_at_boundary = True
        """Whether what has left as chunks ended with a line."""
        self._writer = threading.Thread(target=self._let_out, name=f"lane {side}", daemon=True)
        interference.join(side, self._open)

    def move(self) -> None:
        """Move until the stream ends and what waits has left."""
        try:
            while chunk := self.read():
                with self._opening:
                    lane = self._lane
                    self._is_passing = lane is None
                if lane is None:
                    self._pass_without_lane(chunk)
                    continue
                if lane.is_closed:
                    break
                self._take(lane, chunk)
        finally:
            self._end()

    def _open(self, lane: Lane) -> None:
        """Begin to write what the lane lets out, behind the chunk that is being written."""
        with self._opening:
            if self._has_ended:
                lane.close()
                return
            lane.open(is_raw_busy=self._is_passing, is_at_boundary=self._is_at_boundary)
            self._lane = lane
            self._writer.start()

    def _pass_without_lane(self, chunk: bytes) -> None:
        try:
            self._pass(chunk)
        finally:
            with self._opening:
                self._is_passing = False
                if self._lane is not None:
                    self._lane.end_raw(is_at_boundary=self._is_at_boundary)

    def _take(self, lane: Lane, chunk: bytes) -> None:
        if lane.begin_raw():
            try:
                self._pass(self._rest() + chunk)
            finally:
                lane.end_raw(is_at_boundary=self._is_at_boundary)
            return
        if not self._is_at_boundary:
            chunk = self._follow(lane, chunk)
        for line in self._framer.feed(chunk):
            self._bring(lane, *split_ending(line))
        end = chunk.rfind(b"\n") + 1
        self._held = len(chunk) - end + (0 if end else self._held)
        if self._held > LONGEST:
            self._give_up(lane)

    def _bring(self, lane: Lane, raw: bytes, end: bytes) -> None:
        lane.announce()
        lane.put(self._tape.line(self._side, raw, end))

    def _follow(self, lane: Lane, chunk: bytes) -> bytes:
        """Let the rest of a line follow its beginning, which has left; return what is behind it."""
        rest, newline, behind = chunk.partition(b"\n")
        self.note(rest + newline)
        self._is_at_boundary = bool(newline)
        lane.put_rest(rest + newline, is_at_boundary=self._is_at_boundary)
        return behind

    def _give_up(self, lane: Lane) -> None:
        """Let a line pass of which nobody knows whether it ends."""
        beginning = self._rest()
        if not lane.make_way():
            self._bring(lane, beginning, b"")
            return
        text = (
            f"nobody interferes with a line of more than {LONGEST >> 20} MiB from the {self._side}"
        )
        self._tape.event("note", text=text)
        for at in range(0, len(beginning), CHUNK):
            self._follow(lane, beginning[at : at + CHUNK])

    def _rest(self) -> bytes:
        self._held = 0
        return self._framer.rest()

    def _pass(self, chunk: bytes) -> None:
        self.note(chunk)
        self._is_at_boundary = chunk.endswith(b"\n")
        self.write(chunk)

    def _end(self) -> None:
        with self._opening:
            self._has_ended = True
            lane = self._lane
        if lane is None:
            return
        if rest := self._rest():
            self._bring(lane, rest, b"")
        lane.end()
        self._writer.join()

    def _let_out(self) -> None:
        assert self._lane is not None
        try:
            while (data := self._lane.take()) is not None:
                self.write(data)
        except OSError:
            # Nobody takes it any more, so the reader need not bring it.
            self._lane.close()
        self.close_sink()
