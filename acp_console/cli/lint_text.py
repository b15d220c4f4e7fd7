"""Prints what a linter found, for a person to read."""

from __future__ import annotations

from collections import Counter
from typing import Final

import click
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from acp_console.cli.reading import print_plainly
from acp_inspector.lint.catalog import SEVERITIES, Severity
from acp_inspector.lint.engine import Finding, LintReport
from acp_protocol.host.sanitize import escape_controls, single_line

SHOWN: Final = 3
"""Findings that are shown of each rule, unless all are asked for."""
FRAMES: Final = 6
"""Frames that are named of each finding."""
WIDTH: Final = 400
"""Characters of a message, at most: it quotes what came from the wire."""
COLOURS: Final[dict[Severity, str]] = {"error": "red", "warning": "yellow", "info": "cyan"}


def print_report(file: str, report: LintReport, *, is_all: bool) -> None:
    """Print a report: its findings, the gravest first, and what was looked at."""
    click.echo(f"{escape_controls(file)}: {_heading(report)}")
    order = sorted(
        report.findings, key=lambda each: (-SEVERITIES.index(each.severity), each.rule.id)
    )
    shown: Counter[tuple[str, Severity]] = Counter()
    groups: dict[tuple[str, Severity], list[Finding]] = {}
    for each in order:
        key = each.rule.id, each.severity
        shown[key] += 1
        if is_all or shown[key] <= SHOWN:
            groups.setdefault(key, []).append(each)
    for key, found in groups.items():
        more = shown[key] - len(found) + (report.omitted[key[0]] if is_all else 0)
        _print_group(found, more)
    click.echo()
    click.echo(_ending(report))


def _heading(report: LintReport) -> str:
    counts = [f"{report.counts[word]} {_plural(word, report.counts[word])}" for word in _order()]
    versions = ", ".join(f"version {version}" for version in sorted(report.versions))
    return f"{', '.join(counts)}{f' ({versions})' if versions else ''}"


def _order() -> tuple[Severity, ...]:
    return tuple(reversed(SEVERITIES))


def _plural(word: Severity, count: int) -> str:
    return word if word == "info" or count == 1 else f"{word}s"


def _print_group(found: list[Finding], more: int) -> None:
    first = found[0]
    title = Text.assemble(
        (f"{first.severity:<8}", f"bold {COLOURS[first.severity]}"),
        (first.rule.id, "bold"),
        ("  heuristic" if first.rule.basis == "H" else "", "dim"),
        f"  {first.rule.text}",
    )
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column()
    for each in found:
        table.add_row(_frames(each), single_line(each.message, WIDTH))
    if more:
        table.add_row("", Text(f"… and {more} more; --all shows them", style="dim"))
    table.add_row(Text("fix", style="green"), first.fix)
    click.echo()
    print_plainly(Group(title, Padding(table, (0, 0, 0, 2))))


def _frames(finding: Finding) -> str:
    named = [str(frame) for frame in finding.frames[-FRAMES:]]
    return ("… " if len(finding.frames) > FRAMES else "") + ", ".join(f"#{n}" for n in named)


def _ending(report: LintReport) -> str:
    exercised, applied = len(report.exercised & report.applied), len(report.applied)
    failed = len(report.failed.keys() - report.exercised)
    broken = f"; {failed} could not be judged" if failed else ""
    return (
        f"{exercised} of {applied} rules had something to look at; "
        f"that the other {applied - exercised - failed} found nothing says nothing{broken}"
    )
