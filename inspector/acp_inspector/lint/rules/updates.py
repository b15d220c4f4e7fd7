"""Session updates: their variants, and whether their content fits.

Source: ACP, "Prompt Turn", "Extensibility", version 2's migration guide, and the schemas.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.catalog import Facts
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import rule
from acp_inspector.lint.rules.schemas import SchemaSubject, schema_subject
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.newer import UPDATES as NEWER
from acp_protocol.schema.vocabulary import MESSAGE_CHUNKS
from acp_protocol.schema.words import UNSTABLE_UPDATE_KINDS, UPDATE_KINDS

REMOVED: Final = tuple(kind for kind in UPDATE_KINDS[1] if kind not in UPDATE_KINDS[2])
"""Variants that version 2 no longer has."""
ADDED: Final = tuple(kind for kind in UPDATE_KINDS[2] if kind not in UPDATE_KINDS[1])
"""Variants that version 1 does not have yet."""
TAGS: Final = ("type", "kind", "event", "updateType")
"""Fields by which other protocols distinguish variants."""
PAYLOAD: Final = {
    "tool_call": "toolCallId",
    "tool_call_update": "toolCallId",
    "tool_call_content_chunk": "toolCallId",
    "plan": "entries",
    "plan_update": "plan",
    "available_commands_update": "availableCommands",
    "current_mode_update": "currentModeId",
    "config_option_update": "configOptions",
    "usage_update": "used",
    "state_update": "state",
    "terminal_update": "terminalId",
    "terminal_output_chunk": "terminalId",
    "user_message": "messageId",
    "agent_message": "messageId",
    "agent_thought": "messageId",
}
"""A field that identifies the content of a variant."""
MAX_ERRORS: Final = 5
"""Most paths reported for one update."""


@rule(
    "malformed-update",
    Facts(175, "updates", "error", "schema", "agent", "schema"),
    on.call("session/update"),
    case="updates.variant",
    fix='Send "update": {"sessionUpdate": …} with what belongs to it.',
)
def malformed_update(context: Context) -> CheckResult:
    """`params.update` is an object with a string `sessionUpdate`."""
    if context.variant is not None:
        return OK
    update: Json = context.params.get("update")
    if not isinstance(update, dict):
        what = "no object" if "update" in context.params else "missing"
        return context.problem(f"update is {what}", path="params.update")
    what = "no string" if "sessionUpdate" in context.update else "missing"
    return context.problem(f"sessionUpdate is {what}", at="sessionUpdate")


@rule(
    "wrong-update-discriminator",
    Facts(176, "updates", "error", "schema", "agent", "schema"),
    on.call("session/update"),
    case="updates.variant",
    fix="Name the variant by sessionUpdate, with its members beside it.",
)
def wrong_update_discriminator(context: Context) -> CheckResult:
    """No other discriminator is used (`kind`, `type`, `event`), and payload fields are not wrapped
    in an extra `content` object.
    """
    update, variant = context.update, context.variant
    if variant is None:
        for name in TAGS:
            if isinstance(update.get(name), str):
                return context.problem(
                    f"the update is reported apart by {name}, not by sessionUpdate", at=name
                )
        return OK
    content: Json = update.get("content")
    if not isinstance(content, dict):
        return OK
    inner = as_object(content)
    name = PAYLOAD.get(variant)
    if name is not None:
        is_wrapped = name in inner and name not in update
    else:
        is_wrapped = "type" not in inner and isinstance(inner.get("content"), dict)
    if is_wrapped:
        return context.problem(f"what belongs to {variant} is wrapped in content", at="content")
    return OK


@rule(
    "unknown-update",
    Facts(177, "updates", "error", "schema", "agent", "schema", version=1),
    on.update(),
    case="updates.known",
    fix="Send only variants that version 1 has.",
)
def unknown_update(context: Context) -> CheckResult:
    """`sessionUpdate` is a known v1 variant (closed union; `_` values are not legal in v1)."""
    variant = context.variant
    if variant is None or variant in ADDED:
        return None
    return _known(context, variant, 1)


def _known(context: Context, variant: str, version: int) -> CheckResult:
    if variant in NEWER[version]:
        return OK
    if variant not in UPDATE_KINDS[version]:
        return context.problem(
            f"{quoted(variant)} is not a session update of version {version}", at="sessionUpdate"
        )
    if variant in UNSTABLE_UPDATE_KINDS[version] and not context.state.unstable:
        return context.problem(f"{variant} is unstable", at="sessionUpdate", severity="info")
    return OK


@rule(
    "removed-update",
    Facts(178, "updates", "error", "schema", "agent", "v2/migration.mdx", version=2),
    on.update(*REMOVED),
    case="updates.known",
    fix="Send what version 2 has instead.",
    exercised_by=on.update(),
)
def removed_update(context: Context) -> CheckResult:
    """Removed v1 variants (`tool_call`, `plan`, `current_mode_update`) are not sent on v2."""
    return context.problem(
        f"{context.variant} is version 1's", context.state.initialize, at="sessionUpdate"
    )


@rule(
    "v2-update",
    Facts(179, "updates", "error", "schema", "agent", "schema", version=1),
    on.update(*ADDED),
    case="updates.known",
    fix="Send what version 1 has instead.",
    exercised_by=on.update(),
)
def v2_update(context: Context) -> CheckResult:
    """v2-only variants (`state_update`, `user_message`, `agent_message`, `agent_thought`,
    `tool_call_content_chunk`, `terminal_update`, `terminal_output_chunk`) are not sent on v1.
    """
    return context.problem(
        f"{context.variant} is version 2's", context.state.initialize, at="sessionUpdate"
    )


@rule(
    "reserved-update",
    Facts(180, "updates", "warning", "must", "agent", "v2/extensibility.mdx", version=2),
    on.update(),
    fix="Begin the names of variants of your own with “_”.",
)
def reserved_update(context: Context) -> CheckResult:
    """Unknown variants start with `_` (others are reserved for ACP)."""
    variant = context.variant
    if variant is None or variant in REMOVED:
        return None
    return OK if variant.startswith("_") else _known(context, variant, 2)


@rule(
    "invalid-update",
    Facts(181, "updates", "error", "schema", "agent", "v2/migration.mdx"),
    on.update(),
    case="updates.schema",
    fix="Send what the schema requires; see the variant's page.",
)
def invalid_update(context: Context) -> CheckResult:
    """A known variant matches its schema; malformed known variants are not treated as unknown
    ones.
    """
    version = context.version
    if version is None or context.variant not in UPDATE_KINDS[version]:
        return None
    what = schema_subject(context)
    if not isinstance(what, SchemaSubject):
        return OK
    found = [
        Problem(f"{context.variant}: {each}", (context.seq,), path=each.path)
        for each in what.schema_errors()
        if not each.is_tolerated and each.path.startswith("params.update")
    ]
    return tuple(found[:MAX_ERRORS])


@rule(
    "empty-chunk",
    Facts(190, "updates", "warning", "heuristic", "agent", "content.mdx"),
    on.update(*MESSAGE_CHUNKS),
    fix="Send a chunk only when there is text.",
)
def empty_chunk(context: Context) -> CheckResult:
    """Empty text chunks are not sent."""
    content = as_object(context.update.get("content"))
    if content.get("text") == "" and content.get("type") == "text":
        return context.problem(f"the text of {context.variant} is empty", at="content.text")
    return OK


@rule(
    "chunk-content-list",
    Facts(183, "updates", "error", "schema", "agent", "schema"),
    on.update(*MESSAGE_CHUNKS),
    fix="Send each block in a chunk of its own.",
)
def chunk_content_list(context: Context) -> CheckResult:
    """A chunk's `content` is one block, not an array."""
    if isinstance(context.update.get("content"), list):
        return context.problem(f"the content of {context.variant} is an array", at="content")
    return OK
