"""Shows the conversation as of the chosen frame, and what that frame changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from acp_console.tui.analysis.tab import AnalysisTab, Line
from acp_console.wording.transcript import WIDTH, change_lines, item_lines, transcript_lines
from acp_console.wording.values import format_number
from acp_inspector.session.conversation import SessionSnapshot
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.state_diff import StateChange, state_changes
from acp_protocol.host.sanitize import single_line

ITEMS: Final = 100
"""Items shown of each session, at most: the last ones."""
SESSIONS: Final = 20
"""Sessions shown, at most; those that the frame changed come first."""
ITEM_LINES: Final = 40
"""Lines shown of one item, at most."""
CHANGES: Final = 50
"""Changes shown, at most."""


@dataclass(frozen=True, slots=True)
class StateAtFrame:
    """The state after an entry."""

    n: int
    """The entry."""
    analysed: int
    """The last entry that was analysed."""
    changes: tuple[Line, ...]
    lines: tuple[Line, ...]


class StateTab(AnalysisTab[SessionModel, StateAtFrame]):
    """Shows the conversations as they were at the chosen frame."""

    def query_function(self) -> Callable[[SessionModel], StateAtFrame]:
        n = self.moment.n
        return lambda model: state_at_frame(model, n)

    def query_key(self) -> object:
        return self.moment.n

    def is_settled(self) -> bool:
        current, n = self.answer, self.moment.n
        return current is not None and n is not None and current.n == n <= current.analysed

    def show(self, answer: StateAtFrame) -> None:
        if self.moment.n is not None and self.moment.n > answer.analysed:
            self.show_heading(f"After frame {format_number(self.moment.n)}")
            self.show_note(
                f"Not analysed yet: the analysis has reached {format_number(answer.analysed)}."
            )
            return
        self.show_heading(
            f"After frame {format_number(answer.n)} (← → to step); + and * mark its changes"
        )
        self.show_wrapped((*answer.changes, Line((("", ""),)), *answer.lines))


def state_at_frame(model: SessionModel, n: int | None) -> StateAtFrame:
    """Return the state after entry `n`; None: after the last."""
    n = model.n if n is None else n
    if n > model.n:
        return StateAtFrame(n, model.n, (), ())
    before, after = model.conversations.at(n - 1), model.conversations.at(n)
    changes = state_changes(before, after)
    shown = [_change(each) for each in changes[:CHANGES]]
    if len(changes) > CHANGES:
        shown.append(_muted(f"… and {format_number(len(changes) - CHANGES)} more changes"))
    if not changes:
        shown.append(_muted("This frame changed nothing in a conversation."))
    touched = {change.session_id for change in changes}
    sessions = sorted(after.values(), key=lambda each: each.session_id not in touched)
    lines = [line for each in sessions[:SESSIONS] for line in _session(each)]
    if len(sessions) > SESSIONS:
        lines.append(_muted(f"… and {format_number(len(sessions) - SESSIONS)} more sessions"))
    if not sessions:
        lines.append(_muted("No session is known yet."))
    return StateAtFrame(n, model.n, tuple(shown), tuple(lines))


def _session(snapshot: SessionSnapshot) -> Iterable[Line]:
    yield Line((("strong", next(transcript_lines(snapshot))),))
    left = max(len(snapshot.items) - ITEMS, 0)
    if left:
        yield _muted(f"  … {format_number(left)} earlier items")
    for item in snapshot.items[left:]:
        shown = list(islice(item_lines(item), ITEM_LINES + 1))
        for place, text in enumerate(shown[:ITEM_LINES]):
            style = ""
            if place == 0 and text.startswith(("you:", "thought:", "·", "—")):
                style = "accent" if text.startswith("you:") else "muted"
            yield Line(((style, f"  {text}".rstrip()[: WIDTH * 2]),))
        if len(shown) > ITEM_LINES:
            yield _muted("    …")
    for trouble in snapshot.errors:
        problem = f"  ✗ {trouble.method}: {trouble.message} ({trouble.code})"
        yield Line((("error", single_line(problem, WIDTH)),), trouble.n)


def _change(change: StateChange) -> Line:
    text = " ".join(change_lines(change))
    style = "good" if text.startswith("+") else "error" if text.startswith("-") else "warning"
    return Line(((style, text),))


def _muted(text: str) -> Line:
    return Line((("muted", text),))
