"""`acp-console mock`: play the agent of a recording for a client."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, replace
from itertools import count
from pathlib import Path
from typing import get_args

import anyio
import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.comparing import (
    BESIDE_RECORDING,
    MAX_DIFFERENCES_SHOWN,
    ComparisonOptions,
    all_option,
    comparison_options,
)
from acp_console.cli.errors import say, warn
from acp_console.cli.format_option import format_option
from acp_console.cli.playing import pace_option, read_whole, timeout_option, trust_option
from acp_console.cli.run_async import run_until_signal
from acp_console.cli.server_options import (
    PARAMETERS,
    SECTION,
    refuse_unused,
    run_server,
    server_options,
)
from acp_console.wording.values import OUTPUT_VERSION, plural
from acp_inspector.compare.steps import Level
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import Recording
from acp_inspector.replay.acts import AgentJudge
from acp_inspector.replay.agent_player import (
    ABOUT_CLIENT,
    CLIENT_TIMEOUT,
    AgentPlayer,
    MissPolicy,
)
from acp_inspector.replay.agent_script import AgentScript
from acp_inspector.replay.directories import unnamed_place
from acp_inspector.replay.expectations import expectations_beside
from acp_inspector.replay.parts import connections, recorded_dialect
from acp_inspector.replay.reports import reported_refusal, write_report
from acp_inspector.replay.result import ReplayResult
from acp_inspector.replay.trust import Trust, check_trust, project_trust, recorded_acts
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.transport.base import FramedTransport, Transport
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.server_options import ServerOptions
from acp_protocol.transport.stdio import open_stdio


@click.command(
    name="mock",
    cls=CliCommand,
    topic="replay",
    is_check=True,
    sections={SECTION: [*PARAMETERS, "is_repeated"]},
    hints={"--update": "acp-console snapshot FILE needs no peer"},
)
@click.argument("file", type=click.Path(path_type=Path))
@timeout_option(CLIENT_TIMEOUT, "Time limit for each silence of the client")
@pace_option
@click.option(
    "--on-miss",
    type=click.Choice(get_args(MissPolicy)),
    default="nearest",
    show_default=True,
    help="How to respond to a request that the recording does not have: with the nearest recorded "
    "response, with an error that names it, or with that error and then the end (fail).",
)
@click.option(
    "--connection",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Which process to play if the recording has several.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the verdict to FILE: as JUnit if it ends with .xml, else as JSON.",
)
@trust_option("has the client write files, run commands or call MCP servers")
@comparison_options(BESIDE_RECORDING)
@all_option
@format_option(("text", "json"), "Of the verdict; json: one object with all differences.")
@server_options
@click.option(
    "--repeat",
    "is_repeated",
    is_flag=True,
    help="With --listen: play for each client that connects, until a signal, not only for the "
    "first one. Further verdicts of --report go to FILE with a number before its suffix.",
)
@click.pass_context
def command(
    context: click.Context,
    *,
    file: Path,
    timeout: float,
    pace: float,
    on_miss: MissPolicy,
    connection: int,
    report: Path | None,
    trust: bool,
    level: Level,
    strict: tuple[str, ...],
    expect: Path | None,
    ignored: tuple[str, ...],
    is_all: bool,
    format_: str,
    server: ServerOptions | None,
    is_repeated: bool,
) -> int:
    """Play the agent of the recording FILE on stdin and stdout, for any client.

    With --listen it is played over HTTP and WebSocket, for the first client that connects, and the
    command ends with its connection; the URL and a new token are printed on stderr.

    What the client sends is compared by meaning. The verdict goes to stderr when the client
    leaves. Exits with 0 if all is as recorded, and with 1 if it is not.

    \b
    acp-console mock hello.acp.ndjson     # in the place of an agent's command
    acp-console mock hello.acp.ndjson --report verdict.xml
    acp-console exec "hi" -- acp-console mock hello.acp.ndjson
    acp-console mock hello.acp.ndjson --listen 127.0.0.1:8765

    acp-console test client runs a client with many recordings.
    """  # noqa: D301 - the mark by which click keeps lines apart
    if server is None:
        refuse_unused(context, [*PARAMETERS, "is_repeated"], "without --listen")
    with reported_refusal(report, file, "agent"):
        comparison = ComparisonOptions.of(level, strict, expect, ignored, recording=file)
        recording = read_whole(file)
        script = _script(recording, connection)
        trusted = project_trust(Path.cwd(), is_given=trust)
        is_trusted = _check_trust(recording, script, trusted)
        if recording.header.redacted:
            say("the recording is redacted: the client gets placeholders where it had secrets")
        mock = Mock(
            recording,
            connection,
            comparison,
            timeout=timeout,
            pace=pace,
            on_miss=on_miss,
            is_trusted=is_trusted,
            format=format_,
            is_all=is_all,
        )
        if server is not None:
            return _serve(mock, server, report, is_repeated=is_repeated)

        async def play() -> int:
            transport = open_stdio(framing=None)
            code = await mock.play(transport, report)
            await transport.aclose()
            return code

        return run_until_signal(play)


@dataclass(frozen=True, slots=True)
class Mock:
    """A recorded agent, and how its clients are judged."""

    recording: Recording
    connection: int
    """The number of the recorded process."""
    comparison: ComparisonOptions
    _: KW_ONLY
    timeout: float
    pace: float
    on_miss: MissPolicy
    is_trusted: bool
    format: str
    is_all: bool

    async def play(self, transport: FramedTransport, report: Path | None) -> int:
        """Play it once; print the verdict, and return the exit code for that."""
        recording, file = self.recording, self.recording.path
        # A script notes what was used of it.
        script = script_of(recording, self.connection)
        player = AgentPlayer(
            script,
            transport,
            on_miss=self.on_miss,
            speed=self.pace,
            is_redacted=bool(recording.header.redacted),
            options=self.comparison.options,
            judge=None if self.is_trusted else AgentJudge(),
            directories=unnamed_place(script.frames, recording.header.cwd, Path.cwd()),
        )
        try:
            await player.play(timeout=self.timeout)
        finally:
            # A client may also end its agent by a signal, and wants the verdict then too.
            for note in player.notes:
                say(escape_controls(note))
            result = replace(player.result(), unread=recording.unread)
            result = _with_hint(result, file)
            if report is not None:
                write_report(report, file, result)
            sys.stderr.write(f"{_verdict(result, file, self.format, is_all=self.is_all)}\n")
            code = self.comparison.exit_code(is_passed=result.is_passed)
        return code


def _serve(mock: Mock, server: ServerOptions, report: Path | None, *, is_repeated: bool) -> int:
    """Play a recording for clients on a network; return the exit code of the worst verdict."""
    stop, codes, begun = anyio.Event(), list[int](), count(1)

    @asynccontextmanager
    async def open_agent() -> AsyncGenerator[Transport]:
        ours, theirs = memory_pair()
        number = next(begun)

        async def play() -> None:
            # What has come is judged also if the client ends the connection.
            with anyio.CancelScope(shield=True):
                codes.append(await mock.play(theirs, report and _numbered(report, number)))
                await theirs.aclose()
                if not is_repeated:
                    stop.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play)
            try:
                yield ours
            finally:
                await ours.aclose()

    server = replace(server, dialect=recorded_dialect(mock.recording))
    if not is_repeated:
        server = replace(server, limits=replace(server.limits, connections=1))
    run_server(server, open_agent, stop=stop)
    if not codes:
        warn("no client has opened a connection")
    return max(codes, default=exit_codes.NOTHING)


def _numbered(report: Path, number: int) -> Path:
    """Return where the verdict on a connection goes."""
    return report if number == 1 else report.with_suffix(f".{number}{report.suffix}")


def _script(recording: Recording, connection: int) -> AgentScript:
    """Return what is played.

    Raises:
        RecordingError: there is no such connection.
    """
    found = len(connections(recording.entries))
    if connection > found:
        raise RecordingError(
            f"{recording.path} has {plural(found, 'connection')}, not {connection}"
        )
    if found > 1:
        say(f"connection {connection} of {found} is played; see --connection")
    return script_of(recording, connection)


def script_of(recording: Recording, connection: int) -> AgentScript:
    return AgentScript(
        connections(recording.entries)[connection - 1],
        is_complete=recording.footer is not None and not recording.bad_lines,
        dialect=recorded_dialect(recording),
    )


def _check_trust(recording: Recording, script: AgentScript, trust: Trust) -> bool:
    """Report what the recording has the client do; return whether it is trusted.

    Raises:
        RecordingError: it does something and is not trusted.
    """
    is_trusted = check_trust(recording, "agent", trust, script.frames, has_files=False)
    for line in recorded_acts(recording, "agent", script.frames, has_files=False):
        say(f"the client will be requested to do this: {line}")
    return is_trusted


def _with_hint(result: ReplayResult, recording: Path) -> ReplayResult:
    """Add how to allow another client, unless it describes itself as recorded."""
    paths = [
        each.path.partition("[")[0]
        for each in result.differences
        if each.name in ABOUT_CLIENT and each.path.startswith("$.params.")
    ]
    if not paths:
        return result
    hint = (
        f"the client describes itself otherwise: {', '.join(dict.fromkeys(paths))}; to allow that, "
        f"give each path to --ignore, or an [[ignore]] entry with path and reason in "
        f"{expectations_beside(recording).name}"
    )
    return replace(result, notes=(*result.notes, hint))


def _verdict(result: ReplayResult, file: Path, format_: str, *, is_all: bool) -> str:
    if format_ == "json":
        return json.dumps({"v": OUTPUT_VERSION, "file": str(file), **result.to_json()})
    limit = None if is_all else MAX_DIFFERENCES_SHOWN
    return f"{escape_controls(file.name)}: {result.render(limit=limit)}"
