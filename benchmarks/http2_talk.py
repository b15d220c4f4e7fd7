"""A client over HTTP/2 and TLS on a bare socket, for `network`: cheap, and the same for both.

It reads frames by hand: a library that keeps the state of each stream costs more than a server.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
from collections import defaultdict
from typing import Any, Final
from urllib.parse import urlsplit

from hpack import Decoder, Encoder

from benchmarks.peer import WAIT

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 4, 6, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
INITIAL_WINDOW: Final = 4
"""The setting of how much a server may send on a stream."""
WINDOW: Final = 2**31 - 1
TAIL: Final = 4096
"""Bytes of a stream that are kept: the beginning of what is waited for may be among them."""


class Http2Talk:
    """A connection over HTTP/2: one socket for requests and streams."""

    def __init__(self, url: str, context: ssl.SSLContext, token: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        opened = socket.create_connection((parts.hostname, parts.port), WAIT)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = context.wrap_socket(opened, server_hostname=parts.hostname)
        assert self._socket.selected_alpn_protocol() == "h2"
        self._encoder, self._decoder = Encoder(), Decoder()
        self._unread = b""
        self._heads: dict[int, dict[str, str]] = {}
        self._bodies: defaultdict[int, bytes] = defaultdict(bytes)
        self._stream = -1
        self._ids = 0
        self._session = ""
        self._session_stream = 0
        self._fields = [
            (":scheme", "https"),
            (":authority", parts.netloc),
            (":path", parts.path),
            ("authorization", f"Bearer {token}"),
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
        ]
        window = struct.pack("!HI", INITIAL_WINDOW, WINDOW)
        grown = struct.pack("!I", WINDOW - 65535)
        frames = _frame(SETTINGS, 0, 0, window) + _frame(WINDOW_UPDATE, 0, 0, grown)
        self._socket.sendall(PREFACE + frames)
        self._fields.append(("acp-connection-id", self._open()))
        self._connection_stream = self._get()

    def new_session(self) -> None:
        """Open a session, and its stream."""
        self._post("session/new", {"cwd": "/", "mcpServers": []})
        reply = self._until(self._connection_stream, b'"id":%d' % self._ids)
        self._session = json.loads(reply[reply.index(b"{") :])["result"]["sessionId"]
        self._session_stream = self._get(("acp-session-id", self._session))

    def request(self, method: str, params: Any) -> None:
        is_of_session = "sessionId" in params
        self._post(method, params, *([("acp-session-id", self._session)] if is_of_session else []))
        stream = self._session_stream if is_of_session else self._connection_stream
        self._until(stream, b'"id":%d' % self._ids)

    def prompt(self, count: int) -> None:
        """Ask for updates, and return when all were read."""
        text = {"type": "text", "text": str(count)}
        self.request("session/prompt", {"sessionId": self._session, "prompt": [text]})

    def close(self) -> None:
        self._socket.close()

    def _open(self) -> str:
        """Initialize the connection; return its id."""
        params: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
        stream, fields = self._post("initialize", params, status="200")
        while b"}}" not in self._bodies[stream]:
            self._read()
        return fields["acp-connection-id"]

    def _post(
        self, method: str, params: Any, *fields: tuple[str, str], status: str = "202"
    ) -> tuple[int, dict[str, str]]:
        """Send a request; return its stream and the fields of the response."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        return self._send("POST", fields, json.dumps(message).encode(), status)

    def _get(self, *fields: tuple[str, str]) -> int:
        """Open a stream of events; return its number."""
        return self._send("GET", fields, b"", "200")[0]

    def _send(
        self, method: str, more: tuple[tuple[str, str], ...], body: bytes, status: str
    ) -> tuple[int, dict[str, str]]:
        self._stream += 2
        stream = self._stream
        head = self._encoder.encode([(":method", method), *self._fields, *more])
        sent = _frame(HEADERS, END_HEADERS | (0 if body else END_STREAM), stream, head)
        self._socket.sendall(sent + (_frame(DATA, END_STREAM, stream, body) if body else b""))
        while (fields := self._heads.pop(stream, None)) is None:
            self._read()
        assert fields[":status"] == status, fields
        return stream, fields

    def _until(self, stream: int, mark: bytes) -> bytes:
        """Read until a stream has had an event with `mark`; return that event."""
        while mark not in (body := self._bodies[stream]) or not body.endswith(b"\n"):
            self._bodies[stream] = body[-TAIL:]
            self._read()
        self._bodies[stream] = b""
        at = body.index(mark)
        return body[body.rindex(b"data:", 0, at) : body.index(b"\n", at)]

    def _read(self) -> None:
        """Read what there is, and keep what its frames say."""
        chunk = self._socket.recv(1 << 16)
        assert chunk
        data, begin = self._unread + chunk, 0
        while len(data) - begin >= 9:
            end = begin + 9 + int.from_bytes(data[begin : begin + 3], "big")
            if end > len(data):
                break
            kind, flags = data[begin + 3], data[begin + 4]
            stream = int.from_bytes(data[begin + 5 : begin + 9], "big")
            self._take(kind, flags, stream, data[begin + 9 : end])
            begin = end
        self._unread = data[begin:]

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == DATA:
            self._bodies[stream] += payload
        elif kind == HEADERS:
            fields = self._decoder.decode(payload)
            self._heads[stream] = {str(name): str(value) for name, value in fields}
        elif kind in {SETTINGS, PING} and not flags & ACK:
            self._socket.sendall(_frame(kind, ACK, 0, payload if kind == PING else b""))


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!IBI", len(payload) << 8 | kind, flags, stream) + payload
