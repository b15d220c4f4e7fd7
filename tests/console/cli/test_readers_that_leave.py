"""Checks whose reader leaves: the exit code still says what was found."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Frame
from acp_inspector.recording.format import new_header
from acp_inspector.recording.writer import RecordingWriter
from tests.console.conftest import Agent
from tests.warm import WARM

LIMIT_S = 60.0
SECRET = b'{"jsonrpc": "2.0", "method": "m", "params": {"key": "ghp_%036d"}}'


def write(path: Path, *frames: bytes) -> Path:
    writer = RecordingWriter(path, new_header(["a"], path.parent))
    writer.write(Frame(n, n / 10, "agent", raw) for n, raw in enumerate(frames, start=1))
    writer.close()
    return path


def code_without_reader(
    words: Sequence[object], *, is_merged: bool = False, env: Mapping[str, str] | None = None
) -> int:
    """Return the exit code of a command whose stdout, and perhaps stderr, is a closed pipe."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [*WARM, "-m", "acp_console", *map(str, words)]
    stderr = writing if is_merged else subprocess.DEVNULL
    try:
        return subprocess.run(
            command, stdout=writing, stderr=stderr, timeout=LIMIT_S, check=False, env=env
        ).returncode
    finally:
        os.close(writing)


@pytest.mark.parametrize("is_merged", [False, True], ids=["stdout", "both"])
@pytest.mark.parametrize("name", ["lint", "lint json", "diff", "scan"])
def test_a_check_of_recordings_that_has_failed_is_not_green(
    name: str, is_merged: bool, tmp_path: Path
) -> None:
    bad = write(tmp_path / "bad.acp.ndjson", *(SECRET % n for n in range(300)))
    other = write(tmp_path / "other.acp.ndjson", SECRET % 1)
    words = {
        "lint": ["lint", bad],
        "lint json": ["lint", "--json", bad],
        "diff": ["diff", bad, other],
        "scan": ["scan", bad],
    }[name]
    assert code_without_reader(words, is_merged=is_merged) == exit_codes.FOUND


@pytest.mark.parametrize("name", ["replay", "test", "conform"])
def test_a_check_of_an_agent_that_has_failed_is_not_green(
    name: str, agent: Agent, tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    command = agent("prompt = hear_prompt(); say('one'); end(prompt); hear('never')")
    record = ["exec", "--record", path, "hello", "--", *command]
    assert (
        subprocess.run(
            [*WARM, "-m", "acp_console", *map(str, record)],
            capture_output=True,
            check=False,
        ).returncode
        == exit_codes.DONE
    )
    other = agent("prompt = hear_prompt(); say('two'); end(prompt); hear('never')")
    words = {
        "replay": ["replay", path],
        "test": ["test", path],
        "conform": ["conform", "--case", "jsonrpc.parse-error"],
    }[name]
    assert code_without_reader([*words, "--", *other], is_merged=True) == exit_codes.FOUND


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_check_of_agents_that_are_missing_is_not_green(more: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "PATH": str(tmp_path)}
    words = ["agents", "check", "goose", *more]
    assert code_without_reader(words, env=env) == exit_codes.FOUND


def test_a_turn_in_which_something_was_refused_is_not_green(agent: Agent) -> None:
    """The reader leaves once the reply begins, so the turn ends early."""
    command = agent("""
prompt = hear_prompt()
ask_consent(toolCallId="t", title="Run make", kind="execute")
say("refused")
hear("session/cancel")
end(prompt, "cancelled")
hear("never")
""")
    words = ["exec", "--fail-on-refusal", "go", "--", *command]
    assert code_without_reader(words) == exit_codes.REFUSED


def test_an_error_keeps_its_code(tmp_path: Path) -> None:
    assert code_without_reader(["lint", tmp_path / "none"], is_merged=True) == exit_codes.USAGE


@pytest.mark.parametrize("words", [["show"], ["show", "--json"]])
def test_what_checks_nothing_ends_without_an_error(words: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "it.acp.ndjson", *(SECRET % n for n in range(3000)))
    assert code_without_reader([*words, path]) == exit_codes.DONE


@pytest.mark.long
@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["acp_console", "lint", "--rules"], exit_codes.DONE),
        (["acp_console", "lint", "none"], exit_codes.USAGE),
        (["acp_agent", "config", "show"], exit_codes.DONE),
    ],
    ids=["rules", "no file", "config"],
)
def test_streams_that_were_closed_at_the_start_change_no_exit_code(
    streams: str, words: list[str], code: int
) -> None:
    script = f"exec {shlex.quote(sys.executable)} -m {shlex.join(words)} {streams}"
    assert subprocess.run(["sh", "-c", script], timeout=LIMIT_S, check=False).returncode == code
