"""Moves the bytes of one stream: from the editor to the agent, or back.

A `Forwarder` is a thread that reads a chunk, notes it for the recording, and writes it. It holds
one chunk at a time, so backpressure works as without a proxy.

An `InterceptingForwarder` does the same until a breakpoint, rule or add-on wants frames. From then
on it cuts the stream into frames, numbers each, and puts it into its channel; a second thread
writes what the channel lets out. It switches between the two at the ends of frames. It does not
wait for the end of an overlong line: after all earlier frames, it passes such a line chunk by
chunk. A stream whose Content-Length headers cannot be right passes unchanged from there on.

No event loop and no framework: an editor waits until this has started.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from acp_inspector.proxy.recorder import Recorder
from acp_inspector.recording.numbering import Stream
from acp_protocol.framing import AutoFramer, Side, WireFrame

if TYPE_CHECKING:
    from acp_inspector.intercept.channel import Channel

CHUNK_BYTES: Final = 1 << 16
"""Bytes of one read, which is what a pipe holds."""
MAX_LINE_BYTES: Final = 128 * 2**20
"""A longer line is not intercepted: it may have no end."""
_NO_LENGTH: Final = "a message without a usable Content-Length, and what follows it,"


class Forwarder(threading.Thread):
    """Moves one stream from `source` to `sink` until either ends, then closes both."""

    def __init__(self, stream: Stream, source: int, sink: int, recorder: Recorder | None) -> None:
        super().__init__(name=f"forward {stream}", daemon=True)
        self._stream: Stream = stream
        self._source = source
        self._sink = sink
        self._is_sink_open = True
        self._recorder = recorder
        self.is_writing = False
        """Whether it waits for a reader to take something."""
        self.writes = 0
        """How many writes have made progress."""
        self._has_lost_sink = False
        self._closing = os.pipe()
        """Becomes readable when the sink is closed."""

    def run(self) -> None:
        """Move the stream; the interpreter's lock is free during reads and writes."""
        with suppress(OSError):
            self.move()
        if self._recorder is not None and self._stream != "stderr":
            self._recorder.event("eof", **{"from": self._stream})
        with suppress(OSError):
            os.close(self._source)
        self.close_sink()

    def move(self) -> None:
        """Move chunks until the stream ends.

        Raises:
            OSError: the source or the sink is gone.
        """
        while chunk := self.read():
            self.note(chunk)
            self.write(chunk)

    def read(self) -> bytes:
        """Return a chunk of at least a byte; nothing when the stream has ended."""
        while True:
            try:
                return os.read(self._source, CHUNK_BYTES)
            except BlockingIOError:
                _wait_for(self._source, select.POLLIN)

    def note(self, chunk: bytes) -> None:
        if self._recorder is not None:
            self._recorder.note(self._stream, chunk)

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        self.is_writing = True
        try:
            while rest:
                try:
                    rest = rest[os.write(self._sink, rest) :]
                except BlockingIOError:
                    _wait_for(self._sink, select.POLLOUT)
                else:
                    self.writes += 1
        except OSError:
            self._has_lost_sink = True
            raise
        finally:
            self.is_writing = False

    def wait_for_lost_sink(self) -> bool:
        """Wait until the reader of the sink is gone; False if the sink was closed here before."""
        poll = select.poll()
        poll.register(self._sink, 0)
        # While the kernel polls the sink, closing it does not reach the other end.
        poll.register(self._closing[0], select.POLLIN)
        found = dict(poll.poll()).get(self._sink, 0)
        # The descriptor may be another file's by now, so check that it is still ours.
        is_gone = bool(found & (select.POLLERR | select.POLLHUP))
        return self._has_lost_sink or (is_gone and self._is_sink_open)

    def has_lost_source(self) -> bool:
        """Return whether all writers of the source are gone; bytes may be left to read."""
        poll = select.poll()
        poll.register(self._source, 0)
        return bool(poll.poll(0))

    def is_stuck_for(self, seconds: float) -> bool:
        """Wait for the end, `seconds` at most; return whether a write has made no progress."""
        writes, was_writing = self.writes, self.is_writing
        self.join(seconds)
        return self.is_alive() and was_writing and self.is_writing and self.writes == writes

    def close_sink(self) -> None:
        """Close the sink; closing twice is no error."""
        # Our own stderr stays open for warnings.
        if self._is_sink_open and self._sink != 2:
            self._is_sink_open = False
            with suppress(OSError):
                os.close(self._sink)
            os.write(self._closing[1], b".")


class InterceptingForwarder(Forwarder):
    """Moves one stream chunk by chunk, or frame by frame through a channel."""

    def __init__(
        self,
        side: Side,
        source: int,
        sink: int,
        recorder: Recorder,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        super().__init__(side, source, sink, recorder)
        self._side: Side = side
        self._frames = recorder
        self._max_line_bytes = max_line_bytes
        self._lock = threading.Lock()
        """Guards the next four; never held while bytes are read, noted or written."""
        self._channel: Channel | None = None
        self._is_passing = False
        """Whether a chunk is being written without a channel."""
        self._is_at_boundary = True
        """Whether the chunks so far ended with a frame."""
        self._has_ended = False
        self._framer = AutoFramer(max_line_bytes + CHUNK_BYTES)
        """Holds the beginning of a frame for the channel; knows where in a frame the stream is."""
        self._writer: threading.Thread | None = None

    def open_channel(self, channel: Channel) -> None:
        """Go through `channel` from the next chunk on; does not wait for the one being written."""
        with self._lock:
            if self._has_ended:
                channel.close()
                return
            channel.framing = self._framer.framing
            channel.start(is_writing=self._is_passing, is_at_boundary=self._is_at_boundary)
            self._channel = channel
            self._writer = threading.Thread(
                target=self._write_channel, args=[channel], name=f"{self._side}", daemon=True
            )
            self._writer.start()

    def move(self) -> None:
        """Move until the stream has ended and the channel is empty."""
        try:
            while chunk := self.read():
                with self._lock:
                    channel = self._channel
                    self._is_passing = channel is None
                if channel is None:
                    try:
                        self._pass(chunk)
                    finally:
                        with self._lock:
                            self._is_passing = False
                            if self._channel is not None:
                                self._channel.end_raw(is_at_boundary=self._is_at_boundary)
                elif channel.is_closed:
                    break
                else:
                    self._move_chunk(channel, chunk)
        finally:
            self._end()

    def _move_chunk(self, channel: Channel, chunk: bytes) -> None:
        if channel.begin_raw():
            try:
                self._pass(self._take_beginning() + chunk)
            finally:
                channel.end_raw(is_at_boundary=self._is_at_boundary)
            return
        if not self._is_at_boundary:
            chunk = self._put_rest(channel, chunk)
        for frame in self._framer.split(chunk):
            channel.framing = self._framer.framing
            self._put(channel, frame)
        if not self._is_at_boundary:
            # The framer holds what was sent, to find its end.
            return
        if self._framer.problem is not None:
            self._pass_beginning(channel, _NO_LENGTH)
        elif self._framer.held > self._max_line_bytes:
            text = f"a line of more than {self._max_line_bytes >> 20} MiB"
            self._pass_beginning(channel, text)

    def _pass(self, chunk: bytes) -> None:
        self.note(chunk)
        if self._framer.framing != "lines" and self._framer.problem is None:
            self._framer.split(chunk)
        if self._framer.framing == "lines":
            self._is_at_boundary = chunk.endswith(b"\n")
        else:
            self._is_at_boundary = self._framer.is_between
        self._forget_sent()
        self.write(chunk)

    def _forget_sent(self) -> None:
        """Let the framer hold only what was not sent, or else what it needs to find the end."""
        if self._is_at_boundary or self._framer.framing == "lines":
            self._framer.rest()

    def _put(self, channel: Channel, frame: WireFrame) -> None:
        channel.announce()
        channel.put(self._frames.frame(self._side, frame))

    def _put_rest(self, channel: Channel, chunk: bytes) -> bytes:
        """Send the rest of a frame whose beginning was sent; return the bytes after it."""
        end = self._framer.finish(chunk) if self._framer.problem is None else len(chunk)
        self._is_at_boundary = self._framer.is_between
        self._forget_sent()
        if self._framer.problem is not None:
            end = len(chunk)
        self.note(chunk[:end])
        channel.put_rest(chunk[:end], is_at_boundary=self._is_at_boundary)
        return chunk[end:]

    def _pass_beginning(self, channel: Channel, what: str) -> None:
        """Send the beginning of a frame that may have no end."""
        beginning = self._framer.rest()
        if not channel.flush():
            self._put(channel, WireFrame(b"", beginning, b""))
            return
        self._frames.event("note", text=f"{what} from the {self._side} is not intercepted")
        self._is_at_boundary = False
        for at in range(0, len(beginning), CHUNK_BYTES):
            self._put_rest(channel, beginning[at : at + CHUNK_BYTES])

    def _take_beginning(self) -> bytes:
        """Take out the beginning of a frame that was not sent."""
        return self._framer.rest() if self._is_at_boundary else b""

    def _end(self) -> None:
        with self._lock:
            self._has_ended = True
            channel = self._channel
        if channel is None:
            return
        if beginning := self._take_beginning():
            self._put(channel, WireFrame(b"", beginning, b""))
        channel.end()
        if self._writer is not None:
            self._writer.join()

    def _write_channel(self, channel: Channel) -> None:
        try:
            while (data := channel.take()) is not None:
                self.write(data)
        except OSError:
            # The reader is gone: close the channel to end its waits.
            channel.close()
        self.close_sink()


def _wait_for(descriptor: int, event: int) -> None:
    """Wait until a descriptor is ready that an editor has set to non-blocking."""
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()
