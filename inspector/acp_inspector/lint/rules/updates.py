"""Session updates: which there are, and that each is what it says it is.

Source: ACP, "Prompt Turn", "Extensibility", version 2's migration guide, and the schemas.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, members, quoted
from acp_inspector.lint.registry import calls, check, updates
from acp_inspector.lint.rules.schemas import Said, said
from acp_protocol.jsonrpc import Json

COMMON: Final = frozenset(
    {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call_update",
        "available_commands_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
    }
)
REMOVED: Final = ("tool_call", "plan", "current_mode_update")
"""Variants that version 2 does not have any more."""
ADDED: Final = (
    "state_update",
    "user_message",
    "agent_message",
    "agent_thought",
    "tool_call_content_chunk",
    "terminal_update",
    "terminal_output_chunk",
)
"""Variants that version 1 does not have yet."""
UNSTABLE: Final = {
    1: frozenset(
        {"plan_update", "plan_removed", "subagent_update", "session_message"}
        | {"session_message_chunk"}
    ),
    2: frozenset({"plan_removed", "subagent_update", "session_message", "session_message_chunk"}),
}
KNOWN: Final = {
    1: COMMON | frozenset(REMOVED) | UNSTABLE[1],
    2: COMMON | frozenset(ADDED) | {"plan_update"} | UNSTABLE[2],
}
CHUNKS: Final = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
WHOLE: Final = ("user_message", "agent_message", "agent_thought")
TAGS: Final = ("type", "kind", "event", "updateType")
"""What other protocols tell variants apart by."""
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
"""A member by which what belongs to a variant is known."""
COMPLAINTS: Final = 5
"""Places in one update that are told of."""


@check(
    "ACP-L175",
    calls("session/update"),
    fix='Send "update": {"sessionUpdate": …} with what belongs to it.',
)
def updates_are_tagged(moment: Moment) -> Found:
    """Tell of updates that do not say what they are."""
    if moment.variant is not None:
        return FINE
    update: Json = moment.params.get("update")
    if not isinstance(update, dict):
        what = "no object" if "update" in moment.params else "missing"
        return moment.problem(f"update is {what}", path="params.update")
    what = "no string" if "sessionUpdate" in moment.update else "missing"
    return moment.problem(f"sessionUpdate is {what}", path="params.update.sessionUpdate")


@check(
    "ACP-L176",
    calls("session/update"),
    fix="Name the variant by sessionUpdate, with its members beside it.",
)
def updates_are_flat(moment: Moment) -> Found:
    """Tell of updates that are told apart by another member, or wrapped once more."""
    update, variant = moment.update, moment.variant
    if variant is None:
        for name in TAGS:
            if isinstance(update.get(name), str):
                return moment.problem(
                    f"the update is told apart by {name}, not by sessionUpdate",
                    path=f"params.update.{name}",
                )
        return FINE
    content: Json = update.get("content")
    if not isinstance(content, dict):
        return FINE
    inner = members(content)
    name = PAYLOAD.get(variant)
    if name is not None:
        is_wrapped = name in inner and name not in update
    else:
        is_wrapped = "type" not in inner and isinstance(inner.get("content"), dict)
    if is_wrapped:
        return moment.problem(
            f"what belongs to {variant} is wrapped in content", path="params.update.content"
        )
    return FINE


@check("ACP-L177", updates(), fix="Send only variants that version 1 has.")
def variants_are_of_version_1(moment: Moment) -> Found:
    """Tell of variants that no version 1 has; an unstable one is info where it is not allowed."""
    variant = moment.variant
    if variant is None or variant in ADDED:
        return None
    return _known(moment, variant, 1)


def _known(moment: Moment, variant: str, version: int) -> Found:
    if variant not in KNOWN[version]:
        return moment.problem(
            f"{quoted(variant)} is no session update of version {version}",
            path="params.update.sessionUpdate",
        )
    if variant in UNSTABLE[version] and not moment.state.unstable:
        return moment.problem(
            f"{variant} is unstable", path="params.update.sessionUpdate", severity="info"
        )
    return FINE


@check(
    "ACP-L178", updates(*REMOVED), exercised_by=updates(), fix="Send what version 2 has instead."
)
def removed_variants_are_not_sent(moment: Moment) -> Found:
    """Tell of variants that version 2 took out."""
    return moment.problem(
        f"{moment.variant} is version 1's",
        moment.state.initialize,
        path="params.update.sessionUpdate",
    )


@check("ACP-L179", updates(*ADDED), exercised_by=updates(), fix="Send what version 1 has instead.")
def added_variants_are_not_sent(moment: Moment) -> Found:
    """Tell of variants that came with version 2."""
    return moment.problem(
        f"{moment.variant} is version 2's",
        moment.state.initialize,
        path="params.update.sessionUpdate",
    )


@check("ACP-L180", updates(), fix="Begin the names of variants of your own with “_”.")
def variants_of_ones_own_have_an_underscore(moment: Moment) -> Found:
    """Tell of variants in the name space of the protocol; unstable ones are info."""
    variant = moment.variant
    if variant is None or variant in REMOVED:
        return None
    return FINE if variant.startswith("_") else _known(moment, variant, 2)


@check(
    "ACP-L181",
    updates(),
    fix="Send what the schema asks for; see the variant's page.",
)
def known_variants_fit_their_schema(moment: Moment) -> Found:
    """Tell of updates of a known variant that readers must not take for an unknown one."""
    version = moment.version
    if version is None or moment.variant not in KNOWN[version]:
        return None
    what = said(moment)
    if not isinstance(what, Said):
        return FINE
    found = [
        Problem(f"{moment.variant}: {each}", (moment.n,), path=each.path)
        for each in what.complaints()
        if not each.lenient and each.path.startswith("params.update")
    ]
    return tuple(found[:COMPLAINTS])


@check("ACP-L183", updates(*CHUNKS), fix="Send each block in a chunk of its own.")
def chunks_have_one_block(moment: Moment) -> Found:
    """Tell of chunks whose content is a list."""
    if isinstance(moment.update.get("content"), list):
        return moment.problem(
            f"the content of {moment.variant} is an array", path="params.update.content"
        )
    return FINE


@check("ACP-L184", updates(*WHOLE), fix="Send all blocks of the message in an array.")
def whole_messages_have_a_list(moment: Moment) -> Found:
    """Tell of whole messages whose content is a single block, or a string."""
    content: Json = moment.update.get("content")
    if content is None or isinstance(content, list):
        return FINE
    what = "one block" if isinstance(content, dict) else quoted(content)
    return moment.problem(
        f"the content of {moment.variant} is {what}, no array", path="params.update.content"
    )


@check("ACP-L190", updates(*CHUNKS), fix="Send a chunk only when there is text.")
def chunks_are_not_empty(moment: Moment) -> Found:
    """Tell of chunks of text without any."""
    content = members(moment.update.get("content"))
    if content.get("text") == "" and content.get("type") == "text":
        return moment.problem(
            f"the text of {moment.variant} is empty", path="params.update.content.text"
        )
    return FINE
