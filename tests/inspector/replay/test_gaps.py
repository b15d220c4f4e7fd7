"""What a recording lacks is said before it is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import BadLine, Recording
from acp_inspector.replay.parts import gaps
from acp_protocol.jsonrpc import Json


def recording(*entries: Entry, bad_lines: tuple[BadLine, ...] = ()) -> Recording:
    return Recording(
        Path("a"), Header("2026-01-01T00:00:00.000Z", "a", "v1"), entries, bad_lines, None
    )


def frame(n: int) -> Frame:
    return Frame(n, float(n), "agent", b"{}")


def dropped(n: int, **data: Json) -> JournalEvent:
    return JournalEvent(n, float(n), "dropped", data)


def test_whole_recordings_lack_nothing() -> None:
    assert gaps(recording(frame(1), frame(2), frame(3))) == []


def test_missing_numbers_are_named() -> None:
    whole = recording(frame(1), frame(3), frame(7))
    assert gaps(whole) == [
        "number 2 is missing in the recording",
        "number 4 to 6 is missing in the recording",
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            {"count": 3, "why": "file too large"},
            "the recorder left out 3 entries: file too large",
        ),
        ({"count": 1, "bytes": 12}, "the recorder left out 1 entry with 12 bytes"),
        ({"bytes": 12, "from": "agent"}, "the recorder left out 12 bytes of agent"),
        ({}, "the recorder left out some entries"),
        ({"count": "many", "bytes": None, "why": []}, "the recorder left out some entries"),
    ],
)
def test_what_the_recorder_left_out_is_counted_once(data: dict[str, Json], sentence: str) -> None:
    """The event has the number of the last entry that it replaces."""
    assert gaps(recording(frame(1), dropped(4, **data), frame(5))) == [sentence]


def test_lines_that_cannot_be_read_have_their_place() -> None:
    lines = (BadLine(2, "no JSON"),)
    assert gaps(recording(frame(1), bad_lines=lines)) == ["line 2 of the file: no JSON"]
