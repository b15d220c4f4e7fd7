"""An entry is found by its number wherever it stands, whatever stands between the entries."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Frame
from acp_inspector.recording.format import encode_entry
from acp_inspector.recording.numbering import place_of


def as_we_write_it(n: int, size: int) -> bytes:
    return encode_entry(Frame(n, 0.0, "client", b'"' + b"x" * size + b'"', b"\n"))


def as_others_write_it(n: int, size: int) -> bytes:
    """Return the same entry with its number at the end."""
    row = json.loads(as_we_write_it(n, size))
    return json.dumps({key: row[key] for key in reversed(row)}).encode() + b"\n"


def nothing(_: int, size: int) -> bytes:
    return b"?" * size + b"\n"


WRITTEN = st.lists(
    st.tuples(
        st.sampled_from([as_we_write_it, as_others_write_it, nothing]),
        st.integers(1, 5),
        st.integers(0, 200),
    ),
    max_size=30,
)


@given(WRITTEN, st.binary(max_size=50))
def test_every_entry_is_found_and_no_number_that_is_not_there(
    written: list[tuple[Callable[[int, int], bytes], int, int]], header: bytes
) -> None:
    whole, places, n = header.replace(b"\n", b"") + b"\n", dict[int, int](), 0
    begin = len(whole)
    for write, step, size in written:
        n += step
        if write is not nothing:
            places[n] = len(whole)
        whole += write(n, size)

    def read(at: int, size: int) -> bytes:
        return whole[at : at + size]

    found = {each: place_of(read, begin, len(whole), each) for each in range(n + 2)}
    assert {each: place for each, place in found.items() if place is not None} == places
