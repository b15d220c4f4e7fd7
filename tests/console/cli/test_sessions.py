"""`acp-console sessions`: list, read, export and remove what chats have kept."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
from pathlib import Path

import pytest

from acp_console.kept.session_store import RecordedSessions
from acp_inspector.recording.reader import read_recording
from acp_protocol.host.state import state_directory
from tests.console.conftest import Call
from tests.console.recorded_runs import opening, recorded, running, text_block, turn, update
from tests.warm import WARM


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedSessions:
    """The user's own store, in a home of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return RecordedSessions()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory."""
    found = tmp_path / "project"
    found.mkdir()
    monkeypatch.chdir(found)
    return found


def test_the_list_shows_the_last_used_session_first(store: RecordedSessions, call: Call) -> None:
    recorded(
        store,
        *opening("session/new", "a"),
        *turn("a", "fix the flaky test"),
        update("a", "usage_update", used=760, size=2000, cost={"amount": 0.42, "currency": "USD"}),
    )
    recorded(store, *opening("session/new", "b"), *turn("b", "rename\x1b[31m Token"))
    heading, first, second = call("sessions", "ls").out.splitlines()
    columns = ["id", "used", "state", "agent", "directory", "turns", "context", "session"]
    assert heading.split() == columns
    assert "rename␛[31m Token" in first
    assert "38 %  0.42 USD" in second
    assert "fix the flaky test" in second
    assert call("sessions").out == call("sessions", "ls").out


def test_a_prompt_that_was_not_sent_is_no_title(store: RecordedSessions, call: Call) -> None:
    both = [*opening("session/new", "a"), *opening("session/new", "b", id_=3), *turn("b", "x")]
    recorded(store, *both)
    for each in store.sessions(with_empty=True):
        store.keep_draft(each, "not sent")
    listed = call("sessions", "ls").out
    assert "(draft)" in listed
    assert "not sent" not in listed


def test_the_list_is_selected_by_agent_and_directory(
    store: RecordedSessions, call: Call, project: Path
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "elsewhere"))
    recorded(store, *opening("session/new", "b", cwd=project), *turn("b", "here"))
    found = [json.loads(line) for line in call("sessions", "ls", "--json").out.splitlines()]
    assert [each["title"] for each in found] == ["here", "elsewhere"]
    assert found[0]["cwd"] == str(project)
    [line] = call("sessions", "ls", "--cwd", ".", "--json").out.splitlines()
    assert json.loads(line)["session"] == "b"
    outcome = call("sessions", "ls", "--agent", "other")
    assert (outcome.code, outcome.out) == (0, "")
    assert "no session is kept" in outcome.err


def test_sessions_in_which_nothing_was_said_are_listed_only_on_request(
    store: RecordedSessions, call: Call
) -> None:
    recorded(
        store, *opening("session/new", "a"), *opening("session/new", "b", id_=3), *turn("b", "x")
    )
    assert len(call("sessions", "ls", "--json").out.splitlines()) == 1
    assert len(call("sessions", "ls", "--all", "--json").out.splitlines()) == 2


def test_show_prints_the_conversation(store: RecordedSessions, call: Call, project: Path) -> None:
    recorded(store, *opening("session/new", "b", cwd=project), *turn("b", "here"))
    recorded(store, *opening("session/new", "a"), *turn("a", "elsewhere"))
    lines = [line.strip() for line in call("sessions", "show").out.splitlines()]
    assert "you: here" in lines
    assert "agent: re: here" in lines
    shown = json.loads(call("sessions", "show", store.find("a").id[:6], "--json").out)
    assert shown["v"] == 1
    [conversation] = shown["conversations"]
    assert [item["text"] for item in conversation["items"][:2]] == ["elsewhere", "re: elsewhere"]


def test_show_prints_what_the_user_decided(store: RecordedSessions, call: Call) -> None:
    with running(store, *opening("session/new", "a"), *turn("a", "go")) as journal:
        names = {"option": "yes", "option_name": "Yes, once", "kind": "allow_once"}
        journal.event("decision", session="a", request=900, title="Edit notes.md", **names)
        journal.event("decision", session="b", request=901, title="Run it", **names)
    outcome = call("sessions", "show", "a")
    assert outcome.out.endswith("you decided: Edit notes.md: Yes, once (allow_once)\n")


def test_an_unknown_session_is_refused(store: RecordedSessions, call: Call, project: Path) -> None:
    del store, project
    for words in (["show", "feed"], ["export", "feed"], ["rm", "feed", "--yes"], ["show"]):
        outcome = call("sessions", *words)
        assert outcome.code == 2
        assert "sessions ls" in outcome.err


def test_a_session_is_exported_as_a_recording(
    store: RecordedSessions, call: Call, project: Path
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "hello"))
    assert call("sessions", "export", "a", "-o", "a.acp.ndjson").code == 0
    recording = read_recording(project / "a.acp.ndjson")
    assert [frame.data for frame in recording.frames] == [
        frame.data for frame in read_recording(store.find("a").recording).frames
    ]
    assert "you: hello" in call("show", "--view", "conversation", "a.acp.ndjson").out
    assert stat.S_IMODE((project / "a.acp.ndjson").stat().st_mode) == 0o600


def test_an_exported_recording_has_all_runs_of_the_session(
    store: RecordedSessions, call: Call, project: Path
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "hello"))
    others = (*opening("session/new", "b"), *turn("b", "secret"))
    recorded(store, *opening("session/resume", "a"), *turn("a", "again"), *others)
    assert call("sessions", "export", "a", "-o", "a.acp.ndjson").code == 0
    entries = read_recording(project / "a.acp.ndjson").entries
    numbers = [entry.seq for entry in entries]
    assert numbers == sorted(set(numbers))
    times = [entry.time for entry in entries]
    assert times == sorted(times)
    shown = call("show", "--view", "conversation", "a.acp.ndjson").out
    assert "you: hello" in shown
    assert "you: again" in shown
    assert "secret" not in shown


def test_times_of_an_export_rise_although_the_clock_was_set_back(
    store: RecordedSessions, call: Call, project: Path
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "hello"))
    recorded(store, *opening("session/resume", "a"), *turn("a", "again"))
    first = min((state_directory() / "sessions").glob("*.acp.ndjson"))
    first.write_bytes(re.sub(rb'"created":"20', b'"created":"30', first.read_bytes(), count=1))
    assert call("sessions", "export", "a", "-o", "a.acp.ndjson").code == 0
    times = [entry.time for entry in read_recording(project / "a.acp.ndjson").entries]
    assert times == sorted(times)


def test_an_export_replaces_a_file_only_on_request(
    store: RecordedSessions, call: Call, project: Path
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "hello"))
    out = project / "a.md"
    out.write_text("mine")
    assert call("sessions", "export", "a", "-o", str(out)).code == 2
    assert out.read_text() == "mine"
    assert call("sessions", "export", "a", "-o", str(out), "--overwrite").code == 0
    assert "hello" in out.read_text()
    assert [path.name for path in project.iterdir()] == ["a.md"]


def test_a_name_that_says_no_format_needs_one_by_option(
    store: RecordedSessions, call: Call, project: Path
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "hello"))
    refused = call("sessions", "export", "a", "-o", "x.txt")
    assert refused.code == 2
    assert "hint:" in refused.err
    assert ".md" in refused.err
    assert not [*project.iterdir()]
    assert call("sessions", "export", "a", "-o", "x.txt", "--to", "json").code == 0
    assert json.loads((project / "x.txt").read_text())["session"] == "a"


def test_a_session_is_exported_as_markdown(store: RecordedSessions, call: Call) -> None:
    diff = {"type": "diff", "path": "/notes.md", "oldText": "one\ntwo\n", "newText": "one\n2\n"}
    output = {"type": "content", "content": text_block("a fence:\n```\nin it\n```")}
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA" * 3000}
    request, chunk, response = turn("a", "use **bold**")
    recorded(
        store,
        *opening("session/new", "a"),
        request,
        update("a", "agent_thought_chunk", content=text_block("hm\nwell")),
        update(
            "a", "tool_call", toolCallId="t", title="Edit *it*", kind="edit", status="completed"
        ),
        update("a", "tool_call_update", toolCallId="t", content=[diff, output]),
        update("a", "plan", entries=[{"content": "do it", "status": "completed"}]),
        update("a", "agent_message_chunk", content=image),
        chunk,
        response,
    )
    text = call("sessions", "export", "a").out
    for part in (
        "# use \\*\\*bold\\*\\*\n",
        "## You\n\nuse **bold**\n",
        "## Fake\n\n> *Thought*\n>\n> hm\n> well\n",
        "**Edit \\*it\\*** · edit · completed · ",
        "```diff\n--- /notes.md\n+++ /notes.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n```\n",
        "````\na fence:\n```\nin it\n```\n````\n",
        "- [x] do it\n",
        "*[image image/png 9000 B]*\n",
        "re: use **bold**\n",
    ):
        assert part in text
    assert "<del>-two</del>" in call("sessions", "export", "a", "--to", "html").out
    assert json.loads(call("sessions", "export", "a", "--to", "json").out)["session"] == "a"


def test_sessions_are_removed_by_id(store: RecordedSessions, call: Call) -> None:
    for name in ("a", "b"):
        recorded(store, *opening("session/new", name), *turn(name, "x"))
    outcome = call("sessions", "rm", "a", "--yes")
    assert (outcome.code, outcome.err) == (0, "note: removed 1 session\n")
    assert [each.session_id for each in store.sessions()] == ["b"]


def test_all_sessions_that_have_ended_are_removed_on_request(
    store: RecordedSessions, call: Call
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "x"))
    with running(store, *opening("session/new", "b"), *turn("b", "x")):
        assert call("sessions", "rm", "b", "--yes").code == 2
        assert call("sessions", "rm", "--all", "--agent", "other", "--yes").code == 0
        assert len(store.sessions()) == 2
        assert call("sessions", "rm", "--all", "--yes").code == 0
    assert [each.session_id for each in store.sessions()] == ["b"]


def test_without_a_terminal_nothing_is_removed_unasked(store: RecordedSessions, call: Call) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "x"))
    outcome = call("sessions", "rm", "a")
    assert outcome.code == 2
    assert "--yes" in outcome.err
    assert call("sessions", "rm").code == 2
    assert store.sessions()


@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0)])
def test_on_a_terminal_removing_asks_first(store: RecordedSessions, answer: str, left: int) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "precious"))
    mine, its = pty.openpty()
    command = [*WARM, "-m", "acp_console", "sessions", "rm", "a"]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its)
    os.close(its)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(mine, 4096)
    assert b"precious" in shown
    os.write(mine, f"{answer}\n".encode())
    assert process.wait(20) == 0
    os.close(mine)
    assert len(store.sessions()) == left
