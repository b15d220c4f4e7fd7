"""An agent that only talks: `emitter.py SIZE COUNT` prints COUNT messages of SIZE bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

BLOCK = 1 << 16
"""Bytes in one write, about; an agent that writes each message alone would measure itself."""


def main() -> None:
    """Write the messages to stdout in blocks."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from benchmarks.peer import message

    size, count = int(sys.argv[1]), int(sys.argv[2])
    line = message(size)
    per_block = max(1, BLOCK // size)
    while count:
        lines = min(per_block, count)
        rest = memoryview(line * lines)
        while rest:
            rest = rest[os.write(1, rest) :]
        count -= lines


if __name__ == "__main__":
    main()
