"""Prints a lint report as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import click
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from acp_console.cli.printing import print_line, print_plainly, text_width
from acp_console.wording.build_summary import build_summary
from acp_console.wording.findings import (
    MESSAGE_WIDTH,
    MOST_SEVERE_FIRST,
    frame_numbers,
    rule_coverage,
    severity_word,
    sort_findings,
)
from acp_console.wording.values import plural
from acp_inspector.lint.engine import Finding, LintReport
from acp_inspector.lint.registry import rules
from acp_inspector.views.annotations import Severity
from acp_protocol.host.sanitize import escape_controls, single_line

MAX_FINDINGS_SHOWN: Final = 3
"""Findings shown for each rule, without `--all`."""
FRAMES: Final = 6
"""Frames named for each finding, at most."""
COLOURS: Final[dict[Severity, str]] = {"error": "red", "warning": "yellow", "info": "cyan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReport:
    """What is printed of one file."""

    report: LintReport
    unread: int = 0
    left_out: Mapping[str, int]
    """The number of findings that each option hides."""


def print_reports(reports: Mapping[str, ShownReport], *, is_all: bool) -> None:
    """Print the report of each file, and the sum of several."""
    groups = {file: _groups(each.report, is_all=is_all) for file, each in reports.items()}
    # One column for all: the eye finds each fix at the same place.
    numbers = (
        frame_numbers(each, FRAMES)
        for every in groups.values()
        for found, _ in every
        for each in found
    )
    columns = max(map(len, numbers), default=0)
    for place, (file, each) in enumerate(reports.items()):
        if place:
            click.echo()
        versions = ", ".join(f"version {version}" for version in sorted(each.report.versions))
        about = f" ({versions})" if versions else ""
        counts = _counts([each.report], each.left_out, each.unread)
        style = _counts_style([each.report])
        print_line(f"{escape_controls(file)}: {counts}{about}", style)
        for found, more in groups[file]:
            _print_group(found, more, max(columns, len("fix")))
        click.echo()
        click.echo(_coverage(each.report))
    if len(reports) > 1:
        _print_sum(list(reports.values()))


def _print_sum(every: Sequence[ShownReport]) -> None:
    reports = [each.report for each in every]
    left_out: Counter[str] = Counter()
    for each in every:
        left_out.update(each.left_out)
    counts = _counts(reports, left_out, sum(each.unread for each in every))
    click.echo()
    print_line(f"{plural(len(reports), 'recording')}: {counts}", _counts_style(reports))


def _counts_style(reports: Sequence[LintReport]) -> str:
    colours = (COLOURS[name] for name in COLOURS if any(each.counts[name] for each in reports))
    return f"bold {next(colours, '')}".rstrip()


def _groups(report: LintReport, *, is_all: bool) -> list[tuple[list[Finding], int]]:
    """Return the findings to show of each rule, with the number of the others."""
    found: dict[tuple[str, Severity], list[Finding]] = {}
    for each in sort_findings(report.findings):
        found.setdefault((each.rule.name, each.severity), []).append(each)
    limit = None if is_all else MAX_FINDINGS_SHOWN
    return [
        (each[:limit], len(each) - len(each[:limit]) + (report.omitted[name] if is_all else 0))
        for (name, _), each in found.items()
    ]


def _coverage(report: LintReport) -> str:
    """Return how many of all rules were applied, and why the others were not."""
    exercised, known = rule_coverage(report)
    failed = len(report.failed.keys() - report.exercised)
    others = [each for name, each in rules().items() if name not in report.applicable]
    unstable = sum(each.is_unstable for each in others)
    rest = {
        "had nothing to check": len(report.applicable) - exercised - failed,
        "could not be checked": failed,
        "need --unstable": unstable,
        "are for another version or dialect": len(others) - unstable,
    }
    why = ", ".join(f"{count} {reason}" for reason, count in rest.items() if count)
    return f"{exercised} of {known} rules applied to this recording; {why}"


def markdown_report(
    reports: Mapping[str, LintReport],
    left_out: Mapping[str, int],
    *,
    unread: int,
    is_passed: bool,
) -> str:
    """Return the reports of all files as one table, for the page of a build."""
    found = [(file, each) for file, report in reports.items() for each in report.findings]
    found.sort(key=lambda each: MOST_SEVERE_FIRST.index(each[1].severity))
    rows = [
        (
            *(each.severity, each.rule.name, each.at_fault, file),
            *(frame_numbers(each, FRAMES), each.message, each.fix),
        )
        for file, each in found
    ]
    every = list(reports.values())
    broken = sorted({rule for each in every for rule in each.failed})
    return build_summary(
        f"ACP lint, {plural(len(reports), 'recording')}",
        _counts(every, left_out, unread),
        is_passed=is_passed,
        columns=("severity", "rule", "at fault", "recording", "frames", "problem", "fix"),
        rows=rows,
        notes=[f"could not be checked because of a bug: {', '.join(broken)}"] if broken else (),
    )


def _counts(reports: Sequence[LintReport], left_out: Mapping[str, int], unread: int) -> str:
    counted = sum((each.counts for each in reports), Counter[Severity]())
    counts = ", ".join(
        f"{counted[each]} {severity_word(each, counted[each])}" for each in MOST_SEVERE_FIRST
    )
    if unread:
        counts += f", {plural(unread, 'line')} unreadable"
    hidden = [f"{plural(count, 'finding')} hidden by {by}" for by, count in left_out.items()]
    return f"{counts} ({', '.join(hidden)})" if hidden else counts


def _print_group(found: list[Finding], more: int, columns: int) -> None:
    first = found[0]
    sides = sorted({each.at_fault for each in found})
    title = Text.assemble(
        (f"{first.severity:<8}", f"bold {COLOURS[first.severity]}"),
        (first.rule.name, "bold"),
        (f"  {first.rule.id}", "dim"),
        f"  at fault: {' and '.join(sides)}",
        ("  heuristic" if first.rule.basis == "heuristic" else "", "dim"),
        f"  {first.rule.text}",
    )
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True, min_width=columns)
    table.add_column()
    for each in found:
        message = single_line(each.message, text_width(MESSAGE_WIDTH))
        if len(sides) > 1:
            message += f" (at fault: {each.at_fault})"
        table.add_row(frame_numbers(each, FRAMES), message)
    if more:
        table.add_row("", Text(f"… and {more} more; --all shows them", style="dim"))
    table.add_row(Text("fix", style="green"), first.fix)
    click.echo()
    print_plainly(Group(title, Padding(table, (0, 0, 0, 2))))
