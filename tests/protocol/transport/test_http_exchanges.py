"""What a client over HTTP knows without I/O, by value."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.errors import FrameTooLongError
from acp_protocol.jsonrpc import encode_notification, encode_request, encode_result, read_message
from acp_protocol.transport.http_exchanges import (
    ClientConnection,
    EventBytes,
    Refusal,
    StreamChanges,
    redirected,
    refusal_of,
    retry_after,
)

NEW = encode_request(1, "session/new", {})


def opened(version: int = 1) -> ClientConnection:
    state = ClientConnection()
    state.post(encode_request(0, "initialize", {}))
    state.opened({"acp-connection-id": "c"}, read_message(encode_result(0, {"protocolVersion": 2})))
    return state


def test_a_header_names_each_session_that_a_message_names() -> None:
    """TypeScript: required whenever params.sessionId is a string."""
    state = opened()
    named = {"sessionId": "s"}
    for frame in (encode_request(1, "session/status", named), encode_notification("_x", named)):
        assert state.headers(state.post(frame))["acp-session-id"] == "s"
    for frame in (NEW, encode_notification("_x", {"sessionId": 5}), b"[]", b"junk"):
        assert "acp-session-id" not in state.headers(state.post(frame))


def test_a_dialect_may_spell_the_session_otherwise() -> None:
    state = opened()
    assert state.post(encode_request(1, "session/prompt", {"session_id": "s"})).session == "s"
    state.post(NEW)
    answer = read_message(encode_result(1, {"session_id": "n"}))
    assert state.received(answer, None) == StreamChanges(opened=("n",))


def test_only_what_follows_initialize_names_connection_and_version() -> None:
    state = ClientConnection()
    names = {"acp-connection-id", "acp-protocol-version"}
    assert names.isdisjoint(state.headers(state.post(encode_request(0, "initialize", {}))))
    headers = opened().headers(opened().post(NEW))
    assert (headers["acp-connection-id"], headers["acp-protocol-version"]) == ("c", "2")


def test_a_repeated_initialize_belongs_to_the_connection() -> None:
    state = opened()
    again = state.post(encode_request(5, "initialize", {}))
    assert not again.is_opening
    assert state.headers(again)["acp-connection-id"] == "c"


def test_a_version_that_is_no_number_is_not_sent() -> None:
    state = ClientConnection()
    state.opened({"acp-connection-id": "c"}, read_message(encode_result(0, {})))
    assert "acp-protocol-version" not in state.stream_headers(None)


@pytest.mark.parametrize(
    ("method", "params", "result", "changes"),
    [
        ("session/new", {}, {"sessionId": "n"}, StreamChanges(opened=("n",))),
        ("session/fork", {"sessionId": "s"}, {"sessionId": "n"}, StreamChanges(opened=("n",))),
        ("session/load", {"sessionId": "s"}, {}, StreamChanges()),
        ("session/prompt", {"sessionId": "s"}, {"stopReason": "end_turn"}, StreamChanges()),
        ("session/close", {"sessionId": "s"}, {}, StreamChanges(closed=("s",))),
        ("session/status", {"sessionId": "s"}, {"status": "open"}, StreamChanges(closed=("s",))),
        ("session/list", {}, {"sessions": [{"sessionId": "n"}]}, StreamChanges()),
    ],
)
def test_results_open_and_close_streams(
    method: str, params: dict[str, object], result: object, changes: StreamChanges
) -> None:
    state = opened()
    state.post(encode_request(1, method, params))  # pyright: ignore[reportArgumentType]
    answer = encode_result(1, result)  # pyright: ignore[reportArgumentType]
    assert state.received(read_message(answer), None) == changes


def test_a_question_about_an_open_session_leaves_its_stream() -> None:
    state = opened()
    state.post(encode_request(1, "session/load", {"sessionId": "s"}))
    state.post(encode_request(2, "session/status", {"sessionId": "s"}))
    assert state.received(read_message(encode_result(2, {})), "s") == StreamChanges()


def test_a_stream_stays_while_another_question_is_open() -> None:
    state = opened()
    for id_ in (1, 2):
        state.post(encode_request(id_, "session/status", {"sessionId": "s"}))
    assert state.received(read_message(encode_result(1, {})), "s") == StreamChanges()
    assert state.received(read_message(encode_result(2, {})), "s").closed == ("s",)


def test_ids_of_different_types_are_different() -> None:
    """Python compares ids as text; we do not."""
    state = opened()
    state.received(read_message(encode_request(1, "ask", {})), "s")
    state.received(read_message(encode_request("1", "ask", {})), None)
    assert state.post(encode_result("1", {})).session is None
    assert state.post(encode_result(1, {})).session == "s"


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"plain\x1b[31m text\n", "text/plain", ": plain [31m text"),
        (b'{"error": {"message": "no"}}', "application/json", ": no"),
        (b'{"error": "no"}', "", ": no"),
        (b'{"detail": "no"}', "application/problem+json", ": no"),
        (b"<html>", "text/html; charset=utf-8", ""),
        (b"{", "application/json", ""),
        (b"", "", ""),
        (b"x" * 300, "", f": {'x' * 200}…"),
    ],
)
def test_a_refusal_says_what_the_server_says_in_one_safe_line(
    body: bytes, kind: str, said: str
) -> None:
    assert refusal_of(599, body, kind).reason == f"the server failed (599){said}"


@pytest.mark.parametrize(
    ("location", "method", "status", "target"),
    [
        ("/b", "POST", 308, "https://h/b"),
        ("b?x=1", "GET", 302, "https://h/b?x=1"),
        ("https://h:443/b", "POST", 307, "https://h:443/b"),
        ("https://h:444/b", "POST", 307, None),
        ("http://h/b", "POST", 307, None),
        ("//other/b", "GET", 307, None),
        ("/b", "POST", 302, None),
        ("https://[", "GET", 302, None),
        (None, "GET", 302, None),
    ],
)
def test_only_the_same_origin_is_followed(
    location: str | None, method: str, status: int, target: str | None
) -> None:
    found = redirected("https://h/acp", status, location, method)
    assert (None if isinstance(found, Refusal) else found) == target


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, 10.0) == seconds


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_cuts_do_not_change_a_stream(stream: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]
    cut, whole = EventBytes(), EventBytes()
    assert b"".join(map(cut.feed, pieces)) == whole.feed(stream) or not stream
    assert cut.has_comments == whole.has_comments or len(pieces) > 1


def test_line_endings_become_one() -> None:
    assert EventBytes().feed(b"\xef\xbb\xbfa\r\nb\rc\n\r\n") == b"a\nb\nc\n\n"


def test_a_lone_return_ends_a_line_at_once() -> None:
    stream = EventBytes()
    assert stream.feed(b"data: 1\r\r") == b"data: 1\n\n"
    assert stream.feed(b"\ndata: 2\r") == b"data: 2\n"
    assert stream.feed(b"\n") == b""
    assert stream.feed(b"\r\n") == b"\n"


@pytest.mark.parametrize("comments", [b":\n\n", b"data: 1\n\n: hi\n\n"])
def test_comments_are_noticed(comments: bytes) -> None:
    stream = EventBytes()
    stream.feed(comments)
    assert stream.has_comments


def test_only_one_event_counts_for_the_limit() -> None:
    stream = EventBytes(limit=20)
    for _ in range(10):
        stream.feed(b"data: 12345\n\n")
    stream.feed(b"data: 12345\n")
    with pytest.raises(FrameTooLongError):
        stream.feed(b"data: 12345\ndata")
