"""The state of a connection, the requests in both directions, and the player of steps.

A run belongs to one message of the client. It has random numbers of its own, so that chance in it
does not depend on other runs.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Annotated, Final

import anyio

from acp_agent.scripted.faults import (
    Faulty,
    FrameFault,
    OutgoingFrame,
    RunningFaultRule,
    frame_kind,
)
from acp_agent.scripted.messages import MessagesV1, MessagesV2, Speaker
from acp_agent.scripted.schema import Chance, whole
from acp_agent.scripted.values import difference, filled
from acp_agent.scripted.wire import FrameCodec, ScriptIo, Wire
from acp_protocol import jsonrpc
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json, Request, RequestId

MAX_REPEATS: Final = 10_000_000
MAX_UPDATES: Final = 10_000
"""Updates of a session that are kept for a replay; the oldest go first."""


@dataclass(slots=True, eq=False)
class OutgoingRequest:
    """A request to the client."""

    id: RequestId
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    result: Json = None
    error: Json = None
    """The error of the response; None if it went well."""

    def finish(self, result: Json, error: Json) -> None:
        self.result, self.error = result, error
        self.is_answered.set()


class OutgoingRequests:
    """The open requests to the client; several may have one id, which is a fault it should bear."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, RequestId], deque[OutgoingRequest]] = defaultdict(deque)
        self._count = 0
        self._has_left = False

    def new(self, wanted: RequestId = None) -> OutgoingRequest:
        """Return a new request with an id of its own, or the one that is wanted."""
        self._count += 1
        sent = OutgoingRequest(self._count if wanted is None else wanted)
        self._open[jsonrpc.id_key(sent.id)].append(sent)
        if self._has_left:
            self.leave()
        return sent

    def answered(self, id_: RequestId, result: Json, error: Json) -> bool:
        """Hand a response to its request; return whether there is one."""
        waiting = self._open.get(jsonrpc.id_key(id_))
        if not waiting:
            return False
        waiting.popleft().finish(result, error)
        return True

    def refuse_duplicate(self, error: Json) -> None:
        """Fail the newest request whose id an older open one has: the client has refused it.

        Such a refusal cannot bear the id, which belongs to the older request.
        """
        for waiting in self._open.values():
            if len(waiting) > 1:
                waiting.pop().finish(None, error)
                return

    def leave(self) -> None:
        """Fail all of them, and those to come: the client says nothing more."""
        self._has_left = True
        error = {"code": jsonrpc.INTERNAL_ERROR, "message": "the client has left"}
        for waiting in self._open.values():
            while waiting:
                waiting.pop().finish(None, error)


class ReceivedRequests:
    """The open requests of the client, and under which ids they are answered."""

    def __init__(self) -> None:
        self._open: list[Request] = []
        self._traded: dict[tuple[str, RequestId], RequestId] = {}
        """The ids under which requests are answered whose own id another answer has taken."""
        self.previous: RequestId = None
        """The id of the request that was answered last."""

    def begin(self, request: Request) -> None:
        self._open.append(request)

    def answer(self, request: Request) -> RequestId:
        """Close a request; return the id under which it is answered."""
        self._open = [each for each in self._open if each is not request]
        self.previous = request.id
        return self._traded.pop(jsonrpc.id_key(request.id), request.id)

    def trade(self, request: Request) -> None:
        """Have a request and the oldest open one of its method answered under each other's id.

        Where there is no other, or it has traded already, nothing happens.
        """
        mine = jsonrpc.id_key(request.id)
        for other in self._open:
            theirs = jsonrpc.id_key(other.id)
            is_free = other is not request and not {mine, theirs} & self._traded.keys()
            if is_free and other.method == request.method:
                self._traded |= {mine: other.id, theirs: request.id}
                return


class Step(Faulty):
    """Something that is done, and how often."""

    chance: Chance = 1.0
    repeat: Annotated[int, whole(1, MAX_REPEATS)] = 1
    only: Annotated[int, whole(1, 2)] | None = None
    """The only version in which it is done; None for all."""

    def session_id(self) -> str | None:
        """Return the session that it is about; None for the one of the message."""
        return None

    async def play(self, run: ScenarioRun) -> None:
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class SessionState:
    """A session, as far as a scenario knows it."""

    id: str
    messages: MessagesV1
    cwd: str = "/"
    title: str | None = None
    updated_at: str | None = None
    mode: str = ""
    is_open: bool = True
    steps: Sequence[Step] = ()
    """What a replay begins with."""
    history: deque[Json] = field(default_factory=lambda: deque[Json](maxlen=MAX_UPDATES))
    """The updates so far, and the prompts of the user as updates."""
    speaker: Speaker | None = None
    """Who speaks, if the next piece of text belongs to the message before it."""
    message_count: int = 0
    message_id: str = ""
    stem: str = "message"
    """What ids of messages begin with."""
    turns: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while a turn runs."""

    @contextmanager
    def replaying(self) -> Generator[None]:
        """Send what was there before as if it were new, without a trace in the history."""
        history, count, messages = self.history, self.message_count, self.messages
        calls, terminals = messages.calls, messages.terminals
        self.history, self.message_count, self.stem, self.speaker = deque(), 0, "saved", None
        messages.calls, messages.terminals = {}, set()
        try:
            yield
        finally:
            self.history, self.message_count, self.stem = history, count, "message"
            self.speaker = None
            messages.calls = calls | messages.calls
            messages.terminals = terminals | messages.terminals


class ConnectionState:
    """One connection: what is known of the client, and the way to it."""

    version = 1
    """The version that was agreed on."""
    has_failed = False
    """Whether something was not as the scenario expects it."""

    def __init__(
        self, stage: ScriptIo, fault_rules: Sequence[RunningFaultRule], speech: FrameCodec
    ) -> None:
        self.stage = stage
        self.wire = Wire(stage)
        self.speech = speech
        self.sent = OutgoingRequests()
        self.received = ReceivedRequests()
        self.sessions: dict[str, SessionState] = {}
        self.offers: dict[str, Json] = {}
        """The client's capabilities."""
        self.has_left = anyio.Event()
        self._fault_rules = fault_rules

    def session(self, session_id: str) -> SessionState:
        """Return a session; a new one without state if there is none of that id."""
        found = self.sessions.get(session_id)
        return found or SessionState(session_id, self.messages(session_id))

    def messages(self, session_id: str) -> MessagesV1:
        """Return a new builder of the messages of a session, in the agreed version."""
        return MessagesV2(session_id) if self.version >= 2 else MessagesV1(session_id)

    async def send(
        self,
        message: Json,
        faults: Sequence[FrameFault] = (),
        random: Random | None = None,
        method: str | None = None,
    ) -> None:
        """Send a message; `method` is what it answers, if it is a response.

        In a dialect it may be several frames; what goes wrong goes wrong with each.
        """
        random = random or Random(0)  # noqa: S311 - not about secrets
        named = as_object(message).get("method", method)
        for raw in self.speech.written(jsonrpc.encode(message)):
            outgoing = OutgoingFrame(raw, self.speech.framing, frame_kind(message))
            for fault in faults:
                fault.apply(outgoing, random)
            for fault_rule in self._fault_rules:
                fault_rule.apply(outgoing, message, named)
            await self.wire.send_frame(outgoing)

    def answered(self, id_: RequestId, result: Json, error: Json) -> None:
        """Hand a response to its request, if there is one."""
        if not self.sent.answered(id_, result, error):
            self.stage.note(f"an answer to nothing that was asked, id {id_!r}")

    def leave(self) -> None:
        """Fail all requests: the client says nothing more."""
        self.has_left.set()
        self.sent.leave()

    def expect(self, expected: Json, actual: Json, place: str) -> None:
        if found := difference(expected, actual):
            self.fail(f"{place}: {found}")

    def fail(self, sentence: str) -> None:
        """Report that something is not as the scenario expects it."""
        self.has_failed = True
        self.stage.note(sentence)


@dataclass(slots=True, eq=False)
class RunState:
    """What the parts of a run have in common."""

    known: dict[str, Json]
    """What may be in values as `$name`."""
    is_cancelled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """What the client may cancel."""
    withdrawn: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """What ends when the client withdraws its request."""
    sent: list[OutgoingRequest] = field(default_factory=list[OutgoingRequest])


@dataclass(slots=True, eq=False)
class ScenarioRun:
    """Plays steps for one message of the client."""

    connection: ConnectionState
    session: SessionState
    random: Random
    turn: RunState
    place: str = ""
    """The place of the step that is played."""
    faults: Sequence[FrameFault] = ()
    """What goes wrong with the frames of the step that is played."""
    batch: list[Json] | None = None
    """Collects messages, if they are to leave together."""

    @property
    def version(self) -> int:
        return self.connection.version

    async def play(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if step.only not in {None, self.version}:
                continue
            session_id, session = step.session_id(), self.session
            if session_id is not None:
                session = self.connection.session(str(self.filled(session_id)))
            run = replace(self, place=step.place, faults=step.faults, session=session)
            for _ in range(step.repeat):
                if step.chance >= 1 or self.random.random() < step.chance:
                    await step.play(run)

    async def send(self, message: Json, method: str | None = None) -> None:
        """Send a message, with the faults of the step."""
        if self.batch is None:
            await self.connection.send(message, self.faults, self.random, method)
        else:
            self.batch.append(message)

    async def put(self, raw: bytes | None) -> None:
        """Write bytes as they are; without any, only the faults happen."""
        outgoing = OutgoingFrame(raw, None)
        for fault in self.faults:
            fault.apply(outgoing, self.random)
        await self.connection.wire.send_frame(outgoing)

    async def update(self, update: Json, *, keeps: bool = True) -> None:
        """Send an update of the session; `keeps` has a replay send it again."""
        if keeps:
            self.session.history.append(update)
        await self.notify("session/update", {"sessionId": self.session.id, "update": update})

    async def notify(self, method: str, params: Json) -> None:
        """Send a notification; without params if they are None."""
        more = {} if params is None else {"params": params}
        await self.send({"jsonrpc": "2.0", "method": method, **more})

    async def request(
        self, method: str, params: Json, wanted: RequestId = None, *, waits: bool = True
    ) -> OutgoingRequest | None:
        """Send a request; return it with its response, or None if nothing waits for that."""
        sent = self.connection.sent.new(wanted)
        self.turn.sent.append(sent)
        await self.send({"jsonrpc": "2.0", "id": sent.id, "method": method, "params": params})
        if not waits or self.batch is not None:
            return None
        await sent.is_answered.wait()
        self.turn.sent.remove(sent)
        self.turn.known["answer"] = sent.result
        return sent

    def filled(self, value: Json) -> Json:
        """Return a value with its names replaced."""
        session = {"session": self.session.id, "cwd": self.session.cwd}
        known: Mapping[str, Json] = self.turn.known | session
        return filled(value, known)

    def message_id(self, speaker: Speaker, wanted: str | None) -> str | None:
        """Return the id of the message that a piece of text belongs to, if it has to have one."""
        session = self.session
        if wanted is None and self.version < 2:
            return None
        if wanted is not None:
            session.message_id = wanted
        elif session.speaker != speaker:
            session.message_count += 1
            session.message_id = f"{session.stem}-{session.message_count}"
        session.speaker = speaker
        return session.message_id
