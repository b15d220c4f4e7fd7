"""Serves clients over HTTP and WebSocket: an agent for each, which share models and sessions."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from acp_agent.continuum.admin import admin_routes
from acp_agent.door.server import AgentServer
from acp_agent.door.serving import (
    CLIENT_DIALECTS,
    in_dialect,
    run_with_settings,
    running_agent,
)
from acp_agent.services import AgentServices, build_services
from acp_agent.settings.keys import (
    HTTP_TOKEN_VARIABLE,
    STORAGE_VARIABLE,
    HttpSettings,
    Settings,
)
from acp_agent.settings.providers import SettingsError
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.transport import Transport
from acp_protocol.transport.http_runner import Listener
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.served_connections import Connections, ServerLimits
from acp_protocol.transport.server_options import ServerOptions
from acp_protocol.transport.serving import open_listener, run_served, serve

WAITING_FRAMES: Final = 16
"""Frames of an agent that may wait for its connection, and back; with none, each takes longer."""


def run_server(options: argparse.Namespace) -> int:
    """Serve clients until a signal ends the process; return the exit code."""

    def serve_clients(settings: Settings) -> int:
        server = replace(server_options(settings.http), dialect=settings.protocol.dialect)
        with open_listener(server) as listener:
            environment = _taken_environment(settings)
            services = build_services(settings, environment, stream_delay_s=options.pace)
            run_served(partial(_serve, services, server, listener, environment))
            services.store.close()
        return 0

    return run_with_settings(options, serve_clients, is_networked=True)


def _taken_environment(settings: Settings) -> dict[str, str]:
    """Return the environment, and leave in it what the programs of sessions may have.

    They are for one client, and must neither use the server as any other, nor read its sessions.
    """
    environment = dict(os.environ)
    for name in (settings.http.token_env, STORAGE_VARIABLE):
        os.environ.pop(name, None)
    return environment


async def _serve(
    services: AgentServices,
    options: ServerOptions,
    listener: Listener,
    environment: Mapping[str, str],
) -> None:
    agents = AgentPool(services)
    async with BackgroundTasks() as tasks:
        tasks.start_soon(services.store.share, agents.give_up)
        await serve(
            options,
            listener,
            agents.open,
            environment,
            program="acp-agent",
            drain=agents.wait_settled,
            attach=agents.attach,
            routes=admin_routes(services, agents.running, ["http", "websocket"]),
        )


def server_options(settings: HttpSettings) -> ServerOptions:
    """Return where the settings serve clients, and whom.

    Raises:
        SettingsError: they name no address.
    """
    if settings.listen is None:
        raise SettingsError("no address is set: acp-agent serve --http 127.0.0.1:8765")
    return ServerOptions(
        listen=settings.listen,
        certificate=settings.tls_cert,
        key=settings.tls_key,
        is_plain=settings.plain,
        token_variable=settings.token_env,
        needs_token=settings.token_env != HTTP_TOKEN_VARIABLE,
        hosts=settings.allow_host,
        origins=settings.allow_origin,
        limits=ServerLimits(connections=settings.max_connections),
        affinity=settings.affinity,
        drain_s=settings.drain,
    )


class AgentPool:
    """The agents of all connections, which share models and sessions."""

    def __init__(self, services: AgentServices) -> None:
        self._services = services
        self._agents: dict[AgentServer, Transport] = {}
        """Each with the client's end of it."""
        self._connections: Connections | None = None

    def running(self) -> list[AgentServer]:
        """Return the agents of the open connections."""
        return list(self._agents)

    def attach(self, connections: Connections) -> None:
        """Note the connections that the agents are for."""
        self._connections = connections

    def give_up(self, number: int) -> bool:
        """End the connection that has a session open, if its client is gone.

        Return whether it ends; another client, of this process or another one, wants the session.
        """
        for server, transport in list(self._agents.items()):
            if server.sessions is not None and server.sessions.holds(number):
                assert self._connections is not None
                reason = "its client is gone, and another one has opened its session"
                return self._connections.end_if_unattended(transport, reason)
        return False

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Transport]:
        """Run an agent for one connection."""
        dialect = self._services.settings.protocol.dialect
        ours, theirs = memory_pair(WAITING_FRAMES)
        server = AgentServer(self._services, CLIENT_DIALECTS)
        async with running_agent(server, in_dialect(theirs, dialect), dialect):
            self._agents[server] = ours
            try:
                yield ours
            finally:
                del self._agents[server]
                await ours.aclose()

    async def wait_settled(self) -> None:
        """Return once no agent works on anything; in version 2 turns go on after the response."""
        for server in self.running():
            await server.connection.wait_settled()
