"""Masks: nothing but the key is made unreadable, and the key wherever it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.mask import masked, without
from acp_protocol.jsonrpc import Json

KEY = "sk-canary-0123456789"
ODD = 'sk-CANARY"1234\\5678'


@pytest.mark.parametrize("key", ["n", "1", "true", '"', "\\"])
def test_a_key_that_stands_in_the_spelling_of_json_hides_nothing_else(key: str) -> None:
    asked: Json = {"a\n": [1, True, None, f"x{key}\n"]}
    assert masked(asked, key) == {"a\n": [1, True, None, f"x{'*' * len(key)}\n"]}


@given(
    pieces=st.lists(st.sampled_from([KEY.encode(), KEY.encode()[:7], b"x", b""]), max_size=6),
    size=st.integers(1, 30),
)
def test_a_key_is_masked_wherever_it_is_cut(pieces: list[bytes], size: int) -> None:
    raw = b"".join(pieces)
    chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
    masked = without(chunks, KEY)
    assert KEY.encode() not in b"".join(masked)
    assert [len(chunk) for chunk in masked] == [len(chunk) for chunk in chunks]


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (
            b'{"error": {"message": "no sk-CANARY\\"1234\\\\5678"}}',
            b'{"error": {"message": "no S"}}',
        ),
        (b'{\n"sk-CANARY\\u00221234\\u005C5678":\n1}', b'{\n"S":\n1}'),
        (
            b'data: {"a": "{\\"b\\":\\"sk-CANARY\\\\\\"1234\\\\\\\\5678\\"}"}',
            b'data: {"a": "{\\"b\\":\\"S\\"}"}',
        ),
        (b'data: {"a": "sk-CANARY\\"1\ndata: x', b'data: {"a": "sk-CANARY\\"1\ndata: x'),
        (b"https://x/?key=sk-CANARY%221234%5C5678&y", b"https://x/?key=S&y"),
        (b'data: {"a": "is sk-CANARY\\"1234\\\\5678', b'data: {"a": "is S'),
        (b'event: sk-CANARY"1234\\5678\ndata: \xff', b"event: S\ndata: \xff"),
    ],
)
def test_a_key_is_masked_in_each_spelling_and_nothing_else(told: bytes, kept: bytes) -> None:
    assert without([told], ODD) == [kept.replace(b"S", b"*" * len(ODD))]


def test_a_long_answer_without_the_key_is_kept_as_it_is() -> None:
    chunks = [b'data: {"text": "\\u00e9\\n' + b"x" * 100 + b'"}\n'] * 20_000
    assert without(chunks, ODD) is chunks


def test_a_key_that_comes_word_by_word_is_masked_where_each_word_stands() -> None:
    chunks = [
        b'data: {"d": {"text": "a sk-CAN"}}\n\n',
        b'data: {"d": {"text": "ARY\\"1234"}}\n',
        b'data: {"i": "other", "d": {"text": "\\\\5678 b"}}\n',
    ]
    kept = [
        b'data: {"d": {"text": "a ******"}}\n\n',
        b'data: {"d": {"text": "********"}}\n',
        b'data: {"i": "other", "d": {"text": "***** b"}}\n',
    ]
    assert without(chunks, ODD) == kept


@pytest.mark.parametrize("text", ["\\" * 200_000, "%5c" * 100_000, '"' * 200_000, "k\\" * 100_000])
def test_a_text_of_nothing_but_signs_of_escape_takes_no_time(text: str) -> None:
    assert masked(text, 'k\\\\\\"\\\\/z') == text
