"""Where the configuration lies, if there is one.

Looked for at every start: only the standard library is imported, and little of it. None is looked
for in the current directory: projects are other people's, and what they bring runs nothing.

Source: XDG Base Directory Specification, `XDG_CONFIG_HOME`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FOLDER: Final = "acp-console"
NAMES: Final = ("acp-agent.toml", "acp-agent.yaml")
VARIABLE: Final = "ACP_AGENT_CONFIG"
PREFIX: Final = "ACP_AGENT_"
"""Begins the names of all variables that set something."""


class PlaceError(ValueError):
    """It cannot be said which file is meant; the message says why."""


def config_directory(environment: Mapping[str, str]) -> Path:
    """Return the user's directory for configuration, whether it exists or not.

    Raises:
        PlaceError: the user has no home.
    """
    home = environment.get("XDG_CONFIG_HOME", "")
    # By the specification, a relative one counts as not set: it would mean the project's.
    is_told = os.path.isabs(home)  # noqa: PTH117 - of what may be no path at all
    return (Path(home) if is_told else _at_home(Path("~/.config"))) / FOLDER


def config_file(named: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Return the file to read: the one `named`, else the environment's, else the user's own.

    Raises:
        PlaceError: the user has two, or the one that is named is in nobody's home.
    """
    told = environment.get(VARIABLE, "")
    if named is not None or told:
        return _at_home(named or Path(told))
    try:
        folder = config_directory(environment)
    except PlaceError:
        return None
    # What cannot be looked at is not there: the agent is to start all the same.
    found = [folder / name for name in NAMES if os.path.isfile(folder / name)]  # noqa: PTH113
    if len(found) > 1:
        raise PlaceError(f"{found[0]} and {found[1]} both exist; one of them has to go")
    return found[0] if found else None


def _at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise PlaceError(f"{path} cannot be found: there is no such home") from None
