"""Only the forwarders write to the wire."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, subprocess, sys
from acp_inspector.proxy.process import take_stdio
source, sink = take_stdio()
print("a hook")
sys.stdout.flush()
subprocess.run(["echo", "what it started"])
assert sys.stdin.read() == ""
os.write(sink, os.read(source, 100))
"""


def test_only_the_forwarder_writes_to_the_client() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=b"a frame", capture_output=True, check=True
    )
    assert done.stdout == b"a frame"
    assert done.stderr == b"a hook\nwhat it started\n"
