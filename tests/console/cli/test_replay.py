"""A recording as a regression test, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.wording.values import plural
from acp_inspector.journal import Journal
from acp_inspector.recording.format import new_header
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.jsonrpc import encode_notification, encode_request, encode_result
from tests.console.conftest import Agent, Call
from tests.inspector.talks import answer, ask, chunk, frames, prompt
from tests.warm import WARM

COUNTING = """
prompt = hear_prompt()
say("one, ")
say("two")
end(prompt)
hear("never")
"""


GREETING = {"protocolVersion": 1}
SESSION = {"sessionId": "s1"}
HANDED = "note: hands to the agent: prompts: 1\n"


def without_places(stderr: str) -> str:
    lines = stderr.splitlines(keepends=True)
    return "".join(line for line in lines if "hands to the agent: directory: " not in line)


@pytest.fixture
def recording(agent: Agent, call: Call, tmp_path: Path) -> Path:
    path = tmp_path / "counting.acp.ndjson"
    assert (
        call("exec", "--record", str(path), "count", "--", *agent(COUNTING)).code == exit_codes.DONE
    )
    return path


def test_a_relative_script_is_that_of_the_users_directory(
    recording: Path,
    agent: Agent,
    call: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The agent starts elsewhere: in temporary directories, or in that of `exec --cwd`."""
    script = Path(agent(COUNTING)[-1])
    monkeypatch.chdir(script.parent)
    command = (sys.executable, script.name)
    done = call("replay", str(recording), "--", *command)
    assert (done.code, without_places(done.err)) == (exit_codes.DONE, HANDED)
    assert call("test", str(recording), "--", *command).code == exit_codes.DONE
    (tmp_path / "elsewhere").mkdir()
    done = call("exec", "--cwd", str(tmp_path / "elsewhere"), "count", "--", *command)
    assert (done.code, done.out) == (exit_codes.DONE, "one, two\n")


def test_an_agent_that_behaves_as_recorded_passes(
    recording: Path, agent: Agent, call: Call
) -> None:
    """However it cuts its text."""
    command = agent('prompt = hear_prompt(); say("one, two"); end(prompt); hear("never")')
    done = call("replay", str(recording), "--", *command)
    assert (done.code, without_places(done.err)) == (exit_codes.DONE, HANDED)
    assert done.out.startswith("counting.acp.ndjson: pass: 3 client frames played")


def test_an_agent_that_does_not_fails_with_a_diff(
    recording: Path, agent: Agent, call: Call
) -> None:
    command = agent('prompt = hear_prompt(); say("one, three\\x1b[2J"); end(prompt); hear("never")')
    done = call("replay", str(recording), "--", *command)
    assert (done.code, without_places(done.err)) == (exit_codes.FOUND, HANDED)
    assert "counting.acp.ndjson: fail: 1 problem;" in done.out
    assert "- one, two\n" in done.out
    assert "+ one, three␛[2J\n" in done.out


def test_an_agent_that_dies_fails_with_its_last_words(
    recording: Path, agent: Agent, call: Call
) -> None:
    command = agent('sys.stderr.write("no key\\n"); sys.exit(7)')
    done = call("replay", str(recording), "--", *command)
    assert done.code == exit_codes.AGENT
    assert "the agent exited with code 7\n    | no key\n" in done.out


def test_an_agent_that_keeps_silent_fails_in_time(
    recording: Path, agent: Agent, call: Call
) -> None:
    done = call("replay", "--timeout", "0.5", str(recording), "--", *agent('hear("never")'))
    assert done.code == exit_codes.FOUND
    assert "the agent kept silent for 0.5 s" in done.out


def without(data: bytes, text: bytes) -> bytes:
    """Return the lines of a file but for those with a text."""
    return b"".join(line for line in data.splitlines(keepends=True) if text not in line)


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str, int]] = {
    "cut in a turn": (lambda data: data[: data.index(b"one, ")], "ends in the middle of this", 3),
    "cut before it": (lambda data: data[: data.index(b"session/prompt")], "ends in the middle", 2),
    "joined": (lambda data: data + data, "the digest does not fit", 6),
    "foreign line": (lambda data: data.replace(b"\n", b"\nno JSON\n", 1), "line 2 of the file", 3),
    "gap": (lambda data: without(data, b'"result": {"sessionId"'), "missing in the recording", 3),
    "no initialize": (lambda data: without(data, b'"initialize"'), "has no initialize", 1),
}
"""What happens to a file, what is reported, and how many frames are played."""


@pytest.mark.parametrize("name", DAMAGES)
def test_what_a_damaged_recording_lacks_is_named_and_the_rest_is_played(
    name: str, recording: Path, agent: Agent, call: Call
) -> None:
    damage, sentence, played = DAMAGES[name]
    recording.write_bytes(damage(recording.read_bytes()))
    # Without initialize, this agent responds to nothing.
    # A session that no response names may be one that the agent has kept.
    given = {"no initialize": ["--timeout", "1"], "gap": ["--trust"]}.get(name, [])
    done = call("replay", *given, str(recording), "--", *agent(COUNTING))
    assert sentence in done.out + done.err
    assert f"{plural(played, 'client frame')} played" in done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is not a recording: it is empty"),
        (b'{"jsonrpc":"2.0"}\n', "is not a recording: its first line is not a header"),
        (b'{"acp_recording":9}\n', "format version 9 is not known here"),
        (b"\x1f\x8b\x08garbage", "cannot read "),
        (bytes(range(256)) * 12, "is not a recording"),
    ],
    ids=["empty", "a frame", "a later version", "broken gzip", "any bytes"],
)
def test_what_is_no_recording_is_refused_in_a_sentence(
    data: bytes, sentence: str, call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    path.write_bytes(data)
    done = call("replay", str(path), "--", "false")
    assert done.code == exit_codes.USAGE
    assert sentence in done.err
    assert done.err.startswith("error: ")


def test_a_recording_starts_nothing_by_itself(recording: Path, call: Call, tmp_path: Path) -> None:
    """Its command is in its header, and stays there."""
    lines = recording.read_text().splitlines(keepends=True)
    header = json.loads(lines[0])
    header["command"] = ["touch", str(tmp_path / "started")]
    recording.write_text(json.dumps(header) + "\n" + "".join(lines[1:]))
    done = call("replay", str(recording))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "the command in a recording is never run automatically" in done.err
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["nobody"], exit_codes.USAGE, "unknown agent 'nobody'"),
        (["demo", "--", "cat"], exit_codes.USAGE, "not both"),
        (["--timeout", "0", "demo"], exit_codes.USAGE, "--timeout"),
        (["--on-miss", "error", "demo"], exit_codes.USAGE, "--on-miss: 'error' is not one of"),
        (["--", "/no/such/agent"], exit_codes.AGENT, "there is no such command"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(
    recording: Path, call: Call, words: list[str], code: int, sentence: str
) -> None:
    done = call("replay", str(recording), *words)
    assert (done.code, done.out) == (code, "")
    assert sentence in done.err


def test_a_signal_ends_the_replay_and_the_agent(recording: Path, agent: Agent) -> None:
    command = agent("""
import signal
os.kill(os.getppid(), signal.SIGTERM)
hear("never")
""")
    words = [*WARM, "-m", "acp_console", "replay", str(recording), "--", *command]
    done = subprocess.run(words, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (143, b"")
    assert without_places(done.stderr.decode()) == HANDED


def test_many_differences_of_a_kind_are_counted_unless_all_are_asked_for(
    recording: Path, agent: Agent, call: Call
) -> None:
    command = agent("""
sys.stdout.write("garbage\\n" * 25)
prompt = hear_prompt(); say("one, two"); end(prompt); hear("never")
""")
    shown, every = (
        call("replay", *wish, str(recording), "--", *command).out for wish in ([], ["--all"])
    )
    assert shown.count("+ garbage\n") == 20
    ending = "… and 5 more: malformed message is not in the recording (--all shows them)\n"
    assert shown.endswith(ending)
    assert every.count("+ garbage") == 25


def test_what_is_ignored_is_no_difference_and_is_told(
    recording: Path, agent: Agent, call: Call
) -> None:
    command = agent('prompt = hear_prompt(); say("one, three"); end(prompt); hear("never")')
    assert call("replay", str(recording), "--", *command).code == exit_codes.FOUND
    text = "update == agent_message_chunk"
    done = call("replay", "--ignore", text, str(recording), "--", *command)
    assert done.code == exit_codes.DONE
    assert f"--ignore {text}: applied 3 times" in done.err


def test_a_replay_that_ignores_everything_fails(recording: Path, agent: Agent, call: Call) -> None:
    words = ["replay", str(recording), "--ignore"]
    done = call(*words, "from == agent", "--", *agent(COUNTING))
    assert done.code == exit_codes.FOUND
    assert "nothing was compared" in done.out
    done = call(*words, "$.result", "--ignore", "$.params", "--", *agent(COUNTING))
    assert done.code == exit_codes.DONE
    assert "note: no value was compared" in done.out


def test_an_ignore_that_never_applies_is_a_mistake(
    recording: Path, agent: Agent, call: Call
) -> None:
    command = agent(COUNTING)
    done = call("replay", "--ignore", "method == _never", str(recording), "--", *command)
    assert done.code == exit_codes.USAGE
    assert "nothing to ignore was found" in done.err


def test_a_redacted_recording_is_only_played_when_that_was_said(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path, public, started = (tmp_path / name for name in ("a.acp.ndjson", "b.acp.ndjson", "it"))
    key = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5"
    script = """
open({started!r}, "w").close()
prompt = hear_prompt()
say("your key is {key}")
end(prompt)
hear("never")
"""
    command = agent(script.format(started=str(started), key=key))
    assert call("exec", "--record", str(path), "hello", "--", *command).code == exit_codes.DONE
    assert (
        call("redact", str(path), "-o", str(public), "--rule", "anthropic").code == exit_codes.DONE
    )
    started.unlink()
    done = call("replay", str(public), "--", *command)
    assert (done.code, done.out, started.exists()) == (exit_codes.USAGE, "", False)
    assert "is redacted" in done.err
    assert "--allow-redacted" in done.err
    for live in (key, "another-key", "«secret:1»"):
        words = agent(script.format(started=str(started), key=live))
        assert call("replay", "--allow-redacted", str(public), "--", *words).code == exit_codes.DONE
    # What is not redacted needs no leave, and its texts are compared as they are.
    for live, code in ((key, exit_codes.DONE), ("another-key", exit_codes.FOUND)):
        words = agent(script.format(started=str(started), key=live))
        assert call("replay", "--allow-redacted", str(path), "--", *words).code == code


def foreign(path: Path, params: dict[str, object]) -> Path:
    """Write a recording whose client opens a session with `params` and sends nothing more."""
    writer = RecordingWriter(path, new_header(["agent"], Path("/project")))
    journal = Journal()
    journal.line("client", encode_request(0, "initialize", {"protocolVersion": 1}))
    journal.line("agent", encode_result(0, {"protocolVersion": 1}))
    opening: dict[str, object] = {"cwd": "/project", "mcpServers": [], **params}
    journal.line("client", encode_request(1, "session/new", opening))
    journal.line("agent", encode_result(1, {"sessionId": "s1"}))
    writer.write(journal.entries)
    writer.close()
    return path


@pytest.mark.parametrize(
    ("params", "line"),
    [
        (
            {"mcpServers": [{"name": "evil", "command": "/bin/sh", "args": ["-c", "id"]}]},
            "MCP server: /bin/sh -c id (frame 3)",
        ),
        (
            {"mcpServers": [{"type": "http", "name": "x", "url": "https://a.b/"}]},
            "MCP server: https://a.b/ (frame 3)",
        ),
        ({"additionalDirectories": ["/"]}, "directory: / (frame 3)"),
        ({"additionalDirectories": ["../etc"]}, "directory: ../etc (frame 3)"),
    ],
)
def test_what_a_recording_names_is_handed_over_only_if_it_is_trusted(
    agent: Agent, call: Call, tmp_path: Path, params: dict[str, object], line: str
) -> None:
    path = foreign(tmp_path / "foreign.acp.ndjson", params)
    started = tmp_path / "started"
    command = agent(f"open({str(started)!r}, 'w').close(); greet(); open_session(); hear('never')")
    done = call("replay", str(path), "--", *command)
    assert done.code == exit_codes.USAGE
    assert f"hands to the agent: {line}\n" in done.err
    assert "would have the agent do this; allow it with --trust" in done.err
    assert not started.exists()
    assert call("replay", "--trust", str(path), "--", *command).code == exit_codes.DONE
    assert started.exists()


def test_a_session_works_in_a_temporary_directory_unless_one_is_named(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path = foreign(tmp_path / "foreign.acp.ndjson", {"additionalDirectories": ["/project/more"]})
    seen = tmp_path / "seen"
    command = agent(f"""
greet()
opened = hear("session/new")
params = opened["params"]
with open({str(seen)!r}, "w") as file:
    json.dump([params["cwd"], *params["additionalDirectories"]], file)
tell(id=opened["id"], result={{"sessionId": "s1"}})
hear("never")
""")
    assert call("replay", str(path), "--", *command).code == exit_codes.DONE
    cwd, more = json.loads(seen.read_text())
    assert "acp-replay-" in cwd
    assert more == f"{cwd}/more"
    call("replay", "--cwd", str(tmp_path), str(path), "--", *command)
    assert json.loads(seen.read_text())[0] == str(tmp_path)


TWO_SESSIONS = """
greet()
opened = []
for name in ("one", "two"):
    request = hear("session/new")
    opened.append(request["params"])
    tell(id=request["id"], result={"sessionId": name})
for name in ("one", "two"):
    prompt = hear("session/prompt")
    text = prompt["params"]["prompt"][0]["text"]
    cwd = opened[["one", "two"].index(name)]["cwd"]
    chunk = {"sessionUpdate": "agent_message_chunk",
             "content": {"type": "text", "text": ANSWER}}
    tell(method="session/update", params={"sessionId": name, "update": chunk})
    end(prompt)
with open(SEEN, "w") as file:
    json.dump([opened, text, [os.path.isdir(each["cwd"]) for each in opened], os.getcwd()], file)
hear("never")
"""


def two_sessions(path: Path, one: str, two: str, more: list[str]) -> Path:
    """Write a recording of two sessions; the agent repeats each one's directory and prompt."""
    writer = RecordingWriter(path, new_header(["agent"], Path("/home/ada")))
    journal = Journal()
    journal.line("client", encode_request(0, "initialize", {"protocolVersion": 1}))
    journal.line("agent", encode_result(0, {"protocolVersion": 1}))
    for number, name, cwd in ((1, "one", one), (2, "two", two)):
        opening = {"cwd": cwd, "mcpServers": [], "additionalDirectories": more}
        journal.line("client", encode_request(number, "session/new", opening))
        journal.line("agent", encode_result(number, {"sessionId": name}))
    for number, name, cwd in ((3, "one", one), (4, "two", two)):
        text = f"compare {one}/a with {two}/b, not with {two}2; list {', '.join(more)}."
        block = {"type": "text", "text": text}
        params = {"sessionId": name, "prompt": [block]}
        journal.line("client", encode_request(number, "session/prompt", params))
        said = {"type": "text", "text": f"{cwd}/x: {text}"}
        update = {"sessionUpdate": "agent_message_chunk", "content": said}
        params = {"sessionId": name, "update": update}
        journal.line("agent", encode_notification("session/update", params))
        journal.line("agent", encode_result(number, {"stopReason": "end_turn"}))
    writer.write(journal.entries)
    writer.close()
    return path


@pytest.mark.parametrize(
    ("one", "two", "more", "is_named", "expected"),
    [
        # The recorded directories; whether --cwd is given; their places below it and below a
        # temporary one.
        ("/h/proj", "/h/proj/sub", [], True, ("CWD", "CWD/sub")),
        ("/h/proj/sub", "/h/proj", [], True, ("CWD/sub", "CWD")),
        ("/h/proj", "/h/lib", [], True, ("CWD", "NEW")),
        ("/h/proj", "/h/lib", ["/etc/x"], True, ("CWD", "NEW/h/lib", "NEW/etc/x")),
        ("/h/proj", "/h/proj/sub", [], False, ("NEW", "NEW/sub")),
        ("/h/proj", "/h/lib", [], False, ("NEW/proj", "NEW/lib")),
        ("/h/proj/", "/h/proj/../lib", [], False, ("NEW/proj", "NEW/lib")),
        (
            "/h/proj",
            "/h/proj2",
            ["/h/proj/inner"],
            False,
            ("NEW/proj", "NEW/proj2", "NEW/proj/inner"),
        ),
        ("/h/proj", "/h/proj", [], False, ("NEW", "NEW")),
    ],
)
def test_every_recorded_directory_has_a_place_of_its_own(
    agent: Agent,
    call: Call,
    tmp_path: Path,
    one: str,
    two: str,
    more: list[str],
    is_named: bool,
    expected: tuple[str, ...],
) -> None:
    path = two_sessions(tmp_path / "two.acp.ndjson", one, two, more)
    home, seen = tmp_path / "home", tmp_path / "seen"
    home.mkdir()
    options = ["--cwd", str(home)] if is_named else []
    script = TWO_SESSIONS.replace("ANSWER", 'f"{cwd}/x: {text}"').replace("SEEN", repr(str(seen)))
    done = call("replay", *options, str(path), "--", *agent(script))
    assert done.code == exit_codes.DONE, done.out
    opened, text, are_there, started_in = json.loads(seen.read_text())
    live = [opened[0]["cwd"], opened[1]["cwd"], *opened[0]["additionalDirectories"]]
    assert are_there == [True, True]
    assert os.path.normpath(started_in) == os.path.normpath(live[0])
    for recorded, place, wanted in zip((one, two, *more), live, expected, strict=True):
        base, _, below = wanted.partition("/")
        assert place.startswith(str(home) if base == "CWD" else tempfile.gettempdir())
        assert (base == "CWD") is not ("acp-replay-" in place)
        assert place.rstrip("/").endswith(f"/{below}" if below else "")
        assert f"directory: {recorded.rstrip('/')} as {place.rstrip('/')}\n" in done.err
    assert f"{live[0]}/a with {live[1]}/b, not with" in text
    assert text.endswith(f"list {', '.join(live[2:])}.")


def test_an_agent_that_works_in_the_directory_of_another_session_fails(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path = two_sessions(tmp_path / "two.acp.ndjson", "/h/proj", "/h/lib", [])
    script = TWO_SESSIONS.replace("ANSWER", 'opened[0]["cwd"] + f"/x: {text}"')
    script = script.replace("SEEN", repr(str(tmp_path / "seen")))
    done = call("replay", str(path), "--", *agent(script))
    assert (done.code, done.out.count("«cwd 2»/x")) == (exit_codes.FOUND, 1)


def test_a_link_in_the_named_directory_leads_no_session_out(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path = two_sessions(tmp_path / "two.acp.ndjson", "/h/proj", "/h/proj/sub/deep", [])
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (home / "sub").symlink_to(outside)
    done = call("replay", "--cwd", str(home), str(path), "--", *agent("hear('never')"))
    assert done.code == exit_codes.USAGE
    assert "but a link leads from there elsewhere" in done.err
    assert list(outside.iterdir()) == []


READING = """
prompt = hear_prompt()
read = ask("fs/read_text_file", path=os.getcwd() + "/notes.txt")
say(read.get("result", read.get("error", {})).get("content", "no file"))
end(prompt)
hear("never")
"""


def test_a_new_request_is_forwarded_and_recorded(agent: Agent, call: Call, tmp_path: Path) -> None:
    """What the client reads is in the new recording, which passes by itself."""
    path, longer = tmp_path / "short.acp.ndjson", tmp_path / "longer.acp.ndjson"
    home = tmp_path / "home"
    home.mkdir()
    (home / "notes.txt").write_text("milk")
    short = agent('prompt = hear_prompt(); say("milk"); end(prompt); hear("never")')
    record = ("exec", "--record", str(path), "--cwd", str(home), "hello", "--", *short)
    assert call(*record).code == exit_codes.DONE
    places = ("--cwd", str(home))
    command = agent(READING)
    assert call("replay", *places, str(path), "--", *command).code == exit_codes.FOUND
    forwards = ("--on-miss", "forward", "--output", str(longer))
    done = call("replay", *places, *forwards, str(path), "--", *command)
    assert done.code == exit_codes.DONE, done.out
    assert "note: fs/read_text_file (live frame 7) was forwarded" in done.out
    (home / "notes.txt").unlink()
    done = call("replay", *places, str(longer), "--", *command)
    assert done.code == exit_codes.DONE, done.out
    assert "4 client frames played" in done.out


@pytest.mark.parametrize(("allow", "sentence"), [((), "rejected"), (("--allow", "all"), "allowed")])
def test_a_forwarded_permission_is_decided_by_the_stated_policy(
    allow: tuple[str, ...], sentence: str, recording: Path, agent: Agent, call: Call
) -> None:
    command = agent("""
prompt = hear_prompt()
ask_consent(toolCallId="c1", title="Run it", kind="execute", rawInput={"command": "ls"})
say("one, two")
end(prompt)
hear("never")
""")
    done = call("replay", "--on-miss", "forward", *allow, str(recording), "--", *command)
    assert done.code == exit_codes.DONE, done.out
    assert f"note: {sentence}: Run it\n" in done.err


RUNNING = """
prompt = hear_prompt()
where = os.getcwd()
made = ask("terminal/create", command="sh", args=["-c", "echo one, two; sleep 600 & pwd"])
if "result" in made:
    id_ = made["result"]["terminalId"]
    code = ask("terminal/wait_for_exit", terminalId=id_)["result"]["exitCode"]
    output = ask("terminal/output", terminalId=id_)["result"]["output"]
    assert (code, output) == (0, f"one, two\\n{where}\\n"), (code, output)
    say("one, two")
else:
    say(made["error"]["message"])
end(prompt)
hear("never")
"""


def test_forwarded_terminals_are_served_if_everything_is_allowed(
    recording: Path, agent: Agent, call: Call, tmp_path: Path
) -> None:
    longer = tmp_path / "longer.acp.ndjson"
    options = ("--on-miss", "forward", "--allow", "all", "--output", str(longer))
    done = call("replay", *options, str(recording), "--", *agent(RUNNING))
    assert done.code == exit_codes.DONE, done.out
    assert done.out.count("was forwarded") == 3
    # Nothing runs for a recording that is played again: its terminals are in it.
    done = call("replay", str(longer), "--", *agent(RUNNING))
    assert done.code == exit_codes.DONE, done.out
    done = call("replay", *options[:2], "--allow", "edits", str(recording), "--", *agent(RUNNING))
    assert done.code == exit_codes.FOUND
    assert "note: refused: terminal/create: needs --allow all\n" in done.err


WRITING = READING.replace("fs/read_text_file", "fs/write_text_file").replace(
    '"/notes.txt"', '"/notes.txt", content="milk"'
)


@pytest.mark.parametrize(("level", "is_written"), [("reads", False), ("edits", True)])
def test_forwarded_writes_are_carried_out_if_edits_are_allowed(
    recording: Path, agent: Agent, call: Call, tmp_path: Path, level: str, is_written: bool
) -> None:
    options = ("--on-miss", "forward", "--allow", level, "--cwd", str(tmp_path))
    done = call("replay", *options, str(recording), "--", *agent(WRITING))
    assert (tmp_path / "notes.txt").exists() is is_written
    assert ("refused: fs/write_text_file: needs --allow edits" in done.err) is not is_written


def test_a_forwarded_form_is_cancelled(recording: Path, agent: Agent, call: Call) -> None:
    command = agent("""
prompt = hear_prompt()
schema = {"type": "object", "properties": {"name": {"type": "string"}}}
form = ask("elicitation/create", mode="form", message="Your name?", requestedSchema=schema)
say({"cancel": "one, two"}[form["result"]["action"]])
end(prompt)
hear("never")
""")
    done = call("replay", "--on-miss", "forward", str(recording), "--", *command)
    assert done.code == exit_codes.DONE, done.out
    assert "note: cancelled, as a replay has no user: Your name?\n" in done.err


def test_a_forwarded_request_reaches_no_file_outside(
    recording: Path, agent: Agent, call: Call, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    script = READING.replace('os.getcwd() + "/notes.txt"', repr(str(secret)))
    done = call("replay", "--on-miss", "forward", str(recording), "--", *agent(script))
    assert done.code == exit_codes.FOUND
    assert "hidden" not in done.out
    assert "+ no file" in done.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--allow", "all"], "--allow has no effect without --on-miss forward"),
        (["--learn", "--output", "new"], "--learn plays twice, so --output cannot be given"),
        (["--time", "soon"], "'soon' is not instant, recorded or a factor such as 0.5"),
        (["--time", "-1"], "is not instant, recorded or a factor"),
        (["--time", "nan"], "is not instant, recorded or a factor"),
    ],
)
def test_a_wrong_option_is_refused(
    recording: Path, call: Call, words: list[str], sentence: str
) -> None:
    done = call("replay", *words, str(recording), "demo")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert sentence in done.err


WAITING = """
import select
prompt = hear_prompt()
end(prompt)
is_quick = bool(select.select([sys.stdin], [], [], 1.0)[0])
prompt = hear("session/prompt")
say("quick" if is_quick else "slow")
end(prompt)
hear("never")
"""


@pytest.mark.parametrize(
    ("pace", "code"),
    [
        ("instant", exit_codes.FOUND),
        ("recorded", exit_codes.DONE),
        ("0.75", exit_codes.DONE),
        ("0.001", exit_codes.FOUND),
    ],
)
def test_recorded_pauses_are_kept_if_that_is_wanted(
    agent: Agent, call: Call, tmp_path: Path, pace: str, code: int
) -> None:
    """The agent notices whether the second prompt comes within a second."""
    path = tmp_path / "pause.acp.ndjson"
    said = [
        *(ask("client", 0, "initialize", protocolVersion=1), answer("agent", 0, GREETING)),
        *(ask("client", 1, "session/new", cwd="/p", mcpServers=[]), answer("agent", 1, SESSION)),
        *(prompt(2, "wait"), answer("agent", 2, {"stopReason": "end_turn"})),
        *(prompt(3, "now"), chunk("slow"), answer("agent", 3, {"stopReason": "end_turn"})),
    ]
    writer = RecordingWriter(path, new_header(["agent"], Path("/p")))
    later = (replace(each, time=each.time + 2 * (each.seq > 6)) for each in frames(*said))
    writer.write([*later])
    writer.close()
    done = call("replay", "--time", pace, str(path), "--", *agent(WAITING))
    assert done.code == code, done.out


TELLING = """
import uuid
prompt = hear_prompt()
say(f"run {uuid.uuid4()}")
end(prompt)
hear("never")
"""


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), exit_codes.DONE),
        (("--strict", "usage"), exit_codes.DONE),
        (("--strict", "usage", "--strict", "shapes"), exit_codes.FOUND),
        (("--strict", "all"), exit_codes.FOUND),
        (("--level", "shape", "--strict", "all"), exit_codes.DONE),
    ],
)
def test_what_is_tolerated_can_be_switched_off(
    agent: Agent, call: Call, tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    path, command = tmp_path / "x.acp.ndjson", agent(TELLING)
    assert call("exec", "--record", str(path), "hello", "--", *command).code == exit_codes.DONE
    done = call("replay", *options, str(path), "--", *command)
    assert done.code == code
    assert ("tolerated: 1 value bound by shape" in done.out) is (
        code == exit_codes.DONE and "--level" not in options
    )


@pytest.mark.parametrize(
    ("level", "cut", "changed"),
    [
        ("strict", exit_codes.FOUND, exit_codes.FOUND),
        ("semantic", exit_codes.DONE, exit_codes.FOUND),
        ("shape", exit_codes.DONE, exit_codes.DONE),
    ],
)
def test_a_level_decides_how_closely_an_agent_is_compared(
    recording: Path, agent: Agent, call: Call, level: str, cut: int, changed: int
) -> None:
    talk = 'prompt = hear_prompt(); say("one, {}"); end(prompt); hear("never")'
    for text, code in (("two", cut), ("three", changed)):
        words = ("--level", level, str(recording), "--", *agent(talk.format(text)))
        assert call("replay", *words).code == code


def test_expectations_of_another_file_replace_those_beside_the_recording(
    recording: Path, agent: Agent, call: Call, tmp_path: Path
) -> None:
    command = agent(COUNTING.replace("two", "three"))
    entry = '[[ignore]]\nfilter = "update == agent_message_chunk"\nreason = "live model"\n'
    (tmp_path / "counting.expect.toml").write_text(entry)
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    assert call("replay", str(recording), "--", *command).code == exit_codes.DONE
    done = call("replay", "--expect", str(empty), str(recording), "--", *command)
    assert done.code == exit_codes.FOUND
    missing = call("replay", "--expect", str(tmp_path / "no"), str(recording), "--", *command)
    assert missing.code == exit_codes.USAGE


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_each_dialect_is_played_as_a_proxy_recorded_it(
    call: Call, tmp_path: Path, dialect: str
) -> None:
    """One of them has Content-Length headers, which the proxy records as lines."""
    command = [*WARM, "-m", "acp_agent", "--script", "tour", "--dialect", dialect]
    path = tmp_path / "tour.acp.ndjson"
    proxy = [*WARM, "-m", "acp_console", "proxy", "--record", str(path), "--"]
    words = ("exec", "--cwd", str(tmp_path), "--allow", "all", "--dialect", dialect, "hello")
    assert call(*words, "--", *proxy, *command).code == exit_codes.DONE
    done = call("replay", "--trust", str(path), "--", *command)
    assert done.code == exit_codes.DONE, done.out
    assert ": pass: 4 client frames played" in done.out


@pytest.mark.parametrize("version", ["1", "2"])
def test_each_version_is_played(call: Call, tmp_path: Path, version: str) -> None:
    command = [*WARM, "-m", "acp_agent", "--script", "tour", "--protocol", version]
    path = tmp_path / "tour.acp.ndjson"
    record = ("exec", "--allow", "all", "--protocol", version, "--record", str(path), "hello")
    assert call(*record, "--", *command).code == exit_codes.DONE
    done = call("replay", "--trust", str(path), "--", *command)
    assert done.code == exit_codes.DONE, done.out


@pytest.mark.parametrize(
    ("fault", "code", "sentence"),
    [
        ("", exit_codes.DONE, "pass: 3 client frames played"),
        ("delay(0.2)", exit_codes.DONE, "pass: 3 client frames played"),
        ("crash(7)", exit_codes.AGENT, "the agent exited with code 7"),
        pytest.param(
            *("hang(60)", exit_codes.FOUND, "waited for 4 s; response to session/prompt"),
            marks=pytest.mark.long,
        ),
        ("duplicate()", exit_codes.FOUND, "the agent responded twice to session/prompt"),
        ("cut(20)", exit_codes.AGENT, "the agent closed its side"),
        pytest.param(
            *(
                'wrong_id("retyped")',
                exit_codes.FOUND,
                "waited for 4 s; response to session/prompt",
            ),
            marks=pytest.mark.long,
        ),
        ("noise()", exit_codes.FOUND, "malformed message is not in the recording"),
    ],
)
def test_a_scripted_fault_is_reported_in_time(
    call: Call, tmp_path: Path, fault: str, code: int, sentence: str
) -> None:
    good, bad, path = (tmp_path / name for name in ("good.py", "bad.py", "x.acp.ndjson"))
    hello = (
        'from acp_agent.scripted import *\nasync def prompt(call):\n    await call.text("Hello")\n'
    )
    good.write_text(hello)
    bad.write_text(f"{hello}    await call.answer({fault})\n")
    agents = [[*WARM, "-m", "acp_agent", "--script", str(each)] for each in (good, bad)]
    assert call("exec", "--record", str(path), "hi", "--", *agents[0]).code == exit_codes.DONE
    done = call("replay", "--timeout", "4", str(path), "--", *agents[1])
    assert (done.code, sentence in done.out) == (code, True), done.out


VARYING = """
import time
prompt = hear_prompt()
say(f"it took {time.time_ns()} ns of luck")
end(prompt)
hear("never")
"""


def test_what_varies_is_learned_and_then_expected(agent: Agent, call: Call, tmp_path: Path) -> None:
    path, command = tmp_path / "x.acp.ndjson", agent(VARYING)
    assert call("exec", "--record", str(path), "hello", "--", *command).code == exit_codes.DONE
    assert call("replay", str(path), "--", *command).code == exit_codes.FOUND
    done = call("replay", "--learn", str(path), "--", *command)
    assert done.code == exit_codes.DONE, done.err
    expected = tmp_path / "x.expect.toml"
    assert "luck" in expected.read_text()
    assert call("replay", str(path), "--", *command).code == exit_codes.DONE
    # A file that exists may hold what its owner decided.
    expected.write_text("")
    done = call("replay", "--learn", str(path), "--", *command)
    assert expected.read_text() == ""
    assert "[[match]]" in done.out
    assert call("replay", "--learn", "--cwd", str(tmp_path), str(path), "demo").code == 2


ENDING = """
prompt = hear_prompt()
is_second = os.path.exists({mark!r})
open({mark!r}, "w").close()
end(prompt, "end_turn" if is_second else {first!r})
hear("never")
"""


def test_no_expectation_is_learned_for_what_is_always_compared(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path, mark = tmp_path / "x.acp.ndjson", str(tmp_path / "mark")
    first, usual = (ENDING.format(mark=mark, first=each) for each in ("refusal", "end_turn"))
    call("exec", "--record", str(path), "hello", "--", *agent(first))
    done = call("replay", "--learn", str(path), "--", *agent(usual))
    assert done.code == exit_codes.FOUND
    assert "both runs differ from the recording in response to session/prompt at $.res" in done.err
    Path(mark).unlink()
    done = call("replay", "--learn", str(path), "--", *agent(first))
    assert done.code == exit_codes.FOUND
    assert "no expectation is proposed for what differs between the two runs in resp" in done.err
    assert not (tmp_path / "x.expect.toml").exists()


def test_nothing_is_learned_from_two_runs_that_are_alike(
    recording: Path, agent: Agent, call: Call
) -> None:
    done = call("replay", "--learn", str(recording), "--", *agent(COUNTING))
    assert done.code == exit_codes.DONE
    assert "there is nothing to expect" in done.err
    assert not recording.with_name("counting.expect.toml").exists()


LENIENT = """
import os, re
names = {{"/bin/x", "code", "logout", "session/delete", "allow_once", "/real"}}
for line in sys.stdin.buffer:
    text = line.decode(errors="ignore")
    text = re.sub(r"\\\\u([0-9a-fA-F]{{4}})", lambda found: chr(int(found[1], 16)), text)
    if any(f'"{{name}}"' in text for name in names):
        open({victim!r}, "w").close()
"""
"""An agent that does what it can make out in any line, however broken or spelt."""


def frame(method: str, **params: object) -> bytes:
    return encode_request(1, method, params)


SERVERS = frame("session/new", cwd="/w", mcpServers=[{"name": "x", "command": "/bin/x"}])
UNSEEN: dict[str, bytes] = {
    "mcp_servers": SERVERS.replace(b"mcpServers", b"mcp_servers"),
    "working_dir": frame("session/new", working_dir="/", mcp_servers=[], x="/real"),
    "invalid UTF-8": SERVERS[:-1] + b',"x":"\xff"}',
    "5,000 digits": SERVERS[:-1] + b',"x":' + b"9" * 5000 + b"}",
    "1,500 levels": SERVERS[:-1] + b',"x":' + b"[" * 1500 + b"]" * 1500 + b"}",
    "names by number": SERVERS.replace(b"mcpS", b"\\u006dcp\\u0053")[:-1] + b',"x":"\xff"}',
    "logout": frame("logout"),
    "delete": frame("session/delete", sessionId="s"),
    "mode": frame("session/set_mode", sessionId="s", modeId="code"),
    "bare word": encode_result(5, "allow_once"),
    "option_id": encode_result(5, {"outcome": {"outcome": "selected", "option_id": "allow_once"}}),
}
"""What was once played without trust."""


@pytest.mark.parametrize("command", ["replay", "test"])
@pytest.mark.parametrize("unseen", list(UNSEEN))
def test_a_lenient_agent_does_nothing_for_a_recording_that_is_not_trusted(
    agent: Agent, call: Call, tmp_path: Path, unseen: str, command: str
) -> None:
    path, victim = tmp_path / "foreign.acp.ndjson", tmp_path / "victim"
    writer = RecordingWriter(path, new_header(["agent"], Path("/w")))
    journal = Journal()
    journal.line("client", encode_request(0, "initialize", {"protocolVersion": 1}))
    journal.line("client", UNSEEN[unseen])
    writer.write(journal.entries)
    writer.close()
    words = agent(LENIENT.format(victim=str(victim)))
    done = call(command, str(path), "--timeout", "2s", "--", *words)
    assert done.code == exit_codes.USAGE
    assert "allow it with --trust:" in done.out + done.err
    assert not victim.exists()
    call(command, "--trust", str(path), "--timeout", "2s", "--", *words)
    assert victim.exists()
