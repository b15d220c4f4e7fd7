"""One agent that runs, with any number of sessions.

`run` owns the process and the connection; each session is served by a task below it. A restart
waits for the end of the old process, so nothing of an old agent reaches a new one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

import anyio

from acp_console.agents.session_options import SessionOption
from acp_console.agents.spec import AgentSpec, Login
from acp_console.chat.connection import (
    QUIET,
    AgentConnection,
    QuietTimes,
    connect_agent,
    remember_dialect,
)
from acp_console.chat.elicitation import Elicitation, ElicitationAnswer
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PermissionPrompt
from acp_console.chat.recording import record_journal
from acp_console.wording.values import plural, stray_line_text
from acp_inspector.journal import DIALECT, Entry, Frame, Journal, JournalEvent
from acp_inspector.recording.format import RecordingError
from acp_inspector.session.conversation import Conversation
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.events import Malformed
from acp_inspector.session.items import Item, Notice, ToolCallItem
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.dialects.spellings import BATCHES_HINT, NO_DIALECT, SENDS_BATCHES
from acp_protocol.errors import AcpError
from acp_protocol.jsonrpc import Json, is_array_of_messages
from acp_protocol.transport.remote import (
    LIMITS,
    RemoteClosedError,
    RemoteLimits,
    retry_delays,
)

CLOSE_TIMEOUT_S: Final = 8.0
"""Seconds that the agent's end may take."""
logger = logging.getLogger(__name__)

PORTION: Final = 50
"""Entries that are applied without a look at the clock."""


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """The part of a journal that one recording holds."""

    path: Path
    after: int
    """The last entry of the journal that is not in it."""
    offset: int
    """What the recording adds to the numbers of the journal."""


class KeptRun(Protocol):
    """A run of an agent, while it is kept for later."""

    @property
    def recording(self) -> Path | None: ...
    def note(self, talk: Conversation) -> None: ...
    def name_agent(self, title: str) -> None: ...
    def id_of(self, session_id: str) -> str: ...
    def continue_in(self, session_id: str, earlier: str, *, keeps_title: bool) -> None: ...
    def keep_draft(self, session_id: str, text: str) -> bool: ...


class RunStore(Protocol):
    """Where runs of agents are kept."""

    def record(
        self, journal: Journal, agent: AgentSpec, cwd: Path, *, warn: Callable[[str], None]
    ) -> AbstractContextManager[KeptRun]: ...


class ServedSession(Protocol):
    """A session as its agent sees it; `ChatSession` says what each member does."""

    session_id: str | None
    on_change: Callable[[], object]

    @property
    def state(self) -> str: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def needs_login(self) -> bool: ...
    async def serve(self, link: AgentConnection, handlers: ClientHandlers) -> None: ...
    async def decide(self, request: PermissionPrompt) -> str | None: ...
    async def elicit(self, request: Elicitation) -> ElicitationAnswer: ...
    def prepare(self) -> None: ...
    def stop(self, error: AcpError | None) -> None: ...
    def lose(self, error: AcpError) -> None: ...
    def resend(self) -> None: ...
    def leave(self) -> None: ...
    def log_in(self, method: str | None = None) -> None: ...
    def cancel_open_requests(self) -> None: ...
    def note_change(self, item: Item) -> None: ...
    def note_outputs(self, terminals: Iterable[str]) -> None: ...
    def note_page_done(self, elicitation_id: str) -> None: ...


class RunningAgent:
    """An agent's process and connection, again after each restart.

    Args:
        spec: the agent to start.
        cwd: the directory that it is started in.
        record: where to record its traffic.
        store: where each of its processes is kept; None: nowhere.
        after: the agent that recorded to that file before; its recording is continued once it is
        closed.
        remembers: whether choices in its sessions are defaults of the next chat.
        elicits: whether forms and pages of the agent are shown, which is claimed then.
        runs_logins: whether logins that need a terminal are run, which is claimed then.
        quiet: how long the agent has to be silent before it counts as done.
        journal: where its traffic is kept in memory; None: in a new journal.
        reconnecting: how often and how long a connection that broke is opened again.
    """

    def __init__(
        self,
        spec: AgentSpec,
        cwd: Path,
        *,
        record: Path | None = None,
        store: RunStore | None = None,
        after: RunningAgent | None = None,
        remembers: bool = False,
        elicits: bool = False,
        runs_logins: bool = False,
        quiet: QuietTimes = QUIET,
        journal: Journal | None = None,
        reconnecting: RemoteLimits = LIMITS,
    ) -> None:
        self.spec = spec
        self._quiet = quiet
        self.cwd = cwd
        self.record = record
        self.journal = Journal() if journal is None else journal
        """The traffic of all its processes, also those before a restart."""
        self.title = spec.title
        """The agent's own name; untrusted."""
        self.link: AgentConnection | None = None
        """The connection, while there is one."""
        self.sessions: list[ServedSession] = []
        self.owns_recording = False
        """Whether this agent, and not one before it, writes the recording."""
        self.recording_failure = ""
        """Why the recording lacks entries; empty if it lacks none."""
        self.recorded: list[RecordedPart] = []
        """The recordings of its traffic, the oldest first."""
        self.entries_read = 0
        """Entries of the journal that the conversations know."""
        self._has_logged_in = False
        self._has_tried_dialect = False
        """Whether it was started once more in a dialect, and has not responded to a prompt."""
        self.account: Json = None
        """Who is logged in, as the agent reported it by itself; not validated."""
        self._watchers: list[Callable[[str, Item | None], object]] = []
        self._after = after
        self._store = store
        self._remembers = remembers
        self._elicits = elicits
        self._runs_logins = runs_logins
        self.run_record: KeptRun | None = None
        """The present process in the store."""
        self._wake = anyio.Event()
        self._restart = anyio.Event()
        self._reconnecting = reconnecting
        self._delays = retry_delays(reconnecting)
        """Before each try to open a lost connection again."""
        self._gives_up_at: float | None = None
        """When no more tries are made; None if the agent has never responded."""
        self._connected_at: float | None = None
        """When the present process or connection responded to `initialize`; None if it has not."""
        self._scope = anyio.CancelScope()
        self._process_scope = anyio.CancelScope()
        self._is_over = anyio.Event()
        self._is_closed = anyio.Event()
        self._new_connection()

    @property
    def is_running(self) -> bool:
        return self.link is not None

    def now(self) -> float | None:
        """Return the seconds since the journal began; None when no process runs."""
        if all(session.state == "stopped" for session in self.sessions):
            return None
        return self.journal.now

    def remember(self, option: SessionOption, value: Json) -> None:
        """Remember what the user chose in a session, for the next chat with this agent.

        Raises:
            FileWriteError: it cannot be remembered.
        """
        if self._remembers:
            # pydantic takes time, and most chats choose nothing.
            from acp_console.agents.choices import ChoiceStore

            ChoiceStore().remember(self.spec, option, value)

    def add(self, session: ServedSession) -> None:
        """Open a session as soon as the agent runs."""
        self.sessions.append(session)
        self._wake.set()

    def restart(self, variables: Mapping[str, str] | None = None) -> None:
        """End the process and start it again; each session goes on in it if the agent can.

        `variables` are those that it gets besides its own from now on, such as a key to log in.
        """
        self.spec = replace(self.spec, env={**self.spec.env, **(variables or {})})
        self._restart.set()
        self._process_scope.cancel()

    def start_in_its_dialect(self, link: AgentConnection) -> bool:
        """Start the agent once more if what it refused points to a dialect, or to none any more.

        Return whether it does.
        What it did not understand is sent again.
        """
        if link.other_spec is None or self._has_tried_dialect:
            return False
        self._has_tried_dialect = True
        self.spec = link.other_spec
        if self.spec.dialect is None:
            self.journal.event(DIALECT, dialect=NO_DIALECT)
        self._report_dialect()
        for session in self.sessions:
            session.resend()
        self.restart()
        return True

    def note_understood(self) -> None:
        """Remember the dialect of the second try: the agent has responded to a prompt in it."""
        if self._has_tried_dialect:
            self._has_tried_dialect = False
            remember_dialect(self.spec)

    def take_login(self) -> Login | None:
        """Return, once for each process, the login that the user has named for it."""
        login = None if self._has_logged_in else self.spec.login
        self._has_logged_in = True
        return login

    def _connected(self, link: AgentConnection) -> None:
        self._has_logged_in = False
        self._connected_at = anyio.current_time()
        if self._gives_up_at is None:
            self._gives_up_at = self._connected_at + self._reconnecting.give_up_s
        self.link, self.title = link, link.title
        if self.run_record is not None:
            self.run_record.name_agent(self.title)
        if link.spec != self.spec:
            self.spec = link.spec
            self._report_dialect()

    def _report_dialect(self) -> None:
        text = f"{self.title} {self.spec.speech}: started once more"
        for session in self.sessions:
            session.note_change(Notice("dialect", text))
        self._changed()

    def retry_refused(self) -> None:
        """Open the sessions that wait for a login."""
        for session in self.sessions:
            if session.needs_login and not session.is_open:
                session.log_in()

    async def run(self) -> None:
        """Run the agent, again after each `restart`, until `close`."""

        def changed(entry: Entry) -> None:
            del entry
            self._changed()

        unsubscribe = self.journal.subscribe(changed)
        try:
            with self._scope:
                if self._after is not None:
                    await self._after.wait_closed()
                    self.owns_recording, self._after = self._after.owns_recording, None
                while True:
                    try:
                        await self._run_recorded()
                    except RecordingError as error:
                        self._stop(error)
                        await self._wait_for_restart()
        finally:
            unsubscribe()
            self._is_over.set()

    async def close(self) -> None:
        self._scope.cancel()
        with anyio.move_on_after(CLOSE_TIMEOUT_S):
            await self._is_over.wait()
        self._is_closed.set()

    async def wait_closed(self) -> None:
        await self._is_closed.wait()

    async def close_session(self, session: ServedSession) -> None:
        """Close a session, and the agent with the last one."""
        if self.sessions == [session]:
            await self.close()
        elif session in self.sessions:
            self.sessions.remove(session)
            session.leave()

    async def decide(self, request: PermissionPrompt) -> str | None:
        """Ask the user of the session; None where no session of ours is meant."""
        session = self._current_session_for(request.session_id)
        return None if session is None else await session.decide(request)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Ask the user of the session; where none is named, of one that is opened or logs in."""
        if request.session_id is None:
            # A login during a turn leaves the session as it is.
            found = sorted(self.sessions, key=lambda each: (each.is_open, each.state != "starting"))
            session = next(iter(found), None)
        else:
            session = self._current_session_for(request.session_id)
        return ElicitationAnswer("cancel") if session is None else await session.elicit(request)

    def complete(self, elicitation_id: str) -> None:
        for session in self.sessions:
            session.note_page_done(elicitation_id)

    def session_for(self, session_id: str) -> ServedSession | None:
        """Return the session with this id, or else the one that it works for as a subagent."""
        seen: set[str] = set()
        found: str | None = session_id
        while found is not None and found not in seen:
            for session in self.sessions:
                if session.session_id == found:
                    return session
            seen.add(found)
            talk = self.conversations.sessions.get(found)
            # A fork has a parent too, but works for no other session.
            is_subagent = talk is not None and talk.info.opened_by is None
            found = talk.info.parent if talk and is_subagent else None
        return None

    def _current_session_for(self, session_id: str) -> ServedSession | None:
        if all(session.session_id != session_id for session in self.sessions):
            # What announced a subagent may not have been read yet.
            self.read_journal()
        return self.session_for(session_id)

    def read_journal(self, limit_s: float = inf) -> None:
        """Apply what was said; stop after `limit_s` seconds, and go on with the next call.

        Each call applies something, however busy the machine is: a screen that sees nothing new
        stops calling.
        """
        ends_at = monotonic() + limit_s
        entries = self.journal.entries
        while self.entries_read < len(entries):
            portion = entries[self.entries_read : self.entries_read + PORTION]
            self.entries_read += len(portion)
            self._apply(portion)
            if monotonic() >= ends_at:
                break

    def watch(self, watcher: Callable[[str, Item | None], object]) -> Callable[[], None]:
        """Call `watcher` with session and item of each change; return a function that stops it.

        The item is None where only facts about the session changed.
        """
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    # Running

    async def _run_recorded(self) -> None:
        with record_journal(
            self.journal,
            self.spec,
            self.cwd,
            self.record,
            mode="append" if self.owns_recording else "new",
            warn=self._on_recording_failure,
        ) as offset:
            if self.record is not None:
                self.owns_recording = True
                self.recorded.append(RecordedPart(self.record, len(self.journal), offset))
            while True:
                delay = await self._run_process()
                with anyio.move_on_after(delay):
                    await self._wait_for_restart()

    async def _wait_for_restart(self) -> None:
        await self._restart.wait()
        self._restart = anyio.Event()

    async def _run_process(self) -> float | None:
        """Run the agent's process, or the connection to a remote one, until it ends.

        Return the seconds until a connection that broke is opened again; None if it is not.
        """
        self.read_journal()
        for session in self.sessions:
            session.prepare()
        self._new_connection()
        self._connected_at = None
        error: AcpError | None = None
        with anyio.CancelScope() as self._process_scope:
            try:
                with ExitStack() as stack:
                    if self._store is not None:
                        kept = self._store.record(
                            self.journal, self.spec, self.cwd, warn=self._on_recording_failure
                        )
                        before = len(self.journal)
                        self.run_record = stack.enter_context(kept)
                        if self.record is None and self.run_record.recording is not None:
                            recording = self.run_record.recording
                            self.recorded.append(RecordedPart(recording, before, -before))
                    error = await self._serve()
            except AcpError as problem:
                error = problem
        self.link = None
        delay = self._seconds_to_reconnect(error)
        if delay is None or error is None:
            self._stop(error)
            return None
        for session in self.sessions:
            session.lose(error)
        self._changed()
        return delay

    def _seconds_to_reconnect(self, error: AcpError | None) -> float | None:
        """Return how long to wait before a lost connection is opened again; None if it is not."""
        limits = self._reconnecting
        now = anyio.current_time()
        if not isinstance(error, RemoteClosedError) or self._gives_up_at is None:
            return None
        if self._connected_at is not None and now - self._connected_at > limits.max_retry_s:
            # It held for a while; this is another break.
            self._delays, self._gives_up_at = retry_delays(limits), now + limits.give_up_s
        delay = next(self._delays)
        return delay if error.can_return and now + delay < self._gives_up_at else None

    async def _serve(self) -> AcpError | None:
        """Serve all sessions until the agent ends; return why it did."""
        endings: list[AcpError] = []

        async def watch() -> None:
            endings.append(await link.wait_closed())
            for session in self.sessions:
                session.cancel_open_requests()
            scope.cancel()

        def note_output(session_id: str, terminal: str) -> None:
            for session in self.sessions:
                if session.session_id == session_id:
                    session.note_outputs([terminal])

        handlers = ClientHandlers(
            self,
            runs=True,
            shows_all_updates=True,
            elicitor=self if self._elicits else None,
            runs_logins=self._runs_logins and self.spec.remote is None,
            on_output=note_output,
            on_account=self._note_account,
        )
        async with connect_agent(
            self.spec,
            cwd=self.cwd,
            journal=self.journal,
            handlers=handlers,
            quiet=self._quiet,
            notify=self._report_undelivered,
        ) as link:
            self._connected(link)
            served: set[ServedSession] = set()
            with anyio.CancelScope() as scope:
                async with BackgroundTasks() as tasks:
                    tasks.start_soon(watch)
                    while True:
                        for session in self.sessions:
                            if session not in served:
                                served.add(session)
                                tasks.start_soon(session.serve, link, handlers)
                        await self._wake.wait()
                        self._wake = anyio.Event()
        if endings:
            self.start_in_its_dialect(link)
        return next(iter(endings), None)

    def _stop(self, error: AcpError | None) -> None:
        for session in self.sessions:
            session.stop(error)
        self._changed()

    def _changed(self) -> None:
        for session in self.sessions:
            session.on_change()

    def _on_recording_failure(self, text: str) -> None:
        self.recording_failure = text
        self._changed()

    def _report_undelivered(self, text: str) -> None:
        for session in self.sessions:
            session.note_change(Notice(f"undelivered {len(self.journal)}", text))
        self._changed()

    def _note_account(self, status: Json) -> None:
        self.account = status
        self._changed()

    # The traffic

    def _new_connection(self) -> None:
        self.account = None
        self.conversations = Conversations()
        self.conversations.fold.decoder.begin_recording(None, str(self.cwd))
        self._stray_lines = 0
        self._stray_text = ""
        self._stray_notice: Notice | None = None
        self._has_reported_batches = False

    def _apply(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, JournalEvent) and entry.begins_connection:
                self._new_connection()
            if isinstance(entry, JournalEvent):
                self.conversations.fold.decoder.note(entry)
            if not isinstance(entry, Frame):
                continue
            try:
                self._apply_frame(entry)
            except Exception as problem:
                # Boundary: catch everything, because what else the agent says is not lost with it.
                logger.exception("a frame could not be shown")
                self._report_missed_frame(entry, problem)

    def _apply_frame(self, frame: Frame) -> None:
        if (
            frame.side == "agent"
            and not self.spec.takes_batches
            and is_array_of_messages(frame.data)
        ):
            # It was refused, so nothing in it has happened.
            self._report_batch(frame)
            return
        events = self.conversations.fold.feed(frame)
        is_broken = bool(events) and all(isinstance(each, Malformed) for each in events)
        if frame.side == "agent" and is_broken and frame.data.strip():
            self._report_stray_line(frame)
        for change in self.conversations.apply(frame, events):
            if self.run_record is not None and (change.item is None or change.is_new):
                self.run_record.note(self.conversations.sessions[change.session_id])
            if change.item is not None:
                self._show(change.session_id, change.item)
            for watcher in tuple(self._watchers):
                watcher(change.session_id, change.item)

    def _report_missed_frame(self, frame: Frame, problem: Exception) -> None:
        """Add a notice for a frame that we could not show, by a bug of ours."""
        text = f"acp-console has a bug: frame {frame.seq} is not shown ({type(problem).__name__})"
        notice = Notice(f"missed {frame.seq}", text, frame.seq)
        for session in self.sessions:
            session.note_change(notice)

    def _show(self, session_id: str, item: Item) -> None:
        """Show an item in its session, and what a subagent asks also where it works for."""
        owner = self.session_for(session_id)
        if owner is None:
            # An agent may speak in a session before it says that it has opened it.
            for session in self.sessions:
                if session.session_id is None:
                    session.note_change(item)
        elif owner.session_id == session_id or (
            isinstance(item, ToolCallItem) and item.permission is not None
        ):
            owner.note_change(item)

    def _report_batch(self, frame: Frame) -> None:
        """Add a notice for the first array that was refused."""
        if not self._has_reported_batches:
            self._has_reported_batches = True
            text = f"{self.title} {SENDS_BATCHES}; {BATCHES_HINT}"
            for session in self.sessions:
                session.note_change(Notice("batches", text, frame.seq))

    def _report_stray_line(self, frame: Frame) -> None:
        """Add a notice for the first line that is not a message; count further ones in it."""
        self._stray_lines += 1
        if self._stray_notice is None:
            quoted = stray_line_text(frame.data)
            text = f"{self.spec.title} wrote a line to stdout that is not a message: {quoted}"
            self._stray_text = text
            self._stray_notice = Notice("stray", text, frame.seq)
        else:
            more = plural(self._stray_lines - 1, "more such line")
            self._stray_notice.rewrite(f"{self._stray_text} (and {more})", frame.seq)
        for session in self.sessions:
            session.note_change(self._stray_notice)
