"""What is outside the console: the user's own editor, the clipboard, notices of the desktop."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

import pyperclip
from textual.app import SuspendNotSupported
from textual.widget import Widget

from acp_console.tui.textual_fixes import suspended
from acp_protocol.host.sanitize import escape_controls, single_line

NoticeForm: TypeAlias = Literal["osc9", "osc777"]
"""The escape sequence that a terminal takes for a notice of the desktop."""
_BY_PROGRAM: Final[Mapping[str, NoticeForm]] = {
    "iTerm.app": "osc9",
    "WezTerm": "osc777",
    "ghostty": "osc777",
}
"""By TERM_PROGRAM."""
_BY_TERM: Final[Mapping[str, NoticeForm]] = {
    "xterm-kitty": "osc9",
    "xterm-ghostty": "osc777",
    "foot": "osc777",
    "foot-extra": "osc777",
    "rxvt-unicode-256color": "osc777",
    "rxvt-unicode": "osc777",
}
"""By TERM, which is also known over SSH."""
NOTICE: Final = 120
"""Characters of a notice, at most."""


def edit(screen: Widget, path: Path) -> bool:
    """Open a file in $VISUAL or $EDITOR, and wait for its end; return whether that worked."""
    line = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        with suspended(screen):
            subprocess.run([*shlex.split(line), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError, SuspendNotSupported) as why:
        text = escape_controls(f"{line} did not work: {why}")
        screen.notify(text, severity="error", markup=False)
        return False
    return True


def copy(text: str, ask_terminal: Callable[[str], None]) -> str:
    """Copy `text`; return a description of the way, for the user.

    `ask_terminal` asks the terminal itself to copy (OSC 52), which also works over SSH.
    """
    try:
        pyperclip.copy(text)
    except pyperclip.PyperclipException:
        ask_terminal(text)
        return "through the terminal (OSC 52)"
    return "to the clipboard"


def notice_form(
    setting: NoticeForm | Literal["auto", "off"], environment: Mapping[str, str]
) -> NoticeForm | None:
    """Return how this terminal takes notices; None: not at all, or not known to.

    Inside tmux and screen, which take them for themselves, "auto" is None.
    """
    if setting != "auto":
        return None if setting == "off" else setting
    if environment.get("TMUX") or environment.get("STY"):
        return None
    by_program = _BY_PROGRAM.get(environment.get("TERM_PROGRAM", ""))
    return by_program or _BY_TERM.get(environment.get("TERM", ""))


def notice_sequence(form: NoticeForm, text: str) -> str:
    """Return the escape sequence for a notice; nothing in the text ends it or begins another."""
    # A semicolon separates fields, and some terminals take a leading number for a command.
    shown = single_line(text, NOTICE).replace(";", ",")
    return (
        f"\x1b]9;acp-console: {shown}\a"
        if form == "osc9"
        else (f"\x1b]777;notify;acp-console;{shown}\a")
    )
