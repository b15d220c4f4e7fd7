r"""An index of a recording's lines, in arrays of 23 bytes a line.

One regular expression runs over many lines at once and reads the start of each, in the layout that
our writer produces; only lines in another layout are decoded. The rest of a line is checked when it
is decoded.

A row is a line after the header: row 0 is line 2 of the file.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate
from operator import add, itemgetter
from typing import Final, NamedTuple

from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Footer, Header, UnreadableLine, decode_line
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Message,
    Request,
    SuccessResponse,
    encode,
    read_message,
)

UNKNOWN_METHOD: Final = 0
"""Code for no method, or one that is not at the start of the message."""
MAX_METHODS: Final = 2**16 - 1
"""Most methods that get a code of their own."""
MAX_METHOD: Final = 256
"""Longest method that gets a code, in bytes."""
MAX_WAITING: Final = 1 << 16
"""Most requests that are pending at once; a hostile file may hold any number."""
NO_COUNTERPART: Final = 0
UNANSWERED: Final = 2**32 - 1
"""Marks a request without a response."""

_CANONICAL: Final = re.compile(
    rb'(?:\{"n":(0|[1-9]\d{0,17}),"t":(\d{1,12}\.\d{6}),"'
    rb'(from":"(?:client|agent)","(?:msg|text|b64|stderr|stderr_b64)|event)":'
    rb'(?:\{"jsonrpc":"2\.0",(?:"id":(-?\d+|"[^"\\\n]*+"),)?'
    rb'(?:"method":"([^"\\\n]*+)"(?:\}|,"params":[\[{])|"(result|error)":)?)?.*\}\n)|.*\n'
)
"""Number, time, kind, id, method, and result or error; all empty for a line in another layout."""
_MESSAGE: Final = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(-?\d+|"[^"\\\n]*+"),(?:"method":"|"(result|error)":)'
)
_ID: Final = b'"id'
"""Occurs in every request and response, unless their keys are escaped."""
_ARRAY: Final = re.compile(rb'"msg"\s*+:\s*+\[')
"""Occurs in every frame that is an array."""
_BEGINNING: Final = re.compile(rb'"(?:spawn|connect)"')
"""Occurs in every event that starts a connection."""


class LineKind(IntEnum):
    """What a line of a recording is."""

    BAD = 0
    CLIENT = 1
    AGENT = 2
    STDERR = 3
    EVENT = 4
    HEADER = 5
    FOOTER = 6


_KINDS: Final[dict[bytes, int]] = {
    # Plain integers: arrays accept them faster than enum members.
    b"": int(LineKind.BAD),
    b"event": int(LineKind.EVENT),
    **{b'from":"client","' + key: int(LineKind.CLIENT) for key in (b"msg", b"text", b"b64")},
    **{b'from":"agent","' + key: int(LineKind.AGENT) for key in (b"msg", b"text", b"b64")},
    **{
        b'from":"%b","%b' % (side, key): int(LineKind.STDERR)
        for side in (b"client", b"agent")
        for key in (b"stderr", b"stderr_b64")
    },
}
_SIDES: Final[dict[int, Side]] = {int(LineKind.CLIENT): "client", int(LineKind.AGENT): "agent"}


class Envelope(NamedTuple):
    """The key that pairs a request with its response."""

    requester: Side
    id: bytes
    """The id as compact JSON."""
    is_response: bool


def envelopes_in(side: Side, raw: bytes) -> list[Envelope]:
    """Return the envelopes of the requests and responses in a frame: several only in an array."""
    if found := _MESSAGE.match(raw):
        return [_envelope(side, found[1], is_response=bool(found[2]))]
    return envelopes_of(side, read_message(raw)) if _ID in raw else []


def envelopes_of(side: Side, message: Message) -> list[Envelope]:
    """Return the envelope of a message, or those of the messages of an array."""
    messages = message.entries if isinstance(message, Batch) else (message,)
    return [found for each in messages if (found := _envelope_of(side, each))]


def _envelope_of(side: Side, message: Message) -> Envelope | None:
    match message:
        case Request(id=id_):
            return _envelope(side, encode(id_), is_response=False)
        case SuccessResponse(id=id_) | ErrorResponse(id=id_):
            return _envelope(side, encode(id_), is_response=True)
        case _:
            return None


def _envelope(side: Side, id_: bytes, *, is_response: bool) -> Envelope:
    other: Side = "agent" if side == "client" else "client"
    return Envelope(other if is_response else side, id_, is_response)


@dataclass(slots=True)
class ArrayPairs:
    """The counterparts of the messages of an array."""

    requests: list[int] = field(default_factory=list[int])
    """Rows of the requests that it responds to."""
    responses: list[int] = field(default_factory=list[int])
    """Rows of the responses to its requests."""
    waiting: int = 0
    """Its requests without a response."""


class Pairing:
    """Pairs requests and responses by row; a response belongs to the oldest request of its id.

    Of an array, which may have several counterparts, `arrays` has all of them.
    """

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._waiting: dict[tuple[str, bytes], deque[int]] = {}
        self.partners = array("I")
        """By row: `NO_COUNTERPART`, `UNANSWERED`, or the row of the counterpart plus one."""
        self.arrays: dict[int, ArrayPairs] = {}
        """By row: the counterparts of arrays."""

    def add(
        self,
        count: int,
        envelopes: Iterable[tuple[int, Envelope]],
        restarts: Sequence[int] = (),
        arrays: Iterable[int] = (),
    ) -> None:
        """Add `count` rows.

        Args:
            count: Number of rows.
            envelopes: Requests and responses, with their position among the new rows.
            restarts: Positions, in order, at which a new connection starts; ids start over there.
            arrays: Positions of arrays.
        """
        first = len(self.partners)
        self.arrays.update((first + place, ArrayPairs()) for place in arrays)
        self.partners.frombytes(bytes(4 * count))
        ahead = deque(restarts)
        for place, each in envelopes:
            while ahead and ahead[0] < place:
                ahead.popleft()
                self._waiting.clear()
            row, key = first + place, (each.requester, each.id)
            if not each.is_response:
                self._ask(row, key)
            elif rows := self._waiting.get(key):
                request = rows.popleft()
                if not rows:
                    del self._waiting[key]
                self._respond(row, request)
        if ahead:
            self._waiting.clear()

    def _ask(self, row: int, key: tuple[str, bytes]) -> None:
        self.partners[row] = UNANSWERED
        if (array := self.arrays.get(row)) is not None:
            array.waiting += 1
        rows = self._waiting.setdefault(key, deque())
        if len(rows) < self._max_waiting:
            rows.append(row)
        if len(self._waiting) > self._max_waiting:
            del self._waiting[next(iter(self._waiting))]

    def _respond(self, row: int, request: int) -> None:
        asking, responding = self.arrays.get(request), self.arrays.get(row)
        if asking is not None:
            asking.waiting -= 1
            asking.responses += [row] if row not in asking.responses[-1:] else []
        if asking is None or not asking.waiting:
            self.partners[request] = row + 1
        if responding is not None:
            responding.requests += [request] if request not in responding.requests[-1:] else []
        if responding is None or not self.partners[row]:
            self.partners[row] = request + 1

    def counterparts(self, row: int) -> list[int]:
        """Return the rows of the requests that a row responds to, and of responses to it."""
        array = self.arrays.get(row)
        if array is not None:
            return sorted({*array.requests, *array.responses})
        partner = self.partners[row]
        return [partner - 1] if NO_COUNTERPART < partner < UNANSWERED else []

    def is_request(self, row: int) -> bool:
        return self.partners[row] > row + 1

    def is_waiting(self, row: int) -> bool:
        """Return whether a row is a request without a response."""
        return self.partners[row] == UNANSWERED

    def request_of(self, row: int) -> int | None:
        """Return the row of the request that this row responds to."""
        partner = self.partners[row]
        return partner - 1 if NO_COUNTERPART < partner <= row else None

    def response_of(self, row: int) -> int | None:
        """Return the row of the response to the request in a row, if there is one."""
        partner = self.partners[row]
        return partner - 1 if row + 1 < partner < UNANSWERED else None


class Methods:
    """Numeric codes of the methods seen so far, starting at 1."""

    def __init__(self, max_methods: int = MAX_METHODS) -> None:
        self._max_methods = max_methods
        self._codes: dict[bytes, int] = {}
        self.names: list[str] = []

    def codes(self, methods: Iterable[bytes]) -> Iterator[int]:
        """Return the code of each method; `UNKNOWN_METHOD` for one without a code."""
        methods = list(methods)
        for method in sorted(set(methods).difference(self._codes)):
            self._codes[method] = self._new_code(method)
        codes = list(map(self._codes.__getitem__, methods))
        if len(self._codes) > self._max_methods:
            # Forget names without a code: a hostile file may hold any number of them.
            self._codes = {name: code for name, code in self._codes.items() if code}
        return iter(codes)

    def name(self, code: int) -> str | None:
        return self.names[code - 1] if code != UNKNOWN_METHOD else None

    def _new_code(self, method: bytes) -> int:
        if not 0 < len(method) <= MAX_METHOD or len(self.names) == self._max_methods:
            return UNKNOWN_METHOD
        try:
            self.names.append(method.decode())
        except UnicodeDecodeError:
            return UNKNOWN_METHOD
        return len(self.names)


@dataclass(frozen=True, slots=True)
class RowInfo:
    """What the index knows of a row."""

    offset: int
    """Byte offset of the line."""
    time: float
    """Seconds; 0 if the line is no entry."""
    kind: LineKind
    """Judged by the start of the line; decoding may still fail."""
    method: str | None
    """The method at the start of the message; None if it is not there."""


class RecordingIndex:
    """The rows of a recording that have been indexed so far."""

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.times = array("d")
        """Seconds; 0 if the line is no entry."""
        self.method_codes = array("H")
        self.kinds = array("B")
        self.methods = Methods()
        self.pairing = Pairing()
        self.last_number = 0
        """The highest entry number."""

    def __len__(self) -> int:
        return len(self.kinds)

    def add(self, block: bytes, offset: int) -> None:
        """Add the lines of `block`, all with their newlines; the first is at `offset`."""
        lines = block.split(b"\n")
        lines.pop()
        if not lines:
            return
        # Column by column: a loop over the lines would double the time.
        numbers, times, heads, ids, names, responses = zip(*_CANONICAL.findall(block), strict=True)
        odd = [place for place, head in enumerate(heads) if not head] if b"" in heads else []
        # A line starts one byte, the newline, after the end of the line before.
        self.offsets.extend(
            map(add, accumulate(map(len, lines), initial=offset), range(len(lines)))
        )
        new_times = array("d", map(float, (t or b"0" for t in times) if odd else times))
        kinds = array("B", map(_KINDS.__getitem__, heads))
        codes = array("H", self.methods.codes(names))
        last = max(map(int, (n or b"0" for n in numbers) if odd else numbers))
        for place in odd:
            kinds[place], number, new_times[place] = _decoded_outline(lines[place])
            last = max(last, number)
        envelopes = [
            (place, _envelope(_SIDES[kinds[place]], id_, is_response=not names[place]))
            for place, id_ in enumerate(ids)
            if id_ and (names[place] or responses[place])
        ]
        arrays = _arrays(lines, kinds) if _ARRAY.search(block) else []
        if block.count(_ID) > len(envelopes):
            known = {place for place, _ in envelopes}
            envelopes += _decoded_envelopes(lines, kinds, codes, known)
            envelopes.sort(key=itemgetter(0))
        restarts = _restarts(lines, kinds) if _BEGINNING.search(block) else ()
        self.pairing.add(len(lines), envelopes, restarts, arrays)
        self.times.extend(new_times)
        self.method_codes.extend(codes)
        self.kinds.extend(kinds)
        self.last_number = max(self.last_number, last)

    def add_skipped(self, offset: int) -> None:
        """Add a line that is too long to read."""
        self.offsets.append(offset)
        self.times.append(0.0)
        self.method_codes.append(UNKNOWN_METHOD)
        self.kinds.append(LineKind.BAD)
        self.pairing.add(1, ())

    def offset(self, row: int) -> int:
        return self.offsets[row]

    def method(self, row: int) -> str | None:
        """Return the method at the start of the row's message."""
        return self.methods.name(self.method_codes[row])

    def row_info(self, row: int) -> RowInfo:
        return RowInfo(
            self.offsets[row], self.times[row], LineKind(self.kinds[row]), self.method(row)
        )

    def row_at(self, offset: int) -> int:
        """Return the row whose line contains the byte at `offset`; -1 for the header."""
        return bisect_right(self.offsets, offset) - 1

    def rows_of(self, kind: LineKind, first: int = 0) -> Iterator[int]:
        """Yield the rows of one kind, starting at `first`."""
        with suppress(ValueError):
            while True:
                row = self.kinds.index(kind, first)
                yield row
                first = row + 1


def _restarts(lines: Sequence[bytes], kinds: Sequence[int]) -> tuple[int, ...]:
    return tuple(
        place
        for place, line in enumerate(lines)
        if kinds[place] == LineKind.EVENT
        and _BEGINNING.search(line)
        and isinstance(event := decode_line(line), JournalEvent)
        and event.begins_connection
    )


def _arrays(lines: Sequence[bytes], kinds: array[int]) -> list[int]:
    """Return the positions of frames that are arrays."""
    return [
        place
        for place, line in enumerate(lines)
        if kinds[place] in _SIDES
        and _ARRAY.search(line)
        and isinstance(entry := decode_line(line), Frame)
        and isinstance(read_message(entry.data), Batch)
    ]


def _decoded_envelopes(
    lines: Sequence[bytes], kinds: array[int], codes: array[int], known: Container[int]
) -> Iterator[tuple[int, Envelope]]:
    """Yield the envelopes of messages whose id is not at the start, and of those in arrays.

    A line that turns out to be no message loses its method code.
    """
    for place, line in enumerate(lines):
        if _ID in line and place not in known and kinds[place] in _SIDES:
            entry = decode_line(line)
            if not isinstance(entry, Frame):
                continue
            message = read_message(entry.data)
            yield from ((place, each) for each in envelopes_of(entry.side, message))
            if isinstance(message, InvalidMessage):
                codes[place] = UNKNOWN_METHOD


def _decoded_outline(line: bytes) -> tuple[LineKind, int, float]:
    """Decode a line in another layout; return its kind, number and time."""
    match decode_line(line):
        case Frame(seq=n, time=at, side=side):
            return (LineKind.CLIENT if side == "client" else LineKind.AGENT), n, at
        case StderrChunk(seq=n, time=at):
            return LineKind.STDERR, n, at
        case JournalEvent(seq=n, time=at):
            return LineKind.EVENT, n, at
        case Header():
            return LineKind.HEADER, 0, 0.0
        case Footer():
            return LineKind.FOOTER, 0, 0.0
        case UnreadableLine():
            return LineKind.BAD, 0, 0.0
