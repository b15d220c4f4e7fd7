"""A session: its directory, its history, its consents, and at most one running turn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import anyio

from acp_agent.calls import Client, Desk
from acp_agent.models.model import Model, UserSaid
from acp_agent.permissions import ModeId, Permissions
from acp_agent.tools.catalogue import TOOLS
from acp_agent.turn import Context, StopReason, run_turn
from acp_agent.updates import Updates
from acp_agent.workspace import Workspace
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import Json

TITLE_LENGTH: Final = 60


class Session:
    """One conversation with the client."""

    def __init__(
        self,
        session_id: str,
        client: Client,
        workspace: Workspace,
        model: Model,
        pace: float,
        updates: Updates,
    ) -> None:
        self.id = session_id
        self.updates = updates
        self.cwd: Path = workspace.cwd
        self.title: str | None = None
        self.updated_at = datetime.now(UTC)
        self.permissions = Permissions()
        self._model = model
        self._turn: anyio.CancelScope | None = None
        self._turn_ended = anyio.Event()
        desk = Desk(session_id, client, updates, workspace, self.permissions, TOOLS)
        self._context = Context(model, desk, [], pace)

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    async def prompt(self, said: UserSaid) -> StopReason:
        """Answer `said`; to be called when no turn runs."""
        stop: StopReason = "cancelled"
        self.updated_at = datetime.now(UTC)
        self._turn_ended = anyio.Event()
        self._turn = turn = anyio.CancelScope()
        try:
            with turn:
                await self._name_after(said.text)
                self._context.history.append(said)
                stop = await run_turn(self._context)
        except ConnectionClosedError:
            # The client asks and answers no more: what it left unanswered, it does not want.
            stop = "cancelled"
        finally:
            self._turn = None
            self._turn_ended.set()
        return "cancelled" if turn.cancel_called else stop

    def cancel(self) -> None:
        """End the running turn, if there is one; its prompt is answered with `cancelled`."""
        if self._turn is not None:
            self._turn.cancel()

    async def end(self) -> None:
        """End the running turn, if there is one, and return when it has ended."""
        if self._turn is not None:
            self._turn.cancel()
            await self._turn_ended.wait()

    async def announce(self) -> None:
        """Tell the client which commands there are."""
        await self.updates.commands(self._model.commands)

    async def set_mode(self, mode: ModeId) -> None:
        """Change when the user is asked, and tell so."""
        self.permissions.mode = mode
        await self.updates.mode(mode)

    def settings(self) -> dict[str, Json]:
        """Return what the session offers to choose from, as members of an answer."""
        return self.updates.settings(self.permissions.mode)

    def commands(self) -> list[dict[str, Json]]:
        """Return the commands that a prompt may begin with, as the protocol shows them."""
        return self.updates.offered(self._model.commands)

    async def _name_after(self, text: str) -> None:
        words = " ".join(text.split())
        if self.title is None and words:
            is_long = len(words) > TITLE_LENGTH
            self.title = words[: TITLE_LENGTH - 1] + "…" if is_long else words
            await self.updates.title(self.title)
