"""What `show --view` prints; and every example of the pages about reading recordings."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Journal
from acp_inspector.recording.format import new_header
from acp_inspector.recording.writer import RecordingWriter
from tests.console.conftest import Call, Outcome
from tests.inspector.talks import Said, ask, frames, update

ROOT = Path(__file__).parents[3]
PAGES = ("reading", "agent-hangs", "whose-fault", "one-session")
EXAMPLE = re.compile(
    r"^(?P<indent> *)```console\n *\$ (?P<line>[^\n]*)\n(?P<out>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES = {
    (each["line"], re.sub(rf"^{each['indent']}", "", each["out"], flags=re.MULTILINE)): page
    for page in PAGES
    for each in EXAMPLE.finditer((ROOT / f"docs/{page}.md").read_text())
}
"""Commands with what they print, and the last page that has them."""
TROUBLE = "recordings/reading/trouble.acp.ndjson"
ALLOWED = "recordings/reading/allowed.acp.ndjson"


@pytest.fixture
def view(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line at the root of the repository."""
    monkeypatch.chdir(ROOT)

    def call_there(*words: str) -> Outcome:
        return call(*words)

    return call_there


def told(view: Call, name: str, *words: str) -> dict[str, Any]:
    done = view("show", "--view", name, "--format", "json", *words)
    assert (done.code, done.err) == (exit_codes.DONE, "")
    found = json.loads(done.out)
    assert (found["acp_view"], found["view"]) == (1, name)
    return found


@pytest.mark.parametrize(("line", "out"), EXAMPLES, ids=[line for line, _ in EXAMPLES])
def test_every_example_of_the_pages_says_what_it_says(view: Call, line: str, out: str) -> None:
    program, *words = shlex.split(line)
    assert program == "acp-console"
    done = view(*words)
    assert done.out == out
    assert done.out.replace("\n", "").isprintable()


def test_every_page_has_examples() -> None:
    assert set(EXAMPLES.values()) == set(PAGES)
    assert len(EXAMPLES) >= 24


def test_without_a_view_frames_are_shown_as_ever(view: Call) -> None:
    done = view("show", "--count", TROUBLE)
    assert (done.code, done.out) == (exit_codes.DONE, "18\n")


def test_exchanges_can_be_filtered_and_looked_at_earlier(view: Call) -> None:
    found = told(view, "exchanges", TROUBLE, "--filter", "from == agent and kind == request")
    assert [each["id"] for each in found["exchanges"]] == [3, 4, 5]
    assert found["faults"] == []
    earlier = told(view, "exchanges", TROUBLE, "--at", "11")
    assert earlier["exchanges"][-1]["ending"] == "open"
    assert earlier["faults"] == []


def test_a_conversation_is_whole_in_json(view: Call) -> None:
    (session,) = told(view, "conversation", ALLOWED)["sessions"]
    assert session["usage"]["used"] == 5200
    assert [turn["stopReason"] for turn in session["turns"]] == ["end_turn"]
    call = session["items"][2]
    assert call["statuses"] == ["pending", "completed"]
    assert call["permissions"][0]["outcome"]["optionId"] == "yes"
    changes = told(view, "conversation", ALLOWED, "--since", "13", "--at", "14")["changes"]
    assert [each["change"] for each in changes] == ["ItemChanged", "ItemChanged"]


def test_who_waits_is_told_by_frames_in_json(view: Call) -> None:
    found = told(view, "waiting", TROUBLE, "--at", "20")
    assert [(each["frame"], each["for"]) for each in found["waits"]] == [
        *((8, "agent"), (18, "client"), (19, "agent"))
    ]
    assert found["cycles"] == [[8, 18, 19]]
    assert found["hung"] == [8, 18, 19]


def test_every_capability_of_the_version_is_there_in_json(view: Call) -> None:
    found = told(view, "capabilities", TROUBLE)
    marks = {each["path"]: each["mark"] for each in found["capabilities"] if each["mark"]}
    assert marks["agentCapabilities.sessionCapabilities.list"] == "claimed and refused"
    assert any(not each["claimed"] and not each["used"] for each in found["capabilities"])
    before = told(view, "capabilities", TROUBLE, "--at", "3")["capabilities"]
    assert not any(each["used"] for each in before)


@pytest.mark.parametrize(
    "words",
    [
        ("--at", "3"),
        ("--view", "waiting", "--since", "3"),
        ("--view", "waiting", "--format", "raw"),
        ("--view", "exchanges", "--filter", "turn =="),
        ("--view", "waiting", "--filter", "error"),
        ("--view", "waiting", "--count"),
        ("--view", "waiting", "--fields", "n"),
        ("--view", "nothing"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(view: Call, words: tuple[str, ...]) -> None:
    assert view("show", *words, TROUBLE).code == exit_codes.USAGE


@pytest.mark.parametrize("name", ["exchanges", "conversation", "waiting", "capabilities"])
def test_no_view_lets_the_wire_give_orders(view: Call, tmp_path: Path, name: str) -> None:
    path = tmp_path / "it.acp.ndjson"
    journal = Journal()
    evil = "\u001b[2J\u009b[b]\r\n\u202e"
    prompt = [{"type": "text", "text": evil}]
    said: tuple[Said, ...] = (
        ask("client", 0, "initialize", clientCapabilities={evil: {evil: evil}}),
        ask("client", evil, "session/prompt", sessionId=evil, prompt=prompt),
        ask("client", evil, evil, path=evil),
        update(evil),
        update("tool_call", toolCallId=evil, title=evil, kind=evil, status=evil),
        ("client", {"id": 9, "error": {"code": 1, "message": evil}}),
    )
    for frame in frames(*said):
        journal.frame(frame.side, frame.data)
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write(journal.entries)
    writer.close()
    done = view("show", "--view", name, str(path))
    assert done.code == exit_codes.DONE
    assert done.out.replace("\n", "").isprintable()


def test_what_a_cancelled_turn_waited_for_is_shown_once_nothing_waits_any_more(view: Call) -> None:
    cancelled = "recordings/turns/cancel.acp.ndjson"
    found = told(view, "waiting", cancelled)
    assert found["waits"] == []
    assert found["at_cancel"]["frame"] == 14
    assert [each["frame"] for each in found["at_cancel"]["waits"]] == [7, 13]
    # Before, it waits still; a turn that ends by itself waited for nothing.
    assert "at_cancel" not in told(view, "waiting", cancelled, "--at", "13")
    assert "at_cancel" not in told(view, "waiting", "recordings/hello.acp.ndjson")
