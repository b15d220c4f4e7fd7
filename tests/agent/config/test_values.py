"""What can stand behind a key, and what cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.config.values import (
    ADDRESS,
    BOOLEAN,
    COUNT,
    DURATION,
    DURATION_OR_NEVER,
    FILES,
    HOSTS,
    PATH,
    PAUSE,
    TEXT,
    VARIABLE,
    Kind,
    UnfitError,
    one_of,
    whole,
    words_of,
)

EVERY = (ADDRESS, BOOLEAN, COUNT, DURATION, DURATION_OR_NEVER, PATH, TEXT, VARIABLE, words_of())
RAW = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (COUNT, 3, 3),
        (BOOLEAN, False, False),
        (DURATION, "90s", 90.0),
        (DURATION, "1.5m", 90.0),
        (DURATION, "2d", 172800.0),
        (DURATION, "90", 90.0),
        (DURATION, 90, 90.0),
        (DURATION_OR_NEVER, "never", None),
        (ADDRESS, "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        (VARIABLE, "MY_KEY", "MY_KEY"),
        (words_of(("a", "b")), ["b"], ("b",)),
        (words_of(), [], ()),
        (FILES, ["AGENTS.md", "docs/x.md"], ("AGENTS.md", "docs/x.md")),
        (FILES, [], ()),
        (HOSTS, ["wiki.intra", "*.lab", "10.0.0.0/8"], ("wiki.intra", "*.lab", "10.0.0.0/8")),
        (one_of("a", "b"), "a", "a"),
        (PATH, "/x/y", Path("/x/y")),
    ],
)
def test_a_value_that_fits_is_taken(kind: Kind[object], raw: object, value: object) -> None:
    assert kind.value(raw) == value


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (COUNT, 0),
        (COUNT, True),
        (COUNT, 1.0),
        (COUNT, "3"),
        (COUNT, 10**9 + 1),
        (BOOLEAN, "true"),
        (BOOLEAN, 1),
        (DURATION, True),
        (DURATION, 0),
        (DURATION, float("nan")),
        (DURATION, float("inf")),
        (DURATION, "1y"),
        (DURATION, "never"),
        (DURATION, "٣s"),
        (ADDRESS, "ftp://x"),
        (ADDRESS, "http://user:secret@x"),
        (ADDRESS, "http://x/?key=secret"),
        (ADDRESS, "http://x:99999"),
        (ADDRESS, "http://[x"),
        (VARIABLE, "sk-secret"),
        (VARIABLE, ""),
        (words_of(("a",)), ["b"]),
        (words_of(), "a"),
        (words_of(), [1]),
        (FILES, ["/etc/passwd"]),
        (FILES, ["../AGENTS.md"]),
        (FILES, ["."]),
        (HOSTS, ["http://secret"]),
        (HOSTS, "wiki.intra"),
        (HOSTS, ["10.0.0.0/99"]),
        (one_of("a"), ["a"]),
        (TEXT, " "),
        (TEXT, "a\0b"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_not_repeated(
    kind: Kind[object], raw: object
) -> None:
    with pytest.raises(UnfitError, match=r"^must be ") as refused:
        kind.value(raw)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (COUNT, "3", 3),
        (BOOLEAN, "yes", True),
        (BOOLEAN, "Off", False),
        (words_of(), "a, b", ("a", "b")),
        (words_of(), "", ()),
        (HOSTS, "wiki.intra, 10.0.0.1", ("wiki.intra", "10.0.0.1")),
        (PAUSE, "0.5", 0.5),
    ],
)
def test_a_text_of_the_environment_is_read(kind: Kind[object], text: str, value: object) -> None:
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [(COUNT, "three"), (COUNT, "٣"), (BOOLEAN, "maybe"), (PAUSE, "-1"), (PAUSE, "nan")],
)
def test_a_text_that_does_not_fit_is_refused(kind: Kind[object], text: str) -> None:
    with pytest.raises(UnfitError):
        kind(text)


@pytest.mark.parametrize("told", [10**9 + 1, 10**23 - 1])
def test_a_number_that_is_too_large_is_told_as_that(told: int) -> None:
    for read in (lambda: COUNT.value(told), lambda: COUNT(str(told))):
        with pytest.raises(UnfitError, match=r"^must be a whole number of at most 1000000000$"):
            read()


def test_a_range_is_told() -> None:
    assert whole(1, 2).must == "a whole number from 1 to 2"
    assert whole(1).must == "a whole number of at least 1"


@given(RAW)
def test_whatever_stands_there_fits_or_is_refused(raw: object) -> None:
    for kind in EVERY:
        try:
            value = kind.value(raw)
        except UnfitError:
            continue
        assert kind.value(kind.write(value)) == value
