"""Connections over HTTP and WebSocket, written down exchange by exchange."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, TOOL, Talk

CONNECTION = {"Acp-Connection-Id": "c1"}
JSON = {"Content-Type": "application/json"}
ASKED = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": TOOL}
ANSWERED: dict[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True},
    "agentInfo": TOOL,
    "authMethods": [],
}


def message(method: str, params: Any, id_: Any = None) -> dict[str, Any]:
    """Return a call."""
    return ({} if id_ is None else {"id": id_}) | {"method": method, "params": params}


class Wire:
    """A talk that events carry."""

    def __init__(self, talk: Talk) -> None:
        """Write into `talk`."""
        self.talk = talk
        self.id = 0

    def request(self, method: str, headers: dict[str, str], version: str = "HTTP/2") -> int:
        """Send a request's head; return its id."""
        self.id += 1
        told = {"id": self.id, "method": method, "path": "/acp", "version": version}
        self.talk.event("http_request", **told, headers=headers)
        return self.id

    def respond(self, id_: int, status: int, headers: dict[str, str] | None = None) -> None:
        """Send an answer's head."""
        self.talk.event("http_response", id=id_, status=status, headers=headers or {})

    def post(
        self,
        body: dict[str, Any] | bytes,
        headers: dict[str, str] | None = None,
        status: int = 202,
        *,
        version: str = "HTTP/2",
    ) -> int:
        """Post a message, which is accepted."""
        id_ = self.request("POST", CONNECTION | JSON if headers is None else headers, version)
        self.talk.send("client", body)
        self.respond(id_, status)
        return id_

    def initialize(self, status: int = 200, version: str = "HTTP/2", **headers: str) -> None:
        """Begin a connection."""
        id_ = self.request("POST", JSON, version)
        self.talk.send("client", message("initialize", ASKED, 0))
        said = CONNECTION | {name.replace("_", "-"): value for name, value in headers.items()}
        self.respond(id_, status, {name: value for name, value in said.items() if value})
        self.talk.send("agent", {"id": 0, "result": ANSWERED})

    def stream(self, session: str | None = None, **headers: str) -> int:
        """Open a stream."""
        said = CONNECTION | {"Accept": "text/event-stream"} | headers
        id_ = self.request("GET", said | ({} if session is None else {"Acp-Session-Id": session}))
        self.respond(id_, 200, {"Content-Type": "text/event-stream"})
        return id_

    def event(self, stream: int, body: dict[str, Any] | bytes) -> None:
        """Send a message on a stream."""
        self.talk.event("sse_event", id=stream)
        self.talk.send("agent", body)

    def open(self) -> tuple[int, int]:
        """Begin a connection and a session; return the streams of both."""
        self.initialize()
        connection = self.stream()
        self.post(message("session/new", {"cwd": CWD, "mcpServers": []}, 1))
        self.event(connection, {"id": 1, "result": {"sessionId": "s1"}})
        return connection, self.stream("s1")

    def prompt(self, session: str | None = "s1") -> None:
        """Post a prompt."""
        headers = CONNECTION | JSON | ({} if session is None else {"Acp-Session-Id": session})
        block = {"type": "text", "text": "Hi"}
        self.post(message("session/prompt", {"sessionId": "s1", "prompt": [block]}, 2), headers)

    def socket(self, **headers: str) -> int:
        """Open a WebSocket."""
        id_ = self.request("GET", {"Upgrade": "websocket"}, "HTTP/1.1")
        said = CONNECTION | headers
        self.respond(id_, 101, {name: value for name, value in said.items() if value})
        return id_

    def say(
        self, socket: int, body: dict[str, Any], *, kind: str = "text", side: Any = "client"
    ) -> None:
        """Send a message over a WebSocket."""
        self.talk.event("ws_message", id=socket, kind=kind)
        self.talk.send(side, body)
