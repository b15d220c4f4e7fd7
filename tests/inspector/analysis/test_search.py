"""Plain text looked for in frames."""

from __future__ import annotations

import pytest

from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.search import TextFilter
from acp_inspector.analysis.summary import describe
from tests.inspector.talks import answer, chunk, frames, prompt


def matches(text: str) -> list[int]:
    """Return the numbers of the frames that pass."""
    talk = frames(
        prompt(1, 'Say "hello"\n'),
        chunk("HELLO you"),
        answer("agent", 1, {"stopReason": "end_turn"}),
    )
    exchanges = Exchanges()
    wanted = TextFilter(text)
    return [frame.n for frame in talk if wanted.matches(frame, describe(frame, exchanges))]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [1, 2, 3]),
        ("hello", [1, 2]),
        ('"hello"', [1]),
        ("end_TURN", [3]),
        ("session/prompt", [1, 3]),
        ("request", [1]),
        ("nowhere", []),
    ],
)
def test_text_is_found_in_bytes_and_rows_in_any_case(text: str, numbers: list[int]) -> None:
    assert matches(text) == numbers


def test_an_empty_filter_knows_that_it_is_empty() -> None:
    assert TextFilter("").is_empty
    assert not TextFilter("x").is_empty
