"""Splits a stream of server-sent events, and keeps every byte of it.

Source: HTML, "Server-sent events", "Interpreting an event stream".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_EVENT_BYTES: Final = 64 * 2**20
"""Bytes of an event that is read; of a longer one, the bytes pass."""
_END: Final = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event as it came."""

    raw: bytes
    """All its bytes, with the blank line that ends it."""
    data: bytes | None
    """Its message; None if it has none: a comment, or nothing but an id."""
    name: str = ""
    id: str = ""
    size: int = 0
    """How many bytes it had; more than `raw` if it was too long."""

    def with_data(self, data: bytes) -> bytes:
        """Return its bytes with other data; its other lines stay."""
        out = bytearray()
        is_written = False
        for line in _lines(self.raw):
            if _field(line) != b"data":
                out += line
            elif not is_written:
                is_written = True
                ending = line[len(line.rstrip(b"\r\n")) :] or b"\n"
                out += ending.join(b"data: " + part for part in data.split(b"\n")) + ending
        return bytes(out)


def new_event(data: bytes) -> bytes:
    """Return the bytes of an event with `data`."""
    return b"".join(b"data: %b\n" % part for part in data.split(b"\n")) + b"\n"


class EventSplitter:
    """Splits chunks into events; one thread or task feeds it."""

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._held = bytearray()
        self._searched = 0
        """Bytes of them in which no end was found."""
        self._skipped = 0
        """Bytes of an event that is too long, and was given up."""

    @property
    def held(self) -> int:
        """Bytes of the event that has not ended yet."""
        return len(self._held) + self._skipped

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return the events that a chunk ends, in order.

        An event that is too long has no data, and only its last bytes.
        """
        self._held += chunk
        events: list[StreamEvent] = []
        while found := self._find_end():
            raw = bytes(self._held[: found.end()])
            del self._held[: found.end()]
            self._searched = 0
            if self._skipped:
                events.append(StreamEvent(raw, None, size=self._skipped + len(raw)))
            else:
                events.append(read_event(raw))
            self._skipped = 0
        # The end may be cut anywhere.
        self._searched = max(len(self._held) - 3, 0)
        if len(self._held) > self._limit:
            self._skipped += self._searched
            del self._held[: self._searched]
            self._searched = 0
        return events

    def rest(self) -> bytes:
        """Return what there is of an event that has not ended; it stays."""
        return bytes(self._held)

    def _find_end(self) -> re.Match[bytes] | None:
        if self._held.startswith((b"\n", b"\r")) and not self._skipped:
            # A blank line that ends nothing: keep it apart.
            return re.match(rb"\r\n|\n|\r", self._held)
        return _END.search(self._held, self._searched)


def read_event(raw: bytes) -> StreamEvent:
    """Return what an event says."""
    data: list[bytes] = []
    name = id_ = ""
    for line in _lines(raw):
        field = _field(line)
        value = line.rstrip(b"\r\n").partition(b":")[2]
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"id":
            id_ = value.decode("utf-8", "replace")
    return StreamEvent(raw, b"\n".join(data) if data else None, name, id_, len(raw))


def _lines(raw: bytes) -> list[bytes]:
    return [line for line in _LINE.findall(raw) if line]


def _field(line: bytes) -> bytes:
    return line.removeprefix(_BOM).rstrip(b"\r\n").partition(b":")[0]
