"""In which line of a TOML text each key stands."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scenario.reading.lines import Path, key_lines
from acp_agent.scenario.values import entries, members

TEXT = '''\
seed = 1 # [[prompt]]
[agent]
a.b = "x = 1"
"q k" = 2
[[prompt]]
steps = [
  { text = "a]", split = { bytes = 1 } },
  { thought = """x
y = 3""" },
  # { plan = [] }
  { plan = ["a",
    'b'] },
]
[[prompt]]
when = 2026-01-05 09:00:00
[[prompt.steps]]
text = 'a'
[[prompt.steps]]
text = 'b'
[prompt.more.of]
it = true
'''
KEYS = st.text("ab-_1", min_size=1, max_size=3)
VALUES = st.recursive(
    st.integers(-9, 9).map(str)
    | st.sampled_from(['"a # ] }"', "'x'", '""', "true", "1.5", '"""a\nb = 1"""', "'''\n[c]'''"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[\n" + ", # ]\n".join(items) + "]")
        | st.dictionaries(KEYS, inner, max_size=3).map(
            lambda table: (
                "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"
            )
        )
    ),
    max_leaves=6,
)


def paths(value: Any, path: Path = ()) -> set[Path]:
    """Return the path of everything in a value."""
    found: set[Path] = {path} if path else set()
    for key, inner in [*members(value).items(), *enumerate(entries(value))]:
        found |= paths(inner, (*path, key))
    return found


def test_each_key_has_its_line() -> None:
    lines = key_lines(TEXT)
    assert lines["seed",] == 1
    assert lines["agent", "a", "b"] == 3
    assert lines["agent", "q k"] == 4
    assert lines["prompt", 0, "steps", 0, "split", "bytes"] == 7
    assert lines["prompt", 0, "steps", 1, "thought"] == 8
    assert lines["prompt", 0, "steps", 2, "plan", 1] == 12
    assert lines["prompt", 1] == 14
    assert lines["prompt", 1, "steps", 1, "text"] == 19
    assert lines["prompt", 1, "more", "of", "it"] == 21


def test_nothing_else_has_a_line() -> None:
    assert set(key_lines(TEXT)) == paths(tomllib.loads(TEXT))


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_key_is_found_whatever_stands_around_it(table: dict[str, str]) -> None:
    text = "".join(f"{key} = {value}\n" for key, value in table.items())
    assert set(key_lines(text)) == paths(tomllib.loads(text))
