"""Where sessions are kept: in memory, or in an SQLite database in a directory.

What was kept is there for whoever opens the directory next, even if this process is killed right
behind it. Several processes may have one directory open; a session is written by the one that has
claimed it. A caller that calls while another process is writing gets a `BusyError` at once, see
`retry_busy`.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sqlite3
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

import anyio

from acp_agent.sessions.locks import SessionLocks
from acp_protocol.errors import AcpError
from acp_protocol.jsonrpc import Json

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


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as the store knows it."""

    number: int
    """Rises with each session of the store, and is never used again."""
    id: str
    cwd: str
    directories: tuple[str, ...]
    title: str | None
    is_named: bool
    """Whether the title is the user's, and no other may take its place."""
    is_archived: bool
    created: str
    """RFC 3339, in UTC."""
    updated: str
    """When somebody last asked for something in it, likewise."""
    settings: Mapping[str, str]
    """What is chosen, by option."""
    usage: Mapping[str, Json] | None
    """How full the context window is, as last reported to the client."""
    spent: Mapping[str, Json] | None
    """What all replies have taken together."""


def now() -> str:
    """Return the time as it stands in a record."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def read_record(row: tuple[Any, ...]) -> SessionRecord:
    """Return the record in a row of the store, which has `COLUMNS`.

    Settings, directories and sums that make no sense are as good as none: without them the session
    is still what it was.

    Raises:
        StoreError: the rest makes no sense.
    """
    number, *texts, named, archived, created, updated, settings, usage, spent = _as_given(row)
    id_, cwd, directories, title = texts
    texts = (id_, cwd, created, updated)
    if not all(isinstance(text, str) for text in texts) or not isinstance(title, str | None):
        raise StoreError(DAMAGED)
    chosen = _object(settings) or {}
    return SessionRecord(
        number=number,
        id=id_,
        cwd=cwd,
        directories=_names(directories),
        title=title,
        is_named=bool(named),
        is_archived=bool(archived),
        created=created,
        updated=updated,
        settings={name: value for name, value in chosen.items() if isinstance(value, str)},
        usage=_object(usage),
        spent=_object(spent),
    )


def to_column(value: object) -> object:
    """Return a member of a record as it stands in a column."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value)
    if isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
        # Half a sign, as JSON can bring it, has no place in a text of the library.
        return value.encode(errors="surrogatepass")
    return value


def read_json(text: object) -> Json:
    """Return what stands in a column as JSON.

    Raises:
        StoreError: it is none.
    """
    try:
        return json.loads(cast("str", text))
    except (ValueError, TypeError, RecursionError):
        raise StoreError(DAMAGED) from None


def _as_given(row: tuple[Any, ...]) -> list[Any]:
    return [_text(each) if isinstance(each, bytes) else each for each in row]


def _text(value: bytes) -> str | None:
    try:
        return value.decode(errors="surrogatepass")
    except UnicodeError:
        return None


def _object(text: object) -> dict[str, Json] | None:
    value = _value(text)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def _names(text: object) -> tuple[str, ...]:
    value = _value(text)
    names = cast("list[Json]", value) if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str))


def _value(text: object) -> Json:
    try:
        return read_json(text)
    except StoreError:
        return None


_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_SENTENCES: Final = {
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


class StoreError(AcpError):
    """A store cannot be used; the message is a sentence for the user and names no path."""


class BusyError(StoreError):
    """Another process is writing in the store; trying again may help."""


DAMAGED: Final = _SENTENCES[sqlite3.SQLITE_CORRUPT]


def error_for(problem: sqlite3.Error) -> StoreError:
    """Return what `problem` means to the user, without the text of the library."""
    # The low byte is the kind; the rest tells it more exactly. Text that is no UTF-8 has no code.
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    kind = BusyError if code in _BUSY else StoreError
    return kind(_SENTENCES.get(code, DAMAGED))


logger = logging.getLogger(__name__)

FILE: Final = "sessions.sqlite3"
EVENTS_PER_READ: Final = 500
"""Events that are read in one go."""
MEMORY_LIMIT: Final = 1000
"""Sessions that are kept where no directory is given; the oldest closed ones make room."""
_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM session"  # noqa: S608 - nobody's words

APPLICATION: Final = 0x41435053
"""What a database of this program is marked with."""
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
        # When the first ones were made is not known: not later than they were used.
        "UPDATE session SET created = updated",
    ),
    # Entries may refer to the words of rows before them, which earlier versions do not read.
    (),
)
"""The statements that lead to format 1, 2, and so on."""
Archived: TypeAlias = Literal["exclude", "include", "only"]


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Which sessions a list is to show."""

    cwd: str | None = None
    archived: Archived = "exclude"
    before: tuple[str, int] | None = None
    """Only those behind this time and number; the newest come first."""


class SessionStore:
    """Sessions and what was said in them."""

    def __init__(self, directory: Path | None = None, migrations: Migrations = MIGRATIONS) -> None:
        """Open the store in `directory`, which is made if it is missing; None: in memory.

        Raises:
            StoreError: it cannot be used.
        """
        self.is_lasting = directory is not None
        with _sentences():
            self._database = _connect(directory)
            weakref.finalize(self, self._database.close)
            prepare(self._database, migrations)
            # From now on who has to wait does it where others have their turn meanwhile.
            self._database.execute("PRAGMA busy_timeout = 0")
            self.locks = SessionLocks(_made(directory / "open") if directory is not None else None)

    def create(
        self, id_: str, cwd: str, directories: Sequence[str], settings: dict[str, str]
    ) -> SessionRecord:
        """Add a session, claimed by this process."""
        at = now()
        values = (*map(to_column, (id_, cwd, list(directories), at, at, settings)),)
        statement = (
            "INSERT INTO session (id, cwd, directories, created, updated, settings)"
            " VALUES (?, ?, ?, ?, ?, ?)"
        )
        with _sentences(), self._transaction():
            if not self.is_lasting:
                self._make_room()
            number = self._database.execute(statement, values).lastrowid or 0
            # Nobody else sees it before the transaction ends, and can have claimed it.
            self.locks.take(number)
        return self._numbered(number)

    def get(self, id_: str) -> SessionRecord | None:
        """Return the session of that id; None if there is none."""
        with _sentences():
            row = self._database.execute(f"{_SELECT} WHERE id = ?", (to_column(id_),)).fetchone()
        return read_record(row) if row else None

    def page(self, wanted: SessionQuery, count: int) -> list[SessionRecord]:
        """Return up to `count` sessions, the newest first, without those that make no sense."""
        where, values = ["1"], list[object]()
        if wanted.cwd is not None:
            where.append("cwd = ?")
            values.append(to_column(wanted.cwd))
        if wanted.archived != "include":
            where.append("is_archived = ?")
            values.append(int(wanted.archived == "only"))
        if wanted.before is not None:
            where.append("(updated, number) < (?, ?)")
            values += wanted.before
        clause = f"WHERE {' AND '.join(where)} ORDER BY updated DESC, number DESC"
        found: list[SessionRecord] = []
        unread = 0
        with _sentences():
            for row in self._database.execute(f"{_SELECT} {clause}", values):
                try:
                    found.append(read_record(row))
                except StoreError:
                    unread += 1
                if len(found) == count:
                    break
        if unread:
            logger.error("%d sessions make no sense, and are not listed", unread)
        return found

    def change(self, number: int, **members: object) -> None:
        """Change members of a record."""
        assert members.keys() <= set(COLUMNS)
        names = ", ".join(f"{name} = ?" for name in members)
        values = [to_column(value) for value in members.values()]
        with _sentences():
            self._database.execute(
                f"UPDATE session SET {names} WHERE number = ?",  # noqa: S608 - own columns
                (*values, number),
            )

    def suggest_title(self, number: int, title: str) -> bool:
        """Give a session a title unless it has one; return whether it got it."""
        statement = "UPDATE session SET title = ? WHERE number = ? AND title IS NULL"
        with _sentences():
            return self._database.execute(statement, (to_column(title), number)).rowcount > 0

    def append(self, number: int, body: str) -> int:
        """Keep an event of a session; return its place."""
        statement = "INSERT INTO event (session, body) VALUES (?, ?)"
        with _sentences():
            return self._database.execute(statement, (number, body)).lastrowid or 0

    def replace(self, place: int, body: str) -> None:
        """Keep another event in the place of one."""
        with _sentences():
            self._database.execute("UPDATE event SET body = ? WHERE place = ?", (body, place))

    def events(self, number: int) -> Iterator[str]:
        """Yield the events of a session in their order."""
        statement = "SELECT place, body FROM event WHERE session = ? AND place > ? ORDER BY place"
        place = 0
        while True:
            with _sentences():
                values = (number, place, EVENTS_PER_READ)
                rows = self._database.execute(f"{statement} LIMIT ?", values).fetchall()
            yield from (body for _, body in rows)
            if len(rows) < EVENTS_PER_READ:
                return
            place = rows[-1][0]

    def copy(self, number: int, id_: str, cwd: str, directories: Sequence[str]) -> SessionRecord:
        """Add a session with the title, the settings and the events of another one; claim it."""
        statement = (
            "INSERT INTO session"
            " (id, cwd, directories, title, is_named, created, updated, settings)"
            " SELECT ?, ?, ?, title, is_named, ?, ?, settings FROM session WHERE number = ?"
        )
        at = now()
        values = (*map(to_column, (id_, cwd, list(directories), at, at, number)),)
        events = "INSERT INTO event (session, body) SELECT ?, body FROM event WHERE session = ?"
        with _sentences(), self._transaction():
            copied = self._database.execute(statement, values).lastrowid or 0
            self._database.execute(f"{events} ORDER BY place", (copied, number))
            self.locks.take(copied)
        return self._numbered(copied)

    def delete(self, number: int) -> None:
        """Forget a session."""
        with _sentences():
            self._database.execute("DELETE FROM session WHERE number = ?", (number,))

    def close(self) -> None:
        """Give all sessions up, and close the database."""
        self.locks.close()
        with _sentences():
            self._database.close()

    def take(self, number: int) -> bool:
        """Claim a session; return False if another process has it."""
        with _sentences():
            return self.locks.take(number)

    def _numbered(self, number: int) -> SessionRecord:
        with _sentences():
            row = self._database.execute(f"{_SELECT} WHERE number = ?", (number,)).fetchone()
        return read_record(row)

    def _make_room(self) -> None:
        statement = "SELECT number FROM session ORDER BY updated, number"
        numbers = [number for (number,) in self._database.execute(statement)]
        closed = (number for number in numbers if not self.locks.is_taken(number))
        for number, _ in zip(closed, range(len(numbers) - MEMORY_LIMIT + 1), strict=False):
            self.delete(number)

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # Where the disk is full, the library has taken it back itself.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _connect(directory: Path | None) -> sqlite3.Connection:
    # One thread uses it; but it may be another one that finds it left behind, and closes it.
    connect = partial(sqlite3.connect, isolation_level=None, check_same_thread=False)
    if directory is None:
        database = connect(":memory:")
    else:
        path = _made(directory) / FILE
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = connect(path, timeout=BUSY_TIMEOUT_S)
        _set(database, "PRAGMA journal_mode = WAL")
    # What is in the log of the database outlives this process; only a fall of the system can take
    # the last of it, and never what was before.
    _set(database, "PRAGMA synchronous = NORMAL")
    _set(database, "PRAGMA foreign_keys = ON")
    return database


def _set(database: sqlite3.Connection, pragma: str) -> Any:
    try:
        return database.execute(pragma)
    except (sqlite3.Error, UnicodeError):
        database.close()
        raise


def _made(directory: Path) -> Path:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


@contextmanager
def _sentences() -> Generator[None]:
    """Turn what the library and the system raise into sentences."""
    try:
        yield
    except sqlite3.Error as problem:
        raise error_for(problem) from problem
    except UnicodeError as problem:
        # Of what the library tells of a damaged name, too.
        raise StoreError(DAMAGED) from problem
    except OSError as problem:
        raise StoreError("the directory cannot be used: " + (problem.strerror or "")) from problem


def prepare(database: sqlite3.Connection, migrations: Migrations) -> None:
    """Bring `database` to the format of today; an empty one gets its tables.

    Raises:
        StoreError: it was made by another program, or by a newer version of this one.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        _migrate(database, migrations)
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _migrate(database: sqlite3.Connection, migrations: Migrations) -> None:
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
        now = datetime.now(UTC).isoformat(timespec="seconds")
        database.execute("INSERT INTO migration VALUES (?, ?)", (number, now))
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {len(migrations)}")


def encode_cursor(record: SessionRecord, wanted: SessionQuery) -> str:
    """Return the cursor of what comes behind `record`."""
    place = [record.updated, record.number, wanted.cwd, wanted.archived]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, wanted: SessionQuery) -> SessionQuery | None:
    """Return what is wanted behind `cursor`; None if it was not given for this filter."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return None
    match place:
        case [str(updated), int(number), cwd, archived] if 0 < number < 2**63:
            fits = (cwd, archived) == (wanted.cwd, wanted.archived)
            return replace(wanted, before=(updated, number)) if fits else None
        case _:
            return None


BUSY_TIMEOUT_S: Final = 5.0
"""Seconds that a process waits for another one that is writing."""
PAUSE: Final = 0.01
"""Seconds between two attempts."""

Result = TypeVar("Result")


async def retry_busy(work: Callable[[], Result], max_wait_s: float | None = None) -> Result:
    """Return what comes of `work`, which is tried again while the store is busy.

    Nobody else has a turn meanwhile where it is not busy.

    Raises:
        StoreError: it cannot be done; also where the store was busy for `max_wait_s`, which
            are `BUSY_TIMEOUT_S` if not given.
    """
    deadline = anyio.current_time() + (BUSY_TIMEOUT_S if max_wait_s is None else max_wait_s)
    while True:
        try:
            return work()
        except BusyError:
            if anyio.current_time() >= deadline:
                raise
        await anyio.sleep(PAUSE)
