"""Session states of version 2, and whether they match the session's updates.

A state is a snapshot: repeating it is not an error.

Source: ACP version 2, "Prompt Lifecycle"; schema, StateUpdate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.journal import JournalEvent, StderrChunk
from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix
from acp_inspector.lint.rules.v2_turn_state import foreground, foregrounds_of
from acp_inspector.lint.state import LintState
from acp_protocol.json_values import as_object
from acp_protocol.schema.vocabulary import AGENT_CHUNKS
from acp_protocol.schema.words import SESSION_STATES

rule = LintSubject("prompt-lifecycle", page="prompt-lifecycle.mdx", version=2)
version_2 = LintSubject("version-2", version=2)

STANDARD: Final = frozenset(SESSION_STATES[2])
STATES_WITH_FIXED_FIELDS: Final = frozenset({"running", "requires_action", "unknown"})
"""States whose fields the schema defines; custom states may have any."""
ONLY_IDLE: Final = ("stopReason", "error", "usage")
MAX_REPEATED_STATES: Final = 4
"""Consecutive repetitions of one state that are reported."""
RUNNING_TIMEOUT_S: Final = 10.0
"""Seconds in which an agent must report that it runs again after it got a response."""


@dataclass(slots=True)
class _Ends:
    """The side that closed the connection first."""

    client_closed: bool = False


@rule.error(161, "must", "agent", on.update("state_update"), source="schema", since="2026-11")
@fix("Report that the session runs before its output.")
def output_before_running(context: Context) -> CheckResult:
    """When foreground work starts or resumes, a `state_update running` (or `requires_action` if it
    starts blocked) precedes its output.

    Text that may come from background work is not reported.
    """
    session, state = context.session, context.update.get("state")
    if session is None or session.is_replaying:
        return None
    own = foreground(context)
    if own.is_busy:
        return None
    is_start = state != "idle"
    if own.early is not None and (is_start or context.update.get("stopReason") is not None):
        how = "before" if is_start else "without"
        return context.problem(
            f"the agent answers a prompt {how} a state that says the session runs",
            own.inserted,
            own.early,
        )
    return OK if is_start else None


@check("output-before-running", on.END)
def work_was_reported_at_all(ending: EndContext) -> CheckResult:
    found: list[Problem] = []
    is_any = False
    for id_, own in foregrounds_of(ending.state).items():
        is_any = is_any or own.inserted is not None
        if own.began is None and own.early is not None and own.inserted is not None:
            is_late = ending.point.time - own.early.time > RUNNING_TIMEOUT_S
            if ending.is_over or is_late:
                text = f"session {quoted(id_)} has output, but never reported that it runs"
                found += ending.problem(text, own.inserted, own.early)
    return tuple(found) if is_any else None


@rule.error(162, "must", "agent", on.update("state_update"))
@fix("Report that the session is idle when work is done.")
def work_not_ended(context: Context) -> CheckResult:
    """Foreground work that was `running` ends with a `state_update idle`."""
    if context.session is None or not foreground(context).is_busy:
        return None
    return OK if context.update.get("state") == "idle" else None


@check("work-not-ended", on.EVENTS)
def agents_do_not_end_at_work(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """Flag agents that exit cleanly by themselves while a session runs.

    Work that was dropped otherwise is not visible: it may continue silently.
    """
    if not isinstance(entry, JournalEvent) or state.version != 2:
        return None
    ends = state.of(_Ends)
    if entry.name == "eof" and entry.data.get("from") == "client":
        ends.client_closed = True
    if entry.name != "exit" or ends.client_closed or entry.data.get("code") != 0:
        return None
    return tuple(
        Problem(
            f"the agent ended while session {quoted(session.id)} was {session.state}",
            (session.state_at.seq,),
        )
        for session in state.sessions.values()
        if session.state not in {None, "idle"} and session.state_at is not None and session.is_open
    )


@rule.warning(163, "should", "agent", on.update("state_update"), source="schema", since="2026-11")
@fix("Send a stopReason that says why the work ended.")
def idle_without_stop_reason(context: Context) -> CheckResult:
    """An idle update that ends foreground work carries `stopReason` (was MUST in Aug; MUST remains
    for `cancelled`, idle-without-cancelled).
    """
    if context.session is None or context.update.get("state") != "idle":
        return None
    own = foreground(context)
    if not own.is_busy:
        return None
    if context.update.get("stopReason") is None:
        return context.problem("the work ends without a stopReason", own.began, at="stopReason")
    return OK


@rule.warning(164, "schema", "agent", on.update("state_update"), since="2026-11")
@fix("Report reason, error and usage when idle, only.")
def stop_reason_outside_idle(context: Context) -> CheckResult:
    """`stopReason`, `error` (and `usage`) appear only on `idle`."""
    state = context.update.get("state")
    if not isinstance(state, str) or state not in STATES_WITH_FIXED_FIELDS:
        return None
    for name in ONLY_IDLE:
        if context.update.get(name) is not None:
            return context.problem(f"a state of {state} has {name}", at=name)
    return OK


@rule.error(165, "must", "agent", on.update("state_update"))
@fix("End cancelled work with the reason cancelled.")
def idle_without_cancelled(context: Context) -> CheckResult:
    """After `session/cancel` while running, the next idle has `stopReason:"cancelled"`."""
    session = context.session
    if session is None or context.update.get("state") != "idle" or session.cancel is None:
        return None
    own = foreground(context)
    if not own.is_busy or own.began is None or own.began.seq > session.cancel.seq:
        return None
    if not context.ends_after(session.cancel):
        return None
    reason = context.update.get("stopReason")
    if reason == "cancelled":
        return OK
    return context.problem(
        f"the work was cancelled, but ends with {quoted(reason)}",
        own.began,
        session.cancel,
        at="stopReason",
    )


@check("cancel-seems-ignored", on.update("state_update"))
def work_ends_as_cancelled_though_nothing_proves_it(context: Context) -> CheckResult:
    """Flag work that ends as usual a while after a cancellation that the agent may have missed."""
    session = context.session
    if session is None or context.update.get("state") != "idle" or session.cancel is None:
        return None
    own, cancel = foreground(context), session.cancel
    if not own.is_busy or own.began is None or own.began.seq > cancel.seq:
        return None
    if context.has_crossed(cancel):
        return None
    reason = context.update.get("stopReason")
    if reason == "cancelled" or context.ends_after(cancel):
        return OK
    return context.problem(
        f"the work ends with {quoted(reason)} after it was cancelled",
        own.began,
        cancel,
        at="stopReason",
    )


@rule.error(166, "must", "agent", on.update(*AGENT_CHUNKS, "tool_call_update", "state_update"))
@fix("Send remaining updates of cancelled work before you report its end.")
def update_after_cancelled_work(context: Context) -> CheckResult:
    """Updates of the cancelled work precede that idle update.

    Tool calls count only if the agent lists background work and they are not in that list.
    """
    session = context.session
    if session is None:
        return None
    if context.variant == "state_update":
        is_end = context.update.get("stopReason") == "cancelled"
        return OK if is_end and foreground(context).is_busy else None
    if session.state != "idle" or session.is_replaying:
        return None
    own = foreground(context)
    name = "toolCallId" if context.variant == "tool_call_update" else "messageId"
    id_ = context.update.get(name)
    if isinstance(id_, str) and id_ in own.after_cancel:
        return context.problem(
            f"{context.variant} {quoted(id_)} follows the end of its cancelled work",
            own.began,
            own.ended,
        )
    return OK if own.after_cancel else None


@rule.info(167, "should", "agent", on.update("state_update", *AGENT_CHUNKS))
@details(source="schema", since="2026-11")
@fix("Report requires_action while the work waits for the user, then running.")
def misused_requires_action(context: Context) -> CheckResult:
    """`requires_action` is reported while the *whole* foreground workflow waits for the user (not
    for each pending request, never for background requests); `running` or `idle` follows
    (requires-action-without-end).
    """
    session = context.session
    if session is None or session.is_replaying:
        return None
    if context.variant == "state_update":
        return OK if context.update.get("state") == "requires_action" else None
    if session.state != "requires_action" or session.state_at is None:
        return None
    if foreground(context).spoke_waiting == session.state_at.seq:
        return OK
    return context.problem(
        "the agent sends text while its state says that it waits for the user", session.state_at
    )


@rule.info(170, "heuristic", "agent", on.update("state_update"), since="2026-11")
@fix("Report a state when it changes.")
def repeated_snapshot(context: Context) -> CheckResult:
    """Repeated equal snapshots are legal and idempotent; report only bursts that carry no new
    information.
    """
    if context.session is None:
        return None
    own = foreground(context)
    before = context.previous
    is_next = (
        before is not None and own.reported_at is not None and before.seq == own.reported_at.seq
    )
    if own.repeats == MAX_REPEATED_STATES - 1 and is_next and own.reported == context.update:
        return context.problem(
            f"the same state is reported {MAX_REPEATED_STATES + 1} times in a row",
            context.session.state_at,
        )
    return OK


@rule.info(172, "implied", "agent", on.update("agent_message", "agent_message_chunk"))
@fix("Report that the session runs before it answers.")
def output_while_idle(context: Context) -> CheckResult:
    """Output while `idle` is background activity; report if it looks like the response to the last
    prompt.
    """
    session = context.session
    if session is None or session.is_replaying or session.state not in {None, "idle"}:
        return None
    own = foreground(context)
    id_ = context.update.get("messageId")
    if own.inserted is None or own.early is not None or id_ in own.word_ids:
        return OK
    return context.problem(
        "the agent seems to respond to a prompt while its state is idle", own.inserted
    )


@version_2.error(444, "must", "agent", on.END)
@fix("Report that the session runs, or is idle, once the user acted.")
def requires_action_without_end(ending: EndContext) -> CheckResult:
    """`requires_action` is eventually followed by `running` or `idle`."""
    found: list[Problem] = []
    has_waited = False
    for id_, own in foregrounds_of(ending.state).items():
        has_waited = has_waited or own.waited
        session = ending.state.sessions.get(id_)
        if session is None or session.state != "requires_action" or session.state_at is None:
            continue
        answered = own.answered
        if answered is None or answered.seq < session.state_at.seq or not session.is_open:
            continue
        is_quiet = not any(ending.state.waiting("agent", session=id_))
        if is_quiet and ending.point.time - answered.time > RUNNING_TIMEOUT_S:
            text = f"session {quoted(id_)} still requires action after the user acted"
            found.append(Problem(text, (session.state_at.seq, answered.seq)))
    return tuple(found) if has_waited else None


@version_2.warning(445, "implied", "agent", on.update("state_update"))
@fix("End work that you stop yourself with error.")
def cancelled_without_cause(context: Context) -> CheckResult:
    """`stopReason:"cancelled"` follows a user or client action (cancel, close, chosen stop option);
    agent-side aborts use `error`.
    """
    if context.session is None or context.update.get("stopReason") != "cancelled":
        return None
    own = foreground(context)
    if not own.is_busy or context.update.get("state") != "idle":
        return None
    since = 0 if own.ended is None else own.ended.seq
    if own.stopped is not None and own.stopped.seq > since:
        return OK
    return context.problem(
        "the work ends as cancelled, but the client did nothing to stop it",
        own.began,
        at="stopReason",
    )


@version_2.info(446, "should", "agent", on.update("state_update"))
@fix("Report the error by its code and message.")
def error_without_details(context: Context) -> CheckResult:
    """`stopReason:"error"` comes with an `error` object (integer `code`, string `message`)."""
    if context.update.get("stopReason") != "error":
        return None
    error = as_object(context.update.get("error"))
    if type(error.get("code")) is int and isinstance(error.get("message"), str):
        return OK
    return context.problem("the work failed, but the update has no error", at="error")


@version_2.warning(447, "must", "agent", on.update("state_update"))
@fix("Report the standard states, too.")
def custom_state_without_standard(context: Context) -> CheckResult:
    """Custom states do not replace the standard ones unless the Client opted in.

    A client that sends `_meta` with its capabilities may have requested that.
    """
    if context.session is None or context.update.get("state") != "idle":
        return None
    own = foreground(context)
    if not own.is_busy or all(state in STANDARD for state in own.states):
        return None
    if own.states & STANDARD or "_meta" in context.state.capabilities["client"]:
        return OK
    return context.problem(
        f"the work was reported by {quoted(min(own.states))} only, not by a standard state",
        own.began,
    )


@rule.error(158, "schema", "agent", on.result("session/prompt"))
@details(source="v2/prompt-lifecycle.mdx", since="2026-11")
@fix("Name the messageId; tell the stop when idle.")
@checked_by(schema, at="stopReason", kinds="member")
def stop_reason_in_result() -> None:
    """The `session/prompt` result has no `stopReason`; it acknowledges insertion and names the
    `messageId`.
    """


@rule.warning(169, "must", "agent", on.update("state_update"))
@fix("Begin custom names with “_”.")
@checked_by(schema, at="state|stopReason", kinds="reserved")
def reserved_session_state() -> None:
    """Unknown `state` and `stopReason` values start with `_`."""
