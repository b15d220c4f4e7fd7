"""What a step does with time, or with other steps: it waits, chooses, collects, plays several.

Source: docs/scripted-agent.md, "Steps".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import anyio

from acp_agent.scripted.run import Run, Step
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class Wait:
    """Lets time pass."""

    seconds: float
    jitter: float
    """Seconds more, at most, by chance."""

    async def play(self, run: Run) -> None:
        """Wait."""
        more = run.dice.uniform(0, self.jitter) if self.jitter else 0.0
        await run.talk.stage.sleep(self.seconds + more)


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Waits until the client cancels, or for ever; in both cases no longer than it is there."""

    what: Literal["cancel", "forever"]

    async def play(self, run: Run) -> None:
        """Wait."""
        async with anyio.create_task_group() as tasks:

            async def look(event: anyio.Event) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(look, run.talk.has_left)
            if self.what == "cancel":
                tasks.start_soon(look, run.turn.is_cancelled)


@dataclass(frozen=True, slots=True)
class Batch:
    """Lets the messages of several steps leave in one array."""

    steps: Sequence[Step]

    async def play(self, run: Run) -> None:
        """Collect them, and send the array."""
        collected: list[Json] = []
        await replace(run, batch=collected).play(self.steps)
        await run.send(collected)


@dataclass(frozen=True, slots=True)
class Group:
    """Plays steps as one."""

    steps: Sequence[Step]

    async def play(self, run: Run) -> None:
        """Play them."""
        await run.play(self.steps)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Plays one of several lists of steps, as chance wants it."""

    ways: Sequence[Sequence[Step]]

    async def play(self, run: Run) -> None:
        """Choose one, and play it."""
        await run.play(run.dice.choice(self.ways))


@dataclass(frozen=True, slots=True)
class Beside:
    """Plays several lists of steps beside each other."""

    ways: Sequence[Sequence[Step]]

    async def play(self, run: Run) -> None:
        """Play all of them; return when the last has ended."""
        async with anyio.create_task_group() as tasks:
            for steps in self.ways:
                tasks.start_soon(run.play, steps)
