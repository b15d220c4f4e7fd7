"""The order in which files are met, and which are."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread
import pytest

from acp_agent.tools import walk
from acp_agent.tools.walk import files_below
from acp_agent.world.workspace import Workspace
from acp_protocol.host.sandbox import FileRefusedError


async def below(place: Path, **depth: int) -> list[str]:
    workspace = Workspace("s", place)
    paths = await anyio.to_thread.run_sync(lambda: list(files_below(workspace, place, **depth)))
    return [os.path.relpath(path, place) for path in paths]


async def test_files_come_by_their_names_and_links_are_passed_over(cwd: Path) -> None:
    (cwd / "link").symlink_to(cwd.parent)
    (cwd / ".git").mkdir()
    (cwd / ".git" / "config").touch()
    (cwd / "tall").mkdir()
    assert await below(cwd) == ["notes.md", "src/main.py"]


async def test_what_is_no_directory_has_no_files_below_it(cwd: Path) -> None:
    with pytest.raises(FileRefusedError):
        await below(cwd / "notes.md")


async def test_a_directory_that_is_swapped_for_a_link_is_passed_over(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = walk._entries

    def look_and_swap(directory: int) -> list[tuple[str, bool]]:
        found = entries(directory)
        if ("src", True) in found:
            (cwd / "src").rename(cwd / "away")
            (cwd / "src").symlink_to("..")
        return found

    monkeypatch.setattr(walk, "_entries", look_and_swap)
    assert await below(cwd) == ["notes.md"]


async def test_what_lies_too_deep_is_passed_over_and_no_descriptor_stays_open(
    cwd: Path,
) -> None:
    (cwd / "src" / "deep").mkdir()
    (cwd / "src" / "deep" / "x").touch()
    before = sorted(Path("/dev/fd").iterdir())
    assert await below(cwd, max_depth=1) == ["notes.md", "src/main.py"]
    assert sorted(Path("/dev/fd").iterdir()) == before
