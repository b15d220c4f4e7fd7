"""The line at the editor that says what the turn does, and that it goes on."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from acp_console.chat.chat_session import ChatSession
from acp_console.chat.work import TurnWork
from acp_console.tui.chat.sidebar import PastTalk, moment
from acp_console.tui.cursor_list import foreground_style
from acp_console.wording.transcript import STOPS
from acp_protocol.host.sanitize import single_line

INTERVAL_S: Final = 0.25
"""Seconds between two frames of the spinner; each draws one cell.

While frames come, what they bring is the sign of life: then it turns once a second.
"""
SPINNER: Final = "◐◓◑◒"
ENDINGS: Final = {"end_turn": "✓", "cancelled": "◌", "failed": "✗"}
"""The signs of turns that ended as they mostly do; others have that of their line."""
STOP: Final = Style(meta={"@click": "screen.cancel"})


class TurnLine(Widget):
    """Says how long the turn runs, what it waits for, and what it has used.

    It ticks only while a turn runs and it can be seen. Once the turn is over, the line stays and
    says what it took.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "turn--runs",
        "turn--warning",
        "turn--error",
        "turn--quiet",
    }
    DEFAULT_CSS = """
    TurnLine {
        height: 1;
        max-width: 100;
        margin: 0 1;
        padding: 0 1;
        display: none;
        &> .turn--runs { color: $text; }
        &> .turn--warning { color: $text-warning; }
        &> .turn--error { color: $text-error; }
        &> .turn--quiet { color: $text-muted; }
    }
    """

    def __init__(self, chat: ChatSession, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._chat = chat
        self._work: TurnWork | None = None
        self._is_shown = False
        """Whether it is laid out, which costs less to keep than to find out."""
        self._situation: tuple[object, ...] = ()
        self._frame = 0
        self._second = 0
        """The second of the last tick that was drawn."""
        self._read = 0
        """Entries of the journal that were known at the last tick."""
        self._timer: Timer | None = None
        self._past: PastTalk | None = None
        """The moment that the chat is rewound to; None: now."""

    def rewind(self, past: PastTalk | None) -> None:
        """Show the turn as it was at a moment; None: as it is now."""
        if past != self._past:
            self._past = past
            self._situation = ()
            self.look()
            self.refresh()

    def look(self) -> None:
        """Begin or end to tick; between two ticks, show only what does not go on as before."""
        chat = self._chat
        turn = None if chat.conversation is None else chat.conversation.turn
        if self._past is not None:
            # What happens now does not change it.
            turn = None
        situation = (self._past, turn, chat.state, chat.is_waiting_for_user, self._is_seen)
        if self._timer is None or situation != self._situation:
            self._situation = situation
            self._show()

    def _show(self) -> None:
        work, before = self._chat.turn_work, self._work
        if (past := self._past) is not None:
            work = None if past.state is None else past.state.work
        self._work = work
        is_short = self.screen.has_class("-short")
        self.display = work is not None and not (work.ending and is_short)
        if work is not None and (before is None or _shown(before) != _shown(work)):
            self.refresh()
        runs = work is not None and not work.ending and self._is_seen and past is None
        if runs and self._timer is None:
            self._timer = self.set_interval(INTERVAL_S, self._tick, name="turn")
        elif not runs and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def on_show(self) -> None:
        self._is_shown = True
        self.look()

    def on_hide(self) -> None:
        self._is_shown = False
        self.look()

    @property
    def _is_seen(self) -> bool:
        return self._is_shown and self.screen.is_current

    def _tick(self) -> None:
        second, read = int(self._chat.journal.now), self._chat.entries_read
        is_fed, self._read = read != self._read, read
        if is_fed and second == self._second:
            return
        self._second = second
        self._show()
        if self._timer is not None and self._spins:
            self._frame = (self._frame + 1) % len(SPINNER)
            self.refresh(Region(self.gutter.left, 0, 1, 1))

    @property
    def _spins(self) -> bool:
        work = self._work
        is_quiet = self.app.animation_level == "none"
        return work is not None and not (is_quiet or work.waits_for_user or work.is_silent)

    def render_line(self, y: int) -> Strip:
        del y
        work, width = self._work, self.content_size.width
        if work is None:
            return Strip.blank(width, self.rich_style)
        sign, name = self._sign(work)
        quiet, parts = self._style("quiet"), work.parts
        stop = "" if work.ending or work.is_opening else " · esc stops"
        if self._past is not None:
            stop = f" · {moment(self._past.n)}"
        # What has no room goes, the least important first.
        while len(parts) > 1 and len(" · ".join(parts)) > width - 2 - len(stop):
            parts.pop()
        text = single_line(" · ".join(parts), max(width - 2 - len(stop), 0))
        cells = [Segment(f"{sign} ", self._style(name))]
        cells.append(Segment(text, self._style("warning") if name == "warning" else quiet))
        cells.append(Segment(stop, quiet if self._past is not None else quiet + STOP))
        return Strip(cells).adjust_cell_length(width, self.rich_style)

    def _sign(self, work: TurnWork) -> tuple[str, str]:
        """Return the sign before the line, and its style."""
        if work.ending:
            sign = ENDINGS.get(work.ending) or STOPS.get(work.ending, "■")[0]
            return sign, {"✗": "error", "■": "warning"}.get(sign, "quiet")
        if work.waits_for_user:
            return "?", "warning"
        if self._past is not None:
            return SPINNER[0], "quiet"
        return ("▲", "warning") if work.is_silent else (SPINNER[self._frame], "runs")

    def _style(self, name: str) -> Style:
        return self.rich_style + foreground_style(self, f"turn--{name}")


def _shown(work: TurnWork) -> tuple[object, ...]:
    return work.ending, work.waits_for_user, *work.parts
