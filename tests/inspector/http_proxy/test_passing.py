"""Without interception, everything passes as it came, and is recorded."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import trustme
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from acp_inspector.http_proxy.application import LARGE_BODIES, LARGE_BODY
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.proxy.session import ProxyOptions
from acp_inspector.recording.reader import read_header
from acp_protocol.transport.http_runner import Listener, TlsFiles, run_app
from tests.inspector.http_proxy.scene import (
    CONNECTION,
    JSON,
    SECRET,
    Agent,
    Answer,
    Request,
    events,
    frames,
    initialized,
    kinds,
    line,
    proxied,
    result,
    running,
)

ODD = '{ "jsonrpc":"2.0", "id" : 7,\n\t"method":"x/é😀", "params":{"n":1.0,"n":2}}'.encode()
"""A message on two lines, with a name that occurs twice."""


async def test_a_conversation_passes_and_its_recording_has_all_of_it(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        begun = await scene.begin()
        async with scene.stream() as stream:
            await scene.agent.opened.wait()
            assert (await scene.post(line("session/new", 1, cwd="/"))).status_code == 202
            scene.agent.streams[None].put_nowait(b"data: " + result(1, sessionId="s1") + b"\n\n")
            await stream.until(b"\n\n")
            ended = await scene.client.delete(scene.url, headers=CONNECTION)
            scene.agent.streams[None].put_nowait(None)
            await stream.to_end()
    assert (begun.status_code, ended.status_code) == (200, 202)
    assert begun.headers["acp-connection-id"] == "c1"
    header = read_header(scene.recording)
    assert (header.transport, header.command[0][:17]) == ("http", "http://127.0.0.1:")
    assert kinds(scene.entries()) == [
        *("connect", "http_request", "client initialize", "http_response", "agent response"),
        *("http_request", "http_response", "http_request", "client session/new", "http_response"),
        *("sse_event", "agent response", "http_request", "http_response", "http_end"),
    ]
    exchange = [each.data["id"] for each in events(scene.entries(), "http_request")]
    assert exchange == [1, 2, 3, 4]


async def test_status_headers_and_bytes_pass_both_ways(tmp_path: Path) -> None:
    kept = [(b"x-odd", b"a\xe9b"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2; Path=/")]
    agent = Agent()
    agent.answers["POST"] = lambda _: Answer(418, b"\xff\x00tea\n", [(b"X-Tea", b"Yes"), *kept])
    sent = {"X-Any": "value", "Accept": "a/b;q=0.1", "Cookie": "a=1; b=2", "Origin": "http://o"}
    async with proxied(tmp_path, agent) as scene:
        got = await scene.client.post(
            scene.url + "/sub%2Fpath?q=%C3%A9&&a=b", content=ODD, headers=sent | JSON
        )
    [request] = agent.requests
    assert (request.body, request.target) == (ODD, b"/acp/sub%2Fpath?q=%C3%A9&&a=b")
    assert {request.value(name.lower().encode()) for name in sent} == {
        value.encode() for value in sent.values()
    }
    assert (got.status_code, got.content) == (418, b"\xff\x00tea\n")
    named = {b"x-odd", b"x-tea", b"set-cookie"}
    raw = [(name.lower(), value) for name, value in got.headers.raw if name.lower() in named]
    assert raw == [(b"x-tea", b"Yes"), *kept]
    [response] = events(scene.entries(), "http_response")
    assert response.data["body_b64"] == "/wB0ZWEK"


async def test_headers_of_one_hop_and_the_host_are_those_of_the_proxy(tmp_path: Path) -> None:
    agent = Agent()
    async with proxied(tmp_path, agent) as scene:
        headers = {"Connection": "keep-alive, X-Hop", "X-Hop": "1", "TE": "trailers", "X-Kept": "1"}
        await scene.client.post(scene.url, content=line("initialize", 0), headers=headers | JSON)
    [request] = agent.requests
    assert request.value(b"x-hop") is None
    assert request.value(b"te") is None
    assert request.value(b"x-kept") == b"1"
    assert request.value(b"host") != scene.url.split("/")[2].encode()


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_the_bytes_of_a_stream_pass_however_they_are_cut(tmp_path: Path, size: int) -> None:
    update = line("session/update", sessionId="s1", text="ü😀")
    whole = b"".join(
        (
            b":\n\nid: 1\nevent: message\ndata: " + update + b"\n\n",
            b"retry: 10\n\ndata: " + result(1) + b"\r\n\r\n",
            b'data: {"jsonrpc":"2.0",\ndata: "id":2,"result":{}}\n\n: keepalive\n\n',
        )
    )
    async with proxied(tmp_path) as scene:
        await scene.begin()
        async with scene.stream("s1") as stream:
            await scene.agent.opened.wait()
            for at in range(0, len(whole), size):
                scene.agent.streams["s1"].put_nowait(whole[at : at + size])
            scene.agent.streams["s1"].put_nowait(None)
            assert await stream.to_end() == whole
    assert frames(scene.entries())[2:] == [
        update,
        result(1),
        b'{"jsonrpc":"2.0",\n"id":2,"result":{}}',
    ]
    [first, *_] = events(scene.entries(), "sse_event")
    assert first.data == {"id": 2, "event_id": "1"}


async def test_a_stream_that_breaks_off_breaks_off_for_the_client_too(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        await scene.begin()
        async with scene.stream() as stream:
            await scene.agent.opened.wait()
            scene.agent.streams[None].put_nowait(b"data: " + result(1) + b"\n\ndata: {half")
            await stream.until(b"half")
            scene.agent.streams[None].put_nowait(b"BREAK")
            with pytest.raises(httpx.RemoteProtocolError):
                await stream.to_end()
    [end] = events(scene.entries(), "http_end")
    assert end.data["from"] == "agent"
    last = [each for each in scene.entries() if isinstance(each, Frame)][-1]
    assert (last.data, last.is_cut) == (b"{half", True)


async def test_the_server_notices_that_the_client_has_left(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        await scene.begin()
        async with scene.stream():
            await scene.agent.opened.wait()
        await scene.agent.left.wait()
    [end] = events(scene.entries(), "http_end")
    assert end.data == {"id": 2, "from": "client"}


async def test_a_server_that_is_down_is_a_502_and_passes_again_once_it_is_back(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    async with proxied(tmp_path, to=f"http://127.0.0.1:{port}/acp") as scene:
        refused = await scene.begin()
        async with running(scene.agent, port):
            begun = await scene.begin()
    assert (refused.status_code, refused.headers["content-type"]) == (
        502,
        "text/plain; charset=utf-8",
    )
    assert "cannot be reached: connection refused" in refused.text
    assert begun.status_code == 200
    [first, _] = events(scene.entries(), "http_response")
    assert (first.data["status"], first.data["by"]) == (502, "proxy")
    assert (first.data["body"], first.data.get("why")) == (refused.text, None), "said once"
    assert len([*tmp_path.glob("*.ndjson")]) == 1, "the next attempt is in the same recording"


async def test_a_message_that_breaks_off_is_a_502_that_says_why(tmp_path: Path) -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        writer.write(head)
        writer.close()

    server = await asyncio.start_server(half, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"
    async with server, proxied(tmp_path, to=url) as scene:
        broken = await scene.begin()
    assert broken.status_code == 502
    assert "127.0.0.1" in broken.text
    [told] = events(scene.entries(), "http_response")
    assert (told.data["status"], told.data["by"]) == (502, "proxy")


async def test_secrets_are_not_recorded(tmp_path: Path) -> None:
    agent = Agent()
    cookie = (b"Set-Cookie", f"aff={SECRET}; Path=/; HttpOnly".encode())
    agent.answers["initialize"] = lambda request: Answer(
        200, initialized(request).body, [*initialized(request).headers, cookie]
    )
    headers = {
        "Authorization": f"Bearer {SECRET}",
        "Proxy-Authorization": SECRET,
        "Cookie": f"a={SECRET}; b={SECRET}x",
        "X-Api-Key": SECRET,
        "X-Auth": SECRET,
        "Referer": f"http://o/?access_token={SECRET}",
    }
    async with proxied(tmp_path, agent) as scene:
        await scene.client.post(
            f"{scene.url}?token={SECRET}&key={SECRET}",
            content=line("initialize", 0),
            headers=headers | JSON,
        )
        websocket = scene.url.replace("http", "ws") + f"?ticket={SECRET}"
        offered = [Subprotocol("acp"), Subprotocol(f"bearer.{SECRET}")]
        async with connect(websocket, subprotocols=offered):
            pass
    text = scene.recording.read_text() + (tmp_path / "r-2.acp.ndjson").read_text()
    assert SECRET not in text
    [first] = events(scene.entries(), "http_request")
    shown = first.data["headers"]
    assert isinstance(shown, dict)
    assert shown["authorization"] == "Bearer «secret:1»"
    assert first.data["path"] == "/acp?token=«secret:1»&key=«secret:1»"
    [request] = agent.requests
    assert request.value(b"authorization") == f"Bearer {SECRET}".encode()
    assert agent.heads


async def test_secrets_in_messages_are_redacted_on_request(tmp_path: Path) -> None:
    token = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    options = ProxyOptions(redacts=True, has_control=False)
    async with proxied(tmp_path, options=options) as scene:
        await scene.begin()
        headers = JSON | CONNECTION | {"X-Api-Key": SECRET}
        sent = line("authenticate", 1, apiKey=token)
        await scene.client.post(scene.url, content=sent, headers=headers)
    text = scene.recording.read_text()
    assert token not in text
    assert SECRET not in text
    assert scene.agent.requests[1].body == sent
    assert read_header(scene.recording).redacted
    assert len({*re.findall("«secret:[0-9]+»", text)}) == 2


async def test_the_server_is_reached_over_tls_and_http_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    own = authority.issue_cert("127.0.0.1")
    files = TlsFiles(tmp_path / "cert.pem", tmp_path / "key.pem")
    own.cert_chain_pems[0].write_to_path(files.certificate)
    own.private_key_pem.write_to_path(files.key)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    agent = Agent()
    versions: list[str] = []

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        versions.append(scope["http_version"])
        await agent(scope, receive, send)

    stop = anyio.Event()
    with Listener("127.0.0.1:0", files) as listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(run_app, noted, listener, stop=stop, max_message=1000))
            async with proxied(tmp_path, agent, to=f"{listener.url}/acp") as scene:
                assert (await scene.begin()).status_code == 200
                async with connect(scene.url.replace("http", "ws")) as client:
                    await agent.opened.wait()
                    await client.send("{}")
                    assert (await agent.sockets[0][0]())["text"] == "{}"
                    agent.sockets[0][2].set()
            stop.set()
    assert versions == ["2", "1.1"]


async def test_a_foreign_host_is_refused(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        for host in ("evil.example", "127.0.0.1.evil.example:80", ""):
            got = await scene.client.post(scene.url, content=b"{}", headers={"Host": host} | JSON)
            assert got.status_code in {400, 403}
        port = int(scene.url.split(":")[2].split("/")[0])
        with pytest.raises(InvalidStatus) as refused:
            async with connect("ws://evil.example/acp", host="127.0.0.1", port=port):
                pass
        assert refused.value.response.status_code == 403
        got = await scene.client.delete(scene.url, headers={"Host": f"localhost:{port}"})
    assert got.status_code == 202
    assert [request.method for request in scene.agent.requests] == ["DELETE"]


@pytest.mark.parametrize("upgrades", [False, True])
async def test_a_target_that_names_another_server_is_refused(
    tmp_path: Path, upgrades: bool
) -> None:
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    async with proxied(tmp_path) as scene:
        port = int(scene.url.split(":")[2].split("/")[0])
        for target in ("@evil.example/", "http://evil.example/", "*", "/a#b", "\\evil"):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                await stream.send((head + (upgrade + key if upgrades else "") + "\r\n").encode())
                assert b" 400 " in (await stream.receive()).split(b"\r\n")[0]
    assert not scene.agent.requests
    assert not scene.agent.heads


async def test_no_redirect_is_followed(tmp_path: Path) -> None:
    agent = Agent()
    location = (b"location", b"http://127.0.0.1:1/elsewhere")
    agent.answers["GET"] = lambda _: Answer(307, b"", [location])
    agent.socket_refusal = Answer(307, b"", [location])
    async with proxied(tmp_path, agent) as scene:
        got = await scene.client.get(scene.url, headers=CONNECTION)
        with pytest.raises(InvalidStatus) as refused:
            async with _Stubborn(scene.url.replace("http", "ws")):
                pass
    assert (got.status_code, got.headers["location"]) == (307, location[1].decode())
    assert refused.value.response.status_code == 307


class _Stubborn(connect):
    """A client that follows no redirect."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def test_messages_of_a_websocket_pass_in_both_directions(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        websocket = scene.url.replace("http", "ws")
        async with connect(websocket, additional_headers={"X-Any": "1"}) as client:
            await scene.agent.opened.wait()
            receive, send, done = scene.agent.sockets[0]
            assert client.response is not None
            assert client.response.headers["Acp-Connection-Id"] == "w1"
            assert client.response.headers["Set-Cookie"] == "aff=secret-value"
            await client.send(ODD.decode())
            await client.send(b"\xff\x00")
            got = [await receive(), await receive()]
            assert [each.get("text") for each in got] == [ODD.decode(), None]
            assert got[1]["bytes"] == b"\xff\x00"
            await send({"type": "websocket.send", "text": "é"})
            await send({"type": "websocket.send", "bytes": b"\x00"})
            assert [await client.recv(), await client.recv()] == ["é", b"\x00"]
            await client.close(4001, "enough")
            left = await receive()
            assert (left["code"], left["reason"]) == (4001, "enough")
            done.set()
    assert (b"x-any", b"1") in [(name.lower(), value) for name, value in scene.agent.heads[0]]
    assert [each.data["kind"] for each in events(scene.entries(), "ws_message")] == [
        *("text", "binary", "text", "binary"),
    ]
    [end] = events(scene.entries(), "ws_close")
    assert end.data == {"id": 1, "code": 4001, "from": "client", "reason": "enough"}
    assert frames(scene.entries()) == [ODD, b"\xff\x00", "é".encode(), b"\x00"]


async def test_an_empty_message_of_a_websocket_is_a_message(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene, connect(scene.url.replace("http", "ws")) as client:
        await scene.agent.opened.wait()
        receive, send, done = scene.agent.sockets[0]
        for message in ("", b"", "last"):
            await client.send(message)
        got = [await receive() for _ in range(3)]
        assert [(each.get("text"), each.get("bytes")) for each in got] == [
            *(("", None), (None, b""), ("last", None)),
        ]
        await send({"type": "websocket.send", "text": ""})
        await send({"type": "websocket.send", "bytes": b""})
        assert [await client.recv(), await client.recv()] == ["", b""]
        done.set()


@pytest.mark.parametrize("code", [1000, 1005, 1008])
async def test_the_close_code_of_the_server_passes(tmp_path: Path, code: int) -> None:
    async with proxied(tmp_path) as scene, connect(scene.url.replace("http", "ws")) as client:
        await scene.agent.opened.wait()
        _, send, done = scene.agent.sockets[0]
        await send({"type": "websocket.close", "code": None if code == 1005 else code})
        with pytest.raises(ConnectionClosed):
            await client.recv()
        assert client.close_code == code
        done.set()
    [end] = events(scene.entries(), "ws_close")
    assert (end.data["code"], end.data["from"]) == (code, "agent")


async def test_a_websocket_that_is_lost_is_lost_on_the_other_side_too(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        async with connect(scene.url.replace("http", "ws")) as client:
            await scene.agent.opened.wait()
            receive, _, done = scene.agent.sockets[0]
            client.transport.abort()
            assert (await receive())["type"] == "websocket.disconnect"
            done.set()
        scene.agent.opened.clear()
        async with connect(scene.url.replace("http", "ws")) as client:
            await scene.agent.opened.wait()
            # The application returns, and its server closes the connection without a frame.
            scene.agent.sockets[1][2].set()
            with pytest.raises(ConnectionClosed):
                await client.recv()
            assert client.close_code == 1006
    closes = [
        event.data["from"]
        for name in ("r.acp.ndjson", "r-2.acp.ndjson")
        for event in events(scene.entries(name), "ws_close")
    ]
    assert closes == ["client", "agent"]


async def test_a_websocket_that_both_sides_close_at_once_is_no_problem(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene, connect(scene.url.replace("http", "ws")) as client:
        await scene.agent.opened.wait()
        receive, _, done = scene.agent.sockets[0]
        client.protocol.send_close(1000)
        for each in client.protocol.data_to_send():
            client.transport.write(each)
        assert (await receive())["type"] == "websocket.disconnect"
        done.set()
        await client.wait_closed()
        while not (tmp_path / "r-2.acp.ndjson").exists():
            # It begins when the first connection is over.
            await anyio.lowlevel.checkpoint()
    assert scene.warnings == []


async def test_a_refused_upgrade_passes_with_its_body(tmp_path: Path) -> None:
    agent = Agent()
    agent.socket_refusal = Answer(401, b"who?", [(b"www-authenticate", b"Bearer")])
    async with proxied(tmp_path, agent) as scene:
        with pytest.raises(InvalidStatus) as refused:
            async with connect(scene.url.replace("http", "ws")):
                pass
    response = refused.value.response
    assert (response.status_code, response.body) == (401, b"who?")
    assert response.headers["WWW-Authenticate"] == "Bearer"
    [told] = events(scene.entries(), "http_response")
    assert (told.data["status"], told.data["body"]) == (401, "who?")


async def test_two_connections_have_two_recordings(tmp_path: Path) -> None:
    agent = Agent()
    ids = iter(("c1", "c2"))
    agent.answers["initialize"] = lambda request: Answer(
        200, initialized(request).body, [(b"acp-connection-id", next(ids).encode())]
    )
    async with proxied(tmp_path, agent) as scene:
        await scene.begin()
        await scene.begin()
        for connection in ("c2", "c1", "c2"):
            await scene.client.post(
                scene.url,
                content=line(f"to/{connection}", 1),
                headers=JSON | {"Acp-Connection-Id": connection},
            )
    first, second = scene.entries(), scene.entries("r-2.acp.ndjson")
    assert [json.loads(each).get("method") for each in frames(first)] == [
        "initialize",
        None,
        "to/c1",
    ]
    assert [json.loads(each).get("method") for each in frames(second)] == [
        *("initialize", None, "to/c2", "to/c2"),
    ]


async def test_a_request_searches_for_no_modules(tmp_path: Path) -> None:
    searched: list[str] = []

    class Watch:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            searched.append(name)

    async with proxied(tmp_path) as scene:
        await scene.begin()
        sys.meta_path.insert(0, Watch)  # pyright: ignore[reportArgumentType] - it has what is used
        try:
            await scene.post(line("x", 1))
        finally:
            sys.meta_path.remove(Watch)  # pyright: ignore[reportArgumentType] - as before
    assert searched == []


async def test_a_slow_reader_slows_the_server_down(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        await scene.begin()
        async with scene.stream() as stream:
            await scene.agent.opened.wait()
            event = b"data: " + line("session/update", text="x" * 100_000) + b"\n\n"
            queue = scene.agent.streams[None]
            for _ in range(400):
                queue.put_nowait(event)
            # Nobody reads: the server comes to a stop before all is written.
            before = -1
            while before != queue.qsize():
                before = queue.qsize()
                with anyio.move_on_after(0.3):
                    while queue.qsize() == before:
                        await anyio.sleep(0)
            assert before > 100
            queue.put_nowait(None)
            assert len(await stream.to_end()) == 400 * len(event)


async def test_a_slow_reader_of_a_websocket_slows_the_server_down(tmp_path: Path) -> None:
    async with (
        proxied(tmp_path) as scene,
        connect(scene.url.replace("http", "ws"), max_queue=1, max_size=None) as client,
    ):
        await scene.agent.opened.wait()
        _, send, done = scene.agent.sockets[0]
        sent = 0
        whole = 200
        text = line("session/update", text="x" * 200_000).decode()

        async def write() -> None:
            nonlocal sent
            for _ in range(whole):
                await send({"type": "websocket.send", "text": text})
                sent += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            before = -1
            while before != sent:
                before = sent
                with anyio.move_on_after(0.3):
                    while sent == before:
                        await anyio.sleep(0)
            assert sent < whole - 50
            for _ in range(whole):
                assert await client.recv() == text
        done.set()


async def test_many_connections_pass_at_once_and_each_has_its_own_recording(
    tmp_path: Path,
) -> None:
    agent = Agent()

    def begun(request: Request) -> Answer:
        id_ = json.loads(request.body)["id"]
        return Answer(200, result(id_), [(b"acp-connection-id", f"c{id_}".encode())])

    agent.answers["initialize"] = begun
    count = 12
    async with proxied(tmp_path, agent) as scene:

        async def talk(number: int) -> None:
            headers = JSON | {"Acp-Connection-Id": f"c{number}"}
            await scene.client.post(scene.url, content=line("initialize", number), headers=JSON)
            for place in range(5):
                raw = line("x", place, connection=number)
                await scene.client.post(scene.url, content=raw, headers=headers)
            await scene.client.delete(scene.url, headers=headers)

        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(talk, number)
    names = sorted(each.name for each in tmp_path.glob("r*.ndjson"))
    assert len(names) == count
    for name in names:
        begin, _, *rest = frames(scene.entries(name))
        own = json.loads(begin)["id"]
        assert [json.loads(each)["params"]["connection"] for each in rest] == [own] * 5


async def test_a_body_that_is_too_long_passes_without_being_recorded(tmp_path: Path) -> None:
    raw = line("x", 1, text="y" * 300_000)
    async with proxied(tmp_path, max_body=100_000) as scene:
        await scene.post(raw)
    assert scene.agent.requests[0].body == raw
    [request] = events(scene.entries(), "http_request")
    assert "body" not in request.data
    assert not frames(scene.entries())


async def test_large_bodies_that_never_end_do_not_stop_the_others(tmp_path: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * (LARGE_BODY + 1)
        begun.release()
        await anyio.sleep_forever()

    begun = anyio.Semaphore(0)
    large = line("session/prompt", 1, text="x" * 2 * LARGE_BODY)
    async with proxied(tmp_path, large_wait_s=0.3) as scene, anyio.create_task_group() as tasks:
        await scene.begin()
        for _ in range(LARGE_BODIES):
            tasks.start_soon(partial(scene.client.post, scene.url, content=endless()))
            await begun.acquire()
        for _ in range(2):
            assert (await scene.post(large)).status_code == 202
        tasks.cancel_scope.cancel()
    assert [each.body == large for each in scene.agent.requests] == [False, True, True]


async def test_an_event_carries_the_frame_behind_it(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        await scene.begin()
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(scene.post, line("x", number))
    entries = scene.entries()
    assert len(frames(entries)) == 52
    for place, each in enumerate(entries):
        if isinstance(each, Frame):
            carrier = entries[place - 1]
            assert isinstance(carrier, JournalEvent)
            assert carrier.name in {"http_request", "http_response"}


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 502),
        (b"HTTP/1.1 200", 502),
        (b"no HTTP\r\n\r\n", 502),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", 502),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 502),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", 502),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{", 200),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
    ],
)
async def test_whatever_the_server_says_the_client_gets_a_response(
    tmp_path: Path, raw: bytes, status: int
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(raw)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with proxied(tmp_path, to=f"http://127.0.0.1:{port}/acp") as scene:
            got = await scene.client.post(scene.url, content=b"{}", headers=JSON)
        assert scene.warnings == []
    assert got.status_code == status
