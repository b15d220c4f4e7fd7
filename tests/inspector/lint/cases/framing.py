"""Talks about how messages stand on the stream."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps


@breaks("not-json")
def a_line_is_no_json(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc": "2.0", oops}')


@breaks("not-json")
def a_line_is_cut(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc":"2.0","id":5,"method":')
    talk.initialize()


@keeps("not-json")
def white_space_around_json_is_json(talk: Talk) -> None:
    talk.send(
        "client",
        b'  {"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}\t',
    )


@breaks("message-spans-lines")
def a_message_is_pretty_printed(talk: Talk) -> None:
    for line in (b"{", b'  "jsonrpc": "2.0",', b'  "method": "_x"', b"}"):
        talk.send("agent", line)


@keeps("message-spans-lines", despite=("not-json",))
def a_cut_line_is_followed_by_whole_ones(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc":')
    talk.initialize()
    talk.send("client", b"}")


@breaks("invalid-utf8")
def bytes_are_no_utf8(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc":"2.0","method":"_caf\xe9"}')


@keeps("invalid-utf8")
def umlauts_are_utf8(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_grüße", text="für Ærøskøbing 🛠")


@breaks("byte-order-mark")
def a_line_begins_with_a_mark(talk: Talk) -> None:
    talk.send("client", b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"_x"}')


@keeps("byte-order-mark")
def a_mark_stands_in_a_string(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", text="\ufeff")


@breaks("crlf-line-end")
def a_line_ends_with_cr_lf(talk: Talk) -> None:
    talk.send("client", {"method": "_x"}, end=b"\r\n")


@keeps("crlf-line-end")
def a_cr_stands_in_a_string(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", text="a\r\n")


@breaks("blank-line")
def a_line_is_empty(talk: Talk) -> None:
    talk.send("client", b"")


@breaks("blank-line")
def a_line_is_blank(talk: Talk) -> None:
    talk.send("client", b"  \t")


@keeps("blank-line")
def lines_follow_at_once(talk: Talk) -> None:
    talk.initialize()


@breaks("content-length-header")
def a_line_is_a_header(talk: Talk) -> None:
    talk.send("client", b"Content-Length: 120", end=b"\r\n")


@breaks("content-length-header")
def messages_have_headers(talk: Talk) -> None:
    raw = b'{"jsonrpc":"2.0","method":"_x"}'
    talk.send("client", raw, end=b"", header=b"Content-Length: %d\r\n\r\n" % len(raw))


@keeps("content-length-header")
def a_message_speaks_of_a_header(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", text="Content-Length: 120")


@breaks("text-on-stdout")
def an_agent_prints_a_banner(talk: Talk) -> None:
    talk.initialize()
    talk.send("agent", b"Welcome to the agent v1.2!")


@breaks("text-on-stdout")
def an_agent_logs_with_a_prefix(talk: Talk) -> None:
    talk.send("agent", b"[info] ready")


@breaks("text-on-stdout")
def an_agent_prints_an_ansi_escape(talk: Talk) -> None:
    talk.send("agent", b"\x1b[32mok\x1b[0m")


@keeps("text-on-stdout")
def an_agent_logs_to_stderr(talk: Talk) -> None:
    talk.initialize()
    talk.stderr(b"Welcome to the agent v1.2!\n")


@breaks("not-an-object")
def a_line_is_an_array(talk: Talk) -> None:
    talk.send("client", b'[{"jsonrpc":"2.0","method":"_x"}]')


@breaks("not-an-object")
def a_line_is_a_number(talk: Talk) -> None:
    talk.send("client", b"42")


@keeps("not-an-object")
def an_array_stands_in_an_object(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", list=[{"jsonrpc": "2.0"}])


@breaks("truncated-last-line")
def the_stream_ends_within_a_line(talk: Talk) -> None:
    talk.send("agent", b'{"jsonrpc":"2.0","me', end=b"")


@keeps("truncated-last-line")
def the_stream_ends_after_a_line(talk: Talk) -> None:
    talk.initialize()


@breaks("glued-messages")
def two_messages_are_glued(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x"}{"jsonrpc":"2.0","method":"_y"}')


@keeps("glued-messages")
def braces_meet_in_a_string(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", text="}{")


@breaks("duplicate-member")
def an_id_stands_twice(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc":"2.0","id":1,"id":2,"method":"_x"}')


@breaks("duplicate-member")
def a_param_stands_twice(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x","params":{"a":1,"a":2}}')


@keeps("duplicate-member")
def a_name_stands_at_two_levels(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", method="a", id="id", inner={"id": 1, "method": 2})


@breaks("lone-surrogate")
def a_surrogate_stands_alone(talk: Talk) -> None:
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x","params":{"a":"\\ud83d"}}')


@keeps("lone-surrogate")
def a_pair_is_whole(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x","params":{"a":"\\ud83d\\ude00"}}')


@breaks("stderr-not-utf8")
def stderr_is_latin(talk: Talk) -> None:
    talk.stderr(b"caf\xe9 \xff\n")


@keeps("stderr-not-utf8")
def a_character_is_cut_between_pieces(talk: Talk) -> None:
    talk.stderr("café".encode()[:4])
    talk.stderr("café".encode()[4:])


@keeps("not-json")
def json_is_nested_deeply(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x","params":{"a":%b}}' % deep(3000))


@breaks("not-json")
def a_line_is_nested_deeply_and_not_closed(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x","params":{"a":%b,}}' % deep(3000))


@keeps("not-an-object")
def a_deeply_nested_object_is_an_object(talk: Talk) -> None:
    talk.open()
    talk.send("agent", b'{"jsonrpc":"2.0","method":"_x","params":{"a":%b}}' % deep(3000))


def deep(levels: int) -> bytes:
    """Return JSON that is nested more deeply than common readers follow."""
    return b"[" * levels + b"]" * levels


@breaks("message-spans-lines")
def one_of_the_lines_is_json_by_itself(talk: Talk) -> None:
    talk.open()
    for line in (b"{", b'"jsonrpc":"2.0",', b'"method":"_x",', b'"params":', b"[]", b"}"):
        talk.send("agent", line)


@keeps("message-spans-lines", despite=("not-json", "not-an-object", "batch-sent"))
def an_array_of_messages_comes_between(talk: Talk) -> None:
    talk.open()
    for line in (b"{", b'[{"jsonrpc":"2.0","method":"_x"}]', b"}"):
        talk.send("client", line)


@keeps("not-an-object", despite=("message-spans-lines",))
def a_line_of_a_spread_message_is_an_array(talk: Talk) -> None:
    talk.open()
    for line in (b"{", b'"jsonrpc":"2.0",', b'"method":"_x",', b'"params":', b"[]", b"}"):
        talk.send("agent", line)


@breaks("duplicate-member")
def one_of_many_params_stands_twice(talk: Talk) -> None:
    params = b",".join(b'"k%d":0' % n for n in range(100))
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x","params":{%b,"k99":1}}' % params)


@keeps("duplicate-member")
def many_params_stand_once(talk: Talk) -> None:
    talk.initialize()
    params = {f"k{n}": {"k1": n} for n in range(100)}
    talk.send("client", {"method": "_x", "params": params})


@breaks("not-json")
def a_number_is_none(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","method":"_x","params":{"a":NaN}}')


@breaks("parse-error-not-answered")
def a_line_that_is_not_json_gets_no_error(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"hello")
    talk.turn()


@breaks("parse-error-not-answered")
def one_of_two_broken_lines_gets_no_error(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{]")
    talk.send("client", b"\xff")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})
    talk.turn()


@keeps("parse-error-not-answered", despite=("not-json",))
def a_line_that_is_not_json_gets_an_error(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"hello")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})
    talk.turn()


@keeps("parse-error-not-answered", despite=("not-json",))
def a_recording_stops_behind_a_line_that_is_not_json(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"hello")


@breaks("parse-error-not-answered")
def a_line_that_is_not_json_is_answered_like_a_request(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":"n","method":"_x","params":{"a":NaN}}')
    talk.send("agent", {"id": "n", "result": {}})
