"""Plays the client of a recording against a live agent.

A recorded client frame is a barrier: it is sent when everything that it followed in the recording
has come, counted in beats, so that another cut of the same text makes no difference. Each wait has
a limit and says what it waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, cast

import anyio

from acp_inspector.analysis.ignores import Ignore
from acp_inspector.journal import Frame, Journal
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import Recording
from acp_inspector.replay.beats import Beat, Beats, beats_of
from acp_inspector.replay.bindings import Bindings
from acp_inspector.replay.comparison import compare
from acp_inspector.replay.kept import kept_beats
from acp_inspector.replay.verdict import Verdict
from acp_protocol.errors import AcpError, AgentExitedError, ConnectionClosedError, FrameTooLongError
from acp_protocol.host.files import FileRefusedError, Roots
from acp_protocol.host.processes import spawn
from acp_protocol.jsonrpc import (
    Failure,
    Json,
    Notification,
    Request,
    RequestId,
    Result,
    encode,
    id_key,
    parse,
    read_message,
)
from acp_protocol.tasks import OwnedTasks
from acp_protocol.transport import Transport
from acp_protocol.transport.process import ProcessTransport

TIME_LIMIT: Final = 30.0
"""Seconds that one barrier may take."""
SETTLE: Final = 0.3
"""Seconds after the last expected beat in which the agent may still say too much."""


QUIET: Final = 2.0
"""Seconds after which an agent that owes no answer is taken to have finished."""


class RedactedRecordingError(RecordingError):
    """Placeholders would go to a live agent in place of secrets, and nobody said that they may."""


class BarrierError(AcpError):
    """The agent did not say in time what was recorded."""


async def play_as_client(
    recording: Recording,
    command: Sequence[str],
    cwd: Path,
    *,
    time_limit: float = TIME_LIMIT,
    settle: float = SETTLE,
    ignores: Sequence[Ignore] = (),
    allows_redacted: bool = False,
) -> Verdict:
    """Start `command` in `cwd` and play the recording's client against it.

    Args:
        recording: what is played.
        command: the agent's, with its arguments.
        cwd: where it works.
        time_limit: seconds for each wait.
        settle: seconds in which the agent may still say too much at the end.
        ignores: what is not compared; they are told how often they applied.
        allows_redacted: send placeholders where secrets were taken out of the recording.

    Raises:
        RedactedRecordingError: secrets were taken out of it; nothing was started.
        AgentStartError: the command could not be started.
    """
    is_redacted = bool(recording.header.redacted)
    if is_redacted and not allows_redacted:
        raise RedactedRecordingError(
            f"{recording.path} is redacted: the agent would get placeholders in place of secrets; "
            "say --allow-redacted"
        )
    async with spawn(command, cwd=cwd) as child:
        player = Player(
            recording.frames, ProcessTransport(child), str(cwd), ignores, is_redacted=is_redacted
        )
        verdict = await player.play(time_limit=time_limit, settle=settle)
        if not verdict.troubles or player.is_connected:
            return verdict
        with anyio.move_on_after(1):
            await child.wait()
        ended = AgentExitedError(child.exit_code, child.stderr_tail())
        said = "".join(f"\n    | {line}" for line in ended.stderr_tail)
        troubles = (*verdict.troubles, f"{ended}{said}")
        return replace(verdict, troubles=troubles, has_agent_ended=True)


class Player:
    """One play of the client's side."""

    def __init__(
        self,
        frames: Sequence[Frame],
        transport: Transport,
        live_cwd: str,
        ignores: Sequence[Ignore] = (),
        *,
        is_redacted: bool = False,
    ) -> None:
        self._frames = frames
        self._ignores = ignores
        self._reached = 0
        """Recorded frames up to the barrier that did not open, if there was one."""
        self._transport = transport
        recorded_cwd = recorded_directory(frames)
        self._new_bindings = partial(Bindings, recorded_cwd, live_cwd, is_redacted=is_redacted)
        self._bindings = self._new_bindings()
        self._recorded = Beats()
        self._journal = Journal()
        self._live = Beats()
        self._grew = anyio.Event()
        self._files = Roots([Path(live_cwd)])
        self._writes: dict[tuple[str, RequestId], Json] = {}
        self._played = 0
        self.is_connected = True
        """False once the agent has closed its side."""

    async def play(self, *, time_limit: float, settle: float) -> Verdict:
        """Play to the end, or to the first barrier that does not open."""
        troubles: list[str] = []
        if not any(frame.side == "client" for frame in self._frames):
            troubles.append("the recording holds no frame of a client: there is nothing to play")
        async with OwnedTasks() as tasks:
            tasks.start_soon(self._listen)
            try:
                for frame in self._frames:
                    if frame.side == "client":
                        await self._barrier(frame, time_limit)
                        await self._send(frame)
                    self._recorded.apply(frame)
                    self._reached += 1
                await self._barrier(None, time_limit)
            except (BarrierError, ConnectionClosedError) as problem:
                troubles.append(str(problem))
            else:
                await anyio.sleep(settle)
        # Behind a barrier that did not open nothing was asked for, so nothing is missed there.
        recorded, live = self._recorded.beats, self._live.beats
        if self._ignores:
            said = [entry for entry in self._journal.entries if isinstance(entry, Frame)]
            recorded = kept_beats(self._frames[: self._reached], self._ignores)
            live = kept_beats(said, self._ignores)
        differences = compare(recorded, live, self._new_bindings())
        unreached = len(beats_of(self._frames)) - len(self._recorded.beats)
        return Verdict(differences, tuple(troubles), self._played, len(recorded), unreached)

    async def _barrier(self, frame: Frame | None, time_limit: float) -> None:
        """Wait until as many beats have come as stood before `frame`."""
        wanted = len(self._recorded.beats)
        with anyio.move_on_after(time_limit):
            while len(self._live.beats) < wanted and self.is_connected:
                self._grew = anyio.Event()
                # An agent that owes no answer has said all it has to say a moment later.
                patience = None if self._live.is_answer_open else QUIET
                with anyio.move_on_after(patience) as scope:
                    await self._grew.wait()
                if scope.cancelled_caught:
                    break
        if len(self._live.beats) >= wanted:
            self._bind()
            return
        missing = self._recorded.beats[len(self._live.beats)]
        before = f"before frame {frame.n}" if frame else "before the end"
        why = self._reason(time_limit)
        raise BarrierError(f"{before}: {why}; {_named(missing)} was recorded next")

    def _reason(self, time_limit: float) -> str:
        if not self.is_connected:
            return "the agent closed its side"
        if self._live.is_answer_open:
            return f"the agent kept silent for {time_limit:g} s"
        return "the agent had answered everything and said no more"

    async def _listen(self) -> None:
        try:
            while True:
                line = await self._transport.receive()
                if line.strip():
                    self._live.apply(self._journal.line("agent", line))
                    self._note_write(line)
                    self._grew.set()
        except (ConnectionClosedError, FrameTooLongError):
            self.is_connected = False
            self._grew.set()

    def _bind(self) -> None:
        for recorded, live in zip(self._recorded.beats, self._live.beats, strict=False):
            if recorded.name == live.name:
                if recorded.is_request:
                    self._bindings.agree("request", recorded.id, live.id)
                self._bindings.learn(recorded.value, live.value)

    async def _send(self, frame: Frame) -> None:
        line = self._to_live(frame)
        self._live.apply(self._journal.line("client", line))
        self._carry_out_write(line)
        await self._transport.send(line)
        self._played += 1

    def _note_write(self, line: bytes) -> None:
        match read_message(line):
            case Request(id=id_, method="fs/write_text_file", params=params):
                self._writes[id_key(id_)] = params
            case _:
                pass

    def _carry_out_write(self, line: bytes) -> None:
        """Write the file whose writing the recorded client confirmed: later steps look for it."""
        message = read_message(line)
        if not isinstance(message, Result):
            return
        match self._writes.pop(id_key(message.id), None):
            case {"path": str(path), "content": str(content)}:
                # What the client may not write stays unwritten, and the comparison shows it.
                with suppress(FileRefusedError):
                    self._files.write_text(path, content)
            case _:
                pass

    def _to_live(self, frame: Frame) -> bytes:
        """Return the recorded client frame with what is bound replaced; else its own bytes."""
        message = read_message(frame.raw)
        if not isinstance(message, Request | Notification | Result | Failure):
            return frame.raw
        before = cast("dict[str, Json]", parse(frame.raw))
        after = {
            name: self._bindings.to_live(value) if name in {"params", "result"} else value
            for name, value in before.items()
        }
        if isinstance(message, Result | Failure):
            after["id"] = self._bindings.live_id(message.id)
        return frame.raw if after == before else encode(after)


def recorded_directory(frames: Iterable[Frame]) -> str:
    """Return the working directory of the first session that was opened; empty when none was."""
    for frame in frames:
        match read_message(frame.raw):
            case Request(method="session/new", params={"cwd": str(cwd)}):
                return cwd
            case _:
                continue
    return ""


def _named(beat: Beat) -> str:
    return f"{beat.name} (recorded frames {', '.join(map(str, beat.frames[:5]))})"
