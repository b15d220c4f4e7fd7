"""The shapes of ACP version 2. Made by tools/make_schema.py, never by hand.

Source: v2/schema.unstable.json, SHA-256 49e10f8c1935…
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from acp_protocol.schema.constraints import (
    ELSE,
    I32,
    I64,
    ITEMS,
    NULL,
    U16,
    U32,
    U64,
    VALUE,
    VALUE_AND_ITEMS,
    Discriminator,
    MinLength,
    Range,
)

SCHEMA_ID: Final = "v2+49e10f8c1935"

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
        "BackgroundSubagent",
        "DisableProviderRequest",
        "DisableProviderResponse",
        "ForkSessionRequest",
        "ForkSessionResponse",
        "InitializeProxyRequest",
        "InitializeProxyResponse",
        "ListProvidersRequest",
        "ListProvidersResponse",
        "LlmProtocol",
        "McpAcpCapabilities",
        "McpError",
        "McpRequestId",
        "McpServerAcp",
        "McpServerAcpId",
        "MessageMcpNotification",
        "MessageMcpRequest",
        "MessageMcpResponse",
        "PlanFile",
        "PlanMarkdown",
        "PlanRemoved",
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
    "BackgroundWork": ("subagent",),
    "IdleStateUpdate": ("usage",),
    "ListSessionsRequest": ("archived",),
    "McpCapabilities": ("acp",),
    "McpServer": ("acp",),
    "NewSessionRequest": ("systemPrompt",),
    "PlanUpdateContent": ("file", "markdown"),
    "ResumeSessionRequest": ("systemPrompt",),
    "SessionCapabilities": ("archive", "fork", "status", "systemPrompt", "title"),
    "SessionInfo": ("archived",),
    "SessionUpdate": (
        "plan_removed",
        "session_message",
        "session_message_chunk",
        "subagent_update",
    ),
    "StateUpdate": ("unknown",),
}
"""Members and tag values of shared definitions that the stable schema does not have."""

Meta: TypeAlias = Annotated[dict[str, Any] | None, VALUE]
"""What a `_meta` may be."""


AbsolutePath: TypeAlias = str


class AuthStatusCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthStatusCapabilities."""

    _meta: NotRequired[Meta]


class AgentAuthCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentAuthCapabilities."""

    status: NotRequired[Annotated[AuthStatusCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class ProvidersCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ProvidersCapabilities."""

    _meta: NotRequired[Meta]


class McpAcpCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, McpAcpCapabilities."""

    _meta: NotRequired[Meta]


class McpHttpCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, McpHttpCapabilities."""

    _meta: NotRequired[Meta]


class McpStdioCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, McpStdioCapabilities."""

    _meta: NotRequired[Meta]


class McpCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, McpCapabilities."""

    stdio: NotRequired[Annotated[McpStdioCapabilities | None, VALUE]]
    http: NotRequired[Annotated[McpHttpCapabilities | None, VALUE]]
    acp: NotRequired[Annotated[McpAcpCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class PromptAudioCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptAudioCapabilities."""

    _meta: NotRequired[Meta]


class PromptEmbeddedContextCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptEmbeddedContextCapabilities."""

    _meta: NotRequired[Meta]


class PromptImageCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptImageCapabilities."""

    _meta: NotRequired[Meta]


class PromptCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptCapabilities."""

    image: NotRequired[Annotated[PromptImageCapabilities | None, VALUE]]
    audio: NotRequired[Annotated[PromptAudioCapabilities | None, VALUE]]
    embeddedContext: NotRequired[Annotated[PromptEmbeddedContextCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionAdditionalDirectoriesCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionAdditionalDirectoriesCapabilities."""

    _meta: NotRequired[Meta]


class SessionArchiveCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionArchiveCapabilities."""

    _meta: NotRequired[Meta]


class SessionDeleteCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionDeleteCapabilities."""

    _meta: NotRequired[Meta]


class SessionForkCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionForkCapabilities."""

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

    prompt: NotRequired[Annotated[PromptCapabilities | None, VALUE]]
    mcp: NotRequired[Annotated[McpCapabilities | None, VALUE]]
    delete: NotRequired[Annotated[SessionDeleteCapabilities | None, VALUE]]
    additionalDirectories: NotRequired[
        Annotated[SessionAdditionalDirectoriesCapabilities | None, VALUE]
    ]
    systemPrompt: NotRequired[Annotated[SessionSystemPromptCapabilities | None, VALUE]]
    fork: NotRequired[Annotated[SessionForkCapabilities | None, VALUE]]
    archive: NotRequired[Annotated[SessionArchiveCapabilities | None, VALUE]]
    status: NotRequired[Annotated[SessionStatusCapabilities | None, VALUE]]
    title: NotRequired[Annotated[SessionTitleCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class AgentCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentCapabilities."""

    session: NotRequired[Annotated[SessionCapabilities | None, VALUE]]
    auth: NotRequired[Annotated[AgentAuthCapabilities | None, VALUE]]
    providers: NotRequired[Annotated[ProvidersCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


Role: TypeAlias = Literal["assistant", "user"] | str


class Annotations(TypedDict, extra_items=Any):
    """Source: ACP schema, Annotations."""

    audience: NotRequired[Annotated[list[Role] | None, VALUE_AND_ITEMS]]
    lastModified: NotRequired[Annotated[str | None, VALUE]]
    priority: NotRequired[Annotated[Annotated[float, Range(0, 1)] | None, VALUE]]
    _meta: NotRequired[Meta]


MediaType: TypeAlias = str


class ContentBlockAudio(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Audio."""

    type: Literal["audio"]
    data: str
    mimeType: MediaType
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class ContentBlockImage(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Image."""

    type: Literal["image"]
    data: str
    mimeType: MediaType
    uri: NotRequired[Annotated[str | None, VALUE]]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class ContentBlockOther(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Other."""

    type: str


class BlobResourceContents(TypedDict, extra_items=Any):
    """Source: ACP schema, BlobResourceContents."""

    blob: str
    uri: str
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]


class TextResourceContents(TypedDict, extra_items=Any):
    """Source: ACP schema, TextResourceContents."""

    text: str
    uri: str
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]


EmbeddedResourceResource: TypeAlias = TextResourceContents | BlobResourceContents


class ContentBlockResource(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Resource."""

    type: Literal["resource"]
    resource: EmbeddedResourceResource
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


IconTheme: TypeAlias = Literal["light", "dark"] | str


class Icon(TypedDict, extra_items=Any):
    """Source: ACP schema, Icon."""

    src: str
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    sizes: NotRequired[Annotated[list[str] | None, VALUE_AND_ITEMS]]
    theme: NotRequired[Annotated[IconTheme | None, VALUE]]
    _meta: NotRequired[Meta]


class ContentBlockResourceLink(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, ResourceLink."""

    type: Literal["resource_link"]
    name: str
    uri: str
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    icons: NotRequired[Annotated[list[Icon] | None, VALUE_AND_ITEMS]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    size: NotRequired[Annotated[U64 | None, VALUE]]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class ContentBlockText(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentBlock, Text."""

    type: Literal["text"]
    text: str
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


ContentBlock: TypeAlias = Annotated[
    ContentBlockText
    | ContentBlockImage
    | ContentBlockAudio
    | ContentBlockResourceLink
    | ContentBlockResource
    | ContentBlockOther,
    Discriminator("type", ("text", "image", "audio", "resource_link", "resource", ELSE)),
]


MessageId: TypeAlias = str


class AgentMessage(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentMessage."""

    messageId: MessageId
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
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


class SessionUpdateAgentMessage(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AgentMessage."""

    sessionUpdate: Literal["agent_message"]
    messageId: MessageId
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class SessionUpdateAgentMessageChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AgentMessageChunk."""

    sessionUpdate: Literal["agent_message_chunk"]
    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Meta]


class SessionUpdateAgentThought(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AgentThought."""

    sessionUpdate: Literal["agent_thought"]
    messageId: MessageId
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class SessionUpdateAgentThoughtChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AgentThoughtChunk."""

    sessionUpdate: Literal["agent_thought_chunk"]
    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Meta]


class AvailableCommandInputOther(TypedDict, extra_items=Any):
    """Source: ACP schema, AvailableCommandInput, Other."""

    type: str


class AvailableCommandInputText(TypedDict, extra_items=Any):
    """Source: ACP schema, AvailableCommandInput, Text."""

    type: Literal["text"]
    hint: str
    _meta: NotRequired[Meta]


AvailableCommandInput: TypeAlias = Annotated[
    AvailableCommandInputText | AvailableCommandInputOther, Discriminator("type", ("text", ELSE))
]


class AvailableCommandCommand(TypedDict, extra_items=Any):
    """Source: ACP schema, AvailableCommand, Command."""

    type: Literal["command"]
    name: str
    description: str
    input: NotRequired[Annotated[AvailableCommandInput | None, VALUE]]
    _meta: NotRequired[Meta]


class AvailableCommandOther(TypedDict, extra_items=Any):
    """Source: ACP schema, AvailableCommand, Other."""

    type: str
    name: str
    description: str


AvailableCommand: TypeAlias = Annotated[
    AvailableCommandCommand | AvailableCommandOther, Discriminator("type", ("command", ELSE))
]


class SessionUpdateAvailableCommandsUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, AvailableCommandsUpdate."""

    sessionUpdate: Literal["available_commands_update"]
    availableCommands: Annotated[list[AvailableCommand], ITEMS]
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

    configId: SessionConfigId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    category: NotRequired[Annotated[SessionConfigOptionCategory | None, VALUE]]
    _meta: NotRequired[Meta]
    type: Literal["boolean"]
    currentValue: bool


class SessionConfigOptionOther(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigOption, Other."""

    configId: SessionConfigId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    category: NotRequired[Annotated[SessionConfigOptionCategory | None, VALUE]]
    _meta: NotRequired[Meta]
    type: str


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

    groupId: SessionConfigGroupId
    name: str
    options: Annotated[Annotated[list[SessionConfigSelectOption], MinLength(1)], VALUE_AND_ITEMS]
    _meta: NotRequired[Meta]


SessionConfigSelectOptions: TypeAlias = (
    Annotated[list[SessionConfigSelectOption], MinLength(1)]
    | Annotated[list[SessionConfigSelectGroup], MinLength(1)]
)


class SessionConfigOptionSelect(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionConfigOption, Select."""

    configId: SessionConfigId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    category: NotRequired[Annotated[SessionConfigOptionCategory | None, VALUE]]
    _meta: NotRequired[Meta]
    type: Literal["select"]
    currentValue: SessionConfigValueId
    options: SessionConfigSelectOptions


SessionConfigOption: TypeAlias = Annotated[
    SessionConfigOptionSelect | SessionConfigOptionBoolean | SessionConfigOptionOther,
    Discriminator("type", ("select", "boolean", ELSE)),
]


class SessionUpdateConfigOptionUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, ConfigOptionUpdate."""

    sessionUpdate: Literal["config_option_update"]
    configOptions: Annotated[list[SessionConfigOption], ITEMS]
    _meta: NotRequired[Meta]


NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str


class SessionUpdateNotice(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, Notice."""

    sessionUpdate: Literal["notice"]
    severity: NoticeSeverity
    title: Annotated[str, MinLength(1)]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateOther(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, Other."""

    sessionUpdate: str


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


PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"] | str


PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"] | str


class PlanEntry(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanEntry."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    _meta: NotRequired[Meta]


class PlanUpdateContentItems(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanUpdateContent, Items."""

    type: Literal["items"]
    planId: PlanId
    entries: Annotated[list[PlanEntry], ITEMS]
    _meta: NotRequired[Meta]


class PlanUpdateContentMarkdown(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanUpdateContent, Markdown."""

    type: Literal["markdown"]
    planId: PlanId
    content: str
    _meta: NotRequired[Meta]


class PlanUpdateContentOther(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanUpdateContent, Other."""

    type: str
    planId: PlanId


PlanUpdateContent: TypeAlias = Annotated[
    PlanUpdateContentItems
    | PlanUpdateContentFile
    | PlanUpdateContentMarkdown
    | PlanUpdateContentOther,
    Discriminator("type", ("items", "file", "markdown", ELSE)),
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


class BackgroundWorkOther(TypedDict, extra_items=Any):
    """Source: ACP schema, BackgroundWork, Other."""

    type: str


class BackgroundWorkSubagent(TypedDict, extra_items=Any):
    """Source: ACP schema, BackgroundWork, Subagent."""

    type: Literal["subagent"]
    sessionId: SessionId
    _meta: NotRequired[Meta]


TerminalId: TypeAlias = str


class BackgroundWorkTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, BackgroundWork, Terminal."""

    type: Literal["terminal"]
    terminalId: TerminalId
    _meta: NotRequired[Meta]


ToolCallId: TypeAlias = str


class BackgroundWorkToolCall(TypedDict, extra_items=Any):
    """Source: ACP schema, BackgroundWork, ToolCall."""

    type: Literal["tool_call"]
    toolCallId: ToolCallId
    _meta: NotRequired[Meta]


BackgroundWork: TypeAlias = Annotated[
    BackgroundWorkTerminal | BackgroundWorkToolCall | BackgroundWorkSubagent | BackgroundWorkOther,
    Discriminator("type", ("terminal", "tool_call", "subagent", ELSE)),
]


class Usage(TypedDict, extra_items=Any):
    """Source: ACP schema, Usage."""

    totalTokens: U64
    inputTokens: U64
    outputTokens: U64
    thoughtTokens: NotRequired[Annotated[U64 | None, VALUE]]
    cachedReadTokens: NotRequired[Annotated[U64 | None, VALUE]]
    cachedWriteTokens: NotRequired[Annotated[U64 | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateStateUpdateIdleCancelled(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleCancelled."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["cancelled"], VALUE]


class SessionUpdateStateUpdateIdleEndTurn(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleEndTurn."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["end_turn"], VALUE]


ErrorCode: TypeAlias = (
    Literal[-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002, -32022] | I32
)


class SessionNotFoundErrorData(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionNotFoundErrorData."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


ProtocolVersion: TypeAlias = U16


class UnsupportedProtocolVersionErrorData(TypedDict, extra_items=Any):
    """Source: ACP schema, UnsupportedProtocolVersionErrorData."""

    requested: ProtocolVersion
    supported: list[ProtocolVersion]
    _meta: NotRequired[Meta]


ErrorData: TypeAlias = Any


class Error(TypedDict, extra_items=Any):
    """Source: ACP schema, Error."""

    code: ErrorCode
    message: str
    data: NotRequired[Annotated[ErrorData | None, VALUE]]


class SessionUpdateStateUpdateIdleError(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleError."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["error"], VALUE]
    error: NotRequired[Annotated[Error | None, VALUE]]


class SessionUpdateStateUpdateIdleMaxTokens(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleMaxTokens."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_tokens"], VALUE]


class SessionUpdateStateUpdateIdleMaxTurnRequests(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleMaxTurnRequests."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_turn_requests"], VALUE]


class SessionUpdateStateUpdateIdleNone(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleNone."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: NotRequired[Annotated[None, VALUE]]


class SessionUpdateStateUpdateIdleOther(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleOther."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[str, VALUE]


class SessionUpdateStateUpdateIdleRefusal(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateIdleRefusal."""

    sessionUpdate: Literal["state_update"]
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["refusal"], VALUE]


SessionUpdateStateUpdateIdle: TypeAlias = Annotated[
    SessionUpdateStateUpdateIdleEndTurn
    | SessionUpdateStateUpdateIdleMaxTokens
    | SessionUpdateStateUpdateIdleMaxTurnRequests
    | SessionUpdateStateUpdateIdleRefusal
    | SessionUpdateStateUpdateIdleCancelled
    | SessionUpdateStateUpdateIdleError
    | SessionUpdateStateUpdateIdleOther
    | SessionUpdateStateUpdateIdleNone,
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


class SessionUpdateStateUpdateOther(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateOther."""

    sessionUpdate: Literal["state_update"]
    state: str


class SessionUpdateStateUpdateRequiresAction(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateRequiresAction."""

    sessionUpdate: Literal["state_update"]
    state: Literal["requires_action"]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateStateUpdateRunning(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateRunning."""

    sessionUpdate: Literal["state_update"]
    state: Literal["running"]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]


class SessionUpdateStateUpdateUnknown(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, StateUpdateUnknown."""

    sessionUpdate: Literal["state_update"]
    state: Literal["unknown"]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]


SessionUpdateStateUpdate: TypeAlias = Annotated[
    SessionUpdateStateUpdateRunning
    | SessionUpdateStateUpdateIdle
    | SessionUpdateStateUpdateRequiresAction
    | SessionUpdateStateUpdateUnknown
    | SessionUpdateStateUpdateOther,
    Discriminator("state", ("running", "idle", "requires_action", "unknown", ELSE)),
]


class StateUpdateIdleCancelled(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleCancelled."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["cancelled"], VALUE]


class StateUpdateIdleEndTurn(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleEndTurn."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["end_turn"], VALUE]


class StateUpdateIdleError(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleError."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["error"], VALUE]
    error: NotRequired[Annotated[Error | None, VALUE]]


class StateUpdateIdleMaxTokens(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleMaxTokens."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_tokens"], VALUE]


class StateUpdateIdleMaxTurnRequests(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleMaxTurnRequests."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_turn_requests"], VALUE]


class StateUpdateIdleNone(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleNone."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: NotRequired[Annotated[None, VALUE]]


class StateUpdateIdleOther(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleOther."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[str, VALUE]


class StateUpdateIdleRefusal(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, IdleRefusal."""

    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
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
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]


class StateUpdateRunning(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, Running."""

    state: Literal["running"]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]


class StateUpdateUnknown(TypedDict, extra_items=Any):
    """Source: ACP schema, StateUpdate, Unknown."""

    state: Literal["unknown"]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
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
    cwd: NotRequired[AbsolutePath | None]
    additionalDirectories: NotRequired[list[AbsolutePath] | None]
    _meta: NotRequired[Meta]


class SessionUpdateTerminalOutputChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, TerminalOutputChunk."""

    sessionUpdate: Literal["terminal_output_chunk"]
    terminalId: TerminalId
    data: str
    _meta: NotRequired[Meta]


class TerminalCancelCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalCancelCapabilities."""

    _meta: NotRequired[Meta]


class TerminalCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalCapabilities."""

    cancel: NotRequired[Annotated[TerminalCancelCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class TerminalExitStatus(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalExitStatus."""

    exitCode: NotRequired[Annotated[I64 | None, VALUE]]
    signal: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class TerminalOutput(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalOutput."""

    data: str
    _meta: NotRequired[Meta]


class TerminalSize(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalSize."""

    cols: Annotated[U16, Range(1, 65535)]
    rows: Annotated[U16, Range(1, 65535)]
    _meta: NotRequired[Meta]


class SessionUpdateTerminalUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, TerminalUpdate."""

    sessionUpdate: Literal["terminal_update"]
    terminalId: TerminalId
    command: NotRequired[Annotated[str | None, VALUE]]
    cwd: NotRequired[Annotated[AbsolutePath | None, VALUE]]
    output: NotRequired[Annotated[TerminalOutput | None, VALUE]]
    exitStatus: NotRequired[Annotated[TerminalExitStatus | None, VALUE]]
    size: NotRequired[Annotated[TerminalSize | None, VALUE]]
    capabilities: NotRequired[Annotated[TerminalCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class ToolCallContentContent(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContent, Content."""

    type: Literal["content"]
    content: ContentBlock
    _meta: NotRequired[Meta]


DiffFileType: TypeAlias = Literal["text", "binary", "directory", "symlink"] | str


class DiffChangeAdd(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffChange, Add."""

    fileType: NotRequired[Annotated[DiffFileType | None, VALUE]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]
    operation: Literal["add"]
    path: AbsolutePath


class DiffChangeCopy(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffChange, Copy."""

    fileType: NotRequired[Annotated[DiffFileType | None, VALUE]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]
    operation: Literal["copy"]
    oldPath: AbsolutePath
    path: AbsolutePath


class DiffChangeDelete(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffChange, Delete."""

    fileType: NotRequired[Annotated[DiffFileType | None, VALUE]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]
    operation: Literal["delete"]
    path: AbsolutePath


class DiffChangeModify(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffChange, Modify."""

    fileType: NotRequired[Annotated[DiffFileType | None, VALUE]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]
    operation: Literal["modify"]
    path: AbsolutePath


class DiffChangeMove(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffChange, Move."""

    fileType: NotRequired[Annotated[DiffFileType | None, VALUE]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]
    operation: Literal["move"]
    oldPath: AbsolutePath
    path: AbsolutePath


class DiffChangeOther(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffChange, Other."""

    fileType: NotRequired[Annotated[DiffFileType | None, VALUE]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    _meta: NotRequired[Meta]
    operation: str


DiffChange: TypeAlias = Annotated[
    DiffChangeAdd
    | DiffChangeDelete
    | DiffChangeModify
    | DiffChangeMove
    | DiffChangeCopy
    | DiffChangeOther,
    Discriminator("operation", ("add", "delete", "modify", "move", "copy", ELSE)),
]


DiffPatchFormat: TypeAlias = Literal["git_patch"] | str


class DiffPatch(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffPatch."""

    format: DiffPatchFormat
    text: str
    _meta: NotRequired[Meta]


class ToolCallContentDiff(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContent, Diff."""

    type: Literal["diff"]
    changes: Annotated[list[DiffChange], ITEMS]
    patch: NotRequired[Annotated[DiffPatch | None, VALUE]]
    _meta: NotRequired[Meta]


class ToolCallContentOther(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContent, Other."""

    type: str


class ToolCallContentTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContent, Terminal."""

    type: Literal["terminal"]
    terminalId: TerminalId
    _meta: NotRequired[Meta]


ToolCallContent: TypeAlias = Annotated[
    ToolCallContentContent | ToolCallContentDiff | ToolCallContentTerminal | ToolCallContentOther,
    Discriminator("type", ("content", "diff", "terminal", ELSE)),
]


class SessionUpdateToolCallContentChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, ToolCallContentChunk."""

    sessionUpdate: Literal["tool_call_content_chunk"]
    toolCallId: ToolCallId
    content: ToolCallContent
    _meta: NotRequired[Meta]


class ToolCallCancelCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallCancelCapabilities."""

    _meta: NotRequired[Meta]


class ToolCallCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallCapabilities."""

    cancel: NotRequired[Annotated[ToolCallCancelCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class ToolCallLocation(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallLocation."""

    path: AbsolutePath
    line: NotRequired[Annotated[Annotated[U32, Range(1, None)] | None, VALUE]]
    _meta: NotRequired[Meta]


ToolCallStatus: TypeAlias = (
    Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"] | str
)


ToolKind: TypeAlias = (
    Literal[
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
    ]
    | str
)


class SessionUpdateToolCallUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, ToolCallUpdate."""

    sessionUpdate: Literal["tool_call_update"]
    toolCallId: ToolCallId
    name: NotRequired[Annotated[str | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    kind: NotRequired[Annotated[ToolKind | None, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus | None, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent] | None, VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation] | None, VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    capabilities: NotRequired[Annotated[ToolCallCapabilities | None, VALUE]]
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


class SessionUpdateUserMessage(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, UserMessage."""

    sessionUpdate: Literal["user_message"]
    messageId: MessageId
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class SessionUpdateUserMessageChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionUpdate, UserMessageChunk."""

    sessionUpdate: Literal["user_message_chunk"]
    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Meta]


SessionUpdate: TypeAlias = Annotated[
    SessionUpdateUserMessageChunk
    | SessionUpdateUserMessage
    | SessionUpdateAgentMessageChunk
    | SessionUpdateAgentMessage
    | SessionUpdateAgentThoughtChunk
    | SessionUpdateAgentThought
    | SessionUpdateStateUpdate
    | SessionUpdateToolCallContentChunk
    | SessionUpdateToolCallUpdate
    | SessionUpdateTerminalUpdate
    | SessionUpdateTerminalOutputChunk
    | SessionUpdatePlanUpdate
    | SessionUpdatePlanRemoved
    | SessionUpdateAvailableCommandsUpdate
    | SessionUpdateConfigOptionUpdate
    | SessionUpdateSessionInfoUpdate
    | SessionUpdateUsageUpdate
    | SessionUpdateNotice
    | SessionUpdateCompactionUpdate
    | SessionUpdateCompactionSummaryChunk
    | SessionUpdateSubagentUpdate
    | SessionUpdateSessionMessage
    | SessionUpdateSessionMessageChunk
    | SessionUpdateOther,
    Discriminator(
        "sessionUpdate",
        (
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
            ELSE,
        ),
    ),
]


class UpdateSessionNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, UpdateSessionNotification."""

    sessionId: SessionId
    update: SessionUpdate
    _meta: NotRequired[Meta]


class AgentNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentNotification."""

    method: str
    params: NotRequired[
        UpdateSessionNotification
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
    enum: Annotated[list[str], MinLength(1)]
    _meta: NotRequired[Meta]


class EnumOption(TypedDict, extra_items=Any):
    """Source: ACP schema, EnumOption."""

    const: str
    title: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class TitledMultiSelectItems(TypedDict, extra_items=Any):
    """Source: ACP schema, TitledMultiSelectItems."""

    anyOf: Annotated[list[EnumOption], MinLength(1)]
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


StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"] | str


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
    enum: NotRequired[Annotated[list[str], MinLength(1)] | None]
    oneOf: NotRequired[Annotated[list[EnumOption], MinLength(1)] | None]
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

    type: ElicitationSchemaType
    title: NotRequired[Annotated[str | None, VALUE]]
    properties: dict[str, ElicitationPropertySchema]
    required: NotRequired[list[str] | None]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


RequestId: TypeAlias = I64 | str


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


ExtRequest: TypeAlias = Any


McpRequestId: TypeAlias = str


McpServerAcpId: TypeAlias = str


class MessageMcpRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, MessageMcpRequest."""

    serverId: McpServerAcpId
    requestId: McpRequestId
    method: str
    params: NotRequired[dict[str, Any] | None]
    _meta: NotRequired[Meta]


PermissionOptionId: TypeAlias = str


PermissionOptionKind: TypeAlias = (
    Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str
)


class PermissionOption(TypedDict, extra_items=Any):
    """Source: ACP schema, PermissionOption."""

    optionId: PermissionOptionId
    name: str
    kind: PermissionOptionKind
    _meta: NotRequired[Meta]


class RequestPermissionSubjectCommand(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionSubject, Command."""

    type: Literal["command"]
    command: str
    cwd: AbsolutePath
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]
    terminalId: NotRequired[Annotated[TerminalId | None, VALUE]]
    _meta: NotRequired[Meta]


class RequestPermissionSubjectOther(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionSubject, Other."""

    type: str


class ToolCallUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallUpdate."""

    toolCallId: ToolCallId
    name: NotRequired[Annotated[str | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    kind: NotRequired[Annotated[ToolKind | None, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus | None, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent] | None, VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation] | None, VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    capabilities: NotRequired[Annotated[ToolCallCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class RequestPermissionSubjectToolCall(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionSubject, ToolCall."""

    type: Literal["tool_call"]
    toolCall: ToolCallUpdate
    _meta: NotRequired[Meta]


RequestPermissionSubject: TypeAlias = Annotated[
    RequestPermissionSubjectToolCall
    | RequestPermissionSubjectCommand
    | RequestPermissionSubjectOther,
    Discriminator("type", ("tool_call", "command", ELSE)),
]


class RequestPermissionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionRequest."""

    sessionId: SessionId
    title: str
    description: NotRequired[Annotated[str | None, VALUE]]
    subject: NotRequired[RequestPermissionSubject | None]
    options: Annotated[list[PermissionOption], MinLength(1)]
    _meta: NotRequired[Meta]


class AgentRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentRequest."""

    id: RequestId
    method: str
    params: NotRequired[
        RequestPermissionRequest | CreateElicitationRequest | MessageMcpRequest | ExtRequest | None
    ]


class ArchiveSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ArchiveSessionResponse."""

    _meta: NotRequired[Meta]


class AuthStatusResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthStatusResponse."""

    state: AuthState
    accounts: NotRequired[Annotated[list[AuthAccount], VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class CancelTerminalResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelTerminalResponse."""

    _meta: NotRequired[Meta]


class CancelToolCallResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelToolCallResponse."""

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


class ForkSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ForkSessionResponse."""

    sessionId: SessionId
    configOptions: NotRequired[Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]]
    availableCommands: NotRequired[Annotated[list[AvailableCommand], VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


AuthMethodId: TypeAlias = str


class AuthMethodOther(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethod, Other."""

    type: str
    methodId: AuthMethodId
    name: str


class TaggedAuthMethodAgent(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethod, Agent."""

    type: Literal["agent"]
    methodId: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class EnvVariable(TypedDict, extra_items=Any):
    """Source: ACP schema, EnvVariable."""

    name: str
    value: str
    _meta: NotRequired[Meta]


class TaggedAuthMethodTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethod, Terminal."""

    type: Literal["terminal"]
    methodId: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[list[EnvVariable] | None, NULL]]
    _meta: NotRequired[Meta]


AuthMethod: TypeAlias = Annotated[
    TaggedAuthMethodTerminal | TaggedAuthMethodAgent | AuthMethodOther,
    Discriminator("type", ("terminal", "agent", ELSE)),
]


class Implementation(TypedDict, extra_items=Any):
    """Source: ACP schema, Implementation."""

    name: str
    title: NotRequired[Annotated[str | None, VALUE]]
    version: str
    _meta: NotRequired[Meta]


class InitializeResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeResponse."""

    protocolVersion: ProtocolVersion
    info: Implementation
    capabilities: NotRequired[Annotated[AgentCapabilities, VALUE]]
    authMethods: NotRequired[Annotated[list[AuthMethod], VALUE_AND_ITEMS]]
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
    cwd: AbsolutePath
    additionalDirectories: NotRequired[Annotated[list[AbsolutePath] | None, NULL]]
    title: NotRequired[Annotated[str | None, VALUE]]
    updatedAt: NotRequired[Annotated[str | None, VALUE]]
    archived: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Meta]


SessionListCursor: TypeAlias = str


class ListSessionsResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ListSessionsResponse."""

    sessions: Annotated[list[SessionInfo], VALUE_AND_ITEMS]
    nextCursor: NotRequired[SessionListCursor | None]
    _meta: NotRequired[Meta]


class LoginAuthResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, LoginAuthResponse."""

    _meta: NotRequired[Meta]


class LogoutAuthResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, LogoutAuthResponse."""

    _meta: NotRequired[Meta]


class NewSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, NewSessionResponse."""

    sessionId: SessionId
    configOptions: NotRequired[Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]]
    availableCommands: NotRequired[Annotated[list[AvailableCommand], VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class PromptResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptResponse."""

    messageId: MessageId
    _meta: NotRequired[Meta]


class ResumeSessionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, ResumeSessionResponse."""

    configOptions: NotRequired[Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]]
    availableCommands: NotRequired[Annotated[list[AvailableCommand], VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


SessionStatus: TypeAlias = Literal["open", "saved"] | str


class SessionStatusResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SessionStatusResponse."""

    status: SessionStatus
    state: NotRequired[Annotated[StateUpdate | None, VALUE]]
    _meta: NotRequired[Meta]


class SetProviderResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SetProviderResponse."""

    _meta: NotRequired[Meta]


class SetSessionConfigOptionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionConfigOptionResponse."""

    configOptions: Annotated[list[SessionConfigOption], ITEMS]
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
        | LoginAuthResponse
        | ListProvidersResponse
        | SetProviderResponse
        | DisableProviderResponse
        | LogoutAuthResponse
        | AuthStatusResponse
        | NewSessionResponse
        | ListSessionsResponse
        | DeleteSessionResponse
        | ForkSessionResponse
        | ArchiveSessionResponse
        | UnarchiveSessionResponse
        | SessionStatusResponse
        | SetSessionTitleResponse
        | ResumeSessionResponse
        | CloseSessionResponse
        | CancelToolCallResponse
        | CancelTerminalResponse
        | SetSessionConfigOptionResponse
        | PromptResponse
        | ExtResponse
    )


class AgentResponseError(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentResponse, Error."""

    id: I64 | str | None
    error: Error


AgentResponse: TypeAlias = AgentResponseResult | AgentResponseError


class AgentThought(TypedDict, extra_items=Any):
    """Source: ACP schema, AgentThought."""

    messageId: MessageId
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]


class ArchiveSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ArchiveSessionRequest."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class AudioContent(TypedDict, extra_items=Any):
    """Source: ACP schema, AudioContent."""

    data: str
    mimeType: MediaType
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class AuthMethodAgent(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethodAgent."""

    methodId: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Meta]


class AuthMethodTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthMethodTerminal."""

    methodId: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[list[EnvVariable] | None, NULL]]
    _meta: NotRequired[Meta]


class AuthStatusRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, AuthStatusRequest."""

    _meta: NotRequired[Meta]


class AvailableCommandsUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, AvailableCommandsUpdate."""

    availableCommands: Annotated[list[AvailableCommand], ITEMS]
    _meta: NotRequired[Meta]


class BackgroundSubagent(TypedDict, extra_items=Any):
    """Source: ACP schema, BackgroundSubagent."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class BackgroundTerminal(TypedDict, extra_items=Any):
    """Source: ACP schema, BackgroundTerminal."""

    terminalId: TerminalId
    _meta: NotRequired[Meta]


class BackgroundToolCall(TypedDict, extra_items=Any):
    """Source: ACP schema, BackgroundToolCall."""

    toolCallId: ToolCallId
    _meta: NotRequired[Meta]


class BooleanPropertySchema(TypedDict, extra_items=Any):
    """Source: ACP schema, BooleanPropertySchema."""

    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    default: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Meta]


class CancelRequestNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelRequestNotification."""

    requestId: RequestId
    _meta: NotRequired[Meta]


class CancelSessionNotification(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelSessionNotification."""

    sessionId: SessionId
    _meta: NotRequired[Meta]


class CancelTerminalRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelTerminalRequest."""

    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Meta]


class CancelToolCallRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelToolCallRequest."""

    sessionId: SessionId
    toolCallId: ToolCallId
    _meta: NotRequired[Meta]


class CancelledPermissionOutcome(TypedDict, extra_items=Any):
    """Source: ACP schema, CancelledPermissionOutcome."""

    _meta: NotRequired[Meta]


class TerminalAuthCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalAuthCapabilities."""

    _meta: NotRequired[Meta]


class ClientAuthCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientAuthCapabilities."""

    terminal: NotRequired[Annotated[TerminalAuthCapabilities | None, VALUE]]
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


class ClientCapabilities(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientCapabilities."""

    auth: NotRequired[Annotated[ClientAuthCapabilities | None, VALUE]]
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
    params: NotRequired[CancelSessionNotification | MessageMcpNotification | ExtNotification | None]


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


class McpServerOther(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServer, Other."""

    type: str


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
    headers: NotRequired[Annotated[list[HttpHeader] | None, NULL]]
    _meta: NotRequired[Meta]


class TaggedMcpServerStdio(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServer, Stdio."""

    type: Literal["stdio"]
    name: str
    command: AbsolutePath
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[list[EnvVariable] | None, NULL]]
    _meta: NotRequired[Meta]


McpServer: TypeAlias = Annotated[
    TaggedMcpServerHttp | TaggedMcpServerAcp | TaggedMcpServerStdio | McpServerOther,
    Discriminator("type", ("http", "acp", "stdio", ELSE)),
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
    cwd: AbsolutePath
    additionalDirectories: NotRequired[Annotated[list[AbsolutePath] | None, NULL]]
    mcpServers: NotRequired[Annotated[list[McpServer] | None, NULL]]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Meta]


class InitializeRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeRequest."""

    protocolVersion: ProtocolVersion
    info: Implementation
    capabilities: NotRequired[Annotated[ClientCapabilities, VALUE]]
    _meta: NotRequired[Meta]


class ListProvidersRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ListProvidersRequest."""

    _meta: NotRequired[Meta]


SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str


class ListSessionsRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ListSessionsRequest."""

    cwd: NotRequired[AbsolutePath | None]
    cursor: NotRequired[SessionListCursor | None]
    archived: NotRequired[SessionArchiveFilter | None]
    _meta: NotRequired[Meta]


class LoginAuthRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, LoginAuthRequest."""

    methodId: AuthMethodId
    _meta: NotRequired[Meta]


class LogoutAuthRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, LogoutAuthRequest."""

    _meta: NotRequired[Meta]


class NewSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, NewSessionRequest."""

    cwd: AbsolutePath
    additionalDirectories: NotRequired[Annotated[list[AbsolutePath] | None, NULL]]
    mcpServers: NotRequired[Annotated[list[McpServer] | None, NULL]]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Meta]


class PromptRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, PromptRequest."""

    sessionId: SessionId
    prompt: Annotated[list[ContentBlock], MinLength(1)]
    _meta: NotRequired[Meta]


class ReplayFromOther(TypedDict, extra_items=Any):
    """Source: ACP schema, ReplayFrom, Other."""

    type: str


class TaggedReplayFromStart(TypedDict, extra_items=Any):
    """Source: ACP schema, ReplayFrom, Start."""

    type: Literal["start"]
    _meta: NotRequired[Meta]


ReplayFrom: TypeAlias = Annotated[
    TaggedReplayFromStart | ReplayFromOther, Discriminator("type", ("start", ELSE))
]


class ResumeSessionRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, ResumeSessionRequest."""

    sessionId: SessionId
    cwd: AbsolutePath
    additionalDirectories: NotRequired[Annotated[list[AbsolutePath] | None, NULL]]
    mcpServers: NotRequired[Annotated[list[McpServer] | None, NULL]]
    replayFrom: NotRequired[ReplayFrom | None]
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


class SetSessionConfigOptionRequestId(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionConfigOptionRequest, Id."""

    sessionId: SessionId
    configId: SessionConfigId
    _meta: NotRequired[Meta]
    type: Literal["id"]
    value: SessionConfigValueId


class SetSessionConfigOptionRequestOther(TypedDict, extra_items=Any):
    """Source: ACP schema, SetSessionConfigOptionRequest, Other."""

    sessionId: SessionId
    configId: SessionConfigId
    _meta: NotRequired[Meta]
    type: str
    value: Any


SetSessionConfigOptionRequest: TypeAlias = Annotated[
    SetSessionConfigOptionRequestId
    | SetSessionConfigOptionRequestBoolean
    | SetSessionConfigOptionRequestOther,
    Discriminator("type", ("id", "boolean", ELSE)),
]


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
        | LoginAuthRequest
        | ListProvidersRequest
        | SetProviderRequest
        | DisableProviderRequest
        | LogoutAuthRequest
        | AuthStatusRequest
        | NewSessionRequest
        | ListSessionsRequest
        | DeleteSessionRequest
        | ForkSessionRequest
        | ArchiveSessionRequest
        | UnarchiveSessionRequest
        | SessionStatusRequest
        | SetSessionTitleRequest
        | ResumeSessionRequest
        | CloseSessionRequest
        | CancelToolCallRequest
        | CancelTerminalRequest
        | SetSessionConfigOptionRequest
        | PromptRequest
        | ExtRequest
        | None
    ]


ElicitationContentValue: TypeAlias = Any


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


class RequestPermissionOutcomeCancelled(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionOutcome, Cancelled."""

    outcome: Literal["cancelled"]
    _meta: NotRequired[Meta]


class RequestPermissionOutcomeOther(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionOutcome, Other."""

    outcome: str


class RequestPermissionOutcomeSelected(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionOutcome, Selected."""

    outcome: Literal["selected"]
    optionId: PermissionOptionId
    _meta: NotRequired[Meta]


RequestPermissionOutcome: TypeAlias = Annotated[
    RequestPermissionOutcomeCancelled
    | RequestPermissionOutcomeSelected
    | RequestPermissionOutcomeOther,
    Discriminator("outcome", ("cancelled", "selected", ELSE)),
]


class RequestPermissionResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, RequestPermissionResponse."""

    outcome: RequestPermissionOutcome
    _meta: NotRequired[Meta]


class ClientResponseResult(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientResponse, Result."""

    id: RequestId
    result: RequestPermissionResponse | CreateElicitationResponse | MessageMcpResponse | ExtResponse


class ClientResponseError(TypedDict, extra_items=Any):
    """Source: ACP schema, ClientResponse, Error."""

    id: I64 | str | None
    error: Error


ClientResponse: TypeAlias = ClientResponseResult | ClientResponseError


class Command(TypedDict, extra_items=Any):
    """Source: ACP schema, Command."""

    name: str
    description: str
    input: NotRequired[Annotated[AvailableCommandInput | None, VALUE]]
    _meta: NotRequired[Meta]


class CommandPermissionSubject(TypedDict, extra_items=Any):
    """Source: ACP schema, CommandPermissionSubject."""

    command: str
    cwd: AbsolutePath
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]
    terminalId: NotRequired[Annotated[TerminalId | None, VALUE]]
    _meta: NotRequired[Meta]


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

    configOptions: Annotated[list[SessionConfigOption], ITEMS]
    _meta: NotRequired[Meta]


class Content(TypedDict, extra_items=Any):
    """Source: ACP schema, Content."""

    content: ContentBlock
    _meta: NotRequired[Meta]


class ContentChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, ContentChunk."""

    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Meta]


class Diff(TypedDict, extra_items=Any):
    """Source: ACP schema, Diff."""

    changes: Annotated[list[DiffChange], ITEMS]
    patch: NotRequired[Annotated[DiffPatch | None, VALUE]]
    _meta: NotRequired[Meta]


class DiffPathChange(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffPathChange."""

    path: AbsolutePath


class DiffPathPairChange(TypedDict, extra_items=Any):
    """Source: ACP schema, DiffPathPairChange."""

    oldPath: AbsolutePath
    path: AbsolutePath


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

    resource: EmbeddedResourceResource
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class ErrorStopReason(TypedDict, extra_items=Any):
    """Source: ACP schema, ErrorStopReason."""

    error: NotRequired[Annotated[Error | None, VALUE]]


class IdleStateUpdateEndTurn(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, EndTurn."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["end_turn"], VALUE]


class IdleStateUpdateMaxTokens(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, MaxTokens."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_tokens"], VALUE]


class IdleStateUpdateMaxTurnRequests(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, MaxTurnRequests."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["max_turn_requests"], VALUE]


class IdleStateUpdateRefusal(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Refusal."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["refusal"], VALUE]


class IdleStateUpdateCancelled(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Cancelled."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["cancelled"], VALUE]


class IdleStateUpdateError(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Error."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[Literal["error"], VALUE]
    error: NotRequired[Annotated[Error | None, VALUE]]


class IdleStateUpdateOther(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, Other."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]
    stopReason: Annotated[str, VALUE]


class IdleStateUpdateNone(TypedDict, extra_items=Any):
    """Source: ACP schema, IdleStateUpdate, None."""

    usage: NotRequired[Annotated[Usage | None, VALUE]]
    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
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

    data: str
    mimeType: MediaType
    uri: NotRequired[Annotated[str | None, VALUE]]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class InitializeProxyRequest(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeProxyRequest."""

    protocolVersion: ProtocolVersion
    info: Implementation
    capabilities: NotRequired[Annotated[ClientCapabilities, VALUE]]
    _meta: NotRequired[Meta]


class InitializeProxyResponse(TypedDict, extra_items=Any):
    """Source: ACP schema, InitializeProxyResponse."""

    protocolVersion: ProtocolVersion
    info: Implementation
    capabilities: NotRequired[Annotated[AgentCapabilities, VALUE]]
    authMethods: NotRequired[Annotated[list[AuthMethod], VALUE_AND_ITEMS]]
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
    headers: NotRequired[Annotated[list[HttpHeader] | None, NULL]]
    _meta: NotRequired[Meta]


class McpServerStdio(TypedDict, extra_items=Any):
    """Source: ACP schema, McpServerStdio."""

    name: str
    command: AbsolutePath
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[list[EnvVariable] | None, NULL]]
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


class PlanFile(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanFile."""

    planId: PlanId
    uri: str
    _meta: NotRequired[Meta]


class PlanItems(TypedDict, extra_items=Any):
    """Source: ACP schema, PlanItems."""

    planId: PlanId
    entries: Annotated[list[PlanEntry], ITEMS]
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

    id: I64 | str | None
    error: Error


ProxyResponse: TypeAlias = ProxyResponseResult | ProxyResponseError


class ReplayFromStart(TypedDict, extra_items=Any):
    """Source: ACP schema, ReplayFromStart."""

    _meta: NotRequired[Meta]


class RequiresActionStateUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, RequiresActionStateUpdate."""

    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]


class ResourceLink(TypedDict, extra_items=Any):
    """Source: ACP schema, ResourceLink."""

    name: str
    uri: str
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    icons: NotRequired[Annotated[list[Icon] | None, VALUE_AND_ITEMS]]
    mimeType: NotRequired[Annotated[MediaType | None, VALUE]]
    size: NotRequired[Annotated[U64 | None, VALUE]]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class RunningStateUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, RunningStateUpdate."""

    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
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

    enum: Annotated[list[str], MinLength(1)]
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
    enum: NotRequired[Annotated[list[str], MinLength(1)] | None]
    oneOf: NotRequired[Annotated[list[EnumOption], MinLength(1)] | None]
    _meta: NotRequired[Meta]


class SubagentUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, SubagentUpdate."""

    sessionId: SessionId
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    capabilities: NotRequired[Annotated[SubagentSessionCapabilities | None, VALUE]]
    state: NotRequired[Annotated[StateUpdate | None, VALUE]]
    cwd: NotRequired[AbsolutePath | None]
    additionalDirectories: NotRequired[list[AbsolutePath] | None]
    _meta: NotRequired[Meta]


class Terminal(TypedDict, extra_items=Any):
    """Source: ACP schema, Terminal."""

    terminalId: TerminalId
    _meta: NotRequired[Meta]


class TerminalOutputChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalOutputChunk."""

    terminalId: TerminalId
    data: str
    _meta: NotRequired[Meta]


class TerminalUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, TerminalUpdate."""

    terminalId: TerminalId
    command: NotRequired[Annotated[str | None, VALUE]]
    cwd: NotRequired[Annotated[AbsolutePath | None, VALUE]]
    output: NotRequired[Annotated[TerminalOutput | None, VALUE]]
    exitStatus: NotRequired[Annotated[TerminalExitStatus | None, VALUE]]
    size: NotRequired[Annotated[TerminalSize | None, VALUE]]
    capabilities: NotRequired[Annotated[TerminalCapabilities | None, VALUE]]
    _meta: NotRequired[Meta]


class TextCommandInput(TypedDict, extra_items=Any):
    """Source: ACP schema, TextCommandInput."""

    hint: str
    _meta: NotRequired[Meta]


class TextContent(TypedDict, extra_items=Any):
    """Source: ACP schema, TextContent."""

    text: str
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    _meta: NotRequired[Meta]


class ToolCallContentChunk(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallContentChunk."""

    toolCallId: ToolCallId
    content: ToolCallContent
    _meta: NotRequired[Meta]


class ToolCallPermissionSubject(TypedDict, extra_items=Any):
    """Source: ACP schema, ToolCallPermissionSubject."""

    toolCall: ToolCallUpdate
    _meta: NotRequired[Meta]


class UnknownStateUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, UnknownStateUpdate."""

    background: NotRequired[Annotated[list[BackgroundWork] | None, VALUE]]
    _meta: NotRequired[Meta]


class UsageUpdate(TypedDict, extra_items=Any):
    """Source: ACP schema, UsageUpdate."""

    used: U64
    size: U64
    cost: NotRequired[Annotated[Cost | None, VALUE]]
    _meta: NotRequired[Meta]


class UserMessage(TypedDict, extra_items=Any):
    """Source: ACP schema, UserMessage."""

    messageId: MessageId
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Meta]
