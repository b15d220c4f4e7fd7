"""A disk that is full, and can be given room again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.processes import LIMIT

KILOBYTES = 64
"""Size of the disk."""
ROOM = 24
"""Kilobytes of it that are free at first."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A small file system that only some processes see, and gone when these are."""

    folder: Path
    kept: Path
    """A place outside of it."""

    @property
    def recording(self) -> Path:
        return self.folder / "it.acp.ndjson"

    @property
    def ballast(self) -> Path:
        """What fills the disk; once it is cut there is room."""
        return self.folder / "ballast"

    def seen_by(self, command: Sequence[str]) -> list[str]:
        """Return `command` in a place where `folder` is the disk."""
        script = (
            f'mount -t tmpfs -o size={KILOBYTES}k tmpfs "$0" && '
            f'head -c {(KILOBYTES - ROOM) * 1024} /dev/zero >"$0/ballast" && exec "$@"; exit 99'
        )
        spaces = ["unshare", "--user", "--map-root-user", "--mount"]
        return [*spaces, "sh", "-c", script, str(self.folder), *command]


def small_disk(place: Path) -> Disk:
    """Return a disk, or skip if this user may not mount one."""
    disk = Disk(place / "small", place / "kept")
    disk.folder.mkdir()
    can_mount = (
        shutil.which("unshare")
        and not subprocess.run(
            disk.seen_by(["true"]), capture_output=True, timeout=LIMIT, check=False
        ).returncode
    )
    if not can_mount:
        assert os.environ.get("CI") != "true"
        pytest.skip("this machine lets this user mount no small file system")
    return disk
