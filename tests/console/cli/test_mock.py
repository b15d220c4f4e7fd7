"""`mock`: a recording in the place of its agent."""

from __future__ import annotations

import json
import select
import signal
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Frame
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.client_player import PlayLimits, play_as_client
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.trust import TRUSTED
from tests.console.conftest import Agent, Call, Outcome
from tests.warm import WARM

FOLDER = Path(__file__).parents[3] / "recordings"
RECORDINGS = sorted(FOLDER.rglob("*.acp.ndjson"))
CONSOLE = [*WARM, "-m", "acp_console"]
LIMIT_S = 60.0
"""Seconds after which a process counts as hung."""
WRITING = """
prompt = hear_prompt()
ask("fs/write_text_file", path="/etc/motd", content="x")
ask("terminal/create", command="rm", args=["-r", "x\\x1b[2J"])
ask("fs/read_text_file", path="/etc/passwd")
end(prompt)
hear("never")
"""
COUNTING = 'prompt = hear_prompt(); say("one, "); say("two"); end(prompt); hear("never")'


def mock(*words: object) -> list[str]:
    return [*CONSOLE, "mock", *map(str, words)]


def verdict(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


@pytest.fixture
def recording(agent: Agent, call: Call, tmp_path: Path) -> Path:
    path = tmp_path / "counting.acp.ndjson"
    done = call("exec", "--record", str(path), "count", "--", *agent(COUNTING))
    assert done.code == exit_codes.DONE
    return path


def talk(recording: Path, *words: object, lines: bytes) -> Outcome:
    """Send lines to the recorded agent, and leave."""
    done = subprocess.run(
        mock(recording, *words), input=lines, capture_output=True, timeout=LIMIT_S, check=False
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def sent_by_client(recording: Path) -> bytes:
    frames = [each for each in read_recording(recording).entries if isinstance(each, Frame)]
    return b"".join(each.data + b"\n" for each in frames if each.side == "client")


def test_the_client_that_was_recorded_passes(recording: Path, call: Call, tmp_path: Path) -> None:
    report = tmp_path / "verdict.json"
    done = call("exec", "count", "--", *mock(recording, "--report", report))
    assert (done.code, done.out.strip()) == (exit_codes.DONE, "one, two")
    assert verdict(report) == {
        "v": 1,
        "file": str(recording),
        "passed": True,
        "errors": [],
        "notes": [],
        "tolerated": {},
        "differences": [],
        "played": 5,
        "compared": 3,
        "unreached": 0,
        "unread": 0,
    }


def test_another_prompt_gets_the_nearest_turn_and_fails(
    recording: Path, call: Call, tmp_path: Path
) -> None:
    report = tmp_path / "verdict.xml"
    done = call("exec", "count to two", "--", *mock(recording, "--report", report))
    assert (done.code, done.out.strip()) == (exit_codes.DONE, "one, two")
    suite = ElementTree.parse(report).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    text = suite.findtext("testcase/failure")
    assert text is not None
    message = suite[0][0].get("message") or ""
    assert "session/prompt, at $.params.prompt[0].text" in message
    assert message.endswith("- count + count to two")
    assert "session/prompt, at $.params.prompt[0].text" in text
    assert "+ count to two" in text


def test_a_recording_that_is_not_played_has_a_report_too(call: Call, tmp_path: Path) -> None:
    report = tmp_path / "verdict.xml"
    done = call("mock", "no/such", "--report", str(report))
    assert done.code == exit_codes.USAGE
    failure = ElementTree.parse(report).getroot().find(".//failure")
    assert failure is not None
    assert "cannot read no/such" in (failure.get("message") or "")


def test_a_report_that_cannot_be_written_is_an_error_before_the_first_turn(
    recording: Path,
) -> None:
    path = "/no/such/report.xml"
    done = talk(recording, "--report", path, lines=sent_by_client(recording))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert f"cannot write the report {path}" in done.err


def test_another_prompt_is_refused_if_that_is_wanted(recording: Path, call: Call) -> None:
    done = call("exec", "count to two", "--", *mock(recording, "--on-miss", "error"))
    assert done.code == exit_codes.PEER
    assert "the recording has no such session/prompt; nearest: frame 6" in done.err


def test_the_verdict_is_the_exit_code_and_its_text_is_on_stderr(recording: Path) -> None:
    lines = sent_by_client(recording)
    done = talk(recording, lines=lines)
    assert done.code == exit_codes.DONE, done.err
    assert done.err == "counting.acp.ndjson: pass: 5 agent frames played, 3 steps compared\n"
    assert [json.loads(line).get("id") for line in done.out.splitlines()] == [1, 2, None, None, 3]
    done = talk(recording, "--json", lines=lines.splitlines(keepends=True)[0])
    assert done.code == exit_codes.FOUND
    assert json.loads(done.err)["unreached"] == 2


def other_client(recording: Path) -> bytes:
    """Return what a client with another name and an MCP server of its own sends."""
    lines = sent_by_client(recording).replace(b'"name":"acp-console"', b'"name":"other"')
    server = b'"mcpServers":[{"name":"m","command":"/bin/m","args":[],"env":[]}]'
    assert lines.count(b'"mcpServers":[]') == 1
    return lines.replace(b'"mcpServers":[]', server)


EXPECTED = """
[[ignore]]
path = "$.params.clientInfo"
reason = "any client may play"

[[match]]
path = "$.params.mcpServers"
type = "array"
reason = "each client has servers of its own"

[[ignore]]
filter = "update == agent_message_chunk"
reason = "for replay, which compares the agent"
"""


def test_what_a_client_says_about_itself_is_compared_and_may_be_expected(
    recording: Path, tmp_path: Path
) -> None:
    lines = other_client(recording)
    report = tmp_path / "verdict.json"
    done = talk(recording, "--report", report, lines=lines)
    assert done.code == exit_codes.FOUND
    assert "* initialize, at $.params.clientInfo.name (recorded frame 2)" in done.err
    hint = (
        "the client describes itself otherwise: $.params.clientInfo.name, $.params.mcpServers; to "
        "allow that, give each path to --ignore, or an [[ignore]] entry with path and reason in "
        "counting.expect.toml"
    )
    assert f"note: {hint}\n" in done.err
    assert verdict(report)["notes"] == [hint]
    ignores = ("--ignore", "$.params.clientInfo.name", "--ignore", "$.params.mcpServers")
    assert talk(recording, *ignores, lines=lines).code == exit_codes.DONE
    elsewhere = tmp_path / "any.toml"
    elsewhere.write_text(EXPECTED)
    assert talk(recording, "--expect", elsewhere, lines=lines).code == exit_codes.DONE
    recording.with_name("counting.expect.toml").write_text(EXPECTED)
    assert talk(recording, lines=lines).code == exit_codes.DONE
    # What differs elsewhere is still found.
    done = talk(recording, lines=lines.replace(b"count", b"sing"))
    assert done.code == exit_codes.FOUND
    assert "describes itself" not in done.err


def test_expectations_serve_mock_and_replay_but_one_that_never_applies_is_an_error(
    recording: Path, agent: Agent, call: Call
) -> None:
    beside = recording.with_name("counting.expect.toml")
    beside.write_text(EXPECTED)
    done = call("replay", str(recording), "--", *agent(COUNTING.replace("two", "three")))
    assert done.code == exit_codes.DONE, done.out
    assert talk(recording, lines=sent_by_client(recording)).code == exit_codes.DONE
    beside.write_text('[[ignore]]\npath = "$.params.no"\nreason = "none"\n')
    done = talk(recording, lines=sent_by_client(recording))
    assert done.code == exit_codes.USAGE
    assert "$.params.no: never applied" in done.err
    done = call("replay", str(recording), "--", *agent(COUNTING))
    assert done.code == exit_codes.USAGE
    assert "$.params.no: never applied" in done.err


def test_the_level_decides_how_closely_a_client_is_compared(recording: Path) -> None:
    lines = sent_by_client(recording).replace(b"count", b"sing")
    assert talk(recording, lines=lines).code == exit_codes.FOUND
    assert talk(recording, "--level", "strict", lines=lines).code == exit_codes.FOUND
    assert talk(recording, "--level", "shape", lines=lines).code == exit_codes.DONE


@pytest.mark.parametrize("pace", ["instant", "recorded"])
def test_recorded_pauses_of_the_agent_are_kept_if_that_is_wanted(
    recording: Path, tmp_path: Path, pace: str
) -> None:
    """Before its response to the prompt there is one of an hour."""
    lines = recording.read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if "stopReason" in line)
    lines[at] = json.dumps(json.loads(lines[at]) | {"t": 3600.0})
    slow = tmp_path / "slow.acp.ndjson"
    slow.write_text("\n".join([*lines, ""]))
    with subprocess.Popen(
        mock(slow, "--time", pace),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(sent_by_client(slow))
            for _ in range(4):
                process.stdout.readline()
            wait = 1.0 if pace == "recorded" else LIMIT_S
            comes = bool(select.select([process.stdout], [], [], wait)[0])
            assert comes is (pace == "instant")
        finally:
            process.kill()


def test_a_cut_recording_is_played_as_far_as_it_goes(recording: Path, tmp_path: Path) -> None:
    lines = recording.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.acp.ndjson"
    response = next(at for at, line in enumerate(lines) if b"stopReason" in line)
    cut.write_bytes(b"".join(lines[:response]) + lines[response][:40])
    done = talk(cut, lines=sent_by_client(recording))
    assert "the file ends in the middle of this line" in done.err
    assert "the recording lacks the response to session/prompt" in done.err
    last = json.loads(done.out.splitlines()[-1])
    assert last["error"]["message"].startswith("the recording ends before the response")


def test_an_empty_recording_fails_at_once(recording: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.acp.ndjson"
    empty.write_bytes(recording.read_bytes().splitlines(keepends=True)[0])
    done = talk(empty, lines=b"")
    assert done.code == exit_codes.FOUND
    assert "the recording holds no frame of a client: nothing to play" in done.err


def test_what_is_no_recording_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "foreign.txt"
    path.write_text("hello\n")
    done = talk(path, lines=b"")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "is not a recording" in done.err


def test_a_client_that_ends_its_agent_by_a_signal_gets_the_verdict_too(
    recording: Path, tmp_path: Path
) -> None:
    report = tmp_path / "verdict.json"
    with subprocess.Popen(
        mock(recording, "--report", report),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(sent_by_client(recording))
            process.stdin.flush()
            for _ in range(5):
                process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_S) == 128 + signal.SIGTERM
        finally:
            process.kill()
    assert verdict(report)["passed"]


def test_a_recording_that_would_have_the_client_do_things_needs_trust(
    agent: Agent, call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "foreign.acp.ndjson"
    call("exec", "--record", str(path), "hi", "--", *agent(WRITING))
    # As if it came from another machine.
    path.write_bytes(path.read_bytes().replace(b'"tool":"', b'"tool":"other '))
    done = talk(path, lines=b"")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "  file to write: /etc/motd (frame " in done.err
    assert "  command: rm -r x␛[2J (frame " in done.err
    assert "  file to read: /etc/passwd (frame " in done.err
    assert "allow it with --trust" in done.err
    report = tmp_path / "verdict.json"
    call("exec", "hi", "--", *mock(path, "--trust", "--report", report))
    assert verdict(report)["passed"], verdict(report)


def test_a_process_of_several_can_be_chosen(recording: Path, tmp_path: Path) -> None:
    header, *rest = recording.read_bytes().splitlines(keepends=True)
    twice = tmp_path / "twice.acp.ndjson"
    twice.write_bytes(b"".join([header, *rest, *rest[:5]]))
    lines = sent_by_client(recording)
    done = talk(twice, lines=lines)
    assert "note: connection 1 of 2 is played; see --connection" in done.err
    assert done.code == exit_codes.DONE
    assert talk(twice, "--connection", 2, lines=lines).code == exit_codes.FOUND
    assert "has 2 connections, not 3" in talk(twice, "--connection", 3, lines=lines).err


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.long] * (number % 5 != 0))
        for number, path in enumerate(RECORDINGS)
    ],
    ids=lambda path: path.name,
)
async def test_each_recording_replays_as_client_against_itself_mock(
    path: Path, tmp_path: Path
) -> None:
    recording = read_recording(path)
    report = tmp_path / "verdict.json"
    live = tmp_path / "live"
    live.mkdir()
    directories = replay_directories(
        recording.frames, live, live, recorded_cwd=recording.header.cwd
    )
    directories.create()
    command = mock(path, "--trust", "--report", report)
    result = await play_as_client(
        recording, command, directories, limits=PlayLimits(timeout=20), trust=TRUSTED
    )
    assert result.is_passed, result.render()
    assert verdict(report)["passed"], verdict(report)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["demo"], "unexpected extra argument (demo)"),
        (["--cwd", "."], "unknown option --cwd"),
        (["--on-miss", "forward"], "--on-miss: 'forward' is not one of"),
        (["--time", "soon"], "is not instant, recorded or a factor"),
    ],
)
def test_wrong_options_are_refused(
    recording: Path, call: Call, words: list[str], sentence: str
) -> None:
    done = call("mock", str(recording), *words)
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert sentence in done.err
