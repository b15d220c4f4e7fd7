"""Fetching over real sockets, and all that is not fetched."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from anyio.abc import SocketAttribute, SocketStream

from acp_agent.net import PrivateHosts
from acp_agent.tools import fetch
from acp_agent.tools.call import Content, Outcome, PreparedCall, ToolFailedError
from acp_agent.tools.fetch import fetch_tool
from acp_agent.world.workspace import Workspace
from tests.agent.client import LIMIT, open_session, selected


class Site:
    """A server that answers each path with what is written down for it."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = answers
        self.asked: list[bytes] = []
        self.port = 0

    async def serve(self, socket: SocketStream) -> None:
        async with socket:
            received = b""
            while b"\r\n\r\n" not in received:
                received += await socket.receive()
            self.asked.append(received)
            name = received.split(b" ")[1].decode().strip("/")
            try:
                await socket.send(self.answers[name])
                if name == "hold":
                    await anyio.sleep_forever()
            except anyio.BrokenResourceError:
                pass


def answer(body: bytes, kind: str = "text/plain", status: str = "200 OK", *more: str) -> bytes:
    length = f"Content-Length: {len(body)}"
    head = [f"HTTP/1.1 {status}", length, "Connection: close", *more]
    if kind:
        head.append(f"Content-Type: {kind}")
    return "\r\n".join([*head, "", ""]).encode() + body


def redirection(goal: str) -> bytes:
    return answer(b"", "", "302 Found", f"Location: {goal}")


@asynccontextmanager
async def serving(site: Site) -> AsyncGenerator[str]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    site.port = listener.extra(SocketAttribute.local_port)
    with anyio.fail_after(LIMIT):
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, site.serve)
            yield f"http://127.0.0.1:{site.port}"
            tasks.cancel_scope.cancel()


async def ignore(content: Content) -> None:
    del content


async def prepared(workspace: Workspace, url: str, **options: Any) -> PreparedCall:
    return await fetch_tool(**options).prepare({"url": url}, workspace)


async def fetched(workspace: Workspace, url: str, **options: Any) -> Outcome:
    return await (await prepared(workspace, url, **options)).run(ignore)


async def test_a_text_is_returned_as_it_is_and_nothing_is_told_of_us(workspace: Workspace) -> None:
    site = Site(a=answer("grüße".encode(), "text/plain; charset=utf-8"))
    async with serving(site) as base:
        outcome = await fetched(workspace, f"{base}/a#part")
    assert outcome.text == "grüße"
    assert outcome.raw == {"status": 200, "contentType": "text/plain", "bytes": 7}
    (request,) = site.asked
    assert request.startswith(b"GET /a HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{site.port}".encode() in request.lower()
    assert b"cookie" not in request.lower()


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"<h1>A</h1>b", "text/html", "# A\n\nb"),
        (b"\xe4", "text/plain; charset=latin-1", "ä"),
        (b"\xe4", "text/plain; charset=nonsense", "\ufffd"),
        (b'{"a":1}', "application/problem+json", '{"a":1}'),
        (b"a", "", "a"),
        (b"", "text/plain", ""),
    ],
)
async def test_what_is_text_is_read(
    workspace: Workspace, body: bytes, kind: str, text: str
) -> None:
    async with serving(Site(a=answer(body, kind))) as base:
        assert (await fetched(workspace, f"{base}/a")).text == text


async def test_what_is_no_text_or_packed_fails_the_tool(workspace: Workspace) -> None:
    packed = answer(b"x", "text/plain", "200 OK", "Content-Encoding: gzip")
    async with serving(Site(a=answer(b"x", "image/png"), b=packed)) as base:
        with pytest.raises(ToolFailedError, match="image/png is not text"):
            await fetched(workspace, f"{base}/a")
        with pytest.raises(ToolFailedError, match="packed"):
            await fetched(workspace, f"{base}/b")


async def test_an_error_of_the_server_is_told_with_what_it_says(workspace: Workspace) -> None:
    async with serving(Site(a=answer(b"no such page", status="404 Not Found"))) as base:
        outcome = await fetched(workspace, f"{base}/a")
    assert outcome.is_failed
    assert outcome.text == f"{base}/a answers with status 404\nno such page"


async def test_of_a_large_answer_the_beginning_is_read(workspace: Workspace) -> None:
    page = b"start<script>" + b"x" * 2_000_000
    async with serving(Site(a=answer(page, "text/html"))) as base:
        outcome = await fetched(workspace, f"{base}/a")
    assert outcome.text == "start\n… only the first 1048576 bytes were read"
    assert outcome.raw["bytes"] == 2**20


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"nonsense\r\n\r\n", "a: .+"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", "cut off"),
        (b"", "a: .+"),
    ],
)
async def test_an_answer_that_is_broken_fails_the_tool(
    workspace: Workspace, raw: bytes, reason: str
) -> None:
    async with serving(Site(a=raw)) as base:
        with pytest.raises(ToolFailedError, match=reason):
            await fetched(workspace, f"{base}/a")


async def test_nobody_waits_for_ever(workspace: Workspace) -> None:
    site = Site(hold=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")
    async with serving(site) as base:
        with pytest.raises(ToolFailedError, match=r"within 0.2 s"):
            await fetched(workspace, f"{base}/hold", timeout_s=0.2)


async def test_redirections_on_one_host_are_followed_up_to_a_limit(workspace: Workspace) -> None:
    site = Site(a=redirection("/b"), b=redirection("c"), c=answer(b"there"), x=redirection("/x"))
    async with serving(site) as base:
        assert (await fetched(workspace, f"{base}/a")).text == "there"
        with pytest.raises(ToolFailedError, match="more than 5 redirections"):
            await fetched(workspace, f"{base}/x")
    assert len(site.asked) == 3 + 6


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://blocked.example./x", "blocked.example"),
        ("https://Blocked.example:443/", "blocked.example"),
        ("http://127.1:8080/", "127.0.0.1:8080"),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ],
)
async def test_rules_know_a_host_by_one_name(workspace: Workspace, url: str, name: str) -> None:
    assert [str(each) for each in (await prepared(workspace, url)).subjects] == [name]


async def test_a_redirection_to_another_name_of_a_site_is_not_followed(
    workspace: Workspace,
) -> None:
    site = Site(a=b"")
    async with serving(site):
        goal = f"http://www.localhost:{site.port}/a"
        site.answers["a"] = redirection(goal)
        outcome = await fetched(workspace, f"http://localhost:{site.port}/a")
    assert f"redirects to {goal}" in outcome.text
    assert len(site.asked) == 1


async def test_a_redirection_elsewhere_is_told_and_not_followed(workspace: Workspace) -> None:
    site = Site()
    async with serving(site) as base:
        for name, goal in [
            ("a", f"http://127.0.0.2:{site.port}/secret"),
            ("b", "http://127.0.0.1:1/secret"),
        ]:
            site.answers[name] = redirection(goal)
            outcome = await fetched(workspace, f"{base}/{name}")
            assert f"redirects to {goal}" in outcome.text
        for name, goal in [
            ("c", "file:///etc/passwd"),
            ("d", "http://"),
            ("e", "gopher://x/"),
            ("f", "http://xn--a/"),
            ("g", "//xn--a/"),
        ]:
            site.answers[name] = redirection(goal)
            with pytest.raises(ToolFailedError):
                await fetched(workspace, f"{base}/{name}")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "not a web address|only http"),
        ("ftp://example.com/", "only http"),
        ("javascript:alert(1)", "not a web address"),
        ("example.com", "not a web address"),
        ("//example.com", "only http"),
        ("", "not a web address"),
        ("http://", "not a web address"),
        ("http://user:secret@127.0.0.1/", "a name or a password"),
        ("http://127.0.0.1:99999/", "not a web address"),
        ("http://[::1", "not a web address"),
        ("http://xn--a/", "not a web address"),
        ("http://xn--/", "not a web address"),
        ("http://127.0.0.1/\r\nX: y", "not a web address"),
        ("http://127.0.0.1/" + "x" * 3000, "not a web address"),
    ],
)
async def test_what_is_no_address_to_fetch_is_refused(
    workspace: Workspace, url: str, reason: str
) -> None:
    with pytest.raises(ToolFailedError, match=reason) as caught:
        await prepared(workspace, url)
    assert "secret" not in str(caught.value)


async def test_a_private_address_is_asked_about_each_time_and_says_so(
    workspace: Workspace,
) -> None:
    call = await prepared(workspace, "http://127.1:8080/x")
    assert call.must_ask
    assert "leads to 127.0.0.1" in call.content[0]["content"]["text"]
    assert str(call.touched[0]) == "127.0.0.1:8080"


@pytest.mark.parametrize("url", ["http://a b/", "http://x.invalid/"])
async def test_a_name_that_leads_nowhere_fails_the_tool(workspace: Workspace, url: str) -> None:
    call = await prepared(workspace, url)
    with pytest.raises(ToolFailedError, match="no host"):
        await call.run(ignore)


class Names:
    """Names, each look-up of which finds `addresses`."""

    def __init__(self, *addresses: str) -> None:
        self.looked_up: list[str] = []
        self.addresses = list(addresses)

    async def __call__(self, host: str, port: int) -> list[str]:
        del port
        self.looked_up.append(host)
        return self.addresses


async def test_a_name_is_asked_about_before_anybody_looks_it_up(workspace: Workspace) -> None:
    names = Names("8.8.8.8")
    call = await prepared(workspace, "https://a-secret.example.com/a?b=c", resolve=names)
    assert (call.title, call.kind) == ("Fetch https://a-secret.example.com/a?b=c", "fetch")
    assert not call.must_ask
    assert str(call.touched[0]) == "a-secret.example.com"
    assert names.looked_up == []


async def test_without_consent_no_name_is_looked_up(cwd: Path) -> None:
    names = Names()
    for choice in ("reject", "allow"):
        tools = {"fetch": fetch_tool(resolve=names)}
        async with open_session(cwd, permission=selected(choice), tools=tools) as session:
            await session.turn("call fetch url=http://example.com/")
        assert names.looked_up == ["example.com"] * (choice == "allow")
        assert session.calls[0]["status"] == "failed"


async def test_a_name_that_leads_to_a_private_address_is_not_fetched(
    workspace: Workspace,
) -> None:
    site = Site(a=answer(b"secret"))
    async with serving(site):
        url = f"http://example.com:{site.port}/a"
        call = await prepared(workspace, url, resolve=Names("127.0.0.1"))
        with pytest.raises(ToolFailedError, match=r"example.com .* it leads to 127.0.0.1"):
            await call.run(ignore)
    assert site.asked == []


async def test_a_name_that_turns_private_is_not_followed_and_another_not_looked_up(
    workspace: Workspace,
) -> None:
    """What was judged is where the connection goes, and each redirection is judged anew."""
    looked_up: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        del port
        looked_up.append(host)
        return ["127.0.0.1" if len(looked_up) == 1 else "127.0.0.2"]

    listed: dict[str, Any] = {"private": PrivateHosts(["127.0.0.1"]), "resolve": resolve}
    site = Site(a=redirection("/b"), c=redirection("http://elsewhere.example/"))
    async with serving(site):
        elsewhere = await fetched(workspace, f"http://example.com:{site.port}/c", **listed)
        assert "redirects to http://elsewhere.example/" in elsewhere.text
        assert looked_up == ["example.com"]
        looked_up.clear()
        with pytest.raises(ToolFailedError, match="not open to everybody"):
            await fetched(workspace, f"http://example.com:{site.port}/a", **listed)
    assert len(site.asked) == 2
    assert f"host: example.com:{site.port}".encode() in site.asked[0].lower()


@pytest.mark.parametrize("host", ["localhost", "my.localhost", "[::1]", "0x7f.1"])
async def test_this_machine_is_asked_about_each_time_by_any_name(
    workspace: Workspace, host: str
) -> None:
    assert (await prepared(workspace, f"http://{host}/")).must_ask


async def test_a_private_address_is_asked_about_whatever_the_mode_says(cwd: Path) -> None:
    site = Site(a=answer(b"hello"))
    async with serving(site) as base, open_session(cwd, mode="code") as session:
        await session.turn(f"call fetch url={base}/a then call fetch url={base}/a")
    assert len(session.client.requests) == 2
    assert [option["optionId"] for option in session.client.requests[0].params["options"]] == [
        "allow",
        "reject",
    ]
    assert [call["status"] for call in session.calls] == ["completed", "completed"]


async def test_a_private_address_that_is_listed_is_asked_about_as_any_other(cwd: Path) -> None:
    site = Site(a=answer(b"hello"))
    tools = {"fetch": fetch_tool(PrivateHosts(["127.0.0.0/8"]))}
    async with (
        serving(site) as base,
        open_session(cwd, permission=selected("allow-always"), tools=tools) as session,
    ):
        await session.turn(f"call fetch url={base}/a then call fetch url={base}/a")
    assert len(session.client.requests) == 1
    assert [call["status"] for call in session.calls] == ["completed", "completed"]


async def test_a_listed_name_is_fetched_where_it_was_found_and_judged_anew_each_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is listed and then leads elsewhere does not lead there."""
    names = Names("10.255.255.1")
    tool = fetch_tool(PrivateHosts(["wiki.intra"]), resolve=names)
    located: list[Sequence[str]] = []

    @asynccontextmanager
    async def respond(url: object, addresses: Sequence[str]) -> AsyncGenerator[httpx.Response]:
        del url
        located.append(addresses)
        yield httpx.Response(200, stream=httpx.ByteStream(b""))

    monkeypatch.setattr(fetch, "_response", respond)
    call = await tool.prepare({"url": "http://wiki.intra/"}, workspace)
    assert (call.must_ask, names.looked_up) == (False, [])
    await call.run(ignore)
    assert (located, names.looked_up) == ([["10.255.255.1"]], ["wiki.intra"])
    names.addresses.append("169.254.169.254")
    with pytest.raises(ToolFailedError, match=r"where the configuration lists it in fetch\."):
        await call.run(ignore)
    other = await tool.prepare({"url": "http://other.intra/"}, workspace)
    with pytest.raises(ToolFailedError, match="not open to everybody"):
        await other.run(ignore)
    assert len(located) == 1
