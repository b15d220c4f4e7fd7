"""Prints a lint report as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
from acp_inspector.lint.catalog import Severity
from acp_inspector.lint.engine import Finding, LintReport
from acp_inspector.lint.registry import rules
from acp_protocol.host.sanitize import escape_controls, single_line

MAX_FINDINGS_SHOWN: Final = 3
"""Findings shown for each rule, without `--all`."""
FRAMES: Final = 6
"""Frames named for each finding, at most."""
COLOURS: Final[dict[Severity, str]] = {"error": "red", "warning": "yellow", "info": "cyan"}


def print_report(
    file: str,
    report: LintReport,
    *,
    unread: int = 0,
    left_out: Mapping[str, int] | None = None,
    is_all: bool,
) -> None:
    """Print a report: its findings, the most severe first, and the rule coverage.

    `left_out` has the number of findings that each option hides.
    """
    counts = _counts([report], left_out or {}, unread)
    versions = ", ".join(f"version {version}" for version in sorted(report.versions))
    colour = next((COLOURS[each] for each in COLOURS if report.counts[each]), "")
    style = f"bold {colour}".rstrip()
    print_line(f"{escape_controls(file)}: {counts}{f' ({versions})' if versions else ''}", style)
    shown: Counter[tuple[str, Severity]] = Counter()
    groups: dict[tuple[str, Severity], list[Finding]] = {}
    for each in sort_findings(report.findings):
        key = each.rule.name, each.severity
        shown[key] += 1
        if is_all or shown[key] <= MAX_FINDINGS_SHOWN:
            groups.setdefault(key, []).append(each)
    # One column for all groups: the eye finds each fix at the same place.
    columns = max((len(frame_numbers(each, FRAMES)) for found in groups.values() for each in found),
                  default=0)  # fmt: skip
    for key, found in groups.items():
        more = shown[key] - len(found) + (report.omitted[key[0]] if is_all else 0)
        _print_group(found, more, max(columns, len("fix")))
    click.echo()
    exercised, applied = rule_coverage(report)
    failed = len(report.failed.keys() - report.exercised)
    broken = f"; {failed} could not be checked" if failed else ""
    unstable = sum(
        each.is_unstable for name, each in rules().items() if name not in report.applicable
    )
    unstable_hint = f"; {unstable} more need --unstable" if unstable else ""
    click.echo(
        f"{exercised} of {applied} rules applied to this recording; "
        f"the other {applied - exercised - failed} had nothing to check{broken}{unstable_hint}"
    )


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
    table.add_column(justify="right", style="bold", no_wrap=True, min_width=columns)
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
