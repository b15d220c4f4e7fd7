"""Runs one request of the client: the steps, the response, and the steps after it.

In version 1 the answer to a prompt ends its turn. In version 2 it comes first, and the turn ends
with a state.

Source: ACP, Prompt Turn; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import anyio

from acp_agent.scripted.requests import withdraw
from acp_agent.scripted.responses import OPENING, Responses
from acp_agent.scripted.run import Run, SessionState
from acp_agent.scripted.scenario import PROMPT, Reaction, ResponseOverride
from acp_agent.scripted.values import entries, members, merged
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Request, RequestId

OTHER_ID: Final = 987_654_321
"""An id that no request has."""
REPLAYS: Final = ("session/load", "session/resume")


class RequestRun:
    """Answers one request."""

    def __init__(self, run: Run, request: Request, reaction: Reaction, answers: Responses) -> None:
        self.run = run
        self.request = request
        self.reaction = reaction
        self._answers = answers
        self._is_answered = False

    def cancel(self) -> None:
        """Take note that the client cancels the turn."""
        self.run.turn.is_cancelled.set()
        if self.reaction.stops_on_cancel:
            self.run.turn.scope.cancel()

    def withdraw(self) -> None:
        """Take note that the client does not want an answer any more, if it has none."""
        if not self._is_answered:
            self.run.turn.withdrawn.cancel()

    async def play(self) -> None:
        # What stood before in the same piece of input may have opened the session since.
        self.run.session = self.run.connection.place(self.run.session.id)
        turn, reaction = self.run.turn, self.reaction
        with turn.withdrawn:
            if reaction.expected is not None:
                expected = self.run.filled(reaction.expected)
                self.run.connection.expect(expected, self.request.params, reaction.place)
            await (self._prompt() if self.request.method == PROMPT else self._request())
        if turn.withdrawn.cancelled_caught and not self._is_answered:
            await self._fail(RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled"))

    async def _request(self) -> None:
        run, reaction = self.run, self.reaction
        known = set(run.connection.sessions)
        try:
            result = self._answers.result(self.request)
        except RequestFailedError as problem:
            if not reaction.answer.has_result and reaction.answer.error is None:
                await self._fail(problem)
                return
            result = None
        session = self._opened(known, result)
        run.session = session or run.session
        if reaction.has_steps:
            await run.play(reaction.steps)
        elif self.request.method in REPLAYS:
            await self._replay(run.session)
        result = self._result(result)
        if session is not None and reaction.answer.error is not None:
            run.connection.sessions.pop(session.id, None)
        elif session is not None:
            self._answers.rename(session, members(result).get("sessionId"))
        await self._respond(result)
        if session is not None or self.request.method in OPENING:
            for update in self._answers.announced(run.session):
                await run.update(update, keeps=False)
        await run.play(reaction.after)

    def _opened(self, known: set[str], result: Json) -> SessionState | None:
        """Return the session that the request has made, if it has."""
        session_id = members(result).get("sessionId")
        if not isinstance(session_id, str) or session_id in known:
            return None
        return self.run.connection.sessions.get(session_id)

    async def _replay(self, session: SessionState) -> None:
        run, params = self.run, members(self.request.params)
        if self.request.method == "session/load" or params.get("replayFrom") is not None:
            with session.replaying():
                await run.play(session.steps)
            for update in list(session.history):
                await run.update(update, keeps=False)
        state = session.words.state("running" if session.turns.locked() else "idle")
        if state is not None:
            await run.update(state, keeps=False)

    async def _prompt(self) -> None:
        run, session, reaction = self.run, self.run.session, self.reaction
        try:
            self._answers.result(self.request)
        except RequestFailedError as problem:
            await self._fail(problem)
            return
        if run.version < 2 and session.turns.locked():
            await self._fail(RequestFailedError(jsonrpc.INVALID_REQUEST, "A turn is running"))
            return
        if not await self._take_turn():
            await self._fail(RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled"))
            return
        try:
            await (self._turn() if run.version < 2 else self._turn_v2())
        finally:
            session.turns.release()
        await run.play(reaction.after)

    async def _take_turn(self) -> bool:
        """Wait for the turn of the prompt; return whether it was not cancelled meanwhile."""
        turn, turns = self.run.turn, self.run.session.turns
        if not turns.locked():
            turns.acquire_nowait()
            return True
        with turn.scope as wait:
            await turns.acquire()
        turn.scope = anyio.CancelScope()
        return not wait.cancelled_caught

    async def _turn(self) -> None:
        blocks = self._blocks()
        session = self.run.session
        session.history.extend(session.words.prompt(blocks, ""))
        stop = await self._steps()
        await self._respond(self._result({} if stop is None else {"stopReason": stop}))

    async def _turn_v2(self) -> None:
        run, session, reaction = self.run, self.run.session, self.reaction
        error = reaction.answer.error
        if error is not None and not reaction.steps:
            await self._respond(None)
            return
        session.messages += 1
        message_id = f"message-{session.messages}"
        echo = session.words.prompt(self._blocks(), message_id)
        # The prompt has a response before the turn can fail; the end of the turn reports the error.
        await self._respond(self._result({"messageId": message_id}), is_well=True)
        for update in echo if reaction.echoes_prompt else ():
            await run.update(update)
        await self._state("running")
        stop = await self._steps()
        if error is not None:
            await self._state("idle", stopReason="error", error=run.filled(error))
        elif stop is not None:
            await self._state("idle", stopReason=stop)

    async def _state(self, state: str, **more: Json) -> None:
        update = self.run.session.words.state(state, **more)
        await self.run.update(update, keeps=False)

    async def _steps(self) -> str | None:
        """Play what the turn holds; return why it ended."""
        run, reaction = self.run, self.reaction
        run.session.speaker = None
        with run.turn.scope as scope:
            await run.play(reaction.steps)
        if not scope.cancel_called:
            return reaction.stop
        await withdraw(run)
        await run.play(reaction.cancelled)
        return "cancelled"

    def _blocks(self) -> Sequence[Json]:
        return entries(members(self.request.params).get("prompt"))

    def _result(self, usual: Json) -> Json:
        answer = self.reaction.answer
        result = self.run.filled(answer.result) if answer.has_result else usual
        return result if answer.over is None else merged(result, self.run.filled(answer.over))

    async def _respond(self, result: Json, *, is_well: bool = False) -> None:
        answer = self.reaction.answer
        if answer.error is not None and not is_well:
            await self._send({"error": self.run.filled(answer.error)})
        else:
            await self._send({"result": result})

    async def _fail(self, problem: RequestFailedError) -> None:
        error = {"code": problem.code, "message": problem.message}
        if problem.data is not None:
            error["data"] = problem.data
        await self._send({"error": error})

    async def _send(self, outcome: dict[str, Json]) -> None:
        self._is_answered = True
        answer = self.reaction.answer
        requests = self.run.connection.requests
        if answer.wrong_id == "swapped":
            requests.trade(self.request)
        previous = requests.previous
        named = _named(answer, requests.answer(self.request), previous)
        run = replace(self.run, manner=answer.faults, place=self.reaction.place)
        await run.send({"jsonrpc": "2.0", **named, **outcome}, method=self.request.method)


def _named(answer: ResponseOverride, id_: RequestId, previous: RequestId) -> dict[str, Json]:
    """Return the member that holds the id, right or wrong."""
    match answer.wrong_id:
        case "other":
            return {"id": OTHER_ID}
        case "retyped":
            return {"id": str(id_) if isinstance(id_, int) else len(id_ or "")}
        case "null":
            return {"id": None}
        case "missing":
            return {}
        case "previous":
            return {"id": previous}
        case "swapped" | None:
            return {"id": id_}
