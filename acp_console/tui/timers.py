"""Timers that fire once, and surely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.message_pump import MessagePump
from textual.timer import Timer


def set_timer(owner: MessagePump, delay: float, callback: Callable[[], Any]) -> Timer:
    """Call `callback` once, `delay` seconds from now.

    Textual leaves out a tick that is late, also the only one: on a busy machine `delay` may be over
    before its timer begins to wait, and then nothing would ever be called.
    """
    timer = owner.set_timer(delay, callback)
    # Its task begins later.
    timer._skip = False  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
    return timer
