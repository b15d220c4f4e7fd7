"""A permission prompt: all that the agent wants to do, and the options that it offers.

The options that allow count only once the end of what is asked was on the screen, and each option
once it was wholly there itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.style import Style

from acp_console.chat.permission_choices import first_choice, permission_choices
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.choice_list import ChoiceAsk, ChoiceLabel, ChoiceList
from acp_console.tui.transcript.cards import ToolCard
from acp_console.tui.transcript.view import TranscriptView
from acp_inspector.session.items import PermissionRequest, ToolCallItem

PROMPT: Final = "Allow this?"
META: Final = "permission_key"
"""Names the key in what can be clicked."""


def _clickable(text: str, key: str) -> Content:
    """Return a hint; a click on it does what its key does."""
    return Content.styled(text, Style.from_meta({META: key}))


UNSEEN: Final = Content.assemble(
    "Read to the end first: PgDn shows more, ", _clickable("! skips that", "!"), "."
)
NO_OPTIONS: Final = "The agent offers no option to choose; esc stops the turn."
SIDES: Final = _clickable("d: side by side", "d")
SHARE: Final = 0.5
"""Of the height of the screen that what is asked may take, at most."""
FRAME_ROWS: Final = 11
"""Rows of the hint, a gap, the borders, the editor, the bars, and one of the transcript."""
OTHER_ROWS: Final = 12
"""Rows of the screen that are left to the options, the editor and the bars, if possible."""


class CallDetails(TranscriptView, can_focus=False):
    """All of a tool call, unfolded."""

    # What is asked has its height from the beginning.
    shows_images = False

    def __init__(self, call: ToolCallItem) -> None:
        super().__init__(id="call-details")
        self.has_shown_end = False
        """Whether its last row was on the screen."""
        self._is_placed = False
        """Whether the choices have their room; until then, more rows may be drawn for a moment."""
        self.card = ToolCard(call, decides=True)
        self.show([self.card])

    def on_mount(self) -> None:
        self.call_after_refresh(self.fit)

    def on_resize(self) -> None:
        super().on_resize()
        self.fit()

    def fit(self) -> None:
        """Leave room for the choices, the editor and the bars."""
        height = self.screen.size.height
        choices = self.parent.query(ChoiceList) if self.parent is not None else ()
        others = FRAME_ROWS + sum(each.region.height for each in choices)
        most = max(3, min(int(height * SHARE), height - max(OTHER_ROWS, others)))
        self.styles.height = max(1, self.count_rows(most))

    def action_split(self) -> None:
        # What was seen in the other form counts no more.
        self.has_shown_end = False
        super().action_split()
        self.call_after_refresh(self.fit)

    def count_from_now(self) -> None:
        """Count what is on the screen as seen."""
        self._is_placed = True
        self.refresh()

    def on_end_shown(self) -> None:
        if self._is_placed and not self.has_shown_end:
            self.has_shown_end = True
            # The options that allow count from now on.
            self.post_message(self.Scrolled())


class PermissionView(ChoiceAsk):
    """Shows the call and offers the options; the choice goes up as a message."""

    @dataclass
    class OptionChosen(Message):
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
        self._offered = permission_choices(permission.options)
        lines = [ChoiceLabel(each.label, each.key, not each.allows, each.is_whole)
                 for each in self._offered]  # fmt: skip
        super().__init__(permission, timing, lines, first_choice(self._offered))
        self.permission = permission
        self.border_title = Content(PROMPT)
        self._details = None if call is None else CallDetails(call)
        self._call = call
        self.subject_shown = () if call is None else call.subject
        """What the user decides on."""
        self._may_skip = False

    @property
    def has_changed(self) -> bool:
        """Whether the agent has changed the call since this was shown."""
        return self._call is not None and self._call.subject != self.subject_shown

    def compose(self) -> ComposeResult:
        if self._details is not None:
            yield self._details
        yield from self.compose_choices()

    def hint(self) -> str | Content:
        if not self._offered:
            return NO_OPTIONS
        if not self._is_seen:
            return UNSEEN
        return self.how(*([SIDES] if self._has_changes else []))

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
        return super().decides(key)

    def decide(self, key: str) -> None:
        if key == "!":
            self._may_skip = True
            self.show_hint()
        elif key == "d" and self._details is not None:
            self._details.action_split()
        else:
            super().decide(key)

    @property
    def _is_seen(self) -> bool:
        """Whether all that is asked was on the screen, or the user does not want to see it."""
        return self._may_skip or self._details is None or self._details.has_shown_end

    @on(TranscriptView.Scrolled)
    def note_what_is_seen(self) -> None:
        self.show_hint()

    @on(ChoiceList.Placed)
    def fit(self) -> None:
        if self._details is not None:
            self._details.fit()
            self.call_after_refresh(self._details.count_from_now)

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

    def obstacle(self, place: int) -> str | Content | None:
        """Consent needs sight of all of it."""
        return UNSEEN if self._offered[place].allows and not self._is_seen else None

    def take(self, place: int) -> None:
        chosen = self._offered[place]
        self.post_message(
            self.OptionChosen(self, self.permission, chosen.option_id, chosen.explains)
        )
