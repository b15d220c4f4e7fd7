"""Unified diffs, and the two texts that an official diff holds instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.dialects.unified_diff import COMPARED, texts_from_diff, write_unified_diff


def test_a_diff_is_read_as_two_texts_and_written_from_them() -> None:
    diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-x\n+y\n"
    assert texts_from_diff(diff) == ("x\n", "y\n")
    assert write_unified_diff("/abs/project/a.txt", "x\n", "y\n") == diff


def test_several_hunks_become_one_excerpt() -> None:
    diff = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9,2 @@ def f():\n d\n+e\n"
    assert texts_from_diff(diff) == ("a\nb\nd\n", "a\nc\nd\ne\n")


def test_a_new_file_has_no_text_before() -> None:
    diff = write_unified_diff("/a", None, "one\n")
    assert diff.startswith("--- /dev/null\n")
    assert texts_from_diff(diff) == (None, "one\n")


def test_what_is_no_diff_is_two_empty_texts() -> None:
    assert texts_from_diff("nothing\n-of\n+this") == ("", "")


TEXTS = st.text("ab\n\r -+@\\", max_size=40)


@given(TEXTS, TEXTS)
def test_a_written_diff_holds_both_texts_whole(before: str, after: str) -> None:
    if before != after:
        assert texts_from_diff(write_unified_diff("/a", before, after)) == (before, after)


@pytest.mark.parametrize("before", ["", "a\n" * COMPARED, "a\n" * COMPARED + "b"])
def test_long_texts_are_replaced_whole(before: str) -> None:
    after = "c\n" * COMPARED + "d"
    assert texts_from_diff(write_unified_diff("/a", before, after)) == (before, after)


@given(st.text())
def test_reading_never_fails(diff: str) -> None:
    before, after = texts_from_diff(diff)
    assert isinstance(before, str | None)
    assert isinstance(after, str)
