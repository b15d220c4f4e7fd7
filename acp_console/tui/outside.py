"""The user's own editor, in the terminal of the console."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

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
