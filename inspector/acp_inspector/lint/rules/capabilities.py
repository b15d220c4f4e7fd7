"""The capabilities that both sides declare.

Source: ACP, "Initialization", capabilities; "Authentication", methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted, repeated
from acp_inspector.lint.registry import check
from acp_inspector.lint.state import FLAGS
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import METHOD_NOT_FOUND, Json
from acp_protocol.schema.explain import unknown_fields
from acp_protocol.schema.methods import VERSIONS, find_method
from acp_protocol.schema.newer import feature_of_field
from acp_protocol.schema.validate import schema_type

SETS: Final[dict[tuple[int, Side], str]] = {
    (1, "client"): "clientCapabilities",
    (1, "agent"): "agentCapabilities",
    (2, "client"): "capabilities",
    (2, "agent"): "capabilities",
}
SHAPES: Final[dict[Side, str]] = {"client": "ClientCapabilities", "agent": "AgentCapabilities"}
LEFTOVERS: Final = (
    "loadSession",
    "session.list",
    "session.resume",
    "session.close",
    "session.load",
    "auth.logout",
    "promptCapabilities",
    "mcpCapabilities",
    "sessionCapabilities",
)
"""Markers of version 1 without a meaning in version 2."""
PLACES: Final[dict[Side, dict[str, str]]] = {
    "client": {
        "readTextFile": "fs.readTextFile",
        "writeTextFile": "fs.writeTextFile",
        "form": "elicitation.form",
        "url": "elicitation.url",
        "compaction": "session.compaction",
        "notices": "session.notices",
        "configOptions": "session.configOptions",
    },
    "agent": {
        "image": "promptCapabilities.image",
        "audio": "promptCapabilities.audio",
        "embeddedContext": "promptCapabilities.embeddedContext",
        "http": "mcpCapabilities.http",
        "sse": "mcpCapabilities.sse",
        "list": "sessionCapabilities.list",
        "resume": "sessionCapabilities.resume",
        "close": "sessionCapabilities.close",
        "delete": "sessionCapabilities.delete",
        "fork": "sessionCapabilities.fork",
        "logout": "auth.logout",
    },
}
"""The right paths of capabilities that are often declared at the root."""
PLACES_V2: Final = {
    "image": "session.prompt.image",
    "audio": "session.prompt.audio",
    "embeddedContext": "session.prompt.embeddedContext",
    "prompt": "session.prompt",
    "mcp": "session.mcp",
    "stdio": "session.mcp.stdio",
    "http": "session.mcp.http",
    "delete": "session.delete",
    "fork": "session.fork",
}


def _declared_capabilities(context: Context) -> tuple[str, dict[str, Json]] | None:
    """Return the path and the value of a side's capabilities; None if it declares none."""
    if context.version is None:
        return None
    name = SETS[context.version, context.side]
    place = "params" if context.kind == "request" else "result"
    fields = context.params if context.kind == "request" else context.result_object
    claims = fields.get(name)
    return (f"{place}.{name}", as_object(claims)) if isinstance(claims, dict) else None


@check("ACP-L060", on.request("initialize"), on.result("initialize"))
def markers_are_objects(context: Context) -> CheckResult:
    claimed = _declared_capabilities(context)
    if claimed is None:
        return None
    for path, value in _inner(*claimed):
        if isinstance(value, bool):
            return context.problem(f"{path} is {quoted(value)} instead of an object", path=path)
    return OK


def _inner(path: str, claims: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield each capability with its path, from the outside in."""
    todo = [(path, claims)]
    while todo:
        place, held = todo.pop()
        for name, value in held.items():
            if name != "_meta":
                yield f"{place}.{name}", value
                if isinstance(value, dict):
                    todo.append((f"{place}.{name}", as_object(value)))


@check("ACP-L061", on.request("initialize"), on.result("initialize"))
def flags_are_booleans(context: Context) -> CheckResult:
    claimed = _declared_capabilities(context)
    if claimed is None:
        return None
    place, claims = claimed
    for path in FLAGS[context.side]:
        value = _at(claims, path)
        if value is not None and not isinstance(value, bool):
            return context.problem(
                f"{path} is {quoted(value)} instead of a boolean", path=f"{place}.{path}"
            )
    return OK


@check("ACP-L062", on.result("initialize"))
def no_leftovers_of_version_1(context: Context) -> CheckResult:
    claimed = _declared_capabilities(context)
    if claimed is None:
        return None
    place, claims = claimed
    for path in LEFTOVERS:
        if _at(claims, path) is not None:
            return context.problem(f"{path} is a marker of version 1", path=f"{place}.{path}")
    return OK


@check("ACP-L063", on.request("initialize"), on.result("initialize"))
def own_capabilities_stand_in_meta(context: Context) -> CheckResult:
    claimed = _declared_capabilities(context)
    if claimed is None or context.version is None:
        return None
    place, claims = claimed
    elsewhere = _elsewhere(context)
    unknown = [
        path
        for path in unknown_fields(schema_type(SHAPES[context.side], context.version), claims)
        if path not in elsewhere
        and path not in LEFTOVERS
        and feature_of_field(context.method, f"{place}.{path}", _at(claims, path)) is None
    ]
    return tuple(
        problem
        for path in unknown[:5]
        for problem in context.problem(f"{path} is not a capability", path=f"{place}.{path}")
    )


@check("ACP-L064", on.result("initialize"))
def agents_claim_something(context: Context) -> CheckResult:
    """Flag agents that claim nothing, neither by the name of version 1 nor of version 2.

    Another rule reports the name of the other version.
    """
    version = context.result_object.get("protocolVersion")
    if type(version) is not int or version not in VERSIONS:
        return None
    if not any(context.result_object.get(SETS[each, "agent"]) for each in VERSIONS):
        return context.problem("the agent claims no capabilities")
    return OK


@check("ACP-L065", on.request("initialize"), on.result("initialize"))
def capabilities_stand_where_they_belong(context: Context) -> CheckResult:
    claimed = _declared_capabilities(context)
    if claimed is None:
        return None
    place, claims = claimed
    for name, right in _elsewhere(context).items():
        if name in claims:
            return context.problem(f"{name} belongs to {right}", path=f"{place}.{name}")
    return OK


def _elsewhere(context: Context) -> dict[str, str]:
    is_agent_of_v2 = context.version != 1 and context.side == "agent"
    return PLACES_V2 if is_agent_of_v2 else PLACES[context.side]


@check("ACP-L066", on.result("initialize"))
def auth_method_ids_are_unique(context: Context) -> CheckResult:
    name = "id" if context.version == 1 else "methodId"
    methods = as_list(context.result_object.get("authMethods"))
    for index, id_ in repeated(as_object(method).get(name) for method in methods):
        return context.problem(
            f"two login methods have the {name} {quoted(id_)}", at=f"authMethods.{index}.{name}"
        )
    return OK if methods else None


@check("ACP-L067", on.error())
def clients_answer_what_they_claim(context: Context) -> CheckResult:
    ask = context.request
    if ask is None or ask.side != "agent" or context.version is None:
        return None
    row = find_method(ask.method, context.version)
    if row is None or row.gate is None:
        return None
    whose, _, path = row.gate.partition(".")
    if whose != "clientCapabilities" or not context.state.claims("client", path):
        return None
    if context.code == METHOD_NOT_FOUND:
        return context.problem(
            f"{ask.method} was claimed by {row.gate} and is not found",
            context.state.initialize,
            ask,
        )
    return OK


def _at(claims: dict[str, Json], path: str) -> Json:
    value: Json = claims
    for name in path.split("."):
        value = as_object(value).get(name)
    return value
