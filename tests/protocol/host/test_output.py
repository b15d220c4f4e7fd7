"""The newest output of a program: what is kept of it, and where it is cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_protocol.host.terminals import OutputTail

PIECES = [b"a", b"\n", "é".encode(), "語".encode(), "🙂".encode(), b"\xff", b"\x80", b"\xf0\x9f"]
output = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3))


def kept(*chunks: bytes, limit: int, is_over: bool = True) -> tuple[str, bool]:
    tail = OutputTail(limit)
    for chunk in chunks:
        tail.feed(chunk)
    if is_over:
        tail.end()
    return tail.text()


@pytest.mark.parametrize(
    ("written", "limit", "text", "is_cut"),
    [
        (b"", 0, "", False),
        (b"abc", 3, "abc", False),
        (b"abc", 2, "bc", True),
        (b"abc", 0, "", True),
        ("aé".encode(), 3, "aé", False),
        ("éa".encode(), 2, "a", True),
        ("語a".encode(), 3, "a", True),
        ("🙂".encode(), 3, "", True),
        ("🙂🙂".encode(), 4, "🙂", True),
        ("🙂🙂".encode(), 7, "🙂", True),
        (b"\xff", 3, "\ufffd", False),
        (b"\xff", 2, "", True),
        (b"\xffab", 4, "ab", True),
        (b"\x80" * 20, 7, "\ufffd\ufffd", True),
        (b"\x00\x1b[31m", 9, "\x00\x1b[31m", False),
    ],
)
def test_the_newest_bytes_are_kept_and_no_character_is_split(
    written: bytes, limit: int, text: str, is_cut: bool
) -> None:
    assert kept(written, limit=limit) == (text, is_cut)


def test_an_unfinished_character_is_left_out_until_it_is_whole() -> None:
    tail = OutputTail(100)
    shown: list[str] = []
    for byte in "a語".encode():
        tail.feed(bytes([byte]))
        shown.append(tail.text()[0])
    assert shown == ["a", "a", "a", "a語"]


def test_a_character_that_is_never_finished_is_shown_as_broken() -> None:
    assert kept("a語".encode()[:-1], limit=100, is_over=False) == ("a", False)
    assert kept("a語".encode()[:-1], limit=100) == ("a\ufffd", False)


@given(chunks=output, limit=st.integers(0, 30), is_over=st.booleans())
@example(chunks=[b"\xf0\x9f", b"\x98\x80\x80\x80\x80"], limit=3, is_over=True)
def test_what_is_kept_is_the_end_of_what_would_be_kept_without_a_limit(
    chunks: list[bytes], limit: int, is_over: bool
) -> None:
    text, is_cut = kept(*chunks, limit=limit, is_over=is_over)
    whole, _ = kept(*chunks, limit=10_000, is_over=is_over)
    assert len(text.encode()) <= limit
    assert whole.endswith(text)
    assert is_cut == (text != whole)
    # Not even one more character would have had room.
    rest = whole[: len(whole) - len(text)]
    assert not rest or len((rest[-1] + text).encode()) > limit


@given(chunks=output, limit=st.integers(0, 30))
def test_the_chunks_in_which_it_came_make_no_difference(chunks: list[bytes], limit: int) -> None:
    assert kept(*chunks, limit=limit) == kept(b"".join(chunks), limit=limit)
