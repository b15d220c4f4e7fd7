"""The messages of a server, as it may spell them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import PARSE_ERROR, JSONRPCError, JSONRPCResponse

from acp_agent.mcp.messages import mended, read_message


def answer(spelled: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":4,"result":{"text":%s}}' % spelled.encode()


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        (r'"a\ud800b"', "a\ufffdb"),
        (r'"\udc00\ud83d\ude00\uD800"', "\ufffd\U0001f600\ufffd"),
        (r'"\\ud800\ud800"', "\\ud800\ufffd"),
        (r'"\ud800\ud83d\ude00"', "\ufffd\U0001f600"),
    ],
)
def test_half_a_sign_is_replaced_and_the_rest_stays(spelled: str, text: str) -> None:
    message = read_message(answer(spelled))
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"text": text}


def test_bytes_that_are_no_text_are_replaced() -> None:
    message = read_message(answer('"a?b"').replace(b"?", b"\xff"))
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"text": "a\ufffdb"}


@given(text=st.text(st.characters()))
def test_any_text_comes_through_with_its_half_signs_replaced(text: str) -> None:
    message = read_message(answer(json.dumps(text)))
    assert isinstance(message, JSONRPCResponse)
    whole = (
        json.loads(json.dumps(text)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )
    assert message.result == {"text": whole}


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":4,"result":5}',
        b'{"id":4,"result":{}}',
        b'{"jsonrpc":"2.0","id":4,"error":{"code":"x"}}',
        b'{"jsonrpc":"2.0","id":4,"result":{"a":' + b"[" * 300 + b"]" * 300 + b"}}",
    ],
)
def test_an_answer_that_is_none_fails_its_request(line: bytes) -> None:
    message = read_message(line)
    assert isinstance(message, JSONRPCError)
    assert (message.id, message.error.code) == (4, PARSE_ERROR)


@pytest.mark.parametrize(
    "line",
    [
        b"Welcome!",
        b"[]",
        b"\xff\0{",
        b'{"id":true,"result":5}',
        b'{"id":4,"method":5}',
        b"[" * 10**6,
    ],
)
def test_what_is_no_message_is_told(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_message(line)


def test_only_what_needs_it_is_mended() -> None:
    whole = b'{ "jsonrpc": "2.0", "id": 4, "result": {"text": "a"} }'
    assert mended(whole) == whole
    assert mended(b"{") == b"{"
    half = mended(answer(r'"a\ud800b"'))
    assert json.loads(half)["result"] == {"text": "a\ufffdb"}
