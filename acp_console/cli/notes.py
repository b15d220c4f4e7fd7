"""What filters may ask about a frame that stands in no frame: its turn, what lint says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from acp_inspector.analysis.study import Study
from acp_inspector.filter.facts import Notes, Verdict
from acp_inspector.filter.frames import NO_NOTES
from acp_inspector.filter.language import Filter
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.lint.engine import Finding, Linter
from acp_inspector.recording.reader import read_lines

EDITS: Final = ("edited", "corrupted")
"""Events of frames that left otherwise than they came."""
HELD: Final = "held"


@dataclass(slots=True)
class Annotations:
    """Notes of every frame of a recording, as far as they were asked for."""

    notes: Mapping[int, Notes] = field(default_factory=dict[int, Notes])
    findings: Mapping[int, list[Finding]] = field(default_factory=dict[int, "list[Finding]"])
    """What lint says, by the frame where it broke."""

    def of(self, entry: Entry) -> Notes:
        """Return what is known of an entry beside what it says."""
        return self.notes.get(entry.n, NO_NOTES)

    def rules(self, n: int) -> list[str]:
        """Return the rules that were broken at frame `n`."""
        return sorted({each.rule.id for each in self.findings.get(n, ())})


def annotate(file: Path, wanted: Filter, *, has_findings: bool = False) -> Annotations:
    """Read a recording for what `wanted` asks beside its frames; not at all if it asks nothing.

    Args:
        file: the recording.
        wanted: the filter.
        has_findings: findings are shown, whether or not the filter asks for them.

    Raises:
        RecordingError: it cannot be read.
    """
    lints = has_findings or bool({"finding", "rule"} & wanted.needs)
    if not lints and not wanted.needs_notes:
        return Annotations()
    study = Study() if wanted.needs_notes else None
    linter = Linter() if lints else None
    notes: dict[int, Notes] = {}
    fates: dict[int, Notes] = {}
    findings: dict[int, list[Finding]] = {}
    for entry in _entries(file):
        if linter is not None:
            _place(linter.feed(entry), findings)
        if study is not None:
            study.apply(entry)
            if isinstance(entry, Frame):
                notes[entry.n] = study.notes()
            elif isinstance(entry, JournalEvent):
                _keep_fate(entry, fates)
    if linter is not None:
        _place(linter.finish(), findings)
    for n, found in findings.items() if study is not None else ():
        verdicts = tuple(Verdict(each.rule.id, each.severity) for each in found)
        notes[n] = replace(notes.get(n, NO_NOTES), verdicts=verdicts)
    for n, fate in fates.items():
        known = notes.get(n, NO_NOTES)
        notes[n] = replace(known, is_held=fate.is_held, is_edited=fate.is_edited)
    return Annotations(notes, findings)


def _entries(file: Path) -> Iterator[Entry]:
    # What cannot be read is told by whoever shows the frames.
    for line in read_lines(file):
        if isinstance(line, Frame | StderrText | JournalEvent):
            yield line


def _keep_fate(event: JournalEvent, fates: dict[int, Notes]) -> None:
    n = event.data.get("of")
    if isinstance(n, int) and event.name in (*EDITS, HELD):
        before = fates.get(n, NO_NOTES)
        is_held, is_edited = event.name == HELD, event.name in EDITS
        fates[n] = Notes(is_held=before.is_held or is_held, is_edited=before.is_edited or is_edited)


def _place(found: tuple[Finding, ...], findings: dict[int, list[Finding]]) -> None:
    for each in found:
        if each.frames:
            findings.setdefault(each.frames[-1], []).append(each)
