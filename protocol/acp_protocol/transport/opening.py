"""Opens an agent, wherever it is: a command that is started here, or a server at a URL.

All that speaks to an agent as its client opens it here, so that a remote one serves wherever a
local one does.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import anyio

from acp_protocol.errors import AcpError, AgentExitedError
from acp_protocol.framing import Framing
from acp_protocol.host.agent_command import resolved_command
from acp_protocol.host.process import GRACE, ChildProcess, spawn
from acp_protocol.transport.base import ClosableTransport, TapTransport
from acp_protocol.transport.remote import (
    LIMITS,
    SCHEMES,
    Notify,
    RemoteAgent,
    RemoteClosedError,
    RemoteLimits,
    WireObserver,
)
from acp_protocol.transport.stdio import StreamTransport

logger = logging.getLogger(__name__)

EXIT_WAIT_S: Final = 1.0
"""Seconds that an agent whose output has ended has to exit."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A command that starts an agent."""

    command: Sequence[str]
    env: Mapping[str, str] | None = field(default=None, repr=False)
    """All its variables; None: ours."""


AgentAddress: TypeAlias = AgentCommand | RemoteAgent
"""Where an agent is, and so how it is opened."""


def address_of(
    agent: Sequence[str] | RemoteAgent,
    env: Mapping[str, str] | None = None,
    dialect: str | None = None,
) -> AgentAddress:
    """Return where an agent is.

    `env` has all variables of one that is started here; one that is remote may have an HTTP of its
    dialect.
    """
    if isinstance(agent, RemoteAgent):
        return replace(agent, dialect=dialect or agent.dialect)
    return AgentCommand(agent, env)


def named_agent(
    agent: Sequence[str] | str | RemoteAgent, folder: Path, token: str | None = None
) -> Sequence[str] | RemoteAgent:
    """Return the agent that is meant by a URL, or by a command that was written in `folder`.

    Raises:
        RemoteAddressError: the URL cannot be used.
    """
    if isinstance(agent, RemoteAgent):
        return agent
    if isinstance(agent, str) and agent.partition("://")[0].lower() in SCHEMES:
        return RemoteAgent(agent, token=token)
    return tuple(resolved_command(agent, folder))


def name_of(agent: Sequence[str] | RemoteAgent) -> list[str]:
    """Return the command of an agent, or its URL in that place, for recordings."""
    return [agent.shown_url] if isinstance(agent, RemoteAgent) else list(agent)


class AgentObserver(WireObserver, Protocol):
    """What sees an agent's stderr too; a `Journal` is one."""

    def stderr(self, text: bytes) -> object: ...


class RemoteTransport(ClosableTransport, Protocol):
    """Frames to and from another machine."""

    def closed_error(self) -> AcpError:
        """Return why the connection has ended."""
        ...


class OpenedAgent(ABC):
    """An agent that was opened."""

    transport: ClosableTransport
    """Its frames; the observer has seen them."""

    @property
    def framing(self) -> Framing | None:
        """How it separates frames; None while it has not shown it."""
        return "lines"

    @property
    def exit_code(self) -> int | None:
        """The exit code of its process; None while it runs, and if it has none here."""
        return None

    def stderr_tail(self) -> tuple[str, ...]:
        """Return the last lines of its stderr."""
        return ()

    @abstractmethod
    async def ending(self, stray_output: bytes | None = None) -> AcpError:
        """Return why the connection has ended; `stray_output` is what it wrote besides messages."""


class StartedAgent(OpenedAgent):
    """An agent whose process was started here."""

    def __init__(
        self, child: ChildProcess, framing: Framing | None, observer: WireObserver | None
    ) -> None:
        self._child = child
        self._pipes = StreamTransport(child.stdout, child.stdin, framing=framing)
        self.transport: ClosableTransport = self._pipes
        if observer is not None:
            self.transport = TapTransport(self._pipes, "client", observer.wire)

    @property
    def framing(self) -> Framing | None:
        return self._pipes.framing

    @property
    def exit_code(self) -> int | None:
        return self._child.exit_code

    def stderr_tail(self) -> tuple[str, ...]:
        return self._child.stderr_tail()

    async def ending(self, stray_output: bytes | None = None) -> AcpError:
        return await exited(self._child, stray_output)


async def exited(child: ChildProcess, stray_output: bytes | None = None) -> AgentExitedError:
    """Return how a process has ended whose output has."""
    code: int | None = None
    with anyio.move_on_after(EXIT_WAIT_S):
        code = await child.wait()
    return AgentExitedError(code, child.stderr_tail(), stray_output)


class ReachedAgent(OpenedAgent):
    """An agent that runs elsewhere."""

    def __init__(self, transport: RemoteTransport) -> None:
        self.transport: ClosableTransport = transport
        self._remote = transport

    async def ending(self, stray_output: bytes | None = None) -> AcpError:
        reason = self._remote.closed_error()
        # All that wait for it get the same reason, whichever side has closed the connection.
        is_explained = isinstance(reason, RemoteClosedError)
        return reason if is_explained else RemoteClosedError(str(reason))


@asynccontextmanager
async def open_agent(
    address: AgentAddress,
    *,
    cwd: Path | None = None,
    framing: Framing | None = "lines",
    grace: float = GRACE,
    observer: AgentObserver | None = None,
    limits: RemoteLimits = LIMITS,
    notify: Notify | None = None,
) -> AsyncGenerator[OpenedAgent]:
    """Open an agent; end its process, or the connection to it, with the block.

    Args:
        address: where it is.
        cwd: the directory in which its process is started.
        framing: that of its pipes; None: lines until it shows another.
        grace: seconds that its process has to end, see `ChildProcess.stop`.
        observer: gets what both sides send, stderr, and the events around that.
        limits: for a remote agent.
        notify: gets a sentence about each message that did not reach a remote agent.

    Raises:
        AgentStartError: its command could not be started.
        RemoteAddressError, RemoteClosedError: it cannot be reached.
    """
    if isinstance(address, RemoteAgent):
        async with _reach(address, limits, observer, notify) as transport:
            yield ReachedAgent(transport)
        return
    on_stderr = None if observer is None else observer.stderr
    async with spawn(
        address.command,
        cwd=cwd,
        env=address.env,
        on_stderr=on_stderr,
        grace=grace,
        is_peer=True,
    ) as child:
        if observer is not None:
            observer.event("spawn", pid=child.pid)
        try:
            yield StartedAgent(child, framing, observer)
        finally:
            await child.stop(grace)
            code = child.exit_code
            if observer is not None:
                how = {"signal": -code} if code and code < 0 else {"code": code}
                observer.event("exit", **how)


@asynccontextmanager
async def _reach(
    agent: RemoteAgent,
    limits: RemoteLimits,
    observer: AgentObserver | None,
    notify: Notify | None,
) -> AsyncGenerator[RemoteTransport]:
    # The network is rare, and its modules are slow to import.
    if agent.is_websocket:
        from acp_protocol.transport.websocket_client import open_websocket as open_transport
    elif agent.dialect == "openoxide":
        from acp_protocol.transport.openoxide_client import open_openoxide as open_transport
    else:
        from acp_protocol.transport.http_client import open_http as open_transport
    if observer is not None:
        observer.event("connect", url=agent.shown_url)
    notify = logger.warning if notify is None else notify
    async with open_transport(agent, limits=limits, observer=observer, notify=notify) as transport:
        yield transport
