"""Values of settings, as files, variables and flags write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from acp_agent.door.flags import new_parser
from acp_agent.settings.keys import Setting, Version
from acp_agent.settings.types import (
    Boolean,
    Count,
    DatabaseUrl,
    Duration,
    DurationOrNever,
    Files,
    Hosts,
    InvalidSettingError,
    PathText,
    Storage,
    Text,
    Texts,
    ToolKinds,
    Url,
    Variable,
)


def key(kind: Any) -> Setting:
    return Setting("x", FieldInfo.from_annotation(kind))


EVERY = [
    key(each)
    for each in (
        Url,
        Boolean,
        Count,
        Duration,
        DurationOrNever,
        PathText,
        Storage,
        Text,
        Variable,
        Texts,
    )
]
RAW = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (Count, 3, 3),
        (Boolean, False, False),
        (Duration, "90s", 90.0),
        (Duration, "1.5m", 90.0),
        (Duration, "2d", 172800.0),
        (Duration, "90", 90.0),
        (Duration, 90, 90.0),
        (DurationOrNever, "never", None),
        (Url, "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        (Variable, "MY_KEY", "MY_KEY"),
        (ToolKinds, ["read"], ("read",)),
        (Texts, [], ()),
        (Files, ["AGENTS.md", "docs/x.md"], ("AGENTS.md", "docs/x.md")),
        (Files, [], ()),
        (Hosts, ["wiki.intra", "*.lab", "10.0.0.0/8"], ("wiki.intra", "*.lab", "10.0.0.0/8")),
        (Literal["a", "b"], "a", "a"),
        (PathText, "/x/y", Path("/x/y")),
        (Storage, "/x/y", Path("/x/y")),
        (Storage, "memory", None),
        (Storage, "postgresql://acp@db/acp", DatabaseUrl("postgresql://acp@db/acp")),
        (Storage, "postgres:///acp?host=/run", DatabaseUrl("postgres:///acp?host=/run")),
    ],
)
def test_valid_value_is_parsed(kind: Any, raw: object, value: object) -> None:
    assert key(kind).read(raw) == value


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (Count, 0),
        (Count, True),
        (Count, 1.0),
        (Count, "3"),
        (Count, 10**9 + 1),
        (Boolean, "true"),
        (Boolean, 1),
        (Duration, True),
        (Duration, 0),
        (Duration, float("nan")),
        (Duration, float("inf")),
        (Duration, "1y"),
        (Duration, "never"),
        (Duration, "٣s"),
        (Url, "ftp://x"),
        (Url, "http://user:secret@x"),
        (Url, "http://x/?key=secret"),
        (Url, "http://x:99999"),
        (Url, "http://[x"),
        (Variable, "sk-secret"),
        (Storage, "mysql://acp@db/acp"),
        (Storage, "postgresql://acp@[db/acp"),
        (Storage, "postgresql://acp@db/acp\n"),
        (Variable, ""),
        (ToolKinds, ["reading"]),
        (Texts, "a"),
        (Texts, [1]),
        (Files, ["/etc/passwd"]),
        (Files, ["../AGENTS.md"]),
        (Files, ["."]),
        (Hosts, ["http://secret"]),
        (Hosts, "wiki.intra"),
        (Hosts, ["10.0.0.0/99"]),
        (Literal["a", "b"], ["a"]),
        (Text, " "),
        (Text, "a\0b"),
    ],
)
def test_invalid_value_is_refused_and_not_repeated(kind: Any, raw: object) -> None:
    with pytest.raises(InvalidSettingError, match=r"^must be ") as refused:
        key(kind).read(raw)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Count, "3", 3),
        (Boolean, "yes", True),
        (Boolean, "Off", False),
        (Texts, "a, b", ("a", "b")),
        (Texts, "", ()),
        (Hosts, "wiki.intra, 10.0.0.1", ("wiki.intra", "10.0.0.1")),
    ],
)
def test_text_of_a_variable_is_parsed(kind: Any, text: str, value: object) -> None:
    assert key(kind)(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Count, "three"), (Count, "٣"), (Boolean, "maybe")],
)
def test_invalid_text_of_a_variable_is_refused(kind: Any, text: str) -> None:
    with pytest.raises(InvalidSettingError):
        key(kind)(text)


@pytest.mark.parametrize("told", [10**9 + 1, 10**23 - 1])
def test_too_large_number_is_reported_as_such(told: int) -> None:
    for read in (lambda: key(Count).read(told), lambda: key(Count)(str(told))):
        with pytest.raises(InvalidSettingError, match=r"^must be .* at most 1000000000$"):
            read()


def test_range_of_numbers_is_described() -> None:
    for raw in (0, "1"):
        with pytest.raises(InvalidSettingError, match=r"^must be a whole number from 1 to 2$"):
            key(Version).read(raw)


@pytest.mark.parametrize("text", ["-1", "nan", "soon"])
def test_pace_is_a_number_of_seconds(text: str) -> None:
    assert new_parser().parse_args(["--pace", "0.5"]).pace == 0.5
    with pytest.raises(SystemExit):
        new_parser().parse_args([f"--pace={text}"])


@given(RAW)
def test_any_value_is_parsed_or_refused(raw: object) -> None:
    for kind in EVERY:
        try:
            value = kind.read(raw)
        except InvalidSettingError:
            continue
        assert kind.read(kind.dump(value)) == value


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://acp:canary@db/acp", "postgresql://acp:***@db/acp"),
        ("postgresql://acp:can/ary@db@x/acp", "postgresql://acp:***@x/acp"),
        ("postgresql://:canary@db/acp", "postgresql://:***@db/acp"),
        ("postgresql://db/acp?password=canary&a=b", "postgresql://db/acp?password=***&a=b"),
        ("postgresql://db/acp?a=b&sslpassword=canary", "postgresql://db/acp?a=b&sslpassword=***"),
    ],
)
def test_password_of_a_database_is_not_shown(url: str, shown: str) -> None:
    database = DatabaseUrl(url)
    assert str(database) == shown
    assert database.has_password
    assert "canary" not in repr(database)


@pytest.mark.parametrize("url", ["postgresql://acp@db:5432/acp?sslmode=require", "postgres://"])
def test_url_of_a_database_without_a_password_is_shown(url: str) -> None:
    assert str(DatabaseUrl(url)) == url
    assert not DatabaseUrl(url).has_password
