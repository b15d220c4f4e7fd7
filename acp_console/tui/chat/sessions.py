"""The sessions that an agent keeps, to go on with one or to delete one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import ClassVar, TypeAlias

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.render.values import plural
from acp_console.state.home import age
from acp_console.tui.confirm import ConfirmScreen
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json

Page: TypeAlias = tuple[list[Json], str | None]
ListSessions: TypeAlias = Callable[[Path | None, str | None], Awaitable[Page]]
DeleteSession: TypeAlias = Callable[[str], Awaitable[None]]

TITLE = 44


class SessionsScreen(ModalScreen[tuple[str, Path] | None]):
    """Lists the agent's sessions, page by page; Enter opens one: its id and its directory."""

    DEFAULT_CSS = """
    SessionsScreen {
        align: center middle;
        & > Vertical {
            width: 90;
            max-width: 95%;
            height: auto;
            max-height: 80%;
            padding: 1 2;
            border: round $primary;
            background: $surface;
        }
        Input {
            margin-bottom: 1;
        }
        OptionList {
            height: auto;
            max-height: 1fr;
            border: none;
            padding: 0;
            background: transparent;
        }
        #sessions-note {
            color: $text-muted;
            margin-top: 1;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back"),
        Binding("down", "cursor(1)", show=False),
        Binding("up", "cursor(-1)", show=False),
        Binding("ctrl+a", "everywhere", "All directories", priority=True),
        Binding("ctrl+x", "delete", "Delete", priority=True),
    ]

    options = getters.query_one(OptionList)

    def __init__(
        self, cwd: Path, list_sessions: ListSessions, delete: DeleteSession | None = None
    ) -> None:
        super().__init__()
        self._cwd = cwd
        self._list = list_sessions
        self._delete = delete
        self._is_everywhere = False
        self._sessions: list[Json] = []
        self._shown: list[Json] = []
        self._cursor: str | None = None
        """The cursor of the next page."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="Type to filter the sessions", compact=True)
            yield OptionList(markup=False)
            yield Static(id="sessions-note", markup=False)

    def on_mount(self) -> None:
        self.query_one(Vertical).border_title = "Sessions"
        self.options.can_focus = False
        self.query_one(Input).focus()
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        """Get the next page."""
        note = self.query_one("#sessions-note", Static)
        note.update("…")
        try:
            cwd = None if self._is_everywhere else self._cwd
            found, self._cursor = await self._list(cwd, self._cursor)
        except AcpError as problem:
            note.update(escape_controls(f"✗ {problem}"))
            return
        self._sessions += found
        self._show()

    def _show(self) -> None:
        words = self.query_one(Input).value.casefold().split()
        self._shown = [
            session
            for session in self._sessions
            if all(word in _line(session, self._cwd).plain.casefold() for word in words)
        ]
        at = self.options.highlighted
        lines = [Option(_line(session, self._cwd)) for session in self._shown]
        if self._cursor is not None:
            lines.append(Option(Content.styled("  … more", "$text-primary")))
        self.options.set_options(lines)
        self.options.highlighted = min(at or 0, len(lines) - 1) if lines else None
        keys = ["enter opens", "^a those of all directories" if not self._is_everywhere else ""]
        keys.append("^x deletes" if self._delete is not None else "")
        where = "of all directories" if self._is_everywhere else "of this directory"
        count = f"{plural(len(self._sessions), 'session')} {where}"
        self.query_one("#sessions-note", Static).update(" · ".join(filter(None, (count, *keys))))

    @on(Input.Changed)
    def filter_sessions(self) -> None:
        self._show()

    @on(Input.Submitted)
    def open_highlighted(self) -> None:
        if self.options.highlighted is not None:
            self._open(self.options.highlighted)

    @on(OptionList.OptionSelected)
    def open_clicked(self, event: OptionList.OptionSelected) -> None:
        self._open(event.option_index)

    def _open(self, place: int) -> None:
        if place >= len(self._shown):
            self._load()
            return
        session = self._shown[place]
        session_id = get_text(session, "sessionId")
        if session_id is not None:
            self.dismiss((session_id, Path(get_text(session, "cwd") or self._cwd)))

    def action_cursor(self, step: int) -> None:
        if step > 0:
            self.options.action_cursor_down()
        else:
            self.options.action_cursor_up()

    def action_everywhere(self) -> None:
        self._is_everywhere = not self._is_everywhere
        self._sessions, self._cursor = [], None
        self._load()

    @work
    async def action_delete(self) -> None:
        place = self.options.highlighted
        if self._delete is None or place is None or place >= len(self._shown):
            return
        session = self._shown[place]
        session_id = get_text(session, "sessionId")
        title = single_line(get_text(session, "title") or session_id or "", 60)
        text = f"Delete the session {title!r} for good?"
        if session_id is None or not await self.app.push_screen_wait(
            ConfirmScreen(text, yes="Delete", no="Keep")
        ):
            return
        try:
            await self._delete(session_id)
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="error", markup=False)
            return
        self._sessions.remove(session)
        self._show()

    def action_leave(self) -> None:
        self.dismiss(None)


def _line(session: Json, cwd: Path) -> Content:
    title = single_line(get_text(session, "title") or get_text(session, "sessionId") or "?", TITLE)
    where = get_text(session, "cwd") or ""
    shown = "" if where == str(cwd) else single_line(where, 60)
    when = ""
    try:
        then = datetime.fromisoformat(get_text(session, "updatedAt") or "")
        when = age(then) if then.tzinfo is not None else ""
    except ValueError:
        pass
    return Content.assemble(
        (f"  {title:<{TITLE}}  ", "bold"), (f"{when:>7}  ", "$text-muted"), (shown, "$text-muted")
    )
