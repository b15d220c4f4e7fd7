"""What is recorded from a real service over real sockets is replayed the same, faults included."""

from __future__ import annotations

import json
import os
import re
import resource
import stat
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import pytest

from acp_inspector.model_service.cassette import (
    CassetteError,
    CassetteHeader,
    CassetteWriter,
    ModelExchange,
    ModelRequest,
    ModelResponse,
    read_cassette,
)
from acp_inspector.model_service.matching import Roots
from acp_inspector.model_service.routes import Route, RouteError, plan_routes
from acp_inspector.model_service.server import (
    NO_MATCH,
    ModelPlayer,
    ModelRecorder,
    PortError,
    Redactor,
    model_client,
    serving,
)
from acp_inspector.recording.writer import WriteMode
from acp_inspector.redaction.files import find_secrets
from tests.inspector.model_service.service import fake_service, pieces

LIMIT_S = 20.0
KEY = "sk-proj-" + "Ab3dE6gH9jK2mN5p" * 3
HERE = Roots("/home/me/project", "/home/me", "")


@dataclass
class Run:
    """What came through a server."""

    root: str
    warnings: list[str] = field(default_factory=list[str])
    player: ModelPlayer | None = None

    @property
    def misses(self) -> list[str]:
        assert self.player is not None
        return self.player.misses


def routes_to(url: str) -> list[Route]:
    return plan_routes({}, {"": url} if url else {}, {})


@asynccontextmanager
async def recording(
    path: Path,
    url: str,
    environment: Mapping[str, str] | None = None,
    *,
    timeout: float = 5.0,
    max_body: int = 2**20,
) -> AsyncGenerator[Run]:
    header = CassetteHeader(cwd=HERE.cwd, home=HERE.home)
    routes = routes_to(url)
    header.set_routes(routes)
    writer = CassetteWriter(path, header)
    run = Run("")
    client = model_client(routes, connect_timeout=timeout, read_timeout=timeout)
    recorder = ModelRecorder(
        routes,
        writer,
        client,
        Redactor(environment or {}),
        run.warnings.append,
        max_body=max_body,
    )
    with anyio.fail_after(LIMIT_S):
        async with client, serving(recorder) as run.root:
            yield run
    writer.close()


@asynccontextmanager
async def replaying(path: Path, here: Roots = HERE) -> AsyncGenerator[Run]:
    cassette = read_cassette(path)
    run = Run("")
    routes = plan_routes({}, {}, {}, cassette.routes())
    run.player = ModelPlayer(
        routes, cassette, Redactor({}), here, run.warnings.append, hold_timeout=0.2
    )
    with anyio.fail_after(LIMIT_S):
        async with serving(run.player) as run.root:
            yield run


@dataclass
class Received:
    status: int
    chunks: list[bytes]
    error: str = ""

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


async def send(
    root: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> Received:
    """Send a request as an agent does; return the response, also if it breaks off."""
    received = Received(0, [])
    async with httpx.AsyncClient(timeout=LIMIT_S, verify=False) as client:
        method = "GET" if body is None else "POST"
        data: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
        request = client.build_request(method, root + path, headers=headers, **data)
        try:
            response = await client.send(request, stream=True)
            received.status = response.status_code
            async for chunk in response.aiter_raw():
                received.chunks.append(chunk)
            await response.aclose()
        except httpx.TransportError as problem:
            received.error = type(problem).__name__
    return received


def prompt(api: str, text: str) -> tuple[str, Any]:
    """Return path and body of a prompt in an API."""
    match api:
        case "openai":
            user = {"role": "user", "content": text}
            return "/openai/chat/completions", {"model": "fake", "messages": [user]}
        case "responses":
            return "/openai/responses", {"model": "fake", "input": text}
        case "anthropic":
            user = {"role": "user", "content": text}
            return "/anthropic/v1/messages", {"model": "fake", "messages": [user]}
        case _:
            parts = {"role": "user", "parts": [{"text": text}]}
            path = "/gemini/v1beta/models/fake:streamGenerateContent?alt=sse"
            return path, {"contents": [parts]}


@pytest.mark.parametrize("api", ["openai", "responses", "anthropic", "gemini"])
@pytest.mark.parametrize("text", ["hello é😀", "429", "500", "broken"])
async def test_each_api_is_replayed_as_recorded(tmp_path: Path, api: str, text: str) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt(api, text)
    with fake_service() as service:
        async with recording(path, service.url) as run:
            live = await send(run.root, target, body)
        direct = await send(service.url, target.removeprefix("/" + target.split("/")[1]), body)
    assert (live.status, live.error) == (direct.status, direct.error)
    async with replaying(path) as run:
        again = await send(run.root, target, body)
    assert (again.status, again.body, again.error) == (live.status, live.body, live.error)
    assert run.misses == []


async def test_chunks_stay_as_they_came(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("openai", "hello")
    with fake_service() as service:
        async with recording(path, service.url) as run:
            await send(run.root, target, body)
    [exchange] = read_cassette(path).exchanges
    assert len(exchange.response.chunks) > 1
    assert exchange.response.chunks[-1].endswith(b"data: [DONE]\n\n")
    async with replaying(path) as run:
        again = await send(run.root, target, body)
    assert again.body == b"".join(exchange.response.chunks)


async def test_a_compressed_body_is_recorded_decompressed(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("openai", "gzip")
    with fake_service() as service:
        async with recording(path, service.url) as run:
            live = await send(run.root, target, body)
    [exchange] = read_cassette(path).exchanges
    assert exchange.response.headers == {"content-type": "text/event-stream"}
    assert exchange.response.chunks[0].startswith(b'data: {"id"')
    assert live.body == b"".join(exchange.response.chunks)


async def test_a_service_that_cannot_be_reached_fails_the_same_way_again(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("anthropic", "hello")
    with fake_service() as service:
        url = service.url
    async with recording(path, url) as run:
        live = await send(run.root, target, body)
    assert live.status == 502
    assert json.loads(live.body)["type"] == "error"
    assert url in json.loads(live.body)["error"]["message"]
    [warning] = run.warnings
    assert f"{url} cannot be reached (ConnectError" in warning
    assert "--upstream URL" in warning
    async with replaying(path) as run:
        again = await send(run.root, target, body)
    assert (again.status, again.body) == (live.status, live.body)


async def test_a_service_that_keeps_silent_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("openai", "hold")
    with fake_service() as service:
        async with recording(path, service.url, timeout=0.3) as run:
            live = await send(run.root, target, body)
    assert live.error
    [exchange] = read_cassette(path).exchanges
    assert exchange.response.end == "ReadTimeout"
    async with replaying(path) as run:
        again = await send(run.root, target, body)
    assert (again.body, again.error) == (live.body, live.error)


async def test_a_response_that_the_agent_leaves_is_held_in_the_replay(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("openai", "hold")
    with fake_service() as service:
        async with recording(path, service.url) as run:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send, run.root, target, body)
                await anyio.to_thread.run_sync(service.holding.wait, LIMIT_S)
                tasks.cancel_scope.cancel()
            while not len(path.read_text().splitlines()) > 1:
                await anyio.sleep(0.01)
    [exchange] = read_cassette(path).exchanges
    assert exchange.response.end == "cancelled"
    async with replaying(path) as run:
        again = await send(run.root, target, body)
    assert again.error
    assert exchange.response.chunks == [] or again.body.startswith(exchange.response.chunks[0])


async def test_a_response_that_is_too_long_is_passed_on_and_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("openai", "hello")
    with fake_service() as service:
        async with recording(path, service.url, max_body=100) as run:
            live = await send(run.root, target, body)
    assert live.body.endswith(b"data: [DONE]\n\n")
    assert len(run.warnings) == 1
    assert read_cassette(path).exchanges == []


async def test_any_http_request_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    headers = {"content-type": "application/json"}
    with fake_service() as service:
        async with recording(path, service.url) as run:
            live = await send(run.root, "/upload?size=3", b"\xff\xfe{", headers)
            await send(run.root, "/openai/models")
    async with replaying(path) as run:
        again = await send(run.root, "/upload?size=3", b"\xff\xfe{", headers)
        for _ in range(3):
            assert (await send(run.root, "/openai/models")).status == 200
    assert (again.status, again.body) == (live.status, live.body)
    assert run.misses == []


async def test_keys_never_reach_the_file(tmp_path: Path) -> None:
    """Not from a header, a query or the environment; not if the model repeats one in pieces."""
    path = tmp_path / "it.cassette"
    other = "ghp_" + "aB3" * 12
    headers = {"authorization": f"Bearer {KEY}", "cookie": "session=k9Qz7Lp2Wx4Vb6"}
    with fake_service() as service:
        async with recording(path, service.url, {"MY_SERVICE_TOKEN": "hunter-2-is-secret"}) as run:
            target, body = prompt("openai", f"my key is {KEY} and hunter-2-is-secret")
            live = await send(run.root, target, body, headers)
            target, body = prompt("gemini", f"and {other}")
            await send(run.root, f"{target}&key={KEY}", body, {"x-goog-api-key": KEY})
        sent = [request[1].get("authorization") for request in service.requests]
        assert sent[0] == f"Bearer {KEY}"
        assert service.requests[1][0].endswith(f"key={KEY}")
    assert KEY[:3].encode() in live.body
    raw = path.read_text()
    for secret in (KEY, other, "hunter-2", "k9Qz7Lp2Wx4Vb6"):
        assert secret not in raw
    assert "authorization" not in raw
    deltas = [
        json.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("content", "")
        for chunk in read_cassette(path).exchanges[0].response.chunks
        for line in chunk.decode().splitlines()
        if line.startswith("data: {")
    ]
    assert "".join(deltas) == "reply 1 to my key is «secret:1» and «secret:2»"
    assert list(find_secrets(path)) == []
    async with replaying(path) as run:
        target, body = prompt("openai", f"my key is {KEY[:-4]}wxyz and hunter-9-is-secret")
        again = await send(run.root, target, body, {"authorization": f"Bearer {KEY[:-4]}wxyz"})
    assert again.status == 200


@pytest.mark.parametrize("name", ["key", "api_key", "access_token"])
async def test_keys_in_a_query_are_neither_stored_nor_shown(tmp_path: Path, name: str) -> None:
    """Nor if the service repeats one in an error, or a request is not in the cassette."""
    path = tmp_path / "it.cassette"
    key = "k9Qz7Lp2Wx4Vb6Rt8"
    target, body = prompt("gemini", "500")
    with fake_service() as service:
        async with recording(path, service.url) as run:
            live = await send(run.root, f"{target}&{name}={key}", body)
        assert service.requests[0][0].endswith(f"{name}={key}")
    assert live.status == 500
    assert key not in path.read_text()
    [exchange] = read_cassette(path).exchanges
    assert exchange.request.query == "alt=sse"
    target, other = prompt("gemini", f"what is {key}")
    async with replaying(path) as run:
        again = await send(run.root, f"{prompt('gemini', '')[0]}&{name}=other-key-1234567", body)
        miss = await send(run.root, f"{target}&{name}={key}", other)
    assert (again.status, miss.status) == (500, 400)
    assert key not in run.warnings[0]
    assert key.encode() not in miss.body


async def test_a_path_in_pieces_becomes_that_of_the_live_run(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("openai", "TOOL /home/me/project/src/a.py")
    with fake_service() as service:
        async with recording(path, service.url) as run:
            live = await send(run.root, target, body)
    live_target, live_body = prompt("openai", "TOOL /tmp/run-77/src/a.py")
    async with replaying(path, Roots("/tmp/run-77", "/root", "")) as run:
        again = await send(run.root, live_target, live_body)
    assert run.misses == []
    assert [each.decode() for each in pieces_of(live)] == pieces(
        '{"path": "/home/me/project/src/a.py"}'
    )
    assert b"".join(pieces_of(again)) == b'{"path": "/tmp/run-77/src/a.py"}'


def pieces_of(received: Received) -> list[bytes]:
    """Return the arguments of a streamed tool call."""
    events = [
        json.loads(line.removeprefix(b"data: "))
        for line in received.body.splitlines()
        if line.startswith(b"data: {")
    ]
    calls = [each["choices"][0]["delta"].get("tool_calls", [{}])[0] for each in events]
    found = [call.get("function", {}).get("arguments", "") for call in calls]
    return [piece.encode() for piece in found if piece]


async def test_equal_requests_get_their_responses_in_order_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("anthropic", "hello")
    with fake_service() as service:
        async with recording(path, service.url) as run:
            live = [(await send(run.root, target, body)).body for _ in range(2)]
    assert live[0] != live[1]
    async with replaying(path) as run:
        again = [await send(run.root, target, body) for _ in range(3)]
    assert [each.body for each in again[:2]] == live
    assert again[2].status == 400
    assert "an equal one in line 2 was used already" in run.warnings[0]


@pytest.mark.parametrize(
    ("api", "where"),
    [
        ("openai", "messages[0].content"),
        ("anthropic", "messages[0].content"),
        ("gemini", "contents[0].parts[0].text"),
    ],
)
async def test_a_miss_names_the_nearest_request_and_what_differs(
    tmp_path: Path, api: str, where: str
) -> None:
    path = tmp_path / "it.cassette"
    with fake_service() as service:
        async with recording(path, service.url) as run:
            for text in ("something else", "what is one plus one"):
                target, body = prompt(api, text)
                await send(run.root, target, body | {"temperature": 20})
    target, body = prompt(api, "what is one plus two")
    async with replaying(path) as run:
        again = await send(run.root, target, body | {"temperature": 20})
    assert again.status == 400
    error = json.loads(again.body)["error"]
    # Whoever sends a request learns nothing of what was recorded.
    assert error["message"] == NO_MATCH
    assert b"one plus one" not in again.body
    assert (api == "gemini") == ("status" in error)
    assert (api == "anthropic") == (json.loads(again.body).get("type") == "error")
    [text] = run.warnings
    lines = text.splitlines()
    assert lines[1] == "the nearest one in line 3 differs in:"
    assert lines[2].startswith(f"  {where}: recorded ")
    assert "one plus one" in lines[2]
    assert "one plus two" in lines[2]
    assert len(run.player.unused() if run.player else []) == 2


async def test_two_agents_at_once_get_their_own_responses(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    texts = [f"agent {number}" for number in range(8)]
    replies: dict[str, bytes] = {}

    async def one(root: str, text: str) -> None:
        target, body = prompt("openai", text)
        replies[text] = (await send(root, target, body)).body

    async def all_of_them(root: str) -> dict[str, bytes]:
        replies.clear()
        async with anyio.create_task_group() as tasks:
            for text in texts:
                tasks.start_soon(one, root, text)
        return dict(replies)

    with fake_service() as service:
        async with recording(path, service.url) as run:
            live = await all_of_them(run.root)
    assert len(set(live.values())) == len(texts)
    async with replaying(path) as run:
        assert await all_of_them(run.root) == live
    assert run.misses == []


async def test_a_request_without_a_known_service_gets_an_error(tmp_path: Path) -> None:
    async with recording(tmp_path / "it.cassette", "") as run:
        received = await send(run.root, "/v1/chat/completions", {})
    assert received.status == 502
    assert b"--upstream URL" in received.body


async def test_a_port_in_use_is_an_error(tmp_path: Path) -> None:
    async with recording(tmp_path / "it.cassette", "") as run:
        with pytest.raises(PortError):
            async with serving(None, urlsplit(run.root).port or 0):  # pyright: ignore[reportArgumentType]
                pass


def test_a_file_is_for_its_owner_and_never_overwritten_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    CassetteWriter(path, CassetteHeader()).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(CassetteError):
        CassetteWriter(path, CassetteHeader())
    CassetteWriter(path, CassetteHeader(cwd="/a"), "append").close()
    assert len(read_cassette(path).headers) == 2
    CassetteWriter(path, CassetteHeader(), "overwrite").close()
    assert len(read_cassette(path).headers) == 1


def test_a_line_that_is_cut_off_is_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    CassetteWriter(path, CassetteHeader()).close()
    with path.open("ab") as file:
        file.write(b'{"request":{"method":"POST"')
    CassetteWriter(path, CassetteHeader(), "append").close()
    cassette = read_cassette(path)
    assert (len(cassette.headers), cassette.bad_lines) == (2, [2])


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b'{"format":"acp-agent cassette","version":1}\n']
)
def test_what_is_no_cassette_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "it.cassette"
    path.write_bytes(content)
    with pytest.raises(CassetteError):
        read_cassette(path)


def test_a_full_disk_costs_one_exchange(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    writer = CassetteWriter(path, CassetteHeader())
    request = ModelRequest(method="GET", route="openai", path="/models")
    line = ModelExchange(request=request, response=ModelResponse(status=200)).line()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        with pytest.raises(OSError, match="No space left"):
            writer.write(line)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.write(line)
    writer.close()
    cassette = read_cassette(path)
    assert (cassette.bad_lines, cassette.lines) == ([2], [3])


def variables(routes: list[Route]) -> dict[str, str]:
    return {
        name: value for route in routes for name, value in route.environment("http://h").items()
    }


def test_a_variable_keeps_its_service_and_its_path() -> None:
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:8199/v1/", "OLLAMA_HOST": "box:11434"}
    routes = plan_routes(environment, {}, {})
    upstreams = {route.name: route.upstream for route in routes}
    assert upstreams["openai"] == "http://127.0.0.1:8199/v1"
    assert upstreams["ollama"] == "http://box:11434"
    assert upstreams["anthropic"] == "https://api.anthropic.com"
    names = variables(routes)
    assert names["OPENAI_BASE_URL"] == "http://h/openai/v1"
    assert names["ANTHROPIC_BASE_URL"] == "http://h/anthropic"
    # Of another address, hence a route of its own.
    assert names["OPENAI_API_BASE"] == "http://h/openai_api_base/v1"
    assert "VLLM_BASE_URL" not in names


def test_a_variable_of_ones_own_has_a_template() -> None:
    added = {"MY_URL": "{url}/chat", "MY_API_KEY": "none"}
    routes = plan_routes({}, {"MY_URL": "https://models.example/x"}, added)
    assert variables(routes)["MY_URL"] == "http://h/my_url/x/chat"
    assert variables(routes)["MY_API_KEY"] == "none"


@pytest.mark.parametrize(
    ("upstreams", "added"),
    [
        ({}, {"MY_URL": "{url}"}),
        ({"nonsense": "http://a"}, {}),
        ({"": "ftp://a"}, {}),
        ({"": "http://user:password@a"}, {}),
        ({"": "http://a:port"}, {}),
    ],
)
def test_a_url_that_cannot_be_used_is_an_error(
    upstreams: dict[str, str], added: dict[str, str]
) -> None:
    with pytest.raises(RouteError):
        plan_routes({}, upstreams, added)


def test_a_replay_sets_what_the_recording_set() -> None:
    recorded = [Route("vllm", "https://models.example/x", {"VLLM_BASE_URL": "{url}/chat"})]
    assert variables(plan_routes({}, {}, {}, recorded))["VLLM_BASE_URL"] == "http://h/vllm/x/chat"


def test_a_replay_sets_another_variable_only_if_the_user_names_it() -> None:
    recorded = [Route("my_url", "https://models.example/x", {"MY_URL": "{url}"})]
    assert "MY_URL" not in variables(plan_routes({}, {}, {}, recorded))
    named = plan_routes({}, {}, {"MY_URL": "{url}"}, recorded)
    assert variables(named)["MY_URL"] == "http://h/my_url/x"


@pytest.mark.parametrize(
    ("service", "upstream", "name", "value"),
    [
        *(
            ("openai", "https://a", name, "/tmp/evil")
            for name in ("PYTHONPATH", "LD_PRELOAD", "PATH", "NODE_OPTIONS", "HTTPS_PROXY")
        ),
        ("pip", "https://a", "PIP_INDEX_URL", "{url}"),
        ("openai", "https://a", "OPENAI_BASE_URL", "https://evil.example"),
        ("openai", "https://a", "OPENAI_BASE_URL", "https://evil.example/{url}"),
        ("openai", "https://a", "OPENAI_BASE_URL", "{url}@evil.example/"),
        ("openai", "https://a", "OPENAI_BASE_URL", "{url}/x\n"),
        ("openai", "https://a", "openai_base_url", "{url}"),
        ("openai", "https://a", "OPENAI_API_KEY", "mine"),
        ("openai", "https://a/x y", "OPENAI_BASE_URL", "{url}"),
        ("a@evil.example/", "https://a", "OPENAI_BASE_URL", "{url}"),
        ("../..", "https://a/\0", "OLLAMA_HOST", "{url}"),
    ],
)
def test_a_cassette_sets_no_variable_but_those_of_a_model_service_to_our_server(
    service: str, upstream: str, name: str, value: str
) -> None:
    """A foreign one could run code, or take the user's keys to another address."""
    found = variables(plan_routes({}, {}, {}, [Route(service, upstream, {name: value})]))
    assert found.keys() == variables(plan_routes({}, {}, {})).keys()
    assert all(re.fullmatch(r"http://h/[\w./-]*", each) for each in found.values()), found


async def ask(root: str, path: str, headers: Mapping[str, str]) -> int:
    return (await send(root, path, b"{}", headers)).status


async def test_the_server_responds_to_its_agent_alone(tmp_path: Path) -> None:
    path = tmp_path / "it.cassette"
    target, body = prompt("openai", "hello")
    with fake_service() as service:
        async with recording(path, service.url) as run:
            await send(run.root, target, body)
        assert len(service.requests) == 1
        count = len(path.read_text().splitlines())
        for opened in (recording(tmp_path / "other", service.url), replaying(path)):
            async with opened as run:
                await check_callers(run.root, target)
        # Nothing was forwarded.
        assert len(service.requests) == 2
    assert len(path.read_text().splitlines()) == count


async def check_callers(root: str, target: str) -> None:
    """Send requests to a server that it has to refuse, and one that it has not."""
    url = urlsplit(root)
    bare = f"http://{url.netloc}"
    json_ = {"content-type": "application/json"}
    for other in (bare, f"{bare}/", f"{bare}/{'x' * len(url.path[1:])}", root[:-1], f"{root}x"):
        assert await ask(other, target, json_) == 401
    assert await ask(f"{bare}/{url.path[1:].swapcase()}", target, json_) == 401
    for host in ("evil.example", f"evil.example:{url.port}", "127.0.0.1", "127.0.0.1:1", ""):
        assert await ask(root, target, json_ | {"host": host}) in {400, 403}
    for origin in ("https://evil.example", "null", "http://localhost", f"{bare}.evil.example"):
        assert await ask(root, target, json_ | {"origin": origin}) == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert await ask(root, target, {"content-type": kind}) == 415
    assert await ask(root, target, {}) == 415
    localhost = {"host": f"localhost:{url.port}", "origin": bare}
    assert await ask(root, target, json_ | localhost) in {200, 400}


async def test_a_played_redirect_leads_nowhere_else(tmp_path: Path) -> None:
    """The agent would take its key there."""
    path = tmp_path / "it.cassette"
    lines = [CassetteHeader().model_dump()]
    for place, location in enumerate(("https://evil.example/", "//evil.example/", "/there")):
        request = ModelRequest(method="GET", route="openai", path=f"/{place}")
        headers = {"Location": location, "set-cookie": "a=b", "retry-after": "1"}
        exchange = ModelExchange(request=request, response=ModelResponse(status=307))
        exchange.response.headers = headers
        lines.append(exchange.model_dump())
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    async with replaying(path) as run, httpx.AsyncClient() as client:
        for place, expected in enumerate((None, None, "/there")):
            response = await client.get(f"{run.root}/openai/{place}")
            assert response.headers.get("location") == expected
            assert response.headers["retry-after"] == "1"
            assert "set-cookie" not in response.headers


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_cassette_is_no_link_and_no_pipe(tmp_path: Path, mode: WriteMode) -> None:
    target, link, pipe = (tmp_path / name for name in ("target", "link", "pipe"))
    CassetteWriter(target, CassetteHeader()).close()
    before = target.read_bytes()
    link.symlink_to(target)
    os.mkfifo(pipe)
    for path in (link, pipe):
        with pytest.raises(CassetteError, match=r"symbolic link|pipe"):
            CassetteWriter(path, CassetteHeader(), mode)
        with pytest.raises(CassetteError, match=r"symbolic link|pipe"):
            read_cassette(path)
    assert target.read_bytes() == before


def test_another_name_of_an_overwritten_cassette_keeps_its_content(tmp_path: Path) -> None:
    path, other = tmp_path / "it.cassette", tmp_path / "other"
    path.write_text("precious")
    other.hardlink_to(path)
    CassetteWriter(path, CassetteHeader(), "overwrite").close()
    assert other.read_text() == "precious"
    assert read_cassette(path).headers
    assert len(list(tmp_path.iterdir())) == 2
