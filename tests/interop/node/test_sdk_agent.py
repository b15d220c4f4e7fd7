"""Our client with an agent of version 1 on the official TypeScript SDK, over real pipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_console.agents.spec import command_agent
from acp_console.chat.connection import connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.journal import Entry, Frame, Journal
from tests.interop.node.programs import LIMIT, MODE_NOTE, console, lines, updates_of

EDIT = "edit notes.md: milk => bread"


class Ear:
    """Hears what the agent says to a user, as a text that grows."""

    def __init__(self, journal: Journal) -> None:
        self.text = ""
        self._has_grown = anyio.Event()
        journal.subscribe(self._hear)

    async def until(self, part: str) -> None:
        while part not in self.text:
            self._has_grown = anyio.Event()
            await self._has_grown.wait()

    def _hear(self, entry: Entry) -> None:
        if isinstance(entry, Frame) and b'"agent_message_chunk"' in entry.data:
            message: Any = json.loads(entry.data)
            self.text += message["params"]["update"]["content"]["text"]
            self._has_grown.set()


@pytest.fixture
def agent(npm: Path) -> tuple[object, ...]:
    return ("--", "node", npm / "agent_v1.mjs")


def test_its_text_is_streamed_to_stdout(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "good morning", *agent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "You said: good morning\n", MODE_NOTE)


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
    assert (done.returncode, done.stderr) == (0, MODE_NOTE)


def test_each_kind_of_update_comes_through(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "--format", "json", "everything", *agent)
    updates = updates_of(done)
    kinds = [update["sessionUpdate"] for update in updates]
    assert (done.returncode, lines(done)[-1]["stopReason"]) == (0, "end_turn")
    assert len(kinds) == 16
    assert kinds[-2:] == ["of_the_future", "agent_message_chunk"]
    assert updates[-4]["_meta"] == {"mine": [1]}


def test_what_is_no_text_is_named(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "everything", *agent)
    # The resource has the id of a message, so it is a message of its own.
    assert done.stdout == "all of [image][resource_link]\n[resource]\n it\n"
    # A call that shows a terminal has run a command.
    shown, warning = done.stderr.split("warning: ")
    assert shown == MODE_NOTE + "  * Look at everything: /notes.md\n"
    assert warning.startswith("the agent acted without asking (execute 1): ")


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
    assert done.stderr.endswith("error: the turn took longer than 5 s\n")


def test_its_failure_is_told_in_one_sentence(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "fail", *agent)
    assert (done.returncode, done.stdout) == (4, "")
    assert "error: the agent refused: Internal error: out of ideas" in done.stderr


def test_an_agent_that_wants_to_know_its_user_says_how(
    place: Path, agent: tuple[object, ...]
) -> None:
    done = console(place, "exec", "hello", *agent, "--sign-in")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith(
        "error: the agent wants you to log in (Authentication required: who are you?)\nhint: "
    )
    assert "A key" in done.stderr.partition("The agent offers: ")[2]


def test_odd_and_long_text_arrives_whole(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "--format", "json", "odd", *agent)
    texts = [update["content"]["text"] for update in updates_of(done)]
    *odd, long = texts
    assert odd == ["a\u2028b\u0085c", "😀", "\ud800", "\x00\x1b[31m", "\r\n"]
    assert len(long) == 10_000_000


def test_commands_run_in_our_terminals(place: Path, agent: tuple[object, ...]) -> None:
    done = console(place, "exec", "--allow", "all", "terminals", *agent)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "output": "hey\n",
        "truncated": False,
        "exitCode": 3,
        "end": {
            "output": "789\n",
            "truncated": True,
            "exitStatus": {"exitCode": 0, "signal": None},
        },
        "isRunning": True,
        "signal": "SIGTERM",
        "codes": [-32002, -32602, -32602],
    }


async def test_a_cancelled_turn_ends_as_cancelled(npm: Path, place: Path) -> None:
    journal = Journal()
    ear = Ear(journal)
    host = ClientHandlers(PolicyDecider("none", lambda _ask, _is_allowed: None))
    spec = command_agent(["node", str(npm / "agent_v1.mjs")])
    with anyio.fail_after(LIMIT):
        async with (
            connect_agent(spec, cwd=place, journal=journal, handlers=host) as link,
            anyio.create_task_group() as tasks,
        ):
            assert link.title == "SDK agent"
            session = await link.new_session(place)

            async def cancel() -> None:
                await ear.until("waiting")
                await link.cancel(session["sessionId"])

            tasks.start_soon(cancel)
            answer = await link.prompt(session["sessionId"], "wait")
            assert answer["stopReason"] == "cancelled"
            assert list(link.connection.violations) == []
