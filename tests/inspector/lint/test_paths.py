"""What is absolute, and what may be the same place."""

from __future__ import annotations

import pytest

from acp_inspector.lint.text_checks import is_absolute, is_inside, may_be_same


@pytest.mark.parametrize("path", ["/", "/a b", "C:\\a", "c:/a", "\\\\host\\share", "//host/share"])
def test_posix_and_windows_paths_are_absolute(path: str) -> None:
    assert is_absolute(path)


@pytest.mark.parametrize("path", ["", "a", "./a", "~/a", "C:a", "\\a", "file:///a", None, 1, ["/"]])
def test_whatever_begins_nowhere_is_not(path: object) -> None:
    assert not is_absolute(path)


@pytest.mark.parametrize(
    ("one", "another"),
    [("/a/b", "/a/b/"), ("/a/./b", "/a/c/../b"), ("C:\\A", "c:/a"), ("/tmp/a", "/private/tmp/a")],
)
def test_spellings_of_one_place_may_be_the_same(one: str, another: str) -> None:
    assert may_be_same(one, another)
    assert may_be_same(another, one)


def test_other_places_are_not_the_same() -> None:
    assert not may_be_same("/a/b", "/a/c")
    assert not may_be_same("/a/b", "/a")


def test_only_what_is_below_is_inside() -> None:
    assert is_inside("/a/b", "/a")
    assert is_inside("/a/b", "/a/")
    assert is_inside("/a", "/")
    assert not is_inside("/ab", "/a")
    assert not is_inside("/a/", "/a")
