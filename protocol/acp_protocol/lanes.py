"""The order in which what came over the wire is handled.

Each session has a lane: one worker that takes its entries one after the other. A notification is
handled in its lane; a request is started and an answer handed on when their turn comes, which is
after the notifications that stood before them on the wire. Lanes of different sessions do not wait
for each other, except for entries that belong to no session (`None`): those wait for all that came
before them.

A lane is bounded. When it is full, the reader waits, and with it the pipe and the peer.

Source: ACP, Prompt Turn; architecture, "order rule".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

Step: TypeAlias = Callable[[], Awaitable[None]]
Deed: TypeAlias = Callable[[], None]

LANE_LENGTH: Final = 256
"""Entries that wait in one lane before the reader waits too."""
LANES: Final = 1024
"""Lanes that are open at once before the reader waits too."""


class _Lane:
    """Entries of one session, and whether somebody works them off."""

    __slots__ = ("is_running", "room", "steps")

    def __init__(self) -> None:
        self.steps: deque[Step] = deque()
        self.is_running = False
        self.room: anyio.Event | None = None


class Lanes:
    """Runs steps in order per session; the tasks belong to `tasks`."""

    def __init__(self, tasks: TaskGroup, length: int = LANE_LENGTH) -> None:
        self._tasks = tasks
        self._length = length
        self.open: dict[str, _Lane] = {}
        """Lanes with something to do, by session."""
        self._gap: anyio.Event | None = None
        """Set when a lane has gone, for who waits for room among them."""

    def is_free(self, session: str | None) -> bool:
        """Tell whether nothing waits or runs before what would come next for `session`."""
        return not self.open or (session is not None and session not in self.open)

    def has_room(self, session: str | None) -> bool:
        """Tell whether an entry may begin without waiting: nothing is before it or in its way."""
        return self.is_free(session) and len(self.open) < LANES

    def occupy(self, session: str | None, step: Step) -> Step:
        """Let `step` have begun; return what goes on with it and with what is put behind it.

        Only where there is room.
        """
        name = session or ""
        lane = self.open[name] = _Lane()
        lane.is_running = True
        lane.steps.append(step)
        return partial(self._work, name, lane)

    async def put(self, session: str | None, step: Step) -> None:
        """Let `step` run when the steps before it are done; wait while its lane is full.

        `step` must not raise: what can go wrong is its own business.
        """
        if session is None:
            await self._put_last(step)
        else:
            await self._append(session, step)

    async def follow(self, session: str | None, deed: Deed) -> None:
        """Let `deed` happen after the entries before it: at once when none of them is left.

        A task that it starts has begun when the next entry is taken: who asks and at once says
        something about what was asked, such as to cancel it, is not overheard.
        """
        if self.is_free(session):
            deed()
            return

        async def step() -> None:
            deed()
            await anyio.lowlevel.checkpoint()

        await self.put(session, step)

    async def _put_last(self, step: Step) -> None:
        """Run `step` when every lane has done what it holds now; new entries wait for it."""
        others = list(self.open)
        if not others:
            await self._append("", step)
            return
        missing = len(others)
        all_here, done = anyio.Event(), anyio.Event()

        async def meet() -> None:
            nonlocal missing
            missing -= 1
            if missing:
                await done.wait()
                return
            all_here.set()
            try:
                await step()
            finally:
                done.set()

        for session in others:
            await self._append(session, meet)

    async def _append(self, session: str, step: Step) -> None:
        while session not in self.open and len(self.open) >= LANES:
            self._gap = self._gap or anyio.Event()
            await self._gap.wait()
        # Looked up anew after each wait: a lane that ran empty meanwhile is gone.
        while len((lane := self.open.setdefault(session, _Lane())).steps) >= self._length:
            lane.room = lane.room or anyio.Event()
            await lane.room.wait()
        lane.steps.append(step)
        if not lane.is_running:
            lane.is_running = True
            self._tasks.start_soon(self._work, session, lane)

    async def _work(self, session: str, lane: _Lane) -> None:
        while lane.steps:
            await lane.steps.popleft()()
            if lane.room is not None:
                lane.room.set()
                lane.room = None
        lane.is_running = False
        # Entries only arrive between awaits, so the lane is empty here and may go.
        if self.open.get(session) is lane:
            del self.open[session]
        if self._gap is not None:
            self._gap.set()
            self._gap = None
