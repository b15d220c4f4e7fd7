"""A turn of version 1: a prompt, what the agent tells meanwhile, and the answer that ends it.

Source: ACP version 1, "Prompt Turn".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import (
    FINE,
    PATIENCE,
    Found,
    Moment,
    entries,
    members,
    quoted,
)
from acp_inspector.lint.registry import answers, asks, check, learns, results, updates
from acp_inspector.lint.state import Ask, Session, ToolCall
from acp_protocol.jsonrpc import Json

STOP_REASONS: Final = frozenset(
    {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
)
OUTPUT: Final = (
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
)
"""Updates that tell of the work on a prompt."""
UNFINISHED: Final = frozenset({None, "pending", "in_progress"})
SAID_IN_RESULT: Final = ("content", "message", "messages", "text", "output", "response")
"""Members of a result that would say what updates have to say."""
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
"""Members of a prompt that come from other protocols."""


@dataclass(slots=True)
class _Strays:
    """What was told of already, so that a stream of chunks is told of once."""

    echoed: dict[str, int] = field(default_factory=dict[str, int])
    """For each session the prompt in whose turn the user's words were sent back; 0: none."""


@check("ACP-L134", asks("session/prompt"), fix="Wait for the answer before the next prompt.")
def one_prompt_at_a_time(moment: Moment) -> Found:
    """Tell of prompts to a session that still works on one."""
    session = moment.session
    if session is None:
        return None
    if session.prompts:
        return moment.problem(
            f"a prompt is sent while {len(session.prompts)} of session {quoted(session.id)} "
            "waits for its answer",
            session.prompts[-1],
        )
    return FINE


@check("ACP-L135", asks("session/prompt"), fix="Send the prompt as an array of content blocks.")
def prompts_are_arrays(moment: Moment) -> Found:
    """Tell of prompts that are text, or stand under another name."""
    if "prompt" not in moment.params:
        instead = [name for name in ("content", "text", "message") if name in moment.params]
        what = f', but "{instead[0]}"' if instead else ""
        return moment.problem(f"the prompt is missing{what}", path="params.prompt")
    prompt: Json = moment.params["prompt"]
    if not isinstance(prompt, list):
        return moment.problem(f"the prompt is no array: {quoted(prompt)}", path="params.prompt")
    return FINE


@check("ACP-L136", asks("session/prompt"), fix="Send a prompt that says something.")
def prompts_say_something(moment: Moment) -> Found:
    """Tell of prompts that are empty, or blank."""
    prompt: Json = moment.params.get("prompt")
    if not isinstance(prompt, list):
        return None
    for block in map(members, entries(prompt)):
        text = block.get("text")
        if block.get("type") != "text" or (isinstance(text, str) and text.strip()):
            return FINE
    what = "has no text but white space" if prompt else "is empty"
    return moment.problem(f"the prompt {what}", path="params.prompt")


@check("ACP-L144", results("session/prompt"), fix="End the turn with one of the stop reasons.")
def turns_end_for_a_known_reason(moment: Moment) -> Found:
    """Tell of results without a stop reason of version 1."""
    result = moment.result_object
    reason = result.get("stopReason")
    if "stopReason" not in result:
        return moment.problem("the result has no stopReason", moment.ask, path="result.stopReason")
    if not isinstance(reason, str) or reason not in STOP_REASONS:
        return moment.problem(
            f"the stop reason is {quoted(reason)}", moment.ask, path="result.stopReason"
        )
    return FINE


@check(
    "ACP-L149",
    updates(*OUTPUT),
    fix="Tell of work while a prompt waits for its answer.",
)
def work_is_told_within_turns(moment: Moment) -> Found:
    """Tell of output that belongs to no turn."""
    session = moment.session
    if session is None:
        return None
    if session.prompts or session.replay is not None:
        return FINE
    if after_cancelled_turn(moment, session) is not None:
        # A rule of its own tells that, and why it is worse.
        return FINE
    last = session.last_prompt
    return moment.problem(
        f"{moment.variant} comes while session {quoted(session.id)} has no prompt",
        None if last is None else last.answered,
    )


def after_cancelled_turn(moment: Moment, session: Session) -> Ask | None:
    """Return the cancelled prompt to whose turn an update still belongs, though it was answered.

    It does when it comes close behind the answer, or is about a tool call of that turn.
    """
    ask = session.last_prompt
    if session.prompts or session.replay is not None or ask is None or ask.answered is None:
        return None
    if members(ask.result).get("stopReason") != "cancelled":
        return None
    if moment.at - ask.answered.at > PATIENCE:
        id_ = moment.update.get("toolCallId")
        tool = session.tools.get(id_) if isinstance(id_, str) else None
        if tool is None or tool.first.n < ask.n:
            return None
    return ask


@check("ACP-L150", results("session/prompt"), fix="Report how each tool call ended first.")
def tool_calls_end_within_turns(moment: Moment) -> Found:
    """Tell of tool calls that go on after their turn."""
    session, ask = moment.session, moment.ask
    if session is None or ask is None or moment.result_object.get("stopReason") != "end_turn":
        return None
    tools = list(_tools_since(session, ask))
    if not tools:
        return None
    for tool in tools:
        if tool.ended is None and tool.status in UNFINISHED and not _is_only_asked_for(tool):
            return moment.problem(
                f"the turn ends, but tool call {quoted(tool.id)} is "
                f"{tool.status or 'pending'} still",
                tool.status_at or tool.first,
            )
    return FINE


def _tools_since(session: Session, ask: Ask) -> Iterator[ToolCall]:
    for tool in reversed(session.tools.values()):
        if tool.first.n < ask.n:
            return
        yield tool


def _is_only_asked_for(tool: ToolCall) -> bool:
    # It may never have begun: nothing but a request for permission told of it.
    return not tool.is_announced or (
        tool.status is None and tool.permission is not None and tool.first.n == tool.permission.n
    )


@check("ACP-L152", answers("session/prompt"), fix="Wait for your own requests before the answer.")
def requests_end_within_turns(moment: Moment) -> Found:
    """Tell of the agent's requests that still wait when their turn ends.

    What is left open when a turn was cancelled is told by a rule of its own.
    """
    session, ask = moment.session, moment.ask
    if session is None or ask is None or session.cancel is not None:
        return None
    for each in moment.state.waiting("agent", session=session.id):
        if each.n > ask.n and each.cancelled is None:
            return moment.problem(
                f"the turn ends, but {each.method} waits for its answer still", each
            )
    return FINE


@check("ACP-L154", updates("user_message_chunk"), fix="Send the user's words in replays only.")
def the_user_is_not_echoed(moment: Moment) -> Found:
    """Tell, once for each turn, of the user's words coming back."""
    session = moment.session
    if session is None:
        return None
    turn = 0 if session.last_prompt is None else session.last_prompt.n
    if session.is_replaying or moment.state.of(_Strays).echoed.get(session.id) == turn:
        return FINE
    return moment.problem(
        "the user's message comes back outside a replay, and may be shown twice",
        session.last_prompt,
    )


@learns(updates("user_message_chunk"))
def _keep_echo(moment: Moment) -> None:
    session = moment.session
    if session is not None and not session.is_replaying:
        turn = 0 if session.last_prompt is None else session.last_prompt.n
        moment.state.of(_Strays).echoed[session.id] = turn


@check("ACP-L155", results("session/prompt"), fix="Say it in agent_message_chunk updates.")
def results_carry_no_output(moment: Moment) -> Found:
    """Tell of answers that hold what updates are for."""
    for name in SAID_IN_RESULT:
        if name in moment.result_object:
            return moment.problem(
                f'the result of session/prompt has "{name}"', moment.ask, path=f"result.{name}"
            )
    return FINE


@check("ACP-L156", asks("session/prompt"), fix="Leave it out; set it by config options.")
def prompts_have_no_foreign_members(moment: Moment) -> Found:
    """Tell of members that other protocols have, and that no agent reads here."""
    for name in FOREIGN:
        if name in moment.params:
            return moment.problem(f'the prompt has "{name}"', path=f"params.{name}")
    return FINE
