"""The shapes that stand in the repository are those of the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NotRequired, get_origin

import pytest
from typing_extensions import NoExtraItems, get_type_hints, is_typeddict

from acp_protocol.schema import v1
from acp_protocol.version import SCHEMA_ID
from tools.make_schema import TARGET, identity, make


@pytest.fixture(scope="module")
def definitions(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "acp-schema/v1/schema.unstable.json").read_text())["$defs"]


def test_making_them_again_gives_the_same_bytes(shared: Path) -> None:
    for name, source in make(shared / "acp-schema", 1).items():
        assert (TARGET / name).read_text() == source, f"run: make schema SCHEMAS=… ({name})"


def test_the_identity_is_that_of_the_published_schema(shared: Path) -> None:
    assert identity(shared / "acp-schema", 1) == SCHEMA_ID


def test_every_definition_has_a_shape(definitions: dict[str, Any]) -> None:
    assert [name for name in definitions if not hasattr(v1, name)] == []


def test_every_object_has_the_members_that_are_published(definitions: dict[str, Any]) -> None:
    seen = 0
    for name, schema in definitions.items():
        shape = getattr(v1, name)
        if not is_typeddict(shape):
            continue
        members = set(schema.get("properties", {}))
        if "properties" in schema:
            hints = get_type_hints(shape, include_extras=True)
            assert hints.keys() == members, name
            required = {key for key, hint in hints.items() if get_origin(hint) is not NotRequired}
            assert required == set(schema.get("required", ())), name
        assert shape.__extra_items__ is not NoExtraItems
        seen += 1
    assert seen > 150


def test_what_is_only_unstable_is_told(shared: Path, definitions: dict[str, Any]) -> None:
    stable = json.loads((shared / "acp-schema/v1/schema.json").read_text())["$defs"]
    assert definitions.keys() - stable.keys() == v1.UNSTABLE
    assert v1.UNSTABLE_MEMBERS["PromptResponse"] == ("usage",)
    assert "plan_update" in v1.UNSTABLE_MEMBERS["SessionUpdate"]
