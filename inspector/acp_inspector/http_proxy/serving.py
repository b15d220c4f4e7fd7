"""Runs the proxy: its listening socket, TLS, signals, and a bounded end."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import uvicorn

from acp_inspector.http_proxy.application import MAX_BODY_BYTES, HttpProxy
from acp_inspector.http_proxy.connections import Connections
from acp_inspector.http_proxy.headers import HostList, split_host
from acp_inspector.http_proxy.upstream import KEEP_ALIVE, Origin, Upstream
from acp_inspector.proxy.session import ProxyOptions, ProxySession, Remote, open_session, warn
from acp_protocol.errors import AcpError, describe_os_error

END_TIMEOUT_S: Final = 2
"""Seconds that requests have to end when the proxy is to."""
MAX_REQUESTS: Final = 4096
"""Connections and requests at once; others get 503."""
BACKLOG: Final = 256
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ListenError(AcpError):
    """The proxy cannot listen where it should."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Where clients find the proxy."""

    host: str
    port: int
    """0 for any that is free."""
    certificate: Path | None = None
    key: Path | None = None
    hosts: Sequence[str] = field(default=())
    """Further names by which it may be addressed."""

    @classmethod
    def of(cls, address: str) -> Listen:
        """Return the listener at `HOST:PORT` or `[ADDRESS]:PORT`; without a host, at 127.0.0.1.

        Raises:
            ListenError: it is none.
        """
        host, port = split_host(address) if ":" in address else ("", split_host(f":{address}")[1])
        if port is None or not 0 <= port <= 65535:
            hint = "write HOST:PORT, such as 127.0.0.1:8080"
            raise ListenError(f"{address!r} is no address", hint=hint)
        return cls(host.removeprefix("[").removesuffix("]") or "127.0.0.1", port)

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"


def listening_socket(listen: Listen) -> socket.socket:
    """Return the socket of the proxy.

    Raises:
        ListenError: it cannot be opened.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # What is accepted has them too.
            for option in KEEP_ALIVE:
                found.setsockopt(*option)
            found.bind(address)
            found.listen(BACKLOG)
        except OSError:
            found.close()
            raise
    except (OSError, UnicodeError) as problem:
        reason = describe_os_error(problem) if isinstance(problem, OSError) else str(problem)
        raise ListenError(f"cannot listen on {listen.host}:{listen.port}: {reason}") from None
    return found


def _check_certificate(listen: Listen) -> None:
    """Raise `ListenError` if certificate or key cannot be used."""
    if listen.certificate is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(listen.certificate, listen.key)
        except (OSError, ValueError) as problem:
            raise ListenError(f"cannot use {listen.certificate}: {problem}") from None


class _Server(uvicorn.Server):
    """A server whose signals are ours."""

    def capture_signals(self) -> Any:
        return nullcontext()


def run_http_proxy(
    listen: Listen,
    origin: Origin,
    options: ProxyOptions,
    *,
    announce: Callable[[str], None],
    warn: Callable[[str], None] = warn,
) -> int:
    """Run the proxy until a signal ends it; return 128 + n for signal n.

    `announce` is called with its URL once it listens.

    Raises:
        AcpError: the options are wrong, or it cannot listen.
    """
    caught: list[int] = []

    async def run() -> None:
        ending = anyio.Event()

        def end(number: int) -> None:
            caught.append(number)
            ending.set()

        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, end, number)
        await serve(listen, origin, options, announce=announce, ending=ending, warn=warn)

    anyio.run(run)
    return 128 + caught[0] if caught else 0


async def serve(
    listen: Listen,
    origin: Origin,
    options: ProxyOptions,
    *,
    announce: Callable[[str], None],
    ending: anyio.Event,
    warn: Callable[[str], None] = warn,
    max_body: int = MAX_BODY_BYTES,
) -> None:
    """Run the proxy until `ending` is set; see `run_http_proxy`.

    Raises:
        AcpError: the options are wrong, or it cannot listen.
    """
    _check_certificate(listen)
    listener = listening_socket(listen)
    port: int = listener.getsockname()[1]
    url = origin.url + origin.path

    def open_(number: int) -> ProxySession:
        transport = "websocket" if origin.is_socket else "http"
        remote = Remote(transport, origin.host, number)
        return open_session([url], options, warn, remote=remote)

    upstream = Upstream(origin)
    try:
        first = await anyio.to_thread.run_sync(open_, 1)
        async with anyio.create_task_group() as tasks:
            connections = Connections(first, open_, url, tasks, warn)
            hosts = HostList(listen.host, port, listen.hosts)
            proxy = HttpProxy(upstream, connections, hosts, max_body=max_body)
            server = _Server(_config(proxy, listen))
            tasks.start_soon(partial(server.serve, sockets=[listener]))
            host = f"[{listen.host}]" if ":" in listen.host else listen.host
            announce(f"{listen.scheme}://{host}:{port}{origin.path}")
            await ending.wait()
            server.should_exit = True
            connections.close()
    finally:
        listener.close()
        await upstream.close()


def _config(proxy: HttpProxy, listen: Listen) -> uvicorn.Config:
    """Return the settings of the server."""
    is_secure = listen.certificate is not None
    return uvicorn.Config(
        proxy,  # pyright: ignore[reportArgumentType] - an ASGI application
        http="zttp" if is_secure else "h11",
        http2=is_secure,
        ws="websockets-sansio",
        ws_max_size=MAX_BODY_BYTES,
        ws_ping_interval=None,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=MAX_REQUESTS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=END_TIMEOUT_S,
        ssl_certfile=listen.certificate,
        ssl_keyfile=listen.key,
    )
