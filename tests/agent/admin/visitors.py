"""An agent that can be looked at, and who looks, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import MappingProxyType

import anyio
import httpx

from acp_agent.admin.endpoints import Endpoints, Watched
from acp_agent.admin.listener import Listener
from acp_agent.config.configuration import Configuration
from acp_agent.slumber import Asleep

LIMIT = 20.0
"""Seconds after which a test counts as hung."""
TOKEN = "0123456789abcdef-token"
ENVIRONMENT = {"ADMIN": TOKEN}


class Nobody:
    """An agent that no client speaks to."""

    version = None
    open_sessions = ()
    sleeping_sessions: Mapping[str, Asleep] = MappingProxyType({})

    def recorded(self, session_id: str) -> None:
        del session_id


@asynccontextmanager
async def listening(
    listen: str = "127.0.0.1:0",
    watched: Watched | None = None,
    environment: Mapping[str, str] = ENVIRONMENT,
    configuration: Configuration | None = None,
) -> AsyncGenerator[Listener]:
    """Let an agent be looked at."""
    with anyio.fail_after(LIMIT), closing(Listener(listen, environment, "ADMIN")) as listener:
        endpoints = Endpoints(watched or Nobody(), configuration or Configuration())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, endpoints)
            yield listener
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def visiting(
    listener: Listener, token: str | None = TOKEN
) -> AsyncGenerator[httpx.AsyncClient]:
    """Look at it with a token."""
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    socket = listener.address.removeprefix("unix:")
    is_unix = Path(socket).is_absolute()
    async with httpx.AsyncClient(
        base_url="http://localhost" if is_unix else listener.address,
        transport=httpx.AsyncHTTPTransport(uds=socket) if is_unix else None,
        headers=headers,
        trust_env=False,
    ) as client:
        yield client
