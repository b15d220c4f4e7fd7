"""No rule is broken by what a dialect's document has, and the rules are checked in dialects too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from acp_inspector.journal import Journal, JournalEvent
from acp_inspector.lint.engine import Linter, LintReport, lint
from acp_inspector.lint.registry import rules
from acp_inspector.recording.format import new_header
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.dialects.spellings import BATCHES, NO_DIALECT
from acp_protocol.framing import Side, WireFrame
from acp_protocol.jsonrpc import Json
from tests.inspector.talks import Said, answer, frames

DIFF: Final = "--- login.py\n+++ login.py\n@@ -1 +1,2 @@\n login()\n+check()\n"
IMAGE: Final = {"type": "base64", "mediaType": "image/png", "data": "aGVsbG8="}

INFO: Final = {"name": "it", "version": "1"}
READS: Final = {"readTextFile": True, "writeTextFile": True, "terminal": False}


def ask(side: Side, id_: str | int | None, method: str, /, **params: Any) -> Said:
    """Return a request; a notification without an id."""
    call = {"method": method, "params": params}
    return side, call if id_ is None else {"id": id_} | call


def refuse(side: Side, id_: str | int, code: int, message: str, **data: Any) -> Said:
    error = {"code": code, "message": message} | ({"data": data} if data else {})
    return side, {"id": id_, "error": error}


def notify(method: str, /, **params: Any) -> Said:
    return ask("agent", None, method, **params)


# Continuum Router


def of_continuum() -> list[Said]:
    session = "550e8400"
    history = {
        "sessionId": session,
        "createdAt": "2026-03-08T12:00:00Z",
        "updatedAt": "2026-03-08T12:00:00Z",
        "mode": "code",
        "historyLength": 0,
    }

    def told(**update: Any) -> Said:
        return notify("session/update", sessionId=session, **update)

    edit = {"sessionId": session, "toolCallId": "tc-1", "title": "Edit File", "kind": "edit"}
    run = {"sessionId": session, "toolCallId": "tc-2", "title": "Run", "kind": "execute"}
    flat = {"loadSession": True, "image": True, "audio": False, "embeddedContext": False}
    blocks = [
        {"type": "text", "text": "Explain"},
        {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"},
        {"type": "resource", "uri": "file:///src/main.rs", "mediaType": "text/x-rust"},
    ]
    more = {"model": "gpt-4o", "stream": True, "temperature": 0.7, "maxTokens": 4096}
    inner = {"jsonrpc": "2.0", "method": "tools/list", "id": 1}
    return [
        ask(
            "client",
            1,
            "initialize",
            protocolVersion=1,
            clientCapabilities=READS,
            clientInfo={"name": "MyEditor", "version": "1.0.0"},
        ),
        answer(
            "agent",
            1,
            {
                "protocolVersion": 1,
                "agentCapabilities": flat | {"mcp": True, "mcpCapabilities": {"acp": True}},
                "agentInfo": {"name": "Continuum Router", "version": "1.3.0-beta.1"},
                "authMethods": [],
            },
        ),
        ask("client", 2, "authenticate", method="api_key", token="your-api-key"),
        answer("agent", 2, {}),
        ask("client", 3, "session/new", mode="code"),
        answer("agent", 3, history),
        ask("client", 4, "session/set_mode", mode="architect"),
        answer("agent", 4, {"mode": "architect", "previousMode": "code"}),
        ask("client", 5, "session/set_mode", mode="ask"),
        answer("agent", 5, {"mode": "ask", "previousMode": "architect"}),
        ask("client", 7, "session/prompt", sessionId=session, content=blocks, **more),
        told(content=[{"type": "text", "text": "The "}, {"type": "text", "text": "architecture"}]),
        told(toolCallId="tc-0", title="Read", kind="read", status="Pending"),
        told(toolCallId="tc-0", status="InProgress"),
        told(toolCallId="tc-0", status="Completed"),
        notify(
            "session/request_permission",
            **edit,
            locations=[{"uri": "file:///src/main.rs", "startLine": 42}],
        ),
        told(toolCallId="tc-1", status="InProgress"),
        told(toolCallId="tc-1", status="Completed"),
        ask("agent", "p1", "session/request_permission", **run, locations=[]),
        answer("client", "p1", "reject_always"),
        told(toolCallId="tc-2", status="Rejected"),
        answer("agent", 7, {"stopReason": "end_turn"}),
        ask("client", 8, "session/prompt", sessionId=session, content=blocks[:1]),
        ask("client", 9, "session/cancel"),
        answer("agent", 9, {}),
        answer("agent", 8, {"stopReason": "cancelled"}),
        ask("client", 10, "mcp/connect", id="filesystem"),
        answer("agent", 10, {"connectionId": "uuid"}),
        ask("client", 11, "mcp/message", connectionId="uuid", message=inner),
        answer("agent", 11, {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}),
        ask("client", 12, "mcp/disconnect", connectionId="uuid"),
        answer("agent", 12, {}),
        ask("client", 13, "session/load", sessionId=session),
        answer("agent", 13, history | {"historyLength": 4}),
        ask("client", 14, "session/load", sessionId="gone"),
        refuse("agent", 14, -32001, "Session not found"),
    ]


# ACPex


def of_acpex() -> list[Said]:
    session, place = "session_12345", "/home/user/project"

    def told(kind: str, content: Any) -> Said:
        update = {"kind": kind, "content": content}
        return notify("session/update", sessionId=session, update=update)

    def served(id_: str, method: str, result: Any, **params: Any) -> list[Said]:
        asked = ask("agent", id_, method, sessionId=session, **params)
        return [asked, answer("client", id_, result)]

    def failed(id_: str, method: str, code: int, message: str, **params: Any) -> list[Said]:
        data = {name: params[name] for name in ("path",) if name in params}
        asked = ask("agent", id_, method, sessionId=session, **params)
        return [asked, refuse("client", id_, code, message, **data)]

    return [
        ask(
            "client",
            1,
            "initialize",
            protocolVersion=1,
            clientInfo={"name": "My Editor", "version": "1.0.0"},
            capabilities={
                "fileSystem": {"readTextFile": True, "writeTextFile": True},
                "terminal": {"create": True, "output": True, "release": True},
                "prompts": {"audio": False, "image": True, "embeddedContext": False},
            },
            authenticationMethods=[],
        ),
        answer(
            "agent",
            1,
            {
                "protocolVersion": 1,
                "agentCapabilities": {
                    "sessions": {"new": True, "load": True},
                    "mcp": {"http": False, "sse": False},
                    "prompts": {"audio": True, "image": True, "embeddedContext": True},
                },
                "meta": {"name": "AI Agent", "version": "2.0.0"},
                "authenticationMethods": [],
            },
        ),
        ask("client", 2, "authenticate", methodId="api_key", data={"apiKey": "wrong"}),
        refuse("agent", 2, -32001, "Invalid API key"),
        ask("client", 3, "authenticate", methodId="api_key", data={"apiKey": "right"}),
        answer("agent", 3, {}),
        ask("client", 4, "session/new", cwd=place, mcpServers=[]),
        answer("agent", 4, {"sessionId": session}),
        ask(
            "client",
            5,
            "session/prompt",
            sessionId=session,
            content=[
                {"type": "text", "text": "Refactor this function"},
                {"type": "resource", "uri": "file:///src/main.ex", "mimeType": "text/x-elixir"},
                {"type": "resource_link", "uri": "file:///path/to/file.ex"},
                {"type": "image", "source": IMAGE},
                {"type": "audio", "source": IMAGE | {"mediaType": "audio/wav"}},
                {"type": "resource", "uri": "file:///a.ex", "text": "defmodule MyModule do..."},
            ],
        ),
        told("agent_thought_chunk", {"thought": "I need to analyze the function first..."}),
        told("message", "Hello"),
        told(
            "agent_message_chunk",
            {"role": "assistant", "content": [{"type": "text", "text": "I'll refactor"}]},
        ),
        told(
            "tool_call",
            {
                "toolCallId": "call_123",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path": "/src/main.ex"}'},
            },
        ),
        *failed("f1", "fs/read_text_file", -32001, "File not found", path=f"{place}/a"),
        *failed("f2", "fs/read_text_file", -32002, "Permission denied", path=f"{place}/b"),
        *served("f3", "fs/write_text_file", {}, path=f"{place}/c", content="x"),
        *served("t1", "terminal/create", {"terminalId": "t"}, command="ls"),
        *failed("t2", "terminal/output", -32004, "Capability not supported", terminalId="t"),
        *served("t3", "terminal/release", {}, terminalId="t"),
        told("tool_call_update", {"toolCallId": "call_123", "output": "defmodule Main do..."}),
        told("plan", {"steps": ["1. Analyze current code", "2. Identify issues"]}),
        answer(
            "agent",
            5,
            {"content": [{"type": "text", "text": "Complete!"}], "stopReason": "done"},
        ),
        ask(
            "client",
            6,
            "session/prompt",
            sessionId=session,
            content=[{"type": "text", "text": "Go"}],
        ),
        ask("client", None, "session/cancel", sessionId=session),
        answer("agent", 6, {"content": [], "stopReason": "cancelled"}),
        ask("client", 7, "session/load", sessionId=session, cwd=place, mcpServers=[]),
        refuse("agent", 7, -32003, "Invalid state"),
    ]


# OpenOxide


def of_openoxide() -> list[Said]:
    session = "sess_abc123"
    abilities = {
        "file_read": True,
        "file_write": True,
        "terminal_exec": True,
        "web_search": False,
        "slash_commands": [{"command": "/review", "description": "Review recent changes"}],
        "streaming": True,
        "session_fork": True,
    }

    def told(**event: Any) -> Said:
        return notify("session/update", session_id=session, **event)

    turn = {"role": "Agent", "content": [{"Text": "Done."}], "tool_uses": [], "tool_results": []}
    bare = {"type": "prompt", "session_id": session, "content": [{"SlashCommand": "/review"}]}
    event = {"type": "text_delta", "session_id": session, "text": "Reviewing"}
    text = [{"type": "text", "text": "Add error handling to the login function"}]
    return [
        ask("client", 1, "initialize"),
        answer("agent", 1, abilities),
        ask("client", 2, "session/new", working_dir="/w/project", config={}),
        answer("agent", 2, {"session_id": session}),
        ask("client", 3, "session/prompt", type="prompt", session_id=session, content=text),
        told(type="text_delta", text="Adding"),
        told(type="plan_step", step="Read login.py"),
        told(type="tool_call", id="t1", name="edit_file", input={"path": "login.py"}),
        told(type="diff", id="t1", path="/w/project/login.py", unified_diff=DIFF),
        told(type="tool_result", id="t1", output="1 line added"),
        told(type="diff", id="t1", path="/w/project/login.py", unified_diff=DIFF),
        told(type="diff", path="/w/project/other.py", unified_diff=DIFF),
        told(type="tool_call", id="t2", name="web_search"),
        told(type="tool_result", id="t2", output={"urls": ["https://example.com"]}),
        answer("agent", 3, turn),
        ("client", json.dumps(bare).encode()),
        ("agent", json.dumps(event).encode()),
        ("agent", json.dumps({"type": "response", "session_id": session} | turn).encode()),
        ask("client", 5, "session/prompt", session_id=session, content=[{"Text": "again"}]),
        ask("client", None, "cancel", request_id=5),
        answer("agent", 5, {"role": "agent", "content": []}),
        ask("client", 6, "session/resume", session_id=session),
        answer("agent", 6, {"session_id": session}),
        ask("client", 7, "session/fork", session_id=session),
        answer("agent", 7, {"session_id": "s2"}),
        ask("client", 8, "session/list"),
        answer("agent", 8, {"sessions": [{"session_id": session, "working_dir": "/w/project"}]}),
        ask("client", 9, "session/delete", session_id="s2"),
        answer("agent", 9, {}),
    ]


TALKS: Final = {"continuum": of_continuum, "acpex": of_acpex, "openoxide": of_openoxide}


def linted(dialect: str, said: list[Said], *, unstable: bool = False) -> LintReport:
    return lint(frames(*said), dialect=dialect, unstable=unstable)


@pytest.mark.parametrize("unstable", [False, True], ids=["stable", "unstable"])
@pytest.mark.parametrize("dialect", TALKS)
def test_what_the_document_of_a_dialect_has_breaks_no_rule(dialect: str, unstable: bool) -> None:
    report = linted(dialect, TALKS[dialect](), unstable=unstable)
    assert [(each.rule.name, each.message) for each in report.findings] == []
    assert not report.failed
    assert len(report.exercised) > 60


def test_the_http_of_openoxide_breaks_no_rule_of_the_published_one() -> None:
    """A POST is answered by its own response, with events if it is a prompt."""
    journal = Journal()
    exchange = 0
    for frame in frames(*of_openoxide()):
        if frame.side == "agent":
            journal.event("sse_event", id=exchange)
            journal.wire("agent", WireFrame(b"", frame.data, b"\n"))
            continue
        exchange += 1
        headers: Json = {"content-type": "application/json"}
        request: dict[str, Json] = {"method": "POST", "path": "/acp", "version": "HTTP/1.1"}
        journal.event("http_request", id=exchange, **request, headers=headers)
        journal.wire("client", WireFrame(b"", frame.data, b"\n"))
        journal.event("http_response", id=exchange, status=200, headers={})
    assert not lint(journal.entries, dialect="openoxide").findings
    official = lint(journal.entries, dialect=NO_DIALECT)
    assert "wrong-post-response" in {each.rule.name for each in official.findings}


@pytest.mark.parametrize("dialect", TALKS)
def test_a_dialect_that_is_recognised_is_checked_like_one_that_is_named(dialect: str) -> None:
    """It shows in the first or in the second message; what was found before is withdrawn."""
    breach = ask("client", 90, "session/nonsense")
    entries = frames(*TALKS[dialect](), breach)
    recognised, named = lint(entries), lint(entries, dialect=dialect)
    assert recognised.dialects == {dialect}
    assert recognised.findings == named.findings
    assert recognised.counts == named.counts
    assert (recognised.exercised, recognised.applicable) == (named.exercised, named.applicable)
    official = lint(entries, dialect=NO_DIALECT)
    assert len(official.findings) > len(named.findings)


def test_findings_before_a_dialect_is_recognised_are_reported_as_outdated() -> None:
    entries, linter = frames(*TALKS["openoxide"]()), Linter()
    found = linter.feed(entries[0])
    assert [each.rule.name for each in found] == ["invalid-protocol-version"]
    assert linter.outdated == ()
    assert linter.feed(entries[1]) == ()
    assert linter.outdated == found
    linter.feed(entries[2])
    assert linter.outdated == ()


def test_each_connection_has_a_dialect_of_its_own() -> None:
    """A client that gets no response may start the agent once more, in a dialect."""
    spawn = JournalEvent(0, 0.0, "spawn", {})
    official = frames(
        ask("client", 1, "initialize", protocolVersion=1, clientCapabilities={"fs": {}})
    )
    report = lint([spawn, *official, replace(spawn, seq=2), *frames(*TALKS["openoxide"]())])
    assert report.dialects == {"openoxide"}
    assert {each.rule.name for each in report.findings} == {"missing-implementation-info"}
    assert {each.frames for each in report.findings} == {(1,)}


@pytest.mark.parametrize("dialect", TALKS)
@pytest.mark.parametrize("named", [None, "acpex", "continuum"])
def test_a_dialect_that_an_event_names_is_checked_like_one_that_is_chosen(
    dialect: str, named: str | None
) -> None:
    """The event may come after the first frames, or follow the start of another try."""
    breach = ask("client", 90, "session/nonsense")
    talk = frames(*TALKS[dialect](), breach)
    chosen = lint(talk, dialect=dialect)
    event = JournalEvent(0, 0.0, "dialect", {"dialect": dialect})
    at = 0 if named else 1
    header = new_header(["agent"], Path("/w"), dialect=named)
    report = lint([header, *talk[:at], event, *talk[at:]])
    assert report.findings == chosen.findings
    assert report.counts == chosen.counts
    other = lint([*talk[:at], event, *talk[at:]], dialect=NO_DIALECT)
    assert other.findings == lint(talk, dialect=NO_DIALECT).findings


def test_arrays_are_taken_where_an_event_says_so() -> None:
    talk = frames(
        ask("client", 1, "initialize", protocolVersion=2, info=INFO, capabilities={}),
        answer("agent", 1, {"protocolVersion": 2, "info": INFO, "capabilities": {}}),
        ("client", b'[{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}]'),
        ("agent", b'[{"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}]'),
    )
    report = lint([JournalEvent(0, 0.0, "dialect", {"dialect": BATCHES}), *talk])
    assert report.findings == lint(talk, dialect=BATCHES).findings
    assert report.findings != lint(talk).findings
    # What is named needs no advice to name it.
    assert report.dialects == set()


def test_an_event_that_names_the_published_protocol_ends_recognition() -> None:
    talk = frames(*TALKS["openoxide"]())
    event = JournalEvent(0, 0.0, "dialect", {"dialect": "none"})
    expected = lint(talk, dialect=NO_DIALECT).findings
    for named in (None, "openoxide"):
        header = new_header(["agent"], Path("/w"), dialect=named)
        assert lint([header, event, *talk]).findings == expected


def test_the_directory_and_the_dialect_are_those_of_the_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a client names no directory, the agent works where it was started."""
    talk = [
        ask("client", 1, "initialize", protocolVersion=1, clientCapabilities=READS),
        answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}),
        ask("client", 2, "session/new", mode="code"),
        answer("agent", 2, {"sessionId": "s"}),
        ask("agent", 1, "fs/read_text_file", sessionId="s", path="/w/project/a"),
        ask("agent", 2, "fs/read_text_file", sessionId="s", path="/other/b"),
    ]
    header = new_header(["agent"], Path("/w/project"), dialect="continuum")
    found: list[Any] = []
    for place in (tmp_path, Path("/")):
        monkeypatch.chdir(place)
        findings = lint([header, *frames(*talk)]).findings
        found.append([each.frames for each in findings if each.rule.name == "path-outside-roots"])
    assert found == [[(4, 6)], [(4, 6)]]


@pytest.mark.parametrize("dialect", TALKS)
def test_a_rule_that_a_dialect_contradicts_is_none_of_those_that_could_apply(dialect: str) -> None:
    report = linted(dialect, TALKS[dialect](), unstable=True)
    unlike = {name for name, rule in rules().items() if dialect in rule.unlike}
    assert unlike
    assert not unlike & report.applicable
    assert not unlike & report.exercised


def test_rules_name_dialects_that_there_are() -> None:
    assert all(rule.unlike <= set(SPOKEN) for rule in rules().values())


BREACHES: Final[list[tuple[str, Said, str]]] = [
    ("continuum", ask("client", 20, "session/prompt", sessionId="nobody"), "unknown-session"),
    ("continuum", ask("client", 20, "session/nonsense"), "unknown-method"),
    ("acpex", ask("agent", "t9", "terminal/kill", sessionId="session_12345", terminalId="t"),
     "undeclared-terminal"),
    ("acpex", answer("agent", 99, {}), "unknown-response-id"),
    ("openoxide", ask("client", 20, "session/resume", session_id="sess_abc123", working_dir="/b"),
     "session-cwd-changed"),
    ("openoxide", ask("client", 20, "session/prompt", session_id="s2", content=5),
     "prompt-not-list"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "breach", "rule"), BREACHES, ids=[f"{a}-{c}" for a, _, c in BREACHES]
)
def test_what_breaks_a_rule_is_found_in_a_dialect_too(
    dialect: str, breach: Said, rule: str
) -> None:
    report = linted(dialect, [*TALKS[dialect](), breach])
    assert rule in {each.rule.name for each in report.findings}
