"""What an agent does besides the turn: a list to cancel from, and the transcripts of subagents."""

from __future__ import annotations

from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from acp_console.chat.chat_session import ChatSession
from acp_console.chat.work import Work, work_of
from acp_console.tui.chat.attachments import show_attachments
from acp_console.tui.dialog import Overlay
from acp_console.tui.transcript.view import TranscriptView
from acp_inspector.session.items import Item, SubagentItem
from acp_protocol.host.sanitize import single_line

KINDS = {"subagent": "subagent", "tool_call": "tool call", "terminal": "command"}
NOTHING = "Nothing is running in the background: no subagents, no other work."
NO_MESSAGES = "This subagent has sent nothing yet."


class WorkScreen(Overlay[str | None]):
    """Lists subagents, background work and what can be cancelled; Enter returns a subagent."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "cancel_work", "Cancel it"),
    ]

    options = getters.query_one(OptionList)

    def __init__(self, chat: ChatSession) -> None:
        super().__init__()
        self._chat = chat
        self._works: list[Work] = []
        self._has_news = False

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Background work"
            yield OptionList(markup=False)
            yield Static(id="work-note", classes="note", markup=False)

    def on_mount(self) -> None:
        self._stop_watching = self._chat.agent.watch(self._note_change)
        self._show()
        self.options.focus()

    def on_unmount(self) -> None:
        self._stop_watching()

    def _note_change(self, session_id: str, item: Item | None) -> None:
        del session_id, item
        if not self._has_news:
            self._has_news = True
            self.call_after_refresh(self._show)

    def _show(self) -> None:
        self._has_news = False
        chosen = self._chosen
        found = work_of(self._chat.agent.conversations, self._chat.session_id or "")
        if found != self._works or not found:
            self._works = found
            self.options.set_options(Option(_line(each)) for each in found)
            keys = [(each.kind, each.key) for each in found]
            before = (chosen.kind, chosen.key) if chosen is not None else None
            place = keys.index(before) if before in keys else 0
            self.options.highlighted = place if found else None
        note = "enter opens a subagent · x cancels what can be · esc back"
        self.query_one("#work-note", Static).update(note if found else NOTHING)

    @property
    def _chosen(self) -> Work | None:
        place = self.options.highlighted
        return self._works[place] if place is not None and place < len(self._works) else None

    @on(OptionList.OptionSelected)
    def open_chosen(self) -> None:
        work = self._chosen
        if work is not None and work.kind == "subagent":
            self.dismiss(work.key)
        elif work is not None:
            self.notify("This has no transcript of its own.")

    def action_cancel_work(self) -> None:
        work = self._chosen
        if work is None:
            return
        if work.can_cancel:
            self._chat.cancel_work(work)
            self.notify(f"Asked the agent to stop: {single_line(work.title, 60)}", markup=False)
        else:
            self.notify("The agent cannot cancel only this.", severity="warning")


class SubagentScreen(Overlay[None]):
    """The transcript of a subagent, which goes on while it is read."""

    DEFAULT_CSS = """
    SubagentScreen {
        & > Vertical {
            width: 110;
            height: 90%;
            padding: 0 1;
        }
        TranscriptView {
            height: 1fr;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", priority=True),
        Binding("x", "cancel_work", "Cancel it", priority=True),
    ]

    transcript = getters.query_one(TranscriptView)

    def __init__(self, chat: ChatSession, session_id: str) -> None:
        super().__init__()
        self._chat = chat
        self._session_id = session_id
        self._about = ""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TranscriptView(NO_MESSAGES)
            yield Static(id="subagent-about", classes="note", markup=False)

    def on_mount(self) -> None:
        self._stop_watching = self._chat.agent.watch(self._note_change)
        talk = self._chat.agent.conversations.sessions.get(self._session_id)
        self.transcript.sync(() if talk is None else talk.items)
        self.transcript.focus()
        self._show_about()

    def on_unmount(self) -> None:
        self._stop_watching()

    def _note_change(self, session_id: str, item: Item | None) -> None:
        if session_id == self._session_id and item is not None:
            self.transcript.sync([item])
        if item is None or isinstance(item, SubagentItem):
            self.call_after_refresh(self._show_about)

    @property
    def _work(self) -> Work | None:
        found = work_of(self._chat.agent.conversations, self._chat.session_id or "")
        return next((each for each in found if each.key == self._session_id), None)

    def _show_about(self) -> None:
        work = self._work
        keys = "esc back · enter folds" + (" · x cancels" if work and work.can_cancel else "")
        state = f"{work.sign} {single_line(work.word, 20)} · " if work is not None else ""
        title = single_line(work.title if work is not None else self._session_id, 80)
        self.query_one(Vertical).border_title = Content(f"Subagent: {title}")
        if self._about != f"{state}{keys}":
            self._about = f"{state}{keys}"
            self.query_one("#subagent-about", Static).update(self._about)

    @on(TranscriptView.ItemOpened)
    def open_other(self, event: TranscriptView.ItemOpened) -> None:
        if isinstance(event.item, SubagentItem):
            self.app.push_screen(SubagentScreen(self._chat, event.item.session_id))
        else:
            show_attachments(self, event.item, self._chat.cwd)

    def action_cancel_work(self) -> None:
        work = self._work
        if work is not None and work.can_cancel:
            self._chat.cancel_work(work)
            self.notify("Asked the agent to stop this.")
        else:
            self.notify("The agent cannot cancel only this.", severity="warning")


def _line(work: Work) -> Content:
    kind = single_line(KINDS.get(work.kind, work.kind), 14)
    indent = "  " * work.depth
    title = single_line(f"{indent}{work.title}", 30) if work.depth else single_line(work.title, 30)
    return Content.assemble(
        f"{work.sign} ",
        (f"{title:<30}  ", "bold"),
        (f"{kind:<10}  {single_line(work.word, 14):<12}", "$text-muted"),
        ("  x cancels" if work.can_cancel else "", "$text-muted"),
    )
