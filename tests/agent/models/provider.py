"""A service on loopback that speaks HTTP over real sockets, and fails where a test wants it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import anyio
from anyio.abc import SocketAttribute, SocketStream

from acp_agent.models.types import HistoryEntry, Model, ModelEvent, TextDelta, ToolSpec
from acp_agent.settings.providers import PROVIDERS, Provider
from acp_protocol.jsonrpc import Json

LIMIT = 10.0
"""Seconds after which a talk counts as hung."""


@dataclass(frozen=True)
class Answer:
    """What the service sends for one request, and how it ends."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Sequence[bytes] = ()
    end: Literal["whole", "cut", "hold"] = "whole"
    """Cut: the connection ends amid the body. Hold: nothing more comes, and nobody hangs up."""
    is_silent: bool = False
    """Whether not even a head comes."""


@dataclass
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class LocalProvider:
    """What a test sees of the service."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list[Answer])
    asked: list[Asked] = field(default_factory=list[Asked])
    arrived: anyio.Event = field(default_factory=anyio.Event)
    """A request has come."""
    hung_up: anyio.Event = field(default_factory=anyio.Event)
    """Who was held has hung up."""

    async def serve(self, socket: SocketStream) -> None:
        """Answer the one request of a connection."""
        async with socket:
            self.asked.append(await _request(socket))
            self.arrived.set()
            answer = self.answers.pop(0)
            try:
                await _send(socket, answer)
                if answer.end == "hold":
                    await socket.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self.hung_up.set()


async def _request(socket: SocketStream) -> Asked:
    received = b""
    while b"\r\n\r\n" not in received:
        received += await socket.receive()
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): told.strip() for name, _, told in pairs}
    while len(body) < int(headers["content-length"]):
        body += await socket.receive()
    return Asked(first.split(" ")[1], headers, json.loads(body))


async def _send(socket: SocketStream, answer: Answer) -> None:
    if answer.is_silent:
        return
    lines = [f"HTTP/1.1 {answer.status} X", "Transfer-Encoding: chunked", "Connection: close"]
    lines += [f"{name}: {told}" for name, told in answer.headers.items()]
    await socket.send("\r\n".join([*lines, "", ""]).encode())
    for piece in answer.pieces:
        await socket.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    if answer.end == "whole":
        await socket.send(b"0\r\n\r\n")


@asynccontextmanager
async def providing(*answers: Answer) -> AsyncGenerator[LocalProvider]:
    """Serve `answers` one after the other; at the end all of them must have been asked for."""
    provider = LocalProvider(answers=list(answers))
    with anyio.fail_after(LIMIT):
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(SocketAttribute.local_port)
        provider.url = f"http://127.0.0.1:{port}"
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, provider.serve)
            yield provider
            tasks.cancel_scope.cancel()
    assert provider.answers == []


def found(prefix: str, url: str, key: str | None = "sk-canary-0123456789") -> Provider:
    """Return the service of that prefix as if it ran at `url`."""
    return replace(PROVIDERS[prefix], base_url=url, key=key, is_bearer=prefix != "anthropic")


def sse(*messages: Json, done: bool = False) -> bytes:
    """Return messages as a service streams them."""
    lines = [
        (f"event: {message['type']}\n" if "type" in message else "")
        + f"data: {json.dumps(message, ensure_ascii=False)}\n\n"
        for message in messages
    ]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def streamed(*pieces: bytes, end: Literal["whole", "cut", "hold"] = "whole") -> Answer:
    """Return an answer that streams `pieces`."""
    return Answer(200, {"Content-Type": "text/event-stream"}, pieces, end)


def refused(status: int, body: Json | bytes = b"", **headers: str) -> Answer:
    """Return a refusal; underscores in the names of headers stand for hyphens."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): told for name, told in headers.items()}
    return Answer(status, named, [raw] if raw else [])


async def replied(
    model: Model, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec] = ()
) -> list[ModelEvent]:
    """Return all that a model replies."""
    return [event async for event in model.reply(history, tools)]


def said(events: Iterable[ModelEvent]) -> str:
    """Return what events say in words."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))
