"""Tool calls of one reply, in batches: what only looks runs together, the rest in order.

The client is told of the calls of a batch in the order in which the model made them, whichever is
prepared first, and their answers come back in that order. Nothing of a batch outlives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import anyio

from acp_agent.calls import Desk, ShownCall
from acp_agent.models.model import CallTool, ToolAnswered
from acp_agent.tools.tool import Kind

PARALLEL: Final = 8
"""Calls that run at once."""
_LOOKING: Final[frozenset[Kind]] = frozenset({"read", "search", "fetch"})
"""Kinds that change nothing, so that their order does not matter."""


def batches(desk: Desk, calls: Sequence[CallTool]) -> Iterator[list[CallTool]]:
    """Yield `calls` in their order: neighbours that only look together, each other one alone."""
    batch: list[CallTool] = []
    for wanted in calls:
        if _only_looks(desk, wanted):
            batch.append(wanted)
            continue
        if batch:
            yield batch
        batch = []
        yield [wanted]
    if batch:
        yield batch


async def carry_out(desk: Desk, batch: Sequence[CallTool]) -> list[ToolAnswered | None]:
    """Run the calls of a batch together; return their answers in their order.

    None stands for a call that has no answer because the user wants the turn to end; then the
    others are ended, too.

    Raises:
        Exception: whatever a call has raised first; then the others are ended, too.
    """
    running = _Running(desk, batch)
    async with anyio.create_task_group() as tasks:
        running.scope = tasks.cancel_scope
        for place in range(len(batch)):
            tasks.start_soon(running.run, place)
    if running.problem is not None:
        raise running.problem
    return running.answers


class _Running:
    """A batch whose calls run."""

    scope: anyio.CancelScope

    def __init__(self, desk: Desk, batch: Sequence[CallTool]) -> None:
        self._desk = desk
        self._batch = batch
        self._room = anyio.Semaphore(PARALLEL)
        self._shown = [anyio.Event() for _ in batch]
        self.answers: list[ToolAnswered | None] = [None] * len(batch)
        self.problem: Exception | None = None

    async def run(self, place: int) -> None:
        wanted = self._batch[place]
        try:
            async with self._room:
                if wanted.fault is None:
                    answer = await self._carried_out(place, self._desk.call(wanted))
                else:
                    # The model has not written it so that it can be done: nobody else is told.
                    answer = ToolAnswered(wanted.name, wanted.fault, is_failed=True)
                    await self._wait_for_those_before(place)
                    self._shown[place].set()
        except Exception as problem:  # noqa: BLE001 - it is raised again, without a group around it
            self.problem = self.problem or problem
            self.scope.cancel()
            return
        self.answers[place] = answer
        if answer is None:
            self.scope.cancel()

    async def _carried_out(self, place: int, call: ShownCall) -> ToolAnswered | None:
        async with call.closing():
            await call.prepare()
            await self._wait_for_those_before(place)
            await call.show()
            self._shown[place].set()
            return await call.go()

    async def _wait_for_those_before(self, place: int) -> None:
        """Return when the client knows of each call before the one in `place`."""
        if place > 0:
            await self._shown[place - 1].wait()


def _only_looks(desk: Desk, wanted: CallTool) -> bool:
    tool = desk.tools.get(wanted.name)
    return tool is not None and tool.kind in _LOOKING
