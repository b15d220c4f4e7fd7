"""A turn of version 1: a prompt, the agent's updates, and the response that ends it.

Source: ACP version 1, "Prompt Turn".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import DELIVERY_TIMEOUT_S, OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.state import SeenSession, SeenToolCall, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OUTPUT
from acp_protocol.schema.words import STOP_REASONS

UNFINISHED: Final = frozenset({None, "pending", "in_progress"})
UPDATE_FIELDS_IN_RESULT: Final = ("content", "message", "messages", "text", "output", "response")
"""Fields of a result whose content belongs in updates."""
FOREIGN: Final = (
    "model",
    "stream",
    "temperature",
    "maxTokens",
    "max_tokens",
    "topP",
    "top_p",
    "messageId",
    "messages",
    "system",
    "tools",
)
"""Fields of a prompt that come from other protocols."""


class _UserEchoes(dict[str, int]):
    """For each session, the prompt in whose turn the user's text was sent back; 0: none.

    A stream of chunks is reported once.
    """


@check("ACP-L134", on.request("session/prompt"))
def one_prompt_at_a_time(context: Context) -> CheckResult:
    session = context.session
    if session is None:
        return None
    if session.prompts:
        return context.problem(
            f"a prompt is sent while {len(session.prompts)} of session {quoted(session.id)} "
            "has no response yet",
            session.prompts[-1],
        )
    return OK


@check("ACP-L135", on.request("session/prompt"))
def prompts_are_arrays(context: Context) -> CheckResult:
    if "prompt" not in context.params:
        instead = [name for name in ("content", "text", "message") if name in context.params]
        what = f', but "{instead[0]}"' if instead else ""
        return context.problem(f"the prompt is missing{what}", at="prompt")
    prompt: Json = context.params["prompt"]
    if not isinstance(prompt, list):
        return context.problem(f"the prompt is not an array: {quoted(prompt)}", at="prompt")
    return OK


@check("ACP-L136", on.request("session/prompt"))
def prompts_say_something(context: Context) -> CheckResult:
    prompt: Json = context.params.get("prompt")
    if not isinstance(prompt, list):
        return None
    for block in map(as_object, as_list(prompt)):
        text = block.get("text")
        if block.get("type") != "text" or (isinstance(text, str) and text.strip()):
            return OK
    what = "has no text but white space" if prompt else "is empty"
    return context.problem(f"the prompt {what}", at="prompt")


@check("ACP-L144", on.result("session/prompt"))
def turns_end_for_a_known_reason(context: Context) -> CheckResult:
    result = context.result_object
    reason = result.get("stopReason")
    if not isinstance(context.result, dict):
        return context.problem("the result is no object", context.request, path="result")
    if "stopReason" not in result:
        return context.problem("the result has no stopReason", context.request, at="stopReason")
    if not isinstance(reason, str) or reason not in STOP_REASONS[1]:
        return context.problem(
            f"the stop reason is {quoted(reason)}", context.request, at="stopReason"
        )
    return OK


@check("ACP-L149", on.update(*OUTPUT))
def work_is_reported_within_turns(context: Context) -> CheckResult:
    session = context.session
    if session is None:
        return None
    if session.prompts or session.replay is not None:
        return OK
    if after_cancelled_turn(context, session) is not None:
        # Another rule reports this with a higher severity.
        return OK
    last = session.last_prompt
    return context.problem(
        f"{context.variant} comes while session {quoted(session.id)} has no prompt",
        None if last is None else last.responded,
    )


def after_cancelled_turn(context: Context, session: SeenSession) -> SentRequest | None:
    """Return the cancelled and answered prompt to whose turn an update still belongs.

    It does if it comes soon after the response, or is about a tool call of that turn.
    """
    ask = session.last_prompt
    if session.prompts or session.replay is not None or ask is None or ask.responded is None:
        return None
    if as_object(ask.result).get("stopReason") != "cancelled":
        return None
    if context.time - ask.responded.time > DELIVERY_TIMEOUT_S:
        id_ = context.update.get("toolCallId")
        tool = session.tools.get(id_) if isinstance(id_, str) else None
        if tool is None or tool.first.seq < ask.seq:
            return None
    return ask


@check("ACP-L150", on.result("session/prompt"))
def tool_calls_end_within_turns(context: Context) -> CheckResult:
    session, ask = context.session, context.request
    if session is None or ask is None or context.result_object.get("stopReason") != "end_turn":
        return None
    tools = list(_tools_since(session, ask))
    if not tools:
        return None
    for tool in tools:
        if tool.ended is None and tool.status in UNFINISHED and not _is_only_requested(tool):
            return context.problem(
                f"the turn ends, but tool call {quoted(tool.id)} is still "
                f"{tool.status or 'pending'}",
                tool.status_at or tool.first,
            )
    return OK


def _tools_since(session: SeenSession, ask: SentRequest) -> Iterator[SeenToolCall]:
    for tool in reversed(session.tools.values()):
        if tool.first.seq < ask.seq:
            return
        yield tool


def _is_only_requested(tool: SeenToolCall) -> bool:
    # It may never have begun: only a permission request reported it.
    return not tool.is_announced or (
        tool.status is None
        and tool.permission is not None
        and tool.first.seq == tool.permission.seq
    )


@check("ACP-L152", on.response("session/prompt"))
def requests_end_within_turns(context: Context) -> CheckResult:
    """Flag requests of the agent that are pending when their turn ends.

    Another rule reports requests left open by a cancelled turn.
    """
    session, ask = context.session, context.request
    if session is None or ask is None or session.cancel is not None:
        return None
    for each in context.state.waiting("agent", session=session.id):
        if each.seq > ask.seq and each.cancelled is None:
            return context.problem(f"the turn ends, but {each.method} is still pending", each)
    return OK


@check("ACP-L154", on.update("user_message_chunk"))
def the_user_is_not_echoed(context: Context) -> CheckResult:
    session = context.session
    if session is None:
        return None
    turn = 0 if session.last_prompt is None else session.last_prompt.seq
    if session.is_replaying or context.state.of(_UserEchoes).get(session.id) == turn:
        return OK
    return context.problem(
        "the user's message is sent back outside a replay, and may be shown twice",
        session.last_prompt,
    )


@track(on.update("user_message_chunk"))
def _keep_echo(context: Context) -> None:
    session = context.session
    if session is not None and not session.is_replaying:
        turn = 0 if session.last_prompt is None else session.last_prompt.seq
        context.state.of(_UserEchoes)[session.id] = turn


@check("ACP-L155", on.result("session/prompt"))
def results_carry_no_output(context: Context) -> CheckResult:
    for name in UPDATE_FIELDS_IN_RESULT:
        if name in context.result_object:
            return context.problem(
                f'the result of session/prompt has "{name}"', context.request, at=name
            )
    return OK


@check("ACP-L156", on.request("session/prompt"))
def prompts_have_no_foreign_members(context: Context) -> CheckResult:
    for name in FOREIGN:
        if name in context.params:
            return context.problem(f'the prompt has "{name}"', at=name)
    return OK
