"""`exec` with agents that speak a dialect: what it sends them, and what it says about the rest."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent, Call
from tests.console.strangers import ACPEX, ANSWERS, CRASHES, DIES, ECHO, LENGTHS, OFFICIAL, REFUSES
from tests.warm import WARM

PEERS = Path(__file__).parents[2] / "protocol/dialects/peers"
OURS = (*WARM, "-m", "acp_agent", "--no-config")


def peer(name: str) -> tuple[str, ...]:
    return sys.executable, str(PEERS / f"{name}_agent.py")


def sent(recording: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the methods and params that the client sent, as they were sent."""
    frames = [each for each in read_recording(recording).entries if isinstance(each, Frame)]
    calls = [DecodedFrame(each) for each in frames if each.side == "client"]
    return [(each.method or "", each.members.get("params") or {}) for each in calls]


def test_a_mode_that_the_agent_has_not_named_is_not_set(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.acp.ndjson"
    done = call("exec", "--record", str(file), "x", "--", *peer("continuum"))
    assert (done.code, done.out) == (exit_codes.DONE, "The architecture\n is simple.\n")
    assert "session/set_mode" not in dict(sent(file))
    assert "none of the agent's modes (code) says that it asks" in done.err


def test_the_user_may_set_a_mode_of_the_document(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.acp.ndjson"
    words = ("--mode", "architect", "--record", str(file))
    assert call("exec", *words, "x", "--", *peer("continuum")).code == exit_codes.DONE
    assert dict(sent(file))["session/set_mode"] == {"mode": "architect"}


REFUSED = "greet(); open_session(); tell(id=hear('session/prompt')['id'], error="
HINT = "hint: if the agent speaks a dialect, name it: --dialect continuum, acpex or openoxide\n"


@pytest.mark.parametrize(
    ("script", "dialect", "reply"),
    [
        (ACPEX.replace("REFUSE", REFUSES), "acpex", "got x"),
        (ACPEX.replace("REFUSE", CRASHES), "acpex", "got x"),
        (LENGTHS.replace("REFUSE", DIES), "openoxide", "hi there"),
        (LENGTHS.replace("REFUSE", ANSWERS), "openoxide", "hi there"),
    ],
)
def test_an_agent_that_shows_its_dialect_is_started_once_more_in_it(
    agent: Agent, call: Call, script: str, dialect: str, reply: str
) -> None:
    done = call("exec", "x", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, f"{reply}\n"), done.err
    assert f" speaks {dialect}: found at the second try\n" in done.err


@pytest.mark.parametrize(("dialect", "member"), [("acpex", "prompt"), ("continuum", "cwd")])
def test_an_agent_that_misses_the_protocol_shows_that_the_named_dialect_is_wrong(
    agent: Agent, call: Call, dialect: str, member: str
) -> None:
    error = f"{{'code': -32602, 'message': 'params.{member} is missing'}}"
    method = "session/new" if member == "cwd" else "session/prompt"
    opening = "greet(); " if member == "cwd" else "greet(); open_session(); "
    command = agent(f"{opening}tell(id=hear({method!r})['id'], error={error})")
    done = call("exec", "--dialect", dialect, "x", "--", *command)
    assert done.code == exit_codes.PEER
    hint = f"it was asked in {dialect}; without --dialect, its own dialect is detected"
    assert f"hint: {hint}\n" in done.err


SILENT = """
for line in sys.stdin:
    if line.startswith("Content-Length: "):
        break
    sys.stderr.write("skipped a bad header\\n")
    sys.stderr.flush()
def receive(is_first=[line]):
    header = is_first.pop() if is_first else sys.stdin.readline()
    sys.stdin.readline()
    return json.loads(sys.stdin.read(int(header[16:])))
"""


def test_a_silent_agent_is_started_once_more_after_its_time(agent: Agent, call: Call) -> None:
    command = agent(SILENT + LENGTHS[LENGTHS.index("def send") :])
    done = call("exec", "--start-timeout", "1s", "x", "--", *command)
    assert (done.code, done.out) == (exit_codes.DONE, "hi there\n"), done.err
    done = call("exec", "--start-timeout", "1s", "x", "--", *agent("sys.stdin.read()"))
    assert (done.code, done.err.endswith(HINT[6:])) == (exit_codes.TIME_LIMIT, True)


def test_an_agent_of_the_protocol_may_have_headers(agent: Agent, call: Call) -> None:
    for how in (DIES, ANSWERS):
        done = call("exec", "x", "--", *agent(OFFICIAL.replace("REFUSE", how)))
        assert (done.code, done.out) == (exit_codes.DONE, "hi there\n"), done.err
        assert " writes Content-Length headers before its messages: found at the" in done.err


@pytest.mark.parametrize(
    ("script", "starts"),
    [
        ("sys.exit(9)", 1),
        ("sys.stderr.write('missing Content-Length'); sys.exit(9)", 2),
        (f"{REFUSED} {{'code': -32602, 'message': 'what?'}})", 1),
        (f"{REFUSED} {{'code': -32602, 'message': 'missing content'}})", 2),
        ("tell(id=hear('initialize')['id'], error={'code': -32600, 'message': 'oh'})", 1),
    ],
)
def test_where_no_second_try_helps_the_error_names_the_dialects(
    agent: Agent, call: Call, tmp_path: Path, script: str, starts: int
) -> None:
    file = tmp_path / "a.acp.ndjson"
    done = call("exec", "--record", str(file), "x", "--", *agent(script))
    assert done.code in {exit_codes.AGENT, exit_codes.PEER}
    assert done.err.endswith(HINT)
    entries = read_recording(file).entries
    spawned = [each for each in entries if isinstance(each, JournalEvent) and each.name == "spawn"]
    assert len(spawned) == starts


def test_an_agent_that_opens_officially_is_not_tried_in_a_dialect(agent: Agent, call: Call) -> None:
    script = """
greet(agentCapabilities={"promptCapabilities": {}})
open_session()
tell(id=hear("session/prompt")["id"], error={"code": -32602, "message": "missing content"})
hear("never")
"""
    done = call("exec", "x", "--", *agent(script))
    assert (done.code, done.err) == (
        exit_codes.PEER,
        "error: the agent refused: missing content (-32602)\n",
    )


def test_an_agent_that_has_begun_to_reply_is_not_asked_again(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
say("working")
tell(id=prompt["id"], error={"code": -32602, "message": "missing content"})
hear("never")
"""
    done = call("exec", "x", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.PEER, "working\n")
    assert "second try" not in done.err


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_our_agent_recognises_our_client(call: Call, dialect: str) -> None:
    for words in [(), ("--protocol", "2")]:
        done = call("exec", "--dialect", dialect, *words, "hello you", "--", *OURS)
        assert done.code == exit_codes.DONE, done.err
        assert "> hello you" in done.out


@pytest.fixture
def servers(tmp_path: Path) -> str:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {"files": {"command": "true"}}}')
    return str(file)


@pytest.mark.parametrize("name", ["continuum", "openoxide"])
def test_servers_that_a_dialect_has_no_place_for_are_refused(
    call: Call, servers: str, name: str
) -> None:
    done = call("exec", "--dialect", name, "--mcp", servers, "x", "--", *peer(name))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert f"MCP server files is left out: {name} has no place for it" in done.err
    assert call("exec", "--mcp", servers, "x", "--", *peer("acpex")).code == exit_codes.DONE


def test_a_model_and_a_token_are_sent_where_the_dialect_has_them(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_KEY", "k-1")
    file = tmp_path / "a.acp.ndjson"
    words = ("--model", "gpt-4o", "--auth", "api_key=${ROUTER_KEY}", "--record", str(file))
    done = call("exec", *words, "x", "--", *peer("continuum"))
    assert done.code == exit_codes.DONE, done.err
    calls = dict(sent(file))
    assert calls["authenticate"] == {"method": "api_key", "token": "«secret:1»"}
    assert calls["session/prompt"]["model"] == "gpt-4o"


@pytest.mark.parametrize("value", ["right", '{"apiKey": "right"}'])
def test_the_data_of_a_login_are_a_key_or_an_object(call: Call, value: str) -> None:
    done = call("exec", "--auth", f"api_key={value}", "x", "--", *peer("acpex"))
    assert (done.code, done.err.count("error")) == (exit_codes.DONE, 0)
    done = call("exec", "--auth", "api_key=wrong", "x", "--", *peer("acpex"))
    assert (done.code, "Invalid API key" in done.err) == (exit_codes.PEER, True)


@pytest.mark.parametrize(
    "value", ["s3cr3t-0123456789", '{"user": "me", "pin": "s3cr3t-0123456789"}']
)
@pytest.mark.parametrize("code", ["-32602", "-32000"])
def test_the_secret_of_a_login_is_in_no_recording_and_no_error(
    agent: Agent, call: Call, tmp_path: Path, value: str, code: str
) -> None:
    file = tmp_path / "a.acp.ndjson"
    words = ("--dialect", "continuum", "--auth", f"key={value}", "--record", str(file))
    done = call("exec", *words, "x", "--", *agent(ECHO.replace("CODE", code)))
    assert done.code != exit_codes.DONE
    assert "bad: " in done.err
    assert "s3cr3t" not in done.out + done.err + file.read_text()
    recording = read_recording(file)
    assert recording.header.redacted == ["environment", "key"]
    assert "«secret:" in str(dict(sent(file))["authenticate"])


def test_a_token_that_nobody_has_a_place_for_is_refused(call: Call) -> None:
    words = ("--dialect", "openoxide", "--auth", "key=k")
    done = call("exec", *words, "x", "--", *peer("openoxide"))
    assert "openoxide has no place for a token or data in a login" in done.err
    done = call("exec", "--auth", "stub=k", "x", "--", *OURS, "--auth", "required")
    assert "ACP has no place for a token or data in a login" in done.err
    done = call("exec", "--auth", "key=${NOT_SET}", "x", "--", *OURS)
    assert (done.code, "NOT_SET is not set" in done.err) == (exit_codes.USAGE, True)


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_a_login_that_is_wanted_is_named(call: Call, dialect: str) -> None:
    agent = (*OURS, "--auth", "required", "--dialect", dialect)
    done = call("exec", "--dialect", dialect, "x", "--", *agent)
    assert done.code == exit_codes.PEER
    assert "the agent wants you to log in" in done.err
    assert "exec --auth stub" in done.err
    words = ("exec", "--dialect", dialect, "--auth", "stub", "x", "--")
    assert call(*words, *agent).code == exit_codes.DONE


LISTS = (
    LENGTHS.split("send(id=receive")[0]
    + """
def answer(**result):
    request = receive()
    sys.stderr.write(request["method"] + "\\n")
    send(id=request["id"], result=result)
answer(file_read=True, file_write=True)
answer(sessions=[{"session_id": "old", "working_dir": os.getcwd()}])
answer()
answer(role="agent", content=[{"type": "text", "text": "still here"}])
receive()
"""
)


def test_sessions_of_openoxide_go_on_without_a_claim(agent: Agent, call: Call) -> None:
    command = agent(LISTS.replace("REFUSE", "sys.exit(9)"))
    words = ("--dialect", "openoxide", "--continue", "--stderr")
    done = call("exec", *words, "x", "--", *command)
    assert (done.code, done.out) == (exit_codes.DONE, "still here\n"), done.err
    assert "session/list\nsession/resume\nsession/prompt\n" in done.err


def test_headers_are_recorded_byte_for_byte(call: Call, tmp_path: Path) -> None:
    path, heard, told = (tmp_path / name for name in ("it.acp.ndjson", "heard", "told"))
    agent = shlex.join(peer("openoxide"))
    command = ("sh", "-c", f"tee {heard} | {agent} | tee {told}")
    done = call("exec", "--dialect", "openoxide", "--record", str(path), "x", "--", *command)
    assert done.code == exit_codes.DONE
    frames = read_recording(path).frames
    for side, wire in (("client", heard), ("agent", told)):
        assert b"".join(each.wire for each in frames if each.side == side) == wire.read_bytes()
    assert all(each.header.startswith(b"Content-Length: ") for each in frames)
    raw = call("show", "--format", "raw", "--filter", "from == agent", str(path))
    assert raw.out.encode() == told.read_bytes()
