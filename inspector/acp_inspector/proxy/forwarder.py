"""Moves the bytes of one stream: from the editor to the agent, or back.

A `Forwarder` is a thread that reads a chunk, notes it for the recording, and writes it. It holds
one chunk at a time, so backpressure works as without a proxy.

An `InterceptingForwarder` does the same until a breakpoint, rule or add-on wants frames. From then
on it cuts the stream into lines, numbers each line, and puts it into its channel; a second thread
writes what the channel lets out. It switches between the two at line ends. It does not wait for the
end of an overlong line: after all earlier frames, it passes such a line chunk by chunk.

No event loop and no framework: an editor waits until this has started.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from acp_inspector.journal import split_ending
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.recording.numbering import Stream
from acp_protocol.framing import LineFramer, Side

if TYPE_CHECKING:
    from acp_inspector.intercept.channel import Channel

CHUNK_BYTES: Final = 1 << 16
"""Bytes of one read, which is what a pipe holds."""
MAX_LINE_BYTES: Final = 128 * 2**20
"""A longer line is not intercepted: it may have no end."""


_HEADERS: Final = (b"content-length:", b"content-type:")
"""What the messages of some agents begin with, in any case."""


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
    """Moves one stream chunk by chunk, or line by line through a channel."""

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
        """Whether the chunks so far ended with a line."""
        self._has_headers: bool | None = None
        """Whether the messages have Content-Length headers; None before the first byte."""
        self._has_ended = False
        self._framer = LineFramer(max_line_bytes + CHUNK_BYTES)
        """Holds the beginning of a line for the channel."""
        self._framer_bytes = 0
        self._writer: threading.Thread | None = None

    def open_channel(self, channel: Channel) -> None:
        """Go through `channel` from the next chunk on; does not wait for the one being written."""
        with self._lock:
            if self._has_headers:
                self._refuse(channel)
                return
            if self._has_ended:
                channel.close()
                return
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
                    if self._has_headers is None:
                        self._has_headers = chunk.lstrip().lower().startswith(_HEADERS)
                        if self._has_headers and self._channel is not None:
                            self._refuse(self._channel)
                            self._channel = None
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

    def _refuse(self, channel: Channel) -> None:
        """Close a channel: only lines can be intercepted."""
        channel.close()
        self._frames.event(
            "note",
            text=f"messages of the {self._side} have Content-Length headers: they are not "
            "intercepted, and pass unchanged",
        )

    def _move_chunk(self, channel: Channel, chunk: bytes) -> None:
        if channel.begin_raw():
            try:
                self._pass(self._take_beginning() + chunk)
            finally:
                channel.end_raw(is_at_boundary=self._is_at_boundary)
            return
        if not self._is_at_boundary:
            chunk = self._put_rest(channel, chunk)
        for line in self._framer.feed(chunk):
            self._put(channel, *split_ending(line))
        end = chunk.rfind(b"\n") + 1
        self._framer_bytes = len(chunk) - end + (0 if end else self._framer_bytes)
        if self._framer_bytes > self._max_line_bytes:
            self._pass_endless_line(channel)

    def _pass(self, chunk: bytes) -> None:
        self.note(chunk)
        self._is_at_boundary = chunk.endswith(b"\n")
        self.write(chunk)

    def _put(self, channel: Channel, raw: bytes, end: bytes) -> None:
        channel.announce()
        channel.put(self._frames.line(self._side, raw, end))

    def _put_rest(self, channel: Channel, chunk: bytes) -> bytes:
        """Send the rest of a line whose beginning was sent; return the bytes after it."""
        rest, newline, behind = chunk.partition(b"\n")
        self.note(rest + newline)
        self._is_at_boundary = bool(newline)
        channel.put_rest(rest + newline, is_at_boundary=self._is_at_boundary)
        return behind

    def _pass_endless_line(self, channel: Channel) -> None:
        """Send the beginning of a line that may have no end."""
        beginning = self._take_beginning()
        if not channel.flush():
            self._put(channel, beginning, b"")
            return
        mib = self._max_line_bytes >> 20
        text = f"a line of more than {mib} MiB from the {self._side} is not intercepted"
        self._frames.event("note", text=text)
        for at in range(0, len(beginning), CHUNK_BYTES):
            self._put_rest(channel, beginning[at : at + CHUNK_BYTES])

    def _take_beginning(self) -> bytes:
        self._framer_bytes = 0
        return self._framer.rest()

    def _end(self) -> None:
        with self._lock:
            self._has_ended = True
            channel = self._channel
        if channel is None:
            return
        if beginning := self._take_beginning():
            self._put(channel, beginning, b"")
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
        if not self._has_headers:
            self.close_sink()


def _wait_for(descriptor: int, event: int) -> None:
    """Wait until a descriptor is ready that an editor has set to non-blocking."""
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()
