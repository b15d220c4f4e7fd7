"""The ordered frames, stderr lines and events of one connection.

Everything that is shown, checked, recorded or replayed is a fold over this. A journal never awaits:
a frame gets its number by a plain append before its bytes leave, so that a question stands before
its answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit on the wire, as bytes."""

    n: int
    """Its number among all entries, from 1."""
    at: float
    """Seconds since the journal began."""
    side: Side
    """Who sent it."""
    raw: bytes
    """Its bytes, without what ended the line."""
    end: bytes = b"\n"
    r"""What ended the line: `\n`, `\r\n`, or nothing where the stream was cut."""


@dataclass(frozen=True, slots=True)
class StderrText:
    """A piece of what the agent wrote to stderr, as it came."""

    n: int
    at: float
    text: bytes


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """Something that happened beside the frames: spawn, exit, a mark."""

    n: int
    at: float
    name: str
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def begins_connection(self) -> bool:
        """Whether another process is spoken with from here on, whose ids are its own."""
        return self.name == "spawn"


Entry: TypeAlias = Frame | StderrText | JournalEvent


class Journal:
    """Entries in order, and those who want to hear of new ones."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._entries: list[Entry] = []
        self._observers: list[Callable[[Entry], None]] = []
        self.created = datetime.now(UTC)

    @property
    def entries(self) -> Sequence[Entry]:
        """All entries so far, oldest first; the list grows while it is looked at."""
        return self._entries

    def __len__(self) -> int:
        """Return the number of entries so far."""
        return len(self._entries)

    def frame(self, side: Side, raw: bytes, end: bytes = b"\n") -> Frame:
        """Append a frame and return it."""
        frame = Frame(len(self._entries) + 1, self._clock() - self._began, side, raw, end)
        self._append(frame)
        return frame

    def line(self, side: Side, line: bytes) -> Frame:
        r"""Append the frame of a line that had its `\n` taken off, and return it."""
        return self.frame(side, *split_ending(line))

    def stderr(self, text: bytes) -> StderrText:
        """Append a piece of stderr and return it."""
        entry = StderrText(len(self._entries) + 1, self._clock() - self._began, text)
        self._append(entry)
        return entry

    def event(self, name: str, **data: Json) -> JournalEvent:
        """Append an event and return it."""
        event = JournalEvent(len(self._entries) + 1, self._clock() - self._began, name, data)
        self._append(event)
        return event

    def subscribe(self, tell: Callable[[Entry], None]) -> Callable[[], None]:
        """Let `tell` hear of each new entry, in line; return what ends that.

        `tell` must be quick. One that raises is heard no more: the traffic goes on without it.
        """
        self._observers.append(tell)

        def unsubscribe() -> None:
            if tell in self._observers:
                self._observers.remove(tell)

        return unsubscribe

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        for tell in tuple(self._observers):
            try:
                tell(entry)
            except Exception:
                # The border to an observer: it must never stop the traffic.
                logger.exception("an observer of the journal failed and was dropped")
                self._observers.remove(tell)


def split_ending(line: bytes) -> tuple[bytes, bytes]:
    r"""Return a line's bytes and what ended it, given the line without its `\n`."""
    return (line[:-1], b"\r\n") if line.endswith(b"\r") else (line, b"\n")
