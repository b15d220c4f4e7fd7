"""Stores sessions: in memory, or in an SQLite database in a directory.

What was stored is there for the next process that opens the directory, even if this one is killed
right after it. Several processes may have one directory open; a session is written by the one that
holds its lock. A write while another process is writing raises a `BusyError` at once, see
`retry_busy`.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sqlite3
import stat
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

import anyio

from acp_agent.store.locks import SessionLocks
from acp_protocol.errors import AcpError
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

FILE: Final = "sessions.sqlite3"
EVENTS_PER_READ: Final = 500
MEMORY_LIMIT: Final = 1000
"""Sessions kept in memory; the oldest closed ones are deleted to make room."""
BUSY_TIMEOUT_S: Final = 5.0
"""How long a process waits for another one that is writing."""
RETRY_INTERVAL_S: Final = 0.01
APPLICATION: Final = 0x41435053
"""The application id of our databases."""
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
_MESSAGES: Final = {
    sqlite3.SQLITE_BUSY: "another process keeps the store busy; try again",
    sqlite3.SQLITE_LOCKED: "another process keeps the store busy; try again",
    sqlite3.SQLITE_FULL: "there is no room left on the disk",
    sqlite3.SQLITE_READONLY: "the store may not be written",
    sqlite3.SQLITE_PERM: "the store may not be read",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk does not read or write it",
    sqlite3.SQLITE_CORRUPT: "the store is damaged; move it away, or take a copy of it back",
    sqlite3.SQLITE_NOTADB: "the store is damaged, or no store; move it away",
}
DAMAGED: Final = _MESSAGES[sqlite3.SQLITE_CORRUPT]
Migrations: TypeAlias = tuple[tuple[str, ...], ...]
MIGRATIONS: Final[Migrations] = (
    (
        "CREATE TABLE migration (format INTEGER PRIMARY KEY, applied TEXT NOT NULL)",
        """CREATE TABLE session (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            cwd TEXT NOT NULL,
            directories TEXT NOT NULL DEFAULT '[]',
            title TEXT,
            is_named INTEGER NOT NULL DEFAULT 0,
            is_archived INTEGER NOT NULL DEFAULT 0,
            updated TEXT NOT NULL,
            settings TEXT NOT NULL DEFAULT '{}',
            usage TEXT,
            spent TEXT
        )""",
        "CREATE INDEX session_updated ON session (updated, number)",
        """CREATE TABLE event (
            place INTEGER PRIMARY KEY AUTOINCREMENT,
            session INTEGER NOT NULL REFERENCES session (number) ON DELETE CASCADE,
            body TEXT NOT NULL
        )""",
        "CREATE INDEX event_session ON event (session, place)",
    ),
    (
        "ALTER TABLE session ADD COLUMN created TEXT NOT NULL DEFAULT ''",
        # The time of creation is not known; it is not later than the last use.
        "UPDATE session SET created = updated",
    ),
    # Entries may refer to texts of rows before them, which earlier versions do not read.
    (),
)
"""The statements that make format 1, then 2, and so on."""
Archived: TypeAlias = Literal["exclude", "include", "only"]
Result = TypeVar("Result")


class StoreError(AcpError):
    """A store cannot be used; the message is a sentence for the user and names no path."""


class BusyError(StoreError):
    """Another process is writing in the store; trying again may help."""


def error_for(problem: sqlite3.Error) -> StoreError:
    """Return what `problem` means to the user, without the text of the library."""
    # The low byte is the kind. Text that is no UTF-8 has no code.
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    is_busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return (BusyError if is_busy else StoreError)(_MESSAGES.get(code, DAMAGED))


@contextmanager
def _store_errors() -> Generator[None]:
    """Turn the exceptions of the library and the system into a StoreError."""
    try:
        yield
    except sqlite3.Error as problem:
        raise error_for(problem) from problem
    except UnicodeError as problem:
        # The library raises it for a damaged name, too.
        raise StoreError(DAMAGED) from problem
    except OSError as problem:
        raise StoreError("the directory cannot be used: " + (problem.strerror or "")) from problem


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
    values: dict[str, Any] = dict(zip(COLUMNS, map(_from_column, row), strict=True))
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
    """Return a member of a record as it stands in a column."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value)
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        # The library cannot store a lone surrogate, which JSON may contain, in a text.
        return value.encode(errors="surrogatepass")
    return value


def _from_column(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode(errors="surrogatepass")
    except UnicodeError:
        return None


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
    """Sessions and their events."""

    def __init__(
        self,
        directory: Path | None = None,
        migrations: Migrations = MIGRATIONS,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        memory_limit: int = MEMORY_LIMIT,
        events_per_read: int = EVENTS_PER_READ,
    ) -> None:
        """Open the store in `directory`, which is made if it is missing; None: in memory.

        Raises:
            StoreError: it cannot be used.
        """
        self.is_lasting = directory is not None
        self.busy_timeout_s = busy_timeout_s
        """How long `retry` waits for another process that is writing."""
        self._memory_limit = memory_limit
        self._events_per_read = events_per_read
        with _store_errors():
            self._database = _connect(directory)
            weakref.finalize(self, self._database.close)
            prepare(self._database, migrations)
            # From now on `retry` waits, which lets other tasks run meanwhile.
            self._database.execute("PRAGMA busy_timeout = 0")
            self.locks = SessionLocks(_made(directory / "open") if directory is not None else None)

    async def retry(self, work: Callable[[], Result], max_wait_s: float | None = None) -> Result:
        """Return the result of `work`, which is tried again while the store is busy.

        Where it is not busy, this does not yield to other tasks.

        Raises:
            StoreError: it cannot be done; also where the store was busy for `max_wait_s`, by
                default `busy_timeout_s`.
        """
        wait = self.busy_timeout_s if max_wait_s is None else max_wait_s
        deadline = anyio.current_time() + wait
        while True:
            try:
                return work()
            except BusyError:
                if anyio.current_time() >= deadline:
                    raise
            await anyio.sleep(RETRY_INTERVAL_S)

    @_store_errors()
    def create(
        self, id_: str, cwd: str, directories: Sequence[str], settings: dict[str, str]
    ) -> SessionRecord:
        """Add a session, locked by this process."""
        at = now()
        values = map(to_column, (id_, cwd, list(directories), at, at, settings))
        statement = (
            "INSERT INTO session (id, cwd, directories, created, updated, settings)"
            " VALUES (?, ?, ?, ?, ?, ?)"
        )
        with _transaction(self._database):
            if not self.is_lasting:
                self._make_room()
            number = self._execute(statement, *values).lastrowid or 0
            # No other process sees it before the transaction ends, and can have locked it.
            self.locks.take(number)
        return self._record(number)

    @_store_errors()
    def copy(self, number: int, id_: str, cwd: str, directories: Sequence[str]) -> SessionRecord:
        """Add a session with the title, the settings and the events of another one; lock it."""
        statement = (
            "INSERT INTO session"
            " (id, cwd, directories, title, is_named, created, updated, settings)"
            " SELECT ?, ?, ?, title, is_named, ?, ?, settings FROM session WHERE number = ?"
        )
        events = (
            "INSERT INTO event (session, body)"
            " SELECT ?, body FROM event WHERE session = ? ORDER BY place"
        )
        at = now()
        values = map(to_column, (id_, cwd, list(directories), at, at, number))
        with _transaction(self._database):
            copied = self._execute(statement, *values).lastrowid or 0
            self._execute(events, copied, number)
            self.locks.take(copied)
        return self._record(copied)

    @_store_errors()
    def get(self, id_: str) -> SessionRecord | None:
        """Return the session of that id; None if there is none."""
        row = self._execute(f"{_SELECT} WHERE id = ?", to_column(id_)).fetchone()
        return read_record(row) if row else None

    @_store_errors()
    def page(self, query: SessionQuery, count: int) -> list[SessionRecord]:
        """Return up to `count` sessions, the newest first; damaged ones are left out."""
        where, values = ["1"], list[object]()
        if query.cwd is not None:
            where.append("cwd = ?")
            values.append(to_column(query.cwd))
        if query.archived != "include":
            where.append("is_archived = ?")
            values.append(int(query.archived == "only"))
        if query.before is not None:
            where.append("(updated, number) < (?, ?)")
            values += query.before
        clause = f"WHERE {' AND '.join(where)} ORDER BY updated DESC, number DESC"
        found: list[SessionRecord] = []
        damaged = 0
        for row in self._execute(f"{_SELECT} {clause}", *values):
            try:
                found.append(read_record(row))
            except StoreError:
                damaged += 1
            if len(found) == count:
                break
        if damaged:
            logger.error("%d sessions make no sense, and are not listed", damaged)
        return found

    @_store_errors()
    def change(self, number: int, **members: object) -> None:
        """Change fields of a record."""
        assert members.keys() <= set(COLUMNS)
        names = ", ".join(f"{name} = ?" for name in members)
        statement = f"UPDATE session SET {names} WHERE number = ?"  # noqa: S608 - own columns
        self._execute(statement, *map(to_column, members.values()), number)

    @_store_errors()
    def suggest_title(self, number: int, title: str) -> bool:
        """Set the title of a session unless it has one; return whether it was set."""
        statement = "UPDATE session SET title = ? WHERE number = ? AND title IS NULL"
        return self._execute(statement, to_column(title), number).rowcount > 0

    @_store_errors()
    def append(self, number: int, body: str) -> int:
        """Append an event to a session; return the number of its row."""
        statement = "INSERT INTO event (session, body) VALUES (?, ?)"
        return self._execute(statement, number, body).lastrowid or 0

    @_store_errors()
    def replace(self, place: int, body: str) -> None:
        """Replace the event in a row."""
        self._execute("UPDATE event SET body = ? WHERE place = ?", body, place)

    def events(self, number: int) -> Iterator[str]:
        """Yield the events of a session in their order."""
        statement = (
            "SELECT place, body FROM event WHERE session = ? AND place > ? ORDER BY place LIMIT ?"
        )
        limit = self._events_per_read
        place = 0
        while True:
            with _store_errors():
                rows = self._execute(statement, number, place, limit).fetchall()
            yield from (body for _, body in rows)
            if len(rows) < limit:
                return
            place = rows[-1][0]

    @_store_errors()
    def delete(self, number: int) -> None:
        self._execute("DELETE FROM session WHERE number = ?", number)

    @_store_errors()
    def close(self) -> None:
        """Unlock all sessions, and close the database."""
        self.locks.close()
        self._database.close()

    @_store_errors()
    def take(self, number: int) -> bool:
        """Lock a session; return False if another process has it."""
        return self.locks.take(number)

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._database.execute(statement, values)

    def _record(self, number: int) -> SessionRecord:
        return read_record(self._execute(f"{_SELECT} WHERE number = ?", number).fetchone())

    def _make_room(self) -> None:
        """Delete the oldest closed sessions, so that one more can be kept in memory."""
        rows = self._execute("SELECT number FROM session ORDER BY updated, number").fetchall()
        surplus = max(0, len(rows) - self._memory_limit + 1)
        closed = [number for (number,) in rows if not self.locks.is_taken(number)]
        for number in closed[:surplus]:
            self.delete(number)


def _connect(directory: Path | None) -> sqlite3.Connection:
    # One thread uses it; another one may find it left behind, and close it.
    connect = partial(sqlite3.connect, isolation_level=None, check_same_thread=False)
    pragmas = ["synchronous = NORMAL", "foreign_keys = ON"]
    if directory is None:
        database = connect(":memory:")
    else:
        path = _made(directory) / FILE
        if path.exists() and path.stat().st_size == 0:
            logger.warning("%s is empty: former sessions are lost, new ones are kept there", path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = connect(path, timeout=BUSY_TIMEOUT_S)
        # The write-ahead log outlives this process; only a crash of the system can lose the last
        # of it, and never what was before.
        pragmas.insert(0, "journal_mode = WAL")
    try:
        for pragma in pragmas:
            database.execute(f"PRAGMA {pragma}")
    except (sqlite3.Error, UnicodeError):
        database.close()
        raise
    return database


def _made(directory: Path) -> Path:
    """Return the directory of the sessions, which only its user may write to.

    Raises:
        StoreError: it belongs to another user, or all users share it.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.stat()
    if found.st_uid != os.getuid():
        raise StoreError("the directory belongs to another user")
    if found.st_mode & stat.S_ISVTX:
        raise StoreError("the directory is shared by all users; choose one of your own")
    if found.st_mode & 0o022:
        logger.warning("%s: other users may no longer write to it", directory)
        directory.chmod(stat.S_IMODE(found.st_mode) & ~0o022)
    return directory


@contextmanager
def _transaction(database: sqlite3.Connection) -> Generator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # Where the disk is full, the library has rolled back itself.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def prepare(database: sqlite3.Connection, migrations: Migrations) -> None:
    """Bring `database` to the current format; an empty one gets its tables.

    Raises:
        StoreError: it was made by another program, or by a newer version of this one.
    """
    with _transaction(database):
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (format_,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            raise StoreError("the store was made by another program")
        if format_ > len(migrations):
            raise StoreError(
                f"the store was written by a newer acp-agent: it has format {format_}, "
                f"and this version reads formats up to {len(migrations)}"
            )
        for number, statements in enumerate(migrations[format_:], format_ + 1):
            for statement in statements:
                database.execute(statement)
            time = datetime.now(UTC).isoformat(timespec="seconds")
            database.execute("INSERT INTO migration VALUES (?, ?)", (number, time))
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {len(migrations)}")


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
