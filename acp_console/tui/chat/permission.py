"""A permission prompt: all that the agent wants to do, and the options that it offers.

The options that allow count only once the end of what is asked was on the screen, and each option
once it was wholly there itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import ItemGrid
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.style import Style
from textual.widgets import Button, Static

from acp_console.tui.chat.ask import ChoiceButton, KeyAsk, PermissionTiming
from acp_console.tui.textual_fixes import set_timer
from acp_console.tui.transcript.cards import ToolCard
from acp_console.tui.transcript.view import TranscriptView
from acp_inspector.session.items import PermissionRequest, ToolCallItem
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import Json

MAX_NAME: Final = 10_000
"""Characters of an option's name that are shown."""
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
MORE: Final = "Allow this? Read all options first: PgDn shows more."
WHY: Final = _clickable("w: no, and why", "w")
SIDES: Final = _clickable("d: side by side", "d")
SHARE: Final = 0.5
"""Of the height of the screen that what is asked may take, at most."""
FRAME_ROWS: Final = 10
"""Rows of the hint, the borders, the editor, the bars, and one of the transcript."""
OTHER_ROWS: Final = 14
"""Rows of the screen that are left to the options, the editor and the bars, if possible."""


class CallDetails(TranscriptView, can_focus=False):
    """All of a tool call, unfolded."""

    def __init__(self, call: ToolCallItem) -> None:
        super().__init__(id="call-details")
        self.has_shown_end = False
        """Whether its last row was on the screen."""
        self.card = ToolCard(call, decides=True)
        self.show([self.card])

    def on_mount(self) -> None:
        self.call_after_refresh(self._fit)

    def on_resize(self) -> None:
        super().on_resize()
        self._fit()

    def _fit(self) -> None:
        height = self.screen.size.height
        choices = self.parent.query(".choices") if self.parent is not None else ()
        others = FRAME_ROWS + sum(each.region.height for each in choices)
        most = max(3, min(int(height * SHARE), height - max(OTHER_ROWS, others)))
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


class PermissionView(KeyAsk):
    """Shows the call and offers the options; the choice goes up as a message."""

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

    def __init__(
        self,
        permission: PermissionRequest,
        timing: PermissionTiming,
        call: ToolCallItem | None = None,
    ) -> None:
        super().__init__(permission, timing)
        self.permission = permission
        self._details = None if call is None else CallDetails(call)
        self._call = call
        self.subject_shown = () if call is None else call.subject
        """What the user decides on."""
        self._may_skip = False
        # Agents that offer "always" first would have it chosen by habit.
        self._options = sorted(
            permission.options, key=lambda option: get_string(option, "kind") != "allow_once"
        )
        self._ids = [get_string(option, "optionId") for option in self._options]

    @property
    def has_changed(self) -> bool:
        """Whether the agent has changed the call since this was shown."""
        return self._call is not None and self._call.subject != self.subject_shown

    def compose(self) -> ComposeResult:
        if self._details is not None:
            yield self._details
        yield Static(SETTLING, classes="question", markup=False)
        buttons = [_button(*each) for each in enumerate(self._options)]
        widest = max((Content.from_text(each.label).cell_length for each in buttons), default=0)
        with ItemGrid(min_column_width=max(NARROWEST, widest + MARGIN), classes="choices"):
            yield from buttons

    def on_mount(self) -> None:
        self._show_hint()

    def on_show(self) -> None:
        super().on_show()
        self._show_hint()

    def on_focus(self) -> None:
        # `has_focus` is set after this.
        self.call_later(self._show_hint)

    def on_blur(self) -> None:
        self.call_later(self._show_hint)

    def _show_hint(self) -> None:
        """Show how to choose as soon as a choice counts."""
        wait = self.counts_from - self.timing.clock()
        text: str | Content = UNFOCUSED
        if wait > 0:
            text = SETTLING
        elif not self._is_seen:
            text = UNSEEN
        elif not all(each.was_seen for each in self.query(ChoiceButton)):
            text = MORE
        elif self.has_focus:
            text = self._keys
        self.query_one(".question", Static).update(text)
        if wait > 0:
            set_timer(self, wait, self._show_hint)

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
        return [get_string(option, "kind") for option in self._options]

    @property
    def _has_changes(self) -> bool:
        return self._details is not None and self._details.card.has_changes

    def on_click(self, event: Click) -> None:
        key = event.style.meta.get(META)
        if key is not None and self.has_settled:
            self.decide(key)

    def decides(self, key: str) -> bool:
        if key == "!":
            return not self._is_seen
        if key == "d":
            return self._has_changes
        kinds = self._kinds
        return _KINDS_OF_KEYS.get(key) in kinds or key in [*"123456789"[: len(kinds)]]

    def decide(self, key: str) -> None:
        if key == "!":
            self._may_skip = True
            self._show_hint()
            return
        if key == "d" and self._details is not None:
            self._details.action_split()
            return
        place = int(key) - 1 if key.isdecimal() else self._kinds.index(_KINDS_OF_KEYS[key])
        if not self._choose(place, explains=key == "w"):
            self.pass_on(key)

    @property
    def _is_seen(self) -> bool:
        """Whether all that is asked was on the screen, or the user does not want to see it."""
        return self._may_skip or self._details is None or self._details.has_shown_end

    @on(ChoiceButton.Seen)
    @on(TranscriptView.Moved)
    def note_what_is_seen(self) -> None:
        self._show_hint()

    def action_scroll_part(self, by: int, pages: bool = False) -> None:
        """Scroll the details, and the options after them."""
        details, choices = self._details, self.query_one(".choices")
        has_more = details is not None and (by < 0 or not details.is_following)
        if details is None or not has_more or choices.scroll_y:
            super().action_scroll_part(by, pages)
        elif pages:
            details.action_page(by)
        else:
            details.scroll_rows(by)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self._choose(int(event.button.name or "0"))

    def _choose(self, position: int, *, explains: bool = False) -> bool:
        if position >= len(self._ids) or not self.has_settled:
            return False
        allows = not get_string(self._options[position], "kind").startswith("reject")
        if allows and not self._is_seen:
            # Consent needs sight of all of it.
            self.app.bell()
        elif self.has_seen(position):
            option_id = self._ids[position]
            self.post_message(self.Chosen(self, self.permission, option_id, explains))
        return True


_KINDS_OF_KEYS: Final = {"y": "allow_once", "n": "reject_once", "w": "reject_once"}


def _button(position: int, option: Json) -> ChoiceButton:
    kind, name = get_string(option, "kind"), get_string(option, "name")
    look, word = KINDS.get(kind, ("other", single_line(kind, 16)))
    # What it covers must not be cut off; one that is nevertheless cannot be chosen.
    label = single_line(name, MAX_NAME) + (f" ({word})" if word not in name.lower() else "")
    button = ChoiceButton(position, Content(label), is_whole=len(name) <= MAX_NAME)
    button.add_class(look)
    return button
