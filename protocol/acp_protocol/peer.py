"""A JSON-RPC endpoint without I/O: who asked whom, what is still open, what came too late.

| what we do         | returns            | what it changes                                   |
|--------------------|--------------------|---------------------------------------------------|
| `ask`              | the id, the frame  | the id waits for its answer                       |
| `give_up`          | the cancel frame   | the id's answer, if it still comes, is no fault   |
| `tell`             | the frame          | nothing                                           |
| `answer`, `refuse` | the frame          | the peer's request is closed                      |
| `received`         | facts, in order    | opens the peer's requests, closes ours            |
| `closed`           | `Lost` per request | nothing waits any more                            |

Each direction has its own ids, and an id keeps its JSON type. The peer's mistakes are `Fault`
values.

Source: JSON-RPC 2.0; ACP, Cancellation, "$/cancel_request".
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias, assert_never, cast

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
    id_key,
)

CANCEL_METHOD: Final = "$/cancel_request"
REMEMBERED_ANSWERS: Final = 1024
"""How many ids are kept to tell late and second answers from those nobody asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The peer waits for our answer."""

    request: Request


@dataclass(frozen=True, slots=True)
class Told:
    """The peer let us know something."""

    notification: Notification


@dataclass(frozen=True, slots=True)
class Answered:
    """One of our requests has its answer; nobody may wait for it any more, see `Peer.give_up`."""

    id: RequestId
    answer: Result | Failure


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


Fact: TypeAlias = Asked | Told | Answered | CancelAsked | Fault


class Peer:
    """One end of a conversation in JSON-RPC."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._waiting: dict[tuple[str, RequestId], str] = {}
        self._given_up: deque[tuple[str, RequestId]] = deque(maxlen=REMEMBERED_ANSWERS)
        self._answered: deque[tuple[str, RequestId]] = deque(maxlen=REMEMBERED_ANSWERS)
        self._open: set[tuple[str, RequestId]] = set()

    def ask(self, method: str, params: Json = None) -> tuple[RequestId, bytes]:
        """Open a request; return its id and its frame."""
        id_ = next(self._ids)
        frame = jsonrpc.request_line(id_, method, params)
        self._waiting[id_key(id_)] = method
        return id_, frame

    def give_up(self, id: RequestId) -> bytes | None:  # noqa: A002
        """Return the frame that cancels our request; None when it has its answer already."""
        key = id_key(id)
        if self._waiting.pop(key, None) is None:
            return None
        self._given_up.append(key)
        return jsonrpc.notification_line(CANCEL_METHOD, {"requestId": id})

    def tell(self, method: str, params: Json = None) -> bytes:
        """Return the frame of a notification."""
        return jsonrpc.notification_line(method, params)

    def answer(self, id: RequestId, result: Json) -> bytes:  # noqa: A002
        """Return the frame that answers the peer's request.

        Raises:
            LocalProtocolError: there is no such open request; it may be answered already.
        """
        frame = jsonrpc.result_line(id, result)
        self._close(id)
        return frame

    def refuse(self, id: RequestId, code: int, message: str, data: Json = None) -> bytes:  # noqa: A002
        """Return the frame that answers the peer's request with an error.

        Raises:
            LocalProtocolError: there is no such open request; it may be answered already.
        """
        frame = jsonrpc.failure_line(id, code, message, data)
        self._close(id)
        return frame

    def received(self, raw: bytes) -> Fact:
        """Return what a frame of the peer means for us."""
        if not raw.strip():
            return Fault("an empty line", raw)
        message: Message = jsonrpc.read_message(raw)
        match message:
            case Notification(method=method) if method == CANCEL_METHOD:
                return self._cancelled(message)
            case Notification():
                return Told(message)
            case Request():
                return self._asked(message)
            case Result() | Failure():
                return self._answer_came(message)
            case Batch():
                reason = "JSON-RPC batches are not part of ACP"
                return _refused(reason, raw, jsonrpc.INVALID_REQUEST)
            case Malformed(is_answer=True):
                return Fault(message.reason, raw)
            case Malformed():
                return _refused(message.reason, raw, message.code)
            case _:
                assert_never(message)

    def closed(self) -> list[Lost]:
        """Return our requests that wait in vain; none waits afterwards."""
        lost = [Lost(key[1]) for key in self._waiting]
        self._waiting.clear()
        self._given_up.clear()
        return lost

    def _close(self, id_: RequestId) -> None:
        try:
            self._open.remove(id_key(id_))
        except KeyError:
            raise LocalProtocolError(f"no open request has the id {id_!r}") from None

    def _asked(self, request: Request) -> Fact:
        key = id_key(request.id)
        if key in self._open:
            # Two open requests of one id cannot be told apart in their answers: the second is
            # refused without an answer under that id, which belongs to the first.
            reason = f"the id {request.id!r} belongs to a request that is still open"
            return _refused(reason, request.raw, jsonrpc.INVALID_REQUEST)
        self._open.add(key)
        return Asked(request)

    def _cancelled(self, notification: Notification) -> Fact:
        params = notification.params
        id_ = cast("dict[str, Json]", params).get("requestId") if isinstance(params, dict) else None
        if isinstance(params, dict) and "requestId" in params and jsonrpc.is_request_id(id_):
            return CancelAsked(id_)
        return Fault("$/cancel_request without a valid requestId", notification.raw)

    def _answer_came(self, answer: Result | Failure) -> Fact:
        key = id_key(answer.id)
        if self._waiting.pop(key, None) is not None:
            self._answered.append(key)
            return Answered(answer.id, answer)
        if key in self._given_up:
            self._given_up.remove(key)
            self._answered.append(key)
            return Answered(answer.id, answer)
        if key in self._answered:
            return Fault(f"a second answer to the request {answer.id!r}", answer.raw)
        if answer.id is None and isinstance(answer, Failure):
            return Fault(f"the peer refused a frame: {answer.message} ({answer.code})", answer.raw)
        return Fault(f"an answer to {answer.id!r}, which was never asked", answer.raw)


def _refused(reason: str, raw: bytes, code: int) -> Fault:
    message = "Parse error" if code == jsonrpc.PARSE_ERROR else "Invalid request"
    return Fault(reason, raw, jsonrpc.failure_line(None, code, message, {"reason": reason}))
