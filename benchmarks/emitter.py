"""An agent that only talks: `emitter.py SIZE COUNT` prints COUNT messages of SIZE bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

BLOCK = 1 << 16
"""Bytes in one write, about; an agent that writes each message alone would measure itself."""
FIGURES = 8
"""Bytes of the text in which one message differs from the next."""


def main() -> None:
    """Write the messages to stdout in blocks; a message that is larger than one, piece by piece."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from benchmarks.peer import envelope

    size, count = int(sys.argv[1]), int(sys.argv[2])
    start, end = envelope()
    fill = size - len(start) - len(end) - FIGURES
    if size > BLOCK:
        for number in range(count):
            write(start + b"%0*d" % (FIGURES, number))
            for at in range(0, fill, BLOCK):
                write(b"x" * min(BLOCK, fill - at))
            write(end)
        return
    per_block = max(1, BLOCK // size)
    lines = [start + b"%0*d" % (FIGURES, n) + b"x" * fill + end for n in range(per_block)]
    block = b"".join(lines)
    for _ in range(count // per_block):
        write(block)
    write(b"".join(lines[: count % per_block]))


def write(data: bytes) -> None:
    """Write all of `data` to stdout."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()
