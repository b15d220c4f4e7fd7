"""A JSON-RPC endpoint without I/O: it keeps track of the open requests of both sides.

| method                      | returns                   | effect                                |
|-----------------------------|---------------------------|---------------------------------------|
| `send_request`              | the id, the frame         | our request waits for its response    |
| `expect_response`           | nothing                   | the same, for a frame of the caller   |
| `cancel`                    | the cancel frame          | a late response is no violation       |
| `send_result`, `send_error` | the frame, or None        | the peer's request is closed          |
| `receive`                   | events, in order          | opens the peer's requests, ends ours  |
| `close`                     | the id of each request    | no request of ours waits any more     |

Each direction has its own ids, and an id keeps its JSON type: 1 and "1" are two ids. Violations of
the peer are values (`ProtocolViolation`), not exceptions.

Batches are not part of ACP, and an array is refused as a whole. A draft of version 2 had them; if
they are allowed, the responses to a batch are sent in one array.

Source: JSON-RPC 2.0; ACP, Cancellation, "$/cancel_request"; ACP 2.0.0-alpha.3, Transports.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, TypeAlias

from acp_protocol import jsonrpc
from acp_protocol.errors import LocalProtocolError
from acp_protocol.json_values import as_object, get
from acp_protocol.jsonrpc import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
)

CANCEL_METHOD: Final = "$/cancel_request"
MAX_REMEMBERED_IDS: Final = 1024
"""Ids that are remembered, to know a late or second response from one without a request."""

MAX_BATCH_ENTRIES: Final = 1000
"""Entries of one batch, at most: each may need a response."""


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The peer cancels its request `id`, which still needs a response."""

    id: RequestId


@dataclass(frozen=True, slots=True)
class ProtocolViolation:
    """A violation of the protocol by the peer; `reply` is the error frame to send, if any."""

    reason: str
    data: bytes
    reply: bytes | None = None
    is_batch: bool = False
    """It is an array of messages, which are lost because batches are not allowed."""


EndpointEvent: TypeAlias = (
    Request | Notification | SuccessResponse | ErrorResponse | CancelRequested | ProtocolViolation
)
"""What a frame of the peer means.

A response always belongs to a request of ours, which may have been cancelled.
"""


@dataclass(slots=True)
class _OpenBatch:
    """A batch of the peer, whose responses are sent in one array."""

    missing: int = 0
    """Requests without a response."""
    responses: list[bytes] = field(default_factory=list[bytes])

    def add(self, response: bytes) -> bytes | None:
        """Add a response; return the array if it was the last one."""
        self.missing -= 1
        self.responses.append(response)
        return None if self.missing else self.frame()

    def frame(self) -> bytes:
        return b"[%b]" % b",".join(self.responses)


class Endpoint:
    """One side of a JSON-RPC conversation.

    `allow_batches` accepts batches, for peers that follow the draft which had them.
    """

    def __init__(self, *, allow_batches: bool = False) -> None:
        self._allow_batches = allow_batches
        self._ids = count(1)
        self._pending: dict[RequestId, str] = {}
        self._cancelled_ids: deque[RequestId] = deque(maxlen=MAX_REMEMBERED_IDS)
        self._closed_ids: deque[RequestId] = deque(maxlen=MAX_REMEMBERED_IDS)
        self._peer_requests: dict[RequestId, _OpenBatch | None] = {}

    def send_request(self, method: str, params: Json = None) -> tuple[RequestId, bytes]:
        """Open a request; return its id and its frame."""
        id_ = next(self._ids)
        frame = jsonrpc.encode_request(id_, method, params)
        self._pending[id_] = method
        return id_, frame

    def expect_response(self, id: RequestId, method: str) -> None:  # noqa: A002
        """Open a request whose frame and id the caller has made; no open one has this id."""
        self._pending[id] = method

    def cancel(self, id: RequestId) -> bytes | None:  # noqa: A002
        """Return the frame that cancels our request; None if it has its response already."""
        if self._pending.pop(id, None) is None:
            return None
        self._cancelled_ids.append(id)
        return jsonrpc.encode_notification(CANCEL_METHOD, {"requestId": id})

    def send_result(self, id: RequestId, result: Json) -> bytes | None:  # noqa: A002
        """Return the frame of the response to the peer's request `id`.

        None if the request came in a batch that still lacks another response.

        Raises:
            LocalProtocolError: there is no such open request; it may have its response already.
            ValueError: `result` cannot be encoded as JSON; the request is still open.
        """
        frame = jsonrpc.encode_result(id, result)
        if self._peer_requests.get(id, self) is None:
            # Fast path: not in a batch.
            del self._peer_requests[id]
            return frame
        return self._close(id, frame)

    def send_error(
        self,
        id: RequestId,  # noqa: A002
        code: int,
        message: str,
        data: Json = None,
    ) -> bytes | None:
        """Return the frame of an error response to the peer's request, as `send_result` does."""
        return self._close(id, jsonrpc.encode_error(id, code, message, data))

    def receive(self, raw: bytes) -> tuple[EndpointEvent, ...]:
        """Return the events in a frame of the peer; more than one only for a batch."""
        message = jsonrpc.read_message(raw, parse_entries=self._allow_batches)
        # Fast path for nearly every frame.
        if type(message) is Request and message.id not in self._peer_requests:
            self._peer_requests[message.id] = None
            return (message,)
        if type(message) is SuccessResponse and self._pending.pop(message.id, None) is not None:
            self._closed_ids.append(message.id)
            return (message,)
        if not isinstance(message, Batch):
            return self._events(message, None)
        if not self._allow_batches:
            reason = "JSON-RPC batches are not part of ACP"
            refused = _refused(reason, raw, jsonrpc.INVALID_REQUEST)
            return (replace(refused, is_batch=jsonrpc.is_array_of_messages(raw)),)
        if not message.entries:
            return (_refused("an empty batch", raw, jsonrpc.INVALID_REQUEST),)
        if len(message.entries) > MAX_BATCH_ENTRIES:
            reason = f"a batch of more than {MAX_BATCH_ENTRIES} entries"
            return (_refused(reason, raw, jsonrpc.INVALID_REQUEST),)
        return self._batch(message)

    def _batch(self, message: Batch) -> tuple[EndpointEvent, ...]:
        batch = _OpenBatch()
        events = [event for entry in message.entries for event in self._events(entry, batch)]
        # Entries have no bytes of their own, so a violation shows the whole array.
        events = [
            replace(event, data=message.raw) if isinstance(event, ProtocolViolation) else event
            for event in events
        ]
        if batch.responses and not batch.missing:
            events.append(
                ProtocolViolation("a batch without a valid request", message.raw, batch.frame())
            )
        return tuple(events)

    def _events(self, message: Message, batch: _OpenBatch | None) -> tuple[EndpointEvent, ...]:
        event = self._event(message, batch)
        if not (isinstance(message, InvalidMessage) and message.is_response):
            return (event,)
        if not message.has_version:
            # A line of a log may have an id and a result too; the response may still come.
            return (event,)
        if self._pending.pop(message.id, None) is None:
            return (event,)
        # No better response will come, and the caller must not wait for one.
        self._closed_ids.append(message.id)
        reason = f"the response is {message.reason}"
        return event, ErrorResponse(message.id, message.code, reason, None, message.raw)

    def _event(self, message: Message, batch: _OpenBatch | None) -> EndpointEvent:
        match message:
            case Notification(method=method, params=params) if method == CANCEL_METHOD:
                id_ = get(params, "requestId")
                if "requestId" in as_object(params) and jsonrpc.is_request_id(id_):
                    return CancelRequested(id_)
                reason = "$/cancel_request without a valid requestId"
                return ProtocolViolation(reason, message.raw)
            case Notification():
                return message
            case Request():
                return self._request_received(message, batch)
            case SuccessResponse() | ErrorResponse():
                return self._response_received(message)
            case InvalidMessage(raw=raw) if batch is None and (not raw or raw.isspace()):
                return ProtocolViolation("an empty line", raw)
            case InvalidMessage(is_response=True):
                return ProtocolViolation(message.reason, message.raw)
            case InvalidMessage():
                known = None if batch else message.id
                return _add_reply(_refused(message.reason, message.raw, message.code, known), batch)
            case Batch():
                raise AssertionError("an entry of a batch is never read as a batch")

    def disallow_batches(self) -> None:
        """Refuse batches from now on, because the agreed version has none."""
        self._allow_batches = False

    def close(self) -> list[RequestId]:
        """Return the ids of our requests that will get no response; none waits afterwards."""
        lost = list(self._pending)
        self._pending.clear()
        self._cancelled_ids.clear()
        return lost

    def _close(self, id_: RequestId, frame: bytes) -> bytes | None:
        try:
            batch = self._peer_requests.pop(id_)
        except KeyError:
            raise LocalProtocolError(f"no open request has the id {id_!r}") from None
        return frame if batch is None else batch.add(frame)

    def _request_received(self, request: Request, batch: _OpenBatch | None) -> EndpointEvent:
        if request.id in self._peer_requests:
            # The responses of two open requests with one id could not be distinguished. The error
            # for the second one has no id, because the id belongs to the first one.
            reason = f"the id {request.id!r} belongs to a request that is still open"
            return _add_reply(_refused(reason, request.raw, jsonrpc.INVALID_REQUEST), batch)
        self._peer_requests[request.id] = batch
        if batch is not None:
            batch.missing += 1
        return request

    def _response_received(self, response: SuccessResponse | ErrorResponse) -> EndpointEvent:
        id_ = response.id
        if self._pending.pop(id_, None) is not None:
            self._closed_ids.append(id_)
            return response
        if id_ in self._cancelled_ids:
            self._cancelled_ids.remove(id_)
            self._closed_ids.append(id_)
            return response
        if id_ in self._closed_ids:
            return ProtocolViolation(f"a second response to the request {id_!r}", response.raw)
        if id_ is None and isinstance(response, ErrorResponse):
            reason = f"the peer refused a frame: {response.message} ({response.code})"
            return ProtocolViolation(reason, response.raw)
        return ProtocolViolation(f"a response without a request: id {id_!r}", response.raw)


def _add_reply(fault: ProtocolViolation, batch: _OpenBatch | None) -> ProtocolViolation:
    """Move the reply to `fault` into the responses of its batch, if it is in one."""
    if batch is None or fault.reply is None:
        return fault
    batch.responses.append(fault.reply)
    return ProtocolViolation(fault.reason, fault.data)


def _refused(reason: str, raw: bytes, code: int, id_: RequestId = None) -> ProtocolViolation:
    message = "Parse error" if code == jsonrpc.PARSE_ERROR else "Invalid request"
    return ProtocolViolation(
        reason, raw, jsonrpc.encode_error(id_, code, message, {"reason": reason})
    )
