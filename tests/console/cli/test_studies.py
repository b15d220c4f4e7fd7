"""Tables, wherever they are printed, and what is read for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_console.cli.studies import Layout, print_table, seconds, size, study_of
from acp_inspector.filter.language import compile_filter

EDIT = Path(__file__).parents[3] / "recordings/edit.acp.ndjson"
LAYOUT = Layout(
    columns=("name", "one", "two", "empty"),
    words=("name",),
    flexible="name",
    spare=("two", "one"),
)
ROWS = [["a" * 50, "1", "2", ""], ["[b]", "10", "20", ""]]
COLOURS = re.compile("\x1b\\[[0-9;]*m")


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    shown = capsys.readouterr()
    return [line.rstrip() for line in COLOURS.sub("", shown.out).splitlines()], shown.err


def narrow(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Let this be a terminal of so many columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))


def test_a_table_takes_what_it_needs_where_no_terminal_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(LAYOUT, ROWS)
    lines, told = printed(capsys)
    assert lines == [f"{'name':50}  one  two", f"{'a' * 50}    1    2", f"{'[b]':50}   10   20"]
    assert told == ""


def test_words_are_cut_first_and_columns_are_left_out_next(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(monkeypatch, 40)
    print_table(LAYOUT, ROWS)
    lines, told = printed(capsys)
    assert lines[1] == f"{'a' * 29}…    1    2"
    assert told == ""
    narrow(monkeypatch, 30)
    print_table(LAYOUT, ROWS)
    lines, told = printed(capsys)
    assert lines[0] == f"{'name':25}  one"
    assert "no room for: two" in told


def test_a_table_without_rows_shows_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(LAYOUT, [])
    assert printed(capsys)[0] == ["name  one  two  empty"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, ""), (0.0, "0.0 ms"), (0.0123, "12.3 ms"), (1.5, "1.50 s"), (600.0, "10.0 min")],
)
def test_a_duration_is_told_in_the_unit_that_fits(value: float | None, shown: str) -> None:
    assert seconds(value) == shown


def test_bytes_are_told_in_the_unit_that_fits() -> None:
    assert [size(count) for count in (9999, 10240, 20 * 1024**2)] == [
        "9999 B",
        "10.0 kB",
        "20.0 MB",
    ]


def test_a_study_may_end_before_its_recording() -> None:
    assert study_of(EDIT, until=31).n == 31
    assert [each.request.method for each in study_of(EDIT, until=31).exchanges.open()] == [
        *("session/prompt", "session/request_permission")
    ]


def test_a_filter_that_needs_the_end_knows_it() -> None:
    study = study_of(EDIT, compile_filter("pending"), until=31)
    assert study.statistics.total.frames == 2
