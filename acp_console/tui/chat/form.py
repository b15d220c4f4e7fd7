"""Forms and pages that an agent asks the user for.

Source: ACP, Elicitation.
"""

from __future__ import annotations

import os
import sys
import webbrowser
from dataclasses import dataclass
from typing import ClassVar, Final, cast

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Input, Select, SelectionList, Static
from textual.widgets.selection_list import Selection

from acp_console.chat.elicitation import (
    Elicitation,
    ElicitationAnswer,
    ElicitationField,
    FieldChoice,
    FormRequest,
    PageRequest,
)
from acp_console.tui.chat.ask import Ask, KeyAsk, PermissionTiming, ReadText
from acp_console.tui.toggles import SignedCheckbox, SignedSelectionList
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import as_list
from acp_protocol.jsonrpc import Json

LABEL: Final = 200
"""Characters of a label that are shown."""
CHOICE: Final = 1000
"""Characters of a choice that are shown."""
LONG_CHOICE: Final = 40
"""Cells above which the titles of choices are also shown in full, above their list."""
MAX_TEXT: Final = 20_000
"""Characters of a message that are shown."""
UNSEEN: Final = "Read the address to its end first: PgDn shows more."


@dataclass
class Answered(Message):
    """The user has answered an elicitation."""

    request: Elicitation
    answer: ElicitationAnswer


class FormView(Ask):
    """A form; nothing is sent before the user says so."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send"),
        Binding("escape", "cancel", "Not now"),
    ]

    def __init__(self, request: FormRequest, timing: PermissionTiming) -> None:
        super().__init__(request, timing)
        self._request = request
        self._inputs: dict[str, Widget] = {}
        self._unseen = {field.name for field in request.fields}
        """Fields whose end was never on the screen; nothing is sent before it was."""

    def compose(self) -> ComposeResult:
        request = self._request
        with VerticalScroll(classes="message", can_focus=False):
            for text in filter(None, (request.title, request.message, request.description)):
                yield Static(shown_text(text), classes="request-text", markup=False)
        with VerticalScroll(classes="fields", can_focus=False):
            for place, field in enumerate(request.fields):
                yield Static(_label(field), classes="label", markup=False)
                titles = [single_line(each.title, CHOICE) for each in field.choices]
                if any(cell_len(title) > LONG_CHOICE for title in titles):
                    yield Static("\n".join(f"· {title}" for title in titles), markup=False)
                self._inputs[field.name] = widget = _input(field)
                yield widget
                yield Static(id=f"error-{place}", classes="wrong", markup=False)
        with Horizontal(classes="buttons"):
            yield Button("Send (^s)", name="send", compact=True, classes="allow")
            yield Button("No", name="decline", compact=True, classes="reject")
            yield Button("Not now (esc)", name="cancel", compact=True)
            yield Static(classes="more", markup=False)

    def on_mount(self) -> None:
        fields = self.query_one(".fields")
        for name in ("scroll_y", "virtual_size", "size"):
            self.watch(fields, name, self._note_seen)
        for each in self._inputs.values():
            if isinstance(each, SelectionList):
                self.watch(cast("Widget", each), "scroll_y", self._note_seen)

    def _note_seen(self) -> None:
        """Note which fields are on the screen, and say how many are below them."""
        fields = self.query_one(".fields")
        end = fields.scroll_offset.y + fields.size.height
        hidden = 0
        for name, each in self._inputs.items():
            is_below = each.virtual_region.bottom > end
            hidden += is_below
            # A long list scrolls within itself.
            if each.size.height and not is_below and each.scroll_offset.y >= each.max_scroll_y:
                self._unseen.discard(name)
        self.query_one(".more", Static).update(f"↓ {hidden} more below" if hidden else "")

    def take_focus(self) -> None:
        first = next(iter(self._inputs.values()), None)
        (first or self.query(Button).first()).focus(scroll_visible=False)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Keep the label of the field in sight."""
        super().on_descendant_focus(event)
        for label, each in zip(self.query(".label"), self._inputs.values(), strict=True):
            if each is event.widget:
                self.call_after_refresh(label.scroll_visible, animate=False)

    @on(Input.Submitted)
    def next_field(self, event: Input.Submitted) -> None:
        """Go to the next field; from the last one, send the form."""
        event.stop()
        if event.input is [*self._inputs.values()][-1]:
            self.action_send()
        else:
            self.screen.focus_next()

    @on(Button.Pressed)
    def press(self, event: Button.Pressed) -> None:
        event.stop()
        match event.button.name:
            case "send":
                self.action_send()
            case "decline" if self.has_settled:
                self.post_message(Answered(self._request, ElicitationAnswer("decline")))
            case "cancel":
                self.action_cancel()
            case _:
                pass

    def action_cancel(self) -> None:
        if self.has_settled:
            self.post_message(Answered(self._request, ElicitationAnswer("cancel")))

    def action_send(self) -> None:
        """Send what was filled in, if all of it fits."""
        if not self.has_settled:
            return
        content: dict[str, Json] = {}
        for field in self._request.fields:
            value = _value(field, self._inputs[field.name])
            if value is not None:
                content[field.name] = value
        errors = self._request.errors(content)
        for place, field in enumerate(self._request.fields):
            text = errors.get(field.name)
            self.query_one(f"#error-{place}", Static).update(f"✗ {text}" if text else "")
        unseen = next((each for name, each in self._inputs.items() if name in self._unseen), None)
        if errors:
            self._inputs[next(iter(errors))].focus(scroll_visible=False)
        elif unseen is not None:
            self.app.bell()
            self.query_one(".fields").scroll_page_down(animate=False)
            unseen.scroll_page_down(animate=False)
        else:
            self.post_message(Answered(self._request, ElicitationAnswer("accept", content)))


class PageView(KeyAsk):
    """A page to open; it opens only when the user says so."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "Open"),
        Binding("c", "copy", "Copy"),
        Binding("n", "decline", "No"),
        Binding("escape", "cancel", "Not now"),
    ]

    def __init__(self, request: PageRequest, timing: PermissionTiming) -> None:
        super().__init__(request, timing)
        self._request = request

    def compose(self) -> ComposeResult:
        request = self._request
        about = Content.assemble("The agent wants you to go to ", (request.host, "bold"), ":")
        with VerticalScroll(classes="message", can_focus=False):
            yield Static(about, markup=False)
            yield ReadText(request.url, classes="address", markup=False)
            yield Static(shown_text(request.message), classes="request-text", markup=False)
        yield Static(UNSEEN, classes="unseen", markup=False)
        with Horizontal(classes="buttons"):
            yield Button("Open (o)", name="open", compact=True, classes="allow")
            yield Button("Copy the address (c)", name="copy", compact=True, classes="allow")
            yield Button("No (n)", name="decline", compact=True, classes="reject")

    @on(ReadText.EndSeen)
    def note_what_is_seen(self) -> None:
        self.query_one(".unseen").display = False

    @property
    def _can_accept(self) -> bool:
        """Whether the user can know where the address leads."""
        is_seen = self.query_one(ReadText).was_seen
        if not is_seen:
            self.app.bell()
        return is_seen and self.has_settled

    def decides(self, key: str) -> bool:
        return key in {"o", "c", "n"}

    def decide(self, key: str) -> None:
        {"o": self.action_open, "c": self.action_copy, "n": self.action_decline}[key]()

    @on(Button.Pressed)
    async def press(self, event: Button.Pressed) -> None:
        event.stop()
        await self.run_action(event.button.name or "")

    def action_open(self) -> None:
        if not self._can_accept:
            return
        if has_browser() and webbrowser.open(self._request.url):
            self._accept()
        else:
            self.notify("There is no browser; copy the address instead.", severity="warning")

    def action_copy(self) -> None:
        if self._can_accept:
            self.app.copy_to_clipboard(self._request.url)
            self.notify("Copied the address.")
            self._accept()

    def action_decline(self) -> None:
        if self.has_settled:
            self.post_message(Answered(self._request, ElicitationAnswer("decline")))

    def action_cancel(self) -> None:
        if self.has_settled:
            self.post_message(Answered(self._request, ElicitationAnswer("cancel")))

    def _accept(self) -> None:
        self.post_message(Answered(self._request, ElicitationAnswer("accept")))


def shown_text(text: str) -> str:
    """Return a text of the agent; one that is too long says that it is cut."""
    end = "\n… (cut)" if len(text) > MAX_TEXT else ""
    return escape_controls(text[:MAX_TEXT]) + end


def has_browser() -> bool:
    """Return whether there is a browser outside of this terminal."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _label(field: ElicitationField) -> Content:
    about = f"  {single_line(field.description, LABEL)}" if field.description else ""
    return Content.assemble(
        (single_line(field.title, LABEL), "bold"),
        (" (required)" if field.is_required else "", "$text-warning"),
        (about, "$text-muted"),
    )


def _title(choice: FieldChoice) -> Content:
    """Return the title of a choice; a text would be read as markup."""
    return Content(single_line(choice.title, CHOICE))


def _input(field: ElicitationField) -> Widget:
    default = field.default
    match field.kind:
        case "boolean":
            return SignedCheckbox("yes", value=default is True, compact=True)
        case "choice":
            choices = [(_title(each), each.value) for each in field.choices]
            value = default if isinstance(default, str) else Select.NULL
            return Select(choices, prompt="Choose", value=value, compact=True)
        case "choices":
            chosen = as_list(default)
            return SignedSelectionList[str](
                *(
                    Selection(_title(each), each.value, each.value in chosen)
                    for each in field.choices
                ),
                compact=True,
            )
        case _:
            text = "" if default is None else str(default)
            kind = {"integer": "a whole number", "number": "a number"}.get(field.kind, "")
            return Input(text, placeholder=kind, compact=True)


def _value(field: ElicitationField, widget: Widget) -> Json:
    """Return what was filled in; None for nothing."""
    match widget:
        case Checkbox():
            return widget.value
        case SelectionList():
            chosen = cast("list[Json]", widget.selected)  # pyright: ignore[reportUnknownMemberType] - of strings
            return chosen if chosen or field.is_required else None
        case Select():
            return widget.value if isinstance(widget.value, str) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of strings
        case Input():
            return field.value(widget.value) if widget.value else None
        case _:
            return None
