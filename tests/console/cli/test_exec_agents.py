"""`acp-console exec` with agents that act unasked, offer choices, or fail in their own ways."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent, Call
from tests.warm import WARM

HOLDS = "holds only for what it asks; choose another --mode if it has one"
MODES = """
greet()
modes = [{"id": each, "name": each.title()} for each in ("auto", "read-only", "plan")]
thought = {"id": "thinking", "name": "Thinking", "type": "boolean", "currentValue": False}
model = {"id": "llm", "name": "Model", "category": "model", "type": "select", "currentValue": "a",
         "options": [{"group": "g", "name": "G", "options": [{"value": "a", "name": "A"},
                                                             {"value": "b", "name": "Big"}]}]}
tell(id=hear("session/new")["id"],
     result={"sessionId": "s1", "modes": {"currentModeId": "auto", "availableModes": modes},
             "configOptions": [thought, model]})
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt":
        break
    del message["params"]["sessionId"]
    sys.stderr.write("set: " + json.dumps(message["params"]) + "\\n")
    sys.stderr.flush()
    tell(id=message["id"], result={})
say("done")
end(message)
hear("never")
"""
ACTING = """
prompt = hear_prompt()
update("tool_call", toolCallId="a", title="", kind="execute", status="pending")
update("tool_call_update", toolCallId="a", title="bash", rawInput={"command": "rm -r x"},
       status="in_progress")
update("tool_call_update", toolCallId="a", status="completed")
update("tool_call", toolCallId="b", title="Edit file", kind="edit", status="pending",
       locations=[{"path": "/w/a.txt"}])
update("tool_call_update", toolCallId="b", status="failed",
       content=[{"type": "content", "content": {"type": "text", "text": "no such file"}}])
update("tool_call", toolCallId="c", title="Read b.txt", kind="read", status="completed")
update("tool_call", toolCallId="d", title="replace", status="in_progress")
update("tool_call_update", toolCallId="d", status="completed",
       content=[{"type": "diff", "path": "/w/c.txt", "newText": ""}])
end(prompt)
hear("never")
"""
SAID_TWICE = """
import os
prompt = hear_prompt()
for id_, path in (("a", "a.txt"), ("b", "/w/a.txt")):
    update("tool_call", toolCallId=id_, title="Look", kind="read", status="completed",
           locations=[{"path": os.path.join(os.getcwd(), "a.txt")}], rawInput={"path": path})
end(prompt)
hear("never")
"""


def settings(stderr: str) -> list[Any]:
    lines = stderr.splitlines()
    return [json.loads(line.removeprefix("set: ")) for line in lines if line.startswith("set: ")]


@pytest.mark.parametrize("allow", ["none", "reads"])
def test_with_few_rights_the_most_restrictive_mode_is_chosen_and_named(
    agent: Agent, call: Call, allow: str
) -> None:
    done = call("exec", "--allow", allow, "--stderr", "go", "--", *agent(MODES))
    assert settings(done.err) == [{"modeId": "read-only"}]
    assert "mode read-only, the most restrictive" in done.err


def test_a_mode_that_the_user_sets_as_an_option_stays(agent: Agent, call: Call) -> None:
    done = call("exec", "--set", "mode=auto", "--stderr", "go", "--", *agent(MODES))
    assert settings(done.err) == [{"modeId": "auto"}]


def test_modes_of_which_none_asks_are_told(agent: Agent, call: Call) -> None:
    careless = MODES.replace('"read-only", "plan"', '"full"')
    done = call("exec", "go", "--", *agent(careless))
    assert "none of the agent's modes (auto, full) says that it asks" in done.err


def test_a_mode_a_model_and_options_are_set_by_id_or_name(agent: Agent, call: Call) -> None:
    words = ("--mode", "Plan", "--model", "big", "--set", "thinking=true")
    done = call("exec", *words, "--stderr", "go", "--", *agent(MODES))
    assert settings(done.err) == [
        {"modeId": "plan"},
        {"configId": "llm", "value": "b"},
        {"configId": "thinking", "type": "boolean", "value": True},
    ]
    assert call("exec", "--allow", "all", "--stderr", "go", "--", *agent(MODES)).err == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--mode", "yolo"), "does not offer 'yolo' as mode; it offers: auto, read-only, plan"),
        (("--model", "x"), "does not offer 'x' as llm; it offers: a, b"),
        (("--set", "speed=1"), "has no option 'speed'; its options: mode, thinking, llm"),
        (("--set", "thinking=maybe"), "thinking is true or false, not 'maybe'"),
        (("--set", "thinking"), "'thinking' is not OPTION=VALUE"),
    ],
)
def test_what_is_not_offered_is_refused_with_what_is(
    agent: Agent, call: Call, words: tuple[str, ...], sentence: str
) -> None:
    done = call("exec", *words, "go", "--", *agent(MODES))
    assert done.code == exit_codes.USAGE
    assert sentence in done.err


EARLY = """
greet()
made = hear("session/new")
update("available_commands_update", availableCommands=[])
tell(id=made["id"], result={"sessionId": "s1", "modes": {"currentModeId": "a", "availableModes": [
     {"id": "a", "name": "A"}, {"id": "plan", "name": "Plan"}, {"id": "ask", "name": "Ask"}]}})
while (message := json.loads(sys.stdin.readline()))["method"] != "session/prompt":
    print("set:", message["params"]["modeId"], file=sys.stderr)
    tell(id=message["id"], result={})
end(message)
hear("never")
"""


def test_the_first_line_of_json_has_the_session_whatever_comes_before(
    agent: Agent, call: Call
) -> None:
    done = call("exec", "--format", "json", "go", "--", *agent(EARLY))
    first, second, *_ = map(json.loads, done.out.splitlines())
    assert first["session"]["mode"] == "plan"
    assert second["update"]["sessionUpdate"] == "available_commands_update"


@pytest.mark.parametrize("words", [("--allow-tool", "run"), ("--fail-on-refusal",)])
def test_an_agent_that_is_to_ask_gets_a_mode_in_which_it_asks(
    agent: Agent, call: Call, words: tuple[str, ...]
) -> None:
    done = call("exec", *words, "--stderr", "go", "--", *agent(EARLY))
    assert "set: ask\n" in done.err


CODEX = """
greet()
about = {"read-only": "Approval is required to edit files.", "auto": "Runs commands.",
         "full-access": "Exercise caution."}
modes = [{"id": each, "name": each.title(), "description": about[each]} for each in about]
option = {"id": "mode", "name": "Mode", "category": "mode", "type": "select",
          "currentValue": "auto", "options": [{"value": each["id"], **each} for each in modes]}
result = {"sessionId": "s1", "modes": {"currentModeId": "auto", "availableModes": modes}}
tell(id=hear("session/new")["id"], result={**result, **EXTRA})
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt":
        break
    print("set:", json.dumps([message["method"], message["params"]]), file=sys.stderr)
    tell(id=message["id"], result={})
end(message)
hear("never")
"""
STRICTER = [
    ("--fail-on-refusal",),
    ("--allow-tool", "read"),
    ("--allow", "none", "--fail-on-refusal"),
    ("--allow", "none"),
]


@pytest.mark.parametrize("words", STRICTER)
def test_an_agent_whose_modes_have_no_name_that_asks_gets_the_strictest(
    agent: Agent, call: Call, words: tuple[str, ...]
) -> None:
    done = call("exec", *words, "--stderr", "go", "--", *agent(CODEX.replace("EXTRA", "{}")))
    assert settings(done.err) == [
        ["session/set_mode", {"sessionId": "s1", "modeId": "read-only"}],
    ]


@pytest.mark.parametrize("words", [*STRICTER, ("--mode", "read-only")])
def test_a_mode_is_set_as_an_option_where_the_agent_offers_that(
    agent: Agent, call: Call, words: tuple[str, ...]
) -> None:
    script = CODEX.replace("EXTRA", '{"configOptions": [option]}')
    done = call("exec", *words, "--stderr", "go", "--", *agent(script))
    params = {"sessionId": "s1", "configId": "mode", "value": "read-only"}
    assert settings(done.err) == [["session/set_config_option", params]]


REFUSED_AND_LATE = """
prompt = hear_prompt()
update("tool_call", toolCallId="a", title="rm", kind="execute", status="in_progress")
ask_consent(toolCallId="a")
update("tool_call_update", toolCallId="a", status="completed")
update("tool_call", toolCallId="b", title="edit", kind="edit", status="completed",
       locations=[{"path": "x"}])
ask_consent(toolCallId="b")
update("tool_call", toolCallId="c", title="make", kind="execute", status="failed",
       rawOutput={"exit_code": 2})
update("tool_call", toolCallId="d", title="do", rawInput={"command": "ls"}, status="completed")
end(prompt)
hear("never")
"""


def test_effects_that_were_refused_or_asked_about_too_late_are_counted(
    agent: Agent, call: Call
) -> None:
    done = call("exec", "--format", "json", "go", "--", *agent(REFUSED_AND_LATE))
    last = json.loads(done.out.splitlines()[-1])
    assert last["unasked"] == {"execute": 3, "edit": 1}


def test_a_file_that_a_call_names_twice_is_shown_once(agent: Agent, call: Call) -> None:
    done = call("exec", "go", "--", *agent(SAID_TWICE))
    path = Path.cwd() / "a.txt"
    assert done.err.splitlines() == [f"  * Look: {path}", f"  * Look: {path} and 1 more"]


def test_calls_are_shown_by_what_they_do_and_effects_without_asking_are_counted(
    agent: Agent, call: Call
) -> None:
    done = call("exec", "go", "--", *agent(ACTING))
    assert done.err.splitlines() == [
        "  * bash: rm -r x",
        "  * Edit file: /w/a.txt",
        "  ✗ failed: no such file",
        "  * Read b.txt",
        "  * replace: /w/c.txt",
        f"warning: the agent acted without asking (edit 1, execute 1): --allow reads {HOLDS}",
    ]
    assert call("exec", "--allow", "all", "go", "--", *agent(ACTING)).err.count("\n") == 5
    done = call("exec", "--format", "json", "go", "--", *agent(ACTING))
    assert json.loads(done.out.splitlines()[-1])["unasked"] == {"execute": 1, "edit": 1}


def test_refusals_say_what_was_asked_and_may_fail_the_command(agent: Agent, call: Call) -> None:
    command = agent("""
prompt = hear_prompt()
ask_consent(toolCallId="t", title="bash", kind="execute", rawInput={"command": ["rm", "x"]})
say("refused")
end(prompt)
hear("never")
""")
    done = call("exec", "--fail-on-refusal", "go", "--", *command)
    assert done.code == exit_codes.REFUSED
    assert "refused: bash: rm x (execute); --allow all allows it\n" in done.err
    done = call("exec", "--format", "json", "go", "--", *command)
    permission, *_, last = [
        line for line in map(json.loads, done.out.splitlines()) if "update" not in line
    ][1:]
    assert permission == {
        "v": 1,
        "permission": {
            "toolCallId": "t",
            "title": "bash",
            "kind": "execute",
            "command": "rm x",
            "decision": "reject",
        },
    }
    assert (done.code, last["refusals"]) == (exit_codes.DONE, 1)


def test_an_empty_turn_is_reported(agent: Agent, call: Call) -> None:
    done = call("exec", "go", "--", *agent("end(hear_prompt())\nhear('never')"))
    assert done.err == "warning: the turn ended without any output\n"


@pytest.mark.parametrize("key", ["details", "reason", "message"])
def test_the_cause_in_the_data_of_an_error_is_shown(agent: Agent, call: Call, key: str) -> None:
    command = agent(f"""
prompt = hear_prompt()
error = {{"code": -32603, "message": "Internal error", "data": {{"{key}": "no credit left"}}}}
tell(id=prompt["id"], error=error)
hear("never")
""")
    done = call("exec", "go", "--", *command)
    assert done.err == "error: the agent refused: Internal error (-32603): no credit left\n"
    done = call("exec", "--format", "json", "go", "--", *command)
    error = {"code": -32603, "message": "Internal error", "data": {key: "no credit left"}}
    assert json.loads(done.out.splitlines()[-1]) == {"v": 1, "error": error}


LOGIN = """
methods = [{"id": "key", "name": "API key"}, {"id": "cli", "name": "Terminal", "type": "terminal",
            "args": ["login"]}]
greet(authMethods=methods)
asked = json.loads(sys.stdin.readline())
tell(id=asked["id"], result={})
open_session()
prompt = hear("session/prompt")
say(asked["method"] + " " + asked["params"]["methodId"])
end(prompt)
hear("never")
"""


def test_a_login_method_is_used_or_its_command_is_named(agent: Agent, call: Call) -> None:
    command = agent(LOGIN)
    assert call("exec", "--auth", "key", "go", "--", *command).out == "authenticate key\n"
    done = call("exec", "--auth", "cli", "go", "--", *command)
    assert f"cli needs a terminal; run: {' '.join(command)} login\n" in done.err
    done = call("exec", "--auth", "web", "go", "--", *command)
    assert "no login method 'web'; it offers: key (API key), cli (Terminal; run: " in done.err


@pytest.mark.parametrize("words", [("--protocol", "2"), ()])
def test_an_agent_that_only_says_version_two_is_spoken_to_in_version_one(
    agent: Agent, call: Call, words: tuple[str, ...]
) -> None:
    command = agent("""
greet(2, agentCapabilities={})
opened = hear("session/new")
tell(id=opened["id"], result={"sessionId": "s1"})
prompt = hear("session/prompt")
say("mcpServers" in opened["params"] and "version 1")
end(prompt)
hear("never")
""")
    done = call("exec", *words, "go", "--", *command)
    assert (done.code, done.out) == (exit_codes.DONE, "version 1\n")
    assert done.err.count("answered as in version 1") == 1


CANCELLED = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Sleep", status="in_progress")
say("begun\\n")
cancel = hear("session/cancel")
update("tool_call_update", toolCallId="t", status="failed")
say("cancelled\\n")
end(prompt, "cancelled")
hear("never")
"""


@pytest.mark.parametrize("way", ["timeout", "SIGINT", "SIGTERM"])
def test_a_turn_that_is_ended_is_cancelled_and_its_end_awaited(
    agent: Agent, tmp_path: Path, way: str
) -> None:
    path = tmp_path / "it.acp.ndjson"
    timeout = ("--timeout", "2") if way == "timeout" else ()
    words = ("exec", "--record", str(path), *timeout, "go", "--", *agent(CANCELLED))
    pipe = subprocess.PIPE
    command = [*WARM, "-m", "acp_console", *words]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"begun\n"
        if way != "timeout":
            process.send_signal(signal.Signals[way])
        assert process.stdout.read() == b"cancelled\n"
        errors = process.stderr.read().decode()
        # It gave no reason: the call ended with its turn.
        assert "◌ cancelled\n" in errors
        assert "failed" not in errors
        code = process.wait(30)
    assert code == {"timeout": exit_codes.TIME_LIMIT, "SIGINT": 130, "SIGTERM": 143}[way]
    entries = read_recording(path).entries
    said = [json.loads(each.data) for each in entries if isinstance(each, Frame)]
    assert said[-1]["result"] == {"stopReason": "cancelled"}
    assert "$/cancel_request" not in [each.get("method") for each in said]
    assert [each.data for each in entries if isinstance(each, JournalEvent)][1] == {
        "from": "client"
    }


def test_who_has_closed_first_is_recorded(agent: Agent, call: Call, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    call("exec", "--record", str(path), "go", "--", *agent("hear_prompt()"))
    events = [each for each in read_recording(path).entries if isinstance(each, JournalEvent)]
    assert [(each.name, each.data.get("from")) for each in events[1:]] == [
        ("eof", "agent"),
        ("exit", None),
    ]


def test_the_agent_is_looked_up_from_here_and_not_from_the_session(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    program = tmp_path / "agent.sh"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m acp_agent --no-config "$@"\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    done = call("exec", "--cwd", "there", "hello", "--", "./agent.sh")
    assert done.code == exit_codes.DONE


def test_what_an_agent_does_in_an_array_is_counted_as_unasked(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
call = {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "bash", "kind": "execute"}
params = {"sessionId": "s1", "update": call}
message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
sys.stdout.write(json.dumps([message, {}, message]) + "\\n")
sys.stdout.flush()
sys.stdin.readline()
end(prompt)
hear("never")
"""
    done = call("exec", "--dialect", "v2-batch", "go", "--", *agent(script))
    assert "  * bash\n" in done.err
    assert "the agent acted without asking (execute 1)" in done.err


REFUSED = """
prompt = hear_prompt()
update("tool_call", toolCallId="a", title="bash", kind="execute", rawInput={"command": "ls"})
say(ask_consent(toolCallId=ID, title=TITLE, rawInput={"command": "ls"}))
update("tool_call_update", toolCallId="a", **LAST)
end(prompt)
hear("never")
"""


@pytest.mark.parametrize("id_", ["a", "own"])
@pytest.mark.parametrize(
    "last",
    [
        {},
        {"status": "in_progress"},
        {"status": "failed", "rawOutput": {"exit_code": -1}},
        {"status": "failed", "rawOutput": {"code": "rejected"}},
        {"status": "completed", "content": [{"type": "content", "content": {
            "type": "text", "text": "User rejected the tool call"}}]},
        {"status": "completed", "rawOutput": "The user denied this."},
    ],
)  # fmt: skip
def test_what_was_refused_was_not_done_without_asking(
    agent: Agent, call: Call, id_: str, last: dict[str, Any]
) -> None:
    script = REFUSED.replace("toolCallId=ID", f"toolCallId={id_!r}")
    script = script.replace("TITLE", "'Execute: `ls`'").replace("LAST", repr(last))
    done = call("exec", "--fail-on-unasked", "go", "--", *agent(script))
    assert (done.code, done.out) == (exit_codes.DONE, "no\n")
    assert "acted without asking" not in done.err
    assert "did what was refused" not in done.err


@pytest.mark.parametrize(
    "last", [{"status": "completed", "rawOutput": {"exitCode": 0}}, {"status": "completed"}]
)
def test_what_was_done_although_it_was_refused_is_reported_as_that(
    agent: Agent, call: Call, last: dict[str, Any]
) -> None:
    script = REFUSED.replace("toolCallId=ID", "toolCallId='own'").replace("TITLE", "'bash'")
    done = call("exec", "--fail-on-unasked", "go", "--", *agent(script.replace("LAST", repr(last))))
    assert done.code == exit_codes.UNASKED
    assert "warning: the agent says that it did what was refused (execute 1)\n" in done.err


def test_who_asks_to_read_and_does_more_did_not_ask(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
say(ask_consent(toolCallId="a", title="Look", kind="read"))
update("tool_call", toolCallId="a", title="Look", kind="execute", status="completed")
say(ask_consent(toolCallId="own", title="See", kind="read"))
update("tool_call", toolCallId="b", title="See", rawInput={"command": "rm x"})
end(prompt)
hear("never")
"""
    done = call("exec", "--fail-on-unasked", "--json", "go", "--", *agent(script))
    assert json.loads(done.out.splitlines()[-1])["unasked"] == {"execute": 2}
    assert done.code == exit_codes.UNASKED


def test_a_call_without_a_title_is_shown_by_the_name_of_its_tool(agent: Agent, call: Call) -> None:
    script = "prompt = hear_prompt()\nask_consent(toolCallId='a', name='run_shell')\nend(prompt)"
    assert "refused: run_shell (other)" in call("exec", "go", "--", *agent(script)).err


def test_effects_that_nobody_asked_about_may_fail_the_command(agent: Agent, call: Call) -> None:
    assert call("exec", "go", "--", *agent(ACTING)).code == exit_codes.DONE
    words = ("exec", "--fail-on-unasked")
    assert call(*words, "go", "--", *agent(ACTING)).code == exit_codes.UNASKED
    assert call(*words, "--json", "go", "--", *agent(ACTING)).code == exit_codes.UNASKED
    done = call(*words, "--fail-on-refusal", "go", "--", *agent(REFUSED_AND_LATE))
    assert done.code == exit_codes.UNASKED
    assert call(*words, "--allow", "all", "go", "--", *agent(ACTING)).code == exit_codes.DONE


def test_a_call_that_was_asked_under_another_id_was_asked(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
update("tool_call", toolCallId="a", title="Write `x`", kind="edit", rawInput={"file_path": "x"})
say(ask_consent(toolCallId="own", title="Write `x`", rawInput={"file_path": "x"}))
update("tool_call_update", toolCallId="a", status="completed")
say(ask_consent(toolCallId="own", title="ls", rawInput={"command": "ls"}))
update("tool_call", toolCallId="b", title="ls", kind="execute", rawInput={"command": "ls"})
update("tool_call", toolCallId="c", title="ls", kind="execute", rawInput={"command": "ls"})
end(prompt)
hear("never")
"""
    done = call("exec", "--format", "json", "--allow", "all", "go", "--", *agent(script))
    assert json.loads(done.out.splitlines()[-1])["unasked"] == {"execute": 1}
    done = call("exec", "--allow", "edits", "go", "--", *agent(script))
    assert done.out == "yes\nno\n"


def test_what_runs_is_printed_although_the_first_title_says_nothing(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    script = """
prompt = hear_prompt()
here = [{"path": HERE}]
update("tool_call", toolCallId="a", title="bash", kind="execute", locations=here)
update("tool_call_update", toolCallId="a", rawInput={"command": "rm -r x"})
update("tool_call", toolCallId="b", title="bash", locations=here)
update("tool_call_update", toolCallId="b", rawInput={"command": ["rm", "-r", "y"]})
update("tool_call", toolCallId="c", title="Run the tests", kind="execute")
update("tool_call_update", toolCallId="c", rawInput={"command": "make"}, status="completed")
update("tool_call", toolCallId="d", title="z", kind="execute", rawInput={"command": "rm /z"})
end(prompt)
hear("never")
"""
    done = call("exec", "--allow", "all", "go", "--", *agent(script.replace("HERE", repr("/w"))))
    assert done.err.splitlines() == [
        "  * bash: rm -r x",
        "  * bash: /w",
        "  * bash: rm -r y",
        "  * Run the tests",
        "  * Run the tests: make",
        "  * z: rm /z",
    ]


ASKED_FOR = """
prompt = hear_prompt()
for id_, title, asked, told in CALLS:
    update("tool_call", toolCallId=id_, title=title, kind="execute", rawInput={}, status="pending")
    ask_consent(**{"toolCallId": id_, "kind": "execute", **asked})
    update("tool_call_update", toolCallId=id_, **told, status="completed")
end(prompt)
hear("never")
"""


def test_what_runs_is_printed_where_only_the_request_for_permission_says_it(
    agent: Agent, call: Call
) -> None:
    calls: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        ("a", "Shell", {"title": "touch x", "rawInput": {"command": "touch x"}}, {}),
        ("b", "Shell", {"rawInput": {"command": ["rm", "y"]}}, {"rawInput": {}}),
        ("c", "Shell", {"title": "make all"}, {}),
        ("d", "Shell", {"title": "Shell(ls)"}, {}),
        ("e", "Run it", {"title": "Run", "rawInput": {"command": "id"}}, {}),
        ("f", "Shell", {"rawInput": {"command": "id"}}, {"rawInput": {"command": "id; w"}}),
        ("g", "Edit", {"locations": [{"path": "/w/notes.txt"}], "kind": "edit"}, {"kind": "edit"}),
    ]
    script = ASKED_FOR.replace("CALLS", repr(calls))
    for allow in ("all", "none"):
        done = call("exec", "--allow", allow, "go", "--", *agent(script))
        assert [line for line in done.err.splitlines() if line.startswith("  *")] == [
            "  * Shell: touch x",
            "  * Shell: rm y",
            "  * Shell: make all",
            "  * Shell(ls)",
            "  * Run it",
            "  * Run it: id",
            "  * Shell: id; w",
            "  * Edit: /w/notes.txt",
        ]


def test_a_call_under_the_id_of_an_earlier_one_is_printed_as_what_it_is(
    agent: Agent, call: Call
) -> None:
    script = """
prompt = hear_prompt()
update("tool_call", toolCallId="a", title="Shell", kind="execute", status="pending")
ask_consent(toolCallId="a", kind="execute", rawInput={"command": "ls"})
update("tool_call_update", toolCallId="a", status="completed")
for number in range(2):
    update("tool_call", toolCallId="a", title="Shell", kind="execute", status="pending")
    update("tool_call_update", toolCallId="a", status="completed")
end(prompt)
hear("never")
"""
    done = call("exec", "--allow", "all", "go", "--", *agent(script))
    assert done.err.splitlines() == ["  * Shell: ls", "  * Shell", "  * Shell"]


def test_a_package_in_the_working_directory_is_not_the_demo_agent(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned project must not run code by having a package of the demo agent's name."""
    package = tmp_path / "acp_agent"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("open('ran', 'w').close()")
    monkeypatch.chdir(tmp_path)
    done = call("exec", "hello")
    assert done.code == exit_codes.DONE
    assert not (tmp_path / "ran").exists()


def test_another_message_begins_a_line(agent: Agent, call: Call) -> None:
    script = """
prompt = hear_prompt()
for id_, text in (("m1", "one"), ("m1", ", two"), (None, "No"), (None, "te"), ("m2", "Another")):
    named = {} if id_ is None else {"messageId": id_}
    update("agent_message_chunk", content={"type": "text", "text": text}, **named)
end(prompt)
hear("never")
"""
    assert call("exec", "go", "--", *agent(script)).out == "one, two\nNote\nAnother\n"
    quiet = call("exec", "--format", "quiet", "go", "--", *agent(script))
    assert quiet.out == "one, twoNoteAnother"


def test_the_reason_of_a_failure_is_printed_without_the_fence_around_it(
    agent: Agent, call: Call
) -> None:
    script = """
prompt = hear_prompt()
text = {"type": "text", "text": "```\\nUser refused\\n```"}
update("tool_call", toolCallId="a", title="Run x", kind="execute", status="failed",
       content=[{"type": "content", "content": text}])
end(prompt)
hear("never")
"""
    assert "  ✗ failed: User refused\n" in call("exec", "go", "--", *agent(script)).err


def test_a_call_whose_title_grows_is_printed_again_when_it_is_whole(
    agent: Agent, call: Call
) -> None:
    script = """
prompt = hear_prompt()
update("tool_call", toolCallId="a", title="Shell", status="in_progress")
for title in ("Shell: ech", "Shell: echo one; ec", "Shell: echo one; echo two"):
    update("tool_call_update", toolCallId="a", title=title)
update("tool_call_update", toolCallId="a", status="completed")
update("tool_call", toolCallId="b", title="Read File", kind="read", status="pending")
update("tool_call_update", toolCallId="b", title="Read notes.txt",
       locations=[{"path": "/w/notes.txt"}])
update("tool_call_update", toolCallId="b", status="completed")
end(prompt)
hear("never")
"""
    done = call("exec", "go", "--", *agent(script))
    calls = [line for line in done.err.splitlines() if line.startswith("  *")]
    assert calls == [
        "  * Shell: ech",
        "  * Shell: echo one; echo two",
        "  * Read File",
        "  * Read notes.txt",
    ]
