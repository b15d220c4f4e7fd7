"""The options that choose an agent: AGENT, or its command after `--`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from acp_console.agents.spec import (
    DEMO_AGENT,
    AgentSpec,
    Login,
    UnconfirmedAgentError,
    UnknownAgentError,
    command_agent,
    remote_agent,
)
from acp_console.cli.command import CliCommand, Decorated
from acp_console.cli.errors import UsageError, warn
from acp_console.paths import FileWriteError, choices_path, config_path
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.errors import AgentStartError
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.user_files.references import REFERENCE

if TYPE_CHECKING:
    from acp_console.agents.catalogue import CatalogueEntry

SEPARATOR: Final = "--"
_GIVEN: Final = "acp_console.command"
_REMOTE: Final = "acp_console.remote"
NEWEST: Final = 2
"""The newest protocol version that the client speaks."""


class CommandWithPeer(CliCommand):
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


def speech_options(command: Decorated) -> Decorated:
    """Add `--protocol` and `--dialect` to a command."""
    protocol = click.option(
        "--protocol",
        type=click.IntRange(1, NEWEST),
        help="Newest protocol version to ask for; 2 is a draft. Default: 1, or what is configured "
        "for the agent.",
    )
    return protocol(agent_dialect_option(command))


def remote_options(command: Decorated) -> Decorated:
    """Let a command take an agent at a URL in place of AGENT; see `chosen_agent`."""
    return url_options(
        click.option(
            "--token-env",
            callback=note_remote,
            expose_value=False,
            metavar="VARIABLE",
            help="With --url: the environment variable with the token (Authorization: Bearer).",
        )(command)
    )


def url_options(command: Decorated) -> Decorated:
    """Add `--url` and `--header` to a command that has a `--token-env`; see `given_remote`."""
    url = click.option(
        "--url",
        callback=note_remote,
        expose_value=False,
        metavar="URL",
        help="Use the agent that serves ACP at this URL: https://…, http://…, wss://… or ws://….",
    )
    header = click.option(
        "--header",
        "headers",
        multiple=True,
        callback=note_remote,
        expose_value=False,
        metavar="NAME:VALUE",
        help="With --url: send this header with each request; ${VARIABLE} in VALUE is replaced, "
        "so that no secret is in the command line.",
    )
    return url(header(command))


def note_remote(context: click.Context, parameter: click.Parameter, value: object) -> object:
    context.meta[f"{_REMOTE}.{parameter.name}"] = value
    return value


def given_remote(context: click.Context) -> GivenRemote | None:
    """Return what the options of `remote_options` say; None without `--url`.

    Raises:
        UsageError: an option cannot be used.
    """
    url, headers, token_env = (
        context.meta.get(f"{_REMOTE}.{name}") for name in ("url", "headers", "token_env")
    )
    if url is None:
        for option, value in (("--header", headers), ("--token-env", token_env)):
            if value:
                raise UsageError(f"{option} has no effect without --url")
        return None
    return GivenRemote(url, dict(map(_header, headers or ())), token_env)


@dataclass(frozen=True, slots=True)
class GivenRemote:
    """A remote agent as the user has written it, without the values of variables."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    token_env: str | None = None

    def open(self) -> RemoteAgent:
        """Return where it is, with the values of variables.

        Raises:
            UsageError: a variable is not set.
            RemoteAddressError: the URL or a header cannot be used.
        """
        headers = {name: expanded(f"--header {name}", each) for name, each in self.headers.items()}
        token = None
        if self.token_env is not None:
            token = os.environ.get(self.token_env)
            if not token:
                raise UsageError(f"--token-env: the variable {self.token_env} is not set")
        remote = RemoteAgent(self.url, headers, token)
        if token is not None and not remote.is_secure and not remote.is_on_this_machine:
            warn(f"the token goes to {remote.host} unencrypted; use https:// or wss://")
        return remote


def _header(text: str) -> tuple[str, str]:
    name, mark, value = text.partition(":")
    if not mark or not name.strip():
        raise UsageError("--header: write NAME:VALUE")
    return name.strip(), value.strip()


def expanded(what: str, text: str) -> str:
    """Return a text with the values of the variables that it refers to.

    Raises:
        UsageError: one is not set.
    """
    missing = [name for name in REFERENCE.findall(text) if name not in os.environ]
    if missing:
        raise UsageError(f"{what}: the variable {missing[0]} is not set")
    return REFERENCE.sub(lambda found: os.environ[found[1]], text)


def agent_dialect_option(command: Decorated) -> Decorated:
    """Add `--dialect` to a command that starts an agent."""
    return click.option(
        "--dialect",
        type=click.Choice(SPOKEN),
        help="The agent's dialect; detected by default.",
    )(command)


def cwd_option(command: Decorated) -> Decorated:
    """Add `--cwd` to a command that opens a session."""
    return click.option(
        "--cwd",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="The session's working directory; the current one by default.",
    )(command)


def jobs_option(command: Decorated) -> Decorated:
    """Add `--jobs` to a command that starts several agents."""
    return click.option(
        "--jobs",
        type=click.IntRange(1, 32),
        default=4,
        show_default=True,
        help="Agents that run at a time.",
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
    return Login(method, expanded("--auth", value))


def record_option(command: Decorated) -> Decorated:
    """Give a command the option that names a new recording."""
    return click.option(
        "--record", callback=_new_file, metavar="FILE", help="Record the traffic to this new file."
    )(command)


def existing_record_options(command: Decorated) -> Decorated:
    """Give a command with `--record` the options for a file that exists already.

    They are read first, so that `--record` knows of them.
    """
    append = click.option("--append", is_flag=True, is_eager=True, help="Append to that file.")
    overwrite = click.option("--overwrite", is_flag=True, is_eager=True, help="Replace that file.")
    return append(overwrite(command))


def _new_file(context: click.Context, parameter: click.Parameter, name: str | None) -> Path | None:
    """Refuse what cannot be a new file before an agent or a screen starts."""
    del parameter
    chosen = [each for each in ("append", "overwrite") if context.params.get(each)]
    if len(chosen) > 1:
        raise UsageError("give either --append or --overwrite, not both")
    if name is None:
        if chosen:
            raise UsageError(f"--{chosen[0]} needs --record FILE")
        return None
    if not name:
        raise UsageError("--record: the name is empty")
    if os.path.lexists(name) and not chosen:
        more = ", or use --append or --overwrite" if "append" in context.params else ""
        raise UsageError(f"--record: {name} exists already", f"choose another name{more}")
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
        UsageError: more than one of name, command and URL was given, or nothing follows `--`.
        RemoteAddressError: the URL or a header cannot be used.
    """
    command = given_command(context)
    if (remote := given_remote(context)) is not None:
        if name or command is not None:
            raise UsageError("give either an agent or --url, not both")
        return remote_agent(remote.open())
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
