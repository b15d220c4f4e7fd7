"""The tables of a store, and how an older store becomes one of today.

Each migration leads from one format to the next; what was applied, and when, stands in the store.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Final

from acp_agent.sessions.errors import StoreError

APPLICATION: Final = 0x41435053
"""What a database of this program is marked with."""
MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
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
)
"""The statements that lead to format 1, 2, and so on."""


def prepare(database: sqlite3.Connection) -> None:
    """Bring `database` to the format of today; an empty one gets its tables.

    Raises:
        StoreError: it was made by another program, or by a newer version of this one.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        _migrate(database)
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _migrate(database: sqlite3.Connection) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (format_,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION:
        raise StoreError("the store was made by another program")
    if format_ > len(MIGRATIONS):
        raise StoreError(
            f"the store was written by a newer acp-agent: it has format {format_}, "
            f"and this version reads formats up to {len(MIGRATIONS)}"
        )
    for number, statements in enumerate(MIGRATIONS[format_:], format_ + 1):
        for statement in statements:
            database.execute(statement)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        database.execute("INSERT INTO migration VALUES (?, ?)", (number, now))
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
