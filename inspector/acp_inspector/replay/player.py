"""Plays the client of a recording against a live agent.

A recorded client frame is a barrier: it is sent when the agent has made as many steps (see
`analysis.steps`) as before that frame in the recording, so that different chunk boundaries do not
matter. Each wait has a limit, and its error names the expected step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, cast

import anyio

from acp_inspector.analysis.diff import Ignore, compare
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.id_map import IdMap
from acp_inspector.analysis.steps import JournalStep, Level, Steps
from acp_inspector.journal import Frame, Journal
from acp_inspector.messages import Decoder
from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.reader import Recording
from acp_inspector.replay.directories import ReplayDirectories
from acp_inspector.replay.handover import handover
from acp_inspector.replay.result import ReplayResult
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AcpError, AgentExitedError, ConnectionClosedError, FrameTooLongError
from acp_protocol.host.process import spawn
from acp_protocol.host.sandbox import FileRefusedError, SandboxedFiles
from acp_protocol.jsonrpc import (
    Json,
    Request,
    RequestId,
    SuccessResponse,
    encode,
    id_key,
    parse,
    read_message,
)
from acp_protocol.transport import Transport
from acp_protocol.transport.stdio import StreamTransport

_PLACEHOLDER: Final = re.compile(rb"(?:\xc2\xab|\\u00[aA][bB])secret:")
STEP_TIMEOUT: Final = 30.0
"""Seconds that one barrier may take."""
SETTLE_SECONDS: Final = 0.3
"""Seconds after the last expected step in which the agent may still send too much."""
QUIET_SECONDS: Final = 2.0
"""Seconds of silence after which an agent that owes no response counts as finished."""


class RedactedRecordingError(RecordingError):
    """The live agent would get placeholders instead of secrets."""


class UntrustedRecordingError(RecordingError):
    """The recording names MCP servers or directories, and the user has not said to trust it."""


class BarrierError(AcpError):
    """The agent did not send the recorded steps in time."""


async def play_as_client(
    recording: Recording,
    command: Sequence[str],
    directories: ReplayDirectories,
    *,
    timeout: float = STEP_TIMEOUT,
    settle: float = SETTLE_SECONDS,
    quiet: float = QUIET_SECONDS,
    ignores: Sequence[Ignore] = (),
    allows_redacted: bool = False,
    is_trusted: bool = False,
    env: Mapping[str, str] | None = None,
    level: Level = "semantic",
    journal: Journal | None = None,
) -> ReplayResult:
    """Start `command` and play the recording's client against it.

    Args:
        recording: the recording to play.
        command: the agent's, with its arguments.
        directories: where it works; they are there.
        timeout: seconds for each wait.
        settle: seconds in which the agent may still send too much at the end.
        quiet: seconds of silence after which an agent that owes no response counts as finished.
        ignores: what is not compared; each counts how often it applied.
        allows_redacted: send placeholders where the recording has no secrets any more.
        is_trusted: hand over the recording's MCP servers and directories without a place.
        env: the agent's variables; ours by default.
        level: how closely the agent's messages are compared.
        journal: gets the frames of both sides.

    Raises:
        RedactedRecordingError: it is redacted; nothing was started.
        UntrustedRecordingError: it would have the agent start or touch what it names; nothing
            was started.
        AgentStartError: the command could not be started.
    """
    is_redacted = bool(recording.header.redacted) and any(
        _PLACEHOLDER.search(frame.data) for frame in recording.frames
    )
    if is_redacted and not allows_redacted:
        raise RedactedRecordingError(
            f"{recording.path} is redacted: the agent would get placeholders instead of secrets; "
            "allow it with --allow-redacted"
        )
    given = handover(recording.frames)
    if given.needs_trust and not is_trusted:
        named = "".join(f"\n  {line}" for line in given.describe())
        raise UntrustedRecordingError(
            f"{recording.path} would hand this to the agent; allow it with --trust:{named}"
        )
    async with spawn(command, cwd=directories.cwd, env=env) as child:
        player = RecordingPlayer(
            recording.frames,
            StreamTransport(child.stdout, child.stdin),
            directories,
            ignores,
            is_redacted=is_redacted,
            level=level,
            journal=journal,
        )
        result = await player.play(time_limit=timeout, settle=settle, quiet=quiet)
        if not result.errors or player.is_connected:
            return result
        with anyio.move_on_after(1):
            await child.wait()
        ended = AgentExitedError(child.exit_code, child.stderr_tail())
        tail = "".join(f"\n    | {line}" for line in ended.stderr_tail)
        errors = (*result.errors, f"{ended}{tail}")
        return replace(result, errors=errors, has_agent_ended=True)


def prepare_workspace(header: Header, directory: Path) -> None:
    """Write the files that the header's `meta.files` names (name: text) below `directory`.

    Raises:
        RecordingError: `meta.files` is not an object of strings, or a name leads out of the
            directory.
    """
    files: Json = header.meta.get("files", {})
    if not isinstance(files, dict):
        raise RecordingError("the recording's meta.files is not an object of names and texts")
    roots = SandboxedFiles([directory])
    for name, text in cast("dict[str, Json]", files).items():
        if name.startswith("/"):
            raise RecordingError(f"the recording's file {name!r} is refused: it is absolute")
        if not isinstance(text, str):
            raise RecordingError(f"the recording's file {name!r} has no text")
        try:
            roots.write_text(f"{directory}/{name}", text)
        except FileRefusedError as problem:
            raise RecordingError(
                f"the recording's file {name!r} is refused: {problem.reason}"
            ) from None


class _AgentSteps:
    """The steps of the agent so far."""

    def __init__(self) -> None:
        self._decoder, self._exchanges, self._steps = Decoder(), Exchanges(), Steps()
        self.steps: list[JournalStep] = []

    @property
    def owes_response(self) -> bool:
        """Whether a request of the client has no response yet."""
        return any(exchange.requester == "client" for exchange in self._exchanges.open())

    def apply(self, frame: Frame) -> None:
        known = len(self._steps.steps)
        self._steps.apply(frame, self._exchanges.pair(self._decoder.decode(frame)))
        self.steps += (step for step in self._steps.steps[known:] if step.side == "agent")


class RecordingPlayer:
    """One play of the client's side."""

    def __init__(
        self,
        frames: Sequence[Frame],
        transport: Transport,
        directories: ReplayDirectories,
        ignores: Sequence[Ignore] = (),
        *,
        is_redacted: bool = False,
        level: Level = "semantic",
        journal: Journal | None = None,
    ) -> None:
        self._frames = frames
        self._level: Level = level
        self._ignores = ignores
        self._reached = 0
        """Recorded frames up to the barrier that did not open, if there was one."""
        self._transport = transport
        places = {each: str(place) for each, place in directories.places.items()}
        self._new_ids = partial(IdMap, places, is_redacted=is_redacted)
        self._ids = self._new_ids()
        self._recorded = _AgentSteps()
        self._journal = Journal() if journal is None else journal
        self._live = _AgentSteps()
        self._grew = anyio.Event()
        self._files = SandboxedFiles([directories.cwd, *directories.places.values()])
        self._writes: dict[tuple[str, RequestId], Json] = {}
        self._played = 0
        self.is_connected = True
        """False once the agent has closed its side."""

    async def play(self, *, time_limit: float, settle: float, quiet: float) -> ReplayResult:
        """Play to the end, or to the first barrier that does not open."""
        errors: list[str] = []
        if not any(frame.side == "client" for frame in self._frames):
            errors.append("the recording holds no frame of a client: there is nothing to play")
        async with BackgroundTasks() as tasks:
            tasks.start_soon(self._listen)
            try:
                for frame in self._frames:
                    if frame.side == "client":
                        await self._barrier(frame, time_limit, quiet)
                        line = self._to_live(frame)
                        self._live.apply(self._journal.line("client", line))
                        self._carry_out_write(line)
                        await self._transport.send(line)
                        self._played += 1
                    self._recorded.apply(frame)
                    self._reached += 1
                await self._barrier(None, time_limit, quiet)
            except (BarrierError, ConnectionClosedError) as problem:
                errors.append(str(problem))
                # A write may fail before the end of the agent's output is read.
                self.is_connected &= isinstance(problem, BarrierError)
            else:
                await anyio.sleep(settle)
        # The client sent nothing after a barrier that did not open, so nothing is missing there.
        comparison = compare(
            self._frames[: self._reached],
            self._journal.entries,
            level=self._level,
            ignores=self._ignores,
            sides=("agent",),
            ids=self._new_ids(),
        )
        whole = _AgentSteps()
        for frame in self._frames:
            whole.apply(frame)
        unreached = len(whole.steps) - len(self._recorded.steps)
        return ReplayResult(
            comparison.differences, tuple(errors), self._played, comparison.compared[0], unreached
        )

    async def _barrier(self, frame: Frame | None, time_limit: float, quiet: float) -> None:
        """Wait until the agent has made as many steps as it had before `frame`."""
        wanted = len(self._recorded.steps)
        with anyio.move_on_after(time_limit):
            while len(self._live.steps) < wanted and self.is_connected:
                self._grew = anyio.Event()
                # An agent that owes no response has sent everything a moment later.
                quiet_timeout = None if self._live.owes_response else quiet
                with anyio.move_on_after(quiet_timeout) as scope:
                    await self._grew.wait()
                if scope.cancelled_caught:
                    break
        if len(self._live.steps) >= wanted:
            self._bind()
            return
        missing = self._recorded.steps[len(self._live.steps)]
        before = f"before frame {frame.seq}" if frame else "before the end"
        why = "the agent had responded to everything and sent no more"
        if not self.is_connected:
            why = "the agent closed its side"
        elif self._live.owes_response:
            why = f"the agent kept silent for {time_limit:g} s"
        frames = ", ".join(map(str, missing.frames[:5]))
        raise BarrierError(
            f"{before}: {why}; {missing.name} (recorded frames {frames}) was recorded next"
        )

    async def _listen(self) -> None:
        try:
            while True:
                line = await self._transport.receive()
                if line.strip():
                    self._live.apply(self._journal.line("agent", line))
                    match read_message(line):
                        case Request(id=id_, method="fs/write_text_file", params=params):
                            self._writes[id_key(id_)] = params
                        case _:
                            pass
                    self._grew.set()
        except (ConnectionClosedError, FrameTooLongError):
            self.is_connected = False
            self._grew.set()

    def _bind(self) -> None:
        for recorded, live in zip(self._recorded.steps, self._live.steps, strict=False):
            if recorded.name == live.name:
                if recorded.is_request:
                    self._ids.agree("request", recorded.id, live.id)
                self._ids.learn(recorded.value, live.value)

    def _carry_out_write(self, line: bytes) -> None:
        """Write the file that the recorded client wrote: later steps read it."""
        message = read_message(line)
        if not isinstance(message, SuccessResponse):
            return
        match self._writes.pop(id_key(message.id), None):
            case {"path": str(path), "content": str(content)}:
                # A file that must not be written stays unwritten, and the comparison shows it.
                with suppress(FileRefusedError):
                    self._files.write_text(path, content)
            case _:
                pass

    def _to_live(self, frame: Frame) -> bytes:
        """Return a recorded client frame with its ids and directories replaced.

        Also one that is not a message: an agent may read it all the same. Its own bytes if it has
        none of them, or is not JSON.
        """
        try:
            before = parse(frame.data)
        except ValueError:
            return frame.data
        after: Json
        if isinstance(before, list):
            after = [self._message_to_live(each) for each in cast("list[Json]", before)]
        else:
            after = self._message_to_live(before)
        return frame.data if after == before else encode(after)

    def _message_to_live(self, message: Json) -> Json:
        if not isinstance(message, dict):
            return message
        after = {
            name: self._ids.to_live(value) if name in {"params", "result"} else value
            for name, value in cast("dict[str, Json]", message).items()
        }
        if "method" not in after and isinstance(id_ := after.get("id"), str | int):
            after["id"] = self._ids.live_id(id_)
        return after
