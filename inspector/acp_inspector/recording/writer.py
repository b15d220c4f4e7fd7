"""Writes a recording without ever stopping the traffic.

Each batch of entries goes to the kernel in one write, with no buffer of our own that a SIGKILL
would lose. When writing fails, the entries are counted as dropped, one warning is given, and as
soon as writing works again a `dropped` event reports it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.encoder import EntryBatch, Part, join_small_parts
from acp_inspector.recording.format import (
    Digest,
    Footer,
    Header,
    RecordingError,
    RecordingExistsError,
    RecordingLine,
    UnreadableLine,
    decode_line,
    encode_entry,
    encode_footer,
    encode_header,
)
from acp_protocol.errors import describe_os_error

if TYPE_CHECKING:
    from acp_inspector.recording.reader import ReadAt

WriteMode: TypeAlias = Literal["new", "append", "overwrite"]

MAX_WRITE: Final = 32 * 2**20
"""Bytes after which a write is due: more than ever waits, unless a single frame is as large."""
MAX_PARTS: Final = 512
"""Parts that one write may have; systems take at least twice as many."""

_MODE: Final = 0o600
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Why writing may fail that may succeed later."""
_FOREIGN: Final = "cannot record to {}: it is neither a file nor a device"


class RecordingWriter:
    """An open recording.

    `new` refuses a file that exists; `append` continues behind its last entry, in numbers and in
    time; `overwrite` empties it.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        *,
        mode: WriteMode = "new",
        warn: Callable[[str], None] = lambda text: None,
        retry_when_full: bool = False,
    ) -> None:
        """Open `path`, with mode 0600, never through a symbolic link.

        `waits_for_room`: a disk that is full already is treated like one that fills up later.

        Raises:
            RecordingError: the file exists (`new`), is no recording (`append`), is neither a file
            nor a device, or cannot be written.
        """
        self._path = path
        self._warn = warn
        self._waits_for_room = retry_when_full
        self._has_warned = False
        self._counts: Counter[str] = Counter()
        self._digest: Digest | None = None
        self._header = b""
        """The first line, as long as it is not hashed."""
        self._pending = b""
        """What has to stand before the next entry, as long as it could not be written."""
        self._is_withdrawn = False
        self._has_entries = False
        self._dropped = 0
        self._last_dropped: tuple[int, float] | None = None
        self._reason = ""
        self.failure = ""
        """Why writing failed first; empty as long as it never did."""
        self.first_number = 1
        """Number that the first entry should get."""
        self.time_offset = 0.0
        """Seconds to add to the time of each entry."""
        self._descriptor, self._is_created = _open(path, mode)
        self._found_size = os.fstat(self._descriptor).st_size
        """Bytes that were there, as long as all of them are."""
        try:
            if mode == "append" and self._found_size:
                self._continue()
            else:
                self._begin(header)
        except BaseException as problem:
            self._end(leaves_it=False)
            if isinstance(problem, OSError):
                raise _refused(path, problem) from None
            raise

    @property
    def size(self) -> int:
        """Bytes that the file holds."""
        return 0 if self._descriptor < 0 else os.fstat(self._descriptor).st_size

    def has_begun(self) -> bool:
        """Tell whether what stands in the file is this recording."""
        return not self._pending

    @property
    def has_dropped(self) -> bool:
        """Whether entries are missing that no event in the file reports yet."""
        return self._last_dropped is not None

    def write(self, entries: Iterable[Entry]) -> None:
        """Write `entries` in one go; when that fails, count them and go on."""
        batch = EntryBatch.of(entries)
        if not batch:
            return
        try:
            self._put(chain(self._dropped_event(), batch.encoded()))
        except OSError as problem:
            self._drop(batch, describe_os_error(problem))
            return
        except MemoryError:
            self._drop(batch, "out of memory")
            return
        self._count_dropped_event()
        self._has_entries = True
        for kind, count in batch.counts().items():
            self._counts[_COUNTED[kind]] += count

    def discard_if_empty(self) -> None:
        """Let `close` leave everything as it was found, unless there are entries by then."""
        self._is_withdrawn = True

    def close(self) -> None:
        """Write the footer, if that is possible, and close the file; closing twice is no error."""
        if self._descriptor < 0:
            return
        leaves_it = self._has_entries or not self._is_withdrawn
        try:
            if leaves_it:
                self._put(self._dropped_event())
                self._count_dropped_event()
                self._put([encode_footer(Footer(self._counts, self._hashed().hexdigest()))])
        except OSError as problem:
            self._warn_once(describe_os_error(problem))
        self._end(leaves_it=leaves_it and self.has_begun())

    def _begin(self, header: Header) -> None:
        """Write the header, but empty no file before there is something to put there."""
        self._header = self._pending = encode_header(header)
        if self._found_size:
            return
        try:
            # Not hashed yet: an editor waits for the start of a recording.
            self._write([self._header])
            self._pending = b""
        except OSError as problem:
            if not self._waits_for_room or problem.errno not in _NO_ROOM:
                raise
            self._warn_once(describe_os_error(problem))

    def _end(self, *, leaves_it: bool) -> None:
        """Close the file; undo what was done to it unless `leaves_it`."""
        if not leaves_it:
            self._undo()
        os.close(self._descriptor)
        self._descriptor = -1

    def _undo(self) -> None:
        with suppress(OSError):
            found = os.fstat(self._descriptor)
            if self._is_created and os.path.samestat(found, self._path.lstat()):
                self._path.unlink()
            elif stat.S_ISREG(found.st_mode) and self._found_size < found.st_size:
                os.ftruncate(self._descriptor, self._found_size)

    def _dropped_event(self) -> Iterable[bytes]:
        """Yield the event that reports missing entries, if there are any."""
        if self._last_dropped is not None:
            # The number of the last entry that is missing is free for the event that reports it.
            data = {"count": self._dropped, "why": self._reason}
            yield encode_entry(JournalEvent(*self._last_dropped, "dropped", data))

    def _count_dropped_event(self) -> None:
        if self._last_dropped is not None:
            self._last_dropped, self._dropped = None, 0
            self._counts["events"] += 1

    def _put(self, parts: Iterable[Part]) -> None:
        """Write `parts` behind what is pending."""
        digest = self._hashed().copy()
        if self._pending and self._found_size:
            os.ftruncate(self._descriptor, 0)
            self._found_size = 0
        # What is pending is hashed as if it stood in the file, for all that follows stands behind.
        self._write(chain([self._pending] if self._pending else [], _hashing(parts, digest)))
        self._digest, self._pending = digest, b""

    def _hashed(self) -> Digest:
        """Return the hash of all that stands in the file."""
        if self._digest is None:
            # Late, because this takes a while.
            import hashlib

            self._digest = hashlib.sha256(self._header)
        return self._digest

    def _write(self, parts: Iterable[Part]) -> None:
        """Write all of `parts` or nothing: half a line would spoil the next."""
        size = os.fstat(self._descriptor).st_size
        try:
            for group in _grouped(parts):
                _write_all(self._descriptor, group)
        except (OSError, MemoryError):
            if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.ftruncate(self._descriptor, size)
            raise

    def _drop(self, batch: EntryBatch, reason: str) -> None:
        self._dropped += batch.counts().total()
        self._last_dropped = batch.last()
        self._reason = reason
        self._warn_once(reason)

    def _warn_once(self, reason: str) -> None:
        self.failure = self.failure or reason
        if not self._has_warned:
            self._has_warned = True
            self._warn(
                f"recording to {self._path} fails ({reason}); the traffic goes on without it"
            )

    def _continue(self) -> None:
        """Read what is there: its digest, its last number and time, and how it ends."""
        found = read_append_state(self._descriptor)
        if found is None:
            raise RecordingError(f"cannot append to {self._path}: it is no recording")
        self._digest, self._counts = found.digest, found.counts
        self.first_number, self.time_offset = found.last_number + 1, found.last_time
        if not found.is_whole:
            self._put([b"\n"])


_COUNTED: Final[dict[type[Entry], str]] = {
    Frame: "frames",
    StderrChunk: "stderr",
    JournalEvent: "events",
}


def _hashing(parts: Iterable[Part], digest: Digest) -> Iterator[Part]:
    """Hash each part as soon as it is made, while the processor still has it at hand."""
    for part in join_small_parts(parts):
        digest.update(part)
        yield part


def _grouped(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Return the parts of each write: all of them, unless a large frame comes piece by piece."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += len(part)
        if size >= MAX_WRITE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _write_all(descriptor: int, parts: Sequence[Part]) -> None:
    if len(parts) > MAX_PARTS:
        parts = [b"".join(parts)]
    written = os.writev(descriptor, parts)
    for part in parts:
        rest = memoryview(part)[written:]
        written = max(0, written - len(part))
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _open(path: Path, mode: WriteMode) -> tuple[int, bool]:
    """Return a descriptor, and whether the file has come into being by that."""
    # A pipe without a reader would be waited for.
    flags = os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    flags |= os.O_RDWR if mode == "append" else os.O_WRONLY
    try:
        try:
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, _MODE), True
        except FileExistsError:
            if mode == "new":
                raise
        descriptor = os.open(path, flags)
    except FileExistsError:
        raise RecordingExistsError(
            f"{path} exists already; choose another name, or say --append or --overwrite"
        ) from None
    except OSError as problem:
        if problem.errno == errno.ENXIO:
            # A pipe without a reader, or a socket.
            raise RecordingError(_FOREIGN.format(path)) from None
        raise _refused(path, problem) from None
    kind = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISCHR(kind)):
        os.close(descriptor)
        raise RecordingError(_FOREIGN.format(path))
    os.set_blocking(descriptor, True)
    return descriptor, False


def _refused(path: Path, problem: OSError) -> RecordingError:
    return RecordingError(f"cannot record to {path}: {describe_os_error(problem)}")


@dataclass(frozen=True, slots=True)
class AppendState:
    """What a writer has to know of a recording to append to it."""

    digest: Digest
    """Of all bytes that are there."""
    counts: Counter[str]
    last_number: int
    last_time: float
    is_whole: bool
    """Whether the last line has its newline."""


def read_append_state(descriptor: int) -> AppendState | None:
    """Return how to append to a file; None if its first line is no header of a recording.

    Where the last footer's digest is right, the footer and the last entry tell everything; else
    every line is read.

    Raises:
        OSError: the file cannot be read.
    """
    from acp_inspector.recording.reader import MAX_HEADER, line_end, read_at

    read = partial(read_at, descriptor)
    size = os.fstat(descriptor).st_size
    first = read(0, line_end(read, 0, min(size, MAX_HEADER)))
    if not isinstance(_decoded(first), Header):
        return None
    return _state_by_footer(read, size) or _state_by_lines(read, size)


def _state_by_footer(read: ReadAt, size: int) -> AppendState | None:
    """Return what the footer says; None if there is none, or if its digest is wrong."""
    import hashlib

    from acp_inspector.recording.reader import MAX_HEADER, line_begin, pieces_between

    at = line_begin(read, size)
    # No footer is longer than a header may be.
    line = read(at, min(size - at, MAX_HEADER))
    footer = _decoded(line)
    if not (isinstance(footer, Footer) and line.endswith(b"\n")):
        return None
    digest = hashlib.sha256()
    for piece in pieces_between(read, 0, at):
        digest.update(piece)
    if digest.hexdigest() != footer.digest:
        return None
    digest.update(line)
    number, time = _last_entry(read, at)
    return AppendState(digest, Counter(footer.counts), number, time, is_whole=True)


def _last_entry(read: ReadAt, end: int) -> tuple[int, float]:
    """Return number and time of the last entry before `end`; zeros if there is none."""
    from acp_inspector.recording.reader import MAX_LINE, line_begin

    while end:
        # Before it may stand footers of runs that wrote nothing.
        begin = line_begin(read, end)
        line = _decoded(read(begin, min(end - begin, MAX_LINE)))
        if isinstance(line, Frame | StderrChunk | JournalEvent):
            return line.seq, line.time
        end = begin
    return 0, 0.0


def _state_by_lines(read: ReadAt, size: int) -> AppendState:
    import hashlib

    from acp_inspector.recording.index import Index, LineKind
    from acp_inspector.recording.reader import SkippedLine, line_blocks, pieces_between

    digest = hashlib.sha256()
    index = Index()

    def hashed(pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            digest.update(piece)
            yield piece

    for block in line_blocks(hashed(pieces_between(read, 0, size))):
        if isinstance(block, SkippedLine):
            continue
        begin = block.rfind(b"\n") + 1
        # A last line without its newline counts, unless it was cut off.
        if block[begin:] and not isinstance(_decoded(block[begin:]), UnreadableLine):
            index.add(block + b"\n", 0)
        else:
            index.add(block[:begin], 0)
    names = {
        LineKind.CLIENT: "frames",
        LineKind.AGENT: "frames",
        LineKind.STDERR: "stderr",
        LineKind.EVENT: "events",
    }
    # In the order in which the kinds come, as a writer counts them.
    counts: Counter[str] = Counter()
    for kind, count in Counter(map(LineKind, index.kinds)).items():
        if kind in names:
            counts[names[kind]] += count
    time = max(index.times, default=0.0)
    return AppendState(digest, counts, index.last_number, time, read(size - 1, 1) == b"\n")


def _decoded(line: bytes) -> RecordingLine:
    return decode_line(line.rstrip(b"\n"))


@contextmanager
def atomic_replacement(path: Path, *, overwrite: bool) -> Generator[Path]:
    """Let the block write a file of another name beside `path`; name it so when all went well.

    Raises:
        RecordingExistsError: there is a file of that name, and it must not be replaced.
        RecordingError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if not overwrite and os.path.lexists(path):
            raise _exists(path)
        yield part
        if overwrite:
            part.replace(path)
        else:
            # A link is refused where the name has come into being meanwhile; a rename is not.
            os.link(part, path)
    except FileExistsError:
        raise _exists(path) from None
    except RecordingExistsError:
        raise
    except RecordingError as problem:
        # The other name means nothing to users.
        raise type(problem)(str(problem).replace(str(part), str(path))) from None
    except OSError as problem:
        raise RecordingError(f"cannot write {path}: {describe_os_error(problem)}") from None
    finally:
        part.unlink(missing_ok=True)


def _exists(path: Path) -> RecordingExistsError:
    return RecordingExistsError(f"{path} exists already; choose another name, or say --overwrite")
