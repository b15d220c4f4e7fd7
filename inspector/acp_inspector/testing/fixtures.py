"""What the fixtures of the pytest plugin are: an agent, a replay, and a client under test.

Most tests are plain functions, so everything here blocks; the agent runs in an event loop of its
own, in a thread. `AcpAgent.connect` is for tests that are coroutines.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from acp_inspector.journal import Journal, StderrChunk
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.result import counted
from acp_inspector.replay.trust import Trust
from acp_inspector.testing.clients import (
    CLIENT_TIMEOUT,
    ClientRun,
    exit_code_of,
    recorded_agent,
    run_client,
)
from acp_inspector.testing.live_agent import (
    REQUEST_TIMEOUT,
    AgentHandler,
    LiveAgent,
    Permission,
    PromptTurn,
    start_agent,
)
from acp_inspector.testing.recording_test import (
    STARTED_ELSEWHERE,
    PlayOptions,
    PlayOutcome,
    conversation_outcome,
    run_recording,
    update_recording,
)
from acp_inspector.testing.updating import replace_recording
from acp_protocol.errors import AcpError, AgentExitedError, LocalProtocolError
from acp_protocol.host.agent_command import resolved_command
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.opening import name_of, named_agent
from acp_protocol.transport.remote import RemoteAgent

RecordMode: TypeAlias = Literal["none", "once", "new", "rewrite"]

MAX_FILES: Final = 100
"""Files of a working directory that are stored in a recording."""
MAX_FILE_BYTES: Final = 1 << 16
"""Bytes of such a file; larger ones are left out."""
__tracebackhide__ = True
"""Keeps our lines out of the tracebacks of pytest: an error points to the line of the test."""
# With -P, a package of that name in the working directory is not run instead.
_CONSOLE: Final = (sys.executable, "-P", "-m", "acp_console")
_MODEL: Final = (*_CONSOLE, "model")
_AGENT: Final = (sys.executable, "-P", "-m", "acp_agent")
_RECORD_ANEW: Final = "if that is wanted, --acp-record rewrite records it anew, with the script"

_Result = TypeVar("_Result")


class AcpAgent:
    """The agent under test, started when it is first used.

    All methods but `connect` block. They raise what `LiveAgent` raises.
    """

    def __init__(
        self,
        agent: Sequence[str] | RemoteAgent,
        cwd: Path,
        timeout: float | None,
        protocol: int = 1,
        dialect: str | None = None,
    ) -> None:
        self.agent = agent
        """Its command with the arguments, or where it is; empty if it is not named yet."""
        self.protocol = protocol
        """The newest protocol version that the agent may choose."""
        self.dialect = dialect
        """The dialect that it speaks; None: it is recognised."""
        self.cwd = cwd
        """The working directory: put the files there that the agent is to find."""
        self.timeout = REQUEST_TIMEOUT if timeout is None else timeout
        """Seconds for each request, a whole turn included."""
        self.journal = Journal()
        """What both sides have sent."""
        self.files: dict[str, Json] = {}
        """The texts in the working directory when the agent was started."""
        self._resources = ExitStack()
        self._portal: BlockingPortal | None = None
        self._agent: LiveAgent | None = None

    def start(
        self,
        agent: Sequence[str] | str | RemoteAgent | None = None,
        *,
        env: Mapping[str, str] | None = None,
        protocol: int | None = None,
        dialect: str | None = None,
        **params: Any,
    ) -> dict[str, Any]:
        """Start the agent and return the result of `initialize`.

        Args:
            agent: a command, or where an agent is, instead of the project's agent.
            env: variables that are added to ours.
            protocol: the newest version that the agent may choose, instead of the project's.
            dialect: the one that it speaks, instead of the project's.
            params: added to those of `initialize`, such as `clientCapabilities`.
        """
        choice = {"protocol": protocol, "dialect": dialect}
        connecting = self.connect(agent, env=env, **choice, **params)
        self._portal = self._resources.enter_context(start_blocking_portal())
        wrapped = self._portal.wrap_async_context_manager(connecting)
        try:
            self._agent = self._resources.enter_context(wrapped)
        except AcpError as problem:
            if isinstance(problem, AgentExitedError):
                problem.add_note(f"hint: {STARTED_ELSEWHERE}")
            raise problem.with_traceback(None) from None
        return dict(self._agent.initialized)

    def connect(
        self,
        agent: Sequence[str] | str | RemoteAgent | None = None,
        *,
        env: Mapping[str, str] | None = None,
        protocol: int | None = None,
        dialect: str | None = None,
        **params: Any,
    ) -> AbstractAsyncContextManager[LiveAgent]:
        """Return the agent for `async with`, in the event loop of the test; see `start`."""
        if len(self.journal):
            raise LocalProtocolError("the agent of a test is started once")
        if agent is not None:
            self.agent = named_agent(agent, Path.cwd())
        if not self.agent:
            raise LocalProtocolError(
                "no agent was named", hint="give --acp-agent, or set acp_agent in the configuration"
            )
        self.files = _text_files(self.cwd)
        return start_agent(
            self.agent,
            cwd=self.cwd,
            journal=self.journal,
            timeout=self.timeout,
            env=env,
            protocol=protocol or self.protocol,
            dialect=dialect or self.dialect,
            **params,
        )

    @property
    def initialized(self) -> Mapping[str, Any]:
        """The result of `initialize`."""
        return self._started().initialized

    @property
    def version(self) -> int:
        """The protocol version that the agent chose."""
        return self._started().version

    def new_session(self, **params: Any) -> str:
        """Open a session and return its id; `params` are added to the usual ones."""
        return self._call(partial(self._started().new_session, **params))

    def prompt(
        self,
        prompt: str | Sequence[Json],
        *,
        session_id: str | None = None,
        permission: Permission = "allow",
        timeout: float | None = None,
    ) -> PromptTurn:
        """Send a text or content blocks, and return the turn once it has ended.

        Args:
            prompt: the text or the blocks.
            session_id: the session; by default the last one, or else a new one.
            permission: what permission requests get: `allow`, `reject`, `cancel`, or a function
                that returns the id or the kind of an option.
            timeout: seconds for the turn.
        """
        options = {"session_id": session_id, "permission": permission, "timeout": timeout}
        return self._call(partial(self._started().prompt, prompt, **options))

    def start_prompt(self, prompt: str | Sequence[Json], **options: Any) -> Future[PromptTurn]:
        """Send a prompt like `prompt`, but return at once; `result()` waits for the turn."""
        agent = self._started()
        assert self._portal is not None
        turn, _ = self._portal.start_task(partial(agent.prompt, prompt, **options))
        return turn

    def wait_for_update(self, kind: str = "", *, timeout: float | None = None) -> dict[str, Any]:
        """Return the first update of the running turn of that `sessionUpdate`, once it is there."""
        return self._call(partial(self._started().wait_for_update, kind, timeout=timeout))

    def cancel(self, session_id: str | None = None) -> None:
        """Cancel the running turn of a session; its prompt still returns."""
        self._call(partial(self._started().cancel, session_id))

    def request(self, method: str, params: Json, *, timeout: float | None = None) -> Json:
        """Return the result of any request."""
        return self._call(partial(self._started().request, method, params, timeout=timeout))

    def notify(self, method: str, params: Json) -> None:
        self._call(partial(self._started().notify, method, params))

    def handle(self, method: str, handler: AgentHandler) -> None:
        """Let `handler` respond to a request of the agent, such as `terminal/create`."""
        self._started().handle(method, handler)

    @property
    def stderr(self) -> str:
        """What the agent has written on stderr so far."""
        chunks = (each.data for each in self.journal.entries if isinstance(each, StderrChunk))
        return b"".join(chunks).decode(errors="replace")

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the agent runs."""
        return exit_code_of(self.journal.entries)

    def close(self) -> None:
        """End the agent; the fixture does this."""
        self._resources.close()

    def _started(self) -> LiveAgent:
        if self._agent is None:
            self.start()
        assert self._agent is not None
        return self._agent

    def _call(self, action: Callable[[], Awaitable[_Result]]) -> _Result:
        assert self._portal is not None
        try:
            return self._portal.call(action)
        except AcpError as problem:
            # As if it came from the line of the test.
            raise problem.with_traceback(None) from None


@dataclass(frozen=True, slots=True)
class HeldConversation:
    """What a test says to an agent, and the recording that it must be equal to."""

    agent: AcpAgent
    path: Path
    mode: RecordMode
    options: PlayOptions
    about: str

    @property
    def has_begun(self) -> bool:
        """Whether the agent was started."""
        return bool(len(self.agent.journal))

    def finish(self) -> PlayOutcome:
        """End the agent, compare or record the conversation, and return how it ended."""
        self.agent.close()
        is_recorded = self.mode == "rewrite" or (self.mode != "none" and not self.path.exists())
        if not self.has_begun:
            text = "the test has sent nothing"
            if not is_recorded:
                outcome = self._compared()
                if outcome.result is None:
                    return outcome
                sent = [each for each in read_recording(self.path).frames if each.side == "client"]
                text += f"; {counted(len(sent), 'frame')} of the client are recorded"
            return PlayOutcome(self.path, "failed", text)
        if is_recorded:
            return self._record(f"recorded with --acp-record {self.mode}")
        outcome = self._compared()
        result = outcome.result
        if outcome.passed or result is None:
            return outcome
        is_new = any(each.side == "client" for each in result.differences)
        if self.options.is_updating or (self.mode == "new" and is_new):
            return self._update(outcome)
        hint = "the test sends something else; --acp-record new records it" if is_new else ""
        return PlayOutcome(self.path, "failed", f"{outcome.text}\n{hint}".rstrip(), result=result)

    def difference(self) -> str:
        """Return how the conversation differs so far; empty if there is nothing to compare."""
        if not self.has_begun or not self.path.exists():
            return ""
        self.agent.close()
        outcome = self._compared()
        return "" if outcome.passed else outcome.text

    def _update(self, outcome: PlayOutcome) -> PlayOutcome:
        recording, cwd = read_recording(self.path), self.agent.cwd.resolve()
        directories = replay_directories(
            recording.frames, cwd, cwd, recorded_cwd=recording.header.cwd
        )
        meta = {**recording.header.meta, "files": self.agent.files}
        recording = replace(recording, header=replace(recording.header, meta=meta))
        return update_recording(recording, self.agent.journal.entries, directories, outcome)

    def _compared(self) -> PlayOutcome:
        entries, level = self.agent.journal.entries, self.options.level
        return conversation_outcome(self.path, entries, self.agent.cwd, level)

    def _record(self, text: str) -> PlayOutcome:
        header = new_header(name_of(self.agent.agent), self.agent.cwd, about=self.about)
        # A test's recording is kept with the code: whose variables there were is of no use.
        header = replace(header, env=[], meta={"files": self.agent.files})
        replace_recording(self.path, header, self.agent.journal.entries, is_ours=True)
        return PlayOutcome(self.path, "updated", text)


def _text_files(folder: Path) -> dict[str, Json]:
    """Return the texts below a directory, by their names, so that a replay finds them too."""
    texts: dict[str, Json] = {}
    for path in sorted(folder.rglob("*")):
        if len(texts) == MAX_FILES:
            break
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_FILE_BYTES:
            try:
                texts[path.relative_to(folder).as_posix()] = path.read_text()
            except (OSError, UnicodeDecodeError):
                continue
    return texts


class AcpReplay:
    """Plays recordings against an agent."""

    def __init__(
        self,
        folder: Path,
        recording: Path | None,
        options: Callable[[Mapping[str, Any]], PlayOptions],
    ) -> None:
        self._folder = folder
        self._recording = recording
        self._options = options
        self.has_played_marked = False
        """Whether it has played the recording of the marker."""
        self.problem = ""
        """Why a test fails whatever it asserts: nothing, since it gets the outcome."""

    def __call__(
        self,
        recording: Path | str | None = None,
        agent: Sequence[str] | str | RemoteAgent | None = None,
        *,
        level: str | None = None,
        timeout: float | None = None,
        trust: bool | None = None,
    ) -> PlayOutcome:
        """Play a recording and return the outcome; `assert_passed()` fails with the differences.

        Args:
            recording: relative to the test's file; by default the one of the marker.
            agent: a command, or where an agent is, instead of the project's agent.
            level: instead of the project's level.
            timeout: seconds for each wait.
            trust: play it also if it acts, such as by MCP servers or permissions.
        """
        path = self._recording if recording is None else self._folder / recording
        self.has_played_marked = self.has_played_marked or path == self._recording
        if path is None:
            raise LocalProtocolError("name a recording, here or with the marker acp_recording")
        named = None if agent is None else named_agent(agent, Path.cwd())
        given = {"agent": named, "level": level, "timeout": timeout, "is_trusted": trust}
        with start_blocking_portal() as portal:
            return portal.call(run_recording, path, self._options(given))


class AcpClient:
    """Starts the client under test, with an agent that plays a script or a recording."""

    def __init__(
        self, folder: Path, cwd: Path, recording: Path | None, mode: RecordMode, trust: Trust
    ) -> None:
        self._folder = folder
        self._recording = recording
        self._mode: RecordMode = mode
        self._trust = trust
        self.has_played_marked = False
        """Whether a client was run with the recording of the marker."""
        self.problem = ""
        """How a client differed from the recording of the marker, whatever the test asserts."""
        self.cwd = cwd
        """The working directory: put the files there that the client is to find."""

    def __call__(
        self,
        command: Sequence[str] | str,
        *,
        script: Path | str | None = None,
        recording: Path | str | None = None,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float = CLIENT_TIMEOUT,
        trust: bool = False,
    ) -> ClientRun:
        """Run a client to its end, and return how it ended.

        Args:
            command: the client's; `{agent}` in it becomes the command of its agent: several words
                where it is a word of its own, one text for a shell inside another word.
            script: a file for `acp-agent --script`, relative to the test's file, or the name of an
                example. With a recording as well, it is played only to record that.
            recording: a recording whose agent is played, relative to the test's file; by default
                the one of the marker.
            stdin: what the client reads.
            env: variables that are added to ours.
            timeout: seconds that it may run.
            trust: let the recorded agent act, such as by files and commands of the client.
        """
        path = self._recording if recording is None else self._folder / recording
        is_marked = path is not None and path == self._recording
        self.has_played_marked = self.has_played_marked or is_marked
        is_recorded = path is not None and (
            self._mode == "rewrite" or (self._mode != "none" and not path.exists())
        )
        options: dict[str, Any] = {"stdin": stdin, "env": env, "timeout": timeout}
        if path is not None and not is_recorded:
            if not path.exists():
                raise LocalProtocolError(f"there is no {path}; --acp-record once records it")
            agent = recorded_agent(
                path, replace(self._trust, is_given=True) if trust else self._trust
            )
            run = self._run(command, agent, **options, has_verdict=True)
            if run.is_as_recorded is False:
                run = replace(run, hint=_RECORD_ANEW if script is not None else "")
                self.problem = self.problem or (run.text if is_marked else "")
            return run
        if script is None:
            raise LocalProtocolError("name a script for the agent, or a recording that is there")
        file = self._folder / script
        agent = [*_AGENT, "--script", str(file if file.exists() else script)]
        run = self._run(command, agent, **options)
        if path is not None and run.passed and run.traffic is not None:
            header = replace(run.traffic.header, env=[])
            replace_recording(path, header, run.traffic.entries, is_ours=True)
        elif is_marked:
            self.problem = f"not recorded: {run.text}"
        return run

    def _run(self, command: Sequence[str] | str, agent: Sequence[str], **options: Any) -> ClientRun:
        words = resolved_command(command, Path.cwd())
        with start_blocking_portal() as portal:
            try:
                return portal.call(partial(run_client, words, agent, self.cwd, **options))
            except AcpError as problem:
                # As if it came from the line of the test.
                raise problem.with_traceback(None) from None


class AcpModel:
    """Puts a cassette in the place of the model service of the agent under test."""

    def __init__(self, folder: Path, agent: AcpAgent, mode: RecordMode) -> None:
        self._folder = folder
        self._agent = agent
        self._mode: RecordMode = mode
        self._is_used = False

    def __call__(self, cassette: Path | str, command: Sequence[str] | str | None = None) -> None:
        """Let the agent be started beside a cassette; call this before its first use.

        `cassette` is relative to the test's file; `command` replaces the project's agent. The
        cassette is recorded as `--acp-record` says, which needs the real model service.
        """
        if len(self._agent.journal):
            raise LocalProtocolError("the agent is started already")
        words = self._agent.agent if command is None else resolved_command(command, Path.cwd())
        if isinstance(words, RemoteAgent):
            raise LocalProtocolError("an agent at a URL is not started, so it has no cassette")
        path = self._folder / cassette
        is_recorded = self._mode == "rewrite" or (self._mode != "none" and not path.exists())
        verb = ["record", "--overwrite"] if is_recorded else ["replay"]
        self._agent.agent = (*_MODEL, *verb, "--cassette", str(path), "--", *words)
        self._is_used = True

    def finish(self) -> str:
        """End the agent, and return why its requests were not those of the cassette."""
        self._agent.close()
        if not self._is_used or self._agent.exit_code in (0, None):
            return ""
        return escape_controls(
            f"the agent exited with code {self._agent.exit_code}\n{self._agent.stderr}"
        )
