"""The table of methods."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from acp_protocol.schema.methods import METHODS, find_method, methods_sent_by


def test_a_row_tells_who_sends_what_and_what_allows_it() -> None:
    row = find_method("fs/read_text_file")
    assert row is not None
    assert (row.sent_by, row.kind) == ("agent", "request")
    assert (row.params, row.result) == ("ReadTextFileRequest", "ReadTextFileResponse")
    assert row.gate == "clientCapabilities.fs.readTextFile"
    assert row.is_stable


@pytest.mark.parametrize(
    ("name", "sent_by", "kind", "stable"),
    [
        ("initialize", "client", "request", True),
        ("session/cancel", "client", "notification", True),
        ("session/update", "agent", "notification", True),
        ("session/fork", "client", "request", False),
        ("$/cancel_request", "either", "notification", True),
        ("proxy/initialize", "client", "request", False),
    ],
)
def test_sides_and_kinds_are_those_of_the_protocol(
    name: str, sent_by: str, kind: str, stable: bool
) -> None:
    row = find_method(name)
    assert row is not None
    assert (row.sent_by, row.kind, row.is_stable) == (sent_by, kind, stable)


@pytest.mark.parametrize(
    ("kind", "sent_by", "params"),
    [
        ("request", "agent", "MessageMcpRequest"),
        ("notification", "client", "MessageMcpNotification"),
    ],
)
def test_a_name_that_is_both_request_and_notification_has_two_rows(
    kind: Literal["request", "notification"], sent_by: str, params: str
) -> None:
    row = find_method("mcp/message", kind=kind)
    assert row is not None
    assert (row.sent_by, row.params) == (sent_by, params)


def test_a_notification_is_not_found_as_a_request() -> None:
    assert find_method("session/cancel", kind="request") is None


@pytest.mark.parametrize("name", ["_mine", "nes/start", "session/promptt", ""])
def test_what_is_not_in_the_schema_is_not_in_the_table(name: str) -> None:
    assert find_method(name) is None


def test_a_version_that_is_not_built_in_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="version 7"):
        find_method("initialize", 7)
    with pytest.raises(ValueError, match="version 7"):
        methods_sent_by("client", 7)


def test_every_request_has_a_result_and_no_notification_has_one() -> None:
    for row in METHODS:
        assert (row.result is not None) == (row.kind == "request"), row.name


@pytest.mark.parametrize("version", [1, 2])
def test_a_side_may_send_its_own_methods_and_those_of_both(version: int) -> None:
    clients = {row.name for row in methods_sent_by("client", version)}
    agents = {row.name for row in methods_sent_by("agent", version)}
    assert {"session/prompt", "$/cancel_request"} <= clients
    assert {"session/update", "$/cancel_request"} <= agents
    assert "session/prompt" not in agents
    assert clients | agents == {row.name for row in METHODS if row.version == version}


def test_a_gate_is_a_path_into_the_capabilities(version: int, definitions: dict[str, Any]) -> None:
    question, answer = definitions["InitializeRequest"], definitions["InitializeResponse"]
    starts = {"clientCapabilities": question, "agentCapabilities": answer, "authMethods": answer}
    gates = {row.gate for row in METHODS if row.gate and row.version == version}
    assert len(gates) > 10
    for gate in gates:
        start, *members = gate.split(".")
        schema = starts[start]
        first = "capabilities" if version == 2 and start.endswith("Capabilities") else start
        for member in (first, *members):
            schema = inside(schema, definitions)["properties"][member]


def inside(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Follow references down to the object that they mean."""
    parts = [schema, *schema.get("allOf", ()), *schema.get("anyOf", ())]
    for part in parts:
        if "$ref" in part:
            return inside(definitions[part["$ref"].removeprefix("#/$defs/")], definitions)
    return schema


def test_every_method_of_the_published_schema_stands_in_the_table(
    version: int, definitions: dict[str, Any], stable: dict[str, Any]
) -> None:
    rows = [row for row in METHODS if row.version == version]
    assert {row.name for row in rows} == names_in(definitions)
    assert {row.name for row in rows if row.is_stable} == names_in(stable)


@pytest.mark.parametrize(
    ("name", "version", "params"),
    [
        ("session/load", 1, "LoadSessionRequest"),
        ("session/load", 2, None),
        ("auth/login", 1, None),
        ("auth/login", 2, "LoginAuthRequest"),
        ("tool_call/cancel", 2, "CancelToolCallRequest"),
    ],
)
def test_a_version_has_its_own_methods(name: str, version: int, params: str | None) -> None:
    row = find_method(name, version)
    assert (row.params if row else None) == params


def names_in(definitions: dict[str, Any]) -> set[str]:
    return {schema["x-method"] for schema in definitions.values() if "x-method" in schema}
