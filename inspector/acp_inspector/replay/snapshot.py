"""Our own reading of a recording, to compare it with the one that was stored beside it.

It needs no peer: a change in lint, in the folding of conversations or in the pairing of requests
shows as a difference.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from acp_inspector.lint.engine import Finding, lint
from acp_inspector.lint.registry import find_rule
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import Recording, garbage_collection_off
from acp_inspector.recording.writer import atomic_replacement
from acp_inspector.replay.result import counted
from acp_inspector.session.exchanges import Exchange
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.to_json import session_to_json
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import check_replaceable, read_regular
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.user_files.sentences import error_sentence

SUFFIX: Final = ".snapshot.json"
MAX_DIFF_LINES: Final = 200
"""Lines of a difference between snapshots that are shown, unless all are requested."""
MAX_BYTES: Final = 1 << 28
"""Size of a snapshot that is read, at most."""


class RecordingSnapshot(BaseModel):
    """What a recording means to us."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    acp_snapshot: Literal[1] = 1
    unreadable: list[dict[str, Any]]
    """Lines of the file that cannot be read."""
    findings: list[dict[str, Any]]
    conversation: list[dict[str, Any]]
    """The sessions."""
    exchanges: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    """Requests and responses that break the pairing."""

    def text(self) -> str:
        """Return it as it is stored.

        Raises:
            RecordingError: the recording has values that are nested too deeply to be stored.
        """
        try:
            return json.dumps(self.model_dump(), indent=1, ensure_ascii=False) + "\n"
        except (RecursionError, ValueError):
            raise RecordingError("no snapshot: a value is nested too deeply") from None


@dataclass(frozen=True, slots=True)
class SnapshotComparison:
    """Our reading of a recording, compared with the stored one."""

    path: Path
    """The file of the snapshot."""
    now: RecordingSnapshot
    diff: Sequence[str]
    """The lines that differ, safe to show."""
    is_empty: bool
    """Whether the recording has no frames, so that there is nothing to compare."""
    unread: int = 0
    """Lines of the recording that could not be read."""

    @property
    def is_passed(self) -> bool:
        """Whether everything was read, and is as stored."""
        return not self.diff and not self.is_empty and not self.unread

    @property
    def counts(self) -> str:
        parts = [
            counted(len(self.now.findings), "finding"),
            counted(len(self.now.conversation), "session"),
            counted(len(self.now.exchanges), "exchange"),
        ]
        return ", ".join(parts)

    def shown(self, hint: str = "") -> list[str]:
        """Return the first lines that differ, and how many more there are, with a hint."""
        lines, more = list(self.diff[:MAX_DIFF_LINES]), len(self.diff) - MAX_DIFF_LINES
        return [*lines, f"… and {counted(more, 'line')} more{hint}"] if more > 0 else lines

    def store(self) -> None:
        """Write the snapshot, unless nothing differs or nothing is to be compared.

        Raises:
            RecordingError: it cannot be written.
        """
        if self.diff and not self.is_empty:
            write_snapshot(self.path, self.now)


def compare_with_snapshot(
    recording: Recording, *, is_updating: bool = False
) -> SnapshotComparison | None:
    """Compare our reading of a recording with the stored one; return None if there is none.

    With `is_updating` none, and an invalid one, are compared as an empty one.

    Raises:
        RecordingError: the snapshot is invalid.
    """
    path = snapshot_path(recording.path)
    try:
        stored = read_snapshot(path)
    except RecordingError:
        if not is_updating:
            raise
        stored = None
    if stored is None and not is_updating:
        return None
    now = take_snapshot(recording)
    diff = () if stored == now else map(escape_controls, snapshot_diff(stored, now))
    return SnapshotComparison(path, now, tuple(diff), not recording.frames, recording.unread)


def snapshot_path(recording: Path) -> Path:
    return recording.with_name(recording.name + SUFFIX)


def take_snapshot(recording: Recording) -> RecordingSnapshot:
    """Return our reading of a recording."""
    model = SessionModel(has_conversations_only=True)
    with garbage_collection_off():
        rows = (recording.header, *recording.entries)
        model.read(rows)
        report = lint(rows, unstable="--unstable" in recording.header.command)
    sessions = model.conversations.at(model.n).values()
    return RecordingSnapshot(
        unreadable=[{"line": bad.line, "reason": bad.reason} for bad in recording.bad_lines],
        findings=[_finding(each) for each in report.findings],
        conversation=[session_to_json(each) for each in sessions],
        exchanges=[_exchange(each) for each in model.exchanges.all],
        faults=[
            {"kind": each.kind, "frame": each.frame.seq, "why": each.why}
            for each in model.exchanges.faults
        ],
    )


def read_snapshot(path: Path) -> RecordingSnapshot | None:
    """Return a stored snapshot; None if there is no such file.

    Raises:
        RecordingError: it cannot be read, or it is no snapshot.
    """
    try:
        text = read_regular(path, MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None
    try:
        return _with_names(RecordingSnapshot.model_validate(json.loads(text)))
    except (ValueError, RecursionError) as problem:
        if not isinstance(problem, ValidationError):
            raise RecordingError(
                f"{path} is not a snapshot: it is no JSON", hint="make it anew with --update"
            ) from None
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise RecordingError(
            f"{path} is not a snapshot: {where}: {error_sentence(first)}",
            hint="make it anew with --update",
        ) from None


def _with_names(snapshot: RecordingSnapshot) -> RecordingSnapshot:
    """Return a snapshot with the names of rules, where it has their numbers."""
    for each in snapshot.findings:
        found = find_rule(str(each.get("rule")))
        if found is not None:
            each["rule"] = found.name
    return snapshot


def write_snapshot(path: Path, snapshot: RecordingSnapshot) -> None:
    """Write a snapshot, whole or not at all.

    Raises:
        RecordingError: it cannot be written, or there is a link or no regular file.
    """
    with atomic_replacement(path, overwrite=True) as part:
        check_replaceable(path)
        # Python writes a lone surrogate as JSON does.
        part.write_text(snapshot.text(), encoding="utf-8", errors="backslashreplace")


def snapshot_diff(stored: RecordingSnapshot | None, now: RecordingSnapshot) -> Sequence[str]:
    """Return the lines that differ, with some around them; they are not safe to show."""
    before = [] if stored is None else stored.text().splitlines()
    return list(unified_diff(before, now.text().splitlines(), "stored", "now", lineterm="", n=2))


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule.name,
        "severity": finding.severity,
        "message": finding.message,
        "frames": list(finding.frames),
        "path": finding.path,
    }


def _exchange(exchange: Exchange) -> dict[str, Any]:
    response, cancel = exchange.response_frame, exchange.cancel_frame
    return {
        "request": exchange.request_frame.seq,
        "response": None if response is None else response.seq,
        "from": exchange.requester,
        "method": exchange.request.method,
        "id": exchange.request.id,
        "session": exchange.session,
        "ending": exchange.ending,
        "code": exchange.code,
        "cancelled_by": None if cancel is None else cancel.seq,
    }
