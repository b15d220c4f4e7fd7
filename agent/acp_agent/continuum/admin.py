"""The admin endpoints: the status of the agent, its open sessions, and `agent.json`, over HTTP.

Only this machine is served, no page of a browser, and only with the token.

Source: Continuum Router, ACP, "Admin API Endpoints".
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import tempfile
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol, Self, TypeAlias

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from acp_agent.continuum.agent_card import agent_json, capabilities
from acp_agent.services import AgentServices
from acp_agent.sessions.manager import SessionManager
from acp_agent.sessions.session import SuspendedSession
from acp_agent.settings.providers import SettingsError
from acp_agent.store.database import SessionRecord
from acp_protocol.errors import describe_os_error
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.http_guard import TOKEN_BYTES, Access, configured_token, guarded
from acp_protocol.transport.http_protocols import SocketLimits
from acp_protocol.transport.http_runner import Listener, ListenError, run_app
from acp_protocol.version import SCHEMA_ID, VERSION

logger = logging.getLogger(__name__)

PREFIX: Final = "/admin/acp"
LIMITS: Final = SocketLimits(sockets=16, head_s=2.0, keep_alive_s=2.0)
Endpoint: TypeAlias = Callable[[], Awaitable[Json]]
"""Returns the body of a response."""


class AddressInUseError(SettingsError):
    """Another process listens there, probably an agent with the same configuration."""


class ObservedAgent(Protocol):
    """What the endpoints show of an agent."""

    services: AgentServices

    @property
    def version(self) -> int | None: ...

    @property
    def sessions(self) -> SessionManager | None: ...


def admin_routes(
    services: AgentServices,
    agents: Callable[[], Collection[ObservedAgent]],
    transports: Collection[str],
) -> list[Route]:
    """Return the endpoints of what `agents` returns, which listen at `transports`."""
    settings = services.settings

    def managers() -> list[SessionManager]:
        return [agent.sessions for agent in agents() if agent.sessions is not None]

    async def status() -> Json:
        suspended = sum(len(each.suspended) for each in managers())
        active = sum(len(each.awake) for each in managers())
        versions = {agent.version for agent in agents()}
        return {
            "enabled": True,
            "version": settings.agent.version or VERSION,
            "schema": SCHEMA_ID,
            "transport": [{"type": each} for each in transports],
            "protocolVersion": versions.pop() if len(versions) == 1 else None,
            "capabilities": capabilities(settings, services.mcp),
            "model": settings.model.name,
            "sessions": {
                "open": active + suspended,
                "asleep": suspended,
                "limit": settings.sessions.max_concurrent,
            },
        }

    async def sessions() -> Json:
        found: list[Json] = []
        store = services.store
        for manager in managers():
            for each in list(manager.awake.values()):
                record = await each.log.current()
                found.append(_session(record, each.suspended(), is_running=each.is_busy))
            for id_, suspended in list(manager.suspended.items()):
                if (record := await store.run(partial(store.get, id_))) is not None:
                    found.append(_session(record, suspended, is_suspended=True))
        return {"sessions": found}

    async def card() -> Json:
        return agent_json(settings, services.mcp)

    endpoints = {"status": status, "sessions": sessions, "agent.json": card}
    return [_route(f"{PREFIX}/{name}", endpoint) for name, endpoint in endpoints.items()]


def _route(path: str, endpoint: Endpoint) -> Route:
    async def respond(_: Request) -> Response:
        # Titles come from users; ASCII keeps terminals from obeying them.
        content = json.dumps(await endpoint(), ensure_ascii=True).replace("\x7f", "\\u007f")
        return Response(content, media_type="application/json")

    return Route(path, respond, methods=["GET"])


def _session(
    record: SessionRecord,
    state: SuspendedSession,
    *,
    is_running: bool = False,
    is_suspended: bool = False,
) -> dict[str, Json]:
    return {
        "sessionId": record.id,
        "cwd": record.cwd,
        "title": record.title,
        "updatedAt": record.updated,
        "mode": state.permissions.mode,
        "model": state.model,
        "historyLength": state.history_length,
        "running": is_running,
        "asleep": is_suspended,
    }


@contextmanager
def token_file(address: str, token: str) -> Generator[Path]:
    """Write `address` and `token` to a file for this user alone; remove it at the end.

    Raises:
        OSError: it cannot be written.
    """
    # platformdirs would fall back to a directory in /tmp that other users can create.
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    parent = runtime if runtime.is_absolute() and os.access(runtime, os.W_OK) else None
    with tempfile.TemporaryDirectory(
        "", "acp-agent-", parent, ignore_cleanup_errors=True
    ) as folder:
        path = Path(folder, "admin.json")
        path.touch(0o600)
        path.write_text(json.dumps({"address": address, "token": token}), encoding="utf-8")
        yield path


class AdminSocket:
    """A listening socket, with the token of its endpoints."""

    def __init__(self, listen: str, environment: Mapping[str, str], token_env: str) -> None:
        """Open the socket.

        Raises:
            AddressInUseError: another process listens there.
            SettingsError: it cannot be opened, or the token is invalid.
        """
        try:
            self.configured_token = configured_token(token_env, environment)
            self.listener = Listener(listen)
        except ListenError as problem:
            kind = AddressInUseError if problem.is_in_use else SettingsError
            raise kind(f"admin.listen: {problem}.") from None
        except ValueError as problem:
            raise SettingsError(str(problem)) from None
        self.token = self.configured_token or secrets.token_urlsafe(TOKEN_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.__exit__()

    @property
    def address(self) -> str:
        """The URL of the endpoints, or the path of the socket."""
        return self.listener.url


async def serve_admin(
    opened: AdminSocket, agent: ObservedAgent, *, limits: SocketLimits = LIMITS
) -> None:
    """Serve the endpoints until cancelled."""
    app = Starlette(routes=admin_routes(agent.services, lambda: [agent], ["stdio"]))
    app.router.redirect_slashes = False
    access = Access(opened.token, opened.listener.hosts, public=frozenset())
    with ExitStack() as stack:
        where = f"{opened.address}{PREFIX}/status"
        if opened.configured_token is None:
            try:
                path = stack.enter_context(token_file(opened.address, opened.token))
                where += f", token in {path}"
            except OSError as error:
                reason = describe_os_error(error)
                logger.error("the token file cannot be written: %s", reason)  # noqa: TRY400 - no bug
        logger.warning("status endpoints: %s", where)
        served = guarded(app, access)
        await run_app(served, opened.listener, stop=anyio.Event(), limits=limits)
