"""How a widget learns that there is something new."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from inspect import isawaitable
from time import monotonic
from typing import Final

from textual.message_pump import MessagePump

from acp_console.tui.textual_fixes import set_timer

INTERVAL_S: Final = 1 / 30
"""Seconds between two looks, at least: nothing is drawn more often."""
SLICE_INTERVAL_S: Final = 0.010
"""The same while there is more than one look can take."""
REST_S: Final = 0.003
"""Seconds after a look in which keys are handled, at least."""


class News:
    """Lets a widget look at what is new, at most 30 times a second; nothing happens in between.

    Whatever brings news calls it, in any thread and as often as it likes.
    """

    def __init__(
        self,
        owner: MessagePump,
        look: Callable[[], object],
        *,
        interval: float = INTERVAL_S,
        slice_interval: float = SLICE_INTERVAL_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Let `owner` look, once it is mounted.

        `look` does so in the event loop, and returns whether there is more to do; it may be
        asynchronous.
        """
        self._owner = owner
        self._look = look
        self._interval = interval
        self._slice_interval = slice_interval
        self._clock = clock
        self._has_news = False
        self._is_on_its_way = False
        """Whether it looks, or will when a timer says so."""
        self._may_look_at = 0.0

    def __call__(self) -> None:
        """Say that there is something new."""
        if self._has_news:
            return
        self._has_news = True
        # The loop may be closed, or the owner removed.
        with suppress(RuntimeError):
            self._owner.call_later(self._begin)

    async def _begin(self) -> None:
        if not self._is_on_its_way:
            self._is_on_its_way = True
            await self._look_in(self._may_look_at - self._clock())

    async def _look_in(self, seconds: float) -> None:
        if seconds > 0:
            set_timer(self._owner, seconds, self._look_now)
        else:
            await self._look_now()

    async def _look_now(self) -> None:
        began = self._clock()
        # What comes from here on is looked at next time.
        self._has_news = False
        has_more = self._look()
        if isawaitable(has_more):
            has_more = await has_more
        interval = self._slice_interval if has_more is True else self._interval
        self._may_look_at = max(began + interval, self._clock() + REST_S)
        if has_more is True or self._has_news:
            set_timer(self._owner, self._may_look_at - self._clock(), self._look_now)
        else:
            self._is_on_its_way = False
