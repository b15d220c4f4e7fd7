"""Child sessions, and messages between sessions.

Source: ACP, "Subagents" (unstable).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import RESTORING

UPDATE: Final = on.update("subagent_update")
MESSAGES: Final = on.update("session_message", "session_message_chunk")
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
        *RESTORING,
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


class _Children(dict[str, _Child]):
    """Child sessions by their id."""


def _child_id(context: Context) -> str | None:
    id_ = context.update.get("sessionId")
    return id_ if isinstance(id_, str) else None


@track(UPDATE)
def _keep_child(context: Context) -> None:
    id_, children = _child_id(context), context.state.of(_Children)
    if id_ is None or context.session_id is None:
        return
    if id_ not in children:
        if len(children) >= CHILDREN:
            return
        children[id_] = _Child(context.session_id, context.point)
    child = children[id_]
    if "capabilities" in context.update:
        child.capabilities = context.update["capabilities"]
    if "state" in context.update:
        state = as_object(context.update["state"]).get("state")
        child.mirror = state if isinstance(state, str) else None
        child.mirrored = context.point


@check("ACP-L494", UPDATE, MESSAGES)
def subagents_are_for_who_knows_them(context: Context) -> CheckResult:
    if context.state.claims("client", "subagents"):
        return OK
    return context.problem(
        "the client did not claim subagents", context.state.initialize, at="sessionUpdate"
    )


@check("ACP-L495", UPDATE)
def children_are_announced_first(context: Context) -> CheckResult:
    id_ = _child_id(context)
    if id_ is None:
        return None
    if id_ in context.state.of(_Children):
        return OK
    first_seen = context.state.of(_FirstMentions).get(id_)
    if first_seen is None or context.state.sessions.get(id_) is not None:
        return OK
    return context.problem(
        f"the child {quoted(id_)} appeared before it was announced", first_seen, at="sessionId"
    )


class _FirstMentions(dict[str, Point]):
    """Sessions that were not opened, and their first mention."""


@track(on.update())
def _keep_first_mention(context: Context) -> None:
    if context.state.unstable and context.session is None and context.session_id is not None:
        first_seen = context.state.of(_FirstMentions)
        if len(first_seen) < CHILDREN:
            first_seen.setdefault(context.session_id, context.point)


@check("ACP-L496", UPDATE)
def children_stay_with_their_parent(context: Context) -> CheckResult:
    id_ = _child_id(context)
    if id_ is None:
        return None
    if id_ == context.session_id:
        return context.problem("the child is its own parent", at="sessionId")
    child = context.state.of(_Children).get(id_)
    if child is not None and child.parent != context.session_id:
        return context.problem(
            f"the child {quoted(id_)} was that of {quoted(child.parent)}",
            child.announced,
            path="params.sessionId",
        )
    return OK


@check("ACP-L497", on.call(*sorted(MUTATIONS)))
def children_are_left_alone(context: Context) -> CheckResult:
    child = context.state.of(_Children).get(context.session_id or "")
    if child is None:
        return None
    cancel = as_object(child.capabilities).get("cancel")
    if context.method == "session/cancel" and cancel is not None:
        return OK
    return context.problem(
        f"{context.method} is sent to a child that does not allow it",
        child.announced,
        at="sessionId",
    )


@check("ACP-L498", UPDATE)
def children_work_in_absolute_places(context: Context) -> CheckResult:
    directories = [("cwd", context.update.get("cwd"))]
    for n, each in enumerate(as_list(context.update.get("additionalDirectories"))):
        directories.append((f"additionalDirectories.{n}", each))
    known = [(place, path) for place, path in directories if isinstance(path, str)]
    for place, path in known:
        if not _ABSOLUTE.match(path):
            return context.problem(f"the path {quoted(path)} is not absolute", at=place)
    return OK if known else None


@check("ACP-L499", on.update("session_message"))
def messages_go_between_known_sessions(context: Context) -> CheckResult:
    names = ("senderSessionId", "recipientSessionId")
    ends = {name: id_ for name in names if isinstance(id_ := context.update.get(name), str)}
    if not ends:
        return None
    children = context.state.of(_Children)
    for name, id_ in ends.items():
        if id_ not in context.state.sessions and id_ not in children:
            return context.problem(f"the session {quoted(id_)} is not known", at=name)
    if len(ends) == len(names) and context.session_id not in ends.values():
        return context.problem("the message is neither from nor to this session")
    return OK


@check("ACP-L500", on.update("state_update"))
def mirrors_agree(context: Context) -> CheckResult:
    child = context.state.of(_Children).get(context.session_id or "")
    session = context.session
    if child is None or child.mirrored is None:
        return None
    if session is None or session.state_at is None or session.state_at.seq < child.mirrored.seq:
        return OK
    # The child reported a state after the mirror, and now an even newer one.
    if child.mirror == session.state:
        return OK
    return context.problem(
        f"the mirrored state is still {quoted(child.mirror)}, "
        f"but the child reported {quoted(session.state)}",
        child.mirrored,
        session.state_at,
    )
