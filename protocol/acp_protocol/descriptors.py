"""File descriptors of any kind as streams of bytes, read and written without blocking the loop."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable
from typing import Final

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_protocol.readiness import Readiness, readiness

CHUNK: Final = 65536
"""Bytes asked for in one read."""
CHUNKS_AHEAD: Final = 4
"""Chunks that are read before anybody asks for them."""


class DescriptorReader(ByteReceiveStream):
    """Reads a file descriptor of any kind (pipe, socket, terminal, file) and owns it.

    The selector is asked once and not anew for each read, which would cost more than the read, and
    who waits goes on as soon as something came. What came is held until it is received; beyond a
    few chunks nothing more is read, and the sender has to wait.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._chunks: deque[bytes] = deque()
        """What was read before anybody asked for it."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop that watches the descriptor; None while nobody does."""
        self._waiting: Readiness[bytes | None] | None = None
        self._is_open = True
        self._is_file = False
        self._has_ended = False

    async def receive(self, max_bytes: int = CHUNK) -> bytes:
        """Return at least one byte, and `CHUNK` at most, whatever `max_bytes` says.

        Raises:
            anyio.EndOfStream: no more will come.
            anyio.ClosedResourceError: this reader is closed.
        """
        if chunk := await self.chunk():
            return chunk
        if not self._has_ended:
            raise anyio.ClosedResourceError
        raise anyio.EndOfStream

    def chunk(self) -> Awaitable[bytes | None]:
        """Return what is to be awaited for the next chunk; that yields nothing when none will come.

        Raises:
            anyio.ClosedResourceError: this reader is closed.
        """
        if self._chunks:
            return self._held()
        if self._waiting is not None and not self._waiting.done():
            raise anyio.BusyResourceError("reading from")
        loop = self._loop
        if loop is None:
            if self._has_ended:
                return self._held()
            if not self._is_open:
                raise anyio.ClosedResourceError
            if (loop := self._start()) is None:
                return self._held()
        self._waiting = readiness(loop)
        return self._waiting

    async def aclose(self) -> None:
        """Close the descriptor; who waits for it learns so."""
        if self._is_open:
            self._is_open = False
            self._stop()
            os.close(self._descriptor)
            if self._waiting is not None:
                self._waiting.wake_later(None)

    async def _held(self) -> bytes:
        """Return what was read, after reading if it is a file; nothing at the end."""
        if not self._chunks and self._is_file and not self._has_ended:
            await anyio.lowlevel.checkpoint()
            self._read()
        return self._chunks.popleft() if self._chunks else b""

    def _start(self) -> asyncio.AbstractEventLoop | None:
        """Have the descriptor watched, and return by whom; None for a file, always ready."""
        loop = asyncio.get_running_loop()
        if not self._is_file:
            try:
                loop.add_reader(self._descriptor, self._read)
            except (PermissionError, ValueError):
                self._is_file = True
            else:
                self._loop = loop
        return self._loop

    def _stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._descriptor)
            self._loop = None

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, CHUNK)
        except BlockingIOError:
            # Somebody who shares the open file took it first.
            return
        except OSError:
            # A terminal that hung up answers EIO: for us that is an end like any other.
            chunk = b""
        if not chunk:
            self._has_ended = True
            self._stop()
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.wake(chunk)
        elif chunk:
            self._chunks.append(chunk)
            if len(self._chunks) >= CHUNKS_AHEAD:
                self._stop()


class DescriptorWriter(ByteSendStream):
    """Writes a file descriptor of any kind without blocking the loop, and owns it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_open = True
        self._rest = memoryview(b"")
        self._was_blocking = os.get_blocking(descriptor)
        os.set_blocking(descriptor, False)

    def begin(self, item: bytes) -> bool:
        """Write as much of `item` as goes in at once, behind what was left over before.

        Returns whether nothing is left for `finish`, which otherwise has to be awaited.

        Raises:
            anyio.BrokenResourceError: nobody reads any more.
            anyio.ClosedResourceError: this writer is closed.
        """
        if self._rest:
            self._rest = memoryview(self._rest.tobytes() + item)
            return False
        if not self._is_open:
            raise anyio.ClosedResourceError
        try:
            written = os.write(self._descriptor, item)
        except BlockingIOError:
            written = 0
        except OSError:
            raise anyio.BrokenResourceError from None
        if written < len(item):
            self._rest = memoryview(item)[written:]
        return not self._rest

    async def finish(self) -> None:
        """Write what is left over; what a cancelled call leaves goes out before the next item.

        Raises:
            anyio.BrokenResourceError: nobody reads any more.
            anyio.ClosedResourceError: this writer is closed.
        """
        while self._rest:
            if not self._is_open:
                raise anyio.ClosedResourceError
            try:
                self._rest = self._rest[os.write(self._descriptor, self._rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)
            except OSError:
                raise anyio.BrokenResourceError from None

    async def send(self, item: bytes) -> None:
        """Write all of `item`, as `begin` and `finish` do."""
        await self.finish()
        if not self.begin(item):
            await self.finish()

    async def aclose(self) -> None:
        """Close the descriptor and leave its open file as it was found."""
        if self._is_open:
            self._is_open = False
            anyio.notify_closing(self._descriptor)
            # The flag belongs to the open file, which others may share (a terminal, a log).
            os.set_blocking(self._descriptor, self._was_blocking)
            os.close(self._descriptor)
