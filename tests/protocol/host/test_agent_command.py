"""The words of an agent's command, which is typed in one directory and starts in another."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_protocol.host.agent_command import resolved_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for name in ("agent.py", "python3", "src/agent.py", "settings.toml"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("python3 agent.py --fast", "python3 {}/agent.py --fast"),
        ("./python3 src/agent.py", "{}/python3 {}/src/agent.py"),
        ("./missing missing.py src", "{}/missing missing.py src"),
        ("a --config=settings.toml --level=high", "a --config={}/settings.toml --level=high"),
        ("a key=settings.toml /dev/null ''", "a key=settings.toml /dev/null ''"),
        ("", ""),
    ],
)
def test_words_that_name_files_mean_those_of_the_users_directory(
    folder: Path, words: str, expected: str
) -> None:
    resolved = resolved_command(expected.replace("{}", str(folder)), Path("/"))
    assert resolved_command(words, folder) == resolved


def test_words_that_can_name_no_file_stay_as_they_are(folder: Path) -> None:
    words = ("python3", "-c", "x" * 100_000, "a\0b")
    assert resolved_command(words, folder) == words
