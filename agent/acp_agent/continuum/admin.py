"""The admin endpoints: the status of the agent, its open sessions, and `agent.json`, over HTTP.

Only this machine is served, no page of a browser, and only with the token. A page that a user
visits can send requests to this machine, also under a host name of its own; such a request carries
that name or the page's origin, and is refused before the token is compared.

Source: Continuum Router, ACP, "Admin API Endpoints".
"""

from __future__ import annotations

import errno
import hmac
import json
import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol, Self, TypeAlias

import anyio
import h11
from anyio.abc import ByteStream, SocketListener

from acp_agent.continuum.agent_card import agent_json, capabilities
from acp_agent.services import AgentServices
from acp_agent.sessions.manager import SessionManager
from acp_agent.sessions.session import SuspendedSession
from acp_agent.settings.providers import SettingsError
from acp_agent.settings.types import UNIX
from acp_agent.store.database import SessionRecord
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import describe_os_error
from acp_protocol.jsonrpc import Json
from acp_protocol.net import caller_refusal
from acp_protocol.version import SCHEMA_ID, VERSION

logger = logging.getLogger(__name__)

PREFIX: Final = "/admin/acp"
MAX_CONNECTIONS: Final = 16
"""Connections at once; further ones wait until one of these is closed."""
ACCEPT_RETRY_S: Final = 0.1
HEAD_BYTES: Final = 16 * 1024
MIN_TOKEN_CHARS: Final = 16
_TOKEN_BYTES: Final = 32
Endpoint: TypeAlias = Callable[[], Awaitable[Json]]
"""Returns the body of a response."""
Responder: TypeAlias = Callable[[h11.Request], Awaitable[tuple[int, Json]]]
"""Returns the status and the body of a response."""


class AddressInUseError(SettingsError):
    """Another process listens there, probably an agent with the same configuration."""


class Agent(Protocol):
    """What the endpoints show of an agent."""

    services: AgentServices

    @property
    def version(self) -> int | None: ...

    @property
    def sessions(self) -> SessionManager | None: ...


def admin_endpoints(agent: Agent) -> dict[str, Endpoint]:
    """Return what makes the body of each endpoint, by its path."""
    settings = agent.services.settings

    async def status() -> Json:
        suspended = len(agent.sessions.suspended) if agent.sessions else 0
        active = len(agent.sessions.awake) if agent.sessions else 0
        return {
            "enabled": True,
            "version": settings.agent.version or VERSION,
            "schema": SCHEMA_ID,
            "transport": [{"type": "stdio"}],
            "protocolVersion": agent.version,
            "capabilities": capabilities(settings, agent.services.mcp),
            "model": settings.model.name,
            "sessions": {
                "open": active + suspended,
                "asleep": suspended,
                "limit": settings.sessions.max_concurrent,
            },
        }

    async def sessions() -> Json:
        if agent.sessions is None:
            return {"sessions": []}
        found = [
            _session(await each.log.current(), each.suspended(), is_running=each.is_busy)
            for each in list(agent.sessions.awake.values())
        ]
        store = agent.services.store
        for id_, suspended in list(agent.sessions.suspended.items()):
            if (record := await store.run(partial(store.get, id_))) is not None:
                found.append(_session(record, suspended, is_suspended=True))
        return {"sessions": found}

    async def card() -> Json:
        return agent_json(settings, agent.services.mcp)

    return {
        f"{PREFIX}/status": status,
        f"{PREFIX}/sessions": sessions,
        f"{PREFIX}/agent.json": card,
    }


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


def responder(endpoints: Mapping[str, Endpoint], hosts: frozenset[str], token: str) -> Responder:
    """Return what responds to requests to one of `hosts`, from no other origin, with the token."""

    async def respond(request: h11.Request) -> tuple[int, Json]:
        def values(name: bytes) -> list[bytes]:
            return [value for each, value in request.headers if each == name]

        refusal = caller_refusal(request.headers, hosts)
        if refusal is not None:
            return 403, {"error": refusal}
        credentials = values(b"authorization")
        scheme, _, given = (credentials[0] if len(credentials) == 1 else b"").partition(b" ")
        is_same = hmac.compare_digest(given.strip(), token.encode())
        if not is_same or scheme.lower() != b"bearer":
            return 401, {"error": "The token is missing or wrong."}
        endpoint = endpoints.get(request.target.partition(b"?")[0].decode("latin-1"))
        if endpoint is None:
            return 404, {"error": "Not found."}
        if request.method not in {b"GET", b"HEAD"}:
            return 405, {"error": "Only GET is possible."}
        try:
            return 200, await endpoint()
        except Exception:
            # The status of the agent must not end it.
            logger.exception("a status request failed")
            return 500, {"error": "Internal error."}

    return respond


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


async def serve_admin(opened: AdminSocket, agent: Agent, *, timeout_s: float = 2.0) -> None:
    """Serve the endpoints until cancelled.

    A connection carries one request, and is closed after `timeout_s` at most.
    """
    respond = responder(admin_endpoints(agent), opened.hosts, opened.token)
    slots = anyio.Semaphore(MAX_CONNECTIONS)

    async def serve(stream: ByteStream) -> None:
        try:
            with (
                suppress(anyio.BrokenResourceError, anyio.EndOfStream),
                anyio.move_on_after(timeout_s),
            ):
                async with stream:
                    await _respond_to(stream, respond)
        finally:
            slots.release()

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
        listener = await SocketListener.from_socket(opened.socket)
        async with listener, BackgroundTasks() as tasks:
            while True:
                await slots.acquire()
                try:
                    tasks.start_soon(serve, await listener.accept())
                except OSError as error:
                    # Such as too many open files, which must not end the agent.
                    logger.error("status endpoints: %s", describe_os_error(error))  # noqa: TRY400
                    slots.release()
                    await anyio.sleep(ACCEPT_RETRY_S)


async def _respond_to(stream: ByteStream, respond: Responder) -> None:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
    is_head = False
    try:
        while (event := connection.next_event()) is h11.NEED_DATA:
            connection.receive_data(await stream.receive())
        assert isinstance(event, h11.Request)
        is_head = event.method == b"HEAD"
        status, body = await respond(event)
    except h11.RemoteProtocolError as error:
        status, body = error.error_status_hint, {"error": "This is no valid request."}
    # Titles come from users; ASCII keeps terminals from obeying them.
    content = json.dumps(body, ensure_ascii=True).replace("\x7f", "\\u007f").encode()
    headers = {
        "Cache-Control": "no-store",
        "Connection": "close",
        "Content-Length": str(len(content)),
        "Content-Type": "application/json",
        "X-Content-Type-Options": "nosniff",
    }
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    response = h11.Response(status_code=status, headers=list(headers.items()))
    head = connection.send(response) or b""
    await stream.send(head if is_head else head + content)


def _tcp_socket(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # "localhost" is IPv4 here, although the name may mean both.
    return _listening(family, ("127.0.0.1" if bare == "localhost" else bare, int(port)))


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket for this user alone; a socket that no process listens on is replaced."""
    if path.is_socket() and not path.is_symlink():
        with socket.socket(socket.AF_UNIX) as probe, suppress(BlockingIOError):
            probe.setblocking(False)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
    # The mode must be right from the first moment.
    before = os.umask(0o177)
    try:
        return _listening(socket.AF_UNIX, str(path))
    finally:
        os.umask(before)


def _listening(family: socket.AddressFamily, address: tuple[str, int] | str) -> socket.socket:
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # From now on, clients wait until `serve_admin` answers them.
        listener.listen(MAX_CONNECTIONS)
    except BaseException:
        listener.close()
        raise
    return listener
