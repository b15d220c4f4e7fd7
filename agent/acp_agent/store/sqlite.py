"""Sessions in an SQLite database, in memory or in a directory.

What was stored is there for the next process that opens the directory, even if this one is killed
right after it. A write while another process is writing raises a `BusyError` at once.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from acp_agent.store.driver import INSERT_EVENT
from acp_agent.store.errors import BUSY, DAMAGED, FULL, READ_ONLY, BusyError, StoreError
from acp_agent.store.locks import SessionLocks

logger = logging.getLogger(__name__)

FILE: Final = "sessions.sqlite3"
APPLICATION: Final = 0x41435053
"""The application id of our databases."""
OPEN_TIMEOUT_S: Final = 5.0
"""How long a process waits for another one while it opens the database."""
_MESSAGES: Final = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_PERM: "the store may not be read",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk does not read or write it",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: "the store is damaged, or no store; move it away",
}


def error_for(problem: sqlite3.Error) -> StoreError:
    """Return what `problem` means to the user, without the text of the library."""
    # The low byte is the kind. Text that is no UTF-8 has no code.
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    is_busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return (BusyError if is_busy else StoreError)(_MESSAGES.get(code, DAMAGED))


@contextmanager
def sqlite_errors() -> Generator[None]:
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


class SqliteDriver:
    """An SQLite database in `directory`, which is made if it is missing; None: in memory."""

    is_immediate = True
    types: Mapping[str, str] = {
        "identity": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "big_identity": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "integer": "INTEGER",
        "time": "TEXT",
    }

    def __init__(self, directory: Path | None) -> None:
        with sqlite_errors():
            self.connection = _connect(directory)
            try:
                made = _made(directory / "open") if directory is not None else None
            except BaseException:
                self.connection.close()
                raise
            self.locks = SessionLocks(made)

    def execute(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        columns = {name: _to_column(value) for name, value in values.items()}
        rows = self.connection.execute(statement, columns).fetchall()
        if not any(isinstance(value, bytes) for row in rows for value in row):
            return rows
        return [tuple(map(_from_column, row)) for row in rows]

    def append(self, number: int, body: str) -> int:
        ((place,),) = self.execute(INSERT_EVENT, session=number, body=body)
        return place

    @contextmanager
    def transaction(self) -> Generator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # Where the disk is full, the library has rolled back itself.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    errors = staticmethod(sqlite_errors)

    def begin_migration(self) -> int:
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        (format_,) = self.connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            raise StoreError("the store was made by another program")
        return format_

    def end_migration(self, format_: int) -> None:
        self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self.connection.execute(f"PRAGMA user_version = {format_}")

    def listen(self, is_wanted: Callable[[int], object]) -> None:
        """Do nothing: processes that share a directory do not ask each other."""

    def poll(self) -> None:
        """Do nothing, as above."""

    def ask_for(self, number: int) -> None:
        """Do nothing, as above."""

    def interrupt(self, max_s: float) -> None:
        """Do nothing: no statement takes long."""

    def raise_when_busy(self) -> None:
        """Wait no longer for other processes that write."""
        self.connection.execute("PRAGMA busy_timeout = 0")

    def close(self) -> None:
        self.connection.close()


def _to_column(value: object) -> object:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeError:
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
        database = connect(path, timeout=OPEN_TIMEOUT_S)
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
