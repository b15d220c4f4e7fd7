"""Strings of JSON, and where each of their characters is spelled."""

from __future__ import annotations

import json
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.redaction.json_strings import JsonLiteral, JsonString, strings

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def spelled(text: str, style: int) -> str:
    """Spell `text` as JSON does: as it is, in ASCII, or every character escaped."""
    if style < 2:
        return json.dumps(text, ensure_ascii=style == 1)[1:-1]
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


@given(st.text(), st.text(), st.text(), st.integers(0, 2))
def test_a_cut_in_the_value_is_the_same_cut_in_its_spelling(
    before: str, secret: str, after: str, style: int
) -> None:
    spelling = "".join(spelled(part, style) for part in (before, secret, after))
    literal = JsonLiteral(spelling, 0)
    assert literal.text == before + secret + after
    start, end = literal.offset(len(before)), literal.offset(len(before) + len(secret))
    cut = f"{spelling[:start]}X{spelling[end:]}"
    assert json.loads(f'"{cut}"') == f"{before}X{after}"


@given(VALUES)
def test_every_string_of_a_value_is_found(value: object) -> None:
    def walk(value: Any) -> list[str]:
        match value:
            case str():
                return [value]
            case list():
                return [text for item in cast("list[Any]", value) for text in walk(item)]
            case dict():
                pairs = cast("dict[str, Any]", value).items()
                return [text for pair in pairs for item in pair for text in walk(item)]
            case _:
                return []

    found = [
        item.literal.text for item in strings(json.dumps(value)) if isinstance(item, JsonString)
    ]
    assert found == walk(value)


@given(st.text())
def test_whatever_it_is_given_it_does_not_raise(text: str) -> None:
    for item in strings(text):
        if isinstance(item, JsonString):
            assert 0 <= item.literal.offset(len(item.literal.text)) <= len(text)


def test_a_string_knows_the_name_beside_it() -> None:
    text = '{"a":"1","b":["2","3"],"c":{"d":"4"}}'
    reported = [
        (item.literal.text, item.key, item.above, item.previous)
        for item in strings(text)
        if isinstance(item, JsonString) and not item.is_key
    ]
    assert reported == [
        ("1", "a", "", ""),
        ("2", "b", "", ""),
        ("3", "b", "", "2"),
        ("4", "d", "c", ""),
    ]


def test_name_and_value_are_found_in_either_order_even_when_truncated() -> None:
    for text in (
        '{"value":"v","name":"n"}',
        '[{"name":"n","value":"v"}]',
        '{"name":"n","value":"v',
    ):
        closed = [item for item in strings(text) if isinstance(item, dict)]
        assert [{k: v.text for k, v in item.items()} for item in closed] == [
            {"name": "n", "value": "v"}
        ]


def test_nesting_beyond_any_stack_is_read() -> None:
    assert sum(1 for _ in strings("[" * 100_000 + '"x"')) == 1
