"""The admin endpoints: the status of the agent, its open sessions, and `agent.json`, over HTTP.

Only this machine is served, no page of a browser, and only with the token. A page that a user
visits can send requests to this machine, also under a host name of its own; such a request carries
that name or the page's origin, and is refused before the token is compared.

Source: Continuum Router, ACP, "Admin API Endpoints".
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import json
import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, Self

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from acp_agent.continuum.agent_card import agent_json, capabilities
from acp_agent.models.providers import SettingsError
from acp_agent.sessions.session import Session, SuspendedSession
from acp_agent.setting_types import UNIX
from acp_agent.settings import Settings
from acp_agent.store.database import SessionRecord
from acp_protocol.errors import describe_os_error
from acp_protocol.jsonrpc import Json
from acp_protocol.version import SCHEMA_ID, VERSION

logger = logging.getLogger(__name__)

PREFIX: Final = "/admin/acp"
NO_STORE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
GRACE_S: Final = 1
"""How long responses may take when the agent ends."""
MAX_CONNECTIONS: Final = 16
HEAD_BYTES: Final = 16 * 1024
MIN_TOKEN_CHARS: Final = 16
_TOKEN_BYTES: Final = 32


class AddressInUseError(SettingsError):
    """Another process listens there, probably an agent with the same configuration."""


class AgentStatus(Protocol):
    """What the endpoints show of an agent."""

    @property
    def version(self) -> int | None: ...

    @property
    def open_sessions(self) -> Sequence[Session]: ...

    @property
    def suspended_sessions(self) -> Mapping[str, SuspendedSession]: ...

    def session_record(self, session_id: str) -> SessionRecord | None: ...


def admin_app(agent: AgentStatus, settings: Settings) -> Starlette:
    """Return the endpoints, without any check of the token."""

    def status() -> Json:
        active, suspended = agent.open_sessions, agent.suspended_sessions
        return {
            "enabled": True,
            "version": VERSION,
            "schema": SCHEMA_ID,
            "transport": [{"type": "stdio"}],
            "protocolVersion": agent.version,
            "capabilities": capabilities(settings),
            "model": settings.model.name,
            "sessions": {
                "open": len(active) + len(suspended),
                "asleep": len(suspended),
                "limit": settings.sessions.max_concurrent,
            },
        }

    def sessions() -> Json:
        found = [
            _session(each.log.current(), each.suspended(), running=each.is_busy)
            for each in agent.open_sessions
        ]
        for id_, suspended in agent.suspended_sessions.items():
            if (record := agent.session_record(id_)) is not None:
                found.append(_session(record, suspended, asleep=True))
        return {"sessions": found}

    async def not_found(request: Request, error: Exception) -> Response:
        del request
        return JSONResponse({"error": "Not found."}, getattr(error, "status_code", 404), NO_STORE)

    bodies = {"status": status, "sessions": sessions, "agent.json": lambda: agent_json(settings)}
    return Starlette(
        routes=[Route(f"{PREFIX}/{name}", _endpoint(body)) for name, body in bodies.items()],
        exception_handlers={404: not_found, 405: not_found},
    )


def _endpoint(body: Callable[[], Json]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        del request
        # Titles come from users; ASCII keeps terminals from obeying them.
        text = json.dumps(body(), ensure_ascii=True).replace("\x7f", "\\u007f")
        return Response(text, headers=NO_STORE, media_type="application/json")

    return endpoint


def _session(
    record: SessionRecord, state: SuspendedSession, *, running: bool = False, asleep: bool = False
) -> dict[str, Json]:
    return {
        "sessionId": record.id,
        "cwd": record.cwd,
        "title": record.title,
        "updatedAt": record.updated,
        "mode": state.permissions.mode,
        "model": state.model,
        "historyLength": state.history_length,
        "running": running,
        "asleep": asleep,
    }


def authenticated(app: ASGIApp, hosts: frozenset[str], token: str) -> ASGIApp:
    """Return `app` for requests to one of `hosts`, from no other origin, with the token."""
    origins = {f"http://{host}" for host in hosts}

    def refusal(headers: Headers) -> JSONResponse | None:
        host, credentials = headers.getlist("host"), headers.getlist("authorization")
        if len(host) != 1 or host[0].lower() not in hosts:
            return JSONResponse({"error": "Unknown host."}, 403, NO_STORE)
        if not set(headers.getlist("origin")) <= origins:
            return JSONResponse({"error": "Other origins are refused."}, 403, NO_STORE)
        scheme, _, given = credentials[0].partition(" ") if len(credentials) == 1 else ("", "", "")
        # As bytes: strings are compared in constant time only if they are ASCII.
        is_same = hmac.compare_digest(given.strip().encode(), token.encode())
        if not is_same or scheme.lower() != "bearer":
            headers_ = NO_STORE | {"WWW-Authenticate": "Bearer"}
            return JSONResponse({"error": "The token is missing or wrong."}, 401, headers_)
        return None

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        await (refusal(Headers(scope=scope)) or app)(scope, receive, send)

    return checked


def configured_token(variable: str, environment: Mapping[str, str]) -> str | None:
    """Return the token in the environment; None if there is none.

    Raises:
        SettingsError: it is too short, or no header could carry it.
    """
    token = environment.get(variable, "").strip()
    is_valid = token.isascii() and token.isprintable() and " " not in token
    if token and not (is_valid and len(token) >= MIN_TOKEN_CHARS):
        reason = f"must hold at least {MIN_TOKEN_CHARS} letters, digits and signs, and no space"
        raise SettingsError(f"{variable} {reason}.")
    return token or None


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
        self.configured_token = configured_token(token_env, environment)
        self.token = self.configured_token or secrets.token_urlsafe(_TOKEN_BYTES)
        self._path: Path | None = None
        try:
            if listen.startswith(UNIX):
                self._path = Path(listen.removeprefix(UNIX)).expanduser().absolute()
                self.socket = _unix_socket(self._path)
            else:
                self.socket = _tcp_socket(listen)
        except OSError as error:
            kind = AddressInUseError if error.errno == errno.EADDRINUSE else SettingsError
            reason = describe_os_error(error)
            raise kind(f"admin.listen: {listen} cannot be used: {reason}.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    @property
    def address(self) -> str:
        """The URL of the endpoints, or the path of the socket."""
        if self._path is not None:
            return f"{UNIX}{self._path}"
        host, port, *_ = self.socket.getsockname()
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def hosts(self) -> frozenset[str]:
        """The `Host` headers that requests may have."""
        if self._path is not None:
            return frozenset({"localhost"})
        port: int = self.socket.getsockname()[1]
        names = {"localhost", "127.0.0.1", "[::1]", self.address.split("/")[2].rpartition(":")[0]}
        return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


async def serve_admin(
    opened: AdminSocket,
    agent: AgentStatus,
    settings: Settings,
    *,
    head_timeout_s: float = 2.0,
    keep_alive_s: int = 1,
) -> None:
    """Serve the endpoints until cancelled.

    A connection has `head_timeout_s` for the head of its first request, and `keep_alive_s` between
    two requests. One more than `MAX_CONNECTIONS` closes the one that was silent the longest.
    """
    connections: list[_Connection] = []
    server = _Server(
        uvicorn.Config(
            authenticated(admin_app(agent, settings), opened.hosts, opened.token),
            # Called like a class.
            http=partial(_Connection, connections, head_timeout_s),  # pyright: ignore[reportArgumentType]
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.ERROR,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=keep_alive_s,
            timeout_graceful_shutdown=GRACE_S,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
    )
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
        try:
            await server.serve([opened.socket])
        finally:
            with anyio.move_on_after(2 * GRACE_S, shield=True):
                if server.started:
                    await server.shutdown([opened.socket])


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the agent."""
        yield


class _Connection(H11Protocol):
    """A connection that cannot stay open in silence; `others` has the most silent one first."""

    def __init__(self, others: list[_Connection], head_timeout_s: float, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._others = others
        self._timeout_s = head_timeout_s
        self._head = b""

    def connection_made(  # pyright: ignore[reportIncompatibleMethodOverride] - as in H11Protocol
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        if len(self._others) >= MAX_CONNECTIONS:
            self._others.pop(0).transport.close()
        self._others.append(self)
        self._timer = asyncio.get_running_loop().call_later(self._timeout_s, transport.close)

    def data_received(self, data: bytes) -> None:
        if self in self._others:
            self._others.remove(self)
            self._others.append(self)
        self._head = (self._head + data)[-HEAD_BYTES:]
        if b"\r\n\r\n" in self._head:
            self._timer.cancel()
            self._head = b""
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        if self in self._others:
            self._others.remove(self)
        super().connection_lost(exc)


def _tcp_socket(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # "localhost" is IPv4 here, although the name may mean both.
    return _listening(family, ("127.0.0.1" if bare == "localhost" else bare, int(port)))


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket for this user alone; a socket that no process listens on is replaced."""
    if path.is_socket() and not path.is_symlink() and _is_abandoned(path):
        path.unlink()
    # The mode must be right from the first moment.
    before = os.umask(0o177)
    try:
        return _listening(socket.AF_UNIX, str(path))
    finally:
        os.umask(before)


def _listening(family: socket.AddressFamily, address: tuple[str, int] | str) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # From now on, clients wait until `serve_admin` answers them.
        bound.listen(MAX_CONNECTIONS)
    except BaseException:
        bound.close()
        raise
    return bound


def _is_abandoned(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False
