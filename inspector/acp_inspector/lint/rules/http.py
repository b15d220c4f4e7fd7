"""Streamable HTTP: the required headers, statuses and streams of requests and responses.

Source: ACP, "Streamable HTTP and WebSocket Transport" (RFD), and what the SDKs do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from acp_inspector.journal import JournalEvent, StderrChunk
from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import LintSubject, check, fix, track, track_event
from acp_inspector.lint.state import IdKey, LintState
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.http import CONNECTION_HEADER, SESSION_HEADER

OWN_HTTP: Final = ("openoxide",)
"""Dialects in which a POST is answered by its own response, without streams of sessions."""
rule = LintSubject("http", page="rfds/streamable-http-websocket-transport.mdx", unlike=OWN_HTTP)
http_observed = LintSubject("http-observed", page="sdk 2.4.0", unlike=OWN_HTTP)

HTTP_OK: Final = 200
ACCEPTED: Final = 202
FIRST_REFUSAL: Final = 400
REDIRECTED: Final = frozenset({307, 308})
"""Statuses with which a POST is sent once more elsewhere, where it gets its response."""
REFUSED: Final = frozenset({400, 501})
SESSIONLESS: Final = frozenset({"$/cancel_request", "mcp/message"})
"""Methods whose messages belong to no session, even if they name one."""
OPENERS: Final = frozenset({"session/new", "session/load", "initialize"})
"""Methods whose responses come before the client knows the session."""


def _problem(event: JournalEvent, text: str, *since: int | None) -> tuple[Problem, ...]:
    frames = {n for n in since if n is not None} | {event.seq}
    return (Problem(text, tuple(sorted(frames))),)


def _request(entry: StderrChunk | JournalEvent) -> tuple[JournalEvent, str, dict[str, str]] | None:
    """Return a request's event, its method and its headers."""
    if not isinstance(entry, JournalEvent) or entry.name != "http_request":
        return None
    method = entry.data.get("method")
    return entry, method.upper() if isinstance(method, str) else "", headers(entry)


def _response(
    entry: StderrChunk | JournalEvent, state: LintState
) -> tuple[JournalEvent, int, dict[str, str], HttpRequest] | None:
    """Return a response's event, its status, its headers, and the exchange.

    None for other entries, and for a response of the proxy in place of the server's.
    """
    if not isinstance(entry, JournalEvent) or entry.name != "http_response" or "by" in entry.data:
        return None
    exchange, status = state.of(HttpState).exchange(entry), entry.data.get("status")
    if exchange is None or not isinstance(status, int):
        return None
    return entry, status, headers(entry), exchange


@rule.error(411, "must", "client", on.EVENTS, unlike=())
@fix("Send Content-Type: application/json.")
def wrong_content_type(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """POST `Content-Type` is `application/json` (else expect 415)."""
    request = _request(entry)
    if request is None or request[1] != "POST":
        return None
    kind = request[2].get("content-type", "")
    if kind.partition(";")[0].strip().lower() == "application/json":
        return OK
    return _problem(request[0], f"the Content-Type is {quoted(kind)}")


@rule.error(412, "must", "client", on.EVENTS)
@fix("Send Accept: text/event-stream.")
def wrong_accept_header(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """SSE GET `Accept` includes `text/event-stream` (else 406)."""
    request = _request(entry)
    if request is None or request[1] != "GET" or "upgrade" in request[2]:
        return None
    accept = request[2].get("accept", "")
    if "text/event-stream" in accept.lower():
        return OK
    return _problem(request[0], f"Accept is {quoted(accept)}")


@check("wrong-initialize-response", on.EVENTS)
def initialize_is_answered_at_once(
    entry: StderrChunk | JournalEvent, state: LintState
) -> CheckResult:
    response = _response(entry, state)
    if response is None or response[3].asks != "initialize":
        return None
    event, status, _, exchange = response
    if CONNECTION_HEADER in exchange.headers or status in REDIRECTED:
        return None
    if status != HTTP_OK:
        return _problem(event, f"initialize is answered with {status}", exchange.frame)
    return OK


@rule.warning(413, "implied", "agent", on.result("initialize"))
@fix("Answer initialize with 200, the result and Acp-Connection-Id.")
def wrong_initialize_response(context: Context) -> CheckResult:
    """`initialize` over POST returns 200 with the JSON-RPC response and, if it succeeds,
    `Acp-Connection-Id`.
    """
    found = carrier_of(context)
    if found is None or found[0].name != "http_response" or CONNECTION_HEADER in found[1].headers:
        return None
    if found[1].answer.get(CONNECTION_HEADER):
        return OK
    return context.problem("the response to initialize has no Acp-Connection-Id", context.request)


@check("wrong-post-response", on.EVENTS)
def posts_are_accepted(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    response = _response(entry, state)
    if response is None or response[3].method != "POST" or response[3].asks == "initialize":
        return None
    event, status, _, exchange = response
    if status in REDIRECTED:
        return None
    if status == ACCEPTED or status >= 400:
        return OK
    return _problem(event, f"the POST is answered with {status}", exchange.frame)


@rule.error(414, "implied", "agent", on.EVERY_FRAME)
@fix("Respond with 202 at once; send the result on a stream.")
def wrong_post_response(context: Context) -> CheckResult:
    """Other POSTs return 202 with an empty body; no JSON-RPC response in the POST body."""
    found = carrier_of(context)
    if found is None or found[0].name != "http_response" or context.side != "agent":
        return None
    exchange = found[1]
    if exchange.method != "POST" or exchange.asks == "initialize" or (exchange.status or 0) >= 400:
        return None
    return context.problem("a message is in the response to a POST")


@rule.error(415, "must", "client", on.EVERY_FRAME)
@fix("Send the Acp-Connection-Id that initialize was answered with.")
def missing_connection_id(context: Context) -> CheckResult:
    """Every request after initialize carries `Acp-Connection-Id` (missing 400, unknown 404)."""
    exchange = post_of(context)
    if exchange is None or context.method == "initialize":
        return None
    connection = exchange.headers.get(CONNECTION_HEADER)
    if not connection:
        return context.problem("the POST has no Acp-Connection-Id")
    known = context.state.of(HttpState).connections
    if known and connection not in known:
        return context.problem(f"no connection has the id {quoted(connection)}")
    return OK


@rule.error(416, "must", "client", on.response(), since="2026-11")
@fix("Send Acp-Session-Id as the request had it.")
@check("missing-session-header", on.call(), fix="Send Acp-Session-Id as the message has it.")
def missing_session_header(context: Context) -> CheckResult:
    """Session-scoped POSTs carry `Acp-Session-Id` equal to the body's `sessionId`; SDK servers
    demand it for every `params.sessionId` and for responses to requests received on a session
    stream.
    """
    exchange = post_of(context)
    if exchange is None or context.session_id is None:
        return None
    named = exchange.headers.get(SESSION_HEADER)
    if named == context.session_id:
        return OK
    what = "is missing" if named is None else f"is {quoted(named)}"
    return context.problem(f"Acp-Session-Id {what}; the message has {quoted(context.session_id)}")


@rule.warning(417, "implied", "agent", on.call(), on.response())
@fix("Send what is about a session on its stream.")
def wrong_stream(context: Context) -> CheckResult:
    """Messages arrive on the right stream: session traffic on the session stream,
    `session/new`/`session/load` responses on the connection stream.
    """
    found = carrier_of(context)
    if found is None or found[0].name != "sse_event" or context.side != "agent":
        return None
    stream = found[1].headers.get(SESSION_HEADER)
    if context.method in SESSIONLESS:
        return None
    wanted = None if context.method in OPENERS else context.session_id
    is_loose = context.request is not None and context.method not in OPENERS and stream is None
    if stream == wanted or is_loose:
        # Peers do not agree on the stream for a response to a session request.
        return OK
    where = "the connection's stream" if stream is None else f"the stream of {quoted(stream)}"
    return context.problem(f"the message comes on {where}")


@rule.warning(418, "implied", "agent", on.EVENTS, since="2026-11")
@fix("Reject arrays with 400 or 501.")
def http_batch_accepted(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """Batches over HTTP are refused: 501 (RFD) or 400 with a -32600 body (SDK). The Rust SDK
    accepts them.
    """
    response = _response(entry, state)
    if response is None or not response[3].is_batch:
        return None
    event, status, _, exchange = response
    if status in REFUSED:
        return OK
    return _problem(event, f"an array is answered with {status}", exchange.frame)


@rule.error(419, "must", "client", on.EVENTS, unlike=())
@fix("Send back the cookies that were set.")
def cookie_not_returned(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """Cookies set by the server are sent back on later requests of the connection."""
    request, cookies = _request(entry), state.of(HttpState).cookies
    if request is None or not cookies:
        return None
    sent = {pair.partition("=")[0].strip() for pair in request[2].get("cookie", "").split(";")}
    for name, since in cookies.items():
        if name not in sent:
            return _problem(request[0], f"the cookie {quoted(name)} does not come back", since)
    return OK


@rule.warning(420, "must", "both", on.EVENTS, since="2026-11")
@fix("Serve over TLS, where both sides agree on HTTP/2. On one machine, plain HTTP is common.")
def not_http2(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """Streamable HTTP runs on HTTP/2 (RFD MUST; no SDK enforces it)."""
    request = _request(entry)
    if request is None or "upgrade" in request[2]:
        return None
    version = str(request[0].data.get("version"))
    if not version.startswith(("1", "HTTP/1", "http/1")) or state.of(HttpState).exchanges:
        return OK
    return _problem(request[0], f"the connection is over {quoted(version)}")


@rule.warning(423, "implied", "client", on.EVENTS, unlike=())
@fix("End with DELETE, and begin anew with initialize.")
def used_after_delete(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """DELETE ends the connection; nothing is sent with that id afterwards."""
    request, deleted = _request(entry), state.of(HttpState).deleted
    if request is None or not deleted:
        return None
    connection = request[2].get(CONNECTION_HEADER, "")
    if connection in deleted:
        return _problem(request[0], "the connection had already ended", deleted[connection])
    return OK


@rule.warning(424, "heuristic", "client", on.request())
@fix("Open the connection's stream right after initialize.")
def stream_opened_late(context: Context) -> CheckResult:
    """The connection stream is opened before the first request whose response it carries."""
    exchange = post_of(context)
    if exchange is None or context.method == "initialize":
        return None
    streams = [each for each in context.state.of(HttpState).exchanges.values() if each.is_stream]
    if any(
        each.headers.get(CONNECTION_HEADER) == exchange.headers.get(CONNECTION_HEADER)
        for each in streams
    ):
        return OK
    return context.problem("no stream is open that the response could come on")


@http_observed.warning(512, "implied", "client", on.EVENTS)
@fix("Open each stream only once.")
def second_stream_reader(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """At most one reader per SSE stream (a second GET gets 409 from the SDK)."""
    request = _request(entry)
    if request is None or request[1] != "GET" or "upgrade" in request[2]:
        return None
    names = (CONNECTION_HEADER, SESSION_HEADER)
    wanted = [request[2].get(name) for name in names]
    for each in state.of(HttpState).exchanges.values():
        is_same = each.is_stream and [each.headers.get(name) for name in names] == wanted
        if is_same and not each.ended and (each.status or HTTP_OK) < 400:
            return _problem(request[0], "the stream has a reader already", each.n)
    return OK


@http_observed.error(513, "implied", "agent", on.EVERY_FRAME)
@fix("Send one object in each event.")
def malformed_sse_event(context: Context) -> CheckResult:
    """Each SSE event is one JSON object in `data`; arrays and scalars are never sent; no event
    needs `id` or `event`.
    """
    found = carrier_of(context)
    if found is None or found[0].name != "sse_event":
        return None
    if context.value:
        return OK
    return context.problem("the event holds no object")


@http_observed.error(514, "implied", "client", on.request("initialize"))
@fix("Send initialize first, without Acp-Connection-Id.")
def initialize_with_connection_id(context: Context) -> CheckResult:
    """`initialize` is not POSTed with an `Acp-Connection-Id` (400) nor sent twice on a WebSocket
    (-32600).
    """
    found = carrier_of(context)
    if found is None:
        return None
    exchange = found[1]
    if exchange.is_socket and exchange.first is not None:
        return context.problem("initialize is sent a second time on one WebSocket")
    if CONNECTION_HEADER in exchange.headers and not exchange.is_socket:
        return context.problem("initialize is sent with an Acp-Connection-Id")
    return OK


@http_observed.info(516, "heuristic", "agent", on.call(*sorted(SESSIONLESS)))
@fix("Send it on the connection's stream.")
def cancel_on_session_stream(context: Context) -> CheckResult:
    """`$/cancel_request` and `mcp/message` travel on the connection stream and may overtake
    session-stream messages; do not judge their order.
    """
    found = carrier_of(context)
    if found is None or found[0].name != "sse_event":
        return None
    if SESSION_HEADER in found[1].headers:
        return context.problem(f"{context.method} comes on a session's stream")
    return OK


@http_observed.warning(517, "heuristic", "agent", on.EVENTS, unlike=())
@fix("Reject unknown origins.")
def unchecked_origin(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """A server reachable from browsers validates `Origin`/`Host` itself (of the SDKs, only the one
    for Rust does).
    """
    response = _response(entry, state)
    if response is None or "origin" not in response[3].headers:
        return None
    event, status, _, exchange = response
    origin = urlsplit(exchange.headers["origin"]).netloc
    if origin == exchange.headers.get("host") or status >= 400 or _has_token(exchange):
        return OK
    return _problem(event, f"a request from {quoted(origin)} was accepted", exchange.n)


def _has_token(exchange: HttpRequest) -> bool:
    """Return whether a page has shown a token, which no stranger has; a cookie goes by itself."""
    offered = exchange.headers.get("sec-websocket-protocol", "").lower()
    # A recording has a placeholder in its place.
    return "authorization" in exchange.headers or "bearer" in offered or "«secret" in offered


EVENTS: Final = frozenset(
    {"http_request", "http_response", "sse_event", "ws_message", "ws_close", "http_end"}
)
EXCHANGES: Final = 10_000
"""Exchanges that are remembered."""


@dataclass(slots=True)
class HttpRequest:
    """An HTTP request and its outcome."""

    id: int
    n: int
    method: str
    version: str
    headers: dict[str, str]
    """Headers, with lower-case names."""
    status: int | None = None
    answer: dict[str, str] = field(default_factory=dict[str, str])
    """The response's headers."""
    frame: int | None = None
    """The frame in the request's body."""
    is_batch: bool = False
    asks: str | None = None
    """The method of that frame."""
    key: IdKey | None = None
    """The side and the id of that frame."""
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
class HttpState:
    """All HTTP exchanges so far."""

    exchanges: dict[int, HttpRequest] = field(default_factory=dict[int, HttpRequest])
    carrier: JournalEvent | None = None
    """The last event that carries a frame; the frame has the next number."""
    cookies: dict[str, int] = field(default_factory=dict[str, int])
    """Names of cookies that the agent set, and where."""
    deleted: dict[str, int] = field(default_factory=dict[str, int])
    """Connections that were ended, and where."""
    connections: set[str] = field(default_factory=set[str])

    def exchange(self, event: JournalEvent) -> HttpRequest | None:
        """Return the exchange that an event belongs to."""
        id_ = event.data.get("id")
        return self.exchanges.get(id_) if isinstance(id_, int) else None


def headers(event: JournalEvent) -> dict[str, str]:
    """Return the headers of an event, with lower-case names."""
    fields = as_object(event.data.get("headers"))
    return {name.lower(): value for name, value in fields.items() if isinstance(value, str)}


def carrier_of(context: Context) -> tuple[JournalEvent, HttpRequest] | None:
    """Return the exchange that carries a frame; None on stdio, or if it was not recorded."""
    carriage = context.state.of(HttpState)
    carrier = carriage.carrier
    if carrier is None or carrier.seq + 1 != context.seq:
        return None
    exchange = carriage.exchange(carrier)
    return None if exchange is None else (carrier, exchange)


def post_of(context: Context) -> HttpRequest | None:
    """Return the POST whose body a frame of the client is."""
    found = carrier_of(context)
    is_post = found is not None and found[0].name == "http_request" and found[1].method == "POST"
    return found[1] if found is not None and is_post and context.side == "client" else None


@track(on.EVERY_FRAME)
def _keep_frame(context: Context) -> None:
    if context.side != "client" or (found := carrier_of(context)) is None:
        return
    event, exchange = found
    if event.name == "ws_message":
        if exchange.spoken == 0:
            exchange.first = context.method or ""
        exchange.spoken += 1
    elif event.name == "http_request":
        exchange.frame, exchange.is_batch = context.seq, context.kind == "batch"
        if context.kind == "request":
            exchange.asks, exchange.key = context.method, context.key


@track_event
def _keep(entry: StderrChunk | JournalEvent, state: LintState) -> None:
    if not isinstance(entry, JournalEvent) or entry.name not in EVENTS:
        return
    carriage = state.of(HttpState)
    carriage.carrier = entry
    state.is_http = True
    if entry.name == "http_request":
        _keep_request(entry, carriage)
        return
    exchange = carriage.exchange(entry)
    if exchange is None:
        return
    if entry.name == "http_response":
        _keep_response(entry, exchange, carriage)
        if (exchange.status or 0) >= FIRST_REFUSAL and exchange.key is not None:
            state.refuse(exchange.key)
    elif entry.name in {"ws_close", "http_end"}:
        exchange.ended = True


def _keep_request(event: JournalEvent, carriage: HttpState) -> None:
    id_, method, version = (event.data.get(name) for name in ("id", "method", "version"))
    if not isinstance(id_, int) or not isinstance(method, str):
        return
    header_values = headers(event)
    if len(carriage.exchanges) >= EXCHANGES:
        del carriage.exchanges[next(iter(carriage.exchanges))]
    request = HttpRequest(id_, event.seq, method.upper(), _text(version), header_values)
    if isinstance(repeated := event.data.get("of"), int):
        for each in carriage.exchanges.values():
            if each.frame == repeated:
                request.frame, request.is_batch = repeated, each.is_batch
                request.asks, request.key = each.asks, each.key
    carriage.exchanges[id_] = request
    if method.upper() == "DELETE" and CONNECTION_HEADER in header_values:
        carriage.deleted.setdefault(header_values[CONNECTION_HEADER], event.seq)


def _keep_response(event: JournalEvent, exchange: HttpRequest, carriage: HttpState) -> None:
    status = event.data.get("status")
    exchange.status = status if isinstance(status, int) else None
    exchange.answer = headers(event)
    if CONNECTION_HEADER in exchange.answer:
        carriage.connections.add(exchange.answer[CONNECTION_HEADER])
    for line in exchange.answer.get("set-cookie", "").split("\n"):
        name, is_set, _ = line.partition("=")
        if is_set and len(carriage.cookies) < EXCHANGES:
            carriage.cookies.setdefault(name.strip(), event.seq)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


SWITCHED: Final = 101
CODES: Final = frozenset({1000, 1001, 1002, 1005, 1006, 1008, 1011})
"""Close codes that ACP's servers use, or that mean that none was sent."""
PROTOCOL: Final = 1002


@rule.error(421, "must", "client", on.EVERY_FRAME, unlike=())
@fix("Send initialize first, and each message as text.")
def wrong_websocket_message(context: Context) -> CheckResult:
    """WebSocket: first message is `initialize`; messages are text frames, one JSON-RPC message
    each.
    """
    found = carrier_of(context)
    if found is None or found[0].name != "ws_message" or context.side != "client":
        return None
    event, exchange = found
    if event.data.get("kind") == "binary":
        return context.problem("the message is a binary frame")
    if exchange.spoken == 0 and context.method != "initialize":
        return context.problem("the first message is not initialize")
    return OK


@rule.error(422, "must", "agent", on.EVENTS, unlike=())
@fix("Send Acp-Connection-Id with 101.")
def missing_websocket_connection_id(
    entry: StderrChunk | JournalEvent, state: LintState
) -> CheckResult:
    """WebSocket: the 101 response has `Acp-Connection-Id`."""
    if not isinstance(entry, JournalEvent) or entry.name != "http_response":
        return None
    if entry.data.get("status") != SWITCHED:
        return None
    if headers(entry).get(CONNECTION_HEADER):
        return OK
    return (Problem("the response 101 has no Acp-Connection-Id", (entry.seq,)),)


@http_observed.info(515, "heuristic", "agent", on.EVENTS, unlike=())
@fix("Close with 1002, 1008 or 1011, as fits.")
def wrong_close_code(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """WebSocket close codes: 1002 for a non-`initialize` first message, 1008 for limits, 1011 for
    internal errors.
    """
    if not isinstance(entry, JournalEvent) or entry.name != "ws_close":
        return None
    if entry.data.get("from") == "client":
        return None
    exchange, code = state.of(HttpState).exchange(entry), entry.data.get("code")
    if code not in CODES:
        return (Problem(f"the WebSocket is closed with {code}", (entry.seq,)),)
    first = exchange.first if exchange is not None else None
    if first not in {None, "initialize"} and code != PROTOCOL:
        text = f"the first message was not initialize; the WebSocket is closed with {code}"
        return (Problem(text, (entry.seq,)),)
    return OK
