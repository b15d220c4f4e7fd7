"""OpenOxide over HTTP: a POST of a prompt, whose response is a stream of its events.

Source: OpenOxide, "Remote Transport: HTTP + Server-Sent Events", "Streaming Backpressure".
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from httpx_sse import EventSource

from acp_protocol.dialects.openoxide_http import PostedRequest, event_of, exchange_of
from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.jsonrpc import (
    Json,
    encode,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    parse,
    read_message,
)
from acp_protocol.transport import Transport
from acp_protocol.transport.http import HttpLimits
from acp_protocol.transport.memory import MemoryTransport, memory_pair
from acp_protocol.transport.openoxide_client import OpenoxideTransport, open_openoxide
from acp_protocol.transport.remote import RemoteAgent, RemoteClosedError, RemoteLimits
from tests.protocol.transport.served_agent import TOKEN, Serving, http_client, serving

INITIALIZE = encode_request(0, "initialize", {})
BARE: Json = {"type": "prompt", "session_id": "s1", "content": [{"type": "text", "text": "hi"}]}
BARE_ANSWER = encode({"type": "response", "session_id": "s1", "role": "agent"})
PROMPT = encode_request(7, "session/prompt", BARE)
JSON_HEADERS = {"Content-Type": "application/json"}
STREAMS = {"Accept": "text/event-stream"}


def event(text: str, session: str = "s1") -> bytes:
    params = {"session_id": session, "type": "text_delta", "text": text}
    return encode_notification("session/update", params)


class Site:
    """A server, a client of it, and the agents of its connections."""

    def __init__(self, server: Serving, client: httpx.AsyncClient) -> None:
        self.server = server
        self.client = client
        self.agents: list[MemoryTransport] = []
        self.more = anyio.Event()

    async def agent(self, number: int = 0) -> MemoryTransport:
        while len(self.agents) <= number:
            await self.more.wait()
        return self.agents[number]

    async def post(self, message: Json | bytes, **headers: str) -> httpx.Response:
        body = message if isinstance(message, bytes) else encode(message)
        sent = JSON_HEADERS | {name.replace("_", "-"): each for name, each in headers.items()}
        return await self.client.post(self.server.url, content=body, headers=sent)

    @asynccontextmanager
    async def stream(
        self, message: Json | bytes, **headers: str
    ) -> AsyncGenerator[Callable[[], Awaitable[tuple[str, Any]]]]:
        """Post what gets a stream; yield what returns the name and the data of the next event."""
        body = message if isinstance(message, bytes) else encode(message)
        sent = JSON_HEADERS | STREAMS | headers
        async with self.client.stream(
            "POST", self.server.url, content=body, headers=sent
        ) as response:
            assert response.status_code == 200, await response.aread()
            assert response.headers["Content-Type"] == "text/event-stream"
            events = EventSource(response).aiter_sse()

            async def next_event() -> tuple[str, Any]:
                found = await anext(events, None)
                return ("", None) if found is None else (found.event, json.loads(found.data))

            yield next_event

    async def opened(self, session: str | None = "s1") -> MemoryTransport:
        """Open a connection with a session, without naming the connection."""
        asked: list[httpx.Response] = []

        async def ask() -> None:
            asked.append(await self.post(encode_request(1, "session/new", {})))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            agent = await self.agent()
            own: Any = parse(await agent.receive())
            assert own["method"] == "initialize"
            await agent.send(encode_result(own["id"], {"streaming": True}))
            assert await agent.receive() == encode_request(1, "session/new", {})
            await agent.send(encode_result(1, {"session_id": session}))
        assert asked[0].json()["result"] == {"session_id": session}
        assert asked[0].headers["Acp-Connection-Id"]
        return await self.agent()


@asynccontextmanager
async def site(limits: HttpLimits | None = None) -> AsyncGenerator[Site]:
    sites: list[Site] = []

    @asynccontextmanager
    async def open_agent() -> AsyncGenerator[Transport]:
        ours, theirs = memory_pair(1)
        sites[0].agents.append(theirs)
        sites[0].more.set()
        sites[0].more = anyio.Event()
        try:
            yield ours
        finally:
            await ours.aclose()
            await theirs.aclose()

    async with (
        serving(open_agent, dialect="openoxide", limits=limits) as server,
        http_client() as client,
    ):
        sites.append(Site(server, client))
        yield sites[0]


async def test_a_prompt_without_json_rpc_gets_the_events_of_its_turn() -> None:
    async with site() as there:
        agent = await there.opened()
        async with there.stream(BARE) as next_event:
            assert parse(await agent.receive()) == BARE
            await agent.send(event("Hüllo"))
            await agent.send(encode({"type": "tool_call", "session_id": "s1", "id": "c1"}))
            update: Json = {"session_id": "s1", "slash_commands": []}
            await agent.send(encode_notification("session/update", update))
            await agent.send(BARE_ANSWER)
            hello = {"session_id": "s1", "type": "text_delta", "text": "Hüllo"}
            assert await next_event() == ("text_delta", hello)
            assert (await next_event())[0] == "tool_call"
            assert await next_event() == ("slash_commands", update)
            assert await next_event() == ("response", parse(BARE_ANSWER))
            assert await next_event() == ("", None)


async def test_a_permission_is_an_event_and_its_response_a_post() -> None:
    async with site() as there:
        agent = await there.opened()
        async with there.stream(PROMPT) as next_event:
            assert await agent.receive() == PROMPT
            asked = encode_request(5, "session/request_permission", {"session_id": "s1"})
            await agent.send(asked)
            assert await next_event() == ("message", parse(asked))
            response = encode_result(5, {"outcome": {"outcome": "cancelled"}})
            id_ = there.server.connections
            passed = anyio.Event()

            async def read() -> None:
                assert await agent.receive() == response
                passed.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                (connection,) = id_._open.values()  # pyright: ignore[reportPrivateUsage] - its id
                answered = await there.post(response, Acp_Connection_Id=connection.id)
                assert (answered.status_code, answered.content) == (202, b"")
                await passed.wait()
            await agent.send(encode_result(7, {"stop_reason": "end_turn"}))
            assert (await next_event())[0] == "response"


async def test_a_client_that_initializes_gets_the_abilities_and_its_connection() -> None:
    async with site() as there, anyio.create_task_group() as tasks:

        async def play() -> None:
            agent = await there.agent()
            assert await agent.receive() == INITIALIZE
            await agent.send(encode_result(0, {"session_fork": True}))
            assert await agent.receive() == encode_request(1, "session/list", {})
            await agent.send(encode_result(1, {"sessions": []}))

        tasks.start_soon(play)
        opened = await there.post(INITIALIZE)
        assert opened.json()["result"] == {"session_fork": True}
        id_ = opened.headers["Acp-Connection-Id"]
        listed = await there.post(encode_request(1, "session/list", {}), Acp_Connection_Id=id_)
        assert listed.json()["result"] == {"sessions": []}
        assert len(there.agents) == 1
        ended = await there.client.delete(there.server.url, headers={"Acp-Connection-Id": id_})
        assert ended.status_code == 202
        again = await there.post(encode_request(2, "session/list", {}), Acp_Connection_Id=id_)
        assert again.status_code == 404


@pytest.mark.parametrize("method", ["session/fork", "session/delete", "session/set_mode"])
async def test_operations_on_a_session_are_requests_with_json_responses(method: str) -> None:
    async with site() as there, anyio.create_task_group() as tasks:
        agent = await there.opened()
        request = encode_request(3, method, {"session_id": "s1"})

        async def play() -> None:
            assert await agent.receive() == request
            await agent.send(encode_result(3, {"session_id": "s2"}))

        tasks.start_soon(play)
        done = await there.post(request)
        assert done.headers["Content-Type"] == "application/json"
        assert done.json()["result"] == {"session_id": "s2"}
        # The session that it names is found by its id.
        async with there.stream({**BARE, "session_id": "s2"}) as next_event:
            await agent.receive()
            await agent.send(encode({"type": "response", "session_id": "s2"}))
            assert (await next_event())[0] == "response"
    assert len(there.agents) == 1


async def test_history_comes_on_the_stream_of_a_client_that_takes_one() -> None:
    async with site() as there:
        agent = await there.opened()
        request = encode_request(3, "session/resume", {"session_id": "s1"})
        async with there.stream(request) as next_event:
            await agent.receive()
            await agent.send(event("earlier"))
            await agent.send(encode_result(3, {}))
            assert (await next_event())[1]["text"] == "earlier"
            assert await next_event() == ("response", parse(encode_result(3, {})))
            assert await next_event() == ("", None)


async def test_history_that_nobody_reads_is_not_part_of_the_next_turn() -> None:
    async with site() as there:
        agent = await there.opened()
        request = encode_request(3, "session/resume", {"session_id": "s1"})
        async with anyio.create_task_group() as tasks:

            async def play() -> None:
                await agent.receive()
                await agent.send(event("earlier"))
                await agent.send(encode_result(3, {}))

            tasks.start_soon(play)
            assert (await there.post(request)).json()["result"] == {}
        async with there.stream(BARE) as next_event:
            await agent.receive()
            await agent.send(BARE_ANSWER)
            assert (await next_event())[0] == "response"


@pytest.mark.parametrize(
    ("prompt", "cancellation", "answer"),
    [
        (PROMPT, encode_notification("cancel", {"request_id": 7}), encode_result(7, {})),
        (
            encode(BARE),
            encode_notification("session/cancel", {"session_id": "s1"}),
            BARE_ANSWER,
        ),
    ],
    ids=["with JSON-RPC", "without"],
)
async def test_a_client_that_leaves_its_stream_cancels_the_turn(
    prompt: bytes, cancellation: bytes, answer: bytes
) -> None:
    async with site() as there:
        agent = await there.opened()
        async with there.stream(prompt) as next_event:
            await agent.receive()
            await agent.send(event("one"))
            await next_event()
        assert await agent.receive() == cancellation
        # Until the turn has ended, there is no other one, and nobody reads what it says.
        assert (await there.post(encode(BARE))).status_code == 409
        await agent.send(event("late"))
        await agent.send(answer)
        async with there.stream(BARE) as next_event:
            await agent.receive()
            await agent.send(event("next"))
            await agent.send(BARE_ANSWER)
            assert (await next_event())[1]["text"] == "next"
            assert (await next_event())[0] == "response"


async def test_a_cancel_is_a_notification_that_names_the_request() -> None:
    async with site() as there:
        agent = await there.opened()
        async with there.stream(PROMPT) as next_event, anyio.create_task_group() as tasks:
            await agent.receive()
            cancel = encode_notification("cancel", {"request_id": 7, "session_id": "s1"})

            async def play() -> None:
                assert await agent.receive() == cancel
                await agent.send(encode_result(7, {"stop_reason": "cancelled"}))

            tasks.start_soon(play)
            assert (await there.post(cancel)).status_code == 202
            assert (await next_event())[1]["result"] == {"stop_reason": "cancelled"}


async def test_a_session_has_one_prompt_and_an_id_one_request_at_a_time() -> None:
    async with site() as there:
        agent = await there.opened()
        async with there.stream(PROMPT):
            await agent.receive()
            assert (await there.post(BARE)).status_code == 409
            same = encode_request(7, "session/list", {"session_id": "s1"})
            assert (await there.post(same)).status_code == 409


async def test_an_agent_waits_for_a_client_that_does_not_read() -> None:
    """OpenOxide, "Streaming Backpressure": the queue is bounded, and the agent is paused."""
    big, count = "x" * 2**20, 40
    async with site(HttpLimits(unread=2**20)) as there:
        agent = await there.opened()
        sent: list[int] = []

        async def flood() -> None:
            for number in range(count):
                await agent.send(event(f"{number} {big}"))
                sent.append(number)
            await agent.send(BARE_ANSWER)

        async with there.stream(BARE) as next_event, anyio.create_task_group() as tasks:
            await agent.receive()
            tasks.start_soon(flood)
            previous = -1
            while len(sent) != previous:
                previous = len(sent)
                await anyio.sleep(0.2)
            assert len(sent) < count
            for number in range(count):
                assert (await next_event())[1]["text"].startswith(f"{number} ")
            assert (await next_event())[0] == "response"


@pytest.mark.parametrize("is_bare", [True, False])
async def test_the_end_of_the_agent_is_an_error_of_the_turn(is_bare: bool) -> None:
    async with site() as there:
        agent = await there.opened()
        async with there.stream(BARE if is_bare else PROMPT) as next_event:
            await agent.receive()
            await agent.send(event("one"))
            await agent.aclose()
            assert (await next_event())[0] == "text_delta"
            name, data = await next_event()
            assert name == "error"
            error = data if is_bare else data["error"]
            assert error["code"] == -32603
            assert error["message"] == "The agent has ended: the agent ended"
            assert await next_event() == ("", None)


async def test_the_end_of_the_agent_is_an_error_of_a_request() -> None:
    async with site() as there, anyio.create_task_group() as tasks:
        agent = await there.opened()

        async def play() -> None:
            await agent.receive()
            await agent.aclose()

        tasks.start_soon(play)
        failed = await there.post(encode_request(3, "session/fork", {"session_id": "s1"}))
        assert failed.status_code == 500
        assert failed.json()["error"]["code"] == -32603


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"type":"prompt"}', {}, 400),
        (b'{"type":"prompt","session_id":"s","jsonrpc":"2.0"}', {}, 400),
        (encode_notification("cancel", {"request_id": 1}), {}, 400),
        (encode_result(1, {}), {}, 400),
        (encode(BARE), {"Content_Type": "text/plain"}, 415),
        (encode(BARE), {"Acp_Connection_Id": "unknown"}, 404),
        (encode(BARE), {"Authorization": "Bearer wrong"}, 401),
        (encode(BARE), {"Host": "evil.example"}, 403),
        (encode(BARE), {"Origin": "https://evil.example"}, 403),
    ],
)
async def test_what_is_refused(body: bytes, headers: dict[str, str], status: int) -> None:
    async with site() as there:
        assert (await there.post(body, **headers)).status_code == status
        assert not there.agents


async def test_there_are_no_events_but_those_of_a_post() -> None:
    async with site() as there:
        refused = await there.client.get(there.server.url, headers=STREAMS)
        assert refused.status_code == 405
        assert refused.headers["Allow"] == "POST, DELETE"


# Without I/O


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (event("x"), "text_delta"),
        (encode({"type": "diff", "session_id": "s1"}), "diff"),
        (encode({"slash_commands": [], "session_id": "s1"}), "slash_commands"),
        (encode_notification("session/update", {"session_id": "s1", "update": {}}), "message"),
        (encode({"type": "two\nlines", "session_id": "s1"}), "message"),
        (encode({"type": 5}), "message"),
        (encode_request(1, "fs/read_text_file", {}), "message"),
        (encode_result(1, {}), "response"),
        (encode_error(1, -32603, "x"), "error"),
        (BARE_ANSWER, "response"),
        (b"no JSON", "message"),
        (b"[]", "message"),
    ],
)
def test_the_name_of_an_event_is_its_type(frame: bytes, name: str) -> None:
    found, data = event_of(frame)
    assert found == name
    assert b"\n" not in found.encode()
    if name == "message":
        assert data == frame


def test_what_begins_an_exchange() -> None:
    assert exchange_of(read_message(PROMPT)) == PostedRequest("s1", 7, is_prompt=True)
    assert exchange_of(read_message(encode(BARE))) == PostedRequest("s1", None, is_prompt=True)
    assert exchange_of(read_message(INITIALIZE)) == PostedRequest(None, 0)
    for frame in (encode_notification("cancel", {}), encode_result(1, {}), b"{}", b"x"):
        assert exchange_of(read_message(frame)) is None


# The client


@asynccontextmanager
async def connected(there: Site, **limits: Any) -> AsyncGenerator[OpenoxideTransport]:
    remote = RemoteAgent(there.server.url, token=TOKEN, dialect="openoxide")
    notes.clear()
    async with open_openoxide(
        remote, limits=RemoteLimits(**limits), notify=notes.append
    ) as transport:
        yield transport


notes: list[str] = []


async def initialized(there: Site, transport: OpenoxideTransport) -> MemoryTransport:
    await transport.send(INITIALIZE)
    agent = await there.agent()
    assert await agent.receive() == INITIALIZE
    await agent.send(encode_result(0, {}))
    assert await transport.receive() == encode_result(0, {})
    return agent


async def test_our_client_gets_the_frames_of_the_agent() -> None:
    async with site() as there, connected(there) as transport:
        agent = await initialized(there, transport)
        await transport.send(PROMPT)
        assert await agent.receive() == PROMPT
        asked = encode_request(5, "fs/read_text_file", {"session_id": "s1"})
        for frame in (event("one"), asked):
            await agent.send(frame)
        assert parse(await transport.receive()) == {
            "session_id": "s1",
            "type": "text_delta",
            "text": "one",
        }
        assert await transport.receive() == asked
        await transport.send(encode_result(5, {"content": ""}))
        assert await agent.receive() == encode_result(5, {"content": ""})
        await agent.send(encode_result(7, {}))
        assert await transport.receive() == encode_result(7, {})
        await transport.aclose()
        with pytest.raises(ConnectionClosedError):
            await agent.receive()


async def test_what_is_refused_is_an_error_of_its_request() -> None:
    async with site() as there, connected(there) as transport:
        agent = await initialized(there, transport)
        await transport.send(PROMPT)
        await agent.receive()
        await transport.send(encode_request(8, "session/prompt", BARE))
        error: Any = parse(await transport.receive())
        assert error["id"] == 8
        assert "409 Conflict" in error["error"]["message"]
        await transport.send(b"[]")
        while not notes:
            await anyio.lowlevel.checkpoint()
        assert "did not reach the agent" in notes[0]


async def test_a_server_that_refuses_initialize_ends_the_connection() -> None:
    async with site() as there:
        remote = RemoteAgent(there.server.url, token="wrong")
        async with open_openoxide(remote) as transport:
            await transport.send(INITIALIZE)
            with pytest.raises(RemoteClosedError, match="401"):
                await transport.receive()


async def test_a_message_beyond_the_limit_ends_the_connection() -> None:
    async with site() as there, connected(there, frame=1000) as transport:
        agent = await initialized(there, transport)
        await transport.send(PROMPT)
        await agent.receive()
        await agent.send(event("x" * 2000))
        with pytest.raises(FrameTooLongError):
            await transport.receive()


async def test_a_stream_without_an_answer_is_an_error_of_its_request() -> None:
    async with site() as there, connected(there) as transport:
        agent = await initialized(there, transport)
        await transport.send(PROMPT)
        await agent.receive()
        there.server.stop.set()
        await agent.aclose()
        error: Any = parse(await transport.receive())
        assert error["id"] == 7
        assert error["error"]["code"] == -32603
