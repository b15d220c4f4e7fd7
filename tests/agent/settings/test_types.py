"""Values of settings, as files, variables and flags write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.settings.types import (
    BOOLEAN,
    COUNT,
    DURATION,
    DURATION_OR_NEVER,
    FILES,
    HOSTS,
    PATH,
    SECONDS,
    TEXT,
    URL,
    VARIABLE,
    InvalidSettingError,
    SettingType,
    list_of,
    one_of,
    whole,
)

EVERY = (URL, BOOLEAN, COUNT, DURATION, DURATION_OR_NEVER, PATH, TEXT, VARIABLE, list_of())
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
        (URL, "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        (VARIABLE, "MY_KEY", "MY_KEY"),
        (list_of(("a", "b")), ["b"], ("b",)),
        (list_of(), [], ()),
        (FILES, ["AGENTS.md", "docs/x.md"], ("AGENTS.md", "docs/x.md")),
        (FILES, [], ()),
        (HOSTS, ["wiki.intra", "*.lab", "10.0.0.0/8"], ("wiki.intra", "*.lab", "10.0.0.0/8")),
        (one_of("a", "b"), "a", "a"),
        (PATH, "/x/y", Path("/x/y")),
    ],
)
def test_valid_value_is_parsed(kind: SettingType[object], raw: object, value: object) -> None:
    assert kind.validate(raw) == value


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
        (URL, "ftp://x"),
        (URL, "http://user:secret@x"),
        (URL, "http://x/?key=secret"),
        (URL, "http://x:99999"),
        (URL, "http://[x"),
        (VARIABLE, "sk-secret"),
        (VARIABLE, ""),
        (list_of(("a",)), ["b"]),
        (list_of(), "a"),
        (list_of(), [1]),
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
def test_invalid_value_is_refused_and_not_repeated(kind: SettingType[object], raw: object) -> None:
    with pytest.raises(InvalidSettingError, match=r"^must be ") as refused:
        kind.validate(raw)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (COUNT, "3", 3),
        (BOOLEAN, "yes", True),
        (BOOLEAN, "Off", False),
        (list_of(), "a, b", ("a", "b")),
        (list_of(), "", ()),
        (HOSTS, "wiki.intra, 10.0.0.1", ("wiki.intra", "10.0.0.1")),
        (SECONDS, "0.5", 0.5),
    ],
)
def test_text_of_a_variable_is_parsed(kind: SettingType[object], text: str, value: object) -> None:
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [(COUNT, "three"), (COUNT, "٣"), (BOOLEAN, "maybe"), (SECONDS, "-1"), (SECONDS, "nan")],
)
def test_invalid_text_of_a_variable_is_refused(kind: SettingType[object], text: str) -> None:
    with pytest.raises(InvalidSettingError):
        kind(text)


@pytest.mark.parametrize("told", [10**9 + 1, 10**23 - 1])
def test_too_large_number_is_reported_as_such(told: int) -> None:
    for read in (lambda: COUNT.validate(told), lambda: COUNT(str(told))):
        with pytest.raises(InvalidSettingError, match=r"^must be .* at most 1000000000$"):
            read()


def test_range_of_numbers_is_described() -> None:
    assert whole(1, 2).expected == "a whole number from 1 to 2"
    assert whole(1).expected == "a whole number of at least 1"


@given(RAW)
def test_any_value_is_parsed_or_refused(raw: object) -> None:
    for kind in EVERY:
        try:
            value = kind.validate(raw)
        except InvalidSettingError:
            continue
        assert kind.validate(kind.dump(value)) == value
