"""The editor for prompts and the menu above it, which completes and searches."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer

from acp_console.chat.chat_session import ChatSession
from acp_console.chat.completion import (
    Suggestion,
    command_choices,
    file_choices,
    mention_before,
    replaced_by,
)
from acp_console.chat.project_files import project_files
from acp_console.tui.chat.editor import PromptEditor
from acp_console.tui.chat.prompt_menu import PromptMenu
from acp_console.tui.outside import edit
from acp_console.tui.textual_fixes import set_timer
from acp_protocol.host.sanitize import single_line

if TYPE_CHECKING:
    from acp_console.kept.prompt_history import PromptHistory

MAX_PROMPTS: Final = 50
"""Earlier prompts that are offered, at most."""
FILES_AGE_S: Final = 30.0
"""Seconds after which the files are looked for again."""
SHELL_TITLE: Final = "shell · the agent does not see it"
DRAFT_PAUSE_S: Final = 1.0
"""Seconds after which a changed draft is kept."""


class PromptArea(Vertical):
    """Where prompts are written; what is not sent is kept as the draft of the session."""

    DEFAULT_CSS = """
    PromptArea {
        height: auto;
    }
    """

    menu = getters.query_one("#menu", PromptMenu)
    editor = getters.query_one("#editor", PromptEditor)

    def __init__(
        self,
        chat: ChatSession,
        draft: str,
        history: Callable[[], PromptHistory] | None,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(id="prompt")
        self._chat = chat
        self._draft = draft
        self._draft_timer: Timer | None = None
        self._history = history
        self._clock = clock
        self._before_search: str | None = None
        """The draft before the user began to search earlier prompts; None while they do not."""
        self._project_files: list[str] | None = None
        """Files to mention; None before they were looked for."""
        self._is_looking = self._takes_first = False
        """Whether files are looked for, and whether the first that fits is taken then."""

    def compose(self) -> ComposeResult:
        yield PromptMenu(id="menu")
        yield PromptEditor(
            history=self._earlier_prompts,
            can_complete=self._can_complete,
            clock=self._clock,
            id="editor",
        )

    def on_mount(self) -> None:
        self.editor.put(self._draft)
        self.editor.focus()

    # The draft

    def keep_draft(self) -> None:
        """Keep what is not sent yet, also after this program."""
        self._draft_timer = None
        self._chat.keep_draft(self._draft)

    @on(PromptEditor.Changed, "#editor")
    def note_change(self) -> None:
        self._draft = self.editor.text
        self._takes_first = False
        is_command = self._draft.startswith("!")
        self.editor.set_class(is_command, "-shell")
        self.editor.border_title = Content(SHELL_TITLE if is_command else "")
        if self._draft_timer is None:
            self._draft_timer = set_timer(self, DRAFT_PAUSE_S, self.keep_draft)
        self._offer_menu()

    def remember(self, text: str) -> None:
        """Keep a prompt that is sent, to be found again."""
        if self._history is not None:
            self._history().add(text, self._chat.cwd)

    def _earlier_prompts(self, words: str = "") -> Sequence[str]:
        return [] if self._history is None else self._history().prompts(self._chat.cwd, words)

    def _put(self, text: str) -> None:
        """Write a text into the editor, with no menu."""
        self._draft = text
        with self.prevent(PromptEditor.Changed):
            self.editor.put(text)

    def edit_outside(self) -> None:
        """Write the prompt in $VISUAL or $EDITOR; nothing else happens meanwhile."""
        with tempfile.NamedTemporaryFile("w+", suffix=".md", encoding="utf-8") as file:
            file.write(self.editor.text)
            file.flush()
            if edit(self, Path(file.name)):
                text = Path(file.name).read_text(encoding="utf-8", errors="replace")
                self.editor.put(text.rstrip("\n"))

    # The menu

    def search_history(self) -> None:
        """Search the prompts that were sent before, by the words in the editor; or end that."""
        self._before_search = self.editor.text if self._before_search is None else None
        self.editor.focus()
        self._offer_menu()

    def close_menu(self) -> None:
        self._before_search = None
        self._show_menu(())

    def _offer_menu(self) -> None:
        before = self.editor.text_before_cursor
        choices: Sequence[Suggestion] = ()
        if self._before_search is not None:
            found = self._earlier_prompts(self.editor.text)
            choices = [Suggestion(text, single_line(text, 200)) for text in found[:MAX_PROMPTS]]
        elif commands := self._commands(before):
            choices = commands
        elif (mention := mention_before(before)) is not None:
            choices = self._mentions(mention)
        self._show_menu(choices, before)

    def _show_menu(self, choices: Sequence[Suggestion], before: str = "") -> None:
        self.menu.offer(choices)
        searches = self._before_search is not None
        self.editor.has_menu = bool(choices) or searches
        # A command that is written out is sent by Enter, until the user moves in the menu.
        is_whole = any(choice.name == before.strip() for choice in self._commands(before.strip()))
        self.editor.takes_enter = searches or (bool(choices) and not is_whole)

    def _commands(self, before: str) -> list[Suggestion]:
        conversation = self._chat.conversation
        return command_choices(conversation.info.commands if conversation else [], before)

    def _mentions(self, text: str) -> list[Suggestion]:
        if self._project_files is None:
            self._project_files, self._is_looking = [], True
            self._find_project_files()
        return file_choices(self._project_files, text)

    @work(thread=True)
    def _find_project_files(self) -> None:
        found = project_files(self._chat.cwd)
        self.app.call_from_thread(self._take_project_files, found)

    def _take_project_files(self, found: list[str]) -> None:
        self._project_files, self._is_looking = found, False
        self._offer_menu()
        if self._takes_first and self.menu.current is not None:
            self._take(self.menu.current)
        # Files come and go: look again at the next mention after a while.
        set_timer(self, FILES_AGE_S, self._forget_project_files)

    def _forget_project_files(self) -> None:
        self._project_files = None

    def _can_complete(self, before: str) -> bool:
        return mention_before(before) is not None or bool(self._commands(before))

    @on(PromptEditor.CompletionWanted)
    async def complete(self) -> None:
        """Take the first line of the menu, once there is one; without any, leave the editor."""
        if self.menu.current is not None:
            self._take(self.menu.current)
        elif self._is_looking:
            self._takes_first = True
        else:
            await self.run_action("screen.leave_editor")

    @on(PromptEditor.MenuKey)
    def move_in_menu(self, event: PromptEditor.MenuKey) -> None:
        current, before = self.menu.current, self._before_search
        if event.step == 0 or current is None:
            self.close_menu()
            if before is not None:
                self._put(before)
        elif event.step is None:
            self._take(current)
        else:
            self.menu.move(event.step)
            self.editor.takes_enter = True

    @on(PromptMenu.Picked)
    def take_clicked(self, event: PromptMenu.Picked) -> None:
        self._take(event.choice)

    def _take(self, choice: Suggestion) -> None:
        if self._before_search is not None:
            self.close_menu()
            self._put(choice.text)
            return
        self.editor.complete(replaced_by(choice, self.editor.text_before_cursor), choice.text)
        self._show_menu(())
