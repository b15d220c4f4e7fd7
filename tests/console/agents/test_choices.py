"""What the user chooses in one chat is how the next one begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from acp_console.agents.catalogue import open_catalogue
from acp_console.agents.session_options import find_option
from acp_console.agents.spec import AgentSpec
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.running_agent import RunningAgent

LIMIT = 20.0
"""Seconds after which a chat counts as stuck."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))


def demo() -> AgentSpec:
    catalogue = open_catalogue()
    return catalogue.spec(catalogue.find("demo"))


async def chat(cwd: Path, *choices: tuple[str, str], remembers: bool = True) -> dict[str, object]:
    """Open a chat, make choices, and return the values of its options."""
    agent = RunningAgent(demo(), cwd, remembers=remembers)
    has_changed = anyio.Event()

    def changed() -> None:
        has_changed.set()

    session = ChatSession(agent, on_change=changed)

    async def until(holds: Callable[[], object]) -> None:
        nonlocal has_changed
        while True:
            session.take_changes()
            if holds():
                return
            has_changed = anyio.Event()
            # A slice may not have read all that has come.
            with anyio.move_on_after(0.05):
                await has_changed.wait()

    def current() -> dict[str, object]:
        return {option.id: option.current for option in session.options}

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.run)
            await until(lambda: session.state == "ready" and session.options)
            for name, text in choices:
                option = find_option(session.options, name)
                session.set_option(option, option.value(text))
            # When a turn is over, what was sent before it is done.
            session.send("help")
            await until(lambda: session.state == "ready")
            await agent.close()
    return current()


async def test_the_next_chat_begins_with_the_mode_and_options_of_the_last(tmp_path: Path) -> None:
    await chat(tmp_path, ("mode", "architect"), ("thinking", "hide"))
    assert demo().mode == "architect"
    options = await chat(tmp_path)
    assert (options["mode"], options["thinking"]) == ("architect", "hide")


async def test_a_choice_to_be_asked_less_ends_with_its_session(tmp_path: Path) -> None:
    await chat(tmp_path, ("policy", "allow_all"))
    assert (await chat(tmp_path))["policy"] != "allow_all"


async def test_a_chat_that_remembers_nothing_leaves_nothing(tmp_path: Path) -> None:
    await chat(tmp_path, ("mode", "architect"), remembers=False)
    assert demo().mode is None
