"""What the surfaces of both versions have in common: how sessions are opened and closed.

A surface answers the methods of one protocol version. Which one serves a connection is decided in
`initialize`, by `server`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, cast

import anyio

from acp_agent.elicitation import Relay, Way
from acp_agent.mcp.declarations import DeclarationError, Server, session_servers
from acp_agent.mcp.servers import McpClient, McpServers, McpSettings
from acp_agent.models.model import takes_images
from acp_agent.params import Answerer, Params, busy, elsewhere, extent_of, invalid, missing
from acp_agent.session import Session, Staff
from acp_agent.sessions.chronicle import Chronicle
from acp_agent.sessions.records import Record
from acp_agent.sessions.revival import Revived, revive
from acp_agent.sessions.store import Store
from acp_agent.surface_auth import Authentication, AuthMode
from acp_agent.tools.catalogue import TOOLS
from acp_agent.updates import Updates
from acp_agent.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

SESSION_LIMIT: Final = 1000
"""Sessions that may be open at once, unless another number is given."""
NAME: Final = "acp-agent"
"""What programs know the agent by."""
TITLE: Final = "ACP Agent"


@dataclass(frozen=True, slots=True)
class Household:
    """What every session of a connection works with."""

    staff: Staff
    store: Store
    new_id: Callable[[], str]
    servers: McpClient
    """The way to MCP servers."""
    limit: int = SESSION_LIMIT
    """Sessions that may be open at once."""
    is_unstable: bool = False
    """Whether parts of the protocol are offered that are not stable yet."""
    mcp: McpSettings = field(default_factory=McpSettings)
    auth: AuthMode = "keys"
    title: str = TITLE
    """What users know the agent by."""


class Surface(ABC):
    """The methods of one version, on one connection."""

    version: ClassVar[int]

    def __init__(self, household: Household) -> None:
        self.household = household
        self.sessions: dict[str, Session] = {}
        """Those that are open on this connection."""
        self.auth = Authentication(
            household.staff.models,
            household.staff.client,
            mode=household.auth,
            version=self.version,
            is_unstable=household.is_unstable,
        )
        self.ways: Collection[Way] = ()
        """How the client can ask its user."""
        self._changing: dict[str, anyio.Event] = {}
        """Those that are about to be opened or closed, and when they are."""
        self.answerers: Mapping[str, Answerer] = {}
        """By method; `initialize` is none of them."""

    @abstractmethod
    def initialized(self, params: Params) -> Json:
        """Take note of what the client can do; return the result of `initialize`."""

    @abstractmethod
    def cancel(self, session: Session) -> None:
        """End what runs in a session."""

    @abstractmethod
    def updates_for(self, chronicle: Chronicle) -> Updates:
        """Return who tells the client of a session."""

    @abstractmethod
    def workspace_for(self, session_id: str, directories: Sequence[Path]) -> Workspace:
        """Return the files of a session in `directories`, of which the first is its own."""

    @abstractmethod
    async def finish(self, session: Session) -> None:
        """End what runs in a session that is open no more; return when it has ended."""

    @property
    def takes_images(self) -> bool:
        """Whether images may be among a prompt, for one of the models at least."""
        return any(takes_images(model) for model in self.household.staff.models)

    def info(self) -> dict[str, Json]:
        """Return what the agent is called."""
        return {"name": NAME, "title": self.household.title, "version": VERSION}

    def notified(self, method: str, params: Params) -> None:
        """Take note of what the client says; what is not known is ignored."""
        if method == "mcp/message":
            self.household.servers.notified(params)
        if method == "session/cancel":
            session_id = params.get("sessionId")
            session = self.sessions.get(session_id) if isinstance(session_id, str) else None
            if session is not None:
                self.cancel(session)

    def cancel_all(self) -> None:
        """End every running turn."""
        for session in self.sessions.values():
            self.cancel(session)

    async def close_idle(self, seconds: float) -> None:
        """Close the sessions in which nothing has happened for `seconds`."""
        latest = anyio.current_time() - seconds
        for session in list(self.sessions.values()):
            is_open = self.sessions.get(session.id) is session
            if is_open and session.touched <= latest and not session.is_busy:
                await self.close(session)

    async def close(self, session: Session) -> None:
        """Close a session: it is kept, and can be opened again.

        It is brought to its end, whoever gives up meanwhile: every wait in it is bounded.
        """
        del self.sessions[session.id]
        with self._change(session.id), anyio.CancelScope(shield=True):
            try:
                await self.finish(session)
                await session.servers.aclose()
            finally:
                self.household.store.claims.release(session.chronicle.record.number)

    async def wait_settled(self, session_id: str) -> None:
        """Return when a session is about to be neither opened nor closed."""
        while (changing := self._changing.get(session_id)) is not None:
            await changing.wait()

    async def new(self, params: Params, settings: Mapping[str, str] | None = None) -> Session:
        """Open a new session as the params of `session/new` want it, with these options chosen."""
        self.auth.check()
        servers, directories = self._servers(params), await extent_of(params)
        home = self.household
        session_id = home.new_id()
        async with self._furnished(session_id, servers, directories[0]) as room:
            names = [str(directory) for directory in directories]
            record = home.store.create(session_id, names[0], names[1:], dict(settings or {}))
            return self._opened(Chronicle(home.store, record), Revived(), directories, room)

    async def reopened(self, params: Params) -> Session:
        """Return a session that was closed or is still open, with what it knows.

        It gets the additional directories and the servers of `params`, and no others.
        """
        servers, directories = self._servers(params), await extent_of(params)
        session_id = cast("str", params["sessionId"])
        await self.wait_settled(session_id)
        record = self.recorded(session_id)
        if str(directories[0]) != record.cwd:
            raise invalid("cwd is not the session's")
        store, names = self.household.store, [str(each) for each in directories[1:]]
        if (session := self.sessions.get(session_id)) is not None:
            await self._refurnished(session, servers)
            store.change(record.number, directories=names)
            session.move(self.workspace_for(session_id, directories))
            return session
        if not store.take(record.number):
            raise elsewhere(session_id)
        try:
            async with self._furnished(session_id, servers, directories[0]) as room:
                store.change(record.number, directories=names)
                chronicle = Chronicle(store, record)
                return self._opened(chronicle, revive(chronicle), directories, room)
        except BaseException:
            store.claims.release(record.number)
            raise

    async def forked(self, params: Params) -> Session:
        """Open a copy of a session, which itself stays as it is."""
        self.auth.check()
        servers, directories = self._servers(params), await extent_of(params)
        source_id = cast("str", params["sessionId"])
        self.recorded(source_id)
        home = self.household
        session_id = home.new_id()
        async with self._furnished(session_id, servers, directories[0]) as room:
            names = [str(directory) for directory in directories]
            source = self.recorded(source_id)
            record = home.store.copy(source.number, session_id, names[0], names[1:])
            chronicle = Chronicle(home.store, record)
            return self._opened(chronicle, revive(chronicle), directories, room)

    def active(self, params: Params) -> Session:
        """Return the session of `params`, which has to be open on this connection."""
        session_id = cast("str", params["sessionId"])
        if (session := self.sessions.get(session_id)) is not None:
            session.touched = anyio.current_time()
            return session
        self.recorded(session_id)
        raise missing(session_id, "The session is not open; it can be opened again")

    def recorded(self, session_id: str) -> Record:
        """Return what is known of a session, open or not."""
        record = self.household.store.get(session_id)
        if record is None:
            raise missing(session_id, "There is no such session")
        return record

    def _opened(
        self,
        chronicle: Chronicle,
        revived: Revived,
        directories: Sequence[Path],
        servers: McpServers,
    ) -> Session:
        session_id = chronicle.record.id
        session = self.sessions[session_id] = Session(
            chronicle,
            revived,
            staff=self.household.staff,
            workspace=self.workspace_for(session_id, directories),
            updates=self.updates_for(chronicle),
            servers=servers,
        )
        return session

    def _servers(self, params: Params) -> Sequence[Server]:
        """Return the servers that a session is to have; refuse what was not offered."""
        home = self.household
        try:
            return session_servers(
                cast("list[Params]", params.get("mcpServers") or []),
                version=self.version,
                is_unstable=home.is_unstable,
                allowed=home.mcp.allowed,
                configured=home.mcp.configured,
                limits=home.mcp.limits,
            )
        except DeclarationError as problem:
            raise invalid(f"params.{problem}") from None

    @asynccontextmanager
    async def _furnished(
        self, session_id: str, servers: Sequence[Server], cwd: Path
    ) -> AsyncGenerator[McpServers]:
        """Start the servers of a session that is about to be opened; end them if it is not."""
        limit = self.household.limit
        if len(self.sessions) + len(self._changing) >= limit:
            raise RequestFailedError(
                jsonrpc.INVALID_REQUEST, f"Too many open sessions: {limit}; close one of them first"
            )
        with self._change(session_id):
            room = McpServers(TOOLS, Relay(self.ways))
            await room.open(servers, self.household.servers, cwd)
            try:
                yield room
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await room.aclose()
                raise

    async def _refurnished(self, session: Session, servers: Sequence[Server]) -> None:
        """Give an open session other servers, if it has not those already."""
        if session.servers.has(servers):
            return
        if session.is_busy:
            raise busy()
        await session.servers.change(servers, self.household.servers, session.cwd)
        if self.sessions.get(session.id) is not session:
            raise missing(session.id, "The session was closed meanwhile")

    @contextmanager
    def _change(self, session_id: str) -> Generator[None]:
        """Let others wait while a session is opened or closed."""
        has_changed = self._changing[session_id] = anyio.Event()
        try:
            yield
        finally:
            del self._changing[session_id]
            has_changed.set()
