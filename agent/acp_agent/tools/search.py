"""Looking for text in the files of a session.

Ripgrep, where it is installed, names the files that hold the text; the lines are found here, so the
results are the same without it.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Final

import anyio.from_thread
import anyio.to_thread
import regex
from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    Tool,
    ToolFailedError,
    fenced,
)
from acp_agent.tools.walk import DEFAULT_LIMITS, SearchLimits, list_files, matcher
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import path_subject
from acp_protocol.host.sandbox import FileRefusedError
from acp_protocol.host.sanitize import single_line
from acp_protocol.safe_regex import PatternError, compile_pattern

SEARCHED_CHARS: Final = 2**20
"""Characters of a line that are looked at."""
HIT_LIMIT: Final = 100
"""Lines that are found before the search stops."""
LINE_WIDTH: Final = 200
"""Characters of a found line that are shown."""
NAME_WIDTH: Final = 1000
"""Characters of a file's name that are shown."""
PATTERN_LIMIT: Final = 1000
"""Characters of what is looked for."""
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


def search_tool(limits: SearchLimits = DEFAULT_LIMITS) -> Tool:
    """Return the tool that finds the lines that hold a text."""

    @tool(
        "search",
        "search",
        "Return the lines that hold a text, in any case, of the files below a place, as "
        "`file:line: text`. What is hidden is left out.",
        SearchArguments,
    )
    async def search(wanted: SearchArguments, workspace: Workspace) -> PreparedCall:
        path = workspace.path(wanted.path)
        job = _Search(wanted, workspace, await workspace.resolve(path), limits)

        async def run(_: ReportContent) -> Outcome:
            may_show = workspace.result_filter("search", path)
            paths, is_all = await job.candidates(may_show)
            hits, limit = await anyio.to_thread.run_sync(job.hits, paths, may_show)
            if limit is None and not is_all:
                limit = f"{limits.max_files} files"
            lines = [*hits, f"… stopped after {limit}"] if limit else hits
            text = "\n".join(lines) or "nothing found"
            return Outcome(text, fenced(text), {"hits": len(hits)})

        title = f"Search {single_line(wanted.pattern, TITLE_WIDTH)}"
        subjects = [path_subject(workspace.cwd, path)]
        return PreparedCall(title, "search", run, [{"path": path}], subjects=subjects)

    return search


class _Search:
    """One search for a text in `place`, a directory or a file."""

    def __init__(
        self, wanted: SearchArguments, workspace: Workspace, place: Path, limits: SearchLimits
    ) -> None:
        pattern = wanted.pattern
        if not pattern or "\n" in pattern or "\0" in pattern or len(pattern) > PATTERN_LIMIT:
            raise ToolFailedError("there is nothing to look for: the pattern is not a line of text")
        self._options = ["--files-with-matches", "--max-filesize=16M", "-e", pattern]
        self._options += [] if wanted.is_regex else ["--fixed-strings"]
        self._options += [] if wanted.is_exact else ["--ignore-case"]
        self._holds = line_matcher(
            pattern,
            is_regex=wanted.is_regex,
            is_exact=wanted.is_exact,
            timeout_s=limits.line_timeout_s,
        )
        self._has_name = matcher("*" if wanted.files is None else wanted.files)
        self._workspace = workspace
        self._place = place
        self._limits = limits

    async def candidates(self, may_show: Callable[[Path], bool]) -> tuple[list[Path], bool]:
        """Return the files that may hold the text, and whether these are all."""

        def is_wanted(path: Path) -> bool:
            name = path.name if path == self._place else str(path.relative_to(self._place))
            return self._has_name(name) and may_show(path)

        if not await anyio.to_thread.run_sync(self._place.is_dir):
            return [self._place] if is_wanted(self._place) else [], True
        return await list_files(
            self._workspace,
            self._place,
            self._limits,
            is_wanted=is_wanted,
            ripgrep_options=self._options,
            enough=HIT_LIMIT + 1,
        )

    def hits(
        self, paths: list[Path], may_show: Callable[[Path], bool]
    ) -> tuple[list[str], str | None]:
        """Return the hits in `paths` and the limit that was met, if any; for use in a thread.

        Raises:
            FileRefusedError: the one file to look into may not or cannot be read.
        """
        hits: list[str] = []
        until = monotonic() + self._limits.timeout_s
        for path in paths:
            anyio.from_thread.check_cancelled()
            # Once more: a link may have taken its place.
            if not may_show(path):
                continue
            try:
                text = _decoded(self._workspace.disk.read_bytes(str(path)))
            except FileRefusedError:
                if path == self._place:
                    raise
                continue
            try:
                for number, line in self._fitting(text, until):
                    if len(hits) == HIT_LIMIT:
                        return hits, f"{HIT_LIMIT} hits"
                    hits.append(_hit(self._workspace.display_path(path), number, line))
            except TimeoutError:
                if monotonic() >= until:
                    return hits, f"{self._limits.timeout_s:g} s"
                seconds = self._limits.line_timeout_s
                return hits, f"{seconds:g} s on one line, which the pattern is too slow for"
        return hits, None

    def _fitting(self, text: str, until: float) -> Iterator[tuple[int, str]]:
        """Yield the lines that fit, with their numbers.

        Raises:
            TimeoutError: the time is up, for all or for one line.
        """
        for number, line in enumerate(text.split("\n"), start=1):
            anyio.from_thread.check_cancelled()
            left = until - monotonic()
            if left <= 0:
                raise TimeoutError
            if self._holds(line, left):
                yield number, line


def line_matcher(
    pattern: str, *, is_regex: bool, is_exact: bool, timeout_s: float
) -> Callable[[str, float], bool]:
    """Return a predicate: whether a line holds `pattern`, in at most so many seconds.

    It raises TimeoutError if it takes longer, or longer than `timeout_s`.

    Raises:
        ToolFailedError: the pattern is not a regular expression, or one that is too large.
    """
    if not is_regex:
        pattern = regex.escape(pattern)
    try:
        found = compile_pattern(pattern, ignore_case=not is_exact)
    except PatternError as problem:
        raise ToolFailedError(f"the pattern is not a regular expression: {problem}") from None

    def holds(line: str, seconds: float) -> bool:
        # Concurrent: otherwise other tasks and cancellation would have to wait.
        timeout = min(seconds, timeout_s)
        return found.search(line[:SEARCHED_CHARS], timeout=timeout, concurrent=True) is not None

    return holds


def _decoded(content: bytes) -> str:
    """Return text as ripgrep reads it: up to a NUL; bytes that are no text become surrogates."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", errors="replace")
    else:
        text = os.fsdecode(content.removeprefix(codecs.BOM_UTF8))
    return text.partition("\0")[0]


def _hit(name: str, number: int, line: str) -> str:
    # Bytes that are not text became surrogates, which cannot be sent.
    text = line.strip()[:LINE_WIDTH].encode(errors="replace").decode()
    return f"{single_line(name, NAME_WIDTH)}:{number}: {'⏎'.join(text.splitlines())}"
