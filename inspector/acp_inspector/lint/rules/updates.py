"""Session updates: their variants, and whether their content fits.

Source: ACP, "Prompt Turn", "Extensibility", version 2's migration guide, and the schemas.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.newer import UPDATES as NEWER
from acp_protocol.schema.vocabulary import MESSAGE_CHUNKS, WHOLE_MESSAGES
from acp_protocol.schema.words import UNSTABLE_UPDATE_KINDS, UPDATE_KINDS

rule = LintSubject("updates", page="migration.mdx")

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


@rule.error(175, "schema", "agent", on.call("session/update"), case="updates.variant")
@fix('Send "update": {"sessionUpdate": …} with what belongs to it.')
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


@rule.error(176, "schema", "agent", on.call("session/update"), case="updates.variant")
@fix("Name the variant by sessionUpdate, with its members beside it.")
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


@rule.error(177, "schema", "agent", on.update(), version=1, case="updates.known")
@fix("Send only variants that version 1 has.")
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


@rule.error(178, "schema", "agent", on.update(*REMOVED), version=2, case="updates.known")
@details(source="v2/migration.mdx", exercised_by=on.update())
@fix("Send what version 2 has instead.")
def removed_update(context: Context) -> CheckResult:
    """Removed v1 variants (`tool_call`, `plan`, `current_mode_update`) are not sent on v2."""
    return context.problem(
        f"{context.variant} is version 1's", context.state.initialize, at="sessionUpdate"
    )


@rule.error(179, "schema", "agent", on.update(*ADDED), version=1, case="updates.known")
@details(exercised_by=on.update())
@fix("Send what version 1 has instead.")
def v2_update(context: Context) -> CheckResult:
    """v2-only variants (`state_update`, `user_message`, `agent_message`, `agent_thought`,
    `tool_call_content_chunk`, `terminal_update`, `terminal_output_chunk`) are not sent on v1.
    """
    return context.problem(
        f"{context.variant} is version 2's", context.state.initialize, at="sessionUpdate"
    )


@rule.warning(180, "must", "agent", on.update(), version=2, source="v2/extensibility.mdx")
@fix("Begin the names of variants of your own with “_”.")
def reserved_update(context: Context) -> CheckResult:
    """Unknown variants start with `_` (others are reserved for ACP)."""
    variant = context.variant
    if variant is None or variant in REMOVED:
        return None
    return OK if variant.startswith("_") else _known(context, variant, 2)


@rule.warning(190, "heuristic", "agent", on.update(*MESSAGE_CHUNKS), source="content.mdx")
@fix("Send a chunk only when there is text.")
def empty_chunk(context: Context) -> CheckResult:
    """Empty text chunks are not sent."""
    content = as_object(context.update.get("content"))
    if content.get("text") == "" and content.get("type") == "text":
        return context.problem(f"the text of {context.variant} is empty", at="content.text")
    return OK


@rule.error(183, "schema", "agent", on.update(*MESSAGE_CHUNKS))
@fix("Send each block in a chunk of its own.")
def chunk_content_list(context: Context) -> CheckResult:
    """A chunk's `content` is one block, not an array."""
    if isinstance(context.update.get("content"), list):
        return context.problem(f"the content of {context.variant} is an array", at="content")
    return OK


@rule.error(184, "schema", "agent", on.update(*WHOLE_MESSAGES), version=2)
@fix("Send all blocks of the message in an array.")
@checked_by(schema, at="content", kinds="type")
def message_content_not_list() -> None:
    """`content` of `user_message`/`agent_message`/`agent_thought` is an array or null, not a single
    block or string.
    """
