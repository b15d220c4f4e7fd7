"""`acp-console test client`: run a client with recordings in the place of its agent."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from acp_console.cli.agent_option import CommandWithPeer, given_command
from acp_console.cli.comparing import level_option
from acp_console.cli.errors import UsageError
from acp_console.cli.playing import timeout_option, trust_option
from acp_console.cli.test.runs import TestRuns, run_options
from acp_inspector.compare.steps import Level
from acp_inspector.replay.trust import project_trust
from acp_inspector.testing.clients import AGENT_MARK, CLIENT_TIMEOUT, URL_MARK, play_client
from acp_protocol.host.agent_command import resolved_command

_AGENT = "the agent is the recorded one; acp-console test agent plays against another"


@click.command(
    name="client",
    cls=CommandWithPeer,
    topic="testing",
    is_check=True,
    hints={"--agent": _AGENT, "--update": _AGENT, "--allow-redacted": _AGENT},
    shows_progress=True,
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@level_option
@timeout_option(CLIENT_TIMEOUT, "Time limit for a run of the client")
@trust_option("has the client write files, run commands or call MCP servers")
@run_options
@click.pass_context
def command(
    context: click.Context,
    *,
    paths: tuple[Path, ...],
    level: Level,
    timeout: float,
    trust: bool,
    runs: TestRuns,
) -> int:
    """Run a client with each recording in the place of its agent.

    The client's command comes after --. {agent} in it becomes the command of the recorded agent,
    acp-console mock; or {url} its URL over HTTP, which needs the token that {token} becomes and
    that is in ACP_CONSOLE_TOKEN. The client passes if it sends what is recorded and exits with 0.

    \b
    acp-console test client hello.acp.ndjson -- my-client --agent {agent}
    acp-console test client hello.acp.ndjson -- acp-console exec hello -- {agent}
    acp-console test client hello.acp.ndjson -- my-client {url} {token}
    """  # noqa: D301 - the mark by which click keeps lines apart
    play_one = partial(
        play_client,
        command=_client(given_command(context)),
        level=level,
        timeout=timeout,
        trust=project_trust(Path.cwd(), is_given=trust),
    )
    return runs.play(paths, play_one)


def _client(words: Sequence[str] | None) -> Sequence[str]:
    """Return the command of a client, which starts elsewhere.

    Raises:
        UsageError: there is none, or it does not say where the agent's command goes.
    """
    if not words:
        raise UsageError(
            "missing the client's command after --", f"e.g. -- my-client --agent {AGENT_MARK}"
        )
    if not any(mark in word for word in words for mark in (AGENT_MARK, URL_MARK)):
        raise UsageError(
            f"there is no {AGENT_MARK} in {shlex.join(words)}",
            f"put {AGENT_MARK} where the client takes the command of its agent, or {URL_MARK} "
            "where it takes a URL",
        )
    return resolved_command(words, Path.cwd())
