"""What a connection asks of the side that uses it: a handler, and bounds.

Source: ACP, Overview, "Communication Model".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.lanes import LANE_LENGTH


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the peer's is held before it has to wait or is refused."""

    open_requests: int = 1024
    """Requests of the peer that are worked on at once; more are answered with an error."""
    lane_length: int = LANE_LENGTH
    """Entries of one session that wait before the reader waits."""
    leaving: int = 256
    """Answers that wait for the peer to read them before nothing more is read from it."""
    faults: int = 1000
    """Faults that are remembered; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A result, and what is to be done once its frame has left."""

    result: Json
    then: Callable[[], Awaitable[None]]


class Handler(Protocol):
    """What a side does with what the other side says."""

    async def handle_request(self, request: Request) -> Json:
        """Return the result of `request`, or a `Followed` one.

        Raises:
            RequestFailedError: the error answer. Any other exception is logged and answered with
                -32603, without its text.
        """
        ...

    async def handle_notification(self, notification: Notification) -> None:
        """Take note of `notification`; later ones of its session wait until this returns.

        It must not await a request on the same connection: the answer could stand behind
        notifications that wait for this one.
        """
        ...
