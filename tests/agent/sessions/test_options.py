"""What can be chosen in a session, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.options import options_for
from acp_agent.store.database import SessionStore
from acp_protocol.errors import RequestFailedError
from tests.agent.linted_client import Counting, items, visit

VERSIONS = pytest.mark.parametrize("version", [1, 2])


async def test_a_mode_is_a_mode_and_an_option_at_once(cwd: Path) -> None:
    async with visit(cwd) as it:
        session_id = await it.new()
        await it.ask("session/set_mode", sessionId=session_id, modeId="architect")
        answer = await it.choose(session_id, "mode", "code")
        assert answer["configOptions"][0]["currentValue"] == "code"
        kinds = [kind for kind in it.visitor.kinds() if kind != "available_commands_update"]
        assert kinds == ["current_mode_update", "config_option_update"] * 2
        assert it.conversation(session_id).info.current_mode == "code"
        await it.ask("session/close", sessionId=session_id)
        again = await it.reopen(session_id)
        assert again["modes"]["currentModeId"] == "code"


@VERSIONS
async def test_options_do_what_they_say(cwd: Path, version: int) -> None:
    async with visit(cwd, version) as it:
        session_id = await it.new()
        await it.choose(session_id, "thinking", "hide")
        await it.turn(session_id, "/think of the sea")
        assert "agent_thought_chunk" not in it.visitor.kinds()
        await it.choose(session_id, "policy", "ask_always")
        await it.turn(session_id, "read notes.md")
        assert it.visitor.asked == ["session/request_permission"]
        await it.choose(session_id, "policy", "allow_all")
        await it.turn(session_id, "write a.txt: x")
        assert it.visitor.asked == ["session/request_permission"]
        for option, value in [("model", "demo"), ("mode", "ask")]:
            await it.choose(session_id, option, value)


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({}, "ask_always"),
        ({"policy": "allow_all"}, "allow_all"),
        ({"policy": "gone"}, "ask_always"),
    ],
)
def test_a_policy_holds_until_another_one_is_chosen(settings: dict[str, str], value: str) -> None:
    options = {option.id: option for option in options_for([Counting()], "ask_always")}
    assert options["policy"].chosen(settings) == value
    assert options["mode"].chosen(settings) == "ask"


@VERSIONS
async def test_what_cannot_be_chosen_changes_nothing(cwd: Path, version: int) -> None:
    async with visit(cwd, version, lints=False) as it:
        session_id = await it.new()
        for option, value in [("nope", "demo"), ("model", "none")]:
            with pytest.raises(RequestFailedError, match="there is no"):
                await it.choose(session_id, option, value)
        assert "config_option_update" not in it.visitor.kinds()


@VERSIONS
async def test_another_model_answers_where_it_is_chosen(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store, others=[Counting()]) as it:
        session_id = await it.new()
        await it.choose(session_id, "model", "counting")
        await it.turn(session_id, "hello")
        names = [command["name"] for command in it.conversation(session_id).info.commands]
        assert names == ["help", "tools", "usage", "permissions", "compact", "init"]
        assert items(it.conversation(session_id))[-1] == ("AgentMessage", "well", [])
        await it.ask("session/close", sessionId=session_id)
    async with visit(cwd, version, store=store, others=[Counting()]) as again:
        answer = await again.reopen(session_id)
        assert answer["configOptions"][1]["currentValue"] == "counting"
    async with visit(cwd, version, store=store) as without:
        answer = await without.reopen(session_id)
        assert answer["configOptions"][1]["currentValue"] == "demo"
