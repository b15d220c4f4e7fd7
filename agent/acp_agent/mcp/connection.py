"""The connection to one server, from its start to its end.

One task holds it all: what the SDK opens must be closed where it was opened. Tools are called from
other tasks, and the callers get an error as soon as the connection is gone.

A server is not trusted with secrets: a form that asks the user for some is declined, and so is a
page, since it may ask for them too.

Source: MCP, Elicitation; ACP, Elicitation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskStatus
from mcp.client import Client, IncomingMessage, Transport
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    DiscoverResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    RootsListChangedNotification,
    ToolListChangedNotification,
)
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from acp_agent.mcp.acp_transport import AcpTransports
from acp_agent.mcp.declarations import AcpServer, Limits, Server, StdioServer, WebServer
from acp_agent.mcp.messages import reason_of
from acp_agent.mcp.process import open_process
from acp_agent.mcp.tools import Listing, ToolFilter, describe_left_out, list_tools, outcome_of
from acp_agent.mcp.web import web_transport
from acp_agent.tools.ask import check_form, check_url
from acp_agent.tools.call import Outcome, Tool, ToolFailedError
from acp_agent.world.elicitation import ServerElicitation
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import as_texts, get_object
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

logger = logging.getLogger(__name__)

CLOSING: Final = 2.0
"""Seconds for taking leave of a server; a program gets its own time to end besides."""
LOG_WIDTH: Final = 500
_ABOUT_US: Final = Implementation(name="acp-agent", version=VERSION)


def roots_of(directories: Sequence[Path]) -> ListRootsResult:
    """Return absolute `directories` as the answer to `roots/list`, each once."""
    addresses = dict.fromkeys(directory.as_uri() for directory in directories)
    return ListRootsResult(roots=[Root(uri=FileUrl(address)) for address in addresses])


class McpConnection:
    """One server of a session.

    `relay` is how it asks the user, `directories` returns where the session works now, the first
    one being where it started, and `acp_transports` is how servers of the client are reached.
    """

    def __init__(
        self,
        server: Server,
        limits: Limits,
        relay: ServerElicitation,
        directories: Callable[[], Sequence[Path]],
        acp_transports: Callable[[], AcpTransports],
    ) -> None:
        self.id = server.id
        self._server = server
        self._limits = limits
        self._relay = relay
        self._directories = directories
        self._acp_transports = acp_transports
        self._client: Client | None = None
        self._tool_filter = ToolFilter()
        self._listing = Listing({})
        self._scope = anyio.CancelScope()
        self._is_stale = anyio.Event()
        self._is_leaving = anyio.Event()
        self.has_opened = anyio.Event()
        """Set once the server can be used, or cannot be."""
        self.has_ended = anyio.Event()
        """Set when nothing of the server is left."""
        self.failure: str | None = None
        """Why the server cannot be used; None while it can."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools as they were listed last, those of a server that has ended too."""
        return self._listing.tools

    @property
    def left_out(self) -> tuple[str, str] | None:
        """A title and a sentence that name the unusable tools; None if there are none."""
        count = self._listing.left_out_count
        if not count:
            return None
        title = f"The MCP server {self.id} has tools that are left out: {count}"
        return title, f"{describe_left_out(self._listing.left_out)}."

    async def run(self) -> None:
        """Start the server and serve calls, until `leave` or the server's end."""
        try:
            with self._scope:
                await self._talk()
        except Exception as problem:  # noqa: BLE001 - a server is a plug-in: it cannot end the agent
            self.give_up(reason_of(problem))
        finally:
            self._client = None
            self.failure = self.failure or "is closed"
            self.has_opened.set()
            self.has_ended.set()

    def leave(self) -> None:
        """End the connection; `has_ended` is set when it has ended."""
        self._is_leaving.set()
        grace = CLOSING if self._client is not None else 0.0
        self._scope.deadline = min(self._scope.deadline, anyio.current_time() + grace)

    def give_up(self, reason: str) -> None:
        """Note why the server cannot be used, if it is not known yet; end what is left of it."""
        if self._is_leaving.is_set() or self.failure is not None:
            return
        self.failure = reason
        logger.warning("MCP server %s %s", self.id, reason)
        self.leave()
        self.has_opened.set()

    async def call(self, name: str, arguments: dict[str, Json]) -> Outcome:
        """Call the tool that the server knows as `name`.

        Raises:
            ToolFailedError: the server is gone, takes too long, or answers rubbish.
        """
        client, limit = self._client, self._limits.call_timeout
        if client is None:
            raise ToolFailedError(f"the MCP server {self.id} {self.failure}")
        result = None
        try:
            with anyio.move_on_after(limit):
                result = await client.call_tool(name, arguments)
        except Exception as problem:  # noqa: BLE001 - as in run; the model hears of it
            is_closed = isinstance(problem, MCPError) and problem.code == CONNECTION_CLOSED
            # Over streamable HTTP each call has a connection of its own.
            is_http = isinstance(self._server, WebServer) and not self._server.is_sse
            if is_closed and not is_http:
                self.give_up("has closed the connection")
            reason = self.failure or reason_of(problem)
            raise ToolFailedError(f"the MCP server {self.id} {reason}") from None
        if result is None:
            raise ToolFailedError(f"the MCP server {self.id} took longer than {limit:g} s")
        return outcome_of(result, self._limits)

    async def _talk(self) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(await self._opened(stack))
            self._tool_filter.version = client.protocol_version
            async with BackgroundTasks() as tasks:
                if await self._announces_changes(client):
                    # Before the first listing, so that no change falls between the two.
                    await tasks.start(self._subscribe, client)
                await self._list(client)
                self._client = client
                self.has_opened.set()
                tasks.start_soon(self._keep_up, client)
                await self._is_leaving.wait()
            self._client = None

    async def _opened(self, stack: AsyncExitStack) -> Client:
        transport: Transport
        mode = "auto"
        match self._server:
            case StdioServer():
                transport = open_process(
                    self._server, self._directories()[0], self._limits, self.give_up
                )
            case WebServer():
                transport = await web_transport(self._server, self._limits, stack, self.give_up)
                # The older transport is older than the probe for newer servers.
                mode = "legacy" if self._server.is_sse else mode
            case AcpServer():
                transport = self._acp_transports().open(self._server.server_id)
                mode = LATEST_MODERN_VERSION
        return Client(
            self._tool_filter.around(transport),
            client_info=_ABOUT_US,
            mode=mode,
            cache=None,
            message_handler=self._handle_message,
            logging_callback=self._log,
            elicitation_callback=self._ask if self._relay.modes else None,
            list_roots_callback=self._roots,
        )

    async def _list(self, client: Client) -> None:
        self._listing = await list_tools(
            client, self._tool_filter, self.id, self._limits, self.call
        )

    async def _keep_up(self, client: Client) -> None:
        """List anew whenever the list has changed; changes that come meanwhile count once."""
        while True:
            await self._is_stale.wait()
            self._is_stale = anyio.Event()
            try:
                with anyio.fail_after(self._limits.spawn_timeout):
                    await self._list(client)
            except Exception as problem:  # noqa: BLE001 - as in run; the tools stay as they were
                reason = reason_of(problem, self._limits.spawn_timeout)
                logger.warning("MCP server %s: listing anew: it %s", self.id, reason)

    async def _announces_changes(self, client: Client) -> bool:
        """Return whether the server has to be asked for changes, and would tell."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return False
        able = client.server_capabilities
        if isinstance(self._server, AcpServer):
            # No request was sent yet; a server that might not respond is still used.
            with anyio.move_on_after(self._limits.spawn_timeout / 4):
                try:
                    discovered = await client.session.send_discover(LATEST_MODERN_VERSION)
                    able = DiscoverResult.model_validate(discovered).capabilities
                except (MCPError, ValidationError):
                    return False
        return able.tools is not None and bool(able.tools.list_changed)

    async def _subscribe(
        self, client: Client, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Subscribe to changes of a server that notifies subscribers only."""
        has_started = False
        try:
            async with client.listen(tools_list_changed=True) as events:
                task_status.started()
                has_started = True
                async for _ in events:
                    self._is_stale.set()
        except Exception as problem:  # noqa: BLE001 - as in run; what was listed stays
            logger.debug("MCP server %s: no more changes: %s", self.id, reason_of(problem))
            if not has_started:
                task_status.started()

    async def _handle_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._is_stale.set()

    async def _ask(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        return await answered(self.id, params, self._relay)

    async def _roots(self, context: ClientRequestContext) -> ListRootsResult:
        return roots_of(self._directories())

    async def notify_roots_changed(self) -> None:
        """Tell the server that the session works in other directories; newer ones just ask."""
        client = self._client
        if client is None or client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        try:
            with anyio.move_on_after(self._limits.spawn_timeout):
                await client.session.send_notification(RootsListChangedNotification())
        except Exception as problem:  # noqa: BLE001 - as in run; the server can still ask
            logger.debug("MCP server %s: no roots: %s", self.id, reason_of(problem))

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else repr(params.data)
        logger.info("MCP server %s, %s: %s", self.id, params.level, single_line(text, LOG_WIDTH))


WIDTH: Final = 2000
"""Characters of what a server says to the user."""


async def answered(
    server: str, params: ElicitRequestParams, relay: ServerElicitation
) -> ElicitResult:
    """Ask the user what `server` wants to know; return the answer as the server reads it."""
    message = f"{server}: {escape_controls(params.message)[:WIDTH]}"
    try:
        if isinstance(params, ElicitRequestFormParams):
            schema = params.requested_schema
            check_form(params.message, *get_object(schema, "properties"))
            reply = await relay.form(message, schema)
        else:
            check_url(params.url)
            reply = await relay.page(message, params.url)
    except ToolFailedError:
        return ElicitResult(action="decline")
    if reply.action != "accept":
        return ElicitResult(action="decline" if reply.action == "decline" else "cancel")
    content: dict[str, str | int | float | bool | list[str] | None] = {
        name: as_texts(value) if isinstance(value, list) else value
        for name, value in reply.content.items()
        if isinstance(value, str | int | float | bool | list)
    }
    return ElicitResult(action="accept", content=content)
