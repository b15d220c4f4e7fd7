"""`acp-console lint`: check recordings against the rules of the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import Command
from acp_console.cli.errors import UsageError, fail, say, warn
from acp_console.cli.format_option import ascii_json, format_option, print_json
from acp_console.cli.lint_rules import print_rules
from acp_console.cli.lint_text import print_report
from acp_console.cli.reading import annotate, filter_option, parse_filter, warn_about_filter
from acp_console.render.values import OUTPUT_VERSION
from acp_inspector.analysis.annotations import LINT_FIELDS
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.filter.compiler import Filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.lint.catalog import SEVERITIES
from acp_inspector.lint.engine import Finding, Linter, LintReport
from acp_inspector.messages import Decoder
from acp_inspector.recording.reader import BadLine, Row, read_lines
from acp_inspector.recording.reframe import reframe
from acp_protocol.dialects.registry import DIALECTS, open_dialect
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json", "sarif", "junit"]
FailOn: TypeAlias = Literal["error", "warning", "info", "never"]

MAX_FINDINGS_KEPT: Final = 1000
"""Findings kept for each rule and file; further ones are only counted."""


@dataclass(slots=True)
class _Linted:
    """The result for one file."""

    report: LintReport
    faults: list[BadLine] = field(default_factory=list[BadLine])
    """The first lines that could not be read."""
    unread: int = 0
    """The number of all lines that could not be read."""
    is_filter_idle: bool = False
    """Whether the filter matches no frame."""

    def fails(self, fail_on: FailOn) -> bool:
        is_damaged = bool(self.unread) and _faults_fail(fail_on)
        return is_damaged or any(fails(finding, fail_on) for finding in self.report.findings)


@click.command(name="lint", cls=Command, docs="lint.md")
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@format_option(
    get_args(Format),
    "json: one object; sarif: for code hosts and editors; junit: for build servers.",
)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="Exit with 1 if a finding is at least that severe. Heuristics never count.",
)
@click.option(
    "--unstable",
    is_flag=True,
    help="Check unstable parts of the protocol instead of only reporting their use.",
)
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    help="Translate frames from this dialect before checking.",
)
@filter_option('Show only findings whose frames match EXPR, such as "session == s1".')
@click.option("--all", "is_all", is_flag=True, help="Show every finding of every rule.")
@click.option(
    "--rules", is_flag=True, help="List the rules and exit; FILE... may name some of them."
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
    """Check recordings against the rules of the protocol.

    Each finding names the rule, the frames that prove it, and the fix. The summary
    counts the rules that had nothing to check.

    \b
    acp-console lint session.acp.ndjson
    acp-console lint --fail-on warning --format junit *.acp.ndjson > lint.xml
    acp-console lint --filter 'session == s1' session.acp.ndjson
    acp-console lint --rules ACP-L134
    """  # noqa: D301 - the mark by which click keeps lines apart
    if rules:
        return print_rules([str(file) for file in files], format_)
    if not files:
        raise UsageError("missing FILE", "name a recording, or use --rules")
    wanted = parse_filter(text)
    limit = None if is_all else MAX_FINDINGS_KEPT
    linted = {
        str(file): _lint(file, wanted, unstable=unstable, dialect=dialect, limit=limit)
        for file in files
    }
    _print(linted, format_, fail_on, is_all=is_all)
    warn_about_filter(wanted)
    for file, each in linted.items():
        if each.report.is_joined:
            say(f"{file}: frames were joined by Content-Length; #n is the line where one begins")
        for name in sorted(each.report.dialects):
            warn(f"{file} looks like the dialect {name}; use --dialect {name}")
        for rule, problem in each.report.failed.items():
            warn(f"{rule} could not be checked because of a bug: {problem}")
    if all(each.is_filter_idle for each in linted.values()):
        fail(f"--filter {text}: no frame matches", "remove or correct it")
        return exit_codes.USAGE
    has_failed = any(each.fails(fail_on) for each in linted.values())
    return exit_codes.FOUND if has_failed else exit_codes.DONE


def fails(finding: Finding, fail_on: FailOn) -> bool:
    if fail_on == "never" or finding.rule.basis == "H":
        return False
    return SEVERITIES.index(finding.severity) >= SEVERITIES.index(fail_on)


def _faults_fail(fail_on: FailOn) -> bool:
    """Return whether unreadable lines make the command fail: they count as warnings."""
    return fail_on in {"warning", "info"}


def _lint(
    file: Path, wanted: Filter, *, unstable: bool, dialect: str | None, limit: int | None
) -> _Linted:
    meant = None if wanted.is_empty else _matching_frames(file, wanted, dialect)
    linter = Linter(
        unstable=unstable,
        dialect=dialect,
        limit=limit,
        counts=None if meant is None else lambda each: not meant.isdisjoint(each.frames),
    )
    # A filter on findings matches no frame of a recording without them.
    is_filter_idle = meant is not None and not meant and not LINT_FIELDS & wanted.fields
    linted = _Linted(linter.report, is_filter_idle=is_filter_idle)
    for row in read_lines(file):
        if isinstance(row, BadLine):
            warn(f"{file}, line {row.line}: {row.reason}")
            linted.unread += 1
            if limit is None or linted.unread <= limit:
                linted.faults.append(row)
        elif isinstance(row, Frame | StderrChunk | JournalEvent):
            linter.feed(row)
    linter.finish()
    return linted


def _matching_frames(file: Path, wanted: Filter, dialect: str | None) -> set[int]:
    """Return the numbers of the frames that match a filter; reads the whole file."""
    spoken = None if dialect is None else open_dialect(dialect)
    exchanges, decoder = Exchanges(), Decoder(spoken)

    has_lengths = spoken is not None and spoken.framing == "headers"

    def rows() -> Iterator[Row]:
        return reframe(read_lines(file)) if has_lengths else read_lines(file)

    for row in rows():
        if isinstance(row, Frame):
            exchanges.pair(decoder.decode(row))
        elif isinstance(row, JournalEvent) and row.begins_connection:
            exchanges.restart(row.seq)
    known = annotate(file, wanted)
    return {
        row.seq
        for row in rows()
        if isinstance(row, Frame)
        and wanted.matches(EntryFields(row, exchanges, notes=known.notes(row)))
    }


def _lines(file: str, findings: Sequence[Finding]) -> dict[int, int]:
    """Return the line of each frame that proves one of these findings."""
    proving = {frame for each in findings for frame in each.frames}
    return {
        row.seq: line
        for line, row in enumerate(read_lines(Path(file)) if proving else (), start=1)
        if isinstance(row, Frame | StderrChunk | JournalEvent) and row.seq in proving
    }


def _print(
    linted: Mapping[str, _Linted], format_: Format, fail_on: FailOn, *, is_all: bool
) -> None:
    reports = {file: each.report for file, each in linted.items()}
    faults = {file: each.faults for file, each in linted.items()}
    match format_:
        case "text":
            for file, each in linted.items():
                print_report(file, each.report, unread=each.unread, is_all=is_all)
        case "json":
            print_json(lint_json(reports, faults))
        case "sarif":
            from acp_inspector.lint.reports import sarif_report

            found = {file: report.findings for file, report in reports.items()}
            lines = {file: _lines(file, each) for file, each in found.items()}
            failed = {file: report.failed for file, report in reports.items()}
            click.echo(ascii_json(sarif_report(found, lines, faults, failed)))
        case "junit":
            from acp_inspector.lint.reports import junit_report

            failing = _faults_fail(fail_on)
            rendered = junit_report(
                reports, lambda each: fails(each, fail_on), faults, faults_fail=failing
            )
            click.echo(rendered)


def lint_json(
    reports: Mapping[str, LintReport], faults: Mapping[str, Sequence[BadLine]]
) -> dict[str, Json]:
    """Return the reports and the unreadable lines of all files as JSON."""
    findings = [
        _finding_json(file, each) for file, report in reports.items() for each in report.findings
    ]
    every = list(reports.values())
    exercised = frozenset[str]().union(*(each.exercised for each in every))
    applied = frozenset[str]().union(*(each.applicable for each in every))
    failed = {rule: problem for each in every for rule, problem in each.failed.items()}
    return {
        "acp_lint": OUTPUT_VERSION,
        "findings": cast("Json", findings),
        "unreadable": [
            {"file": file, "line": fault.line, "reason": fault.reason}
            for file, found in faults.items()
            for fault in found
        ],
        "counts": {word: sum(each.counts[word] for each in every) for word in SEVERITIES},
        "omitted": sum(sum(each.omitted.values()) for each in every),
        "hidden": sum(each.hidden for each in every),
        "exercised": len(exercised & applied),
        "rules": len(applied),
        "idle": _words(sorted(applied - exercised - failed.keys())),
        "failed": dict[str, Json](failed),
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
