"""`acp-console model`: stand between an agent and its model service."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Final

import click
from anyio.from_thread import start_blocking_portal

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import CommandWithPeer, chosen_agent, complete_agent
from acp_console.cli.command import CliCommand, Decorated, Group
from acp_console.cli.errors import UsageError, fail, say, warn
from acp_console.cli.format_option import format_option, print_json
from acp_console.wording.tables import Layout
from acp_console.wording.values import plural
from acp_inspector.model_service.cassette import (
    CassetteHeader,
    CassetteWriter,
    ModelCassette,
    ModelExchange,
    read_cassette,
)
from acp_inspector.model_service.routes import Route, plan_routes
from acp_inspector.proxy.process import GRACE_S, AgentProcess, Signals, take_stdio
from acp_inspector.recording.writer import WriteMode
from acp_inspector.redaction.placeholders import highest_placeholder
from acp_protocol.host.orphan_guard import OrphanGuard
from acp_protocol.host.regular_files import open_regular
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_string
from acp_protocol.version import VERSION

LIST: Final = Layout(
    columns=("#", "method", "request", "model", "status", "chunks", "bytes", "seconds", "end"),
    words=("method", "request", "model", "end"),
    flexible="request",
    spare=("bytes", "chunks", "seconds"),
)
WIDTH: Final = 200
PROXIES: Final = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
HOST: Final = "127.0.0.1"
MAX_UNUSED_SHOWN: Final = 5
SECRET_VARIABLE: Final = "ACP_CONSOLE_MODEL_SECRET"  # noqa: S105 - the name of a variable
MIN_SECRET: Final = 16
_NAME: Final = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_SECRET: Final = re.compile(rf"[A-Za-z0-9_-]{{{MIN_SECRET},200}}")


@click.group(name="model", cls=Group, topic="model-cassettes", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int | None:
    """Stand between an agent and its model service: record the exchanges, and replay them.

    A server on 127.0.0.1 takes the place of the service: the variables with base URLs that agents
    know are set to it. The agent's stdin, stdout and stderr are ours, so that the command can be
    used wherever an agent's command can.

    \b
    acp-console model record --cassette turn.cassette -- my-agent --acp
    acp-console model replay --cassette turn.cassette -- my-agent --acp
    acp-console model show turn.cassette
    """  # noqa: D301 - the mark by which click keeps lines apart
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        return exit_codes.USAGE
    return None


def _cassette_option(command: Decorated) -> Decorated:
    return click.option(
        "--cassette",
        type=click.Path(dir_okay=False, path_type=Path),
        required=True,
        metavar="FILE",
        help="The file with the exchanges.",
    )(command)


def _server_options(command: Decorated) -> Decorated:
    """Add the options about variables and the port."""
    env = click.option(
        "--env",
        "variables",
        multiple=True,
        metavar="NAME[=TEMPLATE]",
        help="Also set this variable to the server; {url} in TEMPLATE is the address. Without "
        "{url} it is an ordinary value.",
    )
    port = click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        metavar="N",
        help="Listen on this port, for an agent whose own configuration names the URL. Default: "
        "any free one.",
    )
    secret = click.option(
        "--secret",
        envvar=SECRET_VARIABLE,
        callback=_check_secret,
        metavar="TEXT",
        help="The secret in the address, for an agent whose own configuration names the URL: "
        f"http://{HOST}:N/TEXT. Default: {SECRET_VARIABLE}, else a new one in each run.",
    )
    return env(port(secret(command)))


def _check_secret(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    del context, parameter
    if value is not None and not _SECRET.fullmatch(value):
        raise UsageError(
            f"--secret: it needs at least {MIN_SECRET} letters, digits, - and _",
            "e.g. python3 -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    return value


@command.command(name="record", cls=CommandWithPeer)
@click.argument("agent", required=False, shell_complete=complete_agent)
@_cassette_option
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="[NAME=]URL",
    help="Base URL of the model service; NAME is a service or a variable, such as openai or "
    "OPENAI_BASE_URL. Default: what the variable contains, else the public address.",
)
@_server_options
@click.option("--append", is_flag=True, help="Append to the file.")
@click.option("--overwrite", is_flag=True, help="Replace the file.")
@click.pass_context
def record(
    context: click.Context,
    *,
    agent: str | None,
    cassette: Path,
    upstreams: tuple[str, ...],
    variables: tuple[str, ...],
    port: int,
    secret: str | None,
    append: bool,
    overwrite: bool,
) -> int:
    """Run an agent, and record its exchanges with the model service in a new file.

    Requests are forwarded, and responses passed on as they come. Headers of requests and keys are
    not recorded. Exits with the agent's exit code.

    \b
    acp-console model record --cassette turn.cassette -- gemini --acp
    acp-console model record --cassette turn.cassette --upstream http://127.0.0.1:8080/v1 -- qwen
    """  # noqa: D301 - the mark by which click keeps lines apart
    if append and overwrite:
        raise UsageError("--append contradicts --overwrite", "give one of them")
    words, environment = _agent(context, agent)
    routes = plan_routes(environment, _named_urls(upstreams), _templates(variables))
    header = _header(environment)
    header.set_routes(routes)
    first = _next_placeholder(cassette) if append else 1
    mode: WriteMode = "append" if append else "overwrite" if overwrite else "new"
    # The server's modules take time; wrong usage is reported without them.
    from acp_inspector.model_service.server import ModelRecorder, Redactor, model_client, serving

    writer = CassetteWriter(cassette, header, mode)
    client = model_client(routes)
    recorder = ModelRecorder(routes, writer, client, Redactor(environment, first=first), warn)

    @asynccontextmanager
    async def server() -> AsyncGenerator[str]:
        async with client, serving(recorder, port, secret) as root:
            _say_address(root, port, secret)
            yield root

    try:
        code = _run(words, environment, routes, server())
    finally:
        writer.close()
    if not recorder.count:
        warn(
            "no exchange was recorded: if the agent's own configuration names the URL of its "
            f"model service, set it to http://{HOST}:PORT/SECRET, and use --port, --secret and "
            "--upstream"
        )
    return code


@command.command(name="replay", cls=CommandWithPeer)
@click.argument("agent", required=False, shell_complete=complete_agent)
@_cassette_option
@_server_options
@click.pass_context
def replay(
    context: click.Context,
    *,
    agent: str | None,
    cassette: Path,
    variables: tuple[str, ...],
    port: int,
    secret: str | None,
) -> int:
    """Run an agent whose model service responds from a cassette.

    Nothing is sent to a service. A request that is not in the cassette gets an HTTP error, is
    reported on stderr, and makes the exit code 1 if the agent itself exits with 0.

    \b
    acp-console model replay --cassette turn.cassette -- gemini --acp
    acp-console replay turn.acp.ndjson -- \\
        acp-console model replay --cassette turn.cassette -- gemini --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    words, environment = _agent(context, agent)
    named = _templates(variables)
    found = read_cassette(cassette)
    _warn_of_bad_lines(cassette, found)
    _warn_of_refused_variables(found, named)
    if not found.exchanges:
        raise UsageError(f"{cassette} contains no exchange", "record it anew")
    routes = plan_routes(environment, {}, named, found.routes())
    from acp_inspector.model_service.server import ModelPlayer, Redactor, current_roots, serving

    redactor = Redactor(environment, first=_next_placeholder(cassette))
    player = ModelPlayer(routes, found, redactor, current_roots(environment), fail)

    @asynccontextmanager
    async def server() -> AsyncGenerator[str]:
        async with serving(player, port, secret) as root:
            _say_address(root, port, secret)
            yield root

    code = _run(words, environment, routes, server())
    tolerated = [plural(player.tolerated, "value")] if player.tolerated else []
    tolerated += [f"{old} as {new}" for old, new in player.directories.items()]
    unused = player.unused()
    say(
        f"model replay: {plural(player.played, 'request')} replayed"
        + (f" (bound: {', '.join(tolerated)})" if tolerated else "")
        + f", {len(player.misses)} not in the cassette, {len(unused)} of it not requested"
    )
    for request in unused[:MAX_UNUSED_SHOWN]:
        say(f"not requested: {request}")
    return code or (exit_codes.FOUND if player.misses else exit_codes.DONE)


@command.command(name="show", cls=CliCommand)
@click.argument("file", type=click.Path(path_type=Path))
@format_option(("text", "json"), "json: one object with all exchanges.")
def show(*, file: Path, format_: str) -> int:
    """List the exchanges of the cassette FILE.

    \b
    acp-console model show turn.cassette
    """  # noqa: D301 - the mark by which click keeps lines apart
    cassette = read_cassette(file)
    _warn_of_bad_lines(file, cassette)
    if format_ == "json":
        exchanges = [
            {**each.model_dump(mode="json"), "line": line}
            for each, line in zip(cassette.exchanges, cassette.lines, strict=True)
        ]
        runs = [each.model_dump() for each in cassette.headers]
        print_json({"file": str(file), "runs": runs, "exchanges": exchanges})
    else:
        # It knows how recordings are read, which a replay need not wait for.
        from acp_console.cli.printing import print_table

        rows = [_row(number, each) for number, each in enumerate(cassette.exchanges, 1)]
        print_table(LIST, rows)
    return exit_codes.DONE


def _row(number: int, exchange: ModelExchange) -> list[str]:
    request, response = exchange.request, exchange.response
    cells = [
        str(number),
        request.method,
        f"{request.route}{request.path}" + (f"?{request.query}" if request.query else ""),
        get_string(request.body, "model"),
        str(response.status or "none"),
        str(len(response.chunks)),
        str(sum(map(len, response.chunks))),
        f"{exchange.duration:.3f}",
        response.end or "",
    ]
    return [single_line(cell, WIDTH) for cell in cells]


def _warn_of_bad_lines(file: Path, cassette: ModelCassette) -> None:
    for line in cassette.bad_lines:
        warn(f"{file}, line {line}: contains no exchange")


def _warn_of_refused_variables(cassette: ModelCassette, named: Mapping[str, str]) -> None:
    """Name the variables that would be set if the user trusted the cassette."""
    for name, value in cassette.refused_variables().items():
        if name not in named:
            # What else it would set is nothing to paste into a shell.
            is_address = _NAME.fullmatch(name) and value.startswith("{url}")
            warn(
                f"the cassette does not set {single_line(name, WIDTH)}, which is not a variable of "
                "a known model service" + (f"; --env {name} would" if is_address else "")
            )


def _say_address(root: str, port: int, secret: str | None) -> None:
    if port and secret is None:
        say(f"the model service is {root} in this run; --secret keeps the address")


def _agent(context: click.Context, name: str | None) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the agent's command and its environment."""
    chosen = chosen_agent(context, name)
    if chosen is None:
        raise UsageError("missing AGENT", "name an agent, or give its command after --")
    if chosen.remote is not None:
        raise UsageError(f"{chosen.name} is at a URL, so it is not started beside a cassette")
    return chosen.absolute_command(), {**os.environ, **chosen.env}


def _named_urls(texts: Sequence[str]) -> dict[str, str]:
    """Return URLs by name; by an empty one where a text has none."""
    pairs = [text.partition("=") for text in texts]
    # A URL may contain "=", but not before its scheme.
    return {
        (name if sign and "/" not in name else ""): (url if sign and "/" not in name else text)
        for text, (name, sign, url) in zip(texts, pairs, strict=True)
    }


def _templates(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if any(not name for name, _, _ in pairs):
        raise UsageError("--env: the name is empty", "e.g. --env MY_BASE_URL")
    return {name: template if sign else "{url}" for name, sign, template in pairs}


def _header(environment: Mapping[str, str]) -> CassetteHeader:
    return CassetteHeader(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        tool=f"acp-console {VERSION}",
        cwd=str(Path.cwd()),
        home=environment.get("HOME", ""),
        tmp=environment.get("TMPDIR", ""),
    )


def _next_placeholder(path: Path) -> int:
    """Return the number of the next placeholder for a secret."""
    try:
        with TextIOWrapper(open_regular(path), encoding="utf-8", errors="replace") as lines:
            return max(map(highest_placeholder, lines), default=0) + 1
    except OSError:
        # There is none yet, or whatever opens it next says what is wrong with it.
        return 1


def _without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with our server exempt from a proxy."""
    exempt = {
        name: ",".join(filter(None, (environment.get(name), HOST)))
        for name in ("NO_PROXY", "no_proxy")
        if environment.get(name) != "*"
    }
    has_proxy = any(environment.get(name) for name in PROXIES)
    return {**environment, **exempt} if has_proxy else dict(environment)


def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    routes: Sequence[Route],
    server: AbstractAsyncContextManager[str],
) -> int:
    """Run the agent beside the server, on our stdio; return the code to exit with."""
    with (
        Signals() as signals,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(server) as root,
    ):
        env = _without_proxy(environment)
        for route in routes:
            env |= route.environment(root)
        stdio = take_stdio()
        try:
            process = AgentProcess(command, stdio=stdio, env=env)
        finally:
            # The agent alone holds them: its end is the end of the output.
            for descriptor in stdio:
                os.close(descriptor)
        signals.pass_to(process)
        guard = OrphanGuard(round(GRACE_S), round(GRACE_S))
        guard.watch(process.pid)
        code = signals.wait(process)
        process.end()
        guard.unwatch(process.pid)
        guard.close()
    sys.stdout.flush()
    return 128 - code if code < 0 else code
