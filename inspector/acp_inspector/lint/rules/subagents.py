"""Child sessions, and messages from session to session.

Source: ACP, "Subagents" (unstable).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import calls, check, learns, updates
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

UPDATE: Final = updates("subagent_update")
MESSAGES: Final = updates("session_message", "session_message_chunk")
MUTATIONS: Final = frozenset(
    {
        "session/prompt",
        "session/cancel",
        "session/close",
        "session/delete",
        "session/set_mode",
        "session/set_config_option",
        "session/set_title",
        "session/archive",
        "session/unarchive",
        "session/load",
        "session/resume",
    }
)
CHILDREN: Final = 10_000
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


@dataclass(slots=True)
class _Child:
    parent: str
    announced: Point
    capabilities: Json = None
    mirror: str | None = None
    mirrored: Point | None = None


@dataclass(slots=True)
class _Children:
    """Child sessions by their id."""

    of: dict[str, _Child] = field(default_factory=dict[str, _Child])


def _child_id(moment: Moment) -> str | None:
    id_ = moment.update.get("sessionId")
    return id_ if isinstance(id_, str) else None


@learns(UPDATE)
def _keep_child(moment: Moment) -> None:
    id_, children = _child_id(moment), moment.state.of(_Children)
    if id_ is None or moment.session_id is None:
        return
    if id_ not in children.of:
        if len(children.of) >= CHILDREN:
            return
        children.of[id_] = _Child(moment.session_id, moment.point)
    child = children.of[id_]
    if "capabilities" in moment.update:
        child.capabilities = moment.update["capabilities"]
    if "state" in moment.update:
        state = members(moment.update["state"]).get("state")
        child.mirror = state if isinstance(state, str) else None
        child.mirrored = moment.point


@check("ACP-L494", UPDATE, MESSAGES, fix="Send it only where the client claims subagents.")
def subagents_are_for_who_knows_them(moment: Moment) -> Found:
    """Tell of subagents for a client that did not claim them."""
    if moment.state.claims("client", "subagents"):
        return FINE
    return moment.problem(
        "the client did not claim subagents",
        moment.state.initialize,
        path="params.update.sessionUpdate",
    )


@check("ACP-L495", UPDATE, fix="Announce a child before it speaks.")
def children_are_announced_first(moment: Moment) -> Found:
    """Tell of a child that was heard of before it was announced."""
    id_ = _child_id(moment)
    if id_ is None:
        return None
    if id_ in moment.state.of(_Children).of:
        return FINE
    heard = moment.state.of(_Heard).of.get(id_)
    if heard is None or moment.state.sessions.get(id_) is not None:
        return FINE
    return moment.problem(
        f"the child {quoted(id_)} was heard of before", heard, path="params.update.sessionId"
    )


@dataclass(slots=True)
class _Heard:
    """Sessions that nobody opened, and where they were heard of first."""

    of: dict[str, Point] = field(default_factory=dict[str, Point])


@learns(updates())
def _hear(moment: Moment) -> None:
    if moment.state.unstable and moment.session is None and moment.session_id is not None:
        heard = moment.state.of(_Heard).of
        if len(heard) < CHILDREN:
            heard.setdefault(moment.session_id, moment.point)


@check("ACP-L496", UPDATE, fix="Let a child stay with its parent.")
def children_stay_with_their_parent(moment: Moment) -> Found:
    """Tell of a child that is its own parent, or changes it."""
    id_ = _child_id(moment)
    if id_ is None:
        return None
    if id_ == moment.session_id:
        return moment.problem("the child is its own parent", path="params.update.sessionId")
    child = moment.state.of(_Children).of.get(id_)
    if child is not None and child.parent != moment.session_id:
        return moment.problem(
            f"the child {quoted(id_)} was that of {quoted(child.parent)}",
            child.announced,
            path="params.sessionId",
        )
    return FINE


@check("ACP-L497", calls(*sorted(MUTATIONS)), fix="Do to a child what its capabilities allow.")
def children_are_left_alone(moment: Moment) -> Found:
    """Tell of a client that changes a child which does not allow it."""
    child = moment.state.of(_Children).of.get(moment.session_id or "")
    if child is None:
        return None
    cancel = members(child.capabilities).get("cancel")
    if moment.method == "session/cancel" and cancel is not None:
        return FINE
    return moment.problem(
        f"{moment.method} is sent to a child that does not allow it",
        child.announced,
        path="params.sessionId",
    )


@check("ACP-L498", UPDATE, fix="Send absolute paths.")
def children_work_in_absolute_places(moment: Moment) -> Found:
    """Tell of a child's directories that are not absolute."""
    said = [("cwd", moment.update.get("cwd"))]
    for n, each in enumerate(entries(moment.update.get("additionalDirectories"))):
        said.append((f"additionalDirectories.{n}", each))
    known = [(place, path) for place, path in said if isinstance(path, str)]
    for place, path in known:
        if not _ABSOLUTE.match(path):
            return moment.problem(
                f"the path {quoted(path)} is not absolute", path=f"params.update.{place}"
            )
    return FINE if known else None


@check("ACP-L499", updates("session_message"), fix="Name both sessions, one of them this one.")
def messages_go_between_known_sessions(moment: Moment) -> Found:
    """Tell of a message whose sender or recipient nobody knows, or that passes through."""
    names = ("senderSessionId", "recipientSessionId")
    ends = {name: id_ for name in names if isinstance(id_ := moment.update.get(name), str)}
    if not ends:
        return None
    children = moment.state.of(_Children).of
    for name, id_ in ends.items():
        if id_ not in moment.state.sessions and id_ not in children:
            return moment.problem(
                f"the session {quoted(id_)} is not known", path=f"params.update.{name}"
            )
    if len(ends) == len(names) and moment.session_id not in ends.values():
        return moment.problem("the message is neither from nor to this session")
    return FINE


@check("ACP-L500", updates("state_update"), fix="Mirror the child's state in its parent.")
def mirrors_agree(moment: Moment) -> Found:
    """Tell of a parent's mirror that stayed behind: it differs though the child went on twice."""
    child = moment.state.of(_Children).of.get(moment.session_id or "")
    session = moment.session
    if child is None or child.mirrored is None:
        return None
    if session is None or session.state_at is None or session.state_at.n < child.mirrored.n:
        return FINE
    # The child's last state came after the mirror, and now there is a newer one still.
    if child.mirror == session.state:
        return FINE
    return moment.problem(
        f"the mirror still says {quoted(child.mirror)}, the child said {quoted(session.state)}",
        child.mirrored,
        session.state_at,
    )
