"""The row of an event says on one line what happened."""

from __future__ import annotations

import pytest

from acp_console.wording.frames import event_text, other_row
from acp_inspector.journal import JournalEvent
from acp_protocol.jsonrpc import Json

ALLOWED: dict[str, Json] = {
    "session": "s1", "request": 4, "title": "Run cat x", "option": "yes",
    "option_name": "Allow", "kind": "allow_once",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("decision", ALLOWED, "decision: Allow · Run cat x"),
        ("decision", {**ALLOWED, "option_name": ""}, "decision: yes · Run cat x"),
        ("decision", {**ALLOWED, "title": "a\nb\x1b[31m\u202e"},
         "decision: Allow · a⏎b␛[31m‹202e›"),
        ("decision", {"session": "s1", "option": "yes"}, "decision session s1 option yes"),
        ("exit", {"code": 1}, "exit code 1"),
        ("held", {"of": 7, "by": "person"}, "held frame 7 by person"),
    ],
)  # fmt: skip
def test_an_event_is_one_line(name: str, data: dict[str, Json], text: str) -> None:
    event = JournalEvent(5, 0.5, name, data)
    assert event_text(event) == text
    row = other_row(event)
    assert (row.n, row.kind, row.summary) == (5, "event", text)
