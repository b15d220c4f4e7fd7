"""`acp-console replay`: play the client of a recording against an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import click

from acp_console.chat.permissions import AllowLevel
from acp_console.cli import exit_codes
from acp_console.cli.agent_option import (
    CommandWithPeer,
    agent_dialect_option,
    chosen_agent,
    complete_agent,
    remote_options,
)
from acp_console.cli.comparing import (
    BESIDE_RECORDING,
    MAX_DIFFERENCES_SHOWN,
    ComparisonOptions,
    all_option,
    comparison_options,
)
from acp_console.cli.errors import UsageError, say
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.playing import (
    allow_redacted_option,
    pace_option,
    read_whole,
    timeout_option,
    trust_option,
)
from acp_console.cli.progress import counting
from acp_console.cli.replay_client import ClientReplay, check_options, learn_expectations
from acp_console.cli.run_async import run_until_signal
from acp_inspector.compare.steps import Level
from acp_inspector.journal import Frame, Journal
from acp_inspector.replay.acts import count_prompts
from acp_inspector.replay.client_player import STEP_TIMEOUT, PlayLimits
from acp_inspector.replay.trust import project_trust, recorded_acts
from acp_protocol.host.sanitize import escape_controls

_MOCK = "acp-console mock FILE plays the recorded agent"
_SNAPSHOT = "acp-console snapshot FILE needs no peer"


@click.command(
    name="replay",
    cls=CommandWithPeer,
    topic="replay",
    is_check=True,
    shows_progress=True,
    hints={
        "--as": f"{_MOCK}; {_SNAPSHOT}",
        "--report": _MOCK,
        "--connection": _MOCK,
        "--update": _SNAPSHOT,
    },
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("agent", required=False, shell_complete=complete_agent)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Use it as the working directory of the first session. Default: a temporary one, with "
    "the recording's files.",
)
@timeout_option(STEP_TIMEOUT, "Time limit for each expected message")
@pace_option
@click.option(
    "--on-miss",
    type=click.Choice(["fail", "forward"]),
    default="fail",
    show_default=True,
    help="What to do with a request that the recording does not have: forward has it carried out "
    "by a real client in the replay's directories, see --allow.",
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
@allow_redacted_option
@trust_option("names MCP servers, allows permissions, sets modes or has broken frames")
@remote_options
@agent_dialect_option
@click.option(
    "--learn",
    is_flag=True,
    help="Play twice, and write what differs between the two runs to NAME.expect.toml, beside the "
    "recording; if that exists, print it.",
)
@comparison_options(BESIDE_RECORDING)
@all_option
@format_option(("text", "json"), "json: one object with all differences.")
@click.pass_context
def command(
    context: click.Context,
    *,
    file: Path,
    agent: str | None,
    cwd: Path | None,
    timeout: float,
    pace: float,
    on_miss: Literal["fail", "forward"],
    allow: AllowLevel | None,
    output: Path | None,
    allow_redacted: bool,
    trust: bool,
    dialect: str | None,
    learn: bool,
    level: Level,
    strict: tuple[str, ...],
    expect: Path | None,
    ignored: tuple[str, ...],
    is_all: bool,
    format_: str,
) -> int:
    """Play the client of the recording FILE against a fresh AGENT, and compare what that does.

    It is compared by meaning. Exits with 0 if all is as recorded, with 1 if it is not, and with 3
    if the agent exits early.

    \b
    acp-console replay recordings/hello.acp.ndjson demo
    acp-console replay session.acp.ndjson -- my-agent --acp
    acp-console replay --ignore 'update ~ chunk' session.acp.ndjson demo
    acp-console replay --learn session.acp.ndjson -- my-agent --acp

    acp-console mock plays the recorded agent for a client; acp-console snapshot needs neither.
    """  # noqa: D301 - the mark by which click keeps lines apart
    chosen = chosen_agent(context, agent)
    if chosen is not None and dialect is not None:
        chosen = chosen.with_protocol(None, dialect)
    if chosen is None:
        raise UsageError(
            "missing AGENT: the command in a recording is never run automatically",
            "name an agent, or give its command after --",
        )
    comparison = ComparisonOptions.of(level, strict, expect, ignored, recording=file)
    forwards = on_miss == "forward"
    check_options(cwd, allow, output, learns=learn, forwards=forwards)
    recording = read_whole(file)
    frames = recording.frames
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
        advance, journal = counting(len(frames), "messages"), Journal()
        journal.subscribe(lambda entry: advance() if isinstance(entry, Frame) else None)
        result = await client.play(journal, comparison.options)
        if format_ == "json":
            print_json({"file": str(file), **result.to_json()})
        else:
            text = result.render(limit=None if is_all else MAX_DIFFERENCES_SHOWN)
            click.echo(f"{escape_controls(file.name)}: {text}")
        if result.has_agent_ended:
            return exit_codes.AGENT
        return comparison.exit_code(is_passed=result.is_passed)

    return run_until_signal(play)
