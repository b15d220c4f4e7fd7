"""Starts an agent once, to see what it claims or to log in; no prompt is sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast, get_args

import anyio

from acp_console.agents.session_options import SessionOption, session_options
from acp_console.agents.spec import AgentSpec
from acp_console.chat.connection import AgentConnection, SessionAbility, connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PermissionPrompt
from acp_inspector.journal import Entry, Journal
from acp_inspector.views.session_model import SessionModel
from acp_protocol.errors import AcpError, ConnectionClosedError, OperationTimeoutError
from acp_protocol.jsonrpc import Json

SESSION_TIMEOUT_S: Final = 30.0
"""Seconds that an agent has to open a session."""

COMMANDS_TIMEOUT_S: Final = 2.0
"""Seconds that an agent has to announce its commands, after it opened a session."""


@dataclass(frozen=True, slots=True)
class AgentClaims:
    """What an agent says about itself; its texts are untrusted."""

    title: str
    protocol: int
    info: Mapping[str, Json]
    capabilities: Mapping[str, Json]
    auth_methods: tuple[Json, ...]
    options: tuple[SessionOption, ...]
    """Modes, models and others of a new session."""
    session_error: AcpError | None
    """Why it opened no session."""
    commands: tuple[Json, ...] = ()
    """The commands of a new session, as the agent sent them."""
    sessions: tuple[SessionAbility, ...] = ()
    """What it can do with sessions, besides a new one."""
    servers: tuple[str, ...] = ()
    """Transports of MCP servers that it connects to."""
    dialect: str | None = None
    """The dialect that it speaks; None for the published protocol."""
    start_seconds: float = 0.0
    """Until it had responded to `initialize`."""

    def capability_names(self) -> list[str]:
        """Return the path of each capability, with its value if it is more than "yes"."""
        return list(_paths(self.capabilities, ""))


class _Rejecting:
    async def decide(self, request: PermissionPrompt) -> str | None:
        """Choose nothing, which cancels the request."""
        del request


async def probe_agent(
    spec: AgentSpec,
    cwd: Path,
    *,
    start_timeout: float | None = None,
    session_timeout: float = SESSION_TIMEOUT_S,
    commands_timeout: float = COMMANDS_TIMEOUT_S,
) -> AgentClaims:
    """Start an agent, open a session in `cwd`, end it, and return what it claimed.

    Raises:
        AcpError: it could not be started, or did not answer `initialize` as it has to.
    """
    journal = Journal()
    announced = _AnnouncedCommands(journal)
    begin = anyio.current_time()
    async with open_for_login(spec, cwd, journal, start_timeout=start_timeout) as link:
        start_seconds = anyio.current_time() - begin
        options: list[SessionOption] = []
        commands: tuple[Json, ...] = ()
        failure: AcpError | None = None
        try:
            with anyio.fail_after(session_timeout):
                session = await link.new_session(cwd)
            options = session_options(session)
            commands = await announced.wait(str(session["sessionId"]), commands_timeout)
        except TimeoutError:
            failure = OperationTimeoutError("opening a session", session_timeout)
        except AcpError as problem:
            failure = problem
        return AgentClaims(
            title=link.title,
            protocol=link.version,
            info=link.agent_info,
            capabilities=link.capabilities,
            auth_methods=link.auth_methods,
            options=tuple(options),
            session_error=failure,
            commands=commands,
            sessions=tuple(each for each in get_args(SessionAbility) if link.can(each)),
            servers=tuple(link.server_types()),
            dialect=link.dialect,
            start_seconds=start_seconds,
        )


class _AnnouncedCommands:
    """The commands that an agent announces, in its response or soon after it."""

    def __init__(self, journal: Journal) -> None:
        self._model = SessionModel(has_conversations_only=True)
        self._change = anyio.Event()
        journal.subscribe(self._read)

    async def wait(self, session: str, timeout: float) -> tuple[Json, ...]:
        """Return the commands of a session; none if none come in `timeout` seconds."""
        with anyio.move_on_after(timeout):
            while not self._commands(session):
                change = self._change
                await change.wait()
        return self._commands(session)

    def _read(self, entry: Entry) -> None:
        self._model.read([entry])
        change, self._change = self._change, anyio.Event()
        change.set()

    def _commands(self, session: str) -> tuple[Json, ...]:
        return tuple(self._model.conversations.get(session).info.commands)


@asynccontextmanager
async def open_for_login(
    spec: AgentSpec, cwd: Path, journal: Journal, *, start_timeout: float | None = None
) -> AsyncGenerator[AgentConnection]:
    """Start an agent that may offer logins in a terminal, which the caller runs.

    Raises:
        AcpError: it could not be started, or did not answer `initialize` as it has to.
    """
    handlers = ClientHandlers(
        _Rejecting(), reads=False, writes=False, runs_logins=spec.remote is None
    )
    try:
        async with connect_agent(
            spec, cwd=cwd, journal=journal, handlers=handlers, start_timeout=start_timeout
        ) as link:
            yield link
    except ConnectionClosedError as problem:
        if spec.remote is not None:
            # It says what went wrong, which may be that there was no connection.
            raise AcpError(problem.summary, hint=problem.hint) from None
        raise AcpError(f"the agent closed the connection: {problem}") from None


def _paths(value: Json, path: str) -> list[str]:
    if value is None or value is False:
        return []
    if not isinstance(value, dict) or not value:
        return [path] if value in (True, {}) else [f"{path}={value}"]
    paths: list[str] = []
    for name, each in cast("dict[str, Json]", value).items():
        if name != "_meta":
            paths += _paths(each, f"{path}.{name}" if path else name)
    return paths
