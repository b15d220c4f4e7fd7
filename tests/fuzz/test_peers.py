"""Whole endpoints: whatever the other side sends, they live on and answer the next request."""

from __future__ import annotations

from contextlib import suppress

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_protocol.connection import Connection
from acp_protocol.endpoint import CancelRequested, Endpoint, ProtocolViolation
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import (
    METHOD_NOT_FOUND,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode_request,
    read_message,
)
from acp_protocol.transport import Transport
from acp_protocol.transport.memory import memory_pair
from tests.fuzz.hostile import CORPUS, DEEP, frames

pytestmark = pytest.mark.long

LIMIT = 20.0
"""Seconds after which a connection counts as hung."""
LAST_ID = "the last question"
EVERYTHING = [line for path in CORPUS.values() for line in path.read_bytes().split(b"\n")]


class Echo:
    """Answers requests with their params, and refuses every other one."""

    def __init__(self) -> None:
        self.heard = 0

    async def handle_request(self, request: Request) -> Json:
        if request.method == "":
            raise RequestFailedError(METHOD_NOT_FOUND, "Method not found", request.params)
        return request.params

    async def handle_notification(self, notification: Notification) -> None:
        self.heard += 1


def is_well_formed(frame: bytes) -> bool:
    """Tell whether a frame of ours is right, be it a batch of answers."""
    message = read_message(frame)
    entries = message.entries if isinstance(message, Batch) else (message,)
    return not any(isinstance(entry, InvalidMessage) for entry in entries)


@given(
    sent=st.lists(frames, max_size=12),
    takes_batches=st.booleans(),
    answers=st.lists(st.booleans(), max_size=30),
)
@example(sent=EVERYTHING, takes_batches=True, answers=[])
@example(sent=EVERYTHING, takes_batches=False, answers=[])
@example(sent=[*DEEP.values()], takes_batches=True, answers=[])
def test_a_peer_bears_any_frames_and_answers_each_question_once(
    sent: list[bytes], takes_batches: bool, answers: list[bool]
) -> None:
    peer = Endpoint(allow_batches=takes_batches)
    ours = [peer.send_request("m")[0] for _ in range(3)]
    open_: list[RequestId] = []
    waits = iter(answers)
    replies: list[bytes | None] = []
    for raw in sent:
        for fact in peer.receive(raw):
            match fact:
                case Request(id=id_):
                    open_.append(id_)
                case ProtocolViolation(reason=reason, reply=reply):
                    assert reason
                    replies.append(reply)
                case Notification() | CancelRequested():
                    pass
                case SuccessResponse(id=id_) | ErrorResponse(id=id_):
                    assert id_ in ours
        while open_ and next(waits, True):
            id_ = open_.pop()
            refusal = "x" if len(open_) % 2 else None
            replies.append(
                peer.send_error(id_, 1, refusal) if refusal else peer.send_result(id_, None)
            )
    replies += [peer.send_result(id_, None) for id_ in open_]
    assert all(reply is None or is_well_formed(reply) for reply in replies)
    assert len(peer.close()) <= len(ours)
    assert peer.close() == []


@pytest.mark.parametrize("takes_batches", [True, False])
@settings(deadline=None)
@given(sent=st.lists(frames, max_size=12))
@example(sent=EVERYTHING)
@example(sent=[*DEEP.values()])
async def test_a_connection_bears_any_frames_and_answers_the_next_request(
    takes_batches: bool, sent: list[bytes]
) -> None:
    ours, theirs = memory_pair()
    with anyio.fail_after(LIMIT):
        async with Connection(ours, Echo(), allow_batches=takes_batches) as connection:
            await feed(theirs, [*sent, encode_request(LAST_ID, "m", {"still": "there"})])
            assert connection.is_open
    await theirs.aclose()


async def feed(transport: Transport, sent: list[bytes]) -> None:
    """Send frames, and read what comes back until the last of them is answered."""

    async def send() -> None:
        for frame in sent:
            with suppress(ConnectionClosedError):
                await transport.send(frame)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send)
        while True:
            frame = await transport.receive()
            assert is_well_formed(frame)
            message = read_message(frame)
            if isinstance(message, SuccessResponse) and message.id == LAST_ID:
                assert message.result == {"still": "there"}
                return
