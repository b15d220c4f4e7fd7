"""An index kept beside its recording, which anyone may delete at any time.

It is believed only while the recording is as it was: the same size and time, beginning and end. A
recording that has only grown since keeps what is known of its beginning.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from acp_inspector.recording.content import read_at
from acp_inspector.recording.index import Index, size_of
from acp_inspector.recording.outlines import METHODS, Methods
from acp_inspector.recording.pairing import Pairing

SUFFIX: Final = ".acp-index"
FORMAT: Final = 3
EDGE: Final = 1 << 16
"""Bytes at the beginning and at the end that are compared."""
TRAILER_LIMIT: Final = 1 << 25
"""Bytes of the longest trailer that is read."""

_MAGIC: Final = b"ACPINDEX"
_PROBLEMS: Final = (
    *(OSError, ValueError, TypeError, KeyError, AttributeError),
    *(OverflowError, RecursionError),
)
"""What reading a file may raise in which anything may stand."""


@dataclass(frozen=True, slots=True)
class State:
    """How the recording was when its index was made."""

    size: int
    modified: int
    """Nanoseconds."""
    head: str
    """Digest of its first bytes."""
    tail: str
    """Digest of its last bytes."""


@dataclass(frozen=True, slots=True)
class Trailer:
    """What stands behind the segments."""

    state: State
    rows: int
    end: int
    """Where the last row ends in the recording, unpacked."""
    methods: list[str]
    changed: list[int] = field(default_factory=list[int])
    """Rows of footers whose digest does not fit."""
    open: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Rows of the questions without an answer, by side and id."""


def index_path(path: Path) -> Path:
    """Return where the index of the recording at `path` is kept."""
    return path.with_name(path.name + SUFFIX)


def state_of(path: Path, size: int | None = None) -> State:
    """Return how the file is now, or how it was when it had `size` bytes, as far as one can tell.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        facts = os.fstat(file.fileno())
        size = facts.st_size if size is None else size
        head = read_at(file.fileno(), 0, min(EDGE, size))
        tail = read_at(file.fileno(), max(0, size - EDGE), min(EDGE, size))
    return State(size, facts.st_mtime_ns, _digest(head), _digest(tail))


def save_index(path: Path, index: Index, trailer: Trailer) -> None:
    """Keep the index beside the recording at `path`, or not at all; it appears whole, mode 0600.

    Raises:
        OSError: it cannot be written.
    """
    place = index_path(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            index.write(file)
            words = json.dumps({"acp_index": FORMAT} | asdict(trailer)).encode()
            file.write(words + len(words).to_bytes(8, "little") + _MAGIC)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_index(path: Path, *, may_grow: bool) -> tuple[Index, Trailer] | None:
    """Return what is kept of the recording at `path`, if it still fits; None otherwise.

    `may_grow`: an index that fits the beginning of the recording will do.
    """
    # Whatever is wrong with a cache, it is made anew.
    with suppress(*_PROBLEMS):
        descriptor = os.open(index_path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        file = os.fdopen(descriptor, "rb")
        try:
            trailer = _trailer(file.fileno())
            if _fits(path, trailer.state, may_grow=may_grow):
                pairing = Pairing(trailer.open)
                return Index(file, trailer.rows, Methods(trailer.methods), pairing), trailer
        except BaseException:
            file.close()
            raise
        file.close()
    return None


def _trailer(descriptor: int) -> Trailer:
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
        raise ValueError("somebody else's")
    end = read_at(descriptor, max(0, facts.st_size - 16), 16)
    size = int.from_bytes(end[:8], "little")
    if end[8:] != _MAGIC or size > TRAILER_LIMIT:
        raise ValueError("no index")
    at = facts.st_size - 16 - size
    words = json.loads(read_at(descriptor, max(0, at), size))
    if words.pop("acp_index") != FORMAT:
        raise ValueError("another format")
    trailer = Trailer(State(**words.pop("state")), **words)
    if not all(trailer.open.values()):
        raise ValueError("no question waits")
    waiting = [row for rows in trailer.open.values() for row in rows]
    numbers = [trailer.rows, trailer.end, *trailer.changed, *waiting]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("no numbers")
    if not all(type(name) is str for name in trailer.methods) or len(trailer.methods) > METHODS:
        raise ValueError("no names")
    if at != size_of(trailer.rows):
        raise ValueError("segments are missing")
    return trailer


def _fits(path: Path, then: State, *, may_grow: bool) -> bool:
    now = state_of(path)
    if now == then:
        return True
    if not may_grow or now.size <= then.size:
        return False
    before = state_of(path, then.size)
    return (before.head, before.tail) == (then.head, then.tail)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
