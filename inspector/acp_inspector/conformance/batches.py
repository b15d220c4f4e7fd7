"""Cases about arrays of messages, for agents and clients of the dialect `v2-batch`.

Source: ACP 2.0.0-alpha.3, "Transports", "JSON-RPC Batch Messages".
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from acp_inspector.conformance.model import V2, CaseFailedError, Suite
from acp_inspector.conformance.wire import CaseWire
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Batch,
    ErrorResponse,
    Json,
    Message,
    SuccessResponse,
    encode,
)

SECTION: Final = "Transports, JSON-RPC Batch Messages (2.0.0-alpha.3)"
NOTIFICATION: Final[Json] = {"jsonrpc": "2.0", "method": "_conform/note", "params": {}}


def add_batch_cases(suite: Suite, **options: Any) -> None:
    """Add the cases that hold for both sides."""
    case = partial(suite.case, section=SECTION, profiles=V2, only=BATCHES, **options)
    case("batch.requests")(requests)
    case("batch.one-array", advice=V2, rules=("batch-answered-apart",))(one_array)
    case("batch.notification")(notification)
    case("batch.only-notifications")(only_notifications)
    case("batch.not-json")(not_json)
    case("batch.empty", rules=("empty-batch-not-answered",))(empty)
    case("batch.invalid-entries", rules=("invalid-entry-not-answered", "batch-refused-whole"))(
        invalid_entries
    )
    case("batch.only-invalid")(only_invalid)


async def requests(wire: CaseWire) -> None:
    """Each request of an array gets its response, in any order."""
    at = await _send(wire, _request("batch-1"), _request("batch-2"))
    for id_ in ("batch-1", "batch-2"):
        await wire.response(id_, at, f"the response to {id_} of an array")


async def one_array(wire: CaseWire) -> None:
    """The responses to the requests of an array come in one array, after all were processed."""
    ids = {"batch-3", "batch-4"}
    at = await _send(wire, *map(_request, sorted(ids)))
    for id_ in ids:
        await wire.response(id_, at, f"the response to {id_} of an array")
    arrays = (each for each in wire.messages[at:] if isinstance(each, Batch))
    if not any(ids <= {_id(each) for each in array.entries} for array in arrays):
        raise CaseFailedError("the responses to one array do not come in one array")


async def notification(wire: CaseWire) -> None:
    """A notification in an array gets no response."""
    at = await _send(wire, NOTIFICATION, _request("batch-5"), NOTIFICATION)
    await wire.response("batch-5", at, "the response to the request of an array")
    await wire.settle()
    if any(isinstance(each, ErrorResponse) and each.id is None for each in wire.messages[at:]):
        raise CaseFailedError("a notification in an array got a response")


async def only_notifications(wire: CaseWire) -> None:
    """An array of notifications gets no response at all, not even an empty array."""
    at = await _send(wire, NOTIFICATION, NOTIFICATION)
    await wire.settle()
    for each in wire.messages[at:]:
        if isinstance(each, Batch) and not each.entries:
            raise CaseFailedError("an array of notifications got an empty array")
        if isinstance(each, ErrorResponse) and each.id is None:
            raise CaseFailedError("an array of notifications got a response")


async def not_json(wire: CaseWire) -> None:
    """An array that is not JSON gets a single error -32700 with the id null."""
    at = len(wire.messages)
    await wire.send(b'[{"jsonrpc":"2.0","id":"batch-6","method":"_conform/batch"},')
    _check_single(await _reply(wire, at), PARSE_ERROR)


async def empty(wire: CaseWire) -> None:
    """An empty array gets a single error -32600 with the id null, which is in no array."""
    at = await _send(wire)
    _check_single(await _reply(wire, at), INVALID_REQUEST)


async def invalid_entries(wire: CaseWire) -> None:
    """An invalid entry of an array gets an error -32600 with the id null; others are processed."""
    at = await _send(wire, 1, _request("batch-7"), {"jsonrpc": "2.0", "verb": "jump"})
    reply = await _reply(wire, at)
    if not isinstance(reply, Batch):
        raise CaseFailedError("an array with invalid entries did not get an array")
    ids = [_id(each) for each in reply.entries]
    if "batch-7" not in ids:
        raise CaseFailedError("the valid request of an array with invalid entries got no response")
    _check_refusals(reply, 2)


async def only_invalid(wire: CaseWire) -> None:
    """An array of invalid entries gets an array with an error -32600 for each."""
    at = await _send(wire, 1, 2, 3)
    reply = await _reply(wire, at)
    if not isinstance(reply, Batch):
        raise CaseFailedError("an array of invalid entries did not get an array")
    _check_refusals(reply, 3)


def _request(id_: str) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "method": "_conform/batch", "params": {}}


def _is_response(message: Message) -> bool:
    return isinstance(message, SuccessResponse | ErrorResponse)


def _id(message: Message) -> Json:
    return message.id if isinstance(message, SuccessResponse | ErrorResponse) else None


async def _send(wire: CaseWire, *entries: Json) -> int:
    """Send an array; return how many messages had come before."""
    at = len(wire.messages)
    await wire.send(encode(list(entries)))
    return at


async def _reply(wire: CaseWire, at: int) -> Batch | ErrorResponse:
    """Return the first array with responses, or error without an id, that comes."""

    def find() -> Batch | ErrorResponse | None:
        for each in wire.messages[at:]:
            match each:
                case ErrorResponse(id=None):
                    return each
                case Batch(entries=entries) if any(map(_is_response, entries)):
                    return each
                case _:
                    pass
        return None

    return await wire.wait_for(find, "a response to the array")


def _check_single(reply: Batch | ErrorResponse, code: int) -> None:
    if isinstance(reply, Batch):
        raise CaseFailedError("the response is an array")
    if reply.code != code:
        raise CaseFailedError(f"it failed with {reply.code}, where {code} was expected")


def _check_refusals(reply: Batch, count: int) -> None:
    refusals = [
        each
        for each in reply.entries
        if isinstance(each, ErrorResponse) and each.id is None and each.code == INVALID_REQUEST
    ]
    if len(refusals) != count:
        raise CaseFailedError(f"{count} invalid entries got {len(refusals)} errors -32600")
