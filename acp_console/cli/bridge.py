"""`acp-console bridge`: a stdio agent over the network, or a network agent on stdio."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import get_args

import click

from acp_console.cli.agent_option import AgentCommand, given_command
from acp_console.cli.errors import UsageError
from acp_console.cli.server_options import PARAMETERS, SECTION, run_server, server_options
from acp_protocol.framing import Framing
from acp_protocol.host.agent_command import resolved_command
from acp_protocol.transport.server_options import ServerOptions


@click.command(
    name="bridge",
    cls=AgentCommand,
    docs="remote.md",
    sections={SECTION: PARAMETERS},
    # It goes on if the reader of its stderr leaves.
    is_check=True,
)
@server_options
@click.option(
    "--framing",
    type=click.Choice(("auto", *get_args(Framing))),
    default="auto",
    show_default=True,
    help="How the agent of --listen separates messages: by lines, or by Content-Length headers; "
    "auto: lines, until it sends a header; one that understands only headers needs headers.",
)
@click.pass_context
def command(
    context: click.Context, *, server: ServerOptions | None, token_env: str | None, framing: str
) -> int:
    """Put a stdio agent on the network, or a network agent on stdio.

    With --listen, the command after -- is started for each client that connects over HTTP or
    WebSocket, and ends with its connection. Its messages pass as they are; what it writes to
    stderr gets its process id before each line.

    \b
    acp-console bridge --listen 127.0.0.1:8765 -- my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    words = given_command(context)
    if server is None:
        raise UsageError("missing --listen", "e.g. --listen 127.0.0.1:8765 -- my-agent --acp")
    if not words:
        raise UsageError("missing the agent's command after --", "e.g. -- my-agent --acp")
    # It starts processes, and is slow to import.
    from acp_protocol.transport.bridge import process_for_each

    # The agent must not be able to use the server that it is behind.
    environment = {k: v for k, v in os.environ.items() if k != server.token_variable}
    known: dict[str, Framing] = {each: each for each in get_args(Framing)}
    open_agent = process_for_each(
        resolved_command(words, Path.cwd()),
        write=sys.stderr.write,
        env=environment,
        framing=known.get(framing),
    )
    return run_server(server, open_agent)
