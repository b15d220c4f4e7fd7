"""A client under test, run with an agent that plays a recording or a script.

The agent is a process of its own, behind a proxy that records both sides. An agent of a recording
writes its verdict into a file, so it does not matter how the client ends it. A client that takes a
URL finds the recorded agent there.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from acp_inspector.compare.steps import Level
from acp_inspector.journal import Entry, JournalEvent, StderrChunk
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.replay.parts import connections
from acp_inspector.replay.result import counted
from acp_inspector.replay.trust import UNTRUSTED, Trust, check_trust
from acp_inspector.testing.recording_test import (
    STARTED_ELSEWHERE,
    PlayOutcome,
    error_outcome,
    prepare_directory,
)
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AcpError, AgentStartError
from acp_protocol.host.process import ChildProcess, spawn
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.json_values import as_int, get
from acp_protocol.jsonrpc import parse

AGENT_MARK: Final = "{agent}"
"""What becomes the command of the agent in that of a client."""
URL_MARK: Final = "{url}"
"""What becomes the URL of the recorded agent."""
TOKEN_MARK: Final = "{token}"  # noqa: S105 - replaced by one
"""What becomes the token that the server at the URL wants."""
TOKEN_VARIABLE: Final = "ACP_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
"""The variable of the client that has the token, too."""
CLIENT_TIMEOUT: Final = 60.0
"""Seconds that a client may run."""
OUTPUT_LIMIT: Final = 1 << 20
"""Bytes of each output of a client that are kept."""
MAX_OUTPUT_LINES: Final = 50
"""Last lines of an output that a failed test shows."""
SIGNALS: Final = 128
"""Exit codes from here on are those of programs that were ended by a signal."""
_CONSOLE: Final = (sys.executable, "-P", "-m", "acp_console")
"""With -P, a package of that name in the working directory is not run instead."""
_PROXY: Final = (*_CONSOLE, "proxy", "--no-control")
_MOCK: Final = (*_CONSOLE, "mock")

__tracebackhide__ = True
"""Keeps our lines out of the tracebacks of pytest."""


SEVERAL_AGENTS: Final = "it has started its agent more than once; each recording is one process"


@dataclass(frozen=True, slots=True, repr=False)
class ClientRun:
    """How a client ended, and what it and its agent have sent."""

    exit_code: int | None
    """None if it did not end in time and was ended."""
    stdout: str
    stderr: str
    traffic: Recording | None
    """What both sides have sent; None if the client has started no agent."""
    agent_exit_code: int | None
    """1 if the client did something that the script does not expect."""
    agent_stderr: str
    is_as_recorded: bool | None = None
    """Whether the client sent what is recorded; None without a recording, or without a verdict."""
    hint: str = ""
    """What to do if the client did something else; empty if it is not known."""
    is_networked: bool = False
    """Whether the agent was at a URL; then there is no record of the traffic."""

    def __repr__(self) -> str:
        return f"ClientRun(exit_code={self.exit_code}, problem={self.problem!r})"

    @property
    def problem(self) -> str:
        """Why the client did not pass; empty if it did."""
        if refusal := self._refusal():
            return f"the agent of the client could not be played: {refusal}"
        if self.exit_code is None:
            return "the client did not end in time"
        if self.exit_code:
            return f"the client exited with code {self.exit_code}"
        if self.is_networked and self.is_as_recorded is None:
            return "the client has opened no connection"
        if self.traffic is None and not self.is_networked:
            return "the client has started no agent"
        if self.traffic and not any(frame.side == "client" for frame in self.traffic.frames):
            return "the client has sent nothing to its agent"
        # Many clients end their agent by a signal.
        code = self.agent_exit_code or 0
        if self.is_as_recorded is False or (0 < code < SIGNALS and not self.is_as_recorded):
            return "the client did not do what its agent expects"
        return ""

    @property
    def passed(self) -> bool:
        return not self.problem

    @property
    def text(self) -> str:
        """The problem with the output of both sides, safe to show."""
        own = self.stderr if self.stderr.strip() != self.agent_stderr.strip() else ""
        outputs = (("agent", self.agent_stderr), ("client", own or self.stdout))
        lines = [self.problem, *([f"hint: {self.hint}"] if self.hint else [])]
        for name, text in outputs:
            lines += (f"{name} | {line}" for line in text.splitlines()[-MAX_OUTPUT_LINES:])
        return escape_controls("\n".join(lines))

    def assert_passed(self) -> None:
        """Fail the test with the output of both sides, unless both have ended well.

        Raises:
            AssertionError: one has not.
        """
        if self.problem:
            raise AssertionError(self.text)

    def _refusal(self) -> str:
        """Return why the agent has played nothing: a file that is missing or invalid."""
        if self.traffic is None or any(frame.side == "agent" for frame in self.traffic.frames):
            return ""
        errors = [each for each in self.agent_stderr.splitlines() if each.startswith("error: ")]
        return errors[0].removeprefix("error: ") if errors else ""


def recorded_agent(path: Path, trust: Trust = UNTRUSTED, *, level: Level = "semantic") -> list[str]:
    """Return the command of an agent that plays a recording.

    It runs elsewhere, so what the project trusts is decided here.
    """
    words = [*_MOCK, str(path.absolute()), "--level", level]
    return [*words, "--trust"] if trust.names(path) else words


async def run_client(
    command: Sequence[str],
    agent: Sequence[str],
    cwd: Path,
    *,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    timeout: float = CLIENT_TIMEOUT,
    has_verdict: bool = False,
) -> ClientRun:
    """Run a client to its end, and return how it ended.

    Args:
        command: the client's; `{agent}` in it becomes the command of its agent: several words where
            it is a word of its own, one text for a shell inside another word.
        agent: the command of its agent; with `has_verdict` it is one that plays a recording.
        cwd: the directory that the client is started in.
        stdin: what the client reads.
        env: variables that are added to ours; `{agent}` in them becomes a text for a shell.
        timeout: seconds that it may run.
        has_verdict: the agent says whether the client sent what is recorded.

    Raises:
        AgentStartError: the client could not be started.
    """
    with tempfile.TemporaryDirectory(prefix="acp-client-") as name:
        traffic, verdict = Path(name) / "traffic.acp.ndjson", Path(name) / "verdict.json"
        proxied = [*_PROXY, "--append", "--record", str(traffic), "--", *agent]
        proxied += ["--report", str(verdict)] if has_verdict else []
        one = shlex.join(proxied)
        words: list[str] = []
        for word in command:
            words += proxied if word == AGENT_MARK else [word.replace(AGENT_MARK, one)]
        added = {key: value.replace(AGENT_MARK, one) for key, value in (env or {}).items()}
        try:
            code, out, err = await _run(words, cwd, added, stdin, timeout)
        except AgentStartError as problem:
            text = f"the client could not be started: {problem.summary}"
            raise AgentStartError(text, hint=problem.hint) from None
        if not traffic.exists():
            return ClientRun(code, out, err, None, None, "", hint=STARTED_ELSEWHERE if code else "")
        recorded = await anyio.to_thread.run_sync(read_recording, traffic)
        chunks = (each.data for each in recorded.entries if isinstance(each, StderrChunk))
        agent_err = b"".join(chunks).decode(errors="replace")
        run = ClientRun(code, out, err, recorded, exit_code_of(recorded.entries), agent_err)
        if not verdict.exists():
            return run
        if len(connections(recorded.entries)) > 1:
            # Each process writes its verdict over that of the last one.
            return replace(run, is_as_recorded=False, hint=SEVERAL_AGENTS)
        return replace(run, is_as_recorded=get(parse(verdict.read_bytes()), "passed") is True)


async def run_networked_client(
    command: Sequence[str],
    agent: Sequence[str],
    cwd: Path,
    *,
    timeout: float = CLIENT_TIMEOUT,
) -> ClientRun:
    """Run a client of a recorded agent that is at a URL to its end, and return how it ended.

    Args:
        command: the client's; `{url}` and `{token}` in it are replaced.
        agent: the command that plays a recording.
        cwd: the directory that the client is started in.
        timeout: seconds that it may run.

    Raises:
        AgentStartError: the client could not be started.
    """
    token, errors, has_begun = secrets.token_urlsafe(), bytearray(), anyio.Event()

    def on_stderr(chunk: bytes) -> None:
        keep_output(errors, chunk)
        if _SERVES.search(errors):
            has_begun.set()

    with tempfile.TemporaryDirectory(prefix="acp-client-") as name:
        verdict = Path(name) / "verdict.json"
        served = [*agent, "--listen", "127.0.0.1:0", "--drain", "1s", "--report", str(verdict)]
        variables = {TOKEN_VARIABLE: token}
        async with spawn(
            served, cwd=cwd, env={**os.environ, **variables}, on_stderr=on_stderr
        ) as child:
            async with BackgroundTasks() as tasks:
                # It ends early if it refuses the recording.
                tasks.start_soon(_set_at_end, child, has_begun)
                await has_begun.wait()
            found = _SERVES.search(errors)
            url = "" if found is None else found[1].decode()
            words = [each.replace(URL_MARK, url).replace(TOKEN_MARK, token) for each in command]
            ran: tuple[int | None, str, str] = (None, "", "")
            if found is not None:
                ran = await _run(words, cwd, variables, "", timeout)
                with anyio.move_on_after(VERDICT_S):
                    await child.wait()
            child.signal_group(signal.SIGTERM)
            code = await child.stop()
        result = parse(verdict.read_bytes()) if verdict.exists() else None
    is_same = None if result is None else get(result, "passed") is True
    report = errors.decode(errors="replace")
    if found is None:
        is_same = False
    return ClientRun(*ran, None, code, report, is_same, is_networked=True)


_SERVES: Final = re.compile(rb"serves ACP at (\S+)\n")
VERDICT_S: Final = 2.0
"""Seconds until the recorded agent notices that its client has left."""


async def _set_at_end(child: ChildProcess, event: anyio.Event) -> None:
    await child.wait()
    event.set()


async def play_client(
    path: Path,
    command: Sequence[str],
    *,
    level: Level = "semantic",
    timeout: float = CLIENT_TIMEOUT,
    trust: Trust = UNTRUSTED,
) -> PlayOutcome:
    """Return whether a client sends what is recorded at `path`, with the recorded agent.

    It is started in a new directory, with the files of the recording.
    """
    began = time.monotonic()
    try:
        recording = await anyio.to_thread.run_sync(read_recording, path)
        check_trust(recording, "agent", trust)
        with tempfile.TemporaryDirectory(prefix="acp-replay-", ignore_cleanup_errors=True) as name:
            cwd = Path(name)
            await anyio.to_thread.run_sync(prepare_directory, recording, cwd)
            agent = recorded_agent(path, trust, level=level)
            if any(URL_MARK in word for word in command):
                run = await run_networked_client(command, agent, cwd, timeout=timeout)
            else:
                run = await run_client(command, agent, cwd, timeout=timeout, has_verdict=True)
        if run.problem:
            outcome = PlayOutcome(path, "failed", f"fail: {run.text}")
        else:
            frames = (run.traffic or recording).frames
            count = counted(sum(each.side == "client" for each in frames), "client frame")
            outcome = PlayOutcome(path, "passed", f"pass: {count} as recorded")
    except AcpError as problem:
        outcome = error_outcome(path, problem)
    return replace(outcome, seconds=time.monotonic() - began)


async def _run(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
) -> tuple[int | None, str, str]:
    """Return the exit code of a client and its outputs; the code is None if it took too long."""
    outputs = bytearray(), bytearray()
    code: int | None = None
    whole = {**os.environ, **env}
    async with spawn(
        command, cwd=cwd, env=whole, on_stderr=partial(keep_output, outputs[1])
    ) as child:
        with anyio.move_on_after(timeout):
            async with BackgroundTasks() as tasks:
                tasks.start_soon(_send_all, child, stdin.encode())
                async for chunk in child.stdout:
                    keep_output(outputs[0], chunk)
            code = await child.wait()
    out, err = (bytes(each).decode(errors="replace") for each in outputs)
    return code, out, err


def keep_output(output: bytearray, chunk: bytes) -> None:
    output += chunk[: OUTPUT_LIMIT - len(output)]


async def _send_all(child: ChildProcess, data: bytes) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await child.stdin.send(data)
        await child.stdin.aclose()


def exit_code_of(entries: Sequence[Entry]) -> int | None:
    """Return the exit code of a recorded process, negative for a signal; None while it runs."""
    exits = [
        each.data for each in entries if isinstance(each, JournalEvent) and each.name == "exit"
    ]
    if not exits:
        return None
    signal = as_int(exits[-1].get("signal"))
    return as_int(exits[-1].get("code")) if signal is None else -signal
