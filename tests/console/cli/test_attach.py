"""Running proxies on the command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from tests.console.conftest import Call
from tests.warm import WARM

DOCS = Path(__file__).parents[3] / "docs/intercept.md"
CAT = (sys.executable, "-c", "import sys; sys.stdin.read()")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No proxy of another test is found."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


@pytest.fixture
def proxy(alone: None) -> Generator[subprocess.Popen[bytes]]:
    del alone
    command = [sys.executable, "-m", "acp_console", "proxy", "--name", "work", "--", *CAT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def listed(call: Call, *options: str) -> str:
    """Return the list once the proxy, which has just been started, stands in it."""
    for _ in range(2000):
        outcome = call("attach", "--list", *options)
        assert outcome.code == exit_codes.DONE
        if outcome.out:
            return outcome.out
    raise AssertionError("the proxy never appeared")


def test_running_proxies_are_listed(call: Call, proxy: subprocess.Popen[bytes]) -> None:
    (line,) = listed(call).splitlines()
    assert line.split()[:2] == ["work", str(proxy.pid)]
    about = json.loads(listed(call, "--json"))
    assert (about["name"], about["pid"], about["command"]) == ("work", proxy.pid, list(CAT))


def test_without_one_the_list_is_empty_and_says_what_to_do(call: Call, alone: None) -> None:
    del alone
    outcome = call("attach", "--list")
    assert (outcome.code, outcome.out) == (exit_codes.DONE, "")
    assert "acp-console proxy -- my-agent" in outcome.err
    assert call("attach", "--list", "--json").out == ""


ECHO = (
    sys.executable,
    "-c",
    "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()",
)
LIMIT = 30


@pytest.fixture
def echo(alone: None) -> Generator[subprocess.Popen[bytes]]:
    """A proxy before an agent that says what it hears."""
    del alone
    command = [*WARM, "-m", "acp_console", "proxy", "--name", "work", "--", *ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        say(process, b'{"hello":1}')
        assert read_line(process) == b'{"hello":1}'
        yield process
        assert process.stdin is not None
        process.stdin.close()


def say(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().removesuffix(b"\n")


def replies_to(*commands: str, code: int = exit_codes.DONE) -> list[dict[str, Any]]:
    """Ask from a shell; return the answers."""
    words = [word for command in commands for word in ("--ask", command)]
    command = [*WARM, "-m", "acp_console", "attach", "work", *words]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT, check=False)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def code_without_reader(*commands: str) -> int:
    """Return the exit code of `attach` whose stdout is a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [word for command in commands for word in ("--ask", command)]
    command = [*WARM, "-m", "acp_console", "attach", "work", *words]
    with os.fdopen(writing, "wb") as stdout:
        return subprocess.run(
            command, stdout=stdout, stderr=subprocess.PIPE, timeout=LIMIT, check=False
        ).returncode


def test_commands_are_carried_out_and_refusals_are_not_green_without_a_reader(
    echo: subprocess.Popen[bytes],
) -> None:
    point = '{"do":"break","filter":"from == client"}'
    assert code_without_reader('{"do":"state"}', point) == exit_codes.DONE
    say(echo, b'{"n":1}')
    release = '{"do":"release"}'
    assert code_without_reader('{"do":"held","seconds":30}', release, release) == exit_codes.FOUND
    assert read_line(echo) == b'{"n":1}'


def test_watching_ends_without_a_reader_and_before_the_next_frame(
    echo: subprocess.Popen[bytes],
) -> None:
    del echo
    assert code_without_reader('{"do":"watch"}') == exit_codes.DONE
    assert code_without_reader('{"do":"release"}', '{"do":"watch"}') == exit_codes.FOUND


def test_a_frame_is_held_and_changed_by_shell_commands_that_come_and_go(
    echo: subprocess.Popen[bytes],
) -> None:
    (point,) = replies_to('{"do":"break","filter":"from == client"}')
    say(echo, b'{"n":1}')
    (held,) = replies_to('{"do":"held","seconds":30}')
    (hold,) = held["ok"]["holds"]
    assert (hold["text"], hold["breakpoint"]) == ('{"n":1}', point["ok"]["id"])
    assert replies_to('{"do":"edit","json":{"n":2}}') == [{"ok": None}]
    assert read_line(echo) == b'{"n":2}'
    assert replies_to('{"do":"release"}', code=exit_codes.FOUND) == [{"error": "no frame is held"}]


def test_several_commands_get_replies_in_their_order(echo: subprocess.Popen[bytes]) -> None:
    first, second, third = replies_to(
        '{"do":"inject","from":"agent","json":{"jsonrpc":"2.0","method":"ours"}}',
        '{"do":"nothing"}',
        '{"do":"hello"}',
        code=exit_codes.FOUND,
    )
    assert first["ok"]["id"] is None
    assert "there is no command" in second["error"]
    assert third["ok"]["name"] == "work"
    assert read_line(echo) == b'{"jsonrpc":"2.0","method":"ours"}'


def test_commands_from_stdin_keep_the_observer_attached(echo: subprocess.Popen[bytes]) -> None:
    command = [*WARM, "-m", "acp_console", "attach", "--ask", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        for command, answer in (
            (b"no JSON", "a command has to be a JSON object"),
            (b'{"do":"break","filter":"from == client"}', '{"ok":'),
        ):
            say(shell, command)
            assert answer in read_line(shell).decode()
        say(echo, b'{"n":1}')
        say(shell, b'{"do":"held","seconds":30}')
        assert '{\\"n\\":1}' in read_line(shell).decode()
        assert shell.stdin is not None
        shell.stdin.close()
        assert shell.wait(LIMIT) == exit_codes.FOUND
    assert read_line(echo) == b'{"n":1}'


def test_the_recording_can_be_watched_from_a_shell(echo: subprocess.Popen[bytes]) -> None:
    command = [*WARM, "-m", "acp_console", "attach", "--ask", '{"do":"watch"}']
    with subprocess.Popen(command, stdout=subprocess.PIPE) as shell:
        lines = [json.loads(read_line(shell)) for _ in range(3)]
        assert [next(iter(line)) for line in lines] == ["ok", "acp_recording", "n"]
        assert echo.stdin is not None
        echo.stdin.close()
        assert shell.stdout is not None
        assert b'"event":"exit"' in shell.stdout.read()
        assert shell.wait(LIMIT) == exit_codes.DONE


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--ask", "{"), "a command has to be a JSON object: no JSON"),
        (("--ask", "[]"), "a command has to be a JSON object like"),
        (("--ask", "-", "--ask", "{}"), "--ask - cannot be combined"),
        (("--ask", "{}", "--list"), "--list cannot be combined with --ask"),
        (("nobody", "--ask", "{}"), "error: no proxy is running"),
    ],
)
def test_an_invalid_command_is_reported(
    call: Call, alone: None, words: tuple[str, ...], sentence: str
) -> None:
    del alone
    outcome = call("attach", *words)
    assert outcome.code == exit_codes.USAGE
    assert sentence in outcome.err


@pytest.mark.parametrize("number", ["1e400", "1" + "0" * 400])
def test_a_number_without_bounds_is_refused_in_a_sentence(
    echo: subprocess.Popen[bytes], number: str
) -> None:
    del echo
    (answer,) = replies_to(f'{{"do":"keep","seconds":{number}}}', code=exit_codes.FOUND)
    assert list(answer) == ["error"]
    assert "foreseen" not in answer["error"]
    assert "cannot be done" not in answer["error"]


def test_an_error_to_answer_with_reaches_the_proxy(echo: subprocess.Popen[bytes]) -> None:
    del echo
    error = '{"code":-32000,"message":"no"}'
    assert replies_to(f'{{"do":"answer","error":{error}}}', code=exit_codes.FOUND) == [
        {"error": "no frame is held"}
    ]


def test_watching_ends_when_stdout_is_closed(echo: subprocess.Popen[bytes]) -> None:
    command = [*WARM, "-m", "acp_console", "attach", "--ask", '{"do":"watch"}']
    with subprocess.Popen(command, stdout=subprocess.PIPE) as shell:
        read_line(shell)
        assert shell.stdout is not None
        shell.stdout.close()
        assert shell.wait(LIMIT) == exit_codes.DONE
    assert echo.poll() is None


# The documents.

RESPONDER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"params": message["params"]}}
        print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def place(tmp_path: Path, alone: None) -> dict[str, str]:
    """An environment in which the words of the documents are commands and files."""
    del alone
    for name, module in (("acp-console", "-m acp_console"), ("my-agent", "agent.py")):
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(WARM)} {module} "$@"\n')
        path.chmod(0o700)
    (tmp_path / "agent.py").write_text(RESPONDER)
    (tmp_path / "faults.toml").write_text(examples("toml")[0])
    (tmp_path / "hooks.py").write_text(examples("python")[0])
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}


def examples(language: str) -> list[str]:
    """Return what stands in the documents in that language."""
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


def asking(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}).encode()


def test_the_documents_begin_with_commands_that_run(place: dict[str, str], tmp_path: Path) -> None:
    (commands, *_) = examples("sh")
    lines = commands.splitlines()
    assert len(lines) == 3
    for line in lines:
        done = subprocess.run(
            ["bash", "-c", line],
            input=asking("session/list") + b"\n",
            capture_output=True,
            env=place,
            cwd=tmp_path,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b'"params"' in done.stdout


def test_the_documents_ask_from_a_shell_what_is_answered(
    place: dict[str, str], tmp_path: Path
) -> None:
    _, commands, attached = examples("sh")
    proxy = ["acp-console", "proxy", "--name", "work", "--", "my-agent"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen[bytes](proxy, env=place, cwd=tmp_path, **pipes) as process:
        say(process, asking("session/new"))
        read_line(process)
        with subprocess.Popen[bytes](["bash", "-e"], env=place, cwd=tmp_path, **pipes) as shell:
            assert shell.stdin is not None
            assert shell.stdout is not None
            shell.stdin.write(commands.encode())
            shell.stdin.close()
            answers = [read_line(shell)]
            say(process, asking("session/prompt", prompt="hi"))
            answers += shell.stdout.read().splitlines()
            assert shell.wait(LIMIT) == 0
        assert json.loads(read_line(process))["result"]["params"]["prompt"][0]["text"] == "plan"
        replies = [json.loads(answer).get("ok", answer) for answer in answers]
        assert replies[0] == {"id": 1}
        assert replies[1]["holds"][0]["from"] == "client"
        assert json.loads(replies[2]["text"])["params"] == {"prompt": "hi"}
        assert replies[3] is None
        assert json.loads(replies[4]["answer"]["text"])["result"] == {"params": {}}
        assert replies[5]["breakpoints"][0]["id"] == 1
        assert replies[6:8] == [None, None]
        assert len(replies) == 8 + 5
        done = subprocess.run(
            ["bash", "-e", "-c", attached],
            capture_output=True,
            env=place,
            timeout=LIMIT,
            check=True,
        )
        assert json.loads(done.stdout)["ok"]["id"] > 1
        assert process.stdin is not None
        process.stdin.close()


RECORDING = str(Path(__file__).parents[3] / "recordings/hello.acp.ndjson")


@pytest.mark.parametrize("words", [("attach",), ("attach", "--json"), ("inspect", RECORDING)])
def test_a_screen_needs_a_terminal(call: Call, alone: None, words: tuple[str, ...]) -> None:
    del alone
    outcome = call(*words)
    assert outcome.code == exit_codes.USAGE
    assert outcome.err.startswith("error: ")
