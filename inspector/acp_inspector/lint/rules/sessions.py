"""That both sides speak of sessions that there are, from their creation to their end.

Source: ACP, "Session Setup", "Session Delete"; the RFD about subagents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.checks import Trigger, answers, asks, calls, check, learns, results, updates
from acp_inspector.lint.moment import FINE, PATIENCE, Found, Moment, Problem, quoted
from acp_inspector.lint.state import Ask, Point

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
    if id_ in state.of(Strangers).children or _is_taken_up(moment):
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


def _is_taken_up(moment: Moment) -> bool:
    return any(
        next(moment.state.waiting("client", method, moment.session_id), None) is not None
        for method in ("session/load", "session/resume")
    )


_KNOWN: Final = frozenset({"ACP-L102"})


def is_open(moment: Moment) -> frozenset[str] | None:
    """Pass over what is said of sessions that are open."""
    return _KNOWN if moment.session is not None and moment.session.is_open else None


@check(
    "ACP-L102", OF_AGENT, glance=is_open, fix="Name a session that the client created or took up."
)
def agents_speak_of_known_sessions(moment: Moment) -> Found:
    """Tell of sessions that nobody asked for, once for each id."""
    if moment.session is not None:
        return FINE
    id_, strangers = moment.session_id, moment.state.of(Strangers)
    if id_ is None or not moment.state.is_ready:
        return None
    if id_ in strangers.children or id_ in strangers.told or _is_created(moment):
        return FINE
    return moment.problem(
        f"{moment.method} names the session {quoted(id_)}, which is not known",
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
    if moment.session is not None or moment.session_id is None:
        return
    strangers = moment.state.of(Strangers)
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


@check("ACP-L116", asks(*USES), by=results("session/close"), fix="Load or resume it first.")
def closed_sessions_are_not_used(moment: Moment) -> Found:
    """Tell of sessions that the client uses though it closed them."""
    session = moment.session
    if session is None or session.is_open or session.closed is None or _is_taken_up(moment):
        return None
    return moment.problem(
        f"{moment.method} names the session {quoted(session.id)}, which was closed",
        session.closed,
        path="params.sessionId",
    )


@check(
    "ACP-L117",
    calls("session/update"),
    glance=is_open,
    by=results("session/close"),
    fix="Send the last updates before the answer that the session is closed.",
)
def closed_sessions_are_silent(moment: Moment) -> Found:
    """Tell of updates of sessions that were closed."""
    session = moment.session
    if session is None or session.is_open or session.closed is None or _is_taken_up(moment):
        return None
    return moment.problem(
        f"an update came for the session {quoted(session.id)}, which was closed", session.closed
    )


@dataclass(slots=True)
class Endings:
    """Work that a client ended by closing or archiving its session."""

    prompts: dict[int, Ask] = field(default_factory=dict[int, Ask])
    """By the number of a prompt that was running: what ended its session."""
    running: set[str] = field(default_factory=set[str])
    """Sessions of version 2 that are at work."""
    idle: dict[str, Point] = field(default_factory=dict[str, Point])
    """By session of version 2: where its work ended, if not as cancelled."""


@learns(asks("session/close", "session/archive"))
def _keep_running(moment: Moment) -> None:
    key = moment.key
    if moment.session is None or key is None:
        return
    endings = moment.state.of(Endings).prompts
    for prompt in moment.session.prompts:
        if len(endings) < REMEMBERED:
            endings.setdefault(prompt.n, moment.state.asks[key])


@check(
    "ACP-L118",
    answers("session/prompt"),
    fix='End running work first, with the stopReason "cancelled".',
)
def prompts_of_closed_sessions_are_cancelled(moment: Moment) -> Found:
    """Tell of running prompts that end otherwise though their session was closed."""
    return ended_by(moment, "session/close")


def ended_by(moment: Moment, method: str) -> Found:
    """Return whether a prompt ended as `cancelled`, for one whose session `method` ended.

    An answer that crossed the request is no fault; neither is one where the request failed.
    """
    if moment.ask is None:
        return None
    ending = moment.state.of(Endings).prompts.get(moment.ask.n)
    if ending is None or ending.method != method or ending.error is not None:
        return None
    reason = moment.result_object.get("stopReason")
    if reason == "cancelled" or not (ending.answered or moment.knew(ending)):
        return FINE
    how = f"with {quoted(reason)}" if moment.kind == "result" else "with an error"
    return moment.problem(
        f"the prompt ended {how} though {method} ended it",
        moment.ask,
        ending,
        path="result.stopReason" if moment.kind == "result" else "",
    )


@check(
    "ACP-L119",
    results("session/close"),
    fix='Send idle with the stopReason "cancelled" before the session is closed.',
)
def work_is_ended_before_its_session(moment: Moment) -> Found:
    """Tell of sessions of version 2 that were closed in the midst of foreground work."""
    return idle_before(moment)


def idle_before(moment: Moment) -> Found:
    """Return whether foreground work was told to have ended when its session does."""
    session, ask = moment.session, moment.ask
    if session is None or session.state is None or session.state_at is None or ask is None:
        return None
    if session.state == "idle":
        ended = moment.state.of(Endings).idle.get(session.id)
        # Work may have ended by itself while the request was on its way.
        if ended is None or ended.n < ask.n or ended.at - ask.at <= PATIENCE:
            return FINE
        return moment.problem(f"{moment.method} did not end the work as cancelled", ask, ended)
    return moment.problem(
        f"{moment.method} went well while the session was {quoted(session.state)}",
        session.state_at,
        ask,
    )


@learns(updates("state_update"))
def _keep_idle(moment: Moment) -> None:
    endings, id_ = moment.state.of(Endings), moment.session_id
    if moment.session is None or id_ is None:
        return
    if moment.update.get("state") != "idle":
        endings.idle.pop(id_, None)
        endings.running.add(id_)
    elif id_ in endings.running:
        endings.running.discard(id_)
        if moment.update.get("stopReason") != "cancelled":
            endings.idle[id_] = moment.point


@check(
    "ACP-L121",
    answers("session/delete"),
    fix="Answer {} where there is nothing to delete any more.",
)
def to_delete_what_is_gone_succeeds(moment: Moment) -> Found:
    """Tell of sessions that could not be deleted because there was none."""
    if moment.ask is None:
        return None
    if moment.kind == "result":
        return FINE
    session = moment.session
    deleted = None if session is None else session.deleted
    if moment.code == -32002 or (deleted is not None and moment.code in {-32602, -32603}):
        return moment.problem(
            f"session/delete failed with {moment.code} where there is no such session",
            deleted,
            moment.ask,
        )
    return FINE
