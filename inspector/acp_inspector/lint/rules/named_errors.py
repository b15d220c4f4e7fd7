"""Rules that name a schema error: each row has the place and the kinds of errors there.

`schemas` reports every error of a message; a row gives those at one place a name, a fix and a
severity of their own.

Source: ACP schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, Literal, TypeAlias

from acp_inspector.lint import on
from acp_inspector.lint.catalog import Facts
from acp_inspector.lint.context import OK, CheckResult, Context
from acp_inspector.lint.registry import rule
from acp_inspector.lint.rules.commands import COMMAND_REPORTS
from acp_inspector.lint.rules.message_ids import CLIENT_CALLS
from acp_inspector.lint.rules.schemas import PLACES, UNKNOWN_WORD, SchemaSubject, schema_subject
from acp_protocol.schema.vocabulary import MESSAGE_CHUNKS, OPENING, WHOLE_MESSAGES

ErrorKind: TypeAlias = Literal["missing", "type", "null", "range", "word", "reserved", "member"]
"""What is wrong at a place: a member is missing, has another type, is null where a list is (which
readers take for none), or is too small or short; a word is unknown; or the schema lets it pass, but
a word is reserved for ACP, or a member is not one of ACP."""

_KINDS: Final[dict[str, ErrorKind]] = {
    "is missing": "missing",
    "is null": "null",
    "is too short": "range",
    "is too small": "range",
    "is too large": "range",
    UNKNOWN_WORD: "word",
}
"""The kinds of errors by their reason; all others are about types."""


@rule(
    "incomplete-command",
    Facts(313, "commands", "error", "schema", "agent", "slash-commands.mdx", since="2026-11"),
    COMMAND_REPORTS,
    case="commands.fields",
    says=("Each command has `name` and `description`; v2 also `type` (`command` or custom)."),
    fix="Give each command a name and a description.",
    at=r"availableCommands\.\d+\.(type|name|description)",
    kinds=("missing", "type"),
    within=("availableCommands",),
)
@rule(
    "incomplete-notice",
    Facts(409, "notices", "error", "schema", "agent", "schema", since="2026-11"),
    on.update("notice"),
    says="`notice` (stable now) has `severity` and a non-empty `title`.",
    fix="Give a severity and a title.",
    at="severity|title",
    kinds=("missing", "type", "range"),
)
@rule(
    "untyped-option-value",
    Facts(297, "modes", "error", "schema", "client", "v2/session-config-options.mdx", version=2),
    on.request("session/set_config_option"),
    case="options.type",
    says="`type` (`id` or `boolean`) is present on `set_config_option`.",
    fix='Say "type": "id" or "boolean".',
    at="type",
    kinds=("missing", "type"),
)
@rule(
    "incomplete-terminal-update",
    Facts(266, "display-terminals", "error", "schema", "agent", "schema", version=2),
    on.update("terminal_update", "terminal_output_chunk"),
    case="terminal.output",
    says=("`terminal_update` and `terminal_output_chunk` have `terminalId`; chunks have `data`."),
    fix="Name the terminal by terminalId, and put bytes into data.",
    at="terminalId|data",
    kinds=("missing", "type"),
)
@rule(
    "terminal-output-not-object",
    Facts(269, "display-terminals", "error", "schema", "agent", "schema", version=2),
    on.update("terminal_update"),
    case="terminal.output",
    says="`output` is an object with `data`, not a string.",
    fix='Send {"data": …} as output.',
    at=r"output(\.data)?",
    kinds=("missing", "type"),
    within=("output",),
)
@rule(
    "invalid-terminal-size",
    Facts(463, "version-2", "error", "schema", "agent", "schema", version=2),
    on.update("terminal_update"),
    says="Terminal `size` has integer `cols` and `rows` in 1..65535.",
    fix="Send cols and rows from 1 to 65535.",
    at=r"size(\.cols|\.rows)?",
    kinds=("missing", "type", "range"),
    within=("size",),
)
@rule(
    "incomplete-elicitation",
    Facts(330, "elicitation", "error", "schema", "agent", "elicitation.mdx"),
    on.request("elicitation/create"),
    case="elicitation.fields",
    says="`mode` and `message` are present.",
    fix="Say how you ask, and what for.",
    at="mode|message",
    kinds=("missing", "type"),
)
@rule(
    "missing-file-content",
    Facts(245, "files", "error", "schema", "client", "schema", version=1),
    on.result("fs/read_text_file"),
    says="The read result has a string `content`.",
    fix="Answer with the text as content.",
    at="content",
    kinds=("missing", "type"),
)
@rule(
    "missing-message-id",
    Facts(182, "updates", "error", "must", "agent", "v2/prompt-lifecycle.mdx", version=2),
    on.update(*MESSAGE_CHUNKS, *WHOLE_MESSAGES),
    case="updates.message-id",
    says="Every message update and chunk has a non-null string `messageId`.",
    fix="Send the messageId with every piece.",
    at="messageId",
    kinds=("missing", "type"),
)
@rule(
    "incomplete-permission-option",
    Facts(224, "permissions", "error", "schema", "agent", "schema"),
    on.request("session/request_permission"),
    says="Each option has `optionId`, `name`, `kind`.",
    fix="Give every option optionId, name and kind.",
    at=r"options\.\d+\.(optionId|name|kind)",
    kinds=("missing", "type"),
    within=("options",),
)
@rule(
    "unknown-option-kind",
    Facts(225, "permissions", "error", "schema", "agent", "schema", version=1),
    on.request("session/request_permission"),
    says="`kind` is `allow_once`, `allow_always`, `reject_once` or `reject_always`.",
    fix="Use allow_once, allow_always, reject_once or …_always.",
    at=r"options\.\d+\.kind",
    kinds=("word",),
    within=("options",),
)
@rule(
    "permission-without-tool-call",
    Facts(233, "permissions", "error", "schema", "agent", "schema", version=1),
    on.request("session/request_permission"),
    case="permission.tool-call",
    says="`toolCall` with `toolCallId` is present at params root.",
    fix='Send "toolCall": {"toolCallId": …} in params.',
    at=r"toolCall(\.toolCallId)?",
    kinds=("missing", "type"),
)
@rule(
    "malformed-permission-outcome",
    Facts(227, "permissions", "error", "schema", "client", "schema"),
    on.result("session/request_permission"),
    says=(
        "The result is `{outcome:{outcome:…}}`; flattened or string outcomes "
        '(`"allow_once"`) are invalid.'
    ),
    fix='Answer {"outcome": {"outcome": "selected", "optionId": …}}.',
    at=r"outcome(\.outcome)?",
    kinds=("missing", "type"),
)
@rule(
    "incomplete-plan-entry",
    Facts(276, "plans", "error", "schema", "agent", "agent-plan.mdx"),
    on.update("plan", "plan_update"),
    says="Plan entries have `content`, `priority`, `status`.",
    fix="Give entries content, priority and status.",
    at=r"(plan\.)?entries\.\d+\.(content|priority|status)",
    kinds=("missing", "type"),
    within=("entries", "plan.entries"),
)
@rule(
    "unknown-plan-word",
    Facts(277, "plans", "error", "schema", "agent", "agent-plan.mdx", version=1),
    on.update("plan", "plan_update"),
    says=(
        "`priority` ∈ high/medium/low and `status` ∈ pending/in_progress/completed "
        "(v2 adds `cancelled`; unknown values need `_`)."
    ),
    fix="Use the priorities and statuses there are.",
    at=r"(plan\.)?entries\.\d+\.(priority|status)",
    kinds=("word",),
    within=("entries", "plan.entries"),
)
@rule(
    "prompt-result-without-id",
    Facts(431, "version-2", "error", "schema", "agent", "schema", version=2),
    on.result("session/prompt"),
    says=(
        "The `session/prompt` result has a non-null string `messageId` (`{}` is the alpha.3 shape)."
    ),
    fix="Name the user message's id in the result.",
    at="messageId",
    kinds=("missing", "type"),
)
@rule(
    "empty-prompt",
    Facts(434, "version-2", "error", "must", "client", "schema", version=2),
    on.request("session/prompt"),
    case="prompt.not-empty",
    says="`prompt` is not an empty array.",
    fix="Send at least one content block.",
    at="prompt",
    kinds=("range",),
)
@rule(
    "replay-cursor-not-object",
    Facts(115, "sessions", "error", "schema", "client", "schema", version=2, since="2026-11"),
    on.request("session/resume"),
    says=("`replayFrom` is an object with `type`, not a string (strict field now: -32602)."),
    fix='Send "replayFrom": {"type": "start"}.',
    at=r"replayFrom(\.type)?",
    kinds=("missing", "type"),
    within=("replayFrom",),
)
@rule(
    "missing-stored-title",
    Facts(481, "session-admin", "error", "schema", "agent", "schema"),
    on.result("session/set_title"),
    says="The `session/set_title` result has the stored `title`.",
    fix="Return the title as it was stored.",
    at="title",
    kinds=("missing", "type"),
)
@rule(
    "malformed-terminal-create",
    Facts(251, "terminals", "error", "schema", "agent", "schema", version=1),
    on.request("terminal/create"),
    case="terminal.create",
    says=(
        "`terminal/create` has `command`; `args` is a string array; `env` is an array "
        "of `{name,value}`."
    ),
    fix="Send a command, strings as args, pairs as env.",
    at=r"command|args(\.\d+)?|env(\.\d+(\.(name|value))?)?",
    kinds=("missing", "type"),
)
@rule(
    "incomplete-terminal-output",
    Facts(257, "terminals", "error", "schema", "client", "schema", version=1),
    on.result("terminal/output"),
    says="`terminal/output` result has `output` and `truncated`.",
    fix="Answer with output, a string, and truncated, a boolean.",
    at="output|truncated",
    kinds=("missing", "type"),
)
@rule(
    "incomplete-tool-call",
    Facts(193, "tool-calls", "error", "schema", "agent", "schema", version=1),
    on.update("tool_call"),
    case="tool-call.title",
    says="`tool_call` has `toolCallId` and `title`.",
    fix="Announce a tool call with toolCallId and title.",
    at="toolCallId|title",
    kinds=("missing", "type"),
)
@rule(
    "message-content-not-list",
    Facts(184, "updates", "error", "schema", "agent", "schema", version=2),
    on.update(*WHOLE_MESSAGES),
    says=(
        "`content` of `user_message`/`agent_message`/`agent_thought` is an array or "
        "null, not a single block or string."
    ),
    fix="Send all blocks of the message in an array.",
    at="content",
    kinds=("type",),
)
@rule(
    "incomplete-usage",
    Facts(321, "usage", "error", "schema", "agent", "prompt-turn.mdx"),
    on.update("usage_update"),
    case="usage.counts",
    says="`used` and `size` are present non-negative integers.",
    fix="Send whole numbers of tokens.",
    at="used|size",
    kinds=("missing", "type", "range"),
)
@rule(
    "incomplete-cost",
    Facts(323, "usage", "error", "schema", "agent", "prompt-turn.mdx"),
    on.update("usage_update"),
    case="usage.cost",
    says="`cost` has `amount` and `currency`.",
    fix="Report amount and currency.",
    at=r"cost\.(amount|currency)",
    kinds=("missing", "type"),
    within=("cost",),
)
@rule(
    "misplaced-commands",
    Facts(
        319,
        "commands",
        "warning",
        "implied",
        "agent",
        "slash-commands.mdx",
        version=1,
        since="2026-11",
    ),
    on.result("initialize", *OPENING),
    says=(
        "Commands are announced with `available_commands_update`, not in capabilities "
        "or session results (v2 results may carry `availableCommands`)."
    ),
    fix="Send available_commands_update.",
    at="availableCommands|commands|slashCommands",
    kinds=("member",),
)
@rule(
    "client-message-id",
    Facts(188, "updates", "error", "implied", "client", "rfds/message-id.mdx"),
    on.call(*CLIENT_CALLS),
    case="prompt.no-message-id",
    says="Clients never invent message ids (no `messageId` in requests).",
    fix="Leave ids of messages to the agent.",
    at="messageId",
    kinds=("member",),
)
@rule(
    "modes-in-v2",
    Facts(311, "modes", "warning", "must", "agent", "v2/migration.mdx", version=2),
    on.result(*OPENING),
    says="No `modes` field in session responses.",
    fix="Report modes by a config option.",
    at="modes",
    kinds=("member",),
)
@rule(
    "reserved-permission-outcome",
    Facts(229, "permissions", "warning", "must", "client", "v2/tool-calls.mdx", version=2),
    on.result("session/request_permission"),
    says="Unknown outcomes start with `_`.",
    fix="Begin outcomes of your own with “_”.",
    at=r"outcome\.outcome",
    kinds=("reserved",),
    within=("outcome",),
)
@rule(
    "reserved-plan-type",
    Facts(281, "plans", "warning", "must", "agent", "v2/agent-plan.mdx", version=2),
    on.update("plan_update"),
    says="Unknown `plan.type` values start with `_`.",
    fix="Begin custom types with “_”.",
    at=r"plan\.type",
    kinds=("reserved",),
    within=("plan",),
)
@rule(
    "stop-reason-in-result",
    Facts(
        158,
        "prompt-lifecycle",
        "error",
        "schema",
        "agent",
        "v2/prompt-lifecycle.mdx",
        version=2,
        since="2026-11",
    ),
    on.result("session/prompt"),
    says=(
        "The `session/prompt` result has no `stopReason`; it acknowledges insertion "
        "and names the `messageId`."
    ),
    fix="Name the messageId; tell the stop when idle.",
    at="stopReason",
    kinds=("member",),
)
@rule(
    "content-in-prompt-result",
    Facts(155, "prompt-turn", "warning", "schema", "agent", "schema", version=1),
    on.result("session/prompt"),
    says=(
        "The prompt result has no extra content (`content`, `message`); output belongs in updates."
    ),
    fix="Send it in agent_message_chunk updates.",
    at="content|message|messages|text|output|response",
    kinds=("member",),
)
@rule(
    "foreign-prompt-field",
    Facts(156, "prompt-turn", "warning", "must", "client", "extensibility.mdx"),
    on.request("session/prompt"),
    says=(
        "Prompt params carry no foreign fields (`model`, `stream`, `temperature`, "
        "`maxTokens`, `messageId`)."
    ),
    fix="Leave out the mode; use config options.",
    at="model|stream|temperature|maxTokens|max_tokens|topP|top_p|messageId|messages|system|tools",
    kinds=("member",),
)
@rule(
    "provider-headers-listed",
    Facts(402, "providers", "error", "implied", "agent", "rfds/custom-llm-endpoint.mdx"),
    on.result("providers/list"),
    says="`providers/list` never returns headers.",
    fix="Leave out headers; they hold secrets.",
    at=r"providers\.\d+(\.current)?\.headers",
    kinds=("member",),
)
@rule(
    "foreign-session-info-field",
    Facts(131, "sessions", "warning", "implied", "agent", "session-list.mdx"),
    on.update("session_info_update"),
    says=("`session_info_update` does not contain `sessionId`, `cwd` or `additionalDirectories`."),
    fix="Update only title, updatedAt and _meta of a session.",
    at="sessionId|cwd|additionalDirectories",
    kinds=("member",),
)
@rule(
    "reserved-session-state",
    Facts(
        169, "prompt-lifecycle", "warning", "must", "agent", "v2/prompt-lifecycle.mdx", version=2
    ),
    on.update("state_update"),
    says="Unknown `state` and `stopReason` values start with `_`.",
    fix="Begin custom names with “_”.",
    at="state|stopReason",
    kinds=("reserved",),
)
def named_error(
    context: Context, at: str, kinds: tuple[ErrorKind, ...], within: tuple[str, ...] = ()
) -> CheckResult:
    """Report the schema errors of these kinds at the places that a pattern matches.

    Args:
        context: The message.
        at: A pattern for the path in the update, the params or the result.
        kinds: The kinds of errors.
        within: Paths of values without which there is nothing to check, if none is there.
    """
    there = [value for path in within for _, value in context.members(path)]
    if within and all(value in (None, []) for value in there):
        return None
    what = schema_subject(context)
    if what is None:
        return OK
    if not isinstance(what, SchemaSubject):
        return None
    pattern = _pattern(f"{context.body}.", at)
    found = [
        context.problem(text, context.request, path=path)
        for kind, path, text in _errors(what)
        if kind in kinds and pattern.fullmatch(path)
    ]
    return tuple(problem for problems in found[:PLACES] for problem in problems)


def _errors(what: SchemaSubject) -> Iterator[tuple[ErrorKind, str, str]]:
    """Yield the kind, the path and the text of everything that is wrong."""
    for error in what.schema_errors():
        yield _KINDS.get(error.reason, "type"), error.path, str(error)
    for path in what.custom_values():
        if not str(what.at(path)).startswith("_"):
            yield "reserved", path, f"{path} is not known and does not begin with “_”"
    for path in what.unknown_members():
        yield "member", path, f"{path} is not a member of ACP"


@cache
def _pattern(body: str, at: str) -> re.Pattern[str]:
    return re.compile(re.escape(body) + f"(?:{at})")
