"""Filters that stand for what one looks at: each can be read, and means what it was made from."""

from __future__ import annotations

from typing import Any

import pytest

from acp_console.traffic.filters import filter_for, permission_filter, same_filter
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import EntryList, fields_of_row
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.search import FilterSearch
from acp_inspector.journal import JournalEvent, StderrChunk
from tests.console.tui.conftest import entries, update

PERMISSION = {"sessionId": "s 1", "toolCall": {"toolCallId": "c1"}}
HEARD = EntryList(
    [
        *entries(
            ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s 1"}}),
            update("tool_call", toolCallId="c1", status="pending", title='a "b"\n'),
            ("agent", {"id": 1, "method": "session/request_permission", "params": PERMISSION}),
            ("client", {"id": 1, "result": {"outcome": {"outcome": "selected"}}}),
            ("agent", {"id": 1, "error": {"code": -1, "message": "no"}}),
            ("agent", b"no JSON"),
            ("agent", b"[]"),
        ),
        StderrChunk(8, 0.8, b"warn"),
        JournalEvent(9, 0.9, "exit", {"code": 1}),
    ]
)


def facts(row: int) -> EntryFields:
    return fields_of_row(HEARD, row, HEARD[row])


def meant(text: str) -> list[int]:
    return list(FilterSearch(HEARD, compile_filter(text)).find_all())


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (0, "method == session/prompt"),
        (1, "method == session/update and update == tool_call"),
        (3, "kind == result and method == session/request_permission"),
        (4, "kind == error and method == session/prompt"),
        (5, "malformed"),
        (6, "kind == batch"),
        (7, "stderr"),
        (8, "event == exit"),
    ],
)
def test_a_row_has_a_filter_for_its_like(row: int, text: str) -> None:
    assert filter_for(facts(row), "", None) == text
    assert row in meant(text)


@pytest.mark.parametrize(
    ("path", "value", "rows"),
    [
        ("$.params.update.title", 'a "b"\n', [1]),
        ("$.id", 1, [0, 2, 3, 4]),
        ("$.params.toolCall", {"toolCallId": "c1"}, [2]),
        ("$.params.update.title", "x" * 300, []),
    ],
)
def test_a_place_has_a_filter_for_its_value(path: str, value: Any, rows: list[int]) -> None:
    assert meant(filter_for(facts(1), path, value)) == rows


def test_what_belongs_together_has_a_filter() -> None:
    assert meant(same_filter(facts(0), "session")) == [0, 2, 3, 4]
    assert meant(same_filter(facts(1), "tool")) == [1, 2]
    assert same_filter(facts(8), "session") == same_filter(facts(0), "tool") == ""


def test_a_call_leads_to_its_permission_and_back() -> None:
    assert meant(permission_filter(facts(1))) == [2]
    assert meant(permission_filter(facts(2))) == [1]
    assert permission_filter(facts(7)) == ""
