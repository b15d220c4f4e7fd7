"""Lines of a file, the longest of which are not held."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.recording import lines as module
from acp_inspector.recording.lines import LongLine, stream_lines


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", 4)
        patch.setattr(module, "LINE_LIMIT", 10)
        yield


@given(st.lists(st.integers(0, 30).map(lambda size: b"x" * size)).map(b"\n".join))
def test_every_line_is_told_and_only_what_is_too_long_comes_in_pieces(text: bytes) -> None:
    found: list[bytes] = []
    for line in stream_lines(io.BytesIO(text)):
        if isinstance(line, LongLine):
            pieces = list(line.pieces)
            found.append(b"".join(pieces))
            assert len(found[-1]) > 10
            assert max(map(len, pieces)) <= 4
        else:
            found.append(line)
            assert len(line) <= 10
    assert found == text.splitlines(keepends=True)


def test_a_long_line_that_nobody_takes_is_passed_over() -> None:
    text = io.BytesIO(b"y" * 100 + b"\nnext\n")
    assert list(stream_lines(text))[1:] == [b"next\n"]
