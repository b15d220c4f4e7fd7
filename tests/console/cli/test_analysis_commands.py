"""Tables, wherever they are printed, and what is read for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.printing import print_table
from acp_console.cli.reading import read_session_model
from acp_console.wording.tables import Layout
from acp_console.wording.values import format_size
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.journal import Journal
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from tests.console.conftest import Call

EDIT = Path(__file__).parents[3] / "recordings/edit.acp.ndjson"
LAYOUT = Layout(
    columns=("name", "one", "two", "empty"),
    words=("name",),
    flexible="name",
    spare=("two", "one"),
)
ROWS = [["a" * 50, "1", "2", ""], ["[b]", "10", "20", ""]]
SLOW = "/((a|a)+)+$/"
"""A pattern that takes too long on the frames of `slow_recording`."""
COLOURS = re.compile("\x1b\\[[0-9;]*m")


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    shown = capsys.readouterr()
    return [line.rstrip() for line in COLOURS.sub("", shown.out).splitlines()], shown.err


def slow_recording(folder: Path) -> Path:
    """Write a recording on which some patterns take long."""
    path, journal = folder / "slow.acp.ndjson", Journal()
    text = b"a" * 60 + b"b"
    journal.frame("client", b'{"jsonrpc":"2.0","id":1,"method":"m","params":["%b"]}' % text)
    writer = RecordingWriter(path, new_header(["a"], folder))
    writer.write(journal.entries)
    writer.close()
    return path


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


def test_bytes_are_told_in_the_unit_that_fits() -> None:
    assert [format_size(count) for count in (9999, 10240, 20 * 1024**2)] == [
        "9999 B",
        "10.0 kB",
        "20.0 MB",
    ]


def asked() -> int:
    """Return the number of the frame in which the user is asked."""
    frames = read_recording(EDIT).frames
    return next(each.seq for each in frames if b'"session/request_permission"' in each.data)


def test_a_study_may_end_before_its_recording() -> None:
    model = read_session_model(EDIT, until=asked())
    assert model.n == asked()
    assert [each.request.method for each in model.exchanges.open()] == [
        *("session/prompt", "session/request_permission")
    ]


def test_a_filter_that_needs_the_end_knows_it() -> None:
    model = read_session_model(EDIT, compile_filter("pending"), until=asked())
    assert model.statistics.total.frames == 2


TAKES_FILTER = (
    ("show", "--filter"),
    ("show", "--view", "exchanges", "--filter"),
    ("show", "--format", "json", "--filter"),
    ("stats", "--filter"),
    ("lint", "--fail-on", "never", "--filter"),
)
"""Commands for one recording."""


@pytest.mark.parametrize(
    "words",
    [TAKES_FILTER[0], *(pytest.param(each, marks=pytest.mark.long) for each in TAKES_FILTER[1:])],
)
def test_every_command_warns_of_a_slow_pattern(
    call: Call, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = call(*words, SLOW, str(slow_recording(tmp_path)))
    # For lint, a filter that matches no frame is a mistake.
    assert done.code == (exit_codes.USAGE if words[0] == "lint" else exit_codes.DONE)
    assert f"{words[-1]} {SLOW}: its pattern" in done.err


@pytest.mark.parametrize(
    "words",
    [
        *TAKES_FILTER,
        *(("diff", str(EDIT), each) for each in ("--ignore", "--only-right")),
        ("replay", "--ignore"),
    ],
)
def test_every_command_shows_the_same_mistake_in_the_same_way(
    call: Call, words: tuple[str, ...]
) -> None:
    done = call(*words, "size > 4kb and metod == x", str(EDIT), *(["demo"] * ("replay" in words)))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert done.err.startswith(f"error: {words[-1]}: there is no field `metod`\n")
    assert "  size > 4kb and metod == x\n                        ^^^^^" in done.err
    assert done.err.endswith("\nhint: did you mean `method`?\n")


def test_what_a_study_does_not_know_is_refused_and_not_silently_absent(call: Call) -> None:
    done = call("stats", "--filter", "finding or turn == 1", str(EDIT))
    assert done.code == exit_codes.USAGE
    assert "--filter: not available here: `finding`\nhint: use it with show or lint" in done.err
    done = call("show", "--view", "exchanges", "--filter", "turn == 1 or rule", str(EDIT))
    assert done.code == exit_codes.DONE
    assert "session/prompt" in done.out
    assert "initialize" not in done.out
