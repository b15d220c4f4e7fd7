"""What stood beside a conversation at an earlier moment: its turn, plan and changed files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acp_console.chat.changed_files import Changes, changes_of, total_changes
from acp_console.chat.line_diff import FileChange
from acp_console.chat.work import TurnWork, past_work
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
    work: TurnWork | None = None
    """Its turn as it was then; None before any."""

    @property
    def state(self) -> str:
        """What it did then, with its sign, in the words of the chat."""
        if self.work is None or self.work.ending:
            return "● ready"
        return "? waits for you" if self.work.waits_for_user else "◐ working"


class PastStates:
    """The states of the sessions of one connection; knows what each item changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], Changes] = {}
        """By session, key of the item, and the last frame that had changed it."""

    def of(self, session: SessionSnapshot, at: float) -> PastState:
        """Return the state of a session at the moment of the snapshot.

        Args:
            session: the session after a frame.
            at: the time of that frame, in seconds since the journal began.
        """
        plan = next(session.items.of_type(PlanItem), None)
        found: list[Changes] = []
        for item in session.items.of_type(ToolCallItem, Effect):
            key = session.session_id, item.key, item.last
            if key not in self._known:
                self._known[key] = changes_of(item)
            found.append(self._known[key])
        entries = plan.entries if isinstance(plan, PlanItem) else []
        work = past_work(session, at)
        return PastState(session.info, entries, total_changes(found), work)
