"""Who said it, where the source does not tell: guessed from methods and open questions."""

from __future__ import annotations

from typing import Final

from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Batch,
    Failure,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
)
from acp_protocol.schema.methods import VERSIONS, find_method

NOISE: Final = "lines that are no message are the agent's"
UNKNOWN: Final = (
    "methods that no schema knows: a request is the client's, a notification the agent's"
)
ORPHAN: Final = "answers that fit no question, or questions of both sides"

_OTHER: Final[dict[Side, Side]] = {"client": "agent", "agent": "client"}


class Sides:
    """Follows a conversation and guesses who says what."""

    def __init__(self) -> None:
        self._asked: list[tuple[Side, RequestId, type]] = []
        """Open questions, the newest last."""

    def side(self, raw: bytes) -> tuple[Side, str]:
        """Return who said `raw`, and what that is a guess by, if by more than a table."""
        return self._of(jsonrpc.read_message(raw))

    def _of(self, message: Message) -> tuple[Side, str]:
        match message:
            case Request():
                side, guess = self._caller(message)
                self._asked.append((side, message.id, type(message.id)))
                return side, guess
            case Notification():
                return self._caller(message)
            case Result() | Failure():
                return self._answerer(message.id)
            case Batch(entries=entries):
                told = [self._of(entry) for entry in entries]
                return told[0] if told else ("agent", NOISE)
            case Malformed():
                return "agent", NOISE

    def _caller(self, message: Request | Notification) -> tuple[Side, str]:
        kind = "request" if isinstance(message, Request) else "notification"
        for version in sorted(VERSIONS):
            row = find_method(message.method, version, kind=kind)
            if row is not None and row.sent_by != "either":
                return row.sent_by, ""
        return ("client" if kind == "request" else "agent"), UNKNOWN

    def _answerer(self, id_: RequestId) -> tuple[Side, str]:
        """The newest open question of that id: what is asked within a turn is answered first."""
        places = [
            place
            for place, (_, asked, kind) in enumerate(self._asked)
            if asked == id_ and kind is type(id_)
        ]
        if not places:
            return "agent", ORPHAN
        sides = {self._asked[place][0] for place in places}
        side = self._asked.pop(places[-1])[0]
        return _OTHER[side], ORPHAN if len(sides) > 1 else ""
