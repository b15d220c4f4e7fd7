"""What the handlers of both versions share: opening, using, closing, and listing sessions.

`AgentServer` creates the handlers of the negotiated version in `initialize`.

Source: ACP, Session Setup; Session List; Session Delete; the unstable archive, status and title of
sessions.
"""

from __future__ import annotations

import os.path
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

import anyio
from anyio.abc import TaskGroup

from acp_agent.handlers.auth import AuthHandlers
from acp_agent.handlers.dialect import ClientDialect
from acp_agent.handlers.params import (
    SUPPORTED_CONTENT,
    Handler,
    Params,
    invalid_params,
    option_value,
    session_directories,
)
from acp_agent.handlers.providers import ProviderHandlers
from acp_agent.mcp.declarations import DeclarationError, session_servers
from acp_agent.mcp.servers import McpClient, McpServers
from acp_agent.models.types import takes_images
from acp_agent.services import AgentServices
from acp_agent.sessions.manager import SessionManager
from acp_agent.sessions.restore import restore
from acp_agent.sessions.session import (
    INFO,
    AgentSession,
    SessionResources,
    session_info,
    session_not_found,
)
from acp_agent.store.database import SessionQuery, SessionRecord, decode_cursor, encode_cursor
from acp_agent.store.events import Event
from acp_agent.store.log import SessionLog
from acp_agent.tools.registry import builtin_tools
from acp_agent.updates.v1 import RenderedUpdates, SessionUpdates
from acp_agent.world.elicitation import ElicitationMode, ServerElicitation, SessionClient
from acp_agent.world.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.dialects.base import has_placed_cwd
from acp_protocol.errors import RequestFailedError
from acp_protocol.handler import Response
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import RESTORING
from acp_protocol.version import VERSION

NAME: Final = "acp-agent"
"""The name of the agent for programs."""
PAGE_SIZE: Final = 50
"""Sessions in one list of stored sessions."""
MAX_TITLE_LENGTH: Final = 200
SUSPENDED_META: Final[Json] = {NAME: {"asleep": True}}
"""Marks a suspended session in `_meta`."""


class Handlers(ABC):
    """Handles the methods of one version, on one connection."""

    version: ClassVar[int]

    def __init__(
        self,
        services: AgentServices,
        client: SessionClient,
        tasks: TaskGroup,
        dialect: ClientDialect,
    ) -> None:
        self.services = services
        self.dialect = dialect
        self.store = services.store
        self.client = client
        self.tasks = tasks
        self.mcp_client = McpClient(client, tasks, services.mcp.limits)
        settings = services.settings
        self.is_unstable = settings.protocol.unstable
        self.sessions = SessionManager(settings.sessions.max_concurrent, services.store)
        self.auth = AuthHandlers(services, client, self.version, dialect)
        self.elicitation_modes: Collection[ElicitationMode] = ()
        """The modes of elicitation that the client supports."""
        self.client_files: Params = {}
        """Which requests about files the client supports."""
        self.has_terminals = False
        """Whether the client offers terminals."""
        self.page_size = PAGE_SIZE
        self.handlers: dict[str, Handler] = {
            "session/new": self._new_session,
            "session/resume": self._resume_session,
            "session/close": self._close_session,
            "session/set_config_option": self._set_config_option,
            "session/prompt": self._prompt,
            "session/list": self._list,
            "session/delete": self._delete,
            **self.auth.handlers,
        }
        """By method; `initialize` is none of them."""
        self.handlers |= self.own_handlers()
        if not settings.capabilities.load_session:
            for method in RESTORING:
                self.handlers.pop(method, None)
        self.has_forks = self.is_unstable or dialect.has_forks
        if self.has_forks:
            self.handlers["session/fork"] = self._fork_session
        if self.is_unstable:
            self.handlers |= {
                "session/archive": self._archive,
                "session/unarchive": self._unarchive,
                "session/status": self._status,
                "session/set_title": self._set_title,
                **ProviderHandlers(services.models).handlers,
            }

    @abstractmethod
    def own_handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the methods that only this version has."""

    @abstractmethod
    def initialized(self, params: Params) -> Json:
        """Store the capabilities of the client; return the result of `initialize`."""

    @abstractmethod
    def cancel(self, session: AgentSession) -> None:
        """Cancel what runs in a session."""

    @abstractmethod
    def updates_for(self, log: SessionLog) -> SessionUpdates:
        """Return what notifies the client of a session."""

    @abstractmethod
    def result_for(self, session: AgentSession) -> dict[str, Json]:
        """Return the fields of a result that describe a session that was opened."""

    @abstractmethod
    async def announce(self, session: AgentSession, *, is_new: bool) -> None:
        """Send what follows the response to opening a session."""

    @abstractmethod
    async def _resume_session(self, params: Params) -> Json: ...

    @abstractmethod
    async def _close_session(self, params: Params) -> Json: ...

    @abstractmethod
    async def _prompt(self, params: Params) -> Json: ...

    def workspace_for(self, session_id: str, directories: Sequence[Path]) -> Workspace:
        """Return a workspace that uses the client's files and terminals where it offers them.

        Its `cwd` is the first of `directories`. Clients of version 2 offer none.
        """
        return Workspace(
            session_id,
            directories[0],
            additional=directories[1:],
            client=self.client,
            client_reads=self.client_files.get("readTextFile") is True,
            client_writes=self.client_files.get("writeTextFile") is True,
            terminal_tasks=self.tasks if self.has_terminals else None,
        )

    def initial_settings(self, params: Params) -> dict[str, str]:
        """Return the values of options that the params of `session/new` choose."""
        del params
        return {}

    def state(self, session: AgentSession) -> dict[str, Json]:
        """Return the state of a session as fields of a state update; version 1 has none."""
        del session
        return {}

    @property
    def takes_images(self) -> bool:
        """Whether images are offered, and at least one of the models takes them."""
        is_offered = self.services.settings.capabilities.image
        return is_offered and any(takes_images(model) for model in self.services.models)

    @property
    def offered_content(self) -> frozenset[str]:
        """The kinds of content that a prompt may hold."""
        offered = self.services.settings.capabilities
        has_resources = offered.embedded_context
        refused = {"image": offered.image, "resource": has_resources}
        return SUPPORTED_CONTENT - {kind for kind, is_offered in refused.items() if not is_offered}

    def info(self) -> dict[str, Json]:
        """Return name, title and version of the agent."""
        agent = self.services.settings.agent
        return {"name": NAME, "title": agent.name, "version": agent.version or VERSION}

    def notified(self, method: str, params: Params) -> None:
        """Handle a notification of the client; unknown ones are ignored."""
        if method == "mcp/message":
            self.mcp_client.notified(params)
        session_id = params.get("sessionId")
        if method == "session/cancel" and isinstance(session_id, str):
            self.sessions.cancel_waiting(session_id)
            if (session := self.sessions.awake.get(session_id)) is not None:
                self.cancel(session)

    def cancel_all(self) -> None:
        """Cancel every running turn, and what waits for servers."""
        self.sessions.disconnect()
        for session in self.sessions.awake.values():
            self.cancel(session)

    async def _new_session(self, params: Params) -> Json:
        self.auth.require_login()
        setup = await self._setup(params)
        session_id = self.services.new_id()
        cwd, *others = map(str, setup.directories)
        settings = self.initial_settings(params)
        create = partial(self.store.create, session_id, cwd, others, settings)
        return self._opened(await self._open(session_id, setup, create), is_new=True)

    async def _fork_session(self, params: Params) -> Json:
        self.auth.require_login()
        params = await self._with_cwd(params)
        setup = await self._setup(params)
        source_id: str = params["sessionId"]
        await self.record_of(source_id)
        session_id = self.services.new_id()
        cwd, *others = map(str, setup.directories)

        def copy() -> SessionRecord:
            source = self._read_record(source_id)
            return self.store.copy(source.number, session_id, cwd, others)

        return self._opened(await self._open(session_id, setup, copy), is_new=False)

    def _opened(self, session: AgentSession, *, is_new: bool) -> Response:
        result = {"sessionId": session.id, **self.result_for(session)}
        # The client does not know the session before the response.
        return self.respond_then(session, result, partial(self.announce, session, is_new=is_new))

    async def reopen(self, params: Params) -> AgentSession:
        """Return a session, closed or still open, with its history.

        Its additional directories and servers are those of `params`.
        """
        params = await self._with_cwd(params)
        session_id: str = params["sessionId"]
        await self.sessions.wait_settled(session_id)
        with self.sessions.change(session_id):
            setup = await self._setup(params)
            record = await self.record_of(session_id)
            if str(setup.directories[0]) != record.cwd:
                raise invalid_params("cwd is not the session's")
            was_closed = not self.sessions.is_open(session_id)
            if was_closed and not await self.store.take(record.number):
                raise open_elsewhere(session_id)
        names = [str(each) for each in setup.directories[1:]]

        def update() -> SessionRecord:
            self.store.change(record.number, directories=names)
            # Another process may have had it open until it was locked.
            return self._read_record(session_id)

        if (session := self.sessions.awake.get(session_id)) is not None:
            with self.sessions.in_use(session), session.tasks.running():
                await self._change_servers(session, setup)
                await self.store.run(update)
                session.move(self.workspace_for(session_id, setup.directories), setup)
                return session
        try:
            session = await self._open(session_id, setup, update)
        except BaseException:
            if session_id not in self.sessions.suspended:
                await self.store.release(record.number)
            raise
        session.is_unannounced = was_closed
        return session

    async def _with_cwd(self, params: Params) -> Params:
        """Return `params` with the session's own `cwd` if the client has sent none."""
        if not has_placed_cwd(params):
            return params
        return {**params, "cwd": (await self.record_of(params["sessionId"])).cwd}

    async def _set_config_option(self, params: Params) -> Json:
        async with self.using(params) as session:
            if (option := session.option(params["configId"])) is None:
                raise invalid_params(f"configId: there is no option {params['configId']!r}")
            if self.version >= 2 and params["type"] != "id":
                raise invalid_params(f"type: {params['type']!r} does not fit this option")
            await session.set_option(option, option_value(option, params["value"], "value"))
            return {"configOptions": session.settings()["configOptions"]}

    async def replay(
        self,
        session: AgentSession,
        events: AsyncIterable[Event] | None,
        then: Callable[[], Awaitable[RenderedUpdates]],
    ) -> None:
        """Replay the events of a session, and send the updates of `then`.

        If that fails, a session that was opened for this is closed again.

        Raises:
            RequestFailedError: the session was closed meanwhile.
        """
        try:
            with self.sessions.in_use(session), session.tasks.running():
                await session.log.flush()
                await session.updates.replay(events, then)
        except BaseException:
            is_open = self.sessions.awake.get(session.id) is session
            if session.is_unannounced and is_open and self.sessions.can_suspend(session):
                await self.sessions.close_session(session)
            raise
        session.is_unannounced = False

    def respond_then(
        self, session: AgentSession, result: Json, then: Callable[[], Awaitable[None]]
    ) -> Response:
        """Return a response after which `then` runs, unless the session is closed by then."""
        session.is_unannounced = False
        use = ExitStack()
        use.enter_context(self.sessions.in_use(session))

        async def follow() -> None:
            with use, suppress(RequestFailedError), session.tasks.running():
                await then()

        return Response(result, follow)

    @asynccontextmanager
    async def using(self, params: Params) -> AsyncGenerator[AgentSession]:
        """Yield the session of `params`, awake; it has to be open on this connection."""
        session = await self._awake(params["sessionId"])
        with self.sessions.in_use(session), session.tasks.running():
            yield session

    @asynccontextmanager
    async def prompting(self, params: Params) -> AsyncGenerator[AgentSession | None]:
        """Yield the session of a prompt; None if the prompt was cancelled while it waited.

        The prompt waits for the end of a cancelled turn, and for servers that are starting.
        """
        session_id: str = params["sessionId"]
        session: AgentSession | None = None
        with self.sessions.waiting(session_id) as scope:
            try:
                session = await self._awake(session_id)
                while session.is_ending or session.servers.is_changing:
                    await (session.ended if session.is_ending else session.servers.changed)()
                    session = await self._awake(session_id)
            except RequestFailedError:
                if not scope.cancel_called:
                    raise
        # The cancellation may have come when the session was just awake.
        if session is None or scope.cancel_called:
            yield None
            return
        with self.sessions.in_use(session):
            yield session

    async def _awake(self, session_id: str) -> AgentSession:
        """Return an open session; wake it if it is suspended."""
        await self.sessions.wait_settled(session_id)
        if (session := self.sessions.awake.get(session_id)) is not None:
            return session
        if (suspended := self.sessions.suspended.get(session_id)) is None:
            raise await self.not_open(session_id)
        record = partial(self._read_record, session_id)
        return await self._open(session_id, suspended.setup, record)

    async def not_open(self, session_id: str) -> RequestFailedError:
        """Return the error for a request that needs an open session."""
        if await self.store.is_taken((await self.record_of(session_id)).number):
            return open_elsewhere(session_id)
        return session_not_found(session_id, "The session is not open; it can be opened again")

    async def record_of(self, session_id: str) -> SessionRecord:
        """Return the record of a session, open or not."""
        return await self.store.run(partial(self._read_record, session_id))

    def _read_record(self, session_id: str) -> SessionRecord:
        record = self.store.get(session_id)
        if record is None:
            raise session_not_found(session_id, "There is no such session")
        return record

    async def _setup(self, params: Params) -> SessionResources:
        """Return what a session is to work with; refuse kinds of servers that are not offered."""
        mcp = self.services.mcp
        try:
            servers = session_servers(
                params.get("mcpServers") or [],
                version=self.version,
                is_unstable=self.is_unstable,
                allowed=mcp.allowed,
                configured=mcp.configured,
                limits=mcp.limits,
            )
        except DeclarationError as problem:
            raise invalid_params(f"params.{problem}") from None
        return SessionResources(await session_directories(params), servers)

    async def _open(
        self, session_id: str, setup: SessionResources, record: Callable[[], SessionRecord]
    ) -> AgentSession:
        """Open a session: start its servers, then get its record and restore what it holds."""
        async with self.sessions.reserve(session_id):
            servers = McpServers(builtin_tools(), ServerElicitation(self.elicitation_modes))
            with self.sessions.starting(session_id):
                await servers.open(setup.servers, self.mcp_client, setup.directories)
            try:
                log = SessionLog(self.store, await self.store.run(record))
                session = AgentSession(
                    log,
                    await self.store.run(partial(restore, log)),
                    services=self.services,
                    client=self.client,
                    workspace=self.workspace_for(session_id, setup.directories),
                    updates=self.updates_for(log),
                    servers=servers,
                    setup=setup,
                    suspended=self.sessions.suspended.get(session_id),
                )
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await servers.aclose()
                raise
            self.sessions.suspended.pop(session_id, None)
            self.sessions.awake[session_id] = session
            return session

    async def _change_servers(self, session: AgentSession, setup: SessionResources) -> None:
        """Change the servers of an open session, unless it has these already."""
        if session.servers.has(setup.servers):
            await session.servers.move(setup.directories)
            return
        if session.is_at_work:
            raise session_busy()
        with self.sessions.starting(session.id):
            await session.servers.change(setup.servers, self.mcp_client, setup.directories)
        session.setup = replace(session.setup, servers=setup.servers)

    async def _list(self, params: Params) -> Json:
        cwd = params.get("cwd")
        if cwd is not None and not Path(cwd).is_absolute():
            raise invalid_params("cwd is not an absolute path")
        archived = params.get("archived") if self.is_unstable else None
        if archived is None:
            archived = "exclude"
        if archived not in ("exclude", "include", "only"):
            raise invalid_params(f"archived: {archived!r} is not supported")
        query = SessionQuery(_normal(cwd) if cwd is not None else None, archived)
        if (cursor := params.get("cursor")) is not None:
            query = decode_cursor(cursor, query)
            if query is None:
                raise invalid_params("cursor: it was not given for this list")
        size = self.page_size
        records = await self.store.run(partial(self.store.page, query, size + 1))
        page = records[:size]
        result: dict[str, Json] = {"sessions": [self._list_entry(record) for record in page]}
        if len(records) > len(page):
            result["nextCursor"] = encode_cursor(page[-1], query)
        return result

    def _list_entry(self, record: SessionRecord) -> dict[str, Json]:
        entry: dict[str, Json] = {
            "sessionId": record.id,
            "cwd": record.cwd,
            "title": record.title,
            "updatedAt": record.updated,
        }
        if record.directories:
            entry["additionalDirectories"] = list(record.directories)
        if self.is_unstable:
            entry["archived"] = record.is_archived
        if record.id in self.sessions.suspended:
            entry["_meta"] = SUSPENDED_META
        return entry

    async def _delete(self, params: Params) -> Json:
        session_id: str = params["sessionId"]
        await self.sessions.close(session_id)
        # Deleting a session that is not there succeeds.
        if (record := await self.store.run(partial(self.store.get, session_id))) is not None:
            await self._change_closed(record, partial(self.store.delete, record.number))
        return {}

    async def _archive(self, params: Params) -> Json:
        session_id: str = params["sessionId"]
        await self.record_of(session_id)
        await self.sessions.close(session_id)
        record = await self.record_of(session_id)
        archive = partial(self.store.change, record.number, is_archived=1)
        await self._change_closed(record, archive)
        return {}

    async def _unarchive(self, params: Params) -> Json:
        record = await self.record_of(params["sessionId"])
        await self.store.run(partial(self.store.change, record.number, is_archived=0))
        return {}

    async def _status(self, params: Params) -> Json:
        record = await self.record_of(params["sessionId"])
        if not await self.store.is_taken(record.number):
            return {"status": "saved"}
        result: dict[str, Json] = {"status": "open"}
        is_suspended = record.id in self.sessions.suspended
        if is_suspended:
            result["_meta"] = SUSPENDED_META
        if self.version >= 2:
            if (session := self.sessions.awake.get(record.id)) is not None:
                result["state"] = self.state(session)
            elif is_suspended:
                result["state"] = {"state": "idle"}
        return result

    async def _set_title(self, params: Params) -> Json:
        record = await self.record_of(params["sessionId"])
        words = " ".join(params["title"].split())
        title = escape_controls(words)[:MAX_TITLE_LENGTH].strip()
        if not title:
            raise invalid_params("title is empty")
        await self.store.run(partial(self.store.change, record.number, title=title, is_named=1))
        if (session := self.sessions.awake.get(record.id)) is not None:
            await session.send_title()
        elif record.id in self.sessions.suspended:
            # It need not wake for this.
            updates = SessionUpdates(self.client, record.id)
            await updates.send(INFO, session_info(await self.record_of(record.id)))
        return {"title": title}

    async def _change_closed(self, record: SessionRecord, work: Callable[[], None]) -> None:
        """Run `work` on a session that is not open, and is not opened meanwhile."""
        await self.sessions.wait_settled(record.id)
        with self.sessions.change(record.id):
            if not await self.store.take(record.number):
                raise open_elsewhere(record.id)
            try:
                await self.store.run(work)
            finally:
                await self.store.release(record.number)


def _normal(cwd: str) -> str:
    """Return the path of a directory as it is stored, whether or not it still exists."""
    return os.path.normpath(cwd)


def open_elsewhere(session_id: str) -> RequestFailedError:
    """Return the error for a session that another process has open."""
    reason = "The session is open in another process; close it there first"
    return RequestFailedError(jsonrpc.INVALID_REQUEST, reason, {"sessionId": session_id})


def session_busy() -> RequestFailedError:
    """Return the error for a request that cannot run beside a turn."""
    return RequestFailedError(
        jsonrpc.INVALID_REQUEST, "A turn is running in this session; cancel it first"
    )
