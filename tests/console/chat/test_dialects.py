"""Chats with agents that understand only a dialect, and do not say so at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.agents.spec import command_agent
from acp_inspector.session.items import Notice
from tests.console.chat.test_chats import chats, said
from tests.console.conftest import Agent
from tests.console.strangers import ACPEX, ANSWERS, CRASHES, DIES, LENGTHS, REFUSES


@pytest.mark.parametrize(
    ("script", "dialect", "reply"),
    [
        (ACPEX.replace("REFUSE", REFUSES), "acpex", "got hello"),
        (ACPEX.replace("REFUSE", CRASHES), "acpex", "got hello"),
        (LENGTHS.replace("REFUSE", DIES), "openoxide", "hi there"),
        (LENGTHS.replace("REFUSE", ANSWERS), "openoxide", "hi there"),
    ],
)
async def test_a_chat_goes_on_in_the_dialect_that_the_agent_shows(
    agent: Agent, tmp_path: Path, script: str, dialect: str, reply: str
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(script)), tmp_path)
        session.send("hello")
        await all_.until(lambda: said(session) == reply and session.state == "ready")
        assert (session.error, session.queued) == (None, [])
        assert session.spec.dialect == dialect
        notices = [each.text for each in session.take_changes() if isinstance(each, Notice)]
        assert any(f"speaks {dialect}: started once more" in text for text in notices)
