"""That both sides speak of sessions that there are.

Source: ACP, "Session Setup"; the RFD about subagents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, quoted
from acp_inspector.lint.registry import (
    Trigger,
    answers,
    asks,
    calls,
    check,
    learns,
    results,
    updates,
)
from acp_inspector.lint.state import Point

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
CREATIONS: Final = ("session/new", "session/fork")
ABOUT_SESSIONS: Final = frozenset({None, "session_info_update", "state_update"})
"""Updates that a list of sessions may be kept up to date by."""
OF_AGENT: Final[tuple[Trigger, ...]] = (*calls("session/update"), *asks(*AGENT_ASKS))
REMEMBERED: Final = 10_000
"""Ids that are remembered of each kind."""


@dataclass(slots=True)
class Strangers:
    """Sessions that were spoken of without a request for them."""

    children: set[str] = field(default_factory=set[str])
    """Subagents, which the agent announced."""
    early: dict[str, Point] = field(default_factory=dict[str, Point])
    """Ids that came while a session was being created; it may be that one."""
    told: set[str] = field(default_factory=set[str])
    """Ids that were told of."""


@check("ACP-L100", results(*CREATIONS), fix="Give every session an id of its own.")
def session_ids_are_unique(moment: Moment) -> Found:
    """Tell of sessions that are created with the id of another."""
    id_, ask = moment.result_object.get("sessionId"), moment.ask
    if not isinstance(id_, str) or ask is None:
        return None
    session = moment.state.sessions.get(id_)
    # A list may name a session before the answer that creates it; a load may have failed.
    if session is None or (session.origin == "listed" and session.first.n > ask.n):
        return FINE
    if session.is_open or session.closed or session.deleted or session.origin == "listed":
        return moment.problem(
            f"the id {quoted(id_)} is that of another session",
            session.first,
            ask,
            path="result.sessionId",
        )
    return FINE


@check(
    "ACP-L101",
    calls(*USES, "session/cancel", "session/close"),
    fix="Create, load or resume a session before it is used.",
)
def clients_use_sessions_of_this_connection(moment: Moment) -> Found:
    """Tell of sessions that the client never took up on this connection.

    To close what is not there is no fault in version 2.
    """
    id_, session, state = moment.session_id, moment.session, moment.state
    if id_ is None or not state.is_ready:
        return None
    if moment.method == "session/close" and moment.version == 2:
        return None
    if session is not None and (session.is_open or session.closed or session.deleted):
        return FINE
    if id_ in state.of(Strangers).children or is_taken_up(moment):
        return FINE
    if session is None:
        return moment.problem(
            f"{moment.method} names the session {quoted(id_)}, which is not known",
            path="params.sessionId",
        )
    how = "was only listed" if session.origin == "listed" else "could not be taken up"
    return moment.problem(
        f"{moment.method} names the session {quoted(id_)}, which {how}",
        session.first,
        path="params.sessionId",
    )


def is_taken_up(moment: Moment) -> bool:
    """Tell whether the session of a message is just being loaded or resumed."""
    return any(
        next(moment.state.waiting("client", method, moment.session_id), None) is not None
        for method in ("session/load", "session/resume")
    )


@check("ACP-L102", OF_AGENT, fix="Name a session that the client created or took up.")
def agents_speak_of_known_sessions(moment: Moment) -> Found:
    """Tell of sessions that nobody asked for, once for each id."""
    id_, strangers = moment.session_id, moment.state.of(Strangers)
    if moment.session is not None and id_ is not None:
        return _is_taken_up_first(moment, id_, strangers)
    if id_ is None or not moment.state.is_ready:
        return None
    if id_ in strangers.children or id_ in strangers.told or _is_created(moment):
        return FINE
    return moment.problem(
        f"{moment.method} names the session {quoted(id_)}, which is not known",
        path="params.sessionId",
    )


def _is_taken_up_first(moment: Moment, id_: str, strangers: Strangers) -> Found:
    """Tell of work in sessions that were listed, and that nobody took up."""
    session = moment.session
    is_work = moment.variant not in ABOUT_SESSIONS or moment.kind == "request"
    if session is None or session.origin != "listed" or not is_work or id_ in strangers.told:
        return FINE
    if session.is_open or session.closed or session.deleted or is_taken_up(moment):
        return FINE
    if id_ in strangers.children or _is_created(moment):
        return FINE
    return moment.problem(
        f"{moment.method} names the session {quoted(id_)}, which was only listed",
        session.first,
        path="params.sessionId",
    )


def _is_created(moment: Moment) -> bool:
    return any(
        ask is not moment.ask
        for method in CREATIONS
        for ask in moment.state.waiting("client", method)
    )


@check("ACP-L102", answers(*CREATIONS), fix="Name a session that the client created or took up.")
def early_updates_are_about_the_new_session(moment: Moment) -> Found:
    """Tell of sessions that were spoken of while another one was created."""
    early = moment.state.of(Strangers).early
    if not early or _is_created(moment):
        return None
    id_ = moment.result_object.get("sessionId")
    return tuple(
        Problem(
            f"the session {quoted(each)} was spoken of, but is not the one that was created",
            (point.n, moment.n),
        )
        for each, point in early.items()
        if each != id_
    )


@learns(OF_AGENT)
def _keep_stranger(moment: Moment) -> None:
    strangers, session = moment.state.of(Strangers), moment.session
    if session is not None and session.origin == "listed" and not session.is_open:
        is_work = moment.variant not in ABOUT_SESSIONS or moment.kind == "request"
        if is_work and not is_taken_up(moment) and len(strangers.told) < REMEMBERED:
            strangers.told.add(session.id)
        return
    if session is not None or moment.session_id is None:
        return
    if len(strangers.told) + len(strangers.early) >= REMEMBERED:
        return
    if _is_created(moment):
        strangers.early.setdefault(moment.session_id, moment.point)
    elif moment.state.is_ready:
        strangers.told.add(moment.session_id)


@learns(answers(*CREATIONS))
def _forget_stranger(moment: Moment) -> None:
    early = moment.state.of(Strangers).early
    id_ = moment.result_object.get("sessionId")
    if isinstance(id_, str):
        early.pop(id_, None)
    if not _is_created(moment):
        early.clear()


@learns(updates("subagent_update"))
def _keep_child(moment: Moment) -> None:
    id_, children = moment.update.get("sessionId"), moment.state.of(Strangers).children
    if isinstance(id_, str) and len(children) < REMEMBERED:
        children.add(id_)
