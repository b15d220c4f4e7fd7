"""Streamable HTTP: what requests and answers have to carry.

Source: ACP, "Streamable HTTP and WebSocket Transport" (RFD), and what the SDKs do.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from acp_inspector.journal import JournalEvent, StderrText
from acp_inspector.lint.moment import FINE, Found, Moment, Problem, quoted
from acp_inspector.lint.registry import (
    EVERY_FRAME,
    answers,
    asks,
    calls,
    check,
    check_beside,
)
from acp_inspector.lint.rules.http_carriage import (
    CONNECTION,
    SESSION,
    Carriage,
    Exchange,
    carried,
    headers,
    posted,
)
from acp_inspector.lint.state import State

OK: Final = 200
ACCEPTED: Final = 202
REFUSED: Final = frozenset({400, 501})
ALONE: Final = frozenset({"$/cancel_request", "mcp/message"})
"""Messages that belong to no session, whatever they are about."""
OPENERS: Final = frozenset({"session/new", "session/load", "initialize"})
"""Methods whose answers come where no session is named yet."""


def _problem(event: JournalEvent, text: str, *since: int | None) -> tuple[Problem, ...]:
    frames = {n for n in since if n is not None} | {event.n}
    return (Problem(text, tuple(sorted(frames))),)


def _request(entry: StderrText | JournalEvent) -> tuple[JournalEvent, str, dict[str, str]] | None:
    """Return a request's event, its method and its headers."""
    if not isinstance(entry, JournalEvent) or entry.name != "http_request":
        return None
    method = entry.data.get("method")
    return entry, method.upper() if isinstance(method, str) else "", headers(entry)


def _response(
    entry: StderrText | JournalEvent, state: State
) -> tuple[JournalEvent, int, dict[str, str], Exchange] | None:
    """Return an answer's event, its status, its headers, and the exchange."""
    if not isinstance(entry, JournalEvent) or entry.name != "http_response":
        return None
    exchange, status = state.of(Carriage).exchange(entry), entry.data.get("status")
    if exchange is None or not isinstance(status, int):
        return None
    return entry, status, headers(entry), exchange


@check_beside("ACP-L411", fix="Send Content-Type: application/json.")
def posts_are_json(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of POSTs of another type."""
    request = _request(entry)
    if request is None or request[1] != "POST":
        return None
    kind = request[2].get("content-type", "")
    if kind.partition(";")[0].strip().lower() == "application/json":
        return FINE
    return _problem(request[0], f"the Content-Type is {quoted(kind)}")


@check_beside("ACP-L412", fix="Send Accept: text/event-stream.")
def streams_are_asked_for(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of GETs that do not ask for a stream of events."""
    request = _request(entry)
    if request is None or request[1] != "GET" or "upgrade" in request[2]:
        return None
    accept = request[2].get("accept", "")
    if "text/event-stream" in accept.lower():
        return FINE
    return _problem(request[0], f"Accept is {quoted(accept)}")


@check_beside("ACP-L413", fix="Answer initialize with 200, the result and Acp-Connection-Id.")
def initialize_is_answered_at_once(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of another status, or of a connection without an id."""
    response = _response(entry, state)
    if response is None or response[3].asks != "initialize":
        return None
    event, status, said, exchange = response
    if CONNECTION in exchange.headers:
        return None
    if status != OK:
        return _problem(event, f"initialize is answered with {status}", exchange.frame)
    if not said.get(CONNECTION):
        return _problem(event, "the answer to initialize has no Acp-Connection-Id", exchange.frame)
    return FINE


@check_beside("ACP-L414", fix="Answer 202 at once; the result comes on a stream.")
def posts_are_accepted(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of POSTs that went well and are answered with something else than 202."""
    response = _response(entry, state)
    if response is None or response[3].method != "POST" or response[3].asks == "initialize":
        return None
    event, status, _, exchange = response
    if status == ACCEPTED or status >= 400:
        return FINE
    return _problem(event, f"the POST is answered with {status}", exchange.frame)


@check(
    "ACP-L414",
    EVERY_FRAME,
    fix="Answer 202 at once; the result comes on a stream.",
)
def bodies_are_empty(moment: Moment) -> Found:
    """Tell of messages in the answer to a POST."""
    found = carried(moment)
    if found is None or found[0].name != "http_response" or moment.side != "agent":
        return None
    exchange = found[1]
    if exchange.method != "POST" or exchange.asks == "initialize" or (exchange.status or 0) >= 400:
        return None
    return moment.problem("a message stands in the answer to a POST")


@check(
    "ACP-L415",
    EVERY_FRAME,
    fix="Send the Acp-Connection-Id that initialize was answered with.",
)
def posts_name_their_connection(moment: Moment) -> Found:
    """Tell of POSTs that belong to no connection."""
    exchange = posted(moment)
    if exchange is None or moment.method == "initialize":
        return None
    connection = exchange.headers.get(CONNECTION)
    if not connection:
        return moment.problem("the POST has no Acp-Connection-Id")
    known = moment.state.of(Carriage).connections
    if known and connection not in known:
        return moment.problem(f"no connection has the id {quoted(connection)}")
    return FINE


@check("ACP-L416", calls(), fix="Send Acp-Session-Id as the message has it.")
def posts_name_their_session(moment: Moment) -> Found:
    """Tell of messages about a session that the headers do not name."""
    exchange = posted(moment)
    if exchange is None or moment.session_id is None:
        return None
    named = exchange.headers.get(SESSION)
    if named == moment.session_id:
        return FINE
    what = "is missing" if named is None else f"is {quoted(named)}"
    return moment.problem(f"Acp-Session-Id {what}; the message says {quoted(moment.session_id)}")


@check("ACP-L416", answers(), fix="Send Acp-Session-Id as the question had it.")
def answers_name_their_session(moment: Moment) -> Found:
    """Tell of answers to questions about a session that the headers do not name."""
    return posts_name_their_session.look(moment)


@check(
    "ACP-L417",
    calls(),
    answers(),
    fix="Send what is about a session on its stream.",
)
def messages_come_on_their_stream(moment: Moment) -> Found:
    """Tell of messages on the stream of another session, or of the connection."""
    found = carried(moment)
    if found is None or found[0].name != "sse_event" or moment.side != "agent":
        return None
    stream = found[1].headers.get(SESSION)
    if moment.method in ALONE:
        return None
    wanted = None if moment.method in OPENERS else moment.session_id
    is_loose = moment.ask is not None and moment.method not in OPENERS and stream is None
    if stream == wanted or is_loose:
        # Where the answer to a question about a session belongs, peers do not agree.
        return FINE
    where = "the connection's stream" if stream is None else f"the stream of {quoted(stream)}"
    return moment.problem(f"the message comes on {where}")


@check_beside("ACP-L418", fix="Refuse arrays with 400 or 501.")
def batches_are_refused(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of arrays that are taken in."""
    response = _response(entry, state)
    if response is None or not response[3].is_batch:
        return None
    event, status, _, exchange = response
    if status in REFUSED:
        return FINE
    return _problem(event, f"an array is answered with {status}", exchange.frame)


@check_beside("ACP-L419", fix="Send back the cookies that were set.")
def cookies_come_back(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of requests without a cookie that was set."""
    request, cookies = _request(entry), state.of(Carriage).cookies
    if request is None or not cookies:
        return None
    sent = {pair.partition("=")[0].strip() for pair in request[2].get("cookie", "").split(";")}
    for name, since in cookies.items():
        if name not in sent:
            return _problem(request[0], f"the cookie {quoted(name)} does not come back", since)
    return FINE


@check_beside("ACP-L420", fix="Speak HTTP/2.")
def http_is_version_2(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of a connection over HTTP/1, once."""
    request = _request(entry)
    if request is None or "upgrade" in request[2]:
        return None
    version = str(request[0].data.get("version"))
    if not version.startswith(("1", "HTTP/1", "http/1")) or state.of(Carriage).exchanges:
        return FINE
    return _problem(request[0], f"the connection is over {quoted(version)}")


@check_beside("ACP-L423", fix="End with DELETE, and begin anew with initialize.")
def nothing_follows_the_end(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of requests on a connection that was ended."""
    request, deleted = _request(entry), state.of(Carriage).deleted
    if request is None or not deleted:
        return None
    connection = request[2].get(CONNECTION, "")
    if connection in deleted:
        return _problem(request[0], "the connection was ended before", deleted[connection])
    return FINE


@check(
    "ACP-L424",
    asks(),
    fix="Open the connection's stream right after initialize.",
)
def streams_are_open_in_time(moment: Moment) -> Found:
    """Tell of a request whose answer has no stream to come on."""
    exchange = posted(moment)
    if exchange is None or moment.method == "initialize":
        return None
    streams = [each for each in moment.state.of(Carriage).exchanges.values() if each.is_stream]
    if any(each.headers.get(CONNECTION) == exchange.headers.get(CONNECTION) for each in streams):
        return FINE
    return moment.problem("no stream is open that the answer could come on")


@check_beside("ACP-L512", fix="Read each stream once.")
def streams_have_one_reader(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of a second reader of a stream that is still read."""
    request = _request(entry)
    if request is None or request[1] != "GET" or "upgrade" in request[2]:
        return None
    names = (CONNECTION, SESSION)
    wanted = [request[2].get(name) for name in names]
    for each in state.of(Carriage).exchanges.values():
        is_same = each.is_stream and [each.headers.get(name) for name in names] == wanted
        if is_same and not each.ended and (each.status or OK) < 400:
            return _problem(request[0], "the stream has a reader already", each.n)
    return FINE


@check("ACP-L513", EVERY_FRAME, fix="Send one object in each event.")
def events_hold_one_object(moment: Moment) -> Found:
    """Tell of events with arrays, scalars, or no JSON."""
    found = carried(moment)
    if found is None or found[0].name != "sse_event":
        return None
    if moment.value:
        return FINE
    return moment.problem("the event holds no object")


@check(
    "ACP-L514",
    asks("initialize"),
    fix="Send initialize first, without Acp-Connection-Id.",
)
def initialize_comes_without_connection(moment: Moment) -> Found:
    """Tell of an `initialize` on a connection that there is already."""
    found = carried(moment)
    if found is None:
        return None
    exchange = found[1]
    if exchange.is_socket and exchange.first is not None:
        return moment.problem("initialize comes a second time on one WebSocket")
    if CONNECTION in exchange.headers and not exchange.is_socket:
        return moment.problem("initialize is sent with an Acp-Connection-Id")
    return FINE


@check(
    "ACP-L516",
    calls(*sorted(ALONE)),
    fix="Send it on the connection's stream.",
)
def lonely_messages_come_on_the_connections_stream(moment: Moment) -> Found:
    """Tell of cancels and MCP's messages on a session's stream; their order says nothing."""
    found = carried(moment)
    if found is None or found[0].name != "sse_event":
        return None
    if SESSION in found[1].headers:
        return moment.problem(f"{moment.method} comes on a session's stream")
    return FINE


@check_beside("ACP-L517", fix="Refuse origins that you do not know.")
def origins_are_checked(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of a request from a page of somewhere else that was taken in."""
    response = _response(entry, state)
    if response is None or "origin" not in response[3].headers:
        return None
    event, status, _, exchange = response
    origin = urlsplit(exchange.headers["origin"]).netloc
    if origin == exchange.headers.get("host") or status >= 400:
        return FINE
    return _problem(event, f"a page of {quoted(origin)} was let in", exchange.n)
