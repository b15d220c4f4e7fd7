"""Checks of a recording that cannot be read completely do not pass; what only shows it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from tests.console.conftest import Agent, Call

COUNTING = 'prompt = hear_prompt(); say("one, "); say("two"); end(prompt); hear("never")'
UNREAD = "1 line of the recording could not be read"


@pytest.fixture
def whole(agent: Agent, call: Call, tmp_path: Path) -> Path:
    path = tmp_path / "whole.acp.ndjson"
    done = call("exec", "--record", str(path), "count", "--", *agent(COUNTING))
    assert done.code == exit_codes.DONE
    return path


@pytest.fixture
def cut(whole: Path) -> Path:
    """Write a recording that lacks the end of its last line, the footer: no message is missing."""
    path = whole.with_name("cut.acp.ndjson")
    path.write_bytes(whole.read_bytes()[:-20])
    return path


def test_what_only_shows_a_cut_recording_warns(cut: Path, call: Call) -> None:
    for command in ("stats", "show"):
        done = call(command, str(cut))
        assert done.code == exit_codes.DONE
        assert "the file ends in the middle of this line" in done.err


@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_lint_fails_unless_it_is_to_fail_on_nothing(whole: Path, call: Call, damage: str) -> None:
    path = whole.with_name("damaged.acp.ndjson")
    data = whole.read_bytes()
    path.write_bytes(data[:-20] if damage == "cut" else data + b"{ no line\n")
    done = call("lint", str(path))
    assert done.code == exit_codes.FOUND
    assert f"error: {UNREAD}\nhint: with --fail-on never " in done.err
    assert call("lint", "--fail-on", "never", str(path)).code == exit_codes.DONE


def test_diff_finds_no_difference_and_fails(whole: Path, cut: Path, call: Call) -> None:
    for pair in ((whole, cut), (cut, whole)):
        done = call("diff", *map(str, pair))
        assert (done.code, done.out[:14]) == (exit_codes.FOUND, "no difference:")
        assert f"error: {UNREAD}\n" in done.err
    found = json.loads(call("diff", "--format", "json", str(whole), str(cut)).out)
    assert (found["differences"], found["unread"]) == ([], 1)
    assert call("diff", str(whole), str(whole)).code == exit_codes.DONE


def test_a_snapshot_of_it_is_stored_and_never_passes(cut: Path, call: Call) -> None:
    stored = call("snapshot", "--update", str(cut))
    assert stored.code == exit_codes.FOUND
    assert f": fail: {UNREAD}; stored cut.acp.ndjson.snapshot.json; " in stored.out
    found = json.loads(call("snapshot", "--format", "json", str(cut)).out)
    assert (found["passed"], found["diff"], found["unread"]) == (False, [], 1)
    done = call("snapshot", str(cut))
    assert done.code == exit_codes.FOUND
    assert f": fail: {UNREAD}; " in done.out
    tested = call("test", str(cut))
    assert tested.code == exit_codes.FOUND
    assert f": fail: {UNREAD}\n" in tested.out


def test_a_replay_plays_the_rest_and_fails(cut: Path, agent: Agent, call: Call) -> None:
    done = call("replay", str(cut), "--", *agent(COUNTING))
    assert done.code == exit_codes.FOUND
    assert "fail: 1 problem; 3 client frames played, " in done.out
    assert f"\n* {UNREAD}\n" in done.out
    found = json.loads(call("replay", "--json", str(cut), "--", *agent(COUNTING)).out)
    assert (found["passed"], found["differences"], found["unread"]) == (False, [], 1)


def test_a_test_run_mends_it_by_an_update(cut: Path, agent: Agent, call: Call) -> None:
    command = ("test", str(cut), "--", *agent(COUNTING))
    assert call(*command).code == exit_codes.FOUND
    assert call("test", "--update", *command[1:]).code == exit_codes.DONE
    assert call(*command).code == exit_codes.DONE


def test_a_wrong_digest_is_a_warning_only(whole: Path, call: Call) -> None:
    """Everything was read, but somebody has edited it."""
    whole.write_bytes(whole.read_bytes().replace(b"one, ", b"ten, "))
    for fail_on, code in (("error", exit_codes.DONE), ("warning", exit_codes.FOUND)):
        done = call("lint", "--fail-on", fail_on, str(whole))
        assert done.code == code
        assert "the digest does not fit" in done.err
    assert call("diff", str(whole), str(whole)).code == exit_codes.DONE
