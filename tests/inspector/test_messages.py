"""Frames, decoded as they were sent and as what they mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.items import AgentMessage, ToolCallItem, TurnEnd
from acp_inspector.views.frame_row import decoded_row
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.json_values import as_list, get, get_text
from acp_protocol.jsonrpc import InvalidMessage, Json, Notification, Request, SuccessResponse, parse
from tests.inspector.talks import Said, answer, ask, batch, encoded, frames, update


def notify(method: str, **params: object) -> Said:
    return "agent", {"method": method, "params": params}


ACPEX: tuple[Said, ...] = (
    ask("client", 1, "initialize", protocolVersion=1, capabilities={"fileSystem": {}}),
    answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"sessions": {}}, "meta": {}}),
    ask("client", 2, "session/new", cwd="/w"),
    answer("agent", 2, {"sessionId": "s1"}),
    ask("client", 3, "session/prompt", sessionId="s1", content=[{"type": "text", "text": "hi"}]),
    notify("session/update", sessionId="s1", update={"kind": "message", "content": "Hello"}),
    answer("agent", 3, {"stopReason": "done"}),
)


def test_a_dialect_is_recognised_and_folds_like_the_published_protocol() -> None:
    talks = Conversations()
    for frame in frames(*ACPEX):
        talks.apply(frame)
    talk = talks.get("s1")
    assert [item.text for item in talk.items if isinstance(item, AgentMessage)] == ["Hello"]
    assert [item.stop_reason for item in talk.items if isinstance(item, TurnEnd)] == ["end_turn"]


def test_what_was_asked_before_it_was_recognised_is_remembered() -> None:
    """The question of the answer by which a dialect is known."""
    decoder = Decoder()
    hello = ask("client", 1, "initialize", protocolVersion=1, clientCapabilities={})
    first, second = frames(hello, ACPEX[1])
    assert decoder.dialect is None
    decoder.decode(first)
    (message,) = decoder.decode(second).messages
    assert decoder.dialect == "acpex"
    assert b'"agentInfo"' not in message.raw or b'"sessions"' not in message.raw


def test_a_dialect_that_is_known_beforehand_needs_no_sign() -> None:
    decoder = Decoder(open_dialect("acpex"))
    (frame,) = frames(ACPEX[5])
    (message,) = decoder.decode(frame).messages
    assert isinstance(message, Notification)
    assert message.params["update"]["sessionUpdate"] == "agent_message_chunk"


def test_an_event_names_the_dialect_and_the_questions_before_it_are_known() -> None:
    decoder = Decoder()
    asked, answered = frames(
        ask("client", 1, "session/new", cwd="/w", mcpServers=[]),
        answer("agent", 1, {"session_id": "s1"}),
    )
    assert decoder.decode(asked).dialect is None
    decoder.note(JournalEvent(2, 0.2, "dialect", {"dialect": "openoxide"}))
    assert get_text(decoder.decode(answered).result, "sessionId") == "s1"
    decoder.note(JournalEvent(4, 0.4, "spawn"))
    assert decoder.dialect is None


@pytest.mark.parametrize("name", [None, 7, "", "newer", "none"])
def test_an_event_without_the_name_of_a_dialect_begins_none(name: Json) -> None:
    decoder = Decoder()
    decoder.note(JournalEvent(1, 0.1, "dialect", {"dialect": name}))
    assert decoder.dialect is None
    decoder.decode(frames(ACPEX[0])[0])
    assert decoder.dialect == (None if name == "none" else "acpex")


@pytest.mark.parametrize("chosen", ["none", "continuum"])
def test_a_dialect_that_was_chosen_stays_whatever_an_event_names(chosen: str) -> None:
    decoder = Decoder(chosen)
    before = decoder.dialect
    decoder.note(JournalEvent(1, 0.1, "dialect", {"dialect": "acpex"}))
    assert (decoder.dialect, decoder.named) == (before, chosen)


def test_an_event_that_names_another_dialect_than_the_header_withdraws_that() -> None:
    decoder = Decoder()
    decoder.begin_recording("acpex", "/w")
    decoder.note(JournalEvent(1, 0.1, "dialect", {"dialect": "acpex"}))
    decoder.note(JournalEvent(2, 0.2, "spawn"))
    assert decoder.dialect == "acpex"
    decoder.note(JournalEvent(3, 0.3, "dialect", {"dialect": "none"}))
    assert (decoder.dialect, decoder.is_official) == (None, True)
    decoder.note(JournalEvent(4, 0.4, "spawn"))
    assert (decoder.dialect, decoder.is_official) == (None, False)


def test_the_published_protocol_passes_as_it_is() -> None:
    decoder = Decoder()
    for frame in frames(("agent", b"no json"), ask("client", 1, "initialize", protocolVersion=1)):
        (message,) = decoder.decode(frame).messages
        assert message.raw == frame.data
    assert decoder.dialect is None
    (broken,) = decoder.decode(frames(("agent", b"{"))[0]).messages
    assert isinstance(broken, InvalidMessage)


def test_a_frame_of_a_dialect_says_what_it_means_in_the_published_protocol() -> None:
    decoder, exchanges = Decoder(), Exchanges()
    read = [decoder.decode(frame) for frame in frames(*ACPEX)]
    for each in read:
        exchanges.pair(each)
    prompt, update, answered = read[4:7]
    assert get_text(as_list(get(prompt.params, "prompt"))[0], "text") == "hi"
    assert update.update["sessionUpdate"] == "agent_message_chunk"
    assert (update.value, update.session) == (parse(update.frame.data), "s1")
    assert (answered.method, answered.result) == ("session/prompt", {"stopReason": "end_turn"})
    assert decoded_row(prompt).summary == '"hi"'


def test_a_frame_with_several_blocks_holds_several_messages() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    (frame,) = frames(notify("session/update", sessionId="s1", content=blocks))
    read = Decoder(open_dialect("continuum")).decode(frame)
    texts = [get_text(part.update["content"], "text") for part in read.parts]
    assert (texts, read.kind, read.method) == (["one", "two"], "notification", "session/update")


def test_an_error_keeps_the_code_that_was_sent() -> None:
    decoder, exchanges = Decoder(open_dialect("acpex")), Exchanges()
    asked, refused = frames(
        ask("client", 1, "session/prompt", sessionId="s1", content=[]),
        ("agent", {"id": 1, "error": {"code": -32003, "message": "not permitted"}}),
    )
    exchanges.pair(decoder.decode(asked))
    read = decoder.decode(refused)
    exchanges.pair(read)
    assert read.error is not None
    assert (read.error.code, read.method) == (-32003, "session/prompt")
    assert read.meaning != read.message
    assert exchanges.all[0].code == -32003
    assert decoded_row(read).summary == "-32003 not permitted"


def test_a_conversation_keeps_the_codes_of_errors_that_were_sent() -> None:
    talks = Conversations(open_dialect("acpex"))
    talks.read(
        frames(
            ask("client", 1, "session/load", sessionId="s1", cwd="/"),
            ("agent", {"id": 1, "error": {"code": -32001, "message": "not found"}}),
        )
    )
    assert [each.code for each in talks.errors] == [-32001]


CANCELLED: tuple[Said, ...] = (
    ask("client", 1, "session/prompt", sessionId="s1", content=[]),
    ask("client", 2, "session/cancel", sessionId="s1"),
    answer("agent", 2, {}),
    answer("agent", 1, {"stopReason": "cancelled"}),
)
"""In Continuum Router a cancel is a request, and means a notification."""


def test_a_response_that_means_nothing_responds_to_what_was_sent_as_a_request() -> None:
    decoder, exchanges = Decoder(open_dialect("continuum")), Exchanges()
    read = [decoder.decode(frame) for frame in frames(*CANCELLED)]
    kinds = [[type(message) for message, _ in exchanges.pair(each)] for each in read]
    assert kinds == [[Request], [Notification], [], [SuccessResponse]]
    _, asked, answered, _ = read
    row = decoded_row(answered)
    assert (row.kind, row.method, row.session) == ("result", "session/cancel", "s1")
    assert row.latency == pytest.approx(0.1)
    assert (asked.kind, asked.id) == ("notification", None)
    assert [each.ending for each in exchanges.all] == ["cancelled", "result"]


def test_a_frame_finds_the_cancel_that_it_responds_to_among_others() -> None:
    decoder = Decoder(open_dialect("continuum"))
    prompt, asked, answered, _ = (decoder.decode(frame) for frame in frames(*CANCELLED))
    answered.respond_to(prompt, asked)
    assert (answered.method, answered.request_frame) == ("session/cancel", asked.frame)


def test_a_changed_response_to_a_cancel_has_its_request_too() -> None:
    decoder, exchanges = Decoder("continuum", rereads=True), Exchanges()
    _, asked, answered = [decoder.decode(frame) for frame in frames(*CANCELLED[:3])]
    for each in (asked, answered):
        exchanges.pair(each)
    changed = decoder.reread(replace(answered.frame, data=encoded({"id": 2, "result": None})))
    assert changed is not None
    assert changed.method == "session/cancel"


def test_each_message_of_an_array_has_the_request_that_it_responds_to() -> None:
    exchanges = Exchanges()
    asked, noted, answered = frames(
        batch(ask("client", 1, "session/list"), ask("client", 2, "x")),
        batch(("client", {"method": "session/cancel"})),
        batch(answer("agent", 2, {}), answer("agent", 1, {"sessions": []})),
    )
    read = [DecodedFrame(frame) for frame in (asked, noted, answered)]
    for each in read:
        exchanges.pair(each)
    assert [[part.method for part in each.parts] for each in read] == [
        ["session/list", "x"],
        ["session/cancel"],
        ["x", "session/list"],
    ]
    assert [each.kind for each in read] == ["batch"] * 3
    assert decoded_row(read[2]).summary == "2 messages: x, session/list"
    again = exchanges.decoded(answered)
    assert [part.method for part in again.parts] == ["x", "session/list"]


def test_tool_calls_of_a_dialect_are_tool_calls() -> None:
    called = {
        "kind": "tool_call",
        "content": {
            "toolCallId": "c1",
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path":"/a"}'},
        },
    }
    talks = Conversations(open_dialect("acpex"))
    for frame in frames(notify("session/update", sessionId="s1", update=called)):
        talks.apply(frame)
    (call,) = talks.get("s1").items
    assert isinstance(call, ToolCallItem)
    assert (call.facts.title, call.facts.name) == ("read_file", "read_file")
    assert call.facts.kind == "other"


# One frame


def decoded(raw: bytes) -> DecodedFrame:
    return DecodedFrame(Frame(1, 0.0, "client", raw))


def test_a_frame_is_parsed_once_for_its_value_and_its_message() -> None:
    frame = decoded(
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}'
    )
    assert isinstance(frame.message, Request)
    assert frame.message.params is frame.members["params"]
    assert frame.value is frame.value
    assert (frame.kind, frame.id, frame.method, frame.session) == (
        *("request", 1, "session/prompt"),
        "s",
    )


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"id":1,"method":"m"}', "malformed"),
        (b'{"jsonrpc":"2.0","id":1,"result":1}', "result"),
        (b"[]", "batch"),
        (b"1", "malformed"),
        (b"no json", "malformed"),
    ],
)
def test_a_malformed_frame_has_a_reason(raw: bytes, kind: str) -> None:
    frame = decoded(raw)
    assert frame.kind == kind
    assert bool(frame.reason) == (kind == "malformed")


def test_bytes_that_are_no_json_have_no_value() -> None:
    assert (decoded(b"no json").value, decoded(b"no json").members) == (None, {})


def test_a_response_knows_its_request_once_it_is_paired() -> None:
    exchanges, decoder = Exchanges(), Decoder()
    asked, answered = frames(
        ask("client", 1, "session/prompt", sessionId="s1"),
        answer("agent", 1, {"stopReason": "end_turn"}),
    )
    exchanges.pair(decoder.decode(asked))
    response = decoder.decode(answered)
    assert (response.method, response.session, response.latency) == (None, None, None)
    ((message, exchange),) = exchanges.pair(response)
    assert exchange is exchanges.of(asked)
    assert message is response.message
    assert (response.method, response.session) == ("session/prompt", "s1")
    assert response.latency == pytest.approx(0.1)
    assert response.result == {"stopReason": "end_turn"}


def test_update_of_a_notification_is_an_object_in_any_case() -> None:
    (frame,) = frames(update("tool_call", toolCallId="c"))
    assert DecodedFrame(frame).update["toolCallId"] == "c"
    assert decoded(b'{"jsonrpc":"2.0","method":"session/update","params":[]}').update == {}
