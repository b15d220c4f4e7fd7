"""Patterns that would take for ever, and those that do not."""

from __future__ import annotations

import threading

import pytest

from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.patterns import (
    MAX_TIMEOUTS,
    BoundedRegex,
    PatternTimeoutError,
)
from acp_protocol.safe_regex import PatternError
from tests.inspector.talks import frames

HOSTILE = "((a|a)+)+$"
TEXT = "a" * 60 + "b"
SOON = 0.05
"""A timeout in seconds."""


def test_a_pattern_that_takes_too_long_is_given_up_while_others_work() -> None:
    begun, counted = threading.Event(), 0
    refused: list[PatternTimeoutError] = []

    def search() -> None:
        pattern = BoundedRegex(HOSTILE, timeout=SOON)
        begun.set()
        try:
            pattern.is_found_in(TEXT)
        except PatternTimeoutError as problem:
            refused.append(problem)

    thread = threading.Thread(target=search)
    thread.start()
    begun.wait(20)
    while thread.is_alive():
        counted += 1
    assert "takes longer than" in str(refused[0])
    assert counted > 1000


def test_a_pattern_that_is_always_late_is_not_tried_any_more() -> None:
    pattern = BoundedRegex(HOSTILE.encode(), timeout=SOON)
    for _ in range(MAX_TIMEOUTS):
        with pytest.raises(PatternTimeoutError, match="takes longer"):
            pattern.substitute(b"", TEXT.encode())
    with pytest.raises(PatternTimeoutError, match="timed out too often"):
        pattern.substitute(b"", b"short")


@pytest.mark.long
@pytest.mark.parametrize("text", [f"/{HOSTILE}/", f"not text ~ /{HOSTILE}/", f"$.x ~ /{HOSTILE}/"])
def test_what_a_late_pattern_would_have_found_counts_as_not_meant(text: str) -> None:
    wanted = compile_filter(text)
    assert wanted.warning == ""
    (frame,) = frames(("client", f'{{"x":"{TEXT}"}}'.encode()))
    fields = EntryFields(frame, None)
    assert not wanted.matches(fields)
    with pytest.raises(PatternTimeoutError):
        wanted.matches_or_raise(fields)
    assert "takes longer than" in wanted.warning


def test_what_is_no_pattern_or_no_replacement_is_refused() -> None:
    with pytest.raises(PatternError):
        BoundedRegex("(")
    with pytest.raises(PatternError):
        BoundedRegex("(a)").expand_empty(r"\2")
    assert BoundedRegex(b"(a)").expand_empty(rb"\1\n") == b"\n"
    assert BoundedRegex("(A)", ignores_case=True).substitute(r"<\1>", "banana") == "b<a>n<a>n<a>"


@pytest.mark.parametrize(
    "pattern",
    ["(?:(?:(?:a{99}){99}){99}){99}", "(?:" * 30 + "ab" + ")+" * 30, "a{99999999999999999999999}"],
)
def test_a_pattern_that_would_take_all_memory_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="too long"):
        BoundedRegex(pattern)
    with pytest.raises(PatternError, match="too long"):
        BoundedRegex(pattern.encode())


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}",
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"(\w+\.)+\w{2,}",
    ],
)
def test_usual_patterns_are_not(pattern: str) -> None:
    assert not BoundedRegex(pattern).is_found_in("")


def test_what_came_of_a_short_text_is_remembered_late_ones_too() -> None:
    pattern = BoundedRegex(HOSTILE, timeout=SOON)
    for _ in range(MAX_TIMEOUTS + 1):
        with pytest.raises(PatternTimeoutError, match="takes longer"):
            pattern.is_found_in(TEXT)
    assert pattern.is_found_in("aaa")
