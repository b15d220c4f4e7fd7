"""Options of `acp-console test` for both sides: which recordings are played, and the report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeAlias, cast, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.baselines import (
    Baseline,
    Ignored,
    Issue,
    baseline_options,
    ignore_names_option,
)
from acp_console.cli.command import Decorated
from acp_console.cli.comparing import MAX_DIFFERENCES_SHOWN, all_option
from acp_console.cli.errors import UsageError, exit_code, fail, say, warn
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.param_types import Parsed
from acp_console.cli.printing import print_parts
from acp_console.cli.progress import counting
from acp_console.cli.run_async import run_until_signal
from acp_console.wording.build_summary import build_summary
from acp_console.wording.values import format_seconds, plural
from acp_inspector.recording.finding import find_recordings
from acp_inspector.recording.format import RecordingError
from acp_inspector.testing.recording_test import (
    NOT_UPDATED,
    PlayOutcome,
    Shard,
    Status,
    junit_report,
    run_recordings,
)
from acp_protocol.errors import describe_os_error
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json

PlayOne: TypeAlias = Callable[[Path], Awaitable[PlayOutcome]]

_NAME_WIDTH: Final = 200
_COLOURS: Final[dict[Status, str]] = {
    "passed": "green",
    "updated": "yellow",
    "skipped": "yellow",
    "failed": "red",
    "error": "red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRuns:
    """Which recordings are played, how many at a time, and what is reported."""

    jobs: int
    shard: Shard | None
    ignored: Sequence[str]
    baseline: Baseline
    junit: Path | None
    format: str
    is_all: bool

    def play(
        self,
        paths: Sequence[Path],
        play_one: PlayOne,
        hint: str = "",
        explain: Callable[[Sequence[Path]], str] = lambda failed: "",
    ) -> int:
        """Play the recordings and report the outcomes; return the exit code.

        Args:
            paths: Files and directories; none: the current directory.
            play_one: Plays one recording.
            hint: What to do if a path cannot be read.
            explain: Returns what recordings that failed have in common; empty: nothing.

        Raises:
            UsageError: there are no recordings.
        """
        played = self._without_ignored(self._found(paths or (Path(),), hint))
        is_text = self.format == "text"
        advance = counting(len(played), "recordings")

        def show(outcome: PlayOutcome) -> None:
            _show(outcome, self.baseline, is_text=is_text)
            advance()

        async def play() -> int:
            outcomes = await run_recordings(played, play_one, jobs=self.jobs, on_outcome=show)
            outcomes, gone = _settled(outcomes, self.baseline)
            self._print(outcomes, gone)
            failed = [each.path for each in outcomes if each.status == "failed"]
            if is_text and (reason := explain(failed)):
                say(reason)
            if self.junit is not None:
                _write_report(self.junit, outcomes)
            return _exit_code(outcomes)

        return run_until_signal(play)

    def _found(self, paths: Sequence[Path], hint: str) -> list[Path]:
        try:
            found = find_recordings(paths)
        except RecordingError as problem:
            raise UsageError(problem.summary, hint) from None
        if not found:
            raise UsageError(
                "there are no recordings", "name files, or directories with *.acp.ndjson"
            )
        return [path for path in found if self.shard is None or os.path.relpath(path) in self.shard]

    def _without_ignored(self, played: Sequence[Path]) -> list[Path]:
        """Return the recordings that no name or path of `--ignore` matches."""
        paths = {path: os.path.relpath(path) for path in played}
        known = [*paths.values(), *(path.name for path in played)]
        left_out = Ignored(self.ignored, known, "recording")
        kept = [
            path
            for path, each in paths.items()
            if each not in left_out and path.name not in left_out
        ]
        if played and not kept:
            raise UsageError("--ignore: no recording is left")
        return kept

    def _print(self, outcomes: Sequence[PlayOutcome], gone: Json) -> None:
        if self.format == "json":
            every = [each.to_json() for each in outcomes]
            counts = Counter[Status](each.status for each in outcomes)
            found: dict[str, Json] = {
                "recordings": cast("Json", every),
                "counts": cast("Json", dict(counts)),
                "gone": gone,
            }
            print_json(found)
        elif self.format == "markdown":
            click.echo(_markdown(outcomes), nl=False)
        else:
            _print_details(outcomes, is_all=self.is_all)
            click.echo(f"\n{_summary(outcomes)}")


def run_options(command: Decorated) -> Decorated:
    """Add the options of both sides to a command; its parameter is `runs`."""

    @wraps(command)
    def run(
        *args: Any,
        jobs: int,
        shard: Shard | None,
        ignored: tuple[str, ...],
        baseline: Path | None,
        update_baseline: bool,
        junit: Path | None,
        format_: str,
        is_all: bool,
        **options: Any,
    ) -> object:
        runs = TestRuns(
            jobs=jobs,
            shard=shard,
            ignored=ignored,
            baseline=Baseline(baseline, "test", is_updating=update_baseline),
            junit=junit,
            format=format_,
            is_all=is_all,
        )
        return command(*args, runs=runs, **options)

    options = (
        click.option(
            "-n",
            "jobs",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            metavar="NUMBER",
            help="Play so many at a time.",
        ),
        click.option(
            "--shard",
            type=Parsed("shard", Shard.parse),
            metavar="I/N",
            help="Play only this part of the recordings.",
        ),
        click.option(
            "--junit",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Also write a report for build servers.",
        ),
        all_option,
        ignore_names_option("NAME", "slow-*.acp.ndjson"),
        baseline_options,
        format_option(
            ("text", "json", "markdown"),
            "json: one object with all differences; markdown: a summary for the page of a build.",
        ),
    )
    decorated: Callable[..., object] = run
    for option in reversed(options):
        decorated = option(decorated)
    return cast("Decorated", decorated)


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


def _show(outcome: PlayOutcome, known: Baseline, *, is_text: bool) -> None:
    for note in outcome.notes:
        warn(f"{outcome.path}, {note}")
    if outcome.handed:
        say(f"{outcome.path} hands to the agent: {outcome.handed}")
    if is_text:
        issue = Issue(known.place(outcome.path), outcome.status)
        _print_line(replace(outcome, is_known=known.holds(issue)))


def _print_line(outcome: PlayOutcome) -> None:
    status = (f"{outcome.status:7}", _COLOURS[outcome.status])
    name = single_line(str(outcome.path), _NAME_WIDTH)
    print_parts(status, f"  {name}  {format_seconds(outcome.seconds)}{_remarks(outcome)}")


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
