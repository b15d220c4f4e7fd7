"""What the surfaces of both versions have in common: how sessions are opened and closed.

A handlers answers the methods of one protocol version. Which one serves a connection is decided in
`initialize`, by `server`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, cast

import anyio

from acp_agent.elicitation import Relay, Way
from acp_agent.mcp.declarations import DeclarationError, Server, session_servers
from acp_agent.mcp.servers import McpServers
from acp_agent.models.model import takes_images
from acp_agent.params import Handler, Params, busy, elsewhere, extent_of, invalid, missing
from acp_agent.services import AgentServices
from acp_agent.session import Session
from acp_agent.sessions.log import SessionLog
from acp_agent.sessions.manager import SessionManager
from acp_agent.sessions.records import Record
from acp_agent.sessions.restore import Revived, revive
from acp_agent.sessions.store import retry_busy
from acp_agent.slumber import Declared
from acp_agent.surface_auth import AuthHandlers
from acp_agent.tools.catalogue import TOOLS
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


class Handlers(ABC):
    """The methods of one version, on one connection."""

    version: ClassVar[int]

    def __init__(self, services: AgentServices) -> None:
        self.services = services
        self.open = SessionManager(services.session_limit, services.store.claims)
        self.auth = AuthHandlers(
            services.models,
            services.client,
            mode=services.auth,
            version=self.version,
            is_unstable=services.is_unstable,
        )
        self.ways: Collection[Way] = ()
        """How the client can ask its user."""
        self._waits: dict[str, set[anyio.CancelScope]] = {}
        """The waits of prompts for sessions that are about to wake."""
        self.handlers: Mapping[str, Handler] = {}
        """By method; `initialize` is none of them."""

    @abstractmethod
    def initialized(self, params: Params) -> Json:
        """Take note of what the client can do; return the result of `initialize`."""

    @abstractmethod
    def cancel(self, session: Session) -> None:
        """End what runs in a session."""

    @abstractmethod
    def updates_for(self, log: SessionLog) -> Updates:
        """Return who tells the client of a session."""

    @abstractmethod
    def workspace_for(self, session_id: str, directories: Sequence[Path]) -> Workspace:
        """Return the files of a session in `directories`, of which the first is its own."""

    @property
    def takes_images(self) -> bool:
        """Whether images may be among a prompt, for one of the models at least."""
        return any(takes_images(model) for model in self.services.models)

    def info(self) -> dict[str, Json]:
        """Return what the agent is called."""
        return {"name": NAME, "title": self.services.title, "version": VERSION}

    def notified(self, method: str, params: Params) -> None:
        """Take note of what the client says; what is not known is ignored."""
        if method == "mcp/message":
            self.services.mcp_client.notified(params)
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
        self.open.cancel_starts()
        for session in self.open.awake.values():
            self.cancel(session)

    async def close(self, session_id: str) -> bool:
        """Close a session, its waiting prompts cancelled; return False if it is not open."""
        self._end_waits(session_id)
        return await self.open.close(session_id)

    def _end_waits(self, session_id: str) -> None:
        """Cancel the prompts that wait for a session."""
        for wait in self._waits.get(session_id, ()):
            wait.cancel()

    async def new(self, params: Params, settings: Mapping[str, str] | None = None) -> Session:
        """Open a new session as the params of `session/new` want it, with these options chosen."""
        self.auth.check()
        declared = await self._declared(params)
        services = self.services
        session_id = services.new_id()
        async with self._furnished(session_id, declared) as room:
            names = [str(directory) for directory in declared.directories]
            create = partial(services.store.create, session_id, names[0], names[1:])
            record = await retry_busy(partial(create, dict(settings or {})))
            return self._opened(SessionLog(services.store, record), Revived(), declared, room)

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
        store, names = self.services.store, [str(each) for each in directories[1:]]
        if (session := self.open.awake.get(session_id)) is not None:
            with self.open.used(session), session.tasks.running():
                await self._refurnished(session, declared)
                await retry_busy(partial(store.change, record.number, directories=names))
                session.move(self.workspace_for(session_id, directories), directories)
                return session
        is_closed = session_id not in self.open.asleep
        if is_closed and not store.take(record.number):
            raise elsewhere(session_id)
        try:
            async with self._furnished(session_id, declared) as room:
                await retry_busy(partial(store.change, record.number, directories=names))
                log = SessionLog(store, record)
                session = self._opened(log, revive(log), declared, room)
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
        services = self.services
        session_id = services.new_id()
        async with self._furnished(session_id, declared) as room:
            names = [str(directory) for directory in declared.directories]
            source = self.recorded(source_id)
            copy = partial(services.store.copy, source.number, session_id, names[0], names[1:])
            record = await retry_busy(copy)
            log = SessionLog(services.store, record)
            return self._opened(log, revive(log), declared, room)

    @asynccontextmanager
    async def using(self, params: Params) -> AsyncGenerator[Session]:
        """Yield the session of `params`, which has to be open on this connection, awake."""
        session = await self._awake(cast("str", params["sessionId"]))
        with self.open.used(session), session.tasks.running():
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
            log = SessionLog(self.services.store, record)
            return self._opened(log, revive(log), slept.declared, room)

    def closed(self, session_id: str) -> RequestFailedError:
        """Return the refusal of what can be asked of an open session only."""
        if self.services.store.claims.is_taken(self.recorded(session_id).number):
            return elsewhere(session_id)
        return missing(session_id, "The session is not open; it can be opened again")

    def recorded(self, session_id: str) -> Record:
        """Return what is known of a session, open or not."""
        record = self.services.store.get(session_id)
        if record is None:
            raise missing(session_id, "There is no such session")
        return record

    def _opened(
        self,
        log: SessionLog,
        revived: Revived,
        declared: Declared,
        servers: McpServers,
    ) -> Session:
        session_id = log.record.id
        session = self.open.awake[session_id] = Session(
            log,
            revived,
            services=self.services,
            workspace=self.workspace_for(session_id, declared.directories),
            updates=self.updates_for(log),
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
        services = self.services
        try:
            return session_servers(
                cast("list[Params]", params.get("mcpServers") or []),
                version=self.version,
                is_unstable=services.is_unstable,
                allowed=services.mcp.allowed,
                configured=services.mcp.configured,
                limits=services.mcp.limits,
            )
        except DeclarationError as problem:
            raise invalid(f"params.{problem}") from None

    @asynccontextmanager
    async def _furnished(self, session_id: str, declared: Declared) -> AsyncGenerator[McpServers]:
        """Start the servers of a session that is about to be opened; end them if it is not."""
        async with self.open.reserve(session_id):
            room = McpServers(TOOLS, Relay(self.ways))
            cwd, *additional = declared.directories
            with self.open.starting(session_id):
                await room.open(declared.servers, self.services.mcp_client, cwd, additional)
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
        if session.is_at_work:
            raise busy()
        with self.open.starting(session.id):
            await session.servers.change(servers, self.services.mcp_client, cwd, additional)
        session.declared = replace(session.declared, servers=servers)
