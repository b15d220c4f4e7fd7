"""What people report about agents that do not start, and about what outlives them.

Each case is one public report of somebody who uses or writes an agent or an editor, reduced and
retold with other names.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from acp_console.cli import exit_codes
from acp_protocol.errors import AgentExitedError, AgentStartError
from acp_protocol.host.process import spawn
from tests.console.conftest import Agent, Call
from tests.protocol.host.test_processes import LIMIT, first_line, script

Write = Callable[[Path], object]


def program(data: bytes) -> Write:
    """Return what writes an executable file."""

    def write(path: Path) -> None:
        path.write_bytes(data)
        path.chmod(0o755)

    return write


def for_another_system(path: Path) -> None:
    data = Path(shutil.which("true") or "/bin/true").read_bytes()
    if b"/ld-" not in data:
        pytest.skip("the programs of this system have no loader")
    program(data.replace(b"/ld-", b"/xx-"))(path)


UNSTARTABLE: dict[str, tuple[Write, str]] = {
    "the version manager was removed": (
        program(b"#!/opt/gone/node\n"),
        "its interpreter does not exist: /opt/gone/node\nhint: install that",
    ),
    "the script was checked out on Windows": (
        program(b"#!/bin/sh\r\nexec agent --acp\r\n"),
        "its first line ends with a carriage return",
    ),
    "the binary is for another libc": (for_another_system, "it needs a loader that does not"),
    "the download was cut": (program(b""), "the file is empty"),
    "the archive was the wrong one": (program(b"MZ\x90\0"), "it is a program for Windows"),
    "the wrapper has no first line": (
        program(b"exec agent --acp\n"),
        "its first line names no interpreter\nhint: begin a script with a line such as",
    ),
    "the archive lost its permissions": (
        lambda path: path.write_bytes(b"#!/bin/sh\n"),
        "it may not be executed\nhint: check its permissions",
    ),
    "the setting names the package": (
        lambda path: path.mkdir(),
        "it is a directory\nhint: name the program in it",
    ),
}


@pytest.mark.parametrize("name", UNSTARTABLE)
def test_a_file_that_exists_is_never_called_missing(call: Call, tmp_path: Path, name: str) -> None:
    write, reason = UNSTARTABLE[name]
    path = tmp_path / "my-agent"
    write(path)
    done = call("exec", "go", "--", str(path))
    assert done.code == exit_codes.AGENT
    assert f"error: cannot start {path}: " in done.err
    assert reason in done.err


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        # An editor that a desktop has started has another PATH than the shell.
        (["my-agent-of-nvm", "--acp"], "PATH, which is shorter in editors and desktops"),
        # The setting has one text for the whole command.
        (["python3 -m my_agent --acp"], "python3 and its arguments are words of their own"),
        # The path has a space, and the setting was split there.
        (["/opt/My", "Tools/my-agent"], "check its path"),
    ],
)
def test_a_command_that_does_not_exist_has_a_hint(
    call: Call, command: list[str], hint: str
) -> None:
    done = call("exec", "go", "--", *command)
    assert done.code == exit_codes.AGENT
    assert f"cannot start {command[0]}: there is no such command\nhint: " in done.err
    assert hint in done.err


def test_a_directory_that_is_gone_is_not_blamed_on_the_command(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worktree of a task is removed while its shell is still there."""
    folder = tmp_path / "worktree"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    done = call("exec", "go", "--", "cat")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "error: the current directory does not exist any more\n" in done.err


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        # The runtime is too old for the syntax of the agent.
        (
            "echo 'agent.js:12' >&2; echo 'SyntaxError: Unexpected token' >&2; exit 1",
            ["exited with code 1", "  | agent.js:12\n", "  | SyntaxError: Unexpected token\n"],
        ),
        # The version that the setting pins was never published.
        (
            "echo 'npm error code E404' >&2; exit 1",
            ["exited with code 1", "  | npm error code E404"],
        ),
        # The package runner asks on stdout whether it may install.
        (
            "echo 'Need to install my-agent@1. Ok? (y)'; read answer; exit 1",
            ["exited with code 1", "it wrote invalid output to stdout: Need to install my-agent@1"],
        ),
        # Without its flag, the program draws its own screen.
        (
            "printf '\\033[?1049h\\033[2JWelcome\\n'; exit 0",
            ["exited with code 0", "␛[?1049h␛[2JWelcome", "Many need an argument such as --acp"],
        ),
        # It prints its help, or nothing, and is content.
        ("exit 0", ["exited with code 0"]),
        # The system ends it for its memory.
        ("kill -9 $$", ["was ended by SIGKILL"]),
        # It reports so much that nobody who does not read it would see its end.
        ("yes error | head -n 40000 >&2; echo last >&2; exit 4", ["with code 4", "  | last\n"]),
        # It fails, and what it has started keeps its stdout open.
        (
            "read initialize; setsid sleep 60 & echo 'no port' >&2; exit 5",
            ["exited with code 5", "  | no port\n"],
        ),
    ],
)
def test_an_agent_that_ends_at_once_says_why(call: Call, shell: str, said: list[str]) -> None:
    done = call("exec", "--timeout", "20s", "go", "--", "sh", "-c", shell)
    assert (done.code, done.out) == (exit_codes.AGENT, "")
    for each in said:
        assert each in done.err
    assert "\x1b" not in done.err


def test_a_login_that_waits_for_somebody_is_shown_when_the_limit_is_over(call: Call) -> None:
    """The agent opens a browser on a machine that has none, and waits for its user."""
    shell = "echo 'Open https://login.example/device to sign in' >&2; while read line; do :; done"
    done = call("exec", "--timeout", "0.4s", "go", "--", "sh", "-c", shell)
    assert done.code == exit_codes.TIME_LIMIT
    assert "  | Open https://login.example/device to sign in\n" in done.err


def test_a_turn_ends_with_its_agent_though_a_tool_keeps_its_output_open(
    agent: Agent, call: Call
) -> None:
    """An agent that has crashed leaves a server behind, and its client waits for ever."""
    text = """
import subprocess
prompt = hear_prompt()
subprocess.Popen(["sleep", "60"], start_new_session=True)
say("working")
sys.stderr.write("out of memory\\n")
sys.exit(3)
"""
    done = call("exec", "--timeout", "20s", "go", "--", *agent(text))
    assert (done.code, done.out) == (exit_codes.AGENT, "working\n")
    assert "exited with code 3; the end of its stderr:\n  | out of memory\n" in done.err


def test_a_launcher_that_leaves_is_not_the_agent(agent: Agent, call: Call) -> None:
    """`setsid`, and wrappers like it, start the agent and are done."""
    words = agent('prompt = hear_prompt(); say("hello"); end(prompt); hear("never")')
    done = call("exec", "go", "--", "sh", "-c", 'exec 3<&0; "$@" <&3 & exit 0', "sh", *words)
    assert (done.code, done.out) == (exit_codes.DONE, "hello\n")


def test_an_agent_that_closes_its_stdin_is_not_said_to_have_closed_its_stdout() -> None:
    assert str(AgentExitedError(None)) == "the agent closed its stdin or stdout without ending"


async def test_an_agent_is_searched_for_in_the_path_of_its_own_variables(tmp_path: Path) -> None:
    """The setting of an agent names the directory of its version manager."""
    program(b"#!/bin/sh\necho started\n")(tmp_path / "my-agent")
    with anyio.fail_after(LIMIT):
        with pytest.raises(AgentStartError):
            async with spawn(["my-agent"]):
                pass
        async with spawn(["my-agent"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}) as child:
            assert await first_line(child) == b"started"


async def test_what_has_left_without_an_error_ends_its_output_later() -> None:
    """It is unlikely that somebody else speaks for it, once it has spoken itself."""
    leaving = (
        "import subprocess, sys; print('hello', flush=True); "
        "subprocess.Popen(['sleep', '60'], start_new_session=True)"
    )
    with anyio.fail_after(LIMIT):
        async with spawn(script(leaving)) as child:
            assert await first_line(child) == b"hello"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(child.end_output, 0.01)
                with pytest.raises(anyio.EndOfStream):
                    await child.stdout.receive()
