"""The place between transcript and editor where one thing after the other asks the user."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer

from acp_console.chat.elicitation import ElicitationField, FormRequest
from acp_console.chat.open_asks import LoginAsk, OpenAsk, OpenAsks, PermissionAsk
from acp_console.tui.chat.ask import Ask, PermissionTiming
from acp_console.tui.chat.editor import PromptEditor
from acp_console.tui.chat.form import FormView, PageView
from acp_console.tui.chat.login import LoginView
from acp_console.tui.chat.permission import PermissionView
from acp_console.tui.chat.single_choice import SingleChoiceForm
from acp_console.tui.textual_fixes import set_timer

FOCUS_RETRY_S = 0.5
"""Seconds until a prompt that did not get the focus is offered it again."""


class AskArea(Vertical):
    """Shows what is asked first; it never takes the focus from typing in the editor."""

    DEFAULT_CSS = """
    AskArea {
        height: auto;
    }
    """

    def __init__(self, asks: OpenAsks, timing: PermissionTiming) -> None:
        super().__init__(id="asks")
        self._asks = asks
        self._timing = timing
        self._focus_timer: Timer | None = None

    @property
    def shown(self) -> Ask | None:
        """What asks the user, if something does."""
        children = self.children
        return children[0] if children and isinstance(children[0], Ask) else None

    async def show(self) -> None:
        """Show what the user is asked first, and how much waits behind it."""
        shown = self.shown
        ask, waiting = self._asks.first()
        if shown is not None and not _is_about(shown, ask):
            await shown.remove()
            shown = None
        if shown is None and ask is not None:
            shown = self._view(ask)
            await self.mount(shown)
        if shown is not None:
            shown.border_subtitle = Content(f"{waiting} more" if waiting else "")

    def _view(self, ask: OpenAsk) -> Ask:
        match ask:
            case LoginAsk():
                return LoginView([*ask.methods], self._timing, can_leave=ask.can_leave)
            case PermissionAsk():
                return PermissionView(ask.permission, self._timing, ask.call)
            case FormRequest(only_choice=ElicitationField() as field):
                return SingleChoiceForm(ask, field, self._timing)
            case FormRequest():
                return FormView(ask, self._timing)
            case _:
                return PageView(ask, self._timing)

    def offer_focus(self, editor: PromptEditor) -> None:
        """Focus a new prompt, once, after a pause in typing in an empty editor."""
        if self._focus_timer is not None:
            self._focus_timer.stop()
            self._focus_timer = None
        shown = self.shown
        if shown is None or shown.had_focus:
            return
        pause = self._timing.typing_pause_s
        has_paused = self._timing.clock() - editor.last_key_at >= pause
        if has_paused and self.screen.focused is editor and not editor.text:
            shown.take_focus()
            # It may not have got it.
            pause = FOCUS_RETRY_S
        self._focus_timer = set_timer(self, pause, lambda: self.offer_focus(editor))


def _is_about(shown: Ask, ask: OpenAsk | None) -> bool:
    """Return whether a view shows what is asked, as it is now."""
    match ask:
        case LoginAsk():
            return shown.subject == tuple(each.id for each in ask.methods)
        case PermissionAsk():
            has_changed = isinstance(shown, PermissionView) and shown.has_changed
            return shown.subject is ask.permission and not has_changed
        case _:
            return shown.subject is ask
