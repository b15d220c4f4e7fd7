"""What carries frames over HTTP: requests, answers, streams of events, WebSockets.

A recording of such a connection tells it by events, each before the frame that it carries:

    http_request   id, method, path, version, headers
    http_response  id, status, headers
    sse_event      id (of the GET that the stream answers), and event or event_id if it has them
    ws_message     id (of the GET that was upgraded), kind: text or binary
    ws_close       id, code, from
    http_end       id: the body has been read to its end

Source: ACP, "Streamable HTTP and WebSocket Transport" (RFD).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.journal import JournalEvent, StderrText
from acp_inspector.lint.moment import Moment, members
from acp_inspector.lint.registry import EVERY_FRAME, learns, learns_beside
from acp_inspector.lint.state import State
from acp_protocol.jsonrpc import Json

CONNECTION: Final = "acp-connection-id"
SESSION: Final = "acp-session-id"
EVENTS: Final = frozenset(
    {"http_request", "http_response", "sse_event", "ws_message", "ws_close", "http_end"}
)
EXCHANGES: Final = 10_000
"""Exchanges that are remembered."""


@dataclass(slots=True)
class Exchange:
    """An HTTP request, and what came of it."""

    id: int
    n: int
    method: str
    version: str
    headers: dict[str, str]
    """With small letters in their names."""
    status: int | None = None
    answer: dict[str, str] = field(default_factory=dict[str, str])
    """The answer's headers."""
    frame: int | None = None
    """The frame in the request's body."""
    is_batch: bool = False
    asks: str | None = None
    """The method of that frame."""
    ended: bool = False
    first: str | None = None
    """The method of the first message on a WebSocket."""
    spoken: int = 0
    """Messages of the client on a WebSocket."""

    @property
    def is_socket(self) -> bool:
        """Whether it becomes a WebSocket."""
        return self.headers.get("upgrade", "").lower() == "websocket"

    @property
    def is_stream(self) -> bool:
        """Whether it asks for a stream of events."""
        return self.method == "GET" and not self.is_socket


@dataclass(slots=True)
class Carriage:
    """All that carried frames so far."""

    exchanges: dict[int, Exchange] = field(default_factory=dict[int, Exchange])
    carrier: JournalEvent | None = None
    """The last event that carries a frame; the frame has the next number."""
    cookies: dict[str, int] = field(default_factory=dict[str, int])
    """Names of cookies that the agent set, and where."""
    deleted: dict[str, int] = field(default_factory=dict[str, int])
    """Connections that were ended, and where."""
    connections: set[str] = field(default_factory=set[str])

    def exchange(self, event: JournalEvent) -> Exchange | None:
        """Return the exchange that an event belongs to."""
        id_ = event.data.get("id")
        return self.exchanges.get(id_) if isinstance(id_, int) else None


def headers(event: JournalEvent) -> dict[str, str]:
    """Return the headers that an event tells, with small letters in their names."""
    told = members(event.data.get("headers"))
    return {name.lower(): value for name, value in told.items() if isinstance(value, str)}


def carried(moment: Moment) -> tuple[JournalEvent, Exchange] | None:
    """Return what carries a frame; None on stdio, or where it is not told."""
    carriage = moment.state.of(Carriage)
    carrier = carriage.carrier
    if carrier is None or carrier.n + 1 != moment.n:
        return None
    exchange = carriage.exchange(carrier)
    return None if exchange is None else (carrier, exchange)


def posted(moment: Moment) -> Exchange | None:
    """Return the POST whose body a frame of the client is."""
    found = carried(moment)
    is_post = found is not None and found[0].name == "http_request" and found[1].method == "POST"
    return found[1] if found is not None and is_post and moment.side == "client" else None


@learns(EVERY_FRAME)
def _keep_frame(moment: Moment) -> None:
    if moment.side != "client" or (found := carried(moment)) is None:
        return
    event, exchange = found
    if event.name == "ws_message":
        if exchange.spoken == 0:
            exchange.first = moment.method or ""
        exchange.spoken += 1
    elif event.name == "http_request":
        exchange.frame, exchange.is_batch = moment.n, moment.kind == "batch"
        exchange.asks = moment.method if moment.kind == "request" else None


@learns_beside
def _keep(entry: StderrText | JournalEvent, state: State) -> None:
    if not isinstance(entry, JournalEvent) or entry.name not in EVENTS:
        return
    carriage = state.of(Carriage)
    carriage.carrier = entry
    if entry.name == "http_request":
        _keep_request(entry, carriage)
        return
    exchange = carriage.exchange(entry)
    if exchange is None:
        return
    if entry.name == "http_response":
        _keep_response(entry, exchange, carriage)
    elif entry.name in {"ws_close", "http_end"}:
        exchange.ended = True


def _keep_request(event: JournalEvent, carriage: Carriage) -> None:
    id_, method, version = (event.data.get(name) for name in ("id", "method", "version"))
    if not isinstance(id_, int) or not isinstance(method, str):
        return
    said = headers(event)
    if len(carriage.exchanges) >= EXCHANGES:
        del carriage.exchanges[next(iter(carriage.exchanges))]
    carriage.exchanges[id_] = Exchange(id_, event.n, method.upper(), _text(version), said)
    if method.upper() == "DELETE" and CONNECTION in said:
        carriage.deleted.setdefault(said[CONNECTION], event.n)


def _keep_response(event: JournalEvent, exchange: Exchange, carriage: Carriage) -> None:
    status = event.data.get("status")
    exchange.status = status if isinstance(status, int) else None
    exchange.answer = headers(event)
    if CONNECTION in exchange.answer:
        carriage.connections.add(exchange.answer[CONNECTION])
    for line in exchange.answer.get("set-cookie", "").split("\n"):
        name, is_set, _ = line.partition("=")
        if is_set and len(carriage.cookies) < EXCHANGES:
            carriage.cookies.setdefault(name.strip(), event.n)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
