"""The bar of commands that take long: on a terminal, below what they print, gone at the end."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from acp_console.cli.progress import Progress, ShownBar
from acp_inspector.recording.compression import DecompressedFile
from acp_inspector.recording.random_access import IndexedRecording
from tests.console.cli.conftest import on_terminal
from tests.console.conftest import Call

HELLO = Path(__file__).parents[3] / "recordings/hello.acp.ndjson"
LIMIT_S = 10.0
EOF = "\x04"


class Screen(io.StringIO):
    """A terminal that reports what it waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.expected = ""
        self.has_come = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        written = super().write(text)
        if self.expected and self.expected in self.getvalue():
            self.has_come.set()
        return written

    def wait_for(self, text: str, act: Callable[[], object] = lambda: None) -> None:
        """Wait until `act`, or what happened before, has shown a text."""
        self.has_come.clear()
        self.expected = text
        act()
        assert text in self.getvalue() or self.has_come.wait(LIMIT_S)

    def lines(self) -> list[str]:
        """Return what one sees: what is erased is gone."""
        plain = re.sub(r"\x1b\[\d+m|\x1b\[[\d;]*m", "", self.getvalue())
        return [line.rpartition("\r\x1b[2K")[2] for line in plain.split("\n")]


def new_screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Put both outputs onto one screen, which pytest would take back before the test."""
    found = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setattr(sys, "stderr", found)
    return found


def test_the_bar_stands_below_the_output_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = new_screen(monkeypatch)
    progress = Progress()
    progress.count(4, "cases")
    with ShownBar(progress, delay=0, interval=0.001):
        screen.wait_for("0 of 4 cases")
        progress.advance()
        screen.wait_for(" 25 % ")
        sys.stdout.writelines(["res", "ult\n"])
        screen.wait_for("2 of 4 cases", progress.advance)
        assert screen.lines()[0] == "result"
        assert "2 of 4 cases" in screen.lines()[1]
        # It would be drawn into the line.
        sys.stdout.write("begun")
        progress.advance()
        sys.stdout.write(" and ended\n")
        screen.wait_for("3 of 4 cases")
    assert screen.lines() == ["result", "begun and ended", ""]
    assert sys.stdout is screen


def test_what_ends_soon_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = new_screen(monkeypatch)
    progress = Progress()
    progress.count(2, "cases")
    with ShownBar(progress, delay=LIMIT_S):
        sys.stdout.write("result\n")
    assert screen.getvalue() == "result\n"


def test_files_know_how_far_they_are_read(tmp_path: Path) -> None:
    copy = tmp_path / "copy.acp.ndjson"
    copy.write_bytes(HELLO.read_bytes() * 2)
    progress = Progress()
    shown: list[tuple[str, float]] = []
    for path in progress.over([HELLO, copy], "recordings"):
        for _ in range(2):
            with DecompressedFile(path) as file:
                progress.open(file)
                while file.file.read(1000):
                    pass
                shown.append((progress.label, progress.fraction))
    assert shown == [
        ("1 of 2 recordings · hello.acp.ndjson", 0.5),
        ("1 of 2 recordings · hello.acp.ndjson · pass 2", 0.5),
        ("2 of 2 recordings · copy.acp.ndjson", 1.0),
        ("2 of 2 recordings · copy.acp.ndjson · pass 2", 1.0),
    ]


def test_an_index_knows_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[DecompressedFile] = []
    monkeypatch.setattr(DecompressedFile, "on_open", opened.append)
    with IndexedRecording(HELLO) as recording:
        begun = opened[0].fraction_read
        recording.index_all()
        assert begun < opened[0].fraction_read == 1.0


def test_a_command_shows_it_on_a_terminal_alone(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recording is typed once the bar says that it is read."""
    monkeypatch.setenv("TERM", "xterm")
    header, *frames = HELLO.read_text().splitlines()
    typed = "".join(f"{line}\n" for line in [header, *frames[:2]] if len(line) < 4096)
    done = on_terminal("lint", "/dev/stdin", prompt="stdin", reply=f"{typed}{4 * EOF}")
    assert re.search(r"stdin .*\d+ % 0:0", done.out)
    assert done.code == 0
    assert "/dev/stdin: 0 errors" in done.out.rpartition("\x1b[2K")[2]
    assert call("lint", str(HELLO)).err == ""
