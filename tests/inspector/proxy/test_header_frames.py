"""Frames with Content-Length headers: recorded whole, intercepted by their bodies, exact bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.intercept.controller import InterceptController
from acp_inspector.intercept.message import Inject, InterceptedFrame
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.proxy.forwarder import MAX_LINE_BYTES, InterceptingForwarder
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.recording.format import Header
from acp_inspector.recording.numbering import Numbering
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.framing import MAX_HEADER_BYTES, HeaderFramer, Side, encode_frame


def framed(*bodies: bytes) -> bytes:
    return b"".join(encode_frame(body, "headers") for body in bodies)


BODIES = st.sampled_from([b"{}", b'{"a":\n1}', b"", b"x\xff", '"ünï"'.encode(), b"\n"]) | st.binary(
    max_size=20
)
PIECES = st.one_of(
    BODIES.map(framed),
    BODIES.map(lambda body: b"X-Y: z\ncontent-LENGTH:%d\n\n%b" % (len(body), body)),
    st.sampled_from(
        [
            b"\r\n",
            b"\n",
            b'{"jsonrpc":"2.0"}\n',
            b"ready\n",
            b"Content-Length: two\r\n\r\n",
            b"Content-Length: 5",
            b"Content-Length: 999999999999\r\n\r\n",
        ]
    ),
)
STREAMS = st.lists(PIECES, max_size=8).map(b"".join)
PLACES = st.lists(st.integers(min_value=0), max_size=12)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(bounds) if start < end]


class Memory:
    """Keeps the entries that a recorder writes."""

    def __init__(self) -> None:
        self.first_number = 1
        self.time_offset = 0.0
        self.entries: list[Entry] = []

    def write(self, entries: Iterable[Entry]) -> None:
        self.entries += entries

    def close(self) -> None:
        pass

    def frames(self, side: Side = "agent") -> list[Frame]:
        return [it for it in self.entries if isinstance(it, Frame) and it.side == side]


def wire(frames: Iterable[Frame]) -> bytes:
    return b"".join(frame.wire for frame in frames)


@settings(max_examples=60, deadline=None)
@given(STREAMS, STREAMS, PLACES)
def test_the_frames_of_a_recording_are_exactly_the_bytes_of_the_wire(
    client: bytes, agent: bytes, places: list[int]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "it.acp.ndjson")
        recorder = Recorder(RecordingWriter(path, Header("", "", "")))
        for chunk in cut(client, places):
            recorder.note("client", chunk)
        for chunk in cut(agent, places):
            recorder.note("agent", chunk)
        recorder.close()
        frames = read_recording(path).frames
    assert [frame.seq for frame in frames] == list(range(1, len(frames) + 1))
    assert wire(each for each in frames if each.side == "client") == client
    assert wire(each for each in frames if each.side == "agent") == agent


def test_each_message_is_one_frame_with_its_header_beside_it() -> None:
    sink = Memory()
    recorder = Recorder(sink)
    bodies = [b'{"a":"\xc3\xbc"}', b"{\n}", b""]
    for byte in framed(*bodies):
        recorder.note("agent", bytes([byte]))
    recorder.note("client", b"{}\n")
    recorder.close()
    assert [(each.data, each.line_ending) for each in sink.frames()] == [(b, b"") for b in bodies]
    assert sink.frames()[0].header == b"Content-Length: %d\r\n\r\n" % len(bodies[0])
    assert not any(each.is_cut for each in sink.frames())
    assert [each.wire for each in sink.frames("client")] == [b"{}\n"]


def test_a_stream_that_ends_within_a_frame_keeps_its_beginning() -> None:
    sink = Memory()
    recorder = Recorder(sink)
    recorder.note("agent", framed(b"{}") + framed(b"{}{}")[:-1])
    recorder.close()
    whole, rest = sink.frames()
    assert whole.data == b"{}"
    assert rest.data == framed(b"{}{}")[:-1]
    assert rest.is_cut


def test_a_stream_with_a_length_that_cannot_be_right_is_kept_as_lines() -> None:
    sink = Memory()
    recorder = Recorder(sink, max_line_bytes=1000)
    recorder.note("agent", framed(b"{}") + b"Content-Length: 1001\r\n\r\n{}\nnext\n")
    recorder.note("agent", b"last\n")
    recorder.close()
    assert [each.data for each in sink.frames()] == [
        b"{}",
        b"Content-Length: 1001",
        b"",
        b"{}",
        b"next",
        b"last",
    ]


@pytest.mark.parametrize("split", range(len(b"xContent-Length: ")))
def test_after_a_gap_the_next_header_is_found(split: int) -> None:
    numbering = Numbering(0)
    numbering.chunk(0.0, "agent", framed(b"{}") + framed(b"x" * 500)[:60])
    numbering.gap(0.0, "agent", 200)
    rest = b"x" * 50 + framed(b"[]")
    for chunk in (rest[: 49 + split], rest[49 + split :], framed(b"3")):
        numbering.chunk(0.0, "agent", chunk)
    items = numbering.take()
    assert [each.data for each in items if isinstance(each, Frame)] == [b"{}", b"[]", b"3"]
    assert not numbering.held


class Fed(InterceptingForwarder):
    """Reads what it is given, and keeps what it writes."""

    def __init__(
        self, steps: list[bytes | Callable[[], object]], recorder: Recorder, max_line_bytes: int
    ) -> None:
        super().__init__(
            "agent", -1, os.open(os.devnull, os.O_WRONLY), recorder, max_line_bytes=max_line_bytes
        )
        self._steps = steps
        self.written = b""

    def read(self) -> bytes:
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, bytes):
                return step
            step()
        return b""

    def write(self, data: bytes) -> None:
        self.written += data


class Editor:
    """A hook that adds a member to each object."""

    name = "editor"

    def process(self, frame: InterceptedFrame, inject: Inject) -> InterceptedFrame:
        del inject
        value = json.loads(frame.raw)
        changed = frame.copy()
        changed.edit(json.dumps(value | {"ä": 1}, ensure_ascii=False).encode(), self.name)
        return changed


def moved(
    steps: Callable[[InterceptController], list[bytes | Callable[[], object]]],
    *hooks: Editor,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> tuple[bytes, Memory]:
    """Return what left a forwarder, and what was recorded."""
    sink = Memory()
    recorder = Recorder(sink)
    controller = InterceptController(recorder, hooks=hooks)
    todo: list[bytes | Callable[[], object]] = []
    forwarder = Fed(todo, recorder, max_line_bytes)
    todo += steps(controller)
    todo.insert(len(todo) // 2 if not hooks else 0, lambda: open_channels(controller, forwarder))
    forwarder.move()
    recorder.close()
    return forwarder.written, sink


def open_channels(controller: InterceptController, forwarder: Fed) -> None:
    forwarder.open_channel(controller.channels["agent"])


@settings(max_examples=60, deadline=None)
@given(STREAMS, PLACES, st.lists(st.booleans()))
def test_whenever_frames_are_wanted_the_bytes_that_leave_are_those_that_came(
    stream: bytes, places: list[int], wanted: list[bool]
) -> None:
    def steps(controller: InterceptController) -> list[bytes | Callable[[], object]]:
        def want(is_wanted: bool) -> None:
            for point in controller.breakpoints:
                controller.clear_breakpoint(point.id)
            if is_wanted:
                controller.set_breakpoint("never", matches=lambda frame: False)

        found: list[bytes | Callable[[], object]] = []
        for at, chunk in enumerate(cut(stream, places)):
            is_wanted = wanted[at % len(wanted)] if wanted else True
            found += [lambda is_wanted=is_wanted: want(is_wanted), chunk]
        return found

    written, sink = moved(steps)
    assert written == stream
    assert wire(sink.frames()) == stream
    assert [entry.seq for entry in sink.entries] == list(range(1, len(sink.entries) + 1))


@given(PLACES, st.sampled_from([b"", b"\r\n\n"]))
def test_a_frame_that_is_too_long_passes_once_and_the_next_is_intercepted(
    places: list[int], blank: bytes
) -> None:
    long, last = blank + framed(b'"%b"' % (b"x" * 3000)), framed(b"{}")
    written, sink = moved(lambda _: [*cut(long, places), last], Editor(), max_line_bytes=1000)
    assert written == long + framed('{"ä": 1}'.encode())
    assert wire(sink.frames()) == long + last


@pytest.mark.parametrize("begin", [b"", b"X: y\n" + b"\r" * 400, b"\n" * 2 * MAX_HEADER_BYTES])
def test_many_blank_lines_do_not_stop_the_traffic(begin: bytes) -> None:
    stream = framed(b"{}") + begin + b"\n" + framed(b"[]")

    def steps(controller: InterceptController) -> list[bytes | Callable[[], object]]:
        controller.set_breakpoint("never", matches=lambda frame: False)
        return [lambda: None, stream]

    written, sink = moved(steps)
    assert written == stream
    assert wire(sink.frames()) == stream


@given(PLACES)
def test_an_edited_body_gets_its_length_anew(places: list[int]) -> None:
    bodies = [b'{"a":1}', b'{\n"b":2}', b"{}"]
    odd = b"X: y\r\ncontent-length:2\r\n\r\n{}"
    written, sink = moved(lambda _: [*cut(framed(*bodies) + odd, places)], Editor())
    framer = HeaderFramer()
    assert [json.loads(body) for body in framer.feed(written)] == [
        {"a": 1, "ä": 1},
        {"b": 2, "ä": 1},
        {"ä": 1},
        {"ä": 1},
    ]
    assert framer.rest() == b""
    assert written.endswith('X: y\r\ncontent-length:9\r\n\r\n{"ä": 1}'.encode())
    assert [each.data for each in sink.frames()] == [*bodies, b"{}"]


def test_what_is_injected_gets_a_header_too_and_never_lands_in_a_body() -> None:
    def steps(controller: InterceptController) -> list[bytes | Callable[[], object]]:
        begun = framed(b"{}") + framed(b'{"long":1}')[:-3]
        inject = lambda: controller.inject("agent", b'{"injected":1}', keeps_id=True)  # noqa: E731
        return [begun, inject, b":1}", framed(b"[]")]

    written, sink = moved(steps)
    framer = HeaderFramer()
    assert sorted(framer.feed(written)) == sorted([b"{}", b'{"long":1}', b'{"injected":1}', b"[]"])
    assert framer.rest() == b""
    assert wire(sink.frames()).count(framed(b'{"injected":1}')) == 1


@pytest.mark.parametrize("header", [b"X" * (MAX_HEADER_BYTES + 1), b"Content-Length: 9999999999"])
def test_a_stream_that_is_not_understood_passes_as_it_came(header: bytes) -> None:
    stream = [framed(b"{}"), header, b"\r\n\r\n{}", framed(b"{}")]
    written, sink = moved(lambda _: [*stream], Editor())
    first = framed(b'{"\xc3\xa4": 1}')
    assert written == first + b"".join(stream[1:])
    assert wire(sink.frames()) == b"".join(stream)
    notes = [it for it in sink.entries if isinstance(it, JournalEvent) and it.name == "note"]
    assert len(notes) == 1
    assert "Content-Length" in str(notes[0].data["text"])
