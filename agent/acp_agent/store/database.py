"""Stores sessions: in memory, in a directory, or in a PostgreSQL database.

What was stored is there for the next process that opens the store, even if this one is killed
right after it. Several processes may have one store open; a session is written by the one that
holds its lock. A write while another process is writing raises a `BusyError`, see `run`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

import anyio

from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.driver import Driver
from acp_agent.store.errors import DAMAGED, BusyError, StoreError
from acp_agent.store.schema import MIGRATIONS, Migrations, prepare
from acp_agent.store.sqlite import SqliteDriver
from acp_agent.store.worker import Worker
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

EVENTS_PER_READ: Final = 500
MEMORY_LIMIT: Final = 1000
"""Sessions kept in memory; the oldest closed ones are deleted to make room."""
BUSY_TIMEOUT_S: Final = 5.0
"""How long a request waits for another process that is writing."""
RECONNECT_TIMEOUT_S: Final = 15.0
"""How long a request waits for a database server that does not answer, such as for its restart."""
MAX_STATEMENT_S: Final = 12.0
"""A statement of a server that takes longer is broken off: the server does not answer."""
RETRY_INTERVAL_S: Final = 0.01
POLL_INTERVAL_S: Final = 0.5
"""Between two looks at which sessions other processes want."""
TAKE_TIMEOUT_S: Final = 2.0
"""How long a server may take to notice that the process that had a session was killed, or another
process to give it up."""
GIVE_UP_TIMEOUT_S: Final = 8.0
"""How long a connection of this process that ends may take to close its sessions."""
COLUMNS: Final = (
    "number",
    "id",
    "cwd",
    "directories",
    "title",
    "is_named",
    "is_archived",
    "created",
    "updated",
    "settings",
    "usage",
    "spent",
)
_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM session"  # noqa: S608 - own columns
Archived: TypeAlias = Literal["exclude", "include", "only"]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as the store has it."""

    number: int
    """Rises with each session of the store, and is never used again."""
    id: str
    cwd: str
    directories: tuple[str, ...]
    title: str | None
    is_named: bool
    """Whether the user has set the title, so that no other replaces it."""
    is_archived: bool
    created: str
    """RFC 3339, in UTC."""
    updated: str
    """The time of the last request about it, likewise."""
    settings: Mapping[str, str]
    """The chosen values, by option."""
    usage: Mapping[str, Json] | None
    """How full the context window is, as last reported to the client."""
    spent: Mapping[str, Json] | None
    """The tokens that all replies have used together."""


def now() -> str:
    """Return the time as records hold it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def read_record(row: tuple[Any, ...]) -> SessionRecord:
    """Return the record in a row of the store, which has `COLUMNS`.

    Invalid settings, directories and sums are read as empty: the session can be used without them.

    Raises:
        StoreError: another column is invalid.
    """
    values: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    texts = [values[name] for name in ("id", "cwd", "created", "updated")]
    if not all(isinstance(text, str) for text in texts):
        raise StoreError(DAMAGED)
    if not isinstance(values["title"], str | None):
        raise StoreError(DAMAGED)
    names = _json_or(values["directories"], list[Json]())
    settings = _json_or(values["settings"], dict[str, Json]())
    values |= {
        "directories": tuple(name for name in names if isinstance(name, str)),
        "is_named": bool(values["is_named"]),
        "is_archived": bool(values["is_archived"]),
        "settings": {name: value for name, value in settings.items() if isinstance(value, str)},
        "usage": _json_or(values["usage"], dict[str, Json]()) or None,
        "spent": _json_or(values["spent"], dict[str, Json]()) or None,
    }
    return SessionRecord(**values)


def to_column(value: object) -> object:
    """Return a field of a record as it is in a column."""
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value


def read_json(text: object) -> Json:
    """Return the JSON in a column.

    Raises:
        StoreError: it is none.
    """
    try:
        return json.loads(cast("str", text))
    except (ValueError, TypeError, RecursionError):
        raise StoreError(DAMAGED) from None


def _json_or(text: object, default: Result) -> Result:
    """Return the JSON in a column if it is of the type of `default`."""
    try:
        value: Any = read_json(text)
    except StoreError:
        return default
    return value if isinstance(value, type(default)) else default


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Which sessions a list contains."""

    cwd: str | None = None
    archived: Archived = "exclude"
    before: tuple[str, int] | None = None
    """Only those after this time and number, where the newest come first."""


class SessionStore:
    """Sessions and their events.

    The methods that are not async use the database in the calling thread; in an event loop, call
    them within `run`.
    """

    def __init__(
        self,
        storage: Path | DatabaseUrl | None = None,
        migrations: Migrations = MIGRATIONS,
        *,
        busy_timeout_s: float | None = None,
        memory_limit: int = MEMORY_LIMIT,
        events_per_read: int = EVENTS_PER_READ,
        max_statement_s: float = MAX_STATEMENT_S,
    ) -> None:
        """Open the store in a directory, which is made if it is missing; None: in memory.

        Raises:
            StoreError: it cannot be used.
        """
        self.is_lasting = storage is not None
        is_remote = isinstance(storage, DatabaseUrl)
        default = RECONNECT_TIMEOUT_S if is_remote else BUSY_TIMEOUT_S
        self.busy_timeout_s = default if busy_timeout_s is None else busy_timeout_s
        """How long `run` waits for another process that is writing, or for the database."""
        self.take_timeout_s = TAKE_TIMEOUT_S if is_remote else 0.0
        """How long `take` waits for the end of another process."""
        self._give_up: Callable[[int], bool] | None = None
        self._memory_limit = memory_limit
        self._events_per_read = events_per_read
        self._driver = _open(storage, migrations)
        self._worker = (
            None if self._driver.is_immediate else Worker(self._driver.interrupt, max_statement_s)
        )
        weakref.finalize(self, self._driver.close)
        self.locks = self._driver.locks

    def errors(self) -> AbstractContextManager[None]:
        """Turn exceptions of the database in the block into a StoreError."""
        return self._driver.errors()

    async def run(self, work: Callable[[], Result], max_wait_s: float | None = None) -> Result:
        """Return the result of `work`, which is tried again while the store is busy.

        Unless the store is busy, or a server, this does not yield to other tasks.

        Raises:
            StoreError: it cannot be done; also where the store was busy for `max_wait_s`, by
                default `busy_timeout_s`.
        """
        wait = self.busy_timeout_s if max_wait_s is None else max_wait_s
        deadline = anyio.current_time() + wait
        while True:
            try:
                return work() if self._worker is None else await self._worker.run(work)
            except BusyError:
                if anyio.current_time() >= deadline:
                    raise
            await anyio.sleep(RETRY_INTERVAL_S)

    def submit(self, work: Callable[[], object]) -> None:
        """Do `work` before all other work, once and without waiting for a server."""

        def attempt() -> None:
            with suppress(StoreError):
                work()

        if self._worker is None:
            attempt()
        else:
            self._worker.submit(attempt)

    async def take(self, number: int) -> bool:
        """Lock a session; return False if it is open already.

        Raises:
            StoreError: the store cannot be used.
        """

        def attempt() -> bool:
            with self._driver.errors():
                return self.locks.take(number)

        def ask() -> None:
            with self._driver.errors():
                self._driver.ask_for(number)

        start = next_ask = anyio.current_time()
        deadline = start + (self.take_timeout_s if self._give_up is None else TAKE_TIMEOUT_S)
        while not await self.run(attempt):
            if (time := anyio.current_time()) >= deadline:
                return False
            if time >= next_ask:
                next_ask = time + POLL_INTERVAL_S
                await self.run(ask)
                if self._give_up is not None and self._give_up(number):
                    deadline = start + GIVE_UP_TIMEOUT_S
            await anyio.sleep(RETRY_INTERVAL_S)
        return True

    async def share(self, give_up: Callable[[int], bool]) -> None:
        """Give sessions up that other clients want; runs until it is cancelled.

        `give_up` gets the number of a session that is open here, and returns whether it will be
        closed.
        """
        loop = asyncio.get_running_loop()
        self._give_up = give_up

        def listen() -> None:
            with self._driver.errors():
                self._driver.listen(partial(loop.call_soon_threadsafe, give_up))

        def poll() -> None:
            with self._driver.errors():
                self._driver.poll()

        try:
            await self.run(listen)
            while True:
                await anyio.sleep(POLL_INTERVAL_S)
                with suppress(StoreError):
                    await self.run(poll, 0.0)
        finally:
            self._give_up = None

    async def is_taken(self, number: int) -> bool:
        """Return whether any process has the session open."""

        def attempt() -> bool:
            with self._driver.errors():
                return self.locks.is_taken(number)

        return await self.run(attempt)

    async def release(self, number: int) -> None:
        """Unlock a session, even if the caller is cancelled meanwhile."""

        def attempt() -> None:
            with self._driver.errors():
                self.locks.release(number)

        with anyio.CancelScope(shield=True):
            try:
                await self.run(attempt, 0.0)
            except StoreError as problem:
                # The lock has ended with the connection to the database.
                logger.debug("a session is not unlocked: %s", problem)

    def create(
        self, id_: str, cwd: str, directories: Sequence[str], settings: dict[str, str]
    ) -> SessionRecord:
        """Add a session, locked by this process."""
        statement = (
            "INSERT INTO session (id, cwd, directories, created, updated, settings)"
            " VALUES (:id, :cwd, :directories, :at, :at, :settings)"
            " ON CONFLICT (id) DO NOTHING RETURNING number"
        )
        fields = {"cwd": cwd, "directories": list(directories), "settings": settings}
        with self._driver.errors():
            with self._driver.transaction():
                if not self.is_lasting:
                    self._make_room()
                number, _ = self._insert(statement, id_, **fields)
                # No other process sees it before the transaction ends, and can have locked it.
                self.locks.take(number)
            return self._record(number)

    def copy(self, number: int, id_: str, cwd: str, directories: Sequence[str]) -> SessionRecord:
        """Add a session with the title, the settings and the events of another one; lock it."""
        statement = (
            "INSERT INTO session"
            " (id, cwd, directories, title, is_named, created, updated, settings)"
            " SELECT :id, :cwd, :directories, title, is_named, :at, :at, settings"
            " FROM session WHERE number = :source"
            " ON CONFLICT (id) DO NOTHING RETURNING number"
        )
        events = (
            "INSERT INTO event (session, body)"
            " SELECT :copied, body FROM event WHERE session = :source ORDER BY place"
        )
        fields = {"cwd": cwd, "directories": list(directories), "source": number}
        with self._driver.errors():
            with self._driver.transaction():
                copied, is_new = self._insert(statement, id_, **fields)
                if is_new:
                    self._driver.execute(events, copied=copied, source=number)
                self.locks.take(copied)
            return self._record(copied)

    def _insert(self, statement: str, id_: str, **fields: object) -> tuple[int, bool]:
        """Insert a session; return its number, and whether it was not there already.

        It was where the connection broke off just when the transaction of a former attempt ended.
        """
        columns = {name: to_column(value) for name, value in fields.items()}
        rows = self._driver.execute(statement, id=id_, at=now(), **columns)
        if is_new := bool(rows):
            return rows[0][0], is_new
        rows = self._driver.execute("SELECT number FROM session WHERE id = :id", id=id_)
        if not rows:
            raise StoreError("the session is no longer there")
        return rows[0][0], is_new

    def get(self, id_: str) -> SessionRecord | None:
        """Return the session of that id; None if there is none."""
        with self._driver.errors():
            rows = self._driver.execute(f"{_SELECT} WHERE id = :id", id=id_)
        return read_record(rows[0]) if rows else None

    def page(self, query: SessionQuery, count: int) -> list[SessionRecord]:
        """Return up to `count` sessions, the newest first; damaged ones are left out."""
        where, values = list[str](), dict[str, object]()
        if query.cwd is not None:
            where.append("cwd = :cwd")
            values["cwd"] = query.cwd
        if query.archived != "include":
            where.append("is_archived = :archived")
            values["archived"] = int(query.archived == "only")
        if query.before is not None:
            where.append("(updated, number) < (:updated, :number)")
            values["updated"], values["number"] = query.before
        clause = f"WHERE {' AND '.join(where)}" if where else ""
        order = "ORDER BY updated DESC, number DESC LIMIT :count OFFSET :offset"
        statement = f"{_SELECT} {clause} {order}"
        found: list[SessionRecord] = []
        offset = damaged = 0
        while (wanted := count - len(found)) > 0:
            with self._driver.errors():
                rows = self._driver.execute(statement, **values, count=wanted, offset=offset)
            for row in rows:
                try:
                    found.append(read_record(row))
                except StoreError:
                    damaged += 1
            offset += len(rows)
            if len(rows) < wanted:
                break
        if damaged:
            logger.error("%d sessions make no sense, and are not listed", damaged)
        return found

    def change(self, number: int, **members: object) -> None:
        """Change fields of a record."""
        assert members.keys() <= set(COLUMNS)
        names = ", ".join(f"{name} = :{name}" for name in members)
        statement = f"UPDATE session SET {names} WHERE number = :which"  # noqa: S608 - own columns
        columns = {name: to_column(value) for name, value in members.items()}
        with self._driver.errors():
            self._driver.execute(statement, which=number, **columns)

    def suggest_title(self, number: int, title: str) -> bool:
        """Set the title of a session unless it has one; return whether it was set."""
        statement = (
            "UPDATE session SET title = :title WHERE number = :number AND title IS NULL"
            " RETURNING number"
        )
        with self._driver.errors():
            return bool(self._driver.execute(statement, title=title, number=number))

    def append(self, number: int, body: str) -> int:
        """Append an event to a session; return the number of its row."""
        with self._driver.errors():
            return self._driver.append(number, body)

    def replace(self, place: int, body: str) -> None:
        """Replace the event in a row."""
        statement = "UPDATE event SET body = :body WHERE place = :place"
        with self._driver.errors():
            self._driver.execute(statement, body=body, place=place)

    def events_after(self, number: int, place: int) -> list[tuple[int, str]]:
        """Return the next rows of a session behind a row; none if those were the last ones."""
        statement = (
            "SELECT place, body FROM event WHERE session = :session AND place > :place"
            " ORDER BY place LIMIT :count"
        )
        with self._driver.errors():
            rows = self._driver.execute(
                statement, session=number, place=place, count=self._events_per_read
            )
        return [(place, body) for place, body in rows]

    def events(self, number: int) -> Iterator[str]:
        """Yield the events of a session in their order."""
        place = 0
        while rows := self.events_after(number, place):
            yield from (body for _, body in rows)
            if len(rows) < self._events_per_read:
                return
            place = rows[-1][0]

    def delete(self, number: int) -> None:
        with self._driver.errors():
            self._driver.execute("DELETE FROM session WHERE number = :number", number=number)

    def close(self) -> None:
        """Do what was submitted, unlock all sessions, and close the database."""
        if self._worker is not None:
            self._worker.close()
        with self._driver.errors():
            self.locks.close()
            self._driver.close()

    def _record(self, number: int) -> SessionRecord:
        (row,) = self._driver.execute(f"{_SELECT} WHERE number = :number", number=number)
        return read_record(row)

    def _make_room(self) -> None:
        """Delete the oldest closed sessions, so that one more can be kept in memory."""
        rows = self._driver.execute("SELECT number FROM session ORDER BY updated, number")
        surplus = max(0, len(rows) - self._memory_limit + 1)
        closed = [number for (number,) in rows if not self.locks.is_taken(number)]
        for number in closed[:surplus]:
            self.delete(number)


def _open(storage: Path | DatabaseUrl | None, migrations: Migrations) -> Driver:
    """Return the driver of a store, with the tables of today.

    Raises:
        StoreError: it cannot be used.
    """
    if isinstance(storage, DatabaseUrl):
        # The library takes longer to import than the rest of the agent takes to start.
        from acp_agent.store.postgres import PostgresDriver

        driver = PostgresDriver(storage)
    else:
        driver = SqliteDriver(storage)
    try:
        with driver.errors():
            prepare(driver, migrations)
            if isinstance(driver, SqliteDriver):
                # From now on `run` waits, which lets other tasks run meanwhile.
                driver.raise_when_busy()
    except BaseException:
        driver.close()
        raise
    return driver


def encode_cursor(record: SessionRecord, query: SessionQuery) -> str:
    """Return the cursor of the sessions after `record`."""
    position = [record.updated, record.number, query.cwd, query.archived]
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, query: SessionQuery) -> SessionQuery | None:
    """Return `query` from the cursor on; None if the cursor is not of this query."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return None
    match position:
        case [str(updated), int(number), cwd, archived] if 0 < number < 2**63:
            fits = (cwd, archived) == (query.cwd, query.archived)
            return replace(query, before=(updated, number)) if fits else None
        case _:
            return None
