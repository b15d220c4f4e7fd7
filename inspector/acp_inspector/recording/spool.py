"""Keeps on disk what was noted and is not in the recording yet.

The recorder appends each note to the spool before its bytes are forwarded. If the proxy is killed,
the next reader numbers the notes as the recorder would have, and shows the entries that the
recording lacks; the next writer appends them.

A spool is a directory beside the recording. Two files take turns: when one has grown long, notes go
to the other, whose head says where the numbers and the unfinished lines stood. The first file is
emptied once all of it is in the recording. The proxy holds a lock on the directory while it lives.

Source: docs/recording-format.md, "After a kill".
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import stat
import struct
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk, split_ending
from acp_inspector.recording.encoder import Part
from acp_inspector.recording.format import (
    Header,
    decode_line,
    encode_header,
)
from acp_inspector.recording.lines import MAX_HEADER
from acp_protocol.errors import describe_os_error
from acp_protocol.framing import Side

logger = logging.getLogger(__name__)

NoteKind: TypeAlias = Literal[b"c", b"a", b"e", b"C", b"A", b"!", b"g"]
"""A chunk of the client, the agent or stderr; a frame of either; an event; a gap."""
CHUNK_KINDS: Final[Mapping[str, NoteKind]] = {"client": b"c", "agent": b"a", "stderr": b"e"}
FRAME_KINDS: Final[Mapping[Side, NoteKind]] = {"client": b"C", "agent": b"A"}
_SIDES: Final[Mapping[bytes, Side]] = {b"c": "client", b"a": "agent", b"C": "client", b"A": "agent"}

TURN_BYTES: Final = 4 * 2**20
"""Length from which the next file is used, beside that of the unfinished lines."""

_NOTE: Final = struct.Struct("<cdI")
"""Kind, time, and size of what follows."""
_EPOCH: Final = struct.Struct("<Q")
"""What a file begins with: its number; not the next one if notes are missing before it."""
_HEAD: Final = struct.Struct("<QQ??QQ")
"""Epoch, last number, which sides skip a line, and the sizes of their unfinished lines."""
_HEADER_NAME: Final = "header"
OWNER_NAME: Final = "of"
"""The hash of the first line of the recording: another file may take its name."""
_LOCK_NAME: Final = "lock"
"""Locked during a recovery; others wait for the end of it."""
_NAMES: Final = ("0", "1", "0.head", "1.head", _HEADER_NAME, OWNER_NAME, _LOCK_NAME)
RECOVERY_TIMEOUT_S: Final = 60.0
"""Seconds to wait for another process that recovers the same recording."""


def spool_path(recording: Path) -> Path:
    """Return the directory; parts of a rotated recording have that of the first."""
    return recording.with_name(f".{recording.name}.spool")


class Spool:
    """The notes of a running recorder."""

    def __init__(
        self,
        recording: Path,
        header: Header,
        last_number: int,
        *,
        has_begun: Callable[[], bool],
        warn: Callable[[str], None],
        turn_bytes: int = TURN_BYTES,
    ) -> None:
        """Make the directory; `has_begun`: whether the header is in the recording.

        Raises:
            OSError: it cannot be made.
        """
        self.order = threading.Lock()
        """Held while a note is appended and queued: both orders are the same."""
        self._recording = recording
        self._has_begun = has_begun
        self._warn = warn
        self._has_warned = False
        self._turn_bytes = turn_bytes
        self._size = 0
        self._epoch = 0
        self._is_broken = False
        """Whether a note could not be written; later ones are not, up to the next turn."""
        self._is_turning = self._has_head = False
        path = spool_path(recording)
        path.mkdir(0o700)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._files: list[int] = []
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._needs_header = not has_begun()
            first = first_line(recording)
            if self._needs_header:
                first = encode_header(header)
                _write_whole(self._create(_HEADER_NAME), [first])
            _write_whole(self._create(OWNER_NAME), [sha256(first).digest()])
            self._heads = [self._create("0.head"), self._create("1.head")]
            self._notes = [self._create("0"), self._create("1")]
            self._begin_file()
            self.write_head(last_number, {})
        except OSError:
            self.close()
            raise
        self._is_turning = self._has_head = False

    def _create(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=self._folder)
        self._files.append(descriptor)
        return descriptor

    def _begin_file(self) -> None:
        self._current = self._notes[self._epoch & 1]
        _write_whole(self._current, [_EPOCH.pack(self._epoch)])
        self._size = 0

    def append(self, kind: NoteKind, at: float, *data: Part) -> None:
        """Append a note; the caller holds `order`."""
        if self._is_broken:
            return
        size = sum(map(len, data))
        try:
            written = os.writev(self._current, [_NOTE.pack(kind, at, size), *data])
        except (OSError, struct.error) as problem:
            self._break(describe_os_error(problem) if isinstance(problem, OSError) else "too long")
            return
        self._size += size + _NOTE.size
        if written != size + _NOTE.size:
            self._break("no room")

    def turn(self, held: int) -> bool:
        """Use the next file if this one is long, or broken; the caller holds `order`.

        `held`: bytes of unfinished lines. After True, call `write_head` when all notes before this
        call are numbered, and then `free` when they are written.
        """
        if self._is_turning or not (self._is_broken or self._size > self._turn_bytes + 2 * held):
            return False
        if self._is_broken:
            # There may be room if what was written by now is given up.
            os.ftruncate(self._current, 0)
        # Both steps lead to the other file; the longer one shows that notes are missing.
        self._epoch += 3 if self._is_broken else 1
        try:
            self._begin_file()
        except OSError as problem:
            self._break(describe_os_error(problem))
            return False
        self._is_broken = False
        self._is_turning = True
        return True

    def write_head(self, number: int, unfinished: Mapping[Side, tuple[Part, bool]]) -> None:
        """Say where the current file began: the number before it, and the unfinished lines."""
        client, lost_client = unfinished.get("client", (b"", False))
        agent, lost_agent = unfinished.get("agent", (b"", False))
        sizes = len(client), len(agent)
        head = self._heads[self._epoch & 1]
        packed = _HEAD.pack(self._epoch, number, lost_client, lost_agent, *sizes)
        try:
            os.ftruncate(head, 0)
            _write_whole(head, [packed, client, agent])
            self._has_head = True
        except OSError as problem:
            self._break(describe_os_error(problem))
            self._is_turning = False

    @property
    def has_head(self) -> bool:
        """Whether the file before the current one can be emptied when its notes are written."""
        return self._is_turning and self._has_head

    def free(self) -> None:
        """Empty the file before the current one."""
        with suppress(OSError):
            os.ftruncate(self._notes[(self._epoch + 1) & 1], 0)
        self._is_turning = self._has_head = False

    def batch_written(self) -> None:
        """Forget the header once it is in the recording."""
        if self._needs_header and self._has_begun():
            self._needs_header = False
            with suppress(OSError):
                os.unlink(_HEADER_NAME, dir_fd=self._folder)

    def close(self) -> None:
        """Remove the directory: all is in the recording."""
        with suppress(OSError):
            remove(self._folder, spool_path(self._recording))
        for descriptor in (*self._files, self._folder):
            os.close(descriptor)
        self._is_broken = True

    def _break(self, reason: str) -> None:
        self._is_broken = True
        if not self._has_warned:
            self._has_warned = True
            self._warn(
                f"the spool of {self._recording} fails ({reason}); if the proxy is killed, "
                "the last frames may be missing from the recording"
            )


def _write_whole(descriptor: int, parts: list[Part]) -> None:
    for part in parts:
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def first_line(recording: Path) -> bytes:
    with recording.open("rb") as file:
        return file.readline(MAX_HEADER)


def discard(recording: Path) -> None:
    """Remove the spool of a recording that is begun anew."""
    with claim(spool_path(recording)) as folder:
        if folder is not None:
            remove(folder, spool_path(recording))


@contextmanager
def claim(spool: Path, *, is_shared: bool = False) -> Generator[int | None]:
    """Lock a spool that no proxy uses; None if there is none, it is in use, or it is not ours.

    Waits for another process that recovers it. With `is_shared`, which changes nothing, several
    processes can have it at once; the others wait for them.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with ExitStack() as stack:
        is_free, folder = False, -1
        try:
            folder = os.open(spool, flags)
            stack.callback(os.close, folder)
            found = os.fstat(folder)
            is_ours = found.st_uid == os.geteuid() and not found.st_mode & 0o077
            if is_ours:
                if is_shared:
                    _share(folder)
                else:
                    _wait_for_turn(folder, stack)
                    _wait_for_readers(folder)
                is_free = os.path.samestat(found, spool.lstat())
        except PermissionError:
            is_ours = False
        except OSError:
            is_ours = True
        if not is_ours:
            logger.warning(
                "the last frames of a killed proxy may wait in %s, which is another user's", spool
            )
        yield folder if is_free else None


def _share(folder: int) -> None:
    """Lock a spool together with other readers, when no recovery is running.

    Raises:
        OSError: a proxy uses it.
    """
    _lock(folder, fcntl.LOCK_SH, while_=lambda: _is_recovered(folder))


def _lock(descriptor: int, kind: int, *, while_: Callable[[], bool] = lambda: True) -> None:
    """Lock a file or directory; wait for others, `while_` that makes sense.

    Raises:
        OSError: others have it for too long, or it makes no sense to wait.
    """
    ends_at = time.monotonic() + RECOVERY_TIMEOUT_S
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if not while_() or time.monotonic() > ends_at:
                raise
            time.sleep(0.01)
        else:
            return


def _is_recovered(folder: int) -> bool:
    """Return whether another process recovers the spool at this moment."""
    descriptor = open_file(folder, _LOCK_NAME)
    if descriptor is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _wait_for_readers(folder: int) -> None:
    """Lock a spool alone.

    Raises:
        OSError: a proxy uses it, or somebody reads it for too long.
    """
    # A proxy has it for itself alone, readers do not.
    fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    _lock(folder, fcntl.LOCK_EX)


def _wait_for_turn(folder: int, stack: ExitStack) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(_LOCK_NAME, flags, 0o600, dir_fd=folder)
    stack.callback(os.close, lock)
    _lock(lock, fcntl.LOCK_EX)


def remove(folder: int, path: Path) -> None:
    for name in _NAMES:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
    path.rmdir()


def open_file(folder: int, name: str) -> int | None:
    """Open a regular file of ours in the spool; None if there is no such file."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1:
        return descriptor
    os.close(descriptor)
    return None


def pending_header(folder: int) -> Header | None:
    """Return the header that is not in the recording yet."""
    descriptor = open_file(folder, _HEADER_NAME)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        line = file.read(MAX_HEADER)
    header = decode_line(line.rstrip(b"\n"))
    return header if isinstance(header, Header) else None


def read_entries(folder: int) -> Iterator[Entry]:
    """Number the notes as the recorder would have; skip those that are certainly written."""
    with ExitStack() as stack:
        files: dict[int, tuple[int, int]] = {}
        for index in (0, 1):
            descriptor = open_file(folder, str(index))
            if descriptor is not None:
                stack.callback(os.close, descriptor)
                begin = os.pread(descriptor, _EPOCH.size, 0)
                if len(begin) == _EPOCH.size:
                    files[_EPOCH.unpack(begin)[0]] = descriptor, index
        numbering: _Numbering | None = None
        before = -1
        at = 0.0
        for epoch in sorted(files):
            descriptor, index = files[epoch]
            numbering = _read_head(folder, index, epoch) or (
                numbering if epoch == before + 1 else None
            )
            if numbering is None:
                continue
            before = epoch
            for kind, at, data in _read_notes(descriptor):
                yield from numbering.entries(kind, at, data)
        if numbering is not None:
            yield from numbering.rest(at)


def _read_head(folder: int, index: int, epoch: int) -> _Numbering | None:
    descriptor = open_file(folder, f"{index}.head")
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        packed = file.read(_HEAD.size)
        if len(packed) < _HEAD.size:
            return None
        found, number, lost_client, lost_agent, client, agent = _HEAD.unpack(packed)
        left = os.fstat(file.fileno()).st_size - _HEAD.size
        if found != epoch or client > left or agent != left - client:
            return None
        return _Numbering(
            number,
            {"client": bytearray(file.read(client)), "agent": bytearray(file.read(agent))},
            {"client": lost_client, "agent": lost_agent},
        )


def _read_notes(descriptor: int) -> Iterator[tuple[bytes, float, bytes]]:
    """Read up to the first note that is not whole: its bytes were not forwarded."""
    size, offset = os.fstat(descriptor).st_size, _EPOCH.size
    while offset + _NOTE.size <= size:
        kind, at, length = _NOTE.unpack(os.pread(descriptor, _NOTE.size, offset))
        offset += _NOTE.size
        if length > size - offset:
            return
        yield kind, at, os.pread(descriptor, length, offset)
        offset += length


class _Numbering:
    """Cuts and numbers notes as the recorder does."""

    def __init__(
        self, number: int, unfinished: dict[Side, bytearray], is_lost: dict[Side, bool]
    ) -> None:
        self._number = number
        self._unfinished = unfinished
        self._is_lost = is_lost

    def entries(self, kind: bytes, at: float, data: bytes) -> Iterator[Entry]:
        if kind in {b"c", b"a"}:
            yield from self._cut(at, _SIDES[kind], data)
            return
        self._number += 1
        if kind in {b"C", b"A"}:
            size = data[0] if data else 0
            yield Frame(self._number, at, _SIDES[kind], data[1 + size :], data[1 : 1 + size])
        elif kind == b"e":
            yield StderrChunk(self._number, at, data)
        elif kind == b"!":
            with suppress(ValueError, TypeError):
                name, values = json.loads(data)
                yield JournalEvent(self._number, at, str(name), dict(values))
        elif kind == b"g":
            stream, _, size = data.decode(errors="replace").partition(" ")
            if stream == "client" or stream == "agent":
                self._unfinished[stream].clear()
                self._is_lost[stream] = True
            yield JournalEvent(self._number, at, "dropped", {"from": stream, "bytes": int(size)})

    def rest(self, at: float) -> Iterator[Entry]:
        """Yield the unfinished lines."""
        for side, line in self._unfinished.items():
            if line:
                self._number += 1
                yield Frame(self._number, at, side, bytes(line), b"")

    def _cut(self, at: float, side: Side, data: bytes) -> Iterator[Entry]:
        if self._is_lost[side]:
            _, newline, data = data.partition(b"\n")
            self._is_lost[side] = not newline
        *lines, rest = data.split(b"\n")
        unfinished = self._unfinished[side]
        for line in lines:
            unfinished += line
            self._number += 1
            yield Frame(self._number, at, side, *split_ending(bytes(unfinished)))
            unfinished.clear()
        unfinished += rest
