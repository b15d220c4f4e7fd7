"""The chat: a conversation with one agent, and its traffic beside it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import Provider
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static

from acp_console.client.agents import AgentSpec
from acp_console.tui.commands import bindings
from acp_console.tui.messages import (
    JournalGrew,
    LinkEnded,
    LinkOpened,
    PermissionAsked,
    TurnFailed,
)
from acp_console.tui.talk import Talk
from acp_console.tui.widgets.analysis_palette import AnalysisDeeds
from acp_console.tui.widgets.conversation import ConversationView
from acp_console.tui.widgets.editor import PromptEditor
from acp_console.tui.widgets.inspection import Inspection
from acp_console.tui.widgets.permission import PermissionPrompt
from acp_console.tui.widgets.traffic_palette import TrafficDeeds
from acp_inspector.analysis.conversation import Conversation
from acp_inspector.analysis.conversations import Conversations
from acp_inspector.journal import Frame, Journal
from acp_protocol.errors import AcpError
from acp_protocol.host.text import one_line, visible

WIDE: Final = 120
"""Columns from which on the traffic stands beside the chat, and not in its place."""
WELCOME_DEMO = """\
This is the demo agent. It needs no key and no network, and what it does is real.

Try one of these:

  /tour               each feature once
  read README.md      read a file of this directory
  edit notes.txt      change one, after asking you
  run ls              run a program, after asking you
  help                everything it can do

F2 shows every frame on the wire beside it, and what is wrong with it."""
WELCOME = "Write to the agent below. F2 shows every frame on the wire beside the conversation."


class ChatInspection(Inspection):
    """The traffic of a chat, from which the key that led there leads back."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("traffic of a chat")


class ChatScreen(Screen[None]):
    """One agent, one session."""

    CSS_PATH = "chat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("chat")
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {
        TrafficDeeds,
        AnalysisDeeds,
    }
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - Textual's own

    conversation = getters.query_one("#conversation", ConversationView)
    inspection = getters.query_one("#inspection", Inspection)
    editor = getters.query_one("#editor", PromptEditor)

    def __init__(self, agent: AgentSpec, cwd: Path, record: Path | None = None) -> None:
        super().__init__()
        self._agent = agent
        self._cwd = cwd
        self._record = record
        self._title = agent.title
        self._talk: Talk | None = None
        self._journal = Journal()
        """Of all talks of this screen: who started the agent anew still wants to see why."""
        self._read = 0
        self._conversations = Conversations(self._agent.opened_dialect())
        self._session_id: str | None = None
        self._state = "starting"
        self._queued: str | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="status", classes="bar")
        with Horizontal(id="panes"):
            with Vertical(id="talk"):
                welcome = WELCOME_DEMO if self._agent.is_ours else WELCOME
                yield ConversationView(welcome, id="conversation")
                yield Static(id="problem", markup=False)
                yield Static(id="hints", markup=False)
                yield PromptEditor(id="editor")
            yield ChatInspection(now=self._now, id="inspection")
        yield Footer()

    def on_mount(self) -> None:
        """Start the agent."""
        self.inspection.display = False
        self.query_one("#problem").display = False
        self.query_one("#hints").display = False
        self.editor.focus()
        self._start()

    async def on_unmount(self) -> None:
        """End the agent with the screen."""
        if self._talk is not None:
            await self._talk.close()

    # What the talk tells

    async def on_journal_grew(self, message: JournalGrew) -> None:
        """Catch up with the journal, and show what changed."""
        del message
        await self._catch_up()

    async def _catch_up(self) -> None:
        entries = self._journal.entries[self._read :]
        self._read += len(entries)
        self.inspection.extend(entries)
        changes = [
            change
            for entry in entries
            if isinstance(entry, Frame)
            for change in self._conversations.apply(entry)
            if change.session_id == self._session_id or self._session_id is None
        ]
        await self.conversation.sync([change.item for change in changes if change.item])
        self._offer_focus()
        self._tell_status()

    def on_link_opened(self, message: LinkOpened) -> None:
        """Say that the agent is there."""
        self._session_id = message.session_id
        self._title = message.title
        self._state = "ready"
        self._tell_status()
        self._send_queued()

    def on_link_ended(self, message: LinkEnded) -> None:
        """Say what happened to the agent, and what can be done."""
        self._state = "stopped"
        self._show_problem(message.problem, "F5 starts the agent anew, F3 goes to the agents.")
        self._tell_status()

    def on_turn_failed(self, message: TurnFailed) -> None:
        """Say why the prompt was refused."""
        self._show_problem(message.problem, "The agent is still there; write another prompt.")
        self._tell_status()

    def on_permission_asked(self, message: PermissionAsked) -> None:
        """Let the user see the question; it comes up with its tool call."""
        del message
        self._offer_focus()

    # What the user does

    @on(PromptEditor.Submitted, "#editor")
    def send(self, event: PromptEditor.Submitted) -> None:
        """Send the prompt, or keep one until the running turn has ended."""
        self.query_one("#problem").display = False
        if self._session_id is None or self._is_busy():
            self._queued = event.text if self._queued is None else f"{self._queued}\n{event.text}"
        else:
            self._prompt(event.text)
        self._tell_status()

    @on(PromptEditor.Changed, "#editor")
    def hint_commands(self) -> None:
        """List the agent's commands while one is being typed."""
        text = self.editor.text
        hints = self.query_one("#hints", Static)
        names = self._command_lines(text) if text.startswith("/") and "\n" not in text else []
        hints.display = bool(names)
        hints.update("\n".join(names))

    @on(PermissionPrompt.Chosen)
    def answer_permission(self, event: PermissionPrompt.Chosen) -> None:
        """Give the agent the user's answer."""
        if self._talk is not None:
            self._talk.decider.answer(event.request_id, event.option_id)
        self.editor.focus()

    def action_cancel(self) -> None:
        """Stop the running turn; forget what waits to be sent."""
        self._queued = None
        if self._talk is not None and self._is_busy():
            self._state = "stopping"
            self._talk.cancel()
        self._tell_status()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the whole width to the traffic where it has not got it anyway."""
        del parameters
        return action != "alone" or self.size.width >= WIDE

    def on_resize(self) -> None:
        """Offer what there is room for."""
        self.refresh_bindings()

    def action_traffic(self) -> None:
        """Show or hide the traffic, which stays as it is meanwhile."""
        self._show_traffic(not self.inspection.display)

    def action_alone(self) -> None:
        """Give the whole width to the traffic, or let the chat stand beside it again."""
        self.toggle_class("-alone")
        self._show_traffic(True)

    def _show_traffic(self, is_shown: bool) -> None:
        self.inspection.display = is_shown
        self.set_class(is_shown, "-traffic")
        if is_shown:
            # It can have the focus once it is shown.
            self.call_after_refresh(self.inspection.focus_content)
        else:
            self.remove_class("-alone")
            # An open question is what the next key should answer.
            (self.conversation.open_prompt() or self.editor).focus()

    async def action_restart(self) -> None:
        """End the agent and start it anew, in a session of its own."""
        if self._talk is not None:
            await self._talk.close()
            await self._catch_up()
        self._state = "starting"
        self._session_id = None
        self.query_one("#problem").display = False
        self._start()

    def action_home(self) -> None:
        """Leave for the list of agents; the agent ends."""
        self.dismiss(None)

    # Inside

    def _start(self) -> None:
        self._conversations = Conversations(self._agent.opened_dialect())
        record, self._record = self._record, None
        self._talk = Talk(self, self._agent, self._cwd, self._journal, record)
        self.run_worker(self._talk.run(), group="talk", exclusive=True, exit_on_error=True)
        self._tell_status()

    def _prompt(self, text: str) -> None:
        if self._talk is not None:
            self._state = "working"
            self._talk.prompt(text)

    def _send_queued(self) -> None:
        if self._queued is not None and not self._is_busy():
            text, self._queued = self._queued, None
            self._prompt(text)

    def _is_busy(self) -> bool:
        return self._talk is not None and self._talk.is_busy

    def _now(self) -> float | None:
        """Return the seconds since the journal began, while an agent is there."""
        if self._state == "stopped":
            return None
        return (datetime.now(UTC) - self._journal.created).total_seconds()

    def _offer_focus(self) -> None:
        """Put a question for consent under the keys, unless the user is writing."""
        prompt = self.conversation.open_prompt()
        if prompt is not None and not self.editor.text and self.focused is self.editor:
            prompt.focus()
        if prompt is not None:
            prompt.scroll_visible(animate=False)

    def _command_lines(self, text: str) -> list[str]:
        talk = self._current()
        lines: list[str] = []
        for command in talk.surroundings.commands if talk else []:
            match command:
                case {"name": str(name), "description": str(about)} if f"/{name}".startswith(text):
                    lines.append(f"/{one_line(name, 20):<12} {one_line(about, 80)}")
                case _:
                    continue
        return lines

    def _current(self) -> Conversation | None:
        return self._conversations.sessions.get(self._session_id or "")

    def _show_problem(self, problem: AcpError, advice: str) -> None:
        tail: tuple[str, ...] = getattr(problem, "stderr_tail", ())
        last = "".join(f"\n  | {line}" for line in tail[-5:])
        box = self.query_one("#problem", Static)
        box.update(Text(visible(f"✗ {problem}{last}\n{advice}")))
        box.display = True

    def _tell_status(self) -> None:
        talk = self._current()
        state = self._state
        if self._session_id is not None and state not in {"stopped", "stopping"}:
            is_asking = self.conversation.open_prompt() is not None
            state = "waits for you" if is_asking else "working" if self._is_busy() else "ready"
        if state == "stopping" and not self._is_busy():
            state = self._state = "ready"
        sign = {"ready": "●", "stopped": "✗", "waits for you": "?"}.get(state, "◐")
        parts = [f"{sign} {state}", one_line(self._title, 40)]
        if talk is not None and talk.surroundings.current_mode:
            parts.append(f"mode {one_line(talk.surroundings.current_mode, 20)}")
        if talk is not None and talk.surroundings.title:
            parts.append(one_line(talk.surroundings.title, 40))
        if self._queued is not None:
            parts.append("1 prompt queued")
        self.query_one("#status", Static).update(Text("  ·  ".join(parts), no_wrap=True))
        if state == "ready":
            self._send_queued()
