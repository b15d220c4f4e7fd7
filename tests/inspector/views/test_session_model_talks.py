"""Everything at once, from reading each entry once."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.compare.diff import compare
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.session.turn import AGENT_ENDED
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.to_json import session_to_json
from tests.inspector.session.traffic import TRAFFIC, real_frames, talks
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt
from tests.inspector.test_messages import ACPEX

METHODS = (
    *("initialize", "session/new", "session/load", "session/fork", "session/prompt"),
    *("session/update", "session/request_permission", "elicitation/create", "terminal/create"),
    *("terminal/output", "terminal/wait_for_exit", "fs/read_text_file", "mcp/message"),
    *("$/cancel_request", "session/close", "session/set_mode", "authenticate", "_x"),
)
NAMES = (
    *("sessionId", "update", "sessionUpdate", "toolCallId", "content", "text", "type", "prompt"),
    *("configOptions", "modes", "authMethods", "mcpServers", "agentCapabilities", "subject"),
    *("clientCapabilities", "capabilities", "protocolVersion", "requestId", "status", "usage"),
    *("plan", "entries", "terminalId", "output", "data", "cost", "stopReason", "outcome"),
)
WORDS = st.sampled_from(
    ["s1", "x", "", "tool_call", "state_update", "plan_update", "usage_update", "running", "idle"]
)
WILD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.just(2**70) | st.just(0.5) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)  # fmt: skip


@st.composite
def noise(draw: st.DrawFn) -> bytes:
    """Draw a line that says something, though hardly anything that makes sense."""
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    kind = draw(st.integers(0, 3))
    if kind != 1:
        message["id"] = draw(st.sampled_from([0, 1, "1", None, 1.5, True, [1]]))
    if kind <= 1:
        message |= {"method": draw(st.sampled_from(METHODS)), "params": draw(WILD)}
    elif kind == 2:
        message["result"] = draw(WILD)
    else:
        message["error"] = {"code": draw(st.integers(-9, 9)), "message": draw(WORDS)}
    line = json.dumps(message).encode()
    return draw(st.sampled_from([line, line, line, b"[" + line + b"," + line + b"]", line[:-1]]))


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    """Draw a journal of noise, with events and stderr between."""
    found: list[Entry] = []
    for place in range(1, draw(st.integers(0, 12)) + 1):
        # A file may number its lines as it likes.
        n = draw(st.sampled_from([place, place, place, -5, 0, 3, 2**70]))
        at = draw(st.sampled_from([place / 10, place / 10, math.nan, math.inf, -1e308, -3.0]))
        match draw(st.integers(0, 9)):
            case 0:
                name = draw(st.sampled_from(["held", "released", "eof", "exit", "spawn", "x"]))
                data = {"of": draw(WILD), "from": draw(st.sampled_from(["client", "agent", 3]))}
                found.append(JournalEvent(n, at, name, data))
            case 1:
                found.append(StderrChunk(n, at, b"\xff\x1b["))
            case _:
                side = draw(st.sampled_from(("client", "agent")))
                found.append(Frame(n, at, side, draw(noise())))
    return found


@given(entries())
def test_nothing_is_too_strange_to_be_studied(said: list[Entry]) -> None:
    model = SessionModel()
    model.read(said)
    for n in (0, *range(model.n - len(said), model.n + 1), 2**70):
        for snapshot in model.conversations.at(n).values():
            json.dumps(session_to_json(snapshot), allow_nan=False)
        model.waiting(n).hung()
    assert all(row.path for row in model.capabilities.rows())
    for tally in model.statistics.methods.values():
        asdict(tally.latencies.summary())
    assert compare(said, said).differences == ()


@given(talks(), st.integers(0, 27))
def test_a_journal_that_grows_is_known_as_one_that_is_read_at_once(
    talk: list[Said], n: int
) -> None:
    said = frames(*talk)
    once, growing = SessionModel(), SessionModel()
    once.read(said)
    growing.read(said[:n])
    growing.waiting()
    growing.capabilities.rows()
    growing.read(said[n:])
    assert growing.statistics == once.statistics or _counts(growing) == _counts(once)
    assert [asdict(row) for row in growing.capabilities.rows()] == [
        asdict(row) for row in once.capabilities.rows()
    ]
    assert len(growing.waiting().waits) == len(once.waiting().waits)


def _counts(model: SessionModel) -> dict[Any, Any]:
    methods = model.statistics.methods.items()
    return {key: (tally.count, tally.bytes, tally.endings) for key, tally in methods}


@pytest.mark.parametrize("name", TRAFFIC)
def test_real_talks_are_studied_whole(shared: Path, name: str) -> None:
    model = SessionModel()
    said = real_frames(shared, name)
    model.read(said)
    assert model.statistics.total.frames == len(said)
    endings = {"open": 0}
    for exchange in model.exchanges.all:
        endings[exchange.ending] = endings.get(exchange.ending, 0) + 1
    assert endings.get("result", 0) > 0
    for talk in model.conversations.sessions.values():
        assert [turn.number for turn in talk.turns] == sorted(turn.number for turn in talk.turns)


def test_a_frame_knows_the_turn_it_belongs_to() -> None:
    said = frames(
        ask("client", 0, "initialize"),
        prompt(1, "a"),
        chunk("x"),
        answer("agent", 1, {"stopReason": "end_turn"}),
        chunk("y"),
        prompt(2, "b"),
    )
    model, turns, wanted = SessionModel(), list[int | None](), compile_filter("turn == 1")
    found: list[int] = []
    for frame in said:
        model.apply(frame)
        turns.append(model.notes().turn)
        if wanted.matches(EntryFields(frame, model.exchanges, notes=model.notes())):
            found.append(frame.seq)
    assert turns == [None, 1, 1, 1, None, 2]
    assert found == [2, 3, 4]


def test_a_new_process_takes_up_nothing_that_the_last_one_left() -> None:
    """A turn that nobody ended is over, and the same id asks something else."""
    talk = frames(
        ask("client", 0, "initialize", protocolVersion=2),
        answer("agent", 0, {"protocolVersion": 2}),
        prompt(1, "go on"),
        ask("client", 0, "initialize", protocolVersion=1),
        answer("agent", 0, {"protocolVersion": 1}),
        prompt(1, "go on"),
        answer("agent", 1, {"stopReason": "end_turn"}),
    )
    model = SessionModel()
    for entry in talk[:3]:
        model.apply(entry)
    model.apply(JournalEvent(4, 0.4, "spawn", {"pid": 7}))
    talked = model.conversations.sessions["s1"]
    assert (talked.info.is_busy, talked.turns[0].error) == (False, AGENT_ENDED)
    assert model.conversations.version == 1
    assert model.waiting().waits == ()
    for entry in talk[3:]:
        model.apply(replace(entry, seq=entry.seq + 1))
    endings = [each.ending for each in model.exchanges.all]
    assert endings == ["result", "open", "result", "result"]
    assert [turn.stop_reason for turn in talked.turns] == [None, "end_turn"]


def test_a_dialect_is_read_as_what_it_means() -> None:
    model = SessionModel()
    model.read(frames(*ACPEX))
    assert model.dialect == "acpex"
    (turn,) = model.conversations.get("s1").turns
    assert (turn.stop_reason, model.statistics.turns[1].chunks) == ("end_turn", 1)
    assert ("agent", "session/update", "agent_message_chunk") in model.statistics.methods
    assert [exchange.ending for exchange in model.exchanges.all] == ["result"] * 3


def test_statistics_know_how_long_a_cancel_that_is_a_request_takes() -> None:
    model = SessionModel("continuum")
    model.read(
        frames(
            ask("client", 1, "session/cancel", sessionId="s1"),
            ask("client", 2, "session/cancel", sessionId="s1"),
            answer("agent", 1, {}),
            ("agent", {"id": 2, "error": {"code": -32001, "message": "no such session"}}),
            # There is no session that this one could mean.
            ask("client", 3, "session/cancel"),
            answer("agent", 3, {}),
        )
    )
    counts = model.statistics.methods["client", "session/cancel", ""]
    assert not counts.endings["open"]
    assert (counts.count, len(counts.latencies)) == (3, 3)
    assert (counts.endings["result"], counts.endings["error"]) == (2, 1)
    assert model.statistics.total.errors == 1
