"""`snapshot`: what a recording means, compared with what was stored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from tests.console.conftest import Agent, Call

FOLDER = Path(__file__).parents[3] / "recordings"
RECORDINGS = sorted(FOLDER.rglob("*.acp.ndjson"))
COUNTING = 'prompt = hear_prompt(); say("one, "); say("two"); end(prompt); hear("never")'


@pytest.fixture
def recording(agent: Agent, call: Call, tmp_path: Path) -> Path:
    path = tmp_path / "counting.acp.ndjson"
    done = call("exec", "--record", str(path), "count", "--", *agent(COUNTING))
    assert done.code == exit_codes.DONE
    return path


def test_a_snapshot_is_stored_and_then_compared_with(recording: Path, call: Call) -> None:
    missing = call("snapshot", str(recording))
    assert missing.code == exit_codes.USAGE
    assert f"there is no snapshot {recording}.snapshot.json" in missing.err
    assert "hint: store one with --update" in missing.err
    stored = call("snapshot", "--update", str(recording))
    assert stored.code == exit_codes.DONE
    assert '+ "findings": [' in stored.out
    last = stored.out.splitlines()[-1]
    assert last.startswith("counting.acp.ndjson: stored counting.acp.ndjson.snapshot.json: ")
    again = call("snapshot", str(recording))
    assert (again.code, again.out.count("\n")) == (exit_codes.DONE, 1)
    assert again.out.startswith("counting.acp.ndjson: pass: ")
    assert "1 session, 3 exchanges" in again.out


def test_another_reading_fails_with_the_lines_that_differ(recording: Path, call: Call) -> None:
    call("snapshot", "--update", str(recording))
    snapshot = Path(f"{recording}.snapshot.json")
    before = snapshot.read_text()
    recording.write_bytes(recording.read_bytes().replace(b"one, ", b"ten, "))
    done = call("snapshot", str(recording))
    assert done.code == exit_codes.FOUND
    assert '-     "text": "one, two",' in done.out
    assert '+     "text": "ten, two",' in done.out
    shown = call("snapshot", "--json", str(recording))
    assert json.loads(shown.out)["passed"] is False
    assert snapshot.read_text() == before
    updated = call("snapshot", "--update", str(recording))
    assert '+     "text": "ten, two",' in updated.out
    assert call("snapshot", str(recording)).code == exit_codes.DONE
    assert "unchanged" in call("snapshot", "--update", str(recording)).out


@pytest.mark.parametrize("text", ["", "[]", '{"acp_snapshot": 2}', "{" * 100_000])
def test_what_is_no_snapshot_is_an_error(recording: Path, call: Call, text: str) -> None:
    Path(f"{recording}.snapshot.json").write_text(text)
    done = call("snapshot", str(recording))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "is not a snapshot" in done.err
    assert "hint: make it anew with --update" in done.err


def test_a_recording_without_frames_has_no_snapshot(
    recording: Path, call: Call, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.acp.ndjson"
    empty.write_bytes(recording.read_bytes().splitlines(keepends=True)[0])
    done = call("snapshot", "--update", str(empty))
    assert done.code == exit_codes.FOUND
    assert "fail: the recording holds no frame" in done.out
    assert not Path(f"{empty}.snapshot.json").exists()


@pytest.mark.long
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_each_request_and_response_of_a_recording_counts_in_its_snapshot(
    path: Path, call: Call, tmp_path: Path
) -> None:
    """Five of a recording, from its first to its last, are left out in turn."""
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    assert call("snapshot", "--update", str(copy)).code == exit_codes.DONE
    lines = path.read_bytes().splitlines(keepends=True)
    calls = [at for at, line in enumerate(lines) if b'"id":' in line and b'"msg":' in line]
    for at in calls[:: max(len(calls) // 5, 1)]:
        copy.write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
        assert call("snapshot", str(copy)).code == exit_codes.FOUND, at
