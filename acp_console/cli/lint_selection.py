"""Selects the findings that `lint` reports: by `--filter` and by `--ignore`."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from acp_console.cli.reading import annotate
from acp_inspector.filter.compiler import Filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.lint.engine import Finding, Linter
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import read_lines
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Sessions
from acp_inspector.views.annotations import (
    LINT_FIELDS,
    MODEL_FIELDS,
    Annotations,
    RuleViolation,
    violation,
)

HIDING: Final = (FILTER := "--filter", IGNORE := "--ignore")
"""The options by which findings are selected."""
_Violations: TypeAlias = dict[int, set[RuleViolation]]


class Selection:
    """Selects findings of one file.

    In the filter, `rule` and `finding` are those of the finding, and all other fields those of one
    of its frames. The end of a recording, if a finding has no frame, is its last entry.
    """

    def __init__(
        self,
        file: Path,
        wanted: Filter,
        ignored: Container[str],
        *,
        unstable: bool,
        dialect: str | None,
    ) -> None:
        """Read the file, if there is a filter.

        Args:
            file: The recording.
            wanted: The filter.
            ignored: The rules that are left out.
            unstable: Unstable parts are checked, too.
            dialect: The dialect of the recording.
        """
        self._ignored = ignored
        self._file, self._dialect = file, dialect
        self._about_findings = bool(LINT_FIELDS & wanted.fields)
        self._matching: set[tuple[int, RuleViolation | None]] | None = None
        self._last = 0
        if not wanted.is_empty:
            # What does not count is not taken for a repetition.
            linter = Linter(unstable=unstable, dialect=dialect, hides=lambda finding: FILTER)
            self._matching = self._match(wanted, linter)

    @property
    def is_idle(self) -> bool:
        """Whether the filter matches no entry; one about findings may match none."""
        return self._matching is not None and not self._matching and not self._about_findings

    def __call__(self, finding: Finding) -> str:
        """Return the option that leaves a finding out; empty: none does."""
        if finding.rule.name in self._ignored or finding.rule.id in self._ignored:
            return IGNORE
        if self._matching is None:
            return ""
        key = violation(finding) if self._about_findings else None
        is_wanted = any((seq, key) in self._matching for seq in finding.frames or (self._last,))
        return "" if is_wanted else FILTER

    def _match(self, wanted: Filter, linter: Linter) -> set[tuple[int, RuleViolation | None]]:
        exchanges = self._exchanges()
        needs_model = bool(MODEL_FIELDS & wanted.fields)
        known = (
            annotate(self._file, wanted, dialect=self._dialect) if needs_model else Annotations()
        )
        violations = self._violations(linter) if self._about_findings else {}
        found: set[tuple[int, RuleViolation | None]] = set()
        for entry, decoded in self._entries(Sessions(self._dialect)):
            self._last = entry.seq
            notes = known.notes(entry)
            for each in violations.get(entry.seq, ()) if self._about_findings else (None,):
                notes = replace(notes, violations=() if each is None else (each,))
                if wanted.matches(EntryFields(entry, exchanges, notes=notes, decoded=decoded)):
                    found.add((entry.seq, each))
        return found

    def _entries(self, sessions: Sessions) -> Iterator[tuple[Entry, DecodedFrame | None]]:
        """Yield the entries, frames decoded; `sessions` reads them."""
        for row in read_lines(self._file):
            if isinstance(row, Header):
                sessions.decoder.begin_recording(row.dialect, row.cwd)
            elif isinstance(row, Frame):
                sessions.feed(row)
                yield row, sessions.decoded
            elif isinstance(row, StderrChunk | JournalEvent):
                if isinstance(row, JournalEvent):
                    sessions.note(row)
                yield row, None

    def _exchanges(self) -> Exchanges:
        sessions = Sessions(self._dialect)
        for _ in self._entries(sessions):
            pass
        return sessions.exchanges

    def _violations(self, linter: Linter) -> _Violations:
        """Return what each entry helps to prove."""
        found: _Violations = {}

        def add(findings: tuple[Finding, ...]) -> None:
            for finding in findings:
                for seq in finding.frames or (self._last,):
                    found.setdefault(seq, set()).add(violation(finding))

        for row in read_lines(self._file):
            if isinstance(row, Header | Frame | StderrChunk | JournalEvent):
                findings = linter.feed(row)
                for finding in linter.outdated:
                    for seq in finding.frames or (self._last,):
                        found.pop(seq, None)
                add(findings)
        add(linter.finish())
        return found
