"""Sessions are kept on this machine: written by real chats, read back later."""

from __future__ import annotations

import os
import pty
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_console.agents.spec import AgentSpec, Login, command_agent
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.running_agent import RunningAgent
from acp_console.kept.session_store import (
    RecordedSessions,
    RunningSessionError,
    StoredSession,
    UnknownSessionError,
    export_recording,
    open_user_store,
    read_conversations,
    read_decisions,
)
from acp_inspector.journal import Frame, Journal
from acp_inspector.recording.reader import read_recording
from acp_inspector.session.items import AgentMessage, ToolCallItem, UserMessage
from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import encode_request
from tests.console.conftest import Agent
from tests.console.recorded_runs import (
    AGENT,
    opening,
    recorded,
    running,
    speak,
    text_block,
    turn,
    update,
)

LIMIT = 20.0
"""Seconds after which a chat counts as stuck."""

POLITE = """
greet()
open_session()
while True:
    prompt = hear("session/prompt")
    say("you said " + prompt["params"]["prompt"][0]["text"])
    end(prompt)
"""


class Chat:
    """A chat that is driven as a screen drives it."""

    def __init__(
        self, agent: AgentSpec, cwd: Path, store: RecordedSessions, kept: StoredSession | None
    ) -> None:
        self.agent = RunningAgent(agent, cwd, store=store)
        self.session = ChatSession(self.agent, on_change=self._changed)
        if kept is not None:
            self.agent.sessions.clear()
            self.session = ChatSession(
                self.agent,
                way="resume",
                session_id=kept.session_id,
                earlier=[item for talk in read_conversations(kept) for item in talk.items],
                known_title=kept.title if kept.is_named else "",
                continues=kept.id,
                on_change=self._changed,
            )
        self._has_changed = anyio.Event()

    def _changed(self) -> None:
        self._has_changed.set()

    async def until(self, holds: Callable[[], object]) -> None:
        with anyio.fail_after(LIMIT):
            while True:
                self._has_changed = anyio.Event()
                self.session.take_changes()
                if holds():
                    return
                # A slice may not have read all that has come.
                with anyio.move_on_after(0.05):
                    await self._has_changed.wait()

    async def turn(self, text: str) -> None:
        """Send a prompt, and wait until its turn is over."""
        await self.until(lambda: self.session.state == "ready")
        self.session.send(text)
        await self.until(lambda: self.session.state == "ready")


@asynccontextmanager
async def chat(
    agent: AgentSpec, cwd: Path, store: RecordedSessions, kept: StoredSession | None = None
) -> AsyncGenerator[Chat]:
    """Run a chat, one that was kept if `kept` is given."""
    found = Chat(agent, cwd, store, kept)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(found.agent.run)
        yield found
        await found.session.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "sessions"


@pytest.fixture
def store(folder: Path) -> RecordedSessions:
    return RecordedSessions(folder)


def texts(session: StoredSession) -> list[str]:
    return [
        item.text
        for talk in read_conversations(session)
        for item in talk.items
        if isinstance(item, UserMessage | AgentMessage)
    ]


def only(store: RecordedSessions) -> StoredSession:
    [found] = store.sessions()
    return found


async def test_a_chat_is_kept_and_read_back(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    async with chat(command_agent(agent(POLITE)), tmp_path, store) as talk:
        await talk.turn("hello")
        await talk.turn("again")
        assert only(store).state == "running"
    kept = only(store)
    assert (kept.state, kept.session_id, kept.cwd, kept.prompts) == ("closed", "s1", tmp_path, 2)
    assert kept.title == "hello"
    assert texts(kept) == ["hello", "you said hello", "again", "you said again"]
    recording = read_recording(kept.recording)
    assert recording.footer is not None
    assert [entry.seq for entry in recording.entries] == [*range(1, len(recording.entries) + 1)]


async def test_only_the_user_can_read_what_is_kept(
    agent: Agent, tmp_path: Path, store: RecordedSessions, folder: Path
) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    async with chat(command_agent(agent(POLITE)), tmp_path, store) as talk:
        await talk.turn("hello")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {0o600}


async def test_nothing_is_kept_where_the_user_wants_none(
    agent: Agent, tmp_path: Path, folder: Path
) -> None:
    store = RecordedSessions(folder, is_on=False)
    async with chat(command_agent(agent(POLITE)), tmp_path, store) as talk:
        await talk.turn("hello")
    assert not folder.exists()
    assert not store.sessions()


@pytest.mark.parametrize("text", ["[privacy]\njournal = false\n", "[privacy\n"])
def test_the_configuration_says_that_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "acp-console").mkdir()
    (tmp_path / "acp-console" / "config.toml").write_text(text)
    recorded(open_user_store(), *opening("session/new", "a"), *turn("a", "x"))
    assert not (tmp_path / "state").exists()


async def test_a_chat_in_which_nothing_was_said_is_not_kept(
    agent: Agent, tmp_path: Path, store: RecordedSessions, folder: Path
) -> None:
    async with chat(command_agent(agent(POLITE)), tmp_path, store) as talk:
        await talk.until(lambda: talk.session.state == "ready")
    assert not list(folder.iterdir())


async def test_a_draft_keeps_a_chat_in_which_nothing_was_said(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    async with chat(command_agent(agent(POLITE)), tmp_path, store) as talk:
        await talk.until(lambda: talk.session.state == "ready")
        assert talk.agent.run_record is not None
        talk.agent.run_record.keep_draft("s1", "half a\nthought")
    assert only(store).draft == "half a\nthought"
    store.keep_draft(only(store), "")
    assert not store.sessions()
    assert [each.draft for each in store.sessions(with_empty=True)] == [""]


async def test_each_run_of_an_agent_has_a_recording_of_its_own(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    async with chat(command_agent(agent(POLITE)), tmp_path, store) as talk:
        await talk.turn("first")
        talk.session.restart()
        await talk.until(lambda: talk.session.state == "starting")
        await talk.turn("second")
    kept = only(store)
    assert texts(kept) == ["first", "you said first", "second", "you said second"]
    oldest, newest = kept.parts
    for each in (newest, oldest):
        entries = read_recording(each.recording).entries
        assert entries[0].seq == 1
        assert entries[0].time < 60


FORGETFUL = """
greet(agentCapabilities={"sessionCapabilities": {"resume": {}}}, agentInfo={"name": "Sieve"})
message = json.loads(sys.stdin.readline())
if message["method"] == "session/resume":
    tell(id=message["id"], error={"code": -32002, "message": "no such session"})
    message = hear("session/new")
tell(id=message["id"], result={"sessionId": "s1"})
while True:
    prompt = hear("session/prompt")
    text = prompt["params"]["prompt"][0]["text"]
    update("session_info_update", title="about " + text)
    if text == "first":
        update("plan", entries=[{"content": "think", "status": "pending", "priority": "low"}])
    end(prompt)
"""


async def test_a_session_that_the_agent_forgot_goes_on_as_one_with_its_title_and_plan(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    forgetful = command_agent(agent(FORGETFUL))
    async with chat(forgetful, tmp_path, store) as talk:
        await talk.turn("first")
    # Another one, to which the agent gives the same id.
    async with chat(forgetful, tmp_path, store) as talk:
        await talk.turn("other")
    kept = store.sessions()[-1]
    async with chat(forgetful, tmp_path, store, kept) as talk:
        await talk.turn("second")
        assert talk.session.session_title == "about first"
        assert [get_string(each, "content") for each in talk.session.plan] == ["think"]
    newest, other = store.sessions()
    assert (newest.title, newest.prompts, texts(newest)) == ("about first", 2, ["first", "second"])
    assert (other.title, other.prompts) == ("about other", 1)
    # The agent is called as in the chat.
    assert newest.agent.title == "Sieve"
    # It can be found by the id that it had, and goes on once more.
    assert store.find(kept.id) == newest
    async with chat(forgetful, tmp_path, store, newest) as talk:
        await talk.turn("third")
    newest, other = store.sessions()
    assert (newest.title, texts(newest)) == ("about first", ["first", "second", "third"])
    store.remove(newest)
    assert store.sessions(with_empty=True) == [other]


async def test_an_agent_that_ends_by_itself_has_failed(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    script = "prompt = hear_prompt()\nsay('bye')\nsys.exit(3)"
    async with chat(command_agent(agent(script)), tmp_path, store) as talk:
        talk.session.send("go")
        await talk.until(lambda: talk.session.state == "stopped")
    assert only(store).state == "failed"
    assert texts(only(store)) == ["go", "bye"]


async def test_title_usage_and_decisions_are_kept(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    script = """
prompt = hear_prompt()
update("session_info_update", title="fix the test")
update("usage_update", used=760, size=2000, cost={"amount": 0.42, "currency": "USD"})
ask_consent(toolCallId="t1", title="Edit notes.md", kind="edit")
end(prompt)
hear("session/prompt")
"""

    def permissions() -> list[object]:
        talks = talk.session.conversation
        items = talks.items if talks else ()
        calls = (item for item in items if isinstance(item, ToolCallItem))
        return [each for call in calls for each in call.permissions if each.outcome is None]

    async with chat(command_agent(agent(script)), tmp_path, store) as talk:
        talk.session.send("go")
        await talk.until(lambda: talk.session.is_waiting_for_user and permissions())
        conversation = talk.session.conversation
        assert conversation is not None
        [call] = (item for item in conversation.items if isinstance(item, ToolCallItem))
        assert call.permission is not None
        talk.session.answer(call.permission, "yes", call.subject)
        await talk.until(lambda: talk.session.state == "ready")
    kept = only(store)
    assert kept.title == "fix the test"
    assert (kept.usage.used, kept.usage.size, kept.usage.cost) == (760, 2000, 0.42)
    [decision] = read_decisions(kept)
    assert (decision.title, decision.option, decision.kind) == (
        "Edit notes.md",
        "Yes",
        "allow_once",
    )


def test_sessions_of_one_connection_are_listed_and_exported_apart(
    store: RecordedSessions, tmp_path: Path
) -> None:
    recorded(
        store,
        *opening("session/new", "a"),
        *opening("session/new", "b", id_=3),
        *turn("a", "one", id_=4),
        *turn("b", "two", id_=5),
    )
    sessions = {each.session_id: each for each in store.sessions()}
    assert texts(sessions["a"]) == ["one", "re: one"]
    assert texts(sessions["b"]) == ["two", "re: two"]
    export_recording(sessions["a"], tmp_path / "a.acp.ndjson")
    frames = [each.data for each in read_recording(tmp_path / "a.acp.ndjson").frames]
    assert any(b"re: one" in data for data in frames)
    assert not any(b"two" in data for data in frames)


def test_a_removed_session_leaves_nothing_behind_and_others_whole(
    store: RecordedSessions, folder: Path
) -> None:
    recorded(
        store,
        *opening("session/new", "a"),
        *opening("session/new", "b", id_=3),
        *turn("a", "secret", id_=4),
        *turn("b", "two", id_=5),
    )
    store.remove(store.find("a"))
    assert only(store).session_id == "b"
    assert texts(only(store)) == ["two", "re: two"]
    assert not any(b"secret" in path.read_bytes() for path in folder.iterdir())
    store.remove(only(store))
    assert not list(folder.iterdir())


def test_a_removed_session_takes_the_responses_to_its_cancels_along(
    store: RecordedSessions, folder: Path
) -> None:
    """Continuum Router: a cancel is a request, and means a notification."""
    flat = {"protocolVersion": 1, "clientCapabilities": {"readTextFile": True}}
    cancel = {"id": 9, "method": "session/cancel", "params": {"sessionId": "a"}}
    recorded(
        store,
        ("client", {"id": 0, "method": "initialize", "params": flat}),
        ("agent", {"id": 0, "result": {"agentCapabilities": {"image": True}}}),
        *opening("session/new", "a"),
        *opening("session/new", "b", id_=3),
        *turn("a", "one", id_=4),
        ("client", cancel),
        ("agent", {"id": 9, "result": {"note": "secret"}}),
        *turn("b", "two", id_=5),
    )
    store.remove(store.find("a"))
    assert only(store).session_id == "b"
    assert not any(b"secret" in path.read_bytes() for path in folder.iterdir())


def test_a_session_that_is_open_cannot_be_removed(store: RecordedSessions) -> None:
    with running(store, *opening("session/new", "a"), *turn("a", "hi")):
        with pytest.raises(RunningSessionError):
            store.remove(only(store))
        assert only(store).state == "running"


def test_a_resumed_session_is_one_with_what_was_said_before(store: RecordedSessions) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "one"))
    recorded(store, *opening("session/resume", "a"), *turn("a", "two"))
    resumed = only(store)
    assert texts(resumed) == ["one", "re: one", "two", "re: two"]
    assert (resumed.title, resumed.prompts) == ("one", 2)
    title = update("a", "session_info_update", title="T")
    recorded(store, *opening("session/resume", "a"), *turn("a", "three"), title)
    assert only(store).title == "T"
    store.remove(only(store))
    assert not store.sessions(with_empty=True)


def test_a_loaded_session_shows_what_the_agent_replayed(store: RecordedSessions) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "one"))
    request, response = opening("session/load", "a")
    replay = update("a", "user_message_chunk", content=text_block("one"))
    recorded(store, request, replay, response, *turn("a", "two"))
    assert texts(only(store)) == ["one", "two", "re: two"]


def test_new_sessions_with_the_same_id_are_different_ones(store: RecordedSessions) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "one"))
    recorded(store, *opening("session/new", "a"), *turn("a", "two"))
    assert [texts(each)[0] for each in store.sessions()] == ["two", "one"]
    with pytest.raises(UnknownSessionError, match="several"):
        store.find("a")
    newest = store.sessions()[0]
    assert store.find(newest.id[:5]) == newest


def test_an_unknown_session_is_refused_with_a_hint(store: RecordedSessions) -> None:
    with pytest.raises(UnknownSessionError, match="sessions ls"):
        store.find("nothing")
    with pytest.raises(UnknownSessionError):
        store.find("")


def test_a_title_that_utf8_cannot_encode_is_kept_without_that(store: RecordedSessions) -> None:
    title = update("a", "session_info_update", title="half \ud800")
    recorded(store, *opening("session/new", "a"), *turn("a", "one"), title)
    assert only(store).title == "half ?"


def test_sessions_are_found_by_agent_and_directory(store: RecordedSessions) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "one"))
    assert store.sessions(agent="fake", cwd=Path("/"))
    assert not store.sessions(agent="other")
    assert not store.sessions(cwd=Path("/elsewhere"))


def test_the_oldest_runs_that_have_ended_make_room(folder: Path) -> None:
    store = RecordedSessions(folder, max_runs=3)
    with running(store, *opening("session/new", "open"), *turn("open", "x")):
        for name in ("one", "two", "three", "four"):
            recorded(store, *opening("session/new", name), *turn(name, "x"))
        kept = {each.session_id for each in store.sessions()}
    assert kept == {"open", "three", "four"}


def test_the_oldest_runs_make_room_for_bytes(folder: Path) -> None:
    store = RecordedSessions(folder, max_bytes=1)
    recorded(store, *opening("session/new", "one"), *turn("one", "x"))
    recorded(store, *opening("session/new", "two"), *turn("two", "x"))
    assert [each.session_id for each in store.sessions()] == ["two"]


def test_a_directory_that_cannot_be_used_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    warnings: list[str] = []
    with RecordedSessions(blocked / "sessions").record(
        Journal(), AGENT, Path("/"), warn=warnings.append
    ) as run:
        assert run.recording is None
    assert len(warnings) == 1
    assert str(blocked) in warnings[0]


def test_a_file_that_cannot_be_written_is_reported_and_the_session_goes_on(
    store: RecordedSessions, folder: Path
) -> None:
    journal, warnings = Journal(), list[str]()
    with store.record(journal, AGENT, Path("/"), warn=warnings.append) as run:
        speak(journal, *opening("session/new", "a"), *turn("a", "one"))
        assert run.recording is not None
        [names] = folder.glob("*.json")
        names.unlink()
        names.mkdir()
    assert warnings
    assert texts(only(store)) == ["one", "re: one"]


def test_a_session_is_found_without_the_file_that_names_it(
    store: RecordedSessions, folder: Path
) -> None:
    recorded(store, *opening("session/new", "a"), *turn("a", "one"))
    for path in folder.glob("*.json"):
        path.write_text("{")
    kept = only(store)
    assert (kept.title, kept.agent.command) == ("one", AGENT.command)
    assert texts(kept) == ["one", "re: one"]


def test_a_client_that_follows_no_conversation_names_its_sessions_at_the_end(
    store: RecordedSessions,
) -> None:
    journal = Journal()
    with store.record(journal, AGENT, Path("/")) as run:
        speak(journal, *opening("session/new", "a"), *turn("a", "one"))
    assert run.recording is not None
    assert run.facts.sessions["a"].prompt == only(store).title == "one"


CONSOLE = """
import sys
from pathlib import Path

import anyio

from acp_console.agents.spec import command_agent
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.running_agent import RunningAgent
from acp_console.kept.session_store import RecordedSessions
from acp_inspector.journal import Frame

async def main():
    changed = anyio.Event()

    def on_change():
        changed.set()

    store = RecordedSessions(Path(sys.argv[1]))
    agent = RunningAgent(command_agent(sys.argv[2:]), Path.cwd(), store=store)
    chat = ChatSession(agent, on_change=on_change)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.run)
        chat.send("go")
        while True:
            shown = chat.entries_read
            chat.take_changes()
            for entry in chat.journal.entries[shown : chat.entries_read]:
                if isinstance(entry, Frame):
                    sys.stdout.write(f"{entry.side} {entry.data.decode()}\\n")
                    sys.stdout.flush()
            with anyio.move_on_after(0.02):
                await changed.wait()
            changed = anyio.Event()

anyio.run(main)
"""
STREAM = """
prompt = hear_prompt()
number = 0
while True:
    number += 1
    say(f"chunk {number} " + "x" * (number % 300))
"""


@pytest.mark.parametrize("kill_at", [3_000, 40_000, 300_000])
def test_a_killed_console_loses_no_frame_that_was_on_screen(
    agent: Agent, tmp_path: Path, store: RecordedSessions, folder: Path, kill_at: int
) -> None:
    """The console runs on a terminal of its own and dies by SIGKILL while the agent streams."""
    mine, its = pty.openpty()
    console = subprocess.Popen(
        [sys.executable, "-c", CONSOLE, str(folder), *agent(STREAM)],
        stdin=its,
        stdout=its,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        start_new_session=True,
    )
    os.close(its)
    shown = bytearray()
    try:
        while len(shown) < kill_at:
            shown += os.read(mine, 65536)
        assert [each.state for each in store.sessions()] == ["running"]
    finally:
        console.send_signal(signal.SIGKILL)
        console.wait()
    try:
        while chunk := os.read(mine, 65536):
            shown += chunk
    except OSError:
        # Linux reports the end of the other side so.
        pass
    os.close(mine)
    *lines, _ = shown.decode().replace("\r\n", "\n").split("\n")
    kept = only(store)
    assert kept.state == "interrupted"
    recording = read_recording(kept.recording)
    frames = [f"{each.side} {each.data.decode()}" for each in recording.frames]
    assert frames[: len(lines)] == lines
    assert [entry.seq for entry in recording.entries] == [*range(1, len(recording.entries) + 1)]
    assert kept.title == "go"


def test_what_is_sent_is_recorded_before_it_leaves(store: RecordedSessions) -> None:
    with running(store, *opening("session/new", "a"), *turn("a", "one")) as journal:
        journal.line("client", b'{"last":true}')
        frames = read_recording(only(store).recording).entries
        assert isinstance(frames[-1], Frame)
        assert frames[-1].data == b'{"last":true}'


def test_the_secret_of_a_login_is_not_kept(store: RecordedSessions) -> None:
    journal, secret = Journal(), "s3cr3t-0123456789"
    agent = replace(AGENT, dialect="continuum", login=Login("key", secret))
    with store.record(journal, agent, Path("/")) as run:
        journal.line(
            "client", encode_request(1, "authenticate", {"method": "key", "token": secret})
        )
        journal.line("client", encode_request(2, "session/prompt", {"sessionId": "s"}))
        journal.stderr(f"got {secret}\n".encode())
    assert run.recording is not None
    text = run.recording.read_text()
    assert secret not in text
    assert "session/prompt" in text
