"""Messages must refer to existing, open sessions.

Source: ACP, "Session Setup"; the RFD about subagents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed
from acp_inspector.lint.context import (
    DELIVERY_TIMEOUT_S,
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    quoted,
)
from acp_inspector.lint.on import Triggers
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND
from acp_protocol.schema.vocabulary import CREATING, RESTORING

rule = LintSubject("sessions", page="session-setup.mdx")

SESSION_CALLS: Final = (
    "session/new",
    "session/resume",
    "session/list",
    "session/close",
    "session/delete",
    "session/fork",
    "session/prompt",
    "session/cancel",
    "session/set_config_option",
    "session/archive",
    "session/unarchive",
    "session/status",
    "session/set_title",
)
"""Session methods of version 2 that a client calls."""
USES: Final = (
    "session/prompt",
    "session/set_mode",
    "session/set_config_option",
    "tool_call/cancel",
    "terminal/cancel",
)
"""Requests of a client that need a session that is open here."""
AGENT_ASKS: Final = (
    "session/request_permission",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
    "elicitation/create",
)
"""Requests of an agent that are about a session."""
ABOUT_SESSIONS: Final = frozenset({None, "session_info_update", "state_update"})
"""Updates that keep a list of sessions up to date."""
OF_AGENT: Final[Triggers] = (*on.call("session/update"), *on.request(*AGENT_ASKS))
REMEMBERED: Final = 10_000
"""Ids that are remembered of each kind."""


@dataclass(slots=True)
class UnknownSessions:
    """Sessions that were mentioned but never requested."""

    children: set[str] = field(default_factory=set[str])
    """Subagents, which the agent announced."""
    early: dict[str, Point] = field(default_factory=dict[str, Point])
    """Ids that came while a session was being created; it may be that one."""
    reported: set[str] = field(default_factory=set[str])
    """Ids that were reported."""


@rule.error(100, "must", "agent", on.result(*CREATING))
@fix("Give every session an id of its own.")
def duplicate_session_id(context: Context) -> CheckResult:
    """`session/new` (and fork) return a `sessionId` that no other session on the connection has."""
    id_, ask = context.result_object.get("sessionId"), context.request
    if not isinstance(id_, str) or ask is None:
        return None
    session = context.state.sessions.get(id_)
    # A list may name a session before the response that creates it; a load may have failed.
    if session is None or (session.origin == "listed" and session.first.seq > ask.seq):
        return OK
    if session.is_open or session.closed or session.deleted or session.origin == "listed":
        return context.problem(
            f"the id {quoted(id_)} is that of another session", session.first, ask, at="sessionId"
        )
    return OK


@rule.error(101, "implied", "client", on.call(*USES, "session/cancel", "session/close"))
@details(case="session.known")
@fix("Create, load or resume a session before it is used.")
def unknown_session(context: Context) -> CheckResult:
    """Session-scoped messages name a `sessionId` that was created, loaded, resumed or forked on
    this connection.

    In version 2, closing a missing session is not an error.
    """
    id_, session, state = context.session_id, context.session, context.state
    if id_ is None or not state.is_ready:
        return None
    if context.method == "session/close" and context.version == 2:
        return None
    if session is not None and (session.is_open or session.closed or session.deleted):
        return OK
    if id_ in state.of(UnknownSessions).children or is_taken_up(context):
        return OK
    if session is None:
        return context.problem(
            f"{context.method} names the session {quoted(id_)}, which is not known",
            path="params.sessionId",
        )
    how = "was only listed" if session.origin == "listed" else "could not be taken up"
    return context.problem(
        f"{context.method} names the session {quoted(id_)}, which {how}",
        session.first,
        path="params.sessionId",
    )


def is_taken_up(context: Context) -> bool:
    """Return whether the session of a message is being loaded or resumed."""
    return any(
        next(context.state.waiting("client", method, context.session_id), None) is not None
        for method in RESTORING
    )


@rule.error(102, "implied", "agent", OF_AGENT, case="session.known")
@fix("Name a session that the client created or took up.")
def agent_names_unknown_session(context: Context) -> CheckResult:
    """`session/update` and agent requests name a known `sessionId`; tolerated: updates for a
    session whose new/load/resume response is still pending and then returns that id.
    """
    id_, unknown = context.session_id, context.state.of(UnknownSessions)
    if context.session is not None and id_ is not None:
        return _is_taken_up_first(context, id_, unknown)
    if id_ is None or not context.state.is_ready:
        return None
    if id_ in unknown.children or id_ in unknown.reported or _is_created(context):
        return OK
    return context.problem(
        f"{context.method} names the session {quoted(id_)}, which is not known",
        path="params.sessionId",
    )


def _is_taken_up_first(context: Context, id_: str, unknown: UnknownSessions) -> CheckResult:
    """Flag work in sessions that were listed but never loaded or resumed."""
    session = context.session
    is_work = context.variant not in ABOUT_SESSIONS or context.kind == "request"
    if session is None or session.origin != "listed" or not is_work or id_ in unknown.reported:
        return OK
    if session.is_open or session.closed or session.deleted or is_taken_up(context):
        return OK
    if id_ in unknown.children or _is_created(context):
        return OK
    return context.problem(
        f"{context.method} names the session {quoted(id_)}, which was only listed",
        session.first,
        path="params.sessionId",
    )


def _is_created(context: Context) -> bool:
    return any(
        ask is not context.request
        for method in CREATING
        for ask in context.state.waiting("client", method)
    )


@check("agent-names-unknown-session", on.response(*CREATING))
def early_updates_are_about_the_new_session(context: Context) -> CheckResult:
    early = context.state.of(UnknownSessions).early
    if not early or _is_created(context):
        return None
    id_ = context.result_object.get("sessionId")
    return tuple(
        Problem(
            f"the session {quoted(each)} was mentioned, but is not the one that was created",
            (point.seq, context.seq),
        )
        for each, point in early.items()
        if each != id_
    )


@rule.info(524, "heuristic", "agent", on.response(*CREATING))
@fix("Respond to the request before you send updates of the new session.")
def update_before_session(context: Context) -> CheckResult:
    """Updates of a new session follow the response that names it; clients that learn the id from
    the response drop what comes before, such as the commands.
    """
    id_ = context.result_object.get("sessionId")
    point = context.state.of(UnknownSessions).early.get(id_) if isinstance(id_, str) else None
    if point is None:
        return OK
    return (
        Problem(
            f"the session {quoted(id_)} was mentioned before the response that names it",
            (point.seq, context.seq),
        ),
    )


@track(OF_AGENT)
def _track_unknown(context: Context) -> None:
    unknown, session = context.state.of(UnknownSessions), context.session
    if session is not None and session.origin == "listed" and not session.is_open:
        is_work = context.variant not in ABOUT_SESSIONS or context.kind == "request"
        if is_work and not is_taken_up(context) and len(unknown.reported) < REMEMBERED:
            unknown.reported.add(session.id)
        return
    if session is not None or context.session_id is None:
        return
    if len(unknown.reported) + len(unknown.early) >= REMEMBERED:
        return
    if _is_created(context):
        unknown.early.setdefault(context.session_id, context.point)
    elif context.state.is_ready:
        unknown.reported.add(context.session_id)


@track(on.response(*CREATING))
def _forget_unknown(context: Context) -> None:
    early = context.state.of(UnknownSessions).early
    id_ = context.result_object.get("sessionId")
    if isinstance(id_, str):
        early.pop(id_, None)
    if not _is_created(context):
        early.clear()


@track(on.update("subagent_update"))
def _keep_child(context: Context) -> None:
    id_, children = context.update.get("sessionId"), context.state.of(UnknownSessions).children
    if isinstance(id_, str) and len(children) < REMEMBERED:
        children.add(id_)


@rule.error(116, "implied", "client", on.request(*USES), case="close.unused")
@details(exercised_by=on.result("session/close"))
@fix("Load or resume it first.")
def closed_session_used(context: Context) -> CheckResult:
    """After `session/close` succeeded, the session is not used again without load/resume."""
    session = context.session
    if session is None or session.is_open or session.closed is None or is_taken_up(context):
        return None
    return context.problem(
        f"{context.method} names the session {quoted(session.id)}, which was closed",
        session.closed,
        at="sessionId",
    )


@rule.warning(117, "implied", "agent", on.call("session/update"), version=1)
@details(source="session-setup.mdx", since="2026-11", exercised_by=on.result("session/close"))
@fix("Send the last updates before the response that the session is closed.")
def update_after_close(context: Context) -> CheckResult:
    """No `session/update` for a session after its `session/close` response (v2:
    message-after-close).
    """
    session = context.session
    if session is None or session.is_open or session.closed is None or is_taken_up(context):
        return None
    return context.problem(
        f"an update came for the session {quoted(session.id)}, which was closed", session.closed
    )


@dataclass(slots=True)
class Endings:
    """Work that a client ended by closing or archiving its session."""

    prompts: dict[int, SentRequest] = field(default_factory=dict[int, SentRequest])
    """By the number of a running prompt: the request that ended its session."""
    running: set[str] = field(default_factory=set[str])
    """Running sessions of version 2."""
    idle: dict[str, Point] = field(default_factory=dict[str, Point])
    """By session of version 2: the end of its work, if it was not cancelled."""


@track(on.request("session/close", "session/archive"))
def _keep_running(context: Context) -> None:
    ask = context.state.newest
    if context.session is None or context.key is None or ask is None:
        return
    endings = context.state.of(Endings).prompts
    for prompt in context.session.prompts:
        if len(endings) < REMEMBERED:
            endings.setdefault(prompt.seq, ask)


@check("close-without-cancelled", on.END)
def prompts_of_closed_sessions_were_answered(ending: EndContext) -> CheckResult:
    endings = ending.state.of(Endings).prompts
    found: list[Problem] = []
    for ask in ending.state.waiting("client", "session/prompt"):
        close = endings.get(ask.seq)
        if close is None or close.method != "session/close" or close.error is not None:
            continue
        if (
            close.responded is not None
            and ending.point.time - close.responded.time > DELIVERY_TIMEOUT_S
        ):
            text = "the prompt was never answered though its session was closed"
            found += ending.problem(text, ask, close, close.responded)
    return tuple(found) or None


def ended_by(context: Context, method: str) -> CheckResult:
    """Check that a prompt ends as `cancelled` if `method` ended its session.

    It is not an error if the response crossed the request, or if the request failed.
    """
    if context.request is None:
        return None
    ending = context.state.of(Endings).prompts.get(context.request.seq)
    if ending is None or ending.method != method or ending.error is not None:
        return None
    reason = context.result_object.get("stopReason")
    if reason == "cancelled" or not (ending.responded or context.had_received(ending)):
        return OK
    how = f"with {quoted(reason)}" if context.kind == "result" else "with an error"
    return context.problem(
        f"the prompt ended {how} though {method} ended it",
        context.request,
        ending,
        path="result.stopReason" if context.kind == "result" else "",
    )


@rule.error(118, "must", "agent", on.response("session/prompt"), version=1)
@fix('End running work first, with the stopReason "cancelled".')
@checked_by(ended_by, method="session/close")
def close_without_cancelled() -> None:
    """`session/close` during a running turn: the pending prompt is answered `cancelled`."""


def idle_before(context: Context) -> CheckResult:
    """Return whether foreground work was reported to have ended when its session does."""
    session, ask = context.session, context.request
    if session is None or session.state is None or session.state_at is None or ask is None:
        return None
    if session.state == "idle":
        ended = context.state.of(Endings).idle.get(session.id)
        # Work may have ended by itself while the request was on its way.
        if ended is None or ended.seq < ask.seq or ended.time - ask.time <= DELIVERY_TIMEOUT_S:
            return OK
        return context.problem(f"{context.method} did not end the work as cancelled", ask, ended)
    return context.problem(
        f"{context.method} succeeded while the session was {quoted(session.state)}",
        session.state_at,
        ask,
    )


@rule.error(119, "must", "agent", on.result("session/close"), version=2)
@fix('Send idle with the stopReason "cancelled" before the session is closed.')
@checked_by(idle_before)
def close_without_idle() -> None:
    """`session/close` during foreground work: an idle `cancelled` state update comes before the
    close response.
    """


@track(on.update("state_update"))
def _keep_idle(context: Context) -> None:
    endings, id_ = context.state.of(Endings), context.session_id
    if context.session is None or id_ is None:
        return
    if context.update.get("state") != "idle":
        endings.idle.pop(id_, None)
        endings.running.add(id_)
    elif id_ in endings.running:
        endings.running.discard(id_)
        if context.update.get("stopReason") != "cancelled":
            endings.idle[id_] = context.point


@rule.warning(121, "should", "agent", on.response("session/delete"), source="session-delete.mdx")
@fix("Respond with {} if there is nothing left to delete.")
def repeated_delete_fails(context: Context) -> CheckResult:
    """Deleting an unknown or already deleted session succeeds."""
    if context.request is None:
        return None
    if context.kind == "result":
        return OK
    session = context.session
    deleted = None if session is None else session.deleted
    if context.code == RESOURCE_NOT_FOUND or (
        deleted is not None and context.code in {INVALID_PARAMS, INTERNAL_ERROR}
    ):
        return context.problem(
            f"session/delete failed with {context.code} where there is no such session",
            deleted,
            context.request,
        )
    return OK


@rule.error(103, "must", "client", on.request("session/load"), version=1)
@fix("Call session/load only with loadSession: true.")
@checked_by(claimed, v1="loadSession")
def undeclared_session_load() -> None:
    """`session/load` only with `loadSession: true`."""


@rule.error(104, "must", "client", on.request("session/resume"), version=1)
@fix("Call session/resume only with sessionCapabilities.resume.")
@checked_by(claimed, v1="sessionCapabilities.resume")
def undeclared_session_resume() -> None:
    """`session/resume` only with `sessionCapabilities.resume`."""


@rule.error(106, "must", "client", on.request("session/close"), version=1)
@fix("Call session/close only with sessionCapabilities.close.")
@checked_by(claimed, v1="sessionCapabilities.close")
def undeclared_session_close() -> None:
    """`session/close` only with `sessionCapabilities.close`."""


@rule.error(108, "schema", "client", on.request("session/fork"), source="rfds/session-fork.mdx")
@fix("Call session/fork only where the agent claimed fork.")
@checked_by(claimed, v1="sessionCapabilities.fork", v2="session.fork")
def undeclared_session_fork() -> None:
    """`session/fork` only with the fork marker (unstable)."""


@rule.error(
    109, "schema", "client", on.call(*SESSION_CALLS), version=2, source="v2/initialization.mdx"
)
@fix("Call no session method of an agent that claims no sessions.")
@checked_by(claimed, v1="session")
def undeclared_sessions() -> None:
    """No `session/*` call if `capabilities.session` is absent or null."""
