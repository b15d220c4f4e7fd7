"""Agents that send the reply, or the history, after the response that should have ended it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from acp_console.agents.spec import command_agent
from acp_console.chat.connection import QuietTimes
from acp_console.cli import exit_codes
from acp_console.cli.exec import TurnOptions, run_turn
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent, Outcome

PATIENT = QuietTimes(after_turn=60.0, after_silent_turn=60.0, after_opening=60.0, limit=60.0)
"""Longer than the whole test: only the end of the agent ends the wait."""
LEAVES = """
import select

def is_left():
    return select.select([sys.stdin], [], [], 0.05)[0]
"""
"""Whether the client leaves, or sends more, at once."""

Turn: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def turn(agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Turn:
    """Run one turn with an agent that does what a script says."""

    def run(
        script: str, quiet: QuietTimes = PATIENT, protocol: int | None = None, **options: Any
    ) -> Outcome:
        spec = command_agent(agent(LEAVES + script)).with_protocol(protocol, None)
        code = anyio.run(run_turn, spec, tmp_path, "go", TurnOptions(quiet=quiet, **options))
        shown = capsys.readouterr()
        return Outcome(code, shown.out, shown.err)

    return run


REPLY_AFTER_END = """
prompt = hear_prompt()
say("First")
end(prompt)
if not is_left():
    for word in (", then", " the rest"):
        say(word)
    update("usage_update", used=1, size=2)
"""


def test_text_after_the_response_is_printed_recorded_and_counted(
    turn: Turn, tmp_path: Path
) -> None:
    done = turn(REPLY_AFTER_END, record=tmp_path / "late.ndjson")
    assert (done.code, done.out) == (exit_codes.DONE, "First, then the rest\n")
    assert done.err == "warning: 2 updates came after the end of the turn\n"
    recorded = b"".join(entry.data for entry in read_recording(tmp_path / "late.ndjson").frames)
    assert b" the rest" in recorded


def test_json_ends_with_the_result_and_counts_what_came_late(turn: Turn) -> None:
    lines = [json.loads(line) for line in turn(REPLY_AFTER_END, format="json").out.splitlines()]
    assert lines[-1]["stopReason"] == "end_turn"
    assert (lines[-1]["late"], lines[-1]["history"]) == (2, 0)
    assert [line["update"]["sessionUpdate"] for line in lines[1:-1]] == [
        *["agent_message_chunk"] * 3,
        "usage_update",
    ]


def test_a_turn_without_text_is_waited_for_longer(turn: Turn) -> None:
    script = """
prompt = hear_prompt()
update("agent_thought_chunk", content={"type": "text", "text": "Hm"})
end(prompt)
if not is_left():
    say("here")
"""
    quiet = QuietTimes(after_turn=0.0, after_silent_turn=60.0, limit=60.0)
    assert turn(script, quiet).out == "here\n"


def test_an_agent_that_never_stops_is_left_at_the_limit(turn: Turn) -> None:
    script = """
prompt = hear_prompt()
end(prompt)
while True:
    say("more ")
    time.sleep(0.01)
"""
    done = turn(script, QuietTimes(after_silent_turn=60.0, limit=0.2))
    assert done.code == exit_codes.DONE
    assert "came after the end of the turn" in done.err


def test_the_time_limit_of_the_turn_does_not_fail_one_that_has_ended(turn: Turn) -> None:
    script = 'prompt = hear_prompt(); say("done"); end(prompt); hear("never")'
    done = turn(script, limit=2.0)
    assert (done.code, done.out, done.err) == (exit_codes.DONE, "done\n", "")


def test_version_two_ends_a_turn_by_its_state(turn: Turn) -> None:
    script = """
greet(2, info={"name": "a", "version": "1"}, capabilities={"session": {}})
open_session()
prompt = hear("session/prompt")
tell(id=prompt["id"], result={"messageId": "m"})
update("user_message", messageId="m", content=prompt["params"]["prompt"])
update("state_update", state="running")
update("agent_message_chunk", messageId="a", content={"type": "text", "text": "one"})
update("state_update", state="idle", stopReason="end_turn")
if not is_left():
    update("agent_message_chunk", messageId="a", content={"type": "text", "text": ", two"})
"""
    done = turn(script, protocol=2)
    assert done.out == "one, two\n"
    assert done.err == "warning: 1 update came after the end of the turn\n"


LOADED = """
def history(number):
    update("user_message_chunk", content={"type": "text", "text": f"old question {number}"})
    say(f"old reply {number} ")

greet(agentCapabilities={"loadSession": True})
opened = hear("session/load")
history(1)
tell(id=opened["id"], result={})
"""


def test_history_after_the_response_to_load_is_not_printed_as_the_reply(turn: Turn) -> None:
    script = (
        LOADED
        + """
if not is_left():
    history(2)
prompt = hear("session/prompt")
update("user_message_chunk", content={"type": "text", "text": "go"})
say("new")
end(prompt)
"""
    )
    quiet = QuietTimes(after_opening=0.5)
    done = turn(script, quiet, session="s1")
    assert (done.code, done.out) == (exit_codes.DONE, "new\n")
    assert done.err == (
        "warning: 2 updates of the history came after the response to session/load\n"
    )


def test_history_that_comes_during_the_turn_is_told_apart_by_its_user_message(
    turn: Turn,
) -> None:
    script = (
        LOADED
        + """
prompt = hear("session/prompt")
say("old reply 1 ")
history(2)
say("new")
end(prompt)
"""
    )
    done = turn(script, QuietTimes(after_opening=0.0), session="s1")
    assert done.out == "old reply 1 old reply 2 new\n"
    assert done.err == (
        "warning: 2 updates of the history came after the response to session/load; "
        "2 after the prompt, printed with the reply\n"
    )
