"""Sessions in a PostgreSQL database, which any number of processes on any hosts share.

A process has one connection. It holds the locks of the sessions that are open here, and all writes
go through it: as long as a write succeeds, the server still knows the connection, and with it the
locks. When a process is killed or cut off from the network, the server ends its connection, and
other processes can open its sessions. When a connection breaks, this process makes another one and
takes its locks again; a session that another process has had open meanwhile is lost to it.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, Engine, NullPool, Row, TextClause, create_engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.driver import INSERT_EVENT
from acp_agent.store.errors import (
    BUSY,
    DAMAGED,
    FULL,
    READ_ONLY,
    BusyError,
    LostLockError,
    StoreError,
)

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S: Final = 5
STATEMENT_TIMEOUT_S: Final = 5
MIGRATION_TIMEOUT_S: Final = 120
RECONNECT_PAUSE_S: Final = 0.25
"""Between two attempts to connect."""
GHOST_TIMEOUT_S: Final = 3.0
"""How long the server may take to end our former connection."""
GHOST_POLL_S: Final = 0.02
MARK: Final = "sessions of acp-agent"
"""The comment on the table of migrations in our databases."""
LOST: Final = "the connection to the database broke, and another process has opened the session"
UNREACHABLE: Final = "the database server does not answer; try again"
DEFAULT_PORT: Final = "5432"
_NETWORK: Final[Mapping[str, Any]] = {
    "client_encoding": "UTF8",
    "connect_timeout": CONNECT_TIMEOUT_S,
    "application_name": "acp-agent",
    "target_session_attrs": "read-write",
    # The client notices a broken network a little before the server gives its locks away.
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8000,
}
"""Parameters of a connection that the URL may override."""
_SERVER: Final = (
    f"-c statement_timeout={STATEMENT_TIMEOUT_S}s -c lock_timeout={STATEMENT_TIMEOUT_S}s"
    " -c idle_in_transaction_session_timeout=30s -c client_connection_check_interval=2s"
    " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=11s"
)
"""Settings of the server for a connection, likewise."""
_NAMESPACE: Final = "hashtext('acp-agent ' || current_schema())"
"""The first key of our advisory locks; the second one is the number of a session."""
_TRY_LOCK: Final = f"pg_try_advisory_lock({_NAMESPACE}, :number)"
_TRY_LOCKS: Final = (
    "SELECT number FROM unnest(CAST(:numbers AS int[])) AS number"  # noqa: S608 - our keys
    f" WHERE pg_try_advisory_lock({_NAMESPACE}, number)"
)
_UNLOCK: Final = f"pg_advisory_unlock({_NAMESPACE}, :number)"
_IS_LOCKED: Final = (
    "SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database"  # noqa: S608 - our keys
    " WHERE locktype = 'advisory' AND objsubid = 2 AND datname = current_database()"
    f" AND CAST(classid AS bigint) = CAST({_NAMESPACE} AS bigint) & 4294967295"
    " AND CAST(objid AS bigint) = :number"
)
_CHANNEL: Final = "acp-agent "
"""The first word of the channel of a schema; the second one is its name."""
_MESSAGES: Final[Mapping[str, tuple[type[StoreError], str]]] = {
    "08": (BusyError, UNREACHABLE),
    "25006": (StoreError, READ_ONLY),
    "28": (StoreError, "the database server refuses the user or the password"),
    "3D": (StoreError, "the server has no such database"),
    "3F": (StoreError, "the database has no schema for the tables"),
    "40": (BusyError, BUSY),
    "42501": (StoreError, "the user may not use or make the tables; give it a database of its own"),
    "53100": (StoreError, FULL),
    "53": (BusyError, "the database server has no room for another connection; try again"),
    "55": (BusyError, BUSY),
    "57014": (BusyError, BUSY),
    "57": (BusyError, UNREACHABLE),
    "58": (StoreError, "the disk of the database server does not read or write it"),
    "XX001": (StoreError, DAMAGED),
    "XX002": (StoreError, DAMAGED),
}
"""What errors mean, by SQLSTATE or by its first letters. Source: PostgreSQL, Appendix A."""
_REFUSALS: Final[Mapping[str, str]] = {
    "authentication": "28",
    "password": "28",
    "pg_hba.conf": "28",
    "role": "28",
    'database "': "3D",
    "connection slots": "53",
    "too many clients": "53",
}
"""Words of the server that refuses to connect, for which the library gives no SQLSTATE."""
_ESCAPE: Final = "\x1a"
"""The first character of a text that PostgreSQL cannot hold as it is."""


def error_for(problem: psycopg.Error, address: str = "") -> StoreError:
    """Return what `problem` means to the user, without the text of the library.

    One about a server that does not answer names its address.
    """
    state = problem.sqlstate
    if state is None:
        text = str(problem)
        state = next((state for words, state in _REFUSALS.items() if words in text), "08")
    known = _MESSAGES.get(state) or _MESSAGES.get(state[:2])
    if known is None:
        return StoreError(f"the database reports the error {state}")
    kind, message = known
    if message == UNREACHABLE and address:
        message = message.replace("server", f"server at {address}", 1)
    return kind(message)


def _address(given: Mapping[str, Any]) -> str:
    """Return host and port of the server, or the directory of its socket; empty if unnamed."""
    host, port = given.get("host") or given.get("hostaddr"), given.get("port") or DEFAULT_PORT
    return f"{host}, port {port}" if host else ""


def _to_column(value: object) -> object:
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        is_plain = not isinstance(value, str) or not value.startswith(_ESCAPE)
    else:
        try:
            value.encode()
            is_plain = "\0" not in value
        except UnicodeError:
            is_plain = False
    return value if is_plain else _ESCAPE + json.dumps(value)


def _from_column(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(_ESCAPE):
        return value
    try:
        return json.loads(value[1:])
    except ValueError:
        return None


@lru_cache(256)
def _clause(statement: str) -> TextClause:
    return text(statement)


class PostgresDriver:
    """A PostgreSQL database."""

    is_immediate = False
    types: Mapping[str, str] = {
        # The number of a session is one key of its lock.
        "identity": "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "big_identity": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "integer": "INTEGER",
        # Times are compared as the texts that they are.
        "time": 'TEXT COLLATE "C"',
    }

    def __init__(self, url: DatabaseUrl) -> None:
        try:
            given = conninfo_to_dict(url.url)
        except psycopg.Error:
            # The text of the library repeats a part of the URL.
            raise StoreError("the URL of the database is invalid") from None
        options = f"{_SERVER} {given.get('options') or ''}"
        self._parameters: dict[str, Any] = {**_NETWORK, **given, "options": options}
        self._address = _address(given)
        self._engine: Engine = create_engine(
            "postgresql+psycopg://",
            creator=self._dial,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            use_native_hstore=False,
        )
        self._connection: Connection | None = None
        self._raw: psycopg.Connection[Any] | None = None
        self._former: tuple[object, ...] | None = None
        """How the server knows the last connection."""
        self._next_attempt = 0.0
        self._started: float | None = None
        """When the statement that runs was sent."""
        self._is_wanted: Callable[[int], object] | None = None
        """Called when another process wants a session."""
        self._guard = threading.RLock()
        self.locks = AdvisoryLocks(self)
        with self.errors():
            self.connect()

    def connect(self) -> None:
        """Connect again if the connection broke."""
        self._connected()

    def _dial(self) -> psycopg.Connection[Any]:
        return psycopg.connect(**self._parameters)

    def execute(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        return self._execute(self._connected(), statement, values)

    def _execute(
        self, connection: Connection, statement: str, values: Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        columns = {name: _to_column(value) for name, value in values.items()}
        self._started = time.monotonic()
        try:
            result = connection.execute(_clause(statement), columns)
            rows = list[Row[Any]]() if not result.returns_rows else list(result.all())
        finally:
            self._started = None
        return [tuple(map(_from_column, row)) for row in rows]

    def append(self, number: int, body: str) -> int:
        return self.locks.append(number, body)

    @contextmanager
    def transaction(self) -> Generator[None]:
        connection = self._connected()
        self._execute(connection, "BEGIN", {})
        try:
            yield
        except BaseException:
            with suppress(SQLAlchemyError, psycopg.Error):
                self._execute(connection, "ROLLBACK", {})
            raise
        self._execute(connection, "COMMIT", {})

    @contextmanager
    def errors(self) -> Generator[None]:
        with self._guard:
            try:
                yield
            except (SQLAlchemyError, psycopg.Error) as problem:
                original = problem.orig if isinstance(problem, DBAPIError) else problem
                if self._raw is None or self._raw.closed:
                    self._disconnect()
                if not isinstance(original, psycopg.Error):
                    raise StoreError(DAMAGED) from problem
                # Its text repeats statements and parameters, which are private.
                logger.debug("the database reports %s", type(original).__name__)
                raise error_for(original, self._address) from None

    def begin_migration(self) -> int:
        ((encoding,),) = self.execute("SHOW server_encoding")
        if encoding != "UTF8":
            raise StoreError("the database must have the encoding UTF8")
        for limit in ("statement_timeout", "lock_timeout"):
            self.execute(f"SET LOCAL {limit} = '{MIGRATION_TIMEOUT_S}s'")
        self.execute(f"SELECT pg_advisory_xact_lock({_NAMESPACE}, 0)")
        tables = self.execute(
            "SELECT relname, obj_description(oid, 'pg_class') FROM pg_class"
            " WHERE relnamespace = CAST(current_schema() AS regnamespace)"
            " AND relname IN ('migration', 'session', 'event')"
        )
        if not tables:
            return 0
        if ("migration", MARK) not in tables:
            raise StoreError("the database has tables of another program with the names of ours")
        ((format_,),) = self.execute("SELECT COALESCE(max(format), 0) FROM migration")
        return format_

    def end_migration(self, format_: int) -> None:
        self.execute(f"COMMENT ON TABLE migration IS '{MARK}'")

    def listen(self, is_wanted: Callable[[int], object]) -> None:
        with self._guard:
            self._is_wanted = is_wanted
            if self._raw is not None:
                self._listen()

    def _listen(self) -> None:
        def take_notice(notice: psycopg.Notify) -> None:
            # Anybody may send to a channel.
            number = int(notice.payload) if notice.payload.isdecimal() else 0
            if self._is_wanted is not None and self.locks.is_held(number):
                self._is_wanted(number)

        if self._raw is not None and self._is_wanted is not None:
            ((schema,),) = self.execute("SELECT current_schema()")
            channel = sql.Identifier(f"{_CHANNEL}{schema}")
            self.execute(f"LISTEN {channel.as_string(self._raw)}")
            self._raw.add_notify_handler(take_notice)

    def poll(self) -> None:
        self.execute("SELECT 1")

    def ask_for(self, number: int) -> None:
        notify = f"SELECT pg_notify('{_CHANNEL}' || current_schema(), :number)"
        self.execute(notify, number=str(number))

    def interrupt(self, max_s: float) -> None:
        started, raw = self._started, self._raw
        if raw is None or started is None or time.monotonic() - started < max_s:
            return
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(raw.fileno())) as ended:
            ended.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._guard, suppress(SQLAlchemyError, psycopg.Error):
            if self._connection is not None:
                # The server would end the locks a little later than this returns.
                self._execute(self._connection, "SELECT pg_advisory_unlock_all()", {})
        with self._guard, suppress(SQLAlchemyError, psycopg.Error):
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection, self._raw = self._connection, None, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _connected(self) -> Connection:
        """Return the connection; make another one if it broke, and take the locks again."""
        if self._connection is not None and self._raw is not None and not self._raw.closed:
            return self._connection
        self._disconnect()
        if time.monotonic() < self._next_attempt:
            raise error_for(psycopg.OperationalError(), self._address)
        self._next_attempt = time.monotonic() + RECONNECT_PAUSE_S
        connection = self._engine.connect()
        self._connection = connection
        self._raw = cast("psycopg.Connection[Any]", connection.connection.dbapi_connection)
        try:
            self.locks.take_again(self._former)
            self._listen()
            (self._former,) = self.execute(
                "SELECT pid, CAST(backend_start AS text) FROM pg_stat_activity"
                " WHERE pid = pg_backend_pid()"
            )
        except BaseException:
            self._disconnect()
            raise
        self._next_attempt = 0.0
        return connection


@dataclass
class _Held:
    """A session that is open here."""

    last: int
    """The last row of it that this process knows."""
    pending: str | None = None
    """The event that is being appended; it is not known whether the server has it."""
    committed: int | None = None
    """Its row, if the server turned out to have it after the connection broke."""
    is_lost: bool = False
    """Whether another process has had the session open since the connection broke."""


class AdvisoryLocks:
    """Locks of sessions that the server keeps for a connection, and ends with it."""

    def __init__(self, driver: PostgresDriver) -> None:
        self._driver = driver
        self._held: dict[int, _Held] = {}

    def take(self, number: int) -> bool:
        if number in self._held:
            return False
        ((is_locked,),) = self._driver.execute(f"SELECT {_TRY_LOCK}", number=number)
        if is_locked:
            last = "SELECT COALESCE(max(place), 0) FROM event WHERE session = :number"
            ((place,),) = self._driver.execute(last, number=number)
            self._held[number] = _Held(place)
        return is_locked

    def release(self, number: int) -> None:
        held = self._held.pop(number, None)
        if held is not None and not held.is_lost:
            self._driver.execute(f"SELECT {_UNLOCK}", number=number)

    def is_taken(self, number: int) -> bool:
        held = self._held.get(number)
        if held is not None and not held.is_lost:
            return True
        return bool(self._driver.execute(_IS_LOCKED, number=number))

    def is_held(self, number: int) -> bool:
        """Return whether this process has the session open."""
        return number in self._held

    def check(self, number: int) -> None:
        self._driver.connect()
        held = self._held.get(number)
        if held is None or held.is_lost:
            raise LostLockError(LOST)

    def append(self, number: int, body: str) -> int:
        """Append an event to a session that is locked; return the number of its row."""
        self.check(number)
        held = self._held[number]
        place, held.committed = held.committed, None
        if place is not None and held.pending != body:
            # The caller has given it up meanwhile.
            self._driver.execute("DELETE FROM event WHERE place = :place", place=place)
            place = None
        if place is None:
            held.pending = body
            ((place,),) = self._driver.execute(INSERT_EVENT, session=number, body=body)
        held.last, held.pending = place, None
        return place

    def take_again(self, former: tuple[object, ...] | None) -> None:
        """Take the locks on a new connection; `former` is how the server knows the one before."""
        waiting = {number for number, held in self._held.items() if not held.is_lost}
        if not waiting:
            return
        pid, since = former or (0, "")
        ghost = "FROM pg_stat_activity WHERE pid = :pid AND CAST(backend_start AS text) = :since"
        # The server may not have noticed yet that the former connection is broken.
        self._driver.execute(f"SELECT pg_terminate_backend(pid) {ghost}", pid=pid, since=since)
        deadline = time.monotonic() + GHOST_TIMEOUT_S
        while True:
            is_gone = not self._driver.execute(f"SELECT pid {ghost}", pid=pid, since=since)
            waiting -= {
                each for (each,) in self._driver.execute(_TRY_LOCKS, numbers=sorted(waiting))
            }
            if not waiting or is_gone or time.monotonic() > deadline:
                break
            time.sleep(GHOST_POLL_S)
        for number in waiting:
            self._held[number].is_lost = True
        self._read_what_was_appended()

    def _read_what_was_appended(self) -> None:
        """Find out what became of the events that were being appended, and whose others are."""
        held = {number: each for number, each in self._held.items() if not each.is_lost}
        rows = self._driver.execute(
            "SELECT event.session, event.place, event.body FROM event"
            " JOIN unnest(CAST(:numbers AS int[]), CAST(:places AS bigint[]))"
            " AS held (number, last) ON event.session = held.number AND event.place > held.last"
            " ORDER BY event.place",
            numbers=list(held),
            places=[each.last for each in held.values()],
        )
        for number, place, body in rows:
            each = held[number]
            if each.committed is None and body == each.pending:
                each.committed = each.last = place
            else:
                # Another process has had it open, and has closed it again.
                each.is_lost = True
                self._driver.execute(f"SELECT {_UNLOCK}", number=number)

    def close(self) -> None:
        # The driver ends all of them at once.
        self._held.clear()
