"""Making room: the summary takes the place of what was said, or nothing changes at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import anyio
import pytest

from acp_agent.models.types import (
    AssistantMessage,
    Continue,
    HistoryEntry,
    ModelEvent,
    ModelFailedError,
    PromptMessage,
    ReasoningDelta,
    SlashCommand,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from acp_agent.store.database import SessionStore
from acp_agent.turn.compaction import CLIPPED_CHARS, SUMMARY_REQUEST
from acp_agent.turn.context import SUMMARY_PROMPT
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import Client, connected, items, open_session

VERSIONS = pytest.mark.parametrize("version", [1, 2])
TOO_LONG = ModelFailedError("It is too long.", is_too_long=True)
ABLE: dict[str, Json] = {"session": {"compaction": {}}}


class Scribe:
    """Answers `well` or what `answers` hold, and sums up by what it was made with."""

    commands: Sequence[SlashCommand] = ()

    def __init__(self, *summaries: Sequence[ModelEvent] | Exception) -> None:
        self.name = "scribe"
        self.heard: list[list[HistoryEntry]] = []
        self.asked: list[list[HistoryEntry]] = []
        """What it was told where it was to sum up, with that itself."""
        self.answers: list[Sequence[ModelEvent] | Exception] = []
        self.on_summary: Callable[[], None] = lambda: None
        self.on_answer: anyio.Event | None = None
        self.halt: anyio.Event | None = None
        """What an answer waits for, once it has told `on_answer`."""
        self.hangs = False
        self._summaries = list(summaries)

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del tools
        last = history[-1]
        if isinstance(last, PromptMessage) and last.text.startswith(SUMMARY_REQUEST):
            self.asked.append(list(history))
            events = self._summaries.pop(0) if self._summaries else [TextDelta("so far")]
            self.on_summary()
            if self.hangs:
                await anyio.sleep_forever()
        else:
            self.heard.append(list(history))
            events = self.answers.pop(0) if self.answers else [TextDelta("well")]
        if isinstance(events, Exception):
            raise events
        if self.on_answer is not None and self.halt is not None:
            self.on_answer.set()
            await self.halt.wait()
        for event in events:
            yield event


def texts(history: Sequence[HistoryEntry]) -> list[str]:
    return [entry.text for entry in history if isinstance(entry, PromptMessage)]


def compactions(it: Client) -> list[str]:
    """Return the statuses of compactions as they were told."""
    told = [each for each in it.updates if each["sessionUpdate"] == "compaction_update"]
    return [each["status"] for each in told]


def servers(version: int) -> dict[str, Json]:
    return {"mcpServers": []} if version == 1 else {}


@VERSIONS
async def test_the_model_goes_on_with_the_summary_and_the_client_keeps_all(
    cwd: Path, version: int
) -> None:
    store = SessionStore()
    model = Scribe(
        [ReasoningDelta("hm"), TextDelta("so "), ToolUse("read", {"path": "x"}), TextDelta("far")]
    )
    able = ABLE if version == 1 else None
    async with connected(
        cwd, version, store=store, model=model, unstable=True, capabilities=able
    ) as it:
        session = await it.new()
        await session.turn("hello")
        assert await session.turn("/compact the names") == "end_turn"
        assert compactions(it) == ["in_progress", "completed"]
        await session.turn("and on")
        fork = await session.ask("session/fork", cwd=str(cwd), **servers(version))
        await it.session(fork["sessionId"]).turn("elsewhere")
        seen = items(session.conversation)
        await session.ask("session/close")
    ((said, *_, wanted),) = model.asked
    assert said == PromptMessage("hello")
    assert isinstance(wanted, PromptMessage)
    assert wanted.text.endswith("besides: the names\n")
    summary, well = (
        PromptMessage(SUMMARY_PROMPT.format("so far")),
        AssistantMessage((TextDelta("well"),)),
    )
    assert model.heard[1] == [summary, PromptMessage("and on")]
    assert model.heard[2] == [summary, PromptMessage("and on"), well, PromptMessage("elsewhere")]
    again = Scribe()
    async with connected(cwd, version, store=store, model=again, capabilities=able) as it:
        session = it.session(session.id)
        await session.reopen()
        assert items(session.conversation) == seen
        assert compactions(it) == ["in_progress", "completed"]
        await session.turn("later")
    assert again.heard[0] == [summary, PromptMessage("and on"), well, PromptMessage("later")]


async def test_a_client_that_shows_no_compaction_is_told_in_words(cwd: Path) -> None:
    async with open_session(cwd, model=Scribe()) as session:
        await session.turn("hello")
        await session.turn("/compact")
        assert compactions(session.client) == []
        assert session.text.endswith("continues from this:\n\n> so far\n\n")


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        (ModelFailedError("It is down."), "It is down."),
        ([ReasoningDelta("hm")], "The model returned no summary."),
        ([TextDelta("I will not"), Stop("refusal")], "The model returned no summary."),
        ([TextDelta("The user wants"), Stop("max_tokens")], "The summary was cut off."),
        ([TextDelta("The user wants"), Continue()], "The summary was cut off."),
    ],
)
async def test_a_summary_that_fails_leaves_all_as_it_was(
    cwd: Path, summary: Sequence[ModelEvent] | Exception, why: str
) -> None:
    model = Scribe(summary)
    async with open_session(cwd, model=model) as session:
        await session.turn("hello")
        assert await session.turn("/compact") == "end_turn"
        assert session.text.endswith(f"nothing has changed. {why}\n\n")
        await session.turn("and on")
    assert texts(model.heard[-1]) == ["hello", "and on"]


async def test_where_nothing_was_said_there_is_nothing_to_sum_up(cwd: Path) -> None:
    model = Scribe()
    async with open_session(cwd, model=model) as session:
        await session.turn("/compact")
        assert "There is nothing to summarize yet" in session.text
    assert model.asked == []


async def test_a_model_without_its_key_asks_for_it(cwd: Path) -> None:
    model = Scribe(ModelFailedError("It needs a key.", needs_key=True))
    async with open_session(cwd, model=model, lints=False) as session:
        await session.turn("hello")
        with pytest.raises(RequestFailedError, match="needs a key") as caught:
            await session.turn("/compact")
        assert caught.value.code == -32000


@VERSIONS
async def test_a_cancelled_compaction_leaves_all_as_it_was(cwd: Path, version: int) -> None:
    model = Scribe()
    begun = anyio.Event()
    model.on_summary = begun.set
    model.hangs = True
    able = ABLE if version == 1 else None
    async with open_session(cwd, version, model=model, capabilities=able) as session:
        await session.turn("hello")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.turn, "/compact")
            await begun.wait()
            await session.cancel()
        assert compactions(session.client) == ["in_progress", "cancelled"]
        await session.turn("and on")
    assert texts(model.heard[-1]) == ["hello", "and on"]


async def test_a_cancelled_compaction_is_told_in_words_as_well(cwd: Path) -> None:
    """Also when the session is opened again."""
    store, model = SessionStore(), Scribe()
    begun = anyio.Event()
    model.on_summary, model.hangs = begun.set, True
    told = "No room was made; nothing has changed. It was cancelled.\n\n"
    async with connected(cwd, store=store, model=model) as it:
        session = await it.new()
        await session.turn("hello")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.turn, "/compact")
            await begun.wait()
            await session.cancel()
        assert session.text.endswith(told)
        await session.ask("session/close")
    async with connected(cwd, store=store, model=model) as it:
        session = it.session(session.id)
        await session.reopen()
        assert session.text.endswith(told)


@VERSIONS
async def test_no_room_is_announced_where_nothing_can_be_summed_up(cwd: Path, version: int) -> None:
    async with connected(cwd, version, model=Scribe()) as it:
        await (await it.new()).turn("/compact")
        assert "agent_thought_chunk" not in it.kinds()
        assert compactions(it) == ([] if version == 1 else ["failed"])


async def test_the_time_of_a_turn_bounds_a_compaction(cwd: Path) -> None:
    model = Scribe()
    async with open_session(cwd, model=model, settings={"limits.seconds": 0.5}) as session:
        await session.turn("hello")
        model.hangs = True
        assert await session.turn("/compact") == "max_turn_requests"
        assert "nothing has changed" in session.text
        assert session.text.endswith("I'm stopping here: 0.5 s in one turn is the limit.")
        await session.turn("and on")
    assert texts(model.heard[-1]) == ["hello", "and on"]
    assert model.heard[-1][1] == AssistantMessage((TextDelta("well"),))


async def test_room_is_made_before_a_turn_where_the_window_is_nearly_full(cwd: Path) -> None:
    """Also where the session was opened again meanwhile."""
    store = SessionStore()
    model = Scribe([TextDelta("so far"), TokenUsage(900, 30, window=1000)])
    model.answers = [[TextDelta("well"), TokenUsage(890, 10, window=1000)]]
    async with connected(cwd, store=store, model=model) as it:
        session = await it.new()
        await session.turn("hello")
        assert model.asked == []
        await session.ask("session/close")
    async with connected(cwd, store=store, model=model) as it:
        session = it.session(session.id)
        await session.reopen()
        await session.turn("and on")
        usage = session.conversation.info.usage
        assert usage is not None
        assert (usage["used"], usage["size"]) == (30, 1000)
    assert texts(model.asked[0])[0] == "hello"
    assert len(texts(model.asked[0])) == 2
    summary, prompt = model.heard[-1]
    assert isinstance(summary, PromptMessage)
    assert "so far" in summary.text
    assert prompt == PromptMessage("and on")


async def test_room_is_made_amid_a_turn_and_what_was_asked_for_stays(cwd: Path) -> None:
    model = Scribe()
    read = ToolUse("read", {"path": "notes.md"})
    model.answers = [[read, TokenUsage(900, 10, window=1000)], [TextDelta("done")]]
    async with connected(cwd, model=model) as it:
        await (await it.new()).turn("read it")
    kinds = [PromptMessage, AssistantMessage, ToolResult, PromptMessage]
    assert [type(entry) for entry in model.asked[0]] == kinds
    assert texts(model.heard[-1])[1:] == ["read it"]
    assert len(model.heard[-1]) == 2


async def test_room_that_was_made_is_known_where_the_service_does_not_tell_of_it(
    cwd: Path,
) -> None:
    store, model = SessionStore(), Scribe()
    model.answers = [[TextDelta("well"), TokenUsage(940, 10, window=1000)]]
    async with connected(cwd, store=store, model=model) as it:
        session = await it.new()
        await session.turn("hello")
        await session.turn("/compact")
        usage = session.conversation.info.usage
        assert usage is not None
        assert (usage["used"], usage["size"]) == (2, 1000)
        await session.ask("session/close")
    async with connected(cwd, store=store, model=model) as it:
        session = it.session(session.id)
        await session.reopen()
        await session.turn("and on")
    assert len(model.asked) == 1


async def test_the_window_of_another_model_is_not_full_because_that_of_the_last_one_was(
    cwd: Path,
) -> None:
    """Also where the other one was chosen amid a turn, or the session was opened again."""
    store, small, large = SessionStore(), Scribe(), Scribe()
    large.name = "large"
    full = TokenUsage(940, 10, window=1000)
    small.answers = [[TextDelta("well"), full], [TextDelta("well"), full]]
    async with connected(cwd, store=store, model=small, others=[large]) as it:
        session = await it.new()
        await session.turn("hello")
        await session.choose("model", "large")
        await session.turn("and on")
        await session.choose("model", "scribe")
        async with anyio.create_task_group() as tasks:
            small.on_answer, small.halt = anyio.Event(), anyio.Event()
            tasks.start_soon(session.turn, "once more")
            await small.on_answer.wait()
            await session.choose("model", "large")
            small.halt.set()
        await session.ask("session/close")
    async with connected(cwd, store=store, model=small, others=[large]) as it:
        session = it.session(session.id)
        await session.reopen()
        await session.turn("at last")
    assert (len(small.heard), len(large.heard)) == (2, 2)
    assert small.asked + large.asked == []


@pytest.mark.parametrize("summary", [[TextDelta("so far")], ModelFailedError("It is down.")])
async def test_room_is_made_once_where_the_window_stays_full(
    cwd: Path, summary: Sequence[ModelEvent] | Exception
) -> None:
    model = Scribe(*[summary] * 9)
    read, full = ToolUse("read", {"path": "notes.md"}), TokenUsage(940, 10, window=1000)
    model.answers = [*[[read, full]] * 6, [TextDelta("done"), full]]
    async with open_session(cwd, model=model) as session:
        await session.turn("read it")
        await session.turn("and on")
    assert len(model.asked) == 1


async def test_a_prompt_that_is_refused_after_room_was_made_is_told_no_more(cwd: Path) -> None:
    model = Scribe()
    model.answers = [
        [TextDelta("well"), TokenUsage(950, 10, window=1000)],
        [TextDelta("no"), Stop("refusal")],
    ]
    async with open_session(cwd, model=model) as session:
        await session.turn("hello")
        assert await session.turn("bad") == "refusal"
        await session.turn("and on")
    assert texts(model.heard[1])[1:] == ["bad"]
    assert texts(model.heard[2]) == [SUMMARY_PROMPT.format("so far"), "and on"]


async def test_what_is_too_long_is_summed_up_and_asked_again_once(cwd: Path) -> None:
    model = Scribe()
    async with open_session(cwd, model=model) as session:
        await session.turn("hello")
        model.answers = [TOO_LONG, [TextDelta("now")]]
        assert await session.turn("and on") == "end_turn"
        assert session.text.endswith("now")
        model.answers = [TOO_LONG, TOO_LONG]
        with pytest.raises(RequestFailedError, match="too long"):
            await session.turn("and on")
        assert len(model.asked) == 2


async def test_a_first_prompt_that_is_too_long_is_refused_as_that(cwd: Path) -> None:
    model = Scribe()
    model.answers = [TOO_LONG]
    async with open_session(cwd, model=model) as session:
        with pytest.raises(RequestFailedError, match="too long"):
            await session.turn("hello")
    assert model.asked == []


async def test_what_is_too_long_to_be_summed_up_is_shortened_until_it_fits(cwd: Path) -> None:
    model = Scribe(TOO_LONG, TOO_LONG, TOO_LONG)
    (cwd / "long.txt").write_text("x" * 3 * CLIPPED_CHARS)
    async with open_session(cwd, model=model) as session:
        model.answers = [[ToolUse("read", {"path": "long.txt"})], [TextDelta("read")]]
        for text in ("read it", "b", "c", "d"):
            await session.turn(text)
        await session.turn("/compact")
        assert session.text.endswith("> so far\n\n")
    whole, clipped, half, quarter = model.asked
    read = [entry for entry in clipped if isinstance(entry, ToolResult)]
    assert [len(entry.text) < CLIPPED_CHARS + 10 for entry in read] == [True]
    assert len(clipped) == len(whole)
    assert len(quarter) < len(half) < len(whole)
    assert all("left out" in texts(part)[0] for part in (half, quarter))


async def test_what_no_shortening_helps_is_told_as_that(cwd: Path) -> None:
    model = Scribe(*[TOO_LONG] * 9)
    async with open_session(cwd, model=model) as session:
        await session.turn("hello")
        await session.turn("/compact")
        assert "Even shortened it is too long" in session.text
        await session.turn("and on")
    assert texts(model.heard[-1]) == ["hello", "and on"]
