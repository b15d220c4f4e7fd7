"""One direction: its order, its bound, its boundaries between frames."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.channel import MAX_QUEUED_BYTES, Channel, Idle, ReorderBuffer
from acp_inspector.intercept.message import InterceptedFrame
from acp_inspector.intercept.rules import InterceptRule
from acp_inspector.journal import Frame, JournalEvent
from acp_protocol.framing import LineFramer, Side
from tests.inspector.intercept.scene import NOTIFICATION, REQUEST, Scene, everything, holding

SOON = 20
"""Seconds after which a thread counts as hung."""

LINES = st.lists(
    st.tuples(
        st.sampled_from(["client", "agent"]),
        st.binary(max_size=20).filter(lambda b: b"\n" not in b),
    )
)


@given(LINES)
def test_with_nothing_to_do_every_byte_passes_in_any_interleaving(
    lines: list[tuple[Side, bytes]],
) -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", lambda frame: False)
    for side, line in lines:
        assert scene.passed(side, line) == [line + b"\n"]
    assert scene.events() == []


@given(LINES, st.data())
def test_order_is_kept_whatever_is_held_when(
    lines: list[tuple[Side, bytes]], data: st.DataObject
) -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", lambda frame: frame.seq % 3 == 0)
    came: dict[Side, list[bytes]] = {"client": [], "agent": []}
    left: dict[Side, list[bytes]] = {"client": [], "agent": []}
    for side, line in lines:
        scene.put(side, line)
        came[side].append(line + b"\n")
        if data.draw(st.booleans()):
            left[side] += scene.out(side)
        for hold in scene.controller.holds():
            if data.draw(st.booleans()):
                scene.controller.release(hold.id)
    scene.controller.finish()
    for side in came:
        assert left[side] + scene.out(side) == came[side]


def test_a_line_without_an_ending_passes_as_it_came_and_is_the_last() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", lambda frame: False)
    scene.put("agent", b"crlf", end=b"\r\n")
    scene.put("agent", b"cut off", end=b"")
    scene.controller.channels["agent"].end()
    assert scene.out("agent") == [b"crlf\r\n", b"cut off"]
    assert scene.controller.channels["agent"].take() is None
    assert scene.controller.channels["agent"].is_closed


def test_a_full_channel_makes_its_sender_wait() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", holding(b"x"))
    scene.passed("agent", b"x")
    scene.put("agent", b"y" * MAX_QUEUED_BYTES)
    has_room = threading.Event()

    def bring() -> None:
        scene.put("agent", b"z")
        has_room.set()

    threading.Thread(target=bring, daemon=True).start()
    assert not has_room.is_set()
    scene.controller.release_all()
    left = scene.out("agent")
    assert has_room.wait(SOON)
    left += scene.out("agent")
    assert [line[:1] for line in left] == [b"x", b"y", b"z"]


def test_a_sender_does_not_wait_for_a_channel_without_a_reader() -> None:
    scene = Scene()
    channel = scene.controller.channels["agent"]
    scene.controller.set_breakpoint("", everything)
    scene.put("agent", b"y" * MAX_QUEUED_BYTES)
    channel.close()
    scene.put("agent", b"z")
    assert channel.take() is None
    assert scene.events() == [
        ("discarded", {"of": 1, "by": "end"}),
        ("discarded", {"of": 3, "by": "end"}),
    ]


def test_ours_waits_until_the_line_of_a_chunk_is_complete() -> None:
    scene = Scene()
    channel = scene.controller.channels["agent"]
    assert channel.begin_raw()
    scene.controller.inject("agent", NOTIFICATION)
    assert channel.take_nowait() == Idle(None), "the forwarder is writing"
    channel.end_raw(is_at_boundary=False)
    assert channel.take_nowait() == Idle(None), "a line is half-way"
    assert not channel.begin_raw()
    channel.put_rest(b"more", is_at_boundary=False)
    assert scene.out("agent") == [b"more"]
    channel.put_rest(b"rest\n")
    scene.put("agent", b"next")
    assert scene.out("agent") == [b"rest\n", NOTIFICATION + b"\n", b"next\n"]
    assert channel.begin_raw()


def test_ours_does_not_slip_in_before_a_frame_that_has_its_number() -> None:
    """Behind a chunk with unknown frames, only the frame after it is known."""
    scene = Scene()
    channel = scene.controller.channels["agent"]
    assert channel.begin_raw()
    scene.controller.inject("agent", NOTIFICATION)
    channel.end_raw(is_at_boundary=False)
    channel.put_rest(b"rest\n")
    channel.announce()
    frame = scene.journal.frame("agent", b"next")
    assert scene.out("agent") == [b"rest\n"]
    channel.put(frame)
    assert scene.out("agent") == [NOTIFICATION + b"\n", b"next\n"]
    assert scene.events() == [("injected", {"of": 2, "by": "person", "before": 1})]
    assert channel.begin_raw()
    channel.end_raw(is_at_boundary=True)
    scene.controller.inject("agent", NOTIFICATION)
    assert scene.out("agent") == [NOTIFICATION + b"\n"], "no frame is about to come"


def test_ours_is_never_glued_to_a_last_line_without_an_ending() -> None:
    scene = Scene()
    channel = scene.controller.channels["agent"]
    assert channel.begin_raw()
    scene.controller.inject("agent", b"ours")
    channel.end_raw(is_at_boundary=False)
    channel.end()
    assert scene.out("agent") == []
    assert channel.take() is None


def test_way_is_made_when_all_that_came_has_left() -> None:
    rule = InterceptRule("late", holding(b"late"), "reorder", {"frames": 9, "seconds": 9.0})
    scene = Scene([rule])
    scene.controller.set_breakpoint("", holding(b"stop"))
    channel = scene.controller.channels["agent"]
    assert scene.passed("agent", b"late", b"one", b"stop", b"two") == [b"one\n"]
    was_made: list[bool] = []
    maker = threading.Thread(target=lambda: was_made.append(channel.flush()), daemon=True)
    maker.start()
    assert scene.out("agent") == [], "somebody has to decide"
    scene.controller.release_all()
    left: list[bytes] = []
    limit = time.monotonic() + SOON
    while maker.is_alive():
        left += scene.out("agent")
        assert time.monotonic() < limit
    left += scene.out("agent")
    assert was_made == [True]
    assert left == [b"stop\n", b"two\n", b"late\n"], "no later frame comes that could pass it"
    channel.put_rest(b"without end", is_at_boundary=False)
    assert scene.out("agent") == [b"without end"]


@pytest.mark.parametrize("is_hanging", [True, False])
def test_way_is_made_when_the_last_frame_never_leaves(*, is_hanging: bool) -> None:
    scene = Scene([InterceptRule("hang", holding(b"now"), "hang", {})] if is_hanging else [])
    scene.controller.set_breakpoint("", holding(b"stop"))
    channel = scene.controller.channels["agent"]
    scene.put("agent", b"now" if is_hanging else b"stop")
    if not is_hanging:
        assert scene.out("agent") == []
    was_made: list[bool] = []
    maker = threading.Thread(target=lambda: was_made.append(channel.flush()), daemon=True)
    maker.start()
    for hold in scene.controller.holds():
        scene.controller.discard(hold.id)
    assert scene.out("agent") == []
    maker.join(SOON)
    assert was_made == [not is_hanging]


@pytest.mark.parametrize("is_hung", [True, False])
def test_no_way_is_made_where_nothing_leaves_any_more(*, is_hung: bool) -> None:
    scene = Scene([InterceptRule("hang", holding(b"now"), "hang", {})])
    channel = scene.controller.channels["agent"]
    if is_hung:
        assert scene.passed("agent", b"now") == []
    else:
        channel.close()
    assert not channel.flush()


def test_a_reordered_frame_lets_others_pass() -> None:
    rule = InterceptRule("late", holding(b"late"), "reorder", {"frames": 2, "seconds": 5.0})
    scene = Scene([rule])
    assert scene.passed("agent", b"late", b"one") == [b"one\n"]
    assert scene.passed("agent", b"two", b"three") == [b"two\n", b"late\n", b"three\n"]
    assert scene.passed("agent", b"late") == []
    scene.now = 5
    assert scene.out("agent") == [b"late\n"]
    assert scene.passed("agent", b"late") == []
    scene.put("agent", b"the end", end=b"")
    scene.controller.channels["agent"].end()
    assert scene.out("agent") == [b"late\n", b"the end"]
    assert [name for name, _ in scene.events()] == ["reordered", "released"] * 3


def test_a_cut_closes_the_direction_inside_a_frame() -> None:
    scene = Scene([InterceptRule("cut", holding(b"12345"), "cut", {"bytes": 3})])
    assert scene.passed("agent", b"one", b"12345", b"two") == [b"one\n", b"123"]
    channel = scene.controller.channels["agent"]
    assert channel.take() is None
    scene.put("agent", b"three")
    assert scene.passed("client", b"other") == [b"other\n"]
    assert scene.events() == [
        ("cut", {"of": 2, "by": "cut", "at": 3}),
        ("discarded", {"of": 3, "by": "cut"}),
        ("discarded", {"of": 6, "by": "cut"}),
    ]


def test_after_a_hang_nothing_leaves_and_no_sender_waits() -> None:
    scene = Scene([InterceptRule("hang", holding(b"now"), "hang", {})])
    assert scene.passed("agent", b"one", b"now", b"two") == [b"one\n"]
    assert scene.passed("agent", b"x" * MAX_QUEUED_BYTES) + scene.passed("agent", b"more") == []
    assert scene.controller.channels["agent"].wants_frames
    assert [name for name, _ in scene.events()] == ["hung"] + ["discarded"] * 3
    scene.controller.channels["agent"].end()
    assert scene.controller.channels["agent"].take() is None


@pytest.mark.parametrize(
    ("action", "values"),
    [("split", {"bytes": 4, "pause": 1.0}), ("throttle", {"rate": 4})],
)
def test_a_frame_can_leave_piece_by_piece_and_ours_waits_for_the_last(
    action: str, values: dict[str, float]
) -> None:
    scene = Scene([InterceptRule("slow", holding(b"0123"), action, values)])
    pieces = scene.passed("agent", b"012345678")
    scene.controller.inject("agent", b"ours")
    channel = scene.controller.channels["agent"]
    while isinstance(piece := channel.take_nowait(), bytes | Idle):
        if isinstance(piece, bytes):
            pieces.append(piece)
        elif piece.seconds is None:
            break
        else:
            scene.now += piece.seconds
    assert b"".join(pieces) == b"012345678\nours\n"
    assert scene.now == pytest.approx(2 if action == "split" else 2.25)


def test_at_the_end_nothing_waits_any_more() -> None:
    slow = [
        InterceptRule("split", everything, "split", {"bytes": 1, "pause": 9.0}),
        InterceptRule("delay", everything, "delay", {"seconds": 9, "jitter": 0}),
    ]
    scene = Scene(
        [*slow, InterceptRule("late", holding(b"late"), "reorder", {"frames": 9, "seconds": 9.0})]
    )
    scene.controller.finish()
    scene.put("agent", b"late", b"x")
    scene.controller.channels["agent"].end()
    assert b"".join(scene.out("agent")) == b"x\nlate\n", "the order is the rule's all the same"


def test_ours_goes_out_while_a_delayed_frame_waits() -> None:
    scene = Scene([InterceptRule("delay", holding(b"x"), "delay", {"seconds": 9, "jitter": 0})])
    scene.passed("agent", b"x")
    scene.controller.inject("agent", b"ours")
    assert scene.out("agent") == [b"ours\n"]
    scene.now = 9
    assert scene.out("agent") == [b"x\n"]


class StubForwarder:
    """A forwarder like that of the proxy: chunks while nothing intercepts, else frames."""

    def __init__(self, scene: Scene, source: int, sink: int) -> None:
        self.scene, self.source, self.sink = scene, source, sink
        self.channel: Channel = scene.controller.channels["agent"]
        self.framer = LineFramer()
        self.is_at_boundary = True

    def read(self) -> None:
        while chunk := os.read(self.source, 7):
            if self.channel.begin_raw():
                os.write(self.sink, chunk)
                self.is_at_boundary = chunk.endswith(b"\n")
                self.channel.end_raw(is_at_boundary=self.is_at_boundary)
                continue
            if not self.is_at_boundary:
                rest, newline, chunk = chunk.partition(b"\n")
                self.is_at_boundary = bool(newline)
                self.channel.put_rest(rest + newline, is_at_boundary=self.is_at_boundary)
            self.scene.put("agent", *self.framer.feed(chunk))
            # Back to chunks only where no line is unfinished: the next one starts a line.
            while rest := self.framer.rest():
                chunk = os.read(self.source, 7)
                self.scene.put("agent", *self.framer.feed(rest + chunk))
        self.channel.end()

    def write(self) -> None:
        with suppress(OSError):
            while (piece := self.channel.take()) is not None:
                os.write(self.sink, piece)
        os.close(self.sink)


def test_a_pump_may_change_between_chunks_and_frames_at_any_moment() -> None:
    scene = Scene()
    (source, feed), (out, sink) = os.pipe(), os.pipe()
    forwarder = StubForwarder(scene, source, sink)
    threads = [
        threading.Thread(target=target, daemon=True) for target in (forwarder.read, forwarder.write)
    ]
    for thread in threads:
        thread.start()
    lines = [b"line %d, which is longer than a chunk" % number for number in range(300)]

    def send() -> None:
        for number, line in enumerate(lines):
            os.write(feed, line + b"\n")
            if number % 50 == 49:
                point = scene.controller.set_breakpoint("", lambda frame: False)
                os.write(feed, b"")
                scene.controller.inject("agent", b"ours")
                scene.controller.clear_breakpoint(point.id)
        os.close(feed)

    threading.Thread(target=send, daemon=True).start()
    with os.fdopen(out, "rb") as sink_end:
        left = sink_end.read().split(b"\n")
    for thread in threads:
        thread.join(SOON)
    assert [line for line in left if line not in {b"ours", b""}] == lines
    assert left.count(b"ours") == 6
    os.close(source)


def test_events_and_frames_stand_in_the_journal_before_the_bytes_leave() -> None:
    scene = Scene()
    scene.controller.inject("client", REQUEST)
    scene.out("client")
    frame, event = scene.journal.entries
    assert isinstance(frame, Frame)
    assert isinstance(event, JournalEvent)


def arrived(n: int) -> InterceptedFrame:
    return InterceptedFrame.of(Frame(n, 0.0, "agent", b"x", b"\n"))


def buffer_of(*limits: tuple[int, float]) -> ReorderBuffer:
    buffer = ReorderBuffer()
    for n, (frames, seconds) in enumerate(limits, 1):
        buffer.put(arrived(n), frames, 100.0 + seconds)
    return buffer


def test_a_frame_is_due_when_enough_have_passed() -> None:
    buffer = buffer_of((2, 5.0))
    buffer.count_sent()
    assert buffer.take_due(100.0, is_flushing=False) is None
    buffer.count_sent()
    due = buffer.take_due(100.0, is_flushing=False)
    assert due is not None
    assert due.frame.seq == 1
    assert not buffer


def test_a_frame_is_due_when_it_has_waited_long_enough() -> None:
    buffer = buffer_of((9, 5.0), (9, 3.0))
    assert buffer.next_until == 103.0
    assert buffer.take_due(102.9, is_flushing=False) is None
    due = buffer.take_due(103.0, is_flushing=False)
    assert due is not None
    assert due.frame.seq == 2
    assert buffer.next_until == 105.0


def test_without_later_frames_reordered_ones_leave_oldest_first() -> None:
    buffer = buffer_of((9, 5.0), (9, 3.0))
    left = [buffer.take_due(100.0, is_flushing=True), buffer.take_due(100.0, is_flushing=True)]
    assert [one.frame.seq for one in left if one] == [1, 2]
    assert buffer.take_due(100.0, is_flushing=True) is None
    assert buffer.next_until is None


def test_all_can_be_taken_at_once() -> None:
    buffer = buffer_of((9, 5.0), (9, 3.0))
    assert [one.frame.seq for one in buffer.take_all()] == [1, 2]
    assert not buffer
