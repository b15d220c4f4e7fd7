"""The MCP servers that a client passes when it sets up a session.

Source: ACP, "Session Setup"; the RFD about MCP over ACP.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, Place, Problem, Violation, quoted
from acp_inspector.lint.registry import check, each_of
from acp_inspector.lint.text_checks import is_absolute
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OPENING

REMOTE: Final = frozenset({"http", "sse"})
"""Transports of version 1 that have a URL."""
SPECIAL: Final = frozenset({"acp", "sse"})
"""Transports that a rule of their own is about."""
PAIRS: Final = ("env", "headers")
"""Members that list names with values."""


def _servers(context: Context) -> Iterator[Place]:
    """Yield each server that is an object, with its path."""
    for index, each in enumerate(as_list(context.params.get("mcpServers"))):
        if isinstance(each, dict):
            yield f"params.mcpServers.{index}", as_object(each)


def _transport(server: dict[str, Json], version: int | None) -> str:
    """Return a server's transport: in version 1, `stdio` without another known tag."""
    tag = server.get("type")
    if version == 2:
        return tag if isinstance(tag, str) else ""
    return tag if isinstance(tag, str) and (tag in REMOTE or tag == "acp") else "stdio"


@check("ACP-L086", on.request("session/new", "session/load"))
def servers_are_listed(context: Context) -> CheckResult:
    servers: Json = context.params.get("mcpServers")
    if isinstance(servers, list):
        return OK
    if "mcpServers" not in context.params:
        return context.problem(f"{context.method} has no mcpServers", at="mcpServers")
    return context.problem(
        f"mcpServers is not an array: {quoted(servers)}",
        at="mcpServers",
        severity="warning" if servers is None else None,
    )


@check("ACP-L087", on.request(*OPENING), wanted="http", path="mcpCapabilities.http")
@check("ACP-L088", on.request(*OPENING), wanted="sse", path="mcpCapabilities.sse")
def _gated(context: Context, wanted: str, path: str) -> CheckResult:
    """Find servers of one transport whose capability the agent did not claim."""
    if not context.state.is_ready:
        return None
    servers = [
        place for place, each in _servers(context) if _transport(each, context.version) == wanted
    ]
    if not servers:
        return None
    if context.state.claims("agent", path):
        return OK
    initialize = context.state.initialize
    frames = (context.seq,) if initialize is None else (initialize.seq, context.seq)
    return tuple(
        Problem(
            f"an MCP server is of type {wanted} though the agent did not claim {path}",
            frames,
            path=f"{place}.type",
        )
        for place in servers
    )


@check("ACP-L089", on.request(*OPENING))
def transports_are_claimed(context: Context) -> CheckResult:
    found = [_gated(context, each, f"session.mcp.{each}") for each in ("stdio", "http")]
    problems = [each for each in found if each is not None]
    return sum(problems, ()) if problems else None


@check("ACP-L090", on.request(*OPENING))
@each_of(_servers)
def there_is_no_sse(context: Context, place: str, server: dict[str, Json]) -> Iterator[Violation]:
    if server.get("type") == "sse":
        yield "an MCP server is of type sse, which version 2 does not have", f"{place}.type"


@check("ACP-L091", on.request(*OPENING))
def servers_have_a_type(context: Context) -> CheckResult:
    servers = list(_servers(context))
    problems: list[Problem] = []
    for place, server in servers:
        tag, path = server.get("type"), f"{place}.type"
        if not isinstance(tag, str):
            text = f"the MCP server {quoted(server.get('name'))} has no type"
            problems += context.problem(text, path=path)
        elif tag not in {"stdio", "http"} | SPECIAL and not tag.startswith("_"):
            text = f"{quoted(tag)} is not a transport of version 2"
            problems += context.problem(text, path=path, severity="warning")
    return tuple(problems) if servers else None


@check("ACP-L092", on.request(*OPENING))
@each_of(_servers)
def servers_are_complete(
    context: Context, place: str, server: dict[str, Json]
) -> Iterator[Violation]:
    transport = _transport(server, 1)
    if transport == "acp":
        return
    texts = ("name", "url") if transport in REMOTE else ("name", "command")
    lists = ("headers",) if transport in REMOTE else ("args", "env")
    for name in (*texts, *lists):
        value = server.get(name)
        kind = str if name in texts else list
        if name not in server:
            yield f"the {transport} server has no {name}", f"{place}.{name}"
        # Readers treat null as an empty list, and pairs have a rule of their own.
        elif not isinstance(value, kind) and name not in PAIRS and (value, kind) != (None, list):
            what = "string" if kind is str else "array"
            yield f"{name} is no {what}: {quoted(value)}", f"{place}.{name}"


def _commands(context: Context) -> list[Place]:
    return [
        (place, each)
        for place, each in _servers(context)
        if _transport(each, context.version) == "stdio" and isinstance(each.get("command"), str)
    ]


@check("ACP-L093", on.request(*OPENING))
@each_of(_commands)
def commands_are_absolute(
    context: Context, place: str, server: dict[str, Json]
) -> Iterator[Violation]:
    if not is_absolute(server["command"]):
        text = f"the command is not an absolute path: {quoted(server['command'])}"
        yield text, f"{place}.command"


def _with_pairs(context: Context) -> list[Place]:
    servers = _servers(context)
    return [each for each in servers if any(each[1].get(name) is not None for name in PAIRS)]


@check("ACP-L094", on.request(*OPENING))
@each_of(_with_pairs)
def variables_and_headers_are_pairs(
    context: Context, place: str, server: dict[str, Json]
) -> Iterator[Violation]:
    for name in PAIRS:
        pairs = server.get(name)
        if pairs is not None and not isinstance(pairs, list):
            what = "an object" if isinstance(pairs, dict) else "no array"
            yield f"{name} is {what}", f"{place}.{name}"
        for index, each in enumerate(as_list(pairs)):
            where = f"{place}.{name}.{index}"
            if not isinstance(each, dict):
                yield "the entry is not an object with name and value", where
                continue
            for part in ("name", "value"):
                if not isinstance(as_object(each).get(part), str):
                    yield f"{part} is missing or no string", f"{where}.{part}"


@check("ACP-L095", on.request(*OPENING))
def acp_is_claimed(context: Context) -> CheckResult:
    path = "session.mcp.acp" if context.version == 2 else "mcpCapabilities.acp"
    return _gated(context, "acp", path)
