"""Session updates: their variants, and whether their content fits.

Source: ACP, "Prompt Turn", "Extensibility", version 2's migration guide, and the schemas.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import check
from acp_inspector.lint.rules.schemas import SchemaSubject, schema_subject
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.newer import UPDATES as NEWER
from acp_protocol.schema.vocabulary import MESSAGE_CHUNKS, WHOLE_MESSAGES
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


@check("ACP-L175", on.call("session/update"))
def updates_are_tagged(context: Context) -> CheckResult:
    if context.variant is not None:
        return OK
    update: Json = context.params.get("update")
    if not isinstance(update, dict):
        what = "no object" if "update" in context.params else "missing"
        return context.problem(f"update is {what}", path="params.update")
    what = "no string" if "sessionUpdate" in context.update else "missing"
    return context.problem(f"sessionUpdate is {what}", at="sessionUpdate")


@check("ACP-L176", on.call("session/update"))
def updates_are_flat(context: Context) -> CheckResult:
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


@check("ACP-L177", on.update())
def variants_are_of_version_1(context: Context) -> CheckResult:
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


@check("ACP-L178", on.update(*REMOVED), exercised_by=on.update())
def removed_variants_are_not_sent(context: Context) -> CheckResult:
    return context.problem(
        f"{context.variant} is version 1's", context.state.initialize, at="sessionUpdate"
    )


@check("ACP-L179", on.update(*ADDED), exercised_by=on.update())
def added_variants_are_not_sent(context: Context) -> CheckResult:
    return context.problem(
        f"{context.variant} is version 2's", context.state.initialize, at="sessionUpdate"
    )


@check("ACP-L180", on.update())
def variants_of_ones_own_have_an_underscore(context: Context) -> CheckResult:
    variant = context.variant
    if variant is None or variant in REMOVED:
        return None
    return OK if variant.startswith("_") else _known(context, variant, 2)


@check("ACP-L181", on.update())
def known_variants_fit_their_schema(context: Context) -> CheckResult:
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


@check("ACP-L183", on.update(*MESSAGE_CHUNKS))
def chunks_have_one_block(context: Context) -> CheckResult:
    if isinstance(context.update.get("content"), list):
        return context.problem(f"the content of {context.variant} is an array", at="content")
    return OK


@check("ACP-L184", on.update(*WHOLE_MESSAGES))
def whole_messages_have_a_list(context: Context) -> CheckResult:
    content: Json = context.update.get("content")
    if content is None or isinstance(content, list):
        return OK
    what = "one block" if isinstance(content, dict) else quoted(content)
    return context.problem(f"the content of {context.variant} is {what}, no array", at="content")


@check("ACP-L190", on.update(*MESSAGE_CHUNKS))
def chunks_are_not_empty(context: Context) -> CheckResult:
    content = as_object(context.update.get("content"))
    if content.get("text") == "" and content.get("type") == "text":
        return context.problem(f"the text of {context.variant} is empty", at="content.text")
    return OK
