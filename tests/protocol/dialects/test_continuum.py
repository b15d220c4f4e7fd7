"""Continuum Router, held against the examples in its own document."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from acp_protocol.dialects.base import Translation
from acp_protocol.dialects.continuum import Continuum
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from tests.protocol.dialects.examples import (
    Exchange,
    call,
    frame,
    hold_reading,
    hold_writing,
    is_valid,
    other,
    plain,
    said,
    update,
)

SESSION = "550e8400-e29b-41d4-a716-446655440000"
HISTORY = {
    "sessionId": SESSION,
    "createdAt": "2026-03-08T12:00:00Z",
    "updatedAt": "2026-03-08T12:00:00Z",
    "mode": "code",
    "historyLength": 0,
}
MODES = {
    "currentModeId": "code",
    "availableModes": [{"id": "code", "name": "Code"}, {"id": "architect", "name": "Architect"}],
}
EDITOR = {"name": "MyEditor", "version": "1.0.0"}
ROUTER = {"name": "Continuum Router", "version": "1.3.0-beta.1"}
FLAT = {"loadSession": True, "image": False, "audio": False, "embeddedContext": False}
FILES = {"readTextFile": True, "writeTextFile": True}
OPTIONS = [
    {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "allow_always", "name": "Allow always", "kind": "allow_always"},
    {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
    {"optionId": "reject_always", "name": "Reject always", "kind": "reject_always"},
]
PLACE = {"uri": "file:///src/main.rs", "startLine": 42}
TOOL = {"toolCallId": "tc-1", "title": "Edit File", "kind": "edit"}
CHOSEN = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

INITIALIZE = Exchange(
    "initialize",
    "initialize",
    theirs=(
        {
            "protocolVersion": 1,
            "clientCapabilities": FILES | {"terminal": False},
            "clientInfo": EDITOR,
        },
        {
            "protocolVersion": 1,
            "agentCapabilities": FLAT | {"mcp": True, "mcpCapabilities": {"acp": True}},
            "agentInfo": ROUTER,
            "authMethods": [],
        },
    ),
    ours=(
        {
            "protocolVersion": 1,
            "clientCapabilities": {"fs": FILES, "terminal": False},
            "clientInfo": EDITOR,
        },
        {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
            },
            "agentInfo": ROUTER,
            "authMethods": [],
        },
    ),
    written=(
        {
            "protocolVersion": 1,
            "clientCapabilities": FILES | {"terminal": False},
            "clientInfo": EDITOR,
        },
        {
            "protocolVersion": 1,
            "agentCapabilities": FLAT | {"mcp": False},
            "agentInfo": ROUTER,
            "authMethods": [],
        },
    ),
)
NEW = Exchange(
    "session/new",
    "session/new",
    theirs=({"mode": "code"}, HISTORY),
    ours=({"cwd": "/abs/project", "mcpServers": []}, {"sessionId": SESSION, "modes": MODES}),
    written=({}, HISTORY),
)
EXCHANGES = [
    INITIALIZE,
    NEW,
    Exchange(
        "authenticate",
        "authenticate",
        theirs=({"method": "api_key", "token": "k"}, None),
        ours=({"methodId": "api_key"}, {}),
        written=({"method": "api_key"}, {}),
    ),
    Exchange(
        "session/load",
        "session/load",
        theirs=({"sessionId": SESSION}, HISTORY),
        ours=(
            {"sessionId": SESSION, "cwd": "/abs/project", "mcpServers": []},
            {"modes": MODES},
        ),
    ),
    Exchange(
        "session/prompt",
        "session/prompt",
        theirs=(
            {
                "sessionId": SESSION,
                "content": [{"type": "text", "text": "Explain"}],
                "model": "gpt-4o",
                "stream": True,
                "temperature": 0.7,
                "maxTokens": 4096,
            },
            {"stopReason": "end_turn"},
        ),
        ours=(
            {"sessionId": SESSION, "prompt": [{"type": "text", "text": "Explain"}]},
            {"stopReason": "end_turn"},
        ),
        written=(
            {"sessionId": SESSION, "content": [{"type": "text", "text": "Explain"}]},
            {"stopReason": "end_turn"},
        ),
    ),
    Exchange(
        "a permission that can be answered",
        "session/request_permission",
        theirs=(
            {"sessionId": SESSION} | TOOL | {"locations": [PLACE]},
            "allow_once",
        ),
        ours=(
            {
                "sessionId": SESSION,
                "toolCall": TOOL
                | {"status": "pending", "locations": [{"path": "/src/main.rs", "line": 42}]},
                "options": OPTIONS,
            },
            CHOSEN,
        ),
        written=({"sessionId": SESSION} | TOOL | {"locations": [PLACE]}, CHOSEN),
        asked_by="agent",
    ),
]


@pytest.fixture
def dialect() -> Continuum:
    return Continuum("/abs/project", now=lambda: datetime(2026, 3, 8, 12, tzinfo=UTC))


@pytest.fixture
def opened(dialect: Continuum) -> Continuum:
    """A connection in which a session is open."""
    hold_reading(dialect, INITIALIZE)
    hold_reading(dialect, NEW)
    return dialect


@pytest.mark.parametrize("exchange", EXCHANGES, ids=str)
def test_an_exchange_is_read(dialect: Continuum, exchange: Exchange) -> None:
    hold_reading(dialect, exchange)


@pytest.mark.parametrize("exchange", EXCHANGES, ids=str)
def test_an_exchange_is_written(dialect: Continuum, exchange: Exchange) -> None:
    hold_writing(dialect, exchange)


def test_the_mode_is_set_in_the_session_that_was_used_last(opened: Continuum) -> None:
    question = call("session/set_mode", {"mode": "architect"}, id=5)
    null = call("session/set_mode", {"sessionId": None, "mode": "architect"}, id=5)
    params: Json = {"sessionId": SESSION, "modeId": "architect"}
    official = call("session/set_mode", params, id=5)
    mark: Json = {"_meta": {"continuum": {"isClient": True}}}
    for each in (null, question):
        marked = call("session/set_mode", params | mark, id=5)
        assert said(*opened.read(each, "client").forward) == said(marked)
    answer = frame(id=5, result={"mode": "architect", "previousMode": "code"})
    (answered,) = said(*opened.read(answer, "agent").forward)
    assert plain(answered["result"]) == {}
    assert said(*opened.write(official, "client")) == said(question)


def test_an_answer_to_setting_the_mode_names_both(opened: Continuum) -> None:
    opened.read(call("session/set_mode", {"mode": "architect"}, id=5), "client")
    (answer,) = opened.write(frame(id=5, result={}), "agent")
    assert json.loads(answer)["result"] == {"mode": "architect", "previousMode": "code"}


def test_the_mode_before_is_known_where_an_update_comes_first(opened: Continuum) -> None:
    for mode, before in [("architect", "code"), ("code", "architect"), ("code", "code")]:
        opened.read(call("session/set_mode", {"mode": mode}, id=5), "client")
        told = {"sessionUpdate": "current_mode_update", "currentModeId": mode}
        opened.write(json.dumps(update(told, SESSION)).encode(), "agent")
        (answer,) = opened.write(frame(id=5, result={}), "agent")
        assert json.loads(answer)["result"] == {"mode": mode, "previousMode": before}


@pytest.mark.parametrize(
    ("method", "ours", "theirs"),
    [
        ("session/new", -32600, -32001),
        ("session/prompt", -32600, -32001),
        ("session/prompt", -32000, -32001),
        ("mcp/connect", -33000, -32001),
        ("mcp/connect", -33001, -32001),
        ("mcp/message", -33002, -32001),
        ("mcp/message", -32602, -32602),
        ("initialize", -32600, -32600),
        ("session/list", -32800, -32800),
    ],
)
def test_what_cannot_be_as_things_stand_is_an_error_of_the_application(
    opened: Continuum, method: str, ours: int, theirs: int
) -> None:
    opened.read(call(method, {}, id=1), "client")
    (written,) = said(*opened.write(failure((ours, "too many", {"most": 5})), "agent"))
    assert written["error"] == {"code": theirs, "message": "too many", "data": {"most": 5}}


def test_a_session_that_was_not_used_last_is_named(opened: Continuum) -> None:
    (asked,) = said(
        *opened.write(
            call("session/set_mode", {"sessionId": "s2", "modeId": "code"}, id=5), "client"
        )
    )
    assert asked["params"] == {"sessionId": "s2", "mode": "code"}


def test_a_cancel_request_is_answered_and_read_as_a_notification(opened: Continuum) -> None:
    for params in (None, {"sessionId": None}):
        reading = opened.read(call("session/cancel", params, id=6), "client")
        assert said(*reading.forward) == said(call("session/cancel", {"sessionId": SESSION}))
        assert said(*reading.replies) == said(frame(id=6, result={}))
    assert opened.read(frame(id=6, result={}), "agent") == Translation(())


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/prompt"])
def test_a_session_that_there_is_not_is_never_the_current_one(
    opened: Continuum, method: str
) -> None:
    opened.read(call("session/prompt", {"sessionId": SESSION, "content": []}, id=1), "client")
    opened.read(call(method, {"sessionId": "nope"}, id=2), "client")
    assert cancelled_by(opened) == SESSION
    opened.write(frame(id=2, error={"code": -32002, "message": "no such session"}), "agent")
    assert cancelled_by(opened) == SESSION
    (asked,) = said(
        *opened.read(call("session/set_mode", {"mode": "code"}, id=3), "client").forward
    )
    assert asked["params"]["sessionId"] == SESSION


def test_cancelling_means_the_turn_that_runs(opened: Continuum) -> None:
    opened.read(call("session/prompt", {"sessionId": SESSION, "content": []}, id=1), "client")
    open_session(opened, "s2")
    assert opened.session == "s2"
    assert cancelled_by(opened) == SESSION
    opened.write(frame(id=1, result={"stopReason": "cancelled"}), "agent")
    assert cancelled_by(opened) == "s2"


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_that_has_ended_is_not_the_current_one(opened: Continuum, method: str) -> None:
    open_session(opened, "s2")
    opened.read(call(method, {"sessionId": "s2"}, id=2), "client")
    opened.write(frame(id=2, result={}), "agent")
    assert cancelled_by(opened) == SESSION


def test_a_session_that_is_used_is_current_though_its_opening_was_not_seen(
    dialect: Continuum,
) -> None:
    dialect.read(call("session/prompt", {"sessionId": "s1", "content": []}, id=1), "client")
    assert cancelled_by(dialect) == "s1"
    dialect.write(frame(id=1, result={"stopReason": "cancelled"}), "agent")
    assert cancelled_by(dialect) == "s1"


def test_a_cancel_request_before_any_session_is_only_answered(dialect: Continuum) -> None:
    hold_reading(dialect, INITIALIZE)
    reading = dialect.read(call("session/cancel", id=6), "client")
    assert reading.forward == ()
    assert said(*reading.replies) == said(frame(id=6, result={}))


def test_a_cancel_request_before_all_others_is_refused(dialect: Continuum) -> None:
    reading = dialect.read(call("session/cancel", id=6), "client")
    assert reading.forward == ()
    assert json.loads(*reading.replies)["error"]["code"] == -32002


@pytest.mark.parametrize(("session", "code"), [("nope", -32001), (5, -32602), ([], -32602)])
def test_cancelling_in_no_session_is_refused(opened: Continuum, session: Json, code: int) -> None:
    reading = opened.read(call("session/cancel", {"sessionId": session}, id=6), "client")
    assert json.loads(*reading.replies)["error"]["code"] == code


def test_a_cancel_notification_is_not_answered(opened: Continuum) -> None:
    reading = opened.read(call("session/cancel"), "client")
    assert said(*reading.forward) == said(call("session/cancel", {"sessionId": SESSION}))
    assert reading.replies == ()


def test_cancelling_is_written_as_a_request_with_an_unseen_answer(opened: Continuum) -> None:
    (asked,) = said(*opened.write(call("session/cancel", {"sessionId": SESSION}), "client"))
    assert asked == {"jsonrpc": "2.0", "id": asked["id"], "method": "session/cancel"}
    assert opened.read(frame(id=asked["id"], result={}), "agent") == Translation(())


def test_an_update_of_several_blocks_is_as_many_chunks(dialect: Continuum) -> None:
    blocks = [{"type": "text", "text": "The architecture..."}, {"type": "text", "text": "b"}]
    raw = call("session/update", {"sessionId": "s1", "content": blocks})
    chunks = [update({"sessionUpdate": "agent_message_chunk", "content": each}) for each in blocks]
    read = said(*dialect.read(raw, "agent").forward)
    assert read == chunks
    assert all(is_valid(each) for each in read)


def test_a_chunk_is_written_as_an_update_of_one_block(dialect: Continuum) -> None:
    block = {"type": "text", "text": "The architecture..."}
    raw = json.dumps(update({"sessionUpdate": "agent_message_chunk", "content": block})).encode()
    written = said(*dialect.write(raw, "agent"))
    assert written == said(call("session/update", {"sessionId": "s1", "content": [block]}))


@pytest.mark.parametrize(
    ("method", "theirs", "ours"),
    [
        ("session/new", (-32002, "not ready", None), (-32600, "not ready", None)),
        (
            "session/prompt",
            (-32001, "Session not found", None),
            (-32002, "Session not found", {"sessionId": "s1"}),
        ),
        ("session/prompt", (-32001, "no model", None), (-32001, "no model", None)),
        ("session/new", (-32001, "Log in first", None), (-32000, "Log in first", None)),
        ("session/new", (-32001, "Too many sessions", None), (-32001, "Too many sessions", None)),
        (
            "fs/read_text_file",
            (-32001, "/a: does not exist", None),
            (-32002, "/a: does not exist", None),
        ),
        ("fs/read_text_file", (-32001, "not allowed", None), (-32001, "not allowed", None)),
        ("session/prompt", (-32603, "oh", {"a": 1}), (-32603, "oh", {"a": 1})),
    ],
)
def test_an_error_code_is_read(
    dialect: Continuum, method: str, theirs: tuple[int, str, Json], ours: tuple[int, str, Json]
) -> None:
    asker: Side = "agent" if method.startswith("fs/") else "client"
    dialect.read(call(method, {"sessionId": "s1", "content": []}, id=1), asker)
    read = said(*dialect.read(failure(theirs), other(asker)).forward)
    assert read == said(failure(ours))


def test_a_code_means_something_else_once_initialized(opened: Continuum) -> None:
    opened.read(call("session/prompt", {"sessionId": "s1", "content": []}, id=1), "client")
    raw = failure((-32002, "oh", None))
    assert opened.read(raw, "agent").forward[0] is raw


def test_error_codes_are_written(dialect: Continuum) -> None:
    codes = {-32002: -32001, -32600: -32002, -32601: -32601, -32603: -32603}
    for ours, theirs in codes.items():
        dialect.read(call("session/new", {}, id=1), "client")
        (written,) = said(*dialect.write(failure((ours, "oh", None)), "agent"))
        assert written["error"]["code"] == theirs


def test_running_out_of_requests_is_written_as_running_out_of_tokens(dialect: Continuum) -> None:
    dialect.read(call("session/prompt", {"sessionId": "s1", "content": []}, id=1), "client")
    answer = frame(id=1, result={"stopReason": "max_turn_requests"})
    (written,) = said(*dialect.write(answer, "agent"))
    assert written["result"] == {"stopReason": "max_tokens"}


def test_what_has_no_member_is_kept_aside_and_written_again(dialect: Continuum) -> None:
    dialect.read(call("session/new", {"mode": "code"}, id=3), "client")
    theirs = HISTORY | {"historyLength": 4, "createdAt": "2026-03-08T13:00:00.25+01:00"}
    (read,) = dialect.read(frame(id=3, result=theirs), "agent").forward
    kept = json.loads(read)["result"]["_meta"]["continuum"]
    assert kept["historyLength"] == 4
    dialect.read(call("session/new", {"mode": "code"}, id=3), "client")
    (written,) = said(*dialect.write(read, "agent"))
    assert written["result"] == HISTORY | {"historyLength": 4}


def test_a_secret_of_the_user_is_sent(dialect: Continuum) -> None:
    params = {"methodId": "api_key", "_meta": {"continuum": {"token": "k"}}}
    (sent,) = said(*dialect.write(call("authenticate", params, id=1), "client"))
    assert sent["params"] == {"method": "api_key", "token": "k"}


def test_a_secret_goes_nowhere(dialect: Continuum) -> None:
    raw = call("authenticate", {"method": "api_key", "token": "secret"}, id=2)
    assert b"secret" not in b"".join(dialect.read(raw, "client").forward)


@pytest.mark.parametrize(
    ("sent_by", "method", "params"),
    [
        ("client", "mcp/connect", {"id": "filesystem"}),
        ("client", "mcp/disconnect", {"connectionId": "uuid-1"}),
        ("client", "mcp/message", {"connectionId": "uuid-1", "message": {"id": 1, "result": {}}}),
        ("agent", "fs/read_text_file", {"sessionId": "s1", "path": "/a"}),
        ("agent", "session/update", {"sessionId": "s1", "update": {"sessionUpdate": "plan"}}),
    ],
)
def test_what_has_no_counterpart_or_is_the_same_passes(
    dialect: Continuum, sent_by: Side, method: str, params: Json
) -> None:
    raw = call(method, params, id=10)
    assert dialect.read(raw, sent_by).forward[0] is raw
    assert dialect.write(raw, sent_by)[0] is raw


def cancelled_by(dialect: Continuum) -> Json:
    """Return the session that a cancel request without one comes to."""
    (asked,) = said(*dialect.read(call("session/cancel", id=9), "client").forward)
    return asked["params"]["sessionId"]


def open_session(dialect: Continuum, name: str) -> None:
    dialect.read(call("session/new", {"mode": "code"}, id=8), "client")
    dialect.write(frame(id=8, result={"sessionId": name}), "agent")


def failure(error: tuple[int, str, Json]) -> bytes:
    code, message, data = error
    members = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return frame(id=1, error=members)


def test_kinds_of_servers_that_are_official_stay_official(dialect: Continuum) -> None:
    dialect.read(call("initialize", {"protocolVersion": 1}, id=1), "client")
    able = FLAT | {"mcp": False, "mcpCapabilities": {"http": True, "sse": False}}
    raw = frame(id=1, result={"protocolVersion": 1, "agentCapabilities": able})
    (read,) = said(*dialect.read(raw, "agent").forward)
    official = read["result"]["agentCapabilities"]
    assert official["mcpCapabilities"] == {"http": True, "sse": False}
    assert official["_meta"] == {"continuum": {"mcp": False}}
