"""Our client with an agent on the official Python SDK, over real pipes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import anyio
import pytest

from acp_console.agents.spec import command_agent
from acp_console.chat.connection import connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.journal import Entry, Frame, Journal
from tests.warm import WARM

AGENT = [*WARM, str(Path(__file__).parent / "python_sdk_agent.py")]


def console(*words: str) -> subprocess.CompletedProcess[str]:
    command = [*WARM, "-m", "acp_console", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "greeting.txt").write_text("hello\n")
    return tmp_path


def test_its_text_is_streamed_to_stdout(place: Path) -> None:
    done = console("exec", "--cwd", str(place), "good morning", "--", *AGENT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "You said: good morning\n", "")


@pytest.mark.parametrize(
    ("allow", "chosen", "text"), [("edits", "go", "edit it"), ("all", "go", "edit it")]
)
def test_what_is_allowed_is_done_through_our_file_service(
    place: Path, allow: str, chosen: str, text: str
) -> None:
    done = console("exec", "--allow", allow, "--cwd", str(place), "edit it", "--", *AGENT)
    assert (done.returncode, done.stdout) == (0, f"chosen: {chosen}\n")
    assert done.stderr == "  * Edit greeting.txt\n"
    assert (place / "greeting.txt").read_text() == text


def test_what_is_refused_is_not_done(place: Path) -> None:
    done = console("exec", "--allow", "reads", "--cwd", str(place), "edit it", "--", *AGENT)
    assert (done.returncode, done.stdout) == (0, "chosen: stop\n")
    assert "refused: Edit greeting.txt (edit); --allow edits allows it" in done.stderr
    assert (place / "greeting.txt").read_text() == "hello\n"


def test_a_recorded_turn_is_shown_with_its_question_and_answer(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "sdk.acp.ndjson"
    words = ("--allow", "edits", "--record", str(path), "--cwd", str(place))
    assert console("exec", *words, "edit it", "--", *AGENT).returncode == 0
    shown = console("show", "--format", "json", str(path))
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    asked, answered = [row for row in rows if row["method"] == "session/request_permission"]
    assert (asked["from"], asked["kind"]) == ("agent", "request")
    assert (answered["from"], answered["summary"]) == ("client", "selected go")
    assert answered["latency"] >= 0
    assert [row["kind"] for row in rows if row["kind"] in {"error", "malformed"}] == []
    assert rows[-1]["summary"] == "stopReason end_turn"


async def test_a_cancelled_turn_ends_as_cancelled(place: Path) -> None:
    """ACP, Prompt Turn, "Cancellation"."""
    journal = Journal()
    host = ClientHandlers(PolicyDecider("none", lambda _ask, _is_allowed: None))
    waiting = anyio.Event()

    def look(entry: Entry) -> None:
        if isinstance(entry, Frame) and b'"waiting"' in entry.data:
            waiting.set()

    journal.subscribe(look)
    with anyio.fail_after(30):
        async with (
            connect_agent(command_agent(AGENT), cwd=place, journal=journal, handlers=host) as link,
            anyio.create_task_group() as tasks,
        ):
            assert link.title == "SDK agent"
            session = await link.new_session(place)

            async def cancel_once_it_waits() -> None:
                await waiting.wait()
                await link.cancel(session["sessionId"])

            tasks.start_soon(cancel_once_it_waits)
            answer = await link.prompt(session["sessionId"], "wait for me")
            assert answer["stopReason"] == "cancelled"
