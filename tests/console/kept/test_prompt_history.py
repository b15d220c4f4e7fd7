"""Prompts that were sent are found again, in this run and in later ones."""

from __future__ import annotations

import stat
from pathlib import Path

from acp_console.kept.preferences import Preferences, PreferenceStore
from acp_console.kept.prompt_history import PromptHistory

HERE, ELSEWHERE = Path("/here"), Path("/elsewhere")


def test_prompts_of_the_directory_come_before_all_others(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "prompts")
    for text, cwd in (("one", HERE), ("two", ELSEWHERE), ("three", HERE), ("four", ELSEWHERE)):
        history.add(text, cwd)
    assert history.prompts(HERE) == ["three", "one", "four", "two"]
    assert history.prompts(Path("/new")) == ["four", "three", "two", "one"]


def test_a_prompt_of_many_lines_is_kept_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state" / "prompts"
    text = "first line\n\n  - indented\u2028“quoted”"
    PromptHistory(path).add(text, HERE)
    assert PromptHistory(path).prompts(HERE) == [text]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_text_that_utf8_cannot_encode_is_replaced(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "prompts")
    history.add("half \ud800", Path("/\udcff"))
    assert history.prompts(Path("/\udcff")) == ["half ?"]


def test_a_repeated_prompt_is_listed_once_as_the_newest(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "prompts")
    for text in ("again", "other", "again"):
        history.add(text, HERE)
    history.add("again", ELSEWHERE)
    assert history.prompts(HERE) == ["again", "other"]


def test_prompts_are_searched_by_words(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "prompts")
    for text in ("fix the Test", "test it", "write docs"):
        history.add(text, HERE)
    assert history.prompts(HERE, "TEST") == ["test it", "fix the Test"]
    assert history.prompts(HERE, "test fix") == ["fix the Test"]
    assert history.prompts(HERE, "nothing") == []


def test_two_consoles_keep_the_prompts_of_both(tmp_path: Path) -> None:
    one, other = PromptHistory(tmp_path / "prompts"), PromptHistory(tmp_path / "prompts")
    one.add("one", HERE)
    other.add("other", HERE)
    one.add("last", HERE)
    assert other.prompts(HERE) == ["last", "other", "one"]


def test_the_oldest_prompts_make_room(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "a", max_prompts=2)
    for text in ("one", "two", "three"):
        history.add(text, HERE)
    assert history.prompts(HERE) == ["three", "two"]
    history = PromptHistory(tmp_path / "b", max_chars=8, max_prompt_chars=6)
    for text in ("one", "two", "three", "too long", "   "):
        history.add(text, HERE)
    assert history.prompts(HERE) == ["three", "two"]


def test_in_private_mode_prompts_last_as_long_as_the_console(tmp_path: Path) -> None:
    path = tmp_path / "prompts"
    PromptHistory(path).add("earlier", HERE)
    private = PromptHistory(path, is_on=False)
    private.add("secret", HERE)
    assert private.prompts(HERE) == ["secret"]
    assert PromptHistory(path).prompts(HERE) == ["earlier"]


def test_a_damaged_file_costs_only_what_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "prompts"
    PromptHistory(path).add("whole", HERE)
    path.write_bytes(b"\xff\n{\n" + path.read_bytes() + b'{"text": 1}\n')
    assert PromptHistory(path).prompts(HERE) == ["whole"]


def test_a_file_that_cannot_be_written_costs_only_later_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = PromptHistory(tmp_path / "file" / "prompts")
    history.add("one", HERE)
    assert history.prompts(HERE) == ["one"]


def test_choices_are_kept_between_runs(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    assert PreferenceStore(path).get() == Preferences()
    path.write_text('{"theme": "dark", "newer": [1]}')
    PreferenceStore(path).update(theme="light")
    assert PreferenceStore(path).get().theme == "light"
    assert '"newer"' in path.read_text()
    path.write_text("damaged")
    assert PreferenceStore(path).get() == Preferences()
