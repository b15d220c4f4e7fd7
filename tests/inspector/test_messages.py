"""Frames of dialects, read as what they mean."""

from __future__ import annotations

from acp_inspector.analysis.conversations import Conversations
from acp_inspector.analysis.items import AgentMessage, ToolCall, TurnEnd
from acp_inspector.messages import Decoder
from acp_protocol.dialects.catalogue import open_dialect
from acp_protocol.jsonrpc import Malformed, Notification
from tests.inspector.talks import Said, answer, ask, frames


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
        assert message.raw == frame.raw
    assert decoder.dialect is None
    (broken,) = decoder.decode(frames(("agent", b"{"))[0]).messages
    assert isinstance(broken, Malformed)


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
    assert isinstance(call, ToolCall)
    assert (call.title, call.kind) == ("read_file", "read")
