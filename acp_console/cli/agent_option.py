"""The options that choose an agent: AGENT, or its command after `--`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from acp_console.agents.spec import (
    DEMO_AGENT,
    AgentSpec,
    Login,
    UnconfirmedAgentError,
    UnknownAgentError,
    command_agent,
)
from acp_console.cli.command import Command
from acp_console.cli.errors import UsageError, warn
from acp_console.paths import FileWriteError, choices_path, config_path
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.errors import AgentStartError
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.user_files.references import REFERENCE

if TYPE_CHECKING:
    from acp_console.agents.catalogue import CatalogueEntry

SEPARATOR: Final = "--"
_GIVEN: Final = "acp_console.command"
NEWEST: Final = 2
"""The newest protocol version that the client speaks."""


class AgentCommand(Command):
    """A command that takes an agent's or a client's command after `--`.

    click cannot separate it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the words after `--` before click parses the rest."""
        if SEPARATOR in args:
            at = args.index(SEPARATOR)
            ctx.meta[_GIVEN] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the command last."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND…]"]


def given_command(context: click.Context) -> list[str] | None:
    """Return the words after `--`; None if there is no `--`."""
    return context.meta.get(_GIVEN)


Decorated = TypeVar("Decorated", bound=Callable[..., object])


def speech_options(command: Decorated) -> Decorated:
    """Add `--protocol` and `--dialect` to a command."""
    protocol = click.option(
        "--protocol",
        type=click.IntRange(1, NEWEST),
        help="Newest protocol version to ask for; 2 is a draft. Default: 1, or what is configured "
        "for the agent.",
    )
    return protocol(agent_dialect_option(command))


def agent_dialect_option(command: Decorated) -> Decorated:
    """Add `--dialect` to a command that starts an agent."""
    return click.option(
        "--dialect",
        type=click.Choice(SPOKEN),
        help="The agent's dialect; detected by default.",
    )(command)


def mcp_option(command: Decorated) -> Decorated:
    """Give a command the option that names a file of MCP servers; pass it to `with_servers`."""
    return click.option(
        "--mcp",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Give the session these MCP servers, besides those in config.toml: JSON with "
        "mcpServers, or TOML with [mcp.NAME].",
    )(command)


def with_servers(agent: AgentSpec, mcp: Path | None) -> AgentSpec:
    """Return an agent whose sessions also get the MCP servers of a file.

    Raises:
        InvalidFileError: the file is invalid.
    """
    if mcp is None:
        return agent
    # pydantic takes time, and few calls name a file.
    from acp_console.config import load_mcp_servers

    servers = load_mcp_servers(mcp)
    names = {each["name"] for each in servers}
    others = (each for each in agent.mcp_servers if each["name"] not in names)
    return replace(agent, mcp_servers=(*others, *servers))


def auth_option(command: Decorated) -> Decorated:
    """Give a command the option that names a login."""
    return click.option(
        "--auth",
        callback=_login,
        metavar="METHOD[=VALUE]",
        help="Log in with this method of the agent first. VALUE is the token of continuum, or the "
        "data of acpex: a key, or a JSON object; ${NAME} in it is replaced by that variable of "
        "yours.",
    )(command)


def _login(context: click.Context, parameter: click.Parameter, text: str | None) -> Login | None:
    del context, parameter
    return None if text is None else parsed_login(text)


def parsed_login(text: str) -> Login:
    """Return the login that `text` names as METHOD or METHOD=VALUE.

    Raises:
        UsageError: VALUE refers to a variable that is not set.
    """
    method, mark, value = text.partition("=")
    if not mark:
        return Login(method)
    missing = [name for name in REFERENCE.findall(value) if name not in os.environ]
    if missing:
        raise UsageError(f"--auth: the variable {missing[0]} is not set")
    return Login(method, REFERENCE.sub(lambda found: os.environ[found[1]], value))


def record_option(command: Decorated) -> Decorated:
    """Give a command the option that names a new recording."""
    return click.option(
        "--record", callback=_new_file, metavar="FILE", help="Record the traffic to this new file."
    )(command)


def _new_file(context: click.Context, parameter: click.Parameter, name: str | None) -> Path | None:
    """Refuse what cannot be a new file before an agent or a screen starts."""
    del context, parameter
    if name is None:
        return None
    if not name:
        raise UsageError("--record: the name is empty")
    if os.path.lexists(name):
        raise UsageError(f"--record: {name} exists already", "choose another name")
    return Path(name)


def chosen_agent(
    context: click.Context, name: str | None = None, *, is_remembered: bool = False
) -> AgentSpec | None:
    """Return the agent that was named; None when none was.

    `is_remembered` gives it what the user last chose for it.

    Raises:
        UnknownAgentError: no agent has that name.
        UnconfirmedAgentError: the user has not agreed to run its command.
        InvalidFileError: the configuration is invalid.
        UsageError: both a name and a command were given, or nothing follows `--`.
    """
    command = given_command(context)
    if command is None:
        return named_agent(name, is_remembered=is_remembered) if name else None
    if name:
        raise UsageError(f"give either the agent {name!r} or a command after --, not both")
    if not command:
        raise UsageError("missing the agent's command after --", "e.g. -- my-agent --acp")
    return command_agent(command)


def named_agent(name: str, *, is_remembered: bool = False) -> AgentSpec:
    """Return the agent of that name; ask the user before a command of the catalogue first runs.

    Raises:
        UnknownAgentError, UnconfirmedAgentError, InvalidFileError: see `chosen_agent`.
    """
    is_unknown = not any(map(os.path.lexists, (config_path(), choices_path())))
    if name == DEMO_AGENT.name and is_unknown:
        return DEMO_AGENT
    # pydantic takes time, and the demo does not need it.
    from acp_console.agents.catalogue import open_catalogue

    catalogue = open_catalogue()
    try:
        entry = catalogue.find(name)
    except UnknownAgentError as problem:
        hint = f"{problem.hint}; or give a command of your own after --"
        raise UnknownAgentError(problem.summary, hint=hint) from None
    if entry.state == "missing":
        hint = f"install it: {entry.install}" if entry.install else ""
        raise AgentStartError(
            f"{entry.title}: no program {entry.command[0]!r} was found", hint=hint
        )
    if not entry.is_confirmed:
        _confirm(entry)
        try:
            catalogue.confirm(entry)
        except FileWriteError as problem:
            warn(f"you will be asked again: {problem}")
    return catalogue.spec(entry, is_remembered=is_remembered)


def agent_names() -> list[str]:
    """Return the names of all agents; those that come with us if the configuration is invalid."""
    from acp_console.agents.catalogue import bundled_snapshot, open_catalogue
    from acp_protocol.user_files.toml_source import InvalidFileError

    try:
        return [entry.name for entry in open_catalogue().entries]
    except InvalidFileError:
        return [DEMO_AGENT.name, *(each.id for each in bundled_snapshot().agents)]


def complete_agent(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the names of agents that a shell can complete."""
    del context, parameter
    return [name for name in agent_names() if name.startswith(begun)]


def _confirm(entry: CatalogueEntry) -> None:
    """Show the command of an agent and ask whether it may run.

    Raises:
        UnconfirmedAgentError: the user said no, or there is no terminal to ask on.
    """
    line = escape_controls(entry.command_line)
    variables = "".join(f" --env {shlex.quote(f'{key}={entry.env[key]}')}" for key in entry.env)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UnconfirmedAgentError(
            f"{entry.name} would run a command that you have not confirmed yet: {line}",
            hint=f"confirm it on a terminal with acp-console chat {entry.name}, or for good with "
            f"acp-console agents add {entry.name}{variables} -- {shlex.join(entry.command)}",
        )
    downloads = ", which downloads it" if entry.state == "wrapper" else ""
    click.echo(f"{entry.title} is started by this command{downloads}:\n\n  {line}\n", err=True)
    reply: str = click.prompt("Run it? [y/N]", default="", show_default=False, err=True)
    if reply.strip().lower() not in {"y", "yes"}:
        raise UnconfirmedAgentError(f"{entry.name} was not started")


def agent_or_demo(context: click.Context, name: str | None = None) -> AgentSpec:
    """Return the agent that was named, or else the demo agent."""
    return chosen_agent(context, name) or DEMO_AGENT
