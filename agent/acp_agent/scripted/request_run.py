"""Runs one request of the client: the steps, the response, and the steps after it.

In version 1 the response to a prompt ends its turn. In version 2 it comes first, and the turn ends
with a state.

Source: ACP, Prompt Turn; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import anyio

from acp_agent.scripted.responses import OPENING, Responses
from acp_agent.scripted.run import ScenarioRun, SessionState
from acp_agent.scripted.scenario import Prompt, Reaction, WrongId
from acp_agent.scripted.values import merged
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import as_object, get_list
from acp_protocol.jsonrpc import Json, Request, RequestId

UNKNOWN_ID: Final = 987_654_321
"""An id that no request has."""
REPLAYS: Final = ("session/load", "session/resume")
CANCEL_TIMEOUT_S: Final = 1.0
"""Seconds that responses of the client may still take when a turn was cancelled."""


class RequestRun:
    """Answers one request."""

    def __init__(
        self, run: ScenarioRun, request: Request, reaction: Reaction, responses: Responses
    ) -> None:
        self.run = run
        self.request = request
        self.reaction = reaction
        self._responses = responses
        self._is_answered = False

    def withdraw(self) -> None:
        """Cancel the request, if it has no response yet."""
        if not self._is_answered:
            self.run.turn.withdrawn.cancel()

    async def play(self) -> None:
        # What came before in the same piece of input may have opened the session since.
        self.run.session = self.run.connection.session(self.run.session.id)
        turn, reaction = self.run.turn, self.reaction
        with turn.withdrawn:
            if reaction.expect is not None:
                expected = self.run.filled(reaction.expect)
                self.run.connection.expect(expected, self.request.params, reaction.place)
            await self._play()
        if turn.withdrawn.cancelled_caught and not self._is_answered:
            await self._refuse(jsonrpc.REQUEST_CANCELLED, "Request cancelled")

    async def _play(self) -> None:
        run, reaction = self.run, self.reaction
        known = set(run.connection.sessions)
        try:
            result = self._responses.result(self.request)
        except RequestFailedError as error:
            if not reaction.has_result and reaction.error is None:
                await self._refuse(error.code, error.message, error.data)
                return
            result = None
        session = self._opened(known, result)
        run.session = session or run.session
        if reaction.has_steps:
            await run.play(reaction.steps)
        elif self.request.method in REPLAYS:
            await self._replay(run.session)
        result = self._result(result)
        if session is not None and reaction.error is not None:
            run.connection.sessions.pop(session.id, None)
        elif session is not None:
            self._responses.rename(session, as_object(result).get("sessionId"))
        await self._respond(result)
        if session is not None or self.request.method in OPENING:
            for update in self._responses.announced(run.session):
                await run.update(update, keeps=False)
        await run.play(reaction.after)

    def _opened(self, known: set[str], result: Json) -> SessionState | None:
        """Return the session that the request has made, if it has."""
        session_id = as_object(result).get("sessionId")
        if not isinstance(session_id, str) or session_id in known:
            return None
        return self.run.connection.sessions.get(session_id)

    async def _replay(self, session: SessionState) -> None:
        run, params = self.run, as_object(self.request.params)
        if self.request.method == "session/load" or params.get("replayFrom") is not None:
            with session.replaying():
                await run.play(session.steps)
            for update in list(session.history):
                await run.update(update, keeps=False)
        state = session.messages.state("running" if session.turns.locked() else "idle")
        if state is not None:
            await run.update(state, keeps=False)

    def _result(self, usual: Json) -> Json:
        reaction = self.reaction
        result = self.run.filled(reaction.result) if reaction.has_result else usual
        return result if reaction.over is None else merged(result, self.run.filled(reaction.over))

    async def _respond(self, result: Json) -> None:
        error = self.reaction.error
        if error is None:
            await self._send({"result": result})
        else:
            await self._send({"error": self.run.filled(error.as_json())})

    async def _refuse(self, code: int, message: str, data: Json = None) -> None:
        more = {} if data is None else {"data": data}
        await self._send({"error": {"code": code, "message": message, **more}})

    async def _send(self, outcome: dict[str, Json]) -> None:
        self._is_answered = True
        received, reaction = self.run.connection.received, self.reaction
        if reaction.id == "swapped":
            received.trade(self.request)
        previous = received.previous
        id_ = _id_member(reaction.id, received.answer(self.request), previous)
        run = replace(self.run, faults=reaction.faults)
        await run.send({"jsonrpc": "2.0", **id_, **outcome}, method=self.request.method)


class PromptRun(RequestRun):
    """Answers one prompt."""

    def __init__(
        self, run: ScenarioRun, request: Request, prompt: Prompt, responses: Responses
    ) -> None:
        super().__init__(run, request, prompt, responses)
        self._prompt = prompt
        self._blocks: Sequence[Json] = get_list(request.params, "prompt")

    def cancel(self) -> None:
        """Wake the steps that wait for a cancel, and end the turn unless it ignores that."""
        self.run.turn.is_cancelled.set()
        if self._prompt.cancel is not None:
            self.run.turn.scope.cancel()

    async def _play(self) -> None:
        run, session = self.run, self.run.session
        try:
            self._responses.result(self.request)
        except RequestFailedError as error:
            await self._refuse(error.code, error.message, error.data)
            return
        if run.version < 2 and session.turns.locked():
            await self._refuse(jsonrpc.INVALID_REQUEST, "A turn is running")
            return
        if not await self._take_turn():
            await self._refuse(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
            return
        try:
            await (self._turn_v1() if run.version < 2 else self._turn_v2())
        finally:
            session.turns.release()
        await run.play(self._prompt.after)

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

    async def _turn_v1(self) -> None:
        session = self.run.session
        session.history.extend(session.messages.prompt(self._blocks, ""))
        stop = await self._steps()
        await self._respond(self._result({} if stop is None else {"stopReason": stop}))

    async def _turn_v2(self) -> None:
        run, session, prompt = self.run, self.run.session, self._prompt
        if prompt.error is not None and not prompt.turn_steps:
            await self._respond(None)
            return
        session.message_count += 1
        message_id = f"message-{session.message_count}"
        echo = session.messages.prompt(self._blocks, message_id)
        # The prompt has a response before the turn can fail; the end of the turn reports the error.
        await self._send({"result": self._result({"messageId": message_id})})
        for update in echo if prompt.echo else ():
            await run.update(update)
        await run.update(session.messages.state("running"), keeps=False)
        stop = await self._steps()
        more: dict[str, Json] = {"stopReason": stop}
        if prompt.error is not None:
            more = {"stopReason": "error", "error": run.filled(prompt.error.as_json())}
        elif stop is None:
            return
        await run.update(session.messages.state("idle", **more), keeps=False)

    async def _steps(self) -> str | None:
        """Play the steps of the turn; return why it ended."""
        run, prompt = self.run, self._prompt
        run.session.speaker = None
        with run.turn.scope as scope:
            await run.play(prompt.turn_steps)
        if not scope.cancel_called:
            return prompt.stop
        await self._withdraw_requests()
        await run.play(prompt.cancel or ())
        return "cancelled"

    async def _withdraw_requests(self) -> None:
        """End the requests of the cancelled turn; return when they have responses, or soon.

        In version 2 the agent withdraws them; in version 1 the client answers them by itself.
        """
        run = self.run
        waiting = [each for each in run.turn.sent if not each.is_answered.is_set()]
        if run.version >= 2:
            for each in waiting:
                await run.notify("$/cancel_request", {"requestId": each.id})
        with anyio.move_on_after(CANCEL_TIMEOUT_S):
            for each in waiting:
                await each.is_answered.wait()


def _id_member(wrong: WrongId | None, id_: RequestId, previous: RequestId) -> dict[str, Json]:
    """Return the member of a response that holds the id, right or wrong."""
    match wrong:
        case "other":
            return {"id": UNKNOWN_ID}
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
