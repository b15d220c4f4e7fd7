"""Copies to the machine's clipboard, or through the terminal if there is none."""

from __future__ import annotations

from collections.abc import Callable

import pyperclip


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
