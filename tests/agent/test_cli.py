"""The command `acp-agent`, in processes of its own."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from acp_protocol.jsonrpc import Json, encode_notification, encode_request
from acp_protocol.version import VERSION
from tests.warm import WARM

COMMAND = [*WARM, "-m", "acp_agent"]
LIMIT = 30.0
"""Seconds after which the agent counts as hung."""


def ran(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, timeout=LIMIT, check=False
    )


class Agent:
    """A running agent with an open session."""

    def __init__(self, process: subprocess.Popen[bytes], cwd: Path) -> None:
        self.process = process
        self.ask(0, "initialize", {"protocolVersion": 1})
        self.read(lambda message: message.get("id") == 0)
        self.ask(1, "session/new", {"cwd": str(cwd), "mcpServers": []})
        opened = self.read(lambda message: message.get("id") == 1)
        self.session_id: str = opened["result"]["sessionId"]

    def send(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def ask(self, id_: int, method: str, params: Json) -> None:
        self.send(encode_request(id_, method, params))

    def leave(self) -> None:
        """Let it end by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(LIMIT)

    def prompt(self, id_: int, text: str) -> None:
        self.send(self.prompt_line(id_, text))

    def prompt_line(self, id_: int, text: str) -> bytes:
        prompt = [{"type": "text", "text": text}]
        return encode_request(
            id_, "session/prompt", {"sessionId": self.session_id, "prompt": prompt}
        )

    def cancel_line(self) -> bytes:
        return encode_notification("session/cancel", {"sessionId": self.session_id})

    def read(self, is_wanted: Callable[[Json], bool]) -> Json:
        """Return the next message that is wanted."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if is_wanted(message):
                return message
        raise AssertionError("the agent has ended")

    def rest(self) -> list[Json]:
        """Wait for the agent's end; return all that it still said."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdin = None
        out, _ = self.process.communicate(timeout=LIMIT)
        return [json.loads(line) for line in out.splitlines()]


@contextmanager
def running(cwd: Path, *options: str) -> Generator[Agent]:
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *options], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Agent(process, cwd)
        finally:
            process.kill()


def is_question(message: Json) -> bool:
    return message.get("method") == "session/request_permission"


def has_content(message: Json) -> bool:
    return bool(message.get("params", {}).get("update", {}).get("content"))


def test_its_version_names_the_schema() -> None:
    done = ran("--version")
    assert done.returncode == 0
    assert done.stdout.decode().startswith(f"acp-agent {VERSION} (ACP schema ")


@pytest.mark.parametrize(
    "arguments", [("--pace", "-1"), ("--pace", "nan"), ("--pace", "soon"), ("--model", "oracle")]
)
def test_options_that_make_no_sense_are_refused(arguments: tuple[str, ...]) -> None:
    done = ran(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr


def test_the_end_of_input_is_the_end() -> None:
    done = ran()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_stdin_or_stdout_it_says_so(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "acp_agent"],
        stderr=subprocess.PIPE,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"stdin and stdout are needed" in done.stderr


def test_on_a_terminal_it_says_what_it_is_and_still_serves() -> None:
    ours, theirs = pty.openpty()
    pipe = subprocess.PIPE
    with subprocess.Popen(COMMAND, stdin=theirs, stdout=pipe, stderr=pipe) as process:
        os.close(theirs)
        os.write(ours, encode_request(0, "initialize", {"protocolVersion": 1}) + b"\n")
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["result"]["protocolVersion"] == 1
        os.write(ours, b"\x04")
        _, said = process.communicate(timeout=LIMIT)
    os.close(ours)
    assert process.returncode == 0
    assert said.count(b"\n") == 1
    assert b"an ACP client" in said


def test_garbage_is_answered_and_does_no_harm(cwd: Path) -> None:
    with running(cwd) as agent:
        agent.send(b"what?", b"[]", b"{}", b"\xff", b'{"jsonrpc":"2.0","id":{},"method":"x"}')
        answers = [agent.read(lambda message: "error" in message) for _ in range(5)]
        agent.prompt(2, "read notes.md")
        ended = agent.read(lambda message: message.get("id") == 2)
    codes = [answer["error"]["code"] for answer in answers]
    assert codes == [-32700, -32600, -32600, -32700, -32600]
    assert ended["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("end", ["input", "SIGTERM", "SIGHUP"])
def test_its_end_ends_a_turn_that_waits_for_consent(cwd: Path, end: str) -> None:
    with running(cwd) as agent:
        agent.prompt(2, "write new.txt: x")
        agent.read(is_question)
        if end != "input":
            agent.process.send_signal(signal.Signals[end])
            agent.process.wait(LIMIT)
        rest = agent.rest()
        assert agent.process.returncode == 0
    assert rest[-1] == {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "cancelled"}}
    assert rest[-2]["params"]["update"]["status"] == "failed"
    assert not (cwd / "new.txt").exists()


@pytest.mark.parametrize("end", ["input", "SIGTERM"])
def test_its_end_ends_the_programs_that_it_runs(cwd: Path, end: str) -> None:
    with running(cwd) as agent:
        params = {"sessionId": agent.session_id, "modeId": "auto"}
        agent.ask(2, "session/set_mode", params)
        agent.prompt(3, "run sh -c 'echo $$; exec sleep 1000'")
        shown = agent.read(lambda message: has_content(message) and "tool" in str(message))
        pid = int(shown["params"]["update"]["content"][0]["content"]["text"].split()[1])
        os.kill(pid, 0)
        if end != "input":
            agent.process.send_signal(signal.Signals[end])
        rest = agent.rest()
        assert agent.process.returncode == 0
    assert rest[-1]["result"] == {"stopReason": "cancelled"}
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_cancel_right_behind_its_prompt_is_not_overheard(cwd: Path) -> None:
    """All of it stands in one piece of input, behind a cancel that means nothing."""
    with running(cwd) as agent:
        agent.send(agent.cancel_line(), agent.prompt_line(2, "run sleep 1000"), agent.cancel_line())
        answer = agent.read(lambda message: message.get("id") == 2)
    assert answer["result"] == {"stopReason": "cancelled"}


def test_what_was_asked_before_the_end_of_input_is_answered(cwd: Path) -> None:
    with running(cwd) as agent:
        params: Json = {"cwd": str(cwd), "mcpServers": []}
        agent.send(*(encode_request(id_, "session/new", params) for id_ in range(2, 300)))
        answers = [message["id"] for message in agent.rest() if "result" in message]
    assert sorted(answers) == list(range(2, 300))


def test_text_comes_at_the_pace_that_was_asked_for(cwd: Path) -> None:
    """The pace is long: what comes before a cancel is the first piece alone."""
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, "--pace", "1000"], stdin=pipe, stdout=pipe) as process:
        agent = Agent(process, cwd)
        agent.prompt(2, "help")
        chunk = agent.read(has_content)["params"]["update"]
        agent.send(agent.cancel_line())
        rest = agent.rest()
    assert chunk["content"]["text"] == "I am the **demo agent**. "
    assert rest == [{"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "cancelled"}}]


@pytest.mark.parametrize(
    "options",
    [
        ("--max-concurrent", "0"),
        ("--max-concurrent", "many"),
        ("--idle-timeout", "0s"),
        ("--idle-timeout", "1y"),
        ("--idle-timeout", "soon"),
        ("--idle-timeout", ""),
    ],
)
def test_options_of_sessions_that_make_no_sense_are_refused(options: tuple[str, str]) -> None:
    done = ran(*options)
    assert done.returncode == 2
    assert options[0] in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_session_outlives_its_process_only_where_it_is_kept(tmp_path: Path) -> None:
    options = ("--sessions", str(tmp_path / "kept"), "--idle-timeout", "1h", "--unstable")
    with running(tmp_path, *options) as agent:
        agent.prompt(2, "hello")
        agent.read(lambda message: message.get("id") == 2)
        session_id = agent.session_id
        agent.leave()
    load: Json = {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []}
    for kept, answer in ((options, "result"), ((), "error")):
        with running(tmp_path, *kept) as agent:
            agent.ask(2, "session/load", load)
            assert answer in agent.read(lambda message: message.get("id") == 2)
            agent.leave()
    assert list((tmp_path / "kept" / "open").iterdir()) == []


def test_a_line_that_is_too_long_is_refused_and_reported() -> None:
    done = ran(stdin=b'{"jsonrpc":"2.0","method":"' + b"x" * 2**26 + b'"}\n')
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert b"the client was refused: a frame is longer than" in done.stderr
