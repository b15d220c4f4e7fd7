"""The directory in which each running proxy has its private socket.

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
MAX_NAME_CHARS: Final = 32
"""Characters of a proxy's name in the name of its socket, whose path has to be short."""


class SocketDirectoryError(AcpError):
    """The directory for sockets cannot be used; the message says why."""


def socket_directory() -> Path:
    """Return the directory for sockets, which only its user may enter; create it if it is missing.

    Raises:
        SocketDirectoryError: it cannot be created, or others have access to it.
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
        raise SocketDirectoryError(f"{path} cannot be created: {problem.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise SocketDirectoryError(f"{path} is not a directory")
    if found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o077:
        raise SocketDirectoryError(f"{path} is open to others; only its user may have access")
    return path


def socket_name(name: str, pid: int) -> str:
    """Return the name of the socket of the proxy `name` with that process id."""
    letters = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:MAX_NAME_CHARS] or "agent"
    return f"{letters}-{pid}{SUFFIX}"


def sockets() -> list[Path]:
    """Return the sockets in the directory, whether or not their proxies still run, by name."""
    return sorted(socket_directory().glob(f"*{SUFFIX}"))
