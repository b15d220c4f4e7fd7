"""The shapes of ACP version 1. Made by tools/make_schema.py, never by hand.

Source: v1/schema.unstable.json, SHA-256 ce7881d10c85…
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from acp_protocol.schema.constraints import (
    ELSE,
    I32,
    I64,
    NULL,
    U16,
    U32,
    U64,
    VALUE,
    VALUE_AND_ITEMS,
    Discriminator,
    MinLength,
)

SCHEMA_ID: Final = "v1+ce7881d10c85"

UNSTABLE: Final = frozenset(
    [
        "ArchiveSessionRequest",
        "ArchiveSessionResponse",
        "AuthAccount",
        "AuthState",
        "AuthStatusCapabilities",
        "AuthStatusRequest",
        "AuthStatusResponse",
        "AuthStatusUpdateNotification",
        "DisableProviderRequest",
        "DisableProviderResponse",
        "ErrorStopReason",
        "ForkSessionRequest",
        "ForkSessionResponse",
        "IdleStateUpdate",
        "InitializeProxyRequest",
        "InitializeProxyResponse",
        "ListProvidersRequest",
        "ListProvidersResponse",
        "LlmProtocol",
        "McpError",
        "McpRequestId",
        "McpServerAcp",
        "McpServerAcpId",
        "MessageMcpNotification",
        "MessageMcpRequest",
        "MessageMcpResponse",
        "PlanCapabilities",
        "PlanFile",
        "PlanId",
        "PlanItems",
        "PlanMarkdown",
        "PlanRemoved",
        "PlanUpdate",
        "PlanUpdateContent",
        "ProviderCurrentConfig",
        "ProviderId",
        "ProviderInfo",
        "ProvidersCapabilities",
        "ProxyNotification",
        "ProxyRequest",
        "ProxyResponse",
        "ProxySuccessorNotification",
        "ProxySuccessorRequest",
        "ProxySuccessorResponse",
        "RequiresActionStateUpdate",
        "RunningStateUpdate",
        "SessionArchiveCapabilities",
        "SessionArchiveFilter",
        "SessionCancelCapabilities",
        "SessionForkCapabilities",
        "SessionMessage",
        "SessionMessageChunk",
        "SessionStatus",
        "SessionStatusCapabilities",
        "SessionStatusRequest",
        "SessionStatusResponse",
        "SessionSystemPromptCapabilities",
        "SessionSystemPromptModeCapabilities",
        "SessionSystemPromptOverrideCapabilities",
        "SessionTitleCapabilities",
        "SetProviderRequest",
        "SetProviderResponse",
        "SetSessionTitleRequest",
        "SetSessionTitleResponse",
        "StateUpdate",
        "SubagentCapabilities",
        "SubagentSessionCapabilities",
        "SubagentUpdate",
        "SystemPrompt",
        "SystemPromptMode",
        "UnarchiveSessionRequest",
        "UnarchiveSessionResponse",
        "UnknownStateUpdate",
        "Usage",
    ]
)
"""Definitions that the stable schema does not have."""

UNSTABLE_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    "AgentAuthCapabilities": ("status",),
    "AgentCapabilities": ("providers",),
    "ClientCapabilities": ("plan", "subagents"),
    "ListSessionsRequest": ("archived",),
    "LoadSessionRequest": ("systemPrompt",),
    "McpCapabilities": ("acp",),
    "McpServer": ("acp",),
    "NewSessionRequest": ("systemPrompt",),
    "PromptResponse": ("usage",),
    "ResumeSessionRequest": ("systemPrompt",),
    "SessionCapabilities": ("archive", "fork", "status", "systemPrompt", "title"),
    "SessionInfo": ("archived",),
    "SessionUpdate": (
        "plan_removed",
        "plan_update",
        "session_message",
        "session_message_chunk",
        "subagent_update",
    ),
}
"""Members and tag values of shared definitions that the stable schema does not have."""

Meta: TypeAlias = Annotated[dict[str, Any] | None, VALUE]
"""What a `_meta` may be."""


class AuthStatusCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthStatusCapabilities."""

    _meta: NotRequired[Meta]


class LogoutCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, LogoutCapabilities."""

    _meta: NotRequired[Meta]


class AgentAuthCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentAuthCapabilities."""

    status: NotRequired[Annotated[AuthStatusCapabilities | None, VALUE]]
    logout: NotRequired[Annotated[LogoutCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class McpCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, McpCapabilities."""

    http: NotRequired[Annotated[bool, VALUE]]
    sse: NotRequired[Annotated[bool, VALUE]]
    acp: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Meta]


class PromptCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptCapabilities."""

    image: NotRequired[Annotated[bool, VALUE]]
    audio: NotRequired[Annotated[bool, VALUE]]
    embeddedContext: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Meta]


class ProvidersCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ProvidersCapabilities."""

    _meta: NotRequired[Meta]


class SessionAdditionalDirectoriesCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionAdditionalDirectoriesCapabilities."""

    _meta: NotRequired[Meta]


class SessionArchiveCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionArchiveCapabilities."""

    _meta: NotRequired[Meta]


class SessionCloseCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionCloseCapabilities."""

    _meta: NotRequired[Meta]


class SessionDeleteCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionDeleteCapabilities."""

    _meta: NotRequired[Meta]


class SessionForkCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionForkCapabilities."""

    _meta: NotRequired[Meta]


class SessionListCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionListCapabilities."""

    _meta: NotRequired[Meta]


class SessionResumeCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionResumeCapabilities."""

    _meta: NotRequired[Meta]


class SessionStatusCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionStatusCapabilities."""

    _meta: NotRequired[Meta]


class SessionSystemPromptOverrideCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionSystemPromptOverrideCapabilities."""

    _meta: NotRequired[Meta]


class SessionSystemPromptModeCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionSystemPromptModeCapabilities."""

    override: NotRequired[Annotated[SessionSystemPromptOverrideCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionSystemPromptCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionSystemPromptCapabilities."""

    mode: NotRequired[Annotated[SessionSystemPromptModeCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionTitleCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionTitleCapabilities."""

    _meta: NotRequired[Meta]


class SessionCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionCapabilities."""

    list: NotRequired[Annotated[SessionListCapabilities | None, VALUE]]
    delete: NotRequired[Annotated[SessionDeleteCapabilities | None, VALUE]]
    additionalDirectories: NotRequired[
        Annotated[SessionAdditionalDirectoriesCapabilities | None, VALUE]
    ]
    systemPrompt: NotRequired[Annotated[SessionSystemPromptCapabilities | None, VALUE]]
    fork: NotRequired[Annotated[SessionForkCapabilities | None, VALUE]]
    archive: NotRequired[Annotated[SessionArchiveCapabilities | None, VALUE]]
    status: NotRequired[Annotated[SessionStatusCapabilities | None, VALUE]]
    title: NotRequired[Annotated[SessionTitleCapabilities | None, VALUE]]
    resume: NotRequired[Annotated[SessionResumeCapabilities | None, VALUE]]
    close: NotRequired[Annotated[SessionCloseCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class AgentCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentCapabilities."""

    loadSession: NotRequired[Annotated[bool, VALUE]]
    promptCapabilities: NotRequired[Annotated[PromptCapabilities, VALUE]]
    mcpCapabilities: NotRequired[Annotated[McpCapabilities, VALUE]]
    sessionCapabilities: NotRequired[Annotated[SessionCapabilities, VALUE]]
    auth: NotRequired[Annotated[AgentAuthCapabilities, VALUE]]
    providers: NotRequired[Annotated[ProvidersCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class AuthAccount(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthAccount."""

    label: str
    active: NotRequired[Annotated[bool | None, VALUE]]
    name: NotRequired[Annotated[str | None, VALUE]]
    email: NotRequired[Annotated[str | None, VALUE]]
    organization: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str


class AuthStatusUpdateNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthStatusUpdateNotification."""

    state: AuthState
    accounts: NotRequired[Annotated[list[AuthAccount], VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


ElicitationId: TypeAlias = str


class CompleteElicitationNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, CompleteElicitationNotification."""

    elicitationId: ElicitationId
    _meta: NotRequired[Meta]


ExtNotification: TypeAlias = Any


SessionId: TypeAlias = str


Role: TypeAlias = Literal["assistant", "user"]


class Annotations(TypedDict, extra_items=Any):
    """Source: ACP schema, Annotations."""

    audience: NotRequired[Annotated[list[Role] | None, VALUE_AND_ITEMS]]
    lastModified: NotRequired[Annotated[str | None, VALUE]]
    priority: NotRequired[Annotated[float | None, VALUE]]
    _meta: NotRequired[Meta]


class ContentBlockAudio(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Audio."""

    type: Literal["audio"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    _meta: NotRequired[Meta]


class ContentBlockImage(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Image."""

    type: Literal["image"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    uri: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class BlobResourceContents(TypedDict, extra_items=Any):
    """Source: ACP schema, BlobResourceContents."""

    blob: str
    mimeType: NotRequired[Annotated[str | None, VALUE]]
    uri: str
    _meta: NotRequired[Meta]


class TextResourceContents(TypedDict, extra_items=Any):
    """Source: ACP schema, TextResourceContents."""

    mimeType: NotRequired[Annotated[str | None, VALUE]]
    text: str
    uri: str
    _meta: NotRequired[Meta]


EmbeddedResourceResource: TypeAlias = TextResourceContents | BlobResourceContents


class ContentBlockResource(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Resource."""

    type: Literal["resource"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    resource: EmbeddedResourceResource
    _meta: NotRequired[Meta]


class ContentBlockResourceLink(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, ResourceLink."""

    type: Literal["resource_link"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    mimeType: NotRequired[Annotated[str | None, VALUE]]
    name: str
    size: NotRequired[Annotated[I64 | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    uri: str
    _meta: NotRequired[Meta]


class ContentBlockText(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Text."""

    type: Literal["text"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    text: str
    _meta: NotRequired[Meta]


ContentBlock: TypeAlias = Annotated[
    ContentBlockText
    | ContentBlockImage
    | ContentBlockAudio
    | ContentBlockResourceLink
    | ContentBlockResource,
    Discriminator("type", ("text", "image", "audio", "resource_link", "resource")),
]


MessageId: TypeAlias = str


class SessionUpdateAgentMessageChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AgentMessageChunk."""

    sessionUpdate: Literal["agent_message_chunk"]
    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateAgentThoughtChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AgentThoughtChunk."""

    sessionUpdate: Literal["agent_thought_chunk"]
    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Meta]


class UnstructuredCommandInput(TypedDict, extra_items=Any):
    """Source: ACP schema, UnstructuredCommandInput."""

    hint: str
    _meta: NotRequired[Meta]


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(TypedDict, extra_items=Any):
    """Source: ACP schema, AvailableCommand."""

    name: str
    description: str
    input: NotRequired[Annotated[AvailableCommandInput | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateAvailableCommandsUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AvailableCommandsUpdate."""

    sessionUpdate: Literal["available_commands_update"]
    availableCommands: Annotated[list[AvailableCommand], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


CompactionId: TypeAlias = str


class SessionUpdateCompactionSummaryChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, CompactionSummaryChunk."""

    sessionUpdate: Literal["compaction_summary_chunk"]
    compactionId: CompactionId
    content: ContentBlock
    _meta: NotRequired[Meta]


CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str


class SessionUpdateCompactionUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, CompactionUpdate."""

    sessionUpdate: Literal["compaction_update"]
    compactionId: CompactionId
    status: CompactionStatus
    summary: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    error: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


SessionConfigId: TypeAlias = str


SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)


class SessionConfigOptionBoolean(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigOption, Boolean."""

    id: SessionConfigId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    category: NotRequired[Annotated[SessionConfigOptionCategory | None, VALUE]]
    _meta: NotRequired[Meta]
    type: Literal["boolean"]
    currentValue: bool


SessionConfigGroupId: TypeAlias = str


SessionConfigValueId: TypeAlias = str


class SessionConfigSelectOption(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigSelectOption."""

    value: SessionConfigValueId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionConfigSelectGroup(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigSelectGroup."""

    group: SessionConfigGroupId
    name: str
    options: Annotated[list[SessionConfigSelectOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


SessionConfigSelectOptions: TypeAlias = (
    list[SessionConfigSelectOption] | list[SessionConfigSelectGroup]
)


class SessionConfigOptionSelect(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigOption, Select."""

    id: SessionConfigId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    category: NotRequired[Annotated[SessionConfigOptionCategory | None, VALUE]]
    _meta: NotRequired[Meta]
    type: Literal["select"]
    currentValue: SessionConfigValueId
    options: SessionConfigSelectOptions


SessionConfigOption: TypeAlias = Annotated[
    SessionConfigOptionSelect | SessionConfigOptionBoolean,
    Discriminator("type", ("select", "boolean")),
]


class SessionUpdateConfigOptionUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, ConfigOptionUpdate."""

    sessionUpdate: Literal["config_option_update"]
    configOptions: Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


SessionModeId: TypeAlias = str


class SessionUpdateCurrentModeUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, CurrentModeUpdate."""

    sessionUpdate: Literal["current_mode_update"]
    currentModeId: SessionModeId
    _meta: NotRequired[Meta]


NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str


class SessionUpdateNotice(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, Notice."""

    sessionUpdate: Literal["notice"]
    severity: NoticeSeverity
    title: Annotated[str, MinLength(1)]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]


PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]


class PlanEntry(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanEntry."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    _meta: NotRequired[Meta]


class SessionUpdatePlan(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, Plan."""

    sessionUpdate: Literal["plan"]
    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


PlanId: TypeAlias = str


class SessionUpdatePlanRemoved(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, PlanRemoved."""

    sessionUpdate: Literal["plan_removed"]
    planId: PlanId
    _meta: NotRequired[Meta]


class PlanUpdateContentFile(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanUpdateContent, File."""

    type: Literal["file"]
    planId: PlanId
    uri: str
    _meta: NotRequired[Meta]


class PlanUpdateContentItems(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanUpdateContent, Items."""

    type: Literal["items"]
    planId: PlanId
    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


class PlanUpdateContentMarkdown(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanUpdateContent, Markdown."""

    type: Literal["markdown"]
    planId: PlanId
    content: str
    _meta: NotRequired[Meta]


PlanUpdateContent: TypeAlias = Annotated[
    PlanUpdateContentItems | PlanUpdateContentFile | PlanUpdateContentMarkdown,
    Discriminator("type", ("items", "file", "markdown")),
]


class SessionUpdatePlanUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, PlanUpdate."""

    sessionUpdate: Literal["plan_update"]
    plan: PlanUpdateContent
    _meta: NotRequired[Meta]


class SessionUpdateSessionInfoUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, SessionInfoUpdate."""

    sessionUpdate: Literal["session_info_update"]
    title: NotRequired[Annotated[str | None, VALUE]]
    updatedAt: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateSessionMessage(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, SessionMessage."""

    sessionUpdate: Literal["session_message"]
    messageId: MessageId
    senderSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    recipientSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    senderMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    recipientMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class SessionUpdateSessionMessageChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, SessionMessageChunk."""

    sessionUpdate: Literal["session_message_chunk"]
    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Meta]


class Usage(TypedDict, extra_items=Any):
    """Source: ACP schema, Usage."""

    totalTokens: U64
    inputTokens: U64
    outputTokens: U64
    thoughtTokens: NotRequired[Annotated[U64 | None, VALUE]]
    cachedReadTokens: NotRequired[Annotated[U64 | None, VALUE]]
    cachedWriteTokens: NotRequired[Annotated[U64 | None, VALUE]]
    _meta: NotRequired[Meta]


class StateUpdateIdleCancelled(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleCancelled."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["cancelled"], VALUE]


class StateUpdateIdleEndTurn(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleEndTurn."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["end_turn"], VALUE]


ErrorCode: TypeAlias = Literal[-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002] | I32


class Error(TypedDict, extra_items=Any):
    """Source: ACP schema, Error."""

    code: ErrorCode
    message: str
    data: NotRequired[Annotated[Any, VALUE]]


class StateUpdateIdleError(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleError."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["error"], VALUE]
    error: NotRequired[Annotated[Error | None, VALUE]]


class StateUpdateIdleMaxTokens(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleMaxTokens."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_tokens"], VALUE]


class StateUpdateIdleMaxTurnRequests(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleMaxTurnRequests."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_turn_requests"], VALUE]


class StateUpdateIdleNone(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleNone."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: NotRequired[Annotated[None, VALUE]]


class StateUpdateIdleOther(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleOther."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[str, VALUE]


class StateUpdateIdleRefusal(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleRefusal."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["refusal"], VALUE]


StateUpdateIdle: TypeAlias = Annotated[
    StateUpdateIdleEndTurn
    | StateUpdateIdleMaxTokens
    | StateUpdateIdleMaxTurnRequests
    | StateUpdateIdleRefusal
    | StateUpdateIdleCancelled
    | StateUpdateIdleError
    | StateUpdateIdleOther
    | StateUpdateIdleNone,
    Discriminator(
        "stopReason",
        (
            "end_turn",
            "max_tokens",
            "max_turn_requests",
            "refusal",
            "cancelled",
            "error",
            ELSE,
            None,
        ),
    ),
]


class StateUpdateOther(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, Other."""

    state: str


class StateUpdateRequiresAction(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, RequiresAction."""

    state: Literal["requires_action"]
    _meta: NotRequired[Meta]


class StateUpdateRunning(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, Running."""

    state: Literal["running"]
    _meta: NotRequired[Meta]


class StateUpdateUnknown(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, Unknown."""

    state: Literal["unknown"]
    _meta: NotRequired[Meta]


StateUpdate: TypeAlias = Annotated[
    StateUpdateRunning
    | StateUpdateIdle
    | StateUpdateRequiresAction
    | StateUpdateUnknown
    | StateUpdateOther,
    Discriminator("state", ("running", "idle", "requires_action", "unknown", ELSE)),
]


class SessionCancelCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionCancelCapabilities."""

    _meta: NotRequired[Meta]


class SubagentSessionCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SubagentSessionCapabilities."""

    cancel: NotRequired[Annotated[SessionCancelCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateSubagentUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, SubagentUpdate."""

    sessionUpdate: Literal["subagent_update"]
    sessionId: SessionId
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    capabilities: NotRequired[Annotated[SubagentSessionCapabilities | None, VALUE]]
    state: NotRequired[Annotated[StateUpdate | None, VALUE]]
    cwd: NotRequired[str | None]
    additionalDirectories: NotRequired[list[str] | None]
    _meta: NotRequired[Meta]


class ToolCallContentContent(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContent, Content."""

    type: Literal["content"]
    content: ContentBlock
    _meta: NotRequired[Meta]


class ToolCallContentDiff(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContent, Diff."""

    type: Literal["diff"]
    path: str
    oldText: NotRequired[Annotated[str | None, VALUE]]
    newText: str
    _meta: NotRequired[Meta]


TerminalId: TypeAlias = str


class ToolCallContentTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContent, Terminal."""

    type: Literal["terminal"]
    terminalId: TerminalId
    _meta: NotRequired[Meta]


ToolCallContent: TypeAlias = Annotated[
    ToolCallContentContent | ToolCallContentDiff | ToolCallContentTerminal,
    Discriminator("type", ("content", "diff", "terminal")),
]


ToolCallId: TypeAlias = str


class ToolCallLocation(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallLocation."""

    path: str
    line: NotRequired[Annotated[U32 | None, VALUE]]
    _meta: NotRequired[Meta]


ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]


ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]


class SessionUpdateToolCall(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, ToolCall."""

    sessionUpdate: Literal["tool_call"]
    toolCallId: ToolCallId
    title: str
    name: NotRequired[Annotated[str | None, VALUE]]
    kind: NotRequired[Annotated[ToolKind, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent], VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation], VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateToolCallUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, ToolCallUpdate."""

    sessionUpdate: Literal["tool_call_update"]
    toolCallId: ToolCallId
    kind: NotRequired[Annotated[ToolKind | None, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    name: NotRequired[Annotated[str | None, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent] | None, VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation] | None, VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    _meta: NotRequired[Meta]


class Cost(TypedDict, extra_items=Any):
    """Source: ACP schema, Cost."""

    amount: float
    currency: str
    _meta: NotRequired[Meta]


class SessionUpdateUsageUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, UsageUpdate."""

    sessionUpdate: Literal["usage_update"]
    used: U64
    size: U64
    cost: NotRequired[Annotated[Cost | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateUserMessageChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, UserMessageChunk."""

    sessionUpdate: Literal["user_message_chunk"]
    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Meta]


SessionUpdate: TypeAlias = Annotated[
    SessionUpdateUserMessageChunk
    | SessionUpdateAgentMessageChunk
    | SessionUpdateAgentThoughtChunk
    | SessionUpdateToolCall
    | SessionUpdateToolCallUpdate
    | SessionUpdatePlan
    | SessionUpdatePlanUpdate
    | SessionUpdatePlanRemoved
    | SessionUpdateAvailableCommandsUpdate
    | SessionUpdateCurrentModeUpdate
    | SessionUpdateConfigOptionUpdate
    | SessionUpdateSessionInfoUpdate
    | SessionUpdateUsageUpdate
    | SessionUpdateNotice
    | SessionUpdateCompactionUpdate
    | SessionUpdateCompactionSummaryChunk
    | SessionUpdateSubagentUpdate
    | SessionUpdateSessionMessage
    | SessionUpdateSessionMessageChunk,
    Discriminator(
        "sessionUpdate",
        (
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
    ),
]


class SessionNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionNotification."""

    sessionId: SessionId
    update: SessionUpdate
    _meta: NotRequired[Meta]


class AgentNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentNotification."""

    method: str
    params: NotRequired[
        SessionNotification
        | CompleteElicitationNotification
        | AuthStatusUpdateNotification
        | ExtNotification
        | None
    ]


class MultiSelectItemsOther(TypedDict, extra_items=Any):
    """Source: ACP schema, MultiSelectItems, Other."""

    type: str


class MultiSelectItemsString(TypedDict, extra_items=Any):
    """Source: ACP schema, MultiSelectItems, String."""

    type: Literal["string"]
    enum: list[str]
    _meta: NotRequired[Meta]


class EnumOption(TypedDict, extra_items=Any):
    """Source: ACP schema, EnumOption."""

    const: str
    title: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class TitledMultiSelectItems(TypedDict, extra_items=Any):
    """Source: ACP schema, TitledMultiSelectItems."""

    anyOf: list[EnumOption]
    _meta: NotRequired[Meta]


MultiSelectItems: TypeAlias = Annotated[
    MultiSelectItemsString | MultiSelectItemsOther | TitledMultiSelectItems,
    Discriminator("type", ("string", ELSE, None)),
]


class ElicitationPropertySchemaArray(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationPropertySchema, Array."""

    type: Literal["array"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minItems: NotRequired[U64 | None]
    maxItems: NotRequired[U64 | None]
    items: MultiSelectItems
    default: NotRequired[Annotated[list[str] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class ElicitationPropertySchemaBoolean(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationPropertySchema, Boolean."""

    type: Literal["boolean"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    default: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Meta]


class ElicitationPropertySchemaInteger(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationPropertySchema, Integer."""

    type: Literal["integer"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[I64 | None]
    maximum: NotRequired[I64 | None]
    default: NotRequired[Annotated[I64 | None, VALUE]]
    _meta: NotRequired[Meta]


class ElicitationPropertySchemaNumber(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationPropertySchema, Number."""

    type: Literal["number"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    default: NotRequired[Annotated[float | None, VALUE]]
    _meta: NotRequired[Meta]


class ElicitationPropertySchemaOther(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationPropertySchema, Other."""

    type: str


StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"]


class ElicitationPropertySchemaString(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationPropertySchema, String."""

    type: Literal["string"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minLength: NotRequired[U32 | None]
    maxLength: NotRequired[U32 | None]
    pattern: NotRequired[str | None]
    format: NotRequired[StringFormat | None]
    default: NotRequired[Annotated[str | None, VALUE]]
    enum: NotRequired[list[str] | None]
    oneOf: NotRequired[list[EnumOption] | None]
    _meta: NotRequired[Meta]


ElicitationPropertySchema: TypeAlias = Annotated[
    ElicitationPropertySchemaString
    | ElicitationPropertySchemaNumber
    | ElicitationPropertySchemaInteger
    | ElicitationPropertySchemaBoolean
    | ElicitationPropertySchemaArray
    | ElicitationPropertySchemaOther,
    Discriminator("type", ("string", "number", "integer", "boolean", "array", ELSE)),
]


ElicitationSchemaType: TypeAlias = Literal["object"]


class ElicitationSchema(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationSchema."""

    type: NotRequired[Annotated[ElicitationSchemaType, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    properties: NotRequired[dict[str, ElicitationPropertySchema]]
    required: NotRequired[list[str] | None]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


RequestId: TypeAlias = I64 | str | None


class CreateElicitationRequestFormRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationRequest, FormRequest."""

    message: str
    _meta: NotRequired[Meta]
    mode: Literal["form"]
    requestedSchema: ElicitationSchema
    requestId: RequestId


class CreateElicitationRequestFormSession(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationRequest, FormSession."""

    message: str
    _meta: NotRequired[Meta]
    mode: Literal["form"]
    requestedSchema: ElicitationSchema
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class CreateElicitationRequestOtherRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationRequest, OtherRequest."""

    message: str
    _meta: NotRequired[Meta]
    mode: str
    requestId: RequestId


class CreateElicitationRequestOtherSession(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationRequest, OtherSession."""

    message: str
    _meta: NotRequired[Meta]
    mode: str
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class CreateElicitationRequestUrlRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationRequest, UrlRequest."""

    message: str
    _meta: NotRequired[Meta]
    mode: Literal["url"]
    elicitationId: ElicitationId
    url: str
    requestId: RequestId


class CreateElicitationRequestUrlSession(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationRequest, UrlSession."""

    message: str
    _meta: NotRequired[Meta]
    mode: Literal["url"]
    elicitationId: ElicitationId
    url: str
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


CreateElicitationRequest: TypeAlias = Annotated[
    CreateElicitationRequestFormSession
    | CreateElicitationRequestFormRequest
    | CreateElicitationRequestUrlSession
    | CreateElicitationRequestUrlRequest
    | CreateElicitationRequestOtherSession
    | CreateElicitationRequestOtherRequest,
    Discriminator("mode", ("form", "form", "url", "url", ELSE, ELSE)),
]


class EnvVariable(TypedDict, extra_items=Any):
    """Source: ACP schema, EnvVariable."""

    name: str
    value: str
    _meta: NotRequired[Meta]


class CreateTerminalRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateTerminalRequest."""

    sessionId: SessionId
    command: str
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[list[EnvVariable] | None, NULL]]
    cwd: NotRequired[str | None]
    outputByteLimit: NotRequired[U64 | None]
    _meta: NotRequired[Meta]


ExtRequest: TypeAlias = Any


class KillTerminalRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, KillTerminalRequest."""

    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Meta]


McpRequestId: TypeAlias = str


McpServerAcpId: TypeAlias = str


class MessageMcpRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, MessageMcpRequest."""

    serverId: McpServerAcpId
    requestId: McpRequestId
    method: str
    params: NotRequired[dict[str, Any] | None]
    _meta: NotRequired[Meta]


class ReadTextFileRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ReadTextFileRequest."""

    sessionId: SessionId
    path: str
    line: NotRequired[U32 | None]
    limit: NotRequired[U32 | None]
    _meta: NotRequired[Meta]


class ReleaseTerminalRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ReleaseTerminalRequest."""

    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Meta]


PermissionOptionId: TypeAlias = str


PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always"
]


class PermissionOption(TypedDict, extra_items=Any):
    """Source: ACP schema, PermissionOption."""

    optionId: PermissionOptionId
    name: str
    kind: PermissionOptionKind
    _meta: NotRequired[Meta]


class ToolCallUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallUpdate."""

    toolCallId: ToolCallId
    kind: NotRequired[Annotated[ToolKind | None, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    name: NotRequired[Annotated[str | None, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent] | None, VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation] | None, VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    _meta: NotRequired[Meta]


class RequestPermissionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionRequest."""

    sessionId: SessionId
    toolCall: ToolCallUpdate
    options: list[PermissionOption]
    _meta: NotRequired[Meta]


class TerminalOutputRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalOutputRequest."""

    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Meta]


class WaitForTerminalExitRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, WaitForTerminalExitRequest."""

    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Meta]


class WriteTextFileRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, WriteTextFileRequest."""

    sessionId: SessionId
    path: str
    content: str
    _meta: NotRequired[Meta]


class AgentRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentRequest."""

    id: RequestId
    method: str
    params: NotRequired[
        WriteTextFileRequest
        | ReadTextFileRequest
        | RequestPermissionRequest
        | CreateTerminalRequest
        | TerminalOutputRequest
        | ReleaseTerminalRequest
        | WaitForTerminalExitRequest
        | KillTerminalRequest
        | CreateElicitationRequest
        | MessageMcpRequest
        | ExtRequest
        | None
    ]


class ArchiveSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ArchiveSessionResponse."""

    _meta: NotRequired[Meta]


class AuthStatusResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthStatusResponse."""

    state: AuthState
    accounts: NotRequired[Annotated[list[AuthAccount], VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class AuthenticateResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthenticateResponse."""

    _meta: NotRequired[Meta]


class CloseSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, CloseSessionResponse."""

    _meta: NotRequired[Meta]


class DeleteSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, DeleteSessionResponse."""

    _meta: NotRequired[Meta]


class DisableProviderResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, DisableProviderResponse."""

    _meta: NotRequired[Meta]


ExtResponse: TypeAlias = Any


class SessionMode(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionMode."""

    id: SessionModeId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionModeState(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionModeState."""

    currentModeId: SessionModeId
    availableModes: Annotated[list[SessionMode], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


class ForkSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ForkSessionResponse."""

    sessionId: SessionId
    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


AuthMethodId: TypeAlias = str


class AuthMethodAgent(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethodAgent."""

    id: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class TaggedAuthMethodTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethod, Terminal."""

    type: Literal["terminal"]
    id: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[dict[str, str] | None, NULL]]
    _meta: NotRequired[Meta]


AuthMethod: TypeAlias = Annotated[
    TaggedAuthMethodTerminal | AuthMethodAgent, Discriminator("type", ("terminal", None))
]


class Implementation(TypedDict, extra_items=Any):
    """Source: ACP schema, Implementation."""

    name: str
    title: NotRequired[Annotated[str | None, VALUE]]
    version: str
    _meta: NotRequired[Meta]


ProtocolVersion: TypeAlias = U16


class InitializeResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeResponse."""

    protocolVersion: ProtocolVersion
    agentCapabilities: NotRequired[Annotated[AgentCapabilities, VALUE]]
    authMethods: NotRequired[Annotated[list[AuthMethod], VALUE_AND_ITEMS]]
    agentInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Meta]


LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str


class ProviderCurrentConfig(TypedDict, extra_items=Any):
    """Source: ACP schema, ProviderCurrentConfig."""

    apiType: LlmProtocol
    baseUrl: str
    _meta: NotRequired[Meta]


ProviderId: TypeAlias = str


class ProviderInfo(TypedDict, extra_items=Any):
    """Source: ACP schema, ProviderInfo."""

    providerId: ProviderId
    supported: Annotated[list[LlmProtocol], VALUE_AND_ITEMS]
    required: bool
    current: NotRequired[ProviderCurrentConfig | None]
    _meta: NotRequired[Meta]


class ListProvidersResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ListProvidersResponse."""

    providers: list[ProviderInfo]
    _meta: NotRequired[Meta]


class SessionInfo(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionInfo."""

    sessionId: SessionId
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str], VALUE_AND_ITEMS]]
    title: NotRequired[Annotated[str | None, VALUE]]
    updatedAt: NotRequired[Annotated[str | None, VALUE]]
    archived: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Meta]


class ListSessionsResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ListSessionsResponse."""

    sessions: Annotated[list[SessionInfo], VALUE_AND_ITEMS]
    nextCursor: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class LoadSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, LoadSessionResponse."""

    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class LogoutResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, LogoutResponse."""

    _meta: NotRequired[Meta]


class NewSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, NewSessionResponse."""

    sessionId: SessionId
    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
]


class PromptResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptResponse."""

    stopReason: StopReason
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]


class ResumeSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ResumeSessionResponse."""

    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


SessionStatus: TypeAlias = Literal["open", "saved"] | str


class SessionStatusResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionStatusResponse."""

    status: SessionStatus
    _meta: NotRequired[Meta]


class SetProviderResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SetProviderResponse."""

    _meta: NotRequired[Meta]


class SetSessionConfigOptionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionConfigOptionResponse."""

    configOptions: Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


class SetSessionModeResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionModeResponse."""

    _meta: NotRequired[Meta]


class SetSessionTitleResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionTitleResponse."""

    title: str
    _meta: NotRequired[Meta]


class UnarchiveSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, UnarchiveSessionResponse."""

    _meta: NotRequired[Meta]


class AgentResponseResult(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentResponse, Result."""

    id: RequestId
    result: (
        InitializeResponse
        | AuthenticateResponse
        | ListProvidersResponse
        | SetProviderResponse
        | DisableProviderResponse
        | LogoutResponse
        | AuthStatusResponse
        | NewSessionResponse
        | LoadSessionResponse
        | ListSessionsResponse
        | DeleteSessionResponse
        | ForkSessionResponse
        | ArchiveSessionResponse
        | UnarchiveSessionResponse
        | SessionStatusResponse
        | SetSessionTitleResponse
        | ResumeSessionResponse
        | CloseSessionResponse
        | SetSessionModeResponse
        | SetSessionConfigOptionResponse
        | PromptResponse
        | ExtResponse
    )


class AgentResponseError(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentResponse, Error."""

    id: RequestId
    error: Error


AgentResponse: TypeAlias = AgentResponseResult | AgentResponseError


class ArchiveSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ArchiveSessionRequest."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class AudioContent(TypedDict, extra_items=Any):
    """Source: ACP schema, AudioContent."""

    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    _meta: NotRequired[Meta]


class AuthCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthCapabilities."""

    terminal: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Meta]


class AuthMethodTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethodTerminal."""

    id: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[dict[str, str] | None, NULL]]
    _meta: NotRequired[Meta]


class AuthStatusRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthStatusRequest."""

    _meta: NotRequired[Meta]


class AuthenticateRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthenticateRequest."""

    methodId: AuthMethodId
    _meta: NotRequired[Meta]


class AvailableCommandsUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, AvailableCommandsUpdate."""

    availableCommands: Annotated[list[AvailableCommand], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


class BooleanConfigOptionCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, BooleanConfigOptionCapabilities."""

    _meta: NotRequired[Meta]


class BooleanPropertySchema(TypedDict, extra_items=Any):
    """Source: ACP schema, BooleanPropertySchema."""

    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    default: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Meta]


class CancelNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelNotification."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class CancelRequestNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelRequestNotification."""

    requestId: RequestId
    _meta: NotRequired[Meta]


class CompactionCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, CompactionCapabilities."""


class NoticeCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, NoticeCapabilities."""


class SessionConfigOptionsCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigOptionsCapabilities."""

    boolean: NotRequired[Annotated[BooleanConfigOptionCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class ClientSessionCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientSessionCapabilities."""

    compaction: NotRequired[Annotated[CompactionCapabilities | None, VALUE]]
    configOptions: NotRequired[Annotated[SessionConfigOptionsCapabilities | None, VALUE]]
    notices: NotRequired[Annotated[NoticeCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class ElicitationFormCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationFormCapabilities."""

    _meta: NotRequired[Meta]


class ElicitationUrlCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationUrlCapabilities."""

    _meta: NotRequired[Meta]


class ElicitationCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationCapabilities."""

    form: NotRequired[Annotated[ElicitationFormCapabilities | None, VALUE]]
    url: NotRequired[Annotated[ElicitationUrlCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class FileSystemCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, FileSystemCapabilities."""

    readTextFile: NotRequired[Annotated[bool, VALUE]]
    writeTextFile: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Meta]


class PlanCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanCapabilities."""

    _meta: NotRequired[Meta]


class SubagentCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SubagentCapabilities."""

    _meta: NotRequired[Meta]


class ClientCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientCapabilities."""

    fs: NotRequired[Annotated[FileSystemCapabilities, VALUE]]
    terminal: NotRequired[Annotated[bool, VALUE]]
    session: NotRequired[Annotated[ClientSessionCapabilities | None, VALUE]]
    subagents: NotRequired[Annotated[SubagentCapabilities | None, VALUE]]
    plan: NotRequired[Annotated[PlanCapabilities | None, VALUE]]
    auth: NotRequired[Annotated[AuthCapabilities, VALUE]]
    elicitation: NotRequired[Annotated[ElicitationCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class MessageMcpNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, MessageMcpNotification."""

    serverId: McpServerAcpId
    requestId: McpRequestId
    method: str
    params: NotRequired[dict[str, Any] | None]
    _meta: NotRequired[Meta]


class ClientNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientNotification."""

    method: str
    params: NotRequired[CancelNotification | MessageMcpNotification | ExtNotification | None]


class CloseSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, CloseSessionRequest."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class DeleteSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, DeleteSessionRequest."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class DisableProviderRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, DisableProviderRequest."""

    providerId: ProviderId
    _meta: NotRequired[Meta]


class McpServerStdio(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServerStdio."""

    name: str
    command: str
    args: Annotated[list[str] | None, NULL]
    env: Annotated[list[EnvVariable] | None, NULL]
    _meta: NotRequired[Meta]


class TaggedMcpServerAcp(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServer, Acp."""

    type: Literal["acp"]
    name: str
    serverId: McpServerAcpId
    _meta: NotRequired[Meta]


class HttpHeader(TypedDict, extra_items=Any):
    """Source: ACP schema, HttpHeader."""

    name: str
    value: str
    _meta: NotRequired[Meta]


class TaggedMcpServerHttp(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServer, Http."""

    type: Literal["http"]
    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Meta]


class TaggedMcpServerSse(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServer, Sse."""

    type: Literal["sse"]
    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Meta]


McpServer: TypeAlias = Annotated[
    TaggedMcpServerHttp | TaggedMcpServerSse | TaggedMcpServerAcp | McpServerStdio,
    Discriminator("type", ("http", "sse", "acp", None)),
]


SystemPromptMode: TypeAlias = Literal["append", "override"] | str


class SystemPrompt(TypedDict, extra_items=Any):
    """Source: ACP schema, SystemPrompt."""

    mode: SystemPromptMode
    content: list[ContentBlock]
    _meta: NotRequired[Meta]


class ForkSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ForkSessionRequest."""

    sessionId: SessionId
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    mcpServers: NotRequired[Annotated[list[McpServer] | None, NULL]]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Meta]


class InitializeRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeRequest."""

    protocolVersion: ProtocolVersion
    clientCapabilities: NotRequired[Annotated[ClientCapabilities, VALUE]]
    clientInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Meta]


class ListProvidersRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ListProvidersRequest."""

    _meta: NotRequired[Meta]


SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str


class ListSessionsRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ListSessionsRequest."""

    cwd: NotRequired[str | None]
    cursor: NotRequired[str | None]
    archived: NotRequired[SessionArchiveFilter | None]
    _meta: NotRequired[Meta]


class LoadSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, LoadSessionRequest."""

    mcpServers: Annotated[list[McpServer] | None, NULL]
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    sessionId: SessionId
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Meta]


class LogoutRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, LogoutRequest."""

    _meta: NotRequired[Meta]


class NewSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, NewSessionRequest."""

    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    mcpServers: Annotated[list[McpServer] | None, NULL]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Meta]


class PromptRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptRequest."""

    sessionId: SessionId
    prompt: list[ContentBlock]
    _meta: NotRequired[Meta]


class ResumeSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ResumeSessionRequest."""

    sessionId: SessionId
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    mcpServers: NotRequired[Annotated[list[McpServer] | None, NULL]]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Meta]


class SessionStatusRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionStatusRequest."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class SetProviderRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, SetProviderRequest."""

    providerId: ProviderId
    apiType: LlmProtocol
    baseUrl: str
    headers: NotRequired[dict[str, str]]
    _meta: NotRequired[Meta]


class SetSessionConfigOptionRequestBoolean(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionConfigOptionRequest, Boolean."""

    sessionId: SessionId
    configId: SessionConfigId
    _meta: NotRequired[Meta]
    type: Literal["boolean"]
    value: bool


class SetSessionConfigOptionRequestValueId(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionConfigOptionRequest, ValueId."""

    sessionId: SessionId
    configId: SessionConfigId
    _meta: NotRequired[Meta]
    value: SessionConfigValueId


SetSessionConfigOptionRequest: TypeAlias = Annotated[
    SetSessionConfigOptionRequestBoolean | SetSessionConfigOptionRequestValueId,
    Discriminator("type", ("boolean", None)),
]


class SetSessionModeRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionModeRequest."""

    sessionId: SessionId
    modeId: SessionModeId
    _meta: NotRequired[Meta]


class SetSessionTitleRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionTitleRequest."""

    sessionId: SessionId
    title: str
    _meta: NotRequired[Meta]


class UnarchiveSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, UnarchiveSessionRequest."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class ClientRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientRequest."""

    id: RequestId
    method: str
    params: NotRequired[
        InitializeRequest
        | AuthenticateRequest
        | ListProvidersRequest
        | SetProviderRequest
        | DisableProviderRequest
        | LogoutRequest
        | AuthStatusRequest
        | NewSessionRequest
        | LoadSessionRequest
        | ListSessionsRequest
        | DeleteSessionRequest
        | ForkSessionRequest
        | ArchiveSessionRequest
        | UnarchiveSessionRequest
        | SessionStatusRequest
        | SetSessionTitleRequest
        | ResumeSessionRequest
        | CloseSessionRequest
        | SetSessionModeRequest
        | SetSessionConfigOptionRequest
        | PromptRequest
        | ExtRequest
        | None
    ]


ElicitationContentValue: TypeAlias = str | I64 | float | bool | list[str]


class CreateElicitationResponseAccept(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationResponse, Accept."""

    _meta: NotRequired[Meta]
    action: Literal["accept"]
    content: NotRequired[dict[str, ElicitationContentValue] | None]


class CreateElicitationResponseCancel(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationResponse, Cancel."""

    _meta: NotRequired[Meta]
    action: Literal["cancel"]


class CreateElicitationResponseDecline(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationResponse, Decline."""

    _meta: NotRequired[Meta]
    action: Literal["decline"]


class CreateElicitationResponseOther(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateElicitationResponse, Other."""

    _meta: NotRequired[Meta]
    action: str


CreateElicitationResponse: TypeAlias = Annotated[
    CreateElicitationResponseAccept
    | CreateElicitationResponseDecline
    | CreateElicitationResponseCancel
    | CreateElicitationResponseOther,
    Discriminator("action", ("accept", "decline", "cancel", ELSE)),
]


class CreateTerminalResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, CreateTerminalResponse."""

    terminalId: TerminalId
    _meta: NotRequired[Meta]


class KillTerminalResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, KillTerminalResponse."""

    _meta: NotRequired[Meta]


class McpError(TypedDict, extra_items=Any):
    """Source: ACP schema, McpError."""

    code: I32
    message: str
    data: NotRequired[Any]


class MessageMcpResponseError(TypedDict, extra_items=Any):
    """Source: ACP schema, MessageMcpResponse, Error."""

    error: McpError
    _meta: NotRequired[Meta]


class MessageMcpResponseResult(TypedDict, extra_items=Any):
    """Source: ACP schema, MessageMcpResponse, Result."""

    result: Any
    _meta: NotRequired[Meta]


MessageMcpResponse: TypeAlias = MessageMcpResponseResult | MessageMcpResponseError


class ReadTextFileResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ReadTextFileResponse."""

    content: str
    _meta: NotRequired[Meta]


class ReleaseTerminalResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ReleaseTerminalResponse."""

    _meta: NotRequired[Meta]


class RequestPermissionOutcomeCancelled(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionOutcome, Cancelled."""

    outcome: Literal["cancelled"]


class RequestPermissionOutcomeSelected(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionOutcome, Selected."""

    outcome: Literal["selected"]
    optionId: PermissionOptionId
    _meta: NotRequired[Meta]


RequestPermissionOutcome: TypeAlias = Annotated[
    RequestPermissionOutcomeCancelled | RequestPermissionOutcomeSelected,
    Discriminator("outcome", ("cancelled", "selected")),
]


class RequestPermissionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionResponse."""

    outcome: RequestPermissionOutcome
    _meta: NotRequired[Meta]


class TerminalExitStatus(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalExitStatus."""

    exitCode: NotRequired[Annotated[U32 | None, VALUE]]
    signal: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class TerminalOutputResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalOutputResponse."""

    output: str
    truncated: bool
    exitStatus: NotRequired[Annotated[TerminalExitStatus | None, VALUE]]
    _meta: NotRequired[Meta]


class WaitForTerminalExitResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, WaitForTerminalExitResponse."""

    exitCode: NotRequired[Annotated[U32 | None, VALUE]]
    signal: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class WriteTextFileResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, WriteTextFileResponse."""

    _meta: NotRequired[Meta]


class ClientResponseResult(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientResponse, Result."""

    id: RequestId
    result: (
        WriteTextFileResponse
        | ReadTextFileResponse
        | RequestPermissionResponse
        | CreateTerminalResponse
        | TerminalOutputResponse
        | ReleaseTerminalResponse
        | WaitForTerminalExitResponse
        | KillTerminalResponse
        | CreateElicitationResponse
        | MessageMcpResponse
        | ExtResponse
    )


class ClientResponseError(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientResponse, Error."""

    id: RequestId
    error: Error


ClientResponse: TypeAlias = ClientResponseResult | ClientResponseError


class CompactionSummaryChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, CompactionSummaryChunk."""

    compactionId: CompactionId
    content: ContentBlock
    _meta: NotRequired[Meta]


class CompactionUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, CompactionUpdate."""

    compactionId: CompactionId
    status: CompactionStatus
    summary: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    error: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class ConfigOptionUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, ConfigOptionUpdate."""

    configOptions: Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


class Content(TypedDict, extra_items=Any):
    """Source: ACP schema, Content."""

    content: ContentBlock
    _meta: NotRequired[Meta]


class ContentChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentChunk."""

    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Meta]


class CurrentModeUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, CurrentModeUpdate."""

    currentModeId: SessionModeId
    _meta: NotRequired[Meta]


class Diff(TypedDict, extra_items=Any):
    """Source: ACP schema, Diff."""

    path: str
    oldText: NotRequired[Annotated[str | None, VALUE]]
    newText: str
    _meta: NotRequired[Meta]


class ElicitationAcceptAction(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationAcceptAction."""

    content: NotRequired[dict[str, ElicitationContentValue] | None]


class ElicitationFormModeSession(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationFormMode, Session."""

    requestedSchema: ElicitationSchema
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class ElicitationFormModeRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationFormMode, Request."""

    requestedSchema: ElicitationSchema
    requestId: RequestId


ElicitationFormMode: TypeAlias = ElicitationFormModeSession | ElicitationFormModeRequest


class ElicitationRequestScope(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationRequestScope."""

    requestId: RequestId


class ElicitationSessionScope(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationSessionScope."""

    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class ElicitationUrlModeSession(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationUrlMode, Session."""

    elicitationId: ElicitationId
    url: str
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class ElicitationUrlModeRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ElicitationUrlMode, Request."""

    elicitationId: ElicitationId
    url: str
    requestId: RequestId


ElicitationUrlMode: TypeAlias = ElicitationUrlModeSession | ElicitationUrlModeRequest


class EmbeddedResource(TypedDict, extra_items=Any):
    """Source: ACP schema, EmbeddedResource."""

    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    resource: EmbeddedResourceResource
    _meta: NotRequired[Meta]


class ErrorStopReason(TypedDict, extra_items=Any):
    """Source: ACP schema, ErrorStopReason."""

    error: NotRequired[Annotated[Error | None, VALUE]]


class IdleStateUpdateEndTurn(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, EndTurn."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["end_turn"], VALUE]


class IdleStateUpdateMaxTokens(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, MaxTokens."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_tokens"], VALUE]


class IdleStateUpdateMaxTurnRequests(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, MaxTurnRequests."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_turn_requests"], VALUE]


class IdleStateUpdateRefusal(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Refusal."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["refusal"], VALUE]


class IdleStateUpdateCancelled(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Cancelled."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["cancelled"], VALUE]


class IdleStateUpdateError(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Error."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["error"], VALUE]
    error: NotRequired[Annotated[Error | None, VALUE]]


class IdleStateUpdateOther(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Other."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[str, VALUE]


class IdleStateUpdateNone(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, None."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: NotRequired[Annotated[None, VALUE]]


IdleStateUpdate: TypeAlias = Annotated[
    IdleStateUpdateEndTurn
    | IdleStateUpdateMaxTokens
    | IdleStateUpdateMaxTurnRequests
    | IdleStateUpdateRefusal
    | IdleStateUpdateCancelled
    | IdleStateUpdateError
    | IdleStateUpdateOther
    | IdleStateUpdateNone,
    Discriminator(
        "stopReason",
        (
            "end_turn",
            "max_tokens",
            "max_turn_requests",
            "refusal",
            "cancelled",
            "error",
            ELSE,
            None,
        ),
    ),
]


class ImageContent(TypedDict, extra_items=Any):
    """Source: ACP schema, ImageContent."""

    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    uri: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class InitializeProxyRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeProxyRequest."""

    protocolVersion: ProtocolVersion
    clientCapabilities: NotRequired[Annotated[ClientCapabilities, VALUE]]
    clientInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Meta]


class InitializeProxyResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeProxyResponse."""

    protocolVersion: ProtocolVersion
    agentCapabilities: NotRequired[Annotated[AgentCapabilities, VALUE]]
    authMethods: NotRequired[Annotated[list[AuthMethod], VALUE_AND_ITEMS]]
    agentInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Meta]


class IntegerPropertySchema(TypedDict, extra_items=Any):
    """Source: ACP schema, IntegerPropertySchema."""

    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[I64 | None]
    maximum: NotRequired[I64 | None]
    default: NotRequired[Annotated[I64 | None, VALUE]]
    _meta: NotRequired[Meta]


class McpServerAcp(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServerAcp."""

    name: str
    serverId: McpServerAcpId
    _meta: NotRequired[Meta]


class McpServerHttp(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServerHttp."""

    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Meta]


class McpServerSse(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServerSse."""

    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Meta]


class MultiSelectPropertySchema(TypedDict, extra_items=Any):
    """Source: ACP schema, MultiSelectPropertySchema."""

    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minItems: NotRequired[U64 | None]
    maxItems: NotRequired[U64 | None]
    items: MultiSelectItems
    default: NotRequired[Annotated[list[str] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class Notice(TypedDict, extra_items=Any):
    """Source: ACP schema, Notice."""

    severity: NoticeSeverity
    title: Annotated[str, MinLength(1)]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class NumberPropertySchema(TypedDict, extra_items=Any):
    """Source: ACP schema, NumberPropertySchema."""

    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    default: NotRequired[Annotated[float | None, VALUE]]
    _meta: NotRequired[Meta]


class Plan(TypedDict, extra_items=Any):
    """Source: ACP schema, Plan."""

    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


class PlanFile(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanFile."""

    planId: PlanId
    uri: str
    _meta: NotRequired[Meta]


class PlanItems(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanItems."""

    planId: PlanId
    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


class PlanMarkdown(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanMarkdown."""

    planId: PlanId
    content: str
    _meta: NotRequired[Meta]


class PlanRemoved(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanRemoved."""

    planId: PlanId
    _meta: NotRequired[Meta]


class PlanUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanUpdate."""

    plan: PlanUpdateContent
    _meta: NotRequired[Meta]


class ProxySuccessorNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, ProxySuccessorNotification."""

    method: str
    params: NotRequired[Any]
    _meta: NotRequired[Meta]


class ProxyNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, ProxyNotification."""

    method: str
    params: NotRequired[ProxySuccessorNotification | None]


class ProxySuccessorRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ProxySuccessorRequest."""

    method: str
    params: NotRequired[Any]
    _meta: NotRequired[Meta]


class ProxyRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ProxyRequest."""

    id: RequestId
    method: str
    params: NotRequired[InitializeProxyRequest | ProxySuccessorRequest | None]


ProxySuccessorResponse: TypeAlias = Any


class ProxyResponseResult(TypedDict, extra_items=Any):
    """Source: ACP schema, ProxyResponse, Result."""

    id: RequestId
    result: InitializeProxyResponse | ProxySuccessorResponse


class ProxyResponseError(TypedDict, extra_items=Any):
    """Source: ACP schema, ProxyResponse, Error."""

    id: RequestId
    error: Error


ProxyResponse: TypeAlias = ProxyResponseResult | ProxyResponseError


class RequiresActionStateUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, RequiresActionStateUpdate."""

    _meta: NotRequired[Meta]


class ResourceLink(TypedDict, extra_items=Any):
    """Source: ACP schema, ResourceLink."""

    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    mimeType: NotRequired[Annotated[str | None, VALUE]]
    name: str
    size: NotRequired[Annotated[I64 | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    uri: str
    _meta: NotRequired[Meta]


class RunningStateUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, RunningStateUpdate."""

    _meta: NotRequired[Meta]


class SelectedPermissionOutcome(TypedDict, extra_items=Any):
    """Source: ACP schema, SelectedPermissionOutcome."""

    optionId: PermissionOptionId
    _meta: NotRequired[Meta]


class SessionConfigBoolean(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigBoolean."""

    currentValue: bool


class SessionConfigSelect(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigSelect."""

    currentValue: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionInfoUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionInfoUpdate."""

    title: NotRequired[Annotated[str | None, VALUE]]
    updatedAt: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionMessage(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionMessage."""

    messageId: MessageId
    senderSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    recipientSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    senderMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    recipientMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class SessionMessageChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionMessageChunk."""

    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Meta]


class StringMultiSelectItems(TypedDict, extra_items=Any):
    """Source: ACP schema, StringMultiSelectItems."""

    enum: list[str]
    _meta: NotRequired[Meta]


class StringPropertySchema(TypedDict, extra_items=Any):
    """Source: ACP schema, StringPropertySchema."""

    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minLength: NotRequired[U32 | None]
    maxLength: NotRequired[U32 | None]
    pattern: NotRequired[str | None]
    format: NotRequired[StringFormat | None]
    default: NotRequired[Annotated[str | None, VALUE]]
    enum: NotRequired[list[str] | None]
    oneOf: NotRequired[list[EnumOption] | None]
    _meta: NotRequired[Meta]


class SubagentUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SubagentUpdate."""

    sessionId: SessionId
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    capabilities: NotRequired[Annotated[SubagentSessionCapabilities | None, VALUE]]
    state: NotRequired[Annotated[StateUpdate | None, VALUE]]
    cwd: NotRequired[str | None]
    additionalDirectories: NotRequired[list[str] | None]
    _meta: NotRequired[Meta]


class Terminal(TypedDict, extra_items=Any):
    """Source: ACP schema, Terminal."""

    terminalId: TerminalId
    _meta: NotRequired[Meta]


class TextContent(TypedDict, extra_items=Any):
    """Source: ACP schema, TextContent."""

    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    text: str
    _meta: NotRequired[Meta]


class ToolCall(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCall."""

    toolCallId: ToolCallId
    title: str
    name: NotRequired[Annotated[str | None, VALUE]]
    kind: NotRequired[Annotated[ToolKind, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent], VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation], VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    _meta: NotRequired[Meta]


class UnknownStateUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, UnknownStateUpdate."""

    _meta: NotRequired[Meta]


class UsageUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, UsageUpdate."""

    used: U64
    size: U64
    cost: NotRequired[Annotated[Cost | None, VALUE]]
    _meta: NotRequired[Meta]
