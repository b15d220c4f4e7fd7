"""The conversation as it stood at the entry under the cursor of the traffic.

While the traffic follows its end, so does this. Where this has the focus, it shows all of the
conversation, and the traffic goes along with its cursor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from acp_console.chat.past import PastState, PastStates
from acp_console.traffic.analysis import Query
from acp_console.traffic.talk import Talk, talk_at
from acp_console.tui.chat.attachments import show_attachments
from acp_console.tui.inspector_pane import InspectorPane
from acp_console.tui.news import News
from acp_console.tui.transcript.view import TranscriptView
from acp_console.wording.values import format_number, plural
from acp_inspector.session.items import Item, Notice, SubagentItem
from acp_inspector.views.session_model import SessionModel
from acp_protocol.host.sanitize import single_line

ITEMS: Final = 300
"""Items that are shown at first; scrolling to the top shows more."""


class TalkPane(Vertical):
    """A transcript beside an inspection, with the same cursor."""

    DEFAULT_CSS = """
    TalkPane {
        #talk-title {
            height: 1;
            padding: 0 2;
            color: $text-muted;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
        &.-past #talk-title {
            color: $text-warning;
            text-style: bold;
        }
        #past {
            height: 1fr;
        }
    }
    """

    view = getters.query_one("#past", TranscriptView)

    class Shown(Message):
        """Another moment of the conversation is shown."""

    def __init__(
        self,
        inspection: InspectorPane,
        *,
        can_focus: bool = True,
        past: PastStates | None = None,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        """Show the conversation at the cursor of `inspection`; with `past` also its state."""
        super().__init__(id=id)
        self._can_focus_view = can_focus
        self._past = past
        self._inspection = inspection
        self.news = News(self, self.look)
        self._query: Query[SessionModel, tuple[Talk | None, PastState | None]] | None = None
        self._wanted: tuple[Any, ...] = ()
        self._renewals = 0
        """The renewals of the model when what is shown was read from it."""
        self._most = ITEMS
        self._session: str | None = None
        self.talk: Talk | None = None
        """What is shown; None before a session is known."""
        self._moment: int | None = None
        self.state: PastState | None = None
        """What stands beside it, if that is wanted."""

    def compose(self) -> ComposeResult:
        yield Static(id="talk-title", markup=False)
        yield TranscriptView("Nothing was said yet.", id="past")

    def on_mount(self) -> None:
        self.view.can_focus = self._can_focus_view
        self._inspection.folds.news.add(self.news)
        self._inspection.looked.add(self.news)
        self.news()

    def on_show(self) -> None:
        self.news()

    def on_hide(self) -> None:
        self.news()

    def look(self) -> None:
        """Show the conversation at the cursor of the traffic, once it is analysed."""
        if self._inspection.needs_model != self.display:
            self._inspection.needs_model = self.display
            self._inspection.news()
        model, traffic = self._inspection.folds.model, self._inspection.traffic
        if not self.display or not model.is_started:
            return
        self._take_answer()
        if self._query is not None:
            # With its result there is news.
            return
        n = None if self.view.has_focus else traffic.table.chosen
        session = (None if self.view.has_focus else traffic.chosen_session) or self._session
        if self.view.top == (0, 0, 0) and self.talk is not None and self.talk.left_out:
            self._most *= 2
            # Stay at the first item that is shown now.
            self.view.top = (1, 0, 0)
        is_behind = n is None or self.talk is None or self.talk.n < n
        read, renewals = model.progress.read if is_behind else None, model.progress.renewals
        wanted = (n, session, self._most, read, renewals)
        if wanted != self._wanted:
            self._wanted = wanted
            self._query = model.query(_query(n, self._most, session, self._past))

    def on_descendant_focus(self) -> None:
        self.view.hold()
        self.news()

    def on_descendant_blur(self) -> None:
        self.news()

    @property
    def moment(self) -> int | None:
        """The frame whose moment is shown; None: now."""
        return self._moment

    @on(TranscriptView.Scrolled)
    def show_more(self) -> None:
        """Show earlier items at the top."""
        self.news()

    @on(TranscriptView.CardChosen)
    def move_traffic(self, event: TranscriptView.CardChosen) -> None:
        event.stop()
        talk = self.talk
        place = event.place - (1 if talk is not None and talk.left_out else 0)
        if talk is not None and self.view.has_focus and 0 <= place < len(talk.frames):
            self._inspection.traffic.go_to_entry(talk.frames[place])

    @on(TranscriptView.ItemOpened)
    def open_item(self, event: TranscriptView.ItemOpened) -> None:
        """Show the conversation of a subagent, or what a card holds besides text."""
        event.stop()
        if isinstance(event.item, SubagentItem):
            self._session = event.item.session_id
            self.news()
        else:
            show_attachments(self, event.item, Path.cwd())

    def _take_answer(self) -> None:
        query = self._query
        if query is None or not query.is_done:
            return
        self._query = None
        (talk, self.state), view = query.result or (None, None), self.view
        n = self._moment = self._wanted[0]
        self.set_class(n is not None, "-past")
        if talk is None:
            self.talk = None
            view.replace(())
            self._say("" if n is None else f"{_moment(n)} · no session yet")
            self.post_message(self.Shown())
            return
        is_other = self._session != talk.session_id
        # An edit of an earlier frame changes what is shown of that moment.
        is_revised, self._renewals = self._renewals != self._wanted[-1], self._wanted[-1]
        self.talk, self._session = talk, talk.session_id
        items: list[Item] = list(talk.items)
        if talk.left_out:
            text = f"{plural(talk.left_out, 'earlier item')}: go to the top to see more"
            items.insert(0, Notice("left-out", text))
        if n is not None or is_other:
            view.top = None
        view.replace(items, is_revised=is_revised)
        if n is not None:
            changed = [place for place, item in enumerate(items) if item.last == talk.n]
            view.mark_changed(changed[-1] if changed else None)
        self._say_moment(talk, n)
        self.post_message(self.Shown())

    def _say_moment(self, talk: Talk, n: int | None) -> None:
        parts = [single_line(talk.info.title or f"session {talk.session_id}", 60)]
        if talk.sessions > 1:
            parts.append(f"one of {talk.sessions} sessions")
        if n is None:
            parts.insert(0, "now")
        elif talk.n < n:
            parts.insert(0, f"analysed up to frame {format_number(talk.n)}")
        else:
            parts.insert(0, _moment(n))
        self._say(" · ".join(parts))

    def _say(self, text: str) -> None:
        self.query_one("#talk-title", Static).update(Content(text))


def _moment(n: int) -> str:
    return f"as of frame {format_number(n)}, End returns to now"


def _query(n: int | None, most: int, session: str | None, past: PastStates | None) -> Any:
    def ask(model: SessionModel) -> tuple[Talk | None, PastState | None]:
        at = model.n if n is None else min(n, model.n)
        talk = talk_at(model.conversations, at, most, session)
        if talk is None or past is None:
            return talk, None
        return talk, past.of(model.conversations.at(at)[talk.session_id], model.time_of(at))

    return ask
