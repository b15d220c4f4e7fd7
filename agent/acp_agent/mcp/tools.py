"""The tools of an MCP server: what it lists, what is offered to models, and what a call returns.

The SDK accepts a list of tools as a whole or not at all: one invalid tool would cost the user all
others of its server. So answers that list tools are filtered on their way to the SDK.

One schema that a service refuses would fail each request to the model, so a schema that is not
valid is found here. References outside of a schema are never fetched. Keywords that only narrow
the arguments may be dropped: the server checks its arguments itself.

A server may list whatever it likes, and again at any time: too much, the same twice, descriptions
with characters that users do not see, pages without an end. What it claims about its tools is not
trusted: whether one only reads is its own claim. Every call counts as running a program, and an
"always" holds for that one tool.

Source: MCP, Tools; JSON Schema 2020-12; OpenAI, "Function calling"; Anthropic, "Tool use".
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, assert_never, cast

from anyio.abc import ObjectReceiveStream
from jsonschema import Draft202012Validator, exceptions
from mcp.client import Client, Transport
from mcp.shared.message import SessionMessage
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    JSONRPCResponse,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)
from mcp_types.methods import parse_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from acp_agent.mcp.declarations import Limits, tool_name, unmarked
from acp_agent.models.types import ToolSpec
from acp_agent.tools.call import (
    MAX_TEXT_CHARS,
    Outcome,
    PreparedCall,
    ReportContent,
    SideEffect,
    fenced,
    shorten,
)
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import name_subject
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import get_object, get_objects, get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind

METHOD: Final = "tools/list"
MAX_TOOLS: Final = 1024
"""Tools of one answer that are looked at; those behind them are left out."""
MAX_NAMED: Final = 5
"""Tools that are named, of those that are left out."""
NAME_WIDTH: Final = 80
REASON_WIDTH: Final = 200
_ENVELOPE: Final[Mapping[str, Json]] = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
"""The other members of an answer, so that nothing but the tool can be wrong with it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tools that a server lists and a model cannot call."""

    name: str
    """That of the tool, as its server spells it."""
    reason: str
    """Fits behind the name."""
    count: int = 1

    def __str__(self) -> str:
        """Return the name and the reason, on one line."""
        name = single_line(self.name, NAME_WIDTH)
        return f"{name} ({single_line(self.reason, REASON_WIDTH)})"


def describe_left_out(left_out: Sequence[LeftOut]) -> str:
    """Return which tools are left out, and why."""
    more = sum(each.count for each in left_out) - len(left_out[:MAX_NAMED])
    named = "; ".join(map(str, left_out[:MAX_NAMED]))
    return f"{named}; and {more} more" if more else named


class ToolFilter:
    """Removes invalid tools from the lists of one server."""

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        """The version of MCP that is spoken with the server."""
        self._left_out: list[LeftOut] = []

    @asynccontextmanager
    async def around(self, transport: Transport) -> AsyncGenerator[tuple[_Incoming, Any]]:
        """Open a transport whose lists of tools are filtered."""
        async with transport as (from_server, to_server):
            yield _Incoming(from_server, self), to_server

    def take(self) -> list[LeftOut]:
        """Return what was left out since the last call."""
        left_out, self._left_out = self._left_out, []
        return left_out

    def filter(self, result: dict[str, Json]) -> dict[str, Json]:
        """Return an answer with those of its tools that the SDK accepts.

        They come without an `outputSchema`: a server could choose one against which one small
        result is validated for ever.
        """
        listed: Json = result.get("tools")
        if not isinstance(listed, list):
            return result
        tools = cast("list[Json]", listed)
        kept: list[Json] = []
        for tool in tools[:MAX_TOOLS]:
            reason = self._error_in(tool)
            if reason is None:
                members = cast("Mapping[str, Json]", tool).items()
                kept.append({name: each for name, each in members if name != "outputSchema"})
            else:
                self._left_out.append(LeftOut(_name_of(tool), reason))
        if behind := tools[MAX_TOOLS:]:
            reason = f"the server lists more than {MAX_TOOLS} at once"
            self._left_out.append(LeftOut(_name_of(behind[0]), reason, len(behind)))
        return {**result, "tools": kept}

    def _error_in(self, tool: Json) -> str | None:
        try:
            parse_server_result(METHOD, self.version, {**_ENVELOPE, "tools": [tool]})
        except ValidationError as problem:
            found = problem.errors(include_url=False, include_context=False, include_input=False)
            where = ".".join(map(str, found[0]["loc"][2:]))
            wrong = "is missing" if found[0]["type"] == "missing" else "is not what MCP wants"
            return f"its {where} {wrong}" if where else "it is not a tool"
        return None


def _name_of(tool: Json) -> str:
    return get_text(tool, "name") or "one without a name"


class _Source(Protocol):
    """What a transport has read."""

    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a server, their lists of tools filtered."""

    def __init__(self, source: _Source, tool_filter: ToolFilter) -> None:
        self._source = source
        self._tool_filter = tool_filter

    async def receive(self) -> SessionMessage | Exception:
        item = await self._source.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            answer = item.message
            filtered = self._tool_filter.filter(answer.result)
            return SessionMessage(answer.model_copy(update={"result": filtered}), item.metadata)
        return item

    async def aclose(self) -> None:
        await self._source.aclose()


MAX_DEPTH: Final = 64
"""Schemas within schemas."""
_NOT_AT_ROOT: Final = frozenset(
    {"$schema", "$vocabulary", "allOf", "anyOf", "enum", "not", "oneOf"}
)
"""Keywords that services refuse at the root, or read by a version of JSON Schema of their own."""
_PROPERTY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The names of arguments that every service takes."""
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_META: Final = Draft202012Validator(Draft202012Validator.META_SCHEMA)

Schema: TypeAlias = dict[str, Json]


class UnfitToolError(ValueError):
    """A tool cannot be offered to a model; the message fits behind its name."""


def offered_schema(schema: Mapping[str, Json]) -> Schema:
    """Return the schema of an object that every service takes and that accepts no less.

    Schemas inside of `schema` are changed in place.

    Raises:
        UnfitToolError: there is none.
    """
    root = {name: value for name, value in schema.items() if name not in _NOT_AT_ROOT}
    if root.setdefault("type", "object") != "object":
        raise UnfitToolError("its arguments are not an object")
    try:
        found = exceptions.best_match(_META.iter_errors(root))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        error = cast("exceptions.ValidationError | None", found)
        subschemas = list(_subschemas(root))
    except RecursionError:
        raise UnfitToolError("its inputSchema is nested too deeply") from None
    if error is not None:
        path = ".".join(map(str, error.absolute_path)) or "its root"
        raise UnfitToolError(f"its inputSchema is no JSON Schema at {path}")
    for name in cast("Schema", root.get("properties", {})):
        if not _PROPERTY.fullmatch(name):
            raise UnfitToolError(f"no service takes an argument called {name!r}")
    registry: Registry[Any] = Registry[Any]().with_resource("", DRAFT202012.create_resource(root))
    for each in subschemas:
        for keyword in _REFERENCES:
            if keyword in each:
                _check_reference(each[keyword], registry)
        types: Json = each.get("type")
        if types == "array" or (isinstance(types, list) and "array" in types):
            each.setdefault("items", {})
    return root


def _subschemas(schema: Json, depth: int = 0) -> Iterator[Schema]:
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(schema, dict):
        members = cast("Schema", schema)
        yield members
        try:
            inner = list(DRAFT202012.subresources_of(members))
        except (AttributeError, TypeError):
            return  # It is no schema, which the check against the meta-schema finds.
        for each in inner:
            yield from _subschemas(each, depth + 1)


def _check_reference(reference: str, registry: Registry[Any]) -> None:
    if not reference.startswith("#"):
        raise UnfitToolError(f"it refers to {reference}, which is not fetched")
    try:
        found = registry.resolver().lookup(reference).contents
    except (Unresolvable, LookupError, TypeError, ValueError):
        found = None
    if not isinstance(found, dict | bool):
        raise UnfitToolError(f"it refers to {reference}, which is not there")


logger = logging.getLogger(__name__)

MAX_PAGES: Final = 100
"""Pages of a list that are read."""
TITLE_WIDTH: Final = 80
"""Characters of a tool's own title that are shown."""
Call: TypeAlias = Callable[[str, dict[str, Json]], Awaitable[Outcome]]
"""Calls a tool by the name that its server knows."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of one server."""

    offer: ToolSpec
    title: str
    name: str
    """What the server calls it."""
    call: Call
    kind: ToolKind = "execute"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Return the call; the server checks the arguments."""
        del workspace

        async def run(report: ReportContent) -> Outcome:
            del report
            return await self.call(self.name, dict(arguments))

        # A rule about a tool also means the tools of that name that a server lists besides.
        alone = unmarked(self.offer.name)
        effects = [SideEffect(self.kind, name_subject(alone))] if alone != self.offer.name else []
        return PreparedCall(self.title, self.kind, run, scope=self.offer.name, effects=effects)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server as they were listed last, by the names that models call them."""

    tools: dict[str, McpTool]
    left_out: Sequence[LeftOut] = ()

    @property
    def left_out_count(self) -> int:
        """How many tools are left out."""
        return sum(each.count for each in self.left_out)


async def list_tools(
    client: Client, tool_filter: ToolFilter, server: str, limits: Limits, call: Call
) -> Listing:
    """Return the tools of a server within the limits; what the SDK raises is raised."""
    tool_filter.take()
    found: list[Tool] = []
    cursor = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > limits.tools:
            break
    tools: dict[str, McpTool] = {}
    left_out = tool_filter.take()
    for tool in found[: limits.tools]:
        name = tool_name(server, tool.name, tools)
        try:
            spec = _tool_spec(tool, name, limits.tool_size)
        except UnfitToolError as problem:
            left_out.append(LeftOut(tool.name, str(problem)))
            continue
        if name in tools:
            left_out.append(LeftOut(tool.name, "the server lists it twice"))
            continue
        hints = tool.annotations
        title = tool.title or (hints.title if hints else None) or tool.name
        shown = f"{single_line(title, TITLE_WIDTH)} ({server})"
        tools[name] = McpTool(spec, shown, tool.name, call)
    if behind := found[limits.tools :]:
        reason = f"the server has more than {limits.tools}"
        left_out.append(LeftOut(behind[0].name, reason, len(behind)))
    listing = Listing(tools, left_out)
    if left_out:
        count, about = listing.left_out_count, describe_left_out(left_out)
        logger.warning("MCP server %s: tools left out: %d: %s", server, count, about)
    return listing


def _tool_spec(tool: Tool, name: str, max_size: int) -> ToolSpec:
    """Return what a model gets to know of a tool.

    Raises:
        UnfitToolError: no model can be offered it.
    """
    about = tool.description or tool.title or tool.name
    try:
        text = json.dumps(tool.input_schema, allow_nan=False)
    except (ValueError, RecursionError):
        raise UnfitToolError("its inputSchema cannot be sent to a model") from None
    if len(text) + len(about) > max_size:
        raise UnfitToolError(f"its description and schema exceed {max_size} characters")
    return ToolSpec(name, escape_controls(about), offered_schema(json.loads(text)))


Block: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


def outcome_of(result: CallToolResult, limits: Limits) -> Outcome:
    """Return what came of a call, within the limits."""
    text = "\n".join(_texts(result))
    return Outcome(
        shorten(text),
        list(_content(result, limits.result_size)),
        _raw(result),
        is_failed=result.is_error,
    )


def _texts(result: CallToolResult) -> Iterator[str]:
    """Yield what the model reads; pictures and sounds are named only."""
    for block in result.content:
        yield _described(block)
    if not result.content and result.structured_content is not None:
        yield json.dumps(result.structured_content, ensure_ascii=False)


def _described(block: Block) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return f"[{block.type} {block.mime_type}, shown to the user only]"
        case ResourceLink():
            return f"{block.title or block.name}: {block.uri}"
        case EmbeddedResource():
            held = block.resource
            if isinstance(held, TextResourceContents):
                return held.text
            return f"[{held.uri}, {held.mime_type or 'no text'}]"
        case _:
            assert_never(block)


def _content(result: CallToolResult, room: int) -> Iterator[Mapping[str, Json]]:
    """Yield what the user sees: pictures and sounds as long as there is room for them."""
    for block in result.content:
        match block:
            case ImageContent() | AudioContent() if len(block.data) <= room:
                room -= len(block.data)
                yield _shown({"type": block.type, "data": block.data, "mimeType": block.mime_type})
            case ImageContent() | AudioContent():
                yield from fenced(f"[{block.type} {block.mime_type}, too large to show]")
            case ResourceLink():
                yield _shown({"type": "resource_link", "name": block.name, "uri": block.uri})
            case _:
                yield from fenced(_described(block))
    if not result.content and result.structured_content is not None:
        yield from fenced(json.dumps(result.structured_content, ensure_ascii=False, indent=2))


def _shown(block: Mapping[str, Json]) -> Mapping[str, Json]:
    return {"type": "content", "content": block}


def _raw(result: CallToolResult) -> Mapping[str, Json]:
    """Return the result as it came, but without pictures, sounds and what is too long."""
    whole = result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude_unset=True)
    for block in get_objects(whole, "content"):
        for holder in (block, get_object(block, "resource")):
            for name in ("data", "blob"):
                if (data := get_text(holder, name)) is not None:
                    holder[name] = f"… {len(data)} characters"
    size = len(json.dumps(whole))
    if size > MAX_TEXT_CHARS:
        return {"isError": result.is_error, "leftOut": f"{size} characters"}
    return whole
