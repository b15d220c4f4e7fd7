"""An agent with admin endpoints, and a client of them, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import httpx

from acp_agent.continuum.admin import LIMITS, AdminSocket, ObservedAgent, serve_admin
from acp_agent.door.server import AgentServer
from acp_agent.services import AgentServices
from acp_agent.settings.keys import Settings
from acp_protocol.transport.http_protocols import SocketLimits

LIMIT = 20.0
"""Seconds after which a test counts as hung."""
TOKEN = "0123456789abcdef-token"
ENVIRONMENT = {"ADMIN": TOKEN}


@asynccontextmanager
async def serving_admin(
    listen: str = "127.0.0.1:0",
    agent: ObservedAgent | None = None,
    environment: Mapping[str, str] = ENVIRONMENT,
    settings: Settings | None = None,
    limits: SocketLimits = LIMITS,
) -> AsyncGenerator[AdminSocket]:
    """Serve the endpoints of an agent."""
    with anyio.fail_after(LIMIT), AdminSocket(listen, environment, "ADMIN") as opened:
        async with anyio.create_task_group() as tasks:
            shown = agent or AgentServer(AgentServices(settings=settings or Settings()))
            tasks.start_soon(partial(serve_admin, opened, shown, limits=limits))
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
