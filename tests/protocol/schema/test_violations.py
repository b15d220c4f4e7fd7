"""What does not fit a shape is told in words, with the place and what a reader bears."""

# Annotations are evaluated here, as in the shapes that are made: no import from __future__.
from types import NoneType
from typing import Annotated, Any, Literal, NotRequired

import pytest
from typing_extensions import TypedDict

from acp_protocol.schema.constraints import (
    ELSE,
    ITEMS,
    NULL,
    U16,
    VALUE,
    VALUE_AND_ITEMS,
    Discriminator,
    MinLength,
    Range,
)
from acp_protocol.schema.explain import SchemaError, check


def find_errors(shape: Any, value: Any, path: str = "") -> list[SchemaError]:
    return list(check(shape, value, path).errors)


class Text(TypedDict, extra_items=Any):
    """An arm with a tag."""

    type: Literal["text"]
    text: str


class Link(TypedDict, extra_items=Any):
    """Another arm with a tag."""

    type: Literal["link"]
    uri: str


class Other(TypedDict, extra_items=Any):
    """The arm of all other tags."""

    type: str


class Bare(TypedDict, extra_items=Any):
    """An arm that asks for no tag."""

    name: str


class Result(TypedDict, extra_items=Any):
    """An arm that is known by its member."""

    result: str


class Failure(TypedDict, extra_items=Any):
    """Another arm that is known by its member."""

    error: Bare


class Holder(TypedDict, extra_items=Any):
    """An object with members of each tolerance."""

    strict: NotRequired[list[int]]
    value: NotRequired[Annotated[list[int], VALUE]]
    items: NotRequired[Annotated[list[int], ITEMS]]
    both: NotRequired[Annotated[list[int], VALUE_AND_ITEMS]]
    null: NotRequired[Annotated[list[int] | None, NULL]]


CLOSED = Annotated[Text | Link, Discriminator("type", ("text", "link"))]
OPEN = Annotated[Text | Other, Discriminator("type", ("text", ELSE))]
FALLBACK = Annotated[Text | Bare, Discriminator("type", ("text", None))]


def said(shape: Any, value: Any) -> list[str]:
    return [str(complaint) for complaint in find_errors(shape, value)]


@pytest.mark.parametrize(
    ("shape", "value", "reason"),
    [
        (str, 1, "is not a string"),
        (int, "1", "is not an integer"),
        (int, True, "is not an integer"),
        (int, 1.5, "is not an integer"),
        (float, "x", "is not a number"),
        (float, True, "is not a number"),
        (bool, 1, "is not a boolean"),
        (list[str], {}, "is not an array"),
        (dict[str, str], [], "is not an object"),
        (Bare, None, "is not an object"),
        (NoneType, 0, "is not null"),
        (str | None, 0, "is not a string"),
        (int | str | None, [], "is not an integer or string"),
        (str | int | float, [], "is not a string or number"),
        (Literal["a", "b"], "c", "is none of the known values"),
        (Literal["a", "b"], 1, "is not a string"),
        (U16, -1, "is too small"),
        (U16, 2**16, "is too large"),
        (Annotated[float, Range(0, 1)], 1.5, "is too large"),
        (Annotated[str, MinLength(1)], "", "is too short"),
        (Annotated[list[Any], MinLength(2)], [1], "is too short"),
        (Literal[1, 2] | U16, 2**16, "is too large"),
        (str, (), "is not a string"),
    ],
)
def test_a_wrong_value_is_told_in_our_words(shape: Any, value: Any, reason: str) -> None:
    assert find_errors(shape, value) == [SchemaError("", reason)]


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (int, 1.0),
        (float, 1),
        (str | None, None),
        (Literal["a"] | U16, 3),
        (Any, {"any": ["thing"]}),
        (dict[str, str], {"a": "b"}),
        (U16, 65535),
        (CLOSED, {"type": "link", "uri": "x", "more": 1}),
        (OPEN, {"type": "new"}),
        (FALLBACK, {"type": "new", "name": "x"}),
        (FALLBACK, {"name": "x"}),
        (FALLBACK, {"type": "text", "name": "x"}),
    ],
)
def test_what_fits_json_schema_fits(shape: Any, value: Any) -> None:
    assert find_errors(shape, value) == []


def test_the_path_leads_through_members_and_positions() -> None:
    value = [{"type": "text", "text": "a"}, {"type": "text", "text": 5}]
    assert find_errors(list[CLOSED], value, "params.content") == [
        SchemaError("params.content.1.text", "is not a string")
    ]


@pytest.mark.parametrize(
    ("shape", "value", "complaints"),
    [
        (CLOSED, {"uri": "x"}, ["type is missing"]),
        (CLOSED, {"type": 5}, ["type is not a string"]),
        (CLOSED, {"type": "new"}, ["type is none of the known values"]),
        (CLOSED, {"type": "link", "text": "x"}, ["uri is missing"]),
        (CLOSED, "x", ["the value is not an object"]),
        (OPEN, {"type": "text"}, ["text is missing"]),
        (OPEN, {}, ["type is missing"]),
        (FALLBACK, {"type": "text"}, ["text is missing"]),
        (FALLBACK, {}, ["name is missing"]),
        (FALLBACK, {"type": ELSE}, ["name is missing"]),
    ],
)
def test_only_the_arm_that_the_tag_names_is_spoken_of(
    shape: Any, value: Any, complaints: list[str]
) -> None:
    assert said(shape, value) == complaints


def test_without_a_tag_the_arm_that_comes_closest_is_spoken_of() -> None:
    assert said(Text | Bare, {"name": 5}) == ["name is not a string"]
    assert said(Result | Failure, {"error": {}}) == ["error.name is missing"]
    assert said(list[Text] | list[Bare], [{"name": "x"}, {}]) == ["1.name is missing"]


@pytest.mark.parametrize(
    ("member", "value", "path", "lenient"),
    [
        ("strict", "x", "strict", False),
        ("strict", [1, "x"], "strict.1", False),
        ("value", "x", "value", True),
        ("value", [1, "x"], "value.1", True),
        ("items", "x", "items", False),
        ("items", [1, "x"], "items.1", True),
        ("both", "x", "both", True),
        ("both", [1, "x"], "both.1", True),
        ("null", None, "null", True),
        ("null", "x", "null", False),
        ("null", [1, "x"], "null.1", False),
    ],
)
def test_what_a_reader_has_to_bear_is_lenient(
    member: str, value: Any, path: str, lenient: bool
) -> None:
    (complaint,) = find_errors(Holder, {member: value})
    assert (complaint.path, complaint.is_tolerated) == (path, lenient)


def test_an_arm_that_can_be_borne_is_preferred_to_one_that_cannot() -> None:
    (complaint,) = find_errors(Text | Holder, {"value": "x"})
    assert complaint == SchemaError("value", "is not an array", is_tolerated=True)
