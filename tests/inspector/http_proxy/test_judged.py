"""The rules of lint about HTTP and WebSocket judge what the proxy has recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from acp_inspector.lint.engine import lint
from tests.inspector.http_proxy.scene import (
    CONNECTION,
    JSON,
    Agent,
    Answer,
    Scene,
    initialized,
    line,
    proxied,
    result,
)

Talk = Callable[[Scene], Awaitable[object]]
URL_RULES = {"not-http2"}
"""What is so of each of these."""


async def _plain_text(scene: Scene) -> None:
    headers = CONNECTION | {"Content-Type": "text/plain"}
    await scene.client.post(scene.url, content=line("session/list", 1), headers=headers)


async def _no_accept(scene: Scene) -> None:
    async with scene.client.stream("GET", scene.url, headers=CONNECTION | {"Accept": "a/b"}):
        await scene.agent.opened.wait()


async def _no_connection(scene: Scene) -> None:
    await scene.client.post(scene.url, content=line("session/list", 1), headers=JSON)


async def _two_readers(scene: Scene) -> None:
    async with scene.stream(), scene.stream():
        await scene.agent.opened.wait()


async def _after_the_end(scene: Scene) -> None:
    async with scene.stream():
        await scene.client.delete(scene.url, headers=CONNECTION)
        await scene.post(line("session/list", 1))


async def _no_cookie(scene: Scene) -> None:
    scene.client.cookies.clear()
    await scene.post(line("session/list", 1))


async def _wrong_stream(scene: Scene) -> None:
    async with scene.stream("s1") as stream, scene.stream():
        while None not in scene.agent.streams:
            await scene.agent.opened.wait()
        await scene.post(line("session/new", 1, cwd="/", mcpServers=[]))
        event = b"data: " + result(1, sessionId="s1") + b"\n\n"
        scene.agent.streams["s1"].put_nowait(event)
        await stream.until(event)


@pytest.mark.parametrize(
    ("talk", "rule"),
    [
        (_plain_text, "wrong-content-type"),
        (_no_accept, "wrong-accept-header"),
        (_no_connection, "missing-connection-id"),
        (_two_readers, "second-stream-reader"),
        (_after_the_end, "used-after-delete"),
        (_no_cookie, "cookie-not-returned"),
        (_wrong_stream, "wrong-stream"),
    ],
)
async def test_what_is_wrong_about_http_is_found(tmp_path: Path, talk: Talk, rule: str) -> None:
    agent = Agent()
    cookie = (b"set-cookie", b"aff=abc; Path=/")
    agent.answers["initialize"] = lambda request: Answer(
        200, initialized(request).body, [*initialized(request).headers, cookie]
    )
    async with proxied(tmp_path, agent) as scene:
        await scene.begin()
        await talk(scene)
    found = {finding.rule.name for finding in lint(scene.entries()).findings}
    assert rule in found


async def test_what_is_wrong_about_a_websocket_is_found(tmp_path: Path) -> None:
    async with (
        proxied(tmp_path) as scene,
        connect(scene.url.replace("http", "ws")) as client,
    ):
        await scene.agent.opened.wait()
        receive, send, done = scene.agent.sockets[0]
        await client.send(line("session/list", 1).decode())
        await receive()
        await send({"type": "websocket.close", "code": 4000})
        await client.wait_closed()
        done.set()
    found = {finding.rule.name for finding in lint(scene.entries()).findings}
    assert {"wrong-websocket-message", "wrong-close-code"} <= found


async def test_a_right_talk_is_found_right(tmp_path: Path) -> None:
    async with proxied(tmp_path) as scene:
        await scene.begin()
        async with scene.stream() as stream:
            await scene.agent.opened.wait()
            await scene.post(line("session/new", 1, cwd="/", mcpServers=[]))
            event = b"data: " + result(1, sessionId="s1") + b"\n\n"
            scene.agent.streams[None].put_nowait(event)
            await stream.until(event)
            await scene.client.delete(scene.url, headers=CONNECTION)
    subjects = {"http", "http-observed"}
    found = [each for each in lint(scene.entries()).findings if each.rule.subject in subjects]
    assert {each.rule.name for each in found} == URL_RULES
