"""Recordings as regression tests, from the command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent, Call
from tests.warm import WARM

LIMIT_S = 30.0
COUNTING = 'prompt = hear_prompt(); say("one, two"); end(prompt); hear("never")'
MISCOUNTING = 'prompt = hear_prompt(); say("one, three"); end(prompt); hear("never")'


@pytest.fixture
def corpus(agent: Agent, call: Call, tmp_path: Path) -> Path:
    """Two recordings of one conversation, one of them deeper."""
    folder = tmp_path / "recordings"
    (folder / "deep").mkdir(parents=True)
    for name in ("one", "deep/two"):
        path = str(folder / f"{name}.acp.ndjson")
        assert call("exec", "--record", path, "count", "--", *agent(COUNTING)).code == 0
    return folder


def test_all_recordings_of_a_directory_are_played(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", "-n", "2", str(corpus), "--", *agent(COUNTING))
    assert (done.code, done.err) == (exit_codes.DONE, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert sorted(line[1] for line in lines[:2]) == [
        f"{corpus}/deep/two.acp.ndjson",
        f"{corpus}/one.acp.ndjson",
    ]
    assert lines[-1] == ["2", "passed"]


def test_a_difference_fails_and_is_shown(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", str(corpus), "--", *agent(MISCOUNTING))
    assert done.code == exit_codes.FOUND
    assert done.out.count("    - one, two\n    + one, three\n") == 2
    assert done.out.endswith("\n2 failed\n")
    assert done.err == ""
    done = call("test", str(corpus), "--", *agent(MISCOUNTING), "--other")
    assert "note: all that failed were recorded with another command, such as " in done.err
    assert call("test", "--level", "shape", str(corpus), "--", *agent(MISCOUNTING)).code == 0


READING = """
import os
prompt = hear_prompt()
for name in ("notes.txt", "made.md"):
    path = os.path.join(os.getcwd(), name)
    if name == "made.md":
        update("tool_call", toolCallId="make", title="Write", kind="edit", status="completed",
               locations=[{"path": path}])
    update("tool_call", toolCallId=name, title=f"Read {name}", kind="read", status="completed",
           locations=[{"path": path}])
    say(open(path).read() if os.path.exists(path) else "nothing")
end(prompt)
hear("never")
"""


def test_a_failure_names_the_files_that_the_agent_had_read_and_where_to_put_them(
    agent: Agent, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, place = tmp_path / "it.acp.ndjson", tmp_path / "project"
    place.mkdir()
    (place / "notes.txt").write_text("one, two")
    monkeypatch.chdir(place)
    words = ("exec", "--record", str(path), "count", "--", *agent(READING))
    assert call(*words).code == exit_codes.DONE
    note = "note: not there now, but read by the recorded agent: notes.txt; put what it needs into"
    for command in ("test", "replay"):
        done = call(command, str(path), "--", *agent(READING))
        assert done.code == exit_codes.FOUND
        assert f"{note} it.files beside the recording\n" in done.out
    (tmp_path / "it.files").mkdir()
    (tmp_path / "it.files/notes.txt").write_text("one, two")
    done = call("test", str(path), "--", *agent(READING))
    assert done.code == exit_codes.DONE, done.out + done.err
    assert "read by the recorded agent" not in done.out


def test_the_report_for_build_servers_has_the_differences(
    corpus: Path, agent: Agent, call: Call, tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    (corpus / "bad.acp.ndjson").write_bytes(b"")
    call("test", "--junit", str(report), str(corpus), "--", *agent(MISCOUNTING))
    suite = ElementTree.parse(report).getroot()[0]
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "2", "errors": "1", "skipped": "0"}
    failures = [failure.text or "" for failure in suite.iter("failure")]
    assert ["+ one, three" in text for text in failures] == [True, True]
    messages = {failure.get("message") for failure in suite.iter("failure")}
    path = "agent_message_chunk, at $.params.update.content.text (recorded frame 7)"
    assert messages == {f"{path} - one, two + one, three"}
    (error,) = suite.iter("error")
    assert "it is empty" in (error.get("message") or "")


def test_a_report_that_cannot_be_written_is_an_error(
    corpus: Path, agent: Agent, call: Call
) -> None:
    words = ("test", "--junit", "/no/such/report.xml", str(corpus))
    done = call(*words, "--", *agent(COUNTING))
    assert done.code == exit_codes.USAGE
    assert "--junit: cannot write /no/such/report.xml: no such file" in done.err


def test_json_has_every_outcome(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", "--json", str(corpus / "one.acp.ndjson"), "--", *agent(MISCOUNTING))
    found = json.loads(done.out)
    assert found["counts"] == {"failed": 1}
    (outcome,) = found["recordings"]
    assert (outcome["status"], outcome["played"], len(outcome["differences"])) == ("failed", 3, 1)


def test_an_update_makes_the_recordings_pass(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", "--update", str(corpus), "--", *agent(MISCOUNTING))
    assert done.code == exit_codes.DONE
    assert done.out.count("+ one, three") == 2
    assert done.out.endswith("\n2 updated\n")
    assert read_recording(corpus / "one.acp.ndjson").bad_lines == ()
    done = call("test", str(corpus), "--", *agent(MISCOUNTING))
    assert (done.code, done.out.endswith("\n2 passed\n")) == (exit_codes.DONE, True)


def test_why_a_recording_is_not_updated_is_shown(corpus: Path, agent: Agent, call: Call) -> None:
    dying = agent('hear_prompt(); say("one"); sys.exit(1)')
    done = call("test", "--update", str(corpus / "one.acp.ndjson"), "--", *dying)
    assert "\nnot updated: the conversation did not come to its end\n" in done.out
    words = ("--update", "--level", "strict", str(corpus))
    assert call("test", *words, "--", *dying).code == exit_codes.USAGE


def test_what_was_tolerated_is_counted(corpus: Path, agent: Agent, call: Call) -> None:
    late = COUNTING.replace("end(prompt)", 'end(prompt); say("one more")')
    done = call("test", str(corpus / "one.acp.ndjson"), "--", *agent(late))
    assert done.out.splitlines()[0].endswith("(1 note)")


def test_shards_have_each_recording_once(corpus: Path, agent: Agent, call: Call) -> None:
    played = [
        call("test", "--shard", f"{number}/3", str(corpus), "--", *agent(COUNTING)).out
        for number in (1, 2, 3)
    ]
    assert sum(out.count("passed  ") for out in played) == 2
    done = call("test", "--shard", "4/3", str(corpus))
    assert (done.code, "'4/3' is not a shard: expected I/N" in done.err) == (exit_codes.USAGE, True)


def test_without_an_agent_nothing_is_started(corpus: Path, call: Call) -> None:
    done = call("test", str(corpus))
    assert done.code == exit_codes.USAGE
    assert done.out.count("skipped") == 3
    assert "give --agent NAME or -- COMMAND" in done.err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["no/such"], exit_codes.USAGE, "cannot read no/such: no such file"),
        (["--agent", "nobody"], exit_codes.USAGE, "unknown agent 'nobody'"),
        (["--", "/no/such/agent"], exit_codes.AGENT, "there is no such command"),
    ],
)
def test_what_cannot_be_done_has_a_sentence(
    corpus: Path, call: Call, words: list[str], code: int, sentence: str
) -> None:
    done = call("test", str(corpus), *words)
    assert done.code == code
    assert sentence in done.out + done.err


def test_a_directory_without_recordings_is_no_green(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = call("test", str(tmp_path / "empty"))
    assert (done.code, "no file named *.acp.ndjson" in done.err) == (exit_codes.USAGE, True)


def test_an_agent_of_the_current_directory_has_a_hint(corpus: Path, call: Call) -> None:
    """It is started in the directory of its session."""
    done = call("test", str(corpus), "--", sys.executable, "-m", "no_such_module")
    assert done.code == exit_codes.FOUND
    assert "No module named no_such_module" in done.out
    assert done.out.count("install it, or name its files in the command") == 2


def with_header(path: Path, **members: object) -> None:
    """Change the header of a recording."""
    header, *lines = path.read_text().splitlines(keepends=True)
    path.write_text(f"{json.dumps({**json.loads(header), **members})}\n{''.join(lines[:-1])}")


def test_files_beside_a_recording_are_put_into_the_directory_of_the_replay(
    corpus: Path, agent: Agent, call: Call, tmp_path: Path
) -> None:
    script = COUNTING.replace('"one, two"', 'open(os.getcwd() + "/src/notes.txt").read()')
    path = corpus / "one.acp.ndjson"
    path.write_text(path.read_text().replace("one, two", "milk").rpartition('{"end"')[0])
    files = corpus / "one.files/src"
    files.mkdir(parents=True)
    (files / "notes.txt").write_text("milk")
    done = call("test", str(path), "--", *agent(script))
    assert done.code == exit_codes.DONE, done.out
    secret = tmp_path / "secret"
    (files / "notes.txt").rename(secret)
    (files / "notes.txt").symlink_to(secret)
    # What others have written may lead anywhere.
    assert call("test", str(path), "--", *agent(script)).code == exit_codes.FOUND
    (corpus / "one.files").rename(tmp_path / "elsewhere")
    (corpus / "one.files").symlink_to(tmp_path / "elsewhere")
    assert "one.files: it is not a directory" in call("test", str(path), "--", *agent(script)).out


def test_what_a_recording_decides_for_the_user_is_shown(
    corpus: Path, agent: Agent, call: Call
) -> None:
    path = corpus / "one.acp.ndjson"
    lines = path.read_text().splitlines(keepends=True)[:-1]
    params = {"sessionId": "s1", "modeId": "yolo"}
    mode = {"jsonrpc": "2.0", "id": 70, "method": "session/set_mode", "params": params}
    frame = {"n": 99, "t": 9.0, "from": "client", "msg": mode}
    path.write_text("".join([*lines, json.dumps(frame) + "\n"]))
    done = call("test", str(path), "--timeout", "500ms", "--", *agent(COUNTING))
    assert "mode or option: mode = yolo" in done.out
    done = call("test", str(path), "--trust", "--timeout", "500ms", "--", *agent(COUNTING))
    assert "hands to the agent: mode or option: mode = yolo" in done.err


BESIDE = ("one.expect.toml", "one.acp.ndjson.snapshot.json")


@pytest.mark.parametrize("name", ["one.acp.ndjson", "one.acp.ndjson.snapshot.json"])
def test_an_update_writes_through_no_link(
    corpus: Path, agent: Agent, call: Call, tmp_path: Path, name: str
) -> None:
    """Whoever made the recordings could have the user overwrite any file."""
    path, precious = corpus / name, tmp_path / "precious"
    command = ["--", *agent(MISCOUNTING)] if path.exists() else []
    precious.write_text(path.read_text() if path.exists() else "precious")
    before = precious.read_bytes()
    path.unlink(missing_ok=True)
    path.symlink_to(precious)
    done = call("test", "--update", str(corpus / "one.acp.ndjson"), *command)
    assert done.code == exit_codes.USAGE
    assert "it is a symbolic link, which is not followed" in done.out
    assert precious.read_bytes() == before
    assert path.is_symlink()


@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "device"])
@pytest.mark.parametrize("name", BESIDE)
def test_what_lies_beside_a_recording_has_to_be_a_regular_file(
    corpus: Path, agent: Agent, call: Call, tmp_path: Path, name: str, kind: str
) -> None:
    path = corpus / name
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            (tmp_path / "target").write_text("")
            path.symlink_to(tmp_path / "target")
    command = ["--", *agent(COUNTING)] if name == BESIDE[0] else []
    done = call("test", str(corpus / "one.acp.ndjson"), *command)
    assert done.code == exit_codes.USAGE
    assert f"{name}: it is a" in done.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_command_that_is_stuck(tmp_path: Path, number: int) -> None:
    """Also while a thread waits for what never comes, and the event loop for the thread."""
    os.mkfifo(tmp_path / "pipe")
    script = (
        "import sys, anyio\nfrom acp_console.cli.run_async import run_until_signal\n"
        "async def work():\n"
        "    print('ready', flush=True)\n"
        "    return await anyio.to_thread.run_sync(lambda: open('pipe').read())\n"
        "try:\n"
        "    sys.exit(run_until_signal(work, end_timeout=0.2))\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            child.send_signal(number)
            assert child.wait(LIMIT_S) == 128 + number
        finally:
            child.kill()


def test_a_pipe_is_no_recording(corpus: Path, agent: Agent, call: Call) -> None:
    os.mkfifo(corpus / "pipe.acp.ndjson")
    done = call("test", str(corpus), "--", *agent(COUNTING))
    assert done.code == exit_codes.USAGE
    assert "pipe.acp.ndjson: it is a pipe, not a file" in done.out
    assert done.out.endswith("\n2 passed, 1 error\n")


def test_a_byte_order_mark_is_named(corpus: Path, agent: Agent, call: Call) -> None:
    path = corpus / "one.acp.ndjson"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    done = call("test", str(path), "--", *agent(COUNTING))
    assert "is not a recording: it begins with a byte order mark; save it without" in done.out


# Clients

CLIENT = (*WARM, "-m", "acp_console", "exec")


def test_a_client_is_run_with_each_recording_in_the_place_of_its_agent(
    corpus: Path, call: Call
) -> None:
    done = call("test", "client", str(corpus), "--", *CLIENT, "count", "--", "{agent}")
    assert (done.code, done.out.endswith("\n2 passed\n")) == (exit_codes.DONE, True)
    done = call("test", "client", str(corpus), "--", *CLIENT, "count again", "--", "{agent}")
    assert done.code == exit_codes.FOUND
    assert done.out.count("fail: the client did not do what its agent expects") == 2
    assert done.out.count("    - count\nagent |     + count again\n") == 2


def test_a_client_that_starts_its_agent_twice_fails(corpus: Path, call: Call) -> None:
    run = shlex.join(CLIENT)
    twice = ("sh", "-c", f"{run} other -- $0; exec {run} count -- $0", "{agent} ")
    done = call("test", "client", str(corpus / "one.acp.ndjson"), "--", *twice)
    assert done.code == exit_codes.FOUND
    assert "hint: it has started its agent more than once" in done.out


def test_a_client_may_take_its_agent_as_one_word(corpus: Path, call: Call) -> None:
    client = ("sh", "-c", f'exec {shlex.join(CLIENT)} "$0" -- $1', "count", "{agent} ")
    done = call("test", "client", str(corpus / "one.acp.ndjson"), "--", *client)
    assert done.code == exit_codes.DONE, done.out


def test_a_client_finds_the_files_of_the_recording(
    corpus: Path, call: Call, tmp_path: Path
) -> None:
    path = corpus / "one.acp.ndjson"
    with_header(path, meta={"files": {"notes.txt": "milk"}})
    script = tmp_path / "client.sh"
    command = f'exec {shlex.join(CLIENT)} count -- "$@"'
    script.write_text(f"grep -q milk notes.txt || exit 9; {command}")
    done = call("test", "client", str(path), "--", "sh", str(script), "{agent}")
    assert done.code == exit_codes.DONE, done.out


AT_URL = [*CLIENT, "--url", "{url}", "--token-env", "ACP_CONSOLE_TOKEN"]


def test_a_client_finds_the_recorded_agent_at_a_url(corpus: Path, call: Call) -> None:
    path = str(corpus / "one.acp.ndjson")
    done = call("test", "client", path, "--", *AT_URL, "count")
    assert (done.code, done.out.endswith("\n1 passed\n")) == (exit_codes.DONE, True), done.out


def test_a_client_that_does_otherwise_at_a_url_fails(corpus: Path, call: Call) -> None:
    path = str(corpus / "one.acp.ndjson")
    done = call("test", "client", path, "--", *AT_URL, "something else")
    assert done.code == exit_codes.FOUND
    assert "the client did not do what its agent expects" in done.out
    assert "+ something else" in done.out


def test_the_token_is_a_word_of_the_command_too(corpus: Path, call: Call, tmp_path: Path) -> None:
    script = tmp_path / "client.sh"
    script.write_text('test "$1" = "$ACP_CONSOLE_TOKEN"')
    path = str(corpus / "one.acp.ndjson")
    done = call("test", "client", path, "--", "sh", str(script), "{token}", "{url}")
    assert "fail: the client has opened no connection" in done.out


@pytest.mark.parametrize(
    ("client", "code", "sentence"),
    [
        ("true {agent}", exit_codes.FOUND, "fail: the client has started no agent"),
        ("false {agent}", exit_codes.FOUND, "fail: the client exited with code 1"),
        ("/no/such/client {agent}", exit_codes.AGENT, "the client could not be started: cannot"),
        ("my-client", exit_codes.USAGE, "there is no {agent} in my-client"),
        ("", exit_codes.USAGE, "missing the client's command after --"),
    ],
)
def test_a_client_that_cannot_be_tested_has_a_sentence(
    corpus: Path, call: Call, client: str, code: int, sentence: str
) -> None:
    done = call("test", "client", str(corpus / "one.acp.ndjson"), "--", *client.split())
    assert (done.code, sentence in done.out + done.err) == (code, True), done.out + done.err


def test_an_agent_without_its_separator_has_a_hint(corpus: Path, call: Call) -> None:
    done = call("test", str(corpus), "lab-agent")
    assert (done.code, "an agent's command comes after --" in done.err) == (exit_codes.USAGE, True)


def test_the_word_agent_may_stand_there(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", "agent", str(corpus), "--", *agent(COUNTING))
    assert (done.code, done.out.endswith("\n2 passed\n")) == (exit_codes.DONE, True)


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_a_recording_passes_in_a_directory_of_its_own_also_if_its_sessions_name_none(
    call: Call, tmp_path: Path, dialect: str
) -> None:
    """In one dialect the sessions work where the agent was started, as the header says."""
    command = [*WARM, "-m", "acp_agent", "--dialect", dialect]
    path, place = tmp_path / "files.acp.ndjson", tmp_path / "project"
    place.mkdir()
    (place / "notes.md").write_text("Buy milk.\n")
    words = ("exec", "--cwd", str(place), "--dialect", dialect, "--record", str(path), "list .")
    assert call(*words, "--", *command).code == exit_codes.DONE
    path.with_name("files.files").mkdir()
    (tmp_path / "files.files/notes.md").write_text("Buy milk.\n")
    done = call("test", "--trust", str(path), "--", *command)
    assert done.code == exit_codes.DONE, done.out
