"""Who may use a server on a network: `Host`, `Origin` and token of each request, before all else.

A page that a user visits can send requests to this machine, also under a host name of its own; such
a request carries that name or the page's origin, and is refused before the token is compared.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acp_protocol.net import caller_refusal, origin_refusal

logger = logging.getLogger(__name__)

HEALTH_PATH: Final = "/healthz"
TOKEN_BYTES: Final = 32
MIN_TOKEN_CHARS: Final = 16
TOKEN_SUBPROTOCOL: Final = "acp.bearer."  # noqa: S105 - the prefix of a token
"""Begins the subprotocol that carries the token of a page, which can set no header."""
RESPONSE_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


_STARTS: Final = frozenset(
    {"http.response.start", "websocket.accept", "websocket.http.response.start"}
)


@dataclass(frozen=True, slots=True)
class Access:
    """Which requests are served."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)
    hosts: frozenset[str] = frozenset()
    """The `Host` headers that requests may have, with their ports."""
    origins: tuple[str, ...] = ()
    """The pages that may use the server, besides its own."""
    scheme: str = "http"
    public: frozenset[str] = frozenset({HEALTH_PATH})
    """Paths that need neither token nor host."""


def configured_token(variable: str, environment: Mapping[str, str]) -> str | None:
    """Return the token in the environment; None if there is none.

    Raises:
        ValueError: it is too short, or no header could carry it.
    """
    token = environment.get(variable, "").strip()
    is_valid = token.isascii() and token.isprintable() and " " not in token
    if token and not (is_valid and len(token) >= MIN_TOKEN_CHARS):
        reason = f"must hold at least {MIN_TOKEN_CHARS} letters, digits and signs, and no space"
        raise ValueError(f"{variable} {reason}.")
    return token or None


def guarded(app: ASGIApp, access: Access, requests: Counter[int] | None = None) -> ASGIApp:
    """Return `app` behind the checks of `access`, with what pages of its origins need.

    `requests` counts requests by the status of their response.
    """
    app = _TokenGuard(app, access)
    if access.origins:
        app = CORSMiddleware(
            app,
            allow_origins=access.origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=(
                "Acp-Connection-Id",
                "Acp-Protocol-Version",
                "Acp-Session-Id",
                "Authorization",
                "Content-Type",
                "Last-Event-ID",
            ),
            expose_headers=("Acp-Connection-Id", "Acp-Session-Id"),
            allow_credentials=True,
        )
    return _CallerGuard(app, access, Counter() if requests is None else requests)


class _CallerGuard:
    """Refuses requests to other hosts and from other origins, and counts all."""

    def __init__(self, app: ASGIApp, access: Access, requests: Counter[int]) -> None:
        self._app = app
        self._access = access
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        access = self._access
        headers: list[tuple[bytes, bytes]] = scope["headers"]

        async def send_safely(message: Message) -> None:
            if message["type"] in _STARTS:
                self._requests[message.get("status", 101)] += 1
                message["headers"] = [*RESPONSE_HEADERS, *message.get("headers", ())]
            await send(message)

        if scope["path"] in access.public:
            own = {f"{access.scheme}://{host}" for host in access.hosts}
            refused = origin_refusal(headers, own | set(access.origins))
        else:
            refused = caller_refusal(headers, access.hosts, access.origins, scheme=access.scheme)
        if refused is not None:
            await refuse(scope, send_safely, 403, refused)
        else:
            try:
                await self._app(scope, receive, send_safely)
            except Exception:
                # One request must not end the server, whose library would only close it.
                logger.exception("a request failed: %s %s", scope["type"], scope["path"])


class _TokenGuard:
    """Refuses requests without the token."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in self._access.public and not self._has_token(scope):
            challenge = ((b"www-authenticate", b"Bearer"),)
            await refuse(scope, send, 401, "The token is missing or wrong.", challenge)
        else:
            await self._app(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        credentials = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, given = (credentials[0] if len(credentials) == 1 else b"").partition(b" ")
        given = given.strip() if scheme.lower() == b"bearer" else b""
        if not credentials and scope["type"] == "websocket":
            offered: Collection[str] = scope.get("subprotocols", ())
            tokens = [each for each in offered if each.startswith(TOKEN_SUBPROTOCOL)]
            given = tokens[0][len(TOKEN_SUBPROTOCOL) :].encode() if len(tokens) == 1 else b""
        return hmac.compare_digest(given, self._access.token.encode())


async def refuse(
    scope: Scope,
    send: Send,
    status: int,
    reason: str,
    headers: Collection[tuple[bytes, bytes]] = (),
) -> None:
    """Refuse a request, or the upgrade to a WebSocket."""
    body = reason.encode()
    sent = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
    await send({"type": f"{kind}.start", "status": status, "headers": sent})
    await send({"type": f"{kind}.body", "body": body, "more_body": False})
