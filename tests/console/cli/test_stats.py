"""Counts on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Journal
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from tests.console.conftest import Call

EDIT = str(Path(__file__).parents[3] / "recordings/edit.acp.ndjson")


def table(out: str) -> list[list[str]]:
    """Return the words of each line of the table, its head included."""
    return [line.split() for line in out.split("\n\n", 1)[1].splitlines()]


def counted(call: Call, *words: str) -> dict[str, Any]:
    done = call("stats", "--format", "json", *words, EDIT)
    assert done.code == exit_codes.DONE
    return json.loads(done.out)


def test_methods_are_counted_with_their_times(call: Call) -> None:
    done = call("stats", EDIT)
    assert done.code == exit_codes.DONE
    head, *rows = table(done.out)
    assert " ".join(head) == "from method count errors open size min p50 p90 p99 max"
    assert re.match(r"\d+ frames in \d+ ms, ", done.out)
    assert int(done.out.split()[0]) == len(read_recording(Path(EDIT)).frames)
    reads = next(row for row in rows if "fs/read_text_file" in row)
    assert reads[:6] == ["←", "agent", "fs/read_text_file", "3", "0", "0"]


def test_turns_say_how_long_the_user_waited(call: Call) -> None:
    head, first, second = table(call("stats", "--by", "turn", EDIT).out)
    assert head[:3] == ["turn", "session", "ended"]
    assert (first[0], first[2], second[0]) == ("1", "end_turn", "2")
    assert "5.0 ms" in " ".join(second)


def test_json_keys_of_durations(call: Call) -> None:
    durations = counted(call)["total"]["approval"]
    keys = ["count", "total", "least", "mean", "p50", "p90", "p99", "most", "histogram"]
    assert list(durations) == keys


def test_json_has_histograms_and_whole_numbers(call: Call) -> None:
    told = counted(call, "--by", "session")
    assert (told["acp_stats"], told["by"]) == (1, "session")
    (row,) = told["rows"]
    assert row["turns"] == 2
    assert row["tool_calls"] == {"completed": 3}
    assert row["approval"]["count"] == 1
    assert row["approval"]["histogram"] == [{"up_to": 0.01, "count": 1}]


def test_a_filter_chooses_what_is_counted(call: Call) -> None:
    assert counted(call, "--filter", "from == client")["total"]["bytes"]["agent"] == 0
    assert counted(call, "--filter", "turn == 2", "--by", "turn")["rows"][0]["turn"] == 2
    assert counted(call, "--filter", "pending")["total"]["frames"] == 0


def test_a_filter_that_cannot_be_read_is_shown_where(call: Call) -> None:
    done = call("stats", "--filter", "turn ==", EDIT)
    assert done.code == exit_codes.USAGE
    assert "^" in done.err


@pytest.mark.parametrize("by", ["method", "session", "turn"])
def test_no_word_from_the_wire_is_obeyed(call: Call, tmp_path: Path, by: str) -> None:
    path = tmp_path / "it.acp.ndjson"
    journal = Journal()
    for line in (
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"\\u001b[2J[b]"}}',
        b'{"jsonrpc":"2.0","method":"\\u001b[31m"}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\\u001b[2J"}}',
        b"[1,",
    ):
        journal.frame("agent" if b"error" in line else "client", line)
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write(journal.entries)
    writer.close()
    done = call("stats", "--by", by, str(path))
    assert done.code == exit_codes.DONE
    assert done.out.replace("\n", "").isprintable()
    assert "1 malformed" in done.out
