"""A server of agents as a command runs it: its address, who may use it, what it prints, its end."""

from __future__ import annotations

import logging
import secrets
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TypeVar

import anyio
from starlette.routing import BaseRoute

from acp_protocol.net import UNIX, is_loopback
from acp_protocol.transport.http_guard import TOKEN_BYTES, Access, configured_token
from acp_protocol.transport.http_runner import Listener, TlsFiles, serve_agents
from acp_protocol.transport.served_connections import Connections, OpenAgent, new_affinity
from acp_protocol.transport.server_options import ServerOptions, ServerOptionsError

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


def run_served(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run what serves over the network in the event loop that moves the most there.

    That is uvloop's, which is not made for every system, and else Python's own.
    """
    has_uvloop = find_spec("uvloop") is not None
    return anyio.run(work, backend_options={"use_uvloop": has_uvloop})


def open_listener(options: ServerOptions) -> Listener:
    """Return the socket that the options name.

    Raises:
        ServerOptionsError: it would carry the token in the open.
        ListenError: it cannot be opened.
    """
    tls = None
    if options.certificate is not None and options.key is not None:
        tls = TlsFiles(options.certificate, options.key)
    elif options.certificate is not None or options.key is not None:
        raise ServerOptionsError(
            "a certificate needs its key", hint="set both --tls-cert and --tls-key"
        )
    host = options.listen.rpartition(":")[0]
    is_local = options.listen.startswith(UNIX) or is_loopback(host)
    if tls is None and not is_local and not options.is_plain:
        raise ServerOptionsError(
            f"{options.listen} is reached by other machines, and would get the token unencrypted",
            hint="set --tls-cert and --tls-key, or --plain where something before it adds TLS",
        )
    return Listener(options.listen, tls)


async def serve(
    options: ServerOptions,
    listener: Listener,
    open_agent: OpenAgent,
    environment: Mapping[str, str],
    *,
    program: str,
    stop: anyio.Event | None = None,
    drain: Callable[[], Awaitable[None]] | None = None,
    attach: Callable[[Connections], object] | None = None,
    routes: Sequence[BaseRoute] = (),
) -> None:
    """Serve agents until a signal, or until `stop` is set, and then until their turns have ended.

    A second signal ends it at once. The URL and a new token are printed on stderr, as lines of
    `program`. `drain` waits for turns that run, besides for the requests of the connections.
    `attach` gets the connections before there is one. `routes` are served, too.

    Raises:
        ServerOptionsError: the token in the environment cannot be used, or there is none.
    """
    try:
        token = configured_token(options.token_variable, environment)
    except ValueError as problem:
        raise ServerOptionsError(str(problem)) from None
    if token is None and options.needs_token:
        raise ServerOptionsError(f"--token-env: the variable {options.token_variable} is not set")
    is_new, token = token is None, token or secrets.token_urlsafe(TOKEN_BYTES)
    hosts = listener.hosts_with(options.hosts)
    access = Access(token, hosts, options.origins, listener.scheme)
    connections = Connections(
        open_agent,
        server_limits=options.limits,
        affinity=options.affinity or new_affinity(),
        dialect=options.dialect,
    )
    if attach is not None:
        attach(connections)
    stop = anyio.Event() if stop is None else stop
    async with ended_by_signals(stop):
        sys.stderr.write(f"{program}: serves ACP at {listener.url}{connections.path}\n")
        if is_new:
            sys.stderr.write(f"{program}: token {token}\n")
        sys.stderr.flush()
        await serve_agents(
            listener,
            connections,
            access,
            stop=stop,
            drain=drain,
            drain_s=options.drain_s,
            routes=routes,
        )


@asynccontextmanager
async def ended_by_signals(stop: anyio.Event) -> AsyncGenerator[None]:
    """Set `stop` at the first signal that ends programs, and cancel the block at the second."""
    is_ready = anyio.Event()
    async with anyio.create_task_group() as tasks:

        async def wait_signal() -> None:
            ending = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
            with anyio.open_signal_receiver(*ending) as signals:
                is_ready.set()
                async for number in signals:
                    if stop.is_set():
                        tasks.cancel_scope.cancel()
                    logger.info("%s: the server ends", signal.Signals(number).name)
                    stop.set()

        tasks.start_soon(wait_signal)
        # A signal that comes once the URL is printed has to be noticed.
        await is_ready.wait()
        yield
        tasks.cancel_scope.cancel()
