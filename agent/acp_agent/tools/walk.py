"""Which files below a directory `find` and `search` look into.

Hidden files, links and what git ignores are left out. Ripgrep names the files where it is
installed; otherwise the directories are walked here. The walk opens each directory from the one
above it, so a link that takes a directory's place meanwhile is not followed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.from_thread
import anyio.to_thread
import regex
from anyio.streams.buffered import BufferedByteReceiveStream
from pathspec import GitIgnoreSpec
from wcmatch import glob

from acp_agent.tools.call import ToolFailedError
from acp_agent.world.workspace import Workspace
from acp_protocol.errors import AgentStartError
from acp_protocol.host.process import spawn
from acp_protocol.host.sandbox import FileRefusedError

DEPTH_LIMIT: Final = 100
"""Nested directories that are looked into: each of them is held open meanwhile."""
IGNORE_LIMIT: Final = 2**20
"""Characters that are read of one .gitignore."""
PATTERN_LIMIT: Final = 200
"""Characters of one pattern of names."""
MATCH_TIMEOUT_S: Final = 0.5
"""Seconds that one name is compared; a pattern of many stars could take for ever."""
MAX_PATH_BYTES: Final = 64 * 1024
"""Bytes of one path that ripgrep names."""
RIPGREP_GRACE_S: Final = 0.25
"""Seconds that ripgrep has to end: it has nothing to lose."""
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_DIRECTORY
_GLOB: Final = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX
_Ignore: TypeAlias = tuple[Path, GitIgnoreSpec]
"""A directory and what its .gitignore says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """How far `find` and `search` go, and with which program."""

    max_files: int = 100_000
    timeout_s: float = 30.0
    line_timeout_s: float = 1.0
    """Seconds that a regular expression may take for one line."""
    ripgrep: str = "rg"


DEFAULT_LIMITS: Final = SearchLimits()


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a predicate: whether a path fits `pattern`.

    Without `/` the name alone has to fit, wherever the file is; with it the whole path, relative to
    the directory that is searched. `*` and `?` do not cross a `/`, `**` does; `{a,b}` is either.

    Raises:
        ToolFailedError: the pattern is malformed, or takes too long.
    """
    refused = ToolFailedError(f"{pattern[:PATTERN_LIMIT]!r} is not a pattern for names")
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


async def list_files(
    workspace: Workspace,
    place: Path,
    limits: SearchLimits,
    *,
    is_wanted: Callable[[Path], bool],
    ripgrep_options: Sequence[str],
    enough: int,
) -> tuple[list[Path], bool]:
    """Return the wanted files below the directory `place`, sorted, and whether these are all.

    `ripgrep_options` make ripgrep name only files that are hits, of which `enough` will do; without
    ripgrep every wanted file is returned. Ripgrep follows a link that takes a directory's place
    meanwhile, so what it names may lie outside.

    Raises:
        FileRefusedError: `place` is outside of the session's directories, or is not a directory.
        ToolFailedError: it takes too long.
    """

    def walk() -> tuple[list[Path], bool]:
        paths: list[Path] = []
        for count, path in enumerate(files_below(workspace, place)):
            if count == limits.max_files:
                return paths, False
            if is_wanted(path):
                paths.append(path)
        return paths, True

    named = await ripgrep_files(place, limits, ripgrep_options, is_wanted, enough)
    return named or await anyio.to_thread.run_sync(walk)


async def ripgrep_files(
    place: Path,
    limits: SearchLimits,
    options: Sequence[str],
    is_wanted: Callable[[Path], bool],
    enough: int,
) -> tuple[list[Path], bool] | None:
    """Return the wanted files that ripgrep names, until there are `enough`, and if these are all.

    None if ripgrep is not installed or fails, as for a regular expression that it does not know.

    Raises:
        ToolFailedError: it takes too long.
    """
    fixed = ("--no-config", "--no-messages", "--color=never", "--sort=path", "--null")
    command = [limits.ripgrep, *fixed, *options, "--", str(place)]
    found: list[Path] = []
    is_all = False
    code = 0
    try:
        async with spawn(command, cwd=place, env=os.environ, grace=RIPGREP_GRACE_S) as child:
            with anyio.move_on_after(limits.timeout_s) as clock:
                await child.stdin.aclose()
                names = BufferedByteReceiveStream(child.stdout)
                count = 0
                try:
                    while len(found) < enough and count <= limits.max_files:
                        path = Path(os.fsdecode(await names.receive_until(b"\0", MAX_PATH_BYTES)))
                        count += 1
                        is_below = count <= limits.max_files and path.is_relative_to(place)
                        if is_below and is_wanted(path):
                            found.append(path)
                except anyio.DelimiterNotFound:
                    pass
                except anyio.IncompleteRead:
                    is_all = True
                    code = await child.wait()
            if clock.cancelled_caught:
                raise ToolFailedError(f"the search takes longer than {limits.timeout_s:g} s")
            if not is_all:
                child.signal_group(signal.SIGKILL)
    except AgentStartError:
        return None
    # 1: nothing was found. More: it failed, but what it has found counts.
    return (found, is_all) if found or code <= 1 else None


def files_below(
    workspace: Workspace, place: Path, *, max_depth: int = DEPTH_LIMIT
) -> Iterator[Path]:
    """Yield the files below the directory `place` in the order of their paths.

    In a git repository, what its .gitignore files name is left out, as ripgrep does it. For use in
    a thread, which stops between two directories if it is cancelled.

    Raises:
        FileRefusedError: `place` is outside of the session's directories, or is not a directory.
    """
    is_repository = any((each / ".git").exists() for each in (place, *place.parents))
    with workspace.disk.open_path(str(place)) as directory:
        ignored = _ignored_above(workspace, place) if is_repository else None
        yield from _below(workspace, directory, place, max_depth, ignored)


def _ignored_above(workspace: Workspace, place: Path) -> tuple[_Ignore, ...]:
    """Return the .gitignore files above `place` in its repository, as far as they are readable.

    None if they ignore `place` itself: then it is searched because it was asked for.
    """
    above: tuple[_Ignore, ...] = ()
    for directory in (place, *place.parents):
        if directory != place:
            above = _ignore_in(workspace, directory) + above
        if (directory / ".git").exists():
            break
    return () if _is_ignored(above, place, is_directory=True) else above


def _ignore_in(workspace: Workspace, directory: Path) -> tuple[_Ignore, ...]:
    try:
        content = workspace.disk.read_bytes(str(directory / ".gitignore"))
    except FileRefusedError:
        return ()
    text = os.fsdecode(content[:IGNORE_LIMIT])
    return ((directory, GitIgnoreSpec.from_lines(text.splitlines())),)


def _is_ignored(ignored: Sequence[_Ignore], path: Path, *, is_directory: bool) -> bool:
    """Return whether git ignores `path`; the innermost .gitignore that names it decides."""
    for directory, spec in reversed(ignored):
        name = path.relative_to(directory).as_posix() + ("/" if is_directory else "")
        decision = spec.check_file(name).include
        if decision is not None:
            return decision
    return False


def _below(
    workspace: Workspace,
    directory: int,
    place: Path,
    depth: int,
    ignored: tuple[_Ignore, ...] | None,
) -> Iterator[Path]:
    """Yield the files in the directory `place`, open as `directory`, and those below it.

    `ignored` holds the .gitignore files above, the innermost last; None outside of a repository.
    """
    if ignored is not None:
        ignored += _ignore_in(workspace, place)
    for name, is_directory in _entries(directory):
        path = place / name
        if ignored and _is_ignored(ignored, path, is_directory=is_directory):
            continue
        if not is_directory:
            yield path
        elif depth > 0:
            try:
                inner = os.open(name, _OPEN, dir_fd=directory)
            except OSError:
                continue
            try:
                yield from _below(workspace, inner, path, depth - 1, ignored)
            finally:
                os.close(inner)


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
