"""The row of an event says on one line, as a sentence, what happened."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from acp_console.wording.events import SENTENCES, event_text
from acp_console.wording.frames import other_row
from acp_inspector.journal import JournalEvent
from acp_protocol.jsonrpc import Json

ALLOWED: dict[str, Json] = {
    "session": "s1", "request": 4, "title": "Run cat x", "option": "yes",
    "option_name": "Allow", "kind": "allow_once",
}  # fmt: skip
OF_7: Final[dict[str, Json]] = {"of": 7, "by": "slow"}
FORMAT: Final = Path(__file__).parents[3] / "docs/recording-format.md"


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("spawn", {"pid": 41}, "the agent was started, process 41"),
        ("spawn", {"command": ["my-agent", "--acp"]}, "the agent was started: my-agent --acp"),
        ("spawn", {}, "the agent was started"),
        ("eof", {"from": "client"}, "the client closed its stream"),
        ("dialect", {"dialect": "acpex"}, "the dialect is acpex"),
        ("exit", {"code": 1}, "the agent ended with exit code 1"),
        ("exit", {"signal": 9}, "the agent ended by signal 9"),
        ("dropped", {"count": 3, "why": "queue full"},
         "entries are missing here (3 of them): queue full"),
        ("dropped", {"bytes": 1, "from": "agent", "why": "queue full"},
         "entries are missing here, 1 byte of agent: queue full"),
        ("note", {"text": "look\nhere"}, "note: look⏎here"),
        ("note", {**OF_7, "text": "look"}, "note by slow on frame 7: look"),
        ("decision", ALLOWED, "the user chose Allow for Run cat x"),
        ("decision", {**ALLOWED, "option_name": ""}, "the user chose yes for Run cat x"),
        ("decision", {**ALLOWED, "title": "a\nb\x1b[31m\u202e"},
         "the user chose Allow for a⏎b␛[31m‹202e›"),
        ("decision", {"session": "s1", "option": "yes"}, "the user chose yes"),
        ("held", {"of": 7, "by": "person"}, "⏸ frame 7 is held"),
        ("held", {"of": 7, "by": "person", "filter": "turn == 1", "entry": 0},
         "⏸ frame 7 is held, breakpoint turn == 1, message 0 of its array"),
        ("released", {"of": 7, "by": "person"}, "▶ frame 7 was released by a person"),
        ("released", {"of": 7, "by": "time limit"}, "▶ frame 7 was released by the time limit"),
        ("released", {"of": 7, "by": "no observer is attached"},
         "▶ frame 7 was released because no observer is attached"),
        ("released", {**OF_7, "after": 9}, "▶ frame 7 was released by slow, after frame 9"),
        ("edited", {**OF_7, "was": '{"a":1}', "now": '{"a":2}'},
         "✎ a 1 → 2 in frame 7, edited by slow"),
        ("edited", OF_7, "✎ frame 7, edited by slow"),
        ("discarded", OF_7, "✕ frame 7 was dropped by slow"),
        ("answered", OF_7, "✕ frame 7 was dropped and answered by slow"),
        ("injected", {"of": 7, "by": "person", "before": 8, "answers": 2},
         "+ frame 7 was inserted by a person before frame 8, it answers frame 2"),
        ("duplicated", {**OF_7, "times": 3}, "frame 7 was sent 3 times by slow"),
        ("delayed", {**OF_7, "seconds": 0.5}, "frame 7 was sent 0.5 s later by slow"),
        ("split", {**OF_7, "bytes": 10, "pause": 1},
         "frame 7 was sent in pieces of 10 bytes by slow, 1 s apart"),
        ("reordered", {**OF_7, "frames": 2, "seconds": 1},
         "frame 7 was made to wait for 2 later frames by slow, for 1 s at most"),
        ("line_ended", {**OF_7, "ending": "\r\n"},
         'the line of frame 7 was ended with "\\r\\n" by slow'),
        ("crashed", {**OF_7, "signal": 9},
         "✕ the agent was killed in place of frame 7 by slow, with signal 9"),
        ("http_request", {"id": 1, "method": "POST", "path": "/acp"}, "HTTP request: POST /acp"),
        ("http_response", {"id": 2, "status": 502, "by": "proxy", "why": "gone"},
         "HTTP response with status 502 to request 2 by the proxy: gone"),
        ("http_end", {"id": 2}, "the exchange of request 2 ended"),
        ("http_end", {"id": 2, "from": "client"},
         "the exchange of request 2 ended, broken off by the client"),
        ("refused", {**OF_7, "status": 503},
         "✕ a request got the status 503 by slow, that of frame 7"),
        ("refused", {"id": 3, "by": "slow", "status": 409},
         "✕ a request got the status 409 by slow, request 3"),
        ("late", {**OF_7, "seconds": 2},
         "a response was held back for 2 s by slow, that to frame 7"),
        # What no sentence can be made of.
        ("party", {"of": 7, "guests": ["a", 1]}, 'party of 7 guests ["a", 1]'),
        ("eof", {"from": None}, "eof from null"),
        ("duplicated", {"of": 7, "times": "x"}, "duplicated of 7 times x"),
        ("held", {"of": {}}, "held of {}"),
    ],
)  # fmt: skip
def test_an_event_is_one_line(name: str, data: dict[str, Json], text: str) -> None:
    event = JournalEvent(5, 0.5, name, data)
    assert event_text(event) == text
    row = other_row(event)
    assert (row.n, row.kind, row.summary) == (5, "event", text)


def test_every_event_of_the_format_has_a_sentence() -> None:
    section = FORMAT.read_text().partition("\n## Events")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {*SENTENCES}
