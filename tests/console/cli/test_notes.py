"""Turns and findings, of which no frame tells by itself, as `show` knows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.reading import annotate
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.journal import Frame
from tests.console.cli.test_lint import write
from tests.console.conftest import Call
from tests.inspector.lint.talk import Talk


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two turns, the second of which ends in a way that there is not."""
    talk = Talk()
    talk.open()
    talk.turn("first")
    prompt = talk.prompt("second")
    sent = next(each.data for each in talk.entries if isinstance(each, Frame) and each.seq == 8)
    talk.say()
    talk.finish(prompt, "tired")
    talk.event("edited", of=8, by="rule", was="{}", now=sent.decode())
    talk.event("held", of=9, by="breakpoint", filter="error")
    return write(tmp_path / "it.acp.ndjson", talk)


def numbers(call: Call, file: Path, text: str) -> list[int]:
    """Return the frames that `show` prints for a filter."""
    done = call("show", "--filter", text, "--fields", "n", "--format", "json", str(file))
    return [json.loads(line)["n"] for line in done.out.splitlines()]


def test_frames_are_found_by_their_turn_and_by_what_lint_says(call: Call, recording: Path) -> None:
    assert numbers(call, recording, "turn == 2") == [8, 9, 10]
    assert numbers(call, recording, "finding == error") == [10]
    assert numbers(call, recording, "rule == ACP-L144") == [10]
    assert numbers(call, recording, "edited") == [8]
    assert numbers(call, recording, "held") == [9]
    assert numbers(call, recording, "turn == 1 and finding") == []


@pytest.mark.parametrize("command", ["show", "lint"])
@pytest.mark.parametrize(
    "text", ["rule == ACP-L9999", "rule != acp-l144", "error or not rule in (ACP-L144, ACP-L14)"]
)
def test_a_filter_with_a_rule_that_does_not_exist_is_an_error(
    call: Call, recording: Path, command: str, text: str
) -> None:
    done = call(command, "--filter", text, str(recording))
    assert done.code == exit_codes.USAGE
    assert "--filter: there is no rule " in done.err
    assert "hint: did you mean ACP-L" in done.err


def test_findings_are_shown_where_they_are_asked_for(call: Call, recording: Path) -> None:
    done = call("show", "--fields", "n,findings", "--format", "json", str(recording))
    told = {row["n"]: row["findings"] for row in map(json.loads, done.out.splitlines())}
    assert told[10] == ["invalid-stop-reason"]
    assert told[9] == []
    table = call("show", "--fields", "n,findings", str(recording)).out
    assert table.splitlines()[-1].split() == ["10", "invalid-stop-reason"]
    assert "findings" not in call("show", "--format", "json", str(recording)).out


def test_what_asks_for_nothing_reads_nothing(tmp_path: Path) -> None:
    known = annotate(tmp_path / "missing", compile_filter("method == x"))
    assert (known.finding_count, known.entries_revision) == (0, 0)


def test_what_is_followed_has_no_findings(call: Call, recording: Path) -> None:
    done = call("show", "--follow", "--filter", "finding", str(recording))
    assert done.code == exit_codes.USAGE
    assert "they need the whole recording" in done.err
