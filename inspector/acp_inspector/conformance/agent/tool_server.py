"""An MCP server with one tool, which notes the methods that a client calls.

Agents start this file as a program, with an environment of their choice: it imports the standard
library alone. `python tool_server.py NOTES` serves on stdin and stdout, and adds each method to the
file NOTES, one a line. `HttpToolServer` serves at an address, in this process.

Source: MCP, Lifecycle; Tools; Transports.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self, cast

from acp_protocol.jsonrpc import METHOD_NOT_FOUND

NAME: Final = "conform"
"""The name of the server in the session."""
TOOL: Final = "conform_note"
VERSION: Final = "2025-06-18"
"""The version of MCP for a client that names none."""
MAX_BODY_BYTES: Final = 2**20
POLL_INTERVAL_S: Final = 0.05
"""Seconds after which a server notices that it is closed."""
CLOSE_LIMIT_S: Final = 5.0
"""Seconds that the thread of a server has to end."""


def respond(message: object, note: Callable[[str], None]) -> dict[str, Any] | None:
    """Note the method of a message, and return the response; None if it gets none."""
    if not isinstance(message, dict):
        return None
    request = cast("dict[str, Any]", message)
    method, params = request.get("method"), request.get("params")
    if not isinstance(method, str):
        return None
    note(method)
    if "id" not in request:
        return None
    response: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    result = _result(method, cast("dict[str, Any]", params) if isinstance(params, dict) else {})
    if result is None:
        return response | {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
    return response | {"result": result}


def _result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", VERSION),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": NAME, "version": "1"},
            }
        case "tools/list":
            about = "Notes that it was called, and does nothing else."
            schema: dict[str, Any] = {"type": "object", "properties": {}}
            return {"tools": [{"name": TOOL, "description": about, "inputSchema": schema}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "Noted."}]}
        case "ping":
            return {}
        case _:
            return None


def serve_stdio(notes: Path) -> None:
    """Serve on stdin and stdout until stdin ends."""

    def note(method: str) -> None:
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"{method}\n")

    for line in sys.stdin.buffer:
        try:
            response = respond(json.loads(line), note)
        except (ValueError, RecursionError):
            continue
        if response is not None:
            sys.stdout.write(json.dumps(response) + "\n")
            sys.stdout.flush()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing, as `log_message` does: an agent may leave in the middle of a request."""


class HttpToolServer:
    """The server at an address on loopback; a context manager.

    It answers each request with JSON, keeps no session, and sends nothing by itself.
    """

    def __init__(self) -> None:
        self.methods: list[str] = []
        """What the client has called, in order."""
        self.was_missed = False
        """Whether a request came to another path than the server's."""
        self._path = f"/{secrets.token_urlsafe()}"
        self._server = _Server(("127.0.0.1", 0), self._handler())
        serve = partial(self._server.serve_forever, poll_interval=POLL_INTERVAL_S)
        self._thread = threading.Thread(target=serve, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(CLOSE_LIMIT_S)
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server, path, note = self, self._path, self.methods.append

        class ToolHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "")
                server.was_missed = server.was_missed or self.path != path
                if self.path != path or not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                    self._send(HTTPStatus.BAD_REQUEST)
                    self.close_connection = True
                    return
                try:
                    response = respond(json.loads(self.rfile.read(int(length))), note)
                except (ValueError, RecursionError):
                    self._send(HTTPStatus.BAD_REQUEST)
                    return
                if response is None:
                    self._send(HTTPStatus.ACCEPTED)
                else:
                    self._send(HTTPStatus.OK, json.dumps(response).encode())

            def do_GET(self) -> None:
                self._send(HTTPStatus.METHOD_NOT_ALLOWED)

            def do_DELETE(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
                """Log nothing: stderr belongs to the command."""

            def _send(self, status: HTTPStatus, body: bytes = b"") -> None:
                self.send_response(status)
                if body:
                    self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return ToolHandler


if __name__ == "__main__":
    serve_stdio(Path(sys.argv[1]))
