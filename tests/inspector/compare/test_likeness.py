"""How alike two messages are."""

from __future__ import annotations

from typing import Any

import pytest

from acp_inspector.compare.likeness import (
    MAX_FIELDS_SHOWN,
    MIN_LIKENESS,
    content,
    content_differences,
    likeness,
)


def alike(one: Any, other: Any) -> float:
    assert likeness(content(one), content(other)) == likeness(content(other), content(one))
    return likeness(content(one), content(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({"sessionId": "a", "path": "/x"}, {"sessionId": "b", "path": "/x"}),
        ({"updatedAt": "2026-01-01", "n": 1}, {"n": 1.0}),
        ({"n": 1, "_meta": {"run": 1}}, {"n": 1, "_meta": {"run": 2}}),
        ({"cwd": "/home/ada", "n": 1}, {"cwd": "/srv/w", "n": 1}),
        ({"additionalDirectories": ["/a"]}, {"additionalDirectories": ["/b"]}),
    ],
)
def test_what_differs_in_each_run_does_not_count(one: Any, other: Any) -> None:
    assert alike(one, other) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"cwd": "src"}, {"cwd": "lib"}),
        ({"cwd": "/a"}, {"cwd": "a"}),
        ({"flag": True}, {"flag": 1}),
        ({"additionalDirectories": ["/a"]}, {"additionalDirectories": ["/a", "/b"]}),
        ({"terminalId": "t1"}, {"terminalId": "t2"}),
    ],
)
def test_what_differs_otherwise_does(one: Any, other: Any) -> None:
    assert alike(one, other) < 1


def test_the_share_of_equal_values_decides() -> None:
    recorded = {"path": "/a", "line": 1, "limit": 5}
    assert alike(recorded, {**recorded, "limit": 6}) == pytest.approx(2 / 3)
    assert alike(recorded, {"path": "/a"}) == pytest.approx(1 / 3)


def test_a_text_with_another_number_or_id_is_nearly_the_same() -> None:
    near = alike({"text": "run 17 of ab12cd34ef"}, {"text": "run 4 of 12cd34ab00"})
    assert MIN_LIKENESS < near < 1


def test_of_texts_that_differ_the_nearer_one_is_more_alike_and_none_is_a_counterpart() -> None:
    tea, notes = ({"prompt": [{"text": text}]} for text in ("make tea", "read the notes"))
    live = {"prompt": [{"text": "make some tea"}]}
    assert 0 == alike(notes, live) < alike(tea, live) < MIN_LIKENESS
    # Two of three words, and a tenth of an equal value at most.
    assert alike(tea, live) == pytest.approx(0.1 * 2 / 3 / 1)


def test_no_number_of_near_texts_is_worth_an_equal_value() -> None:
    words = "one two three four five six seven eight nine"
    live = {**{str(n): f"{words} ten" for n in range(500)}, "path": "/a"}
    near = {**{str(n): f"{words} zero" for n in range(500)}, "path": "/b"}
    equal = {**dict.fromkeys(map(str, range(500)), "x"), "path": "/a"}
    assert alike(near, live) < alike(equal, live)


def test_a_few_values_that_differ_are_shown() -> None:
    one = {str(n): n for n in range(MAX_FIELDS_SHOWN + 2)}
    lines = content_differences(content(one), content({}))
    assert lines[:3] == ['$["0"]', "- 0", "+ «absent»"]
    assert lines[-1] == "… and 2 more fields"
    assert content_differences(content(one), content(one)) == []
