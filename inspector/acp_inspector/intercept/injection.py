"""Frames of our own, and the answers to them, which are nobody else's."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.intercept.ids import IdSpace
from acp_inspector.intercept.passage import Passage, encode
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Failure, Request, Result

ANSWERS_LIMIT: Final = 1000
"""Injected requests whose answers are waited for at once; the oldest are given up."""


@dataclass(slots=True)
class Injection:
    """A frame of ours, and what came of it."""

    side: Side
    """Whose frame the receiver takes it for."""
    raw: bytes
    by: str
    id: str | None = None
    """The id that it got; None where it asks for nothing, or kept its own."""
    n: int | None = None
    """Its number, once it has left."""
    answer: bytes | None = None
    """The frame that answered it."""
    _answered: threading.Event = field(default_factory=threading.Event)

    def wait(self, limit: float) -> bytes | None:
        """Wait at most `limit` seconds for the answer; None when there is none by then."""
        self._answered.wait(limit)
        return self.answer

    def take_number(self, number: int) -> None:
        """Hear that it has left."""
        self.n = number

    def take_answer(self, answer: bytes) -> None:
        """Hear what the receiver said."""
        self.answer = answer
        self._answered.set()


class Injections:
    """Gives injected requests their ids, and recognises the answers."""

    def __init__(self, ids: IdSpace) -> None:
        self._ids = ids
        self._awaited: OrderedDict[tuple[Side, str], Injection] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def are_awaited(self) -> bool:
        """Whether answers have to be looked for."""
        return bool(self._awaited)

    def make(self, side: Side, line: bytes, by: str, *, keeps_id: bool) -> Injection:
        """Return the injection of `line`, with an id of ours where it is a request."""
        if keeps_id or not isinstance(jsonrpc.read_message(line), Request):
            return Injection(side, line, by)
        with self._lock:
            id_ = self._ids.issue()
        return Injection(side, encode(jsonrpc.parse(line) | {"id": id_}), by, id_)

    def expect(self, injection: Injection) -> None:
        """Keep the answer to `injection` for it alone."""
        if injection.id is not None:
            with self._lock:
                self._awaited[injection.side, injection.id] = injection
                while len(self._awaited) > ANSWERS_LIMIT:
                    self._awaited.popitem(last=False)

    def take(self, passage: Passage) -> bool:
        """Take a frame off its way if it answers one of ours; note the ids that peers use."""
        frame = passage.frame
        if not self._ids.may_stand_in(frame.raw):
            return False
        message = jsonrpc.read_message(frame.raw)
        asker: Side = "client" if frame.side == "agent" else "agent"
        injection: Injection | None = None
        with self._lock:
            if isinstance(message, Request):
                self._ids.note(message.id)
            elif isinstance(message, Result | Failure) and isinstance(message.id, str):
                injection = self._awaited.pop((asker, message.id), None)
        if injection is None:
            return False
        passage.is_dropped = True
        passage.tell("discarded", injection.by, answers=injection.n)
        injection.take_answer(frame.raw)
        return True
