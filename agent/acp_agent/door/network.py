"""Serves clients over HTTP and WebSocket: an agent for each, which share models and sessions."""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from acp_agent.door.flags import load_options
from acp_agent.door.server import AgentServer
from acp_agent.door.serving import CLIENT_DIALECTS, in_dialect, running_agent
from acp_agent.services import AgentServices, build_services
from acp_agent.settings.keys import HttpSettings
from acp_agent.settings.providers import SettingsError
from acp_agent.settings.types import UNIX
from acp_agent.store.database import StoreError
from acp_protocol.errors import AcpError
from acp_protocol.host.process import raise_descriptor_limit
from acp_protocol.host.sanitize import error_text
from acp_protocol.net import is_loopback
from acp_protocol.transport import Transport
from acp_protocol.transport.http_guard import TOKEN_BYTES, Access, configured_token
from acp_protocol.transport.http_runner import Listener, TlsFiles, serve_agents
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.served_connections import Connections, ServerLimits
from acp_protocol.user_files.paths import ConfigPathError

logger = logging.getLogger(__name__)

EXIT_UNUSABLE: Final = 2
WAITING_FRAMES: Final = 16
"""Frames of an agent that may wait for its connection, and back; with none, each takes longer."""


def run_server(options: argparse.Namespace) -> int:
    """Serve clients until a signal ends the process; return the exit code."""
    where = "memory"
    raise_descriptor_limit()
    try:
        loaded = load_options(options)
        settings = loaded.settings(is_networked=True)
        logging.getLogger().setLevel(settings.log.level.upper())
        for note in loaded.notes:
            logger.info("%s", note)
        with open_listener(settings.http) as listener:
            where = str(settings.sessions.storage or where)
            services = build_services(settings, os.environ, stream_delay_s=options.pace)
            anyio.run(serve_network, services, listener)
            services.store.close()
    except StoreError as error:
        return _refuse(f"sessions in {where}: {error}")
    except (AcpError, ConfigPathError, SettingsError) as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return 130
    return 0


def _refuse(text: str) -> int:
    sys.stderr.write(error_text(text))
    return EXIT_UNUSABLE


def open_listener(settings: HttpSettings) -> Listener:
    """Return the socket that the settings name.

    Raises:
        SettingsError: they name none, or one that would carry the token in the open.
        ListenError: it cannot be opened.
    """
    if settings.listen is None:
        raise SettingsError("no address is set: acp-agent serve --http 127.0.0.1:8765")
    tls = None
    if settings.tls_cert is not None and settings.tls_key is not None:
        tls = TlsFiles(settings.tls_cert, settings.tls_key)
    elif settings.tls_cert is not None or settings.tls_key is not None:
        raise SettingsError("a certificate needs its key: set both --tls-cert and --tls-key")
    host = settings.listen.rpartition(":")[0]
    is_local = settings.listen.startswith(UNIX) or is_loopback(host)
    if tls is None and not is_local and not settings.plain:
        raise SettingsError(
            f"{settings.listen} is reached by other machines, and would get the token unencrypted: "
            "set --tls-cert and --tls-key, or --plain where something before it adds TLS"
        )
    return Listener(settings.listen, tls)


async def serve_network(services: AgentServices, listener: Listener) -> None:
    """Serve clients until SIGTERM, SIGHUP or SIGINT, and then until their turns have ended."""
    settings = services.settings.http
    try:
        token = configured_token(settings.token_env, os.environ)
    except ValueError as problem:
        raise SettingsError(str(problem)) from None
    is_new, token = token is None, token or secrets.token_urlsafe(TOKEN_BYTES)
    agents: set[AgentServer] = set()

    @asynccontextmanager
    async def open_agent() -> AsyncGenerator[Transport]:
        dialect = services.settings.protocol.dialect
        ours, theirs = memory_pair(WAITING_FRAMES)
        server = AgentServer(services, CLIENT_DIALECTS)
        async with running_agent(server, in_dialect(theirs, dialect), dialect):
            agents.add(server)
            try:
                yield ours
            finally:
                agents.discard(server)
                await ours.aclose()

    async def drain() -> None:
        for server in list(agents):
            await server.connection.wait_settled()

    stop = anyio.Event()

    async def wait_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP, signal.SIGINT) as signals:
            async for number in signals:
                if stop.is_set():
                    # The second one does not wait for turns.
                    tasks.cancel_scope.cancel()
                logger.info("%s: the server ends", signal.Signals(number).name)
                stop.set()

    limits = ServerLimits(connections=settings.max_connections)
    connections = Connections(open_agent, server_limits=limits)
    hosts = listener.hosts_with(settings.allow_host)
    access = Access(token, hosts, settings.allow_origin, listener.scheme)
    sys.stderr.write(f"acp-agent: serves ACP at {listener.url}{connections.path}\n")
    if is_new:
        sys.stderr.write(f"acp-agent: token {token}\n")
    sys.stderr.flush()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_signal)
        await serve_agents(
            listener, connections, access, stop=stop, drain=drain, drain_s=settings.drain
        )
        tasks.cancel_scope.cancel()
