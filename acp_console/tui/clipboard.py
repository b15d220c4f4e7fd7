"""Copying: to the machine's clipboard, or through the terminal where there is none."""

from __future__ import annotations

from typing import Protocol

import pyperclip


class TerminalClipboard(Protocol):
    """Whatever can ask the terminal to copy (OSC 52)."""

    def copy_to_clipboard(self, text: str) -> None:
        """Ask the terminal."""
        ...


def copy(text: str, terminal: TerminalClipboard) -> str:
    """Copy `text`; return in words by which way."""
    try:
        pyperclip.copy(text)
    except pyperclip.PyperclipException:
        terminal.copy_to_clipboard(text)
        return "through the terminal (OSC 52)"
    return "to the clipboard"
