"""Ways to files that never lead out of some directories.

A path is walked directory by directory with descriptors, and no step follows a symbolic link by
itself: what a link names is walked anew from a root. So neither `..`, a link, nor a directory that
is swapped while we look leads out.

Source: docs/design/security.md, "Files".
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Final

from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.host.text import one_line

SHOWN: Final = 1000
"""Characters of a path that a message tells."""
LINK_LIMIT: Final = 20
"""Symbolic links that one path may lead through."""
DEPTH_LIMIT: Final = 200
"""Levels below a root; what lies deeper many a program can neither look at nor take away."""
OUTSIDE: Final = "the path lies outside the directories of this session"
_NEW_DIRECTORY_MODE: Final = 0o777
_NO_DIRECTORY: Final = "it is no directory"
_HERE: Final = "."
_HELD: Final = Path("/proc/self/fd")
"""Where Linux gives a path to what a descriptor holds; it is missing elsewhere."""
_WALK: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileRefusedError(AcpError):
    """A file may not be read or written here; the message names the path and says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{one_line(path, SHOWN)}: {reason}")
        self.reason = reason


class FileMissingError(FileRefusedError):
    """There is no such file."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "there is no such file")


class Confinement:
    """Directories that no path leads out of."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(PurePosixPath(root.resolve()) for root in roots)
        self._spellings = {PurePosixPath(root.absolute()): root.resolve() for root in roots}

    def directory(self, path: str) -> Path:
        """Return the directory at the absolute `path`, a root or one below, its links resolved.

        It is looked at once, and nothing keeps it from being swapped: see `entered`.

        Raises:
            FileRefusedError: it lies outside, or is no directory.
        """
        self._placed(path, path)
        try:
            found = Path(path).resolve(strict=True)
            is_directory = found.is_dir()
        except RuntimeError:
            raise FileRefusedError(path, "too many symbolic links") from None
        except OSError as problem:
            raise FileRefusedError(path, describe_os_error(problem)) from None
        self._placed(path, str(found))
        if not is_directory:
            raise FileRefusedError(path, _NO_DIRECTORY)
        return found

    @contextmanager
    def opened(self, path: str) -> Generator[int]:
        """Yield a descriptor of the directory at the absolute `path`, a root or one below.

        It stays with this directory, whatever is put in its place meanwhile.

        Raises:
            FileRefusedError: it lies outside, or is no directory.
        """
        directory, _ = self._reached(path, is_directory=True)
        try:
            yield directory
        finally:
            os.close(directory)

    @contextmanager
    def entered(self, path: str) -> Generator[Path]:
        """Yield a path to the directory at the absolute `path`, for a child to start in.

        On Linux it leads to the directory that was opened, whatever is put in its place meanwhile.
        Other systems have no such path: there it is looked at, and may be swapped the moment after.

        Raises:
            FileRefusedError: it lies outside, or is no directory.
        """
        with self.opened(path) as directory:
            held = _HELD / str(directory)
            yield held if held.is_dir() else self.directory(path)

    def check_inside(self, path: str) -> None:
        """Judge the absolute `path` by its spelling alone: nothing is looked up on the disk.

        Raises:
            FileRefusedError: it lies outside, or is no path at all.
        """
        self._located(path, path)

    def check_links(self, path: str) -> None:
        """Judge where the absolute `path` leads on this disk, as far as it is there.

        For a path that somebody else is to open, who follows links: it is looked at once.

        Raises:
            FileRefusedError: it leads outside, to a device or a pipe, or cannot be followed; a
                missing file is fine.
        """
        root, _ = self._located(path, path)
        if not os.path.lexists(root):
            # Whoever is to open it works on another machine.
            return
        with suppress(FileMissingError), self.parent(path) as (directory, name):
            _check_waits_for_nobody(path, directory, name)

    def holds_root(self, status: os.stat_result) -> bool:
        """Tell whether a directory is a root, or has one somewhere below it."""
        for root in self._roots:
            for place in (root, *root.parents):
                with suppress(OSError):
                    found = Path(place).lstat()
                    if (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino):
                        return True
        return False

    @contextmanager
    def parent(
        self,
        path: str,
        *,
        is_made: bool = False,
        is_followed: bool = True,
        is_last_followed: bool = True,
    ) -> Generator[tuple[int, str]]:
        """Yield a descriptor of the directory that holds the file, and the file's name in it.

        `is_made` makes directories that are missing; `is_followed` follows links on the way, and
        `is_last_followed` one in the place of the file, too.
        """
        directory, name = self._reached(
            path, is_made=is_made, is_followed=is_followed, is_last_followed=is_last_followed
        )
        try:
            yield directory, name
        finally:
            os.close(directory)

    def _reached(
        self,
        path: str,
        *,
        is_directory: bool = False,
        is_made: bool = False,
        is_followed: bool = True,
        is_last_followed: bool = True,
    ) -> tuple[int, str]:
        """Return a descriptor of the directory that holds what `path` leads to, and its name there.

        `is_directory` wants the descriptor of a directory itself, whose name in it is `.`.
        """
        target = path
        for _ in range(LINK_LIMIT):
            root, parts = self._placed(path, target)
            if is_directory:
                parts = (*parts, _HERE)
            elif not parts:
                raise FileRefusedError(path, OUTSIDE)
            links = len(parts) - (not is_last_followed) if is_followed else 0
            walked = _walk(path, root, parts, links, is_made=is_made)
            if not isinstance(walked, str):
                return walked, parts[-1]
            target = walked
        raise FileRefusedError(path, "too many symbolic links")

    def _located(self, path: str, target: str) -> tuple[PurePosixPath, tuple[str, ...]]:
        """Return the root that `target` lies in, and its way from there, which is not empty."""
        root, parts = self._placed(path, target)
        if not parts:
            raise FileRefusedError(path, OUTSIDE)
        return root, parts

    def _placed(self, path: str, target: str) -> tuple[PurePosixPath, tuple[str, ...]]:
        """Return the root that `target` is or lies in, and its way from there."""
        if "\0" in target:
            raise FileRefusedError(path, "a path holds no NUL")
        try:
            os.fsencode(target)
        except UnicodeEncodeError:
            raise FileRefusedError(path, "the path has no form on this disk") from None
        pure = PurePosixPath(target)
        if not pure.is_absolute():
            raise FileRefusedError(path, "the path is not absolute")
        if ".." in pure.parts:
            raise FileRefusedError(path, "a path with .. is not followed")
        for spelling, root in self._spellings.items():
            if pure.is_relative_to(spelling):
                pure = PurePosixPath(root) / pure.relative_to(spelling)
        for root in self._roots:
            if pure.is_relative_to(root):
                parts = pure.relative_to(root).parts
                if len(parts) > DEPTH_LIMIT:
                    raise FileRefusedError(path, f"it lies more than {DEPTH_LIMIT} levels deep")
                return root, parts
        raise FileRefusedError(path, OUTSIDE)


def _walk(
    path: str, root: PurePosixPath, parts: tuple[str, ...], links: int, *, is_made: bool
) -> int | str:
    """Return a descriptor of the last directory, or what a symbolic link on the way leads to.

    Links are looked for among the first `links` parts.
    """
    try:
        directory = os.open(root, _WALK)
    except OSError as problem:
        raise FileRefusedError(path, describe_os_error(problem)) from None
    here = root
    for position, part in enumerate(parts):
        if position < links and (link := _link(directory, part)) is not None:
            os.close(directory)
            return os.path.normpath(here.joinpath(link, *parts[position + 1 :]))
        if position == len(parts) - 1:
            break
        try:
            step = _step(directory, part, is_made=is_made)
        except FileNotFoundError:
            raise FileMissingError(path) from None
        except OSError as problem:
            is_goal = parts[position + 1 :] == (_HERE,) and problem.errno == errno.ENOTDIR
            reason = _NO_DIRECTORY if is_goal else describe_os_error(problem)
            raise FileRefusedError(path, reason) from None
        finally:
            os.close(directory)
        directory, here = step, here / part
    return directory


def _check_waits_for_nobody(path: str, directory: int, name: str) -> None:
    """Refuse what may be read for ever."""
    with suppress(OSError):
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise FileRefusedError(path, "it is no regular file")


def _step(directory: int, part: str, *, is_made: bool) -> int:
    if is_made:
        with suppress(FileExistsError):
            os.mkdir(part, _NEW_DIRECTORY_MODE, dir_fd=directory)
    return os.open(part, _WALK, dir_fd=directory)


def _link(directory: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError:
        return None
