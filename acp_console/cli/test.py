"""`acp-console test`: play recordings as regression tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import AgentCommand, Duration, chosen_agent, complete_agent
from acp_console.cli.errors import UsageError, exit_code, fail, say, warn
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.replay import MAX_DIFFERENCES_SHOWN
from acp_console.cli.run_async import run_until_signal
from acp_console.render.values import format_seconds
from acp_inspector.analysis.steps import Level
from acp_inspector.replay.player import STEP_TIMEOUT
from acp_inspector.replay.testing import (
    Outcome,
    PlayOptions,
    Shard,
    Status,
    find_recordings,
    junit_report,
    resolved_command,
    run_recordings,
)
from acp_protocol.errors import describe_os_error
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json

_NAME_WIDTH: Final = 200
_COLOURS: Final[dict[Status, str]] = {
    "passed": "green",
    "updated": "yellow",
    "skipped": "yellow",
    "failed": "red",
    "error": "red",
}


class _ShardParam(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic in newer click
    name = "shard"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> Shard:
        try:
            return Shard.parse(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


@click.command(name="test", cls=AgentCommand, docs="testing.md")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Play them against this agent; or give its command after --.",
)
@click.option(
    "-n",
    "jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="NUMBER",
    help="Play so many at a time.",
)
@click.option(
    "--level",
    type=click.Choice(get_args(Level)),
    default="semantic",
    show_default=True,
    help="How closely messages are compared.",
)
@click.option(
    "--timeout",
    type=Duration(),
    default=STEP_TIMEOUT,
    show_default=True,
    metavar="DURATION",
    help="Time limit for each expected message, in seconds or with a unit: 90, 500ms, 5m.",
)
@click.option(
    "--shard", type=_ShardParam(), metavar="I/N", help="Play only this part of the recordings."
)
@click.option(
    "--update",
    is_flag=True,
    help="Write what the agent does now into the recordings that differ, and show the differences.",
)
@click.option(
    "--allow-redacted",
    is_flag=True,
    help="Send placeholders where secrets were removed from a recording.",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Hand the agent MCP servers, and directories that cannot be replaced.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write a report for build servers.",
)
@click.option("--all", "is_all", is_flag=True, help="Show every difference of every kind.")
@format_option(("text", "json"), "json: one object with all differences.")
@click.pass_context
def command(
    context: click.Context,
    *,
    paths: tuple[Path, ...],
    agent: str | None,
    jobs: int,
    level: Level,
    timeout: float,
    shard: Shard | None,
    update: bool,
    allow_redacted: bool,
    trust: bool,
    junit: Path | None,
    is_all: bool,
    format_: str,
) -> int:
    """Play recordings as tests: the files, and all *.acp.ndjson below the directories.

    Each is played as `acp-console replay` plays it, in a new directory of its own. Without PATH,
    the recordings below the current directory are played. Exits with 0 if all pass, with 1 if one
    differs.

    \b
    acp-console test recordings --agent demo
    acp-console test -n 4 --junit report.xml recordings -- my-agent --acp
    acp-console test --update recordings -- my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    chosen = chosen_agent(context, agent)
    found = find_recordings(paths or (Path(),))
    if not found:
        raise UsageError("there are no recordings", "name files, or directories with *.acp.ndjson")
    played = [path for path in found if shard is None or os.path.relpath(path) in shard]
    options = PlayOptions(
        command=() if chosen is None else resolved_command(chosen.absolute_command(), Path.cwd()),
        level=level,
        timeout=timeout,
        is_trusted=trust,
        allows_redacted=allow_redacted,
        is_updating=update,
        env=None if chosen is None else {**os.environ, **chosen.env},
    )

    def show(outcome: Outcome) -> None:
        for note in outcome.notes:
            warn(f"{outcome.path}, {note}")
        if format_ == "text":
            _print_line(outcome)

    async def play() -> int:
        outcomes = await run_recordings(played, options, jobs=jobs, on_outcome=show)
        counts = Counter[Status](each.status for each in outcomes)
        if format_ == "json":
            every = [each.to_json() for each in outcomes]
            print_json({"recordings": cast("Json", every), "counts": cast("Json", dict(counts))})
        else:
            _print_details(outcomes, is_all=is_all)
            click.echo(_summary(counts))
        if junit is not None:
            _write_report(junit, outcomes)
        return _exit_code(outcomes)

    return run_until_signal(play)


def _print_line(outcome: Outcome) -> None:
    status = click.style(f"{outcome.status:7}", fg=_COLOURS[outcome.status])
    name = single_line(str(outcome.path), _NAME_WIDTH)
    click.echo(f"{status}  {name}  {format_seconds(outcome.seconds)}")


def _print_details(outcomes: Sequence[Outcome], *, is_all: bool) -> None:
    for outcome in outcomes:
        if outcome.status in {"passed", "skipped"}:
            continue
        text = outcome.text
        if outcome.result is not None and not is_all:
            text = outcome.result.render(limit=MAX_DIFFERENCES_SHOWN)
        click.echo(f"\n{escape_controls(str(outcome.path))}: {text}")


def _summary(counts: Counter[Status]) -> str:
    known = (f"{counts[status]} {status}" for status in get_args(Status) if counts[status])
    return f"\n{', '.join(known) or 'no recording is in this shard'}"


def _write_report(path: Path, outcomes: Sequence[Outcome]) -> None:
    try:
        path.write_text(junit_report(outcomes, "acp-console test"))
    except OSError as problem:
        raise UsageError(f"--junit: cannot write {path}: {describe_os_error(problem)}") from None


def _exit_code(outcomes: Sequence[Outcome]) -> int:
    if any(each.status == "failed" for each in outcomes):
        return exit_codes.FOUND
    for each in outcomes:
        if each.problem is not None:
            return exit_code(each.problem)
    if outcomes and all(each.status == "skipped" for each in outcomes):
        fail("no recording was played: no agent was named", "give --agent NAME or -- COMMAND")
        return exit_codes.USAGE
    if any(each.status == "skipped" for each in outcomes):
        say("some recordings were not played, because no agent was named")
    return exit_codes.DONE
