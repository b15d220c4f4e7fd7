"""Which names a pattern fits."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.tools.call import ToolFailedError
from acp_agent.tools.walk import matcher


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("*.py", ["a.py", "src/deep/a.py", ".py"], ["a.pyc", "a.py/b"]),
        ("a?c", ["abc", "x/abc"], ["ac", "abbc"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/c/a.py"], ["a.py"]),
        ("**/a", ["a", "x/a", "x/y/a"], ["xa"]),
        ("src/**", ["src/a", "src/b/c"], ["a", "srcs/a"]),
        ("./src/a", ["src/a"], ["a"]),
        ("/a", ["a"], ["x/a"]),
        ("*.{c,h}", ["a.c", "x/b.h"], ["a.ch", "a."]),
        ("{a,b{c,d}}", ["a", "bc", "bd"], ["b", "c"]),
        ("a,b", ["a,b"], ["a"]),
        ("[ab].[!c]", ["a.d", "b.x"], ["c.d", "a.c"]),
        ("[]-]", ["-"], ["a"]),
        ("[a-c]", ["b"], ["d", "-"]),
        ("[", ["["], ["a"]),
        ("a.b", ["a.b"], ["axb"]),
        ("(a|b)+$", ["(a|b)+$"], ["a"]),
        ("a\nb", ["a\nb"], ["a"]),
        ("[^a]", ["b"], ["a"]),
        ("[a^]", ["^", "a"], ["b"]),
        ("[[:]", ["[", ":"], ["a"]),
    ],
)
def test_a_pattern_fits(pattern: str, fitting: list[str], other: list[str]) -> None:
    fits = matcher(pattern)
    assert [name for name in fitting if not fits(name)] == []
    assert [name for name in other if fits(name)] == []


@pytest.mark.parametrize("pattern", ["", "a{b", "b}", "x" * 201, "{1..9999}"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ToolFailedError, match="not a pattern"):
        matcher(pattern)


@given(st.text(alphabet="ab*?[]{}!^-,/\\&|~.:", max_size=12))
def test_whatever_is_given_is_a_pattern_or_none(pattern: str) -> None:
    with suppress(ToolFailedError):
        matcher(pattern)("a/b")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 200 + "c"),
        ("**/x/" * 30 + "y", "x/" * 200 + "z"),
        ("{a,b}" * 5 + "*" * 150, "a" * 4000),
    ],
)
def test_a_pattern_ends_in_time_or_is_given_up(pattern: str, path: str) -> None:
    with suppress(ToolFailedError):
        assert matcher(pattern)(path) in (True, False)
