"""Messages to begin with: every one of them fits the schema."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from acp_inspector.intercept.templates import (
    call_template,
    methods_of,
    result_template,
    validation_errors,
)
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.schema.validate import validate_params, validate_result

SIDES: tuple[Side, ...] = get_args(Side)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("side", SIDES)
def test_what_is_begun_fits_the_schema(side: Side, version: int) -> None:
    rows = methods_of(side, version)
    assert rows
    for row in rows:
        call: Any = call_template(row)
        assert call["method"] == row.name
        assert ("id" in call) == (row.kind == "request")
        assert validate_params(row.name, call.get("params"), version, kind=row.kind) == ()
        assert validation_errors(call) == []
        assert jsonrpc.encode(call)
        if row.kind == "request":
            result = result_template(row.name, version)
            assert validate_result(row.name, result, version) == ()


def test_values_that_are_known_are_filled_in() -> None:
    (row,) = [row for row in methods_of("client") if row.name == "session/prompt"]
    call: Any = call_template(row, {"sessionId": "s1"})
    assert call["params"] == {"sessionId": "s1", "prompt": [{"type": "text", "text": ""}]}
    assert result_template("session/new", 1, {"sessionId": "s1"}) == {"sessionId": "s1"}


def test_unknown_methods_have_an_empty_result_and_no_errors() -> None:
    assert result_template("_vendor/thing") == {}
    assert validation_errors({"jsonrpc": "2.0", "method": "_vendor/thing"}) == []
    assert validation_errors([1]) == []
    assert validation_errors({"method": 5}) == []


def test_validation_errors_are_those_of_the_version_that_fits_best() -> None:
    message: Any = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"prompt": []}}
    assert validation_errors(message) == ["params.sessionId is missing"]
    assert validation_errors({"stopReason": 5}, "session/prompt") != []
    assert validation_errors({"stopReason": "end_turn"}, "session/prompt") == []
