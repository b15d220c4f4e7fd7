"""What is told of the agent: its status, its open sessions, and `agent.json`.

Source: Continuum Router, ACP, "Admin API Endpoints".
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from acp_agent.admin.guard import NO_STORE
from acp_agent.config.configuration import Configuration
from acp_agent.registry import agent_json, capabilities
from acp_agent.session import Session
from acp_protocol.jsonrpc import Json
from acp_protocol.version import SCHEMA_ID, VERSION

PATH: Final = "/admin/acp"


class Watched(Protocol):
    """An agent that can be looked at."""

    @property
    def version(self) -> int | None:
        """The version of the protocol that was agreed on; None before that."""
        ...

    @property
    def open_sessions(self) -> Sequence[Session]:
        """The sessions that are open."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Answers who may ask."""

    watched: Watched
    configuration: Configuration

    def app(self) -> Starlette:
        """Return what answers; it looks at nobody's token."""
        answers: Mapping[str, Callable[[], Json]] = {
            "status": self.status,
            "sessions": self.sessions,
            "agent.json": lambda: agent_json(self.configuration),
        }
        return Starlette(
            routes=[Route(f"{PATH}/{name}", _endpoint(answer)) for name, answer in answers.items()],
            exception_handlers={404: _unknown, 405: _unknown},
        )

    def status(self) -> Json:
        """Return how the agent stands."""
        return {
            "enabled": True,
            "version": VERSION,
            "schema": SCHEMA_ID,
            "transport": [{"type": "stdio"}],
            "protocolVersion": self.watched.version,
            "capabilities": capabilities(self.configuration),
            "model": self.configuration.model.name,
            "sessions": {
                "open": len(self.watched.open_sessions),
                "limit": self.configuration.sessions.max_concurrent,
            },
        }

    def sessions(self) -> Json:
        """Return the open sessions, without what was said in them."""
        return {"sessions": [_told(session) for session in self.watched.open_sessions]}


def _told(session: Session) -> dict[str, Json]:
    record = session.chronicle.current()
    return {
        "sessionId": session.id,
        "cwd": str(session.cwd),
        "title": record.title,
        "updatedAt": record.updated,
        "mode": session.permissions.mode,
        "model": session.model.name,
        "historyLength": session.history_length,
        "running": session.is_busy,
    }


def _endpoint(answer: Callable[[], Json]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        del request
        # Titles are a user's words; whoever prints them must not obey them.
        text = json.dumps(answer(), ensure_ascii=True).replace("\x7f", "\\u007f")
        return Response(text, headers=NO_STORE, media_type="application/json")

    return endpoint


async def _unknown(request: Request, problem: Exception) -> JSONResponse:
    del request
    status = getattr(problem, "status_code", 404)
    return JSONResponse({"error": "There is no such thing here."}, status, NO_STORE)
