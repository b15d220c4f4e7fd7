"""Plays a scenario to one client: reads what it says, and starts what the scenario has for it."""

from __future__ import annotations

import logging
from collections import Counter, deque
from dataclasses import replace
from random import Random
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, TaskGroup

from acp_agent.scripted.actions import SendText
from acp_agent.scripted.request_run import RequestRun
from acp_agent.scripted.responses import Responses, words_of
from acp_agent.scripted.run import ConnectionState, Run, RunState, ScriptStep, SessionState
from acp_agent.scripted.scenario import PROMPT, Reaction, Reactions, Scenario
from acp_agent.scripted.speech import frame_codec
from acp_agent.scripted.values import entries, members
from acp_agent.scripted.wire import OutgoingFrame, ScriptIo
from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import FrameTooLongError
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import (
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
)

logger = logging.getLogger(__name__)

SHOWN: Final = 200
"""Characters of an error message of the client to log."""
CLOSE_TIMEOUT_S: Final = 5.0
"""Seconds that what is still played has when the client has left."""
NOWHERE: Final = "no-session"
"""The session of what is about none."""
HELD: Final = 10_000
"""Messages that may wait for the end of the start; then nothing more is read."""
ENDING: Final = ("session/close", "session/delete")
"""Requests that end what runs in a session."""
ECHO: Final = ScriptStep(
    "usual", SendText("agent_message", "You said: $prompt", 1, 0.0, None, None)
)
"""What is said to a prompt that the scenario has nothing for."""


class Player:
    """One connection on which a scenario is played, with versions up to `newest` at least."""

    def __init__(self, scenario: Scenario, stage: ScriptIo, newest: int = 1) -> None:
        speech = frame_codec(scenario.framing, scenario.dialect)
        self.connection = ConnectionState(stage, scenario.fault_rules, words_of, speech)
        scenario = replace(scenario, newest=max(newest, scenario.newest))
        self._scenario = scenario
        self._reactions = Reactions(scenario.reactions)
        self._answers = Responses(self.connection, scenario)
        self._received: Counter[str] = Counter()
        """How often each method was heard."""
        self._performances: list[RequestRun] = []
        self._held: deque[Message] = deque()
        """What was said before the start was over."""
        self._has_begun = anyio.Event()
        self._running = 0
        self._settled = anyio.Event()

    async def play(self, incoming: ByteReceiveStream) -> None:
        async with BackgroundTasks() as tasks:
            self.connection.wire.run_in(tasks)
            self._running += 1
            tasks.start_soon(self._begin, tasks)
            await self._read(incoming, tasks)
            self.connection.leave()
            with anyio.move_on_after(CLOSE_TIMEOUT_S) as close_timeout_s:
                await self._wait_settled()
                await self.connection.wire.flush()
            if self.connection.wire.is_hung:
                await anyio.sleep_forever()
            if close_timeout_s.cancelled_caught:
                # A client that does not read must not keep the process alive.
                await self.connection.wire.close()
            await self._run_concurrently("end", self._scenario.end)
        for reaction in self._scenario.reactions:
            if reaction.is_required and not reaction.played:
                self.connection.fail(f"{reaction.place}: was never played")

    async def _begin(self, tasks: TaskGroup) -> None:
        """Play what comes before all; then take care of what was said meanwhile."""
        try:
            await self._run_concurrently("start", self._scenario.start)
            while self._held:
                await self._take(self._held.popleft(), tasks)
            self._has_begun.set()
        finally:
            self._end()

    async def _wait_settled(self) -> None:
        while self._running:
            self._settled = anyio.Event()
            await self._settled.wait()

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
        reading = self.connection.speech.read(frame)
        for raw in reading.replies:
            await self.connection.wire.send_frame(
                OutgoingFrame(raw, self.connection.speech.framing, "answer")
            )
        for official in reading.forward:
            await self._receive(jsonrpc.read_message(official), tasks)

    async def _receive(self, message: Message, tasks: TaskGroup) -> None:
        match message:
            case SuccessResponse(id=id_, result=result):
                self.connection.answered(id_, result, None)
            case ErrorResponse(id=None, code=code, message=sentence):
                shown = single_line(sentence, SHOWN)
                self.connection.stage.note(f"the client could not read something: {shown} ({code})")
                error = {"code": code, "message": sentence}
                self.connection.pending_requests.refuse_duplicate(error)
            case ErrorResponse(id=id_, code=code, message=sentence, data=data):
                self.connection.answered(
                    id_, None, {"code": code, "message": sentence, "data": data}
                )
            case InvalidMessage(is_response=True):
                self.connection.stage.note(f"an answer that is none: {message.reason}")
            case _ if self._has_begun.is_set():
                await self._take(message, tasks)
            case _:
                self._held.append(message)
                if len(self._held) >= HELD:
                    await self._has_begun.wait()

    async def _take(self, message: Message, tasks: TaskGroup) -> None:
        """Take care of what is no answer."""
        match message:
            case Request():
                self._start(self._request_run(message), tasks)
            case Notification():
                self._notified(message, tasks)
            case InvalidMessage(id=id_, code=code, reason=reason):
                await self._refuse(id_, code, reason)
            case _:
                await self._refuse(None, jsonrpc.INVALID_REQUEST, "Batches are not supported")

    async def _refuse(self, id_: Json, code: int, reason: str) -> None:
        error = {"code": code, "message": reason}
        await self.connection.send({"jsonrpc": "2.0", "id": id_, "error": error}, (), Random(0))  # noqa: S311

    def _request_run(self, request: Request) -> RequestRun:
        run, reaction = self._react(request)
        if request.method in ENDING:
            self._cancel(members(request.params).get("sessionId"))
        usual = (ECHO,) if request.method == PROMPT else ()
        if reaction is None:
            reaction = Reaction("usual", request.method, steps=usual)
        elif not reaction.has_steps and reaction.answer.error is None:
            reaction = _with_steps(reaction, usual)
        performance = RequestRun(run, request, reaction, self._answers)
        self.connection.requests.begin(request)
        self._performances.append(performance)
        return performance

    def _start(self, performance: RequestRun, tasks: TaskGroup) -> None:
        async def play() -> None:
            try:
                await performance.play()
            finally:
                self._performances.remove(performance)
                self._end()

        self._running += 1
        tasks.start_soon(play)

    def _notified(self, notification: Notification, tasks: TaskGroup) -> None:
        method, params = notification.method, members(notification.params)
        if method == "$/cancel_request":
            for performance in self._performances:
                if jsonrpc.id_key(performance.request.id) == jsonrpc.id_key(_id_of(params)):
                    performance.withdraw()
        elif method == "session/cancel":
            for performance in self._performances:
                run = performance.run
                if performance.request.method == PROMPT and run.session.id == params.get(
                    "sessionId"
                ):
                    performance.cancel()
        run, reaction = self._react(notification)
        if reaction is None:
            return
        if reaction.expected is not None:
            self.connection.expect(
                run.filled(reaction.expected), notification.params, reaction.place
            )

        async def play() -> None:
            try:
                await run.play(reaction.steps)
            finally:
                self._end()

        self._running += 1
        tasks.start_soon(play)

    def _cancel(self, session_id: Json) -> None:
        """Cancel the turns of a session."""
        for performance in self._performances:
            run = performance.run
            if performance.request.method == PROMPT and run.session.id == session_id:
                performance.cancel()

    def _react(self, message: Request | Notification) -> tuple[Run, Reaction | None]:
        """Return what plays the reaction to a message, and the reaction if there is one."""
        method, params = message.method, members(message.params)
        self._received[method] += 1
        nth = self._received[method]
        text = _text_of(params)
        session = params.get("sessionId")
        place = self.connection.place(session if isinstance(session, str) else NOWHERE)
        known: dict[str, Json] = {"prompt": text, "params": message.params, "null": None}
        known |= {"id": message.id} if isinstance(message, Request) else {}
        run = self._run(f"{method}/{nth}", place, known)
        return run, self._reactions.choose(method, nth, text)

    def _run(self, name: str, place: SessionState, known: dict[str, Json]) -> Run:
        # A string is hashed alike in every run; this is not about secrets.
        random = Random(f"{self._scenario.seed}/{name}")  # noqa: S311
        known["seed"] = self._scenario.seed
        return Run(self.connection, place, random, RunState(known))

    async def _run_concurrently(self, name: str, steps: tuple[ScriptStep, ...]) -> None:
        """Play steps that no message of the client is the reason of."""
        await self._run(name, self.connection.place(NOWHERE), {"null": None}).play(steps)

    def _end(self) -> None:
        self._running -= 1
        self._settled.set()


def _with_steps(reaction: Reaction, steps: tuple[ScriptStep, ...]) -> Reaction:
    return replace(reaction, steps=steps)


def _id_of(params: dict[str, Json]) -> Json:
    id_ = params.get("requestId")
    return id_ if jsonrpc.is_request_id(id_) else None


def _text_of(params: dict[str, Json]) -> str:
    """Return the words of a prompt."""
    texts = [members(block).get("text") for block in entries(params.get("prompt"))]
    return "\n".join(text for text in texts if isinstance(text, str))
