"""YAML and its lines."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.config.documents import ConfigurationError
from acp_agent.config.yaml_file import read_yaml

TEXT = """\
models: {of: the router}
acp:
  enabled: true
  sessions:
    idle_timeout: "1h"
    max_concurrent: 3
  permissions:
    auto_allow:
      - read
      - search
"""


def test_what_stands_below_acp_is_read_with_its_lines() -> None:
    document = read_yaml(Path("a.yaml"), TEXT)
    assert document.tree == {
        "enabled": True,
        "sessions": {"idle_timeout": "1h", "max_concurrent": 3},
        "permissions": {"auto_allow": ["read", "search"]},
    }
    assert document.lines["sessions", "max_concurrent"] == 6
    assert document.lines["permissions", "auto_allow", 1] == 10
    assert ("models",) not in document.lines


def test_words_mean_what_they_mean_in_yaml_1_2() -> None:
    text = "acp: {a: no, b: 1:30, c: 0x10, d: 2020-01-01, e: 010, f: ~, g: 1.5, h: '1', i: }"
    tree = read_yaml(Path("a.yaml"), text).tree
    words = {"a": "no", "b": "1:30", "c": "0x10", "d": "2020-01-01"}
    assert tree == words | {"e": 10, "f": None, "g": 1.5, "h": "1", "i": None}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "acp: is missing"),
        ("x: 1", "acp: is missing"),
        ("acp: 1", "acp: is missing"),
        ("acp:\n  a: 1\n b: 2", ":3: "),
        ("acp: [", ":1: "),
        ("acp:\n  a: 1\n  a: 2", ":3: a stands there twice"),
        ("acp: &x\n  a: *x", ":2: an alias is not taken"),
        ("acp:\n  a: !!python/name:os.system x", ":2: a tag is not taken"),
        ("acp:\n  <<: {a: 1}", ":2: a key has to be a word"),
        ("acp:\n  [a]: 1", ":2: a key has to be a word"),
        ("acp: 1\n---\nacp: 2", ":2: |:3: "),
        ("acp: \x07", "none that YAML takes"),
        ("[" * 5000, "too deep"),
    ],
)
def test_what_cannot_be_taken_is_told(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        read_yaml(Path("a.yaml"), text)


@given(st.text(st.sampled_from("acp: {}[]-&*!|>'\"\n\t#x1~<%@,?")))
def test_whatever_is_in_a_file_is_read_or_told(text: str) -> None:
    with suppress(ConfigurationError):
        read_yaml(Path("a.yaml"), f"acp:\n {text}")


@pytest.mark.parametrize("text", ["acp:\n  a: [1, 2\n", "acp: {\n", "acp: [", 'acp: "\n\n'])
def test_no_line_is_told_that_the_file_has_not(text: str) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        read_yaml(Path("a.yaml"), text)
    assert 1 <= int(str(wrong.value).split(":")[1]) <= len(text.splitlines())
