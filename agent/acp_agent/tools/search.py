"""Looking for a word in the files of a session."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import anyio.to_thread

from acp_agent.tools.tool import Call, Outcome, Report, ToolFailedError, argument, fenced
from acp_agent.workspace import Workspace
from acp_protocol.host.files import FileRefusedError, Roots
from acp_protocol.jsonrpc import Json

HIT_LIMIT: Final = 100
"""Lines that are found before the search stops."""
FILE_LIMIT: Final = 10_000
"""Files that are looked into."""


class SearchTool:
    """Returns the lines that hold a word in any case; hidden directories are left out."""

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Name the word and the place."""
        pattern = argument(arguments, "pattern")
        name = argument(arguments, "path")
        place = workspace.path(name)
        if not Path(place).is_relative_to(workspace.cwd):
            raise ToolFailedError(f"{name} lies outside the directory of this session")

        async def run(report: Report) -> Outcome:
            del report
            hits = await anyio.to_thread.run_sync(
                lambda: _found(pattern, workspace.cwd, place), abandon_on_cancel=True
            )
            text = "\n".join(hits)
            return Outcome(text, [fenced(text or "nothing found")], {"hits": len(hits)})

        return Call(f"Search {pattern}", "search", run, [{"path": place}])


def _found(pattern: str, cwd: Path, place: str) -> list[str]:
    """Return `file:line: text` for each hit, in the order of the file names."""
    hits: list[str] = []
    wanted = pattern.casefold()
    roots = Roots([cwd])
    for path in _files(place):
        try:
            text = roots.read_text(str(path))
        except FileRefusedError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if wanted in line.casefold():
                hits.append(f"{path.relative_to(cwd)}:{number}: {line.strip()}")
                if len(hits) == HIT_LIMIT:
                    return hits
    return hits


def _files(place: str) -> Iterator[Path]:
    if Path(place).is_file():
        yield Path(place)
        return
    count = 0
    for directory, subdirectories, names in os.walk(place):
        subdirectories[:] = sorted(name for name in subdirectories if not name.startswith("."))
        for name in sorted(names):
            yield Path(directory, name)
            count += 1
            if count == FILE_LIMIT:
                return
