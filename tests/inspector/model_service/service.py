"""A model service on loopback with the APIs that agents use; it fails where a prompt wants it."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL_PATH = "TOOL "
"""A prompt that begins so gets a call of `read_file` with the rest as its path."""


@dataclass
class FakeService:
    """What a test sees of the service."""

    url: str = ""
    requests: list[tuple[str, dict[str, str], Any]] = field(
        default_factory=list[tuple[str, dict[str, str], Any]]
    )
    """Target, headers and body of each."""
    holding: threading.Event = field(default_factory=threading.Event)
    """Set while a stream is held open."""
    release: threading.Event = field(default_factory=threading.Event)


def event(value: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def pieces(text: str, size: int = 3) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def chat(prompt: str, number: int) -> list[bytes]:
    """Return chunks of a chat completion; a call's arguments come in pieces."""
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "fake"}
    deltas: list[dict[str, Any]] = []
    reason = "stop"
    if prompt.startswith(TOOL_PATH):
        reason = "tool_calls"
        arguments = json.dumps({"path": prompt.removeprefix(TOOL_PATH)})
        call = {"index": 0, "id": f"call_{number}abcdefgh", "type": "function"}
        deltas.append(
            {"tool_calls": [{**call, "function": {"name": "read_file", "arguments": ""}}]}
        )
        deltas += [
            {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            for piece in pieces(arguments)
        ]
    else:
        deltas = [{"content": piece} for piece in pieces(f"reply {number} to {prompt}")]
    choices: list[list[Any]] = [
        [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
    ]
    choices.append([{"index": 0, "delta": {}, "finish_reason": reason}])
    return [*(event({**head, "choices": each}) for each in choices), b"data: [DONE]\n\n"]


def responses(prompt: str, number: int) -> list[bytes]:
    deltas = [
        event({"type": "response.output_text.delta", "item_id": "msg_1", "delta": piece})
        for piece in pieces(f"reply {number} to {prompt}")
    ]
    return [*deltas, event({"type": "response.completed", "response": {"id": f"resp_{number}"}})]


def messages(prompt: str, number: int) -> list[bytes]:
    """Return chunks of a message of Anthropic's API."""
    block: dict[str, Any] = {"type": "text", "text": ""}
    deltas = [{"type": "text_delta", "text": p} for p in pieces(f"reply {number} to {prompt}")]
    reason = "end_turn"
    if prompt.startswith(TOOL_PATH):
        reason = "tool_use"
        arguments = json.dumps({"path": prompt.removeprefix(TOOL_PATH)})
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_file", "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(arguments)]
    message: dict[str, Any] = {
        "id": f"msg_{number}",
        "role": "assistant",
        "content": [],
        "model": "fake",
    }
    usage = {"input_tokens": 3, "output_tokens": 5}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "type": "message", "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [event(each, each["type"]) for each in events]


def gemini(prompt: str, number: int) -> list[bytes]:
    return [
        event({"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}}]})
        for piece in pieces(f"reply {number} to {prompt}")
    ]


def prompt_of(body: Any) -> str:
    """Return the last text of a request; a tool's result has none."""
    match body:
        case {"input": str(text)} | {"contents": [*_, {"parts": [*_, {"text": str(text)}]}]}:
            return text
        case {"messages": [*_, {"role": "tool"}]}:
            return "the result"
        case {"messages": [*_, {"content": str(text)}]}:
            return text
        case {"messages": [*_, {"content": [*_, {"text": str(text)}]}]}:
            return text
        case _:
            return "the result"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: FakeService

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        del format, args

    def do_GET(self) -> None:
        self._note(None)
        self._whole(200, {"data": [{"id": "fake"}]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw
        number = self._note(body)
        prompt = prompt_of(body)
        if prompt in ("429", "500"):
            self._whole(int(prompt), {"error": {"message": "not now"}}, ("retry-after", "0"))
        elif prompt == "gzip":
            self._gzip(b"".join(chat("packed", number)))
        elif not isinstance(body, dict):
            self._whole(200, {"size": len(raw)})
        else:
            self._stream(prompt, self._chunks(prompt, number))

    def _chunks(self, prompt: str, number: int) -> list[bytes]:
        path = self.path.partition("?")[0]
        for end, make in (("/responses", responses), ("/messages", messages)):
            if path.endswith(end):
                return make(prompt, number)
        return (gemini if ":streamGenerateContent" in path else chat)(prompt, number)

    def _note(self, body: Any) -> int:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.service.requests.append((self.path, headers, body))
        return len(self.service.requests)

    def _head(self, status: int, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def _whole(self, status: int, value: Any, *headers: tuple[str, str]) -> None:
        body = json.dumps(value).encode()
        size = ("content-length", str(len(body)))
        self._head(
            status, size, ("content-type", "application/json"), ("set-cookie", "a=b"), *headers
        )
        self.wfile.write(body)

    def _gzip(self, body: bytes) -> None:
        packed = gzip.compress(body)
        self._head(
            200,
            ("content-length", str(len(packed))),
            ("content-encoding", "gzip"),
            ("content-type", "text/event-stream"),
        )
        self.wfile.write(packed)

    def _stream(self, prompt: str, chunks: Sequence[bytes]) -> None:
        self._head(200, ("transfer-encoding", "chunked"), ("content-type", "text/event-stream"))
        for place, chunk in enumerate(chunks):
            if place == 2 and prompt == "broken":
                self.close_connection = True
                return
            if place == 2 and prompt == "hold":
                self.service.holding.set()
                self.service.release.wait(30)
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


@contextmanager
def fake_service() -> Generator[FakeService]:
    """Serve until the end of the block."""
    service = FakeService()
    handler = type("Handler", (_Handler,), {"service": service})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield service
        finally:
            service.release.set()
            server.shutdown()
            thread.join()
