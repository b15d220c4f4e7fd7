"""The one owner of stdout."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scripted.faults import CrashFault, HangFault, OutgoingFrame, ProcessExit, Split
from acp_agent.scripted.wire import ScriptIo, Wire
from tests.agent.scripted.stages import LIMIT, Client

SPLITS = st.none() | st.just("characters") | st.integers(1, 50)


def staged() -> tuple[Client, Wire]:
    client = Client()
    stage = ScriptIo(client.pipe, client.shown.append, client.fates.append, client.sleep)
    return client, Wire(stage)


async def test_a_frame_is_one_write() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"{}"))
    assert client.pipe.writes == [b"{}\n"]


@given(st.text(max_size=50), SPLITS)
def test_pieces_are_the_frame_however_it_is_cut(text: str, split: Split | None) -> None:
    outgoing = OutgoingFrame(text.encode("utf-8", "ignore"), split=split)
    assert b"".join(outgoing.pieces()) == text.encode("utf-8", "ignore") + b"\n"


def test_a_header_tells_the_length_and_how_wrong_it_is() -> None:
    outgoing = OutgoingFrame(b"{}", "headers")
    assert b"".join(outgoing.pieces()) == b"Content-Length: 2\r\n\r\n{}"
    outgoing.extra_length, outgoing.ending = -1, b"\n"
    assert b"".join(outgoing.pieces()) == b"Content-Length: 1\n\n{}"


def test_bytes_that_are_no_frame_have_neither_header_nor_ending() -> None:
    assert list(OutgoingFrame(b"abc", None).pieces()) == [b"abc"]


def test_a_character_of_several_bytes_is_cut_inside() -> None:
    pieces = list(OutgoingFrame("aß你b".encode(), split="characters").pieces())
    assert pieces == [b"a\xc3", b"\x9f\xe4", b"\xbd\xa0b\n"]


async def test_pieces_have_pauses_between_them() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"abcde", split=2, pause=0.5))
    assert client.pipe.writes == [b"ab", b"cd", b"e\n"]
    assert client.slept == [0.5, 0.5]


async def test_a_slow_frame_takes_the_time_of_its_bytes() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"x" * 99, rate=100))
    assert client.raw == b"x" * 99 + b"\n"
    assert sum(client.slept) == pytest.approx(0.98)


async def test_a_cut_frame_is_the_last_that_leaves() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"abcdef", prefix=b"!", cut_at=3))
    await wire.send_frame(OutgoingFrame(b"more"))
    assert (client.raw, client.pipe.is_open) == (b"!abc", False)


async def test_a_lost_frame_leaves_only_the_noise_before_it() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"abc", prefix=b"!\n", is_dropped=True, copies=3))
    assert client.raw == b"!\n"


async def test_copies_are_whole_frames() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"abc", copies=2, split=2))
    assert client.raw == b"abc\nabc\n"


async def test_frames_do_not_run_into_each_other() -> None:
    client, wire = staged()
    async with anyio.create_task_group() as tasks:
        for letter in b"abc":
            tasks.start_soon(
                wire.send_frame, OutgoingFrame(bytes([letter] * 20), split=3, pause=0.1)
            )
    assert sorted(client.lines) == [bytes([letter] * 20) for letter in b"abc"]


async def test_a_delayed_frame_is_overtaken() -> None:
    client, wire = staged()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.send_frame, OutgoingFrame(b"late", delay=1.0))
        tasks.start_soon(wire.send_frame, OutgoingFrame(b"early"))
    assert client.lines == [b"early", b"late"]


async def test_a_frame_leaves_behind_as_many_as_it_should() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"last", behind=2))
    for name in (b"a", b"b", b"c"):
        await wire.send_frame(OutgoingFrame(name))
    assert client.lines == [b"a", b"b", b"last", b"c"]


async def test_only_what_counts_overtakes() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"held", behind=1, behind_of="answer"))
    await wire.send_frame(OutgoingFrame(b"bytes\n", None))
    await wire.send_frame(OutgoingFrame(b"update", sort="notification"))
    await wire.send_frame(OutgoingFrame(b"lost", sort="answer", is_dropped=True))
    await wire.send_frame(OutgoingFrame(b"answer", sort="answer"))
    assert client.lines == [b"bytes", b"update", b"answer", b"held"]


async def test_what_has_waited_is_waited_for() -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"first", behind=1))
    await wire.send_frame(OutgoingFrame(b"second", behind=1))
    await wire.send_frame(OutgoingFrame(b"third"))
    assert client.lines == [b"third", b"first", b"second"]


async def test_what_nothing_overtakes_leaves_in_time_or_at_the_end() -> None:
    client, wire = staged()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            wire.run_in(tasks)
            await wire.send_frame(OutgoingFrame(b"soon", behind=1, reorder_timeout_s=0.001))
            while not client.pipe.writes:
                await client.pipe.changed.wait()
            await wire.send_frame(OutgoingFrame(b"late", behind=1, reorder_timeout_s=LIMIT))
            await wire.flush()
            tasks.cancel_scope.cancel()
    assert client.lines == [b"soon", b"late"]


async def test_who_is_cancelled_leaves_no_half_frame() -> None:
    client, wire = staged()
    async with anyio.create_task_group() as tasks:

        async def write() -> None:
            await wire.send_frame(OutgoingFrame(b"abcdefgh", split=1, pause=0.1))

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
                    await wire.send_frame(OutgoingFrame(b"x"))

            tasks.start_soon(flood)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_where_nobody_reads_nothing_happens() -> None:
    client, wire = staged()
    await client.pipe.aclose()
    await wire.send_frame(OutgoingFrame(b"abc", split=1))
    await wire.send_frame(OutgoingFrame(b"def"))
    assert client.raw == b""


@pytest.mark.parametrize("process_exit", [CrashFault(code=3), CrashFault.model_validate("KILL")])
async def test_a_crash_comes_in_place_of_the_frame(process_exit: ProcessExit) -> None:
    client, wire = staged()
    await wire.send_frame(OutgoingFrame(b"abc", process_exit=process_exit))
    assert (client.raw, client.fates) == (b"", [process_exit])


async def test_who_hangs_ends_after_all() -> None:
    client, wire = staged()
    hang = HangFault.model_validate({"seconds": 60, "ignore": "TERM"})
    await wire.send_frame(OutgoingFrame(b"abc", process_exit=hang))
    assert (client.fates, client.slept) == ([hang, CrashFault(code=1)], [60.0])
