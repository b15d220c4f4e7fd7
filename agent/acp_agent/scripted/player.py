"""Plays a scenario to one client: reads its messages, and starts what the scenario has for each."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, TaskGroup

from acp_agent.scripted.faults import OutgoingFrame, RunningFaultRule
from acp_agent.scripted.request_run import PromptRun, RequestRun
from acp_agent.scripted.responses import Responses
from acp_agent.scripted.run import ConnectionState, RunState, ScenarioRun
from acp_agent.scripted.scenario import PROMPT, Prompt, Reaction, Scenario
from acp_agent.scripted.wire import ScriptIo, frame_codec
from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import FrameTooLongError
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import (
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
)

SHOWN: Final = 200
"""Characters of an error message of the client to log."""
CLOSE_TIMEOUT_S: Final = 5.0
"""Seconds that what is still played has when the client has left."""
NO_SESSION: Final = "no-session"
"""The session of what is about none."""
MAX_HELD: Final = 10_000
"""Messages that may wait for the end of the start; then nothing more is read."""
ENDING: Final = ("session/close", "session/delete")
"""Requests that end what runs in a session."""


class Reactions:
    """Chooses the reaction to each message, and counts how often each was played."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._received: Counter[str] = Counter()
        self._played: Counter[int] = Counter()

    def choose(self, method: str, text: str) -> tuple[int, Reaction | None]:
        """Return how often a method was received, and the reaction; None if there is none.

        Those for certain messages come first. The others follow one another, and the last stays.
        """
        self._received[method] += 1
        nth = self._received[method]
        fitting = [
            each
            for each in self._scenario.reactions_to(method)
            if self._is_left(each) and each.fits(nth, text)
        ]
        selective = [each for each in fitting if each.is_selective]
        others = [each for each in fitting if not each.is_selective]
        fresh = [each for each in others if each.times is not None or not self._played[id(each)]]
        found = next(iter([*selective, *fresh, *others[-1:]]), None)
        self._played[id(found)] += 1
        return nth, found

    def missed(self) -> Sequence[Reaction]:
        """Return the reactions that are required and were never played."""
        reactions = self._scenario.reactions
        return [each for each in reactions if each.required and not self._played[id(each)]]

    def _is_left(self, reaction: Reaction) -> bool:
        return reaction.times is None or self._played[id(reaction)] < reaction.times


class Player:
    """One connection on which a scenario is played, with versions up to `newest` at least."""

    def __init__(
        self,
        scenario: Scenario,
        stage: ScriptIo,
        newest: int = 1,
        *,
        close_timeout: float = CLOSE_TIMEOUT_S,
    ) -> None:
        scenario = scenario.model_copy(update={"protocol": max(newest, scenario.protocol)})
        # A string is hashed alike in every run; this is not about secrets.
        rules = [
            RunningFaultRule(rule, Random(f"{scenario.seed}/fault {index}"))  # noqa: S311
            for index, rule in enumerate(scenario.fault, start=1)
        ]
        speech = frame_codec(scenario.framing, scenario.dialect)
        self.connection = ConnectionState(stage, rules, speech)
        self._scenario = scenario
        self._close_timeout = close_timeout
        self._reactions = Reactions(scenario)
        self._responses = Responses(self.connection, scenario)
        self._request_runs: list[RequestRun] = []
        self._held: deque[Message] = deque()
        """What was received before the start was over."""
        self._has_begun = anyio.Event()
        self._running = 0
        self._settled = anyio.Event()

    async def play(self, incoming: ByteReceiveStream) -> None:
        connection = self.connection
        async with BackgroundTasks() as tasks:
            connection.wire.run_in(tasks)
            self._start(tasks, lambda: self._begin(tasks))
            await self._read(incoming, tasks)
            connection.leave()
            with anyio.move_on_after(self._close_timeout) as closing:
                while self._running:
                    self._settled = anyio.Event()
                    await self._settled.wait()
                await connection.wire.flush()
            if connection.wire.is_hung:
                await anyio.sleep_forever()
            if closing.cancelled_caught:
                # A client that does not read must not keep the process alive.
                await connection.wire.close()
            await self._new_run("end").play(self._scenario.end)
        for reaction in self._reactions.missed():
            connection.fail(f"{reaction.place}: was never played")

    def _start(self, tasks: TaskGroup, play: Callable[[], Awaitable[None]]) -> None:
        async def count() -> None:
            try:
                await play()
            finally:
                self._running -= 1
                self._settled.set()

        self._running += 1
        tasks.start_soon(count)

    async def _begin(self, tasks: TaskGroup) -> None:
        """Play what comes before all; then take care of what was received meanwhile."""
        await self._new_run("start").play(self._scenario.start)
        while self._held:
            await self._take(self._held.popleft(), tasks)
        self._has_begun.set()

    async def _read(self, incoming: ByteReceiveStream, tasks: TaskGroup) -> None:
        framer = self.connection.speech.framer()
        try:
            async for chunk in incoming:
                if self.connection.wire.is_hung:
                    await anyio.sleep_forever()
                for frame in framer.feed(chunk):
                    await self._read_frame(frame, tasks)
        except FrameTooLongError as problem:
            self.connection.stage.note(f"the client is not heard any more: {problem}")
        await self._read_frame(framer.rest(), tasks)

    async def _read_frame(self, frame: bytes, tasks: TaskGroup) -> None:
        if not frame.strip():
            return
        connection = self.connection
        reading = connection.speech.read(frame)
        for raw in reading.replies:
            outgoing = OutgoingFrame(raw, connection.speech.framing, "answer")
            await connection.wire.send_frame(outgoing)
        for official in reading.forward:
            await self._receive(jsonrpc.read_message(official), tasks)

    async def _receive(self, message: Message, tasks: TaskGroup) -> None:
        connection = self.connection
        match message:
            case SuccessResponse(id=id_, result=result):
                connection.answered(id_, result, None)
            case ErrorResponse(id=None, code=code, message=sentence):
                shown = single_line(sentence, SHOWN)
                connection.stage.note(f"the client could not read something: {shown} ({code})")
                connection.sent.refuse_duplicate({"code": code, "message": sentence})
            case ErrorResponse(id=id_, code=code, message=sentence, data=data):
                error = {"code": code, "message": sentence, "data": data}
                connection.answered(id_, None, error)
            case InvalidMessage(is_response=True):
                connection.stage.note(f"an answer that is none: {message.reason}")
            case _ if self._has_begun.is_set():
                await self._take(message, tasks)
            case _:
                self._held.append(message)
                if len(self._held) >= MAX_HELD:
                    await self._has_begun.wait()

    async def _take(self, message: Message, tasks: TaskGroup) -> None:
        """Take care of what is no response."""
        match message:
            case Request():
                self._start_request(message, tasks)
            case Notification():
                self._notified(message, tasks)
            case InvalidMessage(id=id_, code=code, reason=reason):
                await self._refuse(id_, code, reason)
            case _:
                await self._refuse(None, jsonrpc.INVALID_REQUEST, "Batches are not supported")

    async def _refuse(self, id_: Json, code: int, reason: str) -> None:
        error = {"code": code, "message": reason}
        await self.connection.send({"jsonrpc": "2.0", "id": id_, "error": error})

    def _start_request(self, request: Request, tasks: TaskGroup) -> None:
        run, reaction = self._react(request)
        if request.method in ENDING:
            self._cancel(as_object(request.params).get("sessionId"))
        if request.method == PROMPT:
            prompt = reaction if isinstance(reaction, Prompt) else Prompt()
            request_run = PromptRun(run, request, prompt, self._responses)
        else:
            request_run = RequestRun(run, request, reaction or Reaction(), self._responses)
        self.connection.received.begin(request)
        self._request_runs.append(request_run)

        async def play() -> None:
            try:
                await request_run.play()
            finally:
                self._request_runs.remove(request_run)

        self._start(tasks, play)

    def _notified(self, notification: Notification, tasks: TaskGroup) -> None:
        method, params = notification.method, as_object(notification.params)
        if method == "$/cancel_request" and jsonrpc.is_request_id(params.get("requestId")):
            for each in self._request_runs:
                if jsonrpc.id_key(each.request.id) == jsonrpc.id_key(params.get("requestId")):
                    each.withdraw()
        elif method == "session/cancel":
            self._cancel(params.get("sessionId"))
        run, reaction = self._react(notification)
        if reaction is None:
            return
        if reaction.expect is not None:
            expected = run.filled(reaction.expect)
            self.connection.expect(expected, notification.params, reaction.place)
        self._start(tasks, lambda: run.play(reaction.steps))

    def _cancel(self, session_id: Json) -> None:
        """Cancel the turns of a session."""
        for each in self._request_runs:
            if isinstance(each, PromptRun) and each.run.session.id == session_id:
                each.cancel()

    def _react(self, message: Request | Notification) -> tuple[ScenarioRun, Reaction | None]:
        """Return what plays the reaction to a message, and the reaction if there is one."""
        method, params = message.method, as_object(message.params)
        text = _text_of(params)
        nth, reaction = self._reactions.choose(method, text)
        known: dict[str, Json] = {"prompt": text, "params": message.params}
        known |= {"id": message.id} if isinstance(message, Request) else {}
        return self._new_run(f"{method}/{nth}", params.get("sessionId"), known), reaction

    def _new_run(
        self, name: str, session_id: Json = None, known: dict[str, Json] | None = None
    ) -> ScenarioRun:
        seed = self._scenario.seed
        # A string is hashed alike in every run; this is not about secrets.
        random = Random(f"{seed}/{name}")  # noqa: S311
        session = self.connection.session(session_id if isinstance(session_id, str) else NO_SESSION)
        state = RunState({"null": None, "seed": seed} | (known or {}))
        return ScenarioRun(self.connection, session, random, state)


def _text_of(params: dict[str, Json]) -> str:
    """Return the text of a prompt."""
    texts = [as_object(block).get("text") for block in as_list(params.get("prompt"))]
    return "\n".join(text for text in texts if isinstance(text, str))
