"""Sends the updates that belong to opening a session: before the response, and behind it.

Both end when the session is closed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import ExitStack, suppress

from acp_agent.handlers.base import Handlers
from acp_agent.sessions.events import Event
from acp_agent.sessions.session import Session
from acp_agent.updates.v1 import RenderedUpdates
from acp_protocol.errors import RequestFailedError
from acp_protocol.handler import Response
from acp_protocol.jsonrpc import Json


async def replay(
    handlers: Handlers,
    session: Session,
    events: Iterable[Event],
    then: Callable[[], RenderedUpdates],
) -> None:
    """Replay the events of a session, and send the updates of `then`.

    If that fails, a session that was opened for this is closed again.

    Raises:
        RequestFailedError: the session was closed meanwhile.
    """
    try:
        with handlers.open.in_use(session), session.tasks.running():
            await session.log.flush()
            await session.updates.replay(events, then)
    except BaseException:
        is_open = handlers.open.awake.get(session.id) is session
        if session.is_unannounced and is_open and handlers.open.can_suspend(session):
            await handlers.open.close_session(session)
        raise
    session.is_unannounced = False


def respond_then(
    handlers: Handlers, session: Session, answer: Json, then: Callable[[], Awaitable[None]]
) -> Response:
    """Return a response after which `then` runs, unless the session is closed by then."""
    session.is_unannounced = False
    use = ExitStack()
    use.enter_context(handlers.open.in_use(session))

    async def follow() -> None:
        with use, suppress(RequestFailedError), session.tasks.running():
            await then()

    return Response(answer, follow)
