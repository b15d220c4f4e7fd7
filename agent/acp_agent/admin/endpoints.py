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
from acp_agent.sessions.records import Record
from acp_agent.slumber import Asleep
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
        """The sessions that are open and awake."""
        ...

    @property
    def sleeping_sessions(self) -> Mapping[str, Asleep]:
        """The sessions that are open and asleep, by their ids."""
        ...

    def recorded(self, session_id: str) -> Record | None:
        """Return what is kept of a session; None if there is none."""
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
        awake, asleep = self.watched.open_sessions, self.watched.sleeping_sessions
        return {
            "enabled": True,
            "version": VERSION,
            "schema": SCHEMA_ID,
            "transport": [{"type": "stdio"}],
            "protocolVersion": self.watched.version,
            "capabilities": capabilities(self.configuration),
            "model": self.configuration.model.name,
            "sessions": {
                "open": len(awake) + len(asleep),
                "asleep": len(asleep),
                "limit": self.configuration.sessions.max_concurrent,
            },
        }

    def sessions(self) -> Json:
        """Return the open sessions, without what was said in them."""
        told = [
            _told(session.log.current(), session.asleep(), is_running=session.is_busy)
            for session in self.watched.open_sessions
        ]
        for id_, slept in self.watched.sleeping_sessions.items():
            if (record := self.watched.recorded(id_)) is not None:
                told.append(_told(record, slept, is_asleep=True))
        return {"sessions": told}


def _told(
    record: Record, kept: Asleep, *, is_running: bool = False, is_asleep: bool = False
) -> dict[str, Json]:
    return {
        "sessionId": record.id,
        "cwd": record.cwd,
        "title": record.title,
        "updatedAt": record.updated,
        "mode": kept.permissions.mode,
        "model": kept.model,
        "historyLength": kept.history_length,
        "running": is_running,
        "asleep": is_asleep,
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
