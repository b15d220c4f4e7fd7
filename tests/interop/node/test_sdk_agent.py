"""Our client with an agent of version 1 on the official TypeScript SDK, over real pipes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.node.programs import console, lines

EDIT = "edit notes.md: milk => bread"


@pytest.fixture
def agent(npm: Path) -> tuple[object, ...]:
    return ("--", "node", npm / "agent_v1.mjs")


def test_its_text_is_streamed_to_stdout(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "good morning", *agent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "You said: good morning\n", "")


@pytest.mark.parametrize(
    ("allow", "said", "file"),
    [
        ("edits", "chosen: go\n", "Buy bread.\n"),
        ("all", "chosen: go\n", "Buy bread.\n"),
        ("reads", "chosen: stop\n", "Buy milk.\n"),
        ("none", "chosen: stop\n", "Buy milk.\n"),
    ],
)
def test_it_does_what_is_allowed_and_nothing_else(
    place: Path, agent: tuple[object, ...], allow: str, said: str, file: str
) -> None:
    done = console(place, "exec", "--allow", allow, EDIT, *agent)
    assert (done.returncode, done.stdout) == (0, said)
    assert "  * Edit notes.md\n" in done.stderr
    assert (place / "notes.md").read_text() == file


def test_what_it_must_not_ask_is_refused_by_the_right_code(
    place: Path, agent: tuple[object, ...]
) -> None:
    """A terminal, an extension, a file that is not there, no path, a file outside."""
    done = console(place, "exec", "ask", *agent)
    assert done.stdout == "-32601 -32601 -32002 -32602 -32602\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_each_kind_of_update_comes_through(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "--format", "json", "everything", *agent)
    *updates, end = lines(done)
    kinds = [line["update"]["sessionUpdate"] for line in updates]
    assert (done.returncode, end["stopReason"]) == (0, "end_turn")
    assert len(kinds) == 16
    assert kinds[-2:] == ["of_the_future", "agent_message_chunk"]
    assert updates[-4]["update"]["_meta"] == {"mine": [1]}


def test_what_is_no_text_is_named(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "everything", *agent)
    assert done.stdout == "all of [image][resource_link][resource] it\n"
    assert done.stderr == "  * Look at everything\n"


def test_a_recording_of_it_holds_nothing_that_is_not_understood(
    place: Path, agent: tuple[object, ...], tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    assert console(place, "exec", "--record", path, "everything", *agent).returncode == 0
    rows = lines(console(place, "show", "--format", "json", path))
    assert [row["kind"] for row in rows if row["kind"] in {"error", "malformed"}] == []
    assert rows[-1]["summary"] == "stopReason end_turn"


def test_a_turn_that_takes_too_long_is_ended(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "--timeout", "5", "wait", *agent)
    assert (done.returncode, done.stdout) == (124, "waiting\n")
    assert done.stderr == "acp-console: the turn took longer than 5 s\n"


def test_its_failure_is_told_in_one_sentence(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "fail", *agent)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("acp-console: the agent refused: Internal error: out of ideas")


def test_an_agent_that_wants_to_know_its_user_says_how(
    place: Path, agent: tuple[object, ...]
) -> None:
    done = console(place, "exec", "hello", *agent, "--sign-in")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        "acp-console: the agent asks you to sign in first "
        "(Authentication required: who are you?); it offers: A key. "
        "Do so with its own command and try again\n"
    )
