"""Detects a dialect by messages that no official peer sends.

One optional field is no proof, because official ACP allows additional ones. What counts is how the
connection is opened, and messages that have fields of the dialect in place of required ones. A peer
that opens the connection officially is official, unless it leaves out the required `prompt` later
and the other side says nothing official. A client that has begun a session officially does not use
Continuum later.

| first seen                                                                | dialect   |
|---------------------------------------------------------------------------|-----------|
| `initialize` with `capabilities` in place of `clientCapabilities`, with   | acpex     |
| its `fileSystem`, a terminal's `create`, or `authenticationMethods`       |           |
| its result with `sessions`, `prompts` or `mcp` as objects, with `meta`,   | acpex     |
| or with `authenticationMethods`                                           |           |
| `update.kind`, a word of the dialect, without `sessionUpdate`             | acpex     |
| `initialize` with `readTextFile` or `writeTextFile` outside `fs`          | continuum |
| its result with `image`, `audio`, `embeddedContext`, `mcp` as booleans    | continuum |
| `session/new` with `mode` and without `cwd`                               | continuum |
| `session/prompt` with `content` and without `prompt`: with `model` or the | continuum |
| like, or after a `session/new` without `cwd`                              |           |
| `session/prompt` with `content` and without `prompt` otherwise            | acpex     |
| a result with `createdAt` and `historyLength`                             | continuum |
| `session/update` with a list `content` and without `update`               | continuum |
| `mcp/connect` of a client with `id`                                       | continuum |
| a result with two of the abilities of an agent as booleans                | openoxide |
| `{"type":"prompt","session_id":…}` without JSON-RPC                       | openoxide |
| `session/new` with `working_dir` and without `cwd`                        | openoxide |
| lengths before frames, and `initialize` without `clientCapabilities` or   | openoxide |
| without `protocolVersion`                                                 |           |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from acp_protocol.framing import Framing, Side
from acp_protocol.json_values import as_object, as_string, get_object
from acp_protocol.jsonrpc import (
    INVALID_REQUEST,
    InvalidMessage,
    Json,
    Notification,
    Request,
    SuccessResponse,
    parse,
    read_message,
)
from acp_protocol.schema.vocabulary import PROMPT_CAPABILITIES

if TYPE_CHECKING:
    from acp_protocol.dialects.base import Object

MAX_FRAMES: Final = 64
"""Frames of one side that are examined, at most."""

_PROMPT: Final = b"session/prompt"
_FLAT: Final = (*PROMPT_CAPABILITIES.values(), "mcp")
_ABILITIES: Final = ("file_read", "file_write", "terminal_exec", "web_search", "session_fork")
_OFFICIAL: Final = ("promptCapabilities", "sessionCapabilities", "auth")
_KINDS: Final = frozenset(
    {
        "message",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
    }
)
"""The kinds of updates in ACPex."""
_GENERATION: Final = ("model", "stream", "temperature", "maxTokens")


def is_official_agent(capabilities: Mapping[str, Json]) -> bool:
    """Return whether the capabilities of an agent are such that no dialect has."""
    return _has_any(capabilities, _OFFICIAL, dict)


class DialectDetector:
    """Examines the first frames of one connection until it recognises a dialect."""

    def __init__(self, framing: Framing | None = None) -> None:
        """`framing` is the peer's framing, if it is known already."""
        self.framing = framing
        self.name: str | None = None
        """The dialect; None while none is recognised."""
        self._seen: dict[Side, int] = {"client": 0, "agent": 0}
        self._begins_officially = False
        """Whether the client began a session with all official fields."""
        self._begins_elsewhere = False
        """Whether the client began a session without a directory."""

    def feed(self, raw: bytes, sent_by: Side) -> str | None:
        """Examine the next frame; return the dialect's name, None while none is recognised."""
        if self.name is not None:
            return self.name
        try:
            if not self.is_settled(sent_by):
                self._seen[sent_by] += 1
                self.name = self._look(raw, sent_by)
            elif sent_by == "client" and 0 < self._seen["agent"] < MAX_FRAMES:
                self.name = self._late_doubt(raw)
        except RecursionError:
            self.name = None
        return self.name

    def is_settled(self, side: Side) -> bool:
        """Return whether more frames of this side would change nothing."""
        return self.name is not None or self._seen[side] >= MAX_FRAMES

    def _look(self, raw: bytes, sent_by: Side) -> str | None:
        match read_message(raw):
            case Request(method="initialize", params=params) if sent_by == "client":
                return self._opening(as_object(params))
            case Request(method=method, params=params) | Notification(method=method, params=params):
                return self._by_call(method, as_object(params), sent_by)
            case SuccessResponse(result=result) if sent_by == "agent":
                return self._by_result(as_object(result))
            case InvalidMessage(code=code) if code == INVALID_REQUEST and sent_by == "client":
                value = as_object(parse(raw))
                is_prompt = "jsonrpc" not in value and value.get("type") == "prompt"
                return "openoxide" if is_prompt and as_string(value.get("session_id")) else None
            case _:
                return None

    def _late_doubt(self, raw: bytes) -> str | None:
        """Examine a frame of a client that opened officially; the agent has not done so."""
        if _PROMPT not in raw:
            return None
        match read_message(raw):
            case Request(method="session/prompt", params=params):
                return self._by_prompt(as_object(params))
            case _:
                return None

    def _opening(self, params: Object) -> str | None:
        flat, theirs = get_object(params, "clientCapabilities"), params.get("capabilities")
        is_official = isinstance(flat.get("fs"), dict) or "info" in params
        if not is_official and _has_any(flat, ("readTextFile", "writeTextFile"), bool):
            return "continuum"
        theirs = as_object(theirs)
        abilities = isinstance(theirs.get("fileSystem"), dict) or "create" in as_object(
            theirs.get("terminal")
        )
        if not is_official and (abilities or "authenticationMethods" in params):
            return "acpex"
        has_both = "clientCapabilities" in params and "protocolVersion" in params
        if self.framing == "headers" and not has_both:
            return "openoxide"
        is_first = params.get("protocolVersion") == 1 and "clientCapabilities" not in params
        if not is_official and is_first and isinstance(params.get("capabilities"), dict):
            return "acpex"
        if is_official:
            self._settle("client")
        return None

    def _by_result(self, result: Object) -> str | None:
        if sum(isinstance(result.get(name), bool) for name in _ABILITIES) > 1:
            return "openoxide"
        if "createdAt" in result and "historyLength" in result:
            return "continuum"
        if "protocolVersion" not in result:
            return None
        capabilities = get_object(result, "agentCapabilities")
        if is_official_agent(capabilities) or "info" in result:
            self._settle("agent")
            return None
        if _has_any(capabilities, _FLAT, bool):
            return "continuum"
        is_renamed = isinstance(result.get("meta"), dict) or "authenticationMethods" in result
        has_renamed = _has_any(capabilities, ("sessions", "prompts", "mcp"), dict)
        return "acpex" if is_renamed or has_renamed else None

    def _by_call(self, method: str, params: Object, sent_by: Side) -> str | None:
        if method == "session/new":
            self._begins_officially |= "cwd" in params and "mcpServers" in params
            self._begins_elsewhere |= "cwd" not in params
        if sent_by == "agent":
            if method != "session/update":
                return None
            if "update" not in params:
                return "continuum" if isinstance(params.get("content"), list) else None
            update = as_object(params["update"])
            is_kind = "sessionUpdate" not in update and as_string(update.get("kind")) in _KINDS
            return "acpex" if is_kind else None
        if method == "session/new" and "cwd" not in params and "working_dir" in params:
            return "openoxide"
        if method == "session/prompt":
            return self._by_prompt(params)
        if self._begins_officially:
            return None
        has_mode = bool(as_string(params.get("mode"))) and "cwd" not in params
        has_id = bool(as_string(params.get("id"))) and "serverId" not in params
        is_theirs = (method == "session/new" and has_mode) or (method == "mcp/connect" and has_id)
        return "continuum" if is_theirs else None

    def _by_prompt(self, params: Object) -> str | None:
        if "prompt" in params or not isinstance(params.get("content"), list):
            return None
        if "session_id" in params:
            return "openoxide"
        is_flat = any(name in params for name in _GENERATION) or self._begins_elsewhere
        return "continuum" if is_flat else "acpex"

    def _settle(self, side: Side) -> None:
        self._seen[side] = MAX_FRAMES


def _has_any(value: Mapping[str, Json], names: tuple[str, ...], kind: type[bool | Object]) -> bool:
    return any(isinstance(value.get(name), kind) for name in names)
