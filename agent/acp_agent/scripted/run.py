"""The state of a connection, its pending requests, and the player of steps.

A run belongs to one message of the client. It has random numbers of its own, so that
chance in it does not depend on other runs.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, Protocol

import anyio

from acp_agent.scripted.faults import FaultRule, FrameFault, frame_kind
from acp_agent.scripted.messages import MessagesV1, Speaker
from acp_agent.scripted.speech import FrameCodec
from acp_agent.scripted.values import difference, filled, members
from acp_agent.scripted.wire import OutgoingFrame, ScriptIo, Wire
from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Json, Request, RequestId


@dataclass(slots=True, eq=False)
class PendingRequest:
    """Something that the client was asked."""

    id: RequestId
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    result: Json = None
    error: Json = None
    """The error of the answer; None if it went well."""


class PendingRequests:
    """What the client was asked; several may have one id, which is a fault it should bear."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, RequestId], deque[PendingRequest]] = defaultdict(deque)
        self._count = 0
        self._has_left = False

    def ask(self, wanted: RequestId = None) -> PendingRequest:
        """Return a new question with an id of its own, or the one that is wanted."""
        self._count += 1
        pending = PendingRequest(self._count if wanted is None else wanted)
        if self._has_left:
            _fail(pending)
        else:
            self._waiting[jsonrpc.id_key(pending.id)].append(pending)
        return pending

    def answered(self, id_: RequestId, result: Json, error: Json) -> bool:
        """Hand a response to its request; return whether there is one."""
        waiting = self._waiting.get(jsonrpc.id_key(id_))
        if not waiting:
            return False
        pending = waiting.popleft()
        pending.result, pending.error = result, error
        pending.is_answered.set()
        return True

    def refuse_duplicate(self, error: Json) -> None:
        """Fail the newest request whose id an older open one has: the client has refused it.

        Such a refusal cannot bear the id, which belongs to the older request.
        """
        for waiting in self._waiting.values():
            if len(waiting) > 1:
                pending = waiting.pop()
                pending.error = error
                pending.is_answered.set()
                return

    def leave(self) -> None:
        """Let all of them fail, and those to come: the client says nothing more."""
        self._has_left = True
        for waiting in self._waiting.values():
            for pending in waiting:
                _fail(pending)
            waiting.clear()


class ClientRequests:
    """What the client has asked, and under which ids it is answered."""

    def __init__(self) -> None:
        self._open: list[Request] = []
        self._traded: dict[tuple[str, RequestId], RequestId] = {}
        """The ids under which requests are answered whose own id another answer has taken."""
        self.previous: RequestId = None
        """The id of the request that was answered last."""

    def begin(self, request: Request) -> None:
        """Take note of a request."""
        self._open.append(request)

    def answer(self, request: Request) -> RequestId:
        """Take note that a request is answered now; return the id under which that is done."""
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


def _fail(pending: PendingRequest) -> None:
    reason = "the client has left"
    pending.error = {"code": jsonrpc.INTERNAL_ERROR, "message": reason}
    pending.is_answered.set()


MAX_UPDATES: Final = 10_000
"""Updates of a session that are kept to be history again; the oldest go first."""


class Action(Protocol):
    """Something that a step does."""

    async def play(self, run: Run) -> None: ...


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """An action, and how it is played."""

    place: str
    """Where it stands, for who is history about it."""
    action: Action | None
    """None: nothing is sent, but its faults happen."""
    faults: tuple[FrameFault, ...] = ()
    chance: float = 1.0
    """How likely it is done."""
    repeat: int = 1
    version: int | None = None
    """The only version in which it is done; None for all."""
    session: str | None = None
    """The session that it is about; None for the one of the message."""


@dataclass(slots=True, eq=False)
class SessionState:
    """A session, as far as a scenario knows it."""

    id: str
    words: MessagesV1
    cwd: str = "/"
    title: str | None = None
    updated_at: str | None = None
    mode: str = ""
    is_open: bool = True
    steps: tuple[ScriptStep, ...] = ()
    """What a replay begins with."""
    history: deque[Json] = field(default_factory=lambda: deque[Json](maxlen=MAX_UPDATES))
    """The updates so far, and as updates what the user said."""
    speaker: Speaker | None = None
    """Who speaks, if the next piece of text belongs to the message before it."""
    messages: int = 0
    """How many messages have got an id."""
    message_id: str = ""
    stem: str = "message"
    """What ids of messages begin with."""
    turns: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while a turn runs."""

    @contextmanager
    def replaying(self) -> Generator[None]:
        """Have what was there before history as if it were new, as often as that is done."""
        history, messages, words = self.history, self.messages, self.words
        calls, terminals = words.calls, words.terminals
        self.history, self.messages, self.stem, self.speaker = deque(), 0, "saved", None
        words.calls, words.terminals = {}, set()
        try:
            yield
        finally:
            self.history, self.messages, self.stem, self.speaker = (
                history,
                messages,
                "message",
                None,
            )
            words.calls, words.terminals = calls | words.calls, terminals | words.terminals


class ConnectionState:
    """One connection: what is known of the client, and the way to it."""

    version = 1
    """The version that was agreed on."""
    has_failed = False
    """Whether something was not as the scenario expects it."""

    def __init__(
        self,
        stage: ScriptIo,
        fault_rules: Sequence[FaultRule],
        words: Callable[[int], type[MessagesV1]],
        speech: FrameCodec,
    ) -> None:
        self.stage = stage
        self.wire = Wire(stage)
        self.speech = speech
        self.pending_requests = PendingRequests()
        self.requests = ClientRequests()
        self.sessions: dict[str, SessionState] = {}
        self.offers: dict[str, Json] = {}
        """The client's capabilities."""
        self.has_left = anyio.Event()
        """The client says nothing more."""
        self._fault_rules = fault_rules
        self._words = words

    def place(self, session_id: str) -> SessionState:
        """Return a session; a new one without state if there is none of that id."""
        found = self.sessions.get(session_id)
        return found or SessionState(session_id, self._words(self.version)(session_id))

    async def send(
        self, message: Json, faults: Sequence[FrameFault], random: Random, method: str | None = None
    ) -> None:
        """Let a message out; `method` is what it answers, if it is an answer.

        In a dialect it may be several frames; what goes wrong goes wrong with each.
        """
        named = members(message).get("method", method)
        for raw in self.speech.written(jsonrpc.encode(message)):
            outgoing = OutgoingFrame(raw, self.speech.framing, frame_kind(message))
            for fault in faults:
                fault.apply(outgoing, random)
            for fault_rule in self._fault_rules:
                fault_rule.apply(outgoing, message, named)
            await self.wire.send_frame(outgoing)

    def answered(self, id_: RequestId, result: Json, error: Json) -> None:
        """Hand a response to its request, if there is one."""
        if not self.pending_requests.answered(id_, result, error):
            self.stage.note(f"an answer to nothing that was asked, id {id_!r}")

    def leave(self) -> None:
        """Take note that the client says nothing more; no question will be answered."""
        self.has_left.set()
        self.pending_requests.leave()

    def expect(self, expected: Json, actual: Json, place: str) -> None:
        """Tell and note if something is not as expected."""
        if found := difference(expected, actual):
            self.fail(f"{place}: {found}")

    def fail(self, sentence: str) -> None:
        """Tell and note that something is not as the scenario wants it."""
        self.has_failed = True
        self.stage.note(sentence)


@dataclass(slots=True, eq=False)
class RunState:
    """What the parts of a run have in common."""

    known: dict[str, Json]
    """What may stand in values as `$name`."""
    is_cancelled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """What the client may cancel."""
    withdrawn: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """What ends when the client withdraws its request."""
    pending_requests: list[PendingRequest] = field(default_factory=list[PendingRequest])


@dataclass(slots=True, eq=False)
class Run:
    """Plays steps for one message of the client."""

    connection: ConnectionState
    session: SessionState
    random: Random
    turn: RunState
    place: str = ""
    """Where the step stands that is played."""
    manner: tuple[FrameFault, ...] = ()
    """What goes wrong with the frames of the step that is played."""
    batch: list[Json] | None = None
    """Collects messages, if they are to leave together."""

    @property
    def version(self) -> int:
        """The version that was agreed on."""
        return self.connection.version

    async def play(self, steps: Sequence[ScriptStep]) -> None:
        for step in steps:
            if step.version in {None, self.version}:
                session = self.session if step.session is None else self._elsewhere(step.session)
                run = replace(self, place=step.place, manner=step.faults, session=session)
                for _ in range(step.repeat):
                    if step.chance >= 1 or self.random.random() < step.chance:
                        await run.do(step.action)

    async def do(self, action: Action | None) -> None:
        """Play an action; without one, only apply the faults."""
        if action is not None:
            await action.play(self)
            return
        outgoing = OutgoingFrame(None)
        for fault in self.manner:
            fault.apply(outgoing, self.random)
        await self.connection.wire.send_frame(outgoing)

    async def send(self, message: Json, method: str | None = None) -> None:
        """Let a message out, in the manner of the step."""
        if self.batch is None:
            await self.connection.send(message, self.manner, self.random, method)
        else:
            self.batch.append(message)

    async def put(self, raw: bytes) -> None:
        """Write bytes as they are."""
        outgoing = OutgoingFrame(raw, None)
        for fault in self.manner:
            fault.apply(outgoing, self.random)
        await self.connection.wire.send_frame(outgoing)

    async def update(self, update: Json, *, keeps: bool = True) -> None:
        """Tell the client about the session; `keeps` has it history again in a replay."""
        if keeps:
            self.session.history.append(update)
        params = {"sessionId": self.session.id, "update": update}
        await self.notify("session/update", params)

    async def notify(self, method: str, params: Json) -> None:
        """Send a notification; without params if they are None."""
        more = {} if params is None else {"params": params}
        await self.send({"jsonrpc": "2.0", "method": method, **more})

    async def ask(
        self, method: str, params: Json, wanted: RequestId, *, waits: bool
    ) -> PendingRequest:
        """Ask the client, and if it `waits` return when there is an answer."""
        pending = self.connection.pending_requests.ask(wanted)
        message = {"jsonrpc": "2.0", "id": pending.id, "method": method, "params": params}
        self.turn.pending_requests.append(pending)
        await self.send(message)
        if waits and self.batch is None:
            await pending.is_answered.wait()
            self.turn.pending_requests.remove(pending)
            self.turn.known["answer"] = pending.result
        return pending

    def filled(self, value: Json) -> Json:
        """Return a value with its names replaced."""
        return filled(value, self.known)

    @property
    def known(self) -> Mapping[str, Json]:
        """What may stand in values as `$name`."""
        return self.turn.known | {"session": self.session.id, "cwd": self.session.cwd}

    def message_id(self, speaker: Speaker, wanted: str | None) -> str | None:
        """Return the id of the message that a piece of text belongs to, if it has to have one."""
        session = self.session
        if wanted is None and self.version < 2:
            return None
        if wanted is not None:
            session.message_id = wanted
        elif session.speaker != speaker:
            session.messages += 1
            session.message_id = f"{session.stem}-{session.messages}"
        session.speaker = speaker
        return session.message_id

    def _elsewhere(self, session_id: str) -> SessionState:
        return self.connection.place(str(self.filled(session_id)))
