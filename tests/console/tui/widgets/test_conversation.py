"""The conversation as its user sees it, built from the items of a fold."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App, ComposeResult

from acp_console.tui.chat import screen as chat
from acp_console.tui.transcript.view import TranscriptView
from acp_inspector.journal import Entry, Frame
from acp_inspector.session.conversations import Conversations
from tests.console.tui.conftest import entries, say, settled, until, update

OPTIONS = [
    {"optionId": "a", "name": "Allow", "kind": "allow_once"},
    {"optionId": "r", "name": "Reject", "kind": "reject_once"},
]
TALK_START = (
    "client",
    {
        "id": 1,
        "method": "session/prompt",
        "params": {
            "sessionId": "s1",
            "prompt": [{"type": "text", "text": "Please [b]fix[/b] it"}],
        },
    },
)
TALK = entries(
    TALK_START,
    update("agent_thought_chunk", content={"type": "text", "text": "[@click=app.quit]Hmm[/]"}),
    update(
        "plan",
        entries=[
            {"content": "Look", "priority": "high", "status": "completed"},
            {"content": "Change", "priority": "high", "status": "in_progress"},
        ],
    ),
    update("agent_message_chunk", content={"type": "text", "text": "I change `a.py`, see "}),
    update(
        "agent_message_chunk", content={"type": "text", "text": "[here](http://evil.example).\n"}
    ),
    update(
        "tool_call",
        toolCallId="c1",
        title="Edit a.py",
        kind="edit",
        status="pending",
        content=[
            {
                "type": "diff",
                "path": "/w/a.py",
                "oldText": "x = 1\ny = 2\n",
                "newText": "x = 1\ny = 3\n",
            }
        ],
    ),
    (
        "agent",
        {
            "id": 9,
            "method": "session/request_permission",
            "params": {"sessionId": "s1", "toolCall": {"toolCallId": "c1"}, "options": OPTIONS},
        },
    ),
)
REST = entries(
    ("client", {"id": 9, "result": {"outcome": {"outcome": "selected", "optionId": "a"}}}),
    update("tool_call_update", toolCallId="c1", status="completed"),
    ("agent", {"id": 1, "error": {"code": -32603, "message": "Out of [red]tokens"}}),
)


class TalkApp(App[None]):
    """An app with nothing but the conversation, in the colours of the chat."""

    CSS_PATH = Path(chat.__file__).parent / "chat.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.talks = Conversations()

    def compose(self) -> ComposeResult:
        yield TranscriptView("welcome", id="conversation")

    async def feed(self, said: list[Entry]) -> None:
        """Take frames as the chat does."""
        frames = [entry for entry in said if isinstance(entry, Frame)]
        changes = [change for frame in frames for change in self.talks.apply(frame)]
        self.query_one(TranscriptView).sync([c.item for c in changes if c.item])


async def test_it_looks_as_it_should(picture: SnapshotAssertion) -> None:
    app = TalkApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await app.feed(TALK)
        await until(pilot, lambda: "asks you" in say(app))
        assert await settled(pilot) == picture


async def test_text_from_the_wire_is_never_markup() -> None:
    app = TalkApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await app.feed(TALK)
        await app.feed(REST)
        texts = ("Out of [red]tokens", "Please [b]fix[/b] it", "[@click=app.quit]Hmm[/]")
        await until(pilot, lambda: all(text in say(app) for text in texts))


async def test_a_call_that_was_asked_about_is_done() -> None:
    app = TalkApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await app.feed(TALK)
        await until(pilot, lambda: "asks you" in say(app))
        await app.feed(REST)
        await until(pilot, lambda: "✓ Edit a.py" in say(app) and "asks you" not in say(app))


async def test_it_can_be_built_again_from_the_frames() -> None:
    app = TalkApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await app.feed(TALK)
        await app.feed(REST)
        parts = ("Please", "Hmm", "Change", "see here", "✓ Edit a.py", "turn failed")
        await until(pilot, lambda: all(part in say(app) for part in parts))
        await settled(pilot)
        before = say(app)
        await app.query_one(TranscriptView).remove()
        await app.mount(TranscriptView("welcome", id="conversation"))
        app.talks = Conversations()
        await app.feed([*TALK, *REST])
        await until(pilot, lambda: say(app) == before)


@pytest.mark.parametrize("step", [1, 3, 12, 40])
async def test_code_stays_code_wherever_its_text_was_cut(step: int) -> None:
    text = "The file:\n\n```\n# no heading\n\n* no list\n```\n\nand more"
    app = TalkApp()
    async with app.run_test(size=(100, 40)) as pilot:
        for start in range(0, len(text), step):
            piece = {"type": "text", "text": text[start : start + step]}
            await app.feed(entries(update("agent_message_chunk", content=piece)))
        await until(pilot, lambda: "and more" in say(app) and "# no heading" in say(app))
        rows = [line.strip() for line in say(app).splitlines() if line.strip()]
        assert rows == ["The file:", "▏ # no heading", "▏", "▏ * no list", "and more"]


async def test_a_line_that_tells_of_something_going_on_is_written_anew_when_it_ends() -> None:
    app = TalkApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await app.feed(entries(update("compaction_update", compactionId="k", status="[b]begun")))
        await until(pilot, lambda: "· context compaction: [b]begun" in say(app))
        await app.feed(entries(update("compaction_update", compactionId="k", status="completed")))
        await until(pilot, lambda: "· context compaction: completed" in say(app))
        assert "begun" not in say(app)


async def test_a_question_to_the_user_tells_how_it_was_answered() -> None:
    params = {"sessionId": "s1", "message": "Which one?", "mode": "form"}
    asked = ("agent", {"id": 4, "method": "elicitation/create", "params": params})
    told = ("client", {"id": 4, "result": {"action": "decline"}})
    app = TalkApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await app.feed(entries(asked))
        await until(pilot, lambda: "· asks you: Which one? · open" in say(app))
        await app.feed(entries(told))
        await until(pilot, lambda: "· asks you: Which one? · declined" in say(app))
