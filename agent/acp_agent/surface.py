"""What the surfaces of both versions have in common: how sessions are opened and closed.

A surface answers the methods of one protocol version. Which one serves a connection is decided in
`initialize`, by `server`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, TypeAlias, cast

import anyio

from acp_agent.session import Session, Staff
from acp_agent.sessions.chronicle import Chronicle
from acp_agent.sessions.options import FORMER, MODE, Option
from acp_agent.sessions.records import Record
from acp_agent.sessions.revival import Revived, revive
from acp_agent.sessions.store import Store
from acp_agent.updates import Updates
from acp_agent.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json

SESSION_LIMIT: Final = 1000
"""Sessions that may be open at once, unless another number is given."""
PROMPT_BLOCKS: Final = frozenset({"text", "resource_link", "resource"})
"""Kinds of content that a prompt may hold, as `initialize` tells."""

Params: TypeAlias = Mapping[str, Json]
Answerer: TypeAlias = Callable[[Params], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Household:
    """What every session of a connection works with."""

    staff: Staff
    store: Store
    new_id: Callable[[], str]
    limit: int = SESSION_LIMIT
    """Sessions that may be open at once."""
    is_unstable: bool = False
    """Whether parts of the protocol are offered that are not stable yet."""


class Surface(ABC):
    """The methods of one version, on one connection."""

    version: ClassVar[int]

    def __init__(self, household: Household) -> None:
        self.household = household
        self.sessions: dict[str, Session] = {}
        """Those that are open on this connection."""
        self._closing: dict[str, anyio.Event] = {}
        self.answerers: Mapping[str, Answerer] = {}
        """By method; `initialize` is none of them."""

    @abstractmethod
    def initialized(self, params: Params) -> Json:
        """Take note of what the client can do; return the result of `initialize`."""

    @abstractmethod
    def check_servers(self, servers: Sequence[Params]) -> None:
        """Refuse MCP servers of a kind that was not offered."""

    @abstractmethod
    def cancel(self, session: Session) -> None:
        """End what runs in a session."""

    @abstractmethod
    def updates_for(self, chronicle: Chronicle) -> Updates:
        """Return who tells the client of a session."""

    @abstractmethod
    def workspace_for(self, session_id: str, directories: Sequence[Path]) -> Workspace:
        """Return the files of a session in `directories`, of which the first is its own."""

    @abstractmethod
    async def finish(self, session: Session) -> None:
        """End what runs in a session that is open no more; return when it has ended."""

    def notified(self, method: str, params: Params) -> None:
        """Take note of what the client says; what is not known is ignored."""
        if method == "session/cancel":
            session_id = params.get("sessionId")
            session = self.sessions.get(session_id) if isinstance(session_id, str) else None
            if session is not None:
                self.cancel(session)

    def cancel_all(self) -> None:
        """End every running turn."""
        for session in self.sessions.values():
            self.cancel(session)

    async def close_idle(self, seconds: float) -> None:
        """Close the sessions in which nothing has happened for `seconds`."""
        latest = anyio.current_time() - seconds
        for session in list(self.sessions.values()):
            if session.touched <= latest and not session.is_busy:
                await self.close(session)

    async def close(self, session: Session) -> None:
        """Close a session: it is kept, and can be opened again."""
        del self.sessions[session.id]
        has_closed = self._closing[session.id] = anyio.Event()
        try:
            await self.finish(session)
        finally:
            del self._closing[session.id]
            self.household.store.claims.release(session.chronicle.record.number)
            has_closed.set()

    async def wait_closed(self, session_id: str) -> None:
        """Return when a session is not about to be closed."""
        while (closing := self._closing.get(session_id)) is not None:
            await closing.wait()

    async def new(self, params: Params) -> Session:
        """Open a new session as the params of `session/new` want it."""
        directories = await self._extent(params)
        self._check_room()
        home = self.household
        names = [str(directory) for directory in directories]
        record = home.store.create(home.new_id(), names[0], names[1:], {})
        return self._opened(Chronicle(home.store, record), Revived(), directories)

    async def reopened(self, params: Params) -> Session:
        """Return a session that was closed or is still open, with what it knows.

        It gets the additional directories of `params`, and no others.
        """
        directories = await self._extent(params)
        session_id = cast("str", params["sessionId"])
        await self.wait_closed(session_id)
        record = self.recorded(session_id)
        if str(directories[0]) != record.cwd:
            raise invalid("cwd is not the session's")
        store, names = self.household.store, [str(each) for each in directories[1:]]
        if (session := self.sessions.get(session_id)) is not None:
            store.change(record.number, directories=names)
            session.move(self.workspace_for(session_id, directories))
            return session
        self._check_room()
        if not store.take(record.number):
            raise elsewhere(session_id)
        try:
            store.change(record.number, directories=names)
            chronicle = Chronicle(store, record)
            return self._opened(chronicle, revive(chronicle), directories)
        except BaseException:
            store.claims.release(record.number)
            raise

    async def forked(self, params: Params) -> Session:
        """Open a copy of a session, which itself stays as it is."""
        directories = await self._extent(params)
        source = self.recorded(cast("str", params["sessionId"]))
        self._check_room()
        home = self.household
        names = [str(directory) for directory in directories]
        record = home.store.copy(source.number, home.new_id(), names[0], names[1:])
        chronicle = Chronicle(home.store, record)
        return self._opened(chronicle, revive(chronicle), directories)

    def active(self, params: Params) -> Session:
        """Return the session of `params`, which has to be open on this connection."""
        session_id = cast("str", params["sessionId"])
        if (session := self.sessions.get(session_id)) is not None:
            session.touched = anyio.current_time()
            return session
        self.recorded(session_id)
        raise missing(session_id, "The session is not open; it can be opened again")

    def recorded(self, session_id: str) -> Record:
        """Return what is known of a session, open or not."""
        record = self.household.store.get(session_id)
        if record is None:
            raise missing(session_id, "There is no such session")
        return record

    def _opened(
        self, chronicle: Chronicle, revived: Revived, directories: Sequence[Path]
    ) -> Session:
        session_id = chronicle.record.id
        session = self.sessions[session_id] = Session(
            chronicle,
            revived,
            staff=self.household.staff,
            workspace=self.workspace_for(session_id, directories),
            updates=self.updates_for(chronicle),
        )
        return session

    async def _extent(self, params: Params) -> list[Path]:
        """Return the directories that a session is to have; refuse what was not offered."""
        self.check_servers(cast("list[Params]", params.get("mcpServers") or []))
        names = [("cwd", params["cwd"])]
        names += [
            (f"additionalDirectories.{place}", name)
            for place, name in enumerate(params.get("additionalDirectories") or [])
        ]
        return [await directory(name, member) for member, name in names]

    def _check_room(self) -> None:
        limit = self.household.limit
        if len(self.sessions) + len(self._closing) >= limit:
            raise RequestFailedError(
                jsonrpc.INTERNAL_ERROR, f"Too many open sessions: {limit}; close one of them first"
            )


def blocks_of(params: Params) -> list[Params]:
    """Return the blocks of a prompt.

    Raises:
        RequestFailedError: one is of a kind that was not offered.
    """
    blocks = cast("list[Params]", params["prompt"])
    for place, block in enumerate(blocks):
        if block.get("type") not in PROMPT_BLOCKS:
            raise invalid(f"params.prompt.{place}: {block.get('type')} was not offered")
    return blocks


def value_of(option: Option, value: Json, member: str) -> str:
    """Return the value of `option` that stands in `member`.

    Raises:
        RequestFailedError: the option has no such value.
    """
    named = FORMER.get(value, value) if option.id == MODE and isinstance(value, str) else value
    for choice in option.choices:
        if choice.value == named:
            return choice.value
    raise invalid(f"{member}: there is no {option.id} {value!r}")


async def directory(name: str, member: str = "cwd") -> Path:
    """Return the directory of that name, which stands in `member`.

    Raises:
        RequestFailedError: there is none, or the name is not absolute.
    """
    path = Path(name)
    if not path.is_absolute():
        raise invalid(f"{member} is no absolute path")
    try:
        is_directory = await anyio.Path(path).is_dir()
        if ".." in path.parts:
            path = Path(await anyio.Path(path).resolve())
    except (OSError, ValueError):
        is_directory = False
    if not is_directory:
        raise invalid(f"{member} is no directory")
    return path


def invalid(reason: str) -> RequestFailedError:
    """Return the refusal of params; `reason` names the member."""
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")


def missing(session_id: str, reason: str) -> RequestFailedError:
    """Return the refusal of a session that is not there, or not open."""
    return RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, reason, {"sessionId": session_id})


def elsewhere(session_id: str) -> RequestFailedError:
    """Return the refusal of a session that another process has open."""
    reason = "The session is open in another process; close it there first"
    return RequestFailedError(jsonrpc.INVALID_REQUEST, reason, {"sessionId": session_id})


def markers(names: Sequence[str]) -> dict[str, Json]:
    """Return the capabilities of these names as the protocol claims them: by an empty object."""
    return {name: {} for name in names}


def members_of(value: Json) -> Params:
    """Return the members of an object; none for what is no object."""
    return cast("Params", value) if isinstance(value, dict) else {}
