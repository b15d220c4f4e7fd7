"""The command `acp-agent`: the agent on this process's stdin and stdout."""

from __future__ import annotations

import argparse
import logging
import math
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio

from acp_agent.models.choice import add_options, chosen
from acp_agent.models.services import SettingsError
from acp_agent.server import SURFACES, AgentServer, Keeping
from acp_agent.sessions.errors import StoreError
from acp_agent.sessions.store import Store
from acp_agent.surface import SESSION_LIMIT
from acp_protocol.connection import Connection
from acp_protocol.dialects.names import BATCHES, SPOKEN
from acp_protocol.tasks import OwnedTasks
from acp_protocol.transport import Transport
from acp_protocol.transport.stdio import open_stdio
from acp_protocol.transport.translated import TranslatedTransport
from acp_protocol.version import SCHEMA_ID, VERSION

logger = logging.getLogger(__name__)

FAREWELL: Final = 5.0
"""Seconds that running turns have to end their programs and to be answered."""
UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds of each unit of time."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Serve one client until it leaves; return the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="acp-agent: %(message)s", stream=sys.stderr)
    # Python leaves out the streams that are closed at its start; their numbers mean other files.
    if None in (sys.stdin, sys.stdout):
        logger.error("stdin and stdout are needed: an ACP client speaks to the agent there")
        return 2
    if sys.stdin.isatty():
        sys.stderr.write(
            "acp-agent is an agent that an ACP client, such as an editor or acp-console, starts "
            "and speaks to on stdin and stdout; Ctrl-D ends it.\n"
        )
    try:
        model = chosen(options, os.environ)
        has_batches = options.dialect == BATCHES
        newest = max(options.protocol, 2) if has_batches else options.protocol
        keeping = Keeping(
            Store(options.sessions),
            options.max_concurrent,
            options.idle_timeout,
            options.unstable,
        )
        server = AgentServer(model=model, pace=options.pace, newest=newest, keeping=keeping)
        anyio.run(_serve, server, options.dialect)
        keeping.store.close()
    except SettingsError as problem:
        logger.error("%s", problem)  # noqa: TRY400 - a sentence for a user, who wants no traceback
        return 2
    except StoreError as problem:
        where = options.sessions or "memory"
        logger.error("--sessions %s: %s", where, problem)  # noqa: TRY400 - as above
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(server: AgentServer, dialect: str | None) -> None:
    is_over = anyio.Event()
    server.connection = Connection(_transport(dialect), server, takes_batches=dialect == BATCHES)
    async with OwnedTasks() as server.tasks, server.connection as connection:
        server.tasks.start_soon(_wait_for_signal, is_over)
        server.tasks.start_soon(_wait_for_end, connection, is_over)
        server.tasks.start_soon(server.close_idle)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acp-agent",
        description="An ACP agent on stdio; its embedded demo model needs no network and no key.",
    )
    version = f"acp-agent {VERSION} (ACP schema {SCHEMA_ID})"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument(
        "--protocol",
        type=int,
        choices=sorted(SURFACES),
        default=1,
        help="newest protocol version to speak; 2 is a draft (default: %(default)s)",
    )
    parser.add_argument(
        "--dialect",
        choices=SPOKEN,
        help="how the client speaks, if not by the published protocol (default: recognised)",
    )
    parser.add_argument(
        "--pace",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="wait between two pieces of streamed text, to look at how they arrive",
    )
    add_options(parser)
    _add_session_options(parser)
    return parser


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sessions")
    group.add_argument(
        "--sessions",
        type=Path,
        metavar="DIR",
        help="keep sessions in this directory; without it they are gone with the process",
    )
    group.add_argument(
        "--max-concurrent",
        type=_count,
        default=SESSION_LIMIT,
        metavar="N",
        help="sessions that may be open at once (default: %(default)s)",
    )
    group.add_argument(
        "--idle-timeout",
        type=_duration,
        metavar="TIME",
        help="close a session in which nothing has happened for so long, as in 90s, 30m, 1h",
    )
    group.add_argument(
        "--unstable",
        action="store_true",
        help="offer what is not stable in the protocol yet: fork, archive, status, titles",
    )


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of sessions")
    return count


def _duration(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if unit.isdecimal():
        number, unit = text, "s"
    seconds = float(number) * UNITS.get(unit, math.nan)
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no length of time")
    return seconds


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return seconds


if __name__ == "__main__":
    sys.exit(run())
