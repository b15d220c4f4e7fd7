"""The socket of the admin endpoints, and the server on it.

The server writes nothing to stdout, where the client is spoken to, and leaves signals to the agent.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from acp_agent.admin.endpoints import PATH, Endpoints
from acp_agent.admin.guard import Guard
from acp_agent.admin.ticket import random_token, ticket, token_of
from acp_agent.config.values import UNIX
from acp_agent.models.services import SettingsError
from acp_protocol.errors import describe_os_error

logger = logging.getLogger(__name__)

GRACE: Final = 1
"""Seconds that open answers get when the agent ends."""
CONNECTIONS: Final = 16
"""That may be open at once; one more takes the place of an idle one."""
HEAD_SIZE: Final = 16 * 1024
"""Bytes of the head of a request."""
BACKLOG: Final = 16
HEAD_WAIT: Final = 2.0
"""Seconds for the head of the first request: who says nothing takes nobody's place for long."""
KEEP_ALIVE: Final = 1
"""Seconds between two requests of one connection."""


class InUseError(SettingsError):
    """Somebody else listens there, most likely another agent with the same configuration."""


class Listener:
    """An open socket that nobody is answered on yet."""

    def __init__(self, listen: str, environment: Mapping[str, str], token_env: str) -> None:
        """Open it.

        Raises:
            InUseError: somebody else listens there.
            SettingsError: it cannot be opened, or the token is none.
        """
        self._environment = environment
        self._told = token_of(token_env, environment)
        self.token = self._told or random_token()
        self._path: Path | None = None
        try:
            self._socket = self._opened(listen)
            # Who comes before somebody answers waits, and is not refused.
            self._socket.listen(BACKLOG)
        except OSError as problem:
            kind = InUseError if problem.errno == errno.EADDRINUSE else SettingsError
            reason = describe_os_error(problem)
            raise kind(f"admin.listen: {listen} cannot be used: {reason}.") from None

    @property
    def address(self) -> str:
        """Where the endpoints are."""
        if self._path is not None:
            return f"{UNIX}{self._path}"
        host, port, *_ = self._socket.getsockname()
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may say that it was sent to."""
        if self._path is not None:
            return frozenset({"localhost"})
        port: int = self._socket.getsockname()[1]
        names = {"localhost", "127.0.0.1", "[::1]", self.address.split("/")[2].rpartition(":")[0]}
        bare = names if port == 80 else set[str]()
        return frozenset(bare | {f"{name}:{port}" for name in names})

    async def serve(self, endpoints: Endpoints) -> None:
        """Answer requests until cancelled."""
        server = _Server(
            uvicorn.Config(
                Guard(endpoints.app(), self.hosts, self.token),
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level=logging.ERROR,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                # The new one is counted, too.
                limit_concurrency=CONNECTIONS + 1,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=GRACE,
                h11_max_incomplete_event_size=HEAD_SIZE,
            )
        )
        with self._announced():
            try:
                await server.serve([self._socket])
            finally:
                with anyio.move_on_after(2 * GRACE, shield=True):
                    if server.started:
                        await server.shutdown([self._socket])

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    @contextmanager
    def _announced(self) -> Generator[None]:
        """Say where the endpoints are, and where their token is; the log never tells it."""
        if self._told is not None:
            logger.warning("it can be looked at: %s%s/status", self.address, PATH)
            yield
            return
        with ExitStack() as stack:
            try:
                path = stack.enter_context(ticket(self.address, self.token, self._environment))
            except OSError as problem:
                reason = describe_os_error(problem)
                logger.error("nobody can be told the token: %s", reason)  # noqa: TRY400 - no bug
            else:
                where = f"{self.address}{PATH}/status"
                logger.warning("it can be looked at: %s, token in %s", where, path)
            yield

    def _opened(self, listen: str) -> socket.socket:
        if listen.startswith(UNIX):
            self._path = Path(listen.removeprefix(UNIX)).expanduser().absolute()
            return _unix_socket(self._path)
        host, _, port = listen.rpartition(":")
        bare = host.removeprefix("[").removesuffix("]")
        # Of "localhost" only the older protocol: the name may lead to both.
        family = socket.AF_INET6 if ":" in bare else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(("127.0.0.1" if bare == "localhost" else bare, int(port)))
        except BaseException:
            opened.close()
            raise
        return opened


class _Protocol(H11Protocol):
    idle_since = 0.0
    """Since when nothing was asked, on the clock of the event loop."""

    def connection_made(  # pyright: ignore[reportIncompatibleMethodOverride] - as it has itself
        self, transport: asyncio.Transport
    ) -> None:
        """Begin to wait for the head of a request; take the place of whoever says nothing."""
        super().connection_made(transport)
        self.idle_since = self.loop.time()
        if len(self.connections) > CONNECTIONS:
            self._make_room()
        self.loop.call_later(HEAD_WAIT, self._give_up)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self.idle_since = self.loop.time()
        super().on_response_complete()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked and not answered yet."""
        return not self.scope or self.cycle.response_complete

    def _make_room(self) -> None:
        """Close the connection that has been idle the longest; one that had its answer first."""
        others: list[_Protocol] = [each for each in self.connections if isinstance(each, _Protocol)]
        idle = [each for each in others if each is not self and each.is_idle]
        if idle:
            left = min(idle, key=_patience)
            left.transport.close()
            # It is told of its end later, and the new one is to be answered at once.
            self.connections.discard(left)

    def _give_up(self) -> None:
        if not self.scope:
            self.transport.close()


def _patience(connection: _Protocol) -> tuple[bool, float]:
    """Return by what it is decided which connection is closed first."""
    return not connection.scope, connection.idle_since


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the agent."""
        yield


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket that only its user may connect to; one that was left behind makes room."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode has to be right from the first moment on.
    before = os.umask(0o177)
    try:
        if _is_left_behind(path):
            path.unlink()
        opened.bind(str(path))
    except BaseException:
        opened.close()
        raise
    finally:
        os.umask(before)
    return opened


def _is_left_behind(path: Path) -> bool:
    """Return whether `path` is a socket that nobody listens on."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False
