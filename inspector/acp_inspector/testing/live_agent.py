"""An agent that a test starts and talks to, without a screen and without a user.

It reads and writes files in its working directory through us, and gets the permissions that the
test decides. Everything that both sides send is in a journal.

Source: ACP, Initialization; Session Setup; Prompt Turn.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from acp_inspector.journal import DIALECT, Journal
from acp_protocol.client_duties import (
    find_option,
    permission_options,
    permission_result,
    read_file,
    write_file,
)
from acp_protocol.concurrency import InterruptibleWaits
from acp_protocol.connection import Connection
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.dialects.spellings import BATCHES, SENDS_BATCHES
from acp_protocol.endpoint import ProtocolViolation
from acp_protocol.errors import (
    AcpError,
    ConnectionClosedError,
    LocalProtocolError,
    OperationTimeoutError,
    RemoteProtocolError,
    RequestFailedError,
)
from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.json_values import as_list, as_object, get, get_string, get_text
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Json,
    Notification,
    Request,
)
from acp_protocol.schema.vocabulary import CALL_UPDATES
from acp_protocol.tool_calls import merge
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.opening import OpenedAgent, address_of, open_agent
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.turns import TurnTracker
from acp_protocol.version import VERSION

BATCHES_HINT: Final = "the dialect v2-batch has them"
REQUEST_TIMEOUT: Final = 30.0
"""Seconds that an agent has for a response, a whole turn included."""
CAPABILITIES: Final[dict[str, Json]] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": False,
}

Permission: TypeAlias = Literal["allow", "reject", "cancel"] | Callable[[dict[str, Any]], str]
"""What permission requests get: the option that allows or rejects once, or else always; the outcome
`cancelled`; or the option whose id or kind a function returns for the params."""
AgentHandler: TypeAlias = Callable[[dict[str, Any]], Json]
"""Returns the result for the params of a request of the agent."""

__tracebackhide__ = True
"""Keeps our lines out of the tracebacks of pytest."""
_Result = TypeVar("_Result")


@dataclass(slots=True, repr=False)
class PromptTurn:
    """What an agent did in response to one prompt."""

    session_id: str
    version: int = 1
    """The protocol version of its updates."""
    updates: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The `update` of each `session/update`, in order."""
    permissions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The params of each permission request, with the `outcome` that it got."""
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    """The result of `session/prompt`; in version 2 the state update that ended the turn."""

    def __repr__(self) -> str:
        calls = {name: call.get("status") for name, call in self.tool_calls.items()}
        shown = [f"stop_reason={self.stop_reason!r}", f"tool_calls={reprlib.repr(calls)}"]
        return f"PromptTurn({', '.join(shown)}, text={reprlib.repr(self.text)})"

    @property
    def stop_reason(self) -> str:
        return str(self.result.get("stopReason"))

    @property
    def text(self) -> str:
        """The agent's message, its chunks joined."""
        return self._joined("agent_message")

    @property
    def thoughts(self) -> str:
        return self._joined("agent_thought")

    @property
    def tool_calls(self) -> dict[str, dict[str, Any]]:
        """The last state of each tool call, by its id."""
        calls: dict[str, dict[str, Any]] = {}
        for update in self.updates:
            kind, call_id = update.get("sessionUpdate"), str(update.get("toolCallId"))
            if kind in CALL_UPDATES:
                call = calls[call_id] = merge(calls.get(call_id, {}), update, self.version)
                call.pop("sessionUpdate", None)
        return calls

    def _joined(self, kind: str) -> str:
        texts: dict[Any, str] = {}
        for update in self.updates:
            message_id, content = update.get("messageId"), update.get("content")
            if update.get("sessionUpdate") == f"{kind}_chunk":
                texts[message_id] = texts.get(message_id, "") + get_string(content, "text")
            elif update.get("sessionUpdate") == kind and content is not None:
                # In version 2 the whole message.
                texts[message_id] = "".join(get_string(x, "text") for x in as_list(content))
        return "".join(texts.values())


class LiveAgent:
    """A running agent that has responded to `initialize`; `start_agent` starts one."""

    def __init__(
        self, connection: Connection, opened: OpenedAgent, handler: _TestClient, timeout: float
    ) -> None:
        self._connection = connection
        self._opened = opened
        self._handler = handler
        self.timeout = timeout
        """Seconds for each request."""
        self.cwd = handler.cwd
        """The working directory of its sessions, in which it may read and write."""
        self.version = 1
        """The protocol version that the agent chose."""
        self.initialized: Mapping[str, Any] = {}
        """The result of `initialize`: `agentInfo`, `agentCapabilities`, `authMethods`."""
        self.session_id: str | None = None
        """The session that was opened last."""
        self._waits = InterruptibleWaits()
        connection.on_violation = self._note_violation

    async def initialize(self, protocol: int = 1, **params: Any) -> dict[str, Any]:
        """Return the result of `initialize`; `params` are added to the usual ones.

        `protocol` is the newest version that the agent may choose.
        """
        info: Json = {"name": "acp-console-test", "version": VERSION}
        usual = {"clientCapabilities": CAPABILITIES, "clientInfo": info}
        # Which version the agent reads is not known yet.
        newer: dict[str, Json] = {"info": info, "capabilities": {}} if protocol > 1 else {}
        sent = {"protocolVersion": protocol, **usual, **newer, **params}
        result = as_object(await self.request("initialize", sent))
        version = result.get("protocolVersion")
        if type(version) is not int or version not in range(1, protocol + 1):
            known = "1" if protocol == 1 else f"1 to {protocol}"
            raise RemoteProtocolError(f"the agent chose protocol version {version!r}, not {known}")
        self.version, self.initialized = version, result
        return result

    async def new_session(self, **params: Any) -> str:
        """Open a session in `cwd` and return its id; `params` are added to the usual ones."""
        usual: dict[str, Json] = {"cwd": str(self.cwd)}
        if self.version == 1:
            usual["mcpServers"] = []
        session_id = get_text(await self.request("session/new", {**usual, **params}), "sessionId")
        if session_id is None:
            raise RemoteProtocolError("the agent's response to session/new has no sessionId")
        self.session_id = session_id
        return session_id

    async def prompt(
        self,
        prompt: str | Sequence[Json],
        *,
        session_id: str | None = None,
        permission: Permission = "allow",
        timeout: float | None = None,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> PromptTurn:
        """Send a text or content blocks, and return the turn once it has ended.

        The first prompt opens a session if there is none.
        """
        session_id = session_id or self.session_id or await self.new_session()
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
        # The newest turn is the last one.
        self._handler.turns.pop(session_id, None)
        turn = self._handler.turns[session_id] = PromptTurn(session_id, self.version)
        self._handler.permissions[session_id] = permission
        self._handler.tracker.begin(session_id)
        task_status.started()
        params: Json = {"sessionId": session_id, "prompt": blocks}
        limit = self.timeout if timeout is None else timeout
        try:
            with anyio.fail_after(limit):
                result = as_object(await self.request("session/prompt", params, timeout=limit))
                if self.version > 1:
                    end = self._handler.tracker.wait_for_end(session_id, result, self._connection)
                    result = dict(await self._watched(end))
        except TimeoutError:
            raise self._with_stderr(OperationTimeoutError("the end of the turn", limit)) from None
        turn.result = result
        self._handler.grew.set()
        return turn

    async def wait_for_update(
        self, kind: str = "", *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Return the first update of the last prompt's turn of that `sessionUpdate`, or any.

        Raises:
            OperationTimeoutError: there was none in time.
            RemoteProtocolError: the turn has ended without one.
        """
        limit = self.timeout if timeout is None else timeout
        with anyio.move_on_after(limit):
            while True:
                turn = next(reversed(self._handler.turns.values()), PromptTurn(""))
                for update in turn.updates:
                    if kind in ("", update.get("sessionUpdate")):
                        return update
                if turn.result:
                    raise RemoteProtocolError(f"the turn has ended without an update {kind}")
                self._handler.grew = anyio.Event()
                await self._handler.grew.wait()
        raise OperationTimeoutError(f"the update {kind}".rstrip(), limit)

    async def cancel(self, session_id: str | None = None) -> None:
        """Cancel the running turn of a session; its prompt still returns."""
        session_id = session_id or self.session_id
        if session_id is None:
            raise LocalProtocolError("there is no session to cancel")
        self._handler.permissions[session_id] = "cancel"
        await self.notify("session/cancel", {"sessionId": session_id})

    async def request(self, method: str, params: Json, *, timeout: float | None = None) -> Json:
        """Return the result of any request.

        Raises:
            RequestFailedError: the agent responded with an error.
            OperationTimeoutError: it did not respond in time.
            AgentExitedError: it ended instead of responding.
        """
        limit = self.timeout if timeout is None else timeout
        return await self._watched(self._connection.request(method, params, timeout=limit))

    async def notify(self, method: str, params: Json) -> None:
        await self._watched(self._connection.notify(method, params))

    def handle(self, method: str, handler: AgentHandler) -> None:
        """Let `handler` respond to a request of the agent, such as `terminal/create`."""
        self._handler.handlers[method] = handler

    async def _watched(self, action: Awaitable[_Result]) -> _Result:
        try:
            return await self._waits.wait(action)
        except ConnectionClosedError:
            error = await self._opened.ending()
        except (OperationTimeoutError, RemoteProtocolError) as problem:
            error = problem
        raise self._with_stderr(error)

    def _note_violation(self, violation: ProtocolViolation) -> None:
        if violation.is_batch:
            # It may hold what is awaited.
            self._waits.interrupt(
                RemoteProtocolError(f"the agent {SENDS_BATCHES}", hint=BATCHES_HINT)
            )

    def _with_stderr(self, error: AcpError) -> AcpError:
        for line in self._opened.stderr_tail():
            error.add_note(f"stderr: {line}")
        return error


class _TestClient:
    """Handles what the agent asks of its client."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.turns: dict[str, PromptTurn] = {}
        """The last turn of each session."""
        self.permissions: dict[str, Permission] = {}
        self.handlers: dict[str, AgentHandler] = {
            "fs/read_text_file": partial(read_file, SandboxedFiles([cwd])),
            "fs/write_text_file": partial(write_file, SandboxedFiles([cwd])),
            "session/request_permission": self._permit,
        }
        self.tracker = TurnTracker()
        self.grew = anyio.Event()
        """Set on the next update."""

    async def handle_request(self, request: Request) -> Json:
        handler = self.handlers.get(request.method)
        if handler is None:
            raise RequestFailedError(METHOD_NOT_FOUND, f"the test does not handle {request.method}")
        return await anyio.to_thread.run_sync(handler, as_object(request.params))

    async def handle_notification(self, notification: Notification) -> None:
        self.observe_notification(notification)

    def observe_notification(self, notification: Notification) -> None:
        session_id = get_string(notification.params, "sessionId")
        turn = self.turns.get(session_id)
        if turn is not None and notification.method == "session/update":
            update = as_object(get(notification.params, "update"))
            turn.updates.append(update)
            self.tracker.observe(session_id, update)
            self.grew.set()

    def _permit(self, params: dict[str, Any]) -> Json:
        session_id = str(params.get("sessionId"))
        result = _decide(self.permissions.get(session_id, "cancel"), params)
        if (turn := self.turns.get(session_id)) is not None:
            turn.permissions.append({**params, **result})
        return result


def _decide(permission: Permission, params: dict[str, Any]) -> dict[str, Json]:
    """Return the result of a permission request."""
    if permission == "cancel":
        return permission_result(None)
    options = permission_options(params)
    if not callable(permission):
        choice, option = permission, find_option(options, permission)
    elif (choice := permission(params)) == "cancel":
        return permission_result(None)
    else:
        option = next((each for each in options if choice in {each.id, each.kind}), None)
    if option is None:
        raise RequestFailedError(INVALID_PARAMS, f"there is no option {choice!r}")
    return permission_result(option.id)


@asynccontextmanager
async def start_agent(
    agent: Sequence[str] | RemoteAgent,
    *,
    cwd: Path,
    journal: Journal | None = None,
    timeout: float = REQUEST_TIMEOUT,
    env: Mapping[str, str] | None = None,
    protocol: int = 1,
    dialect: str | None = None,
    **params: Any,
) -> AsyncGenerator[LiveAgent]:
    """Open an agent in `cwd` and initialize it; end it with the block.

    Args:
        agent: its command with the arguments, or where it is.
        cwd: its working directory, and that of its sessions.
        journal: gets what both sides send, and the agent's stderr.
        timeout: seconds for each request.
        env: variables that are added to ours.
        protocol: the newest version that the agent may choose.
        dialect: the one that it speaks; by default it is recognised by what the agent sends. The
            journal gets the frames of the dialect, everything else the official ones.
        params: added to those of `initialize`.

    Raises:
        AgentStartError: the command could not be started.
        AgentExitedError, OperationTimeoutError, RemoteProtocolError: it did not initialize.
        RemoteAddressError, RemoteClosedError: it cannot be reached.
    """
    journal = Journal() if journal is None else journal
    whole = {**os.environ, **(env or {})}

    def report(name: str) -> None:
        journal.event(DIALECT, dialect=name)

    has_batches = dialect == BATCHES
    translator = None if dialect is None or has_batches else open_dialect(dialect, str(cwd))
    framing = "lines" if has_batches else translator and translator.framing
    async with open_agent(
        address_of(agent, whole, dialect), cwd=cwd, framing=framing, observer=journal
    ) as opened:
        if dialect is not None:
            report(dialect)
        transport: Transport = opened.transport
        if not has_batches:
            transport = DialectTransport(transport, "client", translator, report)
        handler = _TestClient(cwd)
        handler.tracker.names_messages = not has_batches
        async with Connection(transport, handler, allow_batches=has_batches) as connection:
            live = LiveAgent(connection, opened, handler, timeout)
            await live.initialize(2 if has_batches else protocol, **params)
            yield live
