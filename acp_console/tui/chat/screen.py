"""The chat screen: a conversation with one agent, and its traffic next to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from rich.style import Style
from rich.text import Text
from textual import getters, on, work
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Click, Key
from textual.message import Message
from textual.screen import Screen
from textual.theme import Theme
from textual.timer import Timer
from textual.widgets import Input, Static

from acp_console.chat.alarms import UNASKED
from acp_console.chat.changed_files import ChangedFiles
from acp_console.chat.chat_session import ChatSession, SessionSetup
from acp_console.chat.connection import OpeningWay
from acp_console.chat.logins import LoginMethod, login_line
from acp_console.chat.open_asks import OpenAsks
from acp_console.chat.open_chats import OpenChats
from acp_console.chat.shell import Shell
from acp_console.kept.preferences import PaneLayout
from acp_console.tui.chat.account import AccountScreen, account_text
from acp_console.tui.chat.ask import Ask, KeyAsk, PermissionTiming
from acp_console.tui.chat.ask_area import AskArea
from acp_console.tui.chat.attachments import show_attachments
from acp_console.tui.chat.choice_list import ChoiceAsk
from acp_console.tui.chat.editor import PLACEHOLDER, PromptEditor
from acp_console.tui.chat.form import Answered
from acp_console.tui.chat.input_screen import InputScreen
from acp_console.tui.chat.login import LoginView
from acp_console.tui.chat.new_session import NewSessionScreen
from acp_console.tui.chat.options import OptionsScreen
from acp_console.tui.chat.permission import PermissionView
from acp_console.tui.chat.prompt_area import PromptArea
from acp_console.tui.chat.queue import QueuedPrompts
from acp_console.tui.chat.sessions import SessionsScreen
from acp_console.tui.chat.sidebar import ChatSidebar, PastTalk, chat_title, moment
from acp_console.tui.chat.traffic_side import TrafficSide
from acp_console.tui.chat.turn_line import TurnLine
from acp_console.tui.chat.work import SubagentScreen, WorkScreen
from acp_console.tui.commands import bindings
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.footer import KeyFooter
from acp_console.tui.news import News
from acp_console.tui.textual_fixes import set_timer, suspended
from acp_console.tui.transcript.cards import ToolCard
from acp_console.tui.transcript.rows import Look
from acp_console.tui.transcript.view import TranscriptView
from acp_console.wording.values import plural
from acp_inspector.session.items import (
    Item,
    SubagentItem,
    TurnEnd,
)
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json

WIDE: Final = 120
"""From this many columns on, the traffic is shown next to the chat, not instead of it."""
SIDEBAR_ROOM: Final = 100
"""Columns from which on the sidebar fits beside the chat."""
TRAFFIC_ROOM: Final = 50
"""Columns that the traffic beside the chat takes away."""
if TYPE_CHECKING:
    from acp_console.kept.prompt_history import PromptHistory

STOP_TIMEOUT_S: Final = 5.0
"""Seconds after which the status suggests restarting an agent that does not stop."""
WELCOME_DEMO = """\
This is the demo agent. It needs no key and no network, and what it does is real.

Try one of these:

  /tour               each feature once
  read README.md      read a file of this directory
  write notes.txt: hello
                      write one, after asking you
  run ls              run a program, after asking you
  help                everything it can do

^t shows every frame on the wire beside it, and what is wrong with it."""
NEXT_MODE: Final = Style(meta={"@click": "screen.next_mode"})
OPTIONS: Final = Style(meta={"@click": "screen.options"})
SHELL_COLUMNS: Final = 200
"""Columns of the terminal of a command, at most."""
SHELL_MARGIN: Final = 8
"""Columns of the transcript that are left and right of what a command writes."""
AGAIN: Final = "!!"
"""Runs the last command of the user once more."""
ALARM: Final = "alarm"
"""Marks in the bar what a click on leads to the options."""
EXPLAIN: Final = "Tell the agent why; Enter sends it as the next prompt"
WELCOME = "Write to the agent below. ^t shows every frame on the wire beside the conversation."


@dataclass(frozen=True)
class ChatWanted:
    """What the user wants beside the chat of `screen`.

    An open chat, or with `chat` None another session of the same agent.
    """

    screen: ChatScreen
    chat: ChatSession | None
    way: OpeningWay = "new"
    session_id: str | None = None
    setup: SessionSetup | None = None
    """Where it works and with what; None: as this one."""


class ChatScreen(Screen[None]):
    """One agent, one session."""

    AUTO_FOCUS = "#editor"

    CSS_PATH = "chat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("chat")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - Textual's own

    conversation = getters.query_one("#conversation", TranscriptView)
    sidebar = getters.query_one("#sidebar", ChatSidebar)
    editor = getters.query_one("#editor", PromptEditor)

    @dataclass
    class CloseWanted(Message):
        """The user wants to close this chat."""

        screen: ChatScreen

    @dataclass
    class SaveWanted(Message):
        """The user wants to save what was said in a chat."""

        chat: ChatSession

    def __init__(
        self,
        chat: ChatSession,
        chats: OpenChats,
        go_to: Callable[[ChatWanted], None],
        timing: PermissionTiming | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
        draft: str = "",
        history: Callable[[], PromptHistory] | None = None,
        layout: PaneLayout | None = None,
    ) -> None:
        """Show `chat`; `go_to` shows another one.

        It is called, not sent a message, because a key that comes at once would overtake it.
        """
        super().__init__()
        self.chat = chat
        self._chats = chats
        self._go_to = go_to
        self._timing = timing or PermissionTiming()
        self.prompt = PromptArea(chat, draft, history, self._timing.clock)
        self._open_asks = OpenAsks(chat)
        self.asks = AskArea(self._open_asks, self._timing)
        self.turn_line = TurnLine(chat, id="turn")
        self.queue = QueuedPrompts(id="queue")
        self.traffic = TrafficSide(self, chat, layout or PaneLayout())
        self._files = ChangedFiles()
        self._sidebar_choice: bool | None = None
        """Whether the user wants the sidebar; None: where it fits."""
        self._state_shown: tuple[object, ...] = ()
        self._past_shown: PastTalk | None = None
        """The moment that the bar above is of; None: now."""
        self._account_shown: Json = None
        self._is_ours = chat.spec.is_embedded_demo
        self._has_warned = False
        self._stop_timeout_s = stop_timeout_s
        self._stop_timer: Timer | None = None
        self._is_stop_overdue = False
        self._could_cancel = self._has_left = False
        self.shell = Shell(chat.cwd, chat.show)
        self._is_shell_newest = False
        """Whether a command of the user was started after the turn."""
        self._bar_texts: dict[str, Text] = {}
        """The texts that stand in the bars: each is drawn again only when it changes."""

    def compose(self) -> ComposeResult:
        yield Static(id="status", classes="bar", markup=False)
        with Horizontal(id="panes"):
            yield ChatSidebar(self._chats, self.chat, id="sidebar")
            with Vertical(id="talk"):
                yield TranscriptView(id="conversation")
                with Horizontal(id="search-bar"):
                    yield Input(placeholder="Search the transcript", id="search", compact=True)
                    yield Static(id="search-count", markup=False)
                yield self.asks
                yield Static(id="problem", markup=False)
                yield self.turn_line
                yield self.queue
                yield self.prompt
        yield KeyFooter()

    def on_mount(self) -> None:
        self._search_bar.display = False
        self.query_one("#problem").display = False
        self._show_sidebar()
        self._stop_listening = self._chats.changed.add(self._show_chats)
        self.app.theme_changed_signal.subscribe(self, self._take_theme)
        # Not before all widgets are there.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.chat.on_change = News(self, self._take_changes)
        self.chat.on_change()

    def _take_theme(self, _theme: Theme) -> None:
        # The other widgets draw themselves anew.
        self.call_after_refresh(self._show_status)

    async def on_unmount(self) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Close the chat; the end of its agent may take seconds."""
        if not self._has_left:
            self._has_left = True
            self._stop_listening()
            self.chat.on_change = lambda: None
            self.prompt.keep_draft()
            self._chats.remove(self.chat)
        await self.shell.close()
        await self.chat.close()

    def on_screen_resume(self) -> None:
        self._show_chats()
        self.turn_line.look()
        if self.asks.shown is not None:
            # Another screen has covered it until now.
            self.asks.shown.on_show()

    def _show_chats(self) -> None:
        if self.is_current:
            past = self.traffic.past
            self.sidebar.show(self._files, past)
            self.turn_line.rewind(past)
            if past != self._past_shown:
                self._past_shown = past
                self._show_status()

    async def _take_changes(self) -> bool:
        """Take what has come, in slices: keys are handled between them; return if there is more."""
        asks = self.asks
        if not asks.is_attached:
            # It is being removed.
            return False
        items = self.chat.take_changes()
        self.traffic.feed()
        if self.chat.take_reset():
            self.conversation.reset()
            self._files.clear()
        was_in_prompt = asks.has_focus_within
        self.conversation.sync(items)
        self._open_asks.note(items)
        await asks.show()
        if was_in_prompt and not asks.has_focus_within:
            # The prompt is gone; what the user types next is a message.
            self.editor.focus()
        asks.offer_focus(self.editor)
        self._show_status()
        self._show_error()
        self.turn_line.look()
        self.queue.show_prompts(self.chat.queued)
        self.editor.has_queue = bool(self.chat.queued)
        self._files.note(items)
        self._show_chats()
        self._announce()
        self._announce_account()
        if self._can_stop != self._could_cancel:
            self._could_cancel = self._can_stop
            self.refresh_bindings()
        return self.chat.is_behind

    def _announce(self) -> None:
        """Report a new state to the other chats, and to the app, which calls the user."""
        chat = self.chat
        state = (chat.state, chat.is_waiting_for_user, chat.needs_login, chat_title(chat))
        if state != self._state_shown:
            self._state_shown = state
            self._chats.changed()

    def settled_items(self) -> list[Item]:
        """Return all that is shown, except for calls that the user is asked about."""
        cards = self.conversation.cards
        return [each.item for each in cards if not (isinstance(each, ToolCard) and each.is_open)]

    def open_prompt(self) -> Ask | None:
        """Return what asks the user, if something does."""
        return self.asks.shown

    @on(Answered)
    def answer_elicitation(self, event: Answered) -> None:
        self.chat.answer_elicitation(event.request, event.answer)
        self.editor.focus()

    @on(LoginView.MethodChosen)
    @work
    async def log_in(self, event: LoginView.MethodChosen) -> None:
        """Log in as the user has chosen; what a program does is done in this terminal."""
        method = event.method
        self._open_asks.wants_login = False
        if method.kind == "variables":
            if await self._may_restart():
                self.chat.agent.restart(event.variables)
        elif method.kind == "agent":
            self.chat.log_in(method.id)
        elif await self._agrees(
            f"The agent wants this to run in this terminal:\n\n  "
            f"{escape_controls(login_line(method))}\n\nRun it?",
            "Run",
        ):
            self._run_login(method)
        self.editor.focus()

    def _run_login(self, method: LoginMethod) -> None:
        environment = {**os.environ, **(method.env or {})}
        try:
            with suspended(self):
                subprocess.run(method.command, env=environment, cwd=self.chat.cwd, check=True)
            self.chat.log_in()
        except (OSError, subprocess.CalledProcessError, SuspendNotSupported) as why:
            text = f"{login_line(method)} did not work: {why}"
            self.notify(escape_controls(text), severity="error", markup=False)

    @work
    async def action_account(self) -> None:
        """Show who is logged in, and log in or out."""
        link = self.chat.agent.link
        if link is None:
            self.notify("The agent is not running.", severity="warning")
            return
        chosen = await self.app.push_screen_wait(AccountScreen(link))
        if chosen == "out":
            self.chat.log_out()
        elif chosen == "in":
            self._open_asks.wants_login = True
            await self.asks.show()
            prompt = self.open_prompt()
            if prompt is not None:
                prompt.take_focus()

    @on(LoginView.LoginCancelled)
    async def leave_login(self) -> None:
        self._open_asks.wants_login = False
        await self.asks.show()
        self.editor.focus()

    def _announce_account(self) -> None:
        """Report a login that is over; the agent says so by itself."""
        account = self.chat.agent.account
        if account is not self._account_shown:
            self._account_shown = account
            if account is not None:
                self.notify(f"{single_line(self.chat.title, 40)}: {account_text(account)}",
                            markup=False)  # fmt: skip

    @work
    async def action_rename(self) -> None:
        """Give the session another title."""
        link = self.chat.agent.link
        if link is None or not link.can("title") or self.chat.session_id is None:
            self.notify("This agent cannot rename sessions.", severity="warning")
            return
        title = self.chat.session_title
        label = "New title of this session. Enter saves it, Esc cancels."
        chosen = await self.app.push_screen_wait(InputScreen(label, single_line(title, 200)))
        if chosen is not None:
            self.chat.rename(chosen)

    @on(PromptEditor.Submitted, "#editor")
    def send(self, event: PromptEditor.Submitted) -> None:
        self.prompt.close_menu()
        if event.text.startswith("!"):
            self._run_in_shell(event.text)
            return
        if self.chat.has_failed_to_start:
            self.editor.put(event.text)
            text = "Not sent: the agent did not start. alt+r tries again, ctrl+o lists the agents."
            self.notify(text, severity="warning", markup=False)
            return
        self.editor.placeholder = PLACEHOLDER
        self.prompt.remember(event.text)
        self.conversation.action_end()
        self._is_shell_newest = False
        # A prompt that begins with ! is written \!
        self.chat.send(event.text[1:] if event.text.startswith("\\!") else event.text)

    def _run_in_shell(self, text: str) -> None:
        """Run a command of the user, or write to the one that runs."""
        self.conversation.action_end()
        if text.startswith("!<"):
            self._write_to_shell(text.removeprefix("!<").removeprefix(" "))
        elif text == AGAIN and not self.shell.last:
            self.notify("No command of yours ran in this chat that could run again.")
        elif line := self.shell.last if text == AGAIN else text.removeprefix("!").strip():
            self.prompt.remember(text)
            self._is_shell_newest = True
            columns = max(min(self.conversation.size.width, SHELL_COLUMNS) - SHELL_MARGIN, 20)
            self.run_worker(self.shell.run(line, columns), group="shell", exit_on_error=True)

    @work(group="shell input")
    async def _write_to_shell(self, text: str) -> None:
        if not await self.shell.write(text):
            self.notify("No command of yours runs that could read it.", severity="warning")

    @on(TranscriptView.Offered)
    def offer_to_agent(self, event: TranscriptView.Offered) -> None:
        self.editor.insert(event.text)
        self.editor.focus()

    def action_history(self) -> None:
        self.prompt.search_history()

    def action_edit_outside(self) -> None:
        self.prompt.edit_outside()

    @on(PermissionView.OptionChosen)
    def answer_permission(self, event: PermissionView.OptionChosen) -> None:
        if self.chat.answer(event.permission, event.option_id, event.prompt.subject_shown):
            self.editor.placeholder = EXPLAIN if event.wants_to_explain else PLACEHOLDER
            self.editor.focus()

    @on(PromptEditor.Changed, "#editor")
    def note_message(self) -> None:
        if isinstance(prompt := self.open_prompt(), ChoiceAsk):
            prompt.note_message(self.editor.text)

    @on(KeyAsk.TextTyped)
    def type_in_editor(self, event: KeyAsk.TextTyped) -> None:
        self.editor.insert(event.text)
        self.editor.last_key_at = self._timing.clock()
        self.editor.focus()

    @on(KeyAsk.Entered)
    def submit_what_was_typed(self) -> None:
        self.editor.submit()

    def action_cancel(self) -> None:
        """Stop what began last: a command of the user, or the turn.

        Prompts that were not sent go back to the editor.
        """
        if self.shell.newest is not None and (self._is_shell_newest or not self._can_stop_turn):
            self._is_shell_newest = False
            self.run_worker(self.shell.stop(), group="shell input")
            return
        unsent = self.chat.cancel()
        if unsent:
            self._put_back(unsent)
            self.notify(
                f"Not sent, back in the editor: {plural(len(unsent), 'prompt')}.", markup=False
            )

    def _put_back(self, prompts: list[str]) -> None:
        """Write prompts into the editor, before what is there."""
        text = self.editor.text
        # They were prompts, and are none for the shell now.
        prompts = [f"\\{each}" if each.startswith("!") else each for each in prompts]
        self.editor.put("\n".join([*prompts, text] if text else prompts))

    # The queue

    @on(QueuedPrompts.Edited)
    def edit_queued(self, event: QueuedPrompts.Edited) -> None:
        if self.chat.take_back(event.place, event.text):
            self._put_back([event.text])
        self.editor.focus()

    @on(PromptEditor.QueueWanted)
    def edit_newest(self) -> None:
        """Take the newest prompt of the queue back, to change it."""
        queued = self.chat.queued
        if queued and self.chat.take_back(len(queued) - 1, text := queued[-1]):
            self._put_back([text])

    @on(QueuedPrompts.Removed)
    def remove_queued(self, event: QueuedPrompts.Removed) -> None:
        if not self.chat.take_back(event.place, event.text):
            self.notify("That prompt was sent already.", markup=False)

    @on(QueuedPrompts.EditorWanted)
    def leave_queue(self) -> None:
        self.editor.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer commands that have an effect now; Esc in the traffic does not cancel the turn."""
        del parameters
        match action:
            case "alone":
                return self.size.width >= WIDE
            case "cancel" if self._is_searching:
                return False
            case "cancel":
                return self._can_stop and not self.traffic.has_focus
            case _:
                return True

    @property
    def _can_stop_turn(self) -> bool:
        return self.chat.is_busy or bool(self.chat.queued)

    @property
    def _can_stop(self) -> bool:
        """Whether something runs that Esc stops."""
        return self._can_stop_turn or self.shell.newest is not None

    def on_click(self, event: Click) -> None:
        if event.style.meta.get(ALARM):
            self.action_options()

    @property
    def _is_searching(self) -> bool:
        return isinstance(self.focused, Input) and self.focused.id == "search"

    @property
    def _search_bar(self) -> Horizontal:
        return self.query_one("#search-bar", Horizontal)

    def on_key(self, event: Key) -> None:
        if not self._is_searching:
            return
        if event.key == "escape":
            event.stop()
            self.action_leave_transcript()
        elif event.key in {"up", "down"}:
            event.stop()
            self.conversation.action_search_on(-1 if event.key == "up" else 1)

    def on_resize(self) -> None:
        self._show_sidebar()
        self.refresh_bindings()

    # The traffic

    async def action_traffic(self) -> None:
        await self._show_traffic(not self.traffic.is_shown)

    async def action_alone(self) -> None:
        await self.traffic.prepare()
        self.toggle_class("-alone")
        await self._show_traffic(True)

    def key_f4(self) -> None:
        """Explain why the key does nothing in a narrow terminal; the command is off there."""
        if self.size.width < WIDE:
            text = f"Chat and traffic fit side by side from {WIDE} columns on; ^t changes."
            self.notify(text, markup=False)

    async def _show_traffic(self, is_shown: bool) -> None:
        if is_shown:
            await self.traffic.prepare()
        with self.app.batch_update():
            self.set_class(is_shown, "-traffic")
            if not is_shown:
                self.remove_class("-alone")
            self.traffic.show(is_shown)
            self._show_sidebar()
        if not is_shown:
            # An open permission prompt is what the next key should answer.
            prompt = self.open_prompt()
            if prompt is None:
                self.editor.focus()
            else:
                prompt.take_focus()

    # One cursor for the conversation and its traffic

    def on_traffic_pane_entry_chosen(self) -> None:
        self._rewind()

    def on_talk_pane_shown(self) -> None:
        self._show_chats()

    def _rewind(self) -> None:
        """Show conversation and sidebar at the cursor of the traffic, or as they are now."""
        self.traffic.rewind()
        self._show_chats()

    def on_descendant_focus(self) -> None:
        if not (self._is_searching or self.conversation.has_focus):
            self._search_bar.display = False
        self._rewind()

    @on(TranscriptView.CardChosen)
    def move_traffic(self, event: TranscriptView.CardChosen) -> None:
        conversation = self.chat.conversation
        if conversation is not None and self.traffic.is_shown and self.conversation.has_focus:
            frame = conversation.frame_of(self.conversation.cards[event.place].item)
            if frame is not None:
                self.traffic.pane.traffic.go_to_entry(frame)

    # Subagents and background work

    @work
    async def action_work(self) -> None:
        session_id = await self.app.push_screen_wait(WorkScreen(self.chat))
        if session_id is not None:
            self.app.push_screen(SubagentScreen(self.chat, session_id))

    @on(ChatSidebar.SubagentOpened)
    def open_subagent(self, event: ChatSidebar.SubagentOpened) -> None:
        self.app.push_screen(SubagentScreen(self.chat, event.session_id))

    @on(TranscriptView.ItemOpened)
    def open_from_transcript(self, event: TranscriptView.ItemOpened) -> None:
        if isinstance(event.item, SubagentItem):
            self.app.push_screen(SubagentScreen(self.chat, event.item.session_id))
        else:
            show_attachments(self, event.item, self.chat.cwd)

    # The transcript

    def action_page(self, by: int) -> None:
        self.conversation.action_page(by)

    def action_transcript_top(self) -> None:
        self.conversation.action_top()

    def action_transcript_end(self) -> None:
        self.conversation.action_end()

    def action_leave_transcript(self) -> None:
        self._close_search()
        self.conversation.clear_selection()
        self.editor.focus()

    def action_search(self) -> None:
        self._search_bar.display = True
        self.query_one("#search", Input).focus()

    @on(Input.Changed, "#search")
    def search_at_once(self, event: Input.Changed) -> None:
        self.conversation.search(event.value)

    @on(TranscriptView.Searched)
    def show_search(self, event: TranscriptView.Searched) -> None:
        search = self.query_one("#search", Input)
        search.set_class(bool(search.value) and not event.total, "-nothing")
        count = f"{event.number}/{event.total}  ↑ ↓ or n N" if event.total else "not found"
        self.query_one("#search-count", Static).update(count if search.value else "")

    @on(Input.Submitted, "#search")
    def search_done(self, event: Input.Submitted) -> None:
        """Go on in the transcript, by n and N; the count stays in sight."""
        if not event.value:
            self._close_search()
        self.conversation.focus()

    def _close_search(self) -> None:
        self._search_bar.display = False
        with self.prevent(Input.Changed):
            self.query_one("#search", Input).value = ""
        self.conversation.search("")

    def action_copy(self) -> None:
        text = self.conversation.selected_text()
        if text:
            self.conversation.copy(text)
        elif self.check_action("cancel", ()):
            self.action_cancel()

    @on(TranscriptView.LetterTyped)
    def type_from_transcript(self, event: TranscriptView.LetterTyped) -> None:
        self.editor.insert(event.character)
        self.editor.focus()

    def action_save(self) -> None:
        self.post_message(self.SaveWanted(self.chat))

    @work
    async def action_restart(self) -> None:
        if await self._may_restart():
            self._files.clear()
            self.chat.restart()

    async def _may_restart(self) -> bool:
        text = "A turn is running, and restarting the agent ends it. Restart?"
        return self.chat.state != "working" or await self._agrees(text, "Restart")

    def action_leave_editor(self) -> None:
        """Focus what asks the user, otherwise the next part of the screen."""
        prompt = self.open_prompt()
        if prompt is None and self.queue.display:
            self.queue.focus()
        elif prompt is None:
            self.focus_next()
        elif prompt.can_focus:
            prompt.focus()
        else:
            prompt.take_focus()

    def action_mode_or_back(self) -> None:
        """Go to the next mode; while something asks the user, to that or the field before."""
        prompt = self.open_prompt()
        if prompt is None:
            self.action_next_mode()
        elif prompt.has_focus_within:
            self.focus_previous()
        else:
            self.action_leave_editor()

    def action_next_mode(self) -> None:
        option = next((each for each in self.chat.options if each.category == "mode"), None)
        if option is None:
            self.notify("This agent has no modes.", severity="warning")
        else:
            self.chat.set_option(option, option.value_after())

    @work
    async def action_options(self) -> None:
        chosen = await self.app.push_screen_wait(OptionsScreen(self.chat.options))
        if chosen is not None:
            self.chat.set_option(*chosen)

    def action_home(self) -> None:
        self.app.pop_screen()

    def action_new(self) -> None:
        self._go_to(ChatWanted(self, None))

    @work
    async def action_new_with(self) -> None:
        """Choose what another session begins with."""
        # It takes time to import, and many chats do without.
        from acp_console.agents.catalogue import known_servers

        spec, link, setup = self.chat.spec, self.chat.agent.link, self.chat.setup
        chosen = spec.mcp_servers if setup.servers is None else setup.servers
        try:
            servers = known_servers(spec)
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="warning", markup=False)
            servers = [*chosen]
        takes_directories = link is not None and link.can("additionalDirectories")
        screen = NewSessionScreen(setup, servers, chosen, takes_directories=takes_directories)
        wanted = await self.app.push_screen_wait(screen)
        if wanted is not None:
            self._go_to(ChatWanted(self, None, setup=wanted))

    @work
    async def action_sessions(self) -> None:
        """Choose one of the sessions that the agent keeps."""
        link = self.chat.agent.link
        if link is None or not link.can("list"):
            self.notify("This agent does not list its sessions.", severity="warning")
            return
        chosen = await self.app.push_screen_wait(SessionsScreen(self.chat.cwd, link))
        if chosen is None:
            return
        for chat in self._chats.chats:
            if chat.agent is self.chat.agent and chat.session_id == chosen.session_id:
                self._go_to(ChatWanted(self, chat))
                return
        way: OpeningWay = "load" if link.can("load") else "resume"
        setup = SessionSetup(chosen.cwd, chosen.directories)
        own = [each.resolve() for each in (self.chat.cwd, *self.chat.setup.directories)]
        try:
            outside = [
                escape_controls(str(each))
                for each in (setup.cwd, *setup.directories)
                if not any(each.resolve().is_relative_to(root) for root in own)
            ]
        except (OSError, ValueError, RuntimeError):
            # With a NUL, or links in a circle.
            self.notify("A directory of this session cannot be used.", severity="error")
            return
        text = "In this session the agent may also read and write:\n\n  {}\n\nOpen it?"
        if not outside or await self._agrees(text.format("\n  ".join(outside)), "Open"):
            self._go_to(ChatWanted(self, None, way, chosen.session_id, setup))

    def action_fork(self) -> None:
        """Go on in a copy of this session."""
        link = self.chat.agent.link
        if link is None or not link.can("fork") or self.chat.session_id is None:
            self.notify("This agent cannot fork sessions.", severity="warning")
        else:
            self._go_to(ChatWanted(self, None, "fork", self.chat.session_id, self.chat.setup))

    def action_switch(self, by: int) -> None:
        self._go_to(ChatWanted(self, self._chats.beside(self.chat, by)))

    @on(ChatSidebar.Switched)
    def switch_chat(self, event: ChatSidebar.Switched) -> None:
        self._go_to(ChatWanted(self, event.chat))

    @work
    async def action_close(self) -> None:
        text = "Close this chat? This ends its agent and the running turn."
        if len(self.chat.agent.sessions) > 1:
            text = "Close this chat? This stops its turn; the agent goes on with its other chats."
        if not self.chat.is_busy or await self._agrees(text, "Close"):
            self.post_message(self.CloseWanted(self))

    async def _agrees(self, text: str, yes: str) -> bool:
        return bool(await self.app.push_screen_wait(ConfirmScreen(text, yes=yes, no="Keep")))

    def action_sidebar(self) -> None:
        self._sidebar_choice = not self.sidebar.display
        self._show_sidebar()

    def _show_sidebar(self) -> None:
        """Show the sidebar where it fits, or as the user has chosen."""
        room = self.size.width - (TRAFFIC_ROOM if self.traffic.is_shown else 0)
        is_shown = room >= SIDEBAR_ROOM if self._sidebar_choice is None else self._sidebar_choice
        self.sidebar.display = is_shown and not self.has_class("-alone")
        self.call_after_refresh(self._show_chats)

    def _watch_stop(self) -> None:
        """Offer a restart where the agent does not stop in time."""
        if self.chat.state != "stopping":
            self._is_stop_overdue = False
            if self._stop_timer is not None:
                self._stop_timer.stop()
                self._stop_timer = None
        elif self._stop_timer is None:
            self._stop_timer = set_timer(self, self._stop_timeout_s, self._offer_restart)

    def _offer_restart(self) -> None:
        self._is_stop_overdue = True
        self._show_status()

    def _show_error(self) -> None:
        error = self.chat.error
        items = self.chat.conversation.items if self.chat.conversation is not None else ()
        last = items[-1] if items else None
        if self.chat.needs_login or (isinstance(last, TurnEnd) and last.error):
            # What can be done is offered, or the transcript ends with it.
            error = None if self.chat.state != "stopped" or self.chat.needs_login else error
        box = self.query_one("#problem", Static)
        box.display = error is not None
        if error is None:
            self._bar_texts.pop("problem", None)
            return
        tail: tuple[str, ...] = getattr(error, "stderr_tail", ())
        hint = "The agent is still running; write another prompt."
        if self.chat.state == "stopped":
            hint = "alt+r restarts the agent, ctrl+o lists the agents."
        # What comes last may not fit.
        width = max(self.query_one("#talk").size.width - 10, 20)
        lines = [f"✗ {error}", hint, *(f"  | {single_line(line, width)}" for line in tail[-5:])]
        self._say("problem", Text(escape_controls("\n".join(lines))))

    def _say(self, name: str, text: Text) -> None:
        if self._bar_texts.get(name) != text:
            self._bar_texts[name] = text
            self.query_one(f"#{name}", Static).update(text)

    def _options_shown(self) -> list[tuple[str, Style]]:
        """Return mode and model, and with an alarm what lets the agent act without asking."""
        alarms = self.chat.alarms
        shown = [
            each
            for each in self.chat.options
            if (each.category in {"mode", "model"} or each in alarms) and each.current_name
        ]
        categories = [each.category for each in shown]
        parts: list[tuple[str, Style]] = []
        for option in shown:
            is_only = categories.count(option.category) == 1
            name = option.category if is_only else single_line(option.title.lower(), 24)
            style = NEXT_MODE if is_only and name == "mode" else OPTIONS
            text = f"{name} {single_line(option.current_name, 24)}"
            if option in alarms:
                text = f"⚠ {UNASKED['anything']}: {text}"
                # Links would have a colour of their own.
                color = Look.from_theme(self.app.theme_variables).warning
                style = color + Style(bold=True, meta={ALARM: True})
            parts.append((text, style))
        return parts

    def _show_status(self) -> None:
        chat = self.chat
        state = "waits for you" if chat.is_waiting_for_user else chat.state
        if chat.needs_login:
            state = "needs you to log in"
        is_open = chat.state != "stopped" and not chat.needs_login
        self.conversation.welcome((WELCOME_DEMO if self._is_ours else WELCOME) if is_open else "")
        parts: list[str | tuple[str, Style]] = [f"{chat.sign} {state}"]
        if (past := self._past_shown) is not None:
            then = "○ no session yet" if past.state is None else past.state.state
            look = Look.from_theme(self.app.theme_variables)
            parts = [(f"{then}, {moment(past.n)}", look.warning + Style(bold=True))]
        if chat.recording_failure:
            parts.append("✗ not recorded")
            if not self._has_warned:
                self._has_warned = True
                self.notify(escape_controls(chat.recording_failure), severity="error", markup=False)
        if chat.queued:
            parts.append(f"{plural(len(chat.queued), 'prompt')} queued")
        parts.append(single_line(chat.title, 40))
        parts += [f"dialect {chat.dialect}"] if chat.dialect else []
        parts += self._options_shown()
        if chat.session_title:
            parts.append(single_line(chat.session_title, 40))
        self._watch_stop()
        if self._is_stop_overdue:
            parts.append("alt+r restarts the agent")
        texts = [Text.assemble(part) for part in parts]
        self._say("status", Text("  ·  ", no_wrap=True).join(texts))
