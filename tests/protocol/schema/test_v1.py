"""The shapes of version 1 lead a type checker as the protocol's tags lead a reader."""

from __future__ import annotations

import subprocess
import sys
from typing import assert_never, get_args

import pytest

from acp_protocol import version
from acp_protocol.schema import v1


def test_the_identity_is_among_those_that_the_programs_show() -> None:
    assert v1.SCHEMA_ID in version.SCHEMA_ID.split()


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
