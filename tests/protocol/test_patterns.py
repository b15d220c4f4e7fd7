"""Patterns that are compiled, and those that would take the memory away."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol import safe_regex
from acp_protocol.safe_regex import PatternError, compile_pattern, expanded_size


def test_a_pattern_is_tried_for_a_bounded_time_and_lets_others_work() -> None:
    evil = compile_pattern("((a|a)+)+$")
    with pytest.raises(TimeoutError):
        evil.search("a" * 60 + "b", timeout=0.05, concurrent=True)
    assert compile_pattern("A", ignore_case=True).search("a", timeout=1.0, concurrent=True)
    assert compile_pattern(b"\\xff").search(b"\xff", timeout=1.0, concurrent=True)
    assert not compile_pattern("A").search("a", timeout=1.0, concurrent=True)


@pytest.mark.parametrize("pattern", ["(", "[", "(?P<a>", "*", "a++*", "(?<=a*)b("])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="at position"):
        compile_pattern(pattern)
    with pytest.raises(PatternError, match="at position"):
        compile_pattern(pattern.encode())


def test_what_may_be_read_otherwise_one_day_is_no_warning() -> None:
    assert compile_pattern("[[a]--b]")


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("abc", 3),
        ("(ab){3}", 6),
        ("(?:a{9}b){10,}", 12 * 11),
        (r"\{9}[{9}(]{2}", 5),
        (r"[\]{9}]{5}", 5),
        ("((a+)+)+", 8),
        ("x{,9}y*z?", 5),
        ("a{}b{x}", 6),
        ("))", 2),
    ],
)
def test_the_parts_of_a_pattern_are_counted_as_they_are_written_out(
    pattern: str, parts: int
) -> None:
    assert expanded_size(pattern) == parts


@pytest.mark.parametrize(
    "pattern",
    ["(?:(?:(?:a{99}){99}){99}){99}", "(?:" * 30 + "ab" + ")+" * 30, "a{99999999999999999999999}"],
)
def test_a_pattern_that_would_take_all_memory_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="too long"):
        compile_pattern(pattern)
    with pytest.raises(PatternError, match="too long"):
        compile_pattern(pattern.encode())


@given(st.text("ab(){}[]\\\\+*?|^$,19", max_size=30))
def test_whatever_is_typed_is_a_pattern_or_refused(pattern: str) -> None:
    try:
        compile_pattern(pattern)
    except PatternError:
        assert expanded_size(pattern) >= 0


def test_the_library_is_not_imported_before_a_pattern_is_compiled() -> None:
    program = f"import sys, {safe_regex.__name__}; print('regex' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"False\n"
