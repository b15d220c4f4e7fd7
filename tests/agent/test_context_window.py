"""How full a model's mind is, and when room is to be made."""

from __future__ import annotations

import pytest

from acp_agent.models.types import Retrying, TokenUsage
from acp_agent.turn.context import COMPACT_AT, ContextWindow, retry_notice

HIGH = TokenUsage(int(1000 * COMPACT_AT), 10, window=1000)
LOW = TokenUsage(100, 10, window=1000)


def test_nothing_is_high_where_nobody_says_how_much_there_is() -> None:
    fill = ContextWindow()
    fill.update(TokenUsage(10**9, 10))
    assert not fill.needs_compaction


def test_room_is_to_be_made_where_the_window_is_nearly_full() -> None:
    fill = ContextWindow()
    fill.update(LOW)
    assert not fill.needs_compaction
    fill.update(HIGH)
    assert fill.needs_compaction
    fill.mark_compacted(1000)
    assert not fill.needs_compaction


def test_room_is_not_made_again_and_again_where_it_does_not_help() -> None:
    fill = ContextWindow()
    fill.update(HIGH)
    fill.mark_compacted(1000)
    for _ in range(3):
        fill.update(HIGH)
        assert not fill.needs_compaction
    fill.update(LOW)
    fill.update(HIGH)
    assert fill.needs_compaction


def test_room_is_not_made_again_where_it_could_not_be_until_the_window_has_emptied() -> None:
    fill = ContextWindow()
    fill.update(HIGH)
    fill.cannot_compact = True
    fill.update(HIGH)
    assert not fill.needs_compaction
    fill.update(LOW)
    fill.update(HIGH)
    assert fill.needs_compaction


@pytest.mark.parametrize(("seconds", "shown"), [(0.2, "1 s"), (3.0, "3 s"), (3.1, "4 s")])
def test_a_rest_is_told_in_whole_seconds(seconds: float, shown: str) -> None:
    assert retry_notice(Retrying("", seconds)) == f"It is asked again in {shown}."
