"""Faults around our own agent: what it answers, and that nothing of it is left behind.

It is the other end here, so that its client is who is slow, silent, gone or killed, and the
programs that it runs are what crashes and hangs.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.disks import Disk
from tests.faults.processes import AGENT, LIMIT, MARK, Party, Stage, python

pytestmark = pytest.mark.long

DEAF = "import os, signal, sys, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
PROMPT = 3
SESSIONS = 40
"""Sessions in which a client has something to read at once."""


class Client:
    """The client of an agent that has opened a session in which nothing is asked."""

    def __init__(self, party: Party, cwd: Path) -> None:
        self.party = party
        party.send(id=0, method="initialize", params={"protocolVersion": 1})
        party.send(id=1, method="session/new", params={"cwd": str(cwd), "mcpServers": []})
        opened = party.hear(lambda message: message.get("id") == 1)
        self.session = {"sessionId": opened["result"]["sessionId"]}

    def never_asked(self) -> None:
        self.party.send(id=2, method="session/set_mode", params=self.session | {"modeId": "auto"})
        self.party.hear(lambda message: message.get("id") == 2)

    def prompt(self, text: str) -> None:
        params = self.session | {"prompt": [{"type": "text", "text": text}]}
        self.party.send(id=PROMPT, method="session/prompt", params=params)

    def cancel(self) -> None:
        self.party.send(method="session/cancel", params=self.session)

    def hear_update(self, words: str) -> Any:
        return self.party.hear(lambda message: words in json.dumps(message.get("params")))

    def hear_end(self) -> Any:
        return self.party.hear(lambda message: message.get("id") == PROMPT)["result"]


@contextmanager
def client(stage: Stage, cwd: Path, command: list[str] | None = None) -> Generator[Client]:
    with stage.party(command or AGENT, cwd=cwd) as party:
        yield Client(party, cwd)


def program(script: str) -> str:
    """Return the prompt, of one line, that has a program run."""
    return f"run {shlex.join(python(f'exec({script!r})'))}"


@pytest.mark.parametrize(
    ("end", "expected"), [("os._exit(42)", "42"), ("os.kill(os.getpid(), 11)", "SIGSEGV")]
)
def test_a_program_that_crashes_fails_its_call_and_not_the_turn(
    stage: Stage, tmp_path: Path, end: str, expected: str
) -> None:
    with client(stage, tmp_path) as it:
        it.never_asked()
        it.prompt(program(f"import os; os.write(2, b'last words'); {end}"))
        failed = it.hear_update('"failed"')
        assert expected in json.dumps(failed)
        assert it.hear_end() == {"stopReason": "end_turn"}
        assert it.party.end()[0] == 0


def test_a_hanging_program_that_ignores_signals_ends_with_the_turn(
    stage: Stage, tmp_path: Path
) -> None:
    with client(stage, tmp_path) as it:
        it.never_asked()
        it.prompt(program(f"{DEAF}print('here', flush=True)\nwhile True: time.sleep(1000)"))
        it.hear_update("here\\n")
        it.cancel()
        assert it.hear_end() == {"stopReason": "cancelled"}
        assert it.party.end()[0] == 0


def test_what_a_program_started_ends_with_its_call(stage: Stage, tmp_path: Path) -> None:
    inner = f"{DEAF}print('inside', flush=True)\nwhile True: time.sleep(1000)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with client(stage, tmp_path) as it:
        it.never_asked()
        it.prompt(program(outer))
        it.hear_update("inside\\n")
        it.cancel()
        assert it.hear_end() == {"stopReason": "cancelled"}
        assert it.party.end()[0] == 0


def test_a_request_right_before_the_end_gets_its_response(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n" * 2000)
    with client(stage, tmp_path) as it:
        it.prompt("read a.txt")
        code, rest = it.party.end()
    last = json.loads(rest.splitlines()[-1])
    assert code == 0
    assert last["id"] == PROMPT
    assert last["result"]["stopReason"] in {"end_turn", "cancelled"}


def test_garbage_from_the_client_is_answered_and_does_no_harm(stage: Stage, tmp_path: Path) -> None:
    with client(stage, tmp_path) as it:
        it.party.write(b'\xff\xfe{\r\n\x00\n"\n{"id":9}\n' + b"[" * 100_000 + b"\n")
        it.prompt("hello")
        assert it.hear_end() == {"stopReason": "end_turn"}
        assert it.party.end()[0] == 0
        assert b"Traceback" not in it.party.stderr()


def test_a_client_that_is_slow_to_read_is_waited_for_and_gets_everything(
    stage: Stage, tmp_path: Path
) -> None:
    """One that reads nothing at first holds the agent up; its memory does not grow meanwhile."""
    text = "".join(f"line {number} of a long text\n" for number in range(2000))
    (tmp_path / "long.txt").write_text(text)
    with client(stage, tmp_path, [*AGENT, "--max-concurrent", str(SESSIONS + 1)]) as it:
        status = Path(f"/proc/{it.party.process.pid}/status")
        before = _peak(status)
        sessions: list[str] = []
        for number in range(SESSIONS):
            it.party.send(
                id=10 + number,
                method="session/new",
                params={"cwd": str(tmp_path), "mcpServers": []},
            )
            sessions.append(it.party.hear(_has_result)["result"]["sessionId"])
        prompt = [{"type": "text", "text": "read long.txt"}]
        for number, session in enumerate(sessions):
            params = {"sessionId": session, "prompt": prompt}
            it.party.send(id=100 + number, method="session/prompt", params=params)
        ended = [it.party.hear(_has_result) for _ in sessions]
        assert {answer["id"] for answer in ended} == set(range(100, 100 + SESSIONS))
        assert all(answer["result"]["stopReason"] == "end_turn" for answer in ended)
        assert _peak(status) - before < 100 * 1024
        assert it.party.end()[0] == 0


def _has_result(message: Any) -> bool:
    return "result" in message


def _peak(status: Path) -> int:
    """Return the most memory that a process ever had, in kilobytes."""
    line = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1])


def test_a_client_may_read_byte_by_byte(stage: Stage, tmp_path: Path) -> None:
    with client(stage, tmp_path) as it:
        params = it.session | {"prompt": [{"type": "text", "text": "hello ünï"}]}
        message = {"jsonrpc": "2.0", "id": PROMPT, "method": "session/prompt", "params": params}
        for byte in json.dumps(message, ensure_ascii=False).encode() + b"\n":
            it.party.write(bytes([byte]))
        assert it.hear_end() == {"stopReason": "end_turn"}
        assert it.party.end()[0] == 0


def test_a_client_that_never_answers_can_still_cancel(stage: Stage, tmp_path: Path) -> None:
    with client(stage, tmp_path) as it:
        it.prompt("write new.txt: x")
        it.party.hear(lambda message: message.get("method") == "session/request_permission")
        it.cancel()
        assert it.hear_end() == {"stopReason": "cancelled"}
        assert not (tmp_path / "new.txt").exists()
        assert it.party.end()[0] == 0


@pytest.mark.parametrize("how", ["gone", "killed"])
def test_a_client_that_is_gone_takes_agent_and_programs_with_it(
    stage: Stage, tmp_path: Path, how: str
) -> None:
    """A client that is killed says nothing: its pipes are closed for it."""
    deaf = f"{DEAF}print('here', flush=True)\nwhile True: time.sleep(1000)"
    if how == "gone":
        with client(stage, tmp_path) as it:
            it.never_asked()
            it.prompt(program(deaf))
            it.hear_update("here\\n")
            it.party.leave()
            it.party.code()
        return
    relay = (
        "import os, subprocess, sys, threading\n"
        "agent = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "def pump(source, sink):\n"
        "  while chunk := os.read(source, 65536): os.write(sink, chunk)\n"
        "threading.Thread(target=pump, args=(0, agent.stdin.fileno()), daemon=True).start()\n"
        "pump(agent.stdout.fileno(), 1)"
    )
    with client(stage, tmp_path, [sys.executable, "-c", relay, *AGENT]) as it:
        it.never_asked()
        it.prompt(program(deaf))
        it.hear_update("here\\n")
        it.party.process.send_signal(signal.SIGKILL)
        it.party.code()


@pytest.mark.parametrize("stays", [True, False])
def test_an_agent_that_is_killed_takes_its_programs_with_it(
    stage: Stage, tmp_path: Path, stays: bool
) -> None:
    """They hear nothing but SIGKILL, and what they started may have left their group."""
    inner = f"{DEAF}print('inside', flush=True)\nwhile True: time.sleep(1000)"
    outer = (
        f"{DEAF}import subprocess\n"
        f"subprocess.run([sys.executable, '-c', {inner!r}], start_new_session={not stays})"
    )
    with client(stage, tmp_path) as it:
        it.never_asked()
        it.prompt(program(outer))
        it.hear_update("inside\\n")
        it.party.process.send_signal(signal.SIGKILL)
        it.party.code()
        # Whatever goes on does not keep the client waiting.
        it.party.stdout.read()


def test_a_killed_agent_takes_an_unresponsive_server_with_it(stage: Stage, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    # A server that was just started may outlive the agent, so it waits for the first request.
    wait = "sys.stdin.readline()\nprint('here', file=open(sys.argv[1], 'w'))"
    server = {
        "name": "deaf",
        "command": sys.executable,
        "args": ["-c", f"{DEAF}{wait}\nwhile True: time.sleep(1000)", str(begun)],
        "env": [{"name": MARK, "value": stage.environment[MARK]}],
    }
    with client(stage, tmp_path) as it, begun.open("rb+", buffering=0) as heard:
        params = {"cwd": str(tmp_path), "mcpServers": [server]}
        it.party.send(id=9, method="session/new", params=params)
        assert select.select([heard], [], [], LIMIT)[0]
        it.party.process.send_signal(signal.SIGKILL)
        it.party.code()
        it.party.stdout.read()


def test_a_full_disk_fails_the_edit_and_leaves_the_file_as_it_was(
    stage: Stage, tmp_path: Path, disk: Disk
) -> None:
    """The agent keeps no sessions on disk yet, so what is at stake is the user's file."""
    script = (
        f"import os, sys; os.chdir({str(disk.folder)!r}); open('a.txt', 'w').write('old words'); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    filled = [sys.executable, "-c", script, *AGENT]
    with client(stage, disk.folder, disk.seen_by(filled)) as it:
        it.never_asked()
        it.prompt(f"write big.txt: {'x' * 90_000}")
        assert "no space left" in json.dumps(it.hear_update('"failed"')).lower()
        assert it.hear_end() == {"stopReason": "end_turn"}
        it.party.send(id=9, method="session/prompt", params=_words(it, "read a.txt"))
        it.hear_update("old words")
        assert it.party.end()[0] == 0


def _words(it: Client, text: str) -> Any:
    return it.session | {"prompt": [{"type": "text", "text": text}]}
