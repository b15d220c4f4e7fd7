"""Serves one client on stdin and stdout."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio

from acp_agent.continuum.dialect import ContinuumDialect
from acp_agent.door.flags import load_options
from acp_agent.door.server import AgentServer
from acp_agent.openoxide import OpenOxideDialect
from acp_agent.services import build_services
from acp_agent.settings.keys import Settings
from acp_agent.settings.providers import SettingsError
from acp_agent.store.errors import StoreError
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.endpoint import ProtocolViolation
from acp_protocol.errors import AcpError, FrameTooLongError
from acp_protocol.framing import Framing
from acp_protocol.host.process import raise_descriptor_limit
from acp_protocol.host.sanitize import error_text
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.stdio import open_stdio
from acp_protocol.user_files.paths import ConfigPathError

logger = logging.getLogger(__name__)

EXIT_UNUSABLE: Final = 2
CLOSE_TIMEOUT_S: Final = 5.0
"""How long running turns may take to end their programs and to be answered."""
CLIENT_DIALECTS: Final = (ContinuumDialect(), OpenOxideDialect())
AdminServer: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Serves the status endpoints until it is cancelled."""


def run_agent(options: argparse.Namespace) -> int:
    """Serve the client until it closes stdin; return the exit code."""

    def serve(settings: Settings) -> int:
        services = build_services(settings, os.environ, stream_delay_s=options.pace)
        server = AgentServer(services, CLIENT_DIALECTS)
        with _admin(server, settings) as admin:
            refusal = anyio.run(_serve, server, settings.protocol.dialect, admin)
        services.store.close()
        if refusal is not None:
            logger.error("the client was refused: %s", refusal)
            return 1
        return 0

    return run_with_settings(options, serve)


def run_with_settings(
    options: argparse.Namespace, serve: Callable[[Settings], int], *, is_networked: bool = False
) -> int:
    """Call `serve` with the settings; return the exit code, and say on stderr why it cannot."""
    where = "memory"
    raise_descriptor_limit()
    try:
        loaded = load_options(options)
        settings = loaded.settings(is_networked=is_networked)
        logging.getLogger().setLevel(settings.log.level.upper())
        for note in loaded.notes:
            logger.info("%s", note)
        where = str(settings.sessions.storage or where)
        return serve(settings)
    except StoreError as error:
        return _refuse(f"sessions in {where}: {error}")
    except (AcpError, ConfigPathError, SettingsError) as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return 130


def _refuse(text: str) -> int:
    sys.stderr.write(error_text(text))
    return EXIT_UNUSABLE


@contextmanager
def _admin(server: AgentServer, settings: Settings) -> Generator[AdminServer | None]:
    """Open the socket of the status endpoints, if there are any; yield what serves them."""
    listen = settings.admin.listen
    if listen is None:
        yield None
        return
    # An HTTP server takes longer to import than the rest of the agent takes to start.
    from acp_agent.continuum.admin import AddressInUseError, AdminSocket, serve_admin

    try:
        opened = AdminSocket(listen, os.environ, settings.admin.token_env)
    except AddressInUseError as error:
        # Two windows of an editor start two agents; the second one must serve its client.
        logger.error("%s It serves no status endpoints.", error)  # noqa: TRY400 - as above
        yield None
        return
    with opened:
        yield partial(serve_admin, opened, server)


async def _serve(
    server: AgentServer, dialect: str | None, admin: AdminServer | None
) -> FrameTooLongError | None:
    """Serve the client until it leaves; return why it was refused, if it was."""
    is_over = anyio.Event()

    async def wait_for_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            async for _ in signals:
                is_over.set()

    async def wait_for_end() -> None:
        await connection.wait_closed()
        is_over.set()

    transport = in_dialect(open_stdio(framing=framing_of(dialect)), dialect)
    async with running_agent(server, transport, dialect) as connection:
        server.tasks.start_soon(wait_for_signal)
        server.tasks.start_soon(wait_for_end)
        if admin is not None:
            server.tasks.start_soon(admin)
        await is_over.wait()
    return connection.frame_error


@asynccontextmanager
async def running_agent(
    server: AgentServer, transport: Transport, dialect: str | None
) -> AsyncGenerator[Connection]:
    """Run an agent on a transport; turns that run at the end are cancelled, and end by themselves.

    `dialect` is the one that clients have to speak, if they do.
    """
    if isinstance(transport, DialectTransport):
        server.spoken_dialect = lambda: transport.dialect
    server.connection = Connection(transport, server, allow_batches=dialect == BATCHES)
    server.connection.on_violation = _batch_reporter(dialect)
    try:
        async with BackgroundTasks() as server.tasks, server.connection as connection:
            server.tasks.start_soon(server.suspend_idle)
            try:
                yield connection
            finally:
                # Also when cancelled: turns have programs and sessions of their own to close.
                with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
                    server.cancel_all()
                    await connection.wait_settled()
    finally:
        # Another connection can open them now.
        await server.release_sessions()


def _batch_reporter(dialect: str | None) -> Callable[[ProtocolViolation], None]:
    """Return a function that logs, once, that the client sends arrays which are refused."""
    has = "version 1 does not have" if dialect == BATCHES else "ACP does not have"
    hint = "" if dialect == BATCHES else "; --dialect v2-batch takes them"
    reported: list[bool] = []

    def report(violation: ProtocolViolation) -> None:
        if violation.is_batch and not reported:
            reported.append(True)
            logger.warning("the client sends arrays of messages, which %s%s", has, hint)

    return report


def framing_of(dialect: str | None) -> Framing | None:
    """Return the framing of a dialect's frames in a stream; None: detect the client's."""
    if dialect is None:
        return None
    # Dialects are rare, and what they import takes time.
    from acp_protocol.dialects.registry import open_dialect

    return "lines" if dialect == BATCHES else open_dialect(dialect, str(Path.cwd())).framing


def in_dialect(transport: Transport, dialect: str | None) -> Transport:
    """Return a transport whose frames are in a dialect; None: detect the client's."""
    if dialect == BATCHES:
        return transport
    if dialect is None:
        return DialectTransport(transport, "agent")
    from acp_protocol.dialects.registry import open_dialect

    return DialectTransport(transport, "agent", open_dialect(dialect, str(Path.cwd())))
