"""Writes a recording without ever stopping who asks for it.

Each batch of entries goes to the kernel in one write, with no buffer of our own that a SIGKILL
would lose. When writing fails, the entries are counted as dropped, one warning is given, and as
soon as writing works again a `dropped` event tells of it.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, Literal, TypeAlias

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording.encoder import Batch
from acp_inspector.recording.format import (
    Digest,
    Footer,
    Header,
    RecordingError,
    RecordingExistsError,
    encode_entry,
    encode_footer,
    encode_header,
)
from acp_protocol.errors import describe_os_error

Mode: TypeAlias = Literal["new", "append", "overwrite"]

WRITE: Final = 32 * 2**20
"""Bytes after which a write is due: more than ever waits, unless a single frame is as large."""
SMALL: Final = 1 << 14
"""Bytes below which a part is not worth a step of its own."""
MANY: Final = 256
"""Small parts that are joined, at most."""
PARTS: Final = 512
"""Parts that one write may have; systems take at least twice as many."""

_MODE: Final = 0o600


class RecordingWriter:
    """An open recording.

    `new` refuses a file that exists; `append` goes on behind its last entry, in numbers and in
    time; `overwrite` empties it.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        *,
        mode: Mode = "new",
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Open `path`, with mode 0600, never through a symbolic link.

        Raises:
            RecordingError: the file exists (`new`), is no recording (`append`) or cannot be
            written.
        """
        self._path = path
        self._warn = warn
        self._has_warned = False
        self._counts: Counter[str] = Counter()
        self._digest: Digest | None = None
        self._header = b""
        """The first line, as long as it is not hashed."""
        self._dropped = 0
        self._last_dropped: tuple[int, float] | None = None
        self._reason = ""
        self.failure = ""
        """Why writing failed first; empty as long as it never did."""
        self.first_number = 1
        """Number that the first entry should get."""
        self.time_offset = 0.0
        """Seconds to add to the time of each entry."""
        self._descriptor = _open(path, mode)
        try:
            if mode == "append" and os.fstat(self._descriptor).st_size:
                self._go_on()
            else:
                self._header = encode_header(header)
                self._write([self._header])
        except BaseException as problem:
            os.close(self._descriptor)
            self._descriptor = -1
            if mode == "new":
                path.unlink(missing_ok=True)
            if isinstance(problem, OSError):
                raise _refused(path, problem) from None
            raise

    @property
    def size(self) -> int:
        """Bytes that the file holds."""
        return 0 if self._descriptor < 0 else os.fstat(self._descriptor).st_size

    @property
    def is_behind(self) -> bool:
        """Whether entries are missing that nothing in the file tells of yet."""
        return self._last_dropped is not None

    def write(self, entries: Iterable[Entry]) -> None:
        """Write `entries` in one go; when that fails, count them and go on."""
        batch = Batch.of(entries)
        if not batch:
            return
        try:
            self._put(chain(self._tale(), batch.encoded()))
        except OSError as problem:
            self._drop(batch, describe_os_error(problem))
            return
        except MemoryError:
            self._drop(batch, "out of memory")
            return
        self._told()
        for kind, count in batch.counts().items():
            self._counts[_COUNTED[kind]] += count

    def close(self) -> None:
        """Write the footer, if that is possible, and close the file; closing twice is no error."""
        if self._descriptor < 0:
            return
        try:
            self._put(self._tale())
            self._told()
            self._put([encode_footer(Footer(self._counts, self._hashed().hexdigest()))])
        except OSError as problem:
            self._warn_once(describe_os_error(problem))
        os.close(self._descriptor)
        self._descriptor = -1

    def _tale(self) -> Iterable[bytes]:
        """Return what tells of entries that are missing."""
        if self._last_dropped is not None:
            # The number of the last entry that is missing is free for the event that tells of it.
            told = {"count": self._dropped, "why": self._reason}
            yield encode_entry(JournalEvent(*self._last_dropped, "dropped", told))

    def _told(self) -> None:
        if self._last_dropped is not None:
            self._last_dropped, self._dropped = None, 0
            self._counts["events"] += 1

    def _put(self, parts: Iterable[bytes]) -> None:
        digest = self._hashed().copy()
        self._write(_hashing(parts, digest))
        self._digest = digest

    def _hashed(self) -> Digest:
        """Return the hash of all that stands in the file."""
        if self._digest is None:
            # Late, because an editor waits for the start of a recording, and this takes a while.
            import hashlib

            self._digest = hashlib.sha256(self._header)
        return self._digest

    def _write(self, parts: Iterable[bytes]) -> None:
        """Write all of `parts` or nothing: half a line would spoil the next."""
        size = os.fstat(self._descriptor).st_size
        try:
            for group in _grouped(parts):
                _write_all(self._descriptor, group)
        except (OSError, MemoryError):
            if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.ftruncate(self._descriptor, size)
            raise

    def _drop(self, batch: Batch, reason: str) -> None:
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

    def _go_on(self) -> None:
        """Read what is there: its digest, its last number and time, and how it ends."""
        # Late, because hardly any start appends, and an editor waits for every one.
        from acp_inspector.recording.resumption import read_resumption

        found = read_resumption(self._descriptor)
        if found is None:
            raise RecordingError(f"cannot append to {self._path}: it is no recording")
        self._digest, self._counts = found.digest, found.counts
        self.first_number, self.time_offset = found.last_number + 1, found.last_time
        if not found.is_whole:
            self._put([b"\n"])


_COUNTED: Final[dict[type[Entry], str]] = {
    Frame: "frames",
    StderrText: "stderr",
    JournalEvent: "events",
}


def _hashing(parts: Iterable[bytes], digest: Digest) -> Iterator[bytes]:
    """Hash each part as soon as it is made, while the processor still has it at hand."""
    for part in _joined(parts):
        digest.update(part)
        yield part


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Return `parts`, the small ones joined: each that is hashed and written alone costs steps."""
    small: list[bytes] = []
    for part in parts:
        small.append(part)
        if len(part) >= SMALL or len(small) == MANY:
            yield b"".join(small) if len(small) > 1 else part
            small.clear()
    if small:
        yield b"".join(small)


def _grouped(parts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Return the parts of each write: all of them, unless a large frame comes piece by piece."""
    group: list[bytes] = []
    size = 0
    for part in parts:
        group.append(part)
        size += len(part)
        if size >= WRITE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _write_all(descriptor: int, parts: Sequence[bytes]) -> None:
    if len(parts) > PARTS:
        parts = [b"".join(parts)]
    written = os.writev(descriptor, parts)
    for part in parts:
        rest = memoryview(part)[written:]
        written = max(0, written - len(part))
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _open(path: Path, mode: Mode) -> int:
    flags = os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_CREAT
    flags |= os.O_RDWR if mode == "append" else os.O_WRONLY
    flags |= {"new": os.O_EXCL, "append": 0, "overwrite": os.O_TRUNC}[mode]
    try:
        return os.open(path, flags, _MODE)
    except FileExistsError:
        raise RecordingExistsError(
            f"{path} exists already; choose another name, or say --append or --overwrite"
        ) from None
    except OSError as problem:
        raise _refused(path, problem) from None


def _refused(path: Path, problem: OSError) -> RecordingError:
    return RecordingError(f"cannot record to {path}: {describe_os_error(problem)}")
