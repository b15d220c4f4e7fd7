"""WebSocket: how it is opened, what goes over it, how it is closed.

Source: ACP, "Streamable HTTP and WebSocket Transport" (RFD), and what the SDKs do.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.journal import JournalEvent, StderrText
from acp_inspector.lint.moment import FINE, Found, Moment, Problem
from acp_inspector.lint.registry import EVERY_FRAME, check, check_beside
from acp_inspector.lint.rules.http_carriage import (
    CONNECTION,
    Carriage,
    carried,
    headers,
)
from acp_inspector.lint.state import State

SWITCHED: Final = 101
CODES: Final = frozenset({1000, 1001, 1002, 1005, 1006, 1008, 1011})
"""Close codes that ACP's servers use, or that stand for none."""
PROTOCOL: Final = 1002


@check(
    "ACP-L421",
    EVERY_FRAME,
    fix="Send initialize first, and each message as text.",
)
def sockets_begin_with_initialize(moment: Moment) -> Found:
    """Tell of a first message that is something else, and of binary frames."""
    found = carried(moment)
    if found is None or found[0].name != "ws_message" or moment.side != "client":
        return None
    event, exchange = found
    if event.data.get("kind") == "binary":
        return moment.problem("the message is a binary frame")
    if exchange.spoken == 0 and moment.method != "initialize":
        return moment.problem("the first message is not initialize")
    return FINE


@check_beside("ACP-L422", fix="Send Acp-Connection-Id with 101.")
def sockets_have_a_connection(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of a WebSocket without the connection's id."""
    if not isinstance(entry, JournalEvent) or entry.name != "http_response":
        return None
    if entry.data.get("status") != SWITCHED:
        return None
    if headers(entry).get(CONNECTION):
        return FINE
    return (Problem("the answer 101 has no Acp-Connection-Id", (entry.n,)),)


@check_beside("ACP-L515", fix="Close with 1002, 1008 or 1011, as fits.")
def sockets_close_with_a_reason(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of close codes that nobody knows here, and of a wrong beginning that is not named."""
    if not isinstance(entry, JournalEvent) or entry.name != "ws_close":
        return None
    if entry.data.get("from") == "client":
        return None
    exchange, code = state.of(Carriage).exchange(entry), entry.data.get("code")
    if code not in CODES:
        return (Problem(f"the WebSocket is closed with {code}", (entry.n,)),)
    first = exchange.first if exchange is not None else None
    if first not in {None, "initialize"} and code != PROTOCOL:
        text = f"the first message was not initialize; the WebSocket is closed with {code}"
        return (Problem(text, (entry.n,)),)
    return FINE
