"""The annotations of a recording: what filters need to know about frames beside their content."""

from __future__ import annotations

from pathlib import Path

from acp_inspector.analysis.annotations import LINT_FIELDS, Annotations
from acp_inspector.analysis.session_model import SessionModel
from acp_inspector.filter.compiler import Filter
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.lint.engine import Linter
from acp_inspector.recording.reader import read_lines


def annotate(file: Path, wanted: Filter, *, has_findings: bool = False) -> Annotations:
    """Read the annotations that `wanted` needs; do not read the recording if it needs none.

    Args:
        file: the recording.
        wanted: the filter.
        has_findings: findings are shown, whether or not the filter asks for them.

    Raises:
        RecordingError: it cannot be read.
    """
    found = Annotations()
    linter = Linter() if has_findings or LINT_FIELDS & wanted.fields else None
    study = SessionModel() if wanted.needs_notes else None
    if linter is None and study is None:
        return found
    for entry in read_lines(file):
        # Lines that cannot be read are reported by the command that shows the frames.
        if not isinstance(entry, Frame | StderrChunk | JournalEvent):
            continue
        if linter is not None:
            found.add_findings(linter.feed(entry))
        if study is not None:
            study.apply(entry)
            found.add_entry(entry, study.notes())
    if linter is not None:
        found.add_findings(linter.finish())
    return found
