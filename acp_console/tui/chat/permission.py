"""A permission prompt: all that the agent wants to do, and the options that it offers.

The options that allow count only once the end of what is asked was on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ItemGrid
from textual.content import Content
from textual.events import Click, Key, Paste
from textual.message import Message
from textual.style import Style
from textual.timer import Timer
from textual.widgets import Button, Static

from acp_console.tui.chat.ask import Ask, PermissionTiming
from acp_console.tui.transcript.cards import ToolCard
from acp_console.tui.transcript.view import TranscriptView
from acp_inspector.analysis.items import PermissionRequest, ToolCallItem, string
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

NAME: Final = 160
"""Characters of an option's name that are shown: what it covers must not be cut off."""
NARROWEST: Final = 24
"""Minimum width of the options, in cells; all are as wide as the longest one."""
MARGIN: Final = 4
"""Cells around a label."""
KINDS: Final = {
    "allow_once": ("allow", "once"),
    "allow_always": ("allow", "always"),
    "reject_once": ("reject", "once"),
    "reject_always": ("reject", "always"),
}


SETTLING: Final = "Allow this?"
FOCUSED: Final = "Allow this? Press a number or click"
UNFOCUSED: Final = "Allow this? Click, or press Tab and a number."
META: Final = "permission_key"
"""Names the key in what can be clicked."""


def _clickable(text: str, key: str) -> Content:
    """Return a hint; a click on it does what its key does."""
    return Content.styled(text, Style.from_meta({META: key}))


UNSEEN: Final = Content.assemble(
    "Allow this? Read to the end first: PgDn shows more, ", _clickable("! skips that", "!"), "."
)
WHY: Final = _clickable("w: no, and why", "w")
SIDES: Final = _clickable("d: side by side", "d")
SHARE: Final = 0.5
"""Of the height of the screen that what is asked may take, at most."""
OTHER_ROWS: Final = 14
"""Rows of the screen that are left to the options, the editor and the bars, if possible."""


class CallDetails(TranscriptView, can_focus=False):
    """All of a tool call, unfolded."""

    def __init__(self, call: ToolCallItem) -> None:
        super().__init__(id="call-details")
        self.has_shown_end = False
        """Whether its last row was on the screen."""
        self.card = ToolCard(call)
        self.card.decides = True
        self.show([self.card])

    def on_mount(self) -> None:
        self.call_after_refresh(self._fit)

    def on_resize(self) -> None:
        super().on_resize()
        self._fit()

    def _fit(self) -> None:
        height = self.screen.size.height
        most = max(3, min(int(height * SHARE), height - OTHER_ROWS))
        self.styles.height = max(1, self.count_rows(most))

    def action_split(self) -> None:
        # What was seen in the other form counts no more.
        self.has_shown_end = False
        super().action_split()
        self.call_after_refresh(self._fit)

    def on_end_shown(self) -> None:
        if not self.has_shown_end:
            self.has_shown_end = True
            # The options that allow count from now on.
            self.post_message(self.Moved())


class PermissionView(Ask, can_focus=True):
    """Shows the call and offers the options; the choice goes up as a message."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_call(-1)", "Up", show=False),
        Binding("down", "scroll_call(1)", "Down", show=False),
        Binding("pageup", "page_call(-1)", "Page up", show=False),
        Binding("pagedown", "page_call(1)", "Page down", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """The user chose an option."""

        prompt: PermissionView
        permission: PermissionRequest
        option_id: str
        wants_to_explain: bool = False
        """Whether the user wants to say why."""

        @property
        def control(self) -> PermissionView:
            return self.prompt

    @dataclass
    class Typed(Message):
        """The user typed a key that is no option, probably the start of a prompt."""

        character: str

    def __init__(
        self,
        permission: PermissionRequest,
        timing: PermissionTiming,
        call: ToolCallItem | None = None,
    ) -> None:
        super().__init__(permission, timing)
        self.permission = permission
        self._details = None if call is None else CallDetails(call)
        self._may_skip = False
        self._is_typing = False
        """Whether a text is typed that goes to the editor."""
        self._key: str | None = None
        """A choice that counts unless another key follows at once."""
        self._key_timer: Timer
        # Agents that offer "always" first would have it chosen by habit.
        self._options = sorted(
            permission.options, key=lambda option: string(option, "kind") != "allow_once"
        )
        self._ids = [string(option, "optionId") for option in self._options]
        self._keys_from = self.counts_from

    def compose(self) -> ComposeResult:
        if self._details is not None:
            yield self._details
        yield Static(SETTLING, classes="question", markup=False)
        buttons = [_button(*each) for each in enumerate(self._options)]
        widest = max((Content.from_text(each.label).cell_length for each in buttons), default=0)
        with ItemGrid(min_column_width=max(NARROWEST, widest + MARGIN), classes="choices"):
            yield from buttons

    def take_focus(self) -> None:
        """Take the focus automatically; for a moment, keys meant for the editor decide nothing."""
        self._keys_from = self.timing.clock() + self.timing.settle_s
        super().take_focus()

    def on_mount(self) -> None:
        self._show_hint()

    def on_show(self) -> None:
        super().on_show()
        self._keys_from = self.counts_from
        self._show_hint()

    def on_focus(self) -> None:
        self._is_typing = False
        # `has_focus` is set after this.
        self.call_later(self._show_hint)

    def on_blur(self) -> None:
        self.call_later(self._show_hint)

    def _show_hint(self) -> None:
        """Show how to choose as soon as a choice counts."""
        counts_from = max(self.counts_from, self._keys_from if self.has_focus else 0)
        wait = counts_from - self.timing.clock()
        text: str | Content = UNFOCUSED
        if wait > 0:
            text = SETTLING
        elif self.has_focus:
            text = self._keys
        if wait <= 0 and not self._is_seen:
            text = UNSEEN
        self.query_one(".question", Static).update(text)
        if wait > 0:
            self.set_timer(wait, self._show_hint)

    @property
    def _keys(self) -> Content:
        """The keys that count here; a click on one does the same."""
        keys = [Content(FOCUSED)]
        if "reject_once" in self._kinds:
            keys.append(WHY)
        if self._has_changes:
            keys.append(SIDES)
        return Content("; ").join(keys) + "."

    @property
    def _kinds(self) -> list[str]:
        return [string(option, "kind") for option in self._options]

    @property
    def _has_changes(self) -> bool:
        return self._details is not None and self._details.card.has_changes

    def on_key(self, event: Key) -> None:
        """Choose by number; other keys go to the editor."""
        character = event.character
        if character is None or not event.is_printable:
            return
        event.stop()
        if self._key is not None:
            # Two keys at once are the beginning of a text, as from a slow connection.
            self._key_timer.stop()
            character, self._key = self._key + character, None
        is_choice = len(character) == 1 and self._is_choice(character)
        if self._is_typing or not is_choice:
            self._type(character)
        elif self.timing.burst_s:
            self._key = character
            self._key_timer = self.set_timer(self.timing.burst_s, self._take_key)
        else:
            self._decide(character)

    def on_click(self, event: Click) -> None:
        key = event.style.meta.get(META)
        if key is not None and self.has_settled:
            self._decide(key)

    def on_paste(self, event: Paste) -> None:
        event.stop()
        self._type(event.text)

    def _is_choice(self, character: str) -> bool:
        if self.timing.clock() < self._keys_from:
            return False
        if character == "!":
            return not self._is_seen
        if character == "d":
            return self._has_changes
        kinds = self._kinds
        return _KINDS_OF_KEYS.get(character) in kinds or character in "123456789"[: len(kinds)]

    def _take_key(self) -> None:
        key, self._key = self._key, None
        if key is not None:
            self._decide(key)

    def _decide(self, key: str) -> None:
        if key == "!":
            self._may_skip = True
            self._show_hint()
            return
        if key == "d" and self._details is not None:
            self._details.action_split()
            return
        place = int(key) - 1 if key.isdecimal() else self._kinds.index(_KINDS_OF_KEYS[key])
        if not self._choose(place, explains=key == "w"):
            self._type(key)

    def _type(self, text: str) -> None:
        """Pass on what was typed; all that follows goes there too, until the user comes back."""
        self._is_typing = True
        self.post_message(self.Typed(text))

    @property
    def _is_seen(self) -> bool:
        """Whether all that is asked was on the screen, or the user does not want to see it."""
        return self._may_skip or self._details is None or self._details.has_shown_end

    def on_transcript_view_moved(self) -> None:
        self._show_hint()

    def action_scroll_call(self, by: int) -> None:
        if self._details is not None:
            self._details.scroll_rows(by)
            self._show_hint()

    def action_page_call(self, by: int) -> None:
        if self._details is not None:
            self._details.action_page(by)
            self._show_hint()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self._choose(int(event.button.name or "0"))

    def _choose(self, position: int, *, explains: bool = False) -> bool:
        if position >= len(self._ids) or not self.has_settled:
            return False
        allows = not string(self._options[position], "kind").startswith("reject")
        if allows and not self._is_seen:
            # Consent needs sight of all of it.
            self.app.bell()
            return True
        self.post_message(self.Chosen(self, self.permission, self._ids[position], explains))
        return True


_KINDS_OF_KEYS: Final = {"y": "allow_once", "n": "reject_once", "w": "reject_once"}


def _button(position: int, option: Json) -> Button:
    kind = string(option, "kind")
    look, word = KINDS.get(kind, ("other", single_line(kind, 16)))
    label = Content(f"{position + 1}  {single_line(string(option, 'name'), NAME)}")
    if word not in string(option, "name").lower():
        label = Content.assemble(label, f" ({word})")
    button = Button(label, name=str(position), compact=True)
    button.can_focus = False
    button.add_class(look)
    return button
