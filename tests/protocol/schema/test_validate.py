"""JSON held against the shapes, compared with a JSON Schema validator that reads the original."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_protocol.schema import v1
from acp_protocol.schema.explain import SchemaError
from acp_protocol.schema.validate import (
    schema_type,
    validate,
    validate_params,
    validate_result,
)

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
"""What making values of a large schema may be."""


def said(complaints: tuple[SchemaError, ...]) -> list[str]:
    return [str(complaint) for complaint in complaints]


def update(**members: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": members}


def test_a_missing_member_is_named() -> None:
    assert said(validate_params("session/new", {"cwd": "/"})) == ["params.mcpServers is missing"]


def test_absent_params_lack_what_is_required() -> None:
    assert said(validate_params("session/prompt", None)) == [
        "params.sessionId is missing",
        "params.prompt is missing",
    ]


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"protocolVersion": "1"}, "params.protocolVersion is not an integer"),
        ({"protocolVersion": True}, "params.protocolVersion is not an integer"),
        ({"protocolVersion": 1.5}, "params.protocolVersion is not an integer"),
        ({"protocolVersion": 65536}, "params.protocolVersion is too large"),
        ({"protocolVersion": -1}, "params.protocolVersion is too small"),
        ([], "params is not an object"),
    ],
)
def test_types_are_those_of_json(params: object, complaint: str) -> None:
    assert said(validate_params("initialize", params)) == [complaint]


def test_only_the_arm_that_the_tag_names_is_looked_at() -> None:
    params = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": 5})
    assert validate_params("session/update", params) == (
        SchemaError("params.update.content.text", "is not a string"),
    )


def test_an_unknown_tag_is_told_by_its_path() -> None:
    params = update(sessionUpdate="future_thing")
    assert said(validate_params("session/update", params)) == [
        "params.update.sessionUpdate is none of the known values"
    ]


def test_what_a_reader_has_to_bear_is_lenient_and_has_its_whole_path() -> None:
    params = update(sessionUpdate="tool_call", toolCallId="c", title="t", kind="dance", content=[5])
    assert validate_params("session/update", params) == (
        SchemaError("params.update.kind", "is none of the known values", is_tolerated=True),
        SchemaError("params.update.content.0", "is not an object", is_tolerated=True),
    )


def test_null_for_a_list_is_borne_where_the_schema_says_so() -> None:
    assert validate_params("session/new", {"cwd": "/", "mcpServers": None}) == (
        SchemaError("params.mcpServers", "is null", is_tolerated=True),
    )


def test_members_that_nobody_knows_are_no_fault() -> None:
    assert validate_params("session/cancel", {"sessionId": "s", "new": 1, "_meta": {"a": []}}) == ()


@pytest.mark.parametrize("method", ["_vendor/thing", "session/future", ""])
def test_extensions_and_future_methods_are_not_judged(method: str) -> None:
    assert validate_params(method, {"any": "thing"}) == ()
    assert validate_result(method, 5) == ()


def test_results_are_checked_too() -> None:
    assert said(validate_result("session/prompt", {"stopReason": "done"})) == [
        "result.stopReason is none of the known values"
    ]


def test_the_kind_tells_which_shape_a_shared_name_has() -> None:
    params: dict[str, Any] = {
        "serverId": "s",
        "requestId": "r",
        "method": "tools/list",
        "params": {},
    }
    assert validate_params("mcp/message", params, kind="request") == ()
    assert validate_params("mcp/message", params, kind="notification") == ()
    del params["method"]
    assert said(validate_params("mcp/message", params, kind="notification")) == [
        "params.method is missing"
    ]


def test_a_definition_or_version_that_is_not_there_is_our_mistake() -> None:
    with pytest.raises(KeyError):
        validate("NoSuchThing", {})
    with pytest.raises(ValueError, match="version 7"):
        validate("Error", {}, 7)


def test_a_shape_is_found_by_its_name() -> None:
    assert schema_type("ToolCall") is v1.ToolCall


def test_many_threads_may_ask_at_once() -> None:
    found: list[tuple[SchemaError, ...]] = []
    threads = [
        threading.Thread(target=lambda: found.append(validate("ListSessionsRequest", {})))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [()] * 8


def test_a_program_that_checks_nothing_starts_without_the_framework() -> None:
    code = "import sys, acp_protocol.schema.validate; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_real_traffic_is_judged_as_the_published_schema_judges_it(
    traffic: list[Any], version: int, fits: Callable[[str, Any], bool]
) -> None:
    assert len(traffic) > {1: 2000, 2: 50}[version]
    for seen in traffic:
        complaints = validate(seen.definition, seen.value, version)
        assert fits(seen.definition, seen.value) == (not complaints), seen


@pytest.mark.parametrize("version", [1], indirect=True)
def test_real_agents_keep_to_the_schema_with_one_exception(traffic: list[Any]) -> None:
    # *.edge holds what a probe sent wrong on purpose.
    deviations = Counter(
        (seen.file, seen.method, str(complaint))
        for seen in traffic
        if ".edge" not in seen.file
        for complaint in validate(seen.definition, seen.value)
    )
    assert deviations == {("py-echo.ndjson", "session/list", "the value is not an object"): 1}


def test_a_whole_value_of_each_arm_of_each_definition_fits(
    samples: list[tuple[str, Any]], version: int, fits: Callable[[str, Any], bool]
) -> None:
    for name, value in samples:
        assert fits(name, value) == (validate(name, value, version) == ()), (name, value)


@given(data=st.data())
def test_whatever_is_wrong_is_found_where_the_published_schema_finds_it(
    data: st.DataObject,
    corpus: Callable[[], list[tuple[str, Any]]],
    version: int,
    fits: Callable[[str, Any], bool],
    changed: Callable[[st.DataObject, Any], tuple[tuple[str | int, ...], Any]],
) -> None:
    name, value = data.draw(st.sampled_from(corpus()))
    path, broken = changed(data, value)
    complaints = validate(name, broken, version)
    assert fits(name, broken) == (not complaints)
    # A wrong tag is told by what its neighbours lack, hence the object around the place.
    around = ".".join(map(str, path[:-1]))
    assert all(complaint.path.startswith(around) for complaint in complaints)


@pytest.mark.long
@settings(suppress_health_check=SLOW)
@given(data=st.data())
def test_random_values_are_judged_as_the_published_schema_judges_them(
    data: st.DataObject,
    drawn: Callable[[], st.SearchStrategy[tuple[str, Any]]],
    version: int,
    fits: Callable[[str, Any], bool],
    changed: Callable[[st.DataObject, Any], tuple[tuple[str | int, ...], Any]],
) -> None:
    name, value = data.draw(drawn())
    assert fits(name, value) == (validate(name, value, version) == ())
    _, broken = changed(data, value)
    assert fits(name, broken) == (validate(name, broken, version) == ())
