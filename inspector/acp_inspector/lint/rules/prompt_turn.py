"""A turn of version 1: a prompt, the agent's updates, and the response that ends it.

Source: ACP version 1, "Prompt Turn".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import DELIVERY_TIMEOUT_S, OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.state import SeenSession, SeenToolCall, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OUTPUT

rule = LintSubject("prompt-turn", page="prompt-turn.mdx")

UNFINISHED: Final = frozenset({None, "pending", "in_progress"})


class _UserEchoes(dict[str, int]):
    """For each session, the prompt in whose turn the user's text was sent back; 0: none.

    A stream of chunks is reported once.
    """


@rule.warning(134, "implied", "client", on.request("session/prompt"), version=1)
@fix("Wait for the response before the next prompt.")
def concurrent_prompts(context: Context) -> CheckResult:
    """At most one `session/prompt` per session is in flight; the next one follows the previous
    response.
    """
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


@rule.error(135, "schema", "client", on.request("session/prompt"), case="prompt.blocks")
@fix("Send the prompt as an array of content blocks.")
@checked_by(schema, at="prompt", kinds=("missing", "type", "null"))
def prompt_not_list() -> None:
    """`prompt` is an array of content blocks (not a string, not named `content`)."""


@rule.warning(136, "heuristic", "client", on.request("session/prompt"), version=1)
@details(source="prompt-turn.mdx", since="2026-11")
@fix("Send a prompt that says something.")
def blank_prompt(context: Context) -> CheckResult:
    """`prompt` is not empty and contains at least one non-blank block (v2: empty-prompt)."""
    prompt: Json = context.params.get("prompt")
    if not isinstance(prompt, list):
        return None
    for block in map(as_object, as_list(prompt)):
        text = block.get("text")
        if block.get("type") != "text" or (isinstance(text, str) and text.strip()):
            return OK
    what = "has no text but white space" if prompt else "is empty"
    return context.problem(f"the prompt {what}", at="prompt")


@rule.error(
    144, "schema", "agent", on.result("session/prompt"), version=1, source="v1/prompt-turn.mdx"
)
@fix("End the turn with one of the stop reasons.")
@checked_by(schema, at=("", "stopReason"), kinds=("missing", "type", "null", "word"))
def invalid_stop_reason() -> None:
    """The prompt result has a `stopReason` from the closed enum (`end_turn`, `max_tokens`,
    `max_turn_requests`, `refusal`, `cancelled`).
    """


@rule.warning(149, "implied", "agent", on.update(*OUTPUT), version=1)
@fix("Report work while a prompt has no response yet.")
def update_outside_turn(context: Context) -> CheckResult:
    """Turn-type updates (`agent_message_chunk`, `agent_thought_chunk`, `tool_call`,
    `tool_call_update`, `plan`) do not arrive while no prompt or load is in flight.
    """
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


@rule.warning(150, "implied", "agent", on.result("session/prompt"), version=1)
@fix("Report how each tool call ended first.")
def unfinished_tool_call(context: Context) -> CheckResult:
    """At `end_turn` no tool call of the turn is still `pending` or `in_progress`."""
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


@rule.warning(152, "implied", "agent", on.response("session/prompt"), version=1)
@fix("Wait for your own requests before the response.")
def request_outlives_turn(context: Context) -> CheckResult:
    """No pending agent request (permission, terminal wait, fs) of the session is left open when the
    prompt response is sent.

    Another rule reports requests left open by a cancelled turn.
    """
    session, ask = context.session, context.request
    if session is None or ask is None or session.cancel is not None:
        return None
    for each in context.state.waiting("agent", session=session.id):
        if each.seq > ask.seq and each.cancelled is None:
            return context.problem(f"the turn ends, but {each.method} is still pending", each)
    return OK


@rule.info(154, "heuristic", "agent", on.update("user_message_chunk"), version=1)
@fix("Send the user's words in replays only.")
def user_message_echo(context: Context) -> CheckResult:
    """`user_message_chunk` outside a load replay (echo) may be rendered twice."""
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


@rule.warning(155, "schema", "agent", on.result("session/prompt"), version=1)
@fix("Send it in agent_message_chunk updates.")
@checked_by(schema, at="content|message|messages|text|output|response", kinds="member")
def content_in_prompt_result() -> None:
    """The prompt result has no extra content (`content`, `message`); output belongs in updates."""


@rule.warning(156, "must", "client", on.request("session/prompt"), source="extensibility.mdx")
@fix("Leave out the mode; use config options.")
@checked_by(
    schema,
    at="model|stream|temperature|maxTokens|max_tokens|topP|top_p|messageId|messages|system|tools",
    kinds="member",
)
def foreign_prompt_field() -> None:
    """Prompt params carry no foreign fields (`model`, `stream`, `temperature`, `maxTokens`,
    `messageId`).
    """
