"""Elicitation: by a form that the client shows, or a page that it opens.

Source: ACP, Elicitation; ACP version 2, Elicitation.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Coroutine, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, cast
from urllib.parse import unquote, urlsplit, urlunsplit

import anyio

from acp_agent.terminals import RequestSender
from acp_agent.updates.forms import form_errors
from acp_agent.updates.v1 import Notifier, SessionUpdates
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import is_finite
from acp_protocol.jsonrpc import Json

ElicitationMode: TypeAlias = Literal["form", "url"]


def supported_modes(capabilities: Mapping[str, Json]) -> Collection[ElicitationMode]:
    """Return how a client can ask its user, by what it claims."""
    claimed: Json = capabilities.get("elicitation")
    members: Mapping[str, Json] = (
        cast("Mapping[str, Json]", claimed) if isinstance(claimed, dict) else {}
    )
    ways: tuple[ElicitationMode, ...] = ("form", "url")
    return [way for way in ways if members.get(way) is not None]


class ElicitationClient(RequestSender, Notifier, Protocol):
    """Asks the user, and ends requests that nothing waits for any more."""


@dataclass(frozen=True, slots=True)
class ElicitationResult:
    """What the user has made of a question."""

    action: Literal["accept", "decline", "cancel", "failed", "unfit"]
    """`failed` where the client could not ask, `unfit` where the answer is none to the form."""
    content: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What stands in the form, as the client tells it."""
    reason: str = ""
    """Why the client could not ask, in its own words; or what does not fit."""


class UserElicitation:
    """The questions of one session; `lock` is held while one of them waits for its response."""

    def __init__(
        self, client: ElicitationClient, session_id: str, updates: SessionUpdates, lock: anyio.Lock
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._updates = updates
        self._lock = lock

    async def form(self, message: str, schema: Mapping[str, Json]) -> ElicitationResult:
        """Let the client ask by a form; `schema` tells its fields."""
        reply = await self._ask({"mode": "form", "message": message, "requestedSchema": schema})
        troubles = list(form_errors(schema, reply.content)) if reply.action == "accept" else []
        return ElicitationResult("unfit", reason="; ".join(troubles)) if troubles else reply

    async def page(self, message: str, url: str) -> ElicitationResult:
        """Let the client open a page, if the user agrees to that.

        The address is shown in letters of which no two look alike: `example.com`, written with a
        Cyrillic `a`, as `xn--exmple-4nf.com`.
        """
        try:
            url = _unmistakable(url)
        except ValueError:
            return ElicitationResult(
                "failed", reason="the address names no host that there could be"
            )
        id_ = os.urandom(8).hex()
        request = {"mode": "url", "message": message, "elicitationId": id_, "url": url}
        reply = await self._ask(request)
        if reply.action == "accept":
            # What happens on the page is the user's own business: nobody waits for its end.
            await self._client.notify("elicitation/complete", {"elicitationId": id_})
        return reply

    async def _ask(self, request: Mapping[str, Json]) -> ElicitationResult:
        async with self._lock:
            await self._updates.enter_waiting()
            try:
                params = {"sessionId": self._session_id, **request}
                answer = await self._client.request("elicitation/create", params)
            except RequestFailedError as refusal:
                reply = ElicitationResult("failed", reason=refusal.message)
            else:
                reply = _read(answer)
            await self._updates.leave_waiting()
        return reply


def _unmistakable(url: str) -> str:
    """Return `url` with its host as the network spells it.

    Raises:
        ValueError: the network cannot.

    Source: RFC 3490, "Internationalizing Domain Names in Applications".
    """
    parts = urlsplit(url)
    # Browsers take what is percent-encoded in a host for what it means.
    plain = unquote(parts.netloc)
    if plain.isascii():
        return url
    before, at, place = plain.rpartition("@")
    host, colon, port = place.partition(":")
    spelled = host.encode("idna").decode()
    return urlunsplit(parts._replace(netloc=f"{before}{at}{spelled}{colon}{port}"))


class ServerElicitation:
    """Hands on the questions of servers, as long as a turn of their session runs."""

    def __init__(self, ways: Collection[ElicitationMode] = ()) -> None:
        self.modes = ways
        """How the client can ask its user; where there is none, servers need not ask."""
        self.user: UserElicitation | None = None
        """Who is asked; set once there is a session."""
        self._is_on = False
        self._open: set[anyio.CancelScope] = set()

    @contextmanager
    def in_turn(self) -> Generator[None]:
        """Hand on questions in this block; those that are open at its end are taken back."""
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False
            for scope in self._open:
                scope.cancel()

    async def form(self, message: str, schema: Mapping[str, Json]) -> ElicitationResult:
        """Ask by a form, if that can be; otherwise the user counts as turned away."""
        if "form" not in self.modes or self.user is None:
            return ElicitationResult("cancel")
        return await self._result_of(self.user.form(message, schema))

    async def page(self, message: str, url: str) -> ElicitationResult:
        """Have a page opened, if that can be; otherwise the user counts as turned away."""
        if "url" not in self.modes or self.user is None:
            return ElicitationResult("cancel")
        return await self._result_of(self.user.page(message, url))

    async def _result_of(self, asking: Coroutine[Any, Any, ElicitationResult]) -> ElicitationResult:
        reply = ElicitationResult("cancel")
        if not self._is_on:
            asking.close()
            return reply
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            try:
                reply = await asking
            finally:
                self._open.discard(scope)
        return reply


def _read(answer: Json) -> ElicitationResult:
    members: Mapping[str, Json] = (
        cast("Mapping[str, Json]", answer) if isinstance(answer, dict) else {}
    )
    action = members.get("action")
    if action == "accept":
        content: Json = members.get("content")
        if not isinstance(content, dict) or not is_finite(content):
            return ElicitationResult("accept")
        return ElicitationResult("accept", cast("Mapping[str, Json]", content))
    # What is not known counts as if the user had turned away.
    return ElicitationResult("decline" if action == "decline" else "cancel")
