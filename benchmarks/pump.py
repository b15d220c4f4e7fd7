"""The floor of every proxy in Python: `pump.py -- COMMAND…` reads and writes, nothing else.

A program of its own, started by its path; it must import nothing that the proxy could do without.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

CHUNK = 1 << 16


def move(source: int, sink: int) -> None:
    """Move bytes from `source` to `sink` until either ends, then close both."""
    try:
        while chunk := os.read(source, CHUNK):
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(sink, rest) :]
    except OSError:
        pass
    os.close(source)
    os.close(sink)


def main() -> int:
    """Run the command with our stdin and stdout as its own; return its exit code."""
    command = sys.argv[sys.argv.index("--") + 1 :]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert child.stdin is not None
    assert child.stdout is not None
    upwards = (0, os.dup(child.stdin.fileno()))
    child.stdin.close()
    threading.Thread(target=move, args=upwards, daemon=True).start()
    move(os.dup(child.stdout.fileno()), 1)
    return child.wait()


if __name__ == "__main__":
    # Not sys.exit: the thread may stand in a read of a stdin that stays open.
    os._exit(main())
