"""The client over HTTP, against a scripted server: each thing that servers do differently."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest

from acp_inspector.journal import Frame, Journal, JournalEvent
from acp_inspector.lint.engine import lint
from acp_protocol.errors import AcpError, ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import Json, encode, encode_error, encode_request, parse
from acp_protocol.transport.http_client import open_http
from acp_protocol.transport.http_frames import INBOX
from acp_protocol.transport.remote import RemoteAgent, RemoteClosedError, RemoteLimits
from tests.protocol.transport.raw_server import (
    ID,
    LIMIT,
    QUICK,
    Exchange,
    RawServer,
    http_client_of,
    raw_server,
    usual,
)

MANY = 3 * INBOX


async def test_a_turn_has_its_streams_and_headers() -> None:
    """Headers, Routes: everything after initialize names connection, session and version."""
    async with raw_server() as server, http_client_of(server.url) as client:
        assert await client.new_session() == "s1"
        assert await client.prompt() == {"stopReason": "end_turn"}
    names = ["initialize", "GET", "session/new", "GET s1", "session/prompt", "DELETE"]
    assert server.names == names
    opening, *later = server.seen
    assert opening.headers["content-type"] == "application/json"
    assert not [name for name in opening.headers if name.startswith("acp-")]
    assert {each.headers["acp-connection-id"] for each in later} == {ID}
    assert {each.headers["acp-protocol-version"] for each in later} == {"1"}
    assert [each.session for each in later] == [None, None, "s1", "s1", None]
    assert {each.headers["accept"] for each in server.seen if "GET" in each.name} == {
        "text/event-stream"
    }


async def test_streams_may_repeat_the_ids_of_connection_and_session() -> None:
    """SSE response headers: Rust adds both ids; the client keeps the one of `initialize`."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.method == "GET":
            session = {"Acp-Session-Id": exchange.session} if exchange.session else {}
            await server.open_stream(exchange, {"Acp-Connection-Id": "another"} | session)
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        assert await client.new_session() == "s1"
        assert await client.prompt() == {"stopReason": "end_turn"}
    assert {each.headers["acp-connection-id"] for each in server.seen[1:]} == {ID}


async def test_streams_that_wait_for_a_slow_reader_all_go_on() -> None:
    texts = list[str]()
    async with (
        raw_server() as server,
        open_http(RemoteAgent(server.url), limits=QUICK) as transport,
        anyio.create_task_group() as tasks,
    ):
        for id_, method in ((1, "initialize"), (2, "session/new")):
            await transport.send(encode_request(id_, method, {}))
            await transport.receive()
        for name in (None, "s1"):
            stream = await server.stream(name)
            tasks.start_soon(say_much, stream, name or "connection")
        while len(transport._inbox) <= INBOX:
            await anyio.lowlevel.checkpoint()
        with anyio.fail_after(LIMIT):
            while len(texts) < 2 * MANY:
                texts.append(parse(await transport.receive())["params"]["text"])
    for name in ("connection", "s1"):
        assert [text for text in texts if name in text] == [f"{name} {n}" for n in range(MANY)]


async def say_much(stream: Exchange, name: str) -> None:
    for number in range(MANY):
        await stream.update("s1", f"{name} {number}")


# initialize


async def test_an_error_of_initialize_comes_without_an_id() -> None:
    """Rust: the error of initialize has no header, and the connection is gone."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if len(server.requests("initialize")) == 1:
            await exchange.reply(200, encode_error(exchange.message["id"], -32602, "no version 2"))
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(RequestFailedError, match="no version 2"):
            await client.initialize()
        assert await client.new_session() == "s1"
    assert "acp-connection-id" not in server.requests("initialize")[1].headers


async def test_an_error_of_initialize_may_come_with_an_id() -> None:
    """TypeScript, Python: 200 with the header; the connection stays and is deleted at the end."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name != "initialize":
            await usual(server, exchange)
            return
        body = encode_error(exchange.message["id"], -32000, "log in")
        await exchange.reply(200, body, acp_connection_id=ID)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(RequestFailedError, match="log in"):
            await client.initialize()
    assert server.names == ["initialize", "GET", "DELETE"]


async def test_the_error_of_a_dead_agent_is_in_the_body_of_a_500() -> None:
    """TypeScript, Rust: 500 with -32603."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        await exchange.reply(500, encode_error(exchange.message["id"], -32603, "it has exited"))

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(RequestFailedError, match="it has exited"):
            await client.initialize()


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, b"who?", "text/plain", ["401 Unauthorized", "who?", "--token-env"]),
        (403, b'{"error": "origin"}', "application/json", ["403 Forbidden", "origin", "allows"]),
        (404, b"<html>lost", "text/html", ["404 Not Found", "/acp"]),
        (413, b"", "", ["413", "longer than the server takes"]),
        (415, b"", "", ["415", "is it an ACP endpoint?"]),
        (426, b"", "", ["426", "ws://"]),
        (429, b"", "", ["429 Too Many Requests", "try again later"]),
        (500, b"", "", ["the server failed (500"]),
        (504, b'{"error": "initialize timed out"}', "application/json", ["504", "timed out"]),
        (200, b"<html>hello", "text/html", ["not JSON-RPC but text/html", "is it an ACP"]),
        (200, encode({"jsonrpc": "2.0", "id": 1, "result": {}}), "", ["no Acp-Connection-Id"]),
        (101, b"", "", ["initialize"]),
    ],
)
async def test_a_refused_initialize_is_explained(
    status: int, body: bytes, kind: str, words: list[str]
) -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        await exchange.reply(status, body, kind or "application/json")

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(ConnectionClosedError) as caught:
            await client.initialize()
    for word in words:
        assert word in str(caught.value)


async def test_the_id_of_the_connection_may_be_in_the_result() -> None:
    """The RFD shows a member `connectionId`, too."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "initialize":
            await exchange.answer({"protocolVersion": 1, "connectionId": ID})
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        assert await client.new_session() == "s1"


async def test_what_comes_before_initialize_is_posted_without_an_id() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        await exchange.reply(400, b"initialize first", "text/plain")

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(RequestFailedError, match=r"400 Bad Request.*initialize first"):
            await client.request("session/new")


# Sessions that exist already


async def test_the_response_of_a_load_comes_on_the_stream_of_the_session() -> None:
    """Rust: the response of session/load is on the session's stream, which is open before."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name != "session/load":
            await usual(server, exchange)
            return
        await exchange.reply()
        stream = await server.stream("s1")
        await stream.update("s1", "history")
        await stream.respond(exchange.message, {})

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.initialize()
        assert await client.request("session/load", sessionId="s1") == {}
        assert client.texts == ["history"]
        assert server.names[2:4] == ["GET s1", "session/load"]


async def test_a_python_server_loads_on_the_stream_of_the_connection() -> None:
    """Python: 404 for the session's GET and for its header; afterwards it cannot be prompted."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.session is not None:
            body = b'{"error": "Unknown session id"}'
            await exchange.reply(404, body)
        elif exchange.name == "session/prompt":
            await exchange.reply(400, b'{"error": "Missing session id header"}')
        elif exchange.name == "session/load":
            await exchange.reply()
            stream = await server.stream()
            await stream.update("s1", "history")
            await stream.respond(exchange.message, {})
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.initialize()
        assert await client.request("session/load", sessionId="s1") == {}
        assert client.texts == ["history"]
        with pytest.raises(RequestFailedError, match=r"does not know the session.*ws://"):
            await client.prompt()


@pytest.mark.parametrize("status", [404, 409])
async def test_a_refused_stream_is_opened_again_once_the_session_is_known(status: int) -> None:
    """RFD: 404 for an unknown session; Rust dev: 409. After the POST it is known."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "GET s1" and "session/load" not in server.names:
            await exchange.reply(status, b"unknown session", "text/plain")
        elif exchange.name == "session/load":
            await exchange.reply_and_close()
            await (await server.stream("s1")).respond(exchange.message, {"ok": True})
        else:
            await usual(server, exchange)

    limits = RemoteLimits(retry_s=LIMIT, max_retry_s=LIMIT, stream_give_up_s=5 * LIMIT)
    async with raw_server(handle) as server, http_client_of(server.url, limits=limits) as client:
        await client.initialize()
        assert await client.request("session/load", sessionId="s1") == {"ok": True}


async def test_a_stream_with_another_reader_is_given_up_with_a_word() -> None:
    """409: the stream has a reader already."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "GET s1":
            await exchange.reply(409, b"one reader", "text/plain")
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        assert await client.new_session() == "s1"
        while not client.notices:
            await anyio.sleep(0.01)
    assert "the request conflicts with another (409 Conflict): one reader" in client.notices[0]


async def test_the_stream_of_a_subagent_is_opened_when_it_is_announced() -> None:
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.new_session()
        update: Json = {"sessionUpdate": "subagent_update", "sessionId": "s2"}
        params: Json = {"sessionId": "s1", "update": update}
        await (await server.stream("s1")).event(
            {"jsonrpc": "2.0", "method": "session/update", "params": params}
        )
        await (await server.stream("s2")).update("s2", "child")
        await client.wait_for_text("child")


async def test_the_stream_of_a_closed_session_is_closed() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        await usual(server, exchange)
        if exchange.name == "session/close":
            await server.streams["s1"].respond(exchange.message, {})

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.new_session()
        assert await client.request("session/close", sessionId="s1") == {}
        await (await server.stream("s1")).hung_up.wait()


# Messages on any stream


async def test_a_response_names_the_session_on_whose_stream_the_request_came() -> None:
    """TypeScript: required if the request came down a session's stream; else not sent."""
    ask: Json = {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission"}
    other: Json = {**ask, "id": "7", "params": {"sessionId": "s1"}}
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.new_session()
        await (await server.stream("s1")).event({**ask, "params": {"sessionId": "s1"}})
        await server.wait_for(lambda: len(server.requests("response")) == 1)
        await (await server.stream()).event(other)
        await server.wait_for(lambda: len(server.requests("response")) == 2)
    assert [each.session for each in server.requests("response")] == ["s1", None]
    assert [each.message["id"] for each in server.requests("response")] == [7, "7"]


async def test_a_response_in_the_body_of_a_post_is_taken() -> None:
    """202 or 200: some servers answer a request at once."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/list":
            await exchange.answer({"sessions": []})
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.initialize()
        assert await client.request("session/list") == {"sessions": []}


async def test_an_array_is_answered_by_an_array_on_a_stream() -> None:
    """Rust: 202 for an array; the array of responses comes on a stream."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        await usual(server, exchange)
        if exchange.name == "array":
            await server.streams[None].event([{"jsonrpc": "2.0", "id": 5, "result": 1}])

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.initialize()
        await client.transport.send(b'[{"jsonrpc":"2.0","id":5,"method":"x"}]')
        while not client.connection.violations:
            await anyio.sleep(0.01)
        assert client.connection.violations[0].is_batch


async def test_the_refusal_of_what_is_no_json_may_come_on_the_stream() -> None:
    """Rust: 202 for JSON that cannot be read, and -32700 without an id on the stream."""
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.initialize()
        await (await server.stream()).event(parse(encode_error(None, -32700, "no JSON")))
        while not client.connection.violations:
            await anyio.sleep(0.01)
        assert await client.new_session() == "s1"


async def test_an_empty_body_of_json_is_no_answer() -> None:
    """Python: 202 with a type and no body."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/new":
            await exchange.reply(content_type="application/json")
            await (await server.stream()).respond(exchange.message, {"sessionId": "s1"})
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        assert await client.new_session() == "s1"


@pytest.mark.parametrize("status", [400, 501])
async def test_an_array_is_refused_with_a_response_without_an_id(status: int) -> None:
    """TypeScript: 400 with -32600 and `id: null`; RFD and Python: 501."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        await exchange.reply(status, encode_error(None, -32600, "no arrays"))

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.transport.send(b"[]")
        while not client.connection.violations:
            await anyio.sleep(0.01)


# Refusals


async def test_a_refused_request_gets_an_error_and_the_connection_goes_on() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/set_mode":
            await exchange.reply(413, b"too big", "text/plain")
        else:
            await usual(server, exchange)

    journal = Journal()
    async with (
        raw_server(handle) as server,
        http_client_of(server.url, observer=journal) as client,
    ):
        await client.new_session()
        with pytest.raises(RequestFailedError, match=r"longer than the server takes.*too big"):
            await client.request("session/set_mode", sessionId="s1")
        assert await client.prompt() == {"stopReason": "end_turn"}
    injected = next(each for each in events(journal) if each.name == "injected")
    request = next(each for each in frames(journal) if b"set_mode" in each.data)
    assert injected.data["answers"] == request.seq


@pytest.mark.parametrize("sent", [b"no JSON", b'{"jsonrpc":"2.0"}', b"[]"])
async def test_what_is_no_message_is_refused_with_an_error_without_an_id(sent: bytes) -> None:
    """TypeScript: 400 with a text. An agent on stdio would send the error itself."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.body == sent:
            await exchange.reply(400, b"Invalid JSON", "text/plain")
        else:
            await usual(server, exchange)

    async with (
        raw_server(handle) as server,
        open_http(RemoteAgent(server.url), limits=QUICK) as transport,
    ):
        await transport.send(encode_request(1, "initialize", {}))
        await transport.receive()
        await transport.send(sent)
        refused = parse(await transport.receive())
    assert (refused["id"], refused["error"]["data"]) == (None, {"httpStatus": 400})
    assert "Invalid JSON" in refused["error"]["message"]


async def test_a_refused_notification_is_reported() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/cancel":
            await exchange.reply(403, b"not yours", "text/plain")
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.new_session()
        await client.connection.notify("session/cancel", {"sessionId": "s1"})
        await server.wait_for(lambda: "session/cancel" in server.names)
        await client.prompt()
    assert client.notices[0].startswith("session/cancel did not reach the agent: ")
    assert "not yours" in client.notices[0]


@pytest.mark.parametrize("status", [429, 503])
async def test_what_is_too_much_now_is_sent_again(status: int) -> None:
    """Rust dev: 429 while the budgets are full. It stays one message, and nobody is to blame."""
    journal = Journal()

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/prompt" and len(server.requests("session/prompt")) < 3:
            await exchange.reply(status, retry_after="0")
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url, observer=journal) as client:
        await client.new_session()
        assert await client.prompt() == {"stopReason": "end_turn"}
    assert len(server.requests("session/prompt")) == 3
    [prompt] = [each for each in frames(journal) if b"session/prompt" in each.data]
    again = [each.data["of"] for each in events(journal) if "of" in each.data]
    assert again == [prompt.seq, prompt.seq]
    found = {each.rule.name for each in lint(journal.entries).findings}
    assert not found & {"reused-pending-id", "concurrent-prompts", "wrong-post-response"}


async def test_what_stays_too_much_is_given_up() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/prompt":
            await exchange.reply(429)
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.new_session()
        with pytest.raises(RequestFailedError, match="429 Too Many Requests"):
            await client.prompt()


async def test_an_unknown_connection_ends_it() -> None:
    """404: the connection is gone, or another process has it."""

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/prompt":
            await exchange.reply(404, b"Unknown connection", "text/plain")
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.new_session()
        with pytest.raises(ConnectionClosedError, match="does not know the connection"):
            await client.prompt()
        assert can_return(client.transport.closed_error())


@pytest.mark.parametrize("session", ["ж", "a\r\nb: c", " a"])
async def test_a_session_that_no_header_can_name_is_refused_here(session: str) -> None:
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.initialize()
        with pytest.raises(RequestFailedError, match="cannot be in a header"):
            await client.prompt(session)
    assert "session/prompt" not in server.names


# Order


async def test_only_requests_wait_for_a_request_that_is_held_open() -> None:
    """TypeScript: a request waits (its POST is open) while too much is unread."""
    held = anyio.Event()

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/prompt":
            await held.wait()
        await usual(server, exchange)

    ask: Json = {"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {"sessionId": "s1"}}
    async with (
        raw_server(handle) as server,
        http_client_of(server.url) as client,
        anyio.create_task_group() as tasks,
    ):
        await client.new_session()
        tasks.start_soon(client.prompt)
        await server.wait_for(lambda: "session/prompt" in server.names)
        tasks.start_soon(partial(client.request, "session/set_mode", sessionId="s1"))
        await anyio.wait_all_tasks_blocked()
        await client.connection.notify("session/cancel", {"sessionId": "s1"})
        await (await server.stream("s1")).event(ask)
        await server.wait_for(lambda: {"session/cancel", "response"} <= set(server.names))
        assert "session/set_mode" not in server.names
        held.set()
        await server.wait_for(lambda: "session/set_mode" in server.names)
        tasks.cancel_scope.cancel()


async def test_messages_are_posted_in_order() -> None:
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.initialize()
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(client.connection.notify, f"_n{number}")
        await server.wait_for(lambda: "_n9" in server.names)
    assert [name for name in server.names if name.startswith("_n")] == [
        f"_n{number}" for number in range(10)
    ]


async def test_a_sender_waits_while_too_many_messages_are_on_their_way() -> None:
    held = anyio.Event()

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "_held":
            await held.wait()
        await usual(server, exchange)

    limits = RemoteLimits(open_posts=2, close_s=0.1)
    async with raw_server(handle) as server, http_client_of(server.url, limits=limits) as client:
        await client.initialize()
        for _ in range(2):
            await client.connection.notify("_held", {})
        with anyio.move_on_after(0.05) as scope:
            await client.connection.notify("_more", {})
        assert scope.cancelled_caught
        held.set()
        await client.connection.notify("_last", {})
        await server.wait_for(lambda: "_last" in server.names)
        assert "_more" not in server.names


# Cookies, credentials, redirects


async def test_cookies_go_back_where_they_belong() -> None:
    """RFD: cookies are kept for the connection, with their path, expiry and protection."""
    cookies = [
        "a=1; Path=/acp",
        "b=2; Path=/other",
        "c=3; Secure",
        "d=4; Max-Age=0",
        "e=5; HttpOnly; SameSite=Lax",
    ]

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "initialize":
            named = "\r\nset-cookie: ".join(cookies)
            await exchange.initialized(set_cookie=named)
        else:
            await usual(server, exchange)

    async with (
        raw_server(handle) as server,
        http_client_of(server.url, headers={"Cookie": "mine=0"}) as client,
    ):
        await client.new_session()
    for each in server.seen[1:]:
        assert set(each.headers["cookie"].split("; ")) == {"mine=0", "a=1", "e=5"}
    assert server.seen[0].headers["cookie"] == "mine=0"


async def test_the_same_origin_may_redirect() -> None:
    journal = Journal()

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.target == "/acp":
            await exchange.reply(307, location="/v1/acp")
        else:
            await usual(server, exchange)

    async with (
        raw_server(handle) as server,
        http_client_of(server.url, token="t-0123456789", observer=journal) as client,
    ):
        await client.new_session()
    sent = [parse(each.data)["method"] for each in frames(journal) if each.side == "client"]
    assert sent == ["initialize", "session/new"]
    found = {each.rule.name for each in lint(journal.entries).findings}
    assert not found & {"reused-pending-id", "wrong-initialize-response", "wrong-post-response"}
    moved = [each for each in server.seen if each.target == "/v1/acp"]
    assert [each.name for each in moved][:3] == ["initialize", "GET", "session/new"]
    assert {each.headers["authorization"] for each in server.seen} == {"Bearer t-0123456789"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_another_origin_gets_nothing(status: int) -> None:
    async with raw_server() as other:

        async def handle(server: RawServer, exchange: Exchange) -> None:
            await exchange.reply(status, location=f"{other.url}?next")

        async with raw_server(handle) as server, http_client_of(server.url) as client:
            with pytest.raises(ConnectionClosedError, match="to another origin") as caught:
                await client.initialize()
            assert f"http://127.0.0.1:{other.port}" in str(caught.value)
        assert not other.seen


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_changes_the_method_is_not_followed(status: int) -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        await exchange.reply(status, location="/elsewhere")

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(ConnectionClosedError, match=r"redirects .* to /elsewhere"):
            await client.initialize()


async def test_a_server_that_only_redirects_is_left() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        await exchange.reply(308, location=f"{exchange.target}x")

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(ConnectionClosedError, match="again and again"):
            await client.initialize()


# Streams of events

ANSWER = b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"\xc3\xbc\xf0\x9f\x8e\x89"}}'
PARTS = ANSWER.split(b",", 1)


@pytest.mark.parametrize(
    "stream",
    [
        b"data: %b\n\n" % ANSWER,
        b"data:%b\r\n\r\n" % ANSWER,
        b"data: %b\r\r" % ANSWER,
        b"\xef\xbb\xbfdata: %b\n\n" % ANSWER,
        b":\n\n: keepalive\n\ndata: %b\n\n" % ANSWER,
        b"event: message\nid: 4\nretry: 10\ndata: %b\n\n" % ANSWER,
        b"data: %b,\ndata: %b\n\n" % (PARTS[0], PARTS[1]),
        b"data: {}x\n\ndata: 3\n\ndata\n\nevent: ping\n\ndata: %b\n\n" % ANSWER,
        b"unknown: 1\nretry: soon\ndata: %b\n\n" % ANSWER,
    ],
)
@pytest.mark.parametrize("is_cut", [False, True])
async def test_every_form_of_events_is_read(stream: bytes, is_cut: bool) -> None:
    """LF, CRLF, CR, a mark, comments, fields, several lines, junk; cut at each byte."""
    chunks = [stream[at : at + 1] for at in range(len(stream))] if is_cut else [stream]
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.initialize()
        await (await server.stream()).say(*chunks)
        await client.wait_for_text("ü🎉")
        assert client.texts == ["ü🎉"]


async def test_what_is_no_message_is_recorded_and_skipped() -> None:
    journal = Journal()
    async with raw_server() as server, http_client_of(server.url, observer=journal) as client:
        await client.initialize()
        await (await server.stream()).say(b"data: what?\n\n")
        await (await server.stream()).update("s1", "next")
        await client.wait_for_text("next")
        assert not client.connection.violations
    assert b"what?" in [each.data for each in frames(journal)]


async def test_a_stream_that_the_server_ends_is_opened_again() -> None:
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.new_session()
        first = await server.stream("s1")
        await first.update("s1", "before")
        await first.end()
        await server.wait_for(lambda: server.streams["s1"] is not first)
        await server.streams["s1"].update("s1", "after")
        await client.wait_for_text("after")
    assert client.texts == ["before", "after"]
    assert "last-event-id" not in server.requests("GET s1")[1].headers


async def test_a_broken_stream_with_ids_is_resumed() -> None:
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.new_session()
        first = await server.stream("s1")
        await first.update("s1", "before", "41")
        await client.wait_for_text("before")
        await first.cut()
        await server.wait_for(lambda: server.streams["s1"] is not first)
        await server.streams["s1"].update("s1", "after", "42")
        await client.wait_for_text("after")
    assert server.requests("GET s1")[1].headers["last-event-id"] == "41"


@pytest.mark.parametrize("session", [None, "s1"])
async def test_a_broken_stream_without_ids_ends_the_connection(session: str | None) -> None:
    """A message that was written to a broken stream is gone, and nobody can say which."""
    async with raw_server() as server, http_client_of(server.url) as client:
        await client.new_session()
        await (await server.stream(session)).cut()
        await client.connection.wait_closed()
        reason = client.transport.closed_error()
    assert can_return(reason)
    assert "may be lost" in str(reason)
    assert server.names[-1] == "DELETE"


async def test_a_body_without_a_visible_end_may_be_cut() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "GET":
            await exchange.begin(is_chunked=False)
            await exchange.stream.send(b"data: {}\n\n")
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.initialize()
        await client.connection.wait_closed()
        assert "may be lost" in str(client.transport.closed_error())


@pytest.mark.parametrize("status", [404, 410, 204])
async def test_a_connection_that_the_server_has_ended_is_over(status: int) -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "GET" and len(server.requests("GET")) > 1:
            await exchange.reply(status, b"" if status == 204 else b"you were idle", "text/plain")
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.initialize()
        await (await server.stream()).end()
        await client.connection.wait_closed()
        reason = str(client.transport.closed_error())
        assert reason.startswith("the server has ended the connection")
        assert ("you were idle" in reason) == (status != 204)
        with pytest.raises(ConnectionClosedError, match="has ended the connection"):
            await client.request("session/new")


async def test_a_server_without_streams_may_speak_openoxide() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "GET":
            await exchange.reply(405, b"GET has nothing", "text/plain")
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(AcpError, match="opens no streams") as caught:
            await client.initialize()
            await client.request("session/new")
        assert "--dialect openoxide" in str(caught.value)


async def test_a_server_that_is_gone_is_waited_for_only_so_long() -> None:
    async with raw_server() as server:
        first = anyio.Event()

        async def wait_closed() -> None:
            async with http_client_of(server.url) as client:
                await client.initialize()
                first.set()
                await client.connection.wait_closed()
                reasons.append(client.transport.closed_error())
                notices.extend(client.notices)

        reasons: list[AcpError] = []
        notices: list[str] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_closed)
            await first.wait()
            stream = await server.stream()
            server.is_gone = True
            await stream.end()
    assert can_return(reasons[0])
    assert notices == [f"{server.url.split('/')[2]} cannot be reached; trying again"]


async def test_a_server_that_does_not_listen_any_more_has_ended() -> None:
    """What it knew of the connection has ended with it, so nothing can be resumed there."""
    limits = RemoteLimits(retry_s=0.01, max_retry_s=0.01, stream_give_up_s=5 * LIMIT)
    journal = Journal()
    async with (
        raw_server() as server,
        http_client_of(server.url, limits=limits, observer=journal) as client,
    ):
        await client.initialize()
        stream = await server.stream()
        await stream.update("s1", "before", "41")
        await client.wait_for_text("before")
        await server.stop_listening()
        await stream.cut()
        await client.connection.wait_closed()
        assert can_return(client.transport.closed_error())
    tries = [each for each in events(journal) if each.data.get("method") == "GET"]
    assert len(tries) == 2


@pytest.mark.parametrize("kind", ["text/html", "application/json"])
async def test_a_stream_of_another_type_is_explained(kind: str) -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "GET":
            await exchange.begin(kind)
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(ConnectionClosedError, match=f"stream of the server is {kind}"):
            await client.new_session()


async def test_a_server_that_falls_silent_counts_as_broken() -> None:
    """A server that sends comments says something every 15 seconds; a dead one nothing."""
    limits = RemoteLimits(silence_s=0.05)
    async with raw_server() as server, http_client_of(server.url, limits=limits) as client:
        await client.initialize()
        await (await server.stream()).say(b":\n\n")
        await client.connection.wait_closed()
        assert "may be lost" in str(client.transport.closed_error())


async def test_an_event_beyond_the_limit_ends_the_connection() -> None:
    limits = RemoteLimits(frame=1000)
    async with raw_server() as server, http_client_of(server.url, limits=limits) as client:
        await client.initialize()
        await (await server.stream()).say(b"data: " + b"x" * 1100)
        await client.connection.wait_closed()
        assert client.connection.frame_error is not None


# Faults of a POST


async def test_it_is_said_that_the_outcome_of_a_broken_post_is_not_known() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/prompt":
            await exchange.cut()
        else:
            await usual(server, exchange)

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        await client.new_session()
        with pytest.raises(RequestFailedError, match="it is not known whether the agent has got"):
            await client.prompt()
    assert len(server.requests("session/prompt")) == 1


async def test_a_post_without_a_response_is_waited_for_only_so_long() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "session/prompt":
            await anyio.sleep_forever()
        await usual(server, exchange)

    limits = RemoteLimits(post_s=0.5)
    async with raw_server(handle) as server, http_client_of(server.url, limits=limits) as client:
        await client.new_session()
        with pytest.raises(RequestFailedError, match=r"no response within 0\.5 s"):
            await client.prompt()


async def test_a_server_that_hangs_up_on_initialize_is_explained() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        await exchange.cut()

    async with raw_server(handle) as server, http_client_of(server.url) as client:
        with pytest.raises(ConnectionClosedError, match="did not respond to initialize"):
            await client.initialize()


async def test_the_end_does_not_wait_for_a_server_that_hangs() -> None:
    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "DELETE":
            await anyio.sleep_forever()
        await usual(server, exchange)

    limits = RemoteLimits(close_s=0.3)
    async with raw_server(handle) as server:
        async with http_client_of(server.url, limits=limits) as client:
            await client.new_session()
        assert server.names[-1] == "DELETE"


# What is recorded


async def test_the_journal_has_what_carried_each_frame_and_no_secret() -> None:
    journal = Journal()
    secret = "s3cret-0123456789"

    async def handle(server: RawServer, exchange: Exchange) -> None:
        if exchange.name == "initialize":
            await exchange.initialized(set_cookie=f"sid={secret}; Path=/")
        else:
            await usual(server, exchange)

    async with (
        raw_server(handle) as server,
        http_client_of(
            f"{server.url}?key={secret}",
            observer=journal,
            headers={"X-Team": secret},
            token=secret,
        ) as client,
    ):
        await client.new_session()
        await client.prompt()
    assert secret in str([each.headers for each in server.seen])
    assert secret not in str(journal.entries)
    carriers = [
        before.name
        for before, frame in zip(journal.entries, journal.entries[1:], strict=False)
        if isinstance(frame, Frame) and isinstance(before, JournalEvent)
    ]
    assert carriers == ["http_request", "http_response"] + 2 * ["http_request", "sse_event"]
    sent: Any = next(each for each in events(journal) if each.name == "http_request").data
    assert sent["headers"]["x-team"] == "…"
    assert sent["headers"]["authorization"] == "Bearer …"
    assert sent["path"] == f"{server.url}?key=…"


def frames(journal: Journal) -> list[Frame]:
    return [each for each in journal.entries if isinstance(each, Frame)]


def events(journal: Journal) -> list[JournalEvent]:
    return [each for each in journal.entries if isinstance(each, JournalEvent)]


def can_return(reason: AcpError) -> bool:
    return isinstance(reason, RemoteClosedError) and reason.can_return
