"""Whether and how a terminal shows images, before the screens begin."""

from __future__ import annotations

import os
import termios
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread

import pytest

from acp_console.tui.images.terminal import (
    Graphics,
    ImageSettingError,
    environment_setting,
    find_graphics,
    graphics_by,
    kept_setting,
    may_show_images,
)

KITTY = b"\x1bP>|kitty(0.41.1)\x1b\\\x1b[6;18;9t\x1b[?62;52;c"
XTERM = b"\x1bP>|XTerm(379)\x1b\\\x1b[6;13;6t\x1b[?1;0;16S\x1b[?63;1;2;4;6c"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, True),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, False),
        ({"TERM": "screen.xterm-256color", "STY": "1.x", "WT_SESSION": "a"}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({}, False),
    ],
)  # fmt: skip
def test_only_a_terminal_that_may_show_images_is_queried(
    environment: Mapping[str, str], expected: bool
) -> None:
    assert may_show_images(environment) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (KITTY, Graphics("kitty", (9, 18))),
        (b"\x1bP>|ghostty 1.1.0\x1b\\\x1b[?62;22c", Graphics("kitty")),
        (b"\x1bP>|kitty(0.26.5)\x1b\\\x1b[?62;c", None),
        (b"\x1bP>|kitty(" + b"9" * 5000 + b".1)\x1b\\\x1b[?62;c", None),
        (XTERM, Graphics("sixel", (6, 13), 16)),
        (b"\x1b[?62;4;22c", Graphics("sixel")),
        (b"\x1b[?4;22c", None),
        (b"\x1b[6;9999;0t\x1b[?62;4c", Graphics("sixel")),
        (b"\x1bP>|kitty(0.41.1)\x1b\\", None),
        (b"qwerty", None),
    ],
)
def test_the_answers_of_the_terminal_decide(answers: bytes, expected: Graphics | None) -> None:
    assert graphics_by(answers) == expected


def test_the_setting_and_the_environment_decide_first() -> None:
    kitty = {"TERM": "xterm-kitty"}
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        no_terminal = {"input_fd": nothing.fileno(), "output_fd": nothing.fileno()}
        assert find_graphics("off", kitty, **no_terminal) is None
        assert find_graphics("kitty", {**kitty, "NO_COLOR": ""}, **no_terminal) is None
        assert find_graphics("sixel", {"TMUX": "x"}, **no_terminal) == Graphics("sixel")
        assert find_graphics("auto", {"TERM": "xterm"}, **no_terminal) is None
        assert find_graphics("auto", kitty, **no_terminal) is None


def test_the_terminal_is_queried_once_and_left_as_it_was() -> None:
    terminal, program = os.openpty()
    before = termios.tcgetattr(program)
    asked = Event()

    def answer() -> None:
        got = b""
        while not got.endswith(b"\x1b[c"):
            got += os.read(terminal, 100)
        asked.set()
        os.write(terminal, KITTY + b"x")

    thread = Thread(target=answer, daemon=True)
    thread.start()
    try:
        found = find_graphics(
            "auto", {"TERM": "xterm-kitty"}, input_fd=program, output_fd=program, timeout_s=30
        )
        assert found == Graphics("kitty", (9, 18))
        assert asked.is_set()
        assert termios.tcgetattr(program) == before
    finally:
        thread.join()
        os.close(program)
        os.close(terminal)


def test_keys_that_were_typed_before_the_screens_are_left_to_them() -> None:
    terminal, program = os.openpty()
    try:
        os.write(terminal, b"hello\n")
        at = {"input_fd": program, "output_fd": program}
        assert find_graphics("auto", {"TERM": "xterm-kitty"}, **at) is None
        assert os.read(program, 100) == b"hello\n"
    finally:
        os.close(program)
        os.close(terminal)


def test_the_environment_may_have_a_setting_and_none_that_there_is_not() -> None:
    assert environment_setting({}) is None
    assert environment_setting({"ACP_CONSOLE_IMAGES": "sixel"}) == "sixel"
    with pytest.raises(ImageSettingError, match="choose from auto, off, kitty, sixel, not 'on'"):
        environment_setting({"ACP_CONSOLE_IMAGES": "on"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[display]\nimages = "sixel"\n', "sixel"),
        ('[display]\nimages = "loud"\n', "auto"),
        ("display = 1 # images\n", "auto"),
        ("[display\nimages", "auto"),
        ("", "auto"),
    ],
)
def test_the_setting_is_read_before_the_rest_of_the_configuration(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "config.toml"
    assert kept_setting(path) == "auto"
    path.write_text(text)
    assert kept_setting(path) == expected
