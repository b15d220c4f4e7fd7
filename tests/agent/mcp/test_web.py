"""Servers at addresses of this machine."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.abc import SocketStream

from acp_agent.mcp.declarations import WebServer
from acp_agent.tools.call import ToolFailedError
from acp_protocol.concurrency import BackgroundTasks
from tests.agent.mcp.faulty import (
    EVENTS,
    Asked,
    Fault,
    answer_to,
    begin,
    event,
    faulty,
    reset,
    respond,
)
from tests.agent.mcp.rooms import LIMITS, call, listed_anew, on_web, opened


@pytest.mark.parametrize("how", ["http", "sse"])
async def test_tools_are_called_at_an_address(tmp_path: Path, how: str) -> None:
    async with on_web(tmp_path, how) as (server, _), opened(tmp_path, server) as room:
        assert room.failures == {}
        assert (await call(room, "w__look", place="Rome")).text == "It rains in Rome."
        async with listed_anew(room):
            await call(room, "w__change", to="more")
        assert (await call(room, "w__snow")).text == "It snows."


@pytest.mark.parametrize("how", ["http", "sse"])
async def test_a_server_that_dies_in_a_call_ends_that_call(tmp_path: Path, how: str) -> None:
    async with on_web(tmp_path, how) as (server, _), opened(tmp_path, server) as room:
        with pytest.raises(ToolFailedError, match="the MCP server w "):
            await call(room, "w__die", code=4)
        with pytest.raises(ToolFailedError, match="the MCP server w "):
            await call(room, "w__look", place="Rome")


async def test_a_server_at_an_address_is_back_as_soon_as_it_is_back(tmp_path: Path) -> None:
    async with on_web(tmp_path, "http") as (server, _), opened(tmp_path, server) as room:
        with pytest.raises(ToolFailedError, match="the MCP server w "):
            await call(room, "w__die", code=4)
        # Its listener may still take a connection while the process ends.
        with pytest.raises(ToolFailedError, match=r"w (cannot be reached|has broken off)"):
            await call(room, "w__look", place="Rome")
        port = urlsplit(server.url).port
        assert port is not None
        async with on_web(tmp_path, "http", port):
            assert (await call(room, "w__look", place="Rome")).text == "It rains in Rome."
        assert room.failures == {}


async def test_a_server_that_stands_still_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with on_web(tmp_path, "http") as (server, child):
        async with opened(tmp_path, server) as room:
            assert len(room) > 0
            child.signal_group(signal.SIGSTOP)
        child.signal_group(signal.SIGCONT)


async def test_nobody_at_an_address_is_said_in_a_few_words(tmp_path: Path) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    await listener.aclose()
    url = f"http://user:canary@127.0.0.1:{port}/mcp?key=canary"
    async with opened(tmp_path, WebServer("w", url), WebServer("e", url, is_sse=True)) as room:
        assert room.failures == dict.fromkeys("we", "cannot be reached")


@asynccontextmanager
async def answering(answer: bytes, heard: list[bytes]) -> AsyncGenerator[str]:
    """Run something at an address that says the same to everybody."""

    async def handle(stream: SocketStream) -> None:
        async with stream:
            heard.append(await stream.receive())
            await stream.send(answer)

    listeners = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listeners, BackgroundTasks() as tasks:
        tasks.start_soon(listeners.serve, handle)
        yield f"http://127.0.0.1:{listeners.extra(anyio.abc.SocketAttribute.local_port)}/mcp"


@pytest.mark.parametrize("is_sse", [False, True])
@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"200 OK\r\nContent-Type: text/html", b"<h1>Hello</h1>"),
        (b"200 OK\r\nContent-Type: application/json", b'{"jsonrpc":'),
        (b"200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip", b"\x1f\x8b\0"),
        (b"200 OK\r\nContent-Type: text/event-stream", b"event: message\ndata: {]\n\n"),
        (b"401 Unauthorized", b""),
        (b"500 Oops", b"x" * 100),
        (b"307 Elsewhere\r\nLocation: http://192.0.2.1/mcp", b""),
    ],
)
async def test_rubbish_at_an_address_is_a_trouble_and_no_traceback(
    tmp_path: Path, head: bytes, body: bytes, *, is_sse: bool
) -> None:
    answer = b"HTTP/1.1 %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
    limits = replace(LIMITS, spawn_timeout=2.0)
    async with (
        answering(answer % (head, len(body), body), []) as url,
        opened(tmp_path, WebServer("w", url, is_sse=is_sse), limits=limits) as room,
    ):
        assert len(room.failures["w"]) < 200
        assert "validation" not in room.failures["w"]
        assert list(room) == []


async def test_an_endless_answer_is_broken_off(tmp_path: Path) -> None:
    body = b"x" * 200_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    limits = replace(LIMITS, message_size=100_000)
    async with (
        answering(head % (len(body) * 1000) + body, []) as url,
        opened(tmp_path, WebServer("w", url), limits=limits) as room,
    ):
        assert set(room.failures) == {"w"}


async def test_headers_are_sent_but_those_of_the_transport_are_its_own(tmp_path: Path) -> None:
    heard: list[bytes] = []
    headers = {"Authorization": "Bearer sunny", "Accept": "image/png", "Mcp-Session-Id": "mine"}
    async with (
        answering(
            b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", heard
        ) as url,
        opened(tmp_path, WebServer("w", url, headers)),
    ):
        first = heard[0].lower()
    assert b"authorization: bearer sunny\r\n" in first
    assert b"image/png" not in first
    assert b"mine" not in first


async def test_a_header_that_is_not_ascii_is_named_as_the_reason(tmp_path: Path) -> None:
    server = WebServer("w", "http://127.0.0.1:9/mcp", {"Authorization": "Bearer …"})
    async with opened(tmp_path, server) as room:
        assert "a header may contain ASCII only" in room.failures["w"]


SMALL = replace(LIMITS, message_size=100_000, call_timeout=2.0)
TOO_MUCH = "sent too much: an answer of more than 100000 bytes"


def body(text: bytes, status: str = "200 OK", kind: bytes = b"application/json") -> Fault:
    """Return a fault that responds with this; `%d` stands for the id of the request."""

    async def fault(stream: SocketStream, asked: Asked) -> None:
        await respond(stream, text.replace(b"%d", b"%d" % asked["id"]), status=status, kind=kind)

    return fault


def text(spelled: bytes, *, is_event: bool = False) -> Fault:
    """Return a fault that answers with a text, spelled so."""

    async def fault(stream: SocketStream, asked: Asked) -> None:
        answer = answer_to(asked, "SPELLED").replace(b"SPELLED", spelled)
        kind = EVENTS if is_event else b"application/json"
        await respond(stream, event(answer) if is_event else answer, kind=kind)

    return fault


def streamed(*pieces: bytes, is_endless: bool = False) -> Fault:
    """Return a fault that begins a stream of events with this and then resets the connection."""

    async def fault(stream: SocketStream, asked: Asked) -> None:
        del asked
        await begin(stream)
        for piece in pieces:
            await stream.send(piece)
        while is_endless:
            await stream.send(pieces[-1])
        reset(stream)

    return fault


async def other_id(stream: SocketStream, asked: Asked) -> None:
    await respond(stream, answer_to({**asked, "id": 4711}))


async def event_of_other_id(stream: SocketStream, asked: Asked) -> None:
    await respond(stream, event(answer_to({**asked, "id": 4711}, "a")), kind=EVENTS)


async def answered_twice(stream: SocketStream, asked: Asked) -> None:
    await respond(stream, event(answer_to(asked, "a")) + event(answer_to(asked, "b")), kind=EVENTS)


def moved(place: str, status: str = "307 Elsewhere") -> Fault:
    """Return a fault that redirects to `place`."""

    async def fault(stream: SocketStream, asked: Asked) -> None:
        del asked
        head = f"HTTP/1.1 {status}\r\nLocation: {place}\r\nConnection: close\r\n"
        await stream.send(f"{head}Content-Length: 0\r\n\r\n".encode())

    return fault


redirected = moved("?canary")


def once(fault: Fault) -> Fault:
    """Return a fault that is one the first time only; then it answers well."""
    count = 0

    async def first(stream: SocketStream, asked: Asked) -> None:
        nonlocal count
        count += 1
        if count == 1:
            await fault(stream, asked)
        else:
            await respond(stream, answer_to(asked, "found"))

    return first


async def broken_off(stream: SocketStream, asked: Asked) -> None:
    del asked
    await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    await stream.send(b'Content-Length: 1000\r\n\r\n{"jsonrpc"')


async def died(stream: SocketStream, asked: Asked) -> None:
    del asked
    reset(stream)
    await stream.aclose()


async def no_http(stream: SocketStream, asked: Asked) -> None:
    del asked
    await stream.send(b"Hello!\r\n\r\n")


@pytest.mark.parametrize(
    ("fault", "came"),
    [
        (text(rb"a\ud800b"), "a\ufffdb"),
        (text(b"a\xffb"), "a\ufffdb"),
        (text(rb"a\ud800b", is_event=True), "a\ufffdb"),
        (text(b"a\xffb", is_event=True), "a\ufffdb"),
        (answered_twice, "a"),
        (event_of_other_id, "a"),
        (once(moved("/mcp/")), "found"),
    ],
)
async def test_what_is_harmless_is_read_over(tmp_path: Path, fault: Fault, came: str) -> None:
    async with faulty(fault) as server, opened(tmp_path, server, limits=SMALL) as room:
        assert (await call(room, "f__odd")).text == came
        assert (await call(room, "f__fine")).text == "fine"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (text(b"x" * 200_000), TOO_MUCH),
        (text(b"x" * 200_000, is_event=True), TOO_MUCH),
        (streamed(b"data: ", b"x" * 4096, is_endless=True), TOO_MUCH),
        (streamed(b"data: x\n" * 100, is_endless=True), TOO_MUCH),
        (streamed(b": hi\n\n" * 100, is_endless=True), "took longer than 2 s"),
        (streamed(b"data: {"), "has broken off the connection"),
        (other_id, "answered something else than what was asked"),
        (redirected, "sends us somewhere else, where we do not go"),
        (moved("http://192.0.2.1/mcp"), "sends us somewhere else, where we do not go"),
        (body(b"", "401 Unauthorized"), "answered with HTTP status 401 Unauthorized"),
        (body(b"", "403 Forbidden"), "answered with HTTP status 403 Forbidden"),
        (
            body(b"<h1>", "404 Not Found"),
            "knows nothing of us any more (HTTP status 404): close the session and open it again",
        ),
        (body(b"{}", "500 Oops"), "answered with HTTP status 500 Internal Server Error"),
        (body(b"", "599 Oops"), "answered with HTTP status 599"),
        (body(b"", "202 Accepted"), "took the request and does not answer it"),
        (
            body(b'{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"No"}}', "400 Bad"),
            "refused: No (5)",
        ),
        (
            body(b'{"jsonrpc":"2.0","id":%d,"result":{"content":7}}'),
            "answered with something that is not MCP",
        ),
        (body(b'{"jsonrpc":"2.0","id":%d,"result":7}'), "answered with something that is not MCP"),
        (body(b'{"jsonrpc":"2.0","method":"a"}'), "answered with something that is not MCP"),
        (body(b"[]"), "answered with something that is not MCP"),
        (body(b"", kind=b"text/html"), "answered with something that is not MCP"),
        (body(event(b"{"), kind=EVENTS), "answered with something that is not MCP"),
        (body(b": bye\n\n", kind=EVENTS), "has broken off the connection"),
        (broken_off, "has broken off the connection"),
        (died, "has broken off the connection"),
        (no_http, "has broken off the connection"),
    ],
)
async def test_a_call_that_goes_wrong_says_how_and_the_next_one_works(
    tmp_path: Path, fault: Fault, reason: str
) -> None:
    async with faulty(fault) as server, opened(tmp_path, server, limits=SMALL) as room:
        with pytest.raises(ToolFailedError) as failed:
            await call(room, "f__odd")
        assert str(failed.value) == f"the MCP server f {reason}"
        assert (await call(room, "f__fine")).text == "fine"
        assert room.failures == {}


def sent(made: Callable[[Asked], bytes]) -> Fault:
    """Return a fault that sends events on the stream that is open."""

    async def fault(stream: SocketStream, asked: Asked) -> None:
        await stream.send(made(asked))

    return fault


async def flooded(stream: SocketStream, asked: Asked) -> None:
    del asked
    await stream.send(b"data: ")
    while True:
        await stream.send(b"x" * 4096)


@pytest.mark.parametrize(
    ("fault", "came"),
    [
        (sent(lambda asked: event(answer_to(asked, "X").replace(b"X", rb"a\ud800b"))), "a\ufffdb"),
        (sent(lambda asked: event(answer_to(asked, "X").replace(b"X", b"a\xffb"))), "a\ufffdb"),
        (sent(lambda asked: event(answer_to(asked, "a")) + event(answer_to(asked, "b"))), "a"),
        (sent(lambda asked: event(b"{") + event(answer_to(asked, "a"))), "a"),
        (
            sent(lambda asked: event(answer_to({"method": "tools/call", "id": 4711})) * 2),
            "took longer than 2 s",
        ),
        (
            sent(lambda asked: event(b'{"jsonrpc":"2.0","id":%d,"result":7}' % asked["id"])),
            "answered with something that is not MCP",
        ),
    ],
)
async def test_a_stream_of_events_goes_on_after_what_is_wrong(
    tmp_path: Path, fault: Fault, came: str
) -> None:
    async with faulty(fault, is_sse=True) as server, opened(tmp_path, server, limits=SMALL) as room:
        try:
            outcome = (await call(room, "f__odd")).text
        except ToolFailedError as problem:
            outcome = str(problem).removeprefix("the MCP server f ")
        assert outcome == came
        assert (await call(room, "f__fine")).text == "fine"
        assert room.failures == {}


@pytest.mark.parametrize(
    ("fault", "is_at_post", "reason"),
    [
        (flooded, False, TOO_MUCH),
        (died, False, "has closed the connection"),
        (died, True, "has broken off the connection"),
        (redirected, True, "sends us somewhere else, where we do not go"),
        (moved("http://192.0.2.1/mcp"), True, "sends us somewhere else, where we do not go"),
        (body(b"", "401 Unauthorized"), True, "answered with HTTP status 401 Unauthorized"),
        (body(b"", "404 Not Found"), True, "answered with HTTP status 404 Not Found"),
    ],
)
async def test_a_stream_of_events_that_ends_says_how(
    tmp_path: Path, fault: Fault, reason: str, *, is_at_post: bool
) -> None:
    async with (
        faulty(fault, is_sse=True, is_at_post=is_at_post) as server,
        opened(tmp_path, server, limits=SMALL) as room,
    ):
        for tool in ("f__odd", "f__fine"):
            with pytest.raises(ToolFailedError, match=f"the MCP server f {reason}"):
                await call(room, tool)
        assert room.failures["f"].startswith(reason)


async def unfinished(stream: SocketStream, asked: Asked) -> None:
    del asked
    await stream.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 10\r\n\r\n")
    await anyio.sleep_forever()


async def test_nobody_waits_for_what_answers_nothing(tmp_path: Path) -> None:
    async with (
        faulty(unfinished, is_sse=True, is_at_post=True) as server,
        opened(tmp_path, server, limits=SMALL) as room,
    ):
        with pytest.raises(ToolFailedError, match="f took longer than 2 s"):
            await call(room, "f__odd")
        assert (await call(room, "f__fine")).text == "fine"
