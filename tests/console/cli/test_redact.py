"""`redact` as a person calls it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from tests.console.conftest import Call

KEY = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "it.acp.ndjson"
    message = {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"apiKey": "s3cr3t-x", "t": KEY}}
    answer = b'{"jsonrpc":"2.0","id":1,"result":{"said":"s3cr3t-x"}}'
    entries: list[Entry] = [
        Frame(1, 0, "client", json.dumps(message).encode()),
        Frame(2, 0, "agent", answer),
        Frame(3, 0, "agent", b"\xff"),
    ]
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write(entries)
    writer.close()
    return path


def test_the_report_counts_by_rule(call: Call, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("redact", str(recording), "-o", str(out))
    assert done.code == exit_codes.DONE
    assert done.out == f"{out}: 2 secrets replaced in 3 places\n  anthropic: 1\n  key: 2\n"
    assert done.err == ""
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert KEY.encode() not in out.read_bytes()
    assert [frame.seq for frame in read_recording(out).frames] == [1, 2, 3]
    again = call("redact", str(out), "-o", str(tmp_path / "again"))
    assert "no secret was found by" in again.out


def test_one_secret_is_no_plural(call: Call, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("redact", "--rule", "anthropic", str(recording), "-o", str(out))
    assert done.out == f"{out}: 1 secret replaced in 1 place\n  anthropic: 1\n"


def test_the_report_in_json(call: Call, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("redact", "--format", "json", "--rule", "anthropic", str(recording), "-o", str(out))
    assert json.loads(done.out) == {
        "v": 1,
        "version": 1,
        "file": str(recording),
        "output": str(out),
        "secrets": 1,
        "replaced": 1,
        "rules": {"anthropic": {"secrets": 1, "replaced": 1}},
    }


@pytest.mark.parametrize(
    ("rule", "sentence"), [("slack", "the rule 'slack' finds nothing"), ("nope", "no rule 'nope'")]
)
def test_a_rule_in_vain_is_an_error(
    call: Call, recording: Path, tmp_path: Path, rule: str, sentence: str
) -> None:
    out = tmp_path / "out"
    done = call("redact", str(recording), "-o", str(out), "--rule", "key", "--rule", rule)
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert sentence in done.err
    assert not out.exists()


def test_nothing_is_overwritten_by_default(call: Call, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("precious")
    refused = call("redact", str(recording), "-o", str(out))
    assert (refused.code, out.read_text()) == (exit_codes.USAGE, "precious")
    assert "--overwrite" in refused.err
    assert call("redact", "--overwrite", str(recording), "-o", str(out)).code == exit_codes.DONE
    assert len(read_recording(out).frames) == 3


def test_a_value_of_this_processs_environment_is_found(
    call: Call, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "s3cr3t-x")
    done = call("redact", str(recording), "-o", str(tmp_path / "out"), "--rule", "environment")
    assert "environment: 2" in done.out


def test_a_redacted_recording_still_replays(call: Call, tmp_path: Path) -> None:
    talk, out = tmp_path / "talk.acp.ndjson", tmp_path / "out.acp.ndjson"
    spoken = call("exec", "--record", str(talk), "--cwd", str(tmp_path), f"say {KEY}")
    assert spoken.code == exit_codes.DONE
    assert call("redact", str(talk), "-o", str(out), "--rule", "anthropic").code == exit_codes.DONE
    assert call("scan", str(out)).code == exit_codes.DONE
    played = call("replay", "--allow-redacted", str(out), "demo", "--cwd", str(tmp_path))
    assert played.code == exit_codes.DONE
    assert "hands to the agent: prompts: 1\n" in played.err


def test_a_file_that_is_no_recording_is_explained_in_one_sentence(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "in").write_text("hello\n")
    done = call("redact", str(tmp_path / "in"), "-o", str(tmp_path / "out"))
    assert (done.code, done.err.count("\n")) == (exit_codes.USAGE, 1)
    assert "is not a recording" in done.err


def test_a_recording_is_replaced_by_its_own_copy_only_if_wanted(
    call: Call, recording: Path
) -> None:
    before = recording.read_bytes()
    out = recording.parent / "." / recording.name
    done = call("redact", str(recording), "-o", str(out))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "is the recording itself\nhint: name another file" in done.err
    assert recording.read_bytes() == before
    assert call("redact", str(recording), "-o", str(out), "--overwrite").code == exit_codes.DONE
    assert recording.read_bytes() != before
