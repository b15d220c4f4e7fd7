"""The one owner of stdout."""

from __future__ import annotations

import signal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scripted.wire import Crash, Departure, Fate, Hang, Split, Stage, Wire
from tests.agent.scripted.stages import LIMIT, Client

SPLITS = st.none() | st.just("characters") | st.integers(1, 50)


def staged() -> tuple[Client, Wire]:
    client = Client()
    stage = Stage(client.pipe, client.said.append, client.fates.append, client.sleep)
    return client, Wire(stage)


async def test_a_frame_is_one_write() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"{}"))
    assert client.pipe.writes == [b"{}\n"]


@given(st.text(max_size=50), SPLITS)
def test_pieces_are_the_frame_however_it_is_cut(text: str, split: Split | None) -> None:
    departure = Departure(text.encode("utf-8", "ignore"), split=split)
    assert b"".join(departure.pieces()) == text.encode("utf-8", "ignore") + b"\n"


def test_a_header_tells_the_length_and_how_wrong_it_is() -> None:
    departure = Departure(b"{}", "headers")
    assert b"".join(departure.pieces()) == b"Content-Length: 2\r\n\r\n{}"
    departure.excess, departure.ending = -1, b"\n"
    assert b"".join(departure.pieces()) == b"Content-Length: 1\n\n{}"


def test_bytes_that_are_no_frame_have_neither_header_nor_ending() -> None:
    assert list(Departure(b"abc", None).pieces()) == [b"abc"]


def test_a_character_of_several_bytes_is_cut_inside() -> None:
    pieces = list(Departure("aß你b".encode(), split="characters").pieces())
    assert pieces == [b"a\xc3", b"\x9f\xe4", b"\xbd\xa0b\n"]


async def test_pieces_have_pauses_between_them() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"abcde", split=2, pause=0.5))
    assert client.pipe.writes == [b"ab", b"cd", b"e\n"]
    assert client.slept == [0.5, 0.5]


async def test_a_slow_frame_takes_the_time_of_its_bytes() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"x" * 99, rate=100))
    assert client.raw == b"x" * 99 + b"\n"
    assert sum(client.slept) == pytest.approx(0.98)


async def test_a_cut_frame_is_the_last_that_leaves() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"abcdef", ahead=b"!", kept=3))
    await wire.depart(Departure(b"more"))
    assert (client.raw, client.pipe.is_open) == (b"!abc", False)


async def test_a_lost_frame_leaves_only_the_noise_before_it() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"abc", ahead=b"!\n", is_lost=True, copies=3))
    assert client.raw == b"!\n"


async def test_copies_are_whole_frames() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"abc", copies=2, split=2))
    assert client.raw == b"abc\nabc\n"


async def test_frames_do_not_run_into_each_other() -> None:
    client, wire = staged()
    async with anyio.create_task_group() as tasks:
        for letter in b"abc":
            tasks.start_soon(wire.depart, Departure(bytes([letter] * 20), split=3, pause=0.1))
    assert sorted(client.lines) == [bytes([letter] * 20) for letter in b"abc"]


async def test_a_delayed_frame_is_overtaken() -> None:
    client, wire = staged()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.depart, Departure(b"late", delay=1.0))
        tasks.start_soon(wire.depart, Departure(b"early"))
    assert client.lines == [b"early", b"late"]


async def test_a_frame_leaves_behind_as_many_as_it_should() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"last", behind=2))
    for name in (b"a", b"b", b"c"):
        await wire.depart(Departure(name))
    assert client.lines == [b"a", b"b", b"last", b"c"]


async def test_only_what_counts_overtakes() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"held", behind=1, behind_of="answer"))
    await wire.depart(Departure(b"bytes\n", None))
    await wire.depart(Departure(b"update", sort="notification"))
    await wire.depart(Departure(b"lost", sort="answer", is_lost=True))
    await wire.depart(Departure(b"answer", sort="answer"))
    assert client.lines == [b"bytes", b"update", b"answer", b"held"]


async def test_what_has_waited_is_waited_for() -> None:
    client, wire = staged()
    await wire.depart(Departure(b"first", behind=1))
    await wire.depart(Departure(b"second", behind=1))
    await wire.depart(Departure(b"third"))
    assert client.lines == [b"third", b"first", b"second"]


async def test_what_nothing_overtakes_leaves_in_time_or_at_the_end() -> None:
    client, wire = staged()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            wire.run_in(tasks)
            await wire.depart(Departure(b"soon", behind=1, patience=0.001))
            while not client.pipe.writes:
                await client.pipe.changed.wait()
            await wire.depart(Departure(b"late", behind=1, patience=LIMIT))
            await wire.flush()
            tasks.cancel_scope.cancel()
    assert client.lines == [b"soon", b"late"]


async def test_who_is_cancelled_leaves_no_half_frame() -> None:
    client, wire = staged()
    async with anyio.create_task_group() as tasks:

        async def write() -> None:
            await wire.depart(Departure(b"abcdefgh", split=1, pause=0.1))

        tasks.start_soon(write)
        while not client.pipe.writes:
            await client.pipe.changed.wait()
        tasks.cancel_scope.cancel()
    assert client.raw == b"abcdefgh\n"


async def test_a_flood_hears_that_it_is_cancelled() -> None:
    _, wire = staged()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:

            async def flood() -> None:
                while True:
                    await wire.depart(Departure(b"x"))

            tasks.start_soon(flood)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_where_nobody_reads_nothing_happens() -> None:
    client, wire = staged()
    await client.pipe.aclose()
    await wire.depart(Departure(b"abc", split=1))
    await wire.depart(Departure(b"def"))
    assert client.raw == b""


@pytest.mark.parametrize("fate", [Crash(3), Crash(signal=signal.SIGKILL)])
async def test_a_crash_comes_in_place_of_the_frame(fate: Fate) -> None:
    client, wire = staged()
    await wire.depart(Departure(b"abc", fate=fate))
    assert (client.raw, client.fates) == (b"", [fate])


async def test_who_hangs_ends_after_all() -> None:
    client, wire = staged()
    hang = Hang(60.0, (signal.SIGTERM,))
    await wire.depart(Departure(b"abc", fate=hang))
    assert (client.fates, client.slept) == ([hang, Crash(code=1)], [60.0])
