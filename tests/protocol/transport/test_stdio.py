"""This process's own stdin and stdout as a transport, in a real process."""

from __future__ import annotations

import os
import subprocess
import sys

import anyio
import pytest

from acp_protocol.transport.stdio import DescriptorReader

AGENT = """
import os, subprocess, sys, anyio
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.transport.stdio import open_stdio

async def main():
    transport = open_stdio()
    print("a stray print")
    subprocess.run([sys.executable, "-c", "print('a stray child', repr(input()) if 0 else '')"])
    try:
        while True:
            await transport.send(b"got " + await transport.receive())
    except ConnectionClosedError:
        await transport.aclose()

anyio.run(main)
"""


def test_only_frames_stand_on_stdout() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AGENT],
        input=b"one\ntwo",
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == b"got one\ngot two\n"
    assert b"a stray print" in done.stderr
    assert b"a stray child" in done.stderr


async def test_what_nobody_asks_for_stays_in_the_pipe_and_stops_its_writer() -> None:
    """Reading ahead is bounded, so that backpressure reaches the sender."""
    incoming, outgoing = os.pipe()
    reader = DescriptorReader(incoming)
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
