"""A file is there as a whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.recording.format import RecordingError, RecordingExistsError
from acp_inspector.recording.writer import atomic_replacement


def test_a_file_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "it"
    with atomic_replacement(path, overwrite=False) as part:
        part.write_text("all of it")
        assert not path.exists()
    assert (path.read_text(), list(tmp_path.iterdir())) == ("all of it", [path])


@pytest.mark.parametrize("problem", [RecordingError, OSError, ValueError, KeyboardInterrupt])
def test_what_fails_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, problem: type[BaseException]
) -> None:
    path = tmp_path / "it"
    path.write_text("precious")
    with (
        pytest.raises((RecordingError, ValueError, KeyboardInterrupt)),
        atomic_replacement(path, overwrite=True) as part,
    ):
        part.write_text("half of")
        raise problem
    assert (path.read_text(), list(tmp_path.iterdir())) == ("precious", [path])


def test_a_file_that_exists_is_refused_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "it"
    with (
        pytest.raises(RecordingExistsError, match="use --overwrite"),
        atomic_replacement(path, overwrite=False) as part,
    ):
        part.write_text("mine")
        path.write_text("came meanwhile")
    assert path.read_text() == "came meanwhile"
    with pytest.raises(RecordingExistsError), atomic_replacement(path, overwrite=False):
        pytest.fail("it was there before")
    assert list(tmp_path.iterdir()) == [path]


def test_errors_name_the_target_and_not_the_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "it"
    with (
        pytest.raises(RecordingError, match=f"cannot record to {path}: why"),
        atomic_replacement(path, overwrite=False) as part,
    ):
        raise RecordingError(f"cannot record to {part}: why")
