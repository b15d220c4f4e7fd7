"""What is kept of a program's output, however it comes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.tools.run import Output


def fed(chunks: list[bytes], head: int, tail: int) -> str:
    output = Output(head, tail)
    for chunk in chunks:
        output.add(chunk)
    return output.text()


@given(st.lists(st.binary(max_size=20), max_size=20), st.integers(0, 30), st.integers(1, 30))
def test_any_chunking_keeps_the_same(chunks: list[bytes], head: int, tail: int) -> None:
    whole = b"".join(chunks)
    assert fed(chunks, head, tail) == fed([whole], head, tail)
    if len(whole) <= head + tail:
        assert fed(chunks, head, tail) == whole.decode(errors="replace")


def test_between_beginning_and_end_it_is_told_how_much_is_missing() -> None:
    assert fed([b"0123456789"], 2, 3) == "01\n… 5 bytes are left out …\n789"
    assert fed(["aé…é".encode()], 2, 3) == "a\n… 3 bytes are left out …\né"


def test_it_is_known_whether_something_came_since_it_was_looked_at() -> None:
    output = Output()
    assert not output.has_grown
    output.add(b"a")
    assert output.has_grown
    output.text()
    assert not output.has_grown
