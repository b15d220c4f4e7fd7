"""Frames, decoded as they were sent and as what they mean."""

from __future__ import annotations

import pytest

from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.items import AgentMessage, ToolCallItem, TurnEnd
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.jsonrpc import InvalidMessage, Notification, Request
from tests.inspector.talks import Said, answer, ask, frames, update


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


def test_the_published_protocol_passes_as_it_is() -> None:
    decoder = Decoder()
    for frame in frames(("agent", b"no json"), ask("client", 1, "initialize", protocolVersion=1)):
        (message,) = decoder.decode(frame).messages
        assert message.raw == frame.data
    assert decoder.dialect is None
    (broken,) = decoder.decode(frames(("agent", b"{"))[0]).messages
    assert isinstance(broken, InvalidMessage)


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
    ("raw", "kind", "apparent"),
    [
        (b'{"id":1,"method":"m"}', "malformed", "request"),
        (b'{"method":"m","params":1}', "malformed", "notification"),
        (b'{"id":true,"result":1}', "malformed", "result"),
        (b'{"jsonrpc":"2.0","id":1,"error":{}}', "malformed", "error"),
        (b'{"jsonrpc":"2.0","id":1,"result":1}', "result", "result"),
        (b"[]", "batch", "batch"),
        (b"1", "malformed", "malformed"),
        (b"no json", "malformed", "malformed"),
    ],
)
def test_a_frame_that_breaks_a_rule_still_has_an_apparent_kind(
    raw: bytes, kind: str, apparent: str
) -> None:
    frame = decoded(raw)
    assert (frame.kind, frame.apparent_kind) == (kind, apparent)
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
