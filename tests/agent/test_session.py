"""A session: cancellation at every moment, and what goes on after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
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
from acp_protocol.jsonrpc import Json, Request
from tests.agent.client import connected, selected
from tests.agent.conftest import Talk, talk


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


async def prompt_and_cancel(it: Talk, text: str, *, on: anyio.Event) -> str:
    """Cancel the turn on `text` as soon as `on` is set; return why it ended."""
    ended: list[str] = []

    async def prompt() -> None:
        ended.append(await it.prompt(text))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(prompt)
        await on.wait()
        await it.cancel()
    return ended[0]


async def test_text_that_streams_is_cancelled(cwd: Path) -> None:
    heard = anyio.Event()
    async with talk(cwd, model=EndlessModel()) as it:
        it.client.on_update = lambda update: (
            heard.set() if update["sessionUpdate"] == "agent_message_chunk" else None
        )
        assert await prompt_and_cancel(it, "go", on=heard) == "cancelled"
        count = len(it.client.updates)
        await it.ask("session/list")
        assert len(it.client.updates) == count


async def test_a_cancel_that_comes_when_all_is_said_still_counts(cwd: Path) -> None:
    model = LateModel()
    async with talk(cwd, model=model) as it:
        model.at_last = it.server.cancel_all
        assert await it.prompt("go") == "cancelled"


async def test_a_question_for_consent_is_taken_back(cwd: Path) -> None:
    """ACP, Prompt Turn, "Cancellation": last updates, then `cancelled`, and never an error."""
    asked, taken_back = anyio.Event(), anyio.Event()

    async def wait(request: Request) -> Json:
        del request
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            taken_back.set()

    async with talk(cwd, answers={"session/request_permission": wait}) as it:
        assert await prompt_and_cancel(it, "write new.txt: x", on=asked) == "cancelled"
        await taken_back.wait()
    assert [call["statuses"] for call in it.client.calls] == [["pending", "failed"]]
    assert not (cwd / "new.txt").exists()


async def test_a_client_that_answers_cancelled_ends_the_turn(cwd: Path) -> None:
    answers: dict[str, Json] = {"session/request_permission": {"outcome": {"outcome": "cancelled"}}}
    async with talk(cwd, answers=answers) as it:
        assert await it.prompt("write new.txt: x then read notes.md") == "cancelled"
    assert [call["statuses"] for call in it.client.calls] == [["pending", "failed"]]


async def test_a_program_that_runs_is_ended(cwd: Path) -> None:
    heard = anyio.Event()
    async with talk(cwd, mode="auto") as it:
        it.client.on_update = lambda update: (
            heard.set() if update["sessionUpdate"] == "tool_call_update" else None
        )
        (cwd / "long.sh").write_text("echo $$; exec sleep 1000\n")
        assert await prompt_and_cancel(it, "run sh long.sh", on=heard) == "cancelled"
    (call,) = it.client.calls
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
    async with talk(cwd, model=model) as it, anyio.create_task_group() as tasks:

        async def prompt(text: str) -> None:
            ended.append(f"{text}: {await it.prompt(text)}")

        tasks.start_soon(prompt, "first")
        await model.begun.wait()
        for text in ("second", "third"):
            await it.cancel()
            tasks.start_soon(prompt, text)
            await it.connection.request("session/list", {})
        model.go.set()
    assert ended == ["second: cancelled", "first: cancelled", "third: end_turn"]


async def test_a_prompt_that_is_held_is_cancelled_where_its_session_is_closed(cwd: Path) -> None:
    model = LingeringModel()
    async with talk(cwd, model=model) as it, anyio.create_task_group() as tasks:
        tasks.start_soon(it.prompt, "first")
        await model.begun.wait()
        await it.cancel()

        async def prompt() -> None:
            assert await it.prompt("second") == "cancelled"

        async def close() -> None:
            await it.ask("session/close")

        tasks.start_soon(prompt)
        await it.connection.request("session/list", {})
        tasks.start_soon(close)
        await it.connection.request("session/list", {})
        model.go.set()


async def test_a_session_that_was_cancelled_goes_on(cwd: Path) -> None:
    asked = anyio.Event()

    async def wait(request: Request) -> Json:
        if not asked.is_set():
            asked.set()
            await anyio.sleep_forever()
        return selected("allow")

    async with talk(cwd, answers={"session/request_permission": wait}) as it:
        await it.cancel()
        assert await prompt_and_cancel(it, "write new.txt: x", on=asked) == "cancelled"
        assert await it.prompt("write new.txt: y") == "end_turn"
    assert (cwd / "new.txt").read_text() == "y\n"
    assert [call["toolCallId"] for call in it.client.calls] == ["call_1", "call_2"]


@pytest.mark.parametrize("text", ["x" * 61, "a " * 40])
async def test_a_long_title_is_cut(cwd: Path, text: str) -> None:
    async with talk(cwd) as it:
        await it.prompt(text)
        await it.prompt("another")
    update, later = it.client.of("session_info_update")
    assert len(update["title"]) == 60
    assert update["title"].endswith("…")
    assert "title" not in later
    assert later["updatedAt"] > update["updatedAt"]


async def test_a_prompt_without_words_gives_no_title(cwd: Path) -> None:
    async with talk(cwd) as it:
        await it.prompt(" \n")
        (update,) = it.client.of("session_info_update")
        assert "title" not in update
        assert "demo agent" in it.client.text


@pytest.mark.parametrize("version", [1, 2])
async def test_commands_bear_the_name_of_the_agent_where_that_is_wanted(
    cwd: Path, version: int
) -> None:
    async with connected(cwd, version, settings={"agent.namespace": "acp"}) as it:
        session = await it.new()
        for order in ("/acp:think aloud", "/think again", "/other:think"):
            await session.turn(order)
        conversation = session.conversation
        names = [command["name"] for command in conversation.info.commands]
        assert names[:2] == ["acp:tour", "acp:plan"]
        said = session.text
        assert said.count("I have thought about it.") == 2
        assert "> /other:think" in said
