"""Who is logged in at the agent, and the way in or out."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from acp_console.chat.connection import AgentConnection
from acp_console.tui.dialog import Overlay
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json

STATES = {
    "authenticated": "logged in",
    "unauthenticated": "not logged in",
    "not_required": "no login is needed",
}
MAX_ACCOUNTS = 10


class AccountScreen(Overlay[Literal["in", "out"] | None]):
    """Shows what the agent says of its accounts; returns whether to log in or out."""

    DEFAULT_CSS = "AccountScreen > Vertical { width: 70; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,right", "app.focus_next", show=False),
    ]

    def __init__(self, link: AgentConnection) -> None:
        super().__init__()
        self._link = link

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Account"
            yield Static("…", id="account", markup=False)
            with Horizontal(classes="dialog-buttons"):
                if self._link.auth_methods:
                    yield Button("Log in", id="in", compact=True)
                if self._link.can_log_out:
                    yield Button("Log out", id="out", compact=True)
                yield Button("Back", id="back", compact=True)

    def on_mount(self) -> None:
        self.query_one("#back").focus()
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        try:
            status = await self._link.auth_status()
        except AcpError as problem:
            text = f"✗ {single_line(str(problem), 400)}"
        else:
            text = account_text(status)
        title = single_line(self._link.title, 60)
        self.query_one("#account", Static).update(f"{title}: {text}")

    @on(Button.Pressed)
    def choose(self, event: Button.Pressed) -> None:
        chosen = event.button.id
        self.dismiss("in" if chosen == "in" else "out" if chosen == "out" else None)


def account_text(status: Json) -> str:
    """Return the state of the login and the accounts, as text that is safe to show."""
    if status is None:
        return "this agent does not say who is logged in"
    lines = [STATES.get(get_string(status, "state"), "it is not known who is logged in")]
    for account in get_list(status, "accounts")[:MAX_ACCOUNTS]:
        names = ("label", "name", "email", "organization")
        about = [text for name in names if (text := get_text(account, name))]
        sign = "●" if get(account, "active") is True else "○"
        lines.append(f"{sign} {single_line(' · '.join(dict.fromkeys(about)), 200)}")
    return "\n".join(lines)
