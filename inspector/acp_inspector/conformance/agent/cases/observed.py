"""Cases without steps: rules that the frames of all other cases are held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_inspector.conformance.model import (
    AGENT,
    OTHER_RULES,
    PROFILES,
    V1,
    V2,
    Case,
    Profile,
)

_TABLE: Final[tuple[tuple[str, str, str, tuple[Profile, ...], str], ...]] = (
    # Framing
    (
        "frames.one-json-text",
        "Transports, stdio",
        "Every line on stdout is one JSON text.",
        PROFILES,
        "not-json message-spans-lines glued-messages",
    ),
    ("frames.utf8", "Transports, stdio", "Messages are UTF-8.", PROFILES, "invalid-utf8"),
    (
        "frames.no-headers",
        "Transports, stdio",
        "Messages are separated by newlines, without headers.",
        PROFILES,
        "content-length-header",
    ),
    (
        "frames.no-logs",
        "Transports, stdio",
        "Nothing but messages is written to stdout.",
        PROFILES,
        "text-on-stdout",
    ),
    (
        "frames.objects",
        "Transports",
        "Every message is an object, never an array.",
        PROFILES,
        "not-an-object batch-sent",
    ),
    # Envelope
    (
        "envelope.jsonrpc",
        "Overview, JSON-RPC",
        'Every message has "jsonrpc": "2.0".',
        PROFILES,
        "wrong-jsonrpc-version",
    ),
    (
        "envelope.one-kind",
        "Overview, JSON-RPC",
        "Every message is a request, a notification or a response.",
        PROFILES,
        "ambiguous-message result-and-error",
    ),
    (
        "envelope.method",
        "Overview, JSON-RPC",
        "A method is a string that is not empty.",
        PROFILES,
        "invalid-method",
    ),
    (
        "envelope.id",
        "Schema, RequestId",
        "An id is a string, an integer or null.",
        PROFILES,
        "invalid-id",
    ),
    ("envelope.params", "Schema", "Params are an object.", PROFILES, "positional-params"),
    (
        "envelope.id-unique",
        "Overview, JSON-RPC",
        "The agent does not use the id of a request that has no response yet.",
        PROFILES,
        "reused-pending-id",
    ),
    (
        "envelope.response-id",
        "Overview, JSON-RPC",
        "A response has the id of a request, with its type.",
        PROFILES,
        "unknown-response-id",
    ),
    (
        "envelope.one-response",
        "Overview, JSON-RPC",
        "A request gets one response.",
        PROFILES,
        "duplicate-response",
    ),
    (
        "envelope.null-id",
        "Overview, JSON-RPC",
        "A response with the id null is an error about an unreadable request.",
        PROFILES,
        "null-response-id",
    ),
    (
        "envelope.error",
        "Overview, Error handling",
        "An error has an integer code and a message.",
        PROFILES,
        "malformed-error",
    ),
    # Methods
    (
        "methods.known",
        "Extensibility",
        "The agent calls methods of the protocol, or its own with an underscore.",
        PROFILES,
        "unknown-method v1-method v2-method unprefixed-method",
    ),
    (
        "methods.direction",
        "Overview, Methods",
        "The agent calls only methods of the client.",
        PROFILES,
        "wrong-direction",
    ),
    (
        "methods.notifications",
        "Overview, Notifications",
        "Notifications are sent without an id.",
        PROFILES,
        "notification-with-id",
    ),
    (
        "methods.requests",
        "Overview, Methods",
        "Requests are sent with an id.",
        PROFILES,
        "request-without-id",
    ),
    (
        "methods.baseline",
        "Overview, Methods",
        "The agent has every method that is required or that it offers.",
        PROFILES,
        "supported-method-refused",
    ),
    (
        "methods.schema",
        "Schema",
        "Params and results have the fields of the schema.",
        PROFILES,
        "schema-error",
    ),
    # Initialization
    (
        "initialize.first",
        "Initialization",
        "The agent sends nothing before its response to initialize.",
        PROFILES,
        "agent-speaks-first",
    ),
    (
        "initialize.members",
        "Initialization (version 2)",
        "The members of the result are those of the version.",
        PROFILES,
        "shape-of-other-version",
    ),
    (
        "initialize.agent-info",
        "Initialization, Implementation information (version 2)",
        "The agent introduces itself by name and version.",
        V2,
        "missing-info",
    ),
    (
        "initialize.markers",
        "Initialization, Capabilities (version 2)",
        "Capabilities are objects.",
        V2,
        "boolean-support-marker",
    ),
    (
        "initialize.booleans",
        "Initialization, Capabilities",
        "Capabilities that are yes or no are booleans.",
        V1,
        "non-boolean-capability",
    ),
    (
        "initialize.auth-ids",
        "Authentication",
        "The ids of login methods are unique.",
        PROFILES,
        "duplicate-auth-method",
    ),
    (
        "initialize.auth-fields",
        "Schema, AuthMethod",
        "Every login method has its id and name, as the version spells them.",
        PROFILES,
        (
            "incomplete-login-method incomplete-auth-method "
            "terminal-env-not-object terminal-env-not-list"
        ),
    ),
    (
        "initialize.auth-terminal",
        "Authentication, Terminal methods",
        "Login methods in a terminal are offered only to clients that have one.",
        PROFILES,
        "unsupported-terminal-auth unsupported-terminal-login",
    ),
    # Sessions
    (
        "session.known",
        "Session setup, Session id",
        "Updates and requests name a session of this connection.",
        PROFILES,
        "agent-names-unknown-session",
    ),
    (
        "session.lists",
        "Session setup (version 2)",
        "Options and commands of a session are lists.",
        V2,
        "null-session-lists",
    ),
    # Turn
    (
        "updates.variant",
        "Prompt turn, Updates",
        "An update has a sessionUpdate, and its fields beside it.",
        PROFILES,
        "malformed-update wrong-update-discriminator",
    ),
    (
        "updates.known",
        "Schema, SessionUpdate",
        "Updates are those of the version.",
        PROFILES,
        "unknown-update removed-update v2-update",
    ),
    (
        "updates.schema",
        "Schema, SessionUpdate",
        "An update has the fields of its kind.",
        PROFILES,
        "invalid-update",
    ),
    (
        "updates.message-id",
        "Prompt lifecycle, Messages (version 2)",
        "Every message and chunk has a messageId.",
        V2,
        "missing-message-id",
    ),
    (
        "content.fields",
        "Content",
        "Content blocks have the fields of their type.",
        PROFILES,
        "incomplete-content-block",
    ),
    (
        "content.known",
        "Content",
        "Content blocks are of the five known types.",
        V1,
        "unknown-content-type",
    ),
    # Tool calls
    (
        "tool-call.title",
        "Tool calls, Creating",
        "A tool call is announced with an id and a title.",
        V1,
        "incomplete-tool-call",
    ),
    (
        "tool-call.once",
        "Tool calls, Creating",
        "A tool call is announced once.",
        V1,
        "duplicate-tool-call",
    ),
    (
        "tool-call.status",
        "Tool calls, Status",
        "The status of a tool call is one of the four.",
        V1,
        "unknown-tool-status",
    ),
    (
        "tool-call.final",
        "Tool calls, Status",
        "A tool call that is completed or failed stays so.",
        PROFILES,
        "reopened-tool-call",
    ),
    (
        "tool-call.kind",
        "Tool calls, Kind",
        "The kind of a tool call is one of the protocol.",
        V1,
        "unknown-tool-kind",
    ),
    (
        "tool-call.content",
        "Tool calls, Content",
        "The content of a tool call is wrapped in content, diff or terminal.",
        PROFILES,
        "bare-tool-content",
    ),
    (
        "tool-call.diff",
        "Tool calls, Diffs",
        "A diff has its path and texts, as the version spells them.",
        PROFILES,
        "incomplete-diff diff-without-changes incomplete-diff-change",
    ),
    (
        "tool-call.diff-path",
        "Tool calls, Diffs",
        "The paths of a diff are absolute.",
        PROFILES,
        "relative-diff-path",
    ),
    (
        "tool-call.location",
        "Tool calls, Locations",
        "The path of a location is absolute.",
        PROFILES,
        "relative-location",
    ),
    (
        "tool-call.terminal",
        "Tool calls, Terminals",
        "A terminal in a tool call was created and not released.",
        V1,
        "unknown-embedded-terminal",
    ),
    (
        "tool-call.patch",
        "Tool calls, Diffs (version 2)",
        "A patch has absolute paths, and its files are among the changes.",
        V2,
        "malformed-git-patch patch-differs-from-changes",
    ),
    # Permissions
    (
        "permission.tool-call",
        "Tool calls, Requesting permission",
        "A permission request names its tool call, or has a title in version 2.",
        PROFILES,
        "permission-without-tool-call permission-without-title incomplete-command-subject",
    ),
    # Files
    (
        "files.absolute",
        "File system",
        "The paths of file requests are absolute.",
        V1,
        "relative-file-path",
    ),
    ("files.line", "File system, Reading files", "Lines count from 1.", V1, "line-below-one"),
    # Terminals
    (
        "terminal.create",
        "Terminals, Creating terminals",
        "A terminal is created with a command, arguments as a list, and variables as pairs.",
        V1,
        "malformed-terminal-create",
    ),
    (
        "terminal.cwd",
        "Terminals, Creating terminals",
        "The directory of a terminal is absolute.",
        V1,
        "relative-terminal-cwd",
    ),
    (
        "terminal.known",
        "Terminals",
        "Requests for a terminal name one that was created.",
        V1,
        "unknown-terminal",
    ),
    (
        "terminal.not-after-release",
        "Terminals, Releasing terminals",
        "A released terminal is not used again.",
        V1,
        "released-terminal-used",
    ),
    (
        "terminal.output",
        "Terminals (version 2)",
        "Output of a terminal has its id, and data in base64.",
        V2,
        "incomplete-terminal-update invalid-output-base64 terminal-output-not-object",
    ),
    (
        "terminal.display-cwd",
        "Terminals (version 2)",
        "The directory of a display terminal is absolute.",
        V2,
        "relative-display-cwd",
    ),
    # Modes, options, commands
    (
        "modes.update",
        "Session modes",
        "A change of the mode names an available mode as currentModeId.",
        V1,
        "misnamed-mode-id unknown-reported-mode",
    ),
    (
        "options.current",
        "Session config options",
        "The current value of an option is one of its values.",
        PROFILES,
        "invalid-select-option",
    ),
    (
        "options.boolean",
        "Session config options",
        "A boolean option has a boolean value and no list of values.",
        PROFILES,
        "invalid-boolean-option",
    ),
    (
        "options.value",
        "Session config options",
        "Every option has a current value.",
        PROFILES,
        "option-without-value",
    ),
    (
        "options.unique",
        "Session config options",
        "The ids of options and values are unique.",
        PROFILES,
        "duplicate-config-option",
    ),
    (
        "options.names",
        "Schema, SessionConfigOption",
        "Options are named as the version spells it.",
        PROFILES,
        "misnamed-option-id misnamed-config-id",
    ),
    (
        "options.groups",
        "Session config options",
        "Values are all in groups, or none of them is.",
        PROFILES,
        "mixed-option-groups",
    ),
    (
        "options.boolean-offered",
        "Session config options",
        "Boolean options are sent only to clients that know them.",
        V1,
        "undeclared-boolean-option",
    ),
    (
        "commands.fields",
        "Slash commands",
        "Every command has a name and a description.",
        PROFILES,
        "incomplete-command",
    ),
    (
        "commands.input",
        "Slash commands",
        "The input of a command has a hint, and a type in version 2.",
        PROFILES,
        "command-input-without-hint malformed-command-input",
    ),
    # Usage
    (
        "usage.counts",
        "Session usage",
        "Usage has the counts used and size.",
        PROFILES,
        "incomplete-usage",
    ),
    (
        "usage.cost",
        "Session usage",
        "A cost has an amount and a currency.",
        PROFILES,
        "incomplete-cost",
    ),
    # Forms
    (
        "elicitation.fields",
        "Elicitation",
        "A form has a mode and a message.",
        PROFILES,
        "incomplete-elicitation",
    ),
    (
        "elicitation.scope",
        "Elicitation",
        "A form names its session or its request.",
        PROFILES,
        "wrong-elicitation-scope",
    ),
    (
        "elicitation.schema",
        "Elicitation, Form mode",
        "A form has a schema of flat fields.",
        PROFILES,
        "invalid-form-schema",
    ),
    (
        "elicitation.url",
        "Elicitation, URL mode",
        "A page has an id and an absolute address without credentials.",
        PROFILES,
        "incomplete-url-elicitation secret-in-url duplicate-elicitation-id",
    ),
)

_ADVICE: Final[Mapping[str, tuple[Profile, ...]]] = {
    "files.line": V1,
    "options.current": V1,
    "tool-call.final": V1,
}
"""Cases that no sentence of the version requires: the schema has 0 as the smallest line."""

for _id, _section, _sentence, _profiles, _rules in _TABLE:
    AGENT.add(
        Case(
            id=_id,
            section=_section,
            sentence=_sentence,
            profiles=_profiles,
            advice=_ADVICE.get(_id, ()),
            rules=tuple(_rules.split()),
        )
    )

AGENT.add(
    Case(
        id="traffic.other-rules",
        section="Rules of the linter",
        sentence="No message breaks a rule that none of the other cases is about.",
        rules=OTHER_RULES,
    )
)
