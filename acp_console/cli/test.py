"""`acp-console test`: play recordings as regression tests."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, cast, get_args

import click
from click.core import ParameterSource

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import AgentCommand, Duration, chosen_agent, complete_agent
from acp_console.cli.baselines import (
    Baseline,
    Ignored,
    Issue,
    baseline_options,
    ignore_names_option,
)
from acp_console.cli.errors import UsageError, exit_code, fail, say, warn
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.replay import MAX_DIFFERENCES_SHOWN
from acp_console.cli.run_async import run_until_signal
from acp_console.wording.build_summary import build_summary
from acp_console.wording.values import format_seconds, plural
from acp_inspector.compare.steps import Level
from acp_inspector.recording.format import RecordingError
from acp_inspector.replay.client_player import STEP_TIMEOUT
from acp_inspector.replay.trust import project_trust
from acp_inspector.testing.clients import AGENT_MARK, CLIENT_TIMEOUT, play_client
from acp_inspector.testing.recording_test import (
    NOT_UPDATED,
    PlayOptions,
    PlayOutcome,
    Shard,
    Status,
    find_recordings,
    junit_report,
    run_recording,
    run_recordings,
)
from acp_protocol.errors import describe_os_error
from acp_protocol.host.agent_command import resolved_command
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


@click.command(name="test", cls=AgentCommand, docs="testing.md", is_check=True)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Play them against this agent; or give its command after --.",
)
@click.option(
    "--client",
    metavar="CMD",
    help=f"Test a client instead: run this command with the recorded agent, which {AGENT_MARK} in "
    "it becomes.",
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
    help="Time limit for each expected message, in seconds or with a unit: 90, 500ms, 5m. With "
    "--client: for the whole run of the client, by default 60.",
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
    help="Play recordings also if they act: if they name MCP servers, allow permissions, set "
    "modes, have broken frames, or, with --client, have the client write files and run commands.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write a report for build servers.",
)
@click.option("--all", "is_all", is_flag=True, help="Show every difference of every kind.")
@ignore_names_option("NAME", "slow-*.acp.ndjson")
@baseline_options
@format_option(
    ("text", "json", "markdown"),
    "json: one object with all differences; markdown: a summary for the page of a build.",
)
@click.pass_context
def command(
    context: click.Context,
    *,
    paths: tuple[Path, ...],
    agent: str | None,
    client: str | None,
    jobs: int,
    level: Level,
    timeout: float,
    shard: Shard | None,
    update: bool,
    allow_redacted: bool,
    trust: bool,
    junit: Path | None,
    ignored: tuple[str, ...],
    baseline: Path | None,
    update_baseline: bool,
    is_all: bool,
    format_: str,
) -> int:
    """Play recordings as tests: the files, and all *.acp.ndjson below the directories.

    Each is played as `acp-console replay` plays it, in a new directory of its own. Without PATH,
    the recordings below the current directory are played. Exits with 0 if all pass, with 1 if one
    differs.

    With --client each recording is the agent of a client, which must send what is recorded.

    \b
    acp-console test recordings --agent demo
    acp-console test -n 4 --junit report.xml recordings -- my-agent --acp
    acp-console test --update recordings -- my-agent --acp
    acp-console test --baseline known.json recordings -- my-agent --acp
    acp-console test --client 'my-client --agent {agent}' recordings
    """  # noqa: D301 - the mark by which click keeps lines apart
    if update and level == "strict":
        raise UsageError("--update writes what differs in meaning", "leave out --level strict")
    chosen = chosen_agent(context, agent)
    trusted = project_trust(Path.cwd(), is_given=trust)
    is_named = chosen is not None or client is not None
    played = _without(_found(paths or (Path(),), shard, is_named=is_named), ignored)
    known = Baseline(baseline, "test", is_updating=update_baseline)
    play_one: Callable[[Path], Awaitable[PlayOutcome]]
    if client is not None:
        is_default = context.get_parameter_source("timeout") is ParameterSource.DEFAULT
        play_one = partial(
            play_client,
            command=_client_command(context, client),
            level=level,
            timeout=CLIENT_TIMEOUT if is_default else timeout,
            trust=trusted,
        )
    else:
        command = () if chosen is None else chosen.absolute_command()
        options = PlayOptions(
            command=command,
            level=level,
            timeout=timeout,
            trust=trusted,
            allows_redacted=allow_redacted,
            is_updating=update,
            env=None if chosen is None else {**os.environ, **chosen.env},
        )
        play_one = partial(run_recording, options=options)

    show = partial(_show, known=known, is_text=format_ == "text")

    async def play() -> int:
        outcomes = await run_recordings(played, play_one, jobs=jobs, on_outcome=show)
        outcomes, gone = _settled(outcomes, known)
        counts = Counter[Status](each.status for each in outcomes)
        if format_ == "json":
            every = [each.to_json() for each in outcomes]
            found: dict[str, Json] = {
                "recordings": cast("Json", every),
                "counts": cast("Json", dict(counts)),
                "gone": gone,
            }
            print_json(found)
        elif format_ == "markdown":
            click.echo(_markdown(outcomes), nl=False)
        else:
            _print_details(outcomes, is_all=is_all)
            click.echo(f"\n{_summary(outcomes)}")
        if junit is not None:
            _write_report(junit, outcomes)
        return _exit_code(outcomes)

    return run_until_signal(play)


def _found(paths: Sequence[Path], shard: Shard | None, *, is_named: bool) -> list[Path]:
    """Return the recordings to play; `is_named` is whether an agent or a client was named.

    Raises:
        UsageError: there are none.
    """
    try:
        found = find_recordings(paths)
    except RecordingError as problem:
        hint = "" if is_named else "an agent's command comes after --, its name after --agent"
        raise UsageError(problem.summary, hint) from None
    if not found:
        raise UsageError("there are no recordings", "name files, or directories with *.acp.ndjson")
    return [path for path in found if shard is None or os.path.relpath(path) in shard]


def _without(played: Sequence[Path], ignored: Sequence[str]) -> list[Path]:
    """Return the recordings that no name or path of `--ignore` matches.

    Raises:
        UsageError: a pattern matches none, or no recording is left.
    """
    paths = {path: os.path.relpath(path) for path in played}
    left_out = Ignored(ignored, [*paths.values(), *(path.name for path in played)], "recording")
    kept = [
        path for path, each in paths.items() if each not in left_out and path.name not in left_out
    ]
    if played and not kept:
        raise UsageError("--ignore: no recording is left")
    return kept


def _settled(
    outcomes: Sequence[PlayOutcome], baseline: Baseline
) -> tuple[Sequence[PlayOutcome], Json]:
    """Return the outcomes with the failures marked that the baseline holds, and what is gone."""
    if not baseline.is_used:
        return outcomes, []
    places = [baseline.place(each.path) for each in outcomes]
    failed = [each.status in {"failed", "error"} for each in outcomes]
    issues = [
        Issue(place, each.status)
        for place, each, has_failed in zip(places, outcomes, failed, strict=True)
        if has_failed
    ]
    found = baseline.settle(issues, lambda issue: issue.where in places)
    known = iter(found.known)
    marked = [
        replace(each, is_known=has_failed and next(known))
        for each, has_failed in zip(outcomes, failed, strict=True)
    ]
    return marked, found.gone_json()


def _client_command(context: click.Context, client: str) -> Sequence[str]:
    """Return the words of a client's command.

    Raises:
        UsageError: it is no command, or an option was given that is about an agent under test.
    """
    names = {"agent": "--agent", "update": "--update", "allow_redacted": "--allow-redacted"}
    given = [name for param, name in names.items() if context.params[param]]
    if given or context.meta.get("agent_command") is not None:
        what = given[0] if given else "a command after --"
        raise UsageError(f"{what} does not go with --client", "the agent is the recorded one")
    try:
        words = resolved_command(client, Path.cwd())
    except ValueError as problem:
        raise UsageError(f"--client: {problem}: {client}") from None
    if not any(AGENT_MARK in word for word in words):
        raise UsageError(
            f"--client: there is no {AGENT_MARK} in {shlex.quote(client)}",
            f"put {AGENT_MARK} where the client takes the command of its agent",
        )
    return words


def _show(outcome: PlayOutcome, known: Baseline, *, is_text: bool) -> None:
    for note in outcome.notes:
        warn(f"{outcome.path}, {note}")
    if outcome.handed:
        say(f"{outcome.path} hands to the agent: {outcome.handed}")
    if is_text:
        issue = Issue(known.place(outcome.path), outcome.status)
        _print_line(replace(outcome, is_known=known.holds(issue)))


def _print_line(outcome: PlayOutcome) -> None:
    status = click.style(f"{outcome.status:7}", fg=_COLOURS[outcome.status])
    name = single_line(str(outcome.path), _NAME_WIDTH)
    click.echo(f"{status}  {name}  {format_seconds(outcome.seconds)}{_remarks(outcome)}")


def _remarks(outcome: PlayOutcome) -> str:
    """Return how much a recording that passed needed, or that its failure is known."""
    if outcome.is_known:
        return "  (known)"
    if outcome.result is None or outcome.status != "passed":
        return ""
    tolerated, notes = sum(outcome.result.tolerated.values()), len(outcome.result.notes)
    counts = [f"{tolerated} tolerated"] if tolerated else []
    counts += [plural(notes, "note")] if notes else []
    return f"  ({', '.join(counts)})" if counts else ""


def _print_details(outcomes: Sequence[PlayOutcome], *, is_all: bool) -> None:
    for outcome in outcomes:
        if outcome.status in {"passed", "skipped"} or outcome.is_known:
            continue
        text = outcome.text
        if outcome.result is not None and not is_all:
            text = outcome.result.render(limit=MAX_DIFFERENCES_SHOWN)
            _, mark, reason = outcome.text.partition(NOT_UPDATED)
            text += mark + reason
        click.echo(f"\n{escape_controls(str(outcome.path))}: {text}")


def _summary(outcomes: Sequence[PlayOutcome]) -> str:
    counts = Counter(each.status for each in outcomes)
    known = Counter(each.status for each in outcomes if each.is_known)
    words = [
        f"{counts[status]} {status}" + (f" ({known[status]} known)" if known[status] else "")
        for status in get_args(Status)
        if counts[status]
    ]
    return ", ".join(words) or "no recording is in this shard"


def _markdown(outcomes: Sequence[PlayOutcome]) -> str:
    failed = [each for each in outcomes if each.status in {"failed", "error"} and not each.is_known]
    return build_summary(
        f"ACP tests, {plural(len(outcomes), 'recording')}",
        _summary(outcomes),
        is_passed=not failed,
        columns=("recording", "status", "first problem"),
        rows=[(os.path.relpath(each.path), each.status, each.summary) for each in failed],
    )


def _write_report(path: Path, outcomes: Sequence[PlayOutcome]) -> None:
    try:
        path.write_text(junit_report(outcomes, "acp-console test"))
    except OSError as problem:
        raise UsageError(f"--junit: cannot write {path}: {describe_os_error(problem)}") from None


def _exit_code(outcomes: Sequence[PlayOutcome]) -> int:
    if any(each.status == "failed" and not each.is_known for each in outcomes):
        return exit_codes.FOUND
    for each in outcomes:
        if each.problem is not None and not each.is_known:
            return exit_code(each.problem)
    if outcomes and all(each.status == "skipped" for each in outcomes):
        fail("no recording was played: no agent was named", "give --agent NAME or -- COMMAND")
        return exit_codes.USAGE
    if any(each.status == "skipped" for each in outcomes):
        say("some recordings were not played, because no agent was named")
    return exit_codes.DONE
