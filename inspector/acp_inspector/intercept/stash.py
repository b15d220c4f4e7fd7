"""Frames that let others from behind pass, until enough of these have, or it takes too long."""

from __future__ import annotations

from dataclasses import dataclass

from acp_inspector.intercept.passage import Passage, Reorder


@dataclass(slots=True)
class _Stashed:
    passage: Passage
    frames: int
    until: float


class Stash:
    """Those of one direction, oldest first."""

    def __init__(self) -> None:
        self._stashed: list[_Stashed] = []

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._stashed)

    def put(self, passage: Passage, reorder: Reorder, now: float) -> None:
        """Keep a frame back."""
        self._stashed.append(_Stashed(passage, reorder.frames, now + reorder.seconds))

    def let_one_pass(self) -> None:
        """Hear that a frame has gone before all of them."""
        for stashed in self._stashed:
            stashed.frames -= 1

    def take_ripe(self, now: float, *, is_late: bool) -> Passage | None:
        """Take out the oldest that has waited enough; any, if it `is_late`."""
        for stashed in self._stashed:
            if is_late or stashed.frames <= 0 or now >= stashed.until:
                self._stashed.remove(stashed)
                return stashed.passage
        return None

    def next_until(self) -> float | None:
        """Return when the first of them will have waited for long enough."""
        return min((stashed.until for stashed in self._stashed), default=None)

    def take_all(self) -> list[Passage]:
        """Take out all."""
        passages = [stashed.passage for stashed in self._stashed]
        self._stashed.clear()
        return passages
