"""The command in front of the pump: its words, its exit codes, and what it does without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.reader import read_recording
from tests.warm import WARM

ECHO = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdout.write(sys.stdin.read())"]


def proxy(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [*WARM, "-m", "acp_console", "proxy", *words]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=30, check=False)


def test_bytes_and_exit_code_go_through(tmp_path: Path) -> None:
    data = b'{"a": 1.50}\r\n\xff\x00 no JSON\nunfinished'
    path = tmp_path / "it.acp.ndjson"
    done = proxy("--record", str(path), "--", *ECHO, stdin=data)
    assert (done.returncode, done.stdout, done.stderr) == (0, data, b"")
    recording = read_recording(path)
    for side in ("client", "agent"):
        frames = [frame for frame in recording.frames if frame.side == side]
        assert b"".join(frame.data + frame.line_ending for frame in frames) == data


@pytest.mark.parametrize(
    ("script", "code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 15)", 143)]
)
def test_the_exit_code_is_the_agents(script: str, code: int) -> None:
    assert proxy("--", sys.executable, "-I", "-S", "-c", script).returncode == code


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], exit_codes.USAGE, b"the agent's command has to follow --"),
        (["--"], exit_codes.USAGE, b"the agent's command has to follow --"),
        (["--color", "--", "cat"], exit_codes.USAGE, b"unknown option --color"),
        (["--append", "--overwrite", "--", "cat"], exit_codes.USAGE, b"not allowed with"),
        (["python", "x.py"], exit_codes.USAGE, b"the agent's command has to follow --"),
        (["python", "-m", "x"], exit_codes.USAGE, b"the agent's command has to follow --"),
        (["python", "--", "cat"], exit_codes.USAGE, b"unexpected argument python"),
        (["--color"], exit_codes.USAGE, b"unknown option --color"),
        (["--", ""], exit_codes.USAGE, b"the agent's command is empty"),
        (["--append", "--", "cat"], exit_codes.USAGE, b"--append needs --record FILE"),
        (["--overwrite", "--", "cat"], exit_codes.USAGE, b"--overwrite needs --record FILE"),
        (["--rotate-size", "1mb", "--", "cat"], exit_codes.USAGE, b"--rotate-size needs --record"),
        (["--rotate-age", "1d", "--", "cat"], exit_codes.USAGE, b"--rotate-age needs --record"),
        (["--", "/no/such/agent"], exit_codes.AGENT, b"cannot start /no/such/agent"),
    ],
)
def test_a_wrong_call_gets_an_error_that_explains_it(
    words: list[str], code: int, sentence: bytes
) -> None:
    done = proxy(*words)
    assert (done.returncode, done.stdout) == (code, b"")
    assert sentence in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("options", [(), ("--redact",)], ids=["plain", "redacted"])
def test_a_standard_descriptor_that_is_closed_is_no_place_for_the_recording(
    tmp_path: Path, closed: str, options: tuple[str, ...]
) -> None:
    path = tmp_path / "it.acp.ndjson"
    secret = b"sk-ant-api03-" + b"aB3dE5fG7h" * 8
    data = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"%b"}}\n' % secret
    agent = (
        "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"
        f"sys.stdout.flush(); sys.stderr.buffer.write({secret + b' is no token'!r}); sys.exit(3)"
    )
    words = ["--overwrite", "--record", str(path), *options, "--", sys.executable, "-c", agent]
    command = [sys.executable, "-m", "acp_console", "proxy", *words]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command],
        input=data,
        capture_output=True,
        timeout=30,
        check=False,
    )
    recording = read_recording(path)
    assert (done.returncode, recording.bad_lines) == (3, ())
    assert recording.footer is not None
    assert b"Traceback" not in done.stderr
    assert done.stdout == (b"" if {"<&-", ">&-"} & set(closed.split()) else data)
    assert done.stderr == (b"" if "2>&-" in closed else secret + b" is no token")
    assert len(recording.frames) == (0 if "<&-" in closed.split() else 2)
    assert (secret in path.read_bytes()) is not bool(options)


def test_a_warning_for_a_stderr_that_is_closed_stands_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    words = ["--record", str(path), "--", "/no/such/agent"]
    command = [sys.executable, "-m", "acp_console", "proxy", *words]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (exit_codes.AGENT, b"")
    assert not path.exists()


@pytest.mark.parametrize("rotation", [(), ("--rotate-size", "1")], ids=["one", "several"])
def test_an_agent_that_cannot_be_started_leaves_everything_as_it_was(
    tmp_path: Path, rotation: tuple[str, ...]
) -> None:
    path = tmp_path / "it.acp.ndjson"
    wrong = ("--", "/no/such/agent")
    for way in ((), ("--append",), ("--overwrite",)):
        assert proxy("--record", str(path), *way, *rotation, *wrong).returncode == exit_codes.AGENT
        assert list(tmp_path.iterdir()) == []
    # Neither is the retry refused, nor what a mistyped command would have replaced lost.
    assert proxy("--record", str(path), *rotation, "--", *ECHO, stdin=b"{}\n").returncode == 0
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for way in ("--append", "--overwrite"):
        assert proxy("--record", str(path), way, *rotation, *wrong).returncode == exit_codes.AGENT
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_wrong_breakpoint_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    done = proxy("--record", str(path), "--break", "methud == x", "--", "true")
    assert done.returncode == exit_codes.USAGE
    assert not path.exists()


@pytest.mark.parametrize(
    "way",
    [
        ("--overwrite",),
        ("--append",),
        ("--overwrite", "--rotate-size", "1"),
        ("--append", "--rotate-size", "1"),
        ("--append", "--redact"),
    ],
    ids=" ".join,
)
def test_recording_to_a_pipe_is_refused_and_the_traffic_goes_on(
    tmp_path: Path, way: tuple[str]
) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    done = proxy("--record", str(path), *way, "--", *ECHO, stdin=b"{}\n")
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert done.stderr.count(b"\n") == 1
    assert b"neither a file nor a device; the traffic goes on" in done.stderr
    assert path.is_fifo()


def test_an_existing_recording_is_refused_without_append_or_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    for words, frames in [
        ((), 2),
        (("--append",), 4),
        (("--overwrite",), 2),
    ]:
        done = proxy("--record", str(path), *words, "--", *ECHO, stdin=b"{}\n")
        assert done.returncode == 0
        assert len(read_recording(path).frames) == frames
    done = proxy("--record", str(path), "--", *ECHO, stdin=b"{}\n")
    assert (done.returncode, done.stdout) == (exit_codes.USAGE, b"")
    assert b"exists already" in done.stderr


def test_an_agent_works_where_nothing_can_be_recorded() -> None:
    done = proxy("--record", "/no/such/place/it", "--", *ECHO, stdin=b"{}\n")
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert b"the traffic goes on without a recording" in done.stderr


def test_a_recording_is_named_by_a_pattern_and_goes_on_in_the_next_file(tmp_path: Path) -> None:
    pattern = str(tmp_path / "{agent}-{pid}.acp.ndjson")
    script = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
    command = [sys.executable, "-m", "acp_console", "proxy", "--record", pattern]
    options = ["--rotate-size", "1kb", "--", sys.executable, "-c", script]
    with subprocess.Popen(
        [*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(100):
            line = b'{"number":%d,"pad":"%b"}\n' % (number, b"x" * 100)
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == line
        process.stdin.close()
        assert process.wait(30) == 0
    files = sorted(tmp_path.iterdir())
    assert len(files) > 1
    assert all(f"-{process.pid}" in file.name for file in files)
    numbers = [frame.seq for file in files for frame in read_recording(file).frames]
    assert len(numbers) == len(set(numbers)) == 200


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--rotate-size", "5x"), b"5x is not a size"),
        (("--rotate-age", "0"), b"'0' is not a duration above 0"),
        (("--rotate-size", "0.1"), b"0.1 is less than a byte"),
        (("--record", "{nobody}.acp.ndjson"), b"nobody"),
    ],
)
def test_amounts_and_patterns_that_make_no_sense_are_refused(
    words: tuple[str, str], sentence: bytes
) -> None:
    done = proxy(*words, "--", "cat")
    assert (done.returncode, done.stdout) == (exit_codes.USAGE, b"")
    assert sentence in done.stderr


def test_a_wrong_breakpoint_is_shown_with_its_place() -> None:
    command = [*WARM, "-m", "acp_console", "proxy", "--break", "methud == x", "--", "true"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(b"  ^^^^^^\nhint: did you mean `method`?\n")


def test_what_is_held_too_long_goes_on() -> None:
    echo = "import sys; sys.stdout.write(sys.stdin.readline())"
    command = [*WARM, "-m", "acp_console", "proxy", "--hold-limit", "0.2s"]
    command += ["--break", "method == _x", "--", sys.executable, "-c", echo]
    line = b'{"jsonrpc":"2.0","method":"_x"}\n'
    done = subprocess.run(command, input=line, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, line)
