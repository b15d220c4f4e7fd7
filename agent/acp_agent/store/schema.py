"""The tables of a store, and how those of earlier formats become these.

The statements are those of SQLite and of PostgreSQL alike; `$identity`, `$integer` and their like
are replaced by the types that differ.
"""

from __future__ import annotations

from datetime import UTC, datetime
from string import Template
from typing import Final, TypeAlias

from acp_agent.store.driver import Driver
from acp_agent.store.errors import StoreError

Migrations: TypeAlias = tuple[tuple[str, ...], ...]
MIGRATIONS: Final[Migrations] = (
    (
        "CREATE TABLE migration (format INTEGER PRIMARY KEY, applied TEXT NOT NULL)",
        """CREATE TABLE session (
            number $identity,
            id TEXT NOT NULL UNIQUE,
            cwd TEXT NOT NULL,
            directories TEXT NOT NULL DEFAULT '[]',
            title TEXT,
            is_named INTEGER NOT NULL DEFAULT 0,
            is_archived INTEGER NOT NULL DEFAULT 0,
            updated $time NOT NULL,
            settings TEXT NOT NULL DEFAULT '{}',
            usage TEXT,
            spent TEXT
        )""",
        "CREATE INDEX session_updated ON session (updated, number)",
        """CREATE TABLE event (
            place $big_identity,
            session $integer NOT NULL REFERENCES session (number) ON DELETE CASCADE,
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


def prepare(driver: Driver, migrations: Migrations = MIGRATIONS) -> None:
    """Bring a database to the current format; an empty one gets its tables.

    Raises:
        StoreError: it was made by another program, or by a newer version of this one.
    """
    with driver.transaction():
        format_ = driver.begin_migration()
        if format_ > len(migrations):
            raise StoreError(
                f"the store was written by a newer acp-agent: it has format {format_}, "
                f"and this version reads formats up to {len(migrations)}"
            )
        for number, statements in enumerate(migrations[format_:], format_ + 1):
            for statement in statements:
                driver.execute(Template(statement).substitute(driver.types))
            time = datetime.now(UTC).isoformat(timespec="seconds")
            driver.execute(
                "INSERT INTO migration (format, applied) VALUES (:format, :applied)",
                format=number,
                applied=time,
            )
        driver.end_migration(len(migrations))
