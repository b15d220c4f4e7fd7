"""A client on pipes whose agent is elsewhere: messages pass until one of them ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from acp_protocol.errors import ConnectionClosedError, FrameTooLongError, TransportError
from acp_protocol.jsonrpc import encode_notification, encode_request, encode_result
from acp_protocol.transport.bridge import pass_messages
from acp_protocol.transport.memory import MemoryStream, MemoryTransport

INITIALIZE = encode_request(1, "initialize", {})
PROMPT = encode_request(2, "session/prompt", {})
LIMIT_S = 10.0


class Ends:
    """The far ends of both sides, and how the passing ended."""

    def __init__(self, client: MemoryTransport, agent: MemoryTransport) -> None:
        self.client = client
        self.agent = agent
        self.problem: Exception | None = None
        self.is_over = anyio.Event()


@asynccontextmanager
async def passing(
    last_s: float = LIMIT_S,
    client: type[MemoryTransport] = MemoryTransport,
    agent: type[MemoryTransport] = MemoryTransport,
) -> AsyncGenerator[Ends]:
    """Pass messages between transports of these types."""
    (far_client, near_client), (far_agent, near_agent) = pair(client), pair(agent)
    ends = Ends(far_client, far_agent)

    async def run() -> None:
        try:
            await pass_messages(near_client, near_agent, last_s=last_s)
        except TransportError as problem:
            ends.problem = problem
        ends.is_over.set()

    with anyio.fail_after(LIMIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            yield ends
            tasks.cancel_scope.cancel()
    for each in (far_client, near_client, far_agent, near_agent):
        await each.aclose()


def pair(near: type[MemoryTransport]) -> tuple[MemoryTransport, MemoryTransport]:
    """Return a far end and a near one, which is of the type."""
    there, back = MemoryStream(), MemoryStream()
    return MemoryTransport(there, back), near(back, there)


async def test_messages_pass_both_ways_byte_for_byte() -> None:
    async with passing() as ends:
        odd = b'{ "jsonrpc":"2.0",  "method":"x", "a":1, "a":2 }'
        await ends.client.send(odd)
        assert await ends.agent.receive() == odd
        await ends.agent.send(odd)
        assert await ends.client.receive() == odd


async def test_empty_lines_of_the_client_do_not_pass() -> None:
    async with passing() as ends:
        await ends.client.send(b" ")
        await ends.client.send(PROMPT)
        assert await ends.agent.receive() == PROMPT


async def test_a_client_that_has_left_still_gets_its_responses() -> None:
    async with passing() as ends:
        await ends.client.send(INITIALIZE)
        await ends.agent.receive()
        await ends.client.close_sending()
        await ends.agent.send(encode_result(1, {}))
        assert await ends.client.receive() == encode_result(1, {})
        await ends.is_over.wait()
        assert ends.problem is None


async def test_an_agent_that_does_not_respond_any_more_is_not_waited_for() -> None:
    async with passing(last_s=0.05) as ends:
        await ends.client.send(PROMPT)
        await ends.agent.receive()
        await ends.client.close_sending()
        await ends.is_over.wait()
        assert ends.problem is None


async def test_the_end_of_the_agent_names_what_is_not_known() -> None:
    async with passing() as ends:
        for frame in (INITIALIZE, PROMPT, encode_notification("session/cancel", {})):
            await ends.client.send(frame)
            await ends.agent.receive()
        await ends.agent.aclose()
        await ends.is_over.wait()
        assert isinstance(ends.problem, ConnectionClosedError)
        text = "it is not known whether the agent has done what these ask: session/prompt"
        assert str(ends.problem).endswith(text)


async def test_the_end_of_the_agent_without_open_requests_is_just_that() -> None:
    async with passing() as ends:
        await ends.client.send(PROMPT)
        await ends.agent.receive()
        await ends.agent.send(encode_result(2, {}))
        await ends.client.receive()
        await ends.agent.aclose()
        await ends.is_over.wait()
        assert str(ends.problem) == "the connection is closed"


async def test_many_open_requests_are_counted() -> None:
    async with passing() as ends:
        for number in range(8):
            await ends.client.send(encode_request(number, f"m{number}"))
            await ends.agent.receive()
        await ends.agent.aclose()
        await ends.is_over.wait()
        assert str(ends.problem).endswith("m0, m1, m2, m3, m4 and 3 more")


async def test_a_message_of_the_agent_beyond_the_limit_ends_it() -> None:
    class TooLong(MemoryTransport):
        async def receive(self) -> bytes:
            raise FrameTooLongError(5)

    async with passing(agent=TooLong) as ends:
        await ends.is_over.wait()
        assert isinstance(ends.problem, FrameTooLongError)


async def test_a_client_that_does_not_read_any_more_may_still_send() -> None:
    class Unread(MemoryTransport):
        async def send(self, line: bytes) -> None:
            raise ConnectionClosedError

    async with passing(client=Unread) as ends:
        await ends.agent.send(encode_notification("session/update", {}))
        await ends.client.send(PROMPT)
        assert await ends.agent.receive() == PROMPT
