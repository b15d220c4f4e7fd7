"""What chance and the clock put into recordings is taken out again, and nothing else."""

from __future__ import annotations

import uuid
from pathlib import Path

from acp_inspector.journal import Entry, Frame, JournalEvent
from tools.make_recordings import PID, PLACE, STEP, settled

ONE, OTHER = "3f" * 16, "a0" * 8


def frame(n: int, raw: str) -> Frame:
    return Frame(n, n / 7, "agent", raw.encode())


def raws(*told: str) -> list[bytes]:
    entries = [frame(n, raw) for n, raw in enumerate(told, 1)]
    return [each.data for each in settled(entries, Path("/tmp/acp-x")) if isinstance(each, Frame)]


def test_ids_are_numbered_as_they_come_and_stay_as_long_as_they_are() -> None:
    first, second, third = raws(f'"{ONE}"', f'"{OTHER}"', f'"{ONE}{OTHER}" "{ONE}"')
    assert first == b'"%032x"' % 1
    assert second == b'"%016x"' % 2
    assert third == f'"{ONE}{OTHER}" "{1:032x}"'.encode()


def test_uuids_stay_uuids() -> None:
    one, other = str(uuid.uuid4()), str(uuid.uuid4())
    first, second = raws(f'"{one}"', f'"{other}" "{one}"')
    assert second.endswith(first)
    assert [uuid.UUID(each.decode().strip('"')).version for each in second.split()] == [4, 4]
    assert first == b'"00000000-0000-4000-8000-000000000001"'


def test_directories_and_moments_are_always_the_same() -> None:
    place, moment = raws('"/tmp/acp-x/a.md"', '"2026-11-21T13:03:02.123456Z"')
    assert place == b'"%s/a.md"' % PLACE
    assert moment == b'"2026-11-21T12:00:00.000Z"'


def test_what_was_said_stays_as_it_was() -> None:
    assert raws('{"text":"cafe 0123456789 2026-11-21"}') == [
        b'{"text":"cafe 0123456789 2026-11-21"}'
    ]


def test_time_goes_in_steps_and_processes_have_one_number() -> None:
    entries: list[Entry] = [JournalEvent(1, 0.31, "spawn", {"pid": 77}), frame(2, "{}")]
    start, said = settled(entries, Path("/tmp/acp-x"))
    assert (start.time, said.time) == (STEP, 2 * STEP)
    assert isinstance(start, JournalEvent)
    assert start.data == {"pid": PID}
