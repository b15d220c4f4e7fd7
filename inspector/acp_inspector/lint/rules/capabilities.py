"""The capabilities that both sides declare.

Source: ACP, "Initialization", capabilities; "Authentication", methods.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import OK, CheckResult, Context
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix
from acp_inspector.lint.state import FLAGS
from acp_protocol.framing import Side
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import METHOD_NOT_FOUND, Json
from acp_protocol.schema.explain import unknown_fields
from acp_protocol.schema.methods import VERSIONS, find_method
from acp_protocol.schema.newer import feature_of_field
from acp_protocol.schema.validate import schema_type

rule = LintSubject("initialization", page="initialization.mdx")

SETS: Final[dict[tuple[int, Side], str]] = {
    (1, "client"): "clientCapabilities",
    (1, "agent"): "agentCapabilities",
    (2, "client"): "capabilities",
    (2, "agent"): "capabilities",
}
SHAPES: Final[dict[Side, str]] = {"client": "ClientCapabilities", "agent": "AgentCapabilities"}
BOOLEANS: Final = tuple(
    f"{side}Capabilities.{path}" for side, paths in FLAGS.items() for path in paths
)
"""Where version 1 has booleans."""
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


@rule.error(60, "schema", "both", on.request("initialize"), on.result("initialize"), version=2)
@details(source="v2/migration.mdx", case="initialize.markers")
@fix("Send {} to claim a capability, null to deny it.")
@checked_by(schema, at="capabilities.**", kinds="type", within="capabilities")
def boolean_support_marker() -> None:
    """Support markers are objects or null; `true`/`false` is malformed and counts as
    unsupported.
    """


@rule.error(61, "schema", "both", on.request("initialize"), on.result("initialize"), version=1)
@details(source="v1/initialization.mdx", case="initialize.booleans")
@fix("Send true to claim a capability, false to deny it.")
@checked_by(schema, at=BOOLEANS, kinds="type", within=("clientCapabilities", "agentCapabilities"))
def non_boolean_capability() -> None:
    """Boolean capabilities (`loadSession`, `image`, `audio`, `embeddedContext`, `http`, `sse`,
    `readTextFile`, `writeTextFile`, `terminal`, `auth.terminal`) are booleans; `{}` counts as
    false.
    """


@rule.warning(62, "implied", "agent", on.result("initialize"), version=2, source="v2/migration.mdx")
@fix("Leave them out; version 2 has them always.")
@checked_by(schema, at=tuple(f"capabilities.{each}" for each in LEFTOVERS), kinds="member")
def leftover_v1_capability() -> None:
    """No leftovers `session.list`, `session.resume`, `session.close`, `session.load`,
    `loadSession`, `auth.logout` markers.
    """


@rule.warning(63, "must", "both", on.request("initialize"), on.result("initialize"))
@details(source="extensibility.mdx")
@fix("Put custom data into _meta.")
def unknown_capability(context: Context) -> CheckResult:
    """Unknown keys at the root of a capability object belong in `_meta`."""
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


@rule.warning(64, "should", "agent", on.result("initialize"))
@fix("Claim what the agent can do.")
def no_capabilities(context: Context) -> CheckResult:
    """The result carries capabilities (an empty answer makes everything unsupported).

    Another rule reports the name of the other version.
    """
    version = context.result_object.get("protocolVersion")
    if type(version) is not int or version not in VERSIONS:
        return None
    if not any(context.result_object.get(SETS[each, "agent"]) for each in VERSIONS):
        return context.problem("the agent claims no capabilities")
    return OK


@rule.warning(65, "schema", "both", on.request("initialize"), on.result("initialize"))
@details(source="initialization.mdx")
@fix("Claim it where it belongs.")
def misplaced_capability(context: Context) -> CheckResult:
    """No capability in the wrong place (e.g. `image` directly under `agentCapabilities`,
    `readTextFile` directly under `clientCapabilities`): schema validation passes, readers ignore
    it, the feature counts as unsupported.
    """
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


@rule.info(67, "heuristic", "client", on.error())
@fix("Answer what you claim, or do not claim it.")
def declared_but_unsupported(context: Context) -> CheckResult:
    """Declared capability is exercised with an error: e.g. `fs.readTextFile:true` but
    `fs/read_text_file` answered -32601.
    """
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
