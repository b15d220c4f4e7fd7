"""Which question each answer of a recording is about, by rows, without reading their JSON twice.

Only numbers are kept: who wants to see a question reads its line. Pairs are found as `Exchanges`
finds them: by the side that asked, and by an id that keeps its JSON type.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Failure, Message, Request, Result, encode, read_message

MOST_OPEN: Final = 1 << 16
"""Questions that wait at once, at most; older ones are given up: a hostile file may hold any."""
_HEAD: Final = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(-?\d+|"[^"\\\n]*+"),(?:"method":"|"(result|error)":)'
)
NOTHING: Final = 0
"""Stands for a row that neither asks nor answers anything known."""
ASKS: Final = 2**32 - 1
"""Stands for a row that is a question."""


class Envelope(NamedTuple):
    """What tells a question or an answer from other rows."""

    place: int
    """Its place among the rows that were looked at together."""
    side: Side
    id: bytes
    """The id as compact JSON."""
    is_answer: bool


class Pairing:
    """Pairs questions and answers, row after row; of one id, the oldest question is meant."""

    def __init__(self, open_: Mapping[str, Sequence[int]] | None = None) -> None:
        self._open = {key: deque(rows) for key, rows in (open_ or {}).items()}
        self._waiting = {row for rows in self._open.values() for row in rows}

    @property
    def open(self) -> dict[str, list[int]]:
        """The rows of the questions without an answer, by side and id."""
        return {key: list(rows) for key, rows in self._open.items()}

    def is_open(self, row: int) -> bool:
        """Tell whether a row is a question without an answer."""
        return row in self._waiting

    def take(
        self, first: int, count: int, envelopes: Iterable[Envelope], begins: Sequence[int] = ()
    ) -> array[int]:
        """Return, for each of the `count` rows from `first` on, what it is to others.

        That is `NOTHING`, `ASKS`, or for an answer the row of its question plus one. At the places
        `begins`, in order, new connections begin, which have ids of their own.
        """
        partners = array("I", bytes(4 * count))
        ahead = deque(begins)
        for place, side, id_, is_answer in envelopes:
            while ahead and ahead[0] < place:
                ahead.popleft()
                self.restart()
            row = first + place
            asker = side[0] if not is_answer else "a" if side == "client" else "c"
            key = asker + id_.decode(errors="replace")
            if is_answer:
                question = self._answered(key)
                partners[place] = NOTHING if question is None else question + 1
            elif row < ASKS - 1:
                self._open.setdefault(key, deque()).append(row)
                self._waiting.add(row)
                partners[place] = ASKS
        if ahead:
            self.restart()
        if len(self._waiting) > MOST_OPEN:
            self._forget()
        return partners

    def restart(self) -> None:
        """Begin a new connection: what is open now is never answered."""
        self._open.clear()

    def _answered(self, key: str) -> int | None:
        rows = self._open.get(key)
        if rows is None:
            return None
        row = rows.popleft()
        self._waiting.discard(row)
        if not rows:
            del self._open[key]
        return row

    def _forget(self) -> None:
        self._waiting = set(sorted(self._waiting)[-MOST_OPEN:])
        kept = (
            (key, deque(row for row in rows if row in self._waiting))
            for key, rows in self._open.items()
        )
        self._open = {key: rows for key, rows in kept if rows}


def envelope(place: int, side: Side, raw: bytes) -> Envelope | None:
    """Return the envelope of a frame, without reading all of it where that can be helped."""
    if found := _HEAD.match(raw):
        return Envelope(place, side, found[1], is_answer=bool(found[2]))
    return envelope_of(place, side, read_message(raw)) if b'"id' in raw else None


def envelope_of(place: int, side: Side, message: Message) -> Envelope | None:
    """Return the envelope of what a message asks or answers; None if it does neither."""
    match message:
        case Request(id=id_):
            return Envelope(place, side, encode(id_), is_answer=False)
        case Result(id=id_) | Failure(id=id_):
            return Envelope(place, side, encode(id_), is_answer=True)
        case _:
            return None
