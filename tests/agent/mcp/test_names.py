"""Names of servers and tools, whatever somebody calls them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.mcp.declarations import server_id, tool_name
from acp_protocol.user_files.mcp_ids import NAME_LENGTH, is_server_id

RULE = re.compile(r"^(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$")
"""As the protocol digest words it."""
NAMES = st.one_of(st.text(), st.text(alphabet="aZ9._- é", max_size=200))


@pytest.mark.parametrize("text", ["a", "9", "a-b", "a_b", "a.b", "a" * 128, "a.-_b"])
def test_what_keeps_to_the_rules_is_an_id(text: str) -> None:
    assert is_server_id(text)
    assert server_id(text) == text


@pytest.mark.parametrize(
    "text", ["", "_", "a__b", "-a", "a.", "a b", "é", "a" * 129, "a\n", "a/b", "٣"]
)
def test_what_breaks_a_rule_is_no_id(text: str) -> None:
    assert not is_server_id(text)


@given(NAMES)
def test_the_rules_are_those_of_the_dialect(text: str) -> None:
    assert is_server_id(text) == (RULE.match(text) is not None and not text.endswith("\n"))


@given(NAMES, st.integers(0, 12))
def test_every_name_becomes_an_id_that_nobody_else_has(name: str, others: int) -> None:
    taken: set[str] = set()
    for _ in range(others + 1):
        id_ = server_id(name, taken)
        assert is_server_id(id_)
        assert id_ not in taken
        taken.add(id_)


@given(NAMES, st.lists(NAMES, max_size=8, unique=True))
def test_every_service_takes_the_name_of_a_tool(server: str, tools: list[str]) -> None:
    id_ = server_id(server)
    taken: set[str] = set()
    for tool in tools:
        name = tool_name(id_, tool, taken)
        assert re.fullmatch(r"[a-zA-Z0-9_-]+", name)
        assert len(name) <= NAME_LENGTH
        assert name not in taken
        taken.add(name)


def test_a_tool_is_named_after_its_server() -> None:
    assert tool_name("weather", "look_up") == "weather__look_up"
    assert tool_name("my.weather", "get/it") == "my-weather__get_it"
    assert tool_name("weather", "_private").partition("__")[0] == "weather"


def test_long_names_stay_apart_and_stay_the_same() -> None:
    first, second = tool_name("w", "x" * 80 + "1"), tool_name("w", "x" * 80 + "2")
    assert first != second
    assert first == tool_name("w", "x" * 80 + "1")
