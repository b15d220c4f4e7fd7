"""Sessions that several clients, and several processes, open one after the other."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from acp_agent.settings.types import DatabaseUrl
from acp_protocol.jsonrpc import Json
from tests.agent.test_network import Served, served


@dataclass
class HttpClient:
    """A connection to a server over HTTP, whose stream is read only while it is needed."""

    server: Served
    connection: str
    affinity: str

    @contextmanager
    def reading(self) -> Generator[Generator[Any]]:
        """Read the stream of the connection; yield its messages."""
        headers = self.server.headers | {
            "Acp-Connection-Id": self.connection,
            "Accept": "text/event-stream",
        }
        with httpx.stream("GET", self.server.url, headers=headers, trust_env=False) as stream:
            assert stream.status_code == 200
            yield (json.loads(line[6:]) for line in stream.iter_lines() if line[:6] == "data: ")

    def ask(self, method: str, params: Json) -> Any:
        """Return the response to a request."""
        named = {"Acp-Session-Id": params["sessionId"]} if "sessionId" in params else {}
        assert self.server.post(self.connection, method, params, **named).status_code == 202
        with self.reading() as messages:
            return next(messages)

    def new(self, cwd: Path) -> str:
        opened = self.ask("session/new", {"cwd": str(cwd), "mcpServers": []})
        return opened["result"]["sessionId"]

    def load(self, session: str, cwd: Path) -> Any:
        params: Json = {"sessionId": session, "cwd": str(cwd), "mcpServers": []}
        return self.ask("session/load", params)


def connect(server: Served) -> HttpClient:
    opened = server.post(None, "initialize", {"protocolVersion": 1})
    cookie = opened.headers["Set-Cookie"].partition(";")[0]
    return HttpClient(server, opened.headers["Acp-Connection-Id"], cookie)


def where(storage: Path | DatabaseUrl) -> str:
    return storage.url if isinstance(storage, DatabaseUrl) else str(storage)


def test_a_session_whose_client_is_gone_is_opened_by_the_next_one(
    cwd: Path, storage: Path | DatabaseUrl
) -> None:
    """Also in another process, if they share a database."""
    with ExitStack() as stack:
        first = second = stack.enter_context(served("--sessions", where(storage)))
        if isinstance(storage, DatabaseUrl):
            second = stack.enter_context(served("--sessions", where(storage)))
        gone, other = connect(first), connect(second)
        session = gone.new(cwd)
        # Nobody has ended the connection of the first client, which reads nothing any more.
        assert "result" in other.load(session, cwd)
        refused = first.post(gone.connection, "session/list", {})
        assert refused.status_code == 404
        assert "another one has opened its session" in refused.text


def test_a_session_whose_client_reads_is_not_given_to_another_one(
    cwd: Path, storage: Path | DatabaseUrl
) -> None:
    with served("--sessions", where(storage)) as server:
        reader, other = connect(server), connect(server)
        session = reader.new(cwd)
        with reader.reading():
            refused = other.load(session, cwd)
        assert "open in another process" in refused["error"]["message"]
        assert "result" in other.load(session, cwd)


def test_the_affinity_cookie_names_the_process() -> None:
    with served("--affinity", "host-2") as server:
        assert connect(server).affinity == "acp_affinity=host-2"
    with served() as server:
        random = {connect(server).affinity for _ in range(2)}
    assert len(random) == 1
    assert random != {"acp_affinity=host-2"}
