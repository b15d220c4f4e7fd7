"""What one side was asked and has not answered yet."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

import anyio

from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Json, Request, RequestId


@dataclass(slots=True, eq=False)
class Question:
    """Something that the client was asked."""

    id: RequestId
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    result: Json = None
    error: Json = None
    """The error of the answer; None if it went well."""


class Questions:
    """What the client was asked; several may have one id, which is a fault it should bear."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, RequestId], deque[Question]] = defaultdict(deque)
        self._asked = 0
        self._has_left = False

    def ask(self, wanted: RequestId = None) -> Question:
        """Return a new question with an id of its own, or the one that is wanted."""
        self._asked += 1
        question = Question(self._asked if wanted is None else wanted)
        if self._has_left:
            _fail(question)
        else:
            self._waiting[jsonrpc.id_key(question.id)].append(question)
        return question

    def answered(self, id_: RequestId, result: Json, error: Json) -> bool:
        """Hand an answer to who waits for it; tell whether anybody did."""
        waiting = self._waiting.get(jsonrpc.id_key(id_))
        if not waiting:
            return False
        question = waiting.popleft()
        question.result, question.error = result, error
        question.is_answered.set()
        return True

    def leave(self) -> None:
        """Let all of them fail, and those to come: the client says nothing more."""
        self._has_left = True
        for waiting in self._waiting.values():
            for question in waiting:
                _fail(question)
            waiting.clear()


class Requests:
    """What the client has asked, and under which ids it is answered."""

    def __init__(self) -> None:
        self._open: list[Request] = []
        self._traded: dict[tuple[str, RequestId], RequestId] = {}
        """The ids under which requests are answered whose own id another answer has taken."""
        self.previous: RequestId = None
        """The id of the request that was answered last."""

    def begin(self, request: Request) -> None:
        """Take note of a request."""
        self._open.append(request)

    def answer(self, request: Request) -> RequestId:
        """Take note that a request is answered now; return the id under which that is done."""
        self._open = [each for each in self._open if each is not request]
        self.previous = request.id
        return self._traded.pop(jsonrpc.id_key(request.id), request.id)

    def trade(self, request: Request) -> None:
        """Have a request and the oldest open one of its method answered under each other's id.

        Where there is no other, or it has traded already, nothing happens.
        """
        mine = jsonrpc.id_key(request.id)
        for other in self._open:
            theirs = jsonrpc.id_key(other.id)
            is_free = other is not request and not {mine, theirs} & self._traded.keys()
            if is_free and other.method == request.method:
                self._traded |= {mine: other.id, theirs: request.id}
                return


def _fail(question: Question) -> None:
    reason = "the client has left"
    question.error = {"code": jsonrpc.INTERNAL_ERROR, "message": reason}
    question.is_answered.set()
