"""A chat with one agent: its connection, the queued prompt and the open permission requests.

`run` owns the agent: its process, connection and turns run in one task group. A screen passes
`on_change`, and reads the attributes when it is called. One agent runs at a time; a restart waits
for the end of the old one, so nothing of an old agent reaches a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final, Literal, TypeAlias

import anyio

from acp_console.client.agents import AgentSpec
from acp_console.client.connection import AgentConnection, connect_agent
from acp_console.client.handlers import ClientHandlers
from acp_console.client.permissions import PermissionPrompt
from acp_console.client.recording import record_journal, report_decision
from acp_console.render.values import plural
from acp_console.state.session_store import Run, SessionStore
from acp_inspector.analysis.conversation import Conversation
from acp_inspector.analysis.conversations import Conversations
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.items import Item, Notice, PermissionRequest, ToolCallItem
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.messages import Decoder
from acp_inspector.recording.format import RecordingError
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AcpError, AgentExitedError
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import InvalidMessage, Json, RequestId, id_key

CLOSE_TIMEOUT_S: Final = 8.0
"""Seconds that the agent's end may take."""

PORTION: Final = 50
"""Entries that are applied without a look at the clock."""
SLICE_S: Final = 0.002
"""Seconds of work that one look at the traffic may take."""
OUTPUT_INTERVAL_S: Final = 0.1
"""Seconds between two looks at the output of running commands."""

ChatState: TypeAlias = Literal["starting", "ready", "working", "stopping", "stopped"]
"""starting → ready ⇄ working → stopping → ready; stopped from anywhere, starting after that."""


@dataclass(slots=True)
class _PendingPermission:
    tool_call: Json
    """The id of the tool call that it is about."""
    is_over: anyio.Event = field(default_factory=anyio.Event)
    option_id: str | None = None


class ChatSession:
    """One agent and one session, turn after turn; `restart` begins a new session.

    Args:
        agent: the agent to start.
        cwd: the session's directory.
        record: where to record the traffic of all its agents.
        store: where each run of the agent is kept; None: nowhere.
        after: the chat that recorded to that file before; its recording is continued once it is
        closed. on_change: called whenever there is something new to show; must be quick.
    """

    def __init__(
        self,
        agent: AgentSpec,
        cwd: Path,
        *,
        record: Path | None = None,
        store: SessionStore | None = None,
        after: ChatSession | None = None,
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        self.journal = Journal()
        """The traffic of all agents, also those before a restart."""
        self.state: ChatState = "starting"
        self.title = agent.title
        """The agent's own name; untrusted."""
        self.session_id: str | None = None
        self.queued: str | None = None
        """A prompt that is sent once the agent is ready."""
        self.error: AcpError | None = None
        """Why the agent stopped or the last turn failed, until the next prompt."""
        self.owns_recording = False
        """Whether this chat, and not one before it, writes the recording."""
        self.recording_failure = ""
        """Why the recording lacks entries; empty if it lacks none."""
        self.agent = agent
        self.cwd = cwd
        self.record = record
        self._after = after
        self._on_change = on_change
        self._store = store or SessionStore(is_on=False)
        self.run_record: Run | None = None
        """The present run of the agent in the store."""
        self._new_connection()
        self._pending: dict[tuple[str, RequestId], _PendingPermission] = {}
        self._entries_read = 0
        self._new_entries: list[Entry] = []
        self._changed_items: list[Item] = []
        self._outgoing: str | None = None
        self._must_cancel = False
        self._wake = anyio.Event()
        self._restart = anyio.Event()
        self._scope = anyio.CancelScope()
        self._agent_scope = anyio.CancelScope()
        self._is_over = anyio.Event()
        self._is_closed = anyio.Event()

    # For screens: state

    @property
    def is_busy(self) -> bool:
        return self.state in {"working", "stopping"}

    @property
    def has_failed_to_start(self) -> bool:
        """Whether the agent ended before it had opened a session."""
        return self.state == "stopped" and self.session_id is None

    @property
    def is_waiting_for_user(self) -> bool:
        """Whether the agent waits for a permission."""
        return bool(self._pending)

    @property
    def sign(self) -> str:
        """The sign of its state: each has its own, besides its colour."""
        if self.is_waiting_for_user:
            return "?"
        return {"ready": "●", "stopped": "✗"}.get(self.state, "◐")

    @property
    def conversation(self) -> Conversation | None:
        """The conversation of the open session; None before its first frame."""
        return self._conversations.sessions.get(self.session_id or "")

    def now(self) -> float | None:
        """Return the seconds since the journal began; None when no agent runs."""
        if self.state == "stopped":
            return None
        return (datetime.now(UTC) - self.journal.created).total_seconds()

    def take_changes(self) -> tuple[Sequence[Entry], Sequence[Item]]:
        """Return the new entries and the items that changed since the last call."""
        self._read_journal(SLICE_S)
        entries, self._new_entries = self._new_entries, []
        items, self._changed_items = self._changed_items, []
        return entries, items

    # For screens: actions

    def send(self, text: str) -> None:
        """Send a prompt now if the agent is ready, otherwise as soon as it is."""
        if self.state != "stopped":
            self.error = None
        self._queue(text)
        self._send_queued()
        self._on_change()

    def cancel(self) -> None:
        """Cancel the running turn and drop the queued prompt."""
        self.queued = None
        if self.state == "working" and self._outgoing is not None:
            self._outgoing = None
            self.state = "ready"
        elif self.is_busy:
            self.state = "stopping"
            self._must_cancel = True
            self._wake.set()
        self._on_change()

    def answer(self, permission: PermissionRequest, option_id: str) -> None:
        """Answer a permission request; one that is closed or of an old agent is ignored."""
        pending = self._pending.get(id_key(permission.request_id))
        if pending is not None and self._is_current(permission):
            pending.option_id = option_id
            pending.is_over.set()

    def restart(self) -> None:
        """End the agent and start it again, in a new session; a queued prompt stays."""
        self._restart.set()
        self._agent_scope.cancel()

    # Running

    async def run(self) -> None:
        """Run the agent, again after each `restart`, until `close`."""

        def changed(entry: Entry) -> None:
            del entry
            self._on_change()

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

    async def decide(self, request: PermissionPrompt) -> str | None:
        """Wait for the user's choice; None when the turn was cancelled meanwhile.

        A request about a tool call replaces an earlier one about the same call.
        """
        key, tool_call = id_key(request.request_id), request.tool_call.get("toolCallId")
        for earlier in self._pending.values():
            if earlier.tool_call == tool_call:
                earlier.is_over.set()
        pending = self._pending[key] = _PendingPermission(tool_call)
        self._on_change()
        try:
            await pending.is_over.wait()
        finally:
            del self._pending[key]
            self._on_change()
        if pending.option_id is not None:
            report_decision(self.journal, request, pending.option_id)
        return pending.option_id

    async def _run_recorded(self) -> None:
        with record_journal(
            self.journal,
            self.agent,
            self.cwd,
            self.record,
            mode="append" if self.owns_recording else "new",
            warn=self._on_recording_failure,
        ):
            self.owns_recording = self.record is not None
            while True:
                await self._run_agent()
                await self._wait_for_restart()

    async def _wait_for_restart(self) -> None:
        await self._restart.wait()
        self._restart = anyio.Event()

    async def _run_agent(self) -> None:
        self._read_journal()
        if self.conversation is not None and self.conversation.items:
            text = "agent restarted; it does not know the messages above"
            self._changed_items.append(Notice("restart", text))
        self._new_connection()
        self.session_id = self.error = None
        self.state = "starting"
        self._on_change()
        error: AcpError | None = None
        with anyio.CancelScope() as self._agent_scope:
            try:
                with self._store.record(
                    self.journal, self.agent, self.cwd, warn=self._on_recording_failure
                ) as self.run_record:
                    error = await self._serve()
            except AcpError as problem:
                error = problem
        self._stop(error)

    async def _serve(self) -> AcpError | None:
        """Open a session and serve the user until the agent ends; return why it did."""
        endings: list[AcpError] = []

        async def watch() -> None:
            endings.append(await link.wait_closed())
            self._cancel_permissions()
            scope.cancel()

        def note_output(session_id: str, terminal: str) -> None:
            if session_id == self.session_id:
                self._note_outputs([terminal])

        host = ClientHandlers(self, runs=True, on_output=note_output)
        async with connect_agent(
            self.agent, cwd=self.cwd, journal=self.journal, handlers=host
        ) as link:
            session = await link.new_session(self.cwd)
            session_id: str = session["sessionId"]
            self.session_id, self.title = session_id, link.title
            if link.is_version_1_in_disguise:
                self._changed_items.append(Notice("version", link.disguise))
            with anyio.CancelScope() as scope:
                async with BackgroundTasks() as tasks:
                    tasks.start_soon(watch)
                    tasks.start_soon(self._show_outputs, host, session_id)
                    self._become_ready()
                    while True:
                        await self._wake.wait()
                        self._wake = anyio.Event()
                        text, self._outgoing = self._outgoing, None
                        if text is not None:
                            tasks.start_soon(self._run_turn, link, session_id, text)
                        if self._must_cancel:
                            self._must_cancel = False
                            await link.cancel(session_id)
                            self._cancel_permissions()
        return next(iter(endings), None)

    async def _show_outputs(self, host: ClientHandlers, session_id: str) -> None:
        """Show what commands write while they run, not only when the agent asks for it."""
        while True:
            await self._has_output.wait()
            self._has_output = anyio.Event()
            terminals, self._fresh_outputs = self._fresh_outputs, set()
            outputs = {key: host.terminal_output(session_id, key) for key in terminals}
            for item in self.conversation.items if self.conversation else ():
                shown = item.terminals if isinstance(item, ToolCallItem) else {}
                for key in shown.keys() & outputs.keys():
                    if outputs[key] is not None:
                        shown[key].live = outputs[key]
                        self._changed_items.append(item)
            self._on_change()
            await anyio.sleep(OUTPUT_INTERVAL_S)

    async def _run_turn(self, link: AgentConnection, session_id: str, text: str) -> None:
        try:
            await link.prompt(session_id, text)
        except AgentExitedError:
            return
        except AcpError as problem:
            self.error = problem
        self._become_ready()

    def _become_ready(self) -> None:
        self.state = "ready"
        if self._must_cancel:
            # The turn ended before it could be cancelled.
            self._must_cancel = False
            self._cancel_permissions()
        self._send_queued()
        self._on_change()

    def _stop(self, error: AcpError | None) -> None:
        self.state = "stopped"
        self.error = error
        if self._outgoing is not None:
            self.queued, queued, self._outgoing = self._outgoing, self.queued, None
            self._queue(queued)
        self._must_cancel = False
        self._on_change()

    def _queue(self, text: str | None) -> None:
        if text is not None:
            self.queued = text if self.queued is None else f"{self.queued}\n{text}"

    def _send_queued(self) -> None:
        if self.state == "ready" and self.queued is not None:
            self._outgoing, self.queued = self.queued, None
            self.state = "working"
            self._wake.set()

    def _cancel_permissions(self) -> None:
        for pending in self._pending.values():
            pending.is_over.set()

    def _is_current(self, permission: PermissionRequest) -> bool:
        self._read_journal()
        items = self.conversation.items if self.conversation else ()
        return any(
            isinstance(item, ToolCallItem) and item.permission is permission for item in items
        )

    def _new_connection(self) -> None:
        self._conversations = Conversations()
        self._decoder = Decoder(self.agent.open_dialect())
        self._exchanges = Exchanges()
        self._fresh_outputs: set[str] = set()
        """Terminals of the open session with output that was not shown yet."""
        self._has_output = anyio.Event()
        self._stray_lines = 0
        self._stray_text = ""
        self._stray_notice: Notice | None = None

    def _read_journal(self, limit_s: float = inf) -> None:
        """Apply what was said; stop after `limit_s` seconds, and go on with the next call."""
        ends_at = monotonic() + limit_s
        entries = self.journal.entries
        while self._entries_read < len(entries) and monotonic() < ends_at:
            portion = entries[self._entries_read : self._entries_read + PORTION]
            self._entries_read += len(portion)
            self._new_entries += portion
            self._apply(portion)

    def _apply(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if not isinstance(entry, Frame):
                continue
            decoded = self._decoder.decode(entry)
            is_message = not any(isinstance(each, InvalidMessage) for each in decoded.messages)
            if entry.side == "agent" and entry.data.strip() and not is_message:
                self._report_stray_line(entry)
            for change in self._conversations.apply(entry, self._exchanges.pair(decoded)):
                if self.run_record is not None and (change.item is None or change.is_new):
                    self.run_record.note(self._conversations.sessions[change.session_id])
                if change.item and self.session_id in {None, change.session_id}:
                    self._changed_items.append(change.item)
                    if isinstance(change.item, ToolCallItem):
                        # Output may have come before the call that shows it.
                        self._note_outputs(change.item.terminals)

    def _note_outputs(self, terminals: Iterable[str]) -> None:
        self._fresh_outputs.update(terminals)
        if self._fresh_outputs:
            self._has_output.set()

    def _report_stray_line(self, frame: Frame) -> None:
        """Add a notice for the first line that is not a message; count further ones in it."""
        self._stray_lines += 1
        if self._stray_notice is None:
            quoted = single_line(frame.data.decode(errors="replace"), 80)
            text = f"{self.agent.title} wrote a line to stdout that is not a message: {quoted}"
            self._stray_text = text
            self._stray_notice = Notice("stray", text, frame.seq)
        else:
            more = plural(self._stray_lines - 1, "more such line")
            self._stray_notice.rewrite(f"{self._stray_text} (and {more})", frame.seq)
        self._changed_items.append(self._stray_notice)

    def _on_recording_failure(self, text: str) -> None:
        self.recording_failure = text
        self._on_change()
