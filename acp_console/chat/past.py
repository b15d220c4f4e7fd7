"""What stood beside a conversation at an earlier moment: its plan, and the files it had changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acp_console.chat.changed_files import Changes, changes_of, total_changes
from acp_console.chat.line_diff import FileChange
from acp_inspector.session.conversation import SessionInfo, SessionSnapshot
from acp_inspector.session.items import Effect, PlanItem, ToolCallItem
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class PastState:
    """A session as it stood after a frame, but for its items."""

    info: SessionInfo
    plan: Sequence[Json]
    """The steps of its plan."""
    files: Mapping[str, FileChange]
    """The files that it had changed, the last changed last."""


class PastStates:
    """The states of the sessions of one connection; knows what each item changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], Changes] = {}
        """By session, key of the item, and the last frame that had changed it."""

    def of(self, session: SessionSnapshot) -> PastState:
        """Return the state of a session at the moment of the snapshot."""
        plan = next(session.items.of_type(PlanItem), None)
        found: list[Changes] = []
        for item in session.items.of_type(ToolCallItem, Effect):
            key = session.session_id, item.key, item.last
            if key not in self._known:
                self._known[key] = changes_of(item)
            found.append(self._known[key])
        entries = plan.entries if isinstance(plan, PlanItem) else []
        return PastState(session.info, entries, total_changes(found))
