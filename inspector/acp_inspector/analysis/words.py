"""Words of the protocol that more than one module needs: update kinds, methods, statuses.

Source: ACP, Prompt Turn, `session/update`; Tool Calls; Session Setup; the same of version 2.
"""

from __future__ import annotations

from typing import Final

MESSAGE_CHUNKS: Final = frozenset(
    {
        *("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"),
        "session_message_chunk",
    }
)
"""Updates with a piece of a message."""
TEXT_CHUNKS: Final = MESSAGE_CHUNKS | {"compaction_summary_chunk"}
"""Updates with a piece of a text, `content`."""
TERMINAL_UPDATES: Final = frozenset({"terminal_update", "terminal_output_chunk"})
CALL_UPDATES: Final = frozenset({"tool_call", "tool_call_update"})
"""Updates with the members of a tool call."""
CALL_OUTPUT: Final = CALL_UPDATES | {"tool_call_content_chunk"}
STREAMED: Final = MESSAGE_CHUNKS | {"tool_call_content_chunk", "terminal_output_chunk"}
"""Updates that count for the rate of chunks."""
OUTPUT: Final = CALL_OUTPUT | {
    *("agent_message_chunk", "agent_message", "agent_thought_chunk", "agent_thought"),
    *("plan", "plan_update"),
}
"""Updates that a user has been waiting for."""
LAST_VALUE: Final = frozenset(
    {
        *("plan", "plan_update", "current_mode_update", "config_option_update", "usage_update"),
        *("session_info_update", "available_commands_update"),
    }
)
"""Updates that replace the one of the same kind before them."""

FINAL_STATUSES: Final = frozenset({"completed", "failed", "cancelled"})
"""Statuses of a tool call after which it does not change any more."""

OPENING_METHODS: Final = frozenset(
    {"session/new", "session/load", "session/resume", "session/fork"}
)
CLOSING_METHODS: Final = frozenset({"session/close", "session/delete"})
CHOOSING_METHODS: Final = frozenset({"session/set_mode", "session/set_config_option"})
USER_METHODS: Final = frozenset({"session/request_permission", "elicitation/create"})
"""Requests of the agent that the user decides."""
