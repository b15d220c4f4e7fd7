"""What can be chosen in a session, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.options import options_for
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.store.database import SessionStore
from acp_protocol.errors import RequestFailedError
from tests.agent.client import Counting, connected, items, open_session

VERSIONS = pytest.mark.parametrize("version", [1, 2])


async def test_a_mode_is_a_mode_and_an_option_at_once(cwd: Path) -> None:
    async with open_session(cwd) as session:
        await session.ask("session/set_mode", modeId="architect")
        answer = await session.choose("mode", "code")
        assert answer["configOptions"][0]["currentValue"] == "code"
        kinds = [kind for kind in session.client.kinds() if kind != "available_commands_update"]
        assert kinds == ["current_mode_update", "config_option_update"] * 2
        assert session.conversation.info.current_mode == "code"
        await session.ask("session/close")
        again = await session.reopen()
        assert again["modes"]["currentModeId"] == "code"


@VERSIONS
async def test_options_do_what_they_say(cwd: Path, version: int) -> None:
    async with open_session(cwd, version) as session:
        await session.choose("thinking", "hide")
        await session.turn("/think of the sea")
        assert "agent_thought_chunk" not in session.client.kinds()
        await session.choose("policy", "ask_always")
        await session.turn("read notes.md")
        assert session.client.requested == ["session/request_permission"]
        await session.choose("policy", "allow_all")
        await session.turn("write a.txt: x")
        assert session.client.requested == ["session/request_permission"]
        for option, value in [("model", "demo"), ("mode", "ask")]:
            await session.choose(option, value)


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({}, "ask_always"),
        ({"policy": "allow_all"}, "allow_all"),
        ({"policy": "gone"}, "ask_always"),
    ],
)
def test_a_policy_holds_until_another_one_is_chosen(settings: dict[str, str], value: str) -> None:
    options = {
        option.id: option for option in options_for([Counting()], PermissionPolicy("ask_always"))
    }
    assert options["policy"].chosen(settings) == value
    assert options["mode"].chosen(settings) == "ask"


@VERSIONS
async def test_what_cannot_be_chosen_changes_nothing(cwd: Path, version: int) -> None:
    async with open_session(cwd, version, lints=False) as session:
        for option, value in [("nope", "demo"), ("model", "none")]:
            with pytest.raises(RequestFailedError, match="there is no"):
                await session.choose(option, value)
        assert "config_option_update" not in session.client.kinds()


@VERSIONS
async def test_another_model_answers_where_it_is_chosen(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with open_session(cwd, version, store=store, others=[Counting()]) as session:
        await session.choose("model", "counting")
        await session.turn("hello")
        names = [command["name"] for command in session.conversation.info.commands]
        assert names == ["help", "tools", "usage", "permissions", "compact", "init"]
        assert items(session.conversation)[-1] == ("AgentMessage", "well", [])
        await session.ask("session/close")
    async with connected(cwd, version, store=store, others=[Counting()]) as again:
        answer = await again.session(session.id).reopen()
        assert answer["configOptions"][1]["currentValue"] == "counting"
    async with connected(cwd, version, store=store) as without:
        answer = await without.session(session.id).reopen()
        assert answer["configOptions"][1]["currentValue"] == "demo"
