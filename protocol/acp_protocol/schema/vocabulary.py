"""The sets of words of ACP that the code asks about: what opens a session, what ends a call.

`words.py` and the tables of methods have every word of each version, made from the schemas. What
words mean to the tools stands here, for all versions; a test looks up each word in the schemas.
"""

from __future__ import annotations

from typing import Final

from acp_protocol.jsonrpc import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
)
from acp_protocol.schema.words import ToolCallStatus, ToolKind, UpdateKind

CREATING: Final = ("session/new", "session/fork")
"""Requests that create a session; its id comes with the response."""
RESTORING: Final = ("session/load", "session/resume")
"""Requests that open a session of before; some replay it."""
OPENING: Final = (*CREATING, *RESTORING)
"""Requests that open a session."""
CLOSING: Final = ("session/close", "session/delete")
"""Requests that end a session."""
CANCELLING: Final = ("$/cancel_request", "session/cancel", "tool_call/cancel", "terminal/cancel")
"""Messages of a client that end what the agent is doing."""

USER_MESSAGES: Final[frozenset[UpdateKind]] = frozenset({"user_message_chunk", "user_message"})
AGENT_CHUNKS: Final[frozenset[UpdateKind]] = frozenset(
    {"agent_message_chunk", "agent_thought_chunk"}
)
MESSAGE_CHUNKS: Final[frozenset[UpdateKind]] = frozenset({"user_message_chunk", *AGENT_CHUNKS})
"""Pieces of the messages of a session."""
REPLIES: Final[frozenset[UpdateKind]] = frozenset({"agent_message_chunk", "agent_message"})
"""What the agent says to the user, in pieces or whole."""
WHOLE_MESSAGES: Final[frozenset[UpdateKind]] = frozenset(
    {"user_message", "agent_message", "agent_thought"}
)
"""Messages of a session in one piece (version 2)."""
TEXT_CHUNKS: Final[frozenset[UpdateKind]] = frozenset(
    {*MESSAGE_CHUNKS, "session_message_chunk", "compaction_summary_chunk"}
)
"""Pieces of any text; each has one content block."""
CALL_UPDATES: Final[frozenset[UpdateKind]] = frozenset(
    {"tool_call", "tool_call_update", "tool_call_content_chunk"}
)
"""Updates that create or change a tool call."""
OUTPUT: Final[frozenset[UpdateKind]] = frozenset(
    {*AGENT_CHUNKS, "agent_message", "agent_thought", *CALL_UPDATES, "plan", "plan_update"}
)
"""Updates with output for the user, which an agent sends before the end of the turn."""
ASYNCHRONOUS: Final[frozenset[UpdateKind]] = frozenset(
    {
        *("available_commands_update", "session_info_update", "usage_update"),
        *("config_option_update", "current_mode_update"),
    }
)
"""Updates that an agent may send at any time, also between turns."""
REPLACING: Final[frozenset[UpdateKind]] = frozenset({*ASYNCHRONOUS, "plan", "plan_update"})
"""Updates that replace the previous one of the same kind."""

USER_METHODS: Final = frozenset({"session/request_permission", "elicitation/create"})
"""Requests of the agent that the user decides."""
FINAL_STATUSES: Final[frozenset[ToolCallStatus]] = frozenset({"completed", "failed", "cancelled"})
"""Statuses with which tool calls and compactions end; version 1 has no "cancelled"."""
EFFECT_KINDS: Final[frozenset[ToolKind]] = frozenset({"edit", "move", "delete", "execute"})
"""Kinds of calls that change something or run something."""
HARMLESS_KINDS: Final[frozenset[ToolKind]] = frozenset(
    {"read", "search", "think", "fetch", "switch_mode"}
)
"""Kinds of calls that do neither; "other" may do both."""
PROMPT_CAPABILITIES: Final = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""The capability that blocks of a kind need in prompts; the other kinds need none."""
BLOCK_KINDS: Final = frozenset({"text", "resource_link", *PROMPT_CAPABILITIES})
"""Kinds of content blocks."""

ERROR_CODES: Final = {
    1: frozenset(
        {
            *(PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR),
            *(AUTH_REQUIRED, RESOURCE_NOT_FOUND, REQUEST_CANCELLED),
        }
    )
}
"""The error codes that JSON-RPC and each version give a meaning."""
ERROR_CODES[2] = ERROR_CODES[1] | {UNSUPPORTED_VERSION}
UNREADABLE: Final = frozenset({PARSE_ERROR, INVALID_REQUEST})
"""Codes for an unreadable request, whose id is therefore unknown."""
