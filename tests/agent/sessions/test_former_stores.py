"""Stores that former versions have written are listed, loaded, replayed and continued.

`stores/NAME.sql` is the dump of a store, with `@CWD@` in place of the directory of its sessions;
`stores/NAME.json` holds what clients see of each session, and what its model knows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from acp_agent.models.demo import DemoModel
from acp_agent.models.types import (
    AssistantMessage,
    HistoryEntry,
    ModelEvent,
    PlanChange,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    SlashCommand,
    Stop,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from acp_agent.store.database import SessionStore
from acp_agent.store.sqlite import FILE
from acp_protocol.jsonrpc import Json
from tests.agent.client import connected, items

STORES = Path(__file__).parent / "stores"
FORMER = pytest.mark.parametrize("name", sorted(path.stem for path in STORES.glob("*.sql")))
VERSIONS = pytest.mark.parametrize("version", [1, 2])
KINDS = {
    PromptMessage: "user",
    AssistantMessage: "model",
    ToolResult: "tool result",
    TextDelta: "text",
    ReasoningDelta: "thought",
    PlanChange: "plan",
    ToolUse: "tool call",
    ProviderBlock: "sealed",
    Stop: "stopped",
}


class Remembering:
    """A model that keeps the history it is sent."""

    name = "service"
    commands: Sequence[SlashCommand] = ()
    takes_images = True

    def __init__(self) -> None:
        self.history: Sequence[HistoryEntry] = ()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del tools
        self.history = list(history)
        yield TextDelta("well")


def restored(name: str, directory: Path, cwd: Path) -> SessionStore:
    """Return the store of that name as if its sessions had run in `cwd`."""
    (cwd / "src").mkdir(exist_ok=True)
    directory.mkdir()
    with closing(sqlite3.connect(directory / FILE)) as database:
        dump = (STORES / f"{name}.sql").read_text(encoding="utf-8")
        database.executescript(dump.replace("@CWD@", str(cwd)))
    return SessionStore(directory)


def known(history: Sequence[HistoryEntry]) -> list[Json]:
    """Return what a model knows as JSON, with adjacent pieces of a text joined."""
    found: list[Json] = []
    for entry in history:
        match entry:
            case PromptMessage(text, attachments, images):
                brought = [[each.uri, each.text] for each in attachments]
                found.append(["user", text, brought, [[i.mime_type, i.data] for i in images]])
            case ToolResult(tool, text, is_failed):
                found.append(["tool result", tool, text, is_failed])
            case AssistantMessage(events):
                found.append(["model", joined(events)])
            case _:
                raise AssertionError(entry)
    return found


def joined(events: Sequence[ModelEvent]) -> list[Json]:
    said: list[Json] = []
    for kind, group in groupby(events, type):
        each: list[Any] = list(group)
        if kind in {TextDelta, ReasoningDelta}:
            said.append([KINDS[kind], "".join(event.text for event in each)])
            continue
        for event in each:
            match event:
                case PlanChange(steps):
                    said.append(["plan", *([step.content, step.status] for step in steps)])
                case ToolUse(tool, arguments, id_, fault):
                    said.append(["tool call", tool, dict(arguments), id_, fault])
                case ProviderBlock(maker, content):
                    said.append(["sealed", maker, dict(content)])
                case Stop(reason, why):
                    said.append(["stopped", reason, why])
                case _:
                    raise AssertionError(event)
    return said


def plain(value: Json, cwd: Path) -> Json:
    """Return `value` as JSON that no directory of this run stands in."""
    return json.loads(json.dumps(value).replace(str(cwd), "@CWD@"))


@FORMER
@VERSIONS
async def test_sessions_of_former_stores_are_listed_replayed_and_continued(
    name: str, version: int, tmp_path: Path, cwd: Path
) -> None:
    expected = json.loads((STORES / f"{name}.json").read_text(encoding="utf-8"))
    store = restored(name, tmp_path / "kept", cwd)
    model = Remembering()
    found: dict[str, Json] = {}
    async with connected(
        cwd, version, store=store, unstable=True, model=DemoModel(), others=[model]
    ) as it:
        listed = (await it.ask("session/list", archived="include"))["sessions"]
        shown = ("sessionId", "title", "archived", "updatedAt", "additionalDirectories")
        found["listed"] = [[session.get(each) for each in shown] for session in listed]
        for session_id in sorted(session["sessionId"] for session in listed):
            await it.session(session_id).reopen()
            seen = items(it.session(session_id).conversation)
            await it.session(session_id).choose("model", "service")
            assert await it.session(session_id).turn("go on") == "end_turn"
            found[session_id] = {"seen": seen, "known": known(model.history)}
            assert items(it.session(session_id).conversation)[: len(seen)] == seen
    assert plain(found, cwd) == expected[str(version)]
    # What was migrated and mended is the same when it is opened again.
    store.close()
    async with connected(
        cwd, version, store=SessionStore(tmp_path / "kept"), model=DemoModel(), others=[model]
    ) as it:
        for session_id in sorted(each for each in found if each != "listed"):
            await it.session(session_id).reopen()
            seen = items(it.session(session_id).conversation)
            before = found[session_id]["seen"]
            assert seen[: len(before)] == before
            assert [each[:2] for each in seen[len(before) :]] == [
                ("UserMessage", "go on"),
                ("AgentMessage", "well"),
            ]
