"""Regular expressions that hold up nobody."""

from __future__ import annotations

import threading

import pytest

from acp_agent.tools.call import ToolFailedError
from acp_agent.tools.search import SEARCHED_CHARS, line_matcher

EVIL = "(x+x+)+y"


@pytest.mark.parametrize(
    ("pattern", "is_regex", "is_exact", "holds"),
    [
        ("a.c", False, False, [False, True, True]),
        ("a.c", False, True, [False, True, False]),
        ("^a.c$", True, False, [True, True, True]),
        ("^a.c$", True, True, [True, True, False]),
    ],
)
def test_a_pattern_is_a_text_or_a_regular_expression(
    pattern: str, is_regex: bool, is_exact: bool, holds: list[bool]
) -> None:
    look = line_matcher(pattern, is_regex=is_regex, is_exact=is_exact, timeout_s=1.0)
    assert [look(line, 1.0) for line in ("abc", "a.c", "A.C")] == holds


def test_while_a_pattern_is_tried_others_work() -> None:
    look = line_matcher(EVIL, is_regex=True, is_exact=True, timeout_s=60.0)
    ended: list[bool] = []

    def try_it() -> None:
        with pytest.raises(TimeoutError):
            look("x" * 200_000, 0.5)
        ended.append(True)

    thread = threading.Thread(target=try_it)
    thread.start()
    # Whoever keeps the interpreter would have ended before this line is reached.
    assert ended == []
    thread.join()
    assert ended == [True]


def test_no_line_takes_longer_than_patience() -> None:
    with pytest.raises(TimeoutError):
        line_matcher(EVIL, is_regex=True, is_exact=True, timeout_s=0.05)("x" * 200_000, 3600.0)


def test_of_a_long_line_the_beginning_is_looked_at() -> None:
    look = line_matcher("needle", is_regex=False, is_exact=True, timeout_s=1.0)
    assert look(" " * (SEARCHED_CHARS - 6) + "needle", 1.0)
    assert not look(" " * (SEARCHED_CHARS - 5) + "needle", 1.0)


@pytest.mark.parametrize(
    "pattern", ["(" * 20 + "a" + "+)" * 20, "((a{1000}){1000}){100}", "a{99999999999}", "(", "a{2"]
)
def test_what_is_no_pattern_or_would_take_the_memory_is_refused_or_a_text(pattern: str) -> None:
    if pattern == "a{2":
        assert line_matcher(pattern, is_regex=True, is_exact=True, timeout_s=1.0)("a{2", 1.0)
        return
    with pytest.raises(ToolFailedError, match="not a regular expression"):
        line_matcher(pattern, is_regex=True, is_exact=True, timeout_s=1.0)


def test_counts_beside_each_other_do_not_multiply() -> None:
    pattern = " ".join(["[0-9a-f]{64}"] * 5)
    look = line_matcher(pattern, is_regex=True, is_exact=True, timeout_s=1.0)
    assert look(" ".join(["a" * 64] * 5), 1.0)
