"""What fits a form, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.forms import form_errors

COLOURS: Json = {"type": "string", "enum": ["red", "green"]}
TITLED: Json = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}
DAYS: Json = {"type": "array", "items": {"enum": ["Mo", "Tu"]}, "minItems": 1, "maxItems": 2}


@pytest.mark.parametrize(
    ("field", "value", "trouble"),
    [
        ({"type": "string"}, "x", None),
        ({"type": "string"}, 5, "x is not text"),
        ({"type": "string"}, None, "x is not text"),
        ({"type": "string", "minLength": 2}, "a", "x is less than 2 characters"),
        ({"type": "string", "maxLength": 2}, "abc", "x is more than 2 characters"),
        ({"type": "string", "format": "date"}, "2026-02-30", "x is not a valid date"),
        ({"type": "string", "format": "date"}, "2026-02-03", None),
        ({"type": "string", "format": "date-time"}, "2026-02-03T04:05:06Z", None),
        ({"type": "string", "format": "email"}, "ada", "x is not a valid email"),
        ({"type": "string", "format": "email"}, "ada@example.org", None),
        ({"type": "string", "format": "uri"}, "example", "x is not a valid uri"),
        ({"type": "string", "format": "colour"}, "example", None),
        ({"type": "string", "pattern": "(a+)+$"}, "a" * 90 + "b", None),
        ({"type": "number"}, 1.5, None),
        ({"type": "number"}, True, "x is not a number"),
        ({"type": "number", "minimum": 2}, 1, "x is less than 2"),
        ({"type": "number", "maximum": None}, 1, None),
        ({"type": "integer"}, 2.0, None),
        ({"type": "integer"}, 2.5, "x is not a whole number"),
        ({"type": "boolean"}, False, None),
        ({"type": "boolean"}, "no", "x is not yes or no"),
        (COLOURS, "red", None),
        (COLOURS, "blue", "x does not offer 'blue'"),
        (TITLED, "r", None),
        (TITLED, "Red", "x does not offer 'Red'"),
        (DAYS, ["Mo"], None),
        (DAYS, "Mo", "x is not a list of choices"),
        (DAYS, [], "x is less than 1 choices"),
        (DAYS, ["Mo", "We"], "x does not offer 'We'"),
        (DAYS, [1], "x holds something that is not text"),
        ({"type": "_colour"}, 5, None),
        ("nothing", 5, None),
    ],
)
def test_a_field_is_held_against_what_was_asked(
    field: Json, value: Json, trouble: str | None
) -> None:
    found = list(form_errors({"properties": {"x": field}}, {"x": value}))
    assert found == ([] if trouble is None else [trouble])


def test_only_what_is_required_is_missed() -> None:
    schema = {"properties": {"a": COLOURS, "b\n": COLOURS}, "required": ["b\n", "c"]}
    assert list(form_errors(schema, {})) == ["b⏎ is missing"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
KINDS = st.sampled_from(["string", "number", "integer", "boolean", "array"])
WORDS = ["enum", "oneOf", "items", "minimum", "maxLength", "minItems", "format"]


@given(KINDS, st.dictionaries(st.sampled_from(WORDS), JSON), JSON, JSON)
def test_no_schema_and_no_answer_breaks_it(
    kind: str, field: dict[str, Json], value: Json, required: Json
) -> None:
    schema = {"properties": {"x": field | {"type": kind}}, "required": required}
    assert all(each.startswith("x ") for each in form_errors(schema, {"x": value}))
