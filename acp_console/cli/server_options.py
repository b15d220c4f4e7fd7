"""Options of the commands that serve an agent over HTTP and WebSocket."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import click

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import note_remote
from acp_console.cli.command import Decorated
from acp_console.cli.errors import UsageError
from acp_console.cli.param_types import DURATION, DURATION_OR_NEVER, Parsed
from acp_protocol.host.process import raise_descriptor_limit
from acp_protocol.net import UNIX, is_host_name, is_origin, is_server_address
from acp_protocol.transport.served_connections import ServerLimits
from acp_protocol.transport.server_options import ServerOptions

if TYPE_CHECKING:
    from acp_protocol.transport.served_connections import OpenAgent


TOKEN_VARIABLE: Final = "ACP_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
SECTION: Final = "Server"
PARAMETERS: Final = (
    *("listen", "token_env", "tls_cert", "tls_key", "plain", "allow_host", "allow_origin"),
    *("max_connections", "idle", "drain"),
)
"""The parameters of the section of the help."""


def _address(text: str) -> str:
    if (text.startswith(UNIX) and text != UNIX) or is_server_address(text):
        return text
    raise ValueError(f"{text!r} is not ADDRESS:PORT, such as 127.0.0.1:8765, or unix:FILE")


def _origin(text: str) -> str:
    if is_origin(text):
        return text
    raise ValueError(f"{text!r} is not an origin such as https://pages.example:8080")


def _host_name(text: str) -> str:
    if is_host_name(text):
        return text
    raise ValueError(f"{text!r} is not a name such as agents.example, in lower case")


_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_OPTIONS: Final = (
    click.option(
        "--listen",
        type=Parsed("address", _address),
        metavar="ADDRESS:PORT",
        help="Serve clients over HTTP and WebSocket at this address, port 0 for any, or at "
        "unix:FILE; the URL is printed on stderr.",
    ),
    click.option(
        "--token-env",
        callback=note_remote,
        metavar="VARIABLE",
        help="Environment variable that holds the token (Authorization: Bearer). With --listen it "
        f"is {TOKEN_VARIABLE} by default, and a new token is printed if that is not set.",
    ),
    click.option("--tls-cert", type=_FILE, help="Certificate of the server with its chain, PEM."),
    click.option("--tls-key", type=_FILE, help="Key of the certificate, PEM."),
    click.option(
        "--plain",
        is_flag=True,
        help="Serve without TLS at an address that other machines reach, as behind a proxy that "
        "adds it.",
    ),
    click.option(
        "--allow-host",
        type=Parsed("name", _host_name),
        multiple=True,
        metavar="NAME",
        help="Name by which clients reach the server, besides those of this machine; several.",
    ),
    click.option(
        "--allow-origin",
        type=Parsed("origin", _origin),
        multiple=True,
        metavar="ORIGIN",
        help="Pages of browsers that may use the server; several.",
    ),
    click.option(
        "--max-connections",
        type=click.IntRange(1),
        default=16,
        show_default=True,
        help="Clients that may be connected at once; others get the status 503.",
    ),
    click.option(
        "--idle",
        type=DURATION_OR_NEVER,
        default="1h",
        show_default=True,
        metavar="DURATION",
        help="End a connection that carries no message for this time and has no open request, or "
        "never.",
    ),
    click.option(
        "--drain",
        type=DURATION,
        default="30s",
        show_default=True,
        metavar="DURATION",
        help="How long open requests may go on after a signal; a second one ends them.",
    ),
)


def server_options(command: Decorated) -> Decorated:
    """Add the options of a server to a command; it gets `server`, None without `--listen`."""

    @wraps(command)
    def with_server(*args: Any, **parameters: Any) -> object:
        given = {name: parameters.pop(name) for name in PARAMETERS}
        server = None if given["listen"] is None else _options(**given)
        return command(*args, server=server, **parameters)

    for option in reversed(_OPTIONS):
        with_server = option(with_server)
    return cast("Decorated", with_server)


def _options(
    *,
    listen: str,
    token_env: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    plain: bool,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    max_connections: int,
    idle: float,
    drain: float,
) -> ServerOptions:
    return ServerOptions(
        listen=listen,
        certificate=tls_cert,
        key=tls_key,
        is_plain=plain,
        token_variable=token_env or TOKEN_VARIABLE,
        needs_token=token_env is not None,
        hosts=allow_host,
        origins=allow_origin,
        limits=ServerLimits(connections=max_connections, silence_s=idle),
        drain_s=drain,
    )


def refuse_unused(context: click.Context, names: Collection[str], why: str) -> None:
    """Refuse options that were given but have no effect: with another one, or without it.

    Raises:
        UsageError: one was.
    """
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is _GIVEN
        if param.name in names and is_given:
            raise UsageError(f"{param.opts[-1]} has no effect {why}")


_GIVEN: Final = click.core.ParameterSource.COMMANDLINE


def run_server(
    server: ServerOptions, open_agent: OpenAgent, *, stop: anyio.Event | None = None
) -> int:
    """Serve agents until a signal, or until `stop` is set; return the exit code."""
    # Servers are rare, and slow to import.
    from acp_protocol.transport.serving import open_listener, run_served, serve

    raise_descriptor_limit()
    with open_listener(server) as listener:

        async def run() -> None:
            await serve(server, listener, open_agent, os.environ, program="acp-console", stop=stop)

        run_served(run)
    return exit_codes.DONE
