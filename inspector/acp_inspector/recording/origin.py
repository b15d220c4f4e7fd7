"""Which recordings were made on this machine, by their digests.

The file has a line for each recording that was closed. It is ignored if another user can write to
it.

Source: docs/security.md, "Playing a recording".
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from acp_protocol.host.state import state_directory

NAME: Final = "recordings.sha256"
MAX_BYTES: Final = 4 * 2**20
"""Bytes of the file, at most: about 60,000 recordings; the older half is forgotten then."""
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_FLAGS: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def remember_recording(digest: str) -> None:
    """Remember a recording that was made here.

    Does nothing if that cannot be written: recordings that are not known need `--trust`.
    """
    with suppress(OSError, RuntimeError):
        path = state_directory() / NAME
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS, 0o600)
        try:
            found = os.fstat(descriptor)
            if not _is_private(found, stat.S_ISREG(found.st_mode)):
                return
            if found.st_size >= MAX_BYTES:
                _forget_older(path, os.pread(descriptor, MAX_BYTES, MAX_BYTES // 2), digest)
            else:
                os.write(descriptor, f"{digest}\n".encode())
        finally:
            os.close(descriptor)


def is_our_recording(digest: str) -> bool:
    """Return whether a recording whose bytes have this digest was made here."""
    if not digest:
        return False
    try:
        path = state_directory() / NAME
        folder = path.parent.stat()
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            is_believed = _is_private(found, stat.S_ISREG(found.st_mode)) and _is_private(
                folder, stat.S_ISDIR(folder.st_mode)
            )
            return is_believed and digest.encode() in file.read(2 * MAX_BYTES).split(b"\n")
    except (OSError, RuntimeError):
        return False


def _is_private(found: os.stat_result, is_kind: bool) -> bool:
    """Return whether a file or directory of the right kind can be written by its user only."""
    return is_kind and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS


def _forget_older(path: Path, newer: bytes, digest: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        # The first line may be cut.
        file.write(newer.partition(b"\n")[2] + f"{digest}\n".encode())
    part.replace(path)
