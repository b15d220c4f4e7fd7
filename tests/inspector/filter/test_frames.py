"""Facts about entries: what they cost, what version 1 and 2 say, and what nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.session.exchanges import Exchanges
from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Json
from tests.inspector.talks import Said, answer, ask, chunk, frames, paired_row, prompt, update


class Reads:
    """Stands in for the readers of JSON, and counts."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        patch.setattr("acp_inspector.messages.parse", self._parse)

    def _parse(self, raw: bytes) -> Json:
        self.count += 1
        return jsonrpc.parse(raw)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


TALK = frames(
    prompt(1, "hello"),
    chunk("x" * 5000),
    ("agent", b"broken"),
    answer("agent", 1, {"stopReason": "end_turn"}),
    ("agent", {"id": 7, "error": {"code": 1, "message": "no", "more": {"deep": 2}}}),
)


@pytest.mark.parametrize(
    "text",
    [
        "from == agent and size > 4kb",
        "n in 1..3 or t < 1s",
        "stderr or event",
        "kind == stderr or kind in (event, stderr) or kind != event",
        '"end_turn" or /x{9}/',
        "text contains hello",
        "held or finding >= error or turn == 2 or marked",
    ],
)
def test_fields_of_the_entry_need_no_parsing(text: str, reads: Reads) -> None:
    wanted = compile_filter(text)
    for frame in TALK * 100:
        wanted.matches(EntryFields(frame))
    assert reads.count == 0


def test_a_frame_that_is_out_already_is_not_parsed(reads: Reads) -> None:
    wanted = compile_filter("size > 4kb and update == agent_message_chunk")
    assert [frame.seq for frame in TALK if wanted.matches(EntryFields(frame))] == [2]
    assert reads.count == 1


def test_a_message_is_parsed_once_for_any_number_of_fields(reads: Reads) -> None:
    wanted = compile_filter(
        "not (kind == batch or method == x or id == 99 or session == x or update == plan"
        " or status == failed or tool == x or code == 3 or $.params.x == 3 or $.result.y exists"
        " or error == x or $.error.code == 9 or terminal == t or method == y)"
    )
    for frame in (TALK[0], TALK[1], TALK[3], TALK[4]):
        assert wanted.matches(EntryFields(frame))
    assert reads.count == 4


def test_members_that_json_rpc_does_not_know_are_found_too(reads: Reads) -> None:
    fields = EntryFields(TALK[4])
    wanted = compile_filter("$.error.more.deep == 2 and $..deep == 2 and $.jsonrpc exists")
    assert wanted.matches(fields)
    assert wanted.matches(fields)
    assert reads.count == 1


def test_what_exchanges_know_is_not_parsed_again(reads: Reads) -> None:
    exchanges = Exchanges()
    for frame in TALK:
        exchanges.apply(frame)
    reads.count = 0
    wanted = compile_filter("method == session/prompt and session == s1")
    assert [frame.seq for frame in TALK if wanted.matches(EntryFields(frame, exchanges))] == [1, 4]
    # The ones that belong to no exchange: a notification, a broken one, an answer to nothing.
    assert reads.count == 3


def test_a_message_that_was_read_before_is_taken(reads: Reads) -> None:
    message = jsonrpc.read_message(TALK[0].data)
    assert EntryFields(TALK[0], message=message).method == "session/prompt"
    assert reads.count == 0


def test_a_response_without_exchanges_has_no_request() -> None:
    fields = EntryFields(TALK[3])
    assert (fields.kind, fields.method, fields.session, fields.latency) == (
        "result",
        None,
        None,
        None,
    )
    assert fields.ids == (1,)


def test_an_error_answer_is_no_tool_call() -> None:
    fields = EntryFields(TALK[4])
    assert (fields.error, fields.code, fields.tool, fields.status) == ("no", 1, None, None)


CALL = {"toolCallId": "c1", "kind": "edit", "status": "pending"}
VERSIONS: dict[str, tuple[Said, dict[str, object]]] = {
    "a tool call of version 1": (
        update("tool_call", **CALL),
        {"update": "tool_call", "tool": "c1", "tool_kind": "edit", "status": "pending"},
    ),
    "a tool call of version 2": (
        update("tool_call_update", toolCallId="c1", status="paused", kind=None),
        {"update": "tool_call_update", "tool": "c1", "tool_kind": None, "status": "paused"},
    ),
    "a permission of version 1": (
        ask("agent", 1, "session/request_permission", sessionId="s1", toolCall=CALL),
        {"update": None, "tool": "c1", "tool_kind": "edit", "status": "pending"},
    ),
    "a permission of version 2": (
        ask(
            *("agent", 1, "session/request_permission"),
            sessionId="s1",
            title="May I?",
            subject={"type": "tool_call", "toolCall": CALL},
        ),
        {"update": None, "tool": "c1", "tool_kind": "edit", "status": "pending"},
    ),
    "a terminal of version 1": (
        ask("agent", 1, "terminal/output", sessionId="s1", terminalId="t1"),
        {"terminal": "t1", "session": "s1", "tool": None},
    ),
    "a terminal of version 2": (
        update("terminal_update", terminalId="t1", title="ls"),
        {"terminal": "t1", "update": "terminal_update"},
    ),
    "a compaction": (
        update("compaction_update", compactionId="x", status="failed", kind="odd"),
        {"status": "failed", "tool": None, "tool_kind": None},
    ),
    "members of other types": (
        ("agent", {"method": "session/update", "params": {"sessionId": 3, "update": [1]}}),
        {"session": None, "update": None, "tool": None, "status": None, "terminal": None},
    ),
    "params in a list": (
        ("agent", {"method": "session/update", "params": ["s1"]}),
        {"session": None, "update": None, "method": "session/update"},
    ),
}


@pytest.mark.parametrize("what", VERSIONS)
def test_both_versions_are_read(what: str) -> None:
    actual, expected = VERSIONS[what]
    fields = EntryFields(frames(actual)[0])
    assert {name: getattr(fields, name) for name in expected} == expected


def test_beside_frames_there_is_no_message(reads: Reads) -> None:
    stderr = EntryFields(StderrChunk(1, 0.5, b"{} \xff\n"))
    assert (stderr.kind, stderr.side, stderr.size) == ("stderr", "agent", 5)
    assert stderr.stderr == "{} \ufffd\n"
    event = EntryFields(JournalEvent(2, 0.6, "exit", {"code": 3, "odd": float("nan")}))
    assert (event.kind, event.side, event.size, event.event) == ("event", None, None, "exit")
    assert b"'code': 3" in event.raw
    for fields in (stderr, event):
        assert (fields.method, fields.ids, fields.session, fields.is_pending) == (
            None,
            (),
            None,
            False,
        )
    assert not compile_filter("$.code exists").matches(stderr)
    assert compile_filter("$.code == 3").matches(event)
    assert reads.count == 0


def test_facts_agree_with_the_rows_of_real_traffic(shared: Path) -> None:
    for path in sorted((shared / "traffic").glob("*.ndjson")):
        exchanges = Exchanges()
        for frame in traffic(path):
            if not isinstance(frame, Frame):
                continue
            row = paired_row(frame, exchanges)
            fields = EntryFields(frame, exchanges)
            assert (fields.kind, fields.latency, fields.size) == (row.kind, row.latency, row.size)
            assert (fields.method or "")[:50] == row.method[:50]
            assert (fields.session or "")[:50] == row.session[:50]
            assert list(fields.ids) == ([row.id] if row.has_id else [])


def traffic(path: Path) -> list[Entry]:
    """Return the entries of a file of real traffic."""
    entries: list[Entry] = []
    for n, line in enumerate(path.read_bytes().splitlines(), start=1):
        actual = json.loads(line)
        if actual["dir"] in {"c2a", "a2c"} and "line" in actual:
            side = "client" if actual["dir"] == "c2a" else "agent"
            entries.append(Frame(n, actual["t"], side, actual["line"].encode()))
    return entries
