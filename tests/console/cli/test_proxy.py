"""The command in front of the pump: its words, its exit codes, and what it does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acp_console.cli import exits
from acp_inspector.recording.reader import read_recording

ECHO = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdout.write(sys.stdin.read())"]


def proxy(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "acp_console", "proxy", *words]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=30, check=False)


def test_bytes_and_exit_code_go_through(tmp_path: Path) -> None:
    said = b'{"a": 1.50}\r\n\xff\x00 no JSON\nunfinished'
    path = tmp_path / "it.acp.ndjson"
    done = proxy("--record", str(path), "--", *ECHO, stdin=said)
    assert (done.returncode, done.stdout, done.stderr) == (0, said, b"")
    recording = read_recording(path)
    for side in ("client", "agent"):
        frames = [frame for frame in recording.frames if frame.side == side]
        assert b"".join(frame.raw + frame.end for frame in frames) == said


@pytest.mark.parametrize(
    ("script", "code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 15)", 143)]
)
def test_the_exit_code_is_the_agents(script: str, code: int) -> None:
    assert proxy("--", sys.executable, "-I", "-S", "-c", script).returncode == code


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], exits.USAGE, b"the agent's command stands behind --"),
        (["--"], exits.USAGE, b"the agent's command stands behind --"),
        (["--color", "--", "cat"], exits.USAGE, b"unrecognized arguments: --color"),
        (["--append", "--overwrite", "--", "cat"], exits.USAGE, b"not allowed with"),
        (["--", "/no/such/agent"], exits.AGENT, b"cannot start /no/such/agent"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(words: list[str], code: int, sentence: bytes) -> None:
    done = proxy(*words)
    assert (done.returncode, done.stdout) == (code, b"")
    assert sentence in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_recording_that_is_there_is_refused_unless_told_otherwise(tmp_path: Path) -> None:
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
    assert (done.returncode, done.stdout) == (exits.USAGE, b"")
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
    assert len(files) > 3
    assert all(f"-{process.pid}" in file.name for file in files)
    numbers = [frame.n for file in files for frame in read_recording(file).frames]
    assert len(numbers) == len(set(numbers)) == 200


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--rotate-size", "5x"), b"5x is no amount"),
        (("--rotate-age", "0"), b"0 is no amount"),
        (("--record", "{nobody}.acp.ndjson"), b"nobody"),
    ],
)
def test_amounts_and_patterns_that_make_no_sense_are_refused(
    words: tuple[str, str], sentence: bytes
) -> None:
    done = proxy(*words, "--", "cat")
    assert (done.returncode, done.stdout) == (exits.USAGE, b"")
    assert sentence in done.stderr


def test_a_wrong_breakpoint_is_shown_with_its_place() -> None:
    command = [sys.executable, "-m", "acp_console", "proxy", "--break", "methud == x", "--", "true"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"did you mean `method`?" in done.stderr
    assert done.stderr.splitlines()[-1].endswith(b"  ^^^^^^")


def test_what_is_held_too_long_goes_on() -> None:
    echo = "import sys; sys.stdout.write(sys.stdin.readline())"
    command = [sys.executable, "-m", "acp_console", "proxy", "--hold-limit", "0.2s"]
    command += ["--break", "method == _x", "--", sys.executable, "-c", echo]
    line = b'{"jsonrpc":"2.0","method":"_x"}\n'
    done = subprocess.run(command, input=line, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, line)
