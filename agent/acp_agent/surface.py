"""What the surfaces of both versions have in common: how sessions are opened and closed.

A surface answers the methods of one protocol version. Which one serves a connection is decided in
`initialize`, by `server`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
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
from acp_agent.sessions.patience import patiently
from acp_agent.sessions.records import Record
from acp_agent.sessions.revival import Revived, revive
from acp_agent.sessions.store import Store
from acp_agent.slumber import Declared, Slumber
from acp_agent.surface_auth import Authentication, AuthMode
from acp_agent.tools.catalogue import TOOLS
from acp_agent.updates import Updates
from acp_agent.workspace import Workspace
from acp_protocol import jsonrpc
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


ROOM_WAIT: Final = 30.0
"""Seconds that a session waits for another one that is about to come to rest."""


class Surface(ABC):
    """The methods of one version, on one connection."""

    version: ClassVar[int]

    def __init__(self, household: Household) -> None:
        self.household = household
        self.sessions: dict[str, Session] = {}
        """Those that are open on this connection, and awake."""
        self.asleep = Slumber(household.store.claims)
        """Those that are open and wake when they are wanted."""
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
        self._opening = 0
        """How many of them will be awake, and have their place among those."""
        self._eased = anyio.Event()
        """Set, and another one instead, when a session may have come to rest or gone."""
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
            for wait in self._waits.get(session_id, ()):
                wait.cancel()
            if (session := self.sessions.get(session_id)) is not None:
                self.cancel(session)

    def cancel_all(self) -> None:
        """End every running turn."""
        for session in self.sessions.values():
            self.cancel(session)

    def is_at_work(self, session: Session) -> bool:
        """Return whether a turn runs in a session, or is about to."""
        return session.is_busy

    def is_at_rest(self, session: Session) -> bool:
        """Return whether nothing happens in a session, or is about to."""
        is_used = session.is_used or self.is_at_work(session) or session.id in self._changing
        return not is_used and session.chronicle.is_settled()

    def ease(self) -> None:
        """Let those look again who wait for a session to rest."""
        self._eased.set()
        self._eased = anyio.Event()

    @contextmanager
    def used(self, session: Session) -> Generator[None]:
        """Put a session not away meanwhile."""
        try:
            with session.used():
                yield
        finally:
            self.ease()

    async def rest_idle(self, seconds: float) -> None:
        """Put the sessions away in which nothing has happened for `seconds`."""
        latest = anyio.current_time() - seconds
        for session in list(self.sessions.values()):
            is_open = self.sessions.get(session.id) is session
            if is_open and session.touched <= latest and self.is_at_rest(session):
                await self.put_away(session)

    async def put_away(self, session: Session) -> None:
        """End all of a session at rest but its claim; it wakes when it is wanted."""
        self.asleep.add(session.id, session.asleep())
        del self.sessions[session.id]
        with self.change(session.id), anyio.CancelScope(shield=True):
            await self.finish(session)
            await session.servers.aclose()
            await session.settle()
        self.asleep.thin(self._changing)

    async def close(self, session: Session) -> None:
        """Close a session: it is kept, and can be opened again.

        It is brought to its end, whoever gives up meanwhile: every wait in it is bounded.
        """
        del self.sessions[session.id]
        self.ease()
        with self.change(session.id), anyio.CancelScope(shield=True):
            try:
                await session.tellings.end()
                await self.finish(session)
                await session.servers.aclose()
                await session.settle()
            finally:
                self.household.store.claims.release(session.chronicle.record.number)

    async def shut(self, session_id: str) -> bool:
        """Close a session, awake or asleep; return False if it is not open."""
        await self.wait_settled(session_id)
        if (session := self.sessions.get(session_id)) is not None:
            await self.close(session)
            return True
        return self.asleep.close(session_id)

    async def wait_settled(self, session_id: str) -> None:
        """Return when a session is about to be neither opened nor closed."""
        while (changing := self._changing.get(session_id)) is not None:
            await changing.wait()

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
        await self.wait_settled(session_id)
        with self.change(session_id):
            declared = await self._declared(params)
        directories = declared.directories
        record = self.recorded(session_id)
        if str(directories[0]) != record.cwd:
            raise invalid("cwd is not the session's")
        store, names = self.household.store, [str(each) for each in directories[1:]]
        if (session := self.sessions.get(session_id)) is not None:
            with self.used(session), session.tellings.running():
                await self._refurnished(session, declared)
                await patiently(partial(store.change, record.number, directories=names))
                session.move(self.workspace_for(session_id, directories), directories)
                return session
        is_closed = session_id not in self.asleep
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
            if session_id not in self.asleep:
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
        with self.used(session), session.tellings.running():
            yield session

    @asynccontextmanager
    async def prompting(self, params: Params) -> AsyncGenerator[Session | None]:
        """Yield the same for a prompt, which waits for the end of a turn that was cancelled.

        None if it was cancelled itself meanwhile, or before the session was awake.
        """
        session_id = cast("str", params["sessionId"])
        session: Session | None = None
        with anyio.CancelScope() as wait:
            waits = self._waits.setdefault(session_id, set())
            waits.add(wait)
            try:
                session = await self._awake(session_id)
                while session.is_ending:
                    await session.ended()
                    session = await self._awake(session_id)
            finally:
                waits.discard(wait)
                if not waits:
                    self._waits.pop(session_id, None)
        # The cancellation may have come when the session was just awake.
        if session is None or wait.cancel_called:
            yield None
            return
        with self.used(session):
            yield session

    async def _awake(self, session_id: str) -> Session:
        """Return an open session; wake it if it is asleep."""
        await self.wait_settled(session_id)
        if (session := self.sessions.get(session_id)) is not None:
            return session
        record = self.recorded(session_id)
        if (slept := self.asleep.get(session_id)) is None:
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
        session = self.sessions[session_id] = Session(
            chronicle,
            revived,
            staff=self.household.staff,
            workspace=self.workspace_for(session_id, declared.directories),
            updates=self.updates_for(chronicle),
            servers=servers,
            declared=declared,
            slept=self.asleep.wake(session_id),
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
        with self.change(session_id):
            await self._make_room()
            with self._counted():
                async with self._room(declared) as room:
                    yield room

    @asynccontextmanager
    async def _room(self, declared: Declared) -> AsyncGenerator[McpServers]:
        room = McpServers(TOOLS, Relay(self.ways))
        cwd, *additional = declared.directories
        await room.open(declared.servers, self.household.servers, cwd, additional)
        try:
            yield room
        except BaseException:
            with anyio.CancelScope(shield=True):
                await room.aclose()
            raise

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Count a session that is about to be opened among those that are awake."""
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1
            self.ease()

    async def _make_room(self) -> None:
        """Return when one more may be awake; those make room that have been at rest the longest."""
        with anyio.move_on_after(ROOM_WAIT):
            while len(self.sessions) + self._opening >= self.household.limit:
                resting = [each for each in self.sessions.values() if self.is_at_rest(each)]
                if resting:
                    await self.put_away(min(resting, key=lambda each: each.touched))
                elif self._opening or not all(map(self.is_at_work, self.sessions.values())):
                    await self._eased.wait()
                else:
                    raise self._crowded()
            return
        raise self._crowded()

    def _crowded(self) -> RequestFailedError:
        limit = self.household.limit
        reason = f"Too many sessions are at work: {limit}; wait for a turn to end or cancel one"
        return RequestFailedError(jsonrpc.INVALID_REQUEST, reason)

    async def _refurnished(self, session: Session, declared: Declared) -> None:
        """Give an open session other servers, if it has not those already."""
        cwd, *additional = declared.directories
        servers = declared.servers
        if session.servers.has(servers):
            await session.servers.move(declared.directories)
            return
        if session.is_busy:
            raise busy()
        await session.servers.change(servers, self.household.servers, cwd, additional)
        session.declared = replace(session.declared, servers=servers)

    @contextmanager
    def change(self, session_id: str) -> Generator[None]:
        """Let others wait while a session is opened or closed."""
        has_changed = self._changing[session_id] = anyio.Event()
        try:
            yield
        finally:
            del self._changing[session_id]
            has_changed.set()
