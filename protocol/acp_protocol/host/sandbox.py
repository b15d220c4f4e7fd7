"""Reads, writes, moves and deletes files inside root directories, which no path leads out of.

Texts are written to a temporary file beside the target and renamed, so that a reader sees the old
text or the new one.

A hard-linked file of another user is not read: its other name may be outside. A hard-linked file of
our own user is read, because any process that can link it can also copy it. Writing always makes a
new file, so another name keeps the old text.

Source: docs/design/security.md, "Files"; ACP, File System.
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
from acp_protocol.host.regular_files import IRREGULAR
from acp_protocol.host.sanitize import single_line

MAX_SHOWN_PATH: Final = 1000
"""Characters of a path in a message, at most."""
LINK_LIMIT: Final = 20
"""Symbolic links that one path may lead through."""
DEPTH_LIMIT: Final = 200
"""Levels below a root; many programs can neither list nor remove deeper ones."""
OUTSIDE: Final = "the path lies outside the directories of this session"
_NEW_DIRECTORY_MODE: Final = 0o777
_NO_DIRECTORY: Final = "it is not a directory"
_DOT: Final = "."
DESCRIPTORS: Final = Path("/proc/self/fd")
"""The paths of open descriptors on Linux; missing elsewhere."""
_NEW_FILE_MODE: Final = 0o666
_MOVE_INTO_ITSELF: Final = "a directory cannot be moved into itself"
_MOVE_ERRORS: Final = {
    errno.EXDEV: "it lies on another device, where nothing can be moved to, only copied",
    errno.EINVAL: _MOVE_INTO_ITSELF,
}
_PERMISSIONS: Final = 0o777
_ANY_WRITE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_WALK: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileRefusedError(AcpError):
    """A file may not be read or written; the message has the path and the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{single_line(path, MAX_SHOWN_PATH)}: {reason}")
        self.reason = reason


class FileMissingError(FileRefusedError):
    """There is no such file."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "does not exist")


class FileForbiddenError(FileRefusedError):
    """The file lies outside of the directories, or the system forbids it to the user."""


SIZE_LIMIT: Final = 16 * 2**20
"""Bytes of the largest file that is read or written."""


@contextmanager
def _refusals(path: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileMissingError(path) from None
    except PermissionError as problem:
        raise FileForbiddenError(path, describe_os_error(problem)) from None
    except OSError as problem:
        raise FileRefusedError(path, describe_os_error(problem)) from None


class SandboxedFiles:
    """Directories in which files may be read and written, and which no path leads out of.

    Paths are absolute. Every method raises `FileRefusedError`, with the reason, if a path lies
    outside or the disk refuses, and `FileMissingError` if there is no such file.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        size_limit: int = SIZE_LIMIT,
        descriptors: Path = DESCRIPTORS,
    ) -> None:
        self._size_limit = size_limit
        self._descriptors = descriptors
        self._roots = tuple(PurePosixPath(root.resolve()) for root in roots)
        self._spellings = {PurePosixPath(root.absolute()): root.resolve() for root in roots}

    def directory(self, path: str) -> Path:
        """Return the directory at `path`, a root or one below, its links resolved.

        It is checked once and may be replaced afterwards; `open_path` prevents that.
        """
        self._find_root(path, path)
        try:
            found = Path(path).resolve(strict=True)
            is_directory = found.is_dir()
        except RuntimeError:
            raise FileRefusedError(path, "too many symbolic links") from None
        except OSError as problem:
            raise FileRefusedError(path, describe_os_error(problem)) from None
        self._find_root(path, str(found))
        if not is_directory:
            raise FileRefusedError(path, _NO_DIRECTORY)
        return found

    @contextmanager
    def open_path(self, path: str) -> Generator[int]:
        """Yield a descriptor of the directory at `path`, a root or one below.

        It keeps referring to this directory even if the path is replaced.
        """
        with self.parent(path, is_directory=True) as (directory, _):
            yield directory

    @contextmanager
    def open_parent_path(self, path: str) -> Generator[Path]:
        """Yield a path to the directory at `path`, for a child to start in.

        On Linux it leads to the opened directory even if the path is replaced meanwhile. On other
        systems the directory is checked, but may be replaced afterwards.
        """
        with self.open_path(path) as directory:
            held = self._descriptors / str(directory)
            yield held if held.is_dir() else self.directory(path)

    def check_inside(self, path: str) -> None:
        """Check `path` without looking at the disk."""
        if not self._find_root(path, path)[1]:
            raise FileForbiddenError(path, OUTSIDE)

    def check_links(self, path: str) -> None:
        """Check where `path` leads on this disk, as far as it exists.

        For a path that another process opens and that may be a link: it is checked once.
        """
        self.check_inside(path)
        root, _ = self._find_root(path, path)
        if not os.path.lexists(root):
            # The process that opens it runs on another machine.
            return
        with suppress(FileMissingError), self.parent(path) as (directory, name), suppress(OSError):
            # Devices and pipes can block a reader for ever.
            mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise FileRefusedError(path, IRREGULAR)

    def holds_root(self, status: os.stat_result) -> bool:
        """Return whether a directory is a root or has one below it."""
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
        is_directory: bool = False,
        is_made: bool = False,
        is_followed: bool = True,
        is_last_followed: bool = True,
    ) -> Generator[tuple[int, str]]:
        """Yield a descriptor of the directory that holds the file, and the file's name in it.

        `is_directory` yields the directory at `path` itself, whose name in it is `.`. `is_made`
        makes directories that are missing; `is_followed` follows links on the way, and
        `is_last_followed` one in the place of the file, too.
        """
        found: int | str = path
        for _ in range(LINK_LIMIT):
            root, parts = self._find_root(path, found)
            if is_directory:
                parts = (*parts, _DOT)
            elif not parts:
                raise FileForbiddenError(path, OUTSIDE)
            links = len(parts) - (not is_last_followed) if is_followed else 0
            found = _walk(path, root, parts, links, is_made=is_made)
            if isinstance(found, int):
                break
        else:
            raise FileRefusedError(path, "too many symbolic links")
        try:
            yield found, parts[-1]
        finally:
            os.close(found)

    def _find_root(self, path: str, target: str) -> tuple[PurePosixPath, tuple[str, ...]]:
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
            raise FileForbiddenError(path, "a path with .. is not followed")
        for spelling, root in self._spellings.items():
            if pure.is_relative_to(spelling):
                pure = PurePosixPath(root) / pure.relative_to(spelling)
        for root in self._roots:
            if pure.is_relative_to(root):
                parts = pure.relative_to(root).parts
                if len(parts) > DEPTH_LIMIT:
                    raise FileRefusedError(path, f"it lies more than {DEPTH_LIMIT} levels deep")
                return root, parts
        raise FileForbiddenError(path, OUTSIDE)

    def read_text(self, path: str) -> str:
        try:
            return self.read_bytes(path).decode()
        except UnicodeDecodeError:
            raise FileRefusedError(path, "the file is not UTF-8 text") from None

    def read_bytes(self, path: str) -> bytes:
        with self.parent(path) as (directory, name):
            descriptor = _open(path, directory, name)
            with _refusals(path), os.fdopen(descriptor, "rb") as file:
                content = file.read(self._size_limit + 1)
        if len(content) > self._size_limit:
            raise FileRefusedError(path, f"the file is larger than {self._size_limit} bytes")
        return content

    def write_text(self, path: str, text: str, *, is_followed: bool = True) -> None:
        """Write the file at `path`; missing directories are made.

        `is_followed` follows links, none of which leads out.
        """
        try:
            content = text.encode()
        except UnicodeEncodeError:
            raise FileRefusedError(path, "the text has no UTF-8 form") from None
        if len(content) > self._size_limit:
            raise FileRefusedError(path, f"the text is larger than {self._size_limit} bytes")
        parent = self.parent(path, is_made=True, is_followed=is_followed)
        with parent as (directory, name), _refusals(path):
            _replace(path, directory, name, content)

    def delete(
        self, path: str, *, is_followed: bool = True, seen: os.stat_result | None = None
    ) -> None:
        """Remove the file at `path`; of a symbolic link the link, not what it names.

        `is_followed` follows links on the way. `seen` is the earlier result of `status`: a
        file that has changed since is not deleted.
        """
        with self.parent(path, is_followed=is_followed, is_last_followed=False) as (
            directory,
            name,
        ):
            if seen is not None and _identity(seen) != _identity(_status(path, directory, name)):
                raise FileRefusedError(path, "the file has changed meanwhile; nothing was deleted")
            with _refusals(path):
                os.unlink(name, dir_fd=directory)

    def status(self, path: str) -> os.stat_result:
        """Return what is at `path`; of a symbolic link the link, not what it names."""
        with self.parent(path, is_last_followed=False) as (directory, name):
            return _status(path, directory, name)

    def is_missing(self, path: str) -> bool:
        """Return whether `path`, its links followed, leads to nothing inside a root.

        False if the root is not on this disk, or if the path cannot be examined.
        """
        try:
            with self.parent(path) as (directory, name):
                _status(path, directory, name)
        except FileMissingError:
            return True
        except FileRefusedError:
            return False
        return False

    def move(
        self, path: str, goal: str, *, is_over: bool = False, is_followed: bool = True
    ) -> None:
        """Give the file or directory at `path` the path `goal`.

        Directories on the way to `goal` are made if they are missing. Of a symbolic link the link
        is moved, not what it names. `is_over` takes the place of a file, or of an empty directory,
        that is there; `is_followed` follows links on both ways.
        """
        with self.parent(path, is_followed=is_followed, is_last_followed=False) as (source, name):
            moved = _status(path, source, name)
            is_directory = stat.S_ISDIR(moved.st_mode)
            self._check_keeps_roots(path, moved)
            if is_directory and goal != path and PurePosixPath(goal).is_relative_to(path):
                # Checked before directories are made on the way there.
                raise FileRefusedError(goal, _MOVE_INTO_ITSELF)
            with self.parent(
                goal, is_made=True, is_followed=is_followed, is_last_followed=False
            ) as (target, new_name):
                if is_over:
                    self._check_replaceable(goal, target, new_name)
                try:
                    if not is_over:
                        _reserve(goal, target, new_name, is_directory)
                    _rename(source, name, target, new_name, is_reserved=not is_over)
                except OSError as problem:
                    reason = _MOVE_ERRORS.get(problem.errno or 0) or describe_os_error(problem)
                    raise FileRefusedError(goal, reason) from None

    def _check_keeps_roots(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode) and self.holds_root(status):
            raise FileRefusedError(path, "it holds a directory of this session")

    def _check_replaceable(self, path: str, directory: int, name: str) -> None:
        with suppress(FileMissingError):
            status = _status(path, directory, name)
            self._check_keeps_roots(path, status)
            if not stat.S_ISDIR(status.st_mode) and not stat.S_ISLNK(status.st_mode):
                _check_writable(path, status)


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
    current = root
    for position, part in enumerate(parts):
        if position < links:
            with suppress(OSError):
                link = os.readlink(part, dir_fd=directory)
                os.close(directory)
                return os.path.normpath(current.joinpath(link, *parts[position + 1 :]))
        if position == len(parts) - 1:
            break
        try:
            if is_made:
                with suppress(FileExistsError):
                    os.mkdir(part, _NEW_DIRECTORY_MODE, dir_fd=directory)
            step = os.open(part, _WALK, dir_fd=directory)
        except FileNotFoundError:
            raise FileMissingError(path) from None
        except OSError as problem:
            is_goal = parts[position + 1 :] == (_DOT,) and problem.errno == errno.ENOTDIR
            reason = _NO_DIRECTORY if is_goal else describe_os_error(problem)
            raise FileRefusedError(path, reason) from None
        finally:
            os.close(directory)
        directory, current = step, current / part
    return directory


def _open(path: str, directory: int, name: str) -> int:
    # Without waiting: opening a FIFO would hang until it has a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _refusals(path):
        descriptor = os.open(name, flags, dir_fd=directory)
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        reason = "it is a directory"
    elif not stat.S_ISREG(status.st_mode):
        reason = IRREGULAR
    elif status.st_nlink > 1 and status.st_uid != os.geteuid():
        reason = "it is hard-linked and belongs to somebody else"
    else:
        return descriptor
    os.close(descriptor)
    raise FileRefusedError(path, reason)


def _check_writable(path: str, status: os.stat_result) -> None:
    """Refuse to replace a read-only file; renaming would not check this permission."""
    if not stat.S_ISREG(status.st_mode):
        raise FileRefusedError(path, IRREGULAR)
    if not status.st_mode & _ANY_WRITE:
        raise FileRefusedError(path, "the file is read-only")


def _status(path: str, directory: int, name: str) -> os.stat_result:
    with _refusals(path):
        return os.stat(name, dir_fd=directory, follow_symlinks=False)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Return what differs if a file, or its content, is another one."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _reserve(path: str, directory: int, name: str, is_directory: bool) -> None:
    """Create an empty file or directory at the target, for the rename to replace.

    The target must be free. Renaming alone would replace anything, and a check before it could be
    out of date.
    """
    try:
        if is_directory:
            os.mkdir(name, 0o700, dir_fd=directory)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(name, flags, 0o600, dir_fd=directory))
    except FileExistsError:
        raise FileRefusedError(path, "there is something by this name already") from None


def _rename(source: int, name: str, target: int, new_name: str, *, is_reserved: bool) -> None:
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except OSError:
        with suppress(OSError):
            # Remove the reservation, unless it has been replaced meanwhile.
            status = os.stat(new_name, dir_fd=target, follow_symlinks=False)
            if is_reserved and stat.S_ISDIR(status.st_mode):
                os.rmdir(new_name, dir_fd=target)
            elif is_reserved and stat.S_ISREG(status.st_mode) and not status.st_size:
                os.unlink(new_name, dir_fd=target)
        raise


def _replace(path: str, directory: int, name: str, content: bytes) -> None:
    mode: int | None = None
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        _check_writable(path, status)
        # As for any writer: a new text does not keep the set-user-id bit.
        mode = status.st_mode & _PERMISSIONS
    beside = f".acp-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(beside, flags, _NEW_FILE_MODE, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if mode is not None:
                os.fchmod(descriptor, mode)
        os.rename(beside, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=directory)
        raise
