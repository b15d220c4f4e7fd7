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
