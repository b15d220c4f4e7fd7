"""`acp-console agents`: the agents that can be chosen by name."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from acp_console.agents.catalogue import (
    CatalogueEntry,
    bundled_snapshot,
    merged_snapshot,
    open_catalogue,
    parse_snapshot,
    snapshot_file,
)
from acp_console.agents.choices import ChoiceStore
from acp_console.agents.spec import AgentSpec, AuthMethodError, command_agent
from acp_console.cli import agents_check, exit_codes
from acp_console.cli.agent_option import (
    CommandWithPeer,
    agent_dialect_option,
    chosen_agent,
    complete_agent,
    given_command,
    given_remote,
    parsed_login,
    remote_options,
    speech_options,
)
from acp_console.cli.command import Group
from acp_console.cli.errors import UsageError, fail, say, warn
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.printing import FAINT, GOOD, Styles, print_table
from acp_console.cli.run_async import run_until_signal
from acp_console.config import NAME_RULE, is_agent_name
from acp_console.config_edit import EditableConfig
from acp_console.paths import config_path
from acp_console.wording.tables import Layout
from acp_console.wording.values import cell_text, plural
from acp_inspector.journal import Entry, Journal, StderrChunk
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import get_string, get_text
from acp_protocol.transport.remote import check_header, check_url, is_secret_header
from acp_protocol.user_files.references import REFERENCE

if TYPE_CHECKING:
    from acp_console.chat.logins import LoginMethod
    from acp_console.chat.probe import AgentClaims

MAX_CATALOGUE_BYTES: Final = 2**23
MIN_COMMAND_WIDTH: Final = 45
"""Columns that a command needs, before the names of agents are left out."""
MAX_VALUES: Final = 12
"""Values of an option that are shown as text."""
LIST: Final = Layout(
    columns=("name", "agent", "status", "start or install"),
    words=("name", "agent", "status", "start or install"),
    flexible="start or install",
    spare=("agent",),
)

STYLES: Final[Styles] = {
    "name": lambda name: "bold",
    "status": lambda status: (
        FAINT if status == "not installed" else "" if "via" in status else GOOD
    ),
}


@click.group(
    name="agents",
    cls=Group,
    topic="agents",
    invoke_without_command=True,
    hints={
        **dict.fromkeys(("remove", "delete"), "acp-console agents rm NAME removes an agent"),
        **dict.fromkeys(("show", "start"), "acp-console agents info NAME starts an agent"),
        **dict.fromkeys(("test", "doctor"), "acp-console agents check NAME starts agents"),
        "install": "acp-console agents lists what installs each agent",
    },
)
@format_option(("text", "json"), "json: one object per line.")
@click.pass_context
def command(context: click.Context, *, format_: str) -> int | None:
    """List the agents that can be chosen by name, check them, add and remove own ones, log in.

    \b
    acp-console agents
    acp-console agents check           # starts those that are installed
    acp-console agents info gemini     # starts it, and shows what it offers
    acp-console agents add mine -- ./my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    if context.invoked_subcommand is not None:
        return None
    return _list(format_)


command.add_command(agents_check.command)


@command.command(name="ls")
@format_option(("text", "json"), "json: one object per line.")
def list_command(*, format_: str) -> int:
    """List the agents, ready ones first.

    \b
    acp-console agents ls
    acp-console agents ls --json | jq -r .name
    """  # noqa: D301 - the mark by which click keeps lines apart
    return _list(format_)


def _list(format_: str) -> int:
    entries = open_catalogue().entries
    if format_ == "json":
        for entry in entries:
            print_json(_facts(entry))
        return exit_codes.DONE
    rows = [
        [cell_text(entry.name), cell_text(entry.title), entry.status, single_line(_how(entry), 200)]
        for entry in entries
    ]
    print_table(LIST, rows, STYLES, min_flexible_width=MIN_COMMAND_WIDTH, names_hidden=False)
    return exit_codes.DONE


def _how(entry: CatalogueEntry) -> str:
    """Return the command of an agent, or what installs it."""
    if entry.source == "demo":
        return "embedded; needs no key and no network"
    if entry.state == "missing" and entry.install:
        return f"install: {entry.install}"
    return entry.command_line


def _facts(entry: CatalogueEntry) -> dict[str, Any]:
    facts = entry.facts
    return {
        "name": entry.name,
        "title": entry.title,
        "source": entry.source,
        "state": entry.state,
        "command": () if entry.is_remote else entry.command,
        "url": entry.command[0] if entry.is_remote else None,
        "env": dict(entry.env),
        "program": entry.program,
        "install": entry.install,
        "signIn": facts.sign_in if facts else "",
        "tried": facts.tried if facts else "",
        "confirmed": entry.is_confirmed,
    }


def _pairs(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    del context, parameter
    for text in texts:
        if not text.partition("=")[1]:
            raise UsageError(f"--env: {text!r} is not NAME=VALUE")
    return {text.partition("=")[0]: text.partition("=")[2] for text in texts}


@command.command(name="add", cls=CommandWithPeer)
@click.argument("name")
@click.option(
    "--env",
    multiple=True,
    callback=_pairs,
    metavar="NAME=VALUE",
    help="Set a variable for the agent; ${NAME} in VALUE is replaced by that variable of yours, so "
    "that the file holds no secret.",
)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="The directory of its sessions; the current one by default.",
)
@remote_options
@agent_dialect_option
@click.pass_context
def add_command(
    context: click.Context,
    *,
    name: str,
    env: dict[str, str],
    cwd: str | None,
    dialect: str | None,
) -> int:
    """Add an agent of your own to config.toml.

    NAME then starts COMMAND, or is at URL.

    \b
    acp-console agents add mine -- ./my-agent --acp
    acp-console agents add lab --env 'API_KEY=${LAB_KEY}' -- my-agent --acp
    acp-console agents add oxide --dialect openoxide -- openoxide --acp
    acp-console agents add far --url https://agents.example/acp --token-env FAR_TOKEN
    """  # noqa: D301 - the mark by which click keeps lines apart
    table = _place(context, name, env)
    if not is_agent_name(name):
        raise UsageError(f"{name!r} cannot be a name", NAME_RULE)
    if name == "demo":
        raise UsageError("demo is the embedded agent", "choose another name")
    table |= {"cwd": cwd} if cwd else {}
    table |= {"dialect": dialect} if dialect else {}
    path = config_path()
    EditableConfig(path).add_agent(name, table)
    say(f"added to {path}; start it with: acp-console chat {name}")
    return exit_codes.DONE


def _place(context: click.Context, name: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that say where an agent is.

    Raises:
        UsageError: that is missing, or cannot be written.
        RemoteAddressError: the URL or a header cannot be used.
    """
    words, remote = given_command(context), given_remote(context)
    if remote is not None:
        if words is not None or env:
            raise UsageError("an agent at a URL has neither a command nor variables")
        check_url(remote.url)
        for header, value in remote.headers.items():
            check_header(header, value)
            if is_secret_header(header) and not REFERENCE.search(value):
                warn(
                    f"--header {header}: its value stands in config.toml as it is; write "
                    f"'{header}: ${{NAME}}' to read it from a variable, or --token-env NAME"
                )
        found: dict[str, Any] = {"url": remote.url}
        found |= {"headers": dict(remote.headers)} if remote.headers else {}
        return found | ({"token_env": remote.token_env} if remote.token_env else {})
    if not words or not words[0].strip():
        raise UsageError(
            "missing the agent's command after --, or its --url",
            f"e.g. acp-console agents add {name} -- my-agent --acp",
        )
    try:
        "".join([*words, *env.values()]).encode()
    except UnicodeEncodeError:
        raise UsageError("the agent's command is not valid UTF-8") from None
    variables = {"env": dict(env)} if env else {}
    return {"command": list(command_agent(words).absolute_command()), **variables}


@command.command(name="rm")
@click.argument("name")
def remove_command(*, name: str) -> int:
    """Remove an agent from config.toml.

    What was remembered of it is removed as well: that its command was confirmed, its dialect, mode
    and options. For an agent of the catalogue, that is all that is removed.

    \b
    acp-console agents rm mine
    """  # noqa: D301 - the mark by which click keeps lines apart
    path = config_path()
    file = EditableConfig(path)
    if ChoiceStore().forget(name):
        say(f"removed what was remembered of {name}")
        if name not in file.config.agents:
            return exit_codes.DONE
    file.remove_agent(name)
    say(f"removed {name} from {path}")
    return exit_codes.DONE


_cwd_option = click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The directory to start it in; the current one by default.",
)


@command.command(name="info", cls=CommandWithPeer)
@click.argument("name", required=False, shell_complete=complete_agent)
@_cwd_option
@format_option(("text", "json"), "json: one object.")
@remote_options
@speech_options
@click.pass_context
def info_command(
    context: click.Context,
    *,
    name: str | None,
    cwd: Path | None,
    format_: str,
    protocol: int | None,
    dialect: str | None,
) -> int:
    """Start an agent and print what it claims.

    That is its version, its capabilities, logins, modes, options and commands. It opens a session
    to see those of a session, waits a moment for the commands, and sends no prompt.

    \b
    acp-console agents info demo
    acp-console agents info --json -- my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    spec = _named(context, name).with_protocol(protocol, dialect)

    async def run() -> int:
        from acp_console.chat.probe import probe_agent

        claims = await probe_agent(spec, (cwd or spec.cwd or Path()).resolve())
        if format_ == "json":
            print_json(_claims_json(spec, claims))
        else:
            _print_claims(spec, claims)
        return exit_codes.DONE

    return run_until_signal(run)


def _named(context: click.Context, name: str | None) -> AgentSpec:
    spec = chosen_agent(context, name)
    if spec is None:
        raise UsageError(
            "missing NAME, or the agent's command after --", "acp-console agents lists the names"
        )
    return spec


def _claims_json(spec: AgentSpec, claims: AgentClaims) -> dict[str, Any]:
    return {
        "name": spec.name,
        "command": spec.command if spec.remote is None else (),
        "url": None if spec.remote is None else spec.remote.shown_url,
        "protocol": claims.protocol,
        "dialect": claims.dialect,
        "agentInfo": claims.info,
        "capabilities": claims.capabilities,
        "authMethods": claims.auth_methods,
        "options": [
            {
                "id": option.id,
                "category": option.category,
                "current": option.current,
                "values": [{"id": id_, "name": title} for id_, title in option.values],
            }
            for option in claims.options
        ],
        "commands": claims.commands,
        "sessionError": None if claims.session_error is None else str(claims.session_error),
    }


def _print_claims(spec: AgentSpec, claims: AgentClaims) -> None:
    from acp_console.chat.logins import login_line, login_methods

    version = claims.info.get("version")
    rows = [
        ("agent", f"{claims.title} {version if isinstance(version, str) else ''}"),
        ("command" if spec.remote is None else "url", shlex.join(spec.command)),
        ("protocol", f"version {claims.protocol}"),
        *([("dialect", claims.dialect)] if claims.dialect else []),
        *(("can", name) for name in claims.capability_names()),
    ]
    for method in login_methods(claims.auth_methods, spec):
        about = method.name if method.name != method.id else method.description
        match method.kind:
            case "terminal":
                about = f"{about}; runs {login_line(method)}"
            case "variables":
                about = f"{about}; set {', '.join(method.variables)}"
            case "agent":
                pass
        rows.append(("log in", f"{method.id}: {about}" if about else method.id))
    # Many agents offer their modes a second time as an option.
    for option in {option.id: option for option in claims.options}.values():
        values = [id_ for id_, _ in option.values] or ["true", "false"]
        more = f", … {len(values)} in all" if len(values) > MAX_VALUES else ""
        current = json.dumps(option.current) if option.is_boolean else str(option.current)
        rows.append((option.id, f"{current}  of: {', '.join(values[:MAX_VALUES])}{more}"))
    for each in claims.commands:
        about = get_string(each, "description")
        rows.append(("command", f"/{get_text(each, 'name') or ''}  {about}"))
    before = ""
    for title, text in rows:
        shown = "" if title == before else cell_text(title)
        click.echo(f"{shown:<12} {single_line(text, 500)}".rstrip())
        before = title
    if claims.session_error is not None:
        warn(f"modes, options and commands are not known: {claims.session_error}")


@command.command(name="login", cls=CommandWithPeer)
@click.argument("name", required=False, shell_complete=complete_agent)
@click.argument("method", required=False)
@_cwd_option
@remote_options
@speech_options
@click.pass_context
def login_command(
    context: click.Context,
    *,
    name: str | None,
    method: str | None,
    cwd: Path | None,
    protocol: int | None,
    dialect: str | None,
) -> int:
    """Log in to an agent.

    METHOD is the id of a login that it offers; without it you choose one. Most agents log in by
    themselves, with a browser. Others run a program in this terminal, or read a variable, which is
    then named. In the dialects continuum and acpex, METHOD=VALUE sends a token or data with it.

    \b
    acp-console agents login gemini
    acp-console agents login gemini oauth-personal
    """  # noqa: D301 - the mark by which click keeps lines apart
    is_elsewhere = given_command(context) is not None or given_remote(context) is not None
    if is_elsewhere and name is not None:
        if method is not None:
            raise UsageError("give only one of the agent's name, its command and its URL")
        name, method = None, name
    spec = _named(context, name).with_protocol(protocol, dialect)
    spec = replace(spec, cwd=(cwd or spec.cwd or Path()).resolve())
    in_terminal: list[LoginMethod] = []
    code = run_until_signal(lambda: _log_in(spec, method, in_terminal))
    return _run_login(spec, in_terminal[0]) if in_terminal else code


async def _log_in(spec: AgentSpec, wanted: str | None, in_terminal: list[LoginMethod]) -> int:
    """Log in; a program that needs this terminal is put into `in_terminal` instead of started."""
    from acp_console.chat.probe import open_for_login

    assert spec.cwd is not None
    journal = Journal()
    async with open_for_login(spec, spec.cwd, journal) as link:
        if wanted is not None and "=" in wanted:
            login = parsed_login(wanted)
            await link.authenticate(login.method, login.secret)
            say(f"logged in to {link.title}")
            return exit_codes.DONE
        methods = link.logins
        method = _chosen_method(methods, wanted, link.title, spec.sign_in)
        match method.kind:
            case "terminal":
                in_terminal.append(method)
            case "variables":
                where = f", see {method.link}" if method.link else ""
                say(
                    f"{method.id} needs variables{where}. Set them before you start the agent, or "
                    f"in config.toml: {', '.join(method.variables)}"
                )
                unset = [each for each in method.variables if each not in os.environ]
                return exit_codes.FOUND if unset else exit_codes.DONE
            case "agent":
                # It may print an address to open.
                journal.subscribe(_show_stderr)
                say(f"{link.title} logs in by {method.id}; this may open a browser")
                await link.authenticate(method.id)
                say(f"logged in to {link.title}")
    return exit_codes.DONE


def _show_stderr(entry: Entry) -> None:
    if isinstance(entry, StderrChunk):
        click.echo(escape_controls(entry.data.decode(errors="replace")), nl=False, err=True)


def _chosen_method(
    methods: list[LoginMethod], wanted: str | None, title: str, sign_in: str
) -> LoginMethod:
    """Return the method with the id `wanted`, or the one that the user chooses.

    `sign_in` is what is known to work where the agent offers nothing.

    Raises:
        AuthMethodError: there is none, or none is named and there is no terminal to ask on.
    """
    offered = ", ".join(method.id for method in methods)
    if not methods:
        way = sign_in or "use its own program or set its key"
        raise AuthMethodError(f"{title} offers no login: {way}")
    if wanted is not None:
        for method in methods:
            if method.id == wanted:
                return method
        raise AuthMethodError(f"{title} has no login {wanted!r}; it offers: {offered}")
    if len(methods) == 1:
        return methods[0]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AuthMethodError(f"name the login, one of: {offered}")
    for number, method in enumerate(methods, start=1):
        click.echo(
            f"{number}  {single_line(f'{method.name}  {method.description}', 100)}", err=True
        )
    choices = click.IntRange(1, len(methods))
    number: int = click.prompt("Log in by number", type=choices, err=True)
    return methods[number - 1]


def _run_login(spec: AgentSpec, method: LoginMethod) -> int:
    """Run the program of a login in this terminal; return the exit code.

    Raises:
        AuthMethodError: it is none of ours to run, or cannot be started.
    """
    from acp_console.chat.logins import login_line

    line = login_line(method)
    if not method.is_own_program:
        # The agent named it, and what an agent names is not run.
        raise AuthMethodError(f"{method.id} is a program of its own; run it yourself: {line}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise AuthMethodError(f"{method.id} needs a terminal; run there: {line}")
    say(f"running {line}")
    env: Mapping[str, str] = {**os.environ, **spec.env, **(method.env or {})}
    try:
        code = subprocess.run(method.command, cwd=spec.cwd, env=env, check=False).returncode
    except OSError as error:
        raise AuthMethodError(f"{line} cannot be started: {error.strerror}") from None
    if code:
        fail(f"the login ended with exit code {code}")
        return exit_codes.PEER
    say(f"logged in to {spec.title}")
    return exit_codes.DONE


@command.command(name="update")
@click.option(
    "--from",
    "source",
    metavar="FILE|URL",
    help="The catalogue to take: JSON as the public registry publishes it; a URL needs https.",
)
@click.option("--reset", is_flag=True, help="Go back to the catalogue that came with the program.")
def update_command(*, source: str | None, reset: bool) -> int:
    """Take a newer catalogue.

    Nothing else ever refreshes it. What is known of the bundled agents, such as how to sign in,
    stays. A command that changed is asked for again before it runs.

    \b
    acp-console agents update --from registry.json
    acp-console agents update --reset
    """  # noqa: D301 - the mark by which click keeps lines apart
    if reset == (source is not None):
        raise UsageError("give either --from FILE|URL or --reset")
    if source is None:
        snapshot_file().path.unlink(missing_ok=True)
        say("using the bundled catalogue")
        return exit_codes.DONE
    before = {entry.name: entry.consent_text for entry in open_catalogue().entries}
    new = parse_snapshot(source, _content(source))
    snapshot_file().write(merged_snapshot(bundled_snapshot(), new))
    after = {entry.name: entry.consent_text for entry in open_catalogue().entries}
    changed = [name for name in after if name in before and after[name] != before[name]]
    say(
        f"{plural(len(after), 'agent')}: {len(after.keys() - before.keys())} new, "
        f"{len(before.keys() - after.keys())} gone, {len(changed)} with another command"
    )
    return exit_codes.DONE


def _content(source: str) -> bytes:
    """Return the content of a file or of what is at a URL.

    Raises:
        AcpError: it cannot be read; the message says why.
    """
    if "://" not in source:
        try:
            with Path(source).open("rb") as file:
                return file.read(MAX_CATALOGUE_BYTES)
        except OSError as error:
            raise AcpError(f"{source}: cannot be read: {error.strerror}") from None
    # httpx takes time, and is rarely needed.
    from acp_console.agents.download import download

    return download(source, MAX_CATALOGUE_BYTES)
