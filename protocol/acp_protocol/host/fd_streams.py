"""File descriptors of any kind as streams of bytes, read and written without blocking the loop.

They raise the exceptions of anyio that every byte stream raises.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from typing import Final

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream

CHUNK_BYTES: Final = 65536
"""Bytes to read at once."""
CHUNKS_AHEAD: Final = 4
"""Chunks that are read before they are received."""


class FdReceiveStream(ByteReceiveStream):
    """Reads a file descriptor of any kind (pipe, socket, terminal, file) and owns it.

    The event loop keeps watching the descriptor, because starting to watch it for every read would
    cost more than the read. What it reads ahead is limited to a few chunks; after that the sender
    has to wait.
    """

    def __init__(self, descriptor: int) -> None:
        self.received = 0
        """Bytes that have come so far."""
        self._descriptor = descriptor
        self._chunks: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._is_open = True
        self._is_watched = False
        self._is_file = False
        self._has_ended = False

    async def receive(self, max_bytes: int = CHUNK_BYTES) -> bytes:
        """Return at least one byte, and at most `CHUNK_BYTES`, whatever `max_bytes` says."""
        while not self._chunks:
            if self._has_ended:
                raise anyio.EndOfStream
            if not self._is_open:
                raise anyio.ClosedResourceError
            await self._wait()
        return self._chunks.popleft()

    async def _wait(self) -> None:
        if self._waiter is not None:
            raise anyio.BusyResourceError("reading from")
        loop = asyncio.get_running_loop()
        if not self._is_watched and not self._is_file:
            try:
                loop.add_reader(self._descriptor, self._read)
                self._is_watched = True
            except (PermissionError, ValueError):
                self._is_file = True
        if self._is_file:
            # A file is always readable, and cannot be watched.
            await anyio.lowlevel.checkpoint()
            self._read()
            return
        self._waiter = loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, CHUNK_BYTES)
        except BlockingIOError:
            # Another process that shares the open file was faster.
            return
        except OSError:
            # A terminal that hung up fails with EIO.
            chunk = b""
        if chunk:
            self.received += len(chunk)
            self._chunks.append(chunk)
        else:
            self._has_ended = True
        if self._has_ended or len(self._chunks) >= CHUNKS_AHEAD:
            self._stop_watching()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def is_quiet(self, seconds: float) -> bool:
        """Wait that long; return whether nothing has come although somebody waits for it."""
        before = self.received
        await anyio.sleep(seconds)
        return self.received == before and self._waiter is not None

    async def wait_quiet(self, seconds: float) -> None:
        """Return once nothing has come for that long."""
        while not await self.is_quiet(seconds):
            pass

    def end(self) -> None:
        """End the stream, although others may still write into it."""
        self._has_ended = True
        self._stop_watching()
        self._wake()

    def _stop_watching(self) -> None:
        if self._is_watched:
            self._is_watched = False
            asyncio.get_running_loop().remove_reader(self._descriptor)

    async def aclose(self) -> None:
        """Close the descriptor; a task that waits in `receive` gets `ClosedResourceError`."""
        if self._is_open:
            self._is_open = False
            self._stop_watching()
            os.close(self._descriptor)
            self._wake()


class FdSendStream(ByteSendStream):
    """Writes a file descriptor of any kind without blocking the loop, and owns it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_open = True
        self._rest = memoryview(b"")
        """What a cancelled `send` has not written; it is written before the next item."""
        self._was_blocking = os.get_blocking(descriptor)
        os.set_blocking(descriptor, False)

    async def send(self, item: bytes) -> None:
        """Write all of `item`, without waiting if there is room for it."""
        await self._write_rest()
        self._rest = memoryview(item)
        await self._write_rest()

    async def _write_rest(self) -> None:
        while self._rest:
            if not self._is_open:
                raise anyio.ClosedResourceError
            try:
                self._rest = self._rest[os.write(self._descriptor, self._rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)
            except OSError:
                raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        """Close the descriptor and leave its open file as it was found."""
        if self._is_open:
            self._is_open = False
            anyio.notify_closing(self._descriptor)
            # The flag belongs to the open file, which others may share (a terminal, a log).
            os.set_blocking(self._descriptor, self._was_blocking)
            os.close(self._descriptor)
