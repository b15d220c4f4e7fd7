"""A conversation with a running agent, from its start to its end, beside the screen that shows it.

The worker that runs this owns the agent: its process, its connection and its turns live and end in
one task group. The screen hears of it by messages, and reads the journal at its own pace.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import anyio
from textual.message_pump import MessagePump

from acp_console.client.agents import AgentSpec
from acp_console.client.host import ClientHost
from acp_console.client.link import AgentLink, open_link
from acp_console.client.permissions import PermissionAsk
from acp_console.tui.messages import (
    JournalGrew,
    LinkEnded,
    LinkOpened,
    PermissionAsked,
    TurnFailed,
)
from acp_inspector.journal import Entry, Journal
from acp_inspector.recording.origin import header_of_this_run
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.errors import AcpError, AgentExitedError
from acp_protocol.jsonrpc import RequestId, id_key

FAREWELL: Final = 8.0
"""Seconds that the agent's end may take."""
PROMPTS: Final = 16
"""Prompts and cancels that may wait for the worker."""


class ChatDecider:
    """Asks the user by way of the screen."""

    def __init__(self, screen: MessagePump) -> None:
        self._screen = screen
        self._waiting: dict[tuple[str, RequestId], anyio.Event] = {}
        self._answers: dict[tuple[str, RequestId], str] = {}

    async def decide(self, ask: PermissionAsk) -> str | None:
        """Wait for the user's answer; None when the turn was cancelled meanwhile."""
        key = id_key(ask.request_id)
        event = self._waiting[key] = anyio.Event()
        self._screen.post_message(PermissionAsked(ask))
        try:
            await event.wait()
        finally:
            del self._waiting[key]
        return self._answers.pop(key, None)

    def answer(self, request_id: RequestId, option_id: str) -> None:
        """Take the user's answer; one to a question that is closed is dropped."""
        key = id_key(request_id)
        if key in self._waiting:
            self._answers[key] = option_id
            self._waiting[key].set()

    def cancel(self) -> None:
        """Leave every open question without an answer."""
        for event in self._waiting.values():
            event.set()


class Talk:
    """One agent, one session, turn after turn."""

    def __init__(
        self,
        screen: MessagePump,
        agent: AgentSpec,
        cwd: Path,
        journal: Journal,
        record: Path | None,
    ) -> None:
        self.journal = journal
        """Which may hold talks from before."""
        self.decider = ChatDecider(screen)
        self.is_busy = False
        self._screen = screen
        self._agent = agent
        self._cwd = cwd
        self._record = record
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._wishes, self._inbox = anyio.create_memory_object_stream[str | None](PROMPTS)
        # A prompt, or None: stop the running turn.

    def prompt(self, text: str) -> None:
        """Send `text` when the worker comes to it."""
        self.is_busy = True
        self._wishes.send_nowait(text)

    def cancel(self) -> None:
        """Stop the running turn."""
        self.decider.cancel()
        self._wishes.send_nowait(None)

    async def close(self) -> None:
        """End the agent, and return when it is gone."""
        self._scope.cancel()
        with anyio.move_on_after(FAREWELL):
            await self._ended.wait()

    async def run(self) -> None:
        """Start the agent, serve the user's wishes, and tell how it ended."""
        leave = self.journal.subscribe(self._tell_growth)
        try:
            with self._scope, self._recorded():
                await self._serve()
        except AcpError as problem:
            self.is_busy = False
            self._screen.post_message(LinkEnded(problem))
        finally:
            leave()
            self._wishes.close()
            self._inbox.close()
            self._ended.set()

    async def _serve(self) -> None:
        host = ClientHost(self.decider, runs=True)
        async with open_link(self._agent, cwd=self._cwd, journal=self.journal, host=host) as link:
            session = await link.new_session(self._cwd)
            session_id: str = session["sessionId"]
            self._screen.post_message(LinkOpened(session_id, link.title))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, link, tasks.cancel_scope)
                async for wish in self._inbox:
                    if wish is None:
                        await link.cancel(session_id)
                    else:
                        tasks.start_soon(self._turn, link, session_id, wish)

    async def _turn(self, link: AgentLink, session_id: str, text: str) -> None:
        try:
            await link.prompt(session_id, text)
        except AgentExitedError:
            return
        except AcpError as problem:
            self._screen.post_message(TurnFailed(problem))
        finally:
            self.is_busy = False
            self._screen.post_message(JournalGrew(len(self.journal)))

    async def _watch(self, link: AgentLink, scope: anyio.CancelScope) -> None:
        """Tell when the agent ends by itself."""
        self.is_busy = False
        problem = await link.wait_closed()
        self.is_busy = False
        self.decider.cancel()
        self._screen.post_message(LinkEnded(problem))
        scope.cancel()

    @contextmanager
    def _recorded(self) -> Generator[None]:
        if self._record is None:
            yield
            return
        header = header_of_this_run(self._agent.command, self._cwd)
        writer = RecordingWriter(self._record, header)
        leave = self.journal.subscribe(lambda entry: writer.write([entry]))
        try:
            yield
        finally:
            leave()
            writer.close()

    def _tell_growth(self, entry: Entry) -> None:
        self._screen.post_message(JournalGrew(entry.n))
