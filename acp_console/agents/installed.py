"""Finds the version of an installed program without starting it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

MAX_LEVELS: Final = 6
"""Directories above a program in which its package is looked for."""
MAX_MANIFEST_BYTES: Final = 2**20


def installed_version(program: str, packages: Collection[str] = ()) -> str | None:
    """Return the version of the package that a program belongs to; None if it is not known.

    `packages` are the names that a package of npm may have; none allows any.
    """
    real = Path(os.path.realpath(program))
    for folder in real.parents[:MAX_LEVELS]:
        if version := _npm_version(folder / "package.json", packages):
            return version
    # Python installs a program in `bin`, beside `lib`.
    starts = re.compile(rf"^{re.escape(real.name)}\s*=", re.MULTILINE)
    for scripts in real.parent.parent.glob(
        "lib/python3*/site-packages/*.dist-info/entry_points.txt"
    ):
        with suppress(OSError):
            if starts.search(scripts.read_text("utf-8", errors="replace")):
                return scripts.parent.name.removesuffix(".dist-info").rpartition("-")[2]
    return None


def _npm_version(manifest: Path, packages: Collection[str]) -> str | None:
    try:
        with manifest.open("rb") as file:
            about: Any = json.loads(file.read(MAX_MANIFEST_BYTES))
        name, version = about["name"], about["version"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    is_right = isinstance(version, str) and (not packages or name in packages)
    return version if is_right else None
