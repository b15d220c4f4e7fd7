"""A terminal that records what a program draws and never makes it wait."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

COLUMNS: Final = 200
ROWS: Final = 50
SCREEN_BYTES: Final = 4_000
"""A program that has written this many bytes has drawn a screen, not only set up its terminal."""
POLL_S: Final = 0.002
"""How often a wait looks; what it returns is the time at which the bytes were read."""


class Terminal:
    """Runs a program in a pty of 200 x 50 cells; its own thread reads all that the program writes.

    It responds to no query of the program, like a terminal without extensions.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the program."""
        ours, theirs = pty.openpty()
        self._size(ours, COLUMNS)
        self.started = time.monotonic()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.login_tty(theirs)
                os.execvpe(command[0], list(command), dict(environment))
            finally:
                os._exit(127)
        os.close(theirs)
        self._fd = ours
        self._drawn = bytearray()
        self._offsets: list[int] = []
        self._times: list[float] = []
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        """Return the terminal; its program is killed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the program if it still runs."""
        if not self._has_ended:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self._reader.join(1)
        os.close(self._fd)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 1 << 20)
            except OSError:
                return
            if not data:
                return
            now = time.monotonic()
            self._drawn += data
            # Times first: who finds an offset finds its time.
            self._times.append(now)
            self._offsets.append(len(self._drawn))

    @staticmethod
    def _size(fd: int, columns: int) -> None:
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))

    def resize(self, columns: int) -> None:
        """Give the terminal another width; the system signals the program."""
        self._size(self._fd, columns)

    def press(self, keys: str) -> None:
        """Send keys."""
        os.write(self._fd, keys.encode())

    @property
    def position(self) -> int:
        """How many bytes the program has written."""
        return self._offsets[-1] if self._offsets else 0

    def at(self, position: int, limit: float) -> float | None:
        """Return when the program had written `position` bytes; None after `limit` seconds."""
        until = time.monotonic() + limit
        while self.position < position:
            if time.monotonic() > until:
                return None
            time.sleep(POLL_S)
        return self._times[bisect_left(self._offsets, position)]

    def seen(self, marker: str, limit: float, begin: int = 0) -> float | None:
        """Return when the marker was drawn first after `begin`; None after `limit` seconds."""
        wanted = marker.encode()
        until = time.monotonic() + limit
        while True:
            end = self.position
            found = self._drawn.find(wanted, begin, end)
            if found >= 0:
                return self.at(found + len(wanted), limit)
            if time.monotonic() > until:
                return None
            begin = max(begin, end - len(wanted))
            time.sleep(POLL_S)

    def cpu_seconds(self) -> float:
        """Return the processor time of the program so far, without its children."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Return the most memory that the program has held so far."""
        for status in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if status.startswith("VmHWM:"):
                return int(status.split()[1]) * 1024
        return 0

    def terminate(self, limit: float) -> float | None:
        """Send SIGTERM; return how long the program took to end, None after `limit` seconds."""
        os.kill(self.pid, signal.SIGTERM)
        return self.ended(limit)

    def ended(self, limit: float) -> float | None:
        """Return how long the program takes to end from now; None after `limit` seconds."""
        begin = time.monotonic()
        while time.monotonic() < begin + limit:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                self._has_ended = True
                return time.monotonic() - begin
            time.sleep(POLL_S)
        return None
