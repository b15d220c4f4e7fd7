"""The ordered frames, stderr chunks and events of one connection.

Everything that is shown, checked, recorded or replayed is a fold over a journal. A journal never
awaits: a frame is numbered by a plain append before its bytes are sent, so that a request always
precedes its response.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Frame:
    """One message on the wire, as bytes."""

    seq: int
    """Its number among all entries, from 1."""
    time: float
    """Seconds since the journal began."""
    side: Side
    """The side that has sent it."""
    data: bytes
    """Its bytes, without the line ending."""
    line_ending: bytes = b"\n"
    r"""The line ending: `\n`, `\r\n`, or nothing if the stream was cut."""


@dataclass(frozen=True, slots=True)
class StderrChunk:
    """A chunk of the agent's stderr, as received."""

    seq: int
    time: float
    data: bytes


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """An event that is not a frame: spawn, exit, a mark."""

    seq: int
    time: float
    name: str
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def begins_connection(self) -> bool:
        """Whether a new process starts here, with ids of its own."""
        return self.name == "spawn"


Entry: TypeAlias = Frame | StderrChunk | JournalEvent


class Sink(Protocol):
    """The destination of a recorder: a file, or memory."""

    first_number: int
    time_offset: float

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries; never raises."""
        ...

    def close(self) -> None: ...


class Journal:
    """Entries in order, and the observers of new ones."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._entries: list[Entry] = []
        self._observers: list[Callable[[Entry], None]] = []
        self.created = datetime.now(UTC)

    @property
    def entries(self) -> Sequence[Entry]:
        """All entries so far, oldest first; the list goes on growing."""
        return self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def frame(self, side: Side, raw: bytes, end: bytes = b"\n") -> Frame:
        frame = Frame(len(self._entries) + 1, self._clock() - self._began, side, raw, end)
        self._append(frame)
        return frame

    def line(self, side: Side, line: bytes) -> Frame:
        r"""Append the frame of a line that is given without its `\n`, and return it."""
        return self.frame(side, *split_ending(line))

    def stderr(self, text: bytes) -> StderrChunk:
        entry = StderrChunk(len(self._entries) + 1, self._clock() - self._began, text)
        self._append(entry)
        return entry

    def event(self, name: str, **data: Json) -> JournalEvent:
        event = JournalEvent(len(self._entries) + 1, self._clock() - self._began, name, data)
        self._append(event)
        return event

    def subscribe(self, observer: Callable[[Entry], None]) -> Callable[[], None]:
        """Call `observer` with each new entry, immediately; return a function that unsubscribes.

        `observer` must be quick. If it raises, it is removed, and the traffic continues.
        """
        self._observers.append(observer)

        def unsubscribe() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return unsubscribe

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        for observer in tuple(self._observers):
            try:
                observer(entry)
            except Exception:
                # Boundary to an observer, catch everything: it must never stop the traffic.
                logger.exception("an observer of the journal failed and was removed")
                self._observers.remove(observer)


def split_ending(line: bytes) -> tuple[bytes, bytes]:
    r"""Return the bytes of a line and its ending, given the line without its `\n`."""
    return (line[:-1], b"\r\n") if line.endswith(b"\r") else (line, b"\n")
