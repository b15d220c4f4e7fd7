"""`acp-console lint`: check recordings against the rules of the protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.baselines import (
    Baseline,
    Ignored,
    Issue,
    Sorted,
    baseline_options,
    ignore_names_option,
    without_varying,
)
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import UsageError, fail, say, warn
from acp_console.cli.format_option import ascii_json, format_option, print_json
from acp_console.cli.lint_rules import print_rules
from acp_console.cli.lint_selection import HIDING, Selection
from acp_console.cli.lint_text import ShownReport, markdown_report, print_reports
from acp_console.cli.progress import current_progress
from acp_console.cli.reading import (
    filter_option,
    parse_filter,
    rule_names,
    rule_pattern,
    warn_about_filter,
    warn_about_line,
)
from acp_console.wording.values import OUTPUT_VERSION
from acp_inspector.filter.compiler import Filter
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.lint.engine import Finding, Linter, LintReport
from acp_inspector.lint.registry import find_rule
from acp_inspector.recording.finding import find_recordings
from acp_inspector.recording.format import Footer
from acp_inspector.recording.reader import BadLine, read_lines, unread_problem
from acp_inspector.views.annotations import SEVERITIES
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.dialects.spellings import BATCHES, NO_DIALECT
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json", "sarif", "junit", "markdown"]
FailOn: TypeAlias = Literal["error", "warning", "info", "never"]

LEAVING_OUT: Final = (*HIDING, "--baseline")
"""The options that leave findings out."""
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
    known: int = 0
    """The number of findings that are in the baseline."""

    @property
    def left_out(self) -> dict[str, int]:
        """The number of findings that are not shown, by what leaves them out."""
        counts = self.report.hidden | Counter({"--baseline": self.known})
        return {option: counts[option] for option in LEAVING_OUT if counts[option]}

    def fails(self, fail_on: FailOn) -> bool:
        is_damaged = any(_fault_fails(fault, fail_on) for fault in self.faults)
        return is_damaged or any(fails(finding, fail_on) for finding in self.report.findings)


@click.command(name="lint", cls=CliCommand, topic="lint", is_check=True, shows_progress=True)
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@format_option(
    get_args(Format),
    "json: one object; sarif: for code hosts and editors; junit: for build servers; markdown: a "
    "summary for the page of a build.",
)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="Exit with 1 if a finding is at least that severe, or, unless it is never, if a line of a "
    "recording cannot be read. Heuristics never count.",
)
@click.option(
    "--unstable",
    is_flag=True,
    help="Check unstable parts of the protocol instead of only reporting their use.",
)
@click.option(
    "--dialect",
    type=click.Choice([*SPOKEN, NO_DIALECT]),
    help="Check frames of this dialect: translated, or as arrays of messages (v2-batch); none: as "
    "the published protocol.  [default: as the recording names it, or recognised]",
)
@filter_option(
    'Show only findings that match EXPR, such as "session == s1 and rule != unknown-member". rule '
    "and finding are those of the finding, other fields those of its frames."
)
@ignore_names_option("RULE", "undeclared-*")
@baseline_options
@click.option("--all", "is_all", is_flag=True, help="Show every finding of every rule.")
@click.option(
    "--rules",
    "is_list",
    is_flag=True,
    help="List the rules and exit; FILE... may name some of them.",
)
def command(
    *,
    files: tuple[Path, ...],
    format_: Format,
    fail_on: FailOn,
    unstable: bool,
    dialect: str | None,
    text: str,
    ignored: tuple[str, ...],
    baseline: Path | None,
    update_baseline: bool,
    is_all: bool,
    is_list: bool,
) -> int:
    """Check recordings against the rules of the protocol.

    Each finding names the rule, the side at fault, the frames that prove it,
    and the fix. The summary counts the rules that had nothing to check. FILE
    may be a folder or a pattern.

    \b
    acp-console lint session.acp.ndjson
    acp-console lint --fail-on warning --format junit x.acp.ndjson > lint.xml
    acp-console lint --filter 'from == agent' session.acp.ndjson
    acp-console lint --baseline lint.json --update-baseline recordings
    acp-console lint --rules concurrent-prompts
    """  # noqa: D301 - the mark by which click keeps lines apart
    if is_list:
        return print_rules([str(file) for file in files], format_)
    if not files:
        raise UsageError("missing FILE", "name a recording, or use --rules")
    wanted = parse_filter(text)
    if update_baseline and not wanted.is_empty:
        raise UsageError("--update-baseline writes every finding", "leave out --filter")
    left_out = Ignored([rule_pattern(each) for each in ignored], rule_names(), "rule")
    known = Baseline(baseline, "lint", is_updating=update_baseline, renamed=_renamed)
    limit = None if is_all else MAX_FINDINGS_KEPT
    options = _Options(
        wanted=wanted,
        ignored=left_out,
        unstable=unstable,
        dialect=dialect,
        # What the baseline holds is taken away from all findings.
        limit=None if known.is_used else limit,
    )
    each_file = current_progress().over(find_recordings(files), "recordings")
    linted = {str(file): _lint(file, options) for file in each_file}
    gone: Json = []
    if known.is_used:
        gone = _settle(linted, known, options, limit=limit).gone_json()
    _print(linted, format_, fail_on, gone, is_all=is_all)
    warn_about_filter(wanted)
    _report_notes(linted)
    left_out.report_unused()
    if all(each.is_filter_idle for each in linted.values()):
        fail(f"--filter {text}: no frame matches", "remove or correct it")
        return exit_codes.USAGE
    has_failed = any(each.fails(fail_on) for each in linted.values())
    unread = sum(fault.is_unread for each in linted.values() for fault in each.faults)
    if has_failed and unread:
        fail(unread_problem(unread), "with --fail-on never that is accepted")
    if has_failed and update_baseline:
        say("no baseline holds lines that cannot be read")
    return exit_codes.FOUND if has_failed else exit_codes.DONE


def _renamed(issue: Issue) -> Issue:
    """Return an issue with the name of its rule, where a baseline has the number."""
    rule = find_rule(issue.name)
    return issue if rule is None else issue._replace(name=rule.name)


def _report_notes(linted: Mapping[str, _Linted]) -> None:
    for file, each in linted.items():
        for name in sorted(each.report.dialects):
            if name == BATCHES:
                warn(f"{file} looks like the dialect {name}; use --dialect {name}")
            else:
                say(f"{file} is in the dialect {name}, and was checked so")
        for rule, problem in each.report.failed.items():
            warn(f"{rule} could not be checked because of a bug: {problem}")


def fails(finding: Finding, fail_on: FailOn) -> bool:
    if fail_on == "never" or finding.rule.basis == "heuristic":
        return False
    return SEVERITIES.index(finding.severity) >= SEVERITIES.index(fail_on)


def _fault_fails(fault: BadLine, fail_on: FailOn) -> bool:
    """Return whether an unreadable line makes the command fail: it may hold an error.

    Behind a wrong digest everything was read; it counts as a warning.
    """
    return fail_on != "never" if fault.is_unread else fail_on in {"warning", "info"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What is checked, and which findings are kept."""

    wanted: Filter
    ignored: Container[str]
    """Rules that are left out."""
    unstable: bool
    dialect: str | None
    limit: int | None
    """The most findings of a rule; None: all."""


def _lint(file: Path, options: _Options) -> _Linted:
    unstable, dialect, limit = options.unstable, options.dialect, options.limit
    selection = Selection(file, options.wanted, options.ignored, unstable=unstable, dialect=dialect)
    linter = Linter(unstable=unstable, dialect=dialect, limit=limit, hides=selection)
    linted = _Linted(linter.report, is_filter_idle=selection.is_idle)
    for row in read_lines(file):
        if isinstance(row, BadLine):
            warn_about_line(file, row)
            linted.unread += 1
            if limit is None or linted.unread <= limit:
                linted.faults.append(row)
        elif not isinstance(row, Footer):
            linter.feed(row)
    linter.finish()
    return linted


def _settle(
    linted: Mapping[str, _Linted], baseline: Baseline, options: _Options, *, limit: int | None
) -> Sorted:
    """Leave the findings that the baseline knows out of the reports."""
    places = {file: baseline.place(file) for file in linted}
    issues = {
        file: [
            Issue(places[file], each.rule.name, without_varying(_about(each)))
            for each in one.report.findings
        ]
        for file, one in linted.items()
    }
    # A filter shows a part: what it hides is not gone.
    checked = frozenset(places.values()) if options.wanted.is_empty else frozenset[str]()
    found = baseline.settle(
        [each for every in issues.values() for each in every],
        lambda issue: issue.where in checked and issue.name not in options.ignored,
    )
    rest = iter(found.known)
    for file, one in linted.items():
        known = list(islice(rest, len(issues[file])))
        one.known = sum(known)
        one.report.keep([not each for each in known], limit=limit)
    return found


def _about(finding: Finding) -> str:
    return f"{finding.path}: {finding.message}" if finding.path else finding.message


def _lines(file: str, findings: Sequence[Finding]) -> dict[int, int]:
    """Return the line of each frame that proves one of these findings."""
    proving = {frame for each in findings for frame in each.frames}
    return {
        row.seq: line
        for line, row in enumerate(read_lines(Path(file)) if proving else (), start=1)
        if isinstance(row, Frame | StderrChunk | JournalEvent) and row.seq in proving
    }


def _print(
    linted: Mapping[str, _Linted], format_: Format, fail_on: FailOn, gone: Json, *, is_all: bool
) -> None:
    reports = {file: each.report for file, each in linted.items()}
    faults = {file: each.faults for file, each in linted.items()}
    match format_:
        case "text":
            shown = {
                file: ShownReport(report=each.report, unread=each.unread, left_out=each.left_out)
                for file, each in linted.items()
            }
            print_reports(shown, is_all=is_all)
        case "markdown":
            has_passed = not any(each.fails(fail_on) for each in linted.values())
            left_out = Counter[str]()
            for each in linted.values():
                left_out.update(each.left_out)
            unread = sum(each.unread for each in linted.values())
            click.echo(
                markdown_report(reports, left_out, unread=unread, is_passed=has_passed), nl=False
            )
        case "json":
            names = {"hidden": "--filter", "ignored": "--ignore", "known": "--baseline"}
            counts = {
                name: sum(each.left_out.get(option, 0) for each in linted.values())
                for name, option in names.items()
            }
            print_json({**lint_json(reports, faults), **counts, "gone": gone})
        case "sarif":
            from acp_inspector.lint.reports import sarif_report

            found = {file: report.findings for file, report in reports.items()}
            lines = {file: _lines(file, each) for file, each in found.items()}
            failed = {file: report.failed for file, report in reports.items()}
            click.echo(ascii_json(sarif_report(found, lines, faults, failed)))
        case "junit":
            from acp_inspector.lint.reports import junit_report

            rendered = junit_report(
                reports,
                lambda each: fails(each, fail_on),
                faults,
                fault_fails=lambda each: _fault_fails(each, fail_on),
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
        "rule": finding.rule.name,
        "id": finding.rule.id,
        "severity": finding.severity,
        "basis": finding.rule.basis,
        "at_fault": finding.at_fault,
        "frames": list(finding.frames),
        "path": finding.path,
        "message": finding.message,
        "fix": finding.fix,
        "source": finding.rule.source,
    }
