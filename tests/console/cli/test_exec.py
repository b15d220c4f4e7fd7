"""One turn without a screen: what it prints, how it ends, and what bad agents get."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from

from acp_console.agents.spec import command_agent
from acp_console.chat.evidence import DIALECT_HINT
from acp_console.cli import exit_codes
from acp_console.cli.exec import TurnOptions, run_turn
from acp_console.cli.exec_output import TurnPrinter
from acp_console.cli.markdown_stream import MarkdownStream
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.reader import read_recording
from acp_protocol.errors import OperationTimeoutError
from acp_protocol.framing import Side
from acp_protocol.host.arguments import parse_duration
from tests.console.cli.conftest import on_terminal
from tests.console.conftest import Agent, Call
from tests.warm import WARM

FRIENDLY = """
prompt = hear_prompt()
say("You said *")
say(prompt["params"]["prompt"][0]["text"])
say("*.")
end(prompt, usage={"totalTokens": 3})
hear("never")
"""
CAREFUL = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Run make", kind="execute")
say(ask_consent(toolCallId="t"))
end(prompt)
hear("never")
"""


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


# What it prints


def test_the_answer_stands_on_stdout_and_nothing_else(agent: Agent, call: Call) -> None:
    done = call("exec", "hello", "--", *agent(FRIENDLY))
    assert (done.code, done.out, done.err) == (exit_codes.DONE, "You said *hello*.\n", "")


def test_tool_calls_are_told_on_stderr_and_keep_quiet_when_asked(agent: Agent, call: Call) -> None:
    command = agent(CAREFUL)
    done = call("exec", "--allow", "all", "go", "--", *command)
    assert (done.out, done.err) == ("yes\n", "  * Run make\n")
    done = call("exec", "--format", "quiet", "--allow", "all", "go", "--", *command)
    assert (done.out, done.err) == ("yes", "")


def test_joiners_of_letters_and_emoji_are_printed(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
for text in ("dev 👩", "\u200d", "💻, می", "\u200cخواهم", ", rm\u200d -rf\u200d"):
    say(text)
end(prompt)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert done.out == "dev 👩\u200d💻, می\u200cخواهم, rm‹200d› -rf‹200d›\n"


def test_a_quiet_reply_to_a_pipe_is_what_was_sent(agent: Agent, call: Call) -> None:
    reply = "a\u200d\r\n\tم\u200cخ \x1b[1mbold\x1b[0m\u202e"
    script = f"""
prompt = hear_prompt()
say({reply!r})
end(prompt)
hear("never")
"""
    done = call("exec", "--format", "quiet", "go", "--", *agent(script))
    assert done.out == reply


def test_verbose_prints_a_line_for_each_message(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
say("Hi\\x1b[2J\\nyou")
print("stray", flush=True)
end(prompt)
hear("never")
"""
    done = call("exec", "-v", "hello", "--", *agent(script))
    assert done.out == "Hi␛[2J\nyou\n"
    lines = re.sub(r"\d+\.\d+( m?s)?", lambda found: "T" + (found[1] or ""), done.err).splitlines()
    assert [line.strip().replace(" ms", " s") for line in lines[:-1]] == [
        "T → initialize version 1 acp-console",
        "T ← result T s initialize protocolVersion 1",
        f"T → session/new cwd {Path.cwd()}",
        "T ← result T s session/new sessionId s1",
        'T → session/prompt "hello"',
        'T ← session/update agent_message_chunk "Hi␛[2J⏎you"',
        "T ← malformed no JSON: expecting value at character 0",
        "T → error -32700 Parse error",
        "T ← result T s session/prompt stopReason end_turn",
    ]


def test_a_tool_call_is_told_once_however_often_its_title_comes(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Run make", kind="execute")
update("tool_call_update", toolCallId="t", title="Made", status="completed")
end(prompt)
hear("never")
"""
    done = call("exec", "--allow", "all", "go", "--", *agent(script))
    assert (done.code, done.err) == (exit_codes.DONE, "  * Run make\n")


def test_what_the_agent_says_before_the_prompt_is_no_reply(agent: Agent, call: Call) -> None:
    script = """
greet()
opened = hear("session/new")
say("[MODE_UPDATE] plan")
tell(id=opened["id"], result={"sessionId": "s1"})
prompt = hear("session/prompt")
say("hello")
end(prompt)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "hello\n")


def test_json_gives_each_update_as_it_came_and_then_the_end(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
update("plan", entries=[], _meta={"mine": [1.50, "\\u009b\\u007f\\ud800"]})
update("of next year", some="thing")
end(prompt, usage={"totalTokens": 3})
hear("never")
"""
    done = call("exec", "--format", "json", "hello", "--", *agent(script))
    assert done.code == exit_codes.DONE
    assert done.out.isascii()
    assert done.out.replace("\n", "").isprintable()
    assert json_lines(done.out) == [
        {"v": 1, "session": {"sessionId": "s1", "protocolVersion": 1, "mode": None}},
        {
            "v": 1,
            "update": {
                "sessionUpdate": "plan",
                "entries": [],
                "_meta": {"mine": [1.5, "\x9b\x7f\ud800"]},
            },
        },
        {"v": 1, "update": {"sessionUpdate": "of next year", "some": "thing"}},
        {
            "v": 1,
            "stopReason": "end_turn",
            "sessionId": "s1",
            "usage": {"totalTokens": 3},
            "refusals": 0,
            "unasked": {},
            "late": 0,
            "history": 0,
        },
    ]


def test_content_that_is_no_text_is_named(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
update("agent_message_chunk", content={"type": "image", "data": "", "mimeType": "image/png"})
end(prompt)
"""
    assert call("exec", "draw", "--", *agent(script)).out == "[image]\n"


def test_an_early_end_is_told(agent: Agent, call: Call) -> None:
    done = call("exec", "hello", "--", *agent('end(hear_prompt(), "max_tokens")'))
    assert (done.code, done.out) == (exit_codes.DONE, "")
    assert done.err == "warning: the turn ended early: max_tokens\n"


def test_the_agents_stderr_is_shown_where_it_is_asked_for(agent: Agent, call: Call) -> None:
    command = agent('sys.stderr.write("warming up\\x1b\\n"); sys.stderr.flush()\n' + FRIENDLY)
    assert call("exec", "hello", "--", *command).err == ""
    done = call("exec", "--stderr", "hello", "--", *command)
    assert (done.out, done.err) == ("You said *hello*.\n", "warming up␛\n")


def test_the_prompt_may_come_from_stdin(
    agent: Agent, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("from a\npipe"))
    done = call("exec", "-", "--", *agent(FRIENDLY))
    assert done.out == "You said *from a\npipe*.\n"


def test_the_session_is_opened_where_cwd_says(agent: Agent, call: Call, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    script = """
greet()
opened = hear("session/new")
tell(id=opened["id"], result={"sessionId": "s1"})
prompt = hear("session/prompt")
say(opened["params"]["cwd"] + " " + os.getcwd())
end(prompt)
"""
    done = call("exec", "--cwd", str(place), "where", "--", *agent(script))
    assert done.out == f"{place.resolve()} {place.resolve()}\n"


def test_the_embedded_agent_answers_where_none_is_named(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    named = call("exec", "--cwd", str(tmp_path), "demo", "search needle")
    unnamed = call("exec", "--cwd", str(tmp_path), "search needle")
    assert named.code == unnamed.code == exit_codes.DONE
    assert "a.txt" in named.out
    assert named.out == unnamed.out


# What an agent may do


def test_what_is_refused_is_told_with_the_way_to_allow_it(agent: Agent, call: Call) -> None:
    done = call("exec", "go", "--", *agent(CAREFUL))
    assert (done.code, done.out) == (exit_codes.DONE, "no\n")
    assert done.err.splitlines()[1] == ("refused: Run make (execute); --allow all allows it")


@pytest.mark.parametrize(
    ("allow", "reads", "writes"),
    [("none", False, False), ("reads", True, False), ("edits", True, True), ("all", True, True)],
)
def test_the_policy_holds_for_our_own_file_service_too(
    agent: Agent, call: Call, tmp_path: Path, allow: str, reads: bool, writes: bool
) -> None:
    script = """
hello = hear("initialize")
files = hello["params"]["clientCapabilities"]["fs"]
tell(id=hello["id"], result={"protocolVersion": 1})
opened = hear("session/new")
tell(id=opened["id"], result={"sessionId": "s1"})
prompt = hear("session/prompt")
path = opened["params"]["cwd"] + "/made.txt"
wrote = "result" in ask("fs/write_text_file", path=path, content="x")
read = "result" in ask("fs/read_text_file", path=__file__)
say(json.dumps([files["readTextFile"], read, files["writeTextFile"], wrote]))
end(prompt)
"""
    command = agent(script)
    done = call("exec", "--allow", allow, "--cwd", str(tmp_path), "go", "--", *command)
    assert json.loads(done.out) == [reads, reads, writes, writes]
    assert (tmp_path / "made.txt").exists() is writes


# Hostile text


def test_nothing_from_the_wire_reaches_the_terminal_as_it_came(agent: Agent, call: Call) -> None:
    script = r"""
prompt = hear_prompt()
say("\x1b]0;title\x07\u202e\x9b31m\ud800 text\n")
update("tool_call", toolCallId="t", title="ls\nerror: all is well\x1b[2J", kind="execute")
ask_consent(toolCallId="t", title="read\nnote: nothing was refused", kind="execute\n")
sys.stderr.write("\x1b[31mlast\x9b words\n")
error = {"code": -1, "message": "bad\x1b\nerror: fine"}
tell(id=prompt["id"], error=error)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert done.code == exit_codes.PEER
    shown = (done.out + done.err).replace("\n", "")
    assert shown.isprintable()
    labels = ("error", "hint", "note", "refused", "warning")
    found = [line for line in done.err.splitlines() if line.startswith(labels)]
    assert [line.split(":")[0] for line in found] == ["refused", "error"]


def test_a_terminal_without_the_characters_gets_their_numbers(agent: Agent) -> None:
    """In a process of its own, because the encoding is settled at its start."""
    command = [sys.executable, "-m", "acp_console", "exec", "hi", "--", *agent(FRIENDLY)]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*command[:4], "‹é›", *command[5:]], env=env, capture_output=True, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, b"You said *\\u2039\\xe9\\u203a*.\n")


# Recording


def test_a_turn_is_recorded_private_and_whole(agent: Agent, call: Call, tmp_path: Path) -> None:
    path = tmp_path / "new" / "recordings" / "it.acp.ndjson"
    assert (
        call("exec", "--record", str(path), "hello", "--", *agent(FRIENDLY)).code == exit_codes.DONE
    )
    recording = read_recording(path)
    assert recording.bad_lines == ()
    assert recording.footer is not None
    assert [frame.side for frame in recording.frames].count("agent") == 6
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_agent_that_cannot_be_started_leaves_no_recording(call: Call, tmp_path: Path) -> None:
    """The name is free for the next try, with its command spelled right."""
    done = call("exec", "--record", str(tmp_path / "a.acp.ndjson"), "hi", "--", "no-such-agent")
    assert done.code == exit_codes.AGENT
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_is_there_is_not_touched(agent: Agent, call: Call, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    path.write_text("mine")
    done = call("exec", "--record", str(path), "hello", "--", *agent(FRIENDLY))
    assert (done.code, path.read_text()) == (exit_codes.USAGE, "mine")
    assert "exists already" in done.err


def test_what_happened_before_the_agent_died_is_in_the_recording(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    command = agent('hear_prompt(); say("half a"); sys.stderr.write("oh\\n"); os.abort()')
    done = call("exec", "--record", str(path), "hello", "--", *command)
    assert (done.code, done.out) == (exit_codes.AGENT, "half a\n")
    assert "SIGABRT" in done.err
    assert "  | oh\n" in done.err
    recording = read_recording(path)
    assert b"half a" in recording.frames[-1].data
    assert recording.footer is not None


# Bad agents


def test_a_command_that_does_not_exist(call: Call) -> None:
    done = call("exec", "hello", "--", "/no/such/agent")
    assert (done.code, done.out) == (exit_codes.AGENT, "")
    assert done.err == (
        "error: cannot start /no/such/agent: there is no such command\nhint: check its path\n"
    )


def test_a_program_that_is_no_agent(call: Call) -> None:
    done = call("exec", "hello", "--", "cat")
    assert (done.code, done.out) == (exit_codes.PEER, "")
    assert done.err == (
        "error: the program does not speak ACP: it does not know initialize\n"
        "hint: is it an ACP agent? Many need an argument such as --acp\n"
    )


def test_a_file_that_may_not_be_executed(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "agent"
    path.write_text("")
    done = call("exec", "hello", "--", str(path))
    assert done.code == exit_codes.AGENT
    assert "it may not be executed" in done.err


def test_an_agent_that_exits_at_once(agent: Agent, call: Call) -> None:
    script = "sys.stderr.write('one\\n\\ntwo: no \\x1b[1mkey\\n'); sys.exit(7)"
    done = call("exec", "hello", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.AGENT, "")
    assert done.err.splitlines() == [
        "error: the agent exited with code 7; the end of its stderr:",
        "  | one",
        "  | two: no ␛[1mkey",
        f"hint: {DIALECT_HINT}",
    ]


@pytest.mark.parametrize(
    "script",
    [
        "sys.exit(2)",
        """
asked = hear("initialize")
reason = "The agent did not answer initialize: the agent exited with code 2"
tell(id=asked["id"], error={"code": -32603, "message": reason})
hear("never")
""",
    ],
)
def test_an_agent_that_was_called_wrongly_speaks_no_dialect(
    agent: Agent, call: Call, script: str
) -> None:
    """Also one behind a bridge, which says so."""
    done = call("exec", "hello", "--", *agent(script))
    assert "exited with code 2" in done.err
    assert DIALECT_HINT not in done.err


def test_an_agent_that_exits_at_once_without_a_word(agent: Agent, call: Call) -> None:
    done = call("exec", "hello", "--", *agent("sys.exit(0)"))
    assert (done.code, done.err) == (
        exit_codes.AGENT,
        f"error: the agent exited with code 0\nhint: {DIALECT_HINT}\n",
    )


def test_an_agent_that_prints_garbage_and_leaves(agent: Agent, call: Call) -> None:
    done = call("exec", "hello", "--", *agent("print('usage: \\x1b[1magent [file]')"))
    assert done.code == exit_codes.AGENT
    assert done.err == (
        "error: the agent exited with code 0; "
        "it wrote invalid output to stdout: usage: ␛[1magent [file]\n"
        "hint: is it an ACP agent? Many need an argument such as --acp\n"
    )


def test_a_user_learns_that_an_agent_takes_long_to_start(
    agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = TurnOptions(start_limit=1.0, start_notice=0.0)
    with pytest.raises(OperationTimeoutError):
        anyio.run(run_turn, command_agent(agent("hear('never')")), tmp_path, "go", options)
    assert capsys.readouterr().err == "note: waiting for the agent's response to initialize\n"


def test_an_agent_that_prints_garbage_and_stays(agent: Agent, call: Call) -> None:
    command = agent("print('Ready.', flush=True); hear('never')")
    done = call("exec", "--start-timeout", "500ms", "hello", "--", *command)
    assert done.code == exit_codes.TIME_LIMIT
    assert done.err == (
        "error: the response to initialize took longer than 0.5 s; "
        "it wrote invalid output to stdout: Ready.\n"
        "hint: is it an ACP agent? Many need an argument such as --acp\n"
    )


def test_a_command_that_leaves_while_another_process_holds_its_output(
    agent: Agent, call: Call
) -> None:
    script = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    command = agent(f"import subprocess; {script}")
    done = call("exec", "--start-timeout", "1s", "hello", "--", *command)
    assert done.code == exit_codes.TIME_LIMIT
    assert done.err == (
        "error: the response to initialize took longer than 1 s\n"
        "hint: the command has exited with code 0; "
        "something that it started holds its output open\n"
    )


def test_a_program_that_only_repeats_what_it_reads_is_no_agent(call: Call) -> None:
    done = call("exec", "hello", "--", "cat")
    assert done.code == exit_codes.PEER
    assert done.err.endswith("hint: is it an ACP agent? Many need an argument such as --acp\n")


def test_garbage_is_quoted_also_if_sending_failed_first(agent: Agent, call: Call) -> None:
    script = """
greet()
opened = hear("session/new")
os.close(0)
tell(id=opened["id"], result={"sessionId": "s1"})
for _ in range(1000):
    say("x")
print("hello")
"""
    done = call("exec", "hello", "--", *agent(script))
    assert done.code == exit_codes.AGENT
    assert "it wrote invalid output to stdout: hello" in done.err


def test_garbage_between_the_messages_does_no_harm(agent: Agent, call: Call) -> None:
    script = """
print("Welcome!", flush=True)
sys.stdout.buffer.write(b"\\xff\\xfe\\n{\\n\\n[]\\n"); sys.stdout.flush()
prompt = hear_prompt()
print('{"jsonrpc": "2.0", "id": 77, "result": null}')
say("fine")
end(prompt)
"""
    done = call("exec", "hello", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "fine\n")
    stray = "ignored 3 lines of the agent's stdout: not a message of ACP; the first: Welcome!"
    assert done.err == f"warning: {stray}\n"


def test_a_log_line_with_the_open_id_does_not_end_the_request(agent: Agent, call: Call) -> None:
    script = """
first = hear("initialize")
print(json.dumps({"id": first["id"], "level": "info", "result": "cache warmed"}), flush=True)
tell(id=first["id"], result={"protocolVersion": 1})
open_session()
prompt = hear("session/prompt")
print(json.dumps({"id": prompt["id"], "level": "error", "error": "retrying"}), flush=True)
say("fine")
end(prompt)
"""
    done = call("exec", "hello", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "fine\n")
    assert "ignored 2 lines of the agent's stdout" in done.err
    assert '"result": "cache warmed"}' in done.err


def test_a_line_that_ends_in_a_whole_message_says_so(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
print("loading ... ", end="")
say("lost")
say("fine")
end(prompt)
"""
    done = call("exec", "hello", "--", *agent(script))
    assert done.out == "fine\n"
    assert done.err.startswith("warning: ignored 1 line of the agent's stdout")
    assert done.err.endswith(" (ends in a whole message)\n")


def test_an_agent_that_never_answers(agent: Agent, call: Call) -> None:
    command = agent("hear_prompt(); say('well'); sys.stderr.write('hm\\n'); hear('never')")
    done = call("exec", "--timeout", "1", "hello", "--", *command)
    assert (done.code, done.out) == (exit_codes.TIME_LIMIT, "well\n")
    assert done.err.splitlines() == [
        "error: the turn took longer than 1 s; the end of its stderr:",
        "  | hm",
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600), ("500ms", 0.5), ("1.5 D", 129600)],
)
def test_a_duration_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_a_limit_takes_a_unit(agent: Agent, call: Call) -> None:
    done = call("exec", "--timeout", "300ms", "hello", "--", *agent("hear('never')"))
    assert done.code == exit_codes.TIME_LIMIT
    assert "took longer than 0.3 s" in done.err


def test_an_agent_of_another_protocol_version(agent: Agent, call: Call) -> None:
    done = call("exec", "hello", "--", *agent("greet(2); hear('never')"))
    assert done.code == exit_codes.PEER
    assert done.err == (
        "error: the agent speaks protocol version 2; this client speaks version 1; "
        "--protocol 2 asks for version 2\n"
    )


def test_an_agent_that_wants_a_sign_in(agent: Agent, call: Call) -> None:
    script = """
greet(authMethods=[{"id": "web", "name": "With a browser", "description": "Opens a page"},
                   {"id": "key"}])
tell(id=hear("session/new")["id"], error={"code": -32000, "message": "Authentication required"})
hear("never")
"""
    done = call("exec", "hello", "--", *agent(script))
    assert done.code == exit_codes.PEER
    assert "(Authentication required)\nhint: acp-console agents login does it" in done.err
    assert done.err.endswith("The agent offers: web (With a browser; Opens a page), key\n")


def test_an_agent_that_answers_with_an_error(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
tell(id=prompt["id"], error={"code": -32603, "message": "Internal error"})
hear("never")
"""
    done = call("exec", "hello", "--", *agent(script))
    assert done.code == exit_codes.PEER
    assert done.err == "error: the agent refused: Internal error (-32603)\n"


# Wrong calls


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "missing PROMPT\nhint: e.g."),
        (["  "], "the prompt is empty"),
        (["nobody", "hello"], "unknown agent 'nobody'\nhint: ready are demo"),
        (["a", "b", "c"], "put the prompt into quotes"),
        (["read", "README.md"], "If 'read' begins the prompt, put the prompt into quotes"),
        (["hello", "--"], "missing the agent's command after --"),
        (["demo", "hello", "--", "cat"], "not both"),
        (["--timeout", "0", "hello"], "'0' is not a duration above 0"),
        (["--timeout", "abc", "hello"], "'abc' is not a duration above 0"),
        (["--allow", "everything", "hello"], "--allow"),
        (["--format", "xml", "hello"], "--format"),
        (["--cwd", "/no/such/place", "hello"], "--cwd"),
        (["--record", "/dev/null/it", "hello"], "cannot record to /dev/null/it"),
        (["\udcff", "hello"], "unknown agent"),
        (["\udcff"], "the prompt is not valid UTF-8"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(call: Call, words: list[str], sentence: str) -> None:
    done = call("exec", *words)
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert sentence in done.err


# The process


def test_a_reader_that_has_enough_ends_the_turn_without_a_word(agent: Agent) -> None:
    """`exec … | head -1`."""
    script = """
prompt = hear_prompt()
for number in range(100_000):
    say(f"line {number}\\n")
end(prompt)
"""
    command = [*WARM, "-m", "acp_console", "exec", "count", "--", *agent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"line 0\n"
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(30) == exit_codes.DONE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("format_", ["text", "quiet"])
def test_a_full_disk_ends_the_turn_with_an_error(agent: Agent, format_: str) -> None:
    words = [sys.executable, "-m", "acp_console", "exec", "--format", format_, "hi", "--"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*words, *agent(FRIENDLY)], stdout=full, stderr=subprocess.PIPE, timeout=30
        )
    assert done.returncode == exit_codes.USAGE
    assert done.stderr.startswith(
        b"error: writing to stdout failed: No space left on device\nhint:"
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, exit_codes.INTERRUPTED), (signal.SIGTERM, 143)]
)
def test_a_signal_ends_the_turn_and_the_agent(agent: Agent, number: int, code: int) -> None:
    command = agent('hear_prompt(); say(f"{os.getpid()}\\n"); hear("never")')
    words = [*WARM, "-m", "acp_console", "exec", "wait", "--", *command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        agents_pid = int(child.stdout.readline())
        child.send_signal(number)
        assert child.wait(30) == code
        assert child.stderr.read().strip() == b""
    with pytest.raises(ProcessLookupError):
        os.kill(agents_pid, 0)


RUNNER = """
hello = hear("initialize")
assert hello["params"]["clientCapabilities"]["terminal"] is %s
tell(id=hello["id"], result={"protocolVersion": 1})
open_session()
prompt = hear("session/prompt")
made = ask("terminal/create", command="printf", args=["from a terminal"])
if "error" in made:
    say(made["error"]["message"])
else:
    terminal = made["result"]["terminalId"]
    ask("terminal/wait_for_exit", terminalId=terminal)
    say(ask("terminal/output", terminalId=terminal)["result"]["output"])
    ask("terminal/release", terminalId=terminal)
end(prompt)
hear("never")
"""


@pytest.mark.parametrize(
    ("allow", "offered", "said"),
    [("all", "True", "from a terminal\n"), ("edits", "False", "Method not found\n")],
)
def test_an_agent_may_run_commands_where_all_is_allowed(
    agent: Agent, call: Call, allow: str, offered: str, said: str
) -> None:
    outcome = call("exec", "--allow", allow, "go", "--", *agent(RUNNER % offered))
    assert (outcome.code, outcome.out) == (exit_codes.DONE, said)


def test_version_2_names_its_options_by_other_keys_and_has_them_set(call: Call) -> None:
    done = call("exec", "--protocol", "2", "--format", "json", "help")
    assert json.loads(done.out.splitlines()[0])["session"]["mode"] == "architect"
    words = ("--allow", "edits", "--mode", "code", "--set", "thinking=hide")
    assert call("exec", "--protocol", "2", *words, "help").code == exit_codes.DONE


FAILS = """
greet(2, info={"name": "a", "version": "1"}, capabilities={})
open_session()
prompt = hear("session/prompt")
tell(id=prompt["id"], result={"messageId": "m1"})
update("user_message", messageId="m1", content=[])
update("state_update", state="running")
update("tool_call_update", toolCallId="c1", title="Run it", kind="execute")
reason = {"type": "text", "text": "no such file"}
update("tool_call_content_chunk", toolCallId="c1",
       content={"type": "content", "content": reason})
update("tool_call_update", toolCallId="c1", kind=None, status="failed")
update("tool_call_update", toolCallId="c2", title="Wait for it", status="cancelled")
update("state_update", state="idle", stopReason="end_turn")
hear("never")
"""


def test_the_reason_of_a_failure_in_version_2_comes_in_chunks(agent: Agent, call: Call) -> None:
    done = call("exec", "--protocol", "2", "go", "--", *agent(FAILS))
    assert "* Run it\n  ✗ failed: no such file\n" in done.err
    assert "* Wait for it\n" in done.err


def test_null_takes_a_kind_away_in_version_2(agent: Agent, call: Call) -> None:
    """What has no kind any more is no command that nobody asked about."""
    script = FAILS.replace('status="failed"', 'status="completed"')
    done = call("exec", "--protocol", "2", "--format", "json", "go", "--", *agent(script))
    assert json_lines(done.out)[-1]["unasked"] == {}


KEEPS = """
image = os.environ.get("IMAGE") == "1"
greet(agentCapabilities={"loadSession": True, "sessionCapabilities": {"list": {}},
      "promptCapabilities": {"image": image, "embeddedContext": True}})
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params", {})
    match message.get("method"):
        case "session/list":
            kept = [{"sessionId": id_, "cwd": params["cwd"], "updatedAt": f"2026-0{n}-01T00:00:00Z"}
                    for n, id_ in ((1, "older"), (2, "newer"))]
            tell(id=message["id"], result={"sessions": kept})
        case "session/load" | "session/new":
            id_ = params.get("sessionId", "new")
            old = {"type": "text", "text": "said before"}
            if id_ != "new":
                tell(method="session/update", params={"sessionId": id_, "update": {
                    "sessionUpdate": "agent_message_chunk", "content": old}})
            tell(id=message["id"], result={"sessionId": id_})
        case "session/prompt":
            kinds = " ".join(block["type"] for block in params["prompt"])
            tell(method="session/update", params={"sessionId": params["sessionId"], "update": {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": params["sessionId"] + ": " + kinds}}})
            tell(id=message["id"], result={"stopReason": "end_turn"})
"""


@pytest.mark.parametrize(
    ("options", "reply"),
    [([], "new"), (["--session", "older"], "older"), (["--continue"], "newer")],
)
def test_a_session_of_the_agent_is_continued(
    agent: Agent, call: Call, options: list[str], reply: str
) -> None:
    done = call("exec", *options, "hello", "--", *agent(KEEPS))
    assert (done.code, done.out) == (exit_codes.DONE, f"{reply}: text\n")


def test_a_session_that_cannot_be_continued_is_an_error(agent: Agent, call: Call) -> None:
    for options in (["--session", "s"], ["--continue"]):
        done = call("exec", *options, "hello", "--", *agent(FRIENDLY))
        assert done.code != exit_codes.DONE
        assert "session" in done.err


def test_files_and_images_go_with_the_prompt(
    agent: Agent, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "it.png").write_bytes(b"\x89PNG\0")
    files = ["--file", str(tmp_path / "notes.txt"), "--image", str(tmp_path / "it.png")]
    refused = call("exec", *files, "look", "--", *agent(KEEPS))
    assert "takes no images" in refused.err
    monkeypatch.setenv("IMAGE", "1")
    done = call("exec", *files, "look", "--", *agent(KEEPS))
    assert done.out == "new: text resource image\n"


# MCP servers

CLAIMING = """
greet(agentCapabilities={"mcpCapabilities": {"http": True}})
opened = hear("session/new")
sys.stderr.write(json.dumps(opened["params"]["mcpServers"]) + "\\n")
sys.stderr.flush()
tell(id=opened["id"], result={"sessionId": "s1"})
end(hear("session/prompt"))
"""


def test_mcp_servers_of_a_file_reach_the_session(agent: Agent, call: Call, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"files": {"command": "files"}, "web": {"url": "https://x.example"}}}'
    )
    done = call("exec", "--stderr", "--mcp", str(path), "hi", "--", *agent(CLAIMING))
    assert done.code == exit_codes.DONE
    assert json.loads(done.err.splitlines()[0]) == [
        {"name": "files", "command": "files", "args": [], "env": []},
        {"type": "http", "name": "web", "url": "https://x.example", "headers": []},
    ]


def test_an_mcp_server_that_the_agent_cannot_reach_is_refused(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text('[mcp.feed]\ntype = "sse"\nurl = "https://x.example"\n')
    done = call("exec", "--mcp", str(path), "hi", "--", *agent(CLAIMING))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert done.err == (
        "error: --mcp: MCP server feed is left out: the agent has no sse\n"
        "hint: remove it from the file, or choose another agent\n"
    )


def test_a_file_of_mcp_servers_that_is_missing_starts_no_agent(call: Call, tmp_path: Path) -> None:
    done = call("exec", "--mcp", str(tmp_path / "none"), "hi", "--", "/no/such/agent")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "none: cannot be read: No such file" in done.err


NONSENSE = """
prompt = hear_prompt()
update("tool_call", toolCallId="c1", title="Call", status=[])
update([], content={"type": "text", "text": "no"})
update("tool_call_update", toolCallId="c1", status={}, title=7, kind=[], content=1, locations="x")
say("the reply")
end(prompt)
hear("never")
"""


@pytest.mark.parametrize("format_", ["text", "quiet"])
def test_nonsense_of_an_agent_loses_nothing_of_its_reply(
    agent: Agent, call: Call, format_: str
) -> None:
    done = call("exec", "--format", format_, "hello", "--", *agent(NONSENSE))
    assert (done.code, done.out.rstrip("\n")) == (exit_codes.DONE, "the reply"), done.err


def test_a_bug_of_ours_loses_one_message_and_is_told(
    agent: Agent, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = TurnPrinter.show

    def fail_at_calls(printer: TurnPrinter, entry: Entry) -> None:
        if b'"tool_call"' in bytes(entry.data if isinstance(entry, Frame) else b""):
            raise KeyError("a bug")
        show(printer, entry)

    monkeypatch.setattr(TurnPrinter, "show", fail_at_calls)
    script = """
prompt = hear_prompt()
update("tool_call", toolCallId="c1", title="Call")
say("the reply")
end(prompt)
hear("never")
"""
    done = call("exec", "hello", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.FOUND, "the reply\n")
    assert "acp-console has a bug: 1 message could not be printed or recorded" in done.err


def test_markdown_is_drawn_as_soon_as_a_block_has_its_end() -> None:
    stream = MarkdownStream(60)
    drawn = [stream.feed(piece) for piece in ("# Ti", "tle\n", "\nIt is *so", "*.\n", "\n- one\n")]
    plain = [re.sub(r"\x1b\[[\d;]*m", "", each) for each in drawn]
    assert plain == ["", "", "Title\n", "", "\nIt is so.\n"]
    assert re.sub(r"\x1b\[[\d;]*m", "", stream.finish()) == "\n • one\n"


@given(
    lists(
        sampled_from(
            ["word ", "\n", "\n\n", "- ", "`", "```", "<!-- x -->", "[a](b 'c')", "|", "|-|\n"]
        )
    )
)
def test_markdown_hides_no_word_however_it_is_cut(pieces: list[str]) -> None:
    stream = MarkdownStream(1000)
    drawn = "".join([*map(stream.feed, pieces), stream.finish()])
    sent = "".join(pieces)
    for word in ("word", "<!--", "(b"):
        assert drawn.count(word) == sent.count(word)


def test_a_person_sees_markdown_drawn_and_a_pipe_gets_it_as_it_came(
    agent: Agent, call: Call
) -> None:
    words = agent('prompt = hear_prompt(); say("# Ti"); say("tle\\n\\n**x** <b>"); end(prompt)')
    shown = on_terminal("exec", "hello", "--", *words).out
    assert re.search(r"\x1b\[1mTitle\x1b\[0m\r\n\r\n\x1b\[1mx\x1b\[0m <b>\r\n", shown)
    raw = on_terminal("exec", "--raw", "hello", "--", *words).out
    assert "# Title\r\n\r\n**x** <b>\r\n" in raw
    assert call("exec", "hello", "--", *words).out == "# Title\n\n**x** <b>\n"


@pytest.mark.parametrize(("reason", "said"), [("cancelled", "◌ cancelled"), ("", "◌ cancelled"),
                                              ("disk full", "✗ failed: disk full")])  # fmt: skip
def test_a_call_that_ends_with_a_cancelled_turn_has_not_failed(
    capsys: pytest.CaptureFixture[str], reason: str, said: str
) -> None:
    def told(update: dict[str, Any]) -> dict[str, Any]:
        return {"method": "session/update", "params": {"sessionId": "s", "update": update}}

    printer = TurnPrinter("text", lambda: None)
    update = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Run make"}
    content = [{"type": "content", "content": {"type": "text", "text": reason}}]
    failed = {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"}
    script: tuple[tuple[Side, dict[str, Any]], ...] = (
        ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}),
        ("agent", told(update)),
        ("agent", told({**failed, "content": content})),
    )
    for number, (side, message) in enumerate(script):
        if number == 2:
            printer.note_cancel()
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        printer.show(Frame(number, 0.0, side, data, b"\n"))
    assert capsys.readouterr().err == f"  * Run make\n  {said}\n"


def test_a_recording_is_appended_to_or_replaced_if_that_is_said(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    command = ("--", *agent(FRIENDLY))
    record = ("exec", "--record", str(path))
    assert call(*record, "hello", *command).code == exit_codes.DONE
    frames = len(read_recording(path).entries)
    assert call(*record, "--append", "hello", *command).code == exit_codes.DONE
    assert len(read_recording(path).entries) == 2 * frames
    assert call(*record, "--overwrite", "hello", *command).code == exit_codes.DONE
    assert len(read_recording(path).entries) == frames
    both = call(*record, "--append", "--overwrite", "hello", *command)
    assert (both.code, len(read_recording(path).entries)) == (exit_codes.USAGE, frames)
    assert call("exec", "--append", "hello", *command).err.startswith("error: --append needs")
