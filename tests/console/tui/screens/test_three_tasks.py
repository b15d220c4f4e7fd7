"""Three questions about a recording of two sessions, answered by a few keys at 120 × 40."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from acp_console.traffic.sources import FileSource
from acp_console.tui.app import ConsoleApp
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from tests.console.tui.conftest import say, until
from tests.inspector.talks import Said, answer, ask, chunk, encoded, prompt, update

CALL = {"kind": "edit", "status": "pending"}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def opening() -> Iterator[tuple[float, Said]]:
    client = {"name": "it", "version": "1"}
    can = {"fs": {"readTextFile": True}, "terminal": True}
    about = {"protocolVersion": 1, "clientCapabilities": can, "clientInfo": client}
    yield 0.0, ask("client", 0, "initialize", **about)
    agent = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "agentInfo": client}
    yield 0.01, answer("agent", 0, agent)
    for id_, session in ((1, "s1"), (2, "s2")):
        yield 0.01, ask("client", id_, "session/new", cwd="/w", mcpServers=[])
        yield 0.01, answer("agent", id_, {"sessionId": session})


def turn(number: int, ids: Iterator[int]) -> Iterator[tuple[float, Said]]:
    """Yield the messages of a turn, each with the seconds since the one before."""
    session, call = f"s{2 - number % 2}", f"c{number}"
    in_session = {"sessionId": session}
    yield 0.1, prompt(number + 2, f"go {number}", session=session)
    for piece in range(84):
        yield 0.004, chunk(f"word {piece} ", session=session)
    if number == 3:
        yield 0.01, update("tool_call_update", session=session, toolCallId="x", status="completed")
    if number in {7, 8}:
        said = {"toolCallId": call, "title": "Edit cart.py", **CALL}
        yield 0.01, update("tool_call", session=session, **said)
        id_ = next(ids)
        params = {**in_session, "toolCall": {"toolCallId": call}, "options": OPTIONS}
        yield 0.01, ask("agent", id_, "session/request_permission", **params)
        if number == 8:
            yield 1.13, answer("client", id_, {"outcome": {"outcome": "selected", "optionId": "y"}})
            yield from _tests(ids, in_session)
    yield 0.01, answer("agent", number + 2, {"stopReason": "end_turn"})


def _tests(ids: Iterator[int], in_session: dict[str, str]) -> Iterator[tuple[float, Said]]:
    made, waited = next(ids), next(ids)
    command = {"command": "pytest", "args": ["-q"]}
    yield 0.01, ask("agent", made, "terminal/create", **in_session, **command)
    yield 0.01, answer("client", made, {"terminalId": "t1"})
    yield 0.01, ask("agent", waited, "terminal/wait_for_exit", **in_session, terminalId="t1")
    yield 5.9, answer("client", waited, {"exitCode": 1, "signal": None})


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    ids, time = count(), 0.0
    said: list[Entry] = [JournalEvent(1, 0.0, "spawn", {"pid": 7})]
    every = [*opening(), *(each for number in range(1, 15) for each in turn(number, ids))]
    for n, (after, (side, message)) in enumerate(every, start=2):
        time += after
        assert not isinstance(message, bytes)
        said.append(Frame(n, round(time, 3), side, encoded(message)))
    said.append(JournalEvent(len(said) + 1, time, "exit", {"code": 0}))
    assert 1200 < len(said) < 1300
    path = tmp_path / "work.acp.ndjson"
    writer = RecordingWriter(path, Header("2026-01-01T00:00:00+00:00", "a test", ""))
    writer.write(said)
    writer.close()
    return path


QUESTIONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "which permission was never answered",
        ("9",),
        ("Never answered: 1 request", "session/request_permission", "“Edit cart.py”"),
    ),
    (
        "where eight seconds went: person, tools, agent, and what took longest",
        ("8", "b", "b", "s"),
        ("8     end_turn  7.43 s   1.13 s  5.91 s  386 ms  5.90 s wait_for_exit pytest ",),
    ),
    (
        "the first violation and its fix",
        ("x", "5"),
        ("warning unannounced-tool-call", "Fix     Announce a tool call by tool_call first."),
    ),
)


@pytest.mark.long
async def test_three_questions_are_answered_by_a_few_keys(recording: Path) -> None:
    app = ConsoleApp(cwd=recording.parent, watch=[FileSource(recording)])
    async with app.run_test(size=(120, 40)) as pilot:
        # Findings are looked for in the background.
        await until(pilot, lambda: "findings" in say(app))
        for _, keys, found in QUESTIONS:
            await pilot.press(*keys)
            await until(pilot, lambda found=found: all(each in say(app) for each in found))
            await pilot.press("escape")
