"""Selectors for checks: `on.request("session/prompt")`, `on.update("plan")`, `on.EVERY_FRAME`."""

from __future__ import annotations

from typing import Final, TypeAlias

Trigger: TypeAlias = tuple[str, str | None]
"""A kind of message and a method or update variant; None means any."""
Triggers: TypeAlias = tuple[Trigger, ...]

EVERY_FRAME: Final[Triggers] = (("frame", None),)
"""Every frame, whatever it holds."""
INVALID: Final[Triggers] = (("broken", None),)
"""Frames that hold no message, not even an array of them."""
BATCHES: Final[Triggers] = (("batch", None),)
"""Frames that hold an array."""
DRAFT_BATCHES: Final[Triggers] = (("draft batch", None),)
"""Frames that hold an array, in the dialect `v2-batch`; its messages follow, one by one."""
EVERY_MESSAGE: Final[Triggers] = (("message", None),)
"""Every frame that is one JSON object."""
END: Final[Triggers] = (("end", None),)
"""The end of a recording, for what a missing message breaks; the check gets an `EndContext`."""
EVENTS: Final[Triggers] = (("event", None),)
"""Chunks of stderr and events of the journal; the check gets one, and the state."""


def request(*methods: str) -> Triggers:
    """Look at requests of these methods; of any method if none is given."""
    return tuple(("request", method) for method in methods or (None,))


def notification(*methods: str) -> Triggers:
    """Look at notifications of these methods; of any method if none is given."""
    return tuple(("notification", method) for method in methods or (None,))


def call(*methods: str) -> Triggers:
    """Look at requests and notifications of these methods; of any method if none is given."""
    return (*request(*methods), *notification(*methods))


def result(*methods: str) -> Triggers:
    """Look at successful responses to these methods; to any method if none is given."""
    return tuple(("result", method) for method in methods or (None,))


def error(*methods: str) -> Triggers:
    """Look at error responses to these methods; to any method if none is given."""
    return tuple(("failure", method) for method in methods or (None,))


def response(*methods: str) -> Triggers:
    """Look at responses of both kinds."""
    return (*result(*methods), *error(*methods))


def update(*variants: str) -> Triggers:
    """Look at session updates of these variants; of any variant if none is given."""
    return tuple(("update", variant) for variant in variants or (None,))
