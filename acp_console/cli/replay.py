"""`acp-console replay`: use a recording as a regression test."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import AgentCommand, Duration, chosen_agent, complete_agent
from acp_console.cli.errors import UsageError, say, warn
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.ignores import ignore_option, ignores_of, report_ignores
from acp_console.cli.reading import UNKNOWN_FIELDS
from acp_console.cli.replay_client import OwnMeans, Pace, record_replay
from acp_console.cli.replay_roles import role_options
from acp_console.cli.run_async import run_until_signal
from acp_console.client.permissions import AllowLevel
from acp_inspector.analysis.diff import Ignore
from acp_inspector.journal import Frame, Journal
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.directories import ReplayDirectories, replay_directories
from acp_inspector.replay.handover import handover
from acp_inspector.replay.parts import whole_frames
from acp_inspector.replay.player import (
    STEP_TIMEOUT,
    PlayLimits,
    play_as_client,
    prepare_workspace,
)
from acp_inspector.replay.result import ReplayResult
from acp_protocol.host.sanitize import escape_controls

MAX_DIFFERENCES_SHOWN: Final = 20
"""Differences that are shown of each kind, unless all are asked for."""


@click.command(name="replay", cls=AgentCommand, docs="how-to.md")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("agent", required=False, shell_complete=complete_agent)
@click.option(
    "--as",
    "role",
    type=click.Choice(["client", "agent", "alone"]),
    default="client",
    show_default=True,
    help="Side to play; alone: no peer, compare with the stored snapshot.",
)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Use it as the working directory of the first session. Default: a temporary one, with "
    "the recording's files.",
)
@click.option(
    "--timeout",
    type=Duration(),
    default=STEP_TIMEOUT,
    show_default=True,
    metavar="DURATION",
    help="Time limit for each expected message, in seconds or with a unit: 90, 500ms, 5m. As the "
    "agent: for each silence of the client, by default 5m.",
)
@click.option(
    "--time",
    "pace",
    type=Pace(),
    default="instant",
    show_default=True,
    metavar="PACE",
    help="Pauses: instant (none), recorded, or a factor for the recorded ones.",
)
@click.option(
    "--on-miss",
    type=click.Choice(["fail", "forward", "nearest", "error"]),
    help="What to do with a request that the recording does not have. As the client: fail "
    "(default), or forward it to a real client that reads and writes in the replay's directories "
    "only. As the agent: send the nearest recorded response (default), an error that names it, or "
    "fail with that error.",
)
@click.option(
    "--allow",
    type=click.Choice(get_args(AllowLevel)),
    help="With --on-miss forward: what the agent may do where the recording has no permission. "
    "Default: reads.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the traffic of this replay to the new recording FILE: with --on-miss forward, the "
    "recording and what is new in it.",
)
@click.option(
    "--allow-redacted",
    is_flag=True,
    help="Send placeholders where secrets were removed from the recording.",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Hand the agent the recording's MCP servers, and directories that cannot be replaced.",
)
@ignore_option
@role_options
@click.option("--all", "is_all", is_flag=True, help="Show every difference of every kind.")
@format_option(("text", "json"), "json: one object with all differences.")
@click.pass_context
def command(
    context: click.Context,
    *,
    file: Path,
    agent: str | None,
    role: str,
    cwd: Path | None,
    timeout: float,
    pace: float,
    on_miss: str | None,
    allow: AllowLevel | None,
    output: Path | None,
    allow_redacted: bool,
    trust: bool,
    ignored: tuple[str, ...],
    is_all: bool,
    format_: str,
) -> int:
    """Use the recording FILE as a regression test; the other side is compared by meaning.

    As the client (default) it starts a fresh AGENT. As the agent it is the recorded agent on stdin
    and stdout, for any client; the verdict goes to stderr when the client leaves. Alone it compares
    findings, conversation and exchanges with the snapshot FILE.snapshot.json.

    Exits with 0 if all is as recorded, with 1 if it is not, and with 3 if the agent exits early.

    \b
    acp-console replay recordings/hello.acp.ndjson demo
    acp-console replay --as client session.acp.ndjson -- my-agent --acp
    acp-console replay --ignore 'update == usage_update' session.acp.ndjson demo
    acp-console exec "hello" -- acp-console replay --as agent recordings/hello.acp.ndjson
    acp-console replay --as alone --update session.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    del role
    chosen = chosen_agent(context, agent)
    if chosen is None:
        raise UsageError(
            "missing AGENT: the command in a recording is never run automatically",
            "name an agent, or give its command after --",
        )
    ignores = ignores_of(ignored, lacks=UNKNOWN_FIELDS)
    forwards = on_miss == "forward"
    if allow is not None and not forwards:
        raise UsageError("--allow has no effect without --on-miss forward")
    recording = read_recording(file)
    for fault in recording.bad_lines:
        warn(f"{file}, line {fault.line}: {fault.reason}")
    frames = [each for each in whole_frames(recording)[0] if isinstance(each, Frame)]
    for line in handover(frames).describe():
        say(f"hands to the agent: {line}")

    async def play(directories: ReplayDirectories) -> int:
        journal = Journal()
        means = OwnMeans(directories, allow or "reads", frames) if forwards else None
        header = replace(new_header(chosen.command, directories.cwd), meta=recording.header.meta)
        with record_replay(journal, output, replace(header, about=recording.header.about)):
            result = await play_as_client(
                recording,
                chosen.absolute_command(),
                directories,
                limits=PlayLimits(timeout=timeout, pace=pace),
                ignores=ignores,
                allows_redacted=allow_redacted,
                is_trusted=trust,
                on_miss=means,
                journal=journal,
                env={**os.environ, **chosen.env},
            )
        if format_ == "json":
            print_json({"file": str(file), **result.to_json()})
        else:
            text = result.render(limit=None if is_all else MAX_DIFFERENCES_SHOWN)
            click.echo(f"{escape_controls(file.name)}: {text}")
        return _exit_code(result, ignores)

    with tempfile.TemporaryDirectory(prefix="acp-replay-") as name:
        new = Path(name).resolve()
        directories = replay_directories(
            frames, cwd and cwd.resolve(), new, recorded_cwd=recording.header.cwd
        )
        for recorded, place in directories.places.items():
            say(f"hands to the agent: directory: {recorded} as {place}")
        directories.create()
        if cwd is None:
            prepare_workspace(recording.header, directories.cwd)
        return run_until_signal(lambda: play(directories))


def _exit_code(result: ReplayResult, ignores: Sequence[Ignore]) -> int:
    if result.has_agent_ended:
        return exit_codes.AGENT
    if not report_ignores(ignores):
        return exit_codes.USAGE
    return exit_codes.DONE if result.is_passed else exit_codes.FOUND
