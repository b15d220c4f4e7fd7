"""Rules, add-ons and breakpoints on single messages of an array. No I/O.

Each message of an array is a frame of its own to them. What they do to one changes the array: the
bytes of its other messages stay as they came, and the array stays an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from acp_inspector.intercept.message import InterceptedFrame, change
from acp_protocol.jsonrpc import JSON_TOKEN, Json, message_spans

Entry: TypeAlias = tuple[int, InterceptedFrame]
"""The place of a message in its array, from 0, and the message."""

_BEGIN: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\[")
_REPLACED: Final = {
    "edited": "edited",
    "corrupted": "edited",
    "duplicated": "duplicated",
    "discarded": "discarded",
    "answered": "answered",
}
"""Events of a message that the array has an event of its own for."""


class BatchEdit:
    """Changes an array by what was done to its messages."""

    def __init__(self, frame: InterceptedFrame) -> None:
        """Change `frame`, which has to be an array."""
        self.frame = frame
        self._raw = frame.raw
        self._changes: dict[int, tuple[bytes, ...]] = {}
        self._wait = frame.wait
        self._done: dict[str, list[int]] = {}
        self._others: list[tuple[str, dict[str, Json]]] = []
        self._is_corrupted = False

    def entries(self) -> Iterator[Entry]:
        """Yield its messages as they are before all changes."""
        for index, (start, end) in enumerate(message_spans(self._raw)):
            part = replace(self.frame.frame, data=self._raw[start:end])
            yield index, InterceptedFrame.of(part)

    def entry(self, index: int) -> InterceptedFrame:
        return next(entry for place, entry in self.entries() if place == index)

    def put(self, index: int, entry: InterceptedFrame) -> None:
        """Note what was done to a message; `commit` changes the array."""
        if entry.is_dropped:
            self._changes[index] = ()
        elif entry.raw is not entry.frame.data or entry.copies > 1:
            self._changes[index] = (entry.raw,) * entry.copies
        self._take_effects(entry)
        for name, data in entry.events:
            if (kind := _REPLACED.get(name)) is not None:
                self._is_corrupted |= name == "corrupted"
                self._done.setdefault(kind, []).append(index)
            elif (name, data) not in self._others[-1:]:
                # What is done to the line is done once.
                self._others.append((name, data))

    def commit(self, by: str) -> None:
        """Change the array, with one event for all that was done since the last time."""
        done, self._done = self._done, {}
        others, self._others = self._others, []
        raw = _rebuilt(self._raw, self._changes)
        if raw is None:
            # An array without messages is not valid.
            self.frame.is_dropped = True
            self.frame.add_event("answered" if {*done} == {"answered"} else "discarded", by)
        elif raw != self.frame.raw:
            name = "corrupted" if self._is_corrupted else "edited"
            self.frame.add_event(name, by, **change(self.frame.raw, raw), entries=done)
            self.frame.raw = raw
        self.frame.events += others

    def _take_effects(self, entry: InterceptedFrame) -> None:
        """Do to the whole line what cannot be done to a part of it."""
        frame = self.frame
        frame.replies += entry.replies
        frame.wait = max(frame.wait, self._wait + entry.wait)
        frame.rate = entry.rate or frame.rate
        if entry.piece:
            frame.piece, frame.pause = entry.piece, entry.pause
        if entry.cut_at is not None:
            frame.cut_at, frame.cut_by = entry.cut_at, entry.cut_by
        frame.prefix += entry.prefix
        frame.ending = frame.ending if entry.ending is None else entry.ending
        frame.reordering = entry.reordering or frame.reordering
        frame.hung_by = entry.hung_by or frame.hung_by
        frame.signal = entry.signal or frame.signal
        frame.refusal = entry.refusal or frame.refusal
        frame.late = max(frame.late, entry.late)
        is_gone = entry.hung_by or entry.signal or entry.refusal
        frame.is_dropped = frame.is_dropped or bool(is_gone)


def is_batch(raw: bytes) -> bool:
    """Return whether a line is an array with at least one message, as far as brackets tell.

    A message that is not valid JSON must not hide the others.
    """
    if _BEGIN.match(raw) is None:
        return False
    depth, end = 0, 0
    for token in JSON_TOKEN.finditer(raw):
        text = token[0]
        if text == b'"' or end:
            return False
        depth += (text in {b"[", b"{"}) - (text in {b"]", b"}"})
        if depth == 0:
            end = token.end()
    has_entry = end > 0 and any(start < stop for start, stop in message_spans(raw))
    return has_entry and not raw[end:].strip(b" \t\r\n")


def _rebuilt(raw: bytes, changes: dict[int, tuple[bytes, ...]]) -> bytes | None:
    """Return an array with other messages in some places; None if it has none left."""
    out = bytearray()
    head = last = 0
    is_empty = True
    for index, (start, end) in enumerate(message_spans(raw)):
        separator = raw[last:start] if index else b","
        head = head if index else start
        last = end
        for entry in changes.get(index, (raw[start:end],)):
            out += entry if is_empty else separator + entry
            is_empty = False
    return None if is_empty else raw[:head] + bytes(out) + raw[last:]
