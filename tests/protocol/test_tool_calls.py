"""Tool calls after their updates."""

from __future__ import annotations

from typing import Any

import pytest

from acp_protocol.tool_calls import is_final, merge


def test_null_takes_a_kind_away_in_version_two_only() -> None:
    assert merge({"kind": "read"}, {"kind": None}, 1) == {"kind": "read"}
    assert merge({"kind": "read"}, {"kind": None}, 2) == {}


def test_a_chunk_adds_to_the_content_and_leaves_the_content_of_updates_alone() -> None:
    sent: dict[str, Any] = {"title": "Look", "content": [1]}
    call = merge({}, sent, 2)
    for each in (2, 3):
        chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": each}
        call = merge(call, chunk, 2)
    assert call == {"toolCallId": "c", "title": "Look", "content": [1, 2, 3]}
    assert sent["content"] == [1]


@pytest.mark.parametrize("status", [None, [], {}, 1, True, "paused"])
def test_what_is_no_final_status_ends_nothing(status: Any) -> None:
    assert not is_final(status)
