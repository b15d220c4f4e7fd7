"""Listing directories, and finding files by their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import anyio.from_thread
import anyio.to_thread
from pydantic import Field

from acp_agent.tools import ripgrep
from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    ToolFailedError,
    call_title,
    fenced,
)
from acp_agent.tools.subject import path_subject
from acp_agent.tools.walk import files_below, matcher
from acp_agent.workspace import Workspace
from acp_protocol.errors import describe_os_error
from acp_protocol.host.sanitize import single_line

ENTRY_LIMIT: Final = 1000
"""Entries of a directory that are listed."""
NAME_LIMIT: Final = 200
"""Files that are found before the search stops."""
MAX_FILES: Final = 100_000
"""Files whose names are looked at."""
WIDTH: Final = 1000
"""Characters of a name that are shown."""


class ListArguments(Arguments):
    path: Text = Field(
        ".", description="A directory, relative to the session's directory; without it, that."
    )


class FindArguments(ListArguments):
    pattern: Text = Field(description="The pattern.")


@tool(
    "list",
    "read",
    "Return what is in a directory, hidden or not: one name a line, `/` behind a directory, "
    "`@` behind a link, and behind a file how many bytes it has.",
    ListArguments,
)
async def list_tool(wanted: ListArguments, workspace: Workspace) -> PreparedCall:
    """Return what is in a directory."""
    path = workspace.path(wanted.path)

    async def run(report: ReportContent) -> Outcome:
        del report
        names = await anyio.to_thread.run_sync(_listed, workspace, path)
        more = len(names) - ENTRY_LIMIT
        lines = [*names[:ENTRY_LIMIT], f"… {more} more"] if more > 0 else names
        text = "\n".join(lines) or "the directory is empty"
        return Outcome(text, fenced(text), {"entries": len(names)})

    subjects = [path_subject(workspace.cwd, path)]
    title = call_title("List", wanted.path)
    return PreparedCall(title, "read", run, [{"path": path}], subjects=subjects)


@tool(
    "find",
    "search",
    "Return the files below a directory whose names fit a pattern such as `*.py`, or whose "
    "paths do, as in `src/**/test_*.py`. What is hidden is left out.",
    FindArguments,
)
async def find_tool(wanted: FindArguments, workspace: Workspace) -> PreparedCall:
    """Return the files whose names fit a pattern."""
    fits = matcher(wanted.pattern)
    path = workspace.path(wanted.path)
    place = await workspace.directory(path)

    async def run(report: ReportContent) -> Outcome:
        del report
        paths, is_all = await _files(workspace, place)
        may_show = workspace.result_filter("search", path)
        fitting = (each for each in paths if fits(str(each.relative_to(place))) and may_show(each))
        found = await anyio.to_thread.run_sync(_taken, workspace, fitting)
        lines = [single_line(workspace.display_path(each), WIDTH) for each in found[:NAME_LIMIT]]
        hits = len(lines)
        if len(found) > NAME_LIMIT:
            lines.append(f"… stopped after {NAME_LIMIT} names")
        elif not is_all:
            lines.append(f"… stopped after {MAX_FILES} files")
        text = "\n".join(lines) or "nothing found"
        return Outcome(text, fenced(text), {"hits": hits})

    subjects = [path_subject(workspace.cwd, path)]
    title = call_title("Find", wanted.pattern)
    return PreparedCall(title, "search", run, [{"path": path}], subjects=subjects)


def _listed(workspace: Workspace, path: str) -> list[str]:
    """Return the entries of a directory by name; runs in a thread."""
    place = Path(path)
    may_show = workspace.result_filter("read", path)
    try:
        with workspace.open_directory(place) as directory, os.scandir(directory) as entries:
            return [
                _entry(entry)
                for entry in sorted(entries, key=lambda each: each.name)
                if may_show(place / entry.name)
            ]
    except OSError as problem:
        raise ToolFailedError(f"{place}: {describe_os_error(problem)}") from None


def _entry(entry: os.DirEntry[str]) -> str:
    name = single_line(entry.name, WIDTH)
    if entry.is_symlink():
        return f"{name}@"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    try:
        return f"{name}  {entry.stat(follow_symlinks=False).st_size}"
    except OSError:
        return name


async def _files(workspace: Workspace, place: Path) -> tuple[list[Path], bool]:
    """Return the files below `place`, and whether these are all."""
    if ripgrep.is_installed():
        names, is_all = await ripgrep.run_ripgrep(
            ["--files", "--null"], place, cwd=place, ends=[b"\0"], limit=MAX_FILES
        )
        return [Path(name) for (name,) in names], is_all

    def walk() -> list[Path]:
        return list(islice(files_below(workspace, place), MAX_FILES + 1))

    paths = await anyio.to_thread.run_sync(walk)
    return paths[:MAX_FILES], len(paths) <= MAX_FILES


def _taken(workspace: Workspace, fitting: Iterator[Path]) -> list[Path]:
    """Return the first of those that fit, and one more than are shown; runs in a thread."""
    found: list[Path] = []
    for path in fitting:
        anyio.from_thread.check_cancelled()
        # Ripgrep follows what is put in a directory's place while it looks.
        if not workspace.has_file(path):
            continue
        found.append(path)
        if len(found) > NAME_LIMIT:
            break
    return found
