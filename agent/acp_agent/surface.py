"""What the surfaces of both versions have in common: sessions and how params are refused.

A surface answers the methods of one protocol version. Which one serves a connection is decided in
`initialize`, by `server`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, TypeAlias, cast

import anyio

from acp_agent.calls import Client
from acp_agent.models.model import Model
from acp_agent.permissions import MODES, ModeId
from acp_agent.session import Session
from acp_agent.updates import Updates
from acp_agent.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json

SESSION_LIMIT: Final = 1000
"""Sessions that may be open at once."""
PROMPT_BLOCKS: Final = frozenset({"text", "resource_link", "resource"})
"""Kinds of content that a prompt may hold, as `initialize` tells."""

Params: TypeAlias = Mapping[str, Json]
Answerer: TypeAlias = Callable[[Params], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Household:
    """What every session of a connection works with."""

    client: Client
    model: Model
    pace: float
    """Seconds between two pieces of what the model streams."""
    new_id: Callable[[], str]


class Surface(ABC):
    """The methods of one version, on one connection."""

    version: ClassVar[int]

    def __init__(self, household: Household) -> None:
        self._household = household
        self._sessions: dict[str, Session] = {}
        self.answerers: Mapping[str, Answerer] = {}
        """By method; `initialize` is none of them."""

    @abstractmethod
    def initialized(self, params: Params) -> Json:
        """Take note of what the client can do; return the result of `initialize`."""

    @abstractmethod
    def check_servers(self, servers: Sequence[Params]) -> None:
        """Refuse MCP servers of a kind that was not offered."""

    @abstractmethod
    def cancel(self, session: Session) -> None:
        """End what runs in a session."""

    def notified(self, method: str, params: Params) -> None:
        """Take note of what the client says; what is not known is ignored."""
        if method == "session/cancel":
            session_id = params.get("sessionId")
            session = self._sessions.get(session_id) if isinstance(session_id, str) else None
            if session is not None:
                self.cancel(session)

    def cancel_all(self) -> None:
        """End every running turn."""
        for session in self._sessions.values():
            self.cancel(session)

    async def _opened(
        self, params: Params, updates: Callable[[str], Updates], files: Params
    ) -> Session:
        """Open a session as the params of `session/new` want it."""
        cwd = await directory(cast("str", params["cwd"]))
        self._check_extent(params)
        if len(self._sessions) >= SESSION_LIMIT:
            raise RequestFailedError(jsonrpc.INTERNAL_ERROR, "Too many open sessions")
        home = self._household
        session_id = home.new_id()
        workspace = Workspace(
            session_id,
            cwd,
            client=home.client,
            client_reads=files.get("readTextFile") is True,
            client_writes=files.get("writeTextFile") is True,
        )
        session = self._sessions[session_id] = Session(
            session_id, home.client, workspace, home.model, home.pace, updates(session_id)
        )
        return session

    def _check_extent(self, params: Params) -> None:
        """Refuse what would widen a session beyond what was offered."""
        if params.get("additionalDirectories"):
            raise invalid("additionalDirectories were not offered by this agent")
        self.check_servers(cast("list[Params]", params.get("mcpServers") or []))

    def _listed(self, params: Params) -> Json:
        """Return the result of `session/list`."""
        if params.get("cursor") is not None:
            raise invalid("cursor: this agent has given none")
        cwd = Path(params["cwd"]) if params.get("cwd") else None
        return {
            "sessions": [
                {
                    "sessionId": session.id,
                    "cwd": str(session.cwd),
                    "title": session.title,
                    "updatedAt": session.updated_at.isoformat(timespec="milliseconds"),
                }
                for session in self._sessions.values()
                if cwd in {None, session.cwd}
            ]
        }

    def _session(self, params: Params) -> Session:
        session_id = cast("str", params["sessionId"])
        if (session := self._sessions.get(session_id)) is None:
            raise RequestFailedError(
                jsonrpc.RESOURCE_NOT_FOUND, "There is no such session", {"sessionId": session_id}
            )
        return session


def blocks_of(params: Params) -> list[Params]:
    """Return the blocks of a prompt.

    Raises:
        RequestFailedError: one is of a kind that was not offered.
    """
    blocks = cast("list[Params]", params["prompt"])
    for place, block in enumerate(blocks):
        if block.get("type") not in PROMPT_BLOCKS:
            raise invalid(f"params.prompt.{place}: {block.get('type')} was not offered")
    return blocks


def mode_of(name: Json, member: str) -> ModeId:
    """Return the mode of that name, which stands in `member`.

    Raises:
        RequestFailedError: there is none.
    """
    for mode, _, _ in MODES:
        if mode == name:
            return mode
    raise invalid(f"{member}: there is no mode {name!r}")


async def directory(name: str) -> Path:
    """Return the directory of that name.

    Raises:
        RequestFailedError: there is none, or the name is not absolute.
    """
    cwd = Path(name)
    if not cwd.is_absolute():
        raise invalid("cwd is no absolute path")
    try:
        is_directory = await anyio.Path(cwd).is_dir()
        if ".." in cwd.parts:
            cwd = Path(await anyio.Path(cwd).resolve())
    except (OSError, ValueError):
        is_directory = False
    if not is_directory:
        raise invalid("cwd is no directory")
    return cwd


def invalid(reason: str) -> RequestFailedError:
    """Return the refusal of params; `reason` names the member."""
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")


def members_of(value: Json) -> Params:
    """Return the members of an object; none for what is no object."""
    return cast("Params", value) if isinstance(value, dict) else {}
