"""Faults of single frames, as values."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol import faults
from acp_protocol.faults import Fault, OutgoingFrame
from acp_protocol.framing import Framing

RAW = '{"jsonrpc":"2.0","method":"x","params":{"text":"Grüße"}}'.encode()
VALUE = json.loads(RAW)


def written(*struck: Fault, framing: Framing = "lines", seed: int = 1) -> list[bytes]:
    """Return the pieces of the frame with these faults."""
    frame, random = OutgoingFrame(RAW, framing), Random(seed)
    for fault in struck:
        fault(frame, random)
    return list(frame.pieces())


def test_a_frame_without_faults_is_one_piece() -> None:
    assert written() == [RAW + b"\n"]
    assert written(framing="headers") == [b"Content-Length: %d\r\n\r\n%b" % (len(RAW), RAW)]


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (faults.ending("crlf"), RAW + b"\r\n"),
        (faults.ending("none"), RAW),
        (faults.spelling("bom"), b"\xef\xbb\xbf" + RAW + b"\n"),
        (faults.spelling("latin-1"), RAW.decode().encode("latin-1") + b"\n"),
        (faults.cut(9), RAW[:9]),
        (faults.noise("loud", newline=False), b"loud" + RAW + b"\n"),
        (faults.noise(b"\x00"), b"\x00\n" + RAW + b"\n"),
        (faults.drop(), b""),
        (faults.duplicate(2), (RAW + b"\n") * 2),
    ],
)
def test_a_fault_changes_what_is_written(fault: Fault, line: bytes) -> None:
    assert b"".join(written(fault)) == line


@pytest.mark.parametrize(
    "fault", [faults.spelling("ascii"), faults.spelling("spaced"), faults.pad(500)]
)
def test_other_bytes_can_say_the_same(fault: Fault) -> None:
    (line,) = written(fault)
    assert line != RAW + b"\n"
    assert json.loads(line) == VALUE


def test_padding_and_nesting_have_the_wanted_size() -> None:
    assert len(written(faults.pad(500))[0]) == 501
    (line,) = written(faults.nest(50))
    assert json.loads(line)["_deep"] is not None
    assert line.count(b"[") == 50


def test_a_length_in_the_header_is_wrong_by_a_number_of_bytes() -> None:
    (frame,) = written(faults.length(3), framing="headers")
    assert frame.startswith(b"Content-Length: %d\r\n" % (len(RAW) + 3))


@given(size=st.integers(1, 100), seed=st.integers(0, 5))
def test_pieces_are_the_whole_frame(size: int, seed: int) -> None:
    pieces = written(faults.split(size), seed=seed)
    assert b"".join(pieces) == RAW + b"\n"
    assert all(len(piece) == size for piece in pieces[:-1])


def test_characters_are_cut_inside() -> None:
    pieces = written(faults.split("characters"))
    assert len(pieces) == 3
    for piece in pieces[:-1]:
        with pytest.raises(UnicodeDecodeError):
            piece.decode()


@given(count=st.integers(1, 80), seed=st.integers(0, 5), replaced=st.booleans())
def test_damage_is_of_that_many_bytes_and_ends_no_line(
    count: int, seed: int, replaced: bool
) -> None:
    fault = faults.corrupt(count, "replace" if replaced else "flip")
    (line,) = written(fault, seed=seed)
    assert written(fault, seed=seed) == [line]
    different = [old ^ new for old, new in zip(RAW, line, strict=False) if old != new]
    assert len(different) == min(count, len(RAW))
    assert line.count(b"\n") == 1
    assert replaced or all(bits.bit_count() == 1 for bits in different)


def test_an_invalid_byte_is_no_utf8() -> None:
    with pytest.raises(UnicodeDecodeError):
        written(faults.invalid())[0].decode()


def test_times_and_the_end_are_for_the_owner_of_the_stream() -> None:
    frame, random = OutgoingFrame(RAW), Random(1)
    struck = (
        faults.delay(1),
        faults.delay(1, jitter=1),
        faults.throttle(5),
        faults.reorder(3, of="response", seconds=2),
        faults.crash(signal="SEGV"),
    )
    for fault in struck:
        fault(frame, random)
    assert 2 <= frame.delay_s <= 3
    assert (frame.rate, frame.behind, frame.behind_kind, frame.behind_s) == (5, 3, "response", 2)
    assert isinstance(frame.end, faults.Crash)
    with pytest.raises(ValueError, match="NOTHING is not a signal here"):
        faults.crash(signal="NOTHING")
