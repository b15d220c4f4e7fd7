"""Where running proxies can be found: one private socket for each, in a directory of the user.

Source: XDG Base Directory Specification, `XDG_RUNTIME_DIR`.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Final

from acp_protocol.errors import AcpError

SUFFIX: Final = ".sock"
NAME_LENGTH: Final = 32
"""Letters of a proxy's name that stand in the name of its socket, which has to be short."""


class RuntimeDirectoryError(AcpError):
    """The directory for sockets cannot be used; the message says why."""


def runtime_directory() -> Path:
    """Return the directory for sockets, which only its user may enter; make it if it is missing.

    Raises:
        RuntimeDirectoryError: it cannot be made, or somebody else could look into it.
    """
    home = os.environ.get("XDG_RUNTIME_DIR")
    user = os.getuid()
    path = (
        Path(home) / "acp-console" if home else Path(tempfile.gettempdir(), f"acp-console-{user}")
    )
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as problem:
        raise RuntimeDirectoryError(f"{path} cannot be made: {problem.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise RuntimeDirectoryError(f"{path} is no directory")
    if found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o077:
        raise RuntimeDirectoryError(f"{path} is open to others; only its user may have access")
    return path


def socket_name(name: str, pid: int) -> str:
    """Return the name of the socket of the proxy `name` with that process id."""
    letters = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:NAME_LENGTH] or "agent"
    return f"{letters}-{pid}{SUFFIX}"


def sockets() -> list[Path]:
    """Return the sockets that lie there, whether somebody listens or not, by name."""
    return sorted(runtime_directory().glob(f"*{SUFFIX}"))
