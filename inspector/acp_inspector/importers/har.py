"""HTTP archives (`.har`), as browsers and mitmproxy write them: ACP over HTTP and WebSocket.

An archive lists requests with their responses in any order, so the importer reads all of it before
it yields the first frame. An event before each frame describes its HTTP or WebSocket carrier, see
`docs/recording-format.md`. An archive has the start and the content of a stream, but not when each
message arrived: the importer puts a message after the request that it, or the next response after
it, responds to.

Source: HTTP Archive 1.2; Chrome DevTools, `_webSocketMessages`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, BinaryIO, Final, TypeAlias

from acp_inspector.importers.json_exports import CUT, MALFORMED, ArraySplitter
from acp_inspector.importers.model import EventItem, FrameItem, Item, NoteItem, SkippedItem, broken
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.http import CONNECTION_HEADER

MILLISECOND: Final = 0.001
TEXT: Final = 1
"""The opcode of a WebSocket's text frame."""
_HEAD: Final = re.compile(rb"\s*\{\s*\"log\"\s*:\s*\{")


@dataclass(slots=True)
class _Entry:
    """A request with its response."""

    id: int
    at: float
    """Seconds since 1970."""
    took: float
    request: dict[str, Any]
    response: dict[str, Any]
    messages: list[dict[str, Any]]
    """The messages of a WebSocket."""


_Timed: TypeAlias = list[tuple[float, Item]]
"""Items, each with its time in seconds from 1970."""


def is_har(head: bytes) -> bool:
    return _HEAD.match(head) is not None


def read_har(file: BinaryIO) -> Iterator[Item]:
    """Yield frames and the events of their carriers, in order of time."""
    elements = ArraySplitter(file, opens=(b"[", b"{"), depth=3)
    entries: list[_Entry] = []
    for n, element in enumerate(elements, start=1):
        try:
            details = as_object(jsonrpc.parse(element))
            # Pages are in a separate list.
            if "request" in details:
                began = datetime.fromisoformat(details["startedDateTime"]).timestamp()
                took = max(float(details.get("time") or 0), 0.0) * MILLISECOND
                sent, received = as_object(details["request"]), as_object(details["response"])
                messages: list[dict[str, Any]] = details.get("_webSocketMessages") or []
                entries.append(_Entry(n, began, took, sent, received, messages))
        except MALFORMED:
            yield broken(element)
    request_times: dict[tuple[str, Json], float] = {}
    """When each request of the client was posted, by its id and the id's type."""
    for entry in entries:
        message = _parsed(_body(entry))
        if {"method", "id"} <= message.keys() and jsonrpc.is_request_id(message["id"]):
            request_times[jsonrpc.id_key(message["id"])] = entry.at
    timed: _Timed = []
    # A message on a stream goes after the request with the same time that it responds to.
    for entry in sorted(entries, key=_is_stream):
        try:
            headers = {*_headers(entry.request), *_headers(entry.response)}
            if CONNECTION_HEADER in headers or entry.messages or b'"jsonrpc"' in _body(entry):
                _take_in(entry, request_times, timed)
            else:
                timed.append((entry.at, SkippedItem("requests that are not ACP")))
        except MALFORMED as problem:
            note = NoteItem(f"request {entry.id}: {problem}", entry.at, is_broken=True)
            timed.append((entry.at, note))
    # Sorting keeps the order of items of the same time.
    yield from (item for _, item in sorted(timed, key=itemgetter(0)))
    if elements.is_cut:
        yield CUT


def _headers(entry: dict[str, Any]) -> dict[str, Json]:
    """Return headers with lower-case names; repeated headers are joined, one per line."""
    found: dict[str, Json] = {}
    listed: list[dict[str, Any]] = entry.get("headers") or []
    for each in listed:
        name = str(each["name"]).lower()
        found[name] = f"{found[name]}\n{each['value']}" if name in found else str(each["value"])
    return found


def _body(entry: _Entry) -> bytes:
    post = as_object(entry.request.get("postData"))
    return str(post.get("text") or "").encode(errors="surrogatepass")


def _answer(entry: _Entry) -> bytes:
    content = as_object(entry.response.get("content"))
    text = str(content.get("text") or "")
    if content.get("encoding") == "base64":
        return base64.b64decode(text)
    return text.encode(errors="surrogatepass")


def _is_stream(entry: _Entry) -> bool:
    try:
        kind = _headers(entry.response).get("content-type")
    except MALFORMED:
        return False
    return str(kind).startswith("text/event-stream")


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        return as_object(jsonrpc.parse(raw))
    except ValueError:
        return {}


def _take_in(entry: _Entry, request_times: dict[tuple[str, Json], float], timed: _Timed) -> None:
    data: dict[str, Json] = {
        "id": entry.id,
        "method": str(entry.request["method"]),
        "path": str(entry.request.get("url") or ""),
        "version": str(entry.request.get("httpVersion") or ""),
        "headers": _headers(entry.request),
    }
    timed.append((entry.at, EventItem("http_request", data, entry.at)))
    if body := _body(entry):
        timed.append((entry.at, _frame_item("client", body, entry.at)))
    status = entry.response.get("status")
    headers = _headers(entry.response)
    response: dict[str, Json] = {"id": entry.id, "status": status, "headers": headers}
    is_stream, is_socket = _is_stream(entry), bool(entry.messages)
    at = entry.at if is_stream or is_socket else entry.at + entry.took
    timed.append((at, EventItem("http_response", response, at)))
    if is_stream:
        _take_stream(entry, request_times, timed)
    elif is_socket:
        _take_socket(entry, timed)
    elif (raw := _answer(entry)) and b'"jsonrpc"' in raw:
        timed.append((at, _frame_item("agent", raw, at)))


def _take_stream(
    entry: _Entry, request_times: dict[tuple[str, Json], float], timed: _Timed
) -> None:
    events = list(_events(_answer(entry)))
    times = _times([_parsed(data) for data, _ in events], entry.at, request_times)
    for (data, details), at in zip(events, times, strict=True):
        item = _frame_item("agent", data, at, guess="when it came on its stream")
        timed += (at, EventItem("sse_event", {"id": entry.id} | details, at)), (at, item)
    end = entry.at + entry.took
    timed.append((end, EventItem("http_end", {"id": entry.id}, end)))


def _events(raw: bytes) -> Iterator[tuple[bytes, dict[str, Json]]]:
    """Yield the data of each event of a stream, and its name and id if it has them."""
    # Archives are rare, and these imports are slow.
    import httpx
    from httpx_sse import EventSource

    stream = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=raw)
    for event in EventSource(stream).iter_sse():
        if event.data:
            details = {"event": event.event, "event_id": event.id}
            named = {key: value for key, value in details.items() if value and value != "message"}
            yield event.data.encode(errors="surrogatepass"), dict[str, Json](named)


def _times(
    messages: list[dict[str, Any]], began: float, request_times: dict[tuple[str, Json], float]
) -> list[float]:
    """Return the guessed time of each message of a stream."""
    bounds: list[float | None] = []
    for message in messages:
        id_ = message.get("id")
        is_answer = id_ is not None and "method" not in message and jsonrpc.is_request_id(id_)
        bounds.append(request_times.get(jsonrpc.id_key(id_)) if is_answer else None)
    # A message that is not a response goes before the next response.
    ahead: float | None = None
    for place in reversed(range(len(bounds))):
        ahead = bounds[place] = ahead if bounds[place] is None else bounds[place]
    found: list[float] = []
    for bound in bounds:
        found.append(max(found[-1] if found else began, began if bound is None else bound))
    return found


def _take_socket(entry: _Entry, timed: _Timed) -> None:
    for message in entry.messages:
        at = float(message.get("time") or entry.at)
        kind = "text" if message.get("opcode", TEXT) == TEXT else "binary"
        side: Side = "client" if message.get("type") == "send" else "agent"
        data = str(message.get("data") or "")
        raw = data.encode(errors="surrogatepass") if kind == "text" else base64.b64decode(data)
        details: dict[str, Json] = {"id": entry.id, "kind": kind}
        timed += (at, EventItem("ws_message", details, at)), (at, _frame_item(side, raw, at))


def _frame_item(side: Side, raw: bytes, at: float, *, guess: str = "") -> FrameItem:
    # A frame is one line, so line breaks in an HTTP message are removed.
    line = raw.strip(b"\r\n")
    if b"\n" in line:
        return FrameItem(side, b" ".join(line.splitlines()), at=at, guess="its line breaks")
    return FrameItem(side, line, at=at, guess=guess)
