"""Child sessions, and messages between sessions.

Source: ACP, "Subagents" (unstable).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, claimed
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, fix, track
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import RESTORING

rule = LintSubject("subagents")

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


@rule.error(494, "must", "agent", UPDATE, MESSAGES, version=1)
@fix("Send it only where the client claims subagents.")
@checked_by(claimed, v1="subagents", by="client")
def undeclared_subagents() -> None:
    """`subagent_update`, `session_message` and `session_message_chunk` only with client
    `subagents`.
    """


@rule.error(495, "must", "agent", UPDATE)
@fix("Announce a child before it speaks.")
def unannounced_subagent(context: Context) -> CheckResult:
    """A child session is announced by `subagent_update` before any live message of it or
    naming it.
    """
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


@rule.error(496, "implied", "agent", UPDATE)
@fix("Let a child stay with its parent.")
def wrong_subagent_parent(context: Context) -> CheckResult:
    """`params.sessionId` of a `subagent_update` is the immediate parent, differs from
    `update.sessionId`, and ownership never moves.
    """
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


@rule.error(497, "must", "client", on.call(*sorted(MUTATIONS)))
@fix("Do to a child what its capabilities allow.")
def subagent_not_controllable(context: Context) -> CheckResult:
    """No session mutation (prompt, cancel, close, delete, config, …) is sent to a child unless its
    current `capabilities` allow it; `session/cancel` needs `capabilities.cancel`.
    """
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


@rule.error(498, "must", "agent", UPDATE)
@fix("Send absolute paths.")
@checked_by(absolute, at=("cwd", "additionalDirectories.*"))
def relative_subagent_path() -> None:
    """`cwd` and `additionalDirectories` of a child are absolute."""


@rule.warning(499, "implied", "agent", on.update("session_message"))
@fix("Name both sessions, one of them this one.")
def unknown_message_peer(context: Context) -> CheckResult:
    """`senderSessionId` / `recipientSessionId` name known sessions, and one of them is the
    enclosing session.
    """
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


@rule.info(500, "should", "agent", on.update("state_update"), version=2)
@fix("Mirror the child's state in its parent.")
def subagent_state_differs(context: Context) -> CheckResult:
    """The parent's `state` mirror agrees with the child's own last `state_update`."""
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
