"""Plays the client of a recording against a live agent.

Each recorded client frame is sent when what it followed in the recording has happened again (see
`client_script`), so that chunk boundaries, other sessions and parallel requests do not matter. Each
wait has a limit, and its error names what was waited for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NoReturn, Protocol, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from acp_inspector.compare.diff import CompareOptions, compare
from acp_inspector.compare.difference import JournalComparison
from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.likeness import MIN_LIKENESS
from acp_inspector.journal import DIALECT, Frame, Journal
from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.reader import Recording
from acp_inspector.replay.acts import ClientJudge
from acp_inspector.replay.client_script import ClientScript, ConnectionEvents, Event, ScriptStep
from acp_inspector.replay.counterparts import Counterparts
from acp_inspector.replay.directories import ReplayDirectories
from acp_inspector.replay.judge import Judge
from acp_inspector.replay.missing_files import missing_files, missing_files_note
from acp_inspector.replay.parts import connections, framing_of, gaps, recorded_dialect
from acp_inspector.replay.result import ReplayResult, emptiness
from acp_inspector.replay.trust import (
    UNTRUSTED,
    Trust,
    UntrustedRecordingError,
    agent_environment,
    check_trust,
)
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.registry import DIALECTS, open_dialect
from acp_protocol.errors import (
    AcpError,
    ConnectionClosedError,
    FrameTooLongError,
    RequestFailedError,
)
from acp_protocol.handler import Response
from acp_protocol.host.sandbox import FileRefusedError, SandboxedFiles
from acp_protocol.json_values import get, get_text
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    Json,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode_error,
    encode_result,
    id_key,
    read_message,
)
from acp_protocol.schema.vocabulary import ASYNCHRONOUS
from acp_protocol.transport import Transport
from acp_protocol.transport.base import ClosableTransport, frame_received, frame_to_send
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.opening import OpenedAgent, address_of, open_agent
from acp_protocol.transport.remote import RemoteAgent

_ACTS: Final = (
    "with the ids and directories of this run it would act, and the recording is not trusted; "
    "allow it with --trust"
)
_PLACEHOLDER: Final = re.compile(rb"(?:\xc2\xab|\\u00[aA][bB])secret:")
STEP_TIMEOUT: Final = 30.0
"""Seconds that one wait may take."""
SETTLE_SECONDS: Final = 0.3
"""Seconds after the last expected step in which the agent may still send too much; also the time
in which a better counterpart for a request may come."""
QUIET_SECONDS: Final = 2.0
"""Seconds of silence after which an agent that owes no response counts as finished."""
GRACE_SECONDS: Final = 1.0
"""Seconds after the end of its stdin in which an agent may still send what it should not."""
MAX_EXTRA_FRAMES: Final = 10_000
"""Frames that an agent may send beyond ten times what is recorded."""
MAX_EXTRA_BYTES: Final = 256 * 2**20
"""Bytes that an agent may send beyond ten times what is recorded."""
FLOOD_FACTOR: Final = 10
PATIENT_FRAMES: Final = 100
"""Frames beyond twice what is recorded after which a frame of the agent prolongs no wait."""
MAX_PAUSE: Final = 3600.0
"""Seconds that a recorded pause may take."""
LOOKAHEAD: Final = 200
"""Client frames that are considered at once; those of other sessions need not wait."""


class RedactedRecordingError(RecordingError):
    """The live agent would get placeholders instead of secrets."""


class ReplayStoppedError(AcpError):
    """The replay cannot go on."""


class SendingEnd(Transport, Protocol):
    """A transport whose sending end can be closed by itself."""

    async def close_sending(self) -> None: ...


class TranslatedPipes(DialectTransport):
    """The pipes of an agent, with official frames for an agent that speaks a dialect.

    Without `dialect` it is recognised by what the agent sends; `on_dialect` gets its name.
    """

    def __init__(
        self,
        pipes: ClosableTransport,
        dialect: Dialect | None,
        on_dialect: Callable[[str], object],
    ) -> None:
        self._pipes = pipes
        super().__init__(pipes, "client", dialect, on_dialect)
        if dialect is not None:
            on_dialect(dialect.name)

    async def close_sending(self) -> None:
        await self._pipes.close_sending()


class MissHandler(Protocol):
    """The client's own means, for requests that the recording does not have."""

    def observe(self, notification: Notification) -> None:
        """See what the agent notifies."""
        ...

    async def respond(self, request: Request) -> Json:
        """Return the result of a request.

        Raises:
            RequestFailedError: the error to respond with.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayLimits:
    """How long and how much; times in seconds."""

    timeout: float = STEP_TIMEOUT
    """For each wait."""
    settle: float = SETTLE_SECONDS
    quiet: float = QUIET_SECONDS
    grace: float = GRACE_SECONDS
    pace: float = 0.0
    """Factor for the recorded pauses of the client."""
    extra_frames: int = MAX_EXTRA_FRAMES
    extra_bytes: int = MAX_EXTRA_BYTES


async def play_as_client(
    recording: Recording,
    agent: Sequence[str] | RemoteAgent,
    directories: ReplayDirectories,
    *,
    limits: PlayLimits | None = None,
    options: CompareOptions | None = None,
    allows_redacted: bool = False,
    trust: Trust = UNTRUSTED,
    on_miss: MissHandler | None = None,
    journal: Journal | None = None,
    env: Mapping[str, str] | None = None,
    dialect: str | None = None,
    translates: bool = True,
) -> ReplayResult:
    """Open an agent and play the recording's client against it.

    A recording of several processes is played against as many, one after the other.

    Args:
        recording: the recording to play.
        agent: its command with the arguments, or where it is.
        directories: where it works; they are there.
        limits: how long to wait, and how much to take.
        options: how the two are compared, and what is not.
        allows_redacted: send placeholders where the recording has no secrets any more.
        trust: what the user trusts; without trust the recording may only talk.
        on_miss: responds to requests that the recording does not have; None: they fail.
        journal: gets the live traffic.
        env: the agent's variables; ours by default.
        dialect: that of the agent, if it is known.
        translates: translate a recording of the published protocol for an agent of a dialect, one
        that is known or that it shows. The journal gets what was translated. Other recordings are
        played as they are.

    Raises:
        RedactedRecordingError: it is redacted; nothing was started.
        UntrustedRecordingError: it would act, and is not trusted; nothing was started.
        AgentStartError: the command could not be started.
    """
    entries, frames, framing = recording.entries, recording.frames, framing_of(recording)
    is_redacted = bool(recording.header.redacted) and any(
        _PLACEHOLDER.search(frame.data) for frame in frames
    )
    if is_redacted and not allows_redacted:
        raise RedactedRecordingError(
            f"{recording.path} is redacted: the agent would get placeholders instead of secrets; "
            "allow it with --allow-redacted"
        )
    is_trusted = check_trust(recording, "client", trust, frames)
    if not is_trusted and (unplaced := directories.without_place(frames)):
        raise UntrustedRecordingError(f"{recording.path}: no directory replaces {unplaced[0]}")
    journal = Journal() if journal is None else journal
    missing = gaps(recording)
    spoken = recorded_dialect(recording)
    is_official = translates and framing == "lines" and spoken is None
    translators: list[str] = []
    places = {each: str(place) for each, place in directories.places.items()}
    ids = IdMap(places, is_redacted=is_redacted)
    results: list[ReplayResult] = []
    with agent_environment(env, is_trusted=is_trusted) as env:
        for part in connections(entries):
            _note_start(journal, agent, spoken)
            translator = _translator(dialect) if is_official else None
            async with open_agent(
                address_of(agent, env, dialect),
                cwd=directories.cwd,
                framing=framing if translator is None else translator.framing,
            ) as opened:
                pipes: SendingEnd = opened.transport
                if is_official:
                    pipes = TranslatedPipes(opened.transport, translator, translators.append)
                player = RecordingPlayer(
                    [entry for entry in part if isinstance(entry, Frame)],
                    pipes,
                    directories,
                    options=options or {},
                    dialect=spoken,
                    ids=ids,
                    new_ids=partial(IdMap, places, is_redacted=is_redacted),
                    journal=journal,
                    on_miss=on_miss,
                    judge=None if is_trusted else ClientJudge(directories=places.values()),
                    has_gaps=bool(missing),
                )
                result = await player.play(limits or PlayLimits())
                if player.has_hung_up or not player.is_connected:
                    result = await _with_exit(result, opened, has_left=not player.is_connected)
            results.append(result)
            ids = ids.for_next_connection()
            if result.errors:
                break
    result = results[0]
    for each in results[1:]:
        result = result.joined(each)
    notes = [*missing, *result.notes]
    if translators:
        notes.append(f"the agent speaks {translators[0]}: what was recorded was translated for it")
    if not result.is_passed and (names := missing_files(frames, directories.places)):
        notes.append(missing_files_note(names, recording.path))
    return replace(result, notes=tuple(notes), unread=recording.unread)


def _translator(dialect: str | None) -> Dialect | None:
    return None if dialect is None or dialect not in DIALECTS else open_dialect(dialect)


def _note_start(journal: Journal, agent: Sequence[str] | RemoteAgent, dialect: str | None) -> None:
    if isinstance(agent, RemoteAgent):
        journal.event("connect", url=agent.shown_url)
    else:
        journal.event("spawn", command=list(agent))
    if dialect is not None:
        journal.event(DIALECT, dialect=dialect)


async def _with_exit(result: ReplayResult, opened: OpenedAgent, *, has_left: bool) -> ReplayResult:
    """Return a result with what the end of the agent says.

    `has_left`: it has closed its side by itself.
    """
    ended = await opened.ending()
    if not opened.exit_code and not (has_left and result.errors):
        return result
    if not has_left:
        note = f"{ended} when its stdin was closed"
        return replace(result, notes=(*result.notes, note))
    tail = "".join(f"\n    | {line}" for line in opened.stderr_tail())
    errors = (*result.errors, f"{ended}{tail}")
    return replace(result, errors=errors, has_agent_ended=True)


class RecordingPlayer:
    """One play of the client's side of one connection."""

    def __init__(
        self,
        frames: Sequence[Frame],
        transport: SendingEnd,
        directories: ReplayDirectories,
        *,
        options: CompareOptions,
        ids: IdMap,
        new_ids: Callable[[], IdMap],
        journal: Journal,
        on_miss: MissHandler | None = None,
        judge: ClientJudge | None = None,
        has_gaps: bool = False,
        dialect: str | None = None,
    ) -> None:
        """Prepare to play `frames`, which are in `dialect`.

        `ids` knows what earlier connections have bound; `new_ids` makes the map of a comparison;
        `judge` is there if the recording may only talk.
        """
        self._dialect = dialect
        self._script = ClientScript(frames, has_gaps=has_gaps, dialect=dialect)
        self._options = options
        self._transport = transport
        self._ids = ids
        self._counterparts = Counterparts(self._script, ids)
        self._new_ids = new_ids
        self._journal = journal
        self._first = len(journal)
        self._on_miss = on_miss
        self._judge = judge
        self._files = SandboxedFiles([directories.cwd, *directories.places.values()])
        self._run = ConnectionEvents(dialect)
        self._sent: dict[int, int] = {}
        """The recorded frame of each live one that was sent."""
        self._played: set[int] = set()
        """Positions of the recorded frames that were sent."""
        self._responded: set[Hashable] = set()
        self._cancelled: set[Hashable] = set()
        """Recorded requests whose live counterparts the agent has cancelled."""
        self._unmatched: list[Event] = []
        """Live requests whose counterpart is not clear yet."""
        self._optional_since: dict[int, float] = {}
        """Since when a frame waits only for what need not come, by its position."""
        self._writes: dict[tuple[str, RequestId], Json] = {}
        self._requests: set[int] = set()
        """Numbers of live requests."""
        self._forwarded: set[int] = set()
        """Numbers of live requests that the recording does not have."""
        self._grew = anyio.Event()
        self._sending = anyio.Lock()
        self._stopped: ReplayStoppedError | None = None
        self._arrived = self._progressed = 0.0
        self._frames = self._bytes = 0
        self._last_name = ""
        self.is_connected = True
        """False once the agent has closed its side by itself."""
        self.has_hung_up = False
        """Whether we have closed the agent's stdin."""
        self._has_read_all = anyio.Event()
        agent = [frame for frame in frames if frame.side == "agent"]
        self._recorded_frames, self._recorded_bytes = len(agent), sum(len(f.data) for f in agent)

    async def play(self, limits: PlayLimits) -> ReplayResult:
        """Play to the end, or to the first wait that fails."""
        self._limits = limits
        errors: list[str] = []
        script = self._script
        if not script.steps:
            errors.append("the recording holds no frame of a client: there is nothing to play")
        self._arrived = self._progressed = anyio.current_time()
        async with BackgroundTasks() as tasks:
            tasks.start_soon(self._listen)
            try:
                await self._send_all(tasks)
                await self._await_end(tasks)
            except (ReplayStoppedError, ConnectionClosedError) as problem:
                errors.append(str(problem))
                # A write may fail before the end of the agent's output is read.
                self.is_connected &= isinstance(problem, ReplayStoppedError)
            else:
                await anyio.sleep(limits.settle)
                if not script.is_open_ended and self.is_connected:
                    await self._hang_up()
                if self._stopped is not None:
                    errors.append(str(self._stopped))
                elif self._unmatched and not script.is_open_ended:
                    errors.append(self._describe_miss(self._unmatched[0]))
        unsent = [step for step in script.steps if step.index not in self._played]
        # The client sent nothing after a wait that failed, so nothing is missing there.
        reached = min((step.index for step in unsent), default=len(script.frames))
        comparison = await self._compare(script.frames[:reached])
        judge = Judge(
            script,
            self._run,
            self._counterparts.live_session,
            self._requests,
            self._forwarded,
            self._options.get("level", "semantic"),
        )
        failing, notes = judge.judge(comparison)
        if script.is_open_ended:
            notes.append("the recording ends in a turn; what came behind its end is not judged")
        if script.steps and all(step.name != "initialize" for step in script.steps):
            notes.append("the recording has no initialize: the agent may refuse what follows")
        errors += judge.double_responses()
        empty, bare = emptiness(comparison)
        errors += [] if errors or failing else empty
        notes += bare
        at = script.frames[reached - 1].seq if reached else 0
        unreached = sum(event.seq > at for event in script.events)
        return ReplayResult(
            tuple(failing),
            tuple(errors),
            len(self._played),
            comparison.compared[0],
            unreached if unsent else 0,
            tuple(notes),
            tolerated=comparison.tolerated,
        )

    async def _compare(self, recorded: Sequence[Frame]) -> JournalComparison:
        """Compare what was recorded with what came; a cancellation ends that at once."""
        is_unwanted = False

        def check(_share: float) -> None:
            if is_unwanted:
                raise ReplayStoppedError("the comparison is no longer wanted")

        comparing = partial(
            compare,
            recorded,
            self._journal.entries[self._first :],
            sides=("agent",),
            ids=self._new_ids(),
            progress=check,
            dialect=self._dialect,
            **self._options,
        )
        try:
            # In a thread, so that the event loop sees signals.
            return await anyio.to_thread.run_sync(comparing, abandon_on_cancel=True)
        finally:
            is_unwanted = True

    # Sending

    async def _send_all(self, tasks: TaskGroup) -> None:
        """Send each client frame when what it followed has happened."""
        unsent = list(self._script.steps)
        ready_since: dict[int, float] = {}
        while unsent:
            now = anyio.current_time()
            wake = self._progressed + self._limits.timeout
            step, due = self._next_step(unsent, ready_since, now)
            if step is not None:
                unsent.remove(step)
                await self._send(step)
                continue
            if self._unmatched:
                due = min(due, self._resolve(tasks, now))
            if not self._run.owes_response and math.isinf(due):
                # An agent that owes no response has sent everything a moment later.
                wake = min(wake, self._expiry(now) or now)
            if wake <= now:
                self._stop(unsent[0])
            await self._wait_until(min(wake, due), unsent[0])

    def _next_step(
        self, unsent: Sequence[ScriptStep], ready_since: dict[int, float], now: float
    ) -> tuple[ScriptStep | None, float]:
        """Return the first step that can be sent; otherwise None, and when to look again."""
        due = math.inf
        waiting: set[str | None] = set()
        calls: set[str | None] = set()
        for step in unsent[:LOOKAHEAD]:
            earlier = waiting if step.is_call else calls
            is_blocked = None in earlier or bool(step.sessions & earlier)
            is_blocked |= step.is_call and None in step.sessions and bool(waiting)
            if not is_blocked:
                again = self._wake_time(step, now)
                if again is None:
                    since = ready_since.setdefault(step.index, now)
                    recorded = step.frame.time - step.after
                    pause = min(recorded * self._limits.pace, MAX_PAUSE)
                    if step.follows_time:
                        # The agent needs a moment to begin with what is then cancelled.
                        pause = max(pause, min(recorded, self._limits.quiet))
                    if since + max(pause, 0.0) <= now:
                        return step, now
                    again = since + pause
                    # A recorded pause is not a wait for the agent.
                    self._progressed = now
                due = min(due, again)
            waiting |= step.sessions
            calls |= step.sessions if step.is_call else set()
        return None, due

    def _wake_time(self, step: ScriptStep, now: float) -> float | None:
        """Return None if the step can be sent, otherwise when to look again, if not before.

        Forget what it needs no longer.
        """
        if step.orphan is not None:
            found = self._request_with_id(step.orphan)
            if found is None:
                return self._expiry(now)
            self._unmatched.remove(found)
            step.orphan = None
        step.needs = [need for need in step.needs if not self._is_met(need)]
        if not step.needs:
            return None
        if not all(self._is_optional(need, step) for need in step.needs):
            return math.inf
        expiry = self._expiry(now)
        if expiry is None or all(self._is_over(need) for need in step.needs):
            return expiry
        # While a turn goes on the agent need not fall silent.
        limit = self._optional_since.setdefault(step.index, now) + self._limits.quiet
        return min(limit, expiry) if limit > now else None

    def _expiry(self, now: float) -> float | None:
        """Return when the agent will have been silent long enough; None if it has been."""
        at = max(self._arrived, self._progressed) + self._limits.quiet
        return at if at > now else None

    def _is_met(self, need: Event) -> bool:
        session, amount = self._counterparts.live_session(need.session), self._run.amount
        match need.kind:
            case "response":
                return need.key in self._responded or need.key is None
            case "request":
                return need.key in self._counterparts.matched
            case "cancel":
                return need.key is None or need.key in self._cancelled
            case "text":
                return amount(session, "text", need.period, need.name) >= need.amount
            case "tool call":
                live = self._counterparts.tool_calls.get((need.session, need.key))
                return live is not None and amount(session, "tool call", live) >= need.amount
            case "update":
                # One that may come at any time may also have come in an earlier turn.
                came_earlier = need.name in ASYNCHRONOUS and (
                    amount(session, "update", need.name) >= need.amount
                )
                return came_earlier or amount(session, "update", need.period, need.name) > 0
            case _:
                return not self._run.session(session).turns

    def _is_optional(self, need: Event, step: ScriptStep | None) -> bool:
        """Return whether the replay goes on without it after a moment: nothing depends on it.

        Reactions are waited for as long as their turn goes on.
        """
        if need.kind == "cancel":
            return True
        if not need.is_reaction or (step is not None and not step.is_call):
            return False
        return self._is_over(need) or need.name in ASYNCHRONOUS or need.session is None

    def _is_over(self, need: Event) -> bool:
        """Return whether the turn of a reaction has ended."""
        session = self._run.session(self._counterparts.live_session(need.session))
        return not session.turns or session.period > need.period

    async def _wait_until(self, time: float, step: ScriptStep | None) -> None:
        """Wait until the agent sends something, at most until `time`.

        Raises:
            ReplayStoppedError: the agent has closed its side, or sent too much.
        """
        if self._stopped is not None:
            raise self._stopped
        if not self.is_connected:
            self._stop(step)
        self._grew = anyio.Event()
        with anyio.move_on_after(max(time - anyio.current_time(), 0)):
            await self._grew.wait()

    async def _send(self, step: ScriptStep) -> None:
        line = self._counterparts.to_live(step)
        unsent = f"frame {step.frame.seq} ({step.name}) could not be sent"
        if self._judge is not None and self._judge.judge([replace(step.frame, data=line)]):
            raise ReplayStoppedError(f"{unsent}: {_ACTS}")
        with anyio.move_on_after(self._limits.timeout) as scope:
            async with self._sending:
                frame = self._journal.wire("client", frame_to_send(self._transport, line))
                self._sent[frame.seq] = step.frame.seq
                self._run.apply(frame)
                self._carry_out_write(line)
                try:
                    await self._transport.send(line)
                except ConnectionClosedError:
                    raise ConnectionClosedError(f"{unsent}: the agent closed its stdin") from None
        if scope.cancelled_caught:
            raise ReplayStoppedError(
                f"{unsent}: the agent reads nothing for {self._limits.timeout:g} s"
            )
        self._played.add(step.index)
        self._progressed = anyio.current_time()

    async def _await_end(self, tasks: TaskGroup) -> None:
        """Wait until everything recorded has come, or the agent has nothing more to send."""
        missing = list(self._script.events)
        while missing := [event for event in missing if not self._is_met(event)]:
            missing = [event for event in missing if event.kind != "malformed"]
            now = anyio.current_time()
            wake = self._progressed + self._limits.timeout
            expiry = self._expiry(now)
            are_optional = all(self._is_optional(each, None) for each in missing)
            if expiry is None and (are_optional or not self._run.owes_response):
                # The comparison shows what is missing.
                break
            due = math.inf if expiry is None else expiry
            if self._unmatched:
                due = min(due, self._resolve(tasks, now))
            if wake <= now:
                self._stop(None, missing[0])
            await self._wait_until(min(wake, due), None)
        if self._unmatched and self._on_miss is not None:
            self._resolve(tasks, math.inf)

    def _stop(self, step: ScriptStep | None, missing: Event | None = None) -> NoReturn:
        """Raise the error that says what was waited for, and where."""
        if missing is None and step is not None:
            missing = next((need for need in step.needs), None)
        if missing is None:
            missing = next((each for each in self._script.events if not self._is_met(each)), None)
        where = f"before frame {step.frame.seq} ({step.name})" if step else "before the end"
        why = f"waited for {self._limits.timeout:g} s"
        if not self.is_connected:
            why = "the agent closed its side"
        elif not self._run.owes_response:
            why = "the agent had responded to everything and sent no more"
        elif self._arrived < self._progressed or not self._last_name:
            why = f"the agent kept silent for {self._limits.timeout:g} s"
        text = f"{where}: {why}"
        if missing is not None:
            text += f"; {missing.name} (recorded frame {missing.seq}) was recorded next"
        if self._unmatched:
            text += f"\n    {self._describe_miss(self._unmatched[0])}"
        elif self._last_name:
            text += f"; the last that came was {self._last_name}"
        raise ReplayStoppedError(text)

    # Receiving

    async def _listen(self) -> None:
        try:
            while self._stopped is None:
                line = await self._transport.receive()
                if line.strip():
                    self._receive(line)
                    self._grew.set()
        except ConnectionClosedError:
            self.is_connected = self.has_hung_up
        except FrameTooLongError as problem:
            self._stopped = ReplayStoppedError(f"the agent sent what cannot be read: {problem}")
        self._grew.set()
        self._has_read_all.set()

    async def _hang_up(self) -> None:
        """Close the agent's stdin, and read what it sends until it ends, for a moment."""
        self.has_hung_up = True
        await self._transport.close_sending()
        with anyio.move_on_after(self._limits.grace):
            await self._has_read_all.wait()

    def _receive(self, line: bytes) -> None:
        frame = self._journal.wire("agent", frame_received(self._transport, line))
        if self._judge is not None:
            self._judge.judge([frame])
        self._frames += 1
        self._bytes += len(line)
        now = self._arrived = anyio.current_time()
        if self._frames <= 2 * self._recorded_frames + PATIENT_FRAMES:
            self._progressed = now
        limits = self._limits
        if (
            self._frames > FLOOD_FACTOR * self._recorded_frames + limits.extra_frames
            or self._bytes > FLOOD_FACTOR * self._recorded_bytes + limits.extra_bytes
        ):
            self._stopped = ReplayStoppedError(
                f"the agent floods: it sent {self._frames} frames, {self._bytes} bytes; recorded "
                f"are {self._recorded_frames} frames, {self._recorded_bytes} bytes"
            )
        for event in self._run.apply(frame):
            self._last_name = f"{event.name} (live frame {event.seq})"
            match event.kind:
                case "response":
                    self._learn_response(event)
                case "request":
                    self._requests.add(event.seq)
                    self._match(event)
                case "cancel":
                    self._cancelled |= {
                        key for key, request in self._counterparts.matched.items()
                        if id_key(request.id) == event.key
                    }  # fmt: skip
                case "tool call":
                    self._counterparts.bind_tool_call(event)
                case _:
                    self._counterparts.note_minted(event, is_live=True)
            if self._on_miss is not None and isinstance(event.message, Notification):
                self._on_miss.observe(event.message)

    def _learn_response(self, event: Event) -> None:
        """Bind the ids in a response to those of its recorded counterpart."""
        if event.key is None:
            return
        seq, id_ = cast("tuple[int, Hashable]", event.key)
        key = (self._sent.get(seq), id_)
        self._responded.add(key)
        recorded = self._script.responses.get(key)
        live = event.message
        if recorded is None:
            self._counterparts.bind_lost_session(event)
        elif isinstance(recorded.message, SuccessResponse) and isinstance(live, SuccessResponse):
            was = recorded.message.result
            opened = get_text(was, "sessionId"), get_text(live.result, "sessionId")
            if recorded.name == "response to session/new" and None not in opened:
                # An earlier process may have had a session of this name.
                self._ids.rebind("sessionId", *opened)
            self._ids.learn(was, live.result)
            versions = get(was, "protocolVersion"), get(live.result, "protocolVersion")
            if recorded.name == "response to initialize" and versions[0] != versions[1]:
                self._stopped = ReplayStoppedError(
                    f"the agent chose protocol version {versions[1]}, in the recording it is "
                    f"{versions[0]}: what follows cannot be played"
                )

    def _match(self, event: Event) -> None:
        """Find the recorded counterpart of a request that is surely it."""
        request = event.message
        if isinstance(request, Request) and request.method == "fs/write_text_file":
            self._writes[id_key(request.id)] = request.params
        found = self._counterparts.candidates(event)
        if found and found[0][0] >= MIN_LIKENESS and found[0][1].period == event.period:
            self._counterparts.pair(found[0][1], event)
        else:
            self._unmatched.append(event)

    def _request_with_id(self, id_: RequestId) -> Event | None:
        for event in self._unmatched:
            if isinstance(event.message, Request) and id_key(event.message.id) == id_key(id_):
                return event
        return None

    # Misses

    def _describe_miss(self, event: Event) -> str:
        sent = (step.frame.seq for step in self._script.steps if step.index in self._played)
        return self._counterparts.describe_miss(event, max(sent, default=0))

    def _resolve(self, tasks: TaskGroup, now: float) -> float:
        """Match what no better counterpart has come for; return when to look again.

        Raises:
            ReplayStoppedError: the recording has no such request, and there is no handler.
        """
        due = self._arrived + self._limits.settle
        if now < due:
            return due
        event = self._unmatched[0]
        found = self._counterparts.candidates(event)
        is_alike = bool(found) and found[0][0] >= MIN_LIKENESS
        is_of_turn = bool(found) and found[0][1].period == event.period
        if is_alike or (is_of_turn and self._on_miss is None):
            # With no other counterpart left the comparison shows what differs.
            self._unmatched.remove(event)
            self._counterparts.pair(found[0][1], event)
            self._grew.set()
            return now
        if self._on_miss is None:
            if not self._script.is_open_ended:
                raise ReplayStoppedError(self._describe_miss(event))
            return math.inf
        self._unmatched.remove(event)
        self._forwarded.add(event.seq)
        tasks.start_soon(self._forward, event, self._on_miss)
        return now

    async def _forward(self, event: Event, handler: MissHandler) -> None:
        request = event.message
        assert isinstance(request, Request)
        after = None
        try:
            with anyio.fail_after(self._limits.timeout):
                result = await handler.respond(request)
            if isinstance(result, Response):
                result, after = result.result, result.after_send
            line = encode_result(request.id, result)
        except RequestFailedError as problem:
            line = encode_error(request.id, problem.code, problem.message, problem.data)
        except TimeoutError:
            line = encode_error(request.id, INTERNAL_ERROR, "the client needed too long")
        with suppress(ConnectionClosedError):
            async with self._sending:
                frame = frame_to_send(self._transport, line)
                self._run.apply(self._journal.wire("client", frame))
                await self._transport.send(line)
        if after is not None:
            await after()
        self._progressed = anyio.current_time()
        self._grew.set()

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
            roots.write_text(str(directory / name), text)
        except FileRefusedError as problem:
            raise RecordingError(
                f"the recording's file {name!r} is refused: {problem.reason}"
            ) from None
