"""Elicitation: by a form that the client shows, or a page that it opens.

Source: ACP, Elicitation; ACP version 2, Elicitation.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import anyio

from acp_agent.world.terminals import RequestSender
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import get, get_object, is_finite
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.forms import ascii_url, form_errors

ElicitationMode: TypeAlias = Literal["form", "url"]


def supported_modes(capabilities: Mapping[str, Json]) -> Collection[ElicitationMode]:
    """Return the modes that a client supports, by its capabilities."""
    claimed = get_object(capabilities, "elicitation")
    modes: tuple[ElicitationMode, ...] = ("form", "url")
    return [mode for mode in modes if claimed.get(mode) is not None]


class SessionClient(RequestSender, Protocol):
    """Sends requests and notifications to the client."""

    async def notify(self, method: str, params: Json = None) -> None: ...


class WaitingState(Protocol):
    """Shows that the session waits for the user."""

    async def enter_waiting(self) -> None: ...

    async def leave_waiting(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ElicitationResult:
    """The user's response to a form or a page."""

    action: Literal["accept", "decline", "cancel", "failed", "unfit"]
    """`failed`: the client returned an error; `unfit`: the content does not fit the form."""
    content: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The values of the form."""
    reason: str = ""
    """The client's error message; or what does not fit."""


class UserElicitation:
    """The elicitations of one session; `lock` is held while one of them waits for its response."""

    def __init__(
        self, client: SessionClient, session_id: str, state: WaitingState, lock: anyio.Lock
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._state = state
        self._lock = lock

    async def form(self, message: str, schema: Mapping[str, Json]) -> ElicitationResult:
        """Show a form; `schema` describes its fields."""
        result = await self._request(
            {"mode": "form", "message": message, "requestedSchema": schema}
        )
        errors = list(form_errors(schema, result.content)) if result.action == "accept" else []
        return ElicitationResult("unfit", reason="; ".join(errors)) if errors else result

    async def page(self, message: str, url: str) -> ElicitationResult:
        """Let the client open a page, if the user agrees to that.

        The address is shown in letters of which no two look alike: `example.com`, written with a
        Cyrillic `a`, as `xn--exmple-4nf.com`.
        """
        try:
            url = ascii_url(url)
        except ValueError:
            return ElicitationResult(
                "failed", reason="the address names no host that there could be"
            )
        id_ = os.urandom(8).hex()
        result = await self._request(
            {"mode": "url", "message": message, "elicitationId": id_, "url": url}
        )
        if result.action == "accept":
            # What happens on the page is between it and the user; the agent does not wait.
            await self._client.notify("elicitation/complete", {"elicitationId": id_})
        return result

    async def _request(self, request: Mapping[str, Json]) -> ElicitationResult:
        async with self._lock:
            await self._state.enter_waiting()
            try:
                params = {"sessionId": self._session_id, **request}
                response = await self._client.request("elicitation/create", params)
            except RequestFailedError as problem:
                result = ElicitationResult("failed", reason=problem.message)
            else:
                content = get_object(response, "content")
                match get(response, "action"):
                    case "accept":
                        result = ElicitationResult("accept", content if is_finite(content) else {})
                    case "decline":
                        result = ElicitationResult("decline")
                    case _:
                        # An unknown action counts as cancelled.
                        result = ElicitationResult("cancel")
            await self._state.leave_waiting()
        return result


class ServerElicitation:
    """Relays elicitations of MCP servers, as long as a turn of their session runs."""

    def __init__(self, modes: Collection[ElicitationMode] = ()) -> None:
        self.modes = modes
        """The modes that the client supports; if there is none, servers cannot ask."""
        self.user: UserElicitation | None = None
        """Set once there is a session."""
        self._is_in_turn = False
        self._open: set[anyio.CancelScope] = set()

    @contextmanager
    def in_turn(self) -> Generator[None]:
        """Relay elicitations in this block; those that are open at its end are cancelled."""
        self._is_in_turn = True
        try:
            yield
        finally:
            self._is_in_turn = False
            for scope in self._open:
                scope.cancel()

    async def form(self, message: str, schema: Mapping[str, Json]) -> ElicitationResult:
        """Show a form, if that is possible; otherwise it counts as cancelled."""
        return await self._relay("form", lambda user: user.form(message, schema))

    async def page(self, message: str, url: str) -> ElicitationResult:
        """Have a page opened, if that is possible; otherwise it counts as cancelled."""
        return await self._relay("url", lambda user: user.page(message, url))

    async def _relay(
        self,
        mode: ElicitationMode,
        send: Callable[[UserElicitation], Awaitable[ElicitationResult]],
    ) -> ElicitationResult:
        result = ElicitationResult("cancel")
        if mode not in self.modes or self.user is None or not self._is_in_turn:
            return result
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            try:
                result = await send(self.user)
            finally:
                self._open.discard(scope)
        return result
