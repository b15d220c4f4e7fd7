"""The directory and the file of the user's configuration.

Every start looks for the file, so this module imports little of the standard library and nothing
else. The current directory is never searched: a project belongs to somebody else, and what it
brings must not run.

Source: XDG Base Directory Specification, `XDG_CONFIG_HOME`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from acp_protocol.host.state import AGENT_HOME, APP_NAME

CONFIG_NAMES: Final = ("acp-agent.toml", "acp-agent.yaml")
CONFIG_VARIABLE: Final = "ACP_AGENT_CONFIG"


class ConfigPathError(ValueError):
    """The configuration file cannot be determined; the message says why."""


def config_directory(environment: Mapping[str, str]) -> Path:
    """Return the user's directory for configuration, whether it exists or not.

    That is the directory that `ACP_AGENT_HOME` names, if it is set: the agent then has nothing of
    the user's.

    Raises:
        ConfigPathError: the user has no home.
    """
    own = environment.get(AGENT_HOME, "")
    if os.path.isabs(own):  # noqa: PTH117 - may be no valid path
        return Path(own)
    configured = environment.get("XDG_CONFIG_HOME", "")
    # The specification ignores relative paths: they would lead into the project.
    is_absolute = os.path.isabs(configured)  # noqa: PTH117 - may be no valid path
    return (Path(configured) if is_absolute else _expanded(Path("~/.config"))) / APP_NAME


def config_file(named: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Return the file to read: `named`, or the one in the environment, or the user's own.

    Raises:
        ConfigPathError: the user has two, or the path begins with an unknown home.
    """
    in_environment = environment.get(CONFIG_VARIABLE, "")
    if named is not None or in_environment:
        return _expanded(named or Path(in_environment))
    try:
        folder = config_directory(environment)
    except ConfigPathError:
        return None
    # os.path.isfile is False if the directory cannot be read, so the agent starts all the same.
    found = [folder / name for name in CONFIG_NAMES if os.path.isfile(folder / name)]  # noqa: PTH113
    if len(found) > 1:
        raise ConfigPathError(f"{found[0]} and {found[1]} both exist; remove one of them")
    return found[0] if found else None


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigPathError(f"{path}: there is no such home directory") from None
