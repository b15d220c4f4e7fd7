"""Rules about the values of one member: they are unique in a list, or they are absolute paths.

Each row has the place of the member; a place that a message does not have is left out.

Source: ACP schema; "Session Modes", "Tool Calls", "Slash Commands", "Terminals".
"""

from __future__ import annotations

from acp_inspector.lint import on
from acp_inspector.lint.catalog import Facts
from acp_inspector.lint.context import OK, CheckResult, Context, quoted, repeated
from acp_inspector.lint.registry import rule
from acp_inspector.lint.rules.commands import COMMAND_REPORTS
from acp_inspector.lint.rules.tool_calls import TOOL_CALL_MESSAGES
from acp_inspector.lint.text_checks import is_absolute
from acp_protocol.schema.vocabulary import OPENING


@rule(
    "duplicate-auth-method",
    Facts(66, "initialization", "error", "schema", "agent", "schema"),
    on.result("initialize"),
    case="initialize.auth-ids",
    says="`authMethods` ids (`id` / `methodId`) are unique within the list.",
    fix="Give each method to log in an id of its own.",
    at=(
        "authMethods.*.id",
        "authMethods.*.methodId",
    ),
)
@rule(
    "duplicate-command",
    Facts(315, "commands", "warning", "must", "agent", "slash-commands.mdx", since="2026-11"),
    COMMAND_REPORTS,
    says="Command names are unique in the list (v2: MUST).",
    fix="Give each command a name of its own.",
    at=("availableCommands.*.name",),
)
@rule(
    "duplicate-mode",
    Facts(293, "modes", "error", "schema", "agent", "schema", version=1),
    on.result(*OPENING),
    says="Mode ids are unique.",
    fix="Give each mode an id of its own.",
    at=("modes.availableModes.*.id",),
)
@rule(
    "duplicate-permission-option",
    Facts(223, "permissions", "error", "must", "agent", "tool-calls.mdx", since="2026-11"),
    on.request("session/request_permission"),
    says="`optionId`s are unique within a request (v2: MUST).",
    fix="Give every option of a request an optionId of its own.",
    at=("options.*.optionId",),
)
def unique(context: Context, at: tuple[str, ...]) -> CheckResult:
    found = [each for path in at for each in context.members(path)]
    for index, value in repeated(value for _, value in found):
        return context.problem(f"{quoted(value)} occurs twice", path=found[index][0])
    return OK if found else None


@rule(
    "relative-display-cwd",
    Facts(268, "display-terminals", "error", "must", "agent", "v2/tool-calls.mdx", version=2),
    on.update("terminal_update"),
    case="terminal.display-cwd",
    says="`cwd` is absolute when given.",
    fix="Send an absolute cwd, or none.",
    at=("cwd",),
)
@rule(
    "relative-terminal-cwd",
    Facts(252, "terminals", "error", "must", "agent", "v1/terminals.mdx", version=1),
    on.request("terminal/create"),
    case="terminal.cwd",
    says="`cwd`, if given, is absolute.",
    fix="Send an absolute cwd, or none.",
    at=("cwd",),
)
@rule(
    "relative-location",
    Facts(212, "tool-calls", "error", "must", "agent", "overview.mdx"),
    TOOL_CALL_MESSAGES,
    case="tool-call.location",
    says="`locations[].path` is absolute.",
    fix="Send absolute paths as locations.",
    at=(
        "locations.*.path",
        "toolCall.locations.*.path",
        "subject.toolCall.locations.*.path",
    ),
)
def absolute(context: Context, at: tuple[str, ...]) -> CheckResult:
    found = [
        (path, value)
        for place in at
        for path, value in context.members(place)
        if isinstance(value, str)
    ]
    if not found:
        return None
    return context.problems(
        (f"the path {quoted(value)} is not absolute", path)
        for path, value in found
        if not is_absolute(value)
    )
