"""This process's own stdin and stdout as a transport: the agent's side of stdio.

Source: ACP, Transports, "stdio".
"""

from __future__ import annotations

import os
import sys

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_protocol.transport.lines import LineTransport


class DescriptorReader(ByteReceiveStream):
    """Reads a file descriptor of any kind (pipe, socket, terminal, file) and owns it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_open = True

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return at least one byte.

        Raises:
            anyio.EndOfStream: no more will come.
            anyio.ClosedResourceError: this reader is closed.
        """
        if not self._is_open:
            raise anyio.ClosedResourceError
        try:
            await anyio.wait_readable(self._descriptor)
        except (PermissionError, ValueError):
            # A regular file is always readable, and the selector says so by refusing it.
            await anyio.lowlevel.checkpoint()
        try:
            chunk = os.read(self._descriptor, max_bytes)
        except OSError:
            # A terminal that hung up answers EIO: for us that is an end like any other.
            chunk = b""
        if not chunk:
            raise anyio.EndOfStream
        return chunk

    async def aclose(self) -> None:
        """Close the descriptor; who waits for it learns so."""
        if self._is_open:
            self._is_open = False
            anyio.notify_closing(self._descriptor)
            os.close(self._descriptor)


class DescriptorWriter(ByteSendStream):
    """Writes a file descriptor of any kind without blocking the loop, and owns it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_open = True
        self._rest = memoryview(b"")
        self._was_blocking = os.get_blocking(descriptor)
        os.set_blocking(descriptor, False)

    async def send(self, item: bytes) -> None:
        """Write all of `item`; what a cancelled call has left over goes out before the next item.

        Raises:
            anyio.BrokenResourceError: nobody reads any more.
            anyio.ClosedResourceError: this writer is closed.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()
        self._rest = memoryview(b"".join((self._rest, item)) if self._rest else item)
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


def open_stdio() -> LineTransport:
    """Return this process's stdin and stdout as a transport.

    From then on `print` and child processes write to stderr, and children read nothing: only frames
    may stand on stdout.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return LineTransport(DescriptorReader(incoming), DescriptorWriter(outgoing))
