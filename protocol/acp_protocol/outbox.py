"""Frames on their way out: whole, one at a time, in the order in which they were put.

A frame leaves at once where there is room. While frames of the peer that came together are dealt
with, those that are said meanwhile leave together too, at the end of the loop's round: one write
for many costs what one write for one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

from anyio.abc import TaskGroup

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import RequestId
from acp_protocol.tasks import Turnstile
from acp_protocol.transport import EagerTransport

HELD: Final = 65536
"""Bytes that wait for the end of a round, at most."""


class Outbox:
    """Sends what is put into it over `transport`; what that takes longer belongs to `tasks`.

    `on_loss` is told the id of each of our questions that turns out to reach nobody after `put` has
    taken it.
    """

    def __init__(
        self, transport: EagerTransport, tasks: TaskGroup, on_loss: Callable[[RequestId], None]
    ) -> None:
        self._transport = transport
        self._begin = transport.begin
        self._tasks = tasks
        self._on_loss = on_loss
        self._loop = asyncio.get_running_loop()
        self._turnstile = Turnstile()
        self._held: list[bytes] = []
        self._held_size = 0
        self._held_questions: list[RequestId] = []
        self.is_gathering = False
        """Whether what is put leaves together. Set it while there is more to be dealt with."""

    def put(self, frame: bytes, question: RequestId = None) -> Coroutine[None, None, None] | None:
        """Send `frame`, and return what is to be awaited until it has left; mostly that is None.

        `question` is the id, if it asks something.

        Raises:
            ConnectionClosedError: nobody reads any more; may come of awaiting, too.
        """
        if self._turnstile.is_taken:
            # The place in the line is taken now, whenever the caller comes to await it.
            return self._send_in_turn(frame, self._turnstile.line_up())
        if self.is_gathering:
            self._held_size += len(frame)
            if self._held_size <= HELD:
                if not self._held:
                    # Behind all that the loop has to do already, which may say more.
                    self._loop.call_soon(self.release)
                self._held.append(frame)
                if question is not None:
                    self._held_questions.append(question)
                return None
            self.release()
            return self.put(frame, question)
        if self._begin((frame,)):
            return None
        self._turnstile.is_taken = True
        return self._finish()

    def release(self) -> bool:
        """Send what is held; return whether none of it waits for room."""
        self.is_gathering = False
        self._held_size = 0
        if not self._held:
            return True
        held, questions = self._held, self._held_questions
        self._held, self._held_questions = [], []
        try:
            has_left = self._begin(held)
        except ConnectionClosedError:
            self._lose(questions)
            return True
        if not has_left:
            self._turnstile.is_taken = True
            self._tasks.start_soon(self._finish_held, questions)
        return has_left

    async def wait_empty(self) -> None:
        """Return when all that was put until now has left, or will never leave."""
        self.release()
        if self._turnstile.is_taken:
            await self._turnstile.wait()
            self._turnstile.pass_on()

    async def _send_in_turn(self, frame: bytes, turn: asyncio.Future[None]) -> None:
        await self._turnstile.wait(turn)
        try:
            if not self._begin((frame,)):
                await self._transport.finish()
        finally:
            self._turnstile.pass_on()

    async def _finish(self) -> None:
        try:
            await self._transport.finish()
        finally:
            self._turnstile.pass_on()

    async def _finish_held(self, questions: list[RequestId]) -> None:
        try:
            await self._finish()
        except ConnectionClosedError:
            self._lose(questions)

    def _lose(self, questions: list[RequestId]) -> None:
        for question in questions:
            self._on_loss(question)
