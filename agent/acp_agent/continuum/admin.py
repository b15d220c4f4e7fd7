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
import shutil
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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

from acp_agent.agent_card import agent_json, capabilities
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
_POLICY_VIOLATION: Final = 1008
"""The code that closes a web socket."""


class AddressInUseError(SettingsError):
    """Another process listens there, probably an agent with the same configuration."""


class AgentStatus(Protocol):
    """An agent whose status can be read."""

    @property
    def version(self) -> int | None:
        """The agreed version of the protocol; None before `initialize`."""
        ...

    @property
    def open_sessions(self) -> Sequence[Session]:
        """The open sessions that are active."""
        ...

    @property
    def suspended_sessions(self) -> Mapping[str, SuspendedSession]:
        """The open sessions that are suspended, by their ids."""
        ...

    def session_record(self, session_id: str) -> SessionRecord | None:
        """Return the record of a session; None if there is none."""
        ...


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
        if scope["type"] == "http":
            await (refusal(Headers(scope=scope)) or app)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})

    return checked


def configured_token(variable: str, environment: Mapping[str, str]) -> str | None:
    """Return the token in the environment; None if there is none.

    Raises:
        SettingsError: it is too short, or no header could carry it.
    """
    token = environment.get(variable, "").strip()
    if not token:
        return None
    if (
        len(token) < MIN_TOKEN_CHARS
        or not token.isascii()
        or not token.isprintable()
        or " " in token
    ):
        reason = f"must hold at least {MIN_TOKEN_CHARS} letters, digits and signs, and no space"
        raise SettingsError(f"{variable} {reason}.")
    return token


@contextmanager
def token_file(address: str, token: str) -> Generator[Path]:
    """Write `address` and `token` to a file for this user alone; remove it at the end.

    Raises:
        OSError: it cannot be written.
    """
    # platformdirs would fall back to a directory in /tmp that other users can create.
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    is_usable = runtime.is_absolute() and os.access(runtime, os.W_OK)
    # mkdtemp makes the directory 0700.
    folder = Path(tempfile.mkdtemp(prefix="acp-agent-", dir=runtime if is_usable else None))
    try:
        path = folder / "admin.json"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            json.dump({"address": address, "token": token}, file)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
                self.socket = _bound_unix_socket(self._path)
            else:
                self.socket = _bound_socket(listen)
            # From now on, clients wait until `serve_admin` answers them.
            self.socket.listen(MAX_CONNECTIONS)
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
    open_connections: list[_Connection] = []

    def connection(**arguments: Any) -> _Connection:
        return _Connection(open_connections, head_timeout_s, **arguments)

    server = _Server(
        uvicorn.Config(
            authenticated(admin_app(agent, settings), opened.hosts, opened.token),
            http=connection,  # pyright: ignore[reportArgumentType] - called like a class
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
        if opened.configured_token is not None:
            logger.warning("status endpoints: %s", where)
        else:
            try:
                path = stack.enter_context(token_file(opened.address, opened.token))
            except OSError as error:
                reason = describe_os_error(error)
                logger.error("the token file cannot be written: %s", reason)  # noqa: TRY400 - no bug
            else:
                logger.warning("status endpoints: %s, token in %s", where, path)
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
    """A connection that cannot stay open in silence."""

    def __init__(self, others: list[_Connection], head_timeout_s: float, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._others = others
        """The open connections, from the one that was silent the longest."""
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


def _bound_socket(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    # "localhost" is IPv4 here, although the name may mean both.
    bound = socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1" if bare == "localhost" else bare, int(port)))
    except BaseException:
        bound.close()
        raise
    return bound


def _bound_unix_socket(path: Path) -> socket.socket:
    """Return a socket for this user alone; a socket that no process listens on is replaced."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode must be right from the first moment.
    before = os.umask(0o177)
    try:
        if _is_stale(path):
            path.unlink()
        bound.bind(str(path))
    except BaseException:
        bound.close()
        raise
    finally:
        os.umask(before)
    return bound


def _is_stale(path: Path) -> bool:
    """Return whether `path` is a socket that no process listens on."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False
