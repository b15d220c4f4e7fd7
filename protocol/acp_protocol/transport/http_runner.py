"""Runs ASGI applications on sockets of this machine, by uvicorn: TCP, TLS, or a Unix socket.

Over TLS, HTTP/2 is offered by ALPN; WebSockets are HTTP/1.1.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from acp_protocol.dialects.openoxide import Openoxide
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.net import HALF_OPEN_S, UNIX, keep_alive_options
from acp_protocol.transport.http_guard import HEALTH_PATH, Access, guarded, refuse
from acp_protocol.transport.http_metrics import MEDIA_TYPE, metrics_text
from acp_protocol.transport.http_protocols import LimitedConfig, SocketLimits
from acp_protocol.transport.http_server import HttpEndpoint
from acp_protocol.transport.openoxide_server import OpenoxideEndpoint
from acp_protocol.transport.served_connections import Connections

BACKLOG: Final = 128
CLOSE_TIMEOUT_S: Final = 6.0
"""Seconds for closing connections whose turns are cancelled."""


class ListenError(AcpError):
    """A socket cannot be opened."""

    def __init__(self, message: str, *, is_in_use: bool = False) -> None:
        super().__init__(message)
        self.is_in_use = is_in_use


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The certificate of a server, with its chain, and its key."""

    certificate: Path
    key: Path


class Listener:
    """A listening socket; connections wait until `serve` takes them."""

    def __init__(self, address: str, tls: TlsFiles | None = None) -> None:
        """Open the socket of `HOST:PORT` or `unix:FILE`.

        Raises:
            ListenError: it cannot be opened.
        """
        self.tls = None if tls is None else _tls_context(tls)
        self._path: Path | None = None
        try:
            if address.startswith(UNIX):
                self._path = Path(address.removeprefix(UNIX)).expanduser().absolute()
                self.socket = _unix_socket(self._path)
            else:
                self.socket = _tcp_socket(address)
        except OSError as error:
            reason = describe_os_error(error)
            is_in_use = error.errno == errno.EADDRINUSE
            raise ListenError(f"{address} cannot be used: {reason}", is_in_use=is_in_use) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"

    @property
    def url(self) -> str:
        """The URL of the server, or the path of the socket."""
        if self._path is not None:
            return f"{UNIX}{self._path}"
        host, port, *_ = self.socket.getsockname()
        return (
            f"{self.scheme}://[{host}]:{port}" if ":" in host else f"{self.scheme}://{host}:{port}"
        )

    @property
    def hosts(self) -> frozenset[str]:
        """The `Host` headers of requests from this machine."""
        return self.hosts_with(())

    def hosts_with(self, names: Iterable[str]) -> frozenset[str]:
        """Return the `Host` headers of requests from this machine, and those that name others.

        A name without a port means that of the socket, and the one that URLs leave out: a server
        may be reached through another one.
        """
        if self._path is not None:
            return frozenset({"localhost", *names})
        address, port, *_ = self.socket.getsockname()
        own = {"localhost", "127.0.0.1", "[::1]", f"[{address}]" if ":" in address else address}
        hosts = {f"{name}:{port}" for name in (*own, *names)} | set(names)
        is_default = port == (80 if self.tls is None else 443)
        return frozenset(hosts | own if is_default else hosts)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the caller."""
        yield


async def run_app(
    app: ASGIApp,
    listener: Listener,
    *,
    stop: anyio.Event,
    max_message: int | None = None,
    limits: SocketLimits | None = None,
    has_date: bool = True,
) -> None:
    """Serve `app` until `stop` is set, and end; at the latest when cancelled.

    `max_message` is the bytes of one WebSocket message, at most. `has_date`: whether responses get
    a `Date`.
    """
    limits = limits or SocketLimits()
    config = LimitedConfig(app, limits, listener.tls, max_message, has_date=has_date)
    server = _Server(config)

    async with anyio.create_task_group() as tasks:

        async def wait_stop() -> None:
            await stop.wait()
            server.should_exit = True

        tasks.start_soon(wait_stop)
        try:
            await server.serve([listener.socket])
        finally:
            _abort(server)
        tasks.cancel_scope.cancel()


def _abort(server: uvicorn.Server) -> None:
    """End what a server has left, as it does when it is cancelled."""
    for each in getattr(server, "servers", ()):
        each.close()
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    for task in list(server.server_state.tasks):
        task.cancel()


def endpoint_app(
    connections: Connections, access: Access, more: Sequence[BaseRoute] = ()
) -> ASGIApp:
    """Return the application of an agent: its endpoint, what operators ask for, and `more`."""
    has_own = connections.dialect == Openoxide.name
    endpoint = OpenoxideEndpoint(connections) if has_own else HttpEndpoint(connections)
    requests: Counter[int] = Counter()

    async def healthz(_: Request) -> Response:
        is_ending = connections.is_ending
        return PlainTextResponse("ending\n" if is_ending else "ok\n", 503 if is_ending else 200)

    async def metrics(_: Request) -> Response:
        return Response(metrics_text(connections, requests), media_type=MEDIA_TYPE)

    routes = [
        Route(connections.path, endpoint),
        WebSocketRoute(connections.path, endpoint),
        Route(HEALTH_PATH, healthz),
        Route("/metrics", metrics),
        *more,
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    app.router.default = _not_found
    return guarded(app, access, requests)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    del receive
    await refuse(scope, send, 404, "Nothing is at this path.")


async def serve_agents(
    listener: Listener,
    connections: Connections,
    access: Access,
    *,
    stop: anyio.Event,
    drain: Callable[[], Awaitable[None]] | None = None,
    drain_s: float = 30.0,
    limits: SocketLimits | None = None,
    routes: Sequence[BaseRoute] = (),
) -> None:
    """Serve connections until `stop` is set; then those that are open may finish their work.

    `drain` waits for that, besides for the requests of the connections; it takes `drain_s` at most.
    `routes` are served, too.
    """
    app = endpoint_app(connections, access, routes)
    end = anyio.Event()

    async def wait_stop() -> None:
        await stop.wait()
        connections.is_ending = True
        with anyio.move_on_after(drain_s):
            await connections.wait_settled()
            if drain is not None:
                await drain()
                await connections.wait_settled()
        connections.end_all()
        with anyio.move_on_after(CLOSE_TIMEOUT_S):
            await connections.wait_closed()
        end.set()

    max_message = connections.limits.body
    async with connections.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(wait_stop)
        await run_app(app, listener, stop=end, max_message=max_message, limits=limits)
        tasks.cancel_scope.cancel()


def _tls_context(files: TlsFiles) -> ssl.SSLContext:
    """Return the settings of TLS.

    Raises:
        ListenError: a file cannot be read, or they do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        context.load_cert_chain(files.certificate, files.key)
    except ssl.SSLError as error:
        reason = f"{files.certificate} and {files.key} are no certificate and its key"
        raise ListenError(f"{reason}: {error.reason or 'unknown format'}") from None
    except OSError as error:
        reason = describe_os_error(error)
        raise ListenError(f"{files.certificate} or {files.key} cannot be read: {reason}") from None
    return context


def _tcp_socket(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # "localhost" is IPv4 here, although the name may mean both.
    return _listening(family, ("127.0.0.1" if bare == "localhost" else bare, int(port)))


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket for this user alone; a socket that no process listens on is replaced."""
    if path.is_socket() and not path.is_symlink():
        with socket.socket(socket.AF_UNIX) as probe, suppress(BlockingIOError):
            probe.setblocking(False)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
    # The mode must be right from the first moment.
    before = os.umask(0o177)
    try:
        return _listening(socket.AF_UNIX, str(path))
    finally:
        os.umask(before)


def _listening(family: socket.AddressFamily, address: tuple[str, int] | str) -> socket.socket:
    # asyncio sends small pieces at once (TCP_NODELAY) only on sockets that are known to be of TCP.
    protocol = 0 if family == socket.AF_UNIX else socket.IPPROTO_TCP
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        if family != socket.AF_UNIX:
            _find_half_open(listener)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _find_half_open(listener: socket.socket) -> None:
    """Make the system close connections whose other end has gone, or takes nothing any more.

    Accepted sockets have the options of the one that listens.
    """
    for option in keep_alive_options():
        listener.setsockopt(*option)
    # Not every system has it.
    if (number := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
        listener.setsockopt(socket.IPPROTO_TCP, number, HALF_OPEN_S * 1000)
