"""What the transcript shows of real agents is what they have sent: nothing is lost or changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from textual.app import App

from acp_console.tui.transcript.cards import Card, ToolCard, card_of
from acp_console.tui.transcript.rows import Look, Row
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import AgentMessage, Item, Thought, ToolCallItem, UserMessage
from acp_protocol.host.sanitize import escape_controls, prose_text
from acp_protocol.json_values import get, get_string
from tests.inspector.session.traffic import TRAFFIC, real_frames

LOOK = Look.from_theme(App[None]().theme_variables)
WIDTH = 90
_COLOR = re.compile(r"\x1b\[[\d;]*m")
_FENCE = re.compile(r"^ {0,3}`{3,}.*$", re.MULTILINE)


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
            rows = shown(card)[isinstance(item, Thought) :]
            leads = "".join(text for row in rows for text, _ in row.lead)
            assert letters(leads) == "".join(filter(str.isdigit, leads))
            chips = [row for row in rows if row.opens]
            assert len(chips) == len(item.blocks)
            found = letters(text_of([row for row in rows if not row.opens]))
            assert found == letters(_FENCE.sub("", prose_text(item.text)))
