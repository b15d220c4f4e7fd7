"""ACPex, held against the examples in its own document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_protocol.dialects.acpex import Acpex
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from tests.protocol.dialects.examples import (
    Exchange,
    call,
    frame,
    hold_reading,
    hold_writing,
    is_valid,
    plain,
    said,
    update,
)

EDITOR = {"name": "My Editor", "version": "1.0.0"}
AGENT = {"name": "AI Agent", "version": "2.0.0"}
FILES = {"readTextFile": True, "writeTextFile": True}
ABILITIES = ("create", "output", "waitForExit", "kill", "release")
PROMPTS = {"audio": False, "image": True, "embeddedContext": True}
BRIDGES = {"http": False, "sse": False}
TEXT = {"type": "text", "text": "Refactor"}
SOURCE = {"type": "resource", "uri": "file:///src/main.ex", "mimeType": "text/x-elixir"}
LINK = SOURCE | {"type": "resource_link", "name": "main.ex"}

PROMPT = Exchange(
    "session/prompt",
    "session/prompt",
    theirs=(
        {"sessionId": "session_12345", "content": [TEXT, SOURCE]},
        {
            "content": [{"type": "text", "text": "Refactoring complete!"}],
            "stopReason": "done",
        },
    ),
    ours=(
        {"sessionId": "session_12345", "prompt": [TEXT, LINK]},
        {"stopReason": "end_turn"},
    ),
    written=(
        {
            "sessionId": "session_12345",
            "content": [TEXT, SOURCE | {"type": "resource_link"}],
        },
        {"content": [], "stopReason": "done"},
    ),
)
EXCHANGES = [
    Exchange(
        "initialize",
        "initialize",
        theirs=(
            {
                "protocolVersion": 1,
                "clientInfo": EDITOR,
                "capabilities": {
                    "fileSystem": FILES,
                    "terminal": dict.fromkeys(ABILITIES, True),
                },
                "authenticationMethods": [],
            },
            {
                "protocolVersion": 1,
                "agentCapabilities": {
                    "sessions": {"new": True, "load": False},
                    "mcp": BRIDGES,
                    "prompts": PROMPTS,
                },
                "meta": AGENT,
                "authenticationMethods": [],
            },
        ),
        ours=(
            {
                "protocolVersion": 1,
                "clientInfo": EDITOR,
                "clientCapabilities": {"fs": FILES, "terminal": True},
            },
            {
                "protocolVersion": 1,
                "agentCapabilities": {
                    "loadSession": False,
                    "mcpCapabilities": BRIDGES,
                    "promptCapabilities": PROMPTS,
                },
                "agentInfo": AGENT,
                "authMethods": [],
            },
        ),
        written=(
            {
                "protocolVersion": 1,
                "clientInfo": EDITOR,
                "capabilities": {
                    "fileSystem": FILES,
                    "terminal": dict.fromkeys(ABILITIES, True),
                    "prompts": {"audio": True, "image": True, "embeddedContext": True},
                },
                "authenticationMethods": [],
            },
            {
                "protocolVersion": 1,
                "agentCapabilities": {
                    "sessions": {"new": True, "load": False},
                    "mcp": BRIDGES,
                    "prompts": PROMPTS,
                },
                "meta": AGENT,
                "authenticationMethods": [],
            },
        ),
    ),
    Exchange(
        "authenticate",
        "authenticate",
        theirs=({"methodId": "api_key", "data": {"apiKey": "k"}}, {}),
        ours=({"methodId": "api_key"}, {}),
        written=({"methodId": "api_key"}, {}),
    ),
    Exchange(
        "session/new",
        "session/new",
        theirs=({"cwd": "/abs/project", "mcpServers": []}, {"sessionId": "session_12345"}),
        ours=({"cwd": "/abs/project", "mcpServers": []}, {"sessionId": "session_12345"}),
    ),
    PROMPT,
]
UPDATES = [
    (
        {
            "kind": "agent_message_chunk",
            "content": {"role": "assistant", "content": [{"type": "text", "text": "chunk"}]},
        },
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "chunk"}},
    ),
    (
        {"kind": "agent_thought_chunk", "content": {"thought": "I need to check"}},
        {
            "sessionUpdate": "agent_thought_chunk",
            "content": {"type": "text", "text": "I need to check"},
        },
    ),
    (
        {
            "kind": "tool_call",
            "content": {
                "toolCallId": "call_123",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path":"/src/main.ex"}'},
            },
        },
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "call_123",
            "title": "read_file",
            "name": "read_file",
            "status": "in_progress",
            "rawInput": {"path": "/src/main.ex"},
        },
    ),
    (
        {
            "kind": "tool_call_update",
            "content": {"toolCallId": "call_123", "output": "defmodule…"},
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call_123",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "defmodule…"}}],
        },
    ),
    (
        {"kind": "plan", "content": {"steps": ["1. Analyze", "2. Fix"]}},
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "Analyze", "priority": "medium", "status": "pending"},
                {"content": "Fix", "priority": "medium", "status": "pending"},
            ],
        },
    ),
]
BLOCKS = [
    (
        {
            "type": "image",
            "source": {"type": "base64", "mediaType": "image/png", "data": "iVBORw0KGgo="},
        },
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    ),
    (
        {
            "type": "audio",
            "source": {"type": "base64", "mediaType": "audio/wav", "data": "UklGRg=="},
        },
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
    ),
    (
        {
            "type": "resource",
            "uri": "file:///abs/file.ex",
            "mimeType": "text/x-elixir",
            "text": "defmodule M do",
        },
        {
            "type": "resource",
            "resource": {
                "uri": "file:///abs/file.ex",
                "mimeType": "text/x-elixir",
                "text": "defmodule M do",
            },
        },
    ),
    (
        {"type": "resource_link", "uri": "file:///abs/file.ex"},
        {"type": "resource_link", "uri": "file:///abs/file.ex", "name": "file.ex"},
    ),
    (TEXT, TEXT),
]


@pytest.fixture
def dialect() -> Acpex:
    return Acpex()


@pytest.mark.parametrize("exchange", EXCHANGES, ids=str)
def test_an_exchange_is_read(dialect: Acpex, exchange: Exchange) -> None:
    hold_reading(dialect, exchange)


@pytest.mark.parametrize("exchange", EXCHANGES, ids=str)
def test_an_exchange_is_written(dialect: Acpex, exchange: Exchange) -> None:
    hold_writing(dialect, exchange)


@pytest.mark.parametrize(("theirs", "ours"), UPDATES)
def test_an_update_is_read_and_written(dialect: Acpex, theirs: Json, ours: Json) -> None:
    raw = json.dumps(update(theirs)).encode()
    (read,) = dialect.read(raw, "agent").forward
    assert said(read) == [update(ours)]
    assert is_valid(json.loads(read))
    assert said(*dialect.write(read, "agent")) == [update(theirs)]


def test_a_plain_message_is_a_chunk(dialect: Acpex) -> None:
    raw = json.dumps(update({"kind": "message", "content": "Hello"}, "abc123")).encode()
    text = {"type": "text", "text": "Hello"}
    chunk = update({"sessionUpdate": "agent_message_chunk", "content": text}, "abc123")
    assert said(*dialect.read(raw, "agent").forward) == [chunk]


@pytest.mark.parametrize(("theirs", "ours"), BLOCKS)
def test_a_block_is_read_and_written(dialect: Acpex, theirs: Json, ours: Json) -> None:
    asked = call("session/prompt", {"sessionId": "s1", "content": [theirs]}, id=1)
    official = call("session/prompt", {"sessionId": "s1", "prompt": [ours]}, id=1)
    (read,) = said(*dialect.read(asked, "client").forward)
    assert read == json.loads(official)
    assert is_valid(read)
    assert said(*dialect.write(official, "client")) == said(asked)


@pytest.mark.parametrize("missing", ABILITIES)
def test_a_terminal_needs_all_five_abilities(dialect: Acpex, missing: str) -> None:
    terminal = {name: True for name in ABILITIES if name != missing}
    params = {"protocolVersion": 1, "capabilities": {"terminal": terminal}}
    (read,) = dialect.read(call("initialize", params, id=1), "client").forward
    assert plain(json.loads(read))["params"]["clientCapabilities"] == {"terminal": False}
    (written,) = said(*dialect.write(read, "client"))
    assert written["params"]["capabilities"]["terminal"] == terminal


def test_what_a_client_can_show_has_no_counterpart_and_is_kept_aside(dialect: Acpex) -> None:
    params = {"protocolVersion": 1, "capabilities": {"prompts": {"image": True}}}
    raw = call("initialize", params, id=1)
    (read,) = dialect.read(raw, "client").forward
    assert plain(json.loads(read))["params"]["clientCapabilities"] == {}
    (written,) = said(*dialect.write(read, "client"))
    assert written["params"]["capabilities"]["prompts"] == {"image": True}


def test_what_an_answer_adds_to_the_stream_comes_before_it(dialect: Acpex) -> None:
    dialect.read(call("session/prompt", PROMPT.theirs[0], id=7), "client")
    first, second = said(*dialect.read(frame(id=7, result=PROMPT.theirs[1]), "agent").forward)
    text = {"type": "text", "text": "Refactoring complete!"}
    chunk = {"sessionUpdate": "agent_message_chunk", "content": text}
    assert first == update(chunk, "session_12345")
    assert is_valid(first)
    assert second["result"] == {"stopReason": "end_turn"}


def test_what_an_answer_repeats_is_not_said_twice(dialect: Acpex) -> None:
    dialect.write(call("session/prompt", PROMPT.ours[0], id=7), "client")
    for text in ("Well. Refactoring ", "complete!"):
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        raw = update({"kind": "agent_message_chunk", "content": message}, "session_12345")
        dialect.read(json.dumps(raw).encode(), "agent")
    read = said(*dialect.read(frame(id=7, result=PROMPT.theirs[1]), "agent").forward)
    assert [each.get("method") for each in read] == [None]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("done", "end_turn"),
        ("stop", "end_turn"),
        ("complete", "end_turn"),
        ("cancelled", "cancelled"),
        ("refusal", "refusal"),
    ],
)
def test_a_stop_reason_is_read(dialect: Acpex, theirs: str, ours: str) -> None:
    dialect.read(call("session/prompt", {"sessionId": "s1", "content": []}, id=1), "client")
    (read,) = said(*dialect.read(frame(id=1, result={"stopReason": theirs}), "agent").forward)
    assert read["result"] == {"stopReason": ours}


@pytest.mark.parametrize("name", ["open_terminal", "find_and_replace", "read_write_file"])
def test_a_function_is_the_name_of_its_tool_and_says_no_kind(dialect: Acpex, name: str) -> None:
    content: dict[str, Any] = {"toolCallId": "c", "type": "function", "function": {"name": name}}
    raw = json.dumps(update({"kind": "tool_call", "content": content})).encode()
    (read,) = said(*dialect.read(raw, "agent").forward)
    assert read["params"]["update"]["name"] == name
    assert "kind" not in read["params"]["update"]
    raw = json.dumps(update({"kind": "tool_call", "content": content | {"kind": "edit"}})).encode()
    (read,) = said(*dialect.read(raw, "agent").forward)
    assert read["params"]["update"]["kind"] == "edit"


def test_a_permission_request_may_name_the_function(dialect: Acpex) -> None:
    function = {"name": "run_shell", "arguments": '{"command":"rm a"}'}
    tool = {"toolCallId": "c", "type": "function", "function": function}
    params: dict[str, Any] = {"sessionId": "s1", "toolCall": tool, "options": []}
    raw = call("session/request_permission", params, id=1)
    (read,) = said(*dialect.read(raw, "agent").forward)
    official = {"toolCallId": "c", "name": "run_shell", "rawInput": {"command": "rm a"}}
    assert read["params"]["toolCall"] == official


def test_a_tool_is_written_by_its_name_if_it_has_one(dialect: Acpex) -> None:
    named = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run make", "name": "shell"}
    (written,) = said(*dialect.write(json.dumps(update(named)).encode(), "agent"))
    assert written["params"]["update"]["content"]["function"]["name"] == "shell"


def test_arguments_that_are_no_json_are_kept_as_text(dialect: Acpex) -> None:
    function = {"name": "read", "arguments": "{broken"}
    content = {"toolCallId": "c", "type": "function", "function": function}
    raw = json.dumps(update({"kind": "tool_call", "content": content})).encode()
    (read,) = said(*dialect.read(raw, "agent").forward)
    assert read["params"]["update"]["rawInput"] == "{broken"
    assert is_valid(read)


def test_a_tool_call_that_is_done_already_is_written_with_its_output(dialect: Acpex) -> None:
    text = {"type": "content", "content": {"type": "text", "text": "no such file"}}
    official = {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "title": "read",
        "status": "failed",
        "content": [text],
    }
    first, second = said(*dialect.write(json.dumps(update(official)).encode(), "agent"))
    assert first["params"]["update"]["kind"] == "tool_call"
    output = {"toolCallId": "c", "output": "no such file", "status": "failed"}
    assert second["params"]["update"] == {"kind": "tool_call_update", "content": output}


@pytest.mark.parametrize(
    ("method", "theirs", "ours"),
    [
        (
            "fs/read_text_file",
            {"code": -32001, "message": "File not found", "data": {"path": "/nonexistent.txt"}},
            {
                "code": -32002,
                "message": "File not found",
                "data": {"uri": "file:///nonexistent.txt"},
            },
        ),
        (
            "authenticate",
            {"code": -32001, "message": "Invalid API key"},
            {"code": -32000, "message": "Invalid API key"},
        ),
    ],
)
def test_an_error_is_read_by_its_method_and_written(
    dialect: Acpex, method: str, theirs: Json, ours: Json
) -> None:
    for error, other, turn in ((theirs, ours, dialect.read), (ours, theirs, dialect.write)):
        turn(call(method, {}, id=1), "client")
        answer = turn(frame(id=1, error=error), "agent")
        frames = answer if isinstance(answer, tuple) else answer.forward
        assert said(*frames) == said(frame(id=1, error=other))


PLACE = {"uri": "file:///etc/my%20hosts"}
DENIED = PLACE | {"reason": "not permitted"}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ((-32001, {"path": "/etc/my hosts"}), (-32002, PLACE)),
        ((-32002, {"path": "/etc/my hosts"}), (-32602, DENIED)),
        ((-32002, {"user": "x", "path": "/etc/my hosts"}), (-32602, DENIED | {"user": "x"})),
        ((-32602, {"field": "path"}), (-32602, {"field": "path"})),
    ],
)
def test_what_an_agent_may_not_reach_has_its_code_and_its_path(
    dialect: Acpex, theirs: tuple[int, Json], ours: tuple[int, Json]
) -> None:
    errors: list[Json] = [
        {"code": code, "message": "no", "data": data} for code, data in (theirs, ours)
    ]
    dialect.read(call("fs/read_text_file", {}, id=1), "agent")
    read = dialect.read(frame(id=1, error=errors[0]), "client").forward
    assert said(*read) == said(frame(id=1, error=errors[1]))
    dialect.read(call("fs/read_text_file", {}, id=1), "agent")
    written = dialect.write(frame(id=1, error=errors[1]), "client")
    assert said(*written) == said(frame(id=1, error=errors[0]))


@pytest.mark.parametrize(
    ("method", "official", "code"),
    [
        ("session/prompt", {"code": -32600, "message": "A turn is running"}, -32003),
        ("initialize", {"code": -32600, "message": "initialize comes too late"}, -32003),
        (
            "session/prompt",
            {"code": -32602, "message": "audio", "data": {"reason": "not offered"}},
            -32004,
        ),
    ],
)
def test_a_state_and_a_missing_ability_have_their_codes_after_the_opening(
    dialect: Acpex, method: str, official: dict[str, Json], code: int
) -> None:
    dialect.read(call("initialize", {"protocolVersion": 1}, id=0), "client")
    dialect.write(frame(id=0, result={"protocolVersion": 1}), "agent")
    dialect.read(call(method, {}, id=1), "client")
    (written,) = dialect.write(frame(id=1, error=official), "agent")
    assert json.loads(written)["error"] == official | {"code": code}
    (read,) = said(*_reread(written, method))
    assert read["error"] == official


def _reread(written: bytes, method: str) -> tuple[bytes, ...]:
    reader = Acpex("/abs/project")
    reader.read(call(method, {}, id=1), "client")
    return reader.read(written, "agent").forward


def test_a_plan_is_written_when_its_steps_change(dialect: Acpex) -> None:
    def write(text: str, status: str) -> int:
        entry = {"content": text, "priority": "medium", "status": status}
        plan = update({"sessionUpdate": "plan", "entries": [entry]})
        return len(dialect.write(json.dumps(plan).encode(), "agent"))

    written = [write("Look", "pending"), write("Look", "completed"), write("Test", "pending")]
    assert written == [1, 0, 1]
    dialect.read(call("session/prompt", {"sessionId": "s1", "content": []}, id=1), "client")
    assert write("Test", "pending") == 1


def test_a_denial_without_a_reason_is_read_as_one(dialect: Acpex) -> None:
    dialect.read(call("terminal/create", {}, id=1), "agent")
    answer = frame(id=1, error={"code": -32002, "message": "oh"})
    (read,) = said(*dialect.read(answer, "client").forward)
    assert read["error"] == {"code": -32602, "message": "oh", "data": {"reason": "not permitted"}}


def test_our_client_says_what_it_sends_in_prompts(dialect: Acpex) -> None:
    hello: Json = {"protocolVersion": 1, "clientCapabilities": {}}
    (written,) = said(*dialect.write(call("initialize", hello, id=1), "client"))
    claimed = {"audio": True, "image": True, "embeddedContext": True}
    assert written["params"]["capabilities"]["prompts"] == claimed


@pytest.mark.parametrize(
    ("theirs", "ours"), [(-32001, -32002), (-32003, -32600), (-32004, -32601), (-32602, -32602)]
)
def test_an_error_code_is_read(dialect: Acpex, theirs: int, ours: int) -> None:
    dialect.read(call("terminal/create", {}, id=1), "agent")
    answer = frame(id=1, error={"code": theirs, "message": "oh"})
    (read,) = said(*dialect.read(answer, "client").forward)
    assert read["error"] == {"code": ours, "message": "oh"}


@pytest.mark.parametrize(
    ("method", "ours", "theirs"),
    [
        ("session/new", -32600, -32003),
        ("session/new", -32000, -32003),
        ("session/load", -32601, -32004),
        ("no/such_method", -32601, -32601),
        ("session/prompt", -32603, -32603),
    ],
)
def test_an_error_code_is_written(dialect: Acpex, method: str, ours: int, theirs: int) -> None:
    dialect.read(call(method, {}, id=1), "client")
    (written,) = said(*dialect.write(frame(id=1, error={"code": ours, "message": "oh"}), "agent"))
    assert written["error"] == {"code": theirs, "message": "oh"}


def refused(dialect: Acpex, method: str, code: int, message: str) -> int:
    dialect.write(call(method, {}, id=5), "client")
    answer = frame(id=5, error={"code": code, "message": message})
    (read,) = said(*dialect.read(answer, "agent").forward)
    return read["error"]["code"]


def test_a_state_before_the_login_is_a_login_that_is_wanted(dialect: Acpex) -> None:
    assert refused(dialect, "session/new", -32003, "oh") == -32600
    dialect.write(call("initialize", {"protocolVersion": 1}, id=1), "client")
    offer = {"protocolVersion": 1, "authenticationMethods": ["api_key"]}
    dialect.read(frame(id=1, result=offer), "agent")
    assert refused(dialect, "session/new", -32003, "oh") == -32000
    assert refused(dialect, "session/cancel", -32003, "oh") == -32600
    dialect.write(call("authenticate", {"methodId": "api_key"}, id=2), "client")
    dialect.read(frame(id=2, result={}), "agent")
    assert refused(dialect, "session/new", -32003, "oh") == -32600


@pytest.mark.parametrize("code", [-32001, -32002, -32003])
def test_an_error_that_speaks_of_a_login_wants_one(dialect: Acpex, code: int) -> None:
    assert refused(dialect, "session/prompt", code, "Not authenticated") == -32000
    assert refused(dialect, "session/prompt", -32602, "Not authenticated") == -32602


def test_a_secret_of_the_user_is_sent(dialect: Acpex) -> None:
    params = {"methodId": "api_key", "_meta": {"acpex": {"data": {"apiKey": "k"}}}}
    (sent,) = said(*dialect.write(call("authenticate", params, id=1), "client"))
    assert sent["params"] == {"methodId": "api_key", "data": {"apiKey": "k"}}


def test_a_secret_goes_nowhere(dialect: Acpex) -> None:
    raw = call("authenticate", {"methodId": "api_key", "data": {"apiKey": "secret"}}, id=2)
    assert b"secret" not in b"".join(dialect.read(raw, "client").forward)


@pytest.mark.parametrize(
    ("sent_by", "raw"),
    [
        ("client", call("session/cancel", {"sessionId": "session_12345"})),
        ("agent", call("fs/read_text_file", {"sessionId": "s1", "path": "/a"}, id=1)),
        ("agent", call("terminal/create", {"sessionId": "s1", "command": "ls"}, id=1)),
        (
            "agent",
            call(
                "session/update",
                {
                    "sessionId": "s1",
                    "update": {
                        "sessionUpdate": "tool_call_update",
                        "toolCallId": "c",
                        "kind": "read",
                        "status": "in_progress",
                    },
                },
            ),
        ),
    ],
)
def test_what_has_no_counterpart_or_is_the_same_passes(
    dialect: Acpex, sent_by: Side, raw: bytes
) -> None:
    assert dialect.read(raw, sent_by).forward[0] is raw
    assert dialect.write(raw, sent_by)[0] is raw
