"""What left a proxy that interfered, told from the recording, which has the frames as they came.

A frame stands in the recording when it arrives, and an event tells of each deed done to it. A frame
of ours stands there too, with an `injected` event; everything else came from a peer.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_protocol.framing import Side, with_length
from acp_protocol.jsonrpc import Json

_GONE: Final = frozenset({"discarded", "answered", "crashed", "hung"})
_CHANGED: Final = frozenset({"edited", "corrupted"})


@dataclass(slots=True)
class Fate:
    """What became of a frame."""

    frame: Frame
    raw: bytes
    """What left in its place."""
    copies: int = 1
    """How many times it left; 0 if it did not."""
    cut_at: int | None = None
    """How many bytes of it left; None for all."""
    is_injected: bool = False
    """Whether it came from no peer."""
    prefix: bytes = b""
    """What left before it."""
    ending: bytes | None = None
    """How its line ended; None: as it came."""
    beside: tuple[str, int] | None = None
    """`before` or `after` which frame it left, where that is not its own place."""
    deeds: list[JournalEvent] = field(default_factory=list[JournalEvent])
    """The events that tell of it."""

    @property
    def wire(self) -> bytes:
        """The bytes that left."""
        header, ending = self.frame.header, self.frame.line_ending
        if header and self.ending is not None:
            header = header.replace(b"\r\n", self.ending)
        elif self.ending is not None:
            ending = self.ending
        if self.raw != self.frame.data:
            header = with_length(header, len(self.raw))
        whole = header + self.raw + ending
        if self.copies and self.cut_at is not None:
            return self.prefix + whole[: self.cut_at]
        first = whole + b"\n" if self.frame.is_cut and self.ending is None else whole
        return self.prefix + first * (self.copies - 1) + whole if self.copies else b""


def fates(entries: Iterable[Entry]) -> Mapping[int, Fate]:
    """Return what became of each frame, by its number, in the order of the recording."""
    found: dict[int, Fate] = {}
    for entry in entries:
        if isinstance(entry, Frame):
            found[entry.seq] = Fate(entry, entry.data)
        elif isinstance(entry, JournalEvent):
            fate = found.get(_number(entry, "of") or 0)
            if fate is not None:
                fate.deeds.append(entry)
                _apply(fate, entry)
    return found


def what_came(entries: Iterable[Entry], side: Side) -> Sequence[bytes]:
    """Return what `side` sent, frame by frame, with the bytes around each."""
    return [
        fate.frame.wire
        for fate in fates(entries).values()
        if fate.frame.side == side and not fate.is_injected
    ]


def what_left(entries: Iterable[Entry], side: Side) -> Sequence[bytes]:
    """Return what went out as coming from `side`, in that order: each frame's bytes."""
    own = [fate for fate in fates(entries).values() if fate.frame.side == side]
    moved = sorted((fate for fate in own if fate.beside), key=_moment)
    before: dict[int, list[Fate]] = {}
    after: dict[int, list[Fate]] = {}
    for fate in moved:
        where, number = fate.beside or ("after", 0)
        (after if where == "after" else before).setdefault(number, []).append(fate)
    left: list[bytes] = []
    for fate in own:
        n = fate.frame.seq
        here = [] if fate.beside else [fate]
        left += [one.wire for one in (*before.get(n, ()), *here, *after.get(n, ()))]
    return [wire for wire in left if wire]


def _apply(fate: Fate, event: JournalEvent) -> None:
    if event.name in _GONE:
        fate.copies = 0
    elif event.name in _CHANGED:
        fate.raw = _verbatim(event.data)
    elif event.name == "duplicated":
        fate.copies = _number(event, "times") or 1
    elif event.name == "cut":
        fate.cut_at = _number(event, "at")
    elif event.name == "preceded":
        fate.prefix += _verbatim(event.data, "text")
    elif event.name == "line_ended":
        fate.ending = str(event.data["ending"]).encode()
    elif event.name == "injected":
        fate.is_injected = True
    for where in ("before", "after"):
        if number := _number(event, where):
            fate.beside = where, number


def _moment(fate: Fate) -> int:
    """Return the number of the event that tells when it left."""
    return max(event.seq for event in fate.deeds if {"before", "after"} & set(event.data))


def _number(event: JournalEvent, name: str) -> int | None:
    value: Json = event.data.get(name)
    return value if type(value) is int else None


def _verbatim(data: Mapping[str, Json], name: str = "now") -> bytes:
    text, binary = data.get(name), data.get(f"{name}_b64")
    if isinstance(text, str):
        return text.encode(errors="surrogatepass")
    return base64.b64decode(binary) if isinstance(binary, str) else b""
