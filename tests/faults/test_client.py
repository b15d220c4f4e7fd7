"""Faults around our client, as `exec`: what its user sees, what is recorded, who is left behind."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent, agent
from tests.faults.disks import Disk
from tests.faults.processes import CONSOLE, LIMIT, Party, Stage, events, said

pytestmark = pytest.mark.long

__all__ = ["agent"]

DEAF = "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
FOR_EVER = "while True: time.sleep(1000)"


def turn(command: list[str], *options: str) -> list[str]:
    return [*CONSOLE, "exec", *options, "go", "--", *command]


@pytest.mark.parametrize(
    ("end", "expected"), [("os._exit(42)", b"code 42"), ("os.kill(os.getpid(), 11)", b"SIGSEGV")]
)
def test_a_crash_is_reported_with_stderr_and_the_text_so_far_is_kept(
    stage: Stage, agent: Agent, tmp_path: Path, end: str, expected: bytes
) -> None:
    path = tmp_path / "it.acp.ndjson"
    crash = f"sys.stderr.write('module x is broken\\n'); sys.stderr.flush(); {end}"
    command = agent(f"hear_prompt(); say('so far'); {crash}")
    done = stage.run(turn(command, "--record", str(path)))
    assert (done.returncode, done.stdout) == (exit_codes.AGENT, b"so far\n")
    assert expected in done.stderr
    assert b"module x is broken" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b'"so far"' in said(path, "agent")
    assert read_recording(path).footer is not None


@pytest.mark.parametrize("way", ["hanging", "silent from the start"])
def test_an_agent_that_hangs_or_keeps_silent_ends_with_the_time_that_was_given(
    stage: Stage, agent: Agent, way: str
) -> None:
    talk = "hear_prompt(); say('so far')" if way == "hanging" else ""
    script = f"{DEAF}{talk}\n{FOR_EVER}"
    done = stage.run(turn(agent(script), "--timeout", "2"))
    assert done.returncode == exit_codes.TIME_LIMIT
    assert b"so far" in done.stdout or way != "hanging"
    assert b"2" in done.stderr
    assert b"Traceback" not in done.stderr


def test_output_that_is_pending_at_the_exit_is_read_to_its_end(stage: Stage, agent: Agent) -> None:
    """The agent is gone while most of what it said still stands in the pipe."""
    command = agent("prompt = hear_prompt()\nfor _ in range(100): say('x' * 500)\nend(prompt)")
    done = stage.run(turn(command, "--format", "quiet"))
    assert (done.returncode, done.stdout.strip()) == (exit_codes.DONE, b"x" * 50_000)


def test_garbage_on_stdout_does_its_neighbours_no_harm(
    stage: Stage, agent: Agent, tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    noise = r"os.write(1, b'npm WARN\r\n\xff\xfe{\n\x1b[2J\x00\n' + b'[' * 100_000 + b'\n')"
    command = agent(f"{noise}\nprompt = hear_prompt(); {noise}; say('still here'); end(prompt)")
    done = stage.run(turn(command, "--record", str(path)))
    assert (done.returncode, done.stdout) == (exit_codes.DONE, b"still here\n")
    assert b"\x1b" not in done.stdout + done.stderr
    assert said(path, "agent").count(b"npm WARN\r\n\xff\xfe{\n") == 2


def test_a_slow_agent_is_read_byte_by_byte(stage: Stage, agent: Agent) -> None:
    script = """
def tell(**message):
    for byte in json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n":
        os.write(1, bytes([byte]))
prompt = hear_prompt(); say("in no hurry"); end(prompt)
"""
    done = stage.run(turn(agent(script)))
    assert (done.returncode, done.stdout) == (exit_codes.DONE, b"in no hurry\n")


def test_a_reader_of_ours_that_is_gone_ends_the_turn(stage: Stage, agent: Agent) -> None:
    script = f"{DEAF}hear_prompt()\nwhile True: say('line\\n' * 1000)"
    with stage.party(turn(agent(script))) as party:
        assert party.line() == b"line\n"
        party.leave()
        assert (party.code(), party.stderr()) == (exit_codes.DONE, b"")


def test_a_full_disk_costs_the_recording_alone(stage: Stage, agent: Agent, disk: Disk) -> None:
    """The turn goes on; the exit code says that its recording lacks something."""
    command = agent("prompt = hear_prompt(); say('x' * 90_000); say(' and on'); end(prompt)")
    recorded = turn(command, "--record", str(disk.recording))
    done = stage.run(disk.seen_by(recorded))
    assert (done.returncode, done.stdout) == (exit_codes.FOUND, b"x" * 90_000 + b" and on\n")
    assert done.stderr.count(b"the traffic goes on without it") == 1


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize("command", ["import", "redact"])
def test_a_full_disk_leaves_no_half_of_a_file_and_what_was_there(
    stage: Stage, tmp_path: Path, disk: Disk, command: str, overwrite: tuple[str, ...]
) -> None:
    plain, recording = tmp_path / "plain", tmp_path / "large.acp.ndjson"
    plain.write_bytes(b'{"jsonrpc":"2.0","method":"m","params":{"x":"%b"}}\n' % (b"x" * 900) * 99)
    assert stage.run([*CONSOLE, "import", str(plain), "-o", str(recording)]).returncode == 0
    source = plain if command == "import" else recording
    call = [*CONSOLE, command, str(source), "-o", str(disk.recording), *overwrite]
    script = f'echo precious >"{disk.recording}"; "$@"; code=$?; ls -A "{disk.folder}"; exit $code'
    if not overwrite:
        script = script.partition("; ")[2]
    done = stage.run(disk.seen_by(["sh", "-c", script, "sh", *call]))
    assert done.returncode == exit_codes.USAGE
    reason = f"cannot write {disk.recording}: no space left on device"
    assert done.stderr.decode() == f"error: {reason}\n"
    left = ["ballast", disk.recording.name] if overwrite else ["ballast"]
    assert done.stdout.decode().split() == left


@pytest.mark.parametrize("victim", ["agent", "client"])
def test_kill_9_leaves_no_process_behind_and_the_recording_whole(
    stage: Stage, agent: Agent, tmp_path: Path, victim: str
) -> None:
    path = tmp_path / "it.acp.ndjson"
    command = agent("prompt = hear_prompt(); say(f'{os.getpid()}\\n'); hear('never')")
    with stage.party(turn(command, "--record", str(path))) as party:
        pid = int(party.line())
        os.kill(pid if victim == "agent" else party.process.pid, signal.SIGKILL)
        code, _ = party.end()
        if victim == "agent":
            assert code == exit_codes.AGENT
            assert b"SIGKILL" in party.stderr()
    assert f"{pid}\\n".encode() in said(path, "agent")
    assert (read_recording(path).footer is not None) == (victim == "agent")


DETACHING = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True).wait()"
WRAPPERS = {
    "group": ["sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "npx"],
    "session": [sys.executable, "-ISc", DETACHING],
}


CODES = {"turn": 0, "SIGINT": 130, "SIGTERM": 143}
"""What ends a client, and with which code."""


def test_what_a_wrapper_started_ends_with_the_client(stage: Stage, agent: Agent) -> None:
    """Even what ignores the friendly signs; the wrapper passes on nothing but the pipes."""
    parties: dict[tuple[str, str], Party] = {}
    with ExitStack() as running:
        for name, end in product(WRAPPERS, CODES):
            inner = agent(
                f"{DEAF}prompt = hear_prompt(); say('inside\\n')\n"
                f"if {end == 'turn'}: end(prompt)\n{FOR_EVER}"
            )
            party = running.enter_context(stage.party(turn([*WRAPPERS[name], *inner])))
            assert party.line() == b"inside\n"
            parties[name, end] = party
        # All wait together for what ignores the signs.
        for (_, end), party in parties.items():
            if end != "turn":
                party.process.send_signal(signal.Signals[end])
        ended = {key: party.end()[0] for key, party in parties.items()}
    assert ended == {(name, end): CODES[end] for name, end in parties}


def test_a_killed_proxy_is_no_longer_listed(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    proxy = [*CONSOLE, "proxy", "--record", str(path), "--name", "cut", "--", "cat"]
    with stage.party(proxy) as party:
        party.write(b"{}\n")
        assert party.line() == b"{}\n"
        listed = stage.run([*CONSOLE, "attach", "--list"])
        assert b"cut" in listed.stdout
        party.process.kill()
        party.code()
        done = stage.run([*CONSOLE, "attach", "--list"])
    assert done.stdout == b""
    assert b"no proxy is running; start one with" in done.stderr
    assert "spawn" in events(path)


@pytest.mark.parametrize("end", ["terminal closed", "SIGTERM", "kill -9"])
def test_a_console_without_its_terminal_leaves_no_process_behind(
    stage: Stage, agent: Agent, tmp_path: Path, end: str
) -> None:
    """The agent says that it is there by a pipe of its own; it hears of no signal but SIGKILL."""
    if shutil.which("setsid") is None:
        pytest.skip("setsid gives a program a terminal of its own, and is not here")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # After kill -9 no process is left to end an agent that does not read its stdin.
    rest = "hear('never')" if end == "kill -9" else FOR_EVER
    script = f"{DEAF}greet()\nopen({str(pipe)!r}, 'w').write('here')\n{rest}"
    ours, theirs = pty.openpty()
    command = ["setsid", "--ctty", "--wait", *CONSOLE, "chat", "--", *agent(script)]
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with (
        subprocess.Popen(["cat"], stdin=ours, stdout=subprocess.DEVNULL) as terminal,
        subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=stage.environment, cwd=tmp_path
        ) as process,
    ):
        os.close(ours)
        os.close(theirs)
        try:
            assert select.select([reader], [], [], LIMIT)[0]
            console = min(pid for pid in stage.processes() if is_console(pid))
            match end:
                case "terminal closed":
                    # Only the process that draws it holds the other end.
                    terminal.kill()
                case "SIGTERM":
                    os.kill(console, signal.SIGTERM)
                case _:
                    os.kill(console, signal.SIGKILL)
            code = process.wait(LIMIT)
        finally:
            os.close(reader)
            process.kill()
            terminal.kill()
    assert code == {"terminal closed": 129, "SIGTERM": 143, "kill -9": -9}[end]


def is_console(pid: int) -> bool:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b"acp_console" in words and words[0] != b"setsid"
