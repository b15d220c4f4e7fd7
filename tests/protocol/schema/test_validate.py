"""JSON held against the shapes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from acp_protocol.schema.methods import find_method
from acp_protocol.schema.validate import check, check_params, check_result


def said(complaints: tuple[object, ...]) -> list[str]:
    return [str(complaint) for complaint in complaints]


def update(**members: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": members}


def test_a_missing_member_is_named() -> None:
    assert said(check_params("session/new", {"cwd": "/"})) == ["mcpServers is missing"]


def test_absent_params_lack_what_is_required() -> None:
    assert said(check_params("session/prompt", None)) == [
        "sessionId is missing",
        "prompt is missing",
    ]


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"protocolVersion": "1"}, "protocolVersion is no integer"),
        ({"protocolVersion": True}, "protocolVersion is no integer"),
        ({"protocolVersion": 1.5}, "protocolVersion is no integer"),
        ({"protocolVersion": 65536}, "protocolVersion is too large"),
        ({"protocolVersion": -1}, "protocolVersion is too small"),
        ([], "the value is no object"),
    ],
)
def test_types_are_those_of_json(params: object, complaint: str) -> None:
    assert said(check_params("initialize", params)) == [complaint]


def test_only_the_arm_that_the_tag_names_is_looked_at() -> None:
    params = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": 5})
    assert said(check_params("session/update", params)) == ["update.content.text is no string"]


def test_an_unknown_tag_is_told_by_its_name() -> None:
    params = update(sessionUpdate="future_thing")
    assert said(check_params("session/update", params)) == ["update has no known sessionUpdate"]


def test_what_a_reader_has_to_bear_is_lenient() -> None:
    params = update(sessionUpdate="tool_call", toolCallId="c", title="t", kind="dance", content=[5])
    complaints = check_params("session/update", params)
    assert said(complaints) == ["kind is none of the known values", "content.0 has no known type"]
    assert all(complaint.lenient for complaint in complaints)


def test_members_that_nobody_knows_are_no_fault() -> None:
    assert check_params("session/cancel", {"sessionId": "s", "new": 1, "_meta": {"a": []}}) == ()


@pytest.mark.parametrize("method", ["_vendor/thing", "session/future", ""])
def test_extensions_and_future_methods_are_not_judged(method: str) -> None:
    assert check_params(method, {"any": "thing"}) == ()
    assert check_result(method, 5) == ()


def test_results_are_checked_too() -> None:
    assert said(check_result("session/prompt", {"stopReason": "done"})) == [
        "stopReason is none of the known values"
    ]


def test_a_definition_that_is_not_there_is_our_mistake() -> None:
    with pytest.raises(KeyError):
        check("NoSuchThing", {})


def test_importing_the_shapes_brings_no_framework() -> None:
    code = "import sys, acp_protocol.schema.v1; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def messages(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield definition and value of each known message of a capture."""
    asked: dict[tuple[str, str], str] = {}
    for line in path.read_text().strip().split("\n"):
        entry = json.loads(line)
        try:
            message = json.loads(entry["line"])
        except (KeyError, ValueError):
            continue
        if entry["dir"] == "stderr" or not isinstance(message, dict):
            continue
        message = cast("dict[str, Any]", message)
        method = message.get("method")
        if isinstance(method, str):
            asked[entry["dir"], repr(message.get("id"))] = method
            row = find_method(method)
            if row and row.params and message.get("params") is not None:
                yield row.params, message["params"]
        elif "result" in message:
            other = "a2c" if entry["dir"] == "c2a" else "c2a"
            row = find_method(asked.get((other, repr(message["id"])), ""))
            if row and row.result:
                yield row.result, message["result"]


def test_real_traffic_is_judged_as_the_published_schema_judges_it(shared: Path) -> None:
    schema = json.loads((shared / "acp-schema" / "v1" / "schema.unstable.json").read_text())
    judges: dict[str, Draft202012Validator] = {}
    judged = 0
    for path in sorted((shared / "traffic").glob("*.ndjson")):
        if ".v2" in path.name:
            continue
        for definition, value in messages(path):
            root = {"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
            judge = judges.setdefault(definition, Draft202012Validator(root))
            assert judge.is_valid(value) == (not check(definition, value)), (definition, value)
            judged += 1
    assert judged > 2000
