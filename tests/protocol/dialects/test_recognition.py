"""A dialect is known by what no official peer would say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.dialects.detect import MAX_FRAMES, DialectDetector
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from tests.protocol.dialects.examples import call, frame, frames_of, update


def opening(**params: Json) -> bytes:
    return call("initialize", {"protocolVersion": 1} | params, id=0)


def opened(capabilities: Json = None, **result: Json) -> bytes:
    shown = {} if capabilities is None else {"agentCapabilities": capabilities}
    return frame(id=0, result={"protocolVersion": 1} | shown | result)


def spelled(value: Json) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("sent_by", "raw", "name"),
    [
        ("client", opening(capabilities={"fileSystem": {}}), "acpex"),
        ("client", opening(capabilities={"terminal": {"create": True}}), "acpex"),
        ("client", opening(capabilities={}), "acpex"),
        ("client", opening(authenticationMethods=[]), "acpex"),
        ("agent", opened({"sessions": {"new": True}}), "acpex"),
        ("agent", opened({"prompts": {}}), "acpex"),
        ("agent", opened({"mcp": {"http": False}}), "acpex"),
        ("agent", opened({}, meta={"name": "AI Agent"}), "acpex"),
        ("agent", opened({}, authenticationMethods=[]), "acpex"),
        ("agent", spelled(update({"kind": "message", "content": "Hello"})), "acpex"),
        ("client", opening(clientCapabilities={"readTextFile": True}), "continuum"),
        ("client", opening(clientCapabilities={"writeTextFile": False}), "continuum"),
        ("agent", opened({"image": False}), "continuum"),
        ("agent", opened({"mcp": True}), "continuum"),
        ("client", call("session/new", {"mode": "code"}, id=3), "continuum"),
        (
            "agent",
            frame(id=3, result={"sessionId": "s", "createdAt": "now", "historyLength": 0}),
            "continuum",
        ),
        ("agent", call("session/update", {"sessionId": "s", "content": []}), "continuum"),
        ("client", call("mcp/connect", {"id": "filesystem"}, id=10), "continuum"),
        ("agent", frame(id=0, result={"file_read": True, "session_fork": False}), "openoxide"),
        ("client", b'{"type":"prompt","session_id":"s","content":[]}', "openoxide"),
        ("client", call("session/new", {"working_dir": "/a", "config": {}}, id=2), "openoxide"),
        ("client", call("session/prompt", {"session_id": "s", "content": []}, id=3), "openoxide"),
        ("client", call("session/prompt", {"sessionId": "s", "content": []}, id=3), "acpex"),
        (
            "client",
            call("session/prompt", {"sessionId": "s", "content": [], "model": "m"}, id=3),
            "continuum",
        ),
    ],
)
def test_a_dialect_is_recognised_by_its_first_words(sent_by: Side, raw: bytes, name: str) -> None:
    assert DialectDetector().feed(raw, sent_by) == name
    assert DialectDetector().feed(raw, "agent" if sent_by == "client" else "client") is None


@pytest.mark.parametrize(
    ("sent_by", "raw"),
    [
        ("client", opening()),
        ("client", opening(clientCapabilities={"terminal": True})),
        ("client", opening(clientCapabilities={"fs": {}, "readTextFile": True})),
        ("client", opening(capabilities={"fileSystem": {}}, info={"name": "v2"})),
        ("client", opening(clientCapabilities={}, capabilities={})),
        ("client", call("initialize", {"protocolVersion": 2, "capabilities": {}}, id=0)),
        ("client", call("session/prompt", {"sessionId": "s", "prompt": [], "content": []}, id=1)),
        ("client", call("session/prompt", {"sessionId": "s", "content": "text"}, id=1)),
        ("agent", opened({"loadSession": True})),
        ("agent", opened({"promptCapabilities": {}, "image": True})),
        ("agent", frame(id=1, result={"file_read": True})),
        ("agent", frame(id=1, result={"meta": {}})),
        ("agent", frame(id=1, result={"createdAt": "now"})),
        ("client", call("session/new", {"cwd": "/a", "mcpServers": [], "mode": "code"}, id=1)),
        ("client", call("session/new", {}, id=1)),
        (
            "agent",
            spelled(update({"sessionUpdate": "tool_call_update", "kind": "read"})),
        ),
        ("agent", spelled(update({"kind": "read"}))),
        ("agent", call("mcp/connect", {"serverId": "s"}, id=1)),
        ("client", b"{"),
        ("client", b'[{"type":"prompt","session_id":"s"}]'),
    ],
)
def test_what_may_be_official_gives_nothing_away(sent_by: Side, raw: bytes) -> None:
    assert DialectDetector().feed(raw, sent_by) is None


def test_lengths_before_frames_need_an_opening_that_is_not_official() -> None:
    assert DialectDetector("headers").feed(opening(), "client") == "openoxide"
    assert DialectDetector("headers").feed(opening(clientCapabilities={}), "client") is None
    bare = call("initialize", {"clientCapabilities": {"fs": {}}}, id=0)
    assert DialectDetector("headers").feed(bare, "client") == "openoxide"
    assert DialectDetector("lines").feed(bare, "client") is None
    assert DialectDetector("lines").feed(opening(), "client") is None


def test_the_first_dialect_is_kept() -> None:
    recognition = DialectDetector()
    recognition.feed(opening(clientCapabilities={"readTextFile": True}), "client")
    assert recognition.feed(opening(authenticationMethods=[]), "client") == "continuum"


@pytest.mark.parametrize(
    ("sent_by", "official", "foreign"),
    [
        (
            "client",
            opening(clientCapabilities={"fs": {}}),
            call("session/new", {"mode": "code"}, id=1),
        ),
        (
            "agent",
            opened({"promptCapabilities": {}}),
            call("session/update", {"sessionId": "s", "content": []}),
        ),
    ],
)
def test_who_opens_officially_is_believed(sent_by: Side, official: bytes, foreign: bytes) -> None:
    recognition = DialectDetector()
    recognition.feed(official, sent_by)
    assert recognition.feed(foreign, sent_by) is None
    assert recognition.is_settled(sent_by)


@pytest.mark.parametrize(("cwd", "name"), [({"cwd": "/a", "mcpServers": []}, "acpex"), ({}, None)])
@pytest.mark.parametrize("capabilities", [{}, {"fs": {}}])
def test_a_prompt_by_another_name_settles_a_late_doubt(
    cwd: dict[str, Json], name: str | None, capabilities: Json
) -> None:
    recognition = DialectDetector()
    recognition.feed(opening(clientCapabilities=capabilities), "client")
    recognition.feed(opened({}), "agent")
    assert recognition.feed(call("session/new", cwd, id=1), "client") is None
    prompt = call("session/prompt", {"sessionId": "s", "content": []}, id=2)
    expected = name or ("acpex" if capabilities else "continuum")
    assert recognition.feed(prompt, "client") == expected


def test_there_is_no_doubt_about_an_agent_that_opens_officially() -> None:
    recognition = DialectDetector()
    recognition.feed(opening(clientCapabilities={"fs": {}}), "client")
    recognition.feed(opened({"promptCapabilities": {}}), "agent")
    prompt = call("session/prompt", {"sessionId": "s", "content": []}, id=2)
    assert recognition.feed(prompt, "client") is None


def test_a_mistake_behind_an_official_session_is_no_dialect() -> None:
    recognition = DialectDetector()
    recognition.feed(opening(clientCapabilities={}), "client")
    recognition.feed(call("session/new", {"cwd": "/a", "mcpServers": []}, id=1), "client")
    assert recognition.feed(call("session/new", {"mode": "code"}, id=2), "client") is None
    assert recognition.feed(call("mcp/connect", {"id": "s"}, id=3), "client") is None
    assert not recognition.is_settled("client")


def test_nobody_is_watched_for_ever() -> None:
    recognition = DialectDetector()
    for _ in range(MAX_FRAMES):
        recognition.feed(b"{}", "agent")
    assert recognition.is_settled("agent")
    assert recognition.feed(opened({"mcp": True}), "agent") is None
    assert not recognition.is_settled("client")


def test_real_traffic_is_official(shared: Path) -> None:
    files = sorted((shared / "traffic").glob("*.ndjson"))
    assert files
    for path in files:
        recognition = DialectDetector()
        for raw, side in frames_of(path):
            assert recognition.feed(raw, side) is None, path.name


@given(st.lists(st.tuples(st.binary(), st.sampled_from(["client", "agent"]))))
def test_whatever_comes_nothing_fails(frames: list[tuple[bytes, Side]]) -> None:
    recognition = DialectDetector()
    for raw, side in frames:
        recognition.feed(raw, side)


def test_nesting_to_the_brim_is_no_failure() -> None:
    raw = b'{"type":"prompt","session_id":' + b"[" * 5000 + b"]" * 5000 + b"}"
    assert DialectDetector().feed(raw, "client") is None
