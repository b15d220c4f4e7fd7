"""The log of decisions: what stands in it, what does not, and what happens where it cannot be."""

from __future__ import annotations

import json
import logging
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from acp_agent.permissions.audit import MAX_CHARS, AuditLog, Decision
from acp_protocol.call_rules.subjects import Subject, command_subject, name_subject
from acp_protocol.jsonrpc import Json

DECISION = Decision("allow", "user")
CALL: dict[str, Any] = {
    "session": "s",
    "call": "call_1",
    "tool": "run",
    "kind": "execute",
    "subjects": [command_subject(["git", "commit", "-m", "a b"])],
}


def append(log: AuditLog, decision: Decision = DECISION, **other: Any) -> None:
    log.append(decision, **(CALL | other))


def fixed() -> datetime:
    return datetime(2026, 11, 21, 12, 0, 0, 5000, UTC)


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_decision_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, clock=fixed)
    append(log)
    files = [Subject("path", ("src", "a\nb")), Subject("path", ("/", "etc"))]
    ruled = replace(DECISION, rule="edit src/**")
    append(log, ruled, tool="edit", kind="edit", subjects=files)
    append(log, tool="plan", kind="think", subjects=[name_subject("")])
    append(log, subjects=[command_subject(["ls"], "a/b")])
    log.close()
    first = {
        "time": "2026-11-21T12:00:00.005+00:00",
        "session": "s",
        "call": "call_1",
        "tool": "run",
        "kind": "execute",
        "commands": ["git commit -m 'a b'"],
        "verdict": "allow",
        "why": "user",
    }
    found = lines(path)
    assert found[0] == first
    assert (found[1]["paths"], found[1]["rule"]) == (["src/a\nb", "/etc"], "edit src/**")
    assert not {"paths", "commands", "names", "rule", "cwd"} & set(found[2])
    assert (found[3]["commands"], found[3]["cwd"]) == (["ls"], "a/b")


def test_only_its_owner_may_read_it_and_what_stands_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"old":1}\n')
    path.chmod(0o644)
    append(AuditLog(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [("old" in line) for line in lines(path)] == [True, False]


def test_a_long_command_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    append(AuditLog(path), subjects=[command_subject(["x" * 10_000])])
    assert len(lines(path)[0]["commands"][0]) == MAX_CHARS


@pytest.mark.parametrize("name", [".", "gone/audit.jsonl", "fifo"])
def test_a_log_that_cannot_be_written_is_said_once_and_stops_nothing(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    os.mkfifo(tmp_path / "fifo")
    with caplog.at_level(logging.WARNING):
        log = AuditLog(tmp_path / name)
        append(log)
        append(log)
        log.close()
    (record,) = caplog.records
    assert "is not written" in record.message


def test_a_disk_that_is_full_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")

    def full(descriptor: int, line: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with caplog.at_level(logging.WARNING):
        append(log)
        append(log)
    monkeypatch.undo()
    log.close()
    assert [record.message.rpartition(": ")[2] for record in caplog.records] == [
        "no space left on device"
    ]
