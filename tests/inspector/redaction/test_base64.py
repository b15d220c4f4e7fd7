"""Bytes in base64: looked into where a recording spells them, and nowhere else."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.redaction.placeholders import base64_texts, replace_in_base64


def spelled(raw: bytes, key: str = "b64") -> str:
    return f'{{"n":1,"{key}":{json.dumps(base64.b64encode(raw).decode())}}}'


@pytest.mark.parametrize("key", ["b64", "stderr_b64", "was_b64", "now_b64"])
def test_only_the_secret_in_base64_is_changed(key: str) -> None:
    line = spelled(b"\xff before secret after \xfe", key)
    changed = replace_in_base64(line, lambda text: text.replace("secret", "«secret:1»"))
    expected = b"\xff before " + "«secret:1»".encode() + b" after \xfe"
    assert changed == spelled(expected, key)


@pytest.mark.parametrize("key", ["data", "blob", "xb64"])
def test_base64_under_other_names_is_left_alone(key: str) -> None:
    line = spelled(b"a secret in an image", key)
    assert list(base64_texts(line)) == []
    assert replace_in_base64(line, str.upper) == line


def test_what_is_no_base64_is_left_alone() -> None:
    line = '{"b64":"AAAAAAAAA","stderr_b64":"no such thing"}'
    assert replace_in_base64(line, str.upper) == line
    assert list(base64_texts(line)) == []


@given(st.binary(min_size=5))
def test_bytes_that_nothing_changes_stay_as_they_were_spelled(raw: bytes) -> None:
    line = spelled(raw)
    assert list(base64_texts(line)) == [raw.decode(errors="surrogateescape")]
    assert replace_in_base64(line, lambda text: text) == line
