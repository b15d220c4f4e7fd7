"""File descriptors as streams of bytes; real pipes."""

from __future__ import annotations

import os

import anyio
import anyio.lowlevel
import pytest

from acp_protocol.host.fd_streams import FdReceiveStream


async def test_bytes_that_are_not_received_stay_in_the_pipe_and_stop_the_writer() -> None:
    """Reading ahead is bounded, so that backpressure reaches the sender."""
    incoming, outgoing = os.pipe()
    reader = FdReceiveStream(incoming)
    os.set_blocking(outgoing, False)
    written = 0
    with anyio.fail_after(10):
        os.write(outgoing, b"x")
        assert await reader.receive() == b"x"
        while True:
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
            try:
                written += os.write(outgoing, bytes(65536))
            except BlockingIOError:
                break
        assert written <= 65536 * 20
        os.close(outgoing)
        read = 0
        with pytest.raises(anyio.EndOfStream):
            while True:
                read += len(await reader.receive())
    assert read == written
    await reader.aclose()
