"""What plays steps, and what all runs of a connection share.

A run belongs to one message of the client. It has dice of its own, so that what is left to chance
in it does not depend on what goes on beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, Protocol

import anyio

from acp_agent.scripted.aims import Mishap, sort_of
from acp_agent.scripted.faults import Fault
from acp_agent.scripted.pending import Question, Questions, Requests
from acp_agent.scripted.speech import Speech
from acp_agent.scripted.values import difference, filled, members
from acp_agent.scripted.wire import Departure, Stage, Wire
from acp_agent.scripted.words import Speaker, Words
from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Json, RequestId

TOLD_LIMIT: Final = 10_000
"""Updates of a session that are kept to be told again; the oldest go first."""


class Deed(Protocol):
    """Something that a step does."""

    async def play(self, run: Run) -> None:
        """Do it."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """A deed, and how it is done."""

    place: str
    """Where it stands, for who is told about it."""
    deed: Deed | None
    """None: nothing is sent, but its faults happen."""
    faults: tuple[Fault, ...] = ()
    chance: float = 1.0
    """How likely it is done."""
    repeat: int = 1
    version: int | None = None
    """The only version in which it is done; None for all."""
    session: str | None = None
    """The session that it is about; None for the one of the message."""


@dataclass(slots=True, eq=False)
class Place:
    """A session, as far as a scenario knows it."""

    id: str
    words: Words
    cwd: str = "/"
    title: str | None = None
    updated_at: str | None = None
    mode: str = ""
    is_open: bool = True
    steps: tuple[Step, ...] = ()
    """What a replay begins with."""
    told: deque[Json] = field(default_factory=lambda: deque[Json](maxlen=TOLD_LIMIT))
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
    def telling_again(self) -> Generator[None]:
        """Have what was there before told as if it were new, as often as that is done."""
        told, messages, words = self.told, self.messages, self.words
        calls, terminals = words.calls, words.terminals
        self.told, self.messages, self.stem, self.speaker = deque(), 0, "saved", None
        words.calls, words.terminals = {}, set()
        try:
            yield
        finally:
            self.told, self.messages, self.stem, self.speaker = told, messages, "message", None
            words.calls, words.terminals = calls | words.calls, terminals | words.terminals


class Talk:
    """One connection: what is known of the client, and the way to it."""

    version = 1
    """The version that was agreed on."""
    has_failed = False
    """Whether something was not as the scenario expects it."""

    def __init__(
        self,
        stage: Stage,
        mishaps: Sequence[Mishap],
        words: Callable[[int], type[Words]],
        speech: Speech,
    ) -> None:
        self.stage = stage
        self.wire = Wire(stage)
        self.speech = speech
        self.questions = Questions()
        self.requests = Requests()
        self.sessions: dict[str, Place] = {}
        self.offers: dict[str, Json] = {}
        """The client's capabilities."""
        self.has_left = anyio.Event()
        """The client says nothing more."""
        self._mishaps = mishaps
        self._words = words

    def place(self, session_id: str) -> Place:
        """Return a session; one that nobody knows if there is none of that id."""
        found = self.sessions.get(session_id)
        return found or Place(session_id, self._words(self.version)(session_id))

    async def send(
        self, message: Json, faults: Sequence[Fault], dice: Random, method: str | None = None
    ) -> None:
        """Let a message out; `method` is what it answers, if it is an answer.

        In a dialect it may be several frames; what goes wrong goes wrong with each.
        """
        named = members(message).get("method", method)
        for raw in self.speech.written(jsonrpc.encode(message)):
            departure = Departure(raw, self.speech.framing, sort_of(message))
            for fault in faults:
                fault.strike(departure, dice)
            for mishap in self._mishaps:
                mishap.strike(departure, message, named)
            await self.wire.depart(departure)

    def answered(self, id_: RequestId, result: Json, error: Json) -> None:
        """Hand an answer to who waits for it; nobody may."""
        if not self.questions.answered(id_, result, error):
            self.stage.note(f"an answer to nothing that was asked, id {id_!r}")

    def leave(self) -> None:
        """Take note that the client says nothing more; no question will be answered."""
        self.has_left.set()
        self.questions.leave()

    def expect(self, expected: Json, actual: Json, place: str) -> None:
        """Tell and note if something is not as expected."""
        if found := difference(expected, actual):
            self.fail(f"{place}: {found}")

    def fail(self, sentence: str) -> None:
        """Tell and note that something is not as the scenario wants it."""
        self.has_failed = True
        self.stage.note(sentence)


@dataclass(slots=True, eq=False)
class Turn:
    """What the parts of a run have in common."""

    known: dict[str, Json]
    """What may stand in values as `$name`."""
    is_cancelled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """What the client may cancel."""
    withdrawn: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """What ends when the client withdraws its request."""
    questions: list[Question] = field(default_factory=list[Question])


@dataclass(slots=True, eq=False)
class Run:
    """Plays steps for one message of the client."""

    talk: Talk
    session: Place
    dice: Random
    turn: Turn
    place: str = ""
    """Where the step stands that is played."""
    manner: tuple[Fault, ...] = ()
    """What goes wrong with the frames of the step that is played."""
    batch: list[Json] | None = None
    """Collects messages, if they are to leave together."""

    @property
    def version(self) -> int:
        """The version that was agreed on."""
        return self.talk.version

    async def play(self, steps: Sequence[Step]) -> None:
        """Play steps one after the other."""
        for step in steps:
            if step.version in {None, self.version}:
                session = self.session if step.session is None else self._elsewhere(step.session)
                run = replace(self, place=step.place, manner=step.faults, session=session)
                for _ in range(step.repeat):
                    if step.chance >= 1 or self.dice.random() < step.chance:
                        await run.do(step.deed)

    async def do(self, deed: Deed | None) -> None:
        """Do a deed; without one, let what goes wrong go wrong."""
        if deed is not None:
            await deed.play(self)
            return
        departure = Departure(None)
        for fault in self.manner:
            fault.strike(departure, self.dice)
        await self.talk.wire.depart(departure)

    async def send(self, message: Json, method: str | None = None) -> None:
        """Let a message out, in the manner of the step."""
        if self.batch is None:
            await self.talk.send(message, self.manner, self.dice, method)
        else:
            self.batch.append(message)

    async def put(self, raw: bytes) -> None:
        """Write bytes as they are."""
        departure = Departure(raw, None)
        for fault in self.manner:
            fault.strike(departure, self.dice)
        await self.talk.wire.depart(departure)

    async def update(self, update: Json, *, keeps: bool = True) -> None:
        """Tell the client about the session; `keeps` has it told again in a replay."""
        if keeps:
            self.session.told.append(update)
        params = {"sessionId": self.session.id, "update": update}
        await self.notify("session/update", params)

    async def notify(self, method: str, params: Json) -> None:
        """Send a notification; without params if they are None."""
        more = {} if params is None else {"params": params}
        await self.send({"jsonrpc": "2.0", "method": method, **more})

    async def ask(self, method: str, params: Json, wanted: RequestId, *, waits: bool) -> Question:
        """Ask the client, and if it `waits` return when there is an answer."""
        question = self.talk.questions.ask(wanted)
        message = {"jsonrpc": "2.0", "id": question.id, "method": method, "params": params}
        self.turn.questions.append(question)
        await self.send(message)
        if waits and self.batch is None:
            await question.is_answered.wait()
            self.turn.questions.remove(question)
            self.turn.known["answer"] = question.result
        return question

    def filled(self, value: Json) -> Json:
        """Return a value with what its names stand for."""
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

    def _elsewhere(self, session_id: str) -> Place:
        return self.talk.place(str(self.filled(session_id)))
