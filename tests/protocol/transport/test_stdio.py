"""This process's own stdin and stdout as a transport, in a real process."""

from __future__ import annotations

import subprocess
import sys

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
