"""The replay of history when a session is loaded or resumed.

Source: ACP, "Session Setup".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from acp_protocol.schema.turn_updates import is_echo
from acp_protocol.schema.vocabulary import (
    CALL_UPDATES,
    MESSAGE_CHUNKS,
    RESTORING,
    USER_MESSAGES,
    WHOLE_MESSAGES,
)

rule = LintSubject("sessions", page="session-setup.mdx")

MESSAGES: Final = MESSAGE_CHUNKS | WHOLE_MESSAGES
"""Updates with messages of a conversation."""
ENTITIES: Final = (
    *CALL_UPDATES,
    "terminal_update",
    "terminal_output_chunk",
)
"""Updates of tool calls, plans and the like."""
GENERAL: Final = frozenset({INTERNAL_ERROR, METHOD_NOT_FOUND, INVALID_REQUEST})
"""Unspecific error codes."""


@dataclass(slots=True)
class _Restore:
    """A pending load or resume."""

    ask: SentRequest
    is_replay: bool
    """It requested history."""
    is_quiet: bool
    """The session was idle at the request, and no prompt was sent since."""
    is_beside: bool = False
    """Another request for history was pending at the same time."""
    message: Point | None = None
    """The first message update since the request."""
    of_user: Point | None = None
    entity: Point | None = None
    """The first update of a tool call, plan or the like since the request."""
    completed: Point | None = None
    """The update that marks the end of the history, before the response."""
    answered: Point | None = None


@dataclass(slots=True)
class _Histories:
    """The reported history of sessions, by id."""

    pending: dict[str, list[_Restore]] = field(default_factory=dict[str, list[_Restore]])
    done: dict[str, _Restore] = field(default_factory=dict[str, _Restore])
    """The last answered load or resume, if no user message came since."""
    first_seen: dict[str, Point] = field(default_factory=dict[str, Point])
    """The newest message update of the running work."""
    spoken: dict[str, Point] = field(default_factory=dict[str, Point])
    """The same for finished work, which is part of the history."""


@track(on.request(*RESTORING))
def _track_restore(context: Context) -> None:
    session, ask = context.session, context.state.newest
    if session is None or context.key is None or ask is None:
        return
    is_replay = context.method == "session/load" or context.params.get("replayFrom") is not None
    others = context.state.of(_Histories).pending.setdefault(session.id, [])
    for other in others:
        other.is_beside = other.is_beside or is_replay
    is_beside = any(other.is_replay for other in others)
    others.append(_Restore(ask, is_replay, not session.is_busy, is_beside))


@track(on.request("session/prompt"))
def _keep_prompt(context: Context) -> None:
    for restore in context.state.of(_Histories).pending.get(context.session_id or "", ()):
        restore.is_quiet = False


def _restore_of_response(context: Context) -> _Restore | None:
    """Return the load or resume that a response answers."""
    pending = context.state.of(_Histories).pending.get(context.session_id or "", ())
    return next((each for each in pending if each.ask is context.request), None)


@track(on.response(*RESTORING))
def _end_restore(context: Context) -> None:
    histories, id_ = context.state.of(_Histories), context.session_id
    restore = _restore_of_response(context)
    if id_ is not None and restore is not None:
        histories.pending[id_].remove(restore)
        if not histories.pending[id_]:
            del histories.pending[id_]
        histories.done.pop(id_, None)
        if context.kind == "result":
            restore.answered = context.point
            histories.done[id_] = restore
            if restore.message is not None:
                histories.spoken.setdefault(id_, restore.message)


@track(on.update("replay_complete"))
def _complete(context: Context) -> None:
    for restore in context.state.of(_Histories).pending.get(context.session_id or "", ()):
        if restore.is_replay:
            restore.completed = restore.completed or context.point


@track(on.result("session/prompt"), on.update("state_update"))
def _end_work(context: Context) -> None:
    histories, session = context.state.of(_Histories), context.session
    fields = context.result_object or context.update
    if session is None or fields.get("stopReason") != "end_turn" or session.id in histories.spoken:
        return
    first_seen = histories.first_seen.get(session.id)
    if first_seen is not None and not _is_command(session.last_prompt):
        histories.spoken[session.id] = first_seen


def _is_command(prompt: SentRequest | None) -> bool:
    # An agent may not keep the output of a slash command.
    blocks = as_list(prompt.params.get("prompt")) if prompt is not None else []
    text = as_object(blocks[0]).get("text") if blocks else None
    return isinstance(text, str) and text.startswith("/")


@track(on.update(*MESSAGES, *ENTITIES))
def _keep_history(context: Context) -> None:
    id_ = context.session_id
    if context.session is None or id_ is None:
        return
    histories, is_message = context.state.of(_Histories), context.variant in MESSAGES
    if is_message and id_ not in histories.spoken and context.session.is_busy:
        histories.first_seen[id_] = context.point
    for restore in histories.pending.get(id_, ()):
        if is_message:
            restore.message = restore.message or context.point
        else:
            restore.entity = restore.entity or context.point
        if context.variant in USER_MESSAGES and not _may_be_echo(context):
            restore.of_user = restore.of_user or context.point
    if id_ not in histories.pending and context.variant in USER_MESSAGES:
        histories.done.pop(id_, None)


def _may_be_echo(context: Context) -> bool:
    session = context.session
    if session is None or session.last_prompt is None:
        return False
    answer = as_object(session.last_prompt.result)
    return bool(session.prompts) or answer.get("messageId", "") == context.update.get("messageId")


@rule.error(
    110,
    "must",
    "agent",
    on.update(*MESSAGE_CHUNKS),
    on.update("tool_call", "tool_call_update", "plan"),
    version=1,
)
@details(exercised_by=on.request("session/resume"))
@fix("Replay history only for session/load.")
def resume_replays_history(context: Context) -> CheckResult:
    """`session/resume` replays no history before its response (message chunks, tool calls,
    plans).
    """
    pending = context.state.of(_Histories).pending.get(context.session_id or "", ())
    resumes = [each for each in pending if each.ask.method == "session/resume" and each.is_quiet]
    if not resumes:
        return None
    restore = resumes[0]
    if restore.is_beside or restore.message or restore.entity:
        return OK
    return context.problem(f"{context.variant} came before the resume was answered", restore.ask)


@rule.error(111, "must", "agent", on.result("session/resume"), version=2)
@fix("Replay history only if replayFrom asks for it.")
def unrequested_replay(context: Context) -> CheckResult:
    """`session/resume` without `replayFrom` replays no history before its response.

    If the session is running, updates may come from that work; then only user messages count.
    Background work must be reported before it is listed.
    """
    restore = _restore_of_response(context)
    if restore is None or restore.is_replay or context.session is None:
        return None
    if restore.is_beside:
        return OK
    state, state_at = context.session.state, context.session.state_at
    is_idle = state == "idle" or state_at is None or state_at.seq < restore.ask.seq
    first = restore.of_user
    if is_idle and restore.is_quiet:
        first = restore.message
    if first is None:
        return OK
    return context.problem(
        "history was reported before the response though replayFrom did not ask for it",
        restore.ask,
        first,
    )


@rule.error(112, "must", "agent", on.result(*RESTORING), since="2026-11", unlike=("continuum",))
@fix("Send the whole conversation before the response.")
def missing_replay(context: Context) -> CheckResult:
    """`session/load` / `replayFrom:start`: if the session had messages (seen earlier in the
    recording), they are replayed before the response. v2 obliges only *retained* history: report as
    info there.

    A recording does not show how much history must be replayed; in version 2 the agent decides what
    it retains.
    """
    histories, session = context.state.of(_Histories), context.session
    restore = _restore_of_response(context)
    if restore is None or not restore.is_replay or session is None:
        return None
    spoken = histories.spoken.get(session.id)
    if restore.message or spoken is None or _was_refused(session.last_prompt):
        return OK
    return context.problem(
        "the session had messages, and none was reported before the response",
        spoken,
        restore.ask,
        severity="info" if context.version == 2 else None,
    )


def _was_refused(prompt: SentRequest | None) -> bool:
    # A refused turn is dropped from the conversation, including the prompt.
    return prompt is not None and as_object(prompt.result).get("stopReason") == "refusal"


@rule.warning(113, "must", "agent", on.update(*USER_MESSAGES))
@fix("Send history before the session is answered for.")
def late_replay(context: Context) -> CheckResult:
    """No replayed `user_message*` or other history of a load/resume arrives after its response:
    neither while no prompt is active nor during a prompt that it does not repeat.

    Other late history cannot be distinguished from work that the agent began by itself. During a
    prompt of version 1, a message that does not repeat that prompt belongs to an earlier turn.
    """
    session, histories = context.session, context.state.of(_Histories)
    if session is None:
        return None
    pending = histories.pending.get(session.id, ())
    ended = next((each.completed for each in pending if each.completed), None)
    if ended is not None and len(pending) == 1 and pending[0].is_quiet and not session.is_busy:
        return context.problem(f"{context.variant} came after the end of the replay", ended)
    done = histories.done.get(session.id)
    # Another load may replay a session that was restored before.
    if done is None or session.id in histories.pending:
        return OK
    if session.is_busy and done.is_quiet and _is_of_earlier_turn(context, done):
        problem = f"{context.variant} of an earlier turn came after the session was taken up"
        return context.problem(problem, done.answered)
    if session.is_busy:
        return OK
    # A prompt sent by then may have waited for the history.
    if not done.is_quiet or (session.last_prompt and session.last_prompt.seq > done.ask.seq):
        return OK
    return context.problem(f"{context.variant} came after the session was taken up", done.answered)


def _is_of_earlier_turn(context: Context, done: _Restore) -> bool:
    """Return whether a user message is not the one of the prompt that was sent since."""
    prompt = context.session.last_prompt if context.session is not None else None
    if context.version != 1 or prompt is None or prompt.seq < done.ask.seq:
        return False
    return not is_echo(prompt.params.get("prompt"), context.update.get("content"))


@rule.error(
    114, "must", "agent", on.response("session/resume"), version=2, source="schema", since="2026-11"
)
@fix("Respond with -32602 to an unknown replayFrom.")
def replay_cursor_not_refused(context: Context) -> CheckResult:
    """An unsupported or malformed `replayFrom` is answered -32602, never replaced by another cursor
    or by no replay.

    A general error may have another reason: it is a warning.
    """
    cursor = context.request.params.get("replayFrom") if context.request is not None else None
    if cursor is None:
        return None
    kind = as_object(cursor).get("type")
    if kind == "start" or (isinstance(kind, str) and kind.startswith("_")):
        return OK
    if context.kind == "failure":
        if context.code not in GENERAL:
            return OK
        return context.problem(
            f"the unknown replayFrom {quoted(cursor)} got the error {context.code}",
            context.request,
            severity="warning",
        )
    return context.problem(
        f"the resume succeeded although the replayFrom {quoted(cursor)} is unknown", context.request
    )


@rule.error(115, "schema", "client", on.request("session/resume"), version=2, since="2026-11")
@fix('Send "replayFrom": {"type": "start"}.')
@checked_by(schema, at=("replayFrom", "replayFrom.type"), within="replayFrom")
def replay_cursor_not_object() -> None:
    """`replayFrom` is an object with `type`, not a string (strict field now: -32602)."""
