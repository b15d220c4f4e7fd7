"""The command `acp-agent`: the agent on this process's stdin and stdout."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, Final, TypeAlias

import anyio

from acp_agent.config.assembly import conduct_of, keeping_of, mcp_of, models_of
from acp_agent.config.configuration import Configuration, configuration_of
from acp_agent.config.place import PREFIX, PlaceError, config_file
from acp_agent.flags import given, new_parser
from acp_agent.models.services import SettingsError
from acp_agent.server import AgentServer, Keeping
from acp_agent.sessions.errors import StoreError
from acp_protocol.connection import Connection
from acp_protocol.dialects.names import BATCHES
from acp_protocol.errors import AcpError
from acp_protocol.tasks import OwnedTasks
from acp_protocol.transport import Transport
from acp_protocol.transport.stdio import open_stdio
from acp_protocol.transport.translated import TranslatedTransport

logger = logging.getLogger(__name__)

FAREWELL: Final = 5.0
"""Seconds that running turns have to end their programs and to be answered."""
Watching: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Answers whoever looks at the agent, until cancelled."""
COMMANDS: Final = frozenset({"agent-json", "config"})
"""First words that mean something else than to serve."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Serve one client until it leaves; return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] and arguments[0] in COMMANDS:
        from acp_agent.config.command import run_command

        return run_command(arguments)
    options = new_parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="acp-agent: %(message)s", stream=sys.stderr)
    # Python leaves out the streams that are closed at its start; their numbers mean other files.
    if None in (sys.stdin, sys.stdout):
        logger.error("stdin and stdout are needed: an ACP client speaks to the agent there")
        return 2
    if (code := _errand(options)) is not None:
        return code
    if sys.stdin.isatty():
        sys.stderr.write(
            "acp-agent is an agent that an ACP client, such as an editor or acp-console, starts "
            "and speaks to on stdin and stdout; Ctrl-D ends it.\n"
        )
    where = "memory"
    try:
        configuration, notes = _configuration(options)
        logging.getLogger().setLevel(configuration.log.level.upper())
        for note in notes:
            logger.info("%s", note)
        where = str(configuration.sessions.storage or where)
        keeping = keeping_of(configuration)
        server = _server(configuration, keeping, options.pace)
        with _watching(server, configuration) as watching:
            anyio.run(_serve, server, configuration.protocol.dialect, watching)
        keeping.store.close()
    except StoreError as problem:
        logger.error("sessions in %s: %s", where, problem)  # noqa: TRY400 - no traceback for a user
        return 2
    except (AcpError, PlaceError, SettingsError) as problem:
        for line in str(problem).splitlines():
            logger.error("%s", line)  # noqa: TRY400 - as above
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _errand(options: argparse.Namespace) -> int | None:
    """Do what is wanted instead of serving; return the exit code, None where nothing is.

    A scenario is played or checked, or a key is asked for.
    """
    if options.login is not None:
        from acp_agent.login import log_in

        return log_in(options.login, os.environ)
    if options.script is not None:
        from acp_agent.scenario.command import run_script

        return run_script(options)
    if options.seed is not None or options.check:
        logger.error("--seed and --check are about a scenario, which --script names")
        return 2
    return None


def _configuration(options: argparse.Namespace) -> tuple[Configuration, Sequence[str]]:
    """Return what is configured, and what means nothing in it.

    Where nothing is but flags, nothing is imported for it.
    """
    flags = given(options)
    if options.no_config:
        return configuration_of(flags), ()
    path = config_file(options.config, os.environ)
    if path is None and not any(name.startswith(PREFIX) for name in os.environ):
        return configuration_of(flags), ()
    from acp_agent.config.layers import read_layers

    layers = read_layers(path, os.environ, flags)
    return layers.configuration(), layers.notes


def _server(configuration: Configuration, keeping: Keeping, pace: float) -> AgentServer:
    protocol = configuration.protocol
    model, *others = models_of(configuration, os.environ)
    return AgentServer(
        model=model,
        others=others,
        pace=pace,
        newest=max(protocol.version, 2) if protocol.dialect == BATCHES else protocol.version,
        keeping=keeping,
        mcp=mcp_of(configuration.mcp, os.environ),
        conduct=conduct_of(configuration),
        auth=configuration.auth.mode,
        namespace=configuration.agent.namespace,
        title=configuration.agent.name,
    )


@contextmanager
def _watching(server: AgentServer, configuration: Configuration) -> Generator[Watching | None]:
    """Open what the agent can be looked at through, if that is wanted; yield who answers there."""
    admin = configuration.admin
    if admin.listen is None:
        yield None
        return
    # A server of HTTP takes longer to import than the rest of the agent takes to start.
    from acp_agent.admin.endpoints import Endpoints
    from acp_agent.admin.listener import InUseError, Listener

    try:
        listener = Listener(admin.listen, os.environ, admin.token_env)
    except InUseError as problem:
        # Two windows of an editor start two agents; the second one is still to serve.
        logger.error("%s It serves without being looked at.", problem)  # noqa: TRY400 - as above
        yield None
        return
    with closing(listener):
        yield partial(listener.serve, Endpoints(server, configuration))


async def _serve(server: AgentServer, dialect: str | None, watching: Watching | None) -> None:
    is_over = anyio.Event()
    server.connection = Connection(_transport(dialect), server, takes_batches=dialect == BATCHES)
    async with OwnedTasks() as server.tasks, server.connection as connection:
        server.tasks.start_soon(_wait_for_signal, is_over)
        server.tasks.start_soon(_wait_for_end, connection, is_over)
        server.tasks.start_soon(server.rest_idle)
        if watching is not None:
            server.tasks.start_soon(watching)
        await is_over.wait()
        server.cancel_all()
        with anyio.move_on_after(FAREWELL):
            await connection.wait_settled()


def _transport(dialect: str | None) -> Transport:
    """Return our stdin and stdout in a dialect; None: the one that the client is heard in."""
    if dialect == BATCHES:
        return open_stdio()
    if dialect is None:
        return TranslatedTransport(open_stdio(framing=None), "agent")
    # Dialects are rare, and what they bring along takes time at every start.
    from acp_protocol.dialects.catalogue import open_dialect

    spoken = open_dialect(dialect)
    return TranslatedTransport(open_stdio(framing=spoken.framing), "agent", spoken)


async def _wait_for_end(connection: Connection, is_over: anyio.Event) -> None:
    await connection.wait_closed()
    is_over.set()


async def _wait_for_signal(is_over: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
        async for _ in signals:
            is_over.set()


if __name__ == "__main__":
    sys.exit(run())
