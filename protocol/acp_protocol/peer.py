"""A JSON-RPC endpoint without I/O: who asked whom, what is still open, what came too late.

| what we do         | returns             | what it changes                                  |
|--------------------|---------------------|--------------------------------------------------|
| `ask`              | the id, the frame   | the id waits for its answer                      |
| `give_up`          | the cancel frame    | the id's answer, if it still comes, is no fault  |
| `tell`             | the frame           | nothing                                          |
| `answer`, `refuse` | the frame, or None  | the peer's request is closed                     |
| `received`         | facts, in order     | opens the peer's requests, closes ours           |
| `closed`           | `Lost` per request  | nothing waits any more                           |

Each direction has its own ids, and an id keeps its JSON type: 1 and "1" are two keys of a
dictionary as well, and nothing else that equals a number is an id. The peer's mistakes are `Fault`
values.

Batches are no part of ACP, and an array is refused as a whole. A draft of version 2 had them, and
a peer may be told to take them: what an array asks for is then answered in one array.

Source: JSON-RPC 2.0; ACP, Cancellation, "$/cancel_request"; ACP 2.0.0-alpha.3, Transports.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeAlias, cast

from acp_protocol import jsonrpc
from acp_protocol.errors import LocalProtocolError
from acp_protocol.jsonrpc import (
    Batch,
    Failure,
    Json,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
)

CANCEL_METHOD: Final = "$/cancel_request"
REMEMBERED_ANSWERS: Final = 1024
"""How many ids are kept to tell late and second answers from those nobody asked for."""

BATCH_LIMIT: Final = 1000
"""Entries of one batch, at most: each may ask for an answer."""


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """The peer no longer wants the answer to its request `id`; it still has to get one."""

    id: RequestId


@dataclass(frozen=True, slots=True)
class Lost:
    """One of our requests will never be answered."""

    id: RequestId


@dataclass(frozen=True, slots=True)
class Fault:
    """The peer's mistake; `reply` is the frame to send for it, if there is one to send."""

    reason: str
    raw: bytes
    reply: bytes | None = None


Fact: TypeAlias = Request | Notification | Result | Failure | CancelAsked | Fault
"""What a frame means: a request that waits for our answer, a notification, the answer to a request
of ours (which may have been given up), or something else."""


@dataclass(slots=True)
class _OpenBatch:
    """An array of the peer that gets its answers in one array."""

    missing: int = 0
    """Requests that are not answered yet."""
    answers: list[bytes] = field(default_factory=list[bytes])

    def take(self, answer: bytes) -> bytes | None:
        """Take the next answer; return the array if it was the last one."""
        self.missing -= 1
        self.answers.append(answer)
        return None if self.missing else self.line()

    def line(self) -> bytes:
        return b"[%b]" % b",".join(self.answers)


class Peer:
    """One end of a conversation in JSON-RPC.

    `takes_batches` is for peers that keep to a draft which had them.
    """

    def __init__(self, *, takes_batches: bool = False) -> None:
        self._takes_batches = takes_batches
        self._ids = count(1)
        self._waiting: dict[RequestId, str] = {}
        self._given_up: deque[RequestId] = deque(maxlen=REMEMBERED_ANSWERS)
        self._answered: deque[RequestId] = deque(maxlen=REMEMBERED_ANSWERS)
        self._open: dict[RequestId, _OpenBatch | None] = {}

    def ask(self, method: str, params: Json = None) -> tuple[RequestId, bytes]:
        """Open a request; return its id and its frame."""
        id_ = next(self._ids)
        members = {"jsonrpc": "2.0", "id": id_, "method": method}
        if params is not None:
            members["params"] = params
        frame = jsonrpc.encode(members)
        self._waiting[id_] = method
        return id_, frame

    def give_up(self, id: RequestId) -> bytes | None:  # noqa: A002
        """Return the frame that cancels our request; None when it has its answer already."""
        if self._waiting.pop(id, None) is None:
            return None
        self._given_up.append(id)
        return jsonrpc.notification_line(CANCEL_METHOD, {"requestId": id})

    def tell(self, method: str, params: Json = None) -> bytes:
        """Return the frame of a notification."""
        return jsonrpc.notification_line(method, params)

    def answer(self, id: RequestId, result: Json) -> bytes | None:  # noqa: A002
        """Return the frame that answers the peer's request.

        None: the request came in a batch, whose last answer has to be given first.

        Raises:
            LocalProtocolError: there is no such open request; it may be answered already.
            ValueError: `result` cannot be spelled in JSON; the request is still open.
        """
        frame = jsonrpc.encode({"jsonrpc": "2.0", "id": id, "result": result})
        if self._open.get(id, self) is None:
            # In no batch, as nearly every request.
            del self._open[id]
            return frame
        return self._close(id, frame)

    def refuse(
        self,
        id: RequestId,  # noqa: A002
        code: int,
        message: str,
        data: Json = None,
    ) -> bytes | None:
        """Return the frame that answers the peer's request with an error; None as in `answer`.

        Raises:
            LocalProtocolError: there is no such open request; it may be answered already.
            ValueError: `data` cannot be spelled in JSON; the request is still open.
        """
        return self._close(id, jsonrpc.failure_line(id, code, message, data))

    def received(self, raw: bytes) -> tuple[Fact, ...]:
        """Return what a frame of the peer means for us; more than one fact only for a batch."""
        message = jsonrpc.read_message(raw, has_entries=self._takes_batches)
        # What nearly every frame is, without a detour; the rest is told below.
        if type(message) is Request and message.id not in self._open:
            self._open[message.id] = None
            return (message,)
        if type(message) is Result and self._waiting.pop(message.id, None) is not None:
            self._answered.append(message.id)
            return (message,)
        if not isinstance(message, Batch):
            return self._facts(message, None)
        if not self._takes_batches:
            return (_refused("JSON-RPC batches are not part of ACP", raw, jsonrpc.INVALID_REQUEST),)
        if not message.entries:
            return (_refused("an empty batch", raw, jsonrpc.INVALID_REQUEST),)
        if len(message.entries) > BATCH_LIMIT:
            reason = f"a batch of more than {BATCH_LIMIT} entries"
            return (_refused(reason, raw, jsonrpc.INVALID_REQUEST),)
        return self._batch(message)

    def _batch(self, message: Batch) -> tuple[Fact, ...]:
        batch = _OpenBatch()
        facts = [fact for entry in message.entries for fact in self._facts(entry, batch)]
        # Entries keep no bytes of their own, so a fault shows the whole array.
        facts = [
            Fault(f.reason, message.raw, f.reply) if isinstance(f, Fault) else f for f in facts
        ]
        if batch.answers and not batch.missing:
            facts.append(Fault("a batch without a valid request", message.raw, batch.line()))
        return tuple(facts)

    def _facts(self, message: Message, batch: _OpenBatch | None) -> tuple[Fact, ...]:
        fact = self._fact(message, batch)
        if not (isinstance(message, Malformed) and message.is_answer):
            return (fact,)
        if self._waiting.pop(message.id, None) is None:
            return (fact,)
        # No better answer will come, and who asked must not wait for one.
        self._answered.append(message.id)
        reason = f"the answer is {message.reason}"
        return fact, Failure(message.id, message.code, reason, None, message.raw)

    def _fact(self, message: Message, batch: _OpenBatch | None) -> Fact:
        if isinstance(message, Notification):
            return self._cancelled(message) if message.method == CANCEL_METHOD else message
        if isinstance(message, Request):
            return self._asked(message, batch)
        if isinstance(message, _ANSWERS):
            return self._answer_came(message)
        assert not isinstance(message, Batch), "an entry of a batch is never read as a batch"
        return self._malformed(message, batch)

    def _malformed(self, message: Malformed, batch: _OpenBatch | None) -> Fact:
        raw = message.raw
        if batch is None and (not raw or raw.isspace()):
            return Fault("an empty line", raw)
        if message.is_answer:
            return Fault(message.reason, raw)
        known = None if batch else message.id
        return _put(_refused(message.reason, raw, message.code, known), batch)

    def refuse_batches(self) -> None:
        """Take arrays for mistakes from here on: the version that was agreed on has none."""
        self._takes_batches = False

    def closed(self) -> list[Lost]:
        """Return our requests that wait in vain; none waits afterwards."""
        lost = [Lost(id_) for id_ in self._waiting]
        self._waiting.clear()
        self._given_up.clear()
        return lost

    def _close(self, id_: RequestId, frame: bytes) -> bytes | None:
        try:
            batch = self._open.pop(id_)
        except KeyError:
            raise LocalProtocolError(f"no open request has the id {id_!r}") from None
        return frame if batch is None else batch.take(frame)

    def _asked(self, request: Request, batch: _OpenBatch | None) -> Fact:
        if request.id in self._open:
            # Two open requests of one id cannot be told apart in their answers: the second is
            # refused without an answer under that id, which belongs to the first.
            reason = f"the id {request.id!r} belongs to a request that is still open"
            return _put(_refused(reason, request.raw, jsonrpc.INVALID_REQUEST), batch)
        self._open[request.id] = batch
        if batch is not None:
            batch.missing += 1
        return request

    def _cancelled(self, notification: Notification) -> Fact:
        params = notification.params
        id_ = cast("dict[str, Json]", params).get("requestId") if isinstance(params, dict) else None
        if isinstance(params, dict) and "requestId" in params and jsonrpc.is_request_id(id_):
            return CancelAsked(id_)
        return Fault("$/cancel_request without a valid requestId", notification.raw)

    def _answer_came(self, answer: Result | Failure) -> Fact:
        id_ = answer.id
        if self._waiting.pop(id_, None) is not None:
            self._answered.append(id_)
            return answer
        if id_ in self._given_up:
            self._given_up.remove(id_)
            self._answered.append(id_)
            return answer
        if id_ in self._answered:
            return Fault(f"a second answer to the request {id_!r}", answer.raw)
        if answer.id is None and isinstance(answer, Failure):
            return Fault(f"the peer refused a frame: {answer.message} ({answer.code})", answer.raw)
        return Fault(f"an answer to {answer.id!r}, which was never asked", answer.raw)


_ANSWERS: Final = (Result, Failure)


def _put(fault: Fault, batch: _OpenBatch | None) -> Fault:
    """Put the reply to `fault` among the answers of its batch, if it stands in one."""
    if batch is None or fault.reply is None:
        return fault
    batch.answers.append(fault.reply)
    return Fault(fault.reason, fault.raw)


def _refused(reason: str, raw: bytes, code: int, id_: RequestId = None) -> Fault:
    message = "Parse error" if code == jsonrpc.PARSE_ERROR else "Invalid request"
    return Fault(reason, raw, jsonrpc.failure_line(id_, code, message, {"reason": reason}))
