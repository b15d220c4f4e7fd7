"""What a connection needs from its user: a handler, and limits.

Source: ACP, Overview, "Communication Model".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from acp_protocol.jsonrpc import Json, Notification, Request


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How much a connection holds for its peer before it stops reading or refuses."""

    open_requests: int = 1024
    """Requests of the peer without a response; more get an error."""
    queue_length: int = 256
    """Messages of one session that wait before reading stops."""
    sessions: int = 1024
    """Sessions with waiting messages before reading stops."""
    unsent_responses: int = 256
    """Responses that wait until the peer reads them before reading stops."""
    violations: int = 1000
    """Violations of the peer that are remembered; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class Response:
    """A result, and what to do once its frame was sent."""

    result: Json
    after_send: Callable[[], Awaitable[None]]


class Handler(Protocol):
    """Handles what the peer sends; every call runs in a task and a context of its own."""

    async def handle_request(self, request: Request) -> Json:
        """Return the result of `request`, or a `Response` with a callback.

        Raises:
            RequestFailedError: the error to respond with. Any other exception is logged and becomes
                the error -32603, without its text.
        """
        ...

    async def handle_notification(self, notification: Notification) -> None:
        """Handle `notification`; later ones of its session wait until this returns.

        It must not send a request on the same connection and wait for the response, which could
        come after notifications that wait for this one.
        """
        ...


@runtime_checkable
class NotificationObserver(Protocol):
    """A handler that handles notifications without waiting: no task is started for each."""

    def observe_notification(self, notification: Notification) -> None:
        """Handle `notification`; this replaces `handle_notification`. Must be quick."""
        ...
