"""What a reader bears is read as the schema says, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_protocol.schema.explain import check
from acp_protocol.schema.validate import parse_params, schema_type, validate


@pytest.mark.parametrize(
    ("definition", "sent", "read"),
    [
        ("NewSessionRequest", {"cwd": "/", "mcpServers": None}, {"cwd": "/", "mcpServers": []}),
        (
            "ToolCall",
            {"toolCallId": "c", "title": "t", "kind": "dance", "locations": [5, {"path": "/a"}]},
            {"toolCallId": "c", "title": "t", "locations": [{"path": "/a"}]},
        ),
        (
            "InitializeResponse",
            {"protocolVersion": 1, "agentInfo": 5, "agentCapabilities": {"loadSession": "yes"}},
            {"protocolVersion": 1, "agentCapabilities": {}},
        ),
        (
            "SessionNotification",
            {"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": [5], "_meta": 7}},
            {"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": []}},
        ),
        ("NewSessionRequest", {"cwd": 5}, {"cwd": 5}),
        ("Implementation", {"name": "n", "version": "1", "x": [None]}, None),
    ],
)
def test_a_malformed_optional_value_is_read_as_absent(
    definition: str, sent: Any, read: Any
) -> None:
    before = deepcopy(sent)
    assert check(schema_type(definition), sent).value == (before if read is None else read)
    assert sent == before


def test_params_are_read_and_what_was_wrong_is_reported() -> None:
    params, complaints = parse_params("session/new", {"cwd": "/", "mcpServers": None})
    assert params == {"cwd": "/", "mcpServers": []}
    assert [(str(each), each.is_tolerated) for each in complaints] == [
        ("params.mcpServers is null", True)
    ]
    assert parse_params("_mine", None) == ({}, ())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_what_is_read_is_read_the_same_again(
    data: st.DataObject,
    broken: Callable[[st.DataObject], tuple[str, Any]],
    version: int,
) -> None:
    name, value = broken(data)
    complaints = validate(name, value, version)
    read = check(schema_type(name, version), value).value
    if not complaints:
        assert read == value
    if all(complaint.is_tolerated for complaint in complaints):
        # An empty list may stand where the schema wants one entry at least, and is borne again.
        left = validate(name, read, version)
        assert all(complaint.is_tolerated for complaint in left)
        assert check(schema_type(name, version), read).value == read
