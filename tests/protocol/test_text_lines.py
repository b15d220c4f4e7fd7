"""Only a line feed ends a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.jsonrpc import Json
from acp_protocol.text_lines import lines_from, split_lines

TEXT = "a\x0cb\u2028c\rd\x85e\r\nf\n\ng"


def test_other_separators_are_characters_of_a_line() -> None:
    assert split_lines(TEXT) == ["a\x0cb\u2028c\rd\x85e\r\n", "f\n", "\n", "g"]


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (None, None, TEXT),
        (2, None, "f\n\ng"),
        (2, 1, "f\n"),
        (0, 1, "a\x0cb\u2028c\rd\x85e\r\n"),
        (4, 9, "g"),
        (5, None, ""),
        (None, 0, ""),
        (1, -1, ""),
        ("2", [], TEXT),
        (10**30, 10**30, ""),
    ],
)
def test_lines_are_counted_from_one(line: Json, limit: Json, expected: str) -> None:
    assert lines_from(TEXT, line, limit) == expected


@given(st.text("ab\n\r\x0c\u2028"), st.integers(1, 6))
def test_parts_make_up_the_text(text: str, limit: int) -> None:
    parts = [lines_from(text, line, limit) for line in range(1, len(text) + 2, limit)]
    assert "".join(parts) == text
