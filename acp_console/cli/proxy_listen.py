"""`acp-console proxy --listen`: the proxy over HTTP and WebSocket."""

from __future__ import annotations

import argparse

import anyio

from acp_inspector.http_proxy.serving import serve
from acp_inspector.proxy.session import ProxyOptions, warn
from acp_protocol.errors import AcpError
from acp_protocol.host.process import raise_descriptor_limit
from acp_protocol.net import UNIX, is_host_name, is_server_address
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.transport.server_options import ServerOptions, ServerOptionsError
from acp_protocol.transport.serving import ended_by_signals, open_listener, run_served


def listen(options: argparse.Namespace, proxy_options: ProxyOptions) -> AcpError | None:
    """Run the proxy until a signal ends it; return why it could not be started."""
    raise_descriptor_limit()
    try:
        agent = RemoteAgent(options.to)
        server = _server_options(options)
        with open_listener(server) as listener:

            async def run() -> AcpError | None:
                ending = anyio.Event()
                async with ended_by_signals(ending):
                    try:
                        await serve(
                            listener,
                            agent,
                            proxy_options,
                            announce=lambda url: warn(f"{url} passes to {agent.shown_url}"),
                            ending=ending,
                            hosts=server.hosts,
                        )
                    except AcpError as problem:
                        return problem
                return None

            return run_served(run)
    except AcpError as problem:
        return problem


def _server_options(options: argparse.Namespace) -> ServerOptions:
    """Return where the proxy listens.

    Raises:
        ServerOptionsError: an option is invalid.
    """
    address: str = options.listen
    if not (address.startswith(UNIX) or is_server_address(address)):
        hint = "write ADDRESS:PORT, such as 127.0.0.1:8765, or unix:FILE"
        raise ServerOptionsError(f"{address!r} is not an address to listen on", hint=hint)
    hosts: list[str] = options.allow_host
    for name in hosts:
        if not is_host_name(name):
            hint = "write a name such as agents.example, in lower case"
            raise ServerOptionsError(f"{name!r} is not a host name", hint=hint)
    return ServerOptions(
        listen=address,
        certificate=options.tls_cert,
        key=options.tls_key,
        is_plain=options.plain,
        token_variable="",
        hosts=tuple(hosts),
    )
