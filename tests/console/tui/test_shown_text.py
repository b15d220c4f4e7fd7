"""What the transcript shows of real agents is what they have sent: nothing is lost or changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from acp_console.tui.transcript.cards import Card, ToolCard, card_of
from acp_console.tui.transcript.rows import Look, Row
from acp_inspector.journal import Frame
from acp_inspector.recording.reader import read_recording
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import AgentMessage, Item, Thought, ToolCallItem, UserMessage
from acp_protocol.host.sanitize import escape_controls, prose_text
from acp_protocol.json_values import get, get_string
from tests.inspector.session.traffic import TRAFFIC, real_frames

LOOK = Look.from_theme(App[None]().theme_variables)
WIDTH = 90
_COLOR = re.compile(r"\x1b\[[\d;]*m")
_FENCE = re.compile(r"^ {0,3}`{3,}.*$", re.MULTILINE)
_TASK = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)]) \[[xX]\](?= )", re.MULTILINE)
KINDS = {"agent_message_chunk": AgentMessage, "agent_thought_chunk": Thought}
FOLDER = Path(__file__).parents[3] / "recordings"
RECORDINGS = sorted([*FOLDER.glob("*.acp.ndjson"), *FOLDER.glob("turns/*.acp.ndjson")])


def items(shared: Path, name: str) -> Iterator[Item]:
    conversations = Conversations()
    for frame in real_frames(shared, name):
        conversations.apply(frame)
    for session in conversations.sessions.values():
        yield from session.items


def shown(card: Card) -> list[Row]:
    return [row for part in range(card.part_count) for row in card.rows(part, WIDTH, LOOK)]


def text_of(rows: Sequence[Row]) -> str:
    """Return the text of rows without white space: a row that is wrapped ends anywhere."""
    return "".join("".join(row.text for row in rows).split())


def bare(text: str) -> str:
    return "".join(escape_controls(_COLOR.sub("", text)).expandtabs(4).split())


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def plain(markdown: str) -> str:
    """Return the letters of Markdown as they are shown: without the names of languages."""
    return letters(_TASK.sub("", _FENCE.sub("", prose_text(markdown))))


def sent(frames: Iterable[Frame]) -> dict[str, dict[str, str]]:
    """Return the text of all chunks of each session and kind, as the agent has sent it.

    A session that is loaded again is sent again; messages that are replaced are left out.
    """
    found: dict[str, dict[str, str]] = {}
    replaced: set[str] = set()
    for frame in frames:
        if not is_json_object(frame.data):
            continue
        message: Any = json.loads(frame.data)
        session = get_string(message.get("params"), "sessionId")
        if message.get("method") == "session/load":
            found.pop(session, None)
        elif frame.side == "agent" and message.get("method") == "session/update":
            update = message["params"]["update"]
            kind = get_string(update, "sessionUpdate")
            replaced |= {session} if kind in {"agent_message", "agent_thought"} else set()
            texts = found.setdefault(session, {})
            texts[kind] = texts.get(kind, "") + get_string(get(update, "content"), "text")
    return {session: texts for session, texts in found.items() if session not in replaced}


def is_json_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def compared(frames: Sequence[Frame]) -> Iterator[tuple[str, str]]:
    """Yield what the rows of each session show of its chunks, and what the frames have of them."""
    conversations = Conversations()
    for frame in frames:
        conversations.apply(frame)
    for session, texts in sent(frames).items():
        for name, kind in KINDS.items():
            cards = [card_of(item) for item in conversations.get(session).items
                     if type(item) is kind]  # fmt: skip
            for card in cards:
                if card.is_folded:
                    card.toggle()
            rows = [
                row for card in cards for row in shown(card)[kind is Thought :]
                if row.runs and not row.opens
            ]  # fmt: skip
            yield letters(text_of(rows)), plain(texts.get(name, ""))


@pytest.mark.parametrize("name", TRAFFIC)
def test_the_output_of_a_tool_is_shown_to_its_last_character(shared: Path, name: str) -> None:
    for item in items(shared, name):
        if not isinstance(item, ToolCallItem):
            continue
        card = ToolCard(item)
        if card.is_folded:
            card.toggle()
        found = text_of(shown(card))
        for content in item.content:
            text = get_string(get(content, "content"), "text")
            inner = re.fullmatch(r"(`{3,})\w*\n(.*)\n\1\s*", text, re.DOTALL)
            assert bare(inner[2] if inner else text) in found
            for side in ("oldText", "newText"):
                changed = get_string(content, side).split("\n")
                assert len(changed) > 3 or all(bare(line) in found for line in changed)


@pytest.mark.parametrize("name", TRAFFIC)
def test_messages_are_shown_to_their_last_letter(shared: Path, name: str) -> None:
    for item in items(shared, name):
        if isinstance(item, AgentMessage | Thought | UserMessage):
            card = card_of(item)
            if card.is_folded:
                card.toggle()
            # The names of languages are no text.
            rows = [row for row in shown(card)[isinstance(item, Thought) :] if row.runs]
            leads = "".join(text for row in rows for text, _ in row.lead)
            assert letters(leads) == "".join(filter(str.isdigit, leads))
            chips = [row for row in rows if row.opens and row.joins == "\n"]
            assert len(chips) == len(item.blocks)
            found = letters(text_of([row for row in rows if not row.opens]))
            assert found == plain(item.text)


@pytest.mark.parametrize("name", TRAFFIC)
def test_the_text_of_the_rows_is_the_text_of_the_frames(shared: Path, name: str) -> None:
    for found, expected in compared(real_frames(shared, name)):
        assert found == expected


def test_the_text_of_the_rows_is_the_text_of_the_frames_of_our_recordings() -> None:
    count = 0
    for path in RECORDINGS:
        for found, expected in compared(read_recording(path).frames):
            assert found == expected, path.name
            count += len(expected)
    assert count > 3_000
