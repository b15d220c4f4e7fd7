"""Runs a command and says how much memory it took at most: `peak.py FILE -- COMMAND…`.

A program of its own, because a system tells the peak only of those that have ended, and because a
child counts what its parent held when it was started: this holds hardly anything.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> int:
    """Run the command with our stdin and stdout; write its peak in bytes to the file."""
    path, command = Path(sys.argv[1]), sys.argv[sys.argv.index("--") + 1 :]
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    path.write_text(str(peak))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
