"""What the handlers of both versions share: opening, using and closing sessions.

`AgentServer` creates the handlers of the negotiated version in `initialize`.
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

from acp_agent.handlers.auth import AuthHandlers
from acp_agent.mcp.config import DeclarationError, Server, session_servers
from acp_agent.mcp.servers import McpServers
from acp_agent.models.types import takes_images
from acp_agent.params import (
    Handler,
    Params,
    invalid_params,
    open_elsewhere,
    session_busy,
    session_directories,
    session_not_found,
)
from acp_agent.services import AgentServices
from acp_agent.sessions.log import SessionLog
from acp_agent.sessions.manager import SessionManager
from acp_agent.sessions.restore import RestoredSession, restore
from acp_agent.sessions.session import Session
from acp_agent.sessions.store import SessionRecord, retry_busy
from acp_agent.sessions.suspended import SessionSetup
from acp_agent.tools.registry import builtin_tools
from acp_agent.updates.elicitation import ElicitationMode, ServerElicitation
from acp_agent.updates.v1 import SessionUpdates
from acp_agent.workspace import Workspace
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

SESSION_LIMIT: Final = 10
"""Sessions that may be awake at once, by default."""
NAME: Final = "acp-agent"
"""The name of the agent for programs."""
TITLE: Final = "ACP Agent"


class Handlers(ABC):
    """Handles the methods of one version, on one connection."""

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
        self.elicitation_modes: Collection[ElicitationMode] = ()
        """The modes of elicitation that the client supports."""
        self._waiting_scopes: dict[str, set[anyio.CancelScope]] = {}
        """By session id, the scopes of prompts that wait for their session to wake."""
        self.handlers: Mapping[str, Handler] = {}
        """By method; `initialize` is none of them."""

    @abstractmethod
    def initialized(self, params: Params) -> Json:
        """Store the capabilities of the client; return the result of `initialize`."""

    @abstractmethod
    def cancel(self, session: Session) -> None:
        """Cancel what runs in a session."""

    @abstractmethod
    def updates_for(self, log: SessionLog) -> SessionUpdates:
        """Return what notifies the client of a session."""

    @abstractmethod
    def workspace_for(self, session_id: str, directories: Sequence[Path]) -> Workspace:
        """Return the workspace of a session; its `cwd` is the first of `directories`."""

    @property
    def takes_images(self) -> bool:
        """Whether at least one of the models takes images."""
        return any(takes_images(model) for model in self.services.models)

    def info(self) -> dict[str, Json]:
        """Return name, title and version of the agent."""
        return {"name": NAME, "title": self.services.title, "version": VERSION}

    def notified(self, method: str, params: Params) -> None:
        """Handle a notification of the client; unknown ones are ignored."""
        if method == "mcp/message":
            self.services.mcp_client.notified(params)
        if method == "session/cancel":
            session_id = params.get("sessionId")
            if not isinstance(session_id, str):
                return
            self._cancel_waiting(session_id)
            if (session := self.open.awake.get(session_id)) is not None:
                self.cancel(session)

    def cancel_all(self) -> None:
        """Cancel every running turn, and what waits for servers."""
        for session_id in self._waiting_scopes:
            self._cancel_waiting(session_id)
        self.open.cancel_starts()
        for session in self.open.awake.values():
            self.cancel(session)

    async def close(self, session_id: str) -> bool:
        """Close a session and cancel its waiting prompts; return False if it is not open."""
        self._cancel_waiting(session_id)
        return await self.open.close(session_id)

    def _cancel_waiting(self, session_id: str) -> None:
        """Cancel the prompts that wait for a session."""
        for wait in self._waiting_scopes.get(session_id, ()):
            wait.cancel()

    async def new(self, params: Params, settings: Mapping[str, str] | None = None) -> Session:
        """Open a new session with the params of `session/new` and these values of options."""
        self.auth.require_login()
        declared = await self._declared(params)
        services = self.services
        session_id = services.new_id()
        async with self._with_servers(session_id, declared) as room:
            names = [str(directory) for directory in declared.directories]
            create = partial(services.store.create, session_id, names[0], names[1:])
            record = await retry_busy(partial(create, dict(settings or {})))
            return self._opened(
                SessionLog(services.store, record), RestoredSession(), declared, room
            )

    async def reopened(self, params: Params) -> Session:
        """Return a session, closed or still open, with its history.

        Its additional directories and servers are those of `params`.
        """
        session_id = cast("str", params["sessionId"])
        await self.open.wait_settled(session_id)
        with self.open.change(session_id):
            declared = await self._declared(params)
        directories = declared.directories
        record = self.recorded(session_id)
        if str(directories[0]) != record.cwd:
            raise invalid_params("cwd is not the session's")
        store, names = self.services.store, [str(each) for each in directories[1:]]
        if (session := self.open.awake.get(session_id)) is not None:
            with self.open.in_use(session), session.tasks.running():
                await self._change_servers(session, declared)
                await retry_busy(partial(store.change, record.number, directories=names))
                session.move(self.workspace_for(session_id, directories), directories)
                return session
        is_closed = session_id not in self.open.suspended
        if is_closed and not store.take(record.number):
            raise open_elsewhere(session_id)
        try:
            async with self._with_servers(session_id, declared) as room:
                await retry_busy(partial(store.change, record.number, directories=names))
                log = SessionLog(store, record)
                session = self._opened(log, restore(log), declared, room)
                session.is_unannounced = is_closed
                return session
        except BaseException:
            if session_id not in self.open.suspended:
                store.claims.release(record.number)
            raise

    async def forked(self, params: Params) -> Session:
        """Open a copy of a session."""
        self.auth.require_login()
        declared = await self._declared(params)
        source_id = cast("str", params["sessionId"])
        self.recorded(source_id)
        services = self.services
        session_id = services.new_id()
        async with self._with_servers(session_id, declared) as room:
            names = [str(directory) for directory in declared.directories]
            source = self.recorded(source_id)
            copy = partial(services.store.copy, source.number, session_id, names[0], names[1:])
            record = await retry_busy(copy)
            log = SessionLog(services.store, record)
            return self._opened(log, restore(log), declared, room)

    @asynccontextmanager
    async def using(self, params: Params) -> AsyncGenerator[Session]:
        """Yield the session of `params`, awake; it has to be open on this connection."""
        session = await self._awake(cast("str", params["sessionId"]))
        with self.open.in_use(session), session.tasks.running():
            yield session

    @asynccontextmanager
    async def prompting(self, params: Params) -> AsyncGenerator[Session | None]:
        """Yield the session of a prompt; None if the prompt was cancelled while it waited.

        The prompt waits for the end of a cancelled turn, and for servers that are starting.
        """
        session_id = cast("str", params["sessionId"])
        session: Session | None = None
        with anyio.CancelScope() as wait:
            waits = self._waiting_scopes.setdefault(session_id, set())
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
                    self._waiting_scopes.pop(session_id, None)
        # The cancellation may have come when the session was just awake.
        if session is None or wait.cancel_called:
            yield None
            return
        with self.open.in_use(session):
            yield session

    async def _awake(self, session_id: str) -> Session:
        """Return an open session; wake it if it is suspended."""
        await self.open.wait_settled(session_id)
        if (session := self.open.awake.get(session_id)) is not None:
            return session
        record = self.recorded(session_id)
        if (slept := self.open.suspended.get(session_id)) is None:
            raise self.closed(session_id)
        async with self._with_servers(session_id, slept.declared) as room:
            log = SessionLog(self.services.store, record)
            return self._opened(log, restore(log), slept.declared, room)

    def closed(self, session_id: str) -> RequestFailedError:
        """Return the error for a request that needs an open session."""
        if self.services.store.claims.is_taken(self.recorded(session_id).number):
            return open_elsewhere(session_id)
        return session_not_found(session_id, "The session is not open; it can be opened again")

    def recorded(self, session_id: str) -> SessionRecord:
        """Return the record of a session, open or not."""
        record = self.services.store.get(session_id)
        if record is None:
            raise session_not_found(session_id, "There is no such session")
        return record

    def _opened(
        self,
        log: SessionLog,
        revived: RestoredSession,
        declared: SessionSetup,
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
            slept=self.open.suspended.pop(session_id),
        )
        return session

    async def _declared(self, params: Params) -> SessionSetup:
        servers = self._servers(params)
        return SessionSetup(await session_directories(params), servers)

    def _servers(self, params: Params) -> Sequence[Server]:
        """Return the servers in `params`; refuse kinds that are not offered."""
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
            raise invalid_params(f"params.{problem}") from None

    @asynccontextmanager
    async def _with_servers(
        self, session_id: str, declared: SessionSetup
    ) -> AsyncGenerator[McpServers]:
        """Start the servers of a session that is opened in the block; stop them if that fails."""
        async with self.open.reserve(session_id):
            room = McpServers(builtin_tools(), ServerElicitation(self.elicitation_modes))
            cwd, *additional = declared.directories
            with self.open.starting(session_id):
                await room.open(declared.servers, self.services.mcp_client, cwd, additional)
            try:
                yield room
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await room.aclose()
                raise

    async def _change_servers(self, session: Session, declared: SessionSetup) -> None:
        """Change the servers of an open session, unless it has these already."""
        cwd, *additional = declared.directories
        servers = declared.servers
        if session.servers.has(servers):
            await session.servers.move(declared.directories)
            return
        if session.is_at_work:
            raise session_busy()
        with self.open.starting(session.id):
            await session.servers.change(servers, self.services.mcp_client, cwd, additional)
        session.setup = replace(session.setup, servers=servers)
