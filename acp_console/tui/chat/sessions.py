"""The sessions that an agent keeps, to go on with one or to delete one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import ClassVar, NamedTuple

from rich.cells import set_cell_size
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.chat.connection import AgentConnection
from acp_console.home import age
from acp_console.tui.chat.input_screen import InputScreen
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.dialog import FilteredList
from acp_console.wording.values import plural
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json

TITLE = 44


class ListedSession(NamedTuple):
    """A session of the agent, as its list names it."""

    session_id: str
    cwd: Path
    directories: tuple[Path, ...]
    """Other directories that the agent may read and write in it."""


class SessionsScreen(FilteredList[ListedSession | None]):
    """Lists the agent's sessions, page by page; Enter opens one."""

    DEFAULT_CSS = "SessionsScreen > Vertical { width: 90; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+a", "everywhere", "All directories", priority=True),
        Binding("ctrl+x", "delete", "Delete", priority=True),
        Binding("ctrl+e", "archive", "Archive or take back", priority=True),
        Binding("ctrl+l", "archived", "Archived too", priority=True),
        Binding("ctrl+t", "rename", "Rename", priority=True),
    ]

    options = getters.query_one(OptionList)

    def __init__(self, cwd: Path, link: AgentConnection) -> None:
        super().__init__()
        self._cwd = cwd
        self._link = link
        self._with_archived = False
        self._open_elsewhere: set[str] = set()
        """Sessions that some client has open, as far as the agent was asked."""
        self._is_everywhere = False
        self._sessions: list[Json] = []
        self._shown: list[Json] = []
        self._cursor: str | None = None
        """The cursor of the next page."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="Type to filter the sessions", compact=True)
            yield OptionList(markup=False)
            yield Static(id="sessions-note", classes="note", markup=False)

    def on_mount(self) -> None:
        self.query_one(Vertical).border_title = "Sessions"
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        """Get the next page."""
        note = self.query_one("#sessions-note", Static)
        note.update("…")
        try:
            cwd = None if self._is_everywhere else self._cwd
            found, self._cursor = await self._link.list_sessions(
                cwd, self._cursor, with_archived=self._with_archived
            )
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
            if all(word in self._line(session).plain.casefold() for word in words)
        ]
        at = self.options.highlighted
        lines = [Option(self._line(session)) for session in self._shown]
        if self._cursor is not None:
            lines.append(Option(Content.styled("  … more", "$text-primary")))
        self.options.set_options(lines)
        self.options.highlighted = min(at or 0, len(lines) - 1) if lines else None
        can = self._link.can
        keys = ["enter opens", "^a those of all directories" if not self._is_everywhere else ""]
        keys.append("^x deletes" if can("delete") else "")
        keys.append("^t renames" if can("title") else "")
        keys.append("^e archives" if can("archive") else "")
        keys.append("^l archived ones too" if can("archive") and not self._with_archived else "")
        where = "of all directories" if self._is_everywhere else "of this directory"
        count = f"{plural(len(self._sessions), 'session')} {where}"
        self.query_one("#sessions-note", Static).update(" · ".join(filter(None, (count, *keys))))

    @on(Input.Changed)
    def filter_sessions(self) -> None:
        self._show()

    @on(OptionList.OptionHighlighted)
    def look_at(self, event: OptionList.OptionHighlighted) -> None:
        """Find out whether the session is open somewhere, if the agent can say so."""
        if self._link.can("status") and event.option_index < len(self._shown):
            session_id = get_text(self._shown[event.option_index], "sessionId")
            if session_id is not None:
                self._find_status(session_id)

    @work(exclusive=True, group="status")
    async def _find_status(self, session_id: str) -> None:
        try:
            is_open = await self._link.session_status(session_id) == "open"
        except AcpError:
            return
        if is_open != (session_id in self._open_elsewhere):
            (self._open_elsewhere.add if is_open else self._open_elsewhere.discard)(session_id)
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
        self._open_session(self._shown[place])

    @work
    async def _open_session(self, session: Json) -> None:
        session_id = get_text(session, "sessionId")
        if session_id is None:
            return
        if get(session, "archived") is True and not await self._set_archived(session, False):
            return
        cwd, directories = self._directories(session)
        self.dismiss(ListedSession(session_id, cwd, directories))

    def _directories(self, session: Json) -> tuple[Path, tuple[Path, ...]]:
        """Return where a session works, and what else the agent may read and write in it."""
        paths: list[Json] = []
        if self._link.can("additionalDirectories"):
            paths = get_list(session, "additionalDirectories")
        more = tuple(Path(each) for each in paths if isinstance(each, str))
        return Path(get_text(session, "cwd") or self._cwd), more

    def action_everywhere(self) -> None:
        self._is_everywhere = not self._is_everywhere
        self._sessions, self._cursor = [], None
        self._load()

    @property
    def _chosen(self) -> Json:
        place = self.options.highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    def action_archived(self) -> None:
        if self._link.can("archive"):
            self._with_archived = not self._with_archived
            self._sessions, self._cursor = [], None
            self._load()

    @work
    async def action_archive(self) -> None:
        session = self._chosen
        if session is not None and self._link.can("archive"):
            await self._set_archived(session, get(session, "archived") is not True)
            self._sessions, self._cursor = [], None
            self._load()

    async def _set_archived(self, session: Json, is_archived: bool) -> bool:
        """Archive a session or take it back; return whether the agent did."""
        try:
            id_ = get_string(session, "sessionId")
            await self._link.archive_session(id_, is_archived=is_archived)
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="error", markup=False)
            return False
        return True

    @work
    async def action_rename(self) -> None:
        session = self._chosen
        session_id = get_text(session, "sessionId")
        if session_id is None or not self._link.can("title"):
            return
        before = single_line(get_string(session, "title"), 200)
        label = "New title of the session. Enter saves it, Esc cancels."
        title = await self.app.push_screen_wait(InputScreen(label, before))
        if title is None:
            return
        try:
            await self._link.set_title(session_id, title)
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="error", markup=False)
            return
        self._sessions, self._cursor = [], None
        self._load()

    @work
    async def action_delete(self) -> None:
        session = self._chosen
        if session is None or not self._link.can("delete"):
            return
        session_id = get_text(session, "sessionId")
        title = single_line(get_text(session, "title") or session_id or "", 60)
        text = f"Delete the session {title!r} for good?"
        if session_id is None or not await self.app.push_screen_wait(
            ConfirmScreen(text, yes="Delete", no="Keep")
        ):
            return
        try:
            await self._link.delete_session(session_id)
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="error", markup=False)
            return
        self._sessions = [each for each in self._sessions if each is not session]
        self._show()

    def _line(self, session: Json) -> Content:
        id_ = get_text(session, "sessionId") or "?"
        title = single_line(get_text(session, "title") or id_, TITLE)
        cwd, directories = self._directories(session)
        shown = ["" if cwd == self._cwd else single_line(str(cwd), 60)]
        shown += [f"+ {single_line(str(each), 60)}" for each in directories]
        shown.append("archived" if get(session, "archived") is True else "")
        shown.append("open" if id_ in self._open_elsewhere else "")
        when = ""
        try:
            then = datetime.fromisoformat(get_string(session, "updatedAt"))
            when = age(then) if then.tzinfo is not None else ""
        except ValueError:
            pass
        return Content.assemble(
            (f"  {set_cell_size(title, TITLE)}  ", "bold"),
            (f"{when:>7}  ", "$text-muted"),
            (" · ".join(filter(None, shown)), "$text-muted"),
        )
