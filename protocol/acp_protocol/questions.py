"""What we asked: who waits for which answer, and what becomes of them when none will come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeAlias

import anyio

from acp_protocol.jsonrpc import Failure, Json, RequestId, Result
from acp_protocol.readiness import Readiness, readiness

Answer: TypeAlias = Result | Failure | None
"""None stands for one that will never come."""


class Questions:
    """Our requests that somebody waits for."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[RequestId, tuple[Readiness[Answer], object]] = {}
        self._unsent: dict[RequestId, anyio.CancelScope] = {}
        """Around each question that has not left yet."""

    def open(self, id: RequestId, params: Json) -> Readiness[Answer]:  # noqa: A002
        """Return what yields the answer to a question that has these params."""
        try:
            session: object = params["sessionId"]
        except (KeyError, TypeError):
            session = None
        answer: Readiness[Answer] = readiness(self._loop)
        self._waiting[id] = answer, session
        return answer

    def close(self, id: RequestId) -> bool:  # noqa: A002
        """Wait no more; return whether nobody had answered."""
        return self._waiting.pop(id, None) is not None

    def has(self, id: RequestId) -> bool:  # noqa: A002
        """Tell whether somebody waits for this answer."""
        return id in self._waiting

    def session(self, id: RequestId) -> str | None:  # noqa: A002
        """Return the session that a question belongs to; None for none."""
        session = self._waiting[id][1]
        return session if isinstance(session, str) else None

    def answer(self, id: RequestId, answer: Answer) -> None:  # noqa: A002
        """Let who asked go on, if somebody still waits."""
        waiting = self._waiting.pop(id, None)
        if waiting is not None:
            waiting[0].wake_next(answer)

    def lose(self, id: RequestId) -> None:  # noqa: A002
        """Let who asked learn that nobody will answer, be the question on its way or not."""
        self.answer(id, None)
        if (sending := self._unsent.get(id)) is not None:
            sending.cancel()

    def lose_all(self) -> None:
        """Lose every question."""
        for id_ in list(self._waiting):
            self.lose(id_)

    async def leave(self, id: RequestId, sending: Awaitable[None]) -> None:  # noqa: A002
        """Await that a question is sent, as long as it is not lost."""
        with anyio.CancelScope() as scope:
            self._unsent[id] = scope
            try:
                await sending
            finally:
                del self._unsent[id]
