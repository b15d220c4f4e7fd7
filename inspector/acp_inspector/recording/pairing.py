"""Which question each answer of a recording is about, by rows, without reading their JSON twice.

Only numbers are kept: who wants to see a question reads its line. Pairs are found as `Exchanges`
finds them: by the side that asked, and by an id that keeps its JSON type.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Failure, Message, Request, Result, encode

MOST_OPEN: Final = 1 << 16
"""Questions that wait at once, at most; older ones are given up: a hostile file may hold any."""
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
    """Pairs questions and answers, row after row."""

    def __init__(
        self, open_: Mapping[str, int] | None = None, unanswered: Iterable[int] = ()
    ) -> None:
        self._open = dict(open_ or {})
        self._unanswered = dict.fromkeys(unanswered)

    @property
    def open(self) -> Mapping[str, int]:
        """The rows of the questions that an answer would be for now, by side and id."""
        return self._open

    @property
    def unanswered(self) -> Iterable[int]:
        """The rows of all questions without an answer, also of those whose id was used again."""
        return self._unanswered

    def is_open(self, row: int) -> bool:
        """Tell whether a row is a question without an answer."""
        return row in self._unanswered

    def take(self, first: int, count: int, envelopes: Iterable[Envelope]) -> array[int]:
        """Return, for each of the `count` rows from `first` on, what it is to others.

        That is `NOTHING`, `ASKS`, or for an answer the row of its question plus one.
        """
        partners = array("I", bytes(4 * count))
        for place, side, id_, is_answer in envelopes:
            row = first + place
            if is_answer:
                asker = "a" if side == "client" else "c"
                question = self._open.pop(asker + id_.decode(errors="replace"), None)
                if question is not None:
                    self._unanswered.pop(question, None)
                    partners[place] = question + 1
            elif row < ASKS - 1:
                self._open[side[0] + id_.decode(errors="replace")] = row
                self._unanswered[row] = None
                partners[place] = ASKS
        self._forget()
        return partners

    def _forget(self) -> None:
        if len(self._open) > MOST_OPEN:
            self._open = dict(list(self._open.items())[-MOST_OPEN:])
        if len(self._unanswered) > MOST_OPEN:
            self._unanswered = dict.fromkeys(list(self._unanswered)[-MOST_OPEN:])


def envelope_of(place: int, side: Side, message: Message) -> Envelope | None:
    """Return the envelope of what a message asks or answers; None if it does neither."""
    match message:
        case Request(id=id_):
            return Envelope(place, side, encode(id_), is_answer=False)
        case Result(id=id_) | Failure(id=id_):
            return Envelope(place, side, encode(id_), is_answer=True)
        case _:
            return None
