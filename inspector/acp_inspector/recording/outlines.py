r"""What the lines of a recording are, found without reading their JSON.

One expression runs over many lines at once and takes from each what stands at its beginning, in the
way that our writer puts it. Only a line that was written by somebody else is read as JSON.

That a line has an outline does not say that all of it is good: what stands behind its beginning is
looked at when the line is decoded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import accumulate
from operator import add
from typing import Final

from acp_inspector.journal import Frame, JournalEvent, StderrText
from acp_inspector.recording.format import Footer, Header, Unreadable, decode_line
from acp_inspector.recording.pairing import Envelope, envelope_of
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Malformed, read_message

UNKNOWN_METHOD: Final = 0
"""Code of a method that is not known without a look at the message, or of which there is none."""
METHODS: Final = 2**16 - 1
"""Different methods that get a code of their own."""
METHOD_LIMIT: Final = 256
"""Bytes of the longest method that gets one."""

_CANONICAL: Final = re.compile(
    rb'(?:\{"n":(0|[1-9]\d{0,17}),"t":(\d{1,12}\.\d{6}),"'
    rb'(from":"(?:client|agent)","(?:msg|text|b64|stderr|stderr_b64)|event)":'
    rb'(?:\{"jsonrpc":"2\.0",(?:"id":(-?\d+|"[^"\\\n]*+"),)?'
    rb'(?:"method":"([^"\\\n]*+)"(?:\}|,"params":[\[{])|"(result|error)":)?)?.*\}\n)|.*\n'
)
"""Number, time, what it is, id, method, and how it answers.

All of them are empty for what our writer would put otherwise.
"""


class Kind(IntEnum):
    """What a line of a recording is."""

    FAULT = 0
    CLIENT = 1
    AGENT = 2
    STDERR = 3
    EVENT = 4
    HEADER = 5
    FOOTER = 6


_KINDS: Final[dict[bytes, Kind]] = {
    b"": Kind.FAULT,
    b"event": Kind.EVENT,
    **{b'from":"client","' + key: Kind.CLIENT for key in (b"msg", b"text", b"b64")},
    **{b'from":"agent","' + key: Kind.AGENT for key in (b"msg", b"text", b"b64")},
    **{
        b'from":"%b","%b' % (side, key): Kind.STDERR
        for side in (b"client", b"agent")
        for key in (b"stderr", b"stderr_b64")
    },
}
_CODES: Final = {head: int(kind) for head, kind in _KINDS.items()}
"""Plain numbers, which arrays take faster than those of an enumeration."""
_ID: Final = b'"id'
"""What stands in every question and every answer, but for those that spell it with escapes."""
_SPAWN: Final = b'"spawn"'
"""What stands in every event that tells of a new process."""
_SIDES: Final[dict[int, Side]] = {int(Kind.CLIENT): "client", int(Kind.AGENT): "agent"}


class Methods:
    """Codes of the methods that were seen, from 1 on."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self._codes = {name.encode(): code for code, name in enumerate(self.names, start=1)}

    def codes(self, methods: Iterable[bytes]) -> Iterator[int]:
        """Return the code of each method; `UNKNOWN_METHOD` for one that gets none."""
        methods = list(methods)
        new = set(methods).difference(self._codes)
        for method in sorted(new):
            self._codes[method] = self._new_code(method)
        codes = list(map(self._codes.__getitem__, methods))
        if len(self._codes) > METHODS:
            # Names that got no code are not kept: a hostile file may hold any number of them.
            self._codes = {name: code for name, code in self._codes.items() if code}
        return iter(codes)

    def name(self, code: int) -> str | None:
        """Return the method that `code` stands for."""
        # A code may come from a file that somebody else wrote.
        return self.names[code - 1] if UNKNOWN_METHOD < code <= len(self.names) else None

    def _new_code(self, method: bytes) -> int:
        if not 0 < len(method) <= METHOD_LIMIT or len(self.names) == METHODS:
            return UNKNOWN_METHOD
        try:
            self.names.append(method.decode())
        except UnicodeDecodeError:
            return UNKNOWN_METHOD
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Outlines:
    """Columns with one place for each line."""

    offsets: array[int]
    """Where the line begins in the file."""
    times: array[float]
    """Seconds; 0 for what is no entry."""
    kinds: array[int]
    methods: array[int]
    last_number: int
    """The highest of all entries; 0 if there is none."""
    envelopes: tuple[Envelope, ...] = ()
    """Of the questions and answers among them."""
    begins: tuple[int, ...] = ()
    """Places of the events after which another process is spoken with."""


def broken_line(at: int) -> Outlines:
    """Return the outline of a line at `at` that is not looked at."""
    return Outlines(
        array("Q", [at]),
        array("d", [0.0]),
        array("B", [Kind.FAULT]),
        array("H", [UNKNOWN_METHOD]),
        0,
    )


def outline(lines: bytes, at: int, methods: Methods) -> Outlines:
    """Return the outlines of `lines`, of which each ends in a newline; the first begins at `at`."""
    parts = lines.split(b"\n")
    parts.pop()
    if not parts:
        return Outlines(array("Q"), array("d"), array("B"), array("H"), 0)
    # Of each line before, one byte more than its length: its newline.
    offsets = array("Q", map(add, accumulate(map(len, parts), initial=at), range(len(parts))))
    # Column by column: a loop over the lines would cost as much again as finding them.
    numbers, times, heads, ids, names, answers = zip(*_CANONICAL.findall(lines), strict=True)
    odd = [place for place, head in enumerate(heads) if not head] if b"" in heads else []
    found = Outlines(
        offsets,
        array("d", map(float, (t or b"0" for t in times) if odd else times)),
        array("B", map(_CODES.__getitem__, heads)),
        array("H", methods.codes(names)),
        max(map(int, (n or b"0" for n in numbers) if odd else numbers)),
    )
    last = found.last_number
    for place in odd:
        found.kinds[place], number, found.times[place] = _slowly(parts[place])
        last = max(last, number)
    quick = {
        place: Envelope(place, _SIDES[found.kinds[place]], id_, is_answer=not names[place])
        for place, id_ in enumerate(ids)
        if id_ and (names[place] or answers[place])
    }
    if lines.count(_ID) > len(quick):
        slow = _read_envelopes(parts, found, quick)
        quick = dict(sorted({**quick, **slow}.items()))
    begins = _begins(parts, found.kinds) if _SPAWN in lines else ()
    return replace(found, last_number=last, envelopes=tuple(quick.values()), begins=begins)


def _begins(parts: list[bytes], kinds: array[int]) -> tuple[int, ...]:
    return tuple(
        place
        for place, line in enumerate(parts)
        if kinds[place] == Kind.EVENT
        and _SPAWN in line
        and isinstance(event := decode_line(line), JournalEvent)
        and event.begins_connection
    )


def _read_envelopes(
    parts: list[bytes], outlines: Outlines, known: Container[int]
) -> dict[int, Envelope]:
    """Return those of lines with an id that stands elsewhere than at the beginning.

    What turns out to be no message there has no method either.
    """
    found: dict[int, Envelope] = {}
    for place, line in enumerate(parts):
        if _ID in line and place not in known and outlines.kinds[place] in _SIDES:
            entry = decode_line(line)
            if not isinstance(entry, Frame):
                continue
            message = read_message(entry.raw)
            envelope = envelope_of(place, entry.side, message)
            if envelope is not None:
                found[place] = envelope
            elif isinstance(message, Malformed):
                outlines.methods[place] = UNKNOWN_METHOD
    return found


def _slowly(line: bytes) -> tuple[Kind, int, float]:
    """Return kind, number and time of a line that our writer would have put in another way."""
    match decode_line(line):
        case Frame(n=n, at=at, side=side):
            return (Kind.CLIENT if side == "client" else Kind.AGENT), n, at
        case StderrText(n=n, at=at):
            return Kind.STDERR, n, at
        case JournalEvent(n=n, at=at):
            return Kind.EVENT, n, at
        case Header():
            return Kind.HEADER, 0, 0.0
        case Footer():
            return Kind.FOOTER, 0, 0.0
        case Unreadable():
            return Kind.FAULT, 0, 0.0
