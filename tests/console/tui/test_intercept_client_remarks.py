"""What is said about a frame that a person writes."""

from __future__ import annotations

import pytest

from acp_console.tui.intercept.frame_editor import (
    on_call,
    on_dialect_call,
    on_edit,
    on_error,
    on_result,
)
from acp_protocol import jsonrpc

ASK = b'{"jsonrpc":"2.0","id":1,"method":"x"}'


@pytest.mark.parametrize(
    ("before", "after", "remark"),
    [
        (ASK, b'{"jsonrpc":"2.0","id":1,"method":"y"}', None),
        (
            ASK,
            b'{"jsonrpc":"2.0","id":"1","method":"x"}',
            "the id was 1: its response is lost",
        ),
        (ASK, b'{"jsonrpc":"2.0","method":"x"}', "it was a request and is a notification"),
        (ASK, b"{}", "no JSON-RPC: neither method, result nor error"),
        (
            b'{"jsonrpc":"2.0","id":"a","result":1}',
            b'{"jsonrpc":"2.0","id":"b","result":1}',
            'the id was "a": it will match no request',
        ),
        (b"no JSON", ASK, None),
    ],
)
def test_an_edit_that_changes_more_than_words_is_remarked_upon(
    before: bytes, after: bytes, remark: str | None
) -> None:
    remarks = on_edit(jsonrpc.read_message(before))(after)
    assert (not remarks) if remark is None else remarks[0].startswith(remark)


def test_what_is_against_the_schema_is_remarked_upon() -> None:
    prompt = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}'
    assert on_call(prompt) == ["params.prompt is missing"]
    assert on_result("session/new")(b"{}") == ["result.sessionId is missing"]
    assert on_result("session/new")(b'{"sessionId":"s"}') == []
    assert on_error(b'{"code":1,"message":"no"}') == ()
    assert on_error(b'{"code":"1"}') == ["an error needs an integer code and a message"]


def test_an_edit_in_a_dialect_is_not_compared_with_the_published_schema() -> None:
    prompt = b'{"type":"prompt","session_id":"s1","content":[]}'
    assert on_edit(jsonrpc.read_message(prompt), is_official=False)(prompt) == []
    [remark] = on_edit(jsonrpc.read_message(ASK), is_official=False)(b"{}")
    assert remark == "no JSON-RPC: neither method, result nor error"
    assert on_edit(jsonrpc.read_message(ASK), is_official=False)(ASK) == []
    assert on_dialect_call(prompt) == ()


def test_a_very_long_frame_is_not_compared_at_every_key() -> None:
    long = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":"' + b"x" * 200_000 + b'"}'
    assert on_call(long.replace(b'"params":"', b'"params":["').replace(b'"}', b'"]}')) == ()
