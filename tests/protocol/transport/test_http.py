"""What a server decides about requests and frames, by value; each row of the transports' tables."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_protocol.jsonrpc import (
    Json,
    Request,
    encode,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from acp_protocol.transport.http import (
    MAX_ID,
    SESSION_METHODS,
    EventStream,
    HttpLimits,
    Posted,
    Reply,
    ServedConnection,
    ascii_json,
    read_post,
)

LIMITS = HttpLimits(body=1000, unread=1000, replay=400, streams=3, readers=4)
INITIALIZE = encode_request(0, "initialize", {"protocolVersion": 1})
PROMPT = encode_request(1, "session/prompt", {"sessionId": "s", "prompt": []})


def headers(**named: str) -> dict[str, str]:
    """Return the headers of a POST; `connection`, `session` and `type_` have short names."""
    names = {
        "connection": "acp-connection-id",
        "session": "acp-session-id",
        "type_": "content-type",
    }
    found = {names.get(name, name.replace("_", "-")): value for name, value in named.items()}
    return {"content-type": "application/json"} | found


@pytest.mark.parametrize(
    ("sent", "body", "status"),
    [
        pytest.param(headers(type_="text/plain"), b"x" * 1001, 413, id="size before all else"),
        pytest.param(headers(type_="text/plain"), b"{", 415, id="type before the body"),
        pytest.param({}, INITIALIZE, 415, id="no type"),
        pytest.param(headers(type_="application/jsonx"), INITIALIZE, 415, id="similar type"),
        pytest.param(headers(content_encoding="gzip"), INITIALIZE, 415, id="compressed"),
        pytest.param(headers(), b"{", 400, id="no JSON"),
        pytest.param(headers(), b"\xff", 400, id="no UTF-8"),
        pytest.param(headers(), b"", 400, id="empty body"),
        pytest.param(headers(), b"[]", 400, id="empty array"),
        pytest.param(headers(), b"[" + INITIALIZE + b"]", 400, id="array"),
        pytest.param(headers(connection="c"), b"[]", 400, id="array on a connection"),
        pytest.param(headers(), b"3", 400, id="no object"),
        pytest.param(headers(connection="c"), INITIALIZE, 400, id="initialize once more"),
        pytest.param(headers(), encode_request(None, "initialize"), 400, id="initialize, id null"),
        pytest.param(headers(), encode_notification("initialize"), 400, id="initialize, no id"),
        pytest.param(
            headers(), b'{"id":1,"method":"initialize"}', 400, id="initialize, no version"
        ),
        pytest.param(headers(), PROMPT, 400, id="no connection"),
    ],
)
def test_a_post_that_no_connection_sees(sent: dict[str, str], body: bytes, status: int) -> None:
    reply = read_post(sent, body, LIMITS)
    assert isinstance(reply, Reply)
    assert reply.status == status


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"[]", -32600), (b"[{}]", -32600), (b"null", -32600)]
)
def test_what_is_no_message_gets_an_error_of_json_rpc(body: bytes, code: int) -> None:
    reply = read_post(headers(connection="c"), body, LIMITS)
    assert isinstance(reply, Reply)
    assert reply.media_type == "application/json"
    error = json.loads(reply.body)
    assert (error["id"], error["error"]["code"]) == (None, code)


@pytest.mark.parametrize("type_", ["application/json; charset=utf-8", "Application/JSON"])
def test_parameters_and_case_of_the_type_do_not_count(type_: str) -> None:
    assert isinstance(read_post(headers(type_=type_), INITIALIZE, LIMITS), Posted)


def test_initialize_as_a_notification_on_a_connection_is_forwarded() -> None:
    posted = read_post(headers(connection="c"), encode_notification("initialize"), LIMITS)
    assert isinstance(posted, Posted)
    assert served().accept(posted) is None


@pytest.mark.parametrize("body", [b"{}", b'{"id":1}', b'{"jsonrpc":"1.0","id":1,"method":"x"}'])
def test_an_object_that_is_no_message_is_left_to_the_agent(body: bytes) -> None:
    posted = read_post(headers(connection="c"), body, LIMITS)
    assert isinstance(posted, Posted)
    assert served().accept(posted) is None


def served(*, is_socket: bool = False, limits: HttpLimits = LIMITS) -> ServedConnection:
    return ServedConnection(limits, is_socket=is_socket)


def post(connection: ServedConnection, body: bytes, **named: str) -> int:
    """Return the status of a POST on a connection, 202 if the agent gets it."""
    posted = read_post(headers(connection="c", **named), body, LIMITS)
    reply = posted if isinstance(posted, Reply) else connection.accept(posted)
    return 202 if reply is None else reply.status


@pytest.mark.parametrize("method", sorted(SESSION_METHODS))
@pytest.mark.parametrize(
    ("params", "named", "status"),
    [
        ({"sessionId": "s"}, {}, 202),
        ({"sessionId": "s"}, {"session": "t"}, 400),
        ({"sessionId": "s"}, {"session": "s"}, 202),
        ({}, {}, 400),
        ({}, {"session": "s"}, 202),
    ],
)
def test_methods_of_a_session_name_it_in_the_header_or_in_their_params(
    method: str, params: Json, named: dict[str, str], status: int
) -> None:
    assert post(served(), encode_request(1, method, params), **named) == status
    assert post(served(), encode_notification(method, params), **named) == status


@pytest.mark.parametrize(
    ("params", "named", "status"),
    [
        ({"sessionId": "s"}, {}, 202),
        ({"sessionId": "s"}, {"session": "t"}, 400),
        ({"sessionId": "s"}, {"session": "s"}, 202),
        ({"sessionId": 3}, {}, 202),
        ({}, {}, 202),
        ([], {}, 202),
        (None, {"session": "s"}, 202),
    ],
)
def test_other_methods_may_not_name_two_sessions(
    params: Json, named: dict[str, str], status: int
) -> None:
    assert post(served(), encode_request(1, "session/status", params), **named) == status


@pytest.mark.parametrize(("length", "status"), [(MAX_ID, 202), (MAX_ID + 1, 400)])
def test_ids_have_a_limit(length: int, status: int) -> None:
    id_ = "s" * length
    assert post(served(), encode_notification("x"), session=id_) == status
    connection = served(limits=HttpLimits())
    body = encode_request(id_, "x")
    posted = read_post(headers(connection="c"), body, HttpLimits())
    assert isinstance(posted, Posted)
    assert (connection.accept(posted) is None) == (status == 202)


@pytest.mark.parametrize(
    ("named", "status"), [({}, 202), ({"session": "t"}, 400), ({"session": "s"}, 202)]
)
def test_a_response_names_no_other_session_than_its_request(
    named: dict[str, str], status: int
) -> None:
    connection = served()
    connection.put(encode_request(7, "session/request_permission", {"sessionId": "s"}))
    for body in (encode_result(7, {}), encode_error(7, -1, "no")):
        assert post(connection, body, **named) == status
        connection.put(encode_request(7, "session/request_permission", {"sessionId": "s"}))


def test_a_response_to_a_request_of_the_connection_needs_no_session() -> None:
    connection = served()
    connection.put(encode_request(7, "elicitation/create", {}))
    assert post(connection, encode_result(7, {})) == 202
    assert post(connection, encode_result("7", {})) == 202


def test_a_refused_response_leaves_its_request_open() -> None:
    connection = served()
    connection.put(encode_request(7, "x", {"sessionId": "s"}))
    assert post(connection, encode_result(7, {}), session="t") == 400
    assert post(connection, encode_result(7, {}), session="s") == 202


def stream_name(connection: ServedConnection, frame: bytes) -> str | None:
    stream = connection.put(frame)
    assert stream is not None
    return stream.name


@pytest.mark.parametrize(
    ("method", "params", "session", "expected"),
    [
        ("session/new", {}, None, None),
        pytest.param("session/new", {}, "foo", "foo", id="the header alone decides"),
        ("session/load", {"sessionId": "s"}, "s", None),
        ("session/resume", {"sessionId": "s"}, "s", "s"),
        ("session/fork", {"sessionId": "s"}, "s", "s"),
        ("session/prompt", {"sessionId": "s"}, "s", "s"),
        ("session/set_mode", {"sessionId": "s"}, "s", "s"),
        ("session/set_config_option", {"sessionId": "s"}, "s", "s"),
        ("session/close", {"sessionId": "s"}, "s", "s"),
        ("session/delete", {"sessionId": "s"}, "s", "s"),
        ("session/status", {"sessionId": "s"}, "s", "s"),
        ("session/archive", {"sessionId": "s"}, "s", "s"),
        ("session/set_title", {"sessionId": "s"}, "s", "s"),
        ("tool_call/cancel", {"sessionId": "s"}, "s", "s"),
        ("session/list", {}, None, None),
        ("authenticate", {}, None, None),
        ("auth/login", {}, None, None),
        ("logout", {}, None, None),
        ("providers/list", {}, None, None),
    ],
)
@pytest.mark.parametrize("id_", [1, "1", "x"])
def test_the_stream_of_a_response(
    method: str, params: Json, session: str | None, expected: str | None, id_: Any
) -> None:
    connection = served()
    named = {} if session is None else {"session": session}
    assert post(connection, encode_request(id_, method, params), **named) == 202
    assert not connection.is_idle
    assert stream_name(connection, encode_result(id_, {"sessionId": "other"})) == expected
    assert connection.is_idle
    # A second one belongs to no request.
    assert stream_name(connection, encode_result(id_, {})) is None


def test_ids_of_other_types_are_other_ids() -> None:
    connection = served()
    post(connection, encode_request(1, "session/prompt", {"sessionId": "s"}), session="s")
    post(connection, encode_request("1", "session/prompt", {"sessionId": "t"}), session="t")
    assert stream_name(connection, encode_error("1", -1, "no")) == "t"
    assert stream_name(connection, encode_error(1, -1, "no")) == "s"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (encode_notification("session/update", {"sessionId": "s"}), "s"),
        (encode_request(1, "session/request_permission", {"sessionId": "s"}), "s"),
        (encode_request(1, "fs/read_text_file", {"sessionId": "s"}), "s"),
        (encode_request(1, "terminal/create", {"sessionId": "s"}), "s"),
        (encode_request(1, "elicitation/create", {"sessionId": "s"}), "s"),
        (encode_request(1, "elicitation/create", {"requestId": 1}), None),
        (encode_request(1, "mcp/message", {}), None),
        (encode_notification("auth/status_update", {}), None),
        (encode_notification("$/cancel_request", {"requestId": 1}), None),
        (encode_notification("x"), None),
        (encode_notification("x", {"sessionId": 7}), None),
        (b"no JSON", None),
        (b'{"id":9}', None),
    ],
)
def test_the_stream_of_what_the_agent_sends_by_itself(frame: bytes, expected: str | None) -> None:
    assert stream_name(served(), frame) == expected


def test_the_response_to_initialize_is_on_no_stream() -> None:
    connection = served()
    connection.open(Request("a", "initialize", {}, b""))
    assert connection.put(encode_notification("x")) is not None
    assert connection.put(encode_result("b", {})) is not None
    assert connection.put(encode_result("a", {})) is None
    assert connection.put(encode_result("a", {})) is not None


def opened(connection: ServedConnection, **named: str) -> EventStream:
    stream = connection.open_stream(headers(**named))
    assert isinstance(stream, EventStream)
    return stream


def refused(connection: ServedConnection, **named: str) -> int:
    reply = connection.open_stream(headers(**named))
    assert isinstance(reply, Reply)
    return reply.status


@pytest.mark.parametrize("accept", ["text/html", "application/json", ""])
def test_a_get_that_accepts_no_events_is_refused(accept: str) -> None:
    assert refused(served(), accept=accept) == 406


@pytest.mark.parametrize("accept", ["text/event-stream", "TEXT/Event-Stream;q=1, a/b", "*/*"])
def test_a_get_that_accepts_events_opens_a_stream(accept: str) -> None:
    assert opened(served(), accept=accept).name is None


def test_a_stream_has_one_reader() -> None:
    connection = served()
    stream = opened(connection, session="s")
    assert refused(connection, session="s") == 409
    opened(connection)
    assert refused(connection) == 409
    connection.close_stream(stream)
    opened(connection, session="s")


def test_streams_of_unknown_sessions_are_opened_and_forgotten() -> None:
    connection = served()
    for number in range(100):
        connection.close_stream(opened(connection, session=f"s{number}"))
    assert connection.readers == 0
    assert refused(connection, session="s" * 1025) == 400


def test_readers_have_a_limit() -> None:
    connection = served()
    for number in range(4):
        opened(connection, session=f"s{number}")
    assert refused(connection, session="s4") == 429


def test_a_websocket_has_no_streams() -> None:
    assert refused(served(is_socket=True)) == 409


def test_a_connection_is_full_until_it_is_read() -> None:
    connection = served()
    update = encode_notification("session/update", {"sessionId": "s", "text": "x" * 200})
    while not connection.is_full:
        connection.put(update)
    assert connection.unread >= LIMITS.unread
    stream = opened(connection, session="s")
    while connection.next(stream):
        pass
    assert (connection.unread, connection.is_full) == (0, False)


def test_too_many_sessions_without_a_reader_end_the_connection() -> None:
    connection = served()
    for number in range(4):
        assert connection.excess is None
        connection.put(encode_notification("session/update", {"sessionId": f"s{number}"}))
    assert connection.excess == "more than 3 sessions have messages that the client does not read"
    opened(connection, session="s0")
    assert connection.excess is None


def texts(connection: ServedConnection, stream: EventStream) -> list[str]:
    found: list[str] = []
    while (event := connection.next(stream)) is not None:
        assert event.encode().startswith(b"id: %d\ndata: " % event.number)
        found.append(json.loads(event.frame)["params"]["text"])
    return found


def say(connection: ServedConnection, text: str, session: str = "s") -> None:
    connection.put(encode_notification("session/update", {"sessionId": session, "text": text}))


def test_a_reader_goes_on_after_the_last_event_that_it_names() -> None:
    connection = served(limits=HttpLimits())
    for text in "abc":
        say(connection, text)
    stream = opened(connection, session="s")
    assert texts(connection, stream) == ["a", "b", "c"]
    connection.close_stream(stream)
    say(connection, "d")
    stream = opened(connection, session="s", last_event_id="2")
    assert texts(connection, stream) == ["c", "d"]
    connection.close_stream(stream)
    assert texts(connection, opened(connection, session="s")) == []


@pytest.mark.parametrize("last", ["4", "x", "-1", "²", "9" * 30, "1 "])
def test_a_last_event_that_there_was_not_is_refused(last: str) -> None:
    connection = served(limits=HttpLimits())
    say(connection, "a")
    assert refused(connection, session="s", last_event_id=last) == 409
    assert texts(connection, opened(connection, session="s")) == ["a"]


@pytest.mark.parametrize("replay", [0, 10, 1000])
def test_events_that_could_not_be_written_are_read_again(replay: int) -> None:
    """Also those that are larger than what is kept, which others were dropped for."""
    connection = served(limits=HttpLimits(replay=replay))
    for text in "abcd":
        say(connection, text)
    stream = opened(connection, session="s")
    assert connection.next(stream) is not None
    unread = connection.unread
    events = [event for _ in range(2) if (event := connection.next(stream)) is not None]
    stream.put_back(events)
    assert connection.unread == unread
    assert texts(connection, stream) == ["b", "c", "d"]
    assert connection.unread == 0


def test_no_event_is_skipped_where_nothing_of_a_stream_was_kept() -> None:
    connection = served(limits=HttpLimits(replay=0))
    say(connection, "a", "s")
    say(connection, "b", "s")
    stream = opened(connection, session="s")
    assert texts(connection, stream) == ["a", "b"]
    connection.close_stream(stream)
    say(connection, "c", "s")
    refused = connection.open_stream(headers(session="s", last_event_id="1"))
    assert isinstance(refused, Reply)
    assert refused.status == 409
    assert texts(connection, opened(connection, session="s", last_event_id="2")) == ["c"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_frame_is_read_once_in_order_and_again_after_a_named_event(
    data: st.DataObject,
) -> None:
    """Frames of several sessions, read in any steps by readers that leave and come back."""
    connection = served(limits=HttpLimits(replay=300))
    said: dict[str, list[tuple[int, str]]] = {"a": [], "b": []}
    read: dict[str, list[tuple[int, str]]] = {"a": [], "b": []}
    total = 0
    for _ in range(data.draw(st.integers(1, 40))):
        session = data.draw(st.sampled_from("ab"))
        if data.draw(st.booleans()):
            total += 1
            text = data.draw(st.text(max_size=20))
            say(connection, text, session)
            said[session].append((total, text))
            continue
        seen = [number for number, _ in read[session]]
        last = data.draw(st.sampled_from([None, *seen]))
        named = {} if last is None else {"last_event_id": str(last)}
        stream = connection.open_stream(headers(session=session, **named))
        if isinstance(stream, Reply):
            assert stream.status == 409
            continue
        if last is not None:
            read[session] = [each for each in read[session] if each[0] <= last]
        for _ in range(data.draw(st.integers(0, 5))):
            if (event := connection.next(stream)) is not None:
                text = json.loads(event.frame)["params"]["text"]
                read[session].append((event.number, text))
        connection.close_stream(stream)
        assert read[session] == said[session][: len(read[session])]
    unread = [text for each in "ab" for _, text in said[each][len(read[each]) :]]
    assert (connection.unread == 0) == (not unread)
    for session in "ab":
        stream = opened(connection, session=session)
        while (event := connection.next(stream)) is not None:
            read[session].append((event.number, json.loads(event.frame)["params"]["text"]))
    assert read == said
    assert connection.unread == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=40))
def test_what_is_kept_for_readers_that_come_back_is_bounded(sizes: list[int]) -> None:
    connection = served(limits=HttpLimits(replay=500))
    for place, size in enumerate(sizes):
        say(connection, "x" * size, f"s{place % 3}")
        stream = opened(connection, session=f"s{place % 3}")
        while connection.next(stream):
            pass
        connection.close_stream(stream)
    kept = [connection.open_stream(headers(session=f"s{place}")) for place in range(3)]
    assert sum(each.replay for each in kept if isinstance(each, EventStream)) <= 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(json_values, st.booleans(), st.sampled_from([None, 1]))
def test_an_event_is_one_line_of_ascii_and_the_same_value(
    value: Any, is_ascii: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    line = ascii_json(text.encode("utf-8", "surrogatepass"))
    assert line.isascii()
    assert not {b"\n", b"\r"} & {line[i : i + 1] for i in range(len(line))}
    if "\\ud" not in json.dumps(value):
        assert json.loads(line) == value


def test_frames_that_are_no_json_are_one_line_too() -> None:
    assert ascii_json(b"a\xff\r\nb") == b"a\\ufffd b"
    assert json.loads(ascii_json(encode({"a": "😀ü"}))) == {"a": "😀ü"}
