"""Looking for text in the files of a session: by ripgrep where it is there, else by ourselves.

Both look at what is on the disk, pass over hidden files, what git ignores and what is no text, and
answer alike.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from time import monotonic
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
    fenced,
)
from acp_agent.tools.subject import path_subject
from acp_agent.tools.walk import FILE_LIMIT, files_below, matcher
from acp_agent.workspace import Workspace
from acp_protocol.host.sandbox import FileRefusedError
from acp_protocol.host.sanitize import single_line
from acp_protocol.safe_regex import PatternError, compile_pattern

LINE_TIMEOUT_S: Final = 1.0
"""Seconds that one line may take."""
SEARCHED_CHARS: Final = 2**20
"""Characters of a line that are looked at."""


def finder(pattern: str, *, is_regex: bool, is_exact: bool) -> Callable[[str, float], bool]:
    """Return a predicate: whether a line holds `pattern`, in at most so many seconds.

    Raises:
        ToolFailedError: the pattern is no regular expression, or one that is too large. Whoever is
            returned raises TimeoutError.
    """
    if not is_regex:
        # Imported where somebody searches: the agent starts without it.
        import regex

        pattern = regex.escape(pattern)
    try:
        found = compile_pattern(pattern, ignore_case=not is_exact)
    except PatternError as problem:
        raise ToolFailedError(f"the pattern is no regular expression: {problem}") from None

    def holds(line: str, seconds: float) -> bool:
        # Concurrent: otherwise other tasks and cancellation would have to wait.
        timeout = min(seconds, LINE_TIMEOUT_S)
        return found.search(line[:SEARCHED_CHARS], timeout=timeout, concurrent=True) is not None

    return holds


HIT_LIMIT: Final = 100
"""Lines that are found before the search stops."""
LINE_WIDTH: Final = 200
"""Characters of a found line that are shown."""
NAME_WIDTH: Final = 1000
"""Characters of a file's name that are shown."""
PATTERN_LIMIT: Final = 1000
"""Characters of what is looked for."""
TIME_LIMIT: Final = 30.0
"""Seconds that one search may take."""
TITLE_WIDTH: Final = 80
"""Characters of what is looked for that the title shows."""


class SearchArguments(Arguments):
    pattern: Text = Field(description="The text to look for.")
    path: Text = Field(
        ".",
        description="A file or directory, relative to the session's directory; without it, all.",
    )
    files: Text | None = Field(
        None, description="Which files to look into, as in `*.py` or `src/**/*.c`."
    )
    is_regex: bool = Field(False, description="Whether the text is a regular expression.")
    is_exact: bool = Field(False, description="Whether the case counts.")


@tool(
    "search",
    "search",
    "Return the lines that hold a text, in any case, of the files below a place, as "
    "`file:line: text`. What is hidden is left out.",
    SearchArguments,
)
async def search_tool(given: SearchArguments, workspace: Workspace) -> PreparedCall:
    """Return the lines that hold a text, or that a regular expression fits."""
    pattern = given.pattern
    if not pattern or "\n" in pattern or "\0" in pattern or len(pattern) > PATTERN_LIMIT:
        raise ToolFailedError("there is nothing to look for: the pattern is no line of text")
    path = workspace.path(given.path)
    place = await workspace.resolve(path)
    wanted = _Wanted(
        place,
        await anyio.to_thread.run_sync(_is_directory, place),
        pattern,
        given.is_regex,
        given.is_exact,
        matcher(given.files) if given.files is not None else lambda _: True,
        workspace.result_filter("search", path),
    )

    async def run(report: ReportContent) -> Outcome:
        del report
        if ripgrep.is_installed():
            hits, limit = await _with_ripgrep(wanted, workspace)
        else:
            hits, limit = await anyio.to_thread.run_sync(_found, wanted, workspace)
        lines = [*hits, f"… stopped after {limit}"] if limit else hits
        text = "\n".join(lines) or "nothing found"
        return Outcome(text, fenced(text), {"hits": len(hits)})

    title = f"Search {single_line(pattern, TITLE_WIDTH)}"
    subjects = [path_subject(workspace.cwd, path)]
    return PreparedCall(title, "search", run, [{"path": path}], subjects=subjects)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is looked for, and in which files."""

    place: Path
    is_directory: bool
    pattern: str
    is_regex: bool
    is_exact: bool
    has_name: Callable[[str], bool]
    may_show: Callable[[Path], bool]

    def has(self, path: Path) -> bool:
        """Return whether a file is to be looked into."""
        name = str(path.relative_to(self.place)) if path != self.place else path.name
        return self.has_name(name) and self.may_show(path)


def _is_directory(place: Path) -> bool:
    """Refuse what is neither a directory nor a file: a pipe would be waited for."""
    if place.is_dir():
        return True
    if not place.is_file():
        raise ToolFailedError(f"{place}: it is no regular file")
    return False


async def _with_ripgrep(wanted: _Wanted, workspace: Workspace) -> tuple[list[str], str | None]:
    arguments = ["--no-heading", "--with-filename", "--line-number", "--null", "--max-columns=1000"]
    arguments += ["--max-columns-preview", "--max-filesize=16M"]
    arguments += [] if wanted.is_regex else ["--fixed-strings"]
    arguments += [] if wanted.is_exact else ["--ignore-case"]
    arguments += ["-e", wanted.pattern]
    named: list[_Named] = []
    last = ""

    def is_wanted(parts: Sequence[str]) -> bool:
        """Keep a hit. Decided here, so that a pattern means the same as without ripgrep."""
        nonlocal last
        last = name = _unwarned(parts[0], last)
        number, colon, text = parts[1].partition(":")
        path = Path(name)
        is_hit = path.is_relative_to(wanted.place) and bool(colon) and number.isdecimal()
        if not is_hit or not wanted.has(path):
            return False
        named.append(_Named(path, int(number), text))
        return True

    _, is_all = await ripgrep.run_ripgrep(
        arguments,
        wanted.place,
        cwd=workspace.cwd,
        ends=[b"\0", b"\n"],
        limit=HIT_LIMIT,
        is_wanted=is_wanted,
    )
    hits = await anyio.to_thread.run_sync(_confirmed, wanted, workspace, named)
    return hits[:HIT_LIMIT], None if is_all else f"{HIT_LIMIT} hits"


@dataclass(frozen=True, slots=True)
class _Named:
    """A hit that ripgrep reports."""

    path: Path
    line: int
    text: str


def _confirmed(wanted: _Wanted, workspace: Workspace, named: Iterable[_Named]) -> list[str]:
    """Return the hits that stand in a file inside; runs in a thread.

    Ripgrep follows what is put in a directory's place while it looks, and then reports what is
    outside. So each line is read anew in a way that cannot lead out.
    """
    hits: list[str] = []
    for path, group in groupby(named, key=lambda each: each.path):
        anyio.from_thread.check_cancelled()
        if not wanted.may_show(path):
            continue
        try:
            lines = _decoded(workspace.bytes_on_disk(path)).split("\n")
        except FileRefusedError:
            continue
        for each in group:
            line = lines[each.line - 1] if 0 < each.line <= len(lines) else ""
            # It cuts long lines, and says so behind them.
            if line.startswith(each.text[:LINE_WIDTH]):
                hits.append(_hit(workspace, path, each.line, line))
    return hits


def _decoded(content: bytes) -> str:
    """Return text as ripgrep reads it; bytes that are no text become surrogates."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace")
    return os.fsdecode(content.removeprefix(codecs.BOM_UTF8))


def _unwarned(name: str, last: str) -> str:
    """Return `name` without what ripgrep says before it of the file that it named last."""
    warning = f"{last}: WARNING: stopped searching binary file after match ("
    return name.removeprefix(warning).partition(")\n")[2] if name.startswith(warning) else name


def _found(wanted: _Wanted, workspace: Workspace) -> tuple[list[str], str | None]:
    """Return the hits and the limit that was met, if any; runs in a thread.

    Raises:
        FileRefusedError: the place may not or cannot be looked into.
    """
    fits = finder(wanted.pattern, is_regex=wanted.is_regex, is_exact=wanted.is_exact)
    paths = files_below(workspace, wanted.place) if wanted.is_directory else iter([wanted.place])
    hits: list[str] = []
    until = monotonic() + TIME_LIMIT
    for count, path in enumerate(paths):
        if count == FILE_LIMIT:
            return hits, f"{FILE_LIMIT} files"
        anyio.from_thread.check_cancelled()
        if not wanted.has(path):
            continue
        try:
            text = workspace.text_on_disk(path)
        except FileRefusedError:
            if path == wanted.place:
                raise
            continue
        try:
            for number, line in _fitting(text, fits, until):
                if len(hits) == HIT_LIMIT:
                    return hits, f"{HIT_LIMIT} hits"
                hits.append(_hit(workspace, path, number, line))
        except TimeoutError:
            is_late = monotonic() >= until
            on_line = f"{LINE_TIMEOUT_S:g} s on one line, which the pattern is too slow for"
            return hits, f"{TIME_LIMIT:g} s" if is_late else on_line
    return hits, None


def _fitting(
    text: str, fits: Callable[[str, float], bool], until: float
) -> Iterator[tuple[int, str]]:
    """Yield the lines that fit, with their numbers.

    Raises:
        TimeoutError: the time is up, for all or for one line.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        anyio.from_thread.check_cancelled()
        left = until - monotonic()
        if left <= 0:
            raise TimeoutError
        if fits(line, left):
            yield number, line


def _hit(workspace: Workspace, path: Path, number: int, line: str) -> str:
    name = single_line(workspace.display_path(path), NAME_WIDTH)
    # Bytes that are not text became surrogates, which cannot be sent.
    text = line.strip()[:LINE_WIDTH].encode(errors="replace").decode()
    return f"{name}:{number}: {'⏎'.join(text.splitlines())}"
