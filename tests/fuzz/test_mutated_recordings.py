"""Whatever becomes of a recording, the folds read it: each frame is an event or a malformed one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.joining import joined
from acp_inspector.recording.reader import read_recording
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.events import (
    Malformed,
    TurnBegan,
    TurnEnded,
)
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Sessions
from acp_protocol.framing import encode_frame
from acp_protocol.json_values import children
from acp_protocol.jsonrpc import Json
from tests.fuzz.wrong_types import WRONG

pytestmark = pytest.mark.long

ROOT: Final = Path(__file__).parents[2]
RECORDINGS: Final = sorted(ROOT.glob("recordings/**/*.acp.ndjson"))
MAX_ENTRIES: Final = 400


@cache
def recorded(path: Path) -> Sequence[Entry]:
    return read_recording(path).entries[:MAX_ENTRIES]


def bytes_changed(frame: Frame, random: Random) -> list[Entry]:
    data = bytearray(frame.data)
    for _ in range(random.randint(1, 3) if data else 0):
        data[random.randrange(len(data))] = random.randrange(256)
    return [replace(frame, data=bytes(data))]


def cut(frame: Frame, random: Random) -> list[Entry]:
    return [replace(frame, data=frame.data[: random.randint(0, len(frame.data))])]


def value_changed(frame: Frame, random: Random) -> list[Entry]:
    """Put another value, from here or from nowhere, in some place."""
    try:
        value: Json = json.loads(frame.data)
    except ValueError:
        return [frame]
    for _ in range(random.randint(1, 3) if isinstance(value, dict | list) else 0):
        change_within(value, random)
    return [replace(frame, data=json.dumps(value).encode())]


def change_within(value: Any, random: Random) -> None:
    is_object = isinstance(value, dict)
    places: list[Any] = [*value] if is_object else [*range(len(value))]
    if not places:
        return
    place = random.choice(places)
    inner: Json = value[place]
    if isinstance(inner, dict | list) and inner and random.random() < 0.8:
        change_within(inner, random)
        return
    match random.randrange(3):
        case 0:
            del value[place]
        case 1:
            value[place] = deepcopy(random.choice([*WRONG, *children(value)]))
        case _:
            value[random.choice(places)] = deepcopy(value[place])


def swapped(frame: Frame, random: Random) -> list[Entry]:
    del random
    return [replace(frame, side="agent" if frame.side == "client" else "client")]


def repeated(frame: Frame, random: Random) -> list[Entry]:
    return [frame] * random.randint(0, 3)


def in_an_array(frame: Frame, random: Random) -> list[Entry]:
    inner = b",".join([frame.data] * random.randint(0, 3))
    return [replace(frame, data=b"[" + inner + b"]")]


def with_its_length(frame: Frame, random: Random) -> list[Entry]:
    lines = encode_frame(frame.data, "headers").split(b"\r\n")
    kept = lines[: random.randint(1, len(lines))]
    return [replace(frame, data=line, line_ending=b"\r\n") for line in kept]


MUTATIONS: Final[Sequence[Callable[[Frame, Random], list[Entry]]]] = (
    bytes_changed,
    cut,
    value_changed,
    value_changed,
    value_changed,
    swapped,
    repeated,
    in_an_array,
    with_its_length,
)


def mutated(entries: Sequence[Entry], random: Random) -> list[Entry]:
    """Return the entries of a recording, some of them changed, in an order of their own."""
    found: list[Entry] = []
    share = random.choice((0.02, 0.2, 0.8))
    for entry in entries:
        if isinstance(entry, Frame) and random.random() < share:
            found += random.choice(MUTATIONS)(entry, random)
        else:
            found.append(entry)
    for _ in range(random.choice((0, 0, 5))):
        if len(found) > 1:
            at = random.randrange(len(found) - 1)
            found[at], found[at + 1] = found[at + 1], found[at]
    return [replace(entry, seq=n, time=n / 10) for n, entry in enumerate(found, start=1)]


def check_fold(entries: Sequence[Entry], *, is_lean: bool) -> None:
    """Read entries; each message is one fact of the wire, and turns begin before they end once."""
    sessions = Sessions(exchanges=Exchanges(is_lean=is_lean))
    running: set[int] = set()
    for entry, events in sessions.read(entries):
        assert not events or events[0].is_fact
        for event in events:
            assert event.frame is entry
            if isinstance(event, TurnBegan | TurnEnded):
                assert event.turn is not None
                is_begin = isinstance(event, TurnBegan)
                assert (event.turn.number in running) is not is_begin
                (running.add if is_begin else running.discard)(event.turn.number)
        if not events and not isinstance(entry, Frame):
            running &= {turn.number for each in sessions.sessions.values() for turn in each.turns}


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "40")))
@given(path=st.sampled_from(RECORDINGS), seed=st.integers(0, 2**32))
def test_mutated_recordings_are_folded(path: Path, seed: int) -> None:
    found = mutated(recorded(path), Random(seed))
    check_fold(found, is_lean=bool(seed % 2))
    talks = Conversations()
    talks.read(found)
    for each in talks.at(len(found)).values():
        assert list(each.items) is not None


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_as_they_are_have_no_malformed_frame_of_the_fold(path: Path) -> None:
    """What the mutations start from is read: otherwise they would try little."""
    entries = recorded(path)
    found = [event for _, events in Sessions().read(entries) for event in events]
    whole = [entry for entry in joined(entries) if isinstance(entry, Frame)]
    assert sum(isinstance(event, Malformed) for event in found) <= len(whole) / 3
