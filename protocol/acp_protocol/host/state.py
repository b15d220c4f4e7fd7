"""Where our programs keep what they need between runs, and the variables that say so.

Source: XDG Base Directory Specification, `XDG_STATE_HOME`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

APP_NAME: Final = "acp-console"
"""The name of the user's directories."""
AGENT_PREFIX: Final = "ACP_AGENT_"
"""How the variables begin that configure our agent."""
AGENT_HOME: Final = f"{AGENT_PREFIX}HOME"
"""A directory in which our agent keeps its configuration and keys instead of in the user's."""


def state_directory() -> Path:
    """Return the user's directory for state, whether it exists or not.

    Raises:
        RuntimeError: the user has no home.
    """
    home = os.environ.get("XDG_STATE_HOME", "")
    # The specification requires to ignore relative paths.
    base = Path(home) if home.startswith("/") else Path.home() / ".local" / "state"
    return base / APP_NAME
