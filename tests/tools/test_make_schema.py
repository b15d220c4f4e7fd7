"""The shapes that stand in the repository are those of the published schema, and no more of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tools.make_schema import (
    ROOT,
    VERSION_FILE,
    VERSIONS,
    WORDS_FILE,
    formatted,
    identified,
    main,
    make,
)
from tools.schema.objects import ELSE, Layout, Tag
from tools.schema.published import Published, read_published
from tools.schema.shapes import shapes_source
from tools.schema.table import rows
from tools.schema.words import words_source

TEXT = {"type": "string"}
CAT = {"type": "object", "properties": {"type": {"const": "cat"}}, "required": ["type"]}
DOG = {"type": "object", "properties": {"type": {"const": "dog"}}, "required": ["type"]}


def other_than(*arms: dict[str, Any]) -> dict[str, Any]:
    return {"title": "other", "properties": {"type": TEXT}, "not": {"anyOf": list(arms)}}


def published_as(definitions: dict[str, Any]) -> Published:
    return Published(1, definitions, definitions, "0")


@pytest.fixture
def published(shared: Path) -> Published:
    return read_published(shared / "acp-schema", 1)


def test_making_them_again_gives_the_same_bytes(shared: Path) -> None:
    for version in VERSIONS:
        for path, source in make(read_published(shared / "acp-schema", version)).items():
            stands = (ROOT / path).read_bytes()
            assert stands == source.encode(), f"run: make schema SCHEMAS=… ({path})"


def test_the_identity_is_that_of_the_published_schemas(shared: Path) -> None:
    every = [read_published(shared / "acp-schema", version) for version in VERSIONS]
    stands = (ROOT / VERSION_FILE).read_text("utf-8")
    assert all(published.identity in stands for published in every)
    assert identified(stands, every) == stands


def test_words_are_those_of_the_published_schemas(shared: Path) -> None:
    every = [read_published(shared / "acp-schema", version) for version in VERSIONS]
    assert (ROOT / WORDS_FILE).read_text("utf-8") == formatted(words_source(every))


def test_another_schema_has_another_identity(published: Published) -> None:
    source = 'VERSION: Final = "1"\nSCHEMA_ID: Final = "v1+old"\n'
    new = identified(source, [replace(published, digest="new")])
    assert new == 'VERSION: Final = "1"\nSCHEMA_ID: Final = "v1+new"\n'


def test_the_order_of_the_schema_does_not_matter(published: Published) -> None:
    turned = dict(reversed(published.definitions.items()))
    assert shapes_source(replace(published, definitions=turned)) == shapes_source(published)


def test_no_prose_comes_along(published: Published) -> None:
    source = "\n".join(make(published).values())
    told = [text.splitlines()[0] for text in descriptions(published.definitions) if text]
    assert len(told) > 500
    assert [text for text in told if len(text.split()) > 3 and text in source] == []


def descriptions(schema: object) -> list[str]:
    """Return all that the schema says in words."""
    if isinstance(schema, list):
        return [text for part in cast("list[object]", schema) for text in descriptions(part)]
    if not isinstance(schema, dict):
        return []
    members = cast("dict[str, object]", schema)
    own = members.get("description")
    inner = [text for part in members.values() for text in descriptions(part)]
    return [own, *inner] if isinstance(own, str) else inner


def test_a_schema_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "--schemas" in capsys.readouterr().err


def test_what_is_read_is_what_lies_there(tmp_path: Path) -> None:
    folder = tmp_path / "v1"
    folder.mkdir()
    (folder / "schema.unstable.json").write_text(json.dumps({"$defs": {"A": TEXT, "B": TEXT}}))
    (folder / "schema.json").write_text(json.dumps({"$defs": {"A": TEXT}}))
    published = read_published(tmp_path, 1)
    assert (set(published.definitions), set(published.stable)) == ({"A", "B"}, {"A"})
    assert published.identity.startswith("v1+")


def test_merged_parts_keep_the_tolerance_of_the_wider_one() -> None:
    wide = {"type": TEXT | {"x-deserialize-default-on-error": True}}
    (arm, _) = Layout({}).arms({"properties": wide, "anyOf": [CAT, DOG]})
    assert arm.members["type"] == {"const": "cat", "x-deserialize-default-on-error": True}


def test_arms_are_told_apart_by_their_tags() -> None:
    arms = Layout({}).arms({"anyOf": [CAT, DOG, other_than(CAT, DOG)]})
    assert [arm.tags for arm in arms] == [
        (Tag("type", "cat"),),
        (Tag("type", "dog"),),
        (Tag("type", ELSE),),
    ]
    assert [arm.label for arm in arms] == ["Cat", "Dog", "Other"]


def test_an_arm_for_other_tags_has_to_mean_all_others() -> None:
    with pytest.raises(ValueError, match="left out"):
        Layout({}).arms({"anyOf": [CAT, DOG, other_than(CAT)]})


def test_tags_inside_of_tags_become_unions_inside_of_unions() -> None:
    pet = {"anyOf": [{"title": "pet", "allOf": [{"$ref": "#/$defs/Pet"}], **CAT}, DOG]}
    inner = {"properties": {"mood": TEXT}, "anyOf": [mood("calm"), mood("wild")]}
    source = shapes_source(published_as({"Animal": pet, "Pet": inner}))
    assert (
        'AnimalCat: TypeAlias = Annotated[AnimalCatCalm | AnimalCatWild, Discriminator("mood"'
        in (source.replace("'", '"'))
    )
    assert "Animal: TypeAlias = Annotated[AnimalCat | AnimalDog" in source


def mood(value: str) -> dict[str, Any]:
    return {"properties": {"mood": {"const": value}}, "required": ["mood"]}


@pytest.mark.parametrize(
    ("definitions", "fault"),
    [
        ({"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "a circle of definitions: A"),
        ({"A": {"properties": {"not": TEXT}}}, "A: no class can have the member 'not'"),
        ({"A": {"properties": {"a-b": TEXT}}}, "A: no class can have the member 'a-b'"),
    ],
)
def test_what_python_cannot_hold_is_refused(definitions: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        shapes_source(published_as(definitions))


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({"type": "integer", "format": "uint16", "minimum": 0, "maximum": 65535}, "U16"),
        ({"type": ["integer", "null"], "format": "uint32", "minimum": 0}, "U32 | None"),
        ({"type": "integer", "format": "uint32", "minimum": 1}, "Annotated[U32, Range(1, None)]"),
        ({"type": "number", "minimum": 0, "maximum": 1}, "Annotated[float, Range(0, 1)]"),
        ({"type": "string", "minLength": 1}, "Annotated[str, MinLength(1)]"),
        ({"type": "array", "items": TEXT, "minItems": 2}, "Annotated[list[str], MinLength(2)]"),
        ({"type": "object", "additionalProperties": TEXT}, "dict[str, str]"),
        ({"type": "object", "additionalProperties": True}, "dict[str, Any]"),
        ({"anyOf": [{"type": "null"}, {"const": "a"}, {"const": "b"}]}, "Literal['a', 'b'] | None"),
        ({"enum": ["a", "b"]}, "Literal['a', 'b']"),
        ({"anyOf": [TEXT, {}]}, "Any"),
        ({}, "Any"),
        (TEXT | {"x-deserialize-default-on-error": True}, "Annotated[str, VALUE]"),
        (TEXT | {"x-deserialize-default-on-null": True}, "Annotated[str | None, NULL]"),
        (
            {"type": "array", "items": TEXT, "x-deserialize-skip-invalid-items": True},
            "Annotated[list[str], ITEMS]",
        ),
    ],
)
def test_rules_of_a_member_stand_in_its_annotation(schema: dict[str, Any], annotation: str) -> None:
    definitions = {"A": {"type": "object", "properties": {"m": schema}, "required": ["m"]}}
    assert f"    m: {annotation}\n" in shapes_source(published_as(definitions))


def test_a_member_that_is_required_but_not_described_may_be_anything() -> None:
    source = shapes_source(published_as({"A": {"type": "object", "required": ["m"]}}))
    assert "    m: Any\n" in source


def test_a_method_is_found_with_its_request_its_answer_and_its_side() -> None:
    marks = {"type": "object", "x-method": "a/b", "x-side": "agent"}
    names = ["DoRequest", "DoResponse", "DoNotification"]
    request, notification = reversed(rows(published_as(dict.fromkeys(names, marks))))
    assert (request.kind, request.sent_by) == ("request", "client")
    assert (request.params, request.result) == ("DoRequest", "DoResponse")
    assert (notification.kind, notification.params) == ("notification", "DoNotification")
    assert notification.result is None
