"""HTTP archives become frames, with what carried them before each."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.importers.har import read_har
from acp_inspector.importers.importer import import_file
from acp_inspector.importers.model import EventItem, FrameItem, NoteItem, SkippedItem
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.lint.engine import lint
from acp_inspector.recording.reader import read_recording

SAMPLE = Path(__file__).parent / "samples" / "http.har"
TIME = "2026-11-21T12:00:00.000Z"


def archive(*entries: dict[str, Any]) -> BytesIO:
    """Return an archive of these entries."""
    return BytesIO(json.dumps({"log": {"entries": list(entries)}}).encode())


def socket(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a WebSocket."""
    headers = [{"name": "Acp-Connection-Id", "value": "c1"}]
    request: dict[str, Any] = {"method": "GET", "url": "wss://a.example/acp", "headers": []}
    response = {"status": 101, "headers": headers}
    told: dict[str, Any] = {"startedDateTime": TIME, "request": request, "response": response}
    return told | {"_webSocketMessages": list(messages)}


def test_frames_stand_in_order_behind_what_carried_them(tmp_path: Path) -> None:
    result = import_file(SAMPLE, tmp_path / "out.acp.ndjson")
    recording = read_recording(tmp_path / "out.acp.ndjson")
    told: list[str] = []
    for entry in recording.entries:
        match entry:
            case JournalEvent(name=name, data=data):
                told.append(f"{name} {data['id']}")
            case Frame(side=side, data=raw):
                message = json.loads(raw)
                told.append(f"{side} {message.get('method') or list(message)[-1]}")
            case _:
                pytest.fail(f"{entry} has no place here")
    assert told == [
        *("http_request 3", "client initialize", "http_response 3", "agent result"),
        *("http_request 1", "http_response 1"),
        *("http_request 4", "client session/new"),
        *("sse_event 1", "agent result"),
        "http_response 4",
        *("http_request 5", "http_response 5"),
        *("http_request 6", "client session/prompt"),
        *("sse_event 5", "agent session/update", "sse_event 5", "agent result"),
        *("http_response 6", "http_end 5", "http_end 1"),
    ]
    assert result.skipped == {"requests that are not ACP": 1}
    assert result.guesses == {"when it came on its stream": 3}


def test_an_imported_archive_can_be_linted(tmp_path: Path) -> None:
    import_file(SAMPLE, tmp_path / "out.acp.ndjson")
    report = lint(read_recording(tmp_path / "out.acp.ndjson").entries)
    assert not [each.message for each in report.findings]
    assert {
        "wrong-content-type",
        "wrong-initialize-response",
        "missing-connection-id",
        "missing-session-header",
        "wrong-stream",
    } <= report.exercised


def test_messages_of_a_socket_have_their_times() -> None:
    sent = {"type": "send", "time": 1795262400.5, "opcode": 1, "data": "{}"}
    got = {"type": "receive", "time": 1795262400.7, "opcode": 2, "data": "e30="}
    items = list(read_har(archive(socket(sent, got))))
    frames = [item for item in items if isinstance(item, FrameItem)]
    assert [(item.side, item.raw, item.at) for item in frames] == [
        ("client", b"{}", 1795262400.5),
        ("agent", b"{}", 1795262400.7),
    ]
    kinds = [item.data.get("kind") for item in items if isinstance(item, EventItem)]
    assert kinds == [None, None, "text", "binary"]


def test_a_body_of_several_lines_becomes_one_and_is_told_of() -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "_x"}, indent=1)
    post = {"text": body}
    request: dict[str, Any] = {"method": "POST", "url": "u", "headers": [], "postData": post}
    entry: dict[str, Any] = {
        "startedDateTime": TIME,
        "request": request,
        "response": {"status": 202},
    }
    (frame,) = [item for item in read_har(archive(entry)) if isinstance(item, FrameItem)]
    assert json.loads(frame.raw) == json.loads(body)
    assert frame.guess == "its line breaks"


def test_an_archive_that_was_cut_is_read_as_far_as_it_goes() -> None:
    whole = SAMPLE.read_bytes()
    for cut in range(len(whole) // 2, len(whole), 97):
        *items, last = read_har(BytesIO(whole[:cut]))
        assert isinstance(last, NoteItem)
        ends = whole[:cut].count(b'"startedDateTime"') - 1
        requests = [each for each in items if isinstance(each, EventItem | SkippedItem)]
        begun = [
            each
            for each in requests
            if isinstance(each, SkippedItem) or each.name == "http_request"
        ]
        assert len(begun) in {ends, ends + 1}


@given(st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists, max_leaves=5))
def test_odd_values_are_no_traceback(odd: Any) -> None:
    for name in ("time", "request", "response", "_webSocketMessages", "startedDateTime"):
        list(read_har(archive(socket() | {name: odd})))
    list(read_har(archive(socket({"type": odd, "time": odd, "opcode": odd, "data": odd}))))
    for headers in (odd, [odd], [{"name": odd}], [{"value": odd}]):
        list(read_har(archive(socket() | {"response": {"headers": headers}})))
