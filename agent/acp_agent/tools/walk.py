"""Which files below a directory are looked into: by .gitignore, and by patterns of names.

Hidden files and links are passed over, as ripgrep does it. A link that takes a directory's place
meanwhile is not followed: each directory is opened from the one above it. For use in a
thread, which stops between two directories if it is cancelled.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio.from_thread
import regex
from pathspec import GitIgnoreSpec
from wcmatch import glob

from acp_agent.tools.call import ToolFailedError
from acp_agent.workspace import Workspace
from acp_protocol.host.sandbox import FileRefusedError

FILE_LIMIT: Final = 10_000
"""Files that are looked at."""
DEPTH_LIMIT: Final = 100
"""Nested directories that are looked into: each of them is held open meanwhile."""
IGNORE_LIMIT: Final = 2**20
"""Bytes that are read of one .gitignore."""
PATTERN_LIMIT: Final = 200
"""Characters of one pattern of names."""
MATCH_TIMEOUT_S: Final = 0.5
"""Seconds that one name is compared; a pattern of many stars could take for ever."""
_IGNORE: Final = ".gitignore"
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_GLOB: Final = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a predicate: whether a path fits `pattern`.

    Without `/` the name alone has to fit, wherever the file is; with it the whole path, relative to
    the directory that is searched. `*` and `?` do not cross a `/`, `**` does; `{a,b}` is either.

    Raises:
        ToolFailedError: the pattern is malformed, or takes too long.
    """
    refused = ToolFailedError(f"{pattern[:PATTERN_LIMIT]!r} is no pattern of names")
    if not pattern or len(pattern) > PATTERN_LIMIT or pattern.count("{") != pattern.count("}"):
        raise refused
    flags = _GLOB if "/" in pattern else _GLOB | glob.MATCHBASE
    try:
        wanted, _ = glob.translate(pattern.removeprefix("./").removeprefix("/"), flags=flags)
        compiled = [regex.compile(each) for each in wanted]
    except Exception:  # noqa: BLE001 - wcmatch's error for too many alternatives has no public name
        raise refused from None

    def fits(path: str) -> bool:
        try:
            return any(each.fullmatch(path, timeout=MATCH_TIMEOUT_S) for each in compiled)
        except TimeoutError:
            raise ToolFailedError(f"the pattern {pattern!r} takes too long") from None

    return fits


def files_below(workspace: Workspace, place: Path) -> Iterator[Path]:
    """Yield the files below the directory `place` in the order of their paths.

    In a git repository, what its .gitignore files name is left out, as ripgrep does it.

    Raises:
        FileRefusedError: `place` is outside of the session's directories, or is no directory.
    """
    is_repository = any((each / ".git").exists() for each in (place, *place.parents))
    with workspace.open_directory(place) as directory:
        ignored = _ignored_above(workspace, place) if is_repository else None
        yield from _below(directory, place, DEPTH_LIMIT, ignored)


@dataclass(frozen=True, slots=True)
class _Ignore:
    """One .gitignore."""

    directory: Path
    spec: GitIgnoreSpec


def _ignored_above(workspace: Workspace, place: Path) -> tuple[_Ignore, ...]:
    """Return the .gitignore files above `place` in its repository, as far as they are readable.

    None if they ignore `place` itself: then it is searched because it was asked for.
    """
    found: list[_Ignore] = []
    for directory in (place, *place.parents):
        if directory != place:
            found += _ignore_in(workspace, directory)
        if (directory / ".git").exists():
            break
    above = tuple(reversed(found))
    return () if _is_ignored(above, place, is_directory=True) else above


def _ignore_in(workspace: Workspace, directory: Path) -> list[_Ignore]:
    try:
        text = workspace.text_on_disk(directory / _IGNORE)
    except FileRefusedError:
        return []
    return [_Ignore(directory, GitIgnoreSpec.from_lines(text.splitlines()))]


def _is_ignored(ignored: Sequence[_Ignore], path: Path, *, is_directory: bool) -> bool:
    """Return whether git ignores `path`; the innermost .gitignore that names it decides."""
    for each in reversed(ignored):
        name = path.relative_to(each.directory).as_posix() + ("/" if is_directory else "")
        decision = each.spec.check_file(name).include
        if decision is not None:
            return decision
    return False


def _below(
    directory: int, place: Path, depth: int, ignored: tuple[_Ignore, ...] | None
) -> Iterator[Path]:
    """Yield the files in the directory that is open as `directory`, and those below it.

    `ignored` holds the .gitignore files above, the innermost last; None outside of a repository.
    """
    if ignored is not None and (text := _ignore_text(directory)):
        ignored += (_Ignore(place, GitIgnoreSpec.from_lines(text.splitlines())),)
    for name, is_directory in _entries(directory):
        path = place / name
        if ignored and _is_ignored(ignored, path, is_directory=is_directory):
            continue
        if not is_directory:
            yield path
            continue
        if depth == 0:
            continue
        try:
            inner = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=directory)
        except OSError:
            continue
        with ExitStack() as stack:
            stack.callback(os.close, inner)
            yield from _below(inner, path, depth - 1, ignored)


def _ignore_text(directory: int) -> str:
    """Return the .gitignore in a directory; empty if there is none, or no regular file."""
    try:
        file = os.open(_IGNORE, _OPEN, dir_fd=directory)
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(file).st_mode)
        return os.fsdecode(os.read(file, IGNORE_LIMIT)) if is_file else ""
    except OSError:
        return ""
    finally:
        os.close(file)


def _entries(directory: int) -> list[tuple[str, bool]]:
    """Return the visible files and directories, by name, each with whether it is a directory.

    None of a directory that cannot be read.
    """
    anyio.from_thread.check_cancelled()
    try:
        with os.scandir(directory) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if not entry.name.startswith(".") and not entry.is_symlink()
            )
    except OSError:
        return []
