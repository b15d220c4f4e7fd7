"""TOML and its lines."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.config.documents import ConfigurationError
from acp_agent.config.showing import toml
from acp_agent.config.toml_file import read_toml
from acp_protocol.jsonrpc import Json

TEXT = '''\
# a comment
enabled = true

[model]
name = "a" # [no.table]
list = [
  1,  # ]
  "]",
]
text = """
[not.a.table]
x = 1
"""

[[model.others]]
name = "b"
[model.others.deep]
inner.most = { x = 1 }
[[model.others]]
name = "c"
["odd.key"]
"x y" = 1
'''


def test_each_value_has_the_line_where_its_statement_begins() -> None:
    document = read_toml(Path("a.toml"), TEXT)
    assert document.tree == tomllib.loads(TEXT)
    assert document.lines == {
        ("enabled",): 2,
        ("model",): 4,
        ("model", "name"): 5,
        ("model", "list"): 6,
        ("model", "list", 0): 6,
        ("model", "list", 1): 6,
        ("model", "text"): 10,
        ("model", "others", 0): 15,
        ("model", "others", 0, "name"): 16,
        ("model", "others", 0, "deep"): 17,
        ("model", "others", 0, "deep", "inner"): 18,
        ("model", "others", 0, "deep", "inner", "most"): 18,
        ("model", "others", 0, "deep", "inner", "most", "x"): 18,
        ("model", "others", 1): 19,
        ("model", "others", 1, "name"): 20,
        ("odd.key",): 21,
        ("odd.key", "x y"): 22,
    }


def test_windows_line_ends_count_as_one() -> None:
    document = read_toml(Path("a.toml"), TEXT.replace("\n", "\r\n"))
    assert document.lines["model", "others", 1, "name"] == 20


def test_a_separator_within_a_text_is_no_line_end() -> None:
    assert read_toml(Path("a.toml"), "a = 'x\u2028y'\nb = 1").lines == {("a",): 1, ("b",): 2}


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = ", 2), ("[a", 1), ("a = 1\n\na = 2\n", 3), ('x = """\n\n', 1), ("a = nope", 1)],
)
def test_what_is_no_toml_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"^a\.toml:{line}: \w+"):
        read_toml(Path("a.toml"), text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[model]\nname = 'a'\nname = 'b'", "3: name"),
        ("[model]\nx = 'a'\n[log]\n[model]\ny = 1", "4: model"),
        ("a = 1\na.b = 2", "2: a"),
        ('a = 1\na = """\nsecret="""', "2: a"),
        ("[[a]]\nb = 1\n[a]", "3: a"),
        ("a = {b = 1}\n[a.c]\nd = 1", "2: a.c"),
    ],
)
def test_what_stands_there_twice_is_named(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        read_toml(Path("a.toml"), text)
    assert str(wrong.value) == f"a.toml:{told}: it was set before, as a whole or in part"


@pytest.mark.parametrize("text", ["a = [1,\n2\n", "[a\nb = 1\n", "a =\n\n\n", "\n\na"])
def test_no_line_is_told_that_the_file_has_not(text: str) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        read_toml(Path("a.toml"), text)
    assert 1 <= int(str(wrong.value).split(":")[1]) <= len(text.splitlines())


def test_depth_without_end_is_told() -> None:
    with pytest.raises(ConfigurationError):
        read_toml(Path("a.toml"), "a = " + "[" * 20000)


WORDS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers(-(10**9), 10**9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_every_value_of_every_file_has_a_line(tree: dict[str, Json]) -> None:
    lines = [f"{toml({name: value})[2:-2]}\n" for name, value in tree.items()]
    document = read_toml(Path("a.toml"), "".join(lines))
    assert document.tree == tree
    assert [document.lines[name,] for name in tree] == list(range(1, len(tree) + 1))


@given(st.text())
def test_whatever_is_in_a_file_is_read_or_told(text: str) -> None:
    with suppress(ConfigurationError):
        read_toml(Path("a.toml"), text)
