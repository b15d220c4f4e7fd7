"""The first screen: what can be opened, and one line that filters it or opens anything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len, set_cell_size
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.agents.spec import DEMO_AGENT, AgentSpec
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.open_chats import OpenChats
from acp_console.home import (
    PAUSED,
    Entry,
    Section,
    agent_entry,
    catalogue_entries,
    chat_entries,
    fitted_entries,
    list_rows,
    proxy_entries,
    recording_entries,
    session_entries,
    shown_entries,
)
from acp_console.listeners import Lookout
from acp_console.traffic.sources import FileSource, ProxySource
from acp_console.tui.commands import bindings
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.footer import KeyFooter
from acp_console.tui.news import News
from acp_console.tui.textual_fixes import set_timer
from acp_console.wording.values import below_home
from acp_inspector.control.client import RunningProxy, running_proxies
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.version import VERSION

if TYPE_CHECKING:
    from acp_console.agents.catalogue import Catalogue, CatalogueEntry
    from acp_console.kept.session_store import RecordedSessions, StoredSession

PLACEHOLDER: Final = "a chat, an agent, a file, or a whole command"
FIRST: Final = """\
Enter starts the demo agent: it needs no key and no network, and /tour shows what an agent can do.
To start an agent of your own, type its command, such as my-agent --acp. F1 lists the keys."""
NOTHING: Final = (
    "Nothing matches, and there is no program or file of that name. Esc clears the line."
)
LOOK_INTERVAL_S: Final = 2.0
"""Seconds between two looks for proxies and recordings."""
HINTS: Final[dict[Section, str]] = {
    "Live proxies": "none; acp-console proxy -- AGENT shows what an editor and an agent say",
    "Recordings": "",
}
"""Sections that are named also while they are empty, and what fills them."""
ROWS_AROUND: Final = 8
"""Rows of the screen above and below the list."""
ROWS_OF_FIRST: Final = 4
"""Rows of the words to somebody who has used nothing yet."""
TITLE_WIDTH: Final = 26
"""Columns of the titles, at least; where there is room, they get those of the longest one."""
WIDTH: Final = 110
"""Columns of the list, at most."""


class HomeLine(Input):
    """The line; it binds Enter itself, because the binding of `Input` hides the screen's."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Open")]

    async def _on_key(self, event: Key) -> None:
        if event.key == "question_mark" and not self.value:
            event.prevent_default()
            event.stop()
            await self.run_action("app.help")
        else:
            await super()._on_key(event)


class HomeScreen(Screen[None]):
    """Lists agents, proxies and recordings; Enter opens one."""

    CSS_PATH = "home.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("home"),
        Binding("down", "cursor(1)", show=False),
        Binding("up", "cursor(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    line = getters.query_one("#home-line", Input)
    options = getters.query_one("#entries", OptionList)

    @dataclass
    class SourceChosen(Message):
        """The user wants to open `target`."""

        target: AgentSpec | ChatSession | ProxySource | FileSource

    @dataclass
    class Continued(Message):
        """The user wants to go on with a session of an earlier console."""

        session: StoredSession
        spec: AgentSpec

    @dataclass
    class Paused(Message):
        """A proxy has paused more messages than before."""

        proxy: RunningProxy

    def __init__(
        self,
        agents: Sequence[AgentSpec],
        folder: Path,
        chats: OpenChats,
        store: RecordedSessions | None = None,
        proxies: Callable[[], Sequence[RunningProxy]] = running_proxies,
        *,
        looks_after_s: float = 0,
    ) -> None:
        """List what can be opened.

        It looks for that at once, or with `looks_after_s` after so many seconds, or when it is
        shown again: another screen is opened above it at first.
        """
        super().__init__()
        self._looks_after_s = looks_after_s
        self._is_below = looks_after_s > 0
        self._store = store
        self._proxies = proxies
        self._folder = folder
        self._chats = chats
        self._agents = [agent_entry(agent) for agent in agents]
        """Those that are there without the catalogue."""
        self._catalogue: Catalogue | None = None
        self._known: list[Entry] = []
        """The agents of the catalogue and of the configuration."""
        self._sessions: list[Entry] = []
        self._others: list[Entry] = []
        """Proxies and recordings, as they were last found."""
        self._found: tuple[list[Entry], list[Entry]] = [], []
        """Sessions and others, of the thread that looks for them."""
        self._lookout = Lookout(
            self._look, wait=LOOK_INTERVAL_S, longest_wait=LOOK_INTERVAL_S, name="home"
        )
        self._shown: list[Entry] = []
        self._looks = False
        """Whether it looks for what can be opened."""
        self._has_looked = self._has_catalogue = False
        """Whether sessions, and whether agents were looked for."""
        self._wants_match = False
        """Whether Enter came for a typed text before all was listed."""
        self._is_left = False
        """Whether something was opened; the list begins anew when the user comes back."""
        self._filter = ""
        """The text that the shown entries match."""
        self._rows: list[int | None] = []
        """The entry of each option; None for a heading."""

    def compose(self) -> ComposeResult:
        with Vertical(id="home"):
            with Horizontal(id="head"):
                yield Static(Content.styled("acp-console", "bold"), id="name", markup=False)
                yield Static(single_line(below_home(self._folder), 60), id="folder", markup=False)
                yield Static(VERSION, id="version", markup=False)
            yield HomeLine(placeholder=PLACEHOLDER, id="home-line")
            yield OptionList(id="entries", markup=False)
            yield Static(id="hints", markup=False)
            yield Static(NOTHING, id="nothing", markup=False)
            yield Static(FIRST, id="first", markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self.options.can_focus = False
        self._show()
        self.line.focus()
        self._lookout.changed.add(News(self, self._take))
        self._chats.changed.add(self._show_chats)
        if not self._is_below:
            self._begin_to_look()
        else:
            # What it needs takes time to import, and the chat above it comes first.
            set_timer(self, self._looks_after_s, self._begin_to_look)

    def _begin_to_look(self) -> None:
        if not self._looks:
            self._looks = True
            self._lookout.start()
            self._open_catalogue()

    def on_unmount(self) -> None:
        self._lookout.close()

    @property
    def _is_listed(self) -> bool:
        """Whether all is listed that Enter may mean; nothing is highlighted before."""
        return self._has_looked and (self._has_catalogue or not self.line.value.strip())

    def _show_chats(self) -> None:
        if self.is_current:
            self._show()

    def on_screen_resume(self) -> None:
        self._is_left = self._wants_match = False
        if not self._is_below:
            self._begin_to_look()
        self._show()

    def on_screen_suspend(self) -> None:
        self._is_below = False

    def on_resize(self) -> None:
        self._show()

    @work(thread=True, group="catalogue")
    def _open_catalogue(self) -> None:
        from acp_console.agents.catalogue import open_catalogue

        try:
            catalogue = open_catalogue()
        except AcpError as problem:
            text = escape_controls(str(problem))
            self.app.call_from_thread(self.notify, text, severity="error", markup=False, timeout=20)
            self.app.call_from_thread(self._take_catalogue, None)
            return
        self.app.call_from_thread(self._take_catalogue, catalogue)

    def _take_catalogue(self, catalogue: Catalogue | None) -> None:
        self._has_catalogue = True
        if catalogue is not None:
            self._catalogue = catalogue
            # The catalogue knows what the user last chose for it.
            self._agents = [entry for entry in self._agents if entry.target is not DEMO_AGENT]
            has_demo = any(entry.note == "built in" for entry in self._agents)
            known = catalogue_entries(catalogue)
            self._known = [entry for entry in known if entry.note != "built in" or not has_demo]
        self._show()
        self._open_match()

    def _look(self) -> object:
        """Look for sessions, proxies and recordings, in a thread; return what is shown of them."""
        sessions = [] if self._store is None else session_entries(self._store, self._folder)
        others = [*proxy_entries(self._proxies()), *recording_entries(self._folder)]
        self._found = sessions, others
        return [_look_of(entry) for entry in (*sessions, *others)]

    def _take(self) -> None:
        sessions, others = self._found
        before = {
            entry.target.proxy: entry.target.proxy.held
            for entry in self._others
            if isinstance(entry.target, ProxySource)
        }
        for entry in others:
            if isinstance(entry.target, ProxySource):
                proxy = entry.target.proxy
                if proxy.held > before.get(proxy, 0):
                    self.post_message(self.Paused(proxy))
        self._sessions, self._others = sessions, others
        self._has_looked = True
        self._show()
        self._open_match()

    def _open_match(self) -> None:
        if self._wants_match and self._is_listed and self.is_current:
            self._wants_match = False
            self.action_open()

    @on(Input.Changed, "#home-line")
    def filter_entries(self) -> None:
        if self.line.value != self._filter:
            self.options.highlighted = None
            self._wants_match = self._is_left = False
            self._show()

    @on(Input.Submitted, "#home-line")
    def choose(self) -> None:
        self.action_open()

    @on(OptionList.OptionSelected, "#entries")
    def choose_by_mouse(self, event: OptionList.OptionSelected) -> None:
        self._open(event.option_index)

    def key_escape(self) -> None:
        self.line.value = ""

    def action_cursor(self, step: int) -> None:
        if step > 0:
            self.options.action_cursor_down()
        else:
            self.options.action_cursor_up()

    def action_page(self, step: int) -> None:
        if step > 0:
            self.options.action_page_down()
        else:
            self.options.action_page_up()

    def action_open(self) -> None:
        # Enter may come before the list has followed the last letters.
        self.filter_entries()
        if self.options.highlighted is not None:
            self._open(self.options.highlighted)
        else:
            self._wants_match = not self._is_listed and bool(self.line.value.strip())

    def _open(self, row: int) -> None:
        place = self._rows[row]
        if place is None:
            return
        from acp_console.kept.session_store import StoredSession, agent_of

        target = self._shown[place].target
        if isinstance(target, AgentSpec | ChatSession | ProxySource | FileSource):
            self._leave(self.SourceChosen(target))
        elif isinstance(target, StoredSession):
            self._leave(self.Continued(target, agent_of(target, self._catalogue)))
        else:
            self._start(target)

    def _leave(self, message: Message) -> None:
        """Open something; what was typed and chosen for it is over."""
        self.post_message(message)
        self._is_left = True
        with self.prevent(Input.Changed):
            self.line.value = ""
        self.options.highlighted = None

    @work
    async def _start(self, entry: CatalogueEntry) -> None:
        """Start an agent of the catalogue; its command is shown and agreed to before."""
        if not self.is_current:
            # A second Enter at once.
            return
        line = escape_controls(entry.command_line)
        if entry.state == "missing":
            text = f"{single_line(entry.title, 40)} is not installed"
            if entry.install:
                text += f". This installs it: {escape_controls(entry.install)}"
            self.notify(text, severity="warning", markup=False, timeout=15)
            return
        catalogue = self._catalogue
        assert catalogue is not None
        try:
            if not entry.is_confirmed:
                text = f"The catalogue starts {single_line(entry.title, 40)} with\n\n  {line}\n"
                if entry.state == "wrapper":
                    text += f"\n{entry.command[0]} downloads it first.\n"
                if not await self.app.push_screen_wait(
                    ConfirmScreen(f"{text}\nRun it?", yes="Run", no="No")
                ):
                    return
                catalogue.confirm(entry)
                self._open_catalogue()
            self._leave(self.SourceChosen(catalogue.spec(entry, is_remembered=True)))
        except (AcpError, OSError) as problem:
            self.notify(escape_controls(str(problem)), severity="error", markup=False)

    def _show(self) -> None:
        """Show what matches the line, under a heading for each section."""
        at = self.options.highlighted
        place = self._rows[at] if at is not None and at < len(self._rows) else None
        before = None if place is None else self._shown[place].identity
        text = self._filter = self.line.value
        entries = [
            *chat_entries(self._chats),
            *self._sessions,
            *self._agents,
            *self._known,
            *self._others,
        ]
        is_used = bool(self._sessions or self._others or self._chats.chats)
        is_first = self._has_looked and not text and not is_used
        self.query_one("#first").display = is_first
        if text.strip():
            self._shown = list(shown_entries(entries, text, self._folder))
        else:
            self._shown = list(fitted_entries(entries, self._room(entries, is_first=is_first)))
        width = max(min(self.size.width, WIDTH) - 6, 20)
        longest = max((cell_len(entry.title) for entry in self._shown), default=0)
        title_width = max(TITLE_WIDTH, min(longest, width // 3))
        options: list[Option] = []
        self._rows = []
        chosen: int | None = None
        takes_first = self._is_listed and self.is_current and not self._is_left
        section: Section | None = None
        for number, entry in enumerate(self._shown):
            if entry.section != section:
                section = entry.section
                self._rows.append(None)
                options.append(Option(self._heading(section, is_first=not options), disabled=True))
            if before is not None and entry.identity == before:
                chosen, before = len(self._rows), None
            elif chosen is None and takes_first:
                chosen = len(self._rows)
            self._rows.append(number)
            options.append(Option(entry_row(entry, width, title_width)))
        self.options.clear_options()
        self.options.add_options(options)
        self.options.highlighted = chosen
        if chosen == 1:
            # Its heading too.
            self.options.scroll_home(animate=False)
        hints = [] if text.strip() or not self._has_looked else self._hints()
        about = self.query_one("#hints", Static)
        about.update(Content("\n").join(hints))
        about.display = bool(hints)
        self.options.display = bool(options)
        self.query_one("#nothing").display = not options

    def _room(self, entries: Sequence[Entry], *, is_first: bool) -> int:
        """Return the rows for entries and their headings."""
        room = self.size.height - ROWS_AROUND - (ROWS_OF_FIRST if is_first else 0)
        sections = {entry.section for entry in entries}
        return room - 2 * sum(section not in sections for section in HINTS)

    def _hints(self) -> list[Content]:
        """Return headings of sections without entries, where there is room for them."""
        shown = {entry.section for entry in self._shown}
        free = self.size.height - ROWS_AROUND - list_rows(self._shown)
        missing: list[Section] = [section for section in HINTS if section not in shown]
        headings = [self._heading(section, is_first=False) for section in missing]
        return headings[: max(free // 2, 0)]

    def _heading(self, section: Section, *, is_first: bool) -> Content:
        hint = ""
        if not self.line.value.strip():
            hint = self._hint(section)
        width = max(min(self.size.width, WIDTH) - 8 - len(section), 0)
        return Content.assemble(
            "" if is_first else "\n",
            (section, "bold $text-muted"),
            (f"   {single_line(hint, width)}" if hint and width else "", "$text-muted"),
        )

    def _hint(self, section: Section) -> str:
        """Return the text after a heading: what is left out, or how to fill the section."""
        shown = {entry.identity for entry in self._shown if entry.section == section}
        if section == "Agents":
            hidden = sum(entry.identity not in shown for entry in self._known)
            return f"{hidden} more are known: type part of a name" if hidden else ""
        if section == "Recordings":
            kept = "" if self._store is None else f"; chats are in {below_home(self._store.folder)}"
            return f"{'in this directory' if shown else 'none in this directory'}{kept}"
        return "" if shown else HINTS.get(section, "")


def _look_of(entry: Entry) -> tuple[object, ...]:
    held = entry.target.proxy.held if isinstance(entry.target, ProxySource) else 0
    return entry.section, entry.title, entry.detail, entry.note, held


def entry_row(entry: Entry, width: int, title_width: int) -> Content:
    """Return a line of the list, in columns of cells."""
    title_width = max(min(title_width, width - len(entry.note) - 4), 8)
    room = width - title_width - len(entry.note) - 6
    detail = single_line(entry.detail, room) if room > 0 else ""
    title = single_line(entry.title, title_width)
    detail = set_cell_size(detail, min(cell_len(detail), max(room, 0)))
    gap = max(width - title_width - cell_len(detail) - cell_len(entry.note) - 4, 1)
    sign = "$text-success" if entry.sign in {"✓", "●"} else "$text-muted"
    return Content.assemble(
        (f"{entry.sign} ", sign),
        (f"{set_cell_size(title, title_width)} ", "bold"),
        (detail, "$text-muted"),
        " " * gap,
        (entry.note, "bold $text-warning" if entry.note.startswith(PAUSED) else "$text-muted"),
    )
