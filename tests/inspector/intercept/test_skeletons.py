"""Messages to begin with: every one of them fits the schema."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from acp_inspector.intercept.skeletons import (
    call_skeleton,
    complaints_about,
    methods_of,
    result_skeleton,
)
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.schema.validate import check_params, check_result

SIDES: tuple[Side, ...] = get_args(Side)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("side", SIDES)
def test_what_is_begun_fits_the_schema(side: Side, version: int) -> None:
    rows = methods_of(side, version)
    assert rows
    for row in rows:
        call: Any = call_skeleton(row)
        assert call["method"] == row.name
        assert ("id" in call) == (row.kind == "request")
        assert check_params(row.name, call.get("params"), version, kind=row.kind) == ()
        assert complaints_about(call) == []
        assert jsonrpc.encode(call)
        if row.kind == "request":
            result = result_skeleton(row.name, version)
            assert check_result(row.name, result, version) == ()


def test_values_that_are_known_are_filled_in() -> None:
    (row,) = [row for row in methods_of("client") if row.name == "session/prompt"]
    call: Any = call_skeleton(row, {"sessionId": "s1"})
    assert call["params"] == {"sessionId": "s1", "prompt": [{"type": "text", "text": ""}]}
    assert result_skeleton("session/new", 1, {"sessionId": "s1"}) == {"sessionId": "s1"}


def test_what_nobody_knows_has_an_empty_result_and_no_complaints() -> None:
    assert result_skeleton("_vendor/thing") == {}
    assert complaints_about({"jsonrpc": "2.0", "method": "_vendor/thing"}) == []
    assert complaints_about([1]) == []
    assert complaints_about({"method": 5}) == []


def test_a_complaint_says_what_is_missing_in_the_version_that_fits_best() -> None:
    message: Any = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"prompt": []}}
    assert complaints_about(message) == ["params.sessionId is missing"]
    assert complaints_about({"stopReason": 5}, "session/prompt") != []
    assert complaints_about({"stopReason": "end_turn"}, "session/prompt") == []
