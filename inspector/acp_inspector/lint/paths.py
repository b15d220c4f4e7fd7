"""Paths of machines that this one knows nothing of: what can be said of them from their spelling.

Source: ACP, "Overview": all paths in the protocol are absolute.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\[^\\/]+[\\/]|//[^/]")


def is_absolute(path: object) -> bool:
    r"""Tell whether a path is absolute, as POSIX or Windows spells it: `/a`, `C:\a`, `\\host\a`."""
    return isinstance(path, str) and (path.startswith("/") or _WINDOWS.match(path) is not None)


def normalized(path: str) -> str:
    """Return a path in the one spelling by which two can be compared."""
    if _WINDOWS.match(path):
        path = path.replace("\\", "/").casefold()
    return posixpath.normpath(path) if path else path


def may_be_same(one: str, another: str) -> bool:
    """Tell whether two absolute paths may name the same directory.

    They may when one is the end of the other (`/tmp/a` is `/private/tmp/a` where `/tmp` is a link),
    and when only the case differs. Other links cannot be told from their spelling.
    """
    first, second = normalized(one).casefold(), normalized(another).casefold()
    return first == second or first.endswith(second) or second.endswith(first)


def is_inside(path: str, directory: str) -> bool:
    """Tell whether a path lies somewhere below a directory."""
    top = normalized(directory)
    return normalized(path).startswith(top if top.endswith("/") else top + "/")
