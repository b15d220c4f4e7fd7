"""Small files that the console keeps."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from acp_console.agents.choices import ChoiceStore
from acp_console.kept.filter_history import FilterHistory
from acp_console.kept.preferences import PreferenceStore
from acp_console.kept.prompt_history import PromptHistory
from acp_console.paths import FileWriteError
from acp_console.state_file import MAX_BYTES, StateFile
from acp_protocol.user_files.toml_source import InvalidFileError


def state_file(path: Path) -> StateFile[list[Any]]:
    return StateFile(path, json.loads, json.dumps, list[Any])


def test_a_value_is_kept_in_a_file_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "it"
    assert state_file(path).read() == []
    assert state_file(path).change(lambda kept: [*kept, 1]) == [1]
    assert state_file(path).change(lambda kept: [*kept, 2]) == [1, 2]
    assert state_file(path).read() == [1, 2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_who_wants_to_know_is_told_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "it"
    assert state_file(path).load() == []
    state_file(path).write([1])
    assert state_file(path).load() == [1]
    path.chmod(0o666)
    with pytest.raises(InvalidFileError, match="every user may write to it"):
        state_file(path).load()
    path.unlink()
    path.mkdir()
    with pytest.raises(InvalidFileError, match="cannot be read"):
        state_file(path).load()


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    state_file(tmp_path / "it").write([1])
    with pytest.raises(FileWriteError, match="larger than 8 MiB"):
        state_file(tmp_path / "it").write(["x" * MAX_BYTES])
    assert state_file(tmp_path / "it").read() == [1]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_cannot_be_read_counts_as_empty_and_is_replaced(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "it"
    path.write_bytes(content)
    assert state_file(path).read() == []
    state_file(path).change(lambda kept: [*kept, 1])
    assert state_file(path).read() == [1]


def test_a_file_that_others_may_change_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_text("[1]")
    path.chmod(0o666)
    assert state_file(path).read() == []


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    (tmp_path / "preferences").write_text('{"v": 1, "theme": "nord", "later": 1}\n')
    (tmp_path / "agents").write_text('{"agents": {"a": {"mode": "plan", "confirmed": ["x"]}}}\n')
    (tmp_path / "filters").write_text("method == x\nsize > 4kb\n")
    (tmp_path / "prompts").write_text('{"text": "hello", "cwd": "/p"}\n')
    preferences = PreferenceStore(tmp_path / "preferences")
    assert preferences.get().theme == "nord"
    preferences.update(theme="dark")
    kept = json.loads((tmp_path / "preferences").read_text())
    assert kept == {"v": 1, "theme": "dark", "later": 1}
    choices = ChoiceStore(tmp_path / "agents")
    assert choices.get("a").mode == "plan"
    assert choices.is_confirmed("a", ["x"])
    assert FilterHistory(tmp_path / "filters").older("") == "size > 4kb"
    assert PromptHistory(tmp_path / "prompts").prompts(Path("/p")) == ["hello"]
