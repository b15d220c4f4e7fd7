"""Whatever stands on the wire, a dialect turns it into frames or lets it pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.dialects.base import REMEMBERED, Translation, keep
from acp_protocol.dialects.registry import DIALECTS, open_dialect
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from tests.protocol.dialects.examples import call, frame, frames_of

every_dialect = pytest.mark.parametrize("name", DIALECTS)

SIDES: st.SearchStrategy[Side] = st.sampled_from(["client", "agent"])
WORDS = [
    *("sessionId", "session_id", "update", "kind", "content", "type", "toolCallId", "source"),
    *("clientCapabilities", "agentCapabilities", "capabilities", "terminal", "prompts", "_meta"),
    *("fs", "prompt", "uri", "steps", "function", "arguments", "output", "path", "unified_diff"),
    *("stopReason", "modes", "mode", "toolCall", "options", "locations", "resource", "meta"),
    *("sessionUpdate", "thought", "mcpServers", "request_id", "requestId", "slash_commands"),
    *("image", "authMethods", "id", "entries", "outcome", "sessions", "outcome", "continuum"),
]
VALUES = [
    *("text", "image", "resource", "resource_link", "audio", "tool_call", "tool_call_update"),
    *("plan", "message", "agent_message_chunk", "agent_thought_chunk", "diff", "http://[", "s1"),
    *("text_delta", "tool_result", "plan_step", "prompt", "available_commands_update", "\ud800"),
]
METHODS = [
    *("initialize", "authenticate", "session/new", "session/load", "session/prompt"),
    *("session/update", "session/cancel", "session/set_mode", "session/request_permission"),
    *("cancel", "$/cancel_request", "fs/read_text_file", "session/resume", "no/such_method"),
]
LEAVES: st.SearchStrategy[Json] = (
    st.sampled_from(VALUES) | st.none() | st.booleans() | st.integers()
)
TREES: st.SearchStrategy[Json] = st.recursive(
    LEAVES | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)
    ),
    max_leaves=12,
)
IDS = st.sampled_from([1, 2, "1", None])
CALLS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS)},
    optional={"id": IDS, "params": TREES},
)
ANSWERS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": IDS},
    optional={"result": TREES, "error": TREES},
)
ERRORS = st.fixed_dictionaries(
    {"code": st.integers(-32610, -31990), "message": st.text()}, optional={"data": TREES}
)
FAILURES = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": IDS, "error": ERRORS})
SPELLED = (CALLS | ANSWERS | FAILURES | TREES).map(lambda value: json.dumps(value).encode())


@every_dialect
@given(frames=st.lists(st.tuples(SPELLED, SIDES, st.booleans()), max_size=12))
def test_whatever_is_said_it_becomes_frames(
    name: str, frames: list[tuple[bytes, Side, bool]]
) -> None:
    dialect = open_dialect(name, "/abs/project")
    for raw, side, is_read in frames:
        if is_read:
            reading = dialect.read(raw, side)
            outcome = [*reading.forward, *reading.replies]
        else:
            outcome = [*dialect.write(raw, side)]
        assert all(each is raw or json.loads(each) is not None for each in outcome)


@every_dialect
@given(raw=st.binary(), side=SIDES)
def test_what_is_no_json_passes_as_the_same_bytes(name: str, raw: bytes, side: Side) -> None:
    dialect = open_dialect(name)
    assert dialect.read(raw, side).forward[0] is raw
    assert dialect.write(raw, side)[0] is raw


@every_dialect
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b'[{"jsonrpc":"2.0","method":"session/cancel"}]',
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mode":"a","x":1e999}}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"x":%b%b}}'
        % (b"[" * 900, b"]" * 900),
        b'{ "jsonrpc" : "2.0", "id":1, "result":{"stopReason":"done"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"session not found"}}',
        b'{"jsonrpc":"2.0","method":"_other/thing","params":{"session_id":1}}',
    ],
)
def test_what_cannot_be_understood_passes_as_the_same_bytes(name: str, raw: bytes) -> None:
    dialect = open_dialect(name, "/abs/project")
    assert dialect.read(raw, "agent") == Translation((raw,))
    assert dialect.read(raw, "agent").forward[0] is raw
    assert dialect.write(raw, "agent")[0] is raw


@every_dialect
def test_official_frames_pass_as_the_same_bytes(name: str, shared: Path) -> None:
    files = [path for path in (shared / "traffic").glob("*.ndjson") if len(path.suffixes) == 1]
    assert files
    for path in files:
        dialect = open_dialect(name)
        for raw, side in frames_of(path):
            # A code says nothing of the dialect that it belongs to.
            if b'"error":{' not in raw:
                assert dialect.read(raw, side) == Translation((raw,)), path.name


@every_dialect
def test_an_answer_belongs_to_the_side_that_did_not_ask(name: str) -> None:
    dialect = open_dialect(name)
    dialect.read(call("initialize", {"protocolVersion": 1}, id=1), "client")
    raw = frame(id=1, result={"meta": {}, "session_fork": True})
    assert dialect.write(raw, "client")[0] is raw


@every_dialect
def test_an_id_keeps_its_kind(name: str) -> None:
    dialect = open_dialect(name)
    dialect.read(call("initialize", {"protocolVersion": 1}, id=1), "client")
    raw = frame(id="1", result={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
    assert dialect.write(raw, "agent")[0] is raw


@pytest.mark.parametrize(
    ("name", "method", "ours", "theirs"),
    [
        ("continuum", "session/prompt", "params.prompt.0: no", "params.content.0: no"),
        ("continuum", "session/set_mode", "modeId: no modeId", "mode: no modeId"),
        ("continuum", "authenticate", "params.methodId is missing", "params.method is missing"),
        ("acpex", "session/prompt", "params.prompt is missing", "params.content is missing"),
        (
            "openoxide",
            "session/prompt",
            "params.sessionId is missing; params.prompt is missing",
            "params.session_id is missing; params.content is missing",
        ),
        ("openoxide", "session/new", "cwd is not a directory", "working_dir is not a directory"),
    ],
)
def test_what_is_wrong_is_told_by_the_names_of_the_dialect(
    name: str, method: str, ours: str, theirs: str
) -> None:
    dialect = open_dialect(name, "/abs/project")
    dialect.read(call("initialize", {"protocolVersion": 1}, id=1), "client")
    dialect.write(frame(id=1, result={}), "agent")
    for code, told in [(-32602, theirs), (-32603, ours)]:
        dialect.read(call(method, {}, id=1), "client")
        error = {"code": code, "message": f"Invalid params: {ours}", "data": {"a": 1}}
        (written,) = dialect.write(frame(id=1, error=error), "agent")
        assert json.loads(written)["error"] == error | {"message": f"Invalid params: {told}"}


@pytest.mark.parametrize("name", ["continuum", "openoxide"])
def test_a_session_that_there_is_may_keep_its_place_where_none_is_named(name: str) -> None:
    dialect = open_dialect(name, "/abs/project")
    for params, is_ours in [({}, True), ({"cwd": "/abs/other"}, False)]:
        raw = call("session/load", {"sessionId": "s1"} | params, id=1)
        read = json.loads(dialect.read(raw, "client").forward[0])["params"]
        assert read["cwd"] == params.get("cwd", "/abs/project")
        assert read.get("_meta", {}).get(name, {}).get("isPlaced", False) is is_ours
    read = json.loads(dialect.read(call("session/new", {}, id=2), "client").forward[0])["params"]
    assert "_meta" not in read


def test_what_is_remembered_has_a_bound() -> None:
    memory: dict[int, None] = {}
    for number in range(REMEMBERED + 5):
        keep(memory, number, None)
    assert list(memory) == list(range(5, REMEMBERED + 5))


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("kind", [{}, [], None, 1])
def test_an_update_whose_kind_is_no_text_passes(name: str, kind: Json) -> None:
    content = [{"type": "content", "content": {"type": "text", "text": "x"}}]
    update_ = {"sessionUpdate": kind, "toolCallId": "t", "content": content}
    raw = call("session/update", {"sessionId": "s1", "update": update_})
    assert open_dialect(name).read(raw, "agent").forward == (raw,)
