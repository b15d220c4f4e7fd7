"""Lists lint findings by severity or by frame, and how to fix each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from acp_console.tui.analysis.tab import AnalysisTab, Line, LineList
from acp_console.tui.commands import bindings
from acp_console.wording.findings import (
    MESSAGE_WIDTH,
    MOST_SEVERE_FIRST,
    frame_numbers,
    json_path,
    rule_coverage,
    severity_word,
    sort_by_frame,
    sort_findings,
)
from acp_console.wording.values import format_number
from acp_inspector.lint.catalog import BASES
from acp_inspector.lint.engine import Finding, Linter
from acp_inspector.views.annotations import SEVERITIES, SEVERITY_LETTERS, Severity
from acp_protocol.host.sanitize import single_line

MAX_EXPLAINED_FRAMES: Final = 8
"""Frames named in the explanation of a finding, at most."""
MAX_LINE_FRAMES: Final = 2
"""Frames named in the line of a finding, at most."""
WIDE: Final = 100
"""Columns from which on the names of the rules have a column of their own."""


@dataclass(frozen=True, slots=True)
class Found:
    """A linter's findings at the time of the query."""

    findings: tuple[Finding, ...]
    """The most severe first, then by rule and in order of occurrence."""
    counts: Counter[Severity]
    omitted: int
    """Findings that were counted but not kept."""
    exercised: int
    applied: int
    failed: tuple[str, ...]
    """Rules that raised an exception."""


class FindingsTab(AnalysisTab[Linter, Found]):
    """Lists findings; the chosen one is explained below."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("findings")
    DEFAULT_CSS = """
    FindingsTab #finding {
        height: auto;
        max-height: 50%;
        scrollbar-size-vertical: 1;
        border-top: solid $foreground 20%;
    }
    """

    _aim: int | None = None
    shown: frozenset[Severity] = frozenset(SEVERITIES)
    """Severities that are listed."""
    is_by_frame = False
    """Whether they are listed in the order of their frames, not by severity."""

    def compose(self) -> ComposeResult:
        yield from super().compose()
        with VerticalScroll(id="finding", can_focus=False):
            yield Static(id="finding-text", markup=False)

    def query_function(self) -> Callable[[Linter], Found]:
        return findings_of

    def show(self, answer: Found) -> None:
        self.show_heading(self._heading(answer))
        every = sort_by_frame(answer.findings) if self.is_by_frame else answer.findings
        found = [each for each in every if each.severity in self.shown]
        if found:
            frames = max(len(frame_numbers(each, MAX_LINE_FRAMES)) for each in found)
            names = max(len(each.rule.name) for each in found)
            # In a narrow list the message needs the room.
            names = names if self.lines.width >= WIDE else 0
            self.lines.show([_line(each, names, frames) for each in found])
            self._go_to_aim(found)
        else:
            self.show_note(self._why_empty(answer))

    def select_entry(self, n: int | None) -> None:
        """Go to the finding that was raised at entry `n`, or one that names it."""
        self._aim = n
        if self.answer is not None:
            self.show_again()

    def _go_to_aim(self, found: Sequence[Finding]) -> None:
        n = self._aim
        places = [place for place, each in enumerate(found) if n in each.frames]
        broken = (place for place in places if found[place].frames[-1] == n)
        if places:
            self.lines.choose(next(broken, places[0]))
        if places or not self.folding.progress.is_busy:
            self._aim = None

    def action_severity(self, severity: Severity) -> None:
        self.shown = frozenset(
            each for each in SEVERITIES if (each in self.shown) != (each == severity)
        )
        self.show_again()

    def action_sort(self) -> None:
        self.is_by_frame = not self.is_by_frame
        self.show_again()

    @on(LineList.CursorMoved)
    def explain(self, event: LineList.CursorMoved) -> None:
        event.stop()
        line = self.lines.chosen
        finding = line.key if line is not None and isinstance(line.key, Finding) else None
        self.query_one("#finding").display = finding is not None
        explanation = Text() if finding is None else _explanation(finding)
        self.query_one("#finding-text", Static).update(explanation)

    def _heading(self, found: Found) -> str:
        parts = [
            f"{SEVERITY_LETTERS[each]} {format_number(found.counts[each])} "
            + severity_word(each, found.counts[each])
            + ("" if each in self.shown else " hidden")
            for each in MOST_SEVERE_FIRST
        ]
        heading = " · ".join(parts) + (" · by frame" if self.is_by_frame else " · by severity")
        if found.omitted:
            heading += f" · {format_number(found.omitted)} more of the same rules not kept"
        coverage = f"{found.exercised} of {found.applied} rules applied to this recording"
        if found.failed:
            coverage += f" · failed: {', '.join(found.failed)}"
        if not self.folding.progress.is_finished and not self.folding.progress.is_behind:
            coverage += " · connection open: missing messages are not reported yet"
        return f"{heading}\n{coverage}"

    def _why_empty(self, found: Found) -> str:
        if found.findings:
            return "No finding of these severities. e, w and i show and hide them."
        if self.folding.progress.is_behind:
            return "No finding so far."
        return "The rules that applied to this recording found nothing."


def findings_of(linter: Linter) -> Found:
    """Return a linter's findings, sorted for display."""
    report = linter.report
    return Found(
        tuple(sort_findings(report.findings)),
        Counter(report.counts),
        report.omitted.total(),
        *rule_coverage(report),
        tuple(sorted(report.failed)),
    )


def _line(finding: Finding, names: int, frames: int) -> Line:
    parts = (
        (finding.severity, f"{SEVERITY_LETTERS[finding.severity]} "),
        ("strong", f"{finding.rule.name:<{names}}  "),
        ("muted", f"{frame_numbers(finding, MAX_LINE_FRAMES):<{frames}}  "),
        ("", single_line(finding.message, MESSAGE_WIDTH)),
    )
    return Line(parts, finding.frames[-1] if finding.frames else None, finding)


def _explanation(finding: Finding) -> Text:
    rule = finding.rule
    basis = "heuristic" if rule.basis == "heuristic" else BASES[rule.basis]
    explanation = Text.assemble(
        (f"{finding.severity} {rule.name}", "bold"),
        f" · {rule.id} · {basis} · {rule.source} · at fault: {finding.at_fault}\n",
        (f"{single_line(finding.message, MESSAGE_WIDTH)}\n", "bold"),
        f"Rule    {rule.text}\n",
    )
    if finding.fix:
        explanation.append(f"Fix     {finding.fix}\n")
    frames = frame_numbers(finding, MAX_EXPLAINED_FRAMES) or "none"
    place = f", at {single_line(json_path(finding), 80)}" if finding.path else ""
    explanation.append(f"Frames  {frames}{place}")
    return explanation
