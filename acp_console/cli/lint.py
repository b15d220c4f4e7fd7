"""`acp-console lint`: what in a recording breaks the protocol, and what to do about it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

import click

from acp_console.cli import exits
from acp_console.cli.lint_rules import print_rules
from acp_console.cli.lint_text import print_report
from acp_console.cli.notes import annotate
from acp_console.cli.printer import ascii_json
from acp_console.cli.problems import say
from acp_console.cli.studies import filter_of, filter_option, tell_complaint
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.reading import Reader
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.filter.language import Filter
from acp_inspector.journal import Frame, JournalEvent, StderrText
from acp_inspector.lint.catalogue import SEVERITIES
from acp_inspector.lint.engine import Finding, Linter, Report
from acp_inspector.recording.reader import LineFault, read_lines
from acp_protocol.dialects.catalogue import DIALECTS
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json", "sarif", "junit"]
FailOn: TypeAlias = Literal["error", "warning", "info", "never"]

KEPT: Final = 1000
"""Findings that are kept of each rule and file; what goes beyond is counted."""
VERSION: Final = 1
"""Of the JSON that is printed."""


@dataclass(slots=True)
class _Linted:
    """What came of one file."""

    report: Report
    lines: array[int] = field(default_factory=lambda: array("Q"))
    """The line of each entry, by its number."""


@click.command(name="lint")
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="json: one object; sarif: for code hosts and editors; junit: for build servers.",
)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="Exit with 1 when a finding is at least that grave. Heuristics never count.",
)
@click.option(
    "--unstable", is_flag=True, help="Judge what is not stable yet, instead of naming it."
)
@click.option(
    "--dialect", type=click.Choice(list(DIALECTS)), help="Judge frames by what they mean in it."
)
@filter_option('Show only what is proven by frames that EXPR means, such as "session == s1".')
@click.option("--all", "is_all", is_flag=True, help="Show every finding of every rule.")
@click.option(
    "--rules", is_flag=True, help="List the rules instead; FILE... may name some of them."
)
def command(
    *,
    files: tuple[Path, ...],
    format_: Format,
    fail_on: FailOn,
    unstable: bool,
    dialect: str | None,
    text: str,
    is_all: bool,
    rules: bool,
) -> int:
    """Hold the recordings FILE... against the rules of the protocol.

    Each finding names the rule, the frames that prove it, and what to do. A rule that had nothing
    to look at is counted as such: that it found nothing says nothing.

    \b
    acp-console lint session.acp.ndjson
    acp-console lint --fail-on warning --format junit recordings/*.acp.ndjson > lint.xml
    acp-console lint --filter 'session == s1' session.acp.ndjson
    acp-console lint --rules ACP-L134
    """  # noqa: D301 - the mark by which click keeps lines apart
    if rules:
        return print_rules([str(file) for file in files], format_)
    if not files:
        raise click.UsageError("name a recording, or ask for --rules")
    wanted = filter_of(text)
    linted = {str(file): _lint(file, wanted, unstable=unstable, dialect=dialect) for file in files}
    _print(linted, format_, fail_on, is_all=is_all)
    tell_complaint(wanted)
    for file, each in linted.items():
        for name in sorted(each.report.dialects):
            say(f"{file} sounds like {name}; --dialect {name} judges what is meant")
        for rule, problem in each.report.failed.items():
            say(f"{rule} could not be judged, by a mistake of ours: {problem}")
    failing = [
        finding
        for each in linted.values()
        for finding in each.report.findings
        if fails(finding, fail_on)
    ]
    return exits.FOUND if failing else exits.DONE


def fails(finding: Finding, fail_on: FailOn) -> bool:
    """Tell whether a finding makes the command fail."""
    if fail_on == "never" or finding.rule.basis == "H":
        return False
    return SEVERITIES.index(finding.severity) >= SEVERITIES.index(fail_on)


def _lint(file: Path, wanted: Filter, *, unstable: bool, dialect: str | None) -> _Linted:
    linter = Linter(unstable=unstable, dialect=dialect, limit=KEPT)
    linted = _Linted(linter.report)
    exchanges = None if wanted.is_empty else Exchanges()
    reader = Reader()
    for line, row in enumerate(read_lines(file), start=1):
        if isinstance(row, LineFault):
            say(f"{file}, line {row.line}: {row.reason}")
        elif isinstance(row, Frame | StderrText | JournalEvent):
            linted.lines.extend([line] * (row.n + 1 - len(linted.lines)))
            linter.feed(row)
            if exchanges is not None and isinstance(row, Frame):
                exchanges.apply_all(row, reader.messages(row))
    linter.finish()
    if exchanges is not None:
        _keep(linter.report, _meant(file, wanted, exchanges))
    return linted


def _meant(file: Path, wanted: Filter, exchanges: Exchanges) -> set[int]:
    """Return the frames that a filter means, now that all of the recording is known."""
    known = annotate(file, wanted)
    return {
        row.n
        for row in read_lines(file)
        if isinstance(row, Frame)
        and wanted.matches(FrameFacts(row, exchanges, notes=known.of(row)))
    }


def _keep(report: Report, meant: set[int]) -> None:
    """Leave only the findings that are proven by frames a filter means."""
    report.findings = [each for each in report.findings if meant.intersection(each.frames)]
    report.counts.clear()
    report.counts.update(each.severity for each in report.findings)
    report.omitted.clear()


def _print(
    linted: Mapping[str, _Linted], format_: Format, fail_on: FailOn, *, is_all: bool
) -> None:
    reports = {file: each.report for file, each in linted.items()}
    match format_:
        case "text":
            for file, report in reports.items():
                print_report(file, report, is_all=is_all)
        case "json":
            click.echo(ascii_json(lint_json(reports)))
        case "sarif":
            from acp_inspector.lint.sarif import sarif

            lines = {file: dict(enumerate(each.lines)) for file, each in linted.items()}
            found = {file: report.findings for file, report in reports.items()}
            click.echo(ascii_json(sarif(found, lines)))
        case "junit":
            from acp_inspector.lint.junit import junit

            click.echo(junit(reports, lambda finding: fails(finding, fail_on)))


def lint_json(reports: Mapping[str, Report]) -> dict[str, Json]:
    """Return reports as JSON, by the names of their files."""
    findings = [
        _finding_json(file, each) for file, report in reports.items() for each in report.findings
    ]
    every = list(reports.values())
    exercised = frozenset[str]().union(*(each.exercised for each in every))
    applied = frozenset[str]().union(*(each.applied for each in every))
    return {
        "acp_lint": VERSION,
        "findings": cast("Json", findings),
        "counts": {word: sum(each.counts[word] for each in every) for word in SEVERITIES},
        "omitted": sum(sum(each.omitted.values()) for each in every),
        "exercised": len(exercised & applied),
        "rules": len(applied),
        "idle": _words(sorted(applied - exercised)),
        "versions": sorted({version for each in every for version in each.versions}),
        "dialects": _words(sorted({name for each in every for name in each.dialects})),
    }


def _words(words: Sequence[str]) -> Json:
    return list(words)


def _finding_json(file: str, finding: Finding) -> dict[str, Json]:
    return {
        "file": file,
        "rule": finding.rule.id,
        "severity": finding.severity,
        "basis": finding.rule.basis,
        "frames": list(finding.frames),
        "path": finding.path,
        "message": finding.message,
        "fix": finding.fix,
        "source": finding.rule.source,
    }
