"""The console: the app and its screens."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from anyio import to_thread
from textual import work
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.command import Provider
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Static

from acp_console.agents.spec import AGENTS, AgentSpec
from acp_console.chat.attention import Attention
from acp_console.chat.chat_session import ChatSession, SessionSetup
from acp_console.chat.connection import OpeningWay
from acp_console.chat.open_chats import OpenChats
from acp_console.chat.running_agent import RunningAgent
from acp_console.kept.preferences import PaneLayout, PreferenceStore
from acp_console.paths import config_path
from acp_console.traffic.intercept import OpenProxies
from acp_console.traffic.sources import FileSource, ProxySource, TrafficSource
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.screen import STOP_TIMEOUT_S, ChatScreen, ChatWanted
from acp_console.tui.chat.sidebar import chat_title
from acp_console.tui.commands import COMMANDS, Scope, bindings
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.ending import ConsoleEndTimer
from acp_console.tui.help import HelpScreen
from acp_console.tui.home.screen import HomeScreen
from acp_console.tui.images.driver import leaving_driver
from acp_console.tui.images.images import Images
from acp_console.tui.images.terminal import (
    TERMINAL_FD,
    Graphics,
    cell_size,
    environment_setting,
    find_graphics,
    kept_setting,
)
from acp_console.tui.news import News
from acp_console.tui.outside import NoticeForm, notice_form, notice_sequence
from acp_console.tui.palette import CommandProvider, commands_of
from acp_console.tui.textual_fixes import steady_cursors, surviving_terminal, take_keys_in_order
from acp_console.tui.themes import DEFAULT_THEME, THEME_NAMES, ThemedApp
from acp_inspector.control.client import RunningProxy, running_proxies
from acp_inspector.journal import Journal
from acp_inspector.session.items import Item
from acp_protocol.errors import AcpError
from acp_protocol.host.did_you_mean import nearest
from acp_protocol.host.process import raise_descriptor_limit
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json

if TYPE_CHECKING:
    from acp_console.config import Config
    from acp_console.kept.prompt_history import PromptHistory
    from acp_console.kept.session_store import RecordedSessions, StoredSession
    from acp_console.tui.traffic.pane import TrafficPane


class PausedBadge(Static):
    """Says on each screen how many messages are paused; a click leads there."""

    DEFAULT_CSS = """
    PausedBadge {
        dock: right;
        layer: paused;
        width: auto;
        height: 1;
        color: $text-warning;
        text-style: bold reverse;
    }
    """

    async def on_click(self) -> None:
        await self.app.run_action("paused")


MAX_RESUMED: Final = 3
"""Sessions for which the command that resumes them is printed at the end."""
SHORT: Final = 16
"""Rows below which frames and empty rows are left out."""


HOME_AFTER_S: Final = 2.0
"""Seconds after which Home looks for what can be opened below the chat that is shown first."""


class ConsoleApp(ThemedApp[int]):
    """Chats with agents and shows their traffic."""

    TITLE = "acp-console"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("everywhere")
    ENABLE_COMMAND_PALETTE = True
    VERTICAL_BREAKPOINTS = [(0, "-short"), (SHORT, "-tall")]  # noqa: RUF012 - Textual's own
    # Textual's own commands are in it too, at the end.
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {CommandProvider}

    def __init__(
        self,
        *,
        agent: AgentSpec | None = None,
        start: Literal["home", "chat"] = "home",
        cwd: Path,
        record: Path | None = None,
        store: RecordedSessions | None = None,
        continued: StoredSession | None = None,
        history: Callable[[], PromptHistory] | None = None,
        watch: Sequence[TrafficSource] = (),
        timing: PermissionTiming | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
        end_timer: ConsoleEndTimer | None = None,
        remembers: bool = False,
        theme: str | None = None,
        preferences: PreferenceStore | None = None,
        proxies: Callable[[], Sequence[RunningProxy]] = running_proxies,
        journals: Callable[[], Journal] = Journal,
        graphics: Graphics | None = None,
    ) -> None:
        """Show Home, a chat with `agent`, the session `continued` or what `watch` names.

        `remembers`: whether modes and options that are chosen are defaults of later chats;
        `proxies` finds those that run on this machine; `journals` makes that of a new agent;
        `graphics` is how the terminal shows images, if it does.
        """
        if theme is None and preferences is not None:
            theme = preferences.get().theme
        super().__init__(theme if theme in THEME_NAMES else DEFAULT_THEME)
        self._preferences = preferences
        self._pane_layout = PaneLayout(preferences)
        self._kept_theme = self.theme
        self._terminal_title = ""
        self._rings = self._has_titles = True
        """Whether the bell may ring, and the title of the window may change."""
        self._notice_form: NoticeForm | None = notice_form("auto", os.environ)
        """How the terminal takes notices of the desktop; None: not at all."""
        self._attention = Attention()
        self._done = ""
        """What was over while the terminal was not in front, until it is."""
        self._remembers = remembers
        self._end_timer = end_timer
        if end_timer is not None:
            self.driver_class = end_timer.watch(self.driver_class)
        if graphics is not None:
            self.images = Images(graphics, self._write, self._decode_images)
            self.driver_class = leaving_driver(self.driver_class, self.images.leave)
        self._timing = timing
        self._stop_timeout_s = stop_timeout_s
        self._agents = AGENTS if agent is None or agent in AGENTS else (agent, *AGENTS)
        self._start_agent = agent if start == "chat" else None
        self._cwd = cwd
        self._record = record
        self._store = store
        self._continued = continued
        self._history = history
        self.open_chats = OpenChats()
        self._chat_screens: dict[ChatSession, ChatScreen] = {}
        self._watch = watch
        self._proxies = proxies
        self._journals = journals
        self._asks_to_quit = False
        self._started: list[RunningAgent] = []
        self._resumed: set[Path] = set()
        """The recordings of the sessions that this run went on with."""
        """The agents of all chats, also of those that are closed."""
        self.open_proxies = OpenProxies()
        self._paused: set[tuple[RunningProxy, int]] = set()
        """The paused messages at the last look."""

    def on_mount(self) -> None:
        """Open the first screen."""
        self.theme_changed_signal.subscribe(self, self._keep_theme)
        self.open_proxies.news.add(News(self, self._announce_paused))
        self._configure()
        if self._end_timer is not None:
            self._end_timer.listen(self)
        if self._watch:
            self._watch_sources(self._watch)
            return
        self.open_chats.changed.add(self._call_user)
        self.push_screen(
            HomeScreen(
                self._agents,
                self._cwd,
                self.open_chats,
                self._store,
                self._proxies,
                looks_after_s=0 if self._start_agent is None else HOME_AFTER_S,
            )
        )
        if self._start_agent is not None and self._continued is not None:
            self._continue(self._continued, self._start_agent)
        elif self._start_agent is not None:
            self._chat_with(self._start_agent, self._cwd)

    @work(thread=True, group="configuration")
    def _configure(self) -> None:
        """Take keys and notifications from the configuration; Home reports what is wrong in it."""
        with suppress(AcpError):
            if config_path().exists():
                # It takes time to import.
                from acp_console.config import load_config

                self.call_from_thread(self._take_config, load_config())

    def _reconfigure(self, _: None) -> None:
        self._configure()

    def _take_config(self, config: Config) -> None:
        wanted = config.notifications
        self._rings, self._has_titles = wanted.bell, wanted.title
        self._attention.long_turn_s = wanted.long_turn_s
        self._notice_form = notice_form(wanted.desktop, os.environ)
        known = [command.id for command in COMMANDS]
        for unknown in config.keys.keys() - set(known):
            near = nearest(unknown, known)
            hint = f"; did you mean {near}?" if near else ""
            text = f"{config.at('keys', unknown)}: no command is called that{hint}"
            self.notify(escape_controls(text), severity="warning", markup=False)
        self.keys = config.keys
        self.set_keymap({**config.keys})

    def bell(self) -> None:
        """Ring, unless the user wants silence."""
        if self._rings:
            super().bell()

    def action_settings(self) -> None:
        from acp_console.tui.settings import SettingsScreen

        try:
            path = config_path()
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="error", markup=False)
            return
        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen(path), self._reconfigure)

    def _keep_theme(self, theme: Theme) -> None:
        if self._preferences is None or theme.name == self._kept_theme:
            return
        self._kept_theme = theme.name
        try:
            self._preferences.update(theme=theme.name)
        except AcpError as problem:
            text = f"The theme could not be saved: {escape_controls(str(problem))}"
            self.notify(text, severity="warning", markup=False)

    def _call_user(self) -> None:
        """Call the user for what they do not see: by a toast, the bell and a notice."""
        for call in self._attention.look(self.open_chats.chats):
            screen = self._chat_screens.get(call.chat)
            is_shown = screen is not None and screen.is_current
            if not is_shown:
                severity = "warning" if call.needs_user else "information"
                self.notify(call.text, severity=severity, markup=False)
            if not self.app_focus or (call.needs_user and not is_shown):
                self.bell()
            if not self.app_focus:
                self._done = "" if call.needs_user else call.text
                self._send_notice(call.text)
        self._show_terminal_title()

    def _send_notice(self, text: str) -> None:
        if self._notice_form is not None:
            self._write(notice_sequence(self._notice_form, text))

    def _write(self, sequence: str) -> None:
        """Write to the terminal, between two frames."""
        if self._driver is not None:
            self._driver.write(sequence)

    @work(group="images")
    async def _decode_images(self) -> None:
        if self.images is not None:
            await self.images.decode_wanted()

    def on_resize(self) -> None:
        """Follow the size of the letters, too."""
        if self.images is not None and (cell := cell_size(TERMINAL_FD)) is not None:
            self.images.fit(cell)

    def on_app_focus(self) -> None:
        """Take back what the title says to somebody who looks elsewhere."""
        self._done = ""
        self._show_terminal_title()

    def _show_terminal_title(self) -> None:
        """Say in the title of the terminal's window which chat needs the user, or what runs."""
        chats = self.open_chats.chats
        needy = next((chat for chat in chats if chat.is_waiting_for_user), None)
        busy = next((chat for chat in chats if chat.is_busy), None)
        text = "acp-console"
        if needy is not None:
            text = f"? {chat_title(needy)} needs you"
        elif busy is not None:
            text = f"◐ {chat_title(busy)}"
        elif self._done:
            text = f"✓ {self._done}"
        if text != self._terminal_title and self._has_titles and self._driver is not None:
            self._terminal_title = text
            self._driver.write(f"\x1b]2;{single_line(text, 80)}\x07")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return those of Textual's own commands that our table has not."""
        commands = super().get_system_commands(screen)
        return (command for command in commands if command.title in {"Theme", "Screenshot"})

    def on_home_screen_source_chosen(self, message: HomeScreen.SourceChosen) -> None:
        if not isinstance(self.screen, HomeScreen):
            # A second Enter at once.
            return
        match message.target:
            case AgentSpec():
                self._chat_with(message.target, message.target.cwd or self._cwd)
            case ChatSession():
                self._show_chat(message.target)
            case _:
                self._watch_sources([message.target])

    def _watch_sources(self, sources: Sequence[TrafficSource]) -> None:
        # It takes time to import, and a chat does without.
        from acp_console.tui.watch.screen import WatchScreen

        self.push_screen(WatchScreen(sources, self.open_proxies, self._pane_layout))

    def on_unmount(self) -> None:
        self.open_proxies.close()

    def _announce_paused(self) -> None:
        """Ring for messages that were paused since the last look, and count all on the screen."""
        held = self.open_proxies.held()
        before = self._paused
        self._paused = {(proxy, hold.id) for proxy, hold in held}
        for proxy, hold in held:
            if (proxy, hold.id) not in before:
                name = single_line(f"{proxy.name}: {hold.name}", 80)
                self._ring(f"⏸ {name} is paused for {hold.seconds_left:.0f} s; alt+p goes there")
        if self._paused != before:
            self.refresh_bindings()
        badges = self.screen.query(PausedBadge)
        if not held:
            badges.remove()
            return
        text = f" ⏸ {len(held)} paused! "
        if not badges:
            self.screen.mount(PausedBadge(text, markup=False))
        for badge in badges:
            if badge.content != text:
                badge.update(text)

    def _ring(self, text: str) -> None:
        self.bell()
        self.notify(text, severity="warning", markup=False)

    def on_home_screen_paused(self, message: HomeScreen.Paused) -> None:
        """Ring for a proxy that only the first screen looks at."""
        if not self.open_proxies.has(message.proxy):
            name = single_line(message.proxy.name, 40)
            self._ring(f"⏸ {name}: {message.proxy.held} paused! The first screen lists it")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to go to a paused message if there is one."""
        if action == "paused":
            return bool(self.open_proxies.held()) and not self.screen.is_modal
        return super().check_action(action, parameters)

    async def action_paused(self) -> None:
        """Go to the message that is released first."""
        from acp_console.tui.watch.screen import WatchScreen

        held = self.open_proxies.held()
        if not held:
            return
        proxy = held[0][0]
        if not isinstance(self.screen, WatchScreen) or not await self.screen.show_paused(proxy):
            screen = WatchScreen([ProxySource(proxy)], self.open_proxies, self._pane_layout)
            await self.push_screen(screen)
            await screen.show_paused(proxy)

    @work
    async def on_traffic_pane_compare_wanted(self, message: TrafficPane.CompareWanted) -> None:
        """Ask for another source, and compare the traffic with it."""
        # It takes time to import, and is seldom used.
        from acp_console.traffic.comparison import (
            ComparisonSource,
            entries_source,
            recording_source,
        )
        from acp_console.tui.compare.choice import Candidate, CompareWithScreen
        from acp_console.tui.compare.screen import CompareScreen
        from acp_console.tui.watch.screen import WatchScreen

        screen, folders, title = self.screen, [self._cwd], ""
        others: list[Candidate] = []
        if isinstance(screen, WatchScreen):
            title = screen.source.title
            for source in screen.sources:
                if isinstance(source, FileSource):
                    folders.append(source.path.parent)
                    if source is not screen.source:
                        others.append(Candidate("open", recording_source(source.path)))
        for chat in self.open_chats.chats:
            if isinstance(screen, ChatScreen) and screen.chat is chat:
                title = chat_title(chat)
            else:
                entries = chat.journal.entries
                source = ComparisonSource(chat_title(chat), lambda them=entries: list(them))
                others.append(Candidate("open chat", source, single_line(str(chat.cwd), 120)))
        left = entries_source(message.entries, title)
        asking = CompareWithScreen(left.title, others, folders, self._store)
        right = await self.push_screen_wait(asking)
        if right is not None:
            self.push_screen(CompareScreen(left, right))

    def on_home_screen_continued(self, message: HomeScreen.Continued) -> None:
        self._continue(message.session, message.spec)

    @work(exclusive=True, group="continue")
    async def _continue(self, session: StoredSession, spec: AgentSpec) -> None:
        """Resume a session below what was said in it."""
        from acp_console.kept.session_store import read_conversations

        earlier: list[Item] = []
        try:
            talks = await to_thread.run_sync(read_conversations, session)
            earlier = [item for talk in talks for item in talk.items]
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="warning", markup=False)
        self._resumed.add(session.recording)
        agent = self._new_agent(spec, session.cwd)
        chat = ChatSession(
            agent,
            way="resume",
            session_id=session.session_id,
            directories=session.directories,
            servers=None if session.servers is None else self._servers(spec, session.servers),
            earlier=earlier,
            known_title=session.title if session.is_named else "",
            continues=session.id,
            forget_draft=partial(self._store.keep_draft, session, "")
            if self._store is not None
            else lambda: None,
        )
        self._open_chat(chat, session.draft)
        self.run_worker(agent.run(), group="agents", exit_on_error=True)

    def _servers(self, spec: AgentSpec, names: Sequence[str]) -> list[Mapping[str, Json]]:
        """Return the MCP servers of a session from before; report those that are gone."""
        from acp_console.agents.catalogue import known_servers

        try:
            known = {str(each["name"]): each for each in known_servers(spec)}
        except AcpError as problem:
            self.notify(escape_controls(str(problem)), severity="warning", markup=False)
            known = {str(each["name"]): each for each in spec.mcp_servers}
        if gone := [name for name in names if name not in known]:
            text = f"No longer configured, so left out: {', '.join(gone)}"
            self.notify(single_line(text, 300), severity="warning", markup=False)
        return [known[name] for name in names if name in known]

    def _show_wanted(self, wanted: ChatWanted) -> None:
        if wanted.chat is not None:
            self._show_chat(wanted.chat)
            return
        screen = wanted.screen
        chat = screen.chat
        setup = wanted.setup or chat.setup
        if chat.agent.is_running:
            self._open_chat(
                ChatSession(
                    chat.agent,
                    setup.cwd,
                    way=wanted.way,
                    session_id=wanted.session_id,
                    directories=setup.directories,
                    servers=setup.servers,
                    earlier=screen.settled_items() if wanted.way == "fork" else (),
                )
            )
        else:
            way: OpeningWay = "new" if wanted.way == "fork" else wanted.way
            self._chat_with(chat.spec, setup.cwd, setup, way, wanted.session_id)

    @work(exclusive=True, group="save")
    async def on_chat_screen_save_wanted(self, message: ChatScreen.SaveWanted) -> None:
        # It takes time to import, and many chats are not saved.
        from acp_console.tui.chat.save_talk import save_talk

        await save_talk(self, message.chat, self._store)

    def on_chat_screen_close_wanted(self, message: ChatScreen.CloseWanted) -> None:
        """Close a chat, and go to the next one, or to the first screen."""
        screen = message.screen
        if self._chat_screens.pop(screen.chat, None) is None:
            return
        other = self.open_chats.beside(screen.chat, 1)
        if screen.is_current:
            if other is screen.chat:
                self.pop_screen()
            else:
                self._show_chat(other)
        self._close_chat(screen)

    @work(group="closing")
    async def _close_chat(self, screen: ChatScreen) -> None:
        """Close a chat that is shown no more; other chats go on meanwhile."""
        await screen.leave()
        self.uninstall_screen(screen)
        await screen.remove()

    async def action_quit(self) -> None:
        """Quit; ask first while a turn runs, but do not ask twice."""
        if self.open_chats.are_busy and not self._asks_to_quit:
            if self._end_timer is not None:
                self._end_timer.cancel()
            self._ask_to_quit()
        else:
            self.exit()

    @work
    async def _ask_to_quit(self) -> None:
        text = "A turn is running, and quitting ends its agent. Quit?"
        self._asks_to_quit = True
        if await self.push_screen_wait(ConfirmScreen(text, yes="Quit", no="Stay")):
            self.exit()
        self._asks_to_quit = False

    def action_help(self) -> None:
        if not isinstance(self.screen, HelpScreen):
            # First what has the focus, then all else on the screen.
            near = [] if self.focused is None else self.focused.ancestors_with_self
            beside = [each for each in self.screen.query("*") if each.is_on_screen]
            nodes = [*(node for node in near if node is not self), self.screen, *beside]
            scopes: list[Scope] = [
                command.scope for node in nodes for command in commands_of(type(node))
            ]
            self.push_screen(HelpScreen(scopes, self.keys))

    def _chat_with(
        self,
        spec: AgentSpec,
        cwd: Path,
        setup: SessionSetup | None = None,
        way: OpeningWay = "new",
        session_id: str | None = None,
    ) -> None:
        """Start an agent, and open a session of it."""
        agent, setup = self._new_agent(spec, cwd), setup or SessionSetup(cwd)
        chat = ChatSession(
            agent,
            way=way,
            session_id=session_id,
            directories=setup.directories,
            servers=setup.servers,
        )
        self._open_chat(chat)
        self.run_worker(agent.run(), group="agents", exit_on_error=True)

    def _new_agent(self, spec: AgentSpec, cwd: Path) -> RunningAgent:
        record, after = None, None
        if self._record is not None:
            record, after = self.open_chats.recording_for(self._record)
            if record != self._record:
                self.notify(f"This chat is recorded to {record.name}.", markup=False)
        agent = RunningAgent(
            spec,
            cwd,
            record=record,
            store=self._store,
            after=after,
            remembers=self._remembers,
            elicits=True,
            runs_logins=True,
            journal=self._journals(),
        )
        self._started.append(agent)
        return agent

    def kept_sessions(self) -> Sequence[StoredSession]:
        """Return the sessions of this run that can be continued, the last used first."""
        runs = [each.run_record for each in self._started]
        recordings = {run.recording for run in runs if run and run.recording is not None}
        # A run in which nothing was said is not kept; the session that it went on with is.
        recordings.update(self._resumed)
        return self._store.sessions_of(recordings) if self._store and recordings else []

    def _open_chat(self, chat: ChatSession, draft: str = "") -> None:
        screen = ChatScreen(
            chat,
            self.open_chats,
            self._show_wanted,
            self._timing,
            self._stop_timeout_s,
            draft,
            self._history,
            self._pane_layout,
        )
        self._chat_screens[chat] = screen
        self.open_chats.add(chat)
        # Installed screens stay while others are shown.
        self.install_screen(screen, f"chat-{id(screen)}")
        self._show_chat(chat)

    def _show_chat(self, chat: ChatSession) -> None:
        screen = self._chat_screens[chat]
        if screen is self.screen:
            return
        if isinstance(self.screen, ChatScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)


def run_console(
    *,
    agent: AgentSpec | None = None,
    start: Literal["home", "chat"] = "home",
    cwd: Path,
    record: Path | None = None,
    continued: StoredSession | None = None,
    theme: str | None = None,
) -> int:
    """Run the console until the user leaves; return the exit code.

    `record` is where the traffic of all chats is recorded. `continued` is a session of `agent` to
    go on with.
    """
    from acp_console.kept.session_store import open_user_store

    store, graphics = open_user_store(), _find_graphics()

    @cache
    def history() -> PromptHistory:
        # It takes time to import, and is not needed before the first prompt.
        from acp_console.kept.prompt_history import PromptHistory

        return PromptHistory(is_on=store.is_on)

    return _run(
        lambda timer: ConsoleApp(
            agent=agent,
            start=start,
            cwd=cwd,
            record=record,
            store=store,
            continued=continued,
            history=history,
            end_timer=timer,
            remembers=True,
            theme=theme,
            preferences=PreferenceStore(),
            graphics=graphics,
        ),
        at_end=_say_how_to_resume,
    )


def _say_how_to_resume(app: ConsoleApp) -> None:
    """Print how to go on with what was said, now that the terminal shows lines again."""
    sessions = app.kept_sessions()
    lines = [
        f"acp-console sessions resume {each.id}   {single_line(each.title, 60)}"
        for each in sessions[:MAX_RESUMED]
    ]
    if len(sessions) > MAX_RESUMED:
        lines.append(f"acp-console sessions ls   {len(sessions) - MAX_RESUMED} more")
    # The terminal may be gone.
    with suppress(OSError):
        sys.stderr.writelines(f"Go on with: {line}\n" for line in lines)
        sys.stderr.flush()


def _find_graphics() -> Graphics | None:
    """Return how the terminal shows images, before the screens take it."""
    setting = environment_setting(os.environ)
    if setting is None:
        setting = "auto"
        # What is wrong with its place is reported where it is read.
        with suppress(AcpError):
            setting = kept_setting(config_path())
    return find_graphics(setting, os.environ)


def run_watch(sources: Sequence[TrafficSource], theme: str | None = None) -> int:
    """Look at traffic of others until the user leaves; return the exit code."""
    graphics = _find_graphics()
    return _run(
        lambda timer: ConsoleApp(
            cwd=Path.cwd(),
            watch=sources,
            end_timer=timer,
            theme=theme,
            preferences=PreferenceStore(),
            graphics=graphics,
        )
    )


def _run(
    make: Callable[[ConsoleEndTimer], ConsoleApp],
    at_end: Callable[[ConsoleApp], object] = lambda app: None,
) -> int:
    raise_descriptor_limit()
    # Frames and rows live long, and looking through all of them takes tenths of a second.
    gc.freeze()
    gc.set_threshold(10_000, 10, 1000)
    steady_cursors()
    take_keys_in_order()
    timer = ConsoleEndTimer()
    with surviving_terminal():
        try:
            app = make(timer)
            app.run()
        finally:
            timer.cancel()
    at_end(app)
    return app.return_code or 0
