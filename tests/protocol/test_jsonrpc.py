"""The envelope: bytes to messages and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Notification,
    Request,
    SuccessResponse,
    id_key,
    message_at_end,
    read_message,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ids = st.none() | st.integers() | st.text()


def test_a_call_with_an_id_is_a_request() -> None:
    raw = b'{"jsonrpc":"2.0","id":"7","method":"m","params":{"a":1}}'
    assert read_message(raw) == Request("7", "m", {"a": 1}, raw)


def test_an_id_of_null_still_makes_a_request() -> None:
    raw = b'{"jsonrpc":"2.0","id":null,"method":"m"}'
    assert read_message(raw) == Request(None, "m", None, raw)


def test_a_call_without_an_id_is_a_notification() -> None:
    raw = b'{"jsonrpc":"2.0","method":"m"}'
    assert read_message(raw) == Notification("m", None, raw)


def test_a_result_may_be_null() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":null}'
    assert read_message(raw) == SuccessResponse(1, None, raw)


def test_an_error_answer_keeps_its_data() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[2]}}'
    assert read_message(raw) == ErrorResponse(1, -1, "no", [2], raw)


@pytest.mark.parametrize("result", [{"a": 1}, None])
def test_a_null_error_beside_a_result_is_no_error(result: object) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result, "error": None}).encode()
    assert read_message(raw) == SuccessResponse(1, result, raw)
    batch = read_message(b"[" + raw + b"]")
    assert isinstance(batch, Batch)
    assert batch.entries == (SuccessResponse(1, result, b""),)


def test_a_null_result_beside_an_error_is_no_result() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1,"message":"no"}}'
    assert read_message(raw) == ErrorResponse(1, -1, "no", None, raw)


def test_an_array_is_a_batch_with_an_entry_for_each_value() -> None:
    message = read_message(b'[{"jsonrpc":"2.0","method":"m"},5]')
    assert isinstance(message, Batch)
    assert [type(entry) for entry in message.entries] == [Notification, InvalidMessage]


def test_a_byte_order_mark_is_no_fault() -> None:
    assert isinstance(read_message(b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"m"}\r'), Notification)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "no JSON"),
        (b"hello", "no JSON"),
        (b'{"a":1', "no JSON"),
        (b'{"a":NaN}', "NaN is not a number"),
        (b"\xff", "invalid UTF-8 at byte 0"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id":' + b"9" * 5000 + b"}", "a number is too long"),
    ],
)
def test_what_is_no_json_is_malformed_and_says_why(raw: bytes, reason: str) -> None:
    message = read_message(raw)
    assert isinstance(message, InvalidMessage)
    assert message.code == jsonrpc.PARSE_ERROR
    assert reason in message.reason
    assert message.raw == raw


@pytest.mark.parametrize(
    "value",
    [
        5,
        {},
        {"jsonrpc": "1.0", "method": "m"},
        {"method": "m"},
        {"jsonrpc": "2.0", "method": 5},
        {"jsonrpc": "2.0", "method": "m", "params": 5},
        {"jsonrpc": "2.0", "method": "m", "id": True},
        {"jsonrpc": "2.0", "method": "m", "id": 1.5},
        {"jsonrpc": "2.0", "method": "m", "id": []},
    ],
)
def test_what_is_no_call_is_malformed_and_may_be_answered(value: object) -> None:
    message = read_message(json.dumps(value).encode())
    assert isinstance(message, InvalidMessage)
    assert message.code == jsonrpc.INVALID_REQUEST
    assert not message.is_response


@pytest.mark.parametrize(
    "value",
    [
        {"jsonrpc": "2.0", "result": 1},
        {"jsonrpc": "2.0", "id": False, "result": 1},
        {"id": 1, "result": 1},
        {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {"code": 1, "message": ""}},
        {"jsonrpc": "2.0", "id": 1, "error": "no"},
        {"jsonrpc": "2.0", "id": 1, "error": None},
        {"jsonrpc": "2.0", "id": 1, "result": None, "error": "no"},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}},
    ],
)
def test_a_broken_answer_is_malformed_and_must_not_be_answered(value: object) -> None:
    message = read_message(json.dumps(value).encode())
    assert isinstance(message, InvalidMessage)
    assert message.is_response


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
@example(b" {}")
@example(b"{} \r")
@example(b"\xef\xbb\xbf{}")
@example(b"{}{}")
@example(b"NaN")
@example(b"")
@example(b"[" * 100_000)
@example(b"9" * 5000)
def test_what_counts_as_json_is_what_can_be_parsed(raw: bytes) -> None:
    try:
        jsonrpc.parse(raw)
    except ValueError:
        assert not jsonrpc.is_json(raw)
    else:
        assert jsonrpc.is_json(raw)


@given(st.binary())
def test_any_bytes_are_a_message_or_malformed(raw: bytes) -> None:
    assert read_message(raw).raw == raw


@given(json_values)
def test_any_json_is_a_message_or_malformed(value: object) -> None:
    read_message(json.dumps(value).encode())


@given(json_values)
def test_what_is_encoded_stands_on_one_line_and_reads_back(value: object) -> None:
    raw = jsonrpc.encode(value)
    assert b"\n" not in raw
    assert jsonrpc.parse(raw) == value


def test_a_lone_surrogate_is_escaped() -> None:
    assert jsonrpc.encode("\ud800") == b'"\\ud800"'


def test_infinity_is_refused_rather_than_misspelled() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsonrpc.encode(float("inf"))


@given(ids, st.text(), st.none() | st.dictionaries(st.text(), json_values, max_size=3))
def test_a_request_reads_back_as_it_was_meant(
    id_: str | int | None, method: str, params: dict[str, object] | None
) -> None:
    raw = jsonrpc.encode_request(id_, method, params)
    assert read_message(raw) == Request(id_, method, params, raw)


@given(ids, json_values)
def test_answers_read_back_as_they_were_meant(id_: str | int | None, value: object) -> None:
    raw = jsonrpc.encode_result(id_, value)
    assert read_message(raw) == SuccessResponse(id_, value, raw)
    raw = jsonrpc.encode_error(id_, -5, "no", value)
    assert read_message(raw) == ErrorResponse(id_, -5, "no", value, raw)


def test_one_and_the_string_one_are_two_ids() -> None:
    assert len({id_key(1), id_key("1"), id_key(None)}) == 3


WHOLE = b'{"jsonrpc": "2.0", "id": 1, "result": {"a": {"b": "{\\"c"}}}'


@given(st.text(st.characters(codec="utf-8", exclude_characters='\n"')).map(str.encode))
@example(b"starting up: {} ")
@example(b'{"level": "info"}')
@example(WHOLE)
def test_a_message_after_other_text_on_its_line_is_found(before: bytes) -> None:
    message = read_message(before + WHOLE)
    if not before.strip(b" \t\r") or before == b"\xef\xbb\xbf":
        assert isinstance(message, jsonrpc.SuccessResponse)
        return
    assert isinstance(message, InvalidMessage)
    assert message.reason.endswith("; the line ends in a whole message")
    assert message_at_end(before + WHOLE) == WHOLE


@pytest.mark.parametrize(
    "line",
    [b"plain text", b"{}", b'{"a": 1}', b'x {"a": 1}', WHOLE + b" x", b'["a", {"id": 1}'],
    ids=repr,
)
def test_a_line_that_ends_in_no_message_is_said_to_end_in_none(line: bytes) -> None:
    assert message_at_end(line) is None


def test_a_large_message_is_looked_for_behind_few_other_objects_only() -> None:
    """Otherwise a line could make us parse it fifty times."""
    large = WHOLE[:-1] + b', "_meta": "%b"}' % (b"x" * 3 * 2**20)
    assert message_at_end(b"text " + large) == large
    assert message_at_end(b'text {"a" {"b" ' + large) is None


def test_a_long_line_is_searched_only_at_its_beginning() -> None:
    assert message_at_end(b'{"' * 100_000 + WHOLE) is None
