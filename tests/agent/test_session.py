"""A session: cancellation at every moment, and what goes on after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from acp_agent.models.types import (
    HistoryEntry,
    ModelEvent,
    SlashCommand,
    TextDelta,
    ToolSpec,
)
from tests.agent.client import PERMISSION, SILENCE, ClientSession, open_session, selected


class EndlessModel:
    """Speaks until it is stopped."""

    name = "endless"
    commands: Sequence[SlashCommand] = ()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del history, tools
        while True:
            yield TextDelta("and on ")


class LateModel:
    """Lets `at_last` happen when all is said."""

    name = "late"
    commands: Sequence[SlashCommand] = ()

    def __init__(self) -> None:
        self.at_last: Callable[[], None] = lambda: None

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del history, tools
        yield TextDelta("all of it")
        self.at_last()


async def prompt_and_cancel(session: ClientSession, text: str, on: Callable[[], object]) -> str:
    """Cancel the turn on `text` as soon as `on` holds; return why it ended."""
    ended: list[str] = []

    async def prompt() -> None:
        ended.append(await session.turn(text))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(prompt)
        await session.client.until(on)
        await session.cancel()
    return ended[0]


async def test_text_that_streams_is_cancelled(cwd: Path) -> None:
    async with open_session(cwd, model=EndlessModel()) as session:
        assert await prompt_and_cancel(session, "go", on=lambda: session.text) == "cancelled"
        count = len(session.updates)
        await session.ask("session/list")
        assert len(session.updates) == count


async def test_a_cancel_that_comes_when_all_is_said_still_counts(cwd: Path) -> None:
    model = LateModel()
    async with open_session(cwd, model=model) as session:
        model.at_last = session.client.server.cancel_all
        assert await session.turn("go") == "cancelled"


async def test_a_question_for_consent_is_taken_back(cwd: Path) -> None:
    """ACP, Prompt Turn, "Cancellation": last updates, then `cancelled`, and never an error."""
    async with open_session(cwd, permission=SILENCE) as session:
        client = session.client
        stop = await prompt_and_cancel(session, "write new.txt: x", on=lambda: client.requests)
        assert stop == "cancelled"
        await client.until(lambda: client.cancelled)
    assert [call["statuses"] for call in session.calls] == [["pending", "failed"]]
    assert not (cwd / "new.txt").exists()


async def test_a_client_that_answers_cancelled_ends_the_turn(cwd: Path) -> None:
    async with open_session(cwd, permission={"outcome": {"outcome": "cancelled"}}) as session:
        assert await session.turn("write new.txt: x then read notes.md") == "cancelled"
    assert [call["statuses"] for call in session.calls] == [["pending", "failed"]]


async def test_a_program_that_runs_is_ended(cwd: Path) -> None:
    async with open_session(cwd, mode="code") as session:
        (cwd / "long.sh").write_text("echo $$; exec sleep 1000\n")
        has_begun = partial(session.of, "tool_call_update")
        assert await prompt_and_cancel(session, "run sh long.sh", on=has_begun) == "cancelled"
    (call,) = session.calls
    assert call["statuses"] == ["pending", "in_progress", "failed"]
    assert call["content"][-1]["content"]["text"] == "cancelled"


class LingeringModel:
    """Ends its first reply only when it is let."""

    name = "lingering"
    commands: Sequence[SlashCommand] = ()

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.go = anyio.Event()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del history, tools
        if not self.begun.is_set():
            self.begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                # Bounded, so that a test that fails comes to an end.
                with anyio.move_on_after(1.0, shield=True):
                    await self.go.wait()
        yield TextDelta("well")


async def test_a_prompt_that_comes_while_a_cancelled_turn_ends_is_held_until_then(
    cwd: Path,
) -> None:
    model = LingeringModel()
    ended: list[str] = []
    async with open_session(cwd, model=model) as session, anyio.create_task_group() as tasks:

        async def prompt(text: str) -> None:
            ended.append(f"{text}: {await session.turn(text)}")

        tasks.start_soon(prompt, "first")
        await model.begun.wait()
        for text in ("second", "third"):
            await session.cancel()
            tasks.start_soon(prompt, text)
            await session.client.connection.request("session/list", {})
        model.go.set()
    assert ended == ["second: cancelled", "first: cancelled", "third: end_turn"]


async def test_a_prompt_that_is_held_is_cancelled_where_its_session_is_closed(cwd: Path) -> None:
    model = LingeringModel()
    async with open_session(cwd, model=model) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(session.turn, "first")
        await model.begun.wait()
        await session.cancel()

        async def prompt() -> None:
            assert await session.turn("second") == "cancelled"

        async def close() -> None:
            await session.ask("session/close")

        tasks.start_soon(prompt)
        await session.client.connection.request("session/list", {})
        tasks.start_soon(close)
        await session.client.connection.request("session/list", {})
        model.go.set()


async def test_a_session_that_was_cancelled_goes_on(cwd: Path) -> None:
    async with open_session(cwd, permission=SILENCE) as session:
        client = session.client
        await session.cancel()
        stop = await prompt_and_cancel(session, "write new.txt: x", on=lambda: client.requests)
        assert stop == "cancelled"
        client.answers[PERMISSION] = selected("allow")
        assert await session.turn("write new.txt: y") == "end_turn"
    assert (cwd / "new.txt").read_text() == "y\n"
    assert [call["toolCallId"] for call in session.calls] == ["call_1", "call_2"]


@pytest.mark.parametrize("text", ["x" * 61, "a " * 40])
async def test_a_long_title_is_cut(cwd: Path, text: str) -> None:
    async with open_session(cwd) as session:
        await session.turn(text)
        await session.turn("another")
    update, later = session.of("session_info_update")
    assert len(update["title"]) == 60
    assert update["title"].endswith("…")
    assert "title" not in later
    assert later["updatedAt"] > update["updatedAt"]


async def test_a_prompt_without_words_gives_no_title(cwd: Path) -> None:
    async with open_session(cwd) as session:
        await session.turn(" \n")
        (update,) = session.of("session_info_update")
        assert "title" not in update
        assert "demo agent" in session.text


@pytest.mark.parametrize("version", [1, 2])
async def test_commands_bear_the_name_of_the_agent_where_that_is_wanted(
    cwd: Path, version: int
) -> None:
    async with open_session(cwd, version, settings={"agent.namespace": "acp"}) as session:
        for order in ("/acp:think aloud", "/think again", "/other:think"):
            await session.turn(order)
        conversation = session.conversation
        names = [command["name"] for command in conversation.info.commands]
        assert names[:2] == ["acp:tour", "acp:plan"]
        said = session.text
        assert said.count("I've thought about it.") == 2
        assert "> /other:think" in said
