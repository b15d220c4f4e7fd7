"""`acp-console replay`: use a recording as a regression test."""

from __future__ import annotations

from pathlib import Path
from typing import Final, get_args

import click

from acp_console.chat.permissions import AllowLevel
from acp_console.cli import exit_codes
from acp_console.cli.agent_option import AgentCommand, Duration, chosen_agent, complete_agent
from acp_console.cli.errors import UsageError, say, warn
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.ignores import (
    applied_expectations,
    expect_option,
    expectations_file,
    ignore_option,
    ignores_of,
    level_option,
    report_expectations,
    report_ignores,
    strict_option,
    tolerances_of,
)
from acp_console.cli.reading import UNKNOWN_FIELDS
from acp_console.cli.replay_client import ClientReplay, Pace, check_options, learn_expectations
from acp_console.cli.replay_roles import ROLE_SECTIONS, role_options
from acp_console.cli.run_async import run_until_signal
from acp_inspector.compare.steps import Level
from acp_inspector.journal import Journal
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.acts import count_prompts
from acp_inspector.replay.client_player import STEP_TIMEOUT, PlayLimits
from acp_inspector.replay.parts import joined_frames
from acp_inspector.replay.trust import project_trust, recorded_acts
from acp_protocol.host.sanitize import escape_controls

MAX_DIFFERENCES_SHOWN: Final = 20
"""Differences that are shown of each kind, unless all are asked for."""


@click.command(
    name="replay", cls=AgentCommand, docs="replay.md", is_check=True, sections=ROLE_SECTIONS
)
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
    help="Pauses of the played side: instant (none), recorded, or a factor for those.",
)
@click.option(
    "--on-miss",
    type=click.Choice(["fail", "forward", "nearest", "error"]),
    help="What to do with a request that the recording does not have. As the client: fail "
    "(default), or forward it to a real client in the replay's directories, see --allow. As the "
    "agent: send the nearest recorded response (default), an error that names it, or that error, "
    "and then the end (fail).",
)
@click.option(
    "--allow",
    type=click.Choice(get_args(AllowLevel)),
    help="With --on-miss forward: what the agent may do beyond the recording: reads (default) "
    "reads files, edits writes them too, all runs commands too.",
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
    help="Play the recording also if it acts: if it names MCP servers, allows permissions, sets "
    "modes, has broken frames, or, as the agent, has the client write files and run commands.",
)
@click.option(
    "--learn",
    is_flag=True,
    help="Play twice, and write what differs between the two runs to NAME.expect.toml, beside the "
    "recording; if that exists, print it.",
)
@level_option
@strict_option
@expect_option(
    "Expect differences as this file says. Default: FILE's NAME.expect.toml, if it exists."
)
@ignore_option
@click.option("--all", "is_all", is_flag=True, help="Show every difference of every kind.")
@format_option(("text", "json"), "json: one object with all differences.")
@role_options
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
    learn: bool,
    level: Level,
    strict: tuple[str, ...],
    expect: Path | None,
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
    acp-console exec "hi" -- acp-console replay hello.acp.ndjson --as agent
    acp-console replay --as alone --update session.acp.ndjson
    acp-console replay --learn session.acp.ndjson -- my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    del role
    chosen = chosen_agent(context, agent)
    if chosen is None:
        raise UsageError(
            "missing AGENT: the command in a recording is never run automatically",
            "name an agent, or give its command after --",
        )
    ignores = ignores_of(ignored, lacks=UNKNOWN_FIELDS)
    if on_miss not in {None, "fail", "forward"}:
        raise UsageError(f"--on-miss {on_miss} does not go with --as client", "use fail or forward")
    forwards = on_miss == "forward"
    check_options(cwd, allow, output, learns=learn, forwards=forwards)
    recording = read_recording(file)
    expect = expectations_file(file, expect)
    expected = applied_expectations(expect)
    for fault in recording.bad_lines:
        warn(f"{file}, line {fault.line}: {fault.reason}")
    frames = joined_frames(recording)
    prompts = count_prompts(frames)
    for line in [
        *recorded_acts(recording, "client", frames),
        *([f"prompts: {prompts}"] if prompts else []),
    ]:
        say(f"hands to the agent: {line}")
    client = ClientReplay(
        recording=recording,
        frames=frames,
        agent=chosen,
        cwd=cwd,
        limits=PlayLimits(timeout=timeout, pace=pace),
        forwards_as=(allow or "reads") if forwards else None,
        output=output,
        allows_redacted=allow_redacted,
        trust=project_trust(Path.cwd(), is_given=trust),
    )
    if learn:
        return run_until_signal(lambda: learn_expectations(client, file, format_))

    async def play() -> int:
        result = await client.play(
            Journal(),
            [*ignores, *expected.ignores],
            {
                "level": level,
                "matchers": expected.matchers,
                "tolerances": tolerances_of(strict),
            },
        )
        if format_ == "json":
            print_json({"file": str(file), **result.to_json()})
        else:
            text = result.render(limit=None if is_all else MAX_DIFFERENCES_SHOWN)
            click.echo(f"{escape_controls(file.name)}: {text}")
        if result.has_agent_ended:
            return exit_codes.AGENT
        is_expected = report_expectations(expected, expect)
        if not report_ignores(ignores) or not is_expected:
            return exit_codes.USAGE
        return exit_codes.DONE if result.is_passed else exit_codes.FOUND

    return run_until_signal(play)
