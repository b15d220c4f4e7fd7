"""A recording is redacted as a whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.redaction.files import MixedRecordingError, check_append


def recording(path: Path, redacted: list[str] | None) -> Path:
    header = Header(created="2026-01-01T00:00:00.000Z", tool="t", schema="s", redacted=redacted)
    RecordingWriter(path, header).close()
    return path


def test_a_half_that_is_like_the_other_may_come(tmp_path: Path) -> None:
    check_append(recording(tmp_path / "plain", None), redacts=False)
    check_append(recording(tmp_path / "redacted", ["key"]), redacts=True)


def test_secrets_do_not_come_behind_a_half_without_them(tmp_path: Path) -> None:
    with pytest.raises(MixedRecordingError, match="it is redacted; use --redact"):
        check_append(recording(tmp_path / "a", ["key"]), redacts=False)


def test_nothing_pretends_that_a_half_with_secrets_has_none(tmp_path: Path) -> None:
    with pytest.raises(MixedRecordingError, match="it is not redacted"):
        check_append(recording(tmp_path / "a", None), redacts=True)
    with pytest.raises(MixedRecordingError, match="it is not redacted"):
        check_append(recording(tmp_path / "b", []), redacts=True)


@pytest.mark.parametrize("content", [None, b"", b"no recording\n"])
def test_what_is_no_recording_is_left_to_the_writer(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a"
    if content is not None:
        path.write_bytes(content)
    check_append(path, redacts=True)
    check_append(path, redacts=False)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_append(tmp_path / "pipe", redacts=True)
