"""OpenOxide, held against what its blueprint says."""

from __future__ import annotations

import json

import pytest

from acp_protocol.dialects.base import Translation
from acp_protocol.dialects.openoxide import Openoxide
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

ABILITIES: dict[str, Json] = {
    "file_read": True,
    "file_write": True,
    "terminal_exec": True,
    "web_search": False,
    "slash_commands": [],
    "streaming": True,
    "session_fork": True,
}
COMMANDS = [
    {"command": "/review", "description": "Review recent changes for bugs"},
    {"command": "/openoxide:explain", "description": "Explain the selected code"},
]
ADVERTISED = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [
        {"name": "review", "description": "Review recent changes for bugs"},
        {"name": "openoxide:explain", "description": "Explain the selected code"},
    ],
}
TEXT = {"type": "text", "text": "Add error handling to the login function"}
BODY = {"type": "prompt", "session_id": "sess_abc123", "content": [TEXT]}
PROMPT = {"sessionId": "sess_abc123", "prompt": [TEXT]}
TURN: dict[str, Json] = {"role": "agent", "content": []}
WRITTEN_TURN: dict[str, Json] = TURN | {"tool_uses": [], "tool_results": []}
DIFF = {
    "path": "/abs/project/a.txt",
    "unified_diff": "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-x\n+y\n",
}
OFFICIAL_DIFF = {"type": "diff", "path": "/abs/project/a.txt", "oldText": "x\n", "newText": "y\n"}

FORKS: Json = {"sessionCapabilities": {"list": {}, "resume": {}, "delete": {}, "fork": {}}}
CAPABLE: dict[str, Json] = {"protocolVersion": 1, "agentCapabilities": FORKS}
LISTED = {"session_id": "s1", "working_dir": "/a", "updated_at": "2026-03-08T12:00:00Z"}
OFFICIALLY_LISTED = {"sessionId": "s1", "cwd": "/a", "updatedAt": "2026-03-08T12:00:00Z"}

EXCHANGES = [
    Exchange(
        "initialize, of which nothing is written down",
        "initialize",
        theirs=({}, ABILITIES),
        ours=({"protocolVersion": 1}, CAPABLE),
        written=({}, ABILITIES),
    ),
    Exchange(
        "initialize",
        "initialize",
        theirs=({"protocolVersion": 1}, ABILITIES),
        ours=({"protocolVersion": 1}, CAPABLE),
        written=({}, ABILITIES),
    ),
    Exchange(
        "session/new",
        "session/new",
        theirs=({"working_dir": "/abs/project", "config": {}}, {"session_id": "sess_abc123"}),
        ours=({"cwd": "/abs/project", "mcpServers": []}, {"sessionId": "sess_abc123"}),
    ),
    Exchange(
        "session/resume",
        "session/resume",
        theirs=({"session_id": "sess_abc123", "working_dir": "/a", "config": {}}, {}),
        ours=({"sessionId": "sess_abc123", "cwd": "/a", "mcpServers": []}, {}),
    ),
    Exchange(
        "session/fork",
        "session/fork",
        theirs=(
            {"session_id": "sess_abc123", "working_dir": "/a", "config": {}},
            {"session_id": "sess_def456"},
        ),
        ours=(
            {"sessionId": "sess_abc123", "cwd": "/a", "mcpServers": []},
            {"sessionId": "sess_def456"},
        ),
    ),
    Exchange(
        "session/set_mode",
        "session/set_mode",
        theirs=({"session_id": "sess_abc123", "mode_id": "code"}, {}),
        ours=({"sessionId": "sess_abc123", "modeId": "code"}, {}),
    ),
    Exchange(
        "session/list",
        "session/list",
        theirs=({"working_dir": "/a"}, {"sessions": [LISTED], "next_cursor": "2"}),
        ours=({"cwd": "/a"}, {"sessions": [OFFICIALLY_LISTED], "nextCursor": "2"}),
    ),
    Exchange(
        "session/delete",
        "session/delete",
        theirs=({"session_id": "sess_abc123"}, {}),
        ours=({"sessionId": "sess_abc123"}, {}),
    ),
    Exchange(
        "session/prompt",
        "session/prompt",
        theirs=(BODY, TURN),
        ours=(PROMPT, {"stopReason": "end_turn"}),
        written=(BODY, WRITTEN_TURN | {"stop_reason": "end_turn"}),
    ),
]
EVENTS = [
    (
        {"type": "text_delta", "text": "Adding"},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Adding"}},
    ),
    (
        {"type": "tool_call", "id": "t1", "name": "read_file", "input": {"path": "/a"}},
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t1",
            "title": "read_file",
            "name": "read_file",
            "status": "in_progress",
            "rawInput": {"path": "/a"},
        },
    ),
    (
        {"type": "tool_result", "id": "t1", "output": "text"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t1",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "text"}}],
        },
    ),
    (
        {"type": "plan_step", "step": "Read it"},
        {
            "sessionUpdate": "plan",
            "entries": [{"content": "Read it", "priority": "medium", "status": "pending"}],
        },
    ),
    (
        {"type": "diff", "id": "t1"} | DIFF,
        {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "content": [OFFICIAL_DIFF]},
    ),
    ({"slash_commands": COMMANDS}, ADVERTISED),
]


@pytest.fixture
def dialect() -> Openoxide:
    return Openoxide("/abs/project")


@pytest.mark.parametrize("exchange", EXCHANGES, ids=str)
def test_an_exchange_is_read(dialect: Openoxide, exchange: Exchange) -> None:
    hold_reading(dialect, exchange)


@pytest.mark.parametrize("exchange", EXCHANGES, ids=str)
def test_an_exchange_is_written(dialect: Openoxide, exchange: Exchange) -> None:
    hold_writing(dialect, exchange)


@pytest.mark.parametrize(("theirs", "ours"), EVENTS)
def test_an_event_is_read_and_written(dialect: Openoxide, theirs: Json, ours: Json) -> None:
    raw = call("session/update", {"session_id": "s1"} | theirs)
    (read,) = dialect.read(raw, "agent").forward
    assert said(read) == [update(ours)]
    assert is_valid(json.loads(read))
    assert said(*dialect.write(read, "agent")) == said(raw)


def test_an_event_needs_no_jsonrpc(dialect: Openoxide) -> None:
    raw = b'{"type":"text_delta","session_id":"s1","text":"Adding"}'
    text = {"type": "text", "text": "Adding"}
    chunk = update({"sessionUpdate": "agent_message_chunk", "content": text})
    assert said(*dialect.read(raw, "agent").forward) == [chunk]


def test_a_session_without_a_folder_is_in_the_given_one(dialect: Openoxide) -> None:
    (read,) = said(*dialect.read(call("session/new", {}, id=1), "client").forward)
    assert read["params"] == {"cwd": "/abs/project", "mcpServers": []}


def test_a_prompt_without_jsonrpc_is_asked_and_answered_without(dialect: Openoxide) -> None:
    (asked,) = said(*dialect.read(json.dumps(BODY).encode(), "client").forward)
    assert asked["method"] == "session/prompt"
    assert asked["params"] == PROMPT
    assert is_valid(asked)
    answer = frame(id=asked["id"], result={"stopReason": "end_turn"})
    (written,) = dialect.write(answer, "agent")
    assert (
        json.loads(written)
        == {
            "type": "response",
            "session_id": "sess_abc123",
            "stop_reason": "end_turn",
        }
        | WRITTEN_TURN
    )


def test_a_prompt_without_a_session_is_for_the_one_used_last(dialect: Openoxide) -> None:
    dialect.read(call("session/new", {}, id=1), "client")
    dialect.write(frame(id=1, result={"sessionId": "s1"}), "agent")
    raw = json.dumps({"type": "prompt", "content": [TEXT]}).encode()
    (asked,) = said(*dialect.read(raw, "client").forward)
    assert asked["params"] == {"sessionId": "s1", "prompt": [TEXT]}


def test_a_prompt_without_a_session_begins_a_new_plan_in_it(dialect: Openoxide) -> None:
    def told() -> Json:
        entries = [{"content": "Look", "priority": "medium", "status": "pending"}]
        plan = update({"sessionUpdate": "plan", "entries": entries})
        return [each["params"] for each in said(*dialect.write(json.dumps(plan).encode(), "agent"))]

    dialect.read(call("session/new", {}, id=1), "client")
    dialect.write(frame(id=1, result={"sessionId": "s1"}), "agent")
    step = {"session_id": "s1", "type": "plan_step", "step": "Look"}
    assert (told(), told()) == ([step], [])
    dialect.read(json.dumps({"type": "prompt", "content": [TEXT]}).encode(), "client")
    assert told() == [step]


def test_a_prompt_without_jsonrpc_can_fail_without(dialect: Openoxide) -> None:
    (asked,) = said(*dialect.read(json.dumps(BODY).encode(), "client").forward)
    (written,) = dialect.write(
        frame(id=asked["id"], error={"code": -32603, "message": "oh"}), "agent"
    )
    error = {"type": "error", "session_id": "sess_abc123", "code": -32603, "message": "oh"}
    assert json.loads(written) == error


def test_an_observer_reads_the_answers_to_prompts_without_jsonrpc(dialect: Openoxide) -> None:
    observer = Openoxide("/abs/project")
    body = json.dumps(BODY).encode()
    for outcome in (
        {"result": {"stopReason": "end_turn"}},
        {"error": {"code": -1, "message": "oh"}},
    ):
        (asked,) = said(*dialect.read(body, "client").forward)
        (seen,) = said(*observer.read(body, "client").forward)
        (written,) = dialect.write(frame(id=asked["id"], **outcome), "agent")
        (read,) = said(*observer.read(written, "agent").forward)
        assert read == {"jsonrpc": "2.0", "id": seen["id"]} | outcome
    # An answer to nothing is not a message.
    assert observer.read(written, "agent") == Translation((written,))


@pytest.mark.parametrize(
    "extra", [{"session_id": "sess_abc123"}, {}, {"data": {"session_id": "x"}}]
)
def test_an_error_without_jsonrpc_may_name_no_session(dialect: Openoxide, extra: Json) -> None:
    body = BODY | ({"session_id": "x"} if "data" in extra else {})
    (asked,) = said(*dialect.read(json.dumps(body).encode(), "client").forward)
    raw = json.dumps({"type": "error", "message": "oh"} | extra).encode()
    (read,) = said(*dialect.read(raw, "agent").forward)
    data = {"data": {"sessionId": "x"}} if "data" in extra else {}
    assert read["error"] == {"code": -32603, "message": "oh"} | data
    assert read["id"] == asked["id"]


def test_an_error_spells_its_data_as_the_dialect_does(dialect: Openoxide) -> None:
    reader = Openoxide("/abs/project")
    for each in (dialect, reader):
        each.read(call("session/prompt", BODY, id=1), "client")
    error = {"code": -32002, "message": "There is no such session", "data": {"sessionId": "s1"}}
    (told,) = dialect.write(frame(id=1, error=error), "agent")
    assert json.loads(told)["error"]["data"] == {"session_id": "s1"}
    assert said(*reader.read(told, "agent").forward) == said(frame(id=1, error=error))


CALL = {"type": "tool_call", "id": "t1", "name": "read_file", "input": {"path": "/a"}}
RESULT = {"type": "tool_result", "id": "t1", "output": "text"}


def test_the_answer_to_a_prompt_lists_the_tools_that_were_used(dialect: Openoxide) -> None:
    reader = Openoxide("/abs/project")
    prompt = call("session/prompt", BODY, id=1)
    dialect.read(prompt, "client")
    reader.read(prompt, "client")
    for event in (CALL, RESULT):
        raw = call("session/update", {"session_id": "sess_abc123"} | event)
        (official,) = reader.read(raw, "agent").forward
        assert said(*dialect.write(official, "agent")) == said(raw)
    (written,) = dialect.write(frame(id=1, result={"stopReason": "end_turn"}), "agent")
    turn = json.loads(written)["result"]
    assert turn["tool_uses"] == [{name: CALL[name] for name in ("id", "name", "input")}]
    assert turn["tool_results"] == [{name: RESULT[name] for name in ("id", "output")}]
    # The events have reported them.
    assert len(reader.read(written, "agent").forward) == 1


def test_tools_that_only_the_answer_reports_are_shown(dialect: Openoxide) -> None:
    dialect.write(call("session/prompt", PROMPT, id=1), "client")
    uses = [{name: CALL[name] for name in ("id", "name", "input")}]
    diff = {"Diff": DIFF}
    turn = {"role": "agent", "content": [{"Text": "Done."}, diff], "tool_uses": uses}
    turn["tool_results"] = [{"id": "t1", "output": "text"}]
    *updates, ended = said(*dialect.read(frame(id=1, result=turn), "agent").forward)
    shown = [each["params"]["update"] for each in updates]
    assert [each.get("toolCallId") for each in shown] == ["t1", "t1", "t1", None]
    assert shown[0]["name"] == "read_file"
    output = {"type": "content", "content": {"type": "text", "text": "text"}}
    assert shown[2]["content"] == [output, OFFICIAL_DIFF]
    assert shown[3]["content"] == {"type": "text", "text": "Done."}
    assert ended["result"] == {"stopReason": "end_turn"}
    assert all(is_valid(each) for each in updates)


def test_a_permission_is_requested_and_given_in_the_spelling_of_the_dialect(
    dialect: Openoxide,
) -> None:
    reader = Openoxide("/abs/project")
    options = [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]
    tool = {"toolCallId": "t1", "title": "Edit a.txt", "kind": "edit", "rawInput": {"path": "a"}}
    official = {"sessionId": "s1", "toolCall": tool | {"content": [OFFICIAL_DIFF]}}
    raw = call("session/request_permission", official | {"options": options}, id=3)
    (asked,) = dialect.write(raw, "agent")
    params = json.loads(asked)["params"]
    assert params["session_id"] == "s1"
    assert params["options"] == [{"option_id": "allow", "name": "Allow", "kind": "allow_once"}]
    diff = params["tool_call"].pop("content")[0]["unified_diff"]
    assert "-x\n+y\n" in diff
    wanted = {"id": "t1", "title": "Edit a.txt", "kind": "edit", "input": {"path": "a"}}
    assert params["tool_call"] == wanted
    (read,) = reader.read(asked, "agent").forward
    assert said(read) == said(raw)
    given = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    (answer,) = reader.write(frame(id=3, result=given), "client")
    outcome = {"outcome": "selected", "option_id": "allow"}
    assert json.loads(answer)["result"] == {"outcome": outcome}
    assert said(*dialect.read(answer, "client").forward)[0]["result"] == given


def test_slash_commands_are_advertised_once_there_is_a_session(dialect: Openoxide) -> None:
    dialect.write(call("initialize", {"protocolVersion": 1}, id=1), "client")
    answer = frame(id=1, result=ABILITIES | {"slash_commands": COMMANDS})
    assert len(dialect.read(answer, "agent").forward) == 1
    dialect.write(call("session/new", {"cwd": "/a", "mcpServers": []}, id=2), "client")
    answer = frame(id=2, result={"session_id": "s1"})
    result, advertised = said(*dialect.read(answer, "agent").forward)
    assert result["result"] == {"sessionId": "s1"}
    assert advertised == update(ADVERTISED)
    assert is_valid(advertised)


def test_a_whole_turn_in_the_answer_is_said_before_it(dialect: Openoxide) -> None:
    dialect.write(call("session/prompt", PROMPT, id=1), "client")
    answer = frame(id=1, result={"role": "agent", "content": [{"type": "text", "text": "Done."}]})
    said_, ended = said(*dialect.read(answer, "agent").forward)
    assert said_["params"]["update"]["content"] == {"type": "text", "text": "Done."}
    assert ended["result"] == {"stopReason": "end_turn"}


def test_what_was_streamed_is_not_said_again(dialect: Openoxide) -> None:
    dialect.write(call("session/prompt", PROMPT, id=1), "client")
    event = {"session_id": "sess_abc123", "type": "text_delta", "text": "Done."}
    dialect.read(call("session/update", event), "agent")
    answer = frame(id=1, result={"role": "agent", "content": [{"type": "text", "text": "Done."}]})
    assert len(dialect.read(answer, "agent").forward) == 1


def test_cancelling_a_session_names_the_prompt_and_ends_it_as_cancelled(
    dialect: Openoxide,
) -> None:
    dialect.write(call("session/prompt", PROMPT, id=4), "client")
    written = said(*dialect.write(call("session/cancel", {"sessionId": "sess_abc123"}), "client"))
    assert written == said(call("cancel", {"request_id": 4}))
    (ended,) = said(*dialect.read(frame(id=4, result={}), "agent").forward)
    assert ended["result"] == {"stopReason": "cancelled"}


def test_cancelling_a_prompt_is_read_as_cancelling_its_session(dialect: Openoxide) -> None:
    dialect.read(call("session/prompt", BODY, id=4), "client")
    reading = dialect.read(call("cancel", {"request_id": 4}), "client")
    assert said(*reading.forward) == said(call("session/cancel", {"sessionId": "sess_abc123"}))
    assert reading.replies == ()


def test_cancelling_anything_else_is_cancelling_a_request(dialect: Openoxide) -> None:
    reading = dialect.read(call("cancel", {"request_id": 9}, id=5), "client")
    assert said(*reading.forward) == said(call("$/cancel_request", {"requestId": 9}))
    assert said(*reading.replies) == said(frame(id=5, result={}))
    (written,) = said(*dialect.write(call("$/cancel_request", {"requestId": 9}), "client"))
    assert written == json.loads(call("cancel", {"request_id": 9}))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"type": "diff"} | DIFF, f"```diff\n{DIFF['unified_diff']}```"),
        ({"type": "terminal", "output": "\x1b[1mok"}, "\x1b[1mok"),
        ({"type": "slash_command", "command": "/review"}, "/review"),
    ],
)
def test_a_block_that_official_prompts_lack_becomes_text(
    dialect: Openoxide, theirs: Json, ours: str
) -> None:
    raw = call("session/prompt", BODY | {"content": [theirs]}, id=1)
    (read,) = said(*dialect.read(raw, "client").forward)
    assert read["params"]["prompt"] == [{"type": "text", "text": ours}]
    assert is_valid(read)


def test_a_diff_without_a_tool_is_an_edit_of_its_own(dialect: Openoxide) -> None:
    raw = call("session/update", {"session_id": "s1", "type": "diff"} | DIFF)
    (read,) = said(*dialect.read(raw, "agent").forward)
    assert read["params"]["update"]["sessionUpdate"] == "tool_call"
    assert read["params"]["update"]["content"] == [OFFICIAL_DIFF]
    assert is_valid(read)


def test_a_plan_grows_step_by_step_and_begins_anew_with_a_turn(dialect: Openoxide) -> None:
    def plan(step: str) -> list[str]:
        event = {"session_id": "sess_abc123", "type": "plan_step", "step": step}
        (read,) = said(*dialect.read(call("session/update", event), "agent").forward)
        return [entry["content"] for entry in read["params"]["update"]["entries"]]

    assert plan("Read") == ["Read"]
    assert plan("Write") == ["Read", "Write"]
    dialect.write(call("session/prompt", PROMPT, id=1), "client")
    assert plan("Test") == ["Test"]


def test_a_plan_is_written_step_by_step_and_read_as_what_it_was(dialect: Openoxide) -> None:
    reader = Openoxide("/abs/project")
    written: list[Json] = []
    for states in [("pending", "pending"), ("in_progress", "pending"), ("completed", "pending")]:
        steps = zip(("Look", "Change"), states, strict=True)
        entries = [{"content": it, "priority": "medium", "status": how} for it, how in steps]
        plan = update({"sessionUpdate": "plan", "entries": entries})
        events = dialect.write(json.dumps(plan).encode(), "agent")
        *_, read = [reader.read(event, "agent").forward[0] for event in events]
        assert said(read) == [plan]
        written += said(*events)
    told = [(each["params"]["step"], each["params"].get("status")) for each in written]
    assert told == [
        ("Look", None),
        ("Change", None),
        ("Look", "in_progress"),
        ("Look", "completed"),
    ]


def test_each_session_has_its_own_plan_and_tools(dialect: Openoxide) -> None:
    def read(session: str, **event: Json) -> Json:
        raw = call("session/update", {"session_id": session} | event)
        return said(*dialect.read(raw, "agent").forward)[0]["params"]["update"]

    read("s1", type="plan_step", step="Read")
    read("s1", type="tool_call", id="t1")
    assert len(read("s2", type="plan_step", step="Write")["entries"]) == 1
    assert read("s2", type="diff", **DIFF)["sessionUpdate"] == "tool_call"
    dialect.write(call("session/prompt", {"sessionId": "s2", "prompt": []}, id=1), "client")
    assert len(read("s1", type="plan_step", step="Test")["entries"]) == 2
    assert read("s1", type="diff", **DIFF)["toolCallId"] == "t1"


def test_a_step_of_an_unknown_status_waits(dialect: Openoxide) -> None:
    event = {"session_id": "s1", "type": "plan_step", "step": "Read", "status": "zz"}
    (read,) = said(*dialect.read(call("session/update", event), "agent").forward)
    assert is_valid(read)


def test_a_permission_may_be_given_with_underscores(dialect: Openoxide) -> None:
    dialect.write(call("session/request_permission", {"sessionId": "s1"}, id=3), "agent")
    answer = {"outcome": {"outcome": "selected", "option_id": "allow"}}
    (read,) = said(*dialect.read(frame(id=3, result=answer), "client").forward)
    assert read["result"] == {"outcome": {"outcome": "selected", "optionId": "allow"}}


def test_a_session_is_cancelled_by_request_or_notification(dialect: Openoxide) -> None:
    cancelled = said(call("session/cancel", {"sessionId": "s1"}))
    for number, back in [(5, said(frame(id=5, result={}))), (None, [])]:
        raw = call("session/cancel", {"session_id": "s1"}, id=number)
        reading = dialect.read(raw, "client")
        assert (said(*reading.forward), said(*reading.replies)) == (cancelled, back)
    # Who watches both sides sees an answer to what officially is no question.
    assert dialect.read(frame(id=5, result={}), "agent") == Translation(())


def test_cancelling_nothing_is_refused_or_ignored(dialect: Openoxide) -> None:
    reading = dialect.read(call("cancel", {}, id=5), "client")
    assert reading.forward == ()
    assert said(*reading.replies)[0]["error"]["code"] == -32602
    assert dialect.read(call("cancel"), "client") == Translation(())


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"Text": "Hello"}, "Hello"),
        ({"SlashCommand": "/review"}, "/review"),
        ({"Diff": DIFF}, f"```diff\n{DIFF['unified_diff']}```"),
        ({"Terminal": {"output": "ok"}}, "ok"),
    ],
)
def test_blocks_may_be_spelled_as_the_types_of_the_blueprint(
    dialect: Openoxide, theirs: Json, ours: str
) -> None:
    for number, name in enumerate(("content", "prompt")):
        raw = call("session/prompt", {"session_id": "s1", name: [theirs]}, id=number)
        (read,) = said(*dialect.read(raw, "client").forward)
        assert read["params"]["prompt"] == [{"type": "text", "text": ours}]
        error = {"code": -32602, "message": "Invalid params: params.prompt.0 is wrong"}
        (told,) = said(*dialect.write(frame(id=number, error=error), "agent"))
        assert told["error"]["message"] == f"Invalid params: params.{name}.0 is wrong"


def test_abilities_are_kept_aside_and_written_again(dialect: Openoxide) -> None:
    abilities = ABILITIES | {"web_search": True, "slash_commands": COMMANDS}
    dialect.read(call("initialize", {"protocolVersion": 1}, id=1), "client")
    (read,) = dialect.read(frame(id=1, result=abilities), "agent").forward
    assert "web_search" not in plain(json.loads(read))["result"]
    dialect.read(call("initialize", {"protocolVersion": 1}, id=1), "client")
    assert said(*dialect.write(read, "agent"))[0]["result"] == abilities


@pytest.mark.parametrize(
    ("sent_by", "raw"),
    [
        ("agent", call("fs/read_text_file", {"path": "/a"}, id=1)),
        ("agent", b'{"type":"text_delta","text":"for no session"}'),
        ("agent", b"Listening"),
        ("client", b'{"type":"prompt"}'),
    ],
)
def test_what_has_no_counterpart_or_is_the_same_passes(
    dialect: Openoxide, sent_by: Side, raw: bytes
) -> None:
    assert dialect.read(raw, sent_by) == Translation((raw,))
    assert dialect.read(raw, sent_by).forward[0] is raw
    assert dialect.write(raw, sent_by)[0] is raw
