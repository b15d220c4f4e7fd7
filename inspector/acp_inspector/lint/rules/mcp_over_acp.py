"""MCP servers that a client offers over the connection itself.

Source: ACP, `mcp/message` and `type: "acp"` servers (unstable).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, is_one_of, members, quoted
from acp_inspector.lint.registry import answers, asks, calls, check, learns, results, tells
from acp_inspector.lint.state import Ask, Point
from acp_protocol.jsonrpc import Json

MESSAGE: Final = "mcp/message"
OPENERS: Final = ("session/new", "session/load", "session/resume", "session/fork")
OUTER_CODES: Final = frozenset({-32601, -32602, -32603, -32800, -33000, -33001, -33002})
"""Codes by which the carrier itself may fail."""
ENVELOPE: Final = frozenset({"jsonrpc", "message", "request", "notification"})
HANDSHAKE: Final = frozenset({"initialize", "notifications/initialized", "initialized"})
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLAIMS_KEY: Final = "io.modelcontextprotocol/clientCapabilities"


@dataclass(slots=True)
class _Servers:
    """Servers that were declared, and requests to them that are not answered."""

    declared: dict[str, Point] = field(default_factory=dict[str, Point])
    owners: dict[str, str] = field(default_factory=dict[str, str])
    """The newest session that has each."""
    open: dict[tuple[str, str], Ask] = field(default_factory=dict[tuple[str, str], Ask])


def _declared(moment: Moment) -> Iterator[tuple[str, Json]]:
    for n, server in enumerate(map(members, entries(moment.params.get("mcpServers")))):
        if server.get("type") == "acp":
            yield f"params.mcpServers.{n}.serverId", server.get("serverId")


def _inner(params: dict[str, Json]) -> tuple[str, str] | None:
    server, request = params.get("serverId"), params.get("requestId")
    return (server, request) if isinstance(server, str) and isinstance(request, str) else None


@learns(asks(*OPENERS))
def _keep_servers(moment: Moment) -> None:
    servers = moment.state.of(_Servers)
    for _, id_ in _declared(moment):
        if isinstance(id_, str):
            servers.declared.setdefault(id_, moment.point)


@learns(results(*OPENERS))
def _keep_owner(moment: Moment) -> None:
    created = moment.result_object.get("sessionId")
    session = created if isinstance(created, str) else moment.session_id
    if moment.ask is None or session is None:
        return
    owners = moment.state.of(_Servers).owners
    for server in map(members, entries(moment.ask.params.get("mcpServers"))):
        if server.get("type") == "acp" and isinstance(id_ := server.get("serverId"), str):
            owners[id_] = session


@learns(asks(MESSAGE))
def _keep_request(moment: Moment) -> None:
    inner = _inner(moment.params)
    ask = moment.state.newest
    if inner is not None and moment.key is not None and ask is not None:
        moment.state.of(_Servers).open.setdefault(inner, ask)


@learns(answers(MESSAGE))
def _end_request(moment: Moment) -> None:
    open_ = moment.state.of(_Servers).open
    inner = _inner(moment.ask.params) if moment.ask is not None else None
    if inner is not None and open_.get(inner) is moment.ask:
        del open_[inner]


@check("ACP-L382", calls(MESSAGE), fix="Name the serverId that the client declared.")
def servers_are_declared(moment: Moment) -> Found:
    """Tell of messages to a server that nobody declared, or in the retired binding."""
    if "connectionId" in moment.params:
        return moment.problem("connectionId is of the retired binding", path="params.connectionId")
    server = moment.params.get("serverId")
    if not isinstance(server, str):
        other = next((name for name in ("acpId", "id") if name in moment.params), None)
        what = f"serverId is missing; {other} is none" if other else "serverId is missing"
        return moment.problem(what, path="params.serverId")
    if server in moment.state.of(_Servers).declared:
        return FINE
    return moment.problem(
        f"no session declared the server {quoted(server)}", path="params.serverId"
    )


@check("ACP-L383", calls(), fix="Let the agent ask, and the client tell.")
def messages_go_the_right_way(moment: Moment) -> Found:
    """Tell of requests from the side that offers the server, and of notifications to it."""
    if moment.method != MESSAGE:
        return None
    asker = "agent" if moment.kind == "request" else "client"
    if moment.side == asker:
        return FINE
    return moment.problem(f"a {moment.kind} comes from the {moment.side}", path="method")


@check("ACP-L384", asks(MESSAGE), fix="Count inner ids up.")
def inner_ids_are_not_reused(moment: Moment) -> Found:
    """Tell of an inner id that an open request of the same server has."""
    request = moment.params.get("requestId")
    if not isinstance(request, str):
        return moment.problem(f"requestId is {quoted(request)}", path="params.requestId")
    inner = _inner(moment.params)
    earlier = moment.state.of(_Servers).open.get(inner) if inner is not None else None
    if earlier is None:
        return FINE
    return moment.problem(
        f"the inner request {quoted(request)} is still open", earlier, path="params.requestId"
    )


@check("ACP-L385", tells(MESSAGE), fix="Tell of requests that are open.")
def notifications_are_about_open_requests(moment: Moment) -> Found:
    """Tell of notifications for an inner request that is over, or never was."""
    inner = _inner(moment.params)
    if inner is None:
        return moment.problem("no inner request is named", path="params.requestId")
    if inner in moment.state.of(_Servers).open:
        return FINE
    return moment.problem(
        f"the inner request {quoted(inner[1])} is not open", path="params.requestId"
    )


@check("ACP-L386", calls(MESSAGE), fix="Put method and params where they belong.")
def messages_are_flat(moment: Moment) -> Found:
    """Tell of a whole JSON-RPC message within the message."""
    nested = sorted(ENVELOPE & moment.params.keys())
    if nested:
        return moment.problem(f"params hold {nested[0]}", path=f"params.{nested[0]}")
    if "jsonrpc" in members(moment.params.get("params")):
        return moment.problem("the inner params are a message", path="params.params")
    return FINE


@check("ACP-L387", asks(*OPENERS), fix="Give each server an id of its own.")
def servers_are_told_apart(moment: Moment) -> Found:
    """Tell of an id that two servers of one request, or of two open sessions, share.

    A session that is taken up again, or goes on as a fork, brings its own servers along.
    """
    owners = moment.state.of(_Servers).owners
    seen: set[str] = set()
    is_any = False
    for place, id_ in _declared(moment):
        is_any = True
        if isinstance(id_, str):
            if id_ in seen:
                return moment.problem(f"two servers have the id {quoted(id_)}", path=place)
            seen.add(id_)
            owner = moment.state.sessions.get(owners.get(id_, ""))
            if owner is not None and owner.is_open and moment.session_id is None:
                return moment.problem(
                    f"the session {quoted(owner.id)} has a server {quoted(id_)}, too",
                    owner.first,
                    path=place,
                )
    return FINE if is_any else None


@check("ACP-L507", results(MESSAGE), fix="Answer with either result or error, inside the result.")
def carriers_hold_one_outcome(moment: Moment) -> Found:
    """Tell of carriers without outcome, with two, or with a malformed error."""
    said = moment.result_object
    if ("result" in said) == ("error" in said):
        what = "both" if "result" in said else "neither"
        return moment.problem(f"of result and error {what} are there", moment.ask, path="result")
    if "error" in said:
        error = members(said["error"])
        if type(error.get("code")) is not int or not isinstance(error.get("message"), str):
            return moment.problem(
                "the inner error lacks code or message", moment.ask, path="result.error"
            )
    return FINE


@check("ACP-L508", answers(MESSAGE), fix="Put what the server says into the result.")
def inner_errors_stay_inside(moment: Moment) -> Found:
    """Tell of an outer error that only the inner server can have meant."""
    if moment.kind == "result" or moment.code in OUTER_CODES:
        return FINE
    return moment.problem(f"the outer error is {moment.code}", moment.ask, path="error.code")


@check("ACP-L509", asks(MESSAGE), fix="Say the revision and the capabilities in each request.")
def inner_requests_say_who_asks(moment: Moment) -> Found:
    """Tell of inner requests without what stateless MCP asks for."""
    meta = members(members(moment.params.get("params")).get("_meta"))
    if not isinstance(meta.get(VERSION_KEY), str):
        return moment.problem(f"{VERSION_KEY} is missing", path="params.params._meta")
    if not isinstance(meta.get(CLAIMS_KEY), dict):
        return moment.problem(f"{CLAIMS_KEY} is missing", path="params.params._meta")
    return FINE


@check("ACP-L510", calls(MESSAGE), fix="Begin with what you want; there are no MCP sessions here.")
def there_is_no_handshake(moment: Moment) -> Found:
    """Tell of an inner handshake."""
    method = moment.params.get("method")
    if is_one_of(method, HANDSHAKE):
        return moment.problem(f"the inner method is {quoted(method)}", path="params.method")
    return FINE


@check("ACP-L511", asks(*OPENERS), fix="Give each server an id of its own, for ever.")
def ids_of_servers_are_not_reused(moment: Moment) -> Found:
    """Tell of an id that an earlier session's server had."""
    declared = moment.state.of(_Servers).declared
    is_any = False
    for place, id_ in _declared(moment):
        is_any = True
        if isinstance(id_, str) and id_ in declared and moment.method != "session/resume":
            return moment.problem(
                f"a server {quoted(id_)} was declared before", declared[id_], path=place
            )
    return FINE if is_any else None
