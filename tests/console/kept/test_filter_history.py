"""Filters that were used are found again, in this run and in later ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.kept.filter_history import MAX_LENGTH, FilterHistory


def test_filters_are_browsed_from_the_newest_and_back_to_what_was_typed(tmp_path: Path) -> None:
    for each in ("one", "two", "one"):
        FilterHistory(tmp_path / "filters").add(f" {each} ")
    history = FilterHistory(tmp_path / "filters")
    assert not history.is_browsed
    assert [history.older("typed") for _ in range(3)] == ["one", "two", "two"]
    assert history.is_browsed
    assert [history.newer() for _ in range(3)] == ["one", "typed", "typed"]


@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "x" * (MAX_LENGTH + 1)])
def test_what_is_no_line_or_too_long_is_not_kept(tmp_path: Path, text: str) -> None:
    history = FilterHistory(tmp_path / "filters")
    history.add("x" * MAX_LENGTH)
    history.add(text)
    assert history.older("") == history.older("") == "x" * MAX_LENGTH


def test_only_the_newest_filters_are_kept(tmp_path: Path) -> None:
    history = FilterHistory(tmp_path / "filters", limit=2)
    for each in ("one", "two", "three"):
        history.add(each)
    kept = FilterHistory(tmp_path / "filters")
    assert [kept.older("") for _ in range(3)] == ["three", "two", "two"]
