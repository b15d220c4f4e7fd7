"""Reads and replaces files that others may have put there: never a link, a pipe or a device.

What lies beside a recording comes with it. A link there leads to any file of the user, opening a
pipe waits for a writer that never comes, and a device has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

PRIVATE_FILE: Final = 0o600
_PERMISSIONS: Final = 0o777
_LINK: Final = "it is a symbolic link, which is not followed"
_FOLDER: Final = "it is a directory"
_PIPE: Final = "it is a pipe, not a file"
IRREGULAR: Final = "it is not a regular file"


class IrregularFileError(OSError):
    """A path leads to something else than a regular file."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


def open_regular(path: Path, *, is_followed: bool = False) -> BinaryIO:
    """Open a regular file to read it; it never blocks.

    Links are refused unless `is_followed`, which is for files that the user has named.

    Raises:
        IrregularFileError: there is a link, a directory, a pipe, a socket or a device.
        OSError: it cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if is_followed else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as problem:
        if problem.errno == errno.ELOOP and not is_followed:
            raise IrregularFileError(_LINK, path) from None
        if problem.errno == errno.ENXIO:
            raise IrregularFileError(IRREGULAR, path) from None
        raise
    except ValueError:
        raise IrregularFileError("the name is invalid", path) from None
    try:
        check_regular(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        IrregularFileError: it is none, or has more than `max_bytes`.
        OSError: it cannot be read.
    """
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise IrregularFileError(f"it is larger than {max_bytes} bytes", path)
    return content


def check_regular(path: Path, found: os.stat_result) -> None:
    """Raise `IrregularFileError` if the status is not that of a regular file."""
    if stat.S_ISLNK(found.st_mode):
        raise IrregularFileError(_LINK, path)
    if stat.S_ISDIR(found.st_mode):
        raise IrregularFileError(_FOLDER, path)
    if stat.S_ISFIFO(found.st_mode):
        raise IrregularFileError(_PIPE, path)
    if not stat.S_ISREG(found.st_mode):
        raise IrregularFileError(IRREGULAR, path)


def check_replaceable(path: Path) -> None:
    """Raise an error if there is something else than a regular file, or nothing, at `path`.

    Raises:
        IrregularFileError: there is.
        OSError: it cannot be found out.
    """
    with suppress(FileNotFoundError):
        check_regular(path, path.lstat())


def part_beside(path: Path) -> Path:
    """Return a name beside `path` that cannot be guessed, for what will take its place."""
    return path.with_name(f".{path.name[:100]}.{os.urandom(8).hex()}.part")


def create_private(path: Path, mode: int = PRIVATE_FILE) -> int:
    """Return the descriptor of a new file, to read, write and append.

    Raises:
        OSError: something has this name, or it cannot be made.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, mode)


@contextmanager
def replacing(path: Path, mode: int = PRIVATE_FILE) -> Generator[BinaryIO]:
    """Yield a new file, which takes the place of `path` if the block succeeds, or else is removed.

    A file that exists keeps its permissions; a link is replaced, and what it leads to stays as it
    is.

    Raises:
        OSError: it cannot be written.
    """
    part = part_beside(path)
    with os.fdopen(create_private(part, mode), "w+b") as file:
        try:
            with suppress(FileNotFoundError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode):
                    os.fchmod(file.fileno(), found.st_mode & _PERMISSIONS)
            yield file
            file.flush()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
