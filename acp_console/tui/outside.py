"""What is outside the console: the user's own editor, and the clipboard."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyperclip
from textual.app import SuspendNotSupported
from textual.widget import Widget

from acp_protocol.host.sanitize import escape_controls


def edit(screen: Widget, path: Path) -> bool:
    """Open a file in $VISUAL or $EDITOR, and wait for its end; return whether that worked."""
    line = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        with screen.app.suspend():
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
