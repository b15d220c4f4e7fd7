"""Bytes by their place, and lines among them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.recording import content, lines
from acp_inspector.recording.compression import CUT
from acp_inspector.recording.content import (
    LongSpan,
    RecordingContent,
    line_begin,
    line_end,
    whole_lines,
)

texts = st.lists(st.sampled_from([b"", b"a", b"\r", b"word" * 9, b"\xe2\x80\xa8"])).map(b"\n".join)


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "BLOCK", 8)
        yield


@given(texts, st.integers(0, 20))
def test_blocks_are_whole_lines_and_lose_nothing(text: bytes, begin: int) -> None:
    found = whole_lines(lambda at, size: text[at : at + size], begin, len(text))
    blocks = [block for block in found if isinstance(block, bytes)]
    assert b"".join(blocks) == text[begin:]
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@given(texts)
def test_lines_are_found_both_ways(text: bytes) -> None:
    def read(at: int, size: int) -> bytes:
        return text[at : at + size]

    lines = text.splitlines(keepends=True) if b"\r" not in text else None
    forward: list[bytes] = []
    at = 0
    while at < len(text):
        end = line_end(read, at, len(text))
        forward.append(text[at:end])
        at = end
    backward: list[bytes] = []
    while at:
        begin = line_begin(read, at)
        backward.insert(0, text[begin:at])
        at = begin
    assert forward == backward
    if lines is not None and "\u2028".encode() not in text:
        assert forward == lines


def test_a_plain_file_is_there_at_once_and_grows(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    it = RecordingContent(path)
    assert (it.size, it.is_unpacked, it.is_compressed) == (4, True, False)
    with path.open("ab") as file:
        file.write(b"two\n")
    assert (it.size, it.read(2, 4)) == (8, b"e\ntw")
    it.close()
    it.close()


def test_a_file_that_is_cut_short_gives_fewer_bytes(tmp_path: Path) -> None:
    """A mapped file would end the process here."""
    path = tmp_path / "a"
    path.write_bytes(b"one\n" * 5000)
    it = RecordingContent(path)
    path.write_bytes(b"o")
    assert it.read(0, 9000) == b"o"
    assert it.read(8000, 10) == b""
    it.close()


def test_a_compressed_file_is_unpacked_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"one\ntwo\n"))
    it = RecordingContent(path)
    assert (it.size, it.is_unpacked) == (0, False)
    it.unpack(5)
    assert (it.size, it.read(0, 100)) == (5, b"one\nt")
    it.unpack()
    assert (it.size, it.is_unpacked, it.fault) == (8, True, None)
    it.close()


def test_a_compressed_file_that_is_cut_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"one\ntwo\n")[:-3])
    it = RecordingContent(path)
    it.unpack()
    assert (it.read(0, 100), it.fault) == (b"one\ntwo\n", CUT)
    it.close()


@given(st.lists(st.integers(0, 40).map(lambda size: b"x" * size)).map(b"\n".join))
def test_of_a_line_that_is_too_long_its_place_is_told(text: bytes) -> None:
    found: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "LINE_LIMIT", 12)
        for block in whole_lines(lambda at, size: text[at : at + size], 0, len(text)):
            if isinstance(block, LongSpan):
                found.append(text[slice(*block)])
                assert len(found[-1]) > 12
            else:
                found += block.splitlines(keepends=True)
                assert len(found[-1]) <= 12
    assert found == text.splitlines(keepends=True)
