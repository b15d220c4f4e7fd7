"""Who may ask: only this machine, no page of a browser, and only with the token.

A page that a user visits can send requests to this machine, and under a name of its own that leads
here. Its requests bear that name, or its origin, and are refused before the token is looked at.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

SCHEME: Final = "bearer"
REFUSED: Final = 1008
"""What a web socket is closed with that must not be opened."""
NO_STORE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets a request through to `app` if it bears all that it has to."""

    app: ASGIApp
    hosts: Collection[str]
    """What a request may say that it was sent to."""
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; a web socket is refused in any case."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": REFUSED})
            return
        refusal = self._refusal(Headers(scope=scope))
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> JSONResponse | None:
        """Return what a request is answered that must not be let through."""
        match headers.getlist("host"):
            case [host] if host.lower() in self.hosts:
                pass
            case _:
                return _refused(403, "This host is not served here.")
        origins = {f"http://{host}" for host in self.hosts}
        if not set(headers.getlist("origin")) <= origins:
            return _refused(403, "Pages of other origins are not answered.")
        if not self._has_token(headers.getlist("authorization")):
            refusal = _refused(401, "The token is missing or wrong.")
            refusal.headers["WWW-Authenticate"] = "Bearer"
            return refusal
        return None

    def _has_token(self, values: list[str]) -> bool:
        if len(values) != 1:
            return False
        scheme, _, told = values[0].partition(" ")
        # As bytes: of texts only those of ASCII are compared in constant time.
        is_same = hmac.compare_digest(told.strip().encode(), self.token.encode())
        return is_same and scheme.lower() == SCHEME


def _refused(status: int, reason: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status, NO_STORE)
