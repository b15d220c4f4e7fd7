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
        "L001 L002 L012",
    ),
    ("frames.utf8", "Transports, stdio", "Messages are UTF-8.", PROFILES, "L003"),
    (
        "frames.no-headers",
        "Transports, stdio",
        "Messages are separated by newlines, without headers.",
        PROFILES,
        "L007",
    ),
    (
        "frames.no-logs",
        "Transports, stdio",
        "Nothing but messages is written to stdout.",
        PROFILES,
        "L008",
    ),
    (
        "frames.objects",
        "Transports",
        "Every message is an object, never an array.",
        PROFILES,
        "L009 L357",
    ),
    # Envelope
    (
        "envelope.jsonrpc",
        "Overview, JSON-RPC",
        'Every message has "jsonrpc": "2.0".',
        PROFILES,
        "L016",
    ),
    (
        "envelope.one-kind",
        "Overview, JSON-RPC",
        "Every message is a request, a notification or a response.",
        PROFILES,
        "L017 L018",
    ),
    (
        "envelope.method",
        "Overview, JSON-RPC",
        "A method is a string that is not empty.",
        PROFILES,
        "L019",
    ),
    (
        "envelope.id",
        "Schema, RequestId",
        "An id is a string, an integer or null.",
        PROFILES,
        "L020",
    ),
    ("envelope.params", "Schema", "Params are an object.", PROFILES, "L022"),
    (
        "envelope.id-unique",
        "Overview, JSON-RPC",
        "The agent does not use the id of a request that has no response yet.",
        PROFILES,
        "L023",
    ),
    (
        "envelope.response-id",
        "Overview, JSON-RPC",
        "A response has the id of a request, with its type.",
        PROFILES,
        "L025",
    ),
    (
        "envelope.one-response",
        "Overview, JSON-RPC",
        "A request gets one response.",
        PROFILES,
        "L026",
    ),
    (
        "envelope.null-id",
        "Overview, JSON-RPC",
        "A response with the id null is an error about an unreadable request.",
        PROFILES,
        "L029",
    ),
    (
        "envelope.error",
        "Overview, Error handling",
        "An error has an integer code and a message.",
        PROFILES,
        "L030",
    ),
    # Methods
    (
        "methods.known",
        "Extensibility",
        "The agent calls methods of the protocol, or its own with an underscore.",
        PROFILES,
        "L035 L036 L037 L369",
    ),
    (
        "methods.direction",
        "Overview, Methods",
        "The agent calls only methods of the client.",
        PROFILES,
        "L038",
    ),
    (
        "methods.notifications",
        "Overview, Notifications",
        "Notifications are sent without an id.",
        PROFILES,
        "L039",
    ),
    ("methods.requests", "Overview, Methods", "Requests are sent with an id.", PROFILES, "L040"),
    (
        "methods.baseline",
        "Overview, Methods",
        "The agent has every method that is required or that it offers.",
        PROFILES,
        "L043",
    ),
    (
        "methods.schema",
        "Schema",
        "Params and results have the fields of the schema.",
        PROFILES,
        "L046",
    ),
    # Initialization
    (
        "initialize.first",
        "Initialization",
        "The agent sends nothing before its response to initialize.",
        PROFILES,
        "L051",
    ),
    (
        "initialize.members",
        "Initialization (version 2)",
        "The members of the result are those of the version.",
        PROFILES,
        "L056",
    ),
    (
        "initialize.agent-info",
        "Initialization, Implementation information (version 2)",
        "The agent introduces itself by name and version.",
        V2,
        "L058",
    ),
    (
        "initialize.markers",
        "Initialization, Capabilities (version 2)",
        "Capabilities are objects.",
        V2,
        "L060",
    ),
    (
        "initialize.booleans",
        "Initialization, Capabilities",
        "Capabilities that are yes or no are booleans.",
        V1,
        "L061",
    ),
    (
        "initialize.auth-ids",
        "Authentication",
        "The ids of login methods are unique.",
        PROFILES,
        "L066",
    ),
    (
        "initialize.auth-fields",
        "Schema, AuthMethod",
        "Every login method has its id and name, as the version spells them.",
        PROFILES,
        "L076 L077 L078 L079",
    ),
    (
        "initialize.auth-terminal",
        "Authentication, Terminal methods",
        "Login methods in a terminal are offered only to clients that have one.",
        PROFILES,
        "L071 L072",
    ),
    # Sessions
    (
        "session.known",
        "Session setup, Session id",
        "Updates and requests name a session of this connection.",
        PROFILES,
        "L102",
    ),
    (
        "session.lists",
        "Session setup (version 2)",
        "Options and commands of a session are lists.",
        V2,
        "L455",
    ),
    # Turn
    (
        "updates.variant",
        "Prompt turn, Updates",
        "An update has a sessionUpdate, and its fields beside it.",
        PROFILES,
        "L175 L176",
    ),
    (
        "updates.known",
        "Schema, SessionUpdate",
        "Updates are those of the version.",
        PROFILES,
        "L177 L178 L179",
    ),
    (
        "updates.schema",
        "Schema, SessionUpdate",
        "An update has the fields of its kind.",
        PROFILES,
        "L181",
    ),
    (
        "updates.message-id",
        "Prompt lifecycle, Messages (version 2)",
        "Every message and chunk has a messageId.",
        V2,
        "L182",
    ),
    (
        "content.fields",
        "Content",
        "Content blocks have the fields of their type.",
        PROFILES,
        "L140",
    ),
    ("content.known", "Content", "Content blocks are of the five known types.", V1, "L143"),
    # Tool calls
    (
        "tool-call.title",
        "Tool calls, Creating",
        "A tool call is announced with an id and a title.",
        V1,
        "L193",
    ),
    ("tool-call.once", "Tool calls, Creating", "A tool call is announced once.", V1, "L194"),
    (
        "tool-call.status",
        "Tool calls, Status",
        "The status of a tool call is one of the four.",
        V1,
        "L196",
    ),
    (
        "tool-call.final",
        "Tool calls, Status",
        "A tool call that is completed or failed stays so.",
        PROFILES,
        "L198",
    ),
    (
        "tool-call.kind",
        "Tool calls, Kind",
        "The kind of a tool call is one of the protocol.",
        V1,
        "L201",
    ),
    (
        "tool-call.content",
        "Tool calls, Content",
        "The content of a tool call is wrapped in content, diff or terminal.",
        PROFILES,
        "L203",
    ),
    (
        "tool-call.diff",
        "Tool calls, Diffs",
        "A diff has its path and texts, as the version spells them.",
        PROFILES,
        "L204 L205 L206",
    ),
    (
        "tool-call.diff-path",
        "Tool calls, Diffs",
        "The paths of a diff are absolute.",
        PROFILES,
        "L207",
    ),
    (
        "tool-call.location",
        "Tool calls, Locations",
        "The path of a location is absolute.",
        PROFILES,
        "L212",
    ),
    (
        "tool-call.terminal",
        "Tool calls, Terminals",
        "A terminal in a tool call was created and not released.",
        V1,
        "L214",
    ),
    (
        "tool-call.patch",
        "Tool calls, Diffs (version 2)",
        "A patch has absolute paths, and its files are among the changes.",
        V2,
        "L208 L209",
    ),
    # Permissions
    (
        "permission.tool-call",
        "Tool calls, Requesting permission",
        "A permission request names its tool call, or has a title in version 2.",
        PROFILES,
        "L233 L234 L235",
    ),
    # Files
    ("files.absolute", "File system", "The paths of file requests are absolute.", V1, "L242"),
    ("files.line", "File system, Reading files", "Lines count from 1.", V1, "L243"),
    # Terminals
    (
        "terminal.create",
        "Terminals, Creating terminals",
        "A terminal is created with a command, arguments as a list, and variables as pairs.",
        V1,
        "L251",
    ),
    (
        "terminal.cwd",
        "Terminals, Creating terminals",
        "The directory of a terminal is absolute.",
        V1,
        "L252",
    ),
    (
        "terminal.known",
        "Terminals",
        "Requests for a terminal name one that was created.",
        V1,
        "L253",
    ),
    (
        "terminal.not-after-release",
        "Terminals, Releasing terminals",
        "A released terminal is not used again.",
        V1,
        "L254",
    ),
    (
        "terminal.output",
        "Terminals (version 2)",
        "Output of a terminal has its id, and data in base64.",
        V2,
        "L266 L267 L269",
    ),
    (
        "terminal.display-cwd",
        "Terminals (version 2)",
        "The directory of a display terminal is absolute.",
        V2,
        "L268",
    ),
    # Modes, options, commands
    (
        "modes.update",
        "Session modes",
        "A change of the mode names an available mode as currentModeId.",
        V1,
        "L291 L292",
    ),
    (
        "options.current",
        "Session config options",
        "The current value of an option is one of its values.",
        PROFILES,
        "L301",
    ),
    (
        "options.boolean",
        "Session config options",
        "A boolean option has a boolean value and no list of values.",
        PROFILES,
        "L302",
    ),
    (
        "options.value",
        "Session config options",
        "Every option has a current value.",
        PROFILES,
        "L303",
    ),
    (
        "options.unique",
        "Session config options",
        "The ids of options and values are unique.",
        PROFILES,
        "L304",
    ),
    (
        "options.names",
        "Schema, SessionConfigOption",
        "Options are named as the version spells it.",
        PROFILES,
        "L305 L306",
    ),
    (
        "options.groups",
        "Session config options",
        "Values are all in groups, or none of them is.",
        PROFILES,
        "L307",
    ),
    (
        "options.boolean-offered",
        "Session config options",
        "Boolean options are sent only to clients that know them.",
        V1,
        "L300",
    ),
    (
        "commands.fields",
        "Slash commands",
        "Every command has a name and a description.",
        PROFILES,
        "L313",
    ),
    (
        "commands.input",
        "Slash commands",
        "The input of a command has a hint, and a type in version 2.",
        PROFILES,
        "L316 L317",
    ),
    # Usage
    ("usage.counts", "Session usage", "Usage has the counts used and size.", PROFILES, "L321"),
    ("usage.cost", "Session usage", "A cost has an amount and a currency.", PROFILES, "L323"),
    # Forms
    ("elicitation.fields", "Elicitation", "A form has a mode and a message.", PROFILES, "L330"),
    (
        "elicitation.scope",
        "Elicitation",
        "A form names its session or its request.",
        PROFILES,
        "L331",
    ),
    (
        "elicitation.schema",
        "Elicitation, Form mode",
        "A form has a schema of flat fields.",
        PROFILES,
        "L337",
    ),
    (
        "elicitation.url",
        "Elicitation, URL mode",
        "A page has an id and an absolute address without credentials.",
        PROFILES,
        "L333 L335 L336",
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
            rules=tuple(f"ACP-{rule}" for rule in _rules.split()),
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
