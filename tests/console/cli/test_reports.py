"""What people report about agents, retold as small agents: a turn says what happened.

Each test is one public report of somebody who writes an agent, a client or an editor plug-in.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.lint.engine import lint
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent, Call


def findings(path: Path) -> dict[str, str]:
    """Return the messages of the findings in a recording, by rule."""
    return {each.rule.name: each.message for each in lint(read_recording(path).entries).findings}


# Lines on stdout that are no messages


def test_logs_in_json_are_no_responses(agent: Agent, call: Call) -> None:
    """A logger writes numbers, arrays and objects to stdout, one of them with the open id."""
    script = """
prompt = hear_prompt()
for line in (42, ["started"], "text", None, {"id": prompt["id"], "level": "info"},
             {"id": prompt["id"], "result": "cache miss"}):
    print(json.dumps(line), flush=True)
say("hello")
end(prompt)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "hello\n")
    assert "not a message" in done.err
    assert done.err.count("\n") <= 8


def test_a_title_for_the_terminal_before_the_first_message_is_quoted(
    agent: Agent, call: Call
) -> None:
    """A launcher on another system sets the terminal's title before the agent starts."""
    script = r"""
sys.stdout.write("\x1b]0;npx my-agent\x07\x1b[2J\n")
prompt = hear_prompt()
say("hello")
end(prompt)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "hello\n")
    assert "\x1b" not in done.err
    assert "npx my-agent" in done.err


def test_text_without_an_envelope_is_no_reply(agent: Agent, call: Call, tmp_path: Path) -> None:
    """An agent streams bare content blocks instead of `session/update`."""
    script = """
prompt = hear_prompt()
print(json.dumps({"content": "hello", "type": "text"}), flush=True)
end(prompt)
hear("never")
"""
    record = tmp_path / "out.acp.ndjson"
    done = call("exec", "--record", str(record), "go", "--", *agent(script))
    assert done.out.strip() == ""
    assert '{"content": "hello", "type": "text"}' in done.err
    assert "wrong-jsonrpc-version" in findings(record)


def test_the_framing_of_language_servers_is_read(agent: Agent, call: Call) -> None:
    """An agent writes `Content-Length` before each message, and reads nothing else."""
    script = """
def tell(**message):
    text = json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(f"Content-Length: {len(text)}\\r\\n\\r\\n{text}")
    sys.stdout.flush()

class Unframed:
    def __iter__(self):
        for line in sys.__stdin__:
            if line.startswith("{"):
                yield line
            elif line.startswith("Content-Length"):
                sys.__stdin__.readline()
                yield sys.__stdin__.read(int(line.partition(":")[2]))

sys.stdin = Unframed()
prompt = hear_prompt()
say("hello")
end(prompt)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "hello\n")


# Sessions


def test_a_session_without_an_id_is_an_error_that_says_so(agent: Agent, call: Call) -> None:
    """An agent whose SDK changed its calling convention answers `session/new` with null."""
    script = """
greet()
tell(id=hear("session/new")["id"], result=None)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert done.code == exit_codes.PEER
    assert "session/new" in done.err
    assert "sessionId" in done.err or "null" in done.err


def test_updates_before_the_session_is_known_are_kept_and_reported(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    """Commands come before the response to `session/new`, so that editors drop them."""
    script = """
greet()
opened = hear("session/new")
update("available_commands_update", availableCommands=[{"name": "plan", "description": "Plan"}])
tell(id=opened["id"], result={"sessionId": "s1"})
prompt = hear("session/prompt")
say("hello")
end(prompt)
hear("never")
"""
    record = tmp_path / "out.acp.ndjson"
    done = call("exec", "--record", str(record), "--json", "go", "--", *agent(script))
    updates = [json.loads(line).get("update", {}) for line in done.out.splitlines()]
    assert "available_commands_update" in [each.get("sessionUpdate") for each in updates]
    assert "update-before-session" in findings(record)


def test_history_of_a_resumed_session_is_no_reply(agent: Agent, call: Call, tmp_path: Path) -> None:
    """An agent replays the conversation at `session/resume`, which must not."""
    script = """
greet(agentCapabilities={"sessionCapabilities": {"resume": {}}})
resumed = hear("session/resume")
update("user_message_chunk", content={"type": "text", "text": "earlier"})
say("OLD")
tell(id=resumed["id"], result={})
prompt = hear("session/prompt")
say("NEW")
end(prompt)
hear("never")
"""
    record = tmp_path / "out.acp.ndjson"
    done = call("exec", "--session", "s1", "--record", str(record), "go", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "NEW\n")
    assert "resume" in " ".join(findings(record).values())


# Turns


def test_a_turn_that_was_never_cancelled_ends_as_cancelled(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    """An agent releases its context before it looks whether it was cancelled."""
    script = """
prompt = hear_prompt()
say("hello")
end(prompt, "cancelled")
hear("never")
"""
    record = tmp_path / "out.acp.ndjson"
    done = call("exec", "--record", str(record), "go", "--", *agent(script))
    assert done.out == "hello\n"
    assert "cancelled" in done.err
    assert any("cancel" in message for message in findings(record).values())


def test_the_end_of_a_reply_after_the_end_of_its_turn_is_printed(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    """The response overtakes the last chunks; clients cut the reply in a word."""
    script = """
prompt = hear_prompt()
update("agent_message_chunk", messageId="m1", content={"type": "text", "text": "see htt"})
end(prompt)
update("agent_message_chunk", messageId="m1", content={"type": "text", "text": "ps://"})
update("agent_message_chunk", messageId="m1", content={"type": "text", "text": "example"})
hear("never")
"""
    record = tmp_path / "out.acp.ndjson"
    done = call("exec", "--record", str(record), "go", "--", *agent(script))
    assert done.out == "see https://example\n"
    assert "2 updates came after the end of the turn" in done.err
    assert len(read_recording(record).frames) == 9


def test_calls_that_never_end_are_reported(agent: Agent, call: Call, tmp_path: Path) -> None:
    """The last tools of a turn, and those that were rejected, stay in progress for ever."""
    script = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Read a", kind="read", status="in_progress")
say("hello")
end(prompt)
hear("never")
"""
    record = tmp_path / "out.acp.ndjson"
    done = call("exec", "--record", str(record), "go", "--", *agent(script))
    assert done.out == "hello\n"
    assert "unfinished-tool-call" in findings(record)


# Permissions


OPTIONS = """
def consent(options, **tool_call):
    answer = ask("session/request_permission", toolCall=tool_call, options=[
        {"optionId": id, "name": id, "kind": kind} for id, kind in options])
    return json.dumps(answer["result"]["outcome"].get("optionId", "cancelled"))
"""


def test_options_are_chosen_by_their_kind_not_by_their_id(agent: Agent, call: Call) -> None:
    """An agent calls its options `approved` and `abort`."""
    script = (
        OPTIONS
        + """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="make", kind="execute")
say(consent([("approved", "allow_once"), ("abort", "reject_once")], toolCallId="t"))
end(prompt)
hear("never")
"""
    )
    done = call("exec", "--allow", "all", "go", "--", *agent(script))
    assert done.out == '"approved"\n'
    done = call("exec", "--allow", "none", "go", "--", *agent(script))
    assert done.out == '"abort"\n'


def test_a_choice_between_several_allows_is_not_consent(agent: Agent, call: Call) -> None:
    """An agent asks what to do by a permission whose options all allow."""
    script = (
        OPTIONS
        + """
prompt = hear_prompt()
options = [("postgres", "allow_once"), ("sqlite", "allow_once"), ("no", "reject_once")]
say(consent(options, toolCallId="t", title="Which database?", kind="other"))
end(prompt)
hear("never")
"""
    )
    done = call("exec", "--allow", "all", "go", "--", *agent(script))
    assert done.out == '"no"\n'


def test_an_address_to_open_is_no_read(agent: Agent, call: Call) -> None:
    """An agent asks for a login of an MCP server by a permission of the kind `fetch`."""
    script = (
        OPTIONS
        + """
prompt = hear_prompt()
say(consent([("accept", "allow_once"), ("no", "reject_once")], toolCallId="elicitation-1",
    kind="fetch", rawInput={"serverName": "git", "url": "https://login.example"}))
say(consent([("yes", "allow_once"), ("no", "reject_once")], toolCallId="x", kind="switch_mode",
    title="Ready to code?"))
end(prompt)
hear("never")
"""
    )
    done = call("exec", "--allow", "reads", "go", "--", *agent(script))
    assert done.out == '"no"\n"no"\n'


def test_a_call_that_is_announced_only_by_its_permission_is_shown(agent: Agent, call: Call) -> None:
    """An agent sends `tool_call` only for tools that ask nobody."""
    script = (
        OPTIONS
        + """
prompt = hear_prompt()
consent([("yes", "allow_once"), ("no", "reject_once")], toolCallId="t", kind="execute",
        title="make test")
update("tool_call_update", toolCallId="t", status="completed")
end(prompt)
hear("never")
"""
    )
    done = call("exec", "--allow", "all", "go", "--", *agent(script))
    assert "make test" in done.err


# Cancelling


def test_an_error_for_a_notification_ends_nothing(agent: Agent, call: Call, tmp_path: Path) -> None:
    """An agent answers `session/cancel` with an error and goes on; the turn still ends."""
    script = """
prompt = hear_prompt()
say("one ")
hear("session/cancel")
tell(id=None, error={"code": -32601, "message": "unsupported: session/cancel"})
say("two")
end(prompt, "end_turn")
hear("never")
"""
    record = tmp_path / "out.acp.ndjson"
    done = call("exec", "--timeout", "1", "--record", str(record), "go", "--", *agent(script))
    assert done.code == exit_codes.TIME_LIMIT
    assert done.out == "one two\n"
    assert any("cancel" in message for message in findings(record).values())


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        (b"{\n", "the first: { (a message has to be on one line)"),
        (b"D\xe9marrage\n", "the first: D\ufffdmarrage (not UTF-8)"),
        (b'Hi ada{"jsonrpc": "2.0", "method": "_x"}\n', "(ends in a whole message)"),
        (b"\x1b[?25hstarting\n", "the first: \u241b[?25hstarting\n"),
    ],
)
def test_a_stray_line_is_quoted_with_what_is_known_of_it(
    line: bytes, quoted: str, agent: Agent, call: Call
) -> None:
    """A message is laid out, a log is in another encoding, a greeting has no newline."""
    script = f"""
prompt = hear_prompt()
sys.stdout.buffer.write({line!r})
say("hello")
end(prompt)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "hello\n")
    assert quoted in done.err


# What a turn says, in every order


def says(text: str, **more: object) -> str:
    """Return the step of an agent that says a text."""
    members = "".join(f", {name}={value!r}" for name, value in more.items())
    return f"update('agent_message_chunk', content={{'type': 'text', 'text': {text!r}}}{members})\n"


OLD_PROMPT = "update('user_message_chunk', content={'type': 'text', 'text': 'old'})\n"
READ = "update('tool_call', toolCallId='t', title='Read a', kind='read', status='completed')\n"
OTHER = """tell(method="session/update", params={"sessionId": "s2", "update": {
    "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "other"}}})
"""
LOADED = """
greet(agentCapabilities={{"loadSession": True}})
loaded = hear("session/load")
{history}
tell(id=loaded["id"], result={result})
{late}
prompt = hear("session/prompt")
"""
NEW = "prompt = hear_prompt()\n"
END = "end(prompt)\n"


def loads(history: str = "", result: str = "{}", late: str = "") -> str:
    return LOADED.format(history=history, result=result, late=late)


TURNS = {
    "messages have ids": (
        NEW + says("One.", messageId="m1") + says("Two.", messageId="m2") + END,
        "One.\nTwo.\n",
        "",
    ),
    "a call stands between two messages without ids": (
        NEW + says("One.") + READ + says("Two.") + END,
        "One.\nTwo.\n",
        "Read a",
    ),
    "the prompt is repeated": (NEW + OLD_PROMPT.replace("old", "go") + says("A") + END, "A\n", ""),
    "a quota is told in _meta alone": (
        NEW + "end(prompt, _meta={'acme/error': 'quota exceeded'})\n",
        "",
        'the turn ended without any output; its _meta: {"acme/error": "quota exceeded"}',
    ),
    "a refusal says why in _meta": (
        NEW + "end(prompt, 'refusal', _meta={'acme/error': 'quota exceeded'})\n",
        "",
        'the turn ended early: refusal; its _meta: {"acme/error": "quota exceeded"}',
    ),
    "a failed turn has its cause in the data": (
        NEW + "tell(id=prompt['id'], error={'code': -32603, 'message': 'Internal error',"
        " 'data': {'details': 'quota exceeded'}})\n",
        "",
        "Internal error (-32603): quota exceeded",
    ),
    "only thoughts": (
        NEW + says("hm").replace("message", "thought") + END,
        "",
        "the turn ended without any output",
    ),
    "the end comes twice": (NEW + says("A") + END + END, "A\n", ""),
    "an empty piece marks the end": (NEW + says("A") + says("", _meta={}) + END, "A\n", ""),
    "the agent crashes in its reply": (
        NEW + says("half") + "sys.exit(3)\n",
        "half\n",
        "the agent exited with code 3",
    ),
    "text of another session": (
        NEW + OTHER + says("A") + END,
        "A\n",
        "did not print the text of 1 update for another session: s2",
    ),
    "a load is answered by null": (loads(result="None") + says("A") + END, "A\n", ""),
    "the history has calls": (
        loads(OLD_PROMPT + says("OLD") + READ + says("OLD")) + says("A") + END,
        "A\n",
        "",
    ),
    "the history comes late": (
        loads(late=OLD_PROMPT + says("OLD")) + says("A") + END,
        "A\n",
        "2 updates of the history came after the response to session/load",
    ),
    "the end of the history comes late": (
        loads(OLD_PROMPT, late=says("OLD")) + says("A") + END,
        "A\n",
        "1 update of the history came after the response to session/load",
    ),
}


@pytest.mark.parametrize("report", TURNS)
def test_a_turn_prints_its_reply_and_says_what_was_odd(
    report: str, agent: Agent, call: Call
) -> None:
    script, reply, remark = TURNS[report]
    session = ["--session", "s1"] if "session/load" in script else []
    done = call("exec", *session, "go", "--", *agent(script + "hear('never')\n"))
    assert done.out == reply
    assert remark in done.err
    if not remark:
        assert "warning" not in done.err
