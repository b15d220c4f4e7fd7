"""The configuration of the user, and how the console writes files that are private.

Source: XDG Base Directory Specification.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from acp_protocol.errors import AcpError
from acp_protocol.host.regular_files import check_replaceable, replacing
from acp_protocol.host.state import state_directory
from acp_protocol.user_files.paths import config_directory

CONFIG_NAME: Final = "config.toml"
PRIVATE_DIRECTORY: Final = 0o700


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the console's configuration file, whether it exists or not.

    Raises:
        ConfigPathError: the user has no home.
    """
    return config_directory(environment) / CONFIG_NAME


def choices_path() -> Path:
    """Return the file with what the user chose for each agent, whether it exists or not."""
    return state_directory() / "agents.json"


class FileWriteError(AcpError):
    """A file cannot be written; the message says why."""


def write_private(path: Path, text: str, *, is_followed: bool = True) -> None:
    """Replace the content of a file, all of it or nothing; only its user may read a new one.

    Without `is_followed`, which is for files beside a recording, links are refused.

    Raises:
        FileWriteError: it cannot be written.
    """
    try:
        if is_followed:
            # Configuration is often a link to a collection of such files.
            path = path.resolve()
        check_replaceable(path)
        path.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text.encode(errors="replace"))
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileWriteError(f"{path}: cannot be written: {reason}") from None
