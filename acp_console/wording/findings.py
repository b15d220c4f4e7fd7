"""Findings of lint, as the command line and the screens list them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from acp_inspector.lint.engine import Finding, LintReport
from acp_inspector.lint.registry import rules
from acp_inspector.views.annotations import SEVERITIES, Severity

MESSAGE_WIDTH: Final = 400
"""Longest message, in characters: it quotes untrusted values."""
MOST_SEVERE_FIRST: Final[tuple[Severity, ...]] = tuple(reversed(SEVERITIES))


def sort_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Return the most severe findings first, then by rule and in order of occurrence."""
    return sorted(findings, key=lambda each: (MOST_SEVERE_FIRST.index(each.severity), each.rule.id))


def sort_by_frame(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of the frames that broke their rules; others last."""
    return sorted(findings, key=lambda each: each.frames[-1] if each.frames else sys.maxsize)


def severity_word(severity: Severity, count: int) -> str:
    """Return the word behind a count of findings; "info" has no plural."""
    return severity if severity == "info" or count == 1 else f"{severity}s"


def frame_numbers(finding: Finding, most: int) -> str:
    """Return the numbers of at most `most` frames that prove a finding: its cause and the last."""
    numbers = [f"#{seq}" for seq in finding.frames]
    if len(numbers) <= most:
        return ", ".join(numbers)
    return f"{numbers[0]} … {', '.join(numbers[len(numbers) - most + 1 :])}"


def json_path(finding: Finding) -> str:
    """Return the path of the finding in filter syntax; empty if it has none."""
    steps = finding.path.split(".") if finding.path else ()
    path = "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps)
    return f"${path}" if path else ""


def rule_coverage(report: LintReport) -> tuple[int, int]:
    """Return how many rules had something to check, and how many rules there are."""
    return len(report.exercised & report.applicable), len(rules())
