"""Edits of frames: what a person, a rule or an add-on sent in place of what had come.

The recording keeps the frame as its sender wrote it, and an event with both lines. Views of a
session read each frame as it was sent: what follows from it then needs no correction.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json, parse

EDIT_EVENTS: Final = ("edited", "corrupted")
"""The events that report an edit."""
MAX_CHANGES: Final = 3
"""Changes of an edit that are described."""
VALUE_WIDTH: Final = 60
"""Characters of each value that is described."""
_CONTEXT: Final = 12
"""Characters of the same word that are shown before a change, and after it, at most."""


@dataclass(frozen=True, slots=True)
class FrameEdit:
    """A frame that was sent with other bytes."""

    seq: int
    """The entry of the event."""
    of: int
    """The frame."""
    by: str
    was: bytes
    now: bytes

    def sent(self, frame: Frame) -> Frame:
        """Return the frame as it was sent."""
        return replace(frame, data=self.now)


def edit_of(event: JournalEvent) -> FrameEdit | None:
    """Return the edit that an event reports; None for other events."""
    n, by = event.data.get("of"), event.data.get("by")
    if event.name not in EDIT_EVENTS or type(n) is not int:
        return None
    was, now = (_bytes(event.data, key) for key in ("was", "now"))
    if was is None or now is None:
        return None
    return FrameEdit(event.seq, n, by if isinstance(by, str) else "", was, now)


class Edits:
    """The edits of a journal that are known so far."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        """Begin with the edits that `entries` report."""
        self._last: dict[int, FrameEdit] = {}
        for entry in entries:
            self.note(entry)

    def __bool__(self) -> bool:
        return bool(self._last)

    def note(self, entry: Entry) -> FrameEdit | None:
        """Take note of an entry; return the edit that it reports, unless that was known.

        An edit of what an earlier one has sent replaces what that one found.
        """
        edit = edit_of(entry) if isinstance(entry, JournalEvent) else None
        known = None if edit is None else self._last.get(edit.of)
        if edit is None or (known is not None and known.seq >= edit.seq):
            return None
        if known is not None:
            edit = replace(edit, was=known.was)
        self._last[edit.of] = edit
        return edit

    def of(self, n: int) -> FrameEdit | None:
        """Return the last edit of frame `n`, from what came; None if it was sent as it came."""
        return self._last.get(n)

    def copy(self) -> Edits:
        found = Edits()
        found._last.update(self._last)
        return found


def _bytes(data: Mapping[str, Json], key: str) -> bytes | None:
    text, encoded = data.get(key), data.get(f"{key}_b64")
    if isinstance(text, str):
        return text.encode(errors="surrogatepass")
    try:
        return b64decode(encoded, validate=True) if isinstance(encoded, str) else None
    except ValueError:
        return None


def edit_text(edit: FrameEdit) -> str:
    """Return what an edit changed, on one line, safe to show: `text "…bread" → "…cheese"`."""
    try:
        changes = list(_changes(parse(edit.was), parse(edit.now), ""))
    except (ValueError, RecursionError):
        changes = [("", edit.was.decode(errors="replace"), edit.now.decode(errors="replace"))]
    shown = [_change_text(*each) for each in changes[:MAX_CHANGES]]
    more = len(changes) - MAX_CHANGES
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else [])]) or "spelling alone"


def _change_text(name: str, was: Json, now: Json) -> str:
    begin = tail = 0
    if isinstance(was, str) and isinstance(now, str):
        begin = _same_begin(was, now)
        tail = _same_begin(was[begin:][::-1], now[begin:][::-1])
    values = [_value_text(was, begin, tail), _value_text(now, begin, tail)]
    return f"{single_line(name, VALUE_WIDTH)} {values[0]} → {values[1]}".lstrip()


def _same_begin(was: str, now: str) -> int:
    """Return the characters that both texts begin with, but for the word that has changed."""
    same = next(
        (at for at, (one, other) in enumerate(zip(was, now, strict=False)) if one != other),
        min(len(was), len(now)),
    )
    least = max(same - _CONTEXT, 0)
    while same > least and was[same - 1].isalnum():
        same -= 1
    # An ellipsis replaces more than one character.
    return same if same > 1 else 0


def _value_text(value: Json, begin: int, tail: int) -> str:
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, str):
        shown = value[begin : len(value) - tail]
        text = single_line(shown[: VALUE_WIDTH + 1], VALUE_WIDTH)
        return f'"{"…" if begin else ""}{text}{"…" if tail else ""}"'
    return single_line(json_text(value), VALUE_WIDTH)


_ABSENT: Final = object()


def _changes(was: Json, now: Json, name: str) -> Iterator[tuple[str, Json, Json]]:
    """Yield the values that differ, each with the name of its member."""
    is_same = type(was) is type(now) and was == now
    one, other = as_object(was), as_object(now)
    befores, afters = as_list(was), as_list(now)
    if isinstance(was, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*one, *other)):
            yield from _changes(one.get(key, _ABSENT), other.get(key, _ABSENT), key)
    elif isinstance(was, list) and isinstance(now, list) and len(befores) == len(afters):
        for before, after in zip(befores, afters, strict=True):
            yield from _changes(before, after, name)
    elif not is_same:
        yield name, was, now
