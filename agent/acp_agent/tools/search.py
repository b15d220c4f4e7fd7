"""Looking for a word in the files of a session."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import anyio.from_thread
import anyio.to_thread

from acp_agent.models.model import ToolOffer
from acp_agent.tools.subject import path_subject
from acp_agent.tools.tool import (
    Call,
    Kind,
    Outcome,
    Report,
    ToolFailedError,
    argument,
    fenced,
    parameters,
    text_parameter,
)
from acp_agent.workspace import Workspace
from acp_protocol.host.files import FileRefusedError, Roots
from acp_protocol.jsonrpc import Json

HIT_LIMIT: Final = 100
"""Lines that are found before the search stops."""
FILE_LIMIT: Final = 10_000
"""Files that are looked into."""
LINE_LIMIT: Final = 200
"""Characters of a found line that are shown."""


class SearchTool:
    """Returns the lines that hold a word in any case; hidden directories are left out."""

    offer = ToolOffer(
        "search",
        "Return the lines that hold a text, in any case, of the files below a place.",
        parameters(
            {"pattern": text_parameter("The text to look for.")},
            {
                "path": text_parameter(
                    "A file or directory, relative to the session's directory; without it, all."
                )
            },
        ),
    )
    kind: Kind = "search"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Name the text and the place."""
        pattern = argument(arguments, "pattern")
        if not pattern:
            raise ToolFailedError("there is nothing to look for")
        name = argument({"path": "."} | dict(arguments), "path")
        place = workspace.path(name)
        if not Path(place).is_relative_to(workspace.cwd):
            raise ToolFailedError(f"{name} lies outside the directory of this session")

        async def run(report: Report) -> Outcome:
            del report
            hits, limit = await anyio.to_thread.run_sync(_found, pattern, workspace.cwd, place)
            lines = [*hits, f"… stopped after {limit}"] if limit else hits
            text = "\n".join(lines) or "nothing found"
            return Outcome(text, fenced(text), {"hits": len(hits)})

        return Call(
            f"Search {pattern}",
            self.kind,
            run,
            [{"path": place}],
            subjects=[path_subject(workspace.cwd, place)],
        )


def _found(pattern: str, cwd: Path, place: str) -> tuple[list[str], str | None]:
    """Return `file:line: text` for each hit by file name, and the limit that was met, if any.

    Runs in a thread, and looks between two files whether it is still wanted.
    """
    hits: list[str] = []
    wanted = pattern.casefold()
    roots = Roots([cwd])
    for count, path in enumerate(_files(place)):
        if count == FILE_LIMIT:
            return hits, f"{FILE_LIMIT} files"
        anyio.from_thread.check_cancelled()
        try:
            text = roots.read_text(str(path))
        except FileRefusedError as problem:
            if path == Path(place):
                raise ToolFailedError(str(problem)) from None
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if wanted in line.casefold():
                if len(hits) == HIT_LIMIT:
                    return hits, f"{HIT_LIMIT} hits"
                hits.append(f"{path.relative_to(cwd)}:{number}: {line.strip()[:LINE_LIMIT]}")
    return hits, None


def _files(place: str) -> Iterator[Path]:
    if not Path(place).is_dir():
        yield Path(place)
        return
    for directory, subdirectories, names in os.walk(place):
        subdirectories[:] = sorted(name for name in subdirectories if not name.startswith("."))
        for name in sorted(names):
            yield Path(directory, name)
