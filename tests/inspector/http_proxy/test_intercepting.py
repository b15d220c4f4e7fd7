"""Rules, breakpoints and injected frames act on what passes over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from anyio.to_thread import run_sync
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from acp_inspector.control.client import ProxyClient, running_proxies
from acp_inspector.intercept.rules import RulesError, load_rules, parse_rules
from acp_inspector.proxy.session import ProxyOptions
from tests.inspector.http_proxy.scene import (
    CONNECTION,
    JSON,
    Agent,
    Scene,
    events,
    frames,
    line,
    proxied,
    result,
)


@pytest.fixture(autouse=True)
def lonely(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No other test's proxy is found here."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


def rule(action: str, **keys: Any) -> str:
    """Return a rules file with one rule."""
    told = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f'[[rule]]\nname = "r"\n{told}{action}\n'


def event(raw: bytes) -> bytes:
    return b"data: " + raw + b"\n\n"


REPLACE = 'replace = { text = "old", with = "newer" }'
PROMPT = line("session/prompt", 1, sessionId="s1", text="old")
UPDATE = line("session/update", sessionId="s1", text="old")


async def test_a_rule_edits_the_body_of_a_post_and_its_response(tmp_path: Path) -> None:
    agent = Agent()
    async with proxied(tmp_path, agent, rules=rule(REPLACE)) as scene:
        sent = line("initialize", 0, text="old")
        got = await scene.client.post(scene.url, content=sent, headers=JSON)
        accepted = await scene.post(PROMPT, "s1")
    first, second = agent.requests
    assert first.body == sent.replace(b"old", b"newer")
    assert first.value(b"content-length") == str(len(first.body)).encode()
    assert second.body == PROMPT.replace(b"old", b"newer")
    assert (got.status_code, accepted.status_code) == (200, 202)
    assert frames(scene.entries())[0] == sent, "the recording has it as it came"
    assert [each.data["of"] for each in events(scene.entries(), "edited")] == [3, 8]


async def test_a_rule_edits_one_event_of_a_stream_and_leaves_the_rest(tmp_path: Path) -> None:
    before = b": alive\n\nid: 7\nevent: message\ndata: " + line("x") + b"\n\n"
    async with proxied(tmp_path, rules=rule(REPLACE)) as scene:
        await scene.begin()
        async with scene.stream("s1") as stream:
            await scene.agent.opened.wait()
            raw = before + b"id: 8\r\ndata: " + UPDATE + b"\r\n\r\n: bye\n\n"
            for at in range(0, len(raw), 5):
                scene.agent.streams["s1"].put_nowait(raw[at : at + 5])
            scene.agent.streams["s1"].put_nowait(None)
            got = await stream.to_end()
    assert (
        got.replace(b": bye\n\n", b"")
        == before + b"id: 8\r\ndata: " + UPDATE.replace(b"old", b"newer") + b"\r\n\r\n"
    )


async def test_a_rule_edits_messages_of_a_websocket(tmp_path: Path) -> None:
    async with (
        proxied(tmp_path, rules=rule(REPLACE)) as scene,
        connect(scene.url.replace("http", "ws")) as client,
    ):
        await scene.agent.opened.wait()
        receive, send, done = scene.agent.sockets[0]
        await client.send(PROMPT.decode())
        await client.send(PROMPT)
        got = [await receive(), await receive()]
        assert got[0]["text"].encode() == got[1]["bytes"] == PROMPT.replace(b"old", b"newer")
        await send({"type": "websocket.send", "text": UPDATE.decode()})
        assert await client.recv() == UPDATE.replace(b"old", b"newer").decode()
        done.set()


@pytest.mark.parametrize(
    ("action", "posts"),
    [
        ("drop = true", 0),
        ("duplicate = { times = 3 }", 3),
        ("split = { bytes = 5 }", 1),
        ("throttle = { rate = 100_000 }", 1),
        ("delay = { seconds = 0.01 }", 1),
        ("hang = true", 0),
    ],
)
async def test_what_is_done_to_a_post_is_accepted_for_the_client(
    tmp_path: Path, action: str, posts: int
) -> None:
    async with proxied(tmp_path, rules=rule(action, filter="method == session/prompt")) as scene:
        await scene.begin()
        got = await scene.post(PROMPT, "s1")
    assert got.status_code == 202
    assert [each.body for each in scene.agent.requests[1:]] == [PROMPT] * posts


async def test_a_request_that_is_answered_by_a_rule_is_answered_on_its_stream(
    tmp_path: Path,
) -> None:
    answer = 'answer = { result = { stopReason = "end_turn" } }'
    async with proxied(tmp_path, rules=rule(answer, filter="method == session/prompt")) as scene:
        await scene.begin()
        async with scene.stream() as loose, scene.stream("s1") as stream:
            await scene.agent.opened.wait()
            while "s1" not in scene.agent.streams:
                await anyio.lowlevel.checkpoint()
            got = await scene.post(PROMPT, "s1")
            data = await stream.until(b"\n\n")
            assert json.loads(data.removeprefix(b"data: "))["result"] == {"stopReason": "end_turn"}
            del loose
    assert (got.status_code, len(scene.agent.requests)) == (202, 3)


async def test_an_initialize_that_is_answered_by_a_rule_is_answered_in_its_body(
    tmp_path: Path,
) -> None:
    answer = 'answer = { error = { code = -32000, message = "no" } }'
    async with proxied(tmp_path, rules=rule(answer)) as scene:
        got = await scene.begin()
    assert got.status_code == 200
    assert got.json()["error"] == {"code": -32000, "message": "no"}
    assert not scene.agent.requests


async def test_an_answer_waits_for_a_stream_to_come_by(tmp_path: Path) -> None:
    answer = "answer = { result = {} }"
    async with proxied(tmp_path, rules=rule(answer, filter="method == session/prompt")) as scene:
        await scene.begin()
        await scene.post(PROMPT, "s1")
        async with scene.stream() as stream:
            assert b'"result":{}' in await stream.until(b"\n\n")


async def test_a_stream_is_cut_in_the_middle_of_an_event(tmp_path: Path) -> None:
    async with proxied(
        tmp_path, rules=rule("cut = { bytes = 20 }", filter="method == session/update")
    ) as scene:
        await scene.begin()
        async with scene.stream("s1") as stream:
            await scene.agent.opened.wait()
            scene.agent.streams["s1"].put_nowait(event(result(1)) + event(UPDATE) + event(UPDATE))
            await stream.until(event(result(1)) + b"data: " + UPDATE[:20])
            with pytest.raises(httpx.RemoteProtocolError):
                await stream.to_end()
        await scene.agent.left.wait()
        # The other direction and other streams go on.
        assert (await scene.post(line("x", 5))).status_code == 202
    [end] = events(scene.entries(), "http_end")
    assert end.data == {"id": 2, "why": "cut by r"}


async def test_a_websocket_is_cut_in_the_middle_of_a_message(tmp_path: Path) -> None:
    async with (
        proxied(
            tmp_path, rules=rule("cut = { bytes = 20 }", filter="method == session/update")
        ) as scene,
        connect(scene.url.replace("http", "ws")) as client,
    ):
        await scene.agent.opened.wait()
        receive, send, done = scene.agent.sockets[0]
        await send({"type": "websocket.send", "text": UPDATE.decode()})
        assert await client.recv() == UPDATE[:20].decode()
        with pytest.raises(ConnectionClosed):
            await client.recv()
        assert client.close_code == 1006
        assert (await receive())["type"] == "websocket.disconnect"
        done.set()


async def test_a_post_is_cut_off(tmp_path: Path) -> None:
    async with proxied(
        tmp_path, rules=rule("cut = { bytes = 9 }", filter="method == session/prompt")
    ) as scene:
        await scene.begin()
        got = await scene.post(PROMPT, "s1")
        again = await scene.post(line("x", 3))
    assert (got.status_code, again.status_code) == (502, 202)
    assert [each.body for each in scene.agent.requests[1:]] == [line("x", 3)]


@pytest.mark.parametrize("code", [400, 401, 404, 409, 429, 503])
async def test_a_post_gets_a_status_in_place_of_the_server(tmp_path: Path, code: int) -> None:
    action = f'status = {{ code = {code}, body = "busy", retry_after = 3 }}'
    text = rule(action, filter="method == session/prompt", first=1)
    async with proxied(tmp_path, rules=text) as scene:
        await scene.begin()
        got = await scene.post(PROMPT, "s1")
        again = await scene.post(PROMPT, "s1")
    assert (got.status_code, got.text.strip(), got.headers["retry-after"]) == (code, "busy", "3")
    assert again.status_code == 202
    assert len(scene.agent.requests) == 2
    [refused] = events(scene.entries(), "refused")
    assert (refused.data["of"], refused.data["status"]) == (7, code)


async def test_the_202_comes_later_than_the_response(tmp_path: Path) -> None:
    text = rule("late = { seconds = 30 }", filter="method == session/prompt")
    async with proxied(tmp_path, rules=text) as scene:
        await scene.begin()
        async with scene.stream("s1") as stream, anyio.create_task_group() as tasks:
            await scene.agent.opened.wait()
            tasks.start_soon(scene.post, PROMPT, "s1")
            while len(scene.agent.requests) < 3:
                await anyio.lowlevel.checkpoint()
            scene.agent.streams["s1"].put_nowait(event(result(1)))
            await stream.until(b"\n\n")
            # The POST still waits for its 202.
            tasks.cancel_scope.cancel()
    [late] = events(scene.entries(), "late")
    assert late.data["seconds"] == 30


async def test_messages_of_two_streams_change_places(tmp_path: Path) -> None:
    text = rule("reorder = { frames = 1, seconds = 30 }", filter="method == x/first")
    async with proxied(tmp_path, rules=text) as scene:
        await scene.begin()
        async with scene.stream() as loose, scene.stream("s1") as stream:
            while "s1" not in scene.agent.streams:
                await anyio.lowlevel.checkpoint()
            first = event(line("x/first"))
            scene.agent.streams[None].put_nowait(first)
            with anyio.move_on_after(0.2) as waited:
                await loose.until(first)
            assert waited.cancelled_caught
            scene.agent.streams["s1"].put_nowait(event(UPDATE))
            await stream.until(event(UPDATE))
    released = [each.data for each in events(scene.entries(), "released")]
    assert [each["after"] for each in released] == [frames_at(scene, UPDATE)]


def frames_at(scene: Scene, raw: bytes) -> int:
    return next(each.seq for each in scene.entries() if getattr(each, "data", None) == raw)


@pytest.mark.parametrize(
    ("kind", "method"), [("GET", "GET"), ("DELETE", "DELETE"), ("POST", "POST")]
)
async def test_a_request_gets_a_status(tmp_path: Path, kind: str, method: str) -> None:
    text = rule("status = { code = 409 }", request=kind, first=1)
    async with proxied(tmp_path, rules=text) as scene:
        got = await scene.client.request(method, scene.url, headers=CONNECTION)
        assert got.status_code == 409
        assert not scene.agent.requests
    [refused] = events(scene.entries(), "refused")
    assert refused.data == {"id": 1, "by": "r", "status": 409}


async def test_an_upgrade_gets_a_status(tmp_path: Path) -> None:
    text = rule('status = { code = 503, body = "full" }', request="WebSocket")
    async with proxied(tmp_path, rules=text) as scene:
        with pytest.raises(InvalidStatus) as refused:
            async with connect(scene.url.replace("http", "ws")):
                pass
    assert (refused.value.response.status_code, refused.value.response.body) == (503, b"full")


async def test_a_stream_breaks_off_after_some_bytes(tmp_path: Path) -> None:
    text = rule("cut = { bytes = 30 }", request="GET", first=1)
    async with proxied(tmp_path, rules=text) as scene:
        await scene.begin()
        async with scene.stream() as stream:
            await scene.agent.opened.wait()
            scene.agent.streams[None].put_nowait(event(result(1)) + event(result(2)))
            with pytest.raises(httpx.RemoteProtocolError):
                await stream.to_end()
            assert await stream.until(b"") == event(result(1))[:30]
        async with scene.stream() as stream:
            scene.agent.streams[None].put_nowait(event(result(1)) + event(result(2)))
            await stream.until(event(result(2)))


async def test_a_crash_breaks_everything_off(tmp_path: Path) -> None:
    text = rule("crash = true", filter="method == session/prompt")
    async with proxied(tmp_path, rules=text) as scene:
        await scene.begin()
        async with scene.stream() as stream:
            await scene.agent.opened.wait()
            got = await scene.post(PROMPT, "s1")
            assert (got.status_code, got.text) == (502, "the server died\n")
            with pytest.raises(httpx.RemoteProtocolError):
                await stream.to_end()


@pytest.mark.parametrize(
    "text",
    [
        rule("drop = true", request="GET"),
        rule("status = { code = 409 }", request="PATCH"),
        rule("status = { code = 200 }"),
        rule("cut = { bytes = 1 }", request="WebSocket"),
        rule("status = { code = 409 }", request="GET", filter="error"),
        rule("late = true"),
        rule("status = { code = 409 }", **{"from": "agent"}),
        rule("late = { seconds = 1 }", **{"from": "agent"}),
    ],
)
def test_rules_about_requests_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(RulesError):
        parse_rules(text, lambda _: lambda _: True, is_http=True)


@pytest.mark.parametrize(
    "text", [rule("status = { code = 409 }"), rule("delay = { seconds = 1 }", request="GET")]
)
def test_rules_for_http_are_refused_on_stdio(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(RulesError, match="proxy --listen"):
        load_rules(path, lambda _: lambda _: True)


async def ask(client: ProxyClient, do: str, **command: Any) -> Any:
    return await run_sync(lambda: client.call(do, **command))


async def test_a_held_post_is_edited_and_its_client_waits(tmp_path: Path) -> None:
    options = ProxyOptions(breakpoints=["method == session/prompt and from == client"])
    edited = json.loads(PROMPT.replace(b"old", b"new"))
    async with proxied(tmp_path, options=options) as scene:
        [found] = running_proxies()
        assert found.name == "127.0.0.1"
        with ProxyClient(found.path) as observer:
            await scene.begin()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(scene.post, PROMPT, "s1")
                held = await ask(observer, "held", seconds=10)
                assert [each["n"] for each in held["holds"]] == [7]
                assert len(scene.agent.requests) == 1
                await ask(observer, "edit", json=edited)
    assert json.loads(scene.agent.requests[1].body) == edited


async def test_a_cancel_does_not_wait_for_a_post_that_the_server_holds(tmp_path: Path) -> None:
    agent = Agent()
    agent.held["session/prompt"] = asyncio.Event()
    async with proxied(tmp_path, agent, rules=rule("drop = true", filter="method == x")) as scene:
        await scene.begin()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.post, PROMPT, "s1")
            while len(agent.requests) < 2:
                await anyio.lowlevel.checkpoint()
            got = await scene.post(line("session/cancel", sessionId="s1"), "s1")
            assert got.status_code == 202
            agent.held["session/prompt"].set()
    assert json.loads(agent.requests[2].body)["method"] == "session/cancel"


async def test_a_held_post_whose_client_has_left_is_not_sent(tmp_path: Path) -> None:
    options = ProxyOptions(breakpoints=["method == session/prompt and from == client"])
    async with proxied(tmp_path, options=options) as scene:
        [found] = running_proxies()
        with ProxyClient(found.path) as observer:
            await scene.begin()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(scene.post, PROMPT, "s1")
                await ask(observer, "held", seconds=10)
                tasks.cancel_scope.cancel()
            while not events(scene.entries(), "http_end"):
                await anyio.lowlevel.checkpoint()
            await ask(observer, "release")
            # What was behind it goes on.
            assert (await scene.post(line("x", 9))).status_code == 202
    assert [json.loads(each.body)["method"] for each in scene.agent.requests[1:]] == ["x"]
    [lost] = events(scene.entries(), "discarded")
    assert lost.data["by"] == "no stream"


async def test_an_array_of_which_a_message_is_refused_is_refused(tmp_path: Path) -> None:
    text = rule("status = { code = 501 }", filter="method == session/prompt")
    async with proxied(tmp_path, rules=text) as scene:
        await scene.begin()
        got = await scene.post(b"[" + line("x", 4) + b"," + PROMPT + b"]")
    assert got.status_code == 501
    assert len(scene.agent.requests) == 1


async def test_an_observer_injects_a_request_of_its_own(tmp_path: Path) -> None:
    async with proxied(tmp_path, options=ProxyOptions()) as scene:
        [found] = running_proxies()
        with ProxyClient(found.path) as observer:
            await scene.begin()
            async with scene.stream() as stream, anyio.create_task_group() as tasks:
                await scene.agent.opened.wait()

                async def answer() -> None:
                    while len(scene.agent.requests) < 3:
                        await anyio.lowlevel.checkpoint()
                    posted = json.loads(scene.agent.requests[-1].body)
                    assert posted["method"] == "session/list"
                    raw = result(0, sessions=[]).replace(
                        b'"id": 0', b'"id": "%b"' % posted["id"].encode()
                    )
                    scene.agent.streams[None].put_nowait(event(raw) + event(line("x/after")))

                tasks.start_soon(answer)
                ask_for: dict[str, Any] = {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "session/list",
                    "params": {},
                }
                injected: dict[str, Any] = {"from": "client", "json": ask_for, "wait": 10}
                got = await ask(observer, "inject", **injected)
                assert json.loads(got["answer"]["text"])["result"] == {"sessions": []}
                # The client gets nothing of it.
                assert await stream.until(b"\n\n") == event(line("x/after"))
    posted = scene.agent.requests[2]
    assert posted.value(b"acp-connection-id") == b"c1", "initialize had none"


async def test_what_is_injected_to_the_client_comes_on_a_stream(tmp_path: Path) -> None:
    async with proxied(tmp_path, options=ProxyOptions()) as scene:
        [found] = running_proxies()
        with ProxyClient(found.path) as observer:
            await scene.begin()
            async with scene.stream("s1") as stream:
                await scene.agent.opened.wait()
                await ask(observer, "inject", **{"from": "agent", "json": json.loads(UPDATE)})
                assert json.loads((await stream.until(b"\n\n"))[6:]) == json.loads(UPDATE)


async def test_interception_that_begins_amid_an_event_takes_the_next_one(tmp_path: Path) -> None:
    async with proxied(tmp_path, options=ProxyOptions()) as scene:
        [found] = running_proxies()
        with ProxyClient(found.path) as observer:
            await scene.begin()
            async with scene.stream("s1") as stream:
                await scene.agent.opened.wait()
                queue = scene.agent.streams["s1"]
                queue.put_nowait(event(UPDATE)[:30])
                await stream.until(event(UPDATE)[:30])
                await ask(observer, "pause")
                queue.put_nowait(event(UPDATE)[30:] + event(result(2)))
                await stream.until(event(UPDATE))
                held = await ask(observer, "held", seconds=10)
                assert [each["from"] for each in held["holds"]] == ["agent"]
                await ask(observer, "resume")
                await stream.until(event(result(2)))
    assert frames(scene.entries())[-2:] == [UPDATE, result(2)]


async def test_an_addon_that_fails_and_a_full_disk_do_not_stop_the_traffic(tmp_path: Path) -> None:
    addon = tmp_path / "hooks.py"
    addon.write_text("def on_frame(frame, flow):\n    raise RuntimeError('x')\n")
    options = ProxyOptions("/dev/full", "overwrite", addons=[addon], has_control=False)
    async with proxied(tmp_path, options=options) as scene:
        assert (await scene.begin()).status_code == 200
        assert (await scene.post(PROMPT, "s1")).status_code == 202
    assert any("hooks" in each for each in scene.warnings)
    assert any("/dev/full" in each for each in scene.warnings)
