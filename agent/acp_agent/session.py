"""A session: its directory, its history, its consents, and at most one running turn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import anyio

from acp_agent.models.demo import COMMANDS
from acp_agent.models.model import HistoryEntry, Model, UserSaid
from acp_agent.permissions import MODES, ModeId, Permissions
from acp_agent.tools.catalogue import TOOLS
from acp_agent.turn import Client, Context, StopReason, run_turn
from acp_agent.updates import Updates
from acp_agent.workspace import Workspace
from acp_protocol.jsonrpc import Json

TITLE_LENGTH: Final = 60


class Session:
    """One conversation with the client."""

    def __init__(
        self, session_id: str, client: Client, workspace: Workspace, model: Model, pace: float
    ) -> None:
        self.id = session_id
        self.cwd: Path = workspace.cwd
        self.title: str | None = None
        self.updated_at = datetime.now(UTC)
        self.permissions = Permissions()
        self._updates = Updates(client, session_id)
        self._scope: anyio.CancelScope | None = None
        self._calls = 0
        self._history: list[HistoryEntry] = []
        self._context = Context(
            session_id,
            client,
            self._updates,
            workspace,
            self.permissions,
            model,
            TOOLS,
            self._history,
            self._next_call_id,
            pace,
        )

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self._scope is not None

    async def prompt(self, text: str) -> StopReason:
        """Answer `text`; to be called when no turn runs."""
        stop: StopReason = "cancelled"
        self.updated_at = datetime.now(UTC)
        self._scope = scope = anyio.CancelScope()
        with scope:
            try:
                await self._name_after(text)
                self._history.append(UserSaid(text))
                stop = await run_turn(self._context)
            finally:
                self._scope = None
        return stop

    def cancel(self) -> None:
        """End the running turn, if there is one; its prompt is answered with `cancelled`."""
        if self._scope is not None:
            self._scope.cancel()

    async def announce(self) -> None:
        """Tell the client which commands there are."""
        commands = [
            {"name": name, "description": about} | ({"input": {"hint": hint}} if hint else {})
            for name, about, hint in COMMANDS
        ]
        await self._updates.send("available_commands_update", {"availableCommands": commands})

    async def set_mode(self, mode: ModeId) -> None:
        """Change when the user is asked, and tell so."""
        self.permissions.mode = mode
        await self._updates.send("current_mode_update", {"currentModeId": mode})

    def modes(self) -> dict[str, Json]:
        """Return the modes as the protocol shows them."""
        return {
            "currentModeId": self.permissions.mode,
            "availableModes": [
                {"id": id_, "name": name, "description": about} for id_, name, about in MODES
            ],
        }

    async def _name_after(self, text: str) -> None:
        if self.title is None:
            words = " ".join(text.split())
            is_long = len(words) > TITLE_LENGTH
            self.title = words[: TITLE_LENGTH - 1] + "…" if is_long else words
            await self._updates.send("session_info_update", {"title": self.title})

    def _next_call_id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"
