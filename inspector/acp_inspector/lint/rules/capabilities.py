"""What both sides claim to be able to do.

Source: ACP, "Initialization", capabilities; "Authentication", methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import asks, check, failures, results
from acp_inspector.lint.state import FLAGS
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.strangers import find_strangers
from acp_protocol.schema.validate import shape

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
"""Markers of version 1 that say nothing in version 2."""
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
"""Where capabilities belong that are often claimed at the root."""
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


def _claimed(moment: Moment) -> tuple[str, dict[str, Json]] | None:
    """Return where a side claims its capabilities, and which; None when it does not at all."""
    if moment.version is None:
        return None
    name = SETS[moment.version, moment.side]
    place = "params" if moment.kind == "request" else "result"
    said = moment.params if moment.kind == "request" else moment.result_object
    claims = said.get(name)
    return (f"{place}.{name}", members(claims)) if isinstance(claims, dict) else None


@check("ACP-L060", asks("initialize"), results("initialize"), fix="Claim by {}, deny by null.")
def markers_are_objects(moment: Moment) -> Found:
    """Tell of true and false: they count as unsupported."""
    claimed = _claimed(moment)
    if claimed is None:
        return None
    for path, value in _inner(*claimed):
        if isinstance(value, bool):
            return moment.problem(f"{path} is {quoted(value)} instead of an object", path=path)
    return FINE


def _inner(path: str, claims: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield each capability with its path, from the outside in."""
    todo = [(path, claims)]
    while todo:
        place, held = todo.pop()
        for name, value in held.items():
            if name != "_meta":
                yield f"{place}.{name}", value
                if isinstance(value, dict):
                    todo.append((f"{place}.{name}", members(value)))


@check("ACP-L061", asks("initialize"), results("initialize"), fix="Claim by true, deny by false.")
def flags_are_booleans(moment: Moment) -> Found:
    """Tell of objects and words where a boolean is asked for: they count as false."""
    claimed = _claimed(moment)
    if claimed is None:
        return None
    place, claims = claimed
    for path in FLAGS[moment.side]:
        value = _at(claims, path)
        if value is not None and not isinstance(value, bool):
            return moment.problem(
                f"{path} is {quoted(value)} instead of a boolean", path=f"{place}.{path}"
            )
    return FINE


@check("ACP-L062", results("initialize"), fix="Leave them out; version 2 has them always.")
def no_leftovers_of_version_1(moment: Moment) -> Found:
    """Tell of markers that say nothing any more."""
    claimed = _claimed(moment)
    if claimed is None:
        return None
    place, claims = claimed
    for path in LEFTOVERS:
        if _at(claims, path) is not None:
            return moment.problem(f"{path} is a marker of version 1", path=f"{place}.{path}")
    return FINE


@check(
    "ACP-L063", asks("initialize"), results("initialize"), fix="Put what is your own into _meta."
)
def own_capabilities_stand_in_meta(moment: Moment) -> Found:
    """Tell of names that no capability has."""
    claimed = _claimed(moment)
    if claimed is None or moment.version is None:
        return None
    place, claims = claimed
    elsewhere = _elsewhere(moment)
    strangers = [
        path
        for path in find_strangers(shape(SHAPES[moment.side], moment.version), claims)
        if path not in elsewhere and path not in LEFTOVERS
    ]
    return tuple(
        problem
        for path in strangers[:5]
        for problem in moment.problem(f"{path} is no capability", path=f"{place}.{path}")
    )


@check("ACP-L064", results("initialize"), fix="Claim what the agent can do.")
def agents_claim_something(moment: Moment) -> Found:
    """Tell of an agent that claims nothing: all of it then counts as unsupported."""
    claimed = _claimed(moment)
    if claimed is None or not claimed[1]:
        return moment.problem("the agent claims no capabilities")
    return FINE


@check("ACP-L065", asks("initialize"), results("initialize"), fix="Claim it where it belongs.")
def capabilities_stand_where_they_belong(moment: Moment) -> Found:
    """Tell of capabilities that nobody looks for where they are."""
    claimed = _claimed(moment)
    if claimed is None:
        return None
    place, claims = claimed
    for name, right in _elsewhere(moment).items():
        if name in claims:
            return moment.problem(f"{name} belongs to {right}", path=f"{place}.{name}")
    return FINE


def _elsewhere(moment: Moment) -> dict[str, str]:
    is_agent_of_v2 = moment.version != 1 and moment.side == "agent"
    return PLACES_V2 if is_agent_of_v2 else PLACES[moment.side]


@check("ACP-L066", results("initialize"), fix="Give each method to log in an id of its own.")
def ways_to_log_in_are_told_apart(moment: Moment) -> Found:
    """Tell of ids that two methods share."""
    name = "id" if moment.version == 1 else "methodId"
    methods = entries(moment.result_object.get("authMethods"))
    seen: set[str] = set()
    for place, method in enumerate(map(members, methods)):
        id_ = method.get(name)
        if isinstance(id_, str):
            if id_ in seen:
                return moment.problem(
                    f"two ways to log in have the {name} {quoted(id_)}",
                    path=f"result.authMethods.{place}.{name}",
                )
            seen.add(id_)
    return FINE if methods else None


@check("ACP-L067", failures(), fix="Answer what you claim, or do not claim it.")
def clients_answer_what_they_claim(moment: Moment) -> Found:
    """Tell of a client that claims something and then does not know it."""
    ask = moment.ask
    if ask is None or ask.side != "agent" or moment.version is None:
        return None
    row = find_method(ask.method, moment.version)
    if row is None or row.gate is None:
        return None
    whose, _, path = row.gate.partition(".")
    if whose != "clientCapabilities" or not moment.state.claims("client", path):
        return None
    if moment.code == -32601:
        return moment.problem(
            f"{ask.method} was claimed by {row.gate} and is not found",
            moment.state.initialize,
            ask,
        )
    return FINE


def _at(claims: dict[str, Json], path: str) -> Json:
    value: Json = claims
    for name in path.split("."):
        value = members(value).get(name)
    return value
