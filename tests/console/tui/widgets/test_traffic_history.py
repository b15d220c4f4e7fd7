"""Filters that were used: in order, between runs, and never in the way."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from acp_console.kept.filter_history import FilterHistory, history_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "filters"


def test_older_and_newer_go_through_what_was_used_and_come_back_to_the_draft(path: Path) -> None:
    history = FilterHistory(path)
    for text in ("error", "pending", "error"):
        history.add(text)
    assert [history.older("dra") for _ in range(3)] == ["error", "pending", "pending"]
    assert history.is_browsed
    assert [history.newer() for _ in range(3)] == ["error", "dra", "dra"]
    assert not history.is_browsed


def test_it_is_kept_between_runs_and_private(path: Path) -> None:
    FilterHistory(path).add('"é"')
    assert FilterHistory(path).older("") == '"é"'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["filters"]


def test_two_runs_at_once_keep_what_both_used(path: Path) -> None:
    first, second = FilterHistory(path), FilterHistory(path)
    first.add("a")
    second.add("b")
    assert path.read_text() == "a\nb\n"


def test_only_so_many_are_kept(path: Path) -> None:
    history = FilterHistory(path, limit=2)
    for text in ("a", "b", "", "c", "x" * 9999):
        history.add(text)
    assert path.read_text() == "b\nc\n"


def test_where_nothing_can_be_kept_it_lives_without(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    history = FilterHistory(tmp_path / "state" / "filters")
    history.add("error")
    assert history.older("") == "error"


def test_it_lies_where_the_state_of_programs_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/x")
    assert history_path() == Path("/x/acp-console/filters")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert history_path() == Path.home() / ".local/state/acp-console/filters"
