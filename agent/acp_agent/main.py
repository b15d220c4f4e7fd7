"""The command `acp-agent`: the agent on this process's stdin and stdout."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Sequence
from typing import Final

import anyio

from acp_agent.server import AgentServer
from acp_protocol.connection import Connection
from acp_protocol.transport.stdio import open_stdio
from acp_protocol.version import SCHEMA_ID, VERSION

FAREWELL: Final = 2.0
"""Seconds that running turns have to be answered once the client has left."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Serve one client until it leaves; return the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="acp-agent: %(message)s", stream=sys.stderr)
    if sys.stdin.isatty():
        sys.stderr.write(
            "acp-agent speaks the Agent Client Protocol on stdin and stdout; an editor or "
            "acp-console starts it. Type JSON-RPC, or leave with Ctrl-D.\n"
        )
    try:
        anyio.run(_serve, options.pace)
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(pace: float) -> None:
    server = AgentServer(pace=pace)
    server.connection = Connection(open_stdio(), server)
    async with server.connection as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_on_sigterm, tasks.cancel_scope)
        await connection.wait_closed()
        server.cancel_all()
        with anyio.move_on_after(FAREWELL):
            await connection.wait_settled()
        tasks.cancel_scope.cancel()


async def _leave_on_sigterm(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acp-agent",
        description="An ACP agent on stdio with an embedded demo model: no network, no key.",
    )
    version = f"acp-agent {VERSION} (ACP schema {SCHEMA_ID})"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument(
        "--pace",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait between two pieces of streamed text, to look at how they arrive",
    )
    return parser


if __name__ == "__main__":
    sys.exit(run())
