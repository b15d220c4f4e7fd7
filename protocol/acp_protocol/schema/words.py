"""Words of ACP by version: `TOOL_KINDS[1]`. Made by tools/make_schema.py, never by hand.

Source: the published schemas with their unstable parts, v1+ce7881d10c85, v2+49e10f8c1935.
"""

from typing import Final, Literal, TypeAlias

UpdateKind: TypeAlias = Literal[
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "plan_update",
    "plan_removed",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
    "subagent_update",
    "session_message",
    "session_message_chunk",
    "user_message",
    "agent_message",
    "agent_thought",
    "state_update",
    "tool_call_content_chunk",
    "terminal_update",
    "terminal_output_chunk",
]
UPDATE_KINDS: Final[dict[int, tuple[UpdateKind, ...]]] = {
    1: (
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "plan_update",
        "plan_removed",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        "subagent_update",
        "session_message",
        "session_message_chunk",
    ),
    2: (
        "user_message_chunk",
        "user_message",
        "agent_message_chunk",
        "agent_message",
        "agent_thought_chunk",
        "agent_thought",
        "state_update",
        "tool_call_content_chunk",
        "tool_call_update",
        "terminal_update",
        "terminal_output_chunk",
        "plan_update",
        "plan_removed",
        "available_commands_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        "subagent_update",
        "session_message",
        "session_message_chunk",
    ),
}

ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
TOOL_KINDS: Final[dict[int, tuple[ToolKind, ...]]] = {
    1: (
        "read",
        "edit",
        "delete",
        "move",
        "search",
        "execute",
        "think",
        "fetch",
        "switch_mode",
        "other",
    ),
    2: (
        "read",
        "edit",
        "delete",
        "move",
        "search",
        "execute",
        "think",
        "fetch",
        "switch_mode",
        "other",
    ),
}

ToolCallStatus: TypeAlias = Literal[
    "pending", "in_progress", "completed", "failed", "paused", "cancelled"
]
TOOL_CALL_STATUSES: Final[dict[int, tuple[ToolCallStatus, ...]]] = {
    1: ("pending", "in_progress", "completed", "failed"),
    2: ("pending", "in_progress", "paused", "completed", "failed", "cancelled"),
}

StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"
]
STOP_REASONS: Final[dict[int, tuple[StopReason, ...]]] = {
    1: ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"),
    2: ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"),
}

SessionState: TypeAlias = Literal["running", "idle", "requires_action", "unknown"]
SESSION_STATES: Final[dict[int, tuple[SessionState, ...]]] = {
    1: ("running", "idle", "requires_action", "unknown"),
    2: ("running", "idle", "requires_action", "unknown"),
}

PlanType: TypeAlias = Literal["items", "file", "markdown"]
PLAN_TYPES: Final[dict[int, tuple[PlanType, ...]]] = {
    1: ("items", "file", "markdown"),
    2: ("items", "file", "markdown"),
}

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
PLAN_ENTRY_PRIORITIES: Final[dict[int, tuple[PlanEntryPriority, ...]]] = {
    1: ("high", "medium", "low"),
    2: ("high", "medium", "low"),
}

PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"]
PLAN_ENTRY_STATUSES: Final[dict[int, tuple[PlanEntryStatus, ...]]] = {
    1: ("pending", "in_progress", "completed"),
    2: ("pending", "in_progress", "completed", "cancelled"),
}

PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always"
]
PERMISSION_OPTION_KINDS: Final[dict[int, tuple[PermissionOptionKind, ...]]] = {
    1: ("allow_once", "allow_always", "reject_once", "reject_always"),
    2: ("allow_once", "allow_always", "reject_once", "reject_always"),
}

UNSTABLE_UPDATE_KINDS: Final[dict[int, tuple[UpdateKind, ...]]] = {
    1: (
        "plan_update",
        "plan_removed",
        "subagent_update",
        "session_message",
        "session_message_chunk",
    ),
    2: ("plan_removed", "subagent_update", "session_message", "session_message_chunk"),
}
