"""The ways to log in that an agent offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from acp_console.chat.logins import LoginMethod, login_line
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.choice_list import ChoiceAsk, ChoiceLabel
from acp_protocol.host.sanitize import escape_controls, single_line

KINDS = {
    "agent": "handled by the agent",
    "terminal": "runs a program in this terminal",
    "variables": "takes environment variables from you",
}


class LoginView(ChoiceAsk):
    """Offers the ways to log in, by number or click."""

    @dataclass
    class MethodChosen(Message):
        """The user wants to log in."""

        method: LoginMethod
        variables: Mapping[str, str]

    class LoginCancelled(Message):
        """The user does not want to log in after all."""

    def __init__(
        self, methods: Sequence[LoginMethod], timing: PermissionTiming, *, can_leave: bool = False
    ) -> None:
        """`can_leave`: whether the agent goes on without a login."""
        lines = [ChoiceLabel(_label(each)) for each in methods]
        super().__init__(tuple(method.id for method in methods), timing, lines)
        self._methods = methods
        self._can_leave = can_leave
        self._filled: LoginMethod | None = None
        """The method whose variables are asked for."""

    def compose(self) -> ComposeResult:
        text = "The agent wants you to log in; alt+r restarts it."
        if self._can_leave:
            text = "Log in; Esc goes back."
        elif not self._methods:
            text = (
                "The agent wants you to log in, but does not say how. Log in with its own program."
            )
        yield Static(text, classes="request-text", markup=False)
        yield from self.compose_choices()

    def hint(self) -> str | Content:
        return self.how() if self._methods else ""

    def on_key(self, event: Key) -> None:
        if event.key != "escape":
            return
        if self._filled is not None:
            # Another method may be right.
            event.stop()
            self._filled = None
            self.query(".variables").remove()
            self.focus()
        elif self._can_leave:
            event.stop()
            self.post_message(self.LoginCancelled())

    def decides(self, key: str) -> bool:
        return self._filled is None and super().decides(key)

    @on(Button.Pressed)
    def press(self, event: Button.Pressed) -> None:
        event.stop()
        self._take_variables()

    def take(self, place: int) -> None:
        if self._filled is not None:
            return
        method = self._methods[place]
        if method.kind == "variables":
            self._ask_for_variables(method)
        elif method.kind == "terminal" and not method.is_own_program:
            text = f"Run this yourself, then press alt+r: {escape_controls(login_line(method))}"
            self.notify(text, markup=False, timeout=30)
        else:
            self.post_message(self.MethodChosen(method, {}))

    def _ask_for_variables(self, method: LoginMethod) -> None:
        """Ask for the values; they are handed to the agent and not kept."""
        self._filled = method
        fields: list[Widget] = []
        if method.link:
            fields.append(Static(f"See {escape_controls(method.link)}", markup=False))
        for name in method.variables:
            fields.append(Static(single_line(name, 80), classes="label", markup=False))
            fields.append(Input(password=True, name=name, compact=True))
        start = Button("Start the agent with these (enter)", name="set", compact=True)
        fields.append(Horizontal(start, Static("esc: back", markup=False), classes="buttons"))
        self.mount(Vertical(*fields, classes="variables"))
        self.call_after_refresh(lambda: self.query(Input).first().focus())

    @on(Input.Submitted)
    def next_variable(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input is self.query(Input).last():
            self._take_variables()
        else:
            self.screen.focus_next()

    def _take_variables(self) -> None:
        if self._filled is not None:
            values = {each.name or "": each.value for each in self.query(Input) if each.value}
            self.post_message(self.MethodChosen(self._filled, values))


def _label(method: LoginMethod) -> str:
    name, about = single_line(method.name, 60), single_line(method.description, 120)
    return " · ".join(filter(None, (name, KINDS[method.kind], about)))
