"""`acp-console test agent`: play recordings against an agent."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Final

import click

from acp_console.agents.spec import ACP_AGENT, AgentSpec
from acp_console.cli.agent_option import (
    CommandWithPeer,
    agent_dialect_option,
    chosen_agent,
    complete_agent,
    remote_options,
)
from acp_console.cli.comparing import level_option
from acp_console.cli.errors import UsageError
from acp_console.cli.playing import allow_redacted_option, timeout_option, trust_option
from acp_console.cli.test.runs import TestRuns, run_options
from acp_inspector.compare.steps import Level
from acp_inspector.recording.reader import read_header
from acp_inspector.replay.client_player import STEP_TIMEOUT
from acp_inspector.replay.trust import project_trust
from acp_inspector.testing.recording_test import PlayOptions, run_recording
from acp_protocol.host.sanitize import single_line

COMMAND_WIDTH: Final = 80
"""Characters of a command of a recording, at most."""


@click.command(
    name="agent",
    cls=CommandWithPeer,
    topic="testing",
    is_check=True,
    hints={"--client": "acp-console test client PATH -- COMMAND runs a client"},
    shows_progress=True,
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Play them against this agent; or give its command after --.",
)
@level_option
@timeout_option(STEP_TIMEOUT, "Time limit for each expected message")
@click.option(
    "--update",
    is_flag=True,
    help="Write what the agent does now into the recordings that differ, and show the differences.",
)
@allow_redacted_option
@trust_option("names MCP servers, allows permissions, sets modes or has broken frames")
@agent_dialect_option
@remote_options
@run_options
@click.pass_context
def command(
    context: click.Context,
    *,
    paths: tuple[Path, ...],
    agent: str | None,
    level: Level,
    timeout: float,
    update: bool,
    allow_redacted: bool,
    trust: bool,
    dialect: str | None,
    runs: TestRuns,
) -> int:
    """Play recordings against an agent: the files, and all *.acp.ndjson below the directories.

    Each is played as acp-console replay plays it, in a new directory of its own. Without PATH, the
    recordings below the current directory are played. Without an agent, those that have a snapshot
    are compared with it. Exits with 0 if all pass, with 1 if one differs.

    \b
    acp-console test recordings/*.acp.ndjson --agent demo
    acp-console test -n 4 --junit it.xml recordings/*.acp.ndjson -- my-agent
    acp-console test --update recordings/*.acp.ndjson -- my-agent --acp
    acp-console test --baseline known.json recordings/*.acp.ndjson -- my-agent
    """  # noqa: D301 - the mark by which click keeps lines apart
    if update and level == "strict":
        raise UsageError("--update writes what differs in meaning", "leave out --level strict")
    chosen = chosen_agent(context, agent)
    if chosen is not None and dialect is not None:
        chosen = chosen.with_protocol(None, dialect)
    options = PlayOptions(
        agent=() if chosen is None else chosen.remote or chosen.absolute_command(),
        level=level,
        timeout=timeout,
        trust=project_trust(Path.cwd(), is_given=trust),
        allows_redacted=allow_redacted,
        is_updating=update,
        env=None if chosen is None else {**os.environ, **chosen.env},
        dialect=None if chosen is None else chosen.dialect,
    )
    hint = (
        ""
        if chosen
        else "an agent's command comes after --, its name after --agent, its URL after --url"
    )
    explain = partial(_other_commands, chosen)
    return runs.play(paths, partial(run_recording, options=options), hint, explain)


def _other_commands(agent: AgentSpec | None, failed: Sequence[Path]) -> str:
    """Return how many of the recordings were made with another command than the agent's."""
    if agent is None or agent.remote is not None:
        return ""
    words = agent.command
    if agent.is_embedded_demo:
        words = ("acp-agent", *words[len(ACP_AGENT) :])
    headers = map(read_header, failed)
    others = [each for header in headers if (each := _known(header.command)) != _known(words)]
    if not others:
        return ""
    example = single_line(shlex.join(min(others, key=len)), COMMAND_WIDTH)
    many = "all" if len(others) == len(failed) else f"{len(others)} of the {len(failed)}"
    return f"{many} that failed were recorded with another command, such as {example}"


def _known(command: Sequence[str]) -> list[str]:
    """Return what matters of an agent's command."""
    words = [each for each in command if each != "--no-config"]
    return [PurePath(words[0]).name, *words[1:]] if words else []
