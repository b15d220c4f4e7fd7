"""The MCP servers that a client passes when it sets up a session.

Source: ACP, "Session Setup"; the RFD about MCP over ACP.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, claimed, schema
from acp_inspector.lint.context import CheckResult, Context, Place, Problem, Violation, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, each_of, fix
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OPENING

rule = LintSubject("sessions", page="session-setup.mdx")

SPECIAL: Final = frozenset({"acp", "sse"})
"""Transports that a rule of their own is about."""


def _servers(context: Context) -> Iterator[Place]:
    """Yield each server that is an object, with its path."""
    for index, each in enumerate(as_list(context.params.get("mcpServers"))):
        if isinstance(each, dict):
            yield f"params.mcpServers.{index}", as_object(each)


@rule.error(86, "schema", "client", on.request("session/new", "session/load"), version=1)
@details(case="session.servers")
@fix('Send "mcpServers": [] where there are none.')
@checked_by(schema, at="mcpServers")
def missing_mcp_servers() -> None:
    """`session/new` and `session/load` contain the `mcpServers` array, even if empty."""


@rule.error(87, "must", "client", on.request(*OPENING), version=1)
@fix("Send http servers only with mcpCapabilities.http: true.")
@checked_by(claimed, v1="mcpCapabilities.http", at="mcpServers.*.type", value="http")
def undeclared_mcp_http() -> None:
    """MCP `type:"http"` only with `mcpCapabilities.http: true`."""


@rule.error(88, "must", "client", on.request(*OPENING), version=1)
@fix("Send sse servers only with mcpCapabilities.sse: true.")
@checked_by(claimed, v1="mcpCapabilities.sse", at="mcpServers.*.type", value="sse")
def undeclared_mcp_sse() -> None:
    """MCP `type:"sse"` only with `mcpCapabilities.sse: true`."""


@rule.error(89, "must", "client", on.request(*OPENING), version=2, case="session.server-types")
@fix("Send only servers of a transport listed below session.mcp in the agent's capabilities.")
def undeclared_mcp_transport(context: Context) -> CheckResult:
    """MCP `type:"stdio"` only with `session.mcp.stdio`, `type:"http"` only with
    `session.mcp.http`.
    """
    found = [
        claimed(context, f"session.mcp.{each}", at="mcpServers.*.type", value=each)
        for each in ("stdio", "http")
    ]
    problems = [each for each in found if each is not None]
    return sum(problems, ()) if problems else None


@rule.error(90, "must", "client", on.request(*OPENING), version=2, case="session.server-types")
@details(source="v2/migration.mdx")
@fix("Use http, or leave the server out.")
@each_of(_servers)
def mcp_sse_in_v2(context: Context, place: str, server: dict[str, Json]) -> Iterator[Violation]:
    """MCP `type:"sse"` does not exist in v2."""
    if server.get("type") == "sse":
        yield "an MCP server is of type sse, which version 2 does not have", f"{place}.type"


@rule.error(91, "schema", "client", on.request(*OPENING), version=2, case="session.server-types")
@details(source="schema; v2/extensibility.mdx")
@fix('Give every server its type: "stdio", "http", or one that begins with “_”.')
def unknown_mcp_transport(context: Context) -> CheckResult:
    """Every `mcpServers[]` entry has a `type`; unknown transports that do not begin with `_` are
    reserved for ACP (warning).
    """
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


@rule.error(92, "schema", "client", on.request(*OPENING), version=1, case="session.server-fields")
@fix("Send name, command, args and env for a stdio server, name, url and headers for others.")
@checked_by(schema, at="mcpServers.*.name|command|args|env|url|headers", kinds="missing")
@checked_by(schema, at="mcpServers.*.name|command|args|url", kinds="type")
def incomplete_mcp_server() -> None:
    """Stdio entries carry `name`, `command`, `args`, `env`; http/sse entries `name`, `url`,
    `headers` (arrays even if empty).
    """


@rule.error(93, "implied", "client", on.request(*OPENING))
@fix("Resolve the command to its absolute path first.")
@checked_by(absolute, at="mcpServers.*.command")
def relative_mcp_command() -> None:
    """Stdio `command` is an absolute path."""


@rule.error(94, "schema", "client", on.request(*OPENING), case="session.server-fields")
@fix('Write {"name": …, "value": …} for each, in an array.')
@checked_by(schema, at=("mcpServers.*.env|headers", "mcpServers.*.env|headers.*"), kinds="type")
@checked_by(schema, at="mcpServers.*.env|headers.*.name|value")
def mcp_env_not_list() -> None:
    """`env` and `headers` are arrays of `{name,value}` strings, not objects."""


@rule.error(95, "schema", "client", on.request(*OPENING), source="rfds/mcp-over-acp.mdx")
@fix("Send servers of type acp only if the agent claimed mcp over acp.")
def undeclared_acp_server(context: Context) -> CheckResult:
    """`type:"acp"` MCP servers only with `mcpCapabilities.acp` (v1u) / `session.mcp.acp` (v2u)."""
    path = "session.mcp.acp" if context.version == 2 else "mcpCapabilities.acp"
    return claimed(context, path, at="mcpServers.*.type", value="acp")
