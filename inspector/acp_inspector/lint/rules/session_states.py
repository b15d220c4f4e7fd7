"""Session states of version 2, and whether they match the session's updates.

A state is a snapshot: repeating it is not an error.

Source: ACP version 2, "Prompt Lifecycle"; schema, StateUpdate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.journal import JournalEvent, StderrChunk
from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.registry import check, check_at_end, check_event
from acp_inspector.lint.rules.v2_turn_state import foreground, foregrounds_of
from acp_inspector.lint.state import LintState
from acp_protocol.json_values import as_object
from acp_protocol.schema.vocabulary import AGENT_CHUNKS
from acp_protocol.schema.words import SESSION_STATES, STOP_REASONS

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


@check("ACP-L161", on.update("state_update"))
def work_is_reported_before_its_output(context: Context) -> CheckResult:
    """Flag text in response to a prompt that comes before the session runs.

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


@check_at_end("ACP-L161")
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


@check("ACP-L162", on.update("state_update"))
def work_ends_with_idle(context: Context) -> CheckResult:
    if context.session is None or not foreground(context).is_busy:
        return None
    return OK if context.update.get("state") == "idle" else None


@check_event("ACP-L162")
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


@check("ACP-L163", on.update("state_update"))
def the_end_has_a_reason(context: Context) -> CheckResult:
    if context.session is None or context.update.get("state") != "idle":
        return None
    own = foreground(context)
    if not own.is_busy:
        return None
    if context.update.get("stopReason") is None:
        return context.problem("the work ends without a stopReason", own.began, at="stopReason")
    return OK


@check("ACP-L164", on.update("state_update"))
def only_an_end_has_a_reason(context: Context) -> CheckResult:
    state = context.update.get("state")
    if not isinstance(state, str) or state not in STATES_WITH_FIXED_FIELDS:
        return None
    for name in ONLY_IDLE:
        if context.update.get(name) is not None:
            return context.problem(f"a state of {state} has {name}", at=name)
    return OK


@check("ACP-L165", on.update("state_update"))
def cancelled_work_says_so(context: Context) -> CheckResult:
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


@check("ACP-L522", on.update("state_update"))
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


@check(
    "ACP-L166",
    on.update(*AGENT_CHUNKS, "tool_call_update", "state_update"),
)
def nothing_follows_cancelled_work(context: Context) -> CheckResult:
    """Flag text and tool calls that continue after the end of their work.

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


@check("ACP-L167", on.update("state_update", *AGENT_CHUNKS))
def who_waits_is_silent(context: Context) -> CheckResult:
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


@check("ACP-L169", on.update("state_update"))
def names_of_ones_own_are_marked(context: Context) -> CheckResult:
    kinds = (("state", STANDARD), ("stopReason", frozenset(STOP_REASONS[2])))
    for name, known in kinds:
        value = context.update.get(name)
        if isinstance(value, str) and value not in known and not value.startswith("_"):
            return context.problem(f"{name} is {quoted(value)}", at=name)
    return OK


@check("ACP-L170", on.update("state_update"))
def states_are_reported_when_they_change(context: Context) -> CheckResult:
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


@check("ACP-L172", on.update("agent_message", "agent_message_chunk"))
def who_is_idle_does_not_answer(context: Context) -> CheckResult:
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


@check_at_end("ACP-L444")
def waiting_for_the_user_ends(ending: EndContext) -> CheckResult:
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


@check("ACP-L445", on.update("state_update"))
def work_is_cancelled_by_clients(context: Context) -> CheckResult:
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


@check("ACP-L446", on.update("state_update"))
def failed_work_reports_its_error(context: Context) -> CheckResult:
    if context.update.get("stopReason") != "error":
        return None
    error = as_object(context.update.get("error"))
    if type(error.get("code")) is int and isinstance(error.get("message"), str):
        return OK
    return context.problem("the work failed, but the update has no error", at="error")


@check("ACP-L447", on.update("state_update"))
def standard_states_are_reported(context: Context) -> CheckResult:
    """Flag work that was reported only by custom states.

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
