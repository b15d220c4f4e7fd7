"""The shapes of version 1 tell what the published schema tells."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Literal, assert_never, get_args, get_origin

import pytest
from typing_extensions import NoExtraItems, is_typeddict

from acp_protocol import version
from acp_protocol.schema import v1


def test_every_definition_has_a_shape(definitions: dict[str, Any], stable: dict[str, Any]) -> None:
    names = definitions.keys() | stable.keys()
    assert [name for name in names if not hasattr(v1, name)] == []


def test_every_plain_object_has_the_members_that_are_published(definitions: dict[str, Any]) -> None:
    seen = 0
    for name, schema in definitions.items():
        shape = getattr(v1, name)
        if "properties" in schema and is_typeddict(shape):
            required = set(schema.get("required", ()))
            assert set(shape.__annotations__) == set(schema["properties"]), name
            assert shape.__required_keys__ == required, name
            assert shape.__optional_keys__ == set(schema["properties"]) - required, name
            assert shape.__extra_items__ is not NoExtraItems
            seen += 1
    assert seen > 150


def test_every_enumeration_has_the_values_that_are_published(definitions: dict[str, Any]) -> None:
    seen = 0
    for name, schema in definitions.items():
        arms: list[dict[str, Any]] = schema.get("oneOf") or schema.get("anyOf") or []
        if words := [arm["const"] for arm in arms if "const" in arm]:
            shape = getattr(v1, name)
            literals = shape if get_origin(shape) is Literal else get_args(shape)[0]
            assert list(get_args(literals)) == words, name
            assert (literals is not shape) == any("const" not in arm for arm in arms), name
            seen += 1
    assert seen > 10


def test_what_is_only_unstable_is_told(definitions: dict[str, Any], stable: dict[str, Any]) -> None:
    assert definitions.keys() - stable.keys() == v1.UNSTABLE
    assert v1.UNSTABLE_MEMBERS["PromptResponse"] == ("usage",)
    assert "plan_update" in v1.UNSTABLE_MEMBERS["SessionUpdate"]


def test_the_identity_is_the_one_that_the_programs_show() -> None:
    assert v1.SCHEMA_ID == version.SCHEMA_ID


def test_importing_the_shapes_brings_no_framework() -> None:
    code = "import sys, acp_protocol.schema.v1; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def told(block: v1.ContentBlock) -> str:
    """Read a block by its tag; the type checker holds that no arm is left over."""
    match block:
        case {"type": "text"}:
            return block["text"]
        case {"type": "image"} | {"type": "audio"}:
            return block["mimeType"]
        case {"type": "resource_link"}:
            return block["uri"]
        case {"type": "resource"}:
            return block["resource"]["uri"]
        case _:
            assert_never(block)


def moved(update: v1.SessionUpdate) -> str:
    """Read an update by its tag, as far as it is of interest here."""
    if update["sessionUpdate"] == "tool_call":
        return update["title"]
    if update["sessionUpdate"] == "agent_message_chunk":
        return told(update["content"])
    return ""


def chosen(outcome: v1.RequestPermissionOutcome) -> str | None:
    """Read the answer to a permission request."""
    return outcome["optionId"] if outcome["outcome"] == "selected" else None


def test_the_tag_narrows_the_union() -> None:
    assert told({"type": "text", "text": "hi"}) == "hi"
    assert told({"type": "image", "data": "", "mimeType": "image/png"}) == "image/png"
    assert moved({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read"}) == "Read"
    assert chosen({"outcome": "selected", "optionId": "allow"}) == "allow"
    assert chosen({"outcome": "cancelled"}) is None


@pytest.mark.parametrize("name", ["AuthMethod", "McpServer"])
def test_an_arm_keeps_its_tag_though_its_definition_has_none(name: str) -> None:
    tagged, *_ = get_args(getattr(v1, name).__origin__)
    assert "type" in tagged.__required_keys__
    assert "type" not in getattr(v1, tagged.__name__.removeprefix("Tagged")).__annotations__
