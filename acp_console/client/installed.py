"""Finds the version of an installed program without starting it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

MAX_LEVELS: Final = 6
"""Directories above a program in which its package is looked for."""
MAX_MANIFEST_BYTES: Final = 2**20


def installed_version(program: str, packages: Collection[str] = ()) -> str | None:
    """Return the version of the package that a program belongs to; None if it is not known.

    `packages` are the names that the package may have; none allows any package of npm.
    """
    real = Path(os.path.realpath(program))
    for folder in real.parents[:MAX_LEVELS]:
        if version := _npm_version(folder / "package.json", packages):
            return version
    for name in packages:
        # The program is in `bin`, beside `lib`.
        pattern = f"lib/python3*/site-packages/{name.replace('-', '_')}-*.dist-info"
        for found in real.parent.parent.glob(pattern):
            return found.name.removesuffix(".dist-info").rpartition("-")[2]
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
