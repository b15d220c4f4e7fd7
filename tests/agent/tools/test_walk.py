"""The order in which files are met, and which are."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread

from acp_agent.tools.walk import files_below


async def below(place: Path) -> list[str]:
    paths = await anyio.to_thread.run_sync(lambda: list(files_below(place)))
    return [os.path.relpath(path, place) for path in paths]


async def test_files_come_by_their_names_and_links_are_not_followed(cwd: Path) -> None:
    (cwd / "link").symlink_to(cwd.parent)
    (cwd / ".git").mkdir()
    (cwd / ".git" / "config").touch()
    (cwd / "tall").mkdir()
    assert await below(cwd) == ["link", "notes.md", "src/main.py"]


async def test_a_file_is_below_itself(cwd: Path) -> None:
    assert await below(cwd / "notes.md") == ["."]
