"""Whatever a lenient reader could act on in a recording is found, in every dialect and side."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Frame
from acp_inspector.replay.acts import AgentJudge, ClientJudge, acts_of
from acp_protocol.dialects.registry import DIALECTS, open_dialect
from acp_protocol.dialects.spellings import WIRE_NAMES, official_names, spellings
from acp_protocol.framing import Side

SERVER = {"name": "m", "command": "/evil", "args": ["a"], "env": [{"name": "A", "value": "b"}]}
NEW: dict[str, Any] = {"cwd": "/w", "mcpServers": []}


def call(method: str, params: Any = None, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": method, "params": params or {}, **members}


def notice(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 5, "result": value}


def found(*lines: Any, side: Side = "client") -> list[str]:
    """Return what the messages of one side do."""
    data = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    return acts_of(side, [Frame(n, 0, side, line) for n, line in enumerate(data, 1)])


CLIENT_ACTS: dict[str, dict[str, Any]] = {
    "server": call("session/new", {"cwd": "/w", "mcpServers": [SERVER]}),
    "servers by name": call("session/new", {"cwd": "/w", "mcpServers": {"m": SERVER}}),
    "server in _meta": call("session/new", NEW | {"_meta": {"x": {"mcpServers": {"m": SERVER}}}}),
    "flag in _meta": call("session/new", NEW | {"_meta": {"skipPermissions": True}}),
    "root": call("session/new", NEW | {"cwd": "/"}),
    "relative directory": call("session/new", NEW | {"cwd": "../real"}),
    "directory of two slashes": call("session/new", NEW | {"cwd": "//etc"}),
    "other directory": call("session/new", NEW | {"additionalDirectories": ["/"]}),
    "mode": call("session/set_mode", {"sessionId": "s", "modeId": "code"}),
    "mode of a new session": call("session/new", {"modeId": "code"}),
    "model": call("session/set_model", {"sessionId": "s", "modelId": "m"}),
    "option": call("session/set_config_option", {"configId": "policy", "value": "allow_all"}),
    "empty mode": call("session/set_mode", {"sessionId": "s", "modeId": {}}),
    "empty option": call("session/set_config_option", {"configId": "x", "value": []}),
    "flag": call("session/set_config_option", {"configId": "ask", "value": False}),
    "login": call("authenticate", {"methodId": "key"}),
    "logout": call("logout"),
    "list": call("session/list"),
    "load": call("session/load", NEW | {"sessionId": "s"}),
    "resume": call("session/resume", NEW | {"sessionId": "s"}),
    "delete": call("session/delete", {"sessionId": "s"}),
    "close": call("session/close", {"sessionId": "s"}),
    "archive": call("session/archive", {"sessionId": "s"}),
    "provider": call("providers/set", {"id": "o", "baseUrl": "http://evil"}),
    "extension": call("_x/run", {}),
    "bridge": call("mcp/connect", {"id": "filesystem"}),
    "allow": result({"outcome": {"outcome": "selected", "optionId": "allow"}}),
    "bare word": result("allow_once"),
    "word as outcome": result({"outcome": "allow_always"}),
    "flat outcome": result({"outcome": "selected", "optionId": "allow"}),
    "cancelled and allowed": result({"outcome": "cancelled", "optionId": "allow"}),
    "allowed beside a rejection": result(
        {"outcome": {"outcome": "allow_always", "optionId": "reject"}}
    ),
    "outcome with more": result({"outcome": {"outcome": "cancelled", "decision": "allow"}}),
    "own form": result({"approved": True}),
    "form in a text": result({"content": {"approved": True}}),
    "form in an error": {
        "jsonrpc": "2.0",
        "id": 5,
        "error": {"code": 1, "message": "", "outcome": "allow"},
    },
    "form": result({"action": "accept", "content": {}}),
    "slash command": call(
        "session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": "\ufeff /logout"}]}
    ),
    "slash command behind a wide space": call(
        "session/prompt",
        {"sessionId": "s", "prompt": [{"type": "text", "text": "\u3000\x85\xad/logout"}]},
    ),
    "unknown block": call(
        "session/prompt", {"sessionId": "s", "prompt": [{"type": "shell", "text": "rm"}]}
    ),
    "unknown member of a block": call(
        "session/prompt",
        {"sessionId": "s", "prompt": [{"type": "text", "text": "x", "file": "/etc/x"}]},
    ),
    "session that was not opened": call("session/prompt", {"sessionId": "users", "prompt": []}),
    "block that is not an object": call(
        "session/prompt", {"sessionId": "s", "prompt": ["/logout"]}
    ),
    "unknown member": call("session/new", NEW | {"approvalPolicy": "never"}),
    "object as a version": call("initialize", {"protocolVersion": {"command": "/evil"}}),
    "client that says more of itself": call(
        "initialize", {"clientInfo": {"name": "x", "command": "/evil"}}
    ),
    "file with settings": call("session/new", NEW | {"config": "/evil.json"}),
    "link": call(
        "session/prompt",
        {"sessionId": "s", "prompt": [{"type": "resource_link", "uri": "file:///etc/x"}]},
    ),
    "link with escapes": call(
        "session/prompt",
        {
            "sessionId": "s",
            "prompt": [{"type": "resource_link", "name": "x", "uri": "file:///w/%2e%2e/etc/x"}],
        },
    ),
    "exit status with more": result(
        {"output": "", "truncated": False, "exitStatus": {"exitCode": 0, "decision": "allow"}}
    ),
    "params by position": call("session/cancel", ["s"]),
    "unknown member of a message": notice("session/cancel", {"sessionId": "s"}) | {"x": 1},
    "call and response": call("session/cancel", {"sessionId": "s"}, result=None),
    "response with params": result(None) | {"params": {}},
    "error with more": {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "", "x": 1}},
    "abilities": call("initialize", {"clientCapabilities": {"x": {"command": "/evil"}}}),
}
AGENT_ACTS: dict[str, dict[str, Any]] = {
    "command": call("terminal/create", {"sessionId": "s", "command": "rm"}),
    "kill": call("terminal/kill", {"sessionId": "s", "terminalId": "t"}),
    "write": call("fs/write_text_file", {"sessionId": "s", "path": "/w/a", "content": "x"}),
    "read": call("fs/read_text_file", {"sessionId": "s", "path": "/etc/passwd"}),
    "bridge": call("mcp/message", {"serverId": "s", "method": "tools/call"}),
    "read with more": call("fs/read_text_file", {"sessionId": "s", "path": "/w/a", "run": "x"}),
    "form with more": call(
        "elicitation/create", {"mode": "form", "message": "m", "requestedSchema": {}, "run": "x"}
    ),
    "page": call("elicitation/create", {"mode": "url", "url": "https://evil"}),
    "extension": call("_x/run", {}),
    "login": result({"authMethods": [{"id": "x", "type": "terminal", "args": ["--evil"]}]}),
    "login in _meta": result({"authMethods": [{"_meta": {"terminal-auth": {"command": "x"}}}]}),
}
ACTS: list[tuple[Side, str, dict[str, Any]]] = [
    *(("client", name, each) for name, each in CLIENT_ACTS.items()),
    *(("agent", name, each) for name, each in AGENT_ACTS.items()),
]


@pytest.mark.parametrize(("side", "message"), [(side, each) for side, _, each in ACTS])
def test_each_act_needs_trust_as_the_published_protocol_has_it(
    side: Side, message: dict[str, Any]
) -> None:
    assert found(message, side=side)


@pytest.mark.parametrize(("side", "message"), [(side, each) for side, _, each in ACTS])
def test_each_act_needs_trust_in_a_connection_that_has_begun(
    side: Side, message: dict[str, Any]
) -> None:
    """The session is open by then, so that only the act itself needs trust."""
    assert acts_of(side, [*harmless_frames(None), frame_of(message, side)])


@pytest.mark.parametrize(
    "message",
    [
        result({"action": "decline"}),
        result({"action": "cancel", "_meta": {}}),
        result({"output": "x", "truncated": False, "exitStatus": {"exitCode": 0, "signal": None}}),
        call(
            "session/prompt",
            {
                "sessionId": "s",
                "prompt": [
                    {"type": "resource", "resource": {"uri": "file:///home/a", "text": "milk"}}
                ],
            },
        ),
        *(
            call("session/set_mode", {"sessionId": "s", "modeId": mode})
            for mode in ("architect", "ask", "default", "plan", "read-only")
        ),
    ],
)
def test_refusals_reports_and_modes_that_ask_need_no_trust(message: dict[str, Any]) -> None:
    assert acts_of("client", [*harmless_frames(None), frame_of(message, "client")]) == []


def frame_of(message: dict[str, Any], side: Side) -> Frame:
    return Frame(99, 9.0, side, json.dumps(message).encode())


def respelt(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {names.get(name, name): respelt(each, names) for name, each in members}
    if isinstance(value, list):
        return [respelt(each, names) for each in cast("list[Any]", value)]
    return value


def put_in(message: bytes, member: str) -> bytes:
    """Add a member at the end of a message."""
    return message[:-1] + b", " + member.encode("utf-8", "surrogateescape") + b"}"


def escaped(message: bytes) -> bytes:
    """Spell the first letter of each name by its number."""
    return re.sub(rb'"(\w)(\w*)": ', lambda m: b'"\\u%04x%b": ' % (m[1][0], m[2]), message)


def doubled(message: bytes) -> bytes:
    """Hide the members of the params behind others of the same name."""
    return message.replace(b'"params": {', b'"params": {"mcpServers": [], "cwd": "/w", ', 1)


def upper(message: bytes) -> bytes:
    return re.sub(rb'"([a-zA-Z_]+)": ', lambda m: b'"%b": ' % m[1].upper(), message)


MUTATIONS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda line: line,
    "invalid UTF-8": lambda line: put_in(line, '"x": "\udcff"'),
    "5,000 digits": lambda line: put_in(line, f'"x": {"9" * 5000}'),
    "1,500 levels": lambda line: put_in(line, f'"x": {"[" * 1500}{"]" * 1500}'),
    "150 levels": lambda line: put_in(line, f'"x": {"[" * 150}{"]" * 150}'),
    "names by number": escaped,
    "names twice": doubled,
    "capital names": upper,
    "NaN": lambda line: put_in(line, '"x": NaN'),
    "out of range": lambda line: put_in(line, '"x": 1e999'),
    "comma at the end": lambda line: line[:-1] + b",}",
    "comment": lambda line: b"/* x */" + line,
    "mark": lambda line: b"\xef\xbb\xbf" + line,
    "array": lambda line: b"[" + line + b"]",
    "array in an array": lambda line: b"[[" + line + b"]]",
    "line break": lambda line: (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"x":[\n' + line + b"\n]}}"
    ),
    "carriage return": lambda line: b'{"x":\r' + line + b"\r}",
    "cut": lambda line: line + b"}",
    "no version": lambda line: line.replace(b'"jsonrpc": "2.0", ', b""),
    "id of another type": lambda line: line.replace(b'"id": ', b'"id": {}, "_id": '),
    "behind something": lambda line: b"garbage " + line,
    "zero byte": lambda line: line + b"\0",
}


@settings(max_examples=150)
@given(
    act=st.sampled_from(ACTS),
    dialect=st.sampled_from([None, *WIRE_NAMES]),
    mutations=st.lists(st.sampled_from(list(MUTATIONS)), max_size=3),
    is_begun=st.booleans(),
)
def test_no_spelling_and_no_broken_frame_hides_an_act(
    act: tuple[Side, str, dict[str, Any]],
    dialect: str | None,
    mutations: list[str],
    is_begun: bool,
) -> None:
    """Dialects, sides, and every combination of mutations; also in a connection that has begun."""
    side, _, message = act
    names = {} if dialect is None else dict(WIRE_NAMES[dialect])
    line = json.dumps(respelt(message, names)).encode()
    for each in mutations:
        line = MUTATIONS[each](line)
    begun = harmless_frames(dialect) if is_begun else []
    assert acts_of(side, [*begun, Frame(99, 9.0, side, line)])


@pytest.mark.parametrize(
    "value",
    [
        b'"\xff"',
        b"9" * 5000,
        b"[" * 1500 + b"]" * 1500,
        b"[" * 150 + b"]" * 150,
        b'{"a": 1, "a": 2}',
        b"NaN",
        b"1e999",
        b"[1,]",
    ],
    ids=[
        *("invalid UTF-8", "5,000 digits", "1,500 levels", "150 levels", "names twice", "NaN"),
        *("out of range", "comma at the end"),
    ],
)
def test_what_readers_may_read_differently_needs_trust_wherever_it_is(value: bytes) -> None:
    """Nothing else in the frame acts."""
    message = notice("session/cancel", {"sessionId": "s", "_meta": {"traceparent": "HERE"}})
    line = json.dumps(message).encode()
    broken = Frame(99, 9.0, "client", line.replace(b'"HERE"', value))
    assert acts_of("client", [*harmless_frames(None), Frame(99, 9.0, "client", line)]) == []
    assert acts_of("client", [*harmless_frames(None), broken])


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"x "])
def test_what_stands_before_a_message_needs_trust(before: bytes) -> None:
    line = before + json.dumps(notice("session/cancel", {"sessionId": "s"})).encode()
    assert acts_of("client", [*harmless_frames(None), Frame(99, 9.0, "client", line)])


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_a_line_break_in_a_frame_needs_trust(end: bytes) -> None:
    """A reader that cuts lines there finds another message, in a place that is not judged."""
    act = json.dumps(call("logout")).encode()
    begin, _, rest = (
        json.dumps(notice("session/cancel", {"sessionId": "s", "_meta": {"traceparent": "ACT"}}))
        .encode()
        .partition(b'"ACT"')
    )
    harmless = Frame(99, 9.0, "client", begin + act + rest)
    cut = Frame(99, 9.0, "client", begin + end + act + end + rest)
    assert acts_of("client", [*harmless_frames(None), harmless]) == []
    assert acts_of("client", [*harmless_frames(None), cut])


def harmless_frames(dialect: str | None) -> list[Frame]:
    """Return a conversation that only talks, written in a dialect."""
    options = [{"optionId": "reject_once", "kind": "reject_once", "name": "No"}]
    text = {"type": "text", "text": "read / and stop!"}
    chunk = {"sessionUpdate": "agent_message_chunk", "content": text}
    permission = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
    refused = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}
    files = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
    opening = {"protocolVersion": 1, "clientCapabilities": files, "clientInfo": {"name": "x"}}
    said: list[tuple[Side, dict[str, Any]]] = [
        ("client", call("initialize", opening, id=0)),
        ("agent", {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}),
        ("client", call("session/new", NEW | {"additionalDirectories": ["/w2"]}, id=1)),
        ("agent", {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}),
        ("client", call("session/prompt", {"sessionId": "s", "prompt": [text]}, id=2)),
        ("agent", notice("session/update", {"sessionId": "s", "update": chunk})),
        ("agent", call("session/request_permission", permission, id=3)),
        ("client", {"jsonrpc": "2.0", "id": 3, "result": refused}),
        ("agent", call("fs/read_text_file", {"sessionId": "s", "path": "/w/a.txt"}, id=4)),
        ("client", {"jsonrpc": "2.0", "id": 4, "result": {"content": "mcpServers"}}),
        ("client", notice("session/cancel", {"sessionId": "s"})),
        ("agent", {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}),
    ]
    writer = None if dialect is None else open_dialect(dialect, "/w")
    frames: list[Frame] = []
    for side, message in said:
        raw = json.dumps(message).encode()
        for line in (raw,) if writer is None else writer.write(raw, side):
            frames.append(Frame(len(frames) + 1, len(frames) / 10, side, line))
    return frames


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
@pytest.mark.parametrize("side", ["client", "agent"])
def test_what_only_talks_needs_no_trust(side: Side, dialect: str | None) -> None:
    acts = acts_of(side, harmless_frames(dialect))
    # Its client names no directory, so none of a live client can stand for it.
    is_without = (side, dialect) == ("agent", "continuum")
    assert acts == (["file to read: /w/a.txt (frame 9)"] if is_without else [])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_acts_does_not_depend_on_where_it_is_judged(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session whose client names no directory works where the agent does, not here."""
    monkeypatch.chdir("/")
    frames = harmless_frames(dialect)
    assert acts_of("client", frames) == []
    assert ClientJudge(directories=["/w", "/w2"]).judge(frames) == []


@pytest.mark.parametrize(("text", "is_harmless"), [("hello", True), ("/logout", False)])
def test_a_prompt_without_an_envelope_is_judged_as_one(text: str, is_harmless: bool) -> None:
    prompt = {"type": "prompt", "session_id": "s", "content": [{"Text": text}]}
    acts = acts_of("client", [*harmless_frames("openoxide"), frame_of(prompt, "client")])
    assert (acts == []) is is_harmless


def test_a_permission_of_a_dialect_is_named_once() -> None:
    option = {"option_id": "allow", "name": "Allow", "kind": "allow_once"}
    params = {"session_id": "s", "tool_call": {"id": "t"}, "options": [option]}
    asked = {"jsonrpc": "2.0", "id": 9, "method": "session/request_permission", "params": params}
    outcome = {"outcome": {"outcome": "selected", "option_id": "allow"}}
    said = [
        frame_of(asked, "agent"),
        frame_of({"jsonrpc": "2.0", "id": 9, "result": outcome}, "client"),
    ]
    acts = acts_of("client", [*harmless_frames("openoxide"), *said])
    (act,) = [each for each in acts if each.startswith("permission that allows")]
    assert "{outcome: {outcome: selected, optionId: allow}}" in act


def test_the_table_of_spellings_has_every_name_that_a_dialect_writes() -> None:
    """A name that a dialect alone could read would hide what it means."""
    assert WIRE_NAMES.keys() == DIALECTS.keys()
    for dialect, names in WIRE_NAMES.items():
        for name, wire in names.items():
            assert wire in spellings(name)
            assert official_names(dialect, name) == {wire: name}


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_members_of_each_dialect_are_read_by_the_table(dialect: str) -> None:
    """What a dialect renames when it reads is what the table says, and nothing else."""
    known = official_names(dialect)
    words = {
        *("session_id", "working_dir", "mode_id", "mcp_servers", "mode", "method", "config_id"),
        *("dir", "servers", "mcp", "workspace", "cwd", "modeId", "option_id", "content"),
        *known,
    }
    for method in ("session/new", "session/set_mode", "authenticate", "session/set_config_option"):
        for word in words:
            raw = json.dumps(call(method, {word: "value-of-it"})).encode()
            for line in open_dialect(dialect, "/d").read(raw, "client").forward:
                params = json.loads(line)["params"]
                read = {name for name, value in params.items() if value == "value-of-it"}
                assert read <= {word, known.get(word, word)}


@pytest.mark.parametrize(
    ("options", "chosen", "is_allowed"),
    [
        ([{"optionId": "reject-not", "kind": "allow_always"}], "reject-not", True),
        ([{"optionId": "allow-not", "kind": "reject_once"}], "allow-not", True),
        ([{"optionId": "reject", "kind": "allow_once"}], "reject", True),
        ([{"optionId": "reject", "kind": "reject_once"}], "reject", False),
        ([{"option_id": "reject", "kind": "allow_once"}], "reject", True),
        ([], "reject_always", False),
    ],
)
def test_an_option_rejects_only_by_its_id_and_its_kind(
    options: Sequence[Any], chosen: str, is_allowed: bool
) -> None:
    """The recorded kind may lie, and the live agent knows the id alone."""
    asked = json.dumps(call("session/request_permission", {"options": options})).encode()
    answer = json.dumps(result({"outcome": {"outcome": "selected", "optionId": chosen}})).encode()
    frames = [Frame(1, 0, "agent", asked), Frame(2, 0, "client", answer)]
    assert bool(acts_of("client", frames)) is is_allowed


def test_each_act_is_said_once_with_its_frame() -> None:
    given = found(
        CLIENT_ACTS["server"], CLIENT_ACTS["server"], CLIENT_ACTS["provider"], CLIENT_ACTS["logout"]
    )
    assert given == [
        "MCP server: A=b /evil a (frame 1)",
        "model service: http://evil (frame 3)",
        "model service: providers/set o (frame 3)",
        "login: logout (frame 4)",
    ]


def test_a_file_is_read_only_in_the_directory_of_the_session() -> None:
    """A directory that only the recording names later stands for none of the client's."""
    opened = Frame(2, 0, "agent", json.dumps(result({"sessionId": "s"})).encode())
    params = {"sessionId": "s", "path": "/secret/key"}
    read = json.dumps(call("fs/read_text_file", params)).encode()
    new = json.dumps(call("session/new", NEW | {"cwd": "/secret"})).encode()
    first = json.dumps(call("session/new", NEW)).encode()
    asks, opens, opens_first = (
        Frame(3, 0, "agent", read),
        Frame(2, 0, "client", new),
        Frame(1, 0, "client", first),
    )
    assert acts_of("agent", [opens, opened, asks]) == []
    assert acts_of("agent", [opens_first, opens, opened, asks])
    assert acts_of("agent", [asks, opens, opened])
    assert acts_of("agent", [opens, asks])
    params = {"sessionId": "s", "path": "/secret/../etc/x"}
    outside = json.dumps(call("fs/read_text_file", params)).encode()
    assert acts_of("agent", [opens, opened, Frame(3, 0, "agent", outside)])


def test_live_frames_may_only_name_the_directories_that_replace_recorded_ones() -> None:
    """Whatever the ids of a run make of a recorded frame."""

    def acts(message: dict[str, Any]) -> list[str]:
        line = json.dumps(message).encode()
        opened = Frame(0, 0, "agent", json.dumps(result({"sessionId": "s"})).encode())
        return ClientJudge(directories=["/new"]).judge([opened, Frame(1, 0, "client", line)])

    link = {"type": "resource_link", "name": "x"}
    assert acts(call("session/new", NEW | {"cwd": "/new/a", "additionalDirectories": []})) == []
    assert acts(call("session/new", NEW | {"cwd": "/home"})) == ["directory: /home (frame 1)"]
    for uri in ("file:///new/a", "/new/../etc/x"):
        prompt = {"sessionId": "s", "prompt": [link | {"uri": uri}]}
        assert bool(acts(call("session/prompt", prompt))) is (".." in uri)


def test_a_prompt_goes_to_a_session_that_was_opened_before() -> None:
    """Agents find a session that they have kept for the user by its id alone."""
    new = Frame(1, 0, "client", json.dumps(call("session/new", {"cwd": "/w"})).encode())
    opened = Frame(2, 0, "agent", json.dumps(result({"sessionId": "s"})).encode())
    for params, is_known in (({"sessionId": "s"}, True), ({}, True), ({"sessionId": "u"}, False)):
        line = json.dumps(call("session/prompt", params | {"prompt": []})).encode()
        sent = Frame(3, 0, "client", line)
        assert (acts_of("client", [new, opened, sent]) == []) is is_known
        assert acts_of("client", [new, sent, opened])


def test_live_options_are_known_by_what_the_live_agent_says() -> None:
    judge = ClientJudge(directories=["/new"])
    options = [{"optionId": "deny", "kind": "allow_once"}]
    asked = json.dumps(call("session/request_permission", {"options": options})).encode()
    assert judge.judge([Frame(1, 0, "agent", asked)]) == []
    answer = json.dumps(result({"outcome": {"outcome": "selected", "optionId": "deny"}})).encode()
    assert judge.judge([Frame(2, 0, "client", answer)])


def test_a_file_that_the_ids_of_a_run_lead_to_is_judged() -> None:
    judge = AgentJudge()
    new = json.dumps(call("session/new", NEW | {"cwd": "/live"})).encode()
    opened = json.dumps(result({"sessionId": "s"})).encode()
    judge.judge([Frame(1, 0, "client", new), Frame(2, 0, "agent", opened)])
    for number, (path, is_inside) in enumerate([("/live/a", True), ("/live/../x", False)], 3):
        read = json.dumps(call("fs/read_text_file", {"sessionId": "s", "path": path})).encode()
        assert (judge.judge([Frame(number, 0, "agent", read)]) == []) is is_inside
