"""Entries without their secrets, one after the other, as they come."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.control.sinks import MemoryLog
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Header, encode_entry
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.redaction.patterns import RULES
from acp_inspector.redaction.placeholders import TooManySecretsError
from acp_inspector.redaction.stream import (
    MAX_ENTRY_BYTES,
    MAX_SECRETS,
    EntryRedactor,
    RedactingSink,
    RedactionTooLongError,
    next_placeholder,
)

KEY = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5"
ESCAPED = "".join(f"\\u{ord(char):04x}" for char in KEY)
HEADER = Header(created="2026-01-01T00:00:00.000Z", tool="t", schema="s")


def redactor(limit: int = MAX_SECRETS, **environment: str) -> EntryRedactor:
    return EntryRedactor(environment=environment, limit=limit)


def notification(n: int, **params: Any) -> Frame:
    message = {"jsonrpc": "2.0", "method": "m", "params": params}
    return Frame(n, 0.5, "client", json.dumps(message).encode())


def test_a_secret_leaves_and_all_the_rest_of_the_frame_stays() -> None:
    raw = b' {"method" : "m", "params":{"apiKey":"%b","x":1.50}} ' % KEY.encode()
    cut = redactor().entry(Frame(3, 1.25, "agent", raw, b"\r\n"))
    mark = "«secret:1»".encode()
    assert cut == Frame(3, 1.25, "agent", raw.replace(KEY.encode(), mark), b"\r\n")


@pytest.mark.parametrize(
    "header", [b"X: y\r\nContent-Length: %d\r\n\r\n", b"X:\xff\ncontent-length:%d\n\n"]
)
def test_a_header_has_the_length_of_what_is_left(header: bytes) -> None:
    raw = b'{"apiKey":"%b"}' % KEY.encode()
    cut = redactor().entry(Frame(3, 1.25, "agent", raw, b"", header % len(raw)))
    mark = "«secret:1»".encode()
    left = raw.replace(KEY.encode(), mark)
    assert cut == Frame(3, 1.25, "agent", left, b"", header % len(left))


@pytest.mark.parametrize(
    "entry",
    [
        Frame(1, 0.0, "agent", f"no JSON, {KEY}".encode()),
        Frame(1, 0.0, "agent", b"\xff" + KEY.encode() + b"\xff", b""),
        StderrChunk(1, 0.0, f"look: {KEY}\n".encode()),
        StderrChunk(1, 0.0, b"\xff look: " + KEY.encode()),
        JournalEvent(1, 0.0, "edited", {"of": 1, "was": json.dumps({"deep": {"t": KEY}})}),
        Frame(1, 0.0, "agent", json.dumps({"in": json.dumps({"in": KEY})}).encode()),
        Frame(1, 0.0, "agent", f'"{ESCAPED}"'.encode()),
    ],
)
def test_it_leaves_from_every_kind_of_entry(entry: Entry) -> None:
    line = encode_entry(redactor().entry(entry)).decode()
    assert KEY not in line
    assert ESCAPED not in line
    assert "secret:1" in line or "b64" in line
    again = redactor()
    assert again.entry(again.entry(entry)) == again.entry(entry)


@given(
    st.dictionaries(st.text("xyz", max_size=5), st.integers() | st.text(max_size=9) | st.none()),
    st.binary(max_size=30),
)
def test_what_holds_no_secret_comes_back_as_it_is(params: dict[str, Any], noise: bytes) -> None:
    entries = [notification(1, **params), Frame(2, 0, "agent", noise), StderrChunk(3, 0, noise)]
    it = redactor()
    assert all(it.entry(entry) is entry for entry in entries)


def test_the_same_secret_has_one_placeholder_throughout() -> None:
    it = redactor()
    lines = [
        it.entry(notification(n, token=token)) for n, token in enumerate(("one-1a", "two-2b") * 2)
    ]
    reported = [
        json.loads(line.data)["params"]["token"] for line in lines if isinstance(line, Frame)
    ]
    assert reported == ["«secret:1»", "«secret:2»"] * 2


def test_what_a_name_gave_away_once_is_found_bare_from_then_on() -> None:
    it = redactor()
    before = it.entry(notification(1, text="hunter2-x is what I type"))
    named = it.entry(notification(2, first="hunter2-x", password="hunter2-x"))
    after = it.entry(StderrChunk(3, 0.0, b"cannot log in with hunter2-x"))
    assert b"hunter2-x" in encode_entry(before)
    assert b"hunter2-x" not in encode_entry(named)
    assert after == StderrChunk(3, 0.0, "cannot log in with «secret:1»".encode())


def test_the_values_of_this_process_are_found_bare_from_the_first_line_on() -> None:
    it = redactor(MY_TOKEN="hunter2-x", HOME="/home/me")
    cut = it.entry(StderrChunk(1, 0.0, b"hunter2-x, /home/me"))
    assert cut == StderrChunk(1, 0.0, "«secret:1», /home/me".encode())


def test_a_placeholder_that_came_over_the_wire_comes_to_mean_nothing_else() -> None:
    it = redactor()
    it.entry(notification(1, text="«secret:1» and «secret:41»"))
    assert b"secret:42" in encode_entry(it.entry(notification(2, token="one-1a")))


def test_the_header_has_the_rules_and_no_secret_of_the_command() -> None:
    header = replace(HEADER, command=["agent", f"--api-key={KEY}", "--acp"])
    cut = redactor().header(header)
    assert cut.command == ["agent", "--api-key=«secret:1»", "--acp"]
    assert cut.redacted == list(RULES)
    assert cut.created == HEADER.created


def test_too_many_secrets_are_an_error_and_known_ones_are_still_replaced() -> None:
    it = redactor(limit=1)
    it.entry(notification(1, token="one-1a"))
    with pytest.raises(TooManySecretsError, match="more than 1 distinct secrets"):
        it.entry(notification(2, token="two-2b"))
    assert b"one-1a" not in encode_entry(it.entry(notification(3, token="one-1a")))


def test_a_line_that_would_hold_up_the_traffic_is_not_looked_through() -> None:
    for entry in (
        Frame(1, 0, "agent", b"x" * (MAX_ENTRY_BYTES + 1)),
        StderrChunk(1, 0, b"x" * 17_000_000),
    ):
        with pytest.raises(RedactionTooLongError, match="longer than 16 MiB"):
            redactor().entry(entry)


class Sink:
    """Keeps what is written."""

    first_number = 8
    time_offset = 2.5

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.is_closed = False

    def write(self, entries: Iterable[Entry]) -> None:
        self.entries += entries

    def close(self) -> None:
        self.is_closed = True


def test_entries_that_cannot_be_redacted_are_dropped_counted_and_warned_of_once() -> None:
    inner, warned = Sink(), list[str]()
    sink = RedactingSink(inner, redactor(limit=1), warned.append)
    sink.write(
        [notification(1, token="one-1a"), notification(2, token="two-2b"), notification(3, x=1)]
    )
    sink.write([notification(4, token="two-2b")])
    sink.close()
    kinds = [entry.name if isinstance(entry, JournalEvent) else "frame" for entry in inner.entries]
    assert kinds == ["frame", "dropped", "frame", "dropped"]
    assert [entry.seq for entry in inner.entries] == [1, 2, 3, 4]
    assert sink.dropped == 2
    assert len(warned) == 1
    assert "two-2b" not in repr((inner.entries, warned))
    assert (sink.first_number, sink.time_offset, inner.is_closed) == (8, 2.5, True)


def test_a_fault_of_ours_costs_the_line_and_never_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    it, inner, warned = redactor(), MemoryLog(HEADER), list[str]()

    def fail(entry: Entry) -> Entry:
        raise ValueError(repr(entry))

    monkeypatch.setattr(it, "entry", fail)
    RedactingSink(inner, it, warned.append).write([notification(1, token="one-1a")])
    reported = inner.read(1_000)[0] + inner.read(0)[0] + repr(warned).encode()
    assert b"one-1a" not in reported
    assert warned == ["cannot redact a line (ValueError); it is left out of the recording"]


def test_numbers_go_on_behind_those_of_what_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    assert next_placeholder(path) == 1
    writer = RecordingWriter(path, HEADER)
    writer.write(
        [notification(1, text="«secret:7»"), Frame(2, 0, "agent", "\xff«secret:9»".encode())]
    )
    writer.close()
    assert next_placeholder(path) == 10
