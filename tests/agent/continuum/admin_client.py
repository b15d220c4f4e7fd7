"""An agent with admin endpoints, and a client of them, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import httpx

from acp_agent.continuum.admin import AdminSocket, AgentStatus, serve_admin
from acp_agent.sessions.session import SuspendedSession
from acp_agent.settings import Settings

LIMIT = 20.0
"""Seconds after which a test counts as hung."""
TOKEN = "0123456789abcdef-token"
ENVIRONMENT = {"ADMIN": TOKEN}


class IdleAgent:
    """An agent without a client."""

    version = None
    open_sessions = ()
    suspended_sessions: Mapping[str, SuspendedSession] = MappingProxyType({})

    def recorded(self, session_id: str) -> None:
        del session_id


@asynccontextmanager
async def serving_admin(
    listen: str = "127.0.0.1:0",
    agent: AgentStatus | None = None,
    environment: Mapping[str, str] = ENVIRONMENT,
    settings: Settings | None = None,
    **timeouts: Any,
) -> AsyncGenerator[AdminSocket]:
    """Serve the endpoints of an agent."""
    with anyio.fail_after(LIMIT), AdminSocket(listen, environment, "ADMIN") as opened:
        async with anyio.create_task_group() as tasks:
            serve = partial(serve_admin, **timeouts)
            tasks.start_soon(serve, opened, agent or IdleAgent(), settings or Settings())
            yield opened
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def admin_client(
    opened: AdminSocket, token: str | None = TOKEN
) -> AsyncGenerator[httpx.AsyncClient]:
    """Yield a client with a token."""
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    socket = opened.address.removeprefix("unix:")
    is_unix = Path(socket).is_absolute()
    async with httpx.AsyncClient(
        base_url="http://localhost" if is_unix else opened.address,
        transport=httpx.AsyncHTTPTransport(uds=socket) if is_unix else None,
        headers=headers,
        trust_env=False,
    ) as client:
        yield client
