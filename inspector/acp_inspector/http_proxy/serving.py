"""Runs the proxy over the network, until it is to end."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import anyio

from acp_inspector.http_proxy.application import HttpProxy
from acp_inspector.http_proxy.connections import ProxyConnections
from acp_inspector.http_proxy.context import LARGE_WAIT_S, MAX_BODY_BYTES, ProxyContext
from acp_inspector.http_proxy.upstream import Upstream
from acp_inspector.proxy.session import ProxyOptions, ProxySession, Remote, open_session, warn
from acp_protocol.net import UNIX
from acp_protocol.transport.http_protocols import SocketLimits
from acp_protocol.transport.http_runner import Listener, run_app
from acp_protocol.transport.remote import RemoteAgent

_TCP: Final = frozenset({socket.AF_INET, socket.AF_INET6})
LIMITS: Final = SocketLimits(ping_s=0)
"""What clients may take. Pings would end a client that a debugger has stopped."""


async def serve(
    listener: Listener,
    agent: RemoteAgent,
    options: ProxyOptions,
    *,
    announce: Callable[[str], None],
    ending: anyio.Event,
    hosts: tuple[str, ...] = (),
    warn: Callable[[str], None] = warn,
    max_body: int = MAX_BODY_BYTES,
    large_wait_s: float = LARGE_WAIT_S,
) -> None:
    """Run the proxy until `ending` is set.

    Args:
        listener: Where clients come.
        agent: The server that everything is passed to.
        options: Those of any proxy.
        announce: Called with the URL of the proxy once clients may come.
        ending: Ends it.
        hosts: Names by which clients may address it, besides those of this machine.
        warn: Warns the user.
        max_body: Bytes of a body that is recorded and intercepted.
        large_wait_s: Seconds that a large body waits for others.

    Raises:
        AcpError: the options are wrong.
    """

    def open_(number: int) -> ProxySession:
        transport = "websocket" if agent.is_websocket else "http"
        remote = Remote(transport, upstream.host_name, number)
        return open_session([agent.shown_url], options, warn, remote=remote)

    upstream = Upstream(agent)
    if (
        user_timeout := getattr(socket, "TCP_USER_TIMEOUT", None)
    ) and listener.socket.family in _TCP:
        # A client that takes nothing, because a debugger has stopped it, keeps its connection.
        listener.socket.setsockopt(socket.IPPROTO_TCP, user_timeout, 0)
    try:
        first = await anyio.to_thread.run_sync(open_, 1)
        async with anyio.create_task_group() as tasks:
            connections = ProxyConnections(first, open_, agent.shown_url, tasks, warn)
            names = listener.hosts_with(hosts)
            context = ProxyContext(upstream, connections, names, max_body, large_wait_s)
            app = HttpProxy(context, warn)
            stop = anyio.Event()

            async def run() -> None:
                await run_app(
                    app, listener, stop=stop, max_message=max_body, limits=LIMITS, has_date=False
                )

            tasks.start_soon(run)
            is_file = listener.url.startswith(UNIX)
            announce(listener.url if is_file else listener.url + upstream.path)
            await ending.wait()
            connections.close()
            stop.set()
    finally:
        await upstream.close()
