"""Options of `acp-console conform` for both sides: which cases are played, and the report."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, get_args

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
from acp_console.cli.errors import UsageError
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.playing import timeout_option
from acp_console.paths import FileWriteError
from acp_console.wording.build_summary import build_summary
from acp_console.wording.values import OUTPUT_VERSION, ascii_json, plural
from acp_inspector.conformance.model import PROFILES, Case, Profile, Report, Suite
from acp_inspector.conformance.peer import TIMEOUT_S
from acp_inspector.conformance.reports import html_report, junit_report, text_report
from acp_inspector.lint.registry import find_rule
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.host.did_you_mean import did_you_mean
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json", "junit", "html", "markdown"]
SUFFIXES: Final[Mapping[str, Format]] = {
    ".xml": "junit",
    ".html": "html",
    ".json": "json",
    ".md": "markdown",
}
"""The format of a report by the name of its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Which cases are played, and what becomes of their report."""

    given_profile: Profile | None
    """The profile that the user has named."""
    dialect: str | None
    """The dialect that the peer speaks."""
    patterns: Sequence[str]
    ignored: Sequence[str]
    is_list: bool
    """Whether the cases are listed, not played."""
    timeout: float
    baseline: Baseline
    format: Format
    output: Path | None
    is_all: bool

    @property
    def profile(self) -> Profile:
        """The profile that the user has named, or that of the dialect."""
        return self.given_profile or ("v2" if self.dialect == BATCHES else "v1")

    def check_dialect(self) -> None:
        """Check that the dialect is one of the version.

        Raises:
            UsageError: it is not.
        """
        is_second = self.profile == "v2"
        if self.dialect is not None and (self.dialect == BATCHES) != is_second:
            of = 1 if is_second else 2
            problem = f"{self.dialect} is a dialect of version {of}"
            raise UsageError(problem, f"add --profile v{of}")

    def cases(self, suite: Suite) -> Sequence[Case]:
        """Return the cases that were chosen.

        Raises:
            UsageError: there are none, a name matches none, or the dialect is of another version.
        """
        self.check_dialect()
        for pattern in self.patterns:
            if not fnmatch.filter(suite.cases, pattern):
                hint = did_you_mean(pattern, suite.cases, "--list shows the ids")
                raise UsageError(f"--case: no case matches {pattern!r}", hint)
        cases = suite.select(self.profile, self.patterns, dialect=self.dialect)
        if not cases:
            raise UsageError(
                f"--case: {self.profile} has no case that matches", "--list shows the ids"
            )
        left_out = Ignored(self.ignored, suite.cases, "case")
        kept = [case for case in cases if case.id not in left_out]
        if not kept:
            raise UsageError("--ignore: no case is left", "--list shows the ids")
        return kept

    def print_list(self, cases: Sequence[Case]) -> int:
        """Print the cases; return the exit code."""
        if self.format == "json":
            rows: list[Json] = [
                {
                    "id": case.id,
                    "section": case.section,
                    "sentence": case.sentence,
                    "rules": list(case.rules),
                    "profiles": list(case.profiles),
                    "persona": case.persona,
                }
                for case in cases
            ]
            print_json({"cases": rows})
            return exit_codes.DONE
        width = max(len(case.id) for case in cases)
        for case in cases:
            click.echo(f"{case.id:<{width}}  {case.sentence}")
        click.echo(f"{len(cases)} cases")
        return exit_codes.DONE

    def settle(self, report: Report) -> tuple[Report, Json]:
        """Return the report with the failures marked that the baseline holds, and what is gone."""
        if not self.baseline.is_used:
            return report, []
        where = " ".join(filter(None, (report.side, report.profile, report.persona)))
        failed = [each for each in report.results if each.verdict == "fail"]
        issues = [
            Issue(where, each.case.id, rule) for each in failed for rule in each.violated or ("",)
        ]
        cases = {each.case.id for each in report.results}
        found = self.baseline.settle(
            issues, lambda each: each.where == where and each.name in cases
        )
        new = {issue.name for issue, known in zip(issues, found.known, strict=True) if not known}
        marked = [
            replace(each, is_known=each.verdict == "fail" and each.case.id not in new)
            for each in report.results
        ]
        return replace(report, results=tuple(marked)), found.gone_json()

    def exit_code(self, report: Report) -> int:
        """Return what the report says of the peer; it is 0 only if the report is passed."""
        if report.has_failed:
            return exit_codes.FOUND
        return exit_codes.DONE if report.is_passed else exit_codes.NOTHING

    def text(self, report: Report, gone: Json) -> str:
        """Return the report as it is printed, or written to a file."""
        match self.format:
            case "text":
                return text_report(report, is_all=self.is_all) + "\n"
            case "json":
                return ascii_json({"v": OUTPUT_VERSION, **report.to_json(), "gone": gone}) + "\n"
            case "junit":
                return junit_report(report) + "\n"
            case "html":
                return html_report(report)
            case "markdown":
                return _markdown(report)

    def write(self, report: Report, gone: Json) -> None:
        """Write the report to the file that was named, if one was.

        Raises:
            FileWriteError: it cannot be written.
        """
        if self.output is None:
            return
        try:
            self.output.write_text(self.text(report, gone), encoding="utf-8")
        except OSError as problem:
            raise FileWriteError(f"cannot write {self.output}: {problem.strerror}") from None


def judging_options(command: Decorated) -> Decorated:
    """Add the options of both sides to a command; its parameter is `judging`."""

    @wraps(command)
    def run(
        *args: Any,
        baseline: Path | None,
        update_baseline: bool,
        format_: Format | None,
        output: Path | None,
        profile: Profile | None,
        dialect: str | None,
        patterns: tuple[str, ...],
        ignored: tuple[str, ...],
        is_list: bool,
        timeout: float,
        is_all: bool,
        **options: Any,
    ) -> object:
        by_name: Format = "text"
        if output is not None:
            by_name = SUFFIXES.get(output.suffix.lower(), "text")
        judging = Judging(
            given_profile=profile,
            dialect=dialect,
            patterns=patterns,
            ignored=ignored,
            is_list=is_list,
            timeout=timeout,
            baseline=Baseline(baseline, "conform", is_updating=update_baseline, renamed=_renamed),
            format=format_ or by_name,
            output=output,
            is_all=is_all,
        )
        return command(*args, judging=judging, **options)

    options = (
        click.option(
            "--profile",
            type=click.Choice(PROFILES),
            help="Version of the protocol, and whether its unstable parts count; v1 by default, "
            "and v2 for its dialect.",
        ),
        click.option("--dialect", type=click.Choice(SPOKEN), help="Dialect that the peer speaks."),
        click.option(
            "--case",
            "patterns",
            multiple=True,
            metavar="ID",
            help='Play only these cases; wildcards select several: "cancel.*". Can be repeated.',
        ),
        click.option("--list", "is_list", is_flag=True, help="List the cases and exit."),
        timeout_option(TIMEOUT_S, "Time limit for each step"),
        ignore_names_option("ID", "cancel.*"),
        baseline_options,
        format_option(
            get_args(Format),
            "json: one object; junit: for build servers; html: a page; markdown: a summary for "
            "the page of a build.",
            is_optional=True,
        ),
        click.option(
            "--output",
            "--report",
            "output",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write the report to this file. Without --format, .xml is JUnit, .html a page, "
            ".json JSON, .md Markdown, anything else text.",
        ),
        click.option(
            "--all", "is_all", is_flag=True, help="Show the cases that did not fail, too."
        ),
    )
    decorated: Callable[..., object] = run
    for option in reversed(options):
        decorated = option(decorated)
    return cast("Decorated", decorated)


def _markdown(report: Report) -> str:
    failed = [each for each in report.results if each.verdict == "fail" and not each.is_known]
    unreached = Counter(each.reason for each in report.results if each.verdict == "not reached")
    advice = [each.case.id for each in report.results if each.verdict == "advice"]
    against = [f"{plural(len(advice), 'case')} against advice: {', '.join(advice)}"]
    return build_summary(
        f"ACP conformance of {report.peer}",
        report.headline,
        is_passed=report.is_passed,
        columns=("case", "requirement", "found", "section"),
        rows=[
            (each.case.id, each.case.sentence, each.reason, each.case.section) for each in failed
        ],
        notes=[
            *(against if advice else ()),
            *(f"{plural(n, 'case')} not reached: {why}" for why, n in unreached.most_common()),
        ],
    )


def _renamed(issue: Issue) -> Issue:
    """Return an issue with the name of the rule that was broken, where it has the number."""
    rule = find_rule(issue.detail)
    return issue if rule is None else issue._replace(detail=rule.name)
