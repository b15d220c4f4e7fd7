"""Writes recordings; a failing disk never stops the traffic.

Each batch of entries goes to the kernel in one write, without a buffer that SIGKILL would lose. If
writing fails, the entries are counted as dropped, one warning is logged, and a `dropped` event
reports them as soon as writing works again.
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
from typing import Final, Literal, TypeAlias

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
from acp_inspector.recording.lines import (
    MAX_HEADER,
    MAX_LINE,
    ReadAt,
    SkippedLine,
    line_begin,
    line_blocks,
    line_end,
    pieces_between,
    read_at,
)
from acp_inspector.recording.origin import is_our_recording, remember_recording
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import part_beside

WriteMode: TypeAlias = Literal["new", "append", "overwrite"]

MAX_WRITE: Final = 32 * 2**20
"""Bytes to collect for one write; a batch is only larger if a single frame is."""
MAX_PARTS: Final = 512
"""Most parts of one `writev`; systems allow at least twice as many."""

_MODE: Final = 0o600
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors after which writing may succeed later."""
_FOREIGN: Final = "cannot record to {}: it is neither a file nor a device"


class RecordingWriter:
    """An open recording.

    Mode `new` rejects an existing file, `append` continues its numbers and times, `overwrite`
    empties it.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        *,
        mode: WriteMode = "new",
        warn: Callable[[str], None] = lambda text: None,
        retry_when_full: bool = False,
        is_ours: bool = False,
    ) -> None:
        """Open `path`, with mode 0600, never through a symbolic link.

        `retry_when_full`: if the disk is full, do not raise but retry with the first entries.
        `is_ours`: what is written was sent on this machine, so that the recording is trusted here
        once it is closed; if it is appended to, only if what it already has was trusted too.

        Raises:
            RecordingError: the file exists (`new`), is not a recording (`append`), is neither a
            file nor a device, or cannot be written.
        """
        self._path = path
        self._warn = warn
        self._retry_when_full = retry_when_full
        self._is_ours = is_ours
        self._has_warned = False
        self._counts: Counter[str] = Counter()
        self._digest: Digest | None = None
        self._header = b""
        """The first line, until it is hashed."""
        self._pending = b""
        """Bytes to write before the next entry."""
        self._is_withdrawn = False
        self._has_entries = False
        self._dropped = 0
        self._last_dropped: tuple[int, float] | None = None
        self._reason = ""
        self.failure = ""
        """Why writing failed the first time; empty if it never did."""
        self.first_number = 1
        """Number to give to the first entry."""
        self.time_offset = 0.0
        """Seconds to add to the time of each entry."""
        self._descriptor, self.is_created = _open(path, mode)
        self._found_size = os.fstat(self._descriptor).st_size
        """Size of the file when it was opened; 0 once it is emptied."""
        try:
            if mode == "append" and self._found_size:
                self._resume()
            else:
                self._begin(header)
        except BaseException as problem:
            self._end(keep=False)
            if isinstance(problem, OSError):
                raise _refused(path, problem) from None
            raise

    @property
    def size(self) -> int:
        return 0 if self._descriptor < 0 else os.fstat(self._descriptor).st_size

    def has_begun(self) -> bool:
        """Return whether the header is in the file."""
        return not self._pending

    @property
    def first_line(self) -> bytes:
        """The header, which is in the file or will be; empty for a file that is appended to."""
        return self._header

    @property
    def has_dropped(self) -> bool:
        """Whether entries were dropped that no event in the file reports yet."""
        return self._last_dropped is not None

    def write(self, entries: Iterable[Entry]) -> None:
        """Write `entries` in one go; if that fails, count them as dropped."""
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
        """Make `close` undo the opening of the file, unless entries are written before."""
        self._is_withdrawn = True

    def close(self) -> None:
        """Write the footer if possible, and close the file; closing twice is no error."""
        if self._descriptor < 0:
            return
        keep = self._has_entries or not self._is_withdrawn
        try:
            if keep:
                self._put(self._dropped_event())
                self._count_dropped_event()
                self._put([encode_footer(Footer(self._counts, self._hashed().hexdigest()))])
                if self._is_ours and stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                    remember_recording(self._hashed().hexdigest())
        except OSError as problem:
            self._warn_once(describe_os_error(problem))
        self._end(keep=keep and self.has_begun())

    def _begin(self, header: Header) -> None:
        """Write the header; a file to overwrite is only emptied when there is an entry to write."""
        self._header = self._pending = encode_header(header)
        if self._found_size:
            return
        try:
            # Not hashed yet: the start of the proxy waits for this.
            self._write([self._header])
            self._pending = b""
        except OSError as problem:
            if not self._retry_when_full or problem.errno not in _NO_ROOM:
                raise
            self._warn_once(describe_os_error(problem))

    def _end(self, *, keep: bool) -> None:
        """Close the file; unless `keep`, undo what was done to it."""
        if not keep:
            with suppress(OSError):
                found = os.fstat(self._descriptor)
                if self.is_created and os.path.samestat(found, self._path.lstat()):
                    self._path.unlink()
                elif stat.S_ISREG(found.st_mode) and self._found_size < found.st_size:
                    os.ftruncate(self._descriptor, self._found_size)
        os.close(self._descriptor)
        self._descriptor = -1

    def _dropped_event(self) -> Iterable[bytes]:
        """Yield the event that reports dropped entries, if there are any."""
        if self._last_dropped is not None:
            # The event gets the number of the last dropped entry.
            data = {"count": self._dropped, "why": self._reason}
            yield encode_entry(JournalEvent(*self._last_dropped, "dropped", data))

    def _count_dropped_event(self) -> None:
        if self._last_dropped is not None:
            self._last_dropped, self._dropped = None, 0
            self._counts["events"] += 1

    def _put(self, parts: Iterable[Part]) -> None:
        """Write what is pending, then `parts`."""
        digest = self._hashed().copy()
        if self._pending and self._found_size:
            os.ftruncate(self._descriptor, 0)
            self._found_size = 0
        # The digest already covers what is pending.
        self._write(chain([self._pending] if self._pending else [], _hashing(parts, digest)))
        self._digest, self._pending = digest, b""

    def _hashed(self) -> Digest:
        """Return the hash of the file and of what is pending."""
        if self._digest is None:
            # Imported late, because it is slow.
            import hashlib

            self._digest = hashlib.sha256(self._header)
        return self._digest

    def _write(self, parts: Iterable[Part]) -> None:
        """Write all of `parts` or nothing: half a line would break the next one."""
        size = os.fstat(self._descriptor).st_size
        try:
            group: list[Part] = []
            group_size = 0
            for part in parts:
                group.append(part)
                group_size += len(part)
                if group_size >= MAX_WRITE:
                    _write_all(self._descriptor, group)
                    group, group_size = [], 0
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

    def _resume(self) -> None:
        found = read_append_state(self._descriptor)
        if found is None:
            raise RecordingError(f"cannot append to {self._path}: it is not a recording")
        self._digest, self._counts = found.digest, found.counts
        self._is_ours = self._is_ours and is_our_recording(found.digest.hexdigest())
        self.first_number, self.time_offset = found.last_number + 1, found.last_time
        if not found.is_whole:
            self._put([b"\n"])


_COUNTED: Final[dict[type[Entry], str]] = {
    Frame: "frames",
    StderrChunk: "stderr",
    JournalEvent: "events",
}


def _hashing(parts: Iterable[Part], digest: Digest) -> Iterator[Part]:
    """Hash each part when it is built, while it is in the CPU cache."""
    for part in join_small_parts(parts):
        digest.update(part)
        yield part


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
    """Return a descriptor, and whether the file is new."""
    # Do not block on a pipe without a reader.
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
            f"{path} exists already; choose another name, or use --append or --overwrite"
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
    """What a writer needs to append to a recording."""

    digest: Digest
    """Of all bytes of the file."""
    counts: Counter[str]
    last_number: int
    last_time: float
    is_whole: bool
    """Whether the last line has its newline."""


def read_append_state(descriptor: int, *, max_line: int | None = None) -> AppendState | None:
    """Return how to append to a file; None if its first line is not a header of a recording.

    If the digest of the last footer is right, only the footer and the last entry are decoded;
    otherwise every line is indexed, except lines longer than `max_line` bytes, `MAX_LINE` by
    default.

    Raises:
        OSError: the file cannot be read.
    """
    read = partial(read_at, descriptor)
    size = os.fstat(descriptor).st_size
    first = read(0, line_end(read, 0, min(size, MAX_HEADER)))
    if not isinstance(_decoded(first), Header):
        return None
    return _state_by_footer(read, size) or _state_by_lines(read, size, max_line)


def _state_by_footer(read: ReadAt, size: int) -> AppendState | None:
    """Use the footer; return None if there is none, or its digest is wrong."""
    import hashlib

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
    number, time = last_entry(read, at)
    return AppendState(digest, Counter(footer.counts), number, time, is_whole=True)


def last_entry(read: ReadAt, end: int) -> tuple[int, float]:
    """Return number and time of the last entry before `end`; zeros if there is none."""
    while end:
        # Skip the footers of runs without entries.
        begin = line_begin(read, end)
        line = _decoded(read(begin, min(end - begin, MAX_LINE)))
        if isinstance(line, Frame | StderrChunk | JournalEvent):
            return line.seq, line.time
        end = begin
    return 0, 0.0


def _state_by_lines(read: ReadAt, size: int, max_line: int | None) -> AppendState:
    import hashlib

    from acp_inspector.recording.index import LineKind, RecordingIndex

    digest = hashlib.sha256()
    index = RecordingIndex()

    def hashed(pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            digest.update(piece)
            yield piece

    for block in line_blocks(hashed(pieces_between(read, 0, size)), max_line):
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
    counts = Counter(names[kind] for kind in map(LineKind, index.kinds) if kind in names)
    time = max(index.times, default=0.0)
    return AppendState(digest, counts, index.last_number, time, read(size - 1, 1) == b"\n")


def _decoded(line: bytes) -> RecordingLine:
    return decode_line(line.rstrip(b"\n"))


@contextmanager
def atomic_replacement(path: Path, *, overwrite: bool) -> Generator[Path]:
    """Yield a temporary path beside `path`; rename that file to `path` if the block succeeds.

    A link is replaced, and what it leads to stays as it is.

    Raises:
        RecordingExistsError: `path` exists, and `overwrite` is false.
        RecordingError: it cannot be written.
    """
    part = part_beside(path)
    try:
        if not overwrite and os.path.lexists(path):
            raise _exists(path)
        yield part
        if overwrite:
            part.replace(path)
        else:
            # Unlike a rename, a link fails if the name exists by now.
            os.link(part, path)
    except FileExistsError:
        raise _exists(path) from None
    except RecordingExistsError:
        raise
    except RecordingError as problem:
        # The temporary name means nothing to users.
        raise type(problem)(str(problem).replace(str(part), str(path))) from None
    except OSError as problem:
        raise RecordingError(f"cannot write {path}: {describe_os_error(problem)}") from None
    finally:
        part.unlink(missing_ok=True)


def _exists(path: Path) -> RecordingExistsError:
    return RecordingExistsError(f"{path} exists already; choose another name, or use --overwrite")
