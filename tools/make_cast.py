"""Make the cast of the docs anew: `python -m tools.make_cast`.

The program itself runs in a terminal of its own and is driven by keys. What it draws is written as
an asciinema file, version 2. Long pauses are shortened, so that a slow machine makes no slow cast.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Final

TARGET: Final = Path(__file__).parent.parent / "docs" / "pictures" / "console.cast"
COLUMNS: Final = 100
ROWS: Final = 28
LIMIT_S: Final = 30.0
"""Seconds that a text may take to appear."""
MAX_PAUSE_S: Final = 2.4
"""Seconds that nothing changes in the cast."""
KEY_S: Final = 0.06
"""Seconds between two keys of a text."""
HOME: Final = "/home/ada/project"
UP: Final = "\x1b[A"
PAGE_DOWN: Final = "\x1b[6~"
TRAFFIC: Final = "\x14"
QUIT: Final = "\x11"
STEPS: Final[list[tuple[str, float, str | list[str]]]] = [
    ("Demo agent", 2.0, ["\r"]),
    ("ready", 1.5, "read notes.md then edit notes.md: milk => bread\r"),
    ("PgDn", 1.6, [PAGE_DOWN]),
    ("Press a number", 2.2, ["1"]),
    ("ready", 2.0, [TRAFFIC]),
    ("session/prompt", 2.2, [UP]),
    ("session", 1.2, [UP]),
    ("session", 2.2, [TRAFFIC]),
    ("ready", 2.2, []),
]
"""What is waited for, how long it is shown, and the keys that are pressed then."""


_STYLE: Final = re.compile(r"\x1b\[([\d;]*)m")
_COLOUR: Final = re.compile(r"(38|48);2;(\d+;\d+;\d+)")
_MOVES: Final = re.compile(r"(?:[\r\n]|\x1b\[[\d;]*[HABCD])*")
_CONTROL: Final = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")
_UNFINISHED: Final = re.compile(r"\x1b[^a-zA-Z]*$")


class StyleWriter:
    """Shortens what a program draws: a colour is written only where text has another one."""

    def __init__(self) -> None:
        self._wanted = self._written = ("", "", "")
        """Attributes, foreground and background."""
        self._rest = ""

    def shorten(self, text: str) -> str:
        """Return the part of `text` that is complete, with what was left over before."""
        text = self._rest + text
        cut = _UNFINISHED.search(text)
        self._rest = "" if cut is None else cut[0]
        found: list[str] = []
        for place, part in enumerate(_STYLE.split(text.removesuffix(self._rest))):
            if place % 2:
                self._wanted = self._style(part)
            elif _MOVES.fullmatch(part):
                found.append(part)
            else:
                found += [self._change(is_blank=not part.strip(" ")), part]
        return "".join(found)

    def _style(self, part: str) -> tuple[str, str, str]:
        if part in ("", "0"):
            return ("", "", "")
        colours = dict(_COLOUR.findall(part))
        attributes = _COLOUR.sub("", part).strip(";")
        before = self._wanted
        return (
            ";".join(filter(None, (before[0], attributes))),
            colours.get("38", before[1]),
            colours.get("48", before[2]),
        )

    def _change(self, *, is_blank: bool) -> str:
        wanted = self._wanted
        if is_blank and not wanted[0] and not self._written[0]:
            # A blank has no foreground.
            wanted = (wanted[0], self._written[1], wanted[2])
        names = ("", "38;2;", "48;2;")
        parts = [
            f"{name}{new}"
            for name, new, old in zip(names, wanted, self._written, strict=True)
            if new and new != old
        ]
        if any(old and not new for new, old in zip(wanted, self._written, strict=True)) or (
            wanted[0] != self._written[0]
        ):
            parts = ["0", *(f"{name}{new}" for name, new in zip(names, wanted, strict=True) if new)]
        self._written = wanted
        return f"\x1b[{';'.join(parts)}m" if parts else ""


class Terminal:
    """A terminal with the program in it; it keeps what the program writes, with its times."""

    def __init__(self, cwd: Path, home: Path) -> None:
        self.events: list[tuple[float, str]] = []
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        names = ("CONFIG", "STATE", "DATA", "CACHE", "RUNTIME")
        folders = {f"XDG_{n}_{'DIR' if n == 'RUNTIME' else 'HOME'}": str(home / n) for n in names}
        environment = {
            "HOME": str(home),
            "PATH": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "TEXTUAL_ANIMATIONS": "none",
            "TEXTUAL_FPS": "6",
            **folders,
        }
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            os.execve(sys.executable, [sys.executable, "-m", "acp_console"], environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, seconds: float) -> bool:
        """Keep what comes within `seconds`; return whether the program still runs."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._fd], [], [], left)[0]:
                break
            try:
                text = self._decoder.decode(os.read(self._fd, 65536))
            except OSError:
                return False
            self.events.append((time.monotonic(), text))
            self._text += text
        return True

    def wait_for(self, text: str) -> None:
        """Read until `text` is drawn after the last keys."""
        end = time.monotonic() + LIMIT_S
        while text not in _CONTROL.sub("", self._text):
            if time.monotonic() > end or not self.read(0.05):
                raise TimeoutError(text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        self._text = ""
        for key in keys:
            os.write(self._fd, key.encode())
            self.read(KEY_S)

    def close(self) -> None:
        """Quit the program, and wait for its end."""
        os.write(self._fd, QUIT.encode())
        while self.read(1.0):
            pass
        os.waitpid(self._pid, 0)


def make(cwd: Path, home: Path) -> str:
    """Return the cast of a chat with the demo agent, which works in `cwd`."""
    terminal = Terminal(cwd, home)
    for text, seconds, keys in STEPS:
        terminal.wait_for(text)
        terminal.read(seconds)
        terminal.press(*keys)
    events = list(terminal.events)
    terminal.close()
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "acp-console"}
    lines = [json.dumps(header)]
    before, now = events[0][0], 0.0
    writer = StyleWriter()
    for at, drawn in events:
        now += min(at - before, MAX_PAUSE_S)
        before = at
        text = writer.shorten(drawn)
        lines.append(json.dumps([round(now, 3), "o", text], ensure_ascii=False))
    return "\n".join(lines) + "\n"


def main() -> int:
    """Make the cast in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="acp-", dir="/tmp") as directory:
        home = Path(directory).resolve()
        cwd = home / "shop"
        cwd.mkdir()
        (cwd / "notes.md").write_text("# Notes\n\nBuy milk.\nTODO: call Ada.\n")
        # Nothing of this machine is in the cast; names of one length keep the columns.
        TARGET.write_text(make(cwd, home).replace(str(home), HOME))
    sys.stdout.write(f"wrote {TARGET.parent.name}/{TARGET.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
