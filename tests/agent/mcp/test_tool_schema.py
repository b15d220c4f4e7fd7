"""Schemas of servers, as services are told them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from acp_agent.mcp.tools import MAX_DEPTH, UnfitToolError, offered_schema
from acp_protocol.jsonrpc import Json

METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA)
"""Holds a schema against that of schemas; whether a text is an expression is not looked at."""


def offered(**words: Json) -> dict[str, Json]:
    return offered_schema({"type": "object", **words})


def of_one(schema: Json) -> Json:
    """Return what is offered for one argument."""
    return offered(properties={"a": schema})["properties"]["a"]


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"type": ["string", "null"], "minLength": 1, "pattern": r"\p{L}+"},
        {"anyOf": [{"$ref": "#/$defs/b"}, {"const": {"$ref": "http://192.0.2.1/"}}]},
        {"type": "array", "items": {"$ref": "#/definitions/c~1d%20e"}},
        {"$ref": "#"},
        {"$ref": "#here"},
        {"description": "An x-ray", "x-ray": [1], "default": {"type": 7}},
        {"properties": {"$ref": {"type": "string"}, "items": {}, "required": {}}},
    ],
)
def test_what_stands_by_itself_stays_as_it_is(schema: Json) -> None:
    made = offered(
        properties={"a": schema},
        required=["a"],
        **{"$defs": {"b": {"$anchor": "here"}}, "definitions": {"c/d e": True}},
    )
    assert made["properties"] == {"a": schema}


@pytest.mark.parametrize(
    "reference",
    [
        *("http://192.0.2.1/a.json", "https://192.0.2.1/a#/b", "file:///etc/passwd", "a.json"),
        *("urn:a", "", "#/$defs/missing", "#nowhere", "#/properties/a/enum/0", "#/required/7"),
        *("#/required/99999999999999999999", "#/properties/a/enum/\u0663"),
    ],
)
def test_what_refers_to_somewhere_else_or_nowhere_is_refused(reference: str) -> None:
    with pytest.raises(UnfitToolError, match="it refers to "):
        offered(properties={"a": {"enum": [1]}, "b": {"items": {"$ref": reference}}}, required=[])


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (7, ""),
        ({"type": "text"}, ".type"),
        ({"type": []}, ".type"),
        ({"items": [{"type": "string"}]}, ".items"),
        ({"exclusiveMinimum": True}, ".exclusiveMinimum"),
        ({"minLength": -1}, ".minLength"),
        ({"multipleOf": 0}, ".multipleOf"),
        ({"anyOf": []}, ".anyOf"),
        ({"anyOf": [{"not": "a"}]}, ".anyOf.0.not"),
        ({"properties": []}, ".properties"),
        ({"required": ["b", "b"]}, ".required"),
        ({"required": True}, ".required"),
        ({"$ref": 7}, ".$ref"),
        ({"$id": "a#b"}, ".$id"),
        ({"$anchor": "7"}, ".$anchor"),
    ],
)
def test_what_is_no_schema_is_refused_and_the_place_told(schema: Json, place: str) -> None:
    with pytest.raises(UnfitToolError) as refused:
        of_one(schema)
    assert str(refused.value) == f"its inputSchema is no JSON Schema at properties.a{place}"


def test_what_services_refuse_at_the_root_is_left_to_the_server() -> None:
    made = offered(
        anyOf=[{"required": ["a"]}, {"required": ["b"]}],
        **{"$schema": "http://json-schema.org/draft-07/schema#", "not": {"required": ["c"]}},
    )
    assert made == {"type": "object"}


def test_a_list_of_anything_says_so() -> None:
    assert of_one({"type": "array"}) == {"type": "array", "items": {}}
    assert of_one({"type": ["array", "null"]})["items"] == {}
    assert of_one({"type": "array", "items": False})["items"] is False


@pytest.mark.parametrize("name", ["", "a b", "ä", "a" * 65, "a$"])
def test_arguments_whose_names_no_service_takes_are_refused(name: str) -> None:
    with pytest.raises(UnfitToolError, match="no service takes an argument called"):
        offered(properties={name: {}})


def test_what_is_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(MAX_DEPTH * 1000):
        schema = {"not": schema}
    with pytest.raises(UnfitToolError):
        of_one(schema)
    while schema:
        schema = schema.pop("not")


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(UnfitToolError, match="its arguments are not an object"):
        offered(type="array")


WORDS = st.sampled_from(
    [
        *("$anchor", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$ref"),
        *("additionalProperties", "allOf", "anyOf", "const", "contains", "default", "definitions"),
        *("dependencies", "dependentRequired", "dependentSchemas", "deprecated", "description"),
        *("else", "enum", "examples", "exclusiveMaximum", "format", "if", "items", "maxItems"),
        *("maximum", "minContains", "minLength", "multipleOf", "not", "oneOf", "pattern"),
        *("patternProperties", "prefixItems", "properties", "propertyNames", "readOnly"),
        *("required", "then", "title", "type", "unevaluatedItems", "uniqueItems", "x-own"),
    ]
)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "#", "a", "object", "string", "array", "#/properties", "#/$defs/a", "9"]),
    st.lists(st.sampled_from(["a", "b", "string", "null"]), max_size=3),
)
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.dictionaries(WORDS, inner, max_size=4),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)


@given(words=st.dictionaries(WORDS, ANYTHING, max_size=5))
def test_whatever_is_offered_is_a_schema_of_an_object(words: dict[str, Json]) -> None:
    try:
        made = offered_schema(words)
    except UnfitToolError:
        return
    assert made["type"] == "object"
    assert METASCHEMA.is_valid(made)


@given(words=st.dictionaries(WORDS, ANYTHING, max_size=3))
def test_a_schema_is_refused_for_its_references_at_most(words: dict[str, Json]) -> None:
    schema: dict[str, Json] = {**words, "type": "object", "properties": {"a": True}}
    reason = "it refers to "
    try:
        if METASCHEMA.is_valid(schema):
            offered_schema(schema)
    except UnfitToolError as refusal:
        reason = str(refusal)
    assert reason.startswith("it refers to ")
