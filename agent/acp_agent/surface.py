"""What the surfaces of both versions have in common: how sessions are opened and closed.

A surface answers the methods of one protocol version. Which one serves a connection is decided in
`initialize`, by `server`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, cast

import anyio

from acp_agent.elicitation import Relay, Way
from acp_agent.mcp.declarations import DeclarationError, Server, session_servers
from acp_agent.mcp.servers import McpClient, McpServers, McpSettings
from acp_agent.models.model import takes_images
from acp_agent.open_sessions import OpenSessions
from acp_agent.params import Answerer, Params, busy, elsewhere, extent_of, invalid, missing
from acp_agent.session import Session, Staff
from acp_agent.sessions.chronicle import Chronicle
from acp_agent.sessions.patience import patiently
from acp_agent.sessions.records import Record
from acp_agent.sessions.revival import Revived, revive
from acp_agent.sessions.store import Store
from acp_agent.slumber import Declared
from acp_agent.surface_auth import Authentication, AuthMode
from acp_agent.tools.catalogue import builtin_tools
from acp_agent.updates import Updates
from acp_agent.workspace import Workspace
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

SESSION_LIMIT: Final = 10
"""Sessions that may be awake at once, unless another number is given."""
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
    """Sessions that may be awake at once."""
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
        self.open = OpenSessions(household.limit, household.store.claims, self)
        self.auth = Authentication(
            household.staff.models,
            household.staff.client,
            mode=household.auth,
            version=self.version,
            is_unstable=household.is_unstable,
        )
        self.ways: Collection[Way] = ()
        """How the client can ask its user."""
        self._waits: dict[str, set[anyio.CancelScope]] = {}
        """The waits of prompts for sessions that are about to wake."""
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
            if not isinstance(session_id, str):
                return
            self._end_waits(session_id)
            if (session := self.open.awake.get(session_id)) is not None:
                self.cancel(session)

    def cancel_all(self) -> None:
        """End every running turn, and whatever waits for servers."""
        for session_id in self._waits:
            self._end_waits(session_id)
        self.open.end_starts()
        for session in self.open.awake.values():
            self.cancel(session)

    async def shut(self, session_id: str) -> bool:
        """Close a session, its waiting prompts cancelled; return False if it is not open."""
        self._end_waits(session_id)
        return await self.open.shut(session_id)

    def _end_waits(self, session_id: str) -> None:
        """Cancel the prompts that wait for a session."""
        for wait in self._waits.get(session_id, ()):
            wait.cancel()

    def is_at_work(self, session: Session) -> bool:
        """Return whether a turn runs in a session, or is about to."""
        return session.is_busy

    async def new(self, params: Params, settings: Mapping[str, str] | None = None) -> Session:
        """Open a new session as the params of `session/new` want it, with these options chosen."""
        self.auth.check()
        declared = await self._declared(params)
        home = self.household
        session_id = home.new_id()
        async with self._furnished(session_id, declared) as room:
            names = [str(directory) for directory in declared.directories]
            create = partial(home.store.create, session_id, names[0], names[1:])
            record = await patiently(partial(create, dict(settings or {})))
            return self._opened(Chronicle(home.store, record), Revived(), declared, room)

    async def reopened(self, params: Params) -> Session:
        """Return a session that was closed or is still open, with what it knows.

        It gets the additional directories and the servers of `params`, and no others.
        """
        session_id = cast("str", params["sessionId"])
        await self.open.wait_settled(session_id)
        with self.open.change(session_id):
            declared = await self._declared(params)
        directories = declared.directories
        record = self.recorded(session_id)
        if str(directories[0]) != record.cwd:
            raise invalid("cwd is not the session's")
        store, names = self.household.store, [str(each) for each in directories[1:]]
        if (session := self.open.awake.get(session_id)) is not None:
            with self.open.used(session), session.tellings.running():
                await self._refurnished(session, declared)
                await patiently(partial(store.change, record.number, directories=names))
                session.move(self.workspace_for(session_id, directories), directories)
                return session
        is_closed = session_id not in self.open.asleep
        if is_closed and not store.take(record.number):
            raise elsewhere(session_id)
        try:
            async with self._furnished(session_id, declared) as room:
                await patiently(partial(store.change, record.number, directories=names))
                chronicle = Chronicle(store, record)
                session = self._opened(chronicle, revive(chronicle), declared, room)
                session.is_unknown = is_closed
                return session
        except BaseException:
            if session_id not in self.open.asleep:
                store.claims.release(record.number)
            raise

    async def forked(self, params: Params) -> Session:
        """Open a copy of a session, which itself stays as it is."""
        self.auth.check()
        declared = await self._declared(params)
        source_id = cast("str", params["sessionId"])
        self.recorded(source_id)
        home = self.household
        session_id = home.new_id()
        async with self._furnished(session_id, declared) as room:
            names = [str(directory) for directory in declared.directories]
            source = self.recorded(source_id)
            copy = partial(home.store.copy, source.number, session_id, names[0], names[1:])
            record = await patiently(copy)
            chronicle = Chronicle(home.store, record)
            return self._opened(chronicle, revive(chronicle), declared, room)

    @asynccontextmanager
    async def using(self, params: Params) -> AsyncGenerator[Session]:
        """Yield the session of `params`, which has to be open on this connection, awake."""
        session = await self._awake(cast("str", params["sessionId"]))
        with self.open.used(session), session.tellings.running():
            yield session

    @asynccontextmanager
    async def prompting(self, params: Params) -> AsyncGenerator[Session | None]:
        """Yield the same for a prompt, which waits for the end of a turn that was cancelled.

        It waits for other servers, too, that the session is about to get.

        None if it was cancelled itself meanwhile, or before the session was awake.
        """
        session_id = cast("str", params["sessionId"])
        session: Session | None = None
        with anyio.CancelScope() as wait:
            waits = self._waits.setdefault(session_id, set())
            waits.add(wait)
            try:
                session = await self._awake(session_id)
                while session.is_ending or session.servers.is_changing:
                    await (session.ended if session.is_ending else session.servers.changed)()
                    session = await self._awake(session_id)
            except RequestFailedError:
                if not wait.cancel_called:
                    raise
            finally:
                waits.discard(wait)
                if not waits:
                    self._waits.pop(session_id, None)
        # The cancellation may have come when the session was just awake.
        if session is None or wait.cancel_called:
            yield None
            return
        with self.open.used(session):
            yield session

    async def _awake(self, session_id: str) -> Session:
        """Return an open session; wake it if it is asleep."""
        await self.open.wait_settled(session_id)
        if (session := self.open.awake.get(session_id)) is not None:
            return session
        record = self.recorded(session_id)
        if (slept := self.open.asleep.get(session_id)) is None:
            raise self.closed(session_id)
        async with self._furnished(session_id, slept.declared) as room:
            chronicle = Chronicle(self.household.store, record)
            return self._opened(chronicle, revive(chronicle), slept.declared, room)

    def closed(self, session_id: str) -> RequestFailedError:
        """Return the refusal of what can be asked of an open session only."""
        if self.household.store.claims.is_taken(self.recorded(session_id).number):
            return elsewhere(session_id)
        return missing(session_id, "The session is not open; it can be opened again")

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
        declared: Declared,
        servers: McpServers,
    ) -> Session:
        session_id = chronicle.record.id
        session = self.open.awake[session_id] = Session(
            chronicle,
            revived,
            staff=self.household.staff,
            workspace=self.workspace_for(session_id, declared.directories),
            updates=self.updates_for(chronicle),
            servers=servers,
            declared=declared,
            slept=self.open.asleep.wake(session_id),
        )
        return session

    async def _declared(self, params: Params) -> Declared:
        servers = self._servers(params)
        return Declared(await extent_of(params), servers)

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
    async def _furnished(self, session_id: str, declared: Declared) -> AsyncGenerator[McpServers]:
        """Start the servers of a session that is about to be opened; end them if it is not."""
        async with self.open.place(session_id):
            room = McpServers(builtin_tools(), Relay(self.ways))
            cwd, *additional = declared.directories
            with self.open.starting(session_id):
                await room.open(declared.servers, self.household.servers, cwd, additional)
            try:
                yield room
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await room.aclose()
                raise

    async def _refurnished(self, session: Session, declared: Declared) -> None:
        """Give an open session other servers, if it has not those already."""
        cwd, *additional = declared.directories
        servers = declared.servers
        if session.servers.has(servers):
            await session.servers.move(declared.directories)
            return
        if self.is_at_work(session):
            raise busy()
        with self.open.starting(session.id):
            await session.servers.change(servers, self.household.servers, cwd, additional)
        session.declared = replace(session.declared, servers=servers)
