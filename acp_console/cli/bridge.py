"""`acp-console bridge`: a stdio agent over the network, or a network agent on stdio."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import CommandWithPeer, given_command, given_remote, url_options
from acp_console.cli.errors import UsageError, warn
from acp_console.cli.run_async import run_until_signal
from acp_console.cli.server_options import (
    PARAMETERS,
    SECTION,
    refuse_unused,
    run_server,
    server_options,
)
from acp_protocol.dialects.registry import SPOKEN, open_translator
from acp_protocol.framing import Framing
from acp_protocol.host.agent_command import resolved_command
from acp_protocol.host.start_error import check_program
from acp_protocol.transport.bridge import pass_messages, process_for_each
from acp_protocol.transport.opening import open_agent
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.transport.server_options import ServerOptions
from acp_protocol.transport.stdio import open_stdio

_ONLY_WITH_LISTEN: Final = frozenset({*PARAMETERS, "framing"} - {"listen", "token_env"})


@click.command(
    name="bridge",
    cls=CommandWithPeer,
    topic="remote",
    sections={SECTION: PARAMETERS},
    # It goes on if the reader of its stderr leaves.
    is_check=True,
)
@url_options
@server_options
@click.option(
    "--framing",
    type=click.Choice(("auto", *get_args(Framing))),
    default="auto",
    show_default=True,
    help="How the agent of --listen separates messages: by lines, or by Content-Length headers; "
    "auto: lines, until it sends a header; one that understands only headers needs headers.",
)
@click.option(
    "--dialect",
    type=click.Choice(SPOKEN),
    help="Dialect of both sides, which is not translated; openoxide has an HTTP of its own, and "
    "Content-Length headers on stdio.",
)
@click.pass_context
def command(
    context: click.Context, *, server: ServerOptions | None, framing: str, dialect: str | None
) -> int:
    """Put a stdio agent on the network, or a network agent on stdio.

    With --listen, the command after -- is started for each client that connects over HTTP or
    WebSocket, and ends with its connection. Its messages pass as they are; what it writes to
    stderr gets its process id before each line.

    With --url, the agent at that URL is on stdin and stdout, for an editor that can only start
    a command. It ends when stdin ends, or with exit code 3 when the connection does.

    \b
    acp-console bridge --listen 127.0.0.1:8765 -- my-agent --acp
    acp-console bridge --url https://agents.example/acp --token-env MY_TOKEN
    """  # noqa: D301 - the mark by which click keeps lines apart
    words = given_command(context)
    if server is not None:
        refuse_unused(context, ("url", "headers"), "with --listen")
        known = _FRAMINGS.get(framing)
        if known is None and (spoken := open_translator(dialect)) is not None:
            known = spoken.framing
        return _serve(words, replace(server, dialect=dialect), known)
    remote = given_remote(context)
    if remote is None:
        hint = "--listen serves a stdio agent, --url puts a network agent on stdio"
        raise UsageError("missing --listen or --url", hint)
    if words is not None:
        raise UsageError("with --url there is no command to start; leave out what follows --")
    refuse_unused(context, _ONLY_WITH_LISTEN, "without --listen")
    return _reach(replace(remote.open(), dialect=dialect))


_FRAMINGS: Final[dict[str, Framing]] = {each: each for each in get_args(Framing)}


def _serve(words: Sequence[str] | None, server: ServerOptions, framing: Framing | None) -> int:
    if not words:
        raise UsageError("missing the agent's command after --", "e.g. -- my-agent --acp")
    # The agent must not be able to use the server that it is behind.
    environment = {k: v for k, v in os.environ.items() if k != server.token_variable}
    agent = resolved_command(words, Path.cwd())
    # Else the first client would get the error, and not the user.
    check_program(agent[0])
    open_process = process_for_each(
        agent,
        write=sys.stderr.write,
        env=environment,
        framing=framing,
    )
    return run_server(server, open_process)


def _reach(agent: RemoteAgent) -> int:
    async def pass_all() -> int:
        client = open_stdio(framing=None)
        async with open_agent(agent, notify=warn) as opened:
            await pass_messages(client, opened.transport)
        return exit_codes.DONE

    return run_until_signal(pass_all)
