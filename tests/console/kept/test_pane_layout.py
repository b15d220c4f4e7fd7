"""How panes share the screen: within bounds, and the same in the next run."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.kept.preferences import PaneLayout, PreferenceStore


def test_what_was_chosen_is_there_in_the_next_run_beside_the_theme(tmp_path: Path) -> None:
    store = PreferenceStore(tmp_path / "preferences.json")
    store.update(theme="acp-light")
    layout = PaneLayout(store)
    layout.choose_share("rows", 75)
    layout.choose_times("clock")
    again = PaneLayout(PreferenceStore(tmp_path / "preferences.json"))
    assert (again.share("rows"), again.share("talk"), again.times) == (75, 50, "clock")
    assert store.get().theme == "acp-light"


@pytest.mark.parametrize(
    ("kept", "share"), [("5", 20), ("99", 80), ('"wide"', 60), ("null", 60), ("true", 60)]
)
def test_no_pane_gets_lost_whatever_the_file_says(tmp_path: Path, kept: str, share: int) -> None:
    path = tmp_path / "preferences.json"
    path.write_text(f'{{"v": 1, "rows_share": {kept}}}')
    layout = PaneLayout(PreferenceStore(path))
    assert (layout.share("rows"), layout.times) == (share, "")


def test_without_a_file_a_choice_lasts_as_long_as_the_program(tmp_path: Path) -> None:
    layout = PaneLayout()
    layout.choose_share("talk", 30)
    layout.keep()
    assert layout.share("talk") == 30
    unwritable = PaneLayout(PreferenceStore(tmp_path))
    unwritable.choose_times("Δ")
    assert unwritable.times == "Δ"
