"""The one owner of stdout."""

from __future__ import annotations

import signal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scenario.wire import Crash, Departure, Fate, Hang, Split, Stage, Wire
from tests.agent.scenario.stages import LIMIT, Client

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
