"""MCP servers that a client provides over the ACP connection.

Source: ACP, `mcp/message` and `type: "acp"` servers (unstable).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, is_one_of, quoted
from acp_inspector.lint.registry import LintSubject, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MCP_FAILED,
    MCP_LIMITED,
    MCP_NOT_FOUND,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Json,
)
from acp_protocol.schema.vocabulary import OPENING

BRIDGED: Final = ("continuum",)
"""Dialects whose bridge has the same methods, and is another one: the agent has the servers."""

rule = LintSubject("mcp-over-acp", unlike=BRIDGED)
mcp_payloads = LintSubject("mcp-payloads", page="schema; sdk 2.4.0", unlike=BRIDGED)

MESSAGE: Final = "mcp/message"
OUTER_CODES: Final = frozenset(
    {
        *(METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR, REQUEST_CANCELLED),
        *(MCP_LIMITED, MCP_NOT_FOUND, MCP_FAILED),
    }
)
"""Codes by which the carrier itself may fail."""
ENVELOPE: Final = frozenset({"jsonrpc", "message", "request", "notification"})
HANDSHAKE: Final = frozenset({"initialize", "notifications/initialized", "initialized"})
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLAIMS_KEY: Final = "io.modelcontextprotocol/clientCapabilities"


@dataclass(slots=True)
class _Servers:
    """Declared servers, and pending requests to them."""

    declared: dict[str, Point] = field(default_factory=dict[str, Point])
    owners: dict[str, str] = field(default_factory=dict[str, str])
    """The newest session that has each."""
    open: dict[tuple[str, str], SentRequest] = field(
        default_factory=dict[tuple[str, str], SentRequest]
    )


def _declared(context: Context) -> Iterator[tuple[str, Json]]:
    for n, server in enumerate(map(as_object, as_list(context.params.get("mcpServers")))):
        if server.get("type") == "acp":
            yield f"params.mcpServers.{n}.serverId", server.get("serverId")


def _inner(params: dict[str, Json]) -> tuple[str, str] | None:
    server, request = params.get("serverId"), params.get("requestId")
    return (server, request) if isinstance(server, str) and isinstance(request, str) else None


@track(on.request(*OPENING))
def _keep_servers(context: Context) -> None:
    servers = context.state.of(_Servers)
    for _, id_ in _declared(context):
        if isinstance(id_, str):
            servers.declared.setdefault(id_, context.point)


@track(on.result(*OPENING))
def _keep_owner(context: Context) -> None:
    created = context.result_object.get("sessionId")
    session = created if isinstance(created, str) else context.session_id
    if context.request is None or session is None:
        return
    owners = context.state.of(_Servers).owners
    for server in map(as_object, as_list(context.request.params.get("mcpServers"))):
        if server.get("type") == "acp" and isinstance(id_ := server.get("serverId"), str):
            owners[id_] = session


@track(on.request(MESSAGE))
def _keep_request(context: Context) -> None:
    inner = _inner(context.params)
    ask = context.state.newest
    if inner is not None and context.key is not None and ask is not None:
        context.state.of(_Servers).open.setdefault(inner, ask)


@track(on.response(MESSAGE))
def _end_request(context: Context) -> None:
    open_ = context.state.of(_Servers).open
    inner = _inner(context.request.params) if context.request is not None else None
    if inner is not None and open_.get(inner) is context.request:
        del open_[inner]


@rule.error(382, "schema", "agent", on.call(MESSAGE), since="2026-11")
@fix("Name the serverId that the client declared.")
def unknown_mcp_server(context: Context) -> CheckResult:
    """`mcp/message.serverId` was declared in a `type:"acp"` server of a session (field is not
    `id`/`acpId`; `connectionId`, `mcp/connect`, `mcp/disconnect` belong to the retired binding).
    """
    if "connectionId" in context.params:
        return context.problem("connectionId is of the retired binding", at="connectionId")
    server = context.params.get("serverId")
    if not isinstance(server, str):
        other = next((name for name in ("acpId", "id") if name in context.params), None)
        what = f"serverId is missing; {other} is none" if other else "serverId is missing"
        return context.problem(what, at="serverId")
    if server in context.state.of(_Servers).declared:
        return OK
    return context.problem(f"no session declared the server {quoted(server)}", at="serverId")


@rule.error(383, "implied", "sender", on.call(), since="2026-11")
@fix("Let the agent ask, and the client tell.")
def wrong_mcp_direction(context: Context) -> CheckResult:
    """`mcp/message` requests go from the consumer to the declaring side (A→C), notifications the
    other way.
    """
    if context.method != MESSAGE:
        return None
    caller = "agent" if context.kind == "request" else "client"
    if context.side == caller:
        return OK
    return context.problem(f"a {context.kind} comes from the {context.side}", path="method")


@rule.error(384, "implied", "sender", on.request(MESSAGE), source="sdk 2.4.0", since="2026-11")
@fix("Count inner ids up.")
def duplicate_mcp_request(context: Context) -> CheckResult:
    """The inner `requestId` (a string) is unique among the active requests of its `serverId` (else
    -32602).
    """
    request = context.params.get("requestId")
    if not isinstance(request, str):
        return context.problem(f"requestId is {quoted(request)}", at="requestId")
    inner = _inner(context.params)
    earlier = context.state.of(_Servers).open.get(inner) if inner is not None else None
    if earlier is None:
        return OK
    return context.problem(
        f"the inner request {quoted(request)} is still open", earlier, at="requestId"
    )


@rule.error(
    385, "implied", "sender", on.notification(MESSAGE), source="schema; sdk 2.4.0", since="2026-11"
)
@fix("Report requests that are open.")
def stale_mcp_notification(context: Context) -> CheckResult:
    """An `mcp/message` notification names an inner request that is still active; none follows its
    response.
    """
    inner = _inner(context.params)
    if inner is None:
        return context.problem("no inner request is named", at="requestId")
    if inner in context.state.of(_Servers).open:
        return OK
    return context.problem(f"the inner request {quoted(inner[1])} is not open", at="requestId")


@rule.error(386, "schema", "sender", on.call(MESSAGE), source="rfds/mcp-over-acp.mdx")
@fix("Put method and params where they belong.")
def nested_mcp_envelope(context: Context) -> CheckResult:
    """`mcp/message` is flattened (`method`, `params`); no nested JSON-RPC envelope."""
    nested = sorted(ENVELOPE & context.params.keys())
    if nested:
        return context.problem(f"params hold {nested[0]}", at=f"{nested[0]}")
    if "jsonrpc" in as_object(context.params.get("params")):
        return context.problem("the inner params are a message", at="params")
    return OK


@rule.error(387, "schema", "client", on.request(*OPENING))
@fix("Give each server an id of its own.")
def duplicate_mcp_server(context: Context) -> CheckResult:
    """`serverId` is unique among acp servers visible on the connection.

    A resumed or forked session brings its own servers.
    """
    owners = context.state.of(_Servers).owners
    seen: set[str] = set()
    is_any = False
    for place, id_ in _declared(context):
        is_any = True
        if isinstance(id_, str):
            if id_ in seen:
                return context.problem(f"two servers have the id {quoted(id_)}", path=place)
            seen.add(id_)
            owner = context.state.sessions.get(owners.get(id_, ""))
            if owner is not None and owner.is_open and context.session_id is None:
                return context.problem(
                    f"the session {quoted(owner.id)} has a server {quoted(id_)}, too",
                    owner.first,
                    path=place,
                )
    return OK if is_any else None


@mcp_payloads.error(507, "schema", "responder", on.result(MESSAGE))
@fix("Answer with either result or error, inside the result.")
def malformed_mcp_result(context: Context) -> CheckResult:
    """An `mcp/message` result has exactly one of `result` and `error`; `error` is an object with
    integer `code` and string `message`.
    """
    reply = context.result_object
    if ("result" in reply) == ("error" in reply):
        what = "both" if "result" in reply else "neither"
        return context.problem(
            f"{what} of result and error are present", context.request, path="result"
        )
    if "error" in reply:
        error = as_object(reply["error"])
        if type(error.get("code")) is not int or not isinstance(error.get("message"), str):
            return context.problem(
                "the inner error lacks code or message", context.request, at="error"
            )
    return OK


@mcp_payloads.warning(508, "implied", "responder", on.response(MESSAGE))
@fix("Put what the server says into the result.")
def mcp_error_sent_outside(context: Context) -> CheckResult:
    """Inner MCP errors are not sent as outer errors; outer codes are binding failures (-32602,
    -32800, -33000, -33001, -33002).
    """
    if context.kind == "result" or context.code in OUTER_CODES:
        return OK
    return context.problem(f"the outer error is {context.code}", context.request, path="error.code")


@mcp_payloads.warning(509, "implied", "sender", on.request(MESSAGE), source="sdk 2.4.0")
@fix("Say the revision and the capabilities in each request.")
def incomplete_mcp_meta(context: Context) -> CheckResult:
    """Inner `params._meta` has `io.modelcontextprotocol/protocolVersion` (string) and
    `io.modelcontextprotocol/clientCapabilities` (object).
    """
    meta = as_object(as_object(context.params.get("params")).get("_meta"))
    if not isinstance(meta.get(VERSION_KEY), str):
        return context.problem(f"{VERSION_KEY} is missing", at="params._meta")
    if not isinstance(meta.get(CLAIMS_KEY), dict):
        return context.problem(f"{CLAIMS_KEY} is missing", at="params._meta")
    return OK


@mcp_payloads.warning(510, "implied", "sender", on.call(MESSAGE), source="sdk 2.4.0")
@fix("Begin with what you want; there are no MCP sessions here.")
def inner_mcp_initialize(context: Context) -> CheckResult:
    """No inner `initialize` or session handshake is sent."""
    method = context.params.get("method")
    if is_one_of(method, HANDSHAKE):
        return context.problem(f"the inner method is {quoted(method)}", at="method")
    return OK


@mcp_payloads.warning(511, "implied", "client", on.request(*OPENING))
@fix("Give each server an id of its own, for ever.")
def redeclared_mcp_server(context: Context) -> CheckResult:
    """A `serverId` is not declared for a second server on the same connection, even after the first
    is gone.
    """
    declared = context.state.of(_Servers).declared
    is_any = False
    for place, id_ in _declared(context):
        is_any = True
        if isinstance(id_, str) and id_ in declared and context.method != "session/resume":
            return context.problem(
                f"a server {quoted(id_)} was declared before", declared[id_], path=place
            )
    return OK if is_any else None
