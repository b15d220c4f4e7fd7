"""Keeps on disk what was noted and is not in the recording yet.

The recorder appends each note to the spool before its bytes are forwarded. If the proxy is killed,
`recording.recovery` numbers the notes as the recorder would have, with the same `Numbering`.

A spool is a directory beside the recording. Its files are numbered. When one has grown long, notes
go to the next one, whose head says where the numbers and the unfinished frames stand, and the file
before it is removed once all of it is in the recording. The proxy holds a lock on the directory
while it lives; readers share one, and those that change the directory take turns.

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
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from acp_inspector.journal import Entry
from acp_inspector.recording.encoder import EntryBatch, Part
from acp_inspector.recording.lines import MAX_HEADER
from acp_inspector.recording.numbering import Numbering, Unfinished
from acp_protocol.errors import describe_os_error
from acp_protocol.framing import Framing, Side, WireFrame

logger = logging.getLogger(__name__)

NoteKind: TypeAlias = Literal[b"c", b"a", b"e", b"C", b"A", b"H", b"I", b"!", b"g"]
"""A chunk of the client, the agent or stderr; a frame of either without a header, and with one; an
event; a gap."""
CHUNK_KINDS: Final[Mapping[str, NoteKind]] = {"client": b"c", "agent": b"a", "stderr": b"e"}
_LINE_KINDS: Final[Mapping[Side, NoteKind]] = {"client": b"C", "agent": b"A"}
_HEADED_KINDS: Final[Mapping[Side, NoteKind]] = {"client": b"H", "agent": b"I"}
_SIDES: Final[Mapping[bytes, Side]] = {
    b"c": "client",
    b"a": "agent",
    b"C": "client",
    b"A": "agent",
    b"H": "client",
    b"I": "agent",
}

TURN_BYTES: Final = 4 * 2**20
"""Length from which the next file is used, beside that of the unfinished lines."""
LOCK_TIMEOUT_S: Final = 60.0
"""Seconds to wait for another process that recovers the same recording."""

_NOTE: Final = struct.Struct("<cdI")
"""Kind, time, and size of what follows."""
_HEAD: Final = struct.Struct("<Q?BBIQQ")
"""What a file begins with: the last number before it, whether the header may be missing from the
recording, how both sides frame and whether they skip a frame, and the sizes of the header and of
their unfinished frames."""
_AROUND: Final = struct.Struct("<II")
"""The sizes of the header and the line ending of a frame."""
_LONGEST_ENDING: Final = len(b"\r\n")
"""Bytes of the ending of a line; other endings have blank lines too."""
_FRAMINGS: Final[tuple[Framing | None, ...]] = (None, "lines", "headers")
_LOCK_NAME: Final = "lock"
_NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_OLD_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def spool_path(recording: Path) -> Path:
    """Return the directory; parts of a rotated recording have that of the first."""
    return recording.with_name(f".{recording.name}.spool")


class Spool:
    """The notes of a running recorder."""

    def __init__(
        self,
        recording: Path,
        header: bytes,
        last_number: int,
        *,
        has_begun: Callable[[], bool],
        warn: Callable[[str], None],
        turn_bytes: int = TURN_BYTES,
    ) -> None:
        """Make the directory.

        Args:
            recording: The recording, or its first part.
            header: The first line that it has, or will have.
            last_number: The number of its last entry.
            has_begun: Returns whether the header is in the file.
            warn: Called once if notes cannot be written.
            turn_bytes: See `TURN_BYTES`.

        Raises:
            OSError: it cannot be made.
        """
        self.order = threading.Lock()
        """Held while a note is appended and queued: both orders are the same."""
        self._recording = recording
        self._header = header
        self._has_begun = has_begun
        self._warn = warn
        self._has_warned = False
        self._turn_bytes = turn_bytes
        self._size = 0
        self._is_broken = False
        """Whether a note could not be written; later ones are not, up to the next file."""
        self._files: dict[str, int] = {}
        """Names and descriptors; the last one is in use."""
        self._count = 0
        path = spool_path(recording)
        path.mkdir(0o700)
        self._folder = os.open(path, _FOLDER)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._current = self._begin_file(last_number, {})
        except OSError:
            self.close()
            raise

    def append(self, kind: NoteKind, at: float, *data: Part) -> None:
        """Append a note; the caller holds `order`."""
        size = _NOTE.size + sum(map(len, data))
        self._size += size
        if self._is_broken:
            return
        try:
            written = os.writev(self._current, [_NOTE.pack(kind, at, size - _NOTE.size), *data])
        except OSError as problem:
            self._break(describe_os_error(problem))
        except struct.error:
            self._break("too long")
        else:
            if written != size:
                self._break("no room")

    def is_long(self, held: int) -> bool:
        """Return whether it is time for the next file; `held`: bytes of unfinished lines."""
        return self._size > self._turn_bytes + 2 * held

    def turn(self, number: int, unfinished: Mapping[Side, Unfinished]) -> None:
        """Begin the next file; the caller holds `order` and has numbered all notes, up to `number`.

        Call `free` when they are written.
        """
        self._size = 0
        try:
            self._current = self._begin_file(number, unfinished)
            self._is_broken = False
        except OSError as problem:
            self._break(describe_os_error(problem))

    def free(self) -> None:
        """Remove the files before the current one, all of which is in the recording."""
        if self._is_broken:
            # What it has was written by now; there may be room if it is given up.
            with suppress(OSError):
                os.ftruncate(self._current, 0)
        for name in [*self._files][:-1]:
            os.close(self._files.pop(name))
            with suppress(OSError):
                os.unlink(name, dir_fd=self._folder)

    def close(self) -> None:
        """Remove the directory: all is in the recording."""
        remove(self._folder, spool_path(self._recording))
        for descriptor in (*self._files.values(), self._folder):
            os.close(descriptor)
        self._is_broken = True

    def _begin_file(self, number: int, unfinished: Mapping[Side, Unfinished]) -> int:
        name = str(self._count)
        self._count += 1
        client, agent = (unfinished.get(side, Unfinished()) for side in _LINE_KINDS)
        flags = not self._has_begun(), _packed(client), _packed(agent)
        sizes = len(self._header), len(client.data), len(agent.data)
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=self._folder)
        try:
            for part in (_HEAD.pack(number, *flags, *sizes), self._header, client.data, agent.data):
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
        except OSError:
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(name, dir_fd=self._folder)
            raise
        self._files[name] = descriptor
        return descriptor

    def _break(self, reason: str) -> None:
        self._is_broken = True
        if not self._has_warned:
            self._has_warned = True
            self._warn(
                f"the spool of {self._recording} fails ({reason}); if the proxy is killed, "
                "the last frames may be missing from the recording"
            )


@contextmanager
def claim(spool: Path, *, is_shared: bool = False) -> Generator[int | None]:
    """Open a spool that no proxy uses; None if there is none, it is in use, or it is not ours.

    Waits for another process that recovers it. With `is_shared`, which changes nothing, it does
    not: what that process has written, and what is still here, are the same entries.
    """
    with ExitStack() as stack:
        is_ours, is_free, folder = True, False, -1
        try:
            folder = os.open(spool, _FOLDER)
            stack.callback(os.close, folder)
            found = os.fstat(folder)
            is_ours = found.st_uid == os.geteuid() and not found.st_mode & 0o077
            if is_ours:
                # A proxy has it for itself alone.
                fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if not is_shared:
                    _wait_for_turn(folder, stack)
                is_free = os.path.samestat(found, spool.lstat())
        except PermissionError:
            is_ours = False
        except OSError:
            pass
        if not is_ours:
            logger.warning(
                "the last frames of a killed proxy may wait in %s, which is another user's", spool
            )
        yield folder if is_free else None


def _wait_for_turn(folder: int, stack: ExitStack) -> None:
    """Lock a spool among those that change it.

    Raises:
        OSError: another process has it for too long.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(_LOCK_NAME, flags, 0o600, dir_fd=folder)
    stack.callback(os.close, lock)
    ends_at = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends_at:
                raise
            time.sleep(0.01)
        else:
            return


def remove(folder: int, path: Path) -> None:
    """Remove a spool and its files, as far as possible."""
    for name in [*_names(folder), _LOCK_NAME]:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
    with suppress(OSError):
        path.rmdir()


def _names(folder: int) -> list[str]:
    """Return the names of the files with notes, oldest first."""
    return sorted((name for name in os.listdir(folder) if name.isdecimal()), key=int)


class SpoolFile(NamedTuple):
    """A file of a spool."""

    descriptor: int
    header: bytes
    """The first line of the recording."""
    may_begin: bool
    """Whether that line may be missing from the recording."""
    number: int
    """The number of the last entry before the notes."""
    unfinished: Mapping[Side, Unfinished]
    notes: int
    """The offset of the first note."""


@contextmanager
def spool_files(folder: int) -> Generator[list[SpoolFile]]:
    """Open the files of a spool, oldest first; leave out those that are no files of ours."""
    with ExitStack() as stack:
        files: list[SpoolFile] = []
        for name in _names(folder):
            with suppress(OSError):
                descriptor = os.open(name, _OLD_FILE, dir_fd=folder)
                stack.callback(os.close, descriptor)
                file = _read_head(descriptor)
                if file is not None:
                    files.append(file)
        yield files


def _read_head(descriptor: int) -> SpoolFile | None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink > 1:
        return None
    packed = os.pread(descriptor, _HEAD.size, 0)
    if len(packed) < _HEAD.size:
        return None
    number, may_begin, client_state, agent_state, *sizes = _HEAD.unpack(packed)
    notes = _HEAD.size + sum(sizes)
    if sizes[0] > MAX_HEADER or notes > found.st_size:
        return None
    texts: list[bytes] = []
    at = _HEAD.size
    for size in sizes:
        texts.append(os.pread(descriptor, size, at))
        at += size
    header, client, agent = texts
    unfinished: dict[Side, Unfinished] = {
        "client": _unpacked(client, client_state),
        "agent": _unpacked(agent, agent_state),
    }
    return SpoolFile(descriptor, header, may_begin, number, unfinished, notes)


def _packed(unfinished: Unfinished) -> int:
    return unfinished.is_lost + 2 * _FRAMINGS.index(unfinished.framing)


def _unpacked(data: bytes, state: int) -> Unfinished:
    return Unfinished(data, bool(state % 2), _FRAMINGS[min(state // 2, len(_FRAMINGS) - 1)])


def frame_note(side: Side, frame: WireFrame) -> tuple[NoteKind, tuple[bytes, ...]]:
    """Return kind and data of the note of a frame."""
    header, data, ending = frame
    if header or len(ending) > _LONGEST_ENDING:
        around = _AROUND.pack(len(header), len(ending))
        return _HEADED_KINDS[side], (around, header, ending, data)
    return _LINE_KINDS[side], (bytes([len(ending)]), ending, data)


def read_entries(files: list[SpoolFile]) -> Iterator[Entry]:
    """Number the notes as the recorder would have, up to the unfinished frames at the end."""
    numbering, at = Numbering(0), 0.0
    for file in files:
        numbering = Numbering(file.number, file.unfinished)
        for kind, at, data in _read_notes(file):
            _number(numbering, kind, at, data)
            yield from EntryBatch(numbering.take())
    yield from EntryBatch(numbering.finish(at))


def _read_notes(file: SpoolFile) -> Iterator[tuple[bytes, float, bytes]]:
    """Read up to the first note that is not whole: its bytes were not forwarded."""
    size, offset = os.fstat(file.descriptor).st_size, file.notes
    while offset + _NOTE.size <= size:
        kind, at, length = _NOTE.unpack(os.pread(file.descriptor, _NOTE.size, offset))
        offset += _NOTE.size
        if length > size - offset:
            return
        yield kind, at, os.pread(file.descriptor, length, offset)
        offset += length


def _number(numbering: Numbering, kind: bytes, at: float, data: bytes) -> None:
    if kind in {b"c", b"a"}:
        numbering.chunk(at, _SIDES[kind], data)
    elif kind in {b"C", b"A"}:
        size = data[0] if data else 0
        numbering.frame(at, _SIDES[kind], WireFrame(b"", data[1 + size :], data[1 : 1 + size]))
    elif kind in {b"H", b"I"} and len(data) >= _AROUND.size:
        before, after = _AROUND.unpack_from(data)
        begin = _AROUND.size + before + after
        header, ending = data[_AROUND.size : begin - after], data[begin - after : begin]
        numbering.frame(at, _SIDES[kind], WireFrame(header, data[begin:], ending))
    elif kind == b"e":
        numbering.stderr(at, data)
    elif kind == b"!":
        with suppress(ValueError, TypeError):
            name, values = json.loads(data)
            numbering.event(at, str(name), dict(values))
    elif kind == b"g":
        stream, _, size = data.decode(errors="replace").partition(" ")
        if size.isdecimal() and (stream in _LINE_KINDS or stream == "stderr"):
            numbering.gap(at, stream, int(size))
