"""Patches as they are read, and what they make of a text."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.world.diffs import PatchError, git_patch, parse_patch

TEXTS = st.lists(
    st.sampled_from(["a", "b", "", "- x", "+", "@@ -1 +1 @@", "--- a"]), max_size=12
).flatmap(lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])]))
HEAD = "--- a/it\n+++ b/it\n"


def applied(patch: str, text: str | None) -> str:
    (found,) = parse_patch(patch)
    return found.apply(text)


@given(TEXTS, TEXTS)
def test_a_patch_of_two_texts_makes_the_second_of_the_first(old: str, new: str) -> None:
    patch = git_patch("/it", old, new)
    if "@@" in patch.partition("+++")[2]:
        assert applied(patch, old) == new


@given(TEXTS, TEXTS, st.integers(0, 3))
def test_any_width_of_context_will_do(old: str, new: str, width: int) -> None:
    lines = [f"{line}\n" for line in old.split("\n")], [f"{line}\n" for line in new.split("\n")]
    patch = "".join(difflib.unified_diff(*lines, "it", "it", n=width))
    if patch:
        assert applied(patch, old + "\n") == new + "\n"


@given(st.text(alphabet="-+@ \\\n\rab1,/"))
def test_whatever_is_given_is_a_patch_or_none(text: str) -> None:
    try:
        for patch in parse_patch(HEAD + text):
            patch.apply("a\nb\n")
    except PatchError:
        pass


@pytest.mark.parametrize(
    ("patch", "before", "after"),
    [
        ("@@ -1 +1 @@\n-a\n+b\n", "a\n", "b\n"),
        ("@@ -7 +7 @@\n-a\n+b\n", "x\na\ny\n", "x\nb\ny\n"),
        ("@@ -1,2 +1,3 @@ def f\n a\n+n\n b\n", "x\na\nb\n", "x\na\nn\nb\n"),
        ("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a", "b\n"),
        ("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "a\n", "b"),
        ("@@ -1,3 +1,2 @@\n a\n\n-b\n", "a\n\nb\n", "a\n\n"),
        ("@@ -1 +1 @@\r\n-a\r\n+b\r\n", "a\r\n", "b\r\n"),
        ("@@ -1 +1 @@\n-a\n+b", "a\n", "b\n"),
        ("@@ -1 +1 @@\n-a\n+b\n@@ -5 +5 @@\n-a\n+c\n", "a\nx\na\n", "b\nx\nc\n"),
    ],
)
def test_a_hunk_is_applied_where_it_fits(patch: str, before: str, after: str) -> None:
    assert applied(HEAD + patch, before) == after


@pytest.mark.parametrize(
    ("patch", "before", "reason"),
    [
        ("@@ -5 +5 @@\n-a\n+b\n", "a\nx\na\n", "do not stand"),
        ("@@ -1 +1 @@\n-a\n+b\n", "A\n", "do not stand"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a", "do not stand"),
        ("@@ -9,0 +9 @@\n+b\n", "a\n", "do not stand"),
        ("@@ -1 +1 @@\n-a\n", "a\n", "other numbers"),
        ("@@ -1,2 +1 @@\n-a\n+b\n", "a\n", "other numbers"),
        ("@@ -1 +1 @@\n?a\n+b\n", "a\n", "begins with none"),
        ("@@ nonsense @@\n-a\n", "a\n", "not the head"),
        ("", "a\n", "no hunk"),
        ("@@ -1 +1 @@\n-a\n+b\n", None, "there is no it"),
        ("@@ -2,0 +2 @@\n+b\n", "x\na", "no end"),
    ],
)
def test_a_hunk_that_does_not_fit_is_refused(patch: str, before: str | None, reason: str) -> None:
    with pytest.raises(PatchError, match=reason):
        applied(HEAD + patch, before)


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("", "names no file"),
        ("hello\n", "names no file"),
        ("@@ -1 +1 @@\n-a\n+b\n", "belongs to no file"),
        ("--- a/it\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "with the tool delete"),
        ("--- a/it\n+++ b/that\n@@ -1 +1 @@\n-a\n+b\n", "renames"),
        ("diff --git a/x b/y\nrename from x\nrename to y\n", "more than text"),
        ('--- "a/i\\tt"\n+++ "b/i\\tt"\n@@ -1 +1 @@\n-a\n+b\n', "in quotes"),
        ("--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n", "no name"),
        ((HEAD + "@@ -1 +1 @@\n-a\n+b\n") * 101, "more than 100 files"),
    ],
)
def test_what_is_no_patch_of_texts_is_refused(patch: str, reason: str) -> None:
    with pytest.raises(PatchError, match=reason):
        parse_patch(patch)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("a/src/x", "b/src/x", "src/x"),
        ("src/x", "src/x", "src/x"),
        ("a/x", "a/x", "a/x"),
        ("/abs/x", "/abs/x", "/abs/x"),
        ("x\t2026-01-01 00:00:00", "x\t2026-01-02", "x"),
        ("/dev/null", "b/x", "x"),
    ],
)
def test_names_are_read_with_and_without_the_prefixes_of_git(old: str, new: str, name: str) -> None:
    (patch,) = parse_patch(f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n")
    assert (patch.name, patch.is_new) == (name, old == "/dev/null")
