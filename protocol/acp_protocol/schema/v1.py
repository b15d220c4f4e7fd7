"""The shapes of protocol version 1. Made by tools/make_schema.py; not to
be edited."""
# pyright: reportRedeclaration=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from acp_protocol.schema.marks import (
    I32,
    I64,
    NULL,
    U16,
    U32,
    U64,
    VALUE,
    VALUE_AND_ITEMS,
    AtLeast,
    Tagged,
)

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


class AgentAuthCapabilities(TypedDict, extra_items=Any):
    status: NotRequired[Annotated[AuthStatusCapabilities | None, VALUE]]
    logout: NotRequired[Annotated[LogoutCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AgentCapabilities(TypedDict, extra_items=Any):
    loadSession: NotRequired[Annotated[bool, VALUE]]
    promptCapabilities: NotRequired[Annotated[PromptCapabilities, VALUE]]
    mcpCapabilities: NotRequired[Annotated[McpCapabilities, VALUE]]
    sessionCapabilities: NotRequired[Annotated[SessionCapabilities, VALUE]]
    auth: NotRequired[Annotated[AgentAuthCapabilities, VALUE]]
    providers: NotRequired[Annotated[ProvidersCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AgentNotification(TypedDict, extra_items=Any):
    method: str
    params: NotRequired[
        SessionNotification
        | CompleteElicitationNotification
        | AuthStatusUpdateNotification
        | ExtNotification
        | None
    ]


class AgentRequest(TypedDict, extra_items=Any):
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


class AgentResponseResult(TypedDict, extra_items=Any):
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
    id: RequestId
    error: Error


class Annotations(TypedDict, extra_items=Any):
    audience: NotRequired[Annotated[list[Role] | None, VALUE_AND_ITEMS]]
    lastModified: NotRequired[Annotated[str | None, VALUE]]
    priority: NotRequired[Annotated[float | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ArchiveSessionRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ArchiveSessionResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AudioContent(TypedDict, extra_items=Any):
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthAccount(TypedDict, extra_items=Any):
    label: str
    active: NotRequired[Annotated[bool | None, VALUE]]
    name: NotRequired[Annotated[str | None, VALUE]]
    email: NotRequired[Annotated[str | None, VALUE]]
    organization: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthCapabilities(TypedDict, extra_items=Any):
    terminal: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthMethodTerminal(TypedDict, extra_items=Any):
    type: Literal["terminal"]
    id: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[dict[str, str] | None, NULL]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthMethodAgent(TypedDict, extra_items=Any):
    id: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthMethodAgent(TypedDict, extra_items=Any):
    id: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthMethodTerminal(TypedDict, extra_items=Any):
    id: AuthMethodId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[dict[str, str] | None, NULL]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthStatusCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthStatusRequest(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthStatusResponse(TypedDict, extra_items=Any):
    state: AuthState
    accounts: NotRequired[Annotated[list[AuthAccount], VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthStatusUpdateNotification(TypedDict, extra_items=Any):
    state: AuthState
    accounts: NotRequired[Annotated[list[AuthAccount], VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthenticateRequest(TypedDict, extra_items=Any):
    methodId: AuthMethodId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AuthenticateResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AvailableCommand(TypedDict, extra_items=Any):
    name: str
    description: str
    input: NotRequired[Annotated[AvailableCommandInput | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class AvailableCommandsUpdate(TypedDict, extra_items=Any):
    availableCommands: Annotated[list[AvailableCommand], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class BlobResourceContents(TypedDict, extra_items=Any):
    blob: str
    mimeType: NotRequired[Annotated[str | None, VALUE]]
    uri: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class BooleanConfigOptionCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class BooleanPropertySchema(TypedDict, extra_items=Any):
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    default: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CancelNotification(TypedDict, extra_items=Any):
    sessionId: SessionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CancelRequestNotification(TypedDict, extra_items=Any):
    requestId: RequestId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ClientCapabilities(TypedDict, extra_items=Any):
    fs: NotRequired[Annotated[FileSystemCapabilities, VALUE]]
    terminal: NotRequired[Annotated[bool, VALUE]]
    session: NotRequired[Annotated[ClientSessionCapabilities | None, VALUE]]
    subagents: NotRequired[Annotated[SubagentCapabilities | None, VALUE]]
    plan: NotRequired[Annotated[PlanCapabilities | None, VALUE]]
    auth: NotRequired[Annotated[AuthCapabilities, VALUE]]
    elicitation: NotRequired[Annotated[ElicitationCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ClientNotification(TypedDict, extra_items=Any):
    method: str
    params: NotRequired[CancelNotification | MessageMcpNotification | ExtNotification | None]


class ClientRequest(TypedDict, extra_items=Any):
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


class ClientResponseResult(TypedDict, extra_items=Any):
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
    id: RequestId
    error: Error


class ClientSessionCapabilities(TypedDict, extra_items=Any):
    compaction: NotRequired[Annotated[CompactionCapabilities | None, VALUE]]
    configOptions: NotRequired[Annotated[SessionConfigOptionsCapabilities | None, VALUE]]
    notices: NotRequired[Annotated[NoticeCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CloseSessionRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CloseSessionResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CompactionCapabilities(TypedDict, extra_items=Any):
    pass


class CompactionSummaryChunk(TypedDict, extra_items=Any):
    compactionId: CompactionId
    content: ContentBlock
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CompactionUpdate(TypedDict, extra_items=Any):
    compactionId: CompactionId
    status: CompactionStatus
    summary: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    error: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CompleteElicitationNotification(TypedDict, extra_items=Any):
    elicitationId: ElicitationId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ConfigOptionUpdate(TypedDict, extra_items=Any):
    configOptions: Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Content(TypedDict, extra_items=Any):
    content: ContentBlock
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ContentBlockText(TypedDict, extra_items=Any):
    type: Literal["text"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    text: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ContentBlockImage(TypedDict, extra_items=Any):
    type: Literal["image"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    uri: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ContentBlockAudio(TypedDict, extra_items=Any):
    type: Literal["audio"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ContentBlockResourceLink(TypedDict, extra_items=Any):
    type: Literal["resource_link"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    mimeType: NotRequired[Annotated[str | None, VALUE]]
    name: str
    size: NotRequired[Annotated[I64 | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    uri: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ContentBlockResource(TypedDict, extra_items=Any):
    type: Literal["resource"]
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    resource: EmbeddedResourceResource
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ContentChunk(TypedDict, extra_items=Any):
    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Cost(TypedDict, extra_items=Any):
    amount: float
    currency: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CreateElicitationRequestFormSession(TypedDict, extra_items=Any):
    message: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    mode: Literal["form"]
    requestedSchema: ElicitationSchema
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class CreateElicitationRequestFormRequest(TypedDict, extra_items=Any):
    message: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    mode: Literal["form"]
    requestedSchema: ElicitationSchema
    requestId: RequestId


class CreateElicitationRequestUrlSession(TypedDict, extra_items=Any):
    message: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    mode: Literal["url"]
    elicitationId: ElicitationId
    url: str
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class CreateElicitationRequestUrlRequest(TypedDict, extra_items=Any):
    message: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    mode: Literal["url"]
    elicitationId: ElicitationId
    url: str
    requestId: RequestId


class CreateElicitationRequestOtherSession(TypedDict, extra_items=Any):
    message: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    mode: str
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class CreateElicitationRequestOtherRequest(TypedDict, extra_items=Any):
    message: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    mode: str
    requestId: RequestId


class CreateElicitationResponseAccept(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    action: Literal["accept"]
    content: NotRequired[dict[str, ElicitationContentValue] | None]


class CreateElicitationResponseDecline(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    action: Literal["decline"]


class CreateElicitationResponseCancel(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    action: Literal["cancel"]


class CreateElicitationResponseOther(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    action: str


class CreateTerminalRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    command: str
    args: NotRequired[Annotated[list[str] | None, NULL]]
    env: NotRequired[Annotated[list[EnvVariable] | None, NULL]]
    cwd: NotRequired[str | None]
    outputByteLimit: NotRequired[U64 | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CreateTerminalResponse(TypedDict, extra_items=Any):
    terminalId: TerminalId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class CurrentModeUpdate(TypedDict, extra_items=Any):
    currentModeId: SessionModeId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class DeleteSessionRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class DeleteSessionResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Diff(TypedDict, extra_items=Any):
    path: str
    oldText: NotRequired[Annotated[str | None, VALUE]]
    newText: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class DisableProviderRequest(TypedDict, extra_items=Any):
    providerId: ProviderId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class DisableProviderResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationAcceptAction(TypedDict, extra_items=Any):
    content: NotRequired[dict[str, ElicitationContentValue] | None]


class ElicitationCapabilities(TypedDict, extra_items=Any):
    form: NotRequired[Annotated[ElicitationFormCapabilities | None, VALUE]]
    url: NotRequired[Annotated[ElicitationUrlCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationFormCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationFormModeSession(TypedDict, extra_items=Any):
    requestedSchema: ElicitationSchema
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class ElicitationFormModeRequest(TypedDict, extra_items=Any):
    requestedSchema: ElicitationSchema
    requestId: RequestId


class ElicitationPropertySchemaString(TypedDict, extra_items=Any):
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
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationPropertySchemaNumber(TypedDict, extra_items=Any):
    type: Literal["number"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    default: NotRequired[Annotated[float | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationPropertySchemaInteger(TypedDict, extra_items=Any):
    type: Literal["integer"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[I64 | None]
    maximum: NotRequired[I64 | None]
    default: NotRequired[Annotated[I64 | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationPropertySchemaBoolean(TypedDict, extra_items=Any):
    type: Literal["boolean"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    default: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationPropertySchemaArray(TypedDict, extra_items=Any):
    type: Literal["array"]
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minItems: NotRequired[U64 | None]
    maxItems: NotRequired[U64 | None]
    items: MultiSelectItems
    default: NotRequired[Annotated[list[str] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationPropertySchemaOther(TypedDict, extra_items=Any):
    type: str


class ElicitationRequestScope(TypedDict, extra_items=Any):
    requestId: RequestId


class ElicitationSchema(TypedDict, extra_items=Any):
    type: NotRequired[Annotated[ElicitationSchemaType, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    properties: NotRequired[dict[str, ElicitationPropertySchema]]
    required: NotRequired[list[str] | None]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationSessionScope(TypedDict, extra_items=Any):
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class ElicitationUrlCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ElicitationUrlModeSession(TypedDict, extra_items=Any):
    elicitationId: ElicitationId
    url: str
    sessionId: SessionId
    toolCallId: NotRequired[Annotated[ToolCallId | None, VALUE]]


class ElicitationUrlModeRequest(TypedDict, extra_items=Any):
    elicitationId: ElicitationId
    url: str
    requestId: RequestId


class EmbeddedResource(TypedDict, extra_items=Any):
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    resource: EmbeddedResourceResource
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class EnumOption(TypedDict, extra_items=Any):
    const: str
    title: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class EnvVariable(TypedDict, extra_items=Any):
    name: str
    value: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Error(TypedDict, extra_items=Any):
    code: ErrorCode
    message: str
    data: NotRequired[Annotated[Any, VALUE]]


class ErrorStopReason(TypedDict, extra_items=Any):
    error: NotRequired[Annotated[Error | None, VALUE]]


class FileSystemCapabilities(TypedDict, extra_items=Any):
    readTextFile: NotRequired[Annotated[bool, VALUE]]
    writeTextFile: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ForkSessionRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    mcpServers: NotRequired[Annotated[list[McpServer] | None, NULL]]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ForkSessionResponse(TypedDict, extra_items=Any):
    sessionId: SessionId
    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class HttpHeader(TypedDict, extra_items=Any):
    name: str
    value: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class IdleStateUpdateEndTurn(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["end_turn"]


class IdleStateUpdateMaxTokens(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["max_tokens"]


class IdleStateUpdateMaxTurnRequests(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["max_turn_requests"]


class IdleStateUpdateRefusal(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["refusal"]


class IdleStateUpdateCancelled(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["cancelled"]


class IdleStateUpdateError(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["error"]
    error: NotRequired[Annotated[Error | None, VALUE]]


class IdleStateUpdateOther(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: str


class IdleStateUpdateNone(TypedDict, extra_items=Any):
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: NotRequired[None]


class ImageContent(TypedDict, extra_items=Any):
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    data: str
    mimeType: str
    uri: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Implementation(TypedDict, extra_items=Any):
    name: str
    title: NotRequired[Annotated[str | None, VALUE]]
    version: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class InitializeProxyRequest(TypedDict, extra_items=Any):
    protocolVersion: ProtocolVersion
    clientCapabilities: NotRequired[Annotated[ClientCapabilities, VALUE]]
    clientInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class InitializeProxyResponse(TypedDict, extra_items=Any):
    protocolVersion: ProtocolVersion
    agentCapabilities: NotRequired[Annotated[AgentCapabilities, VALUE]]
    authMethods: NotRequired[Annotated[list[AuthMethod], VALUE_AND_ITEMS]]
    agentInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class InitializeRequest(TypedDict, extra_items=Any):
    protocolVersion: ProtocolVersion
    clientCapabilities: NotRequired[Annotated[ClientCapabilities, VALUE]]
    clientInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class InitializeResponse(TypedDict, extra_items=Any):
    protocolVersion: ProtocolVersion
    agentCapabilities: NotRequired[Annotated[AgentCapabilities, VALUE]]
    authMethods: NotRequired[Annotated[list[AuthMethod], VALUE_AND_ITEMS]]
    agentInfo: NotRequired[Annotated[Implementation | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class IntegerPropertySchema(TypedDict, extra_items=Any):
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[I64 | None]
    maximum: NotRequired[I64 | None]
    default: NotRequired[Annotated[I64 | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class KillTerminalRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class KillTerminalResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ListProvidersRequest(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ListProvidersResponse(TypedDict, extra_items=Any):
    providers: list[ProviderInfo]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ListSessionsRequest(TypedDict, extra_items=Any):
    cwd: NotRequired[str | None]
    cursor: NotRequired[str | None]
    archived: NotRequired[SessionArchiveFilter | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ListSessionsResponse(TypedDict, extra_items=Any):
    sessions: Annotated[list[SessionInfo], VALUE_AND_ITEMS]
    nextCursor: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class LoadSessionRequest(TypedDict, extra_items=Any):
    mcpServers: Annotated[list[McpServer] | None, NULL]
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    sessionId: SessionId
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class LoadSessionResponse(TypedDict, extra_items=Any):
    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class LogoutCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class LogoutRequest(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class LogoutResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpCapabilities(TypedDict, extra_items=Any):
    http: NotRequired[Annotated[bool, VALUE]]
    sse: NotRequired[Annotated[bool, VALUE]]
    acp: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpError(TypedDict, extra_items=Any):
    code: I32
    message: str
    data: NotRequired[Any]


class McpServerHttp(TypedDict, extra_items=Any):
    type: Literal["http"]
    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpServerSse(TypedDict, extra_items=Any):
    type: Literal["sse"]
    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpServerAcp(TypedDict, extra_items=Any):
    type: Literal["acp"]
    name: str
    serverId: McpServerAcpId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpServerStdio(TypedDict, extra_items=Any):
    name: str
    command: str
    args: Annotated[list[str] | None, NULL]
    env: Annotated[list[EnvVariable] | None, NULL]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpServerAcp(TypedDict, extra_items=Any):
    name: str
    serverId: McpServerAcpId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpServerHttp(TypedDict, extra_items=Any):
    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpServerSse(TypedDict, extra_items=Any):
    name: str
    url: str
    headers: Annotated[list[HttpHeader] | None, NULL]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class McpServerStdio(TypedDict, extra_items=Any):
    name: str
    command: str
    args: Annotated[list[str] | None, NULL]
    env: Annotated[list[EnvVariable] | None, NULL]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class MessageMcpNotification(TypedDict, extra_items=Any):
    serverId: McpServerAcpId
    requestId: McpRequestId
    method: str
    params: NotRequired[dict[str, Any] | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class MessageMcpRequest(TypedDict, extra_items=Any):
    serverId: McpServerAcpId
    requestId: McpRequestId
    method: str
    params: NotRequired[dict[str, Any] | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class MessageMcpResponseResult(TypedDict, extra_items=Any):
    result: Any
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class MessageMcpResponseError(TypedDict, extra_items=Any):
    error: McpError
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class MultiSelectItemsString(TypedDict, extra_items=Any):
    type: Literal["string"]
    enum: list[str]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class MultiSelectItemsOther(TypedDict, extra_items=Any):
    type: str


class MultiSelectItemsTitled(TypedDict, extra_items=Any):
    anyOf: list[EnumOption]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class MultiSelectPropertySchema(TypedDict, extra_items=Any):
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minItems: NotRequired[U64 | None]
    maxItems: NotRequired[U64 | None]
    items: MultiSelectItems
    default: NotRequired[Annotated[list[str] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class NewSessionRequest(TypedDict, extra_items=Any):
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    mcpServers: Annotated[list[McpServer] | None, NULL]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class NewSessionResponse(TypedDict, extra_items=Any):
    sessionId: SessionId
    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Notice(TypedDict, extra_items=Any):
    severity: NoticeSeverity
    title: Annotated[str, AtLeast(1)]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class NoticeCapabilities(TypedDict, extra_items=Any):
    pass


class NumberPropertySchema(TypedDict, extra_items=Any):
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    default: NotRequired[Annotated[float | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PermissionOption(TypedDict, extra_items=Any):
    optionId: PermissionOptionId
    name: str
    kind: PermissionOptionKind
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Plan(TypedDict, extra_items=Any):
    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanEntry(TypedDict, extra_items=Any):
    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanFile(TypedDict, extra_items=Any):
    planId: PlanId
    uri: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanItems(TypedDict, extra_items=Any):
    planId: PlanId
    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanMarkdown(TypedDict, extra_items=Any):
    planId: PlanId
    content: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanRemoved(TypedDict, extra_items=Any):
    planId: PlanId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanUpdate(TypedDict, extra_items=Any):
    plan: PlanUpdateContent
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanUpdateContentItems(TypedDict, extra_items=Any):
    type: Literal["items"]
    planId: PlanId
    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanUpdateContentFile(TypedDict, extra_items=Any):
    type: Literal["file"]
    planId: PlanId
    uri: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PlanUpdateContentMarkdown(TypedDict, extra_items=Any):
    type: Literal["markdown"]
    planId: PlanId
    content: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PromptCapabilities(TypedDict, extra_items=Any):
    image: NotRequired[Annotated[bool, VALUE]]
    audio: NotRequired[Annotated[bool, VALUE]]
    embeddedContext: NotRequired[Annotated[bool, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PromptRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    prompt: list[ContentBlock]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class PromptResponse(TypedDict, extra_items=Any):
    stopReason: StopReason
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ProviderCurrentConfig(TypedDict, extra_items=Any):
    apiType: LlmProtocol
    baseUrl: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ProviderInfo(TypedDict, extra_items=Any):
    providerId: ProviderId
    supported: Annotated[list[LlmProtocol], VALUE_AND_ITEMS]
    required: bool
    current: NotRequired[ProviderCurrentConfig | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ProvidersCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ProxyNotification(TypedDict, extra_items=Any):
    method: str
    params: NotRequired[ProxySuccessorNotification | None]


class ProxyRequest(TypedDict, extra_items=Any):
    id: RequestId
    method: str
    params: NotRequired[InitializeProxyRequest | ProxySuccessorRequest | None]


class ProxyResponseResult(TypedDict, extra_items=Any):
    id: RequestId
    result: InitializeProxyResponse | ProxySuccessorResponse


class ProxyResponseError(TypedDict, extra_items=Any):
    id: RequestId
    error: Error


class ProxySuccessorNotification(TypedDict, extra_items=Any):
    method: str
    params: NotRequired[Any]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ProxySuccessorRequest(TypedDict, extra_items=Any):
    method: str
    params: NotRequired[Any]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ReadTextFileRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    path: str
    line: NotRequired[U32 | None]
    limit: NotRequired[U32 | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ReadTextFileResponse(TypedDict, extra_items=Any):
    content: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ReleaseTerminalRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ReleaseTerminalResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class RequestPermissionOutcomeCancelled(TypedDict, extra_items=Any):
    outcome: Literal["cancelled"]


class RequestPermissionOutcomeSelected(TypedDict, extra_items=Any):
    outcome: Literal["selected"]
    optionId: PermissionOptionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class RequestPermissionRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    toolCall: ToolCallUpdate
    options: list[PermissionOption]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class RequestPermissionResponse(TypedDict, extra_items=Any):
    outcome: RequestPermissionOutcome
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class RequiresActionStateUpdate(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ResourceLink(TypedDict, extra_items=Any):
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    mimeType: NotRequired[Annotated[str | None, VALUE]]
    name: str
    size: NotRequired[Annotated[I64 | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    uri: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ResumeSessionRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str] | None, NULL]]
    mcpServers: NotRequired[Annotated[list[McpServer] | None, NULL]]
    systemPrompt: NotRequired[SystemPrompt | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ResumeSessionResponse(TypedDict, extra_items=Any):
    modes: NotRequired[Annotated[SessionModeState | None, VALUE]]
    configOptions: NotRequired[Annotated[list[SessionConfigOption] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class RunningStateUpdate(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SelectedPermissionOutcome(TypedDict, extra_items=Any):
    optionId: PermissionOptionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionAdditionalDirectoriesCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionArchiveCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionCancelCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionCapabilities(TypedDict, extra_items=Any):
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
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionCloseCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionConfigBoolean(TypedDict, extra_items=Any):
    currentValue: bool


class SessionConfigOptionSelect(TypedDict, extra_items=Any):
    id: SessionConfigId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    category: NotRequired[Annotated[SessionConfigOptionCategory | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    type: Literal["select"]
    currentValue: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigOptionBoolean(TypedDict, extra_items=Any):
    id: SessionConfigId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    category: NotRequired[Annotated[SessionConfigOptionCategory | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    type: Literal["boolean"]
    currentValue: bool


class SessionConfigOptionsCapabilities(TypedDict, extra_items=Any):
    boolean: NotRequired[Annotated[BooleanConfigOptionCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionConfigSelect(TypedDict, extra_items=Any):
    currentValue: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigSelectGroup(TypedDict, extra_items=Any):
    group: SessionConfigGroupId
    name: str
    options: Annotated[list[SessionConfigSelectOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionConfigSelectOption(TypedDict, extra_items=Any):
    value: SessionConfigValueId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionDeleteCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionForkCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionInfo(TypedDict, extra_items=Any):
    sessionId: SessionId
    cwd: str
    additionalDirectories: NotRequired[Annotated[list[str], VALUE_AND_ITEMS]]
    title: NotRequired[Annotated[str | None, VALUE]]
    updatedAt: NotRequired[Annotated[str | None, VALUE]]
    archived: NotRequired[Annotated[bool | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionInfoUpdate(TypedDict, extra_items=Any):
    title: NotRequired[Annotated[str | None, VALUE]]
    updatedAt: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionListCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionMessage(TypedDict, extra_items=Any):
    messageId: MessageId
    senderSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    recipientSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    senderMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    recipientMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionMessageChunk(TypedDict, extra_items=Any):
    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionMode(TypedDict, extra_items=Any):
    id: SessionModeId
    name: str
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionModeState(TypedDict, extra_items=Any):
    currentModeId: SessionModeId
    availableModes: Annotated[list[SessionMode], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionNotification(TypedDict, extra_items=Any):
    sessionId: SessionId
    update: SessionUpdate
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionResumeCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionStatusCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionStatusRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionStatusResponse(TypedDict, extra_items=Any):
    status: SessionStatus
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionSystemPromptCapabilities(TypedDict, extra_items=Any):
    mode: NotRequired[Annotated[SessionSystemPromptModeCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionSystemPromptModeCapabilities(TypedDict, extra_items=Any):
    override: NotRequired[Annotated[SessionSystemPromptOverrideCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionSystemPromptOverrideCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionTitleCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateUserMessageChunk(TypedDict, extra_items=Any):
    sessionUpdate: Literal["user_message_chunk"]
    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateAgentMessageChunk(TypedDict, extra_items=Any):
    sessionUpdate: Literal["agent_message_chunk"]
    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateAgentThoughtChunk(TypedDict, extra_items=Any):
    sessionUpdate: Literal["agent_thought_chunk"]
    content: ContentBlock
    messageId: NotRequired[Annotated[MessageId | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateToolCall(TypedDict, extra_items=Any):
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
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateToolCallUpdate(TypedDict, extra_items=Any):
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
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdatePlan(TypedDict, extra_items=Any):
    sessionUpdate: Literal["plan"]
    entries: Annotated[list[PlanEntry], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdatePlanUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["plan_update"]
    plan: PlanUpdateContent
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdatePlanRemoved(TypedDict, extra_items=Any):
    sessionUpdate: Literal["plan_removed"]
    planId: PlanId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateAvailableCommandsUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["available_commands_update"]
    availableCommands: Annotated[list[AvailableCommand], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateCurrentModeUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["current_mode_update"]
    currentModeId: SessionModeId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateConfigOptionUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["config_option_update"]
    configOptions: Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateSessionInfoUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["session_info_update"]
    title: NotRequired[Annotated[str | None, VALUE]]
    updatedAt: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateUsageUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["usage_update"]
    used: U64
    size: U64
    cost: NotRequired[Annotated[Cost | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateNotice(TypedDict, extra_items=Any):
    sessionUpdate: Literal["notice"]
    severity: NoticeSeverity
    title: Annotated[str, AtLeast(1)]
    description: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateCompactionUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["compaction_update"]
    compactionId: CompactionId
    status: CompactionStatus
    summary: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    error: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateCompactionSummaryChunk(TypedDict, extra_items=Any):
    sessionUpdate: Literal["compaction_summary_chunk"]
    compactionId: CompactionId
    content: ContentBlock
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateSubagentUpdate(TypedDict, extra_items=Any):
    sessionUpdate: Literal["subagent_update"]
    sessionId: SessionId
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    capabilities: NotRequired[Annotated[SubagentSessionCapabilities | None, VALUE]]
    state: NotRequired[Annotated[StateUpdate | None, VALUE]]
    cwd: NotRequired[str | None]
    additionalDirectories: NotRequired[list[str] | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateSessionMessage(TypedDict, extra_items=Any):
    sessionUpdate: Literal["session_message"]
    messageId: MessageId
    senderSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    recipientSessionId: NotRequired[Annotated[SessionId | None, VALUE]]
    senderMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    recipientMessageId: NotRequired[Annotated[MessageId | None, VALUE]]
    content: NotRequired[Annotated[list[ContentBlock] | None, VALUE_AND_ITEMS]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SessionUpdateSessionMessageChunk(TypedDict, extra_items=Any):
    sessionUpdate: Literal["session_message_chunk"]
    messageId: MessageId
    content: ContentBlock
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SetProviderRequest(TypedDict, extra_items=Any):
    providerId: ProviderId
    apiType: LlmProtocol
    baseUrl: str
    headers: NotRequired[dict[str, str]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SetProviderResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SetSessionConfigOptionRequestBoolean(TypedDict, extra_items=Any):
    sessionId: SessionId
    configId: SessionConfigId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    type: Literal["boolean"]
    value: bool


class SetSessionConfigOptionRequestValueId(TypedDict, extra_items=Any):
    sessionId: SessionId
    configId: SessionConfigId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    value: SessionConfigValueId


class SetSessionConfigOptionResponse(TypedDict, extra_items=Any):
    configOptions: Annotated[list[SessionConfigOption], VALUE_AND_ITEMS]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SetSessionModeRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    modeId: SessionModeId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SetSessionModeResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SetSessionTitleRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    title: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SetSessionTitleResponse(TypedDict, extra_items=Any):
    title: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class StateUpdateRunning(TypedDict, extra_items=Any):
    state: Literal["running"]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class StateUpdateIdleEndTurn(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["end_turn"]


class StateUpdateIdleMaxTokens(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["max_tokens"]


class StateUpdateIdleMaxTurnRequests(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["max_turn_requests"]


class StateUpdateIdleRefusal(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["refusal"]


class StateUpdateIdleCancelled(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["cancelled"]


class StateUpdateIdleError(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: Literal["error"]
    error: NotRequired[Annotated[Error | None, VALUE]]


class StateUpdateIdleOther(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: str


class StateUpdateIdleNone(TypedDict, extra_items=Any):
    state: Literal["idle"]
    usage: NotRequired[Annotated[Usage | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]
    stopReason: NotRequired[None]


class StateUpdateRequiresAction(TypedDict, extra_items=Any):
    state: Literal["requires_action"]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class StateUpdateUnknown(TypedDict, extra_items=Any):
    state: Literal["unknown"]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class StateUpdateOther(TypedDict, extra_items=Any):
    state: str


class StringMultiSelectItems(TypedDict, extra_items=Any):
    enum: list[str]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class StringPropertySchema(TypedDict, extra_items=Any):
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    minLength: NotRequired[U32 | None]
    maxLength: NotRequired[U32 | None]
    pattern: NotRequired[str | None]
    format: NotRequired[StringFormat | None]
    default: NotRequired[Annotated[str | None, VALUE]]
    enum: NotRequired[list[str] | None]
    oneOf: NotRequired[list[EnumOption] | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SubagentCapabilities(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SubagentSessionCapabilities(TypedDict, extra_items=Any):
    cancel: NotRequired[Annotated[SessionCancelCapabilities | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SubagentUpdate(TypedDict, extra_items=Any):
    sessionId: SessionId
    title: NotRequired[Annotated[str | None, VALUE]]
    description: NotRequired[Annotated[str | None, VALUE]]
    capabilities: NotRequired[Annotated[SubagentSessionCapabilities | None, VALUE]]
    state: NotRequired[Annotated[StateUpdate | None, VALUE]]
    cwd: NotRequired[str | None]
    additionalDirectories: NotRequired[list[str] | None]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class SystemPrompt(TypedDict, extra_items=Any):
    mode: SystemPromptMode
    content: list[ContentBlock]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Terminal(TypedDict, extra_items=Any):
    terminalId: TerminalId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class TerminalExitStatus(TypedDict, extra_items=Any):
    exitCode: NotRequired[Annotated[U32 | None, VALUE]]
    signal: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class TerminalOutputRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class TerminalOutputResponse(TypedDict, extra_items=Any):
    output: str
    truncated: bool
    exitStatus: NotRequired[Annotated[TerminalExitStatus | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class TextContent(TypedDict, extra_items=Any):
    annotations: NotRequired[Annotated[Annotations | None, VALUE]]
    text: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class TextResourceContents(TypedDict, extra_items=Any):
    mimeType: NotRequired[Annotated[str | None, VALUE]]
    text: str
    uri: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class TitledMultiSelectItems(TypedDict, extra_items=Any):
    anyOf: list[EnumOption]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ToolCall(TypedDict, extra_items=Any):
    toolCallId: ToolCallId
    title: str
    name: NotRequired[Annotated[str | None, VALUE]]
    kind: NotRequired[Annotated[ToolKind, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent], VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation], VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ToolCallContentContent(TypedDict, extra_items=Any):
    type: Literal["content"]
    content: ContentBlock
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ToolCallContentDiff(TypedDict, extra_items=Any):
    type: Literal["diff"]
    path: str
    oldText: NotRequired[Annotated[str | None, VALUE]]
    newText: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ToolCallContentTerminal(TypedDict, extra_items=Any):
    type: Literal["terminal"]
    terminalId: TerminalId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ToolCallLocation(TypedDict, extra_items=Any):
    path: str
    line: NotRequired[Annotated[U32 | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class ToolCallUpdate(TypedDict, extra_items=Any):
    toolCallId: ToolCallId
    kind: NotRequired[Annotated[ToolKind | None, VALUE]]
    status: NotRequired[Annotated[ToolCallStatus | None, VALUE]]
    title: NotRequired[Annotated[str | None, VALUE]]
    name: NotRequired[Annotated[str | None, VALUE]]
    content: NotRequired[Annotated[list[ToolCallContent] | None, VALUE_AND_ITEMS]]
    locations: NotRequired[Annotated[list[ToolCallLocation] | None, VALUE_AND_ITEMS]]
    rawInput: NotRequired[Annotated[Any, VALUE]]
    rawOutput: NotRequired[Annotated[Any, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class UnarchiveSessionRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class UnarchiveSessionResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class UnknownStateUpdate(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class UnstructuredCommandInput(TypedDict, extra_items=Any):
    hint: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class Usage(TypedDict, extra_items=Any):
    totalTokens: U64
    inputTokens: U64
    outputTokens: U64
    thoughtTokens: NotRequired[Annotated[U64 | None, VALUE]]
    cachedReadTokens: NotRequired[Annotated[U64 | None, VALUE]]
    cachedWriteTokens: NotRequired[Annotated[U64 | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class UsageUpdate(TypedDict, extra_items=Any):
    used: U64
    size: U64
    cost: NotRequired[Annotated[Cost | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class WaitForTerminalExitRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    terminalId: TerminalId
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class WaitForTerminalExitResponse(TypedDict, extra_items=Any):
    exitCode: NotRequired[Annotated[U32 | None, VALUE]]
    signal: NotRequired[Annotated[str | None, VALUE]]
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class WriteTextFileRequest(TypedDict, extra_items=Any):
    sessionId: SessionId
    path: str
    content: str
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


class WriteTextFileResponse(TypedDict, extra_items=Any):
    _meta: NotRequired[Annotated[dict[str, Any] | None, VALUE]]


AgentResponse: TypeAlias = AgentResponseResult | AgentResponseError
AuthMethod: TypeAlias = Annotated[
    AuthMethodTerminal | AuthMethodAgent, Tagged("type", ("terminal", None))
]
AuthMethodId: TypeAlias = str
AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str
AvailableCommandInput: TypeAlias = UnstructuredCommandInput
ClientResponse: TypeAlias = ClientResponseResult | ClientResponseError
CompactionId: TypeAlias = str
CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str
ContentBlock: TypeAlias = Annotated[
    ContentBlockText
    | ContentBlockImage
    | ContentBlockAudio
    | ContentBlockResourceLink
    | ContentBlockResource,
    Tagged("type", ("text", "image", "audio", "resource_link", "resource")),
]
CreateElicitationRequest: TypeAlias = (
    CreateElicitationRequestFormSession
    | CreateElicitationRequestFormRequest
    | CreateElicitationRequestUrlSession
    | CreateElicitationRequestUrlRequest
    | CreateElicitationRequestOtherSession
    | CreateElicitationRequestOtherRequest
)
CreateElicitationResponse: TypeAlias = Annotated[
    CreateElicitationResponseAccept
    | CreateElicitationResponseDecline
    | CreateElicitationResponseCancel
    | CreateElicitationResponseOther,
    Tagged("action", ("accept", "decline", "cancel", None)),
]
ElicitationContentValue: TypeAlias = str | I64 | float | bool | list[str]
ElicitationFormMode: TypeAlias = ElicitationFormModeSession | ElicitationFormModeRequest
ElicitationId: TypeAlias = str
ElicitationPropertySchema: TypeAlias = Annotated[
    ElicitationPropertySchemaString
    | ElicitationPropertySchemaNumber
    | ElicitationPropertySchemaInteger
    | ElicitationPropertySchemaBoolean
    | ElicitationPropertySchemaArray
    | ElicitationPropertySchemaOther,
    Tagged("type", ("string", "number", "integer", "boolean", "array", None)),
]
ElicitationSchemaType: TypeAlias = Literal["object"]
ElicitationUrlMode: TypeAlias = ElicitationUrlModeSession | ElicitationUrlModeRequest
EmbeddedResourceResource: TypeAlias = TextResourceContents | BlobResourceContents
ErrorCode: TypeAlias = Literal[-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002] | I32
ExtNotification: TypeAlias = Any
ExtRequest: TypeAlias = Any
ExtResponse: TypeAlias = Any
IdleStateUpdate: TypeAlias = (
    IdleStateUpdateEndTurn
    | IdleStateUpdateMaxTokens
    | IdleStateUpdateMaxTurnRequests
    | IdleStateUpdateRefusal
    | IdleStateUpdateCancelled
    | IdleStateUpdateError
    | IdleStateUpdateOther
    | IdleStateUpdateNone
)
LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str
McpRequestId: TypeAlias = str
McpServer: TypeAlias = Annotated[
    McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio,
    Tagged("type", ("http", "sse", "acp", None)),
]
McpServerAcpId: TypeAlias = str
MessageId: TypeAlias = str
MessageMcpResponse: TypeAlias = MessageMcpResponseResult | MessageMcpResponseError
MultiSelectItems: TypeAlias = (
    MultiSelectItemsString | MultiSelectItemsOther | MultiSelectItemsTitled
)
NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str
PermissionOptionId: TypeAlias = str
PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always"
]
PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]
PlanId: TypeAlias = str
PlanUpdateContent: TypeAlias = Annotated[
    PlanUpdateContentItems | PlanUpdateContentFile | PlanUpdateContentMarkdown,
    Tagged("type", ("items", "file", "markdown")),
]
ProtocolVersion: TypeAlias = U16
ProviderId: TypeAlias = str
ProxyResponse: TypeAlias = ProxyResponseResult | ProxyResponseError
ProxySuccessorResponse: TypeAlias = Any
RequestId: TypeAlias = None | I64 | str
RequestPermissionOutcome: TypeAlias = Annotated[
    RequestPermissionOutcomeCancelled | RequestPermissionOutcomeSelected,
    Tagged("outcome", ("cancelled", "selected")),
]
Role: TypeAlias = Literal["assistant", "user"]
SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str
SessionConfigGroupId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigOption: TypeAlias = Annotated[
    SessionConfigOptionSelect | SessionConfigOptionBoolean, Tagged("type", ("select", "boolean"))
]
SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)
SessionConfigSelectOptions: TypeAlias = (
    list[SessionConfigSelectOption] | list[SessionConfigSelectGroup]
)
SessionConfigValueId: TypeAlias = str
SessionId: TypeAlias = str
SessionModeId: TypeAlias = str
SessionStatus: TypeAlias = Literal["open", "saved"] | str
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
    Tagged(
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
SetSessionConfigOptionRequest: TypeAlias = Annotated[
    SetSessionConfigOptionRequestBoolean | SetSessionConfigOptionRequestValueId,
    Tagged("type", ("boolean", None)),
]
StateUpdate: TypeAlias = (
    StateUpdateRunning
    | StateUpdateIdleEndTurn
    | StateUpdateIdleMaxTokens
    | StateUpdateIdleMaxTurnRequests
    | StateUpdateIdleRefusal
    | StateUpdateIdleCancelled
    | StateUpdateIdleError
    | StateUpdateIdleOther
    | StateUpdateIdleNone
    | StateUpdateRequiresAction
    | StateUpdateUnknown
    | StateUpdateOther
)
StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
]
StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"]
SystemPromptMode: TypeAlias = Literal["append", "override"] | str
TerminalId: TypeAlias = str
ToolCallContent: TypeAlias = Annotated[
    ToolCallContentContent | ToolCallContentDiff | ToolCallContentTerminal,
    Tagged("type", ("content", "diff", "terminal")),
]
ToolCallId: TypeAlias = str
ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
