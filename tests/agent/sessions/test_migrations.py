"""How stores of earlier formats become those of today."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest

from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.database import SessionStore
from acp_agent.store.errors import StoreError
from acp_agent.store.schema import MIGRATIONS
from acp_agent.store.sqlite import FILE

Storage: TypeAlias = Path | DatabaseUrl
Rows: TypeAlias = list[tuple[Any, ...]]


def execute(storage: Storage, statement: str) -> Rows:
    """Execute a statement past the store; return its rows."""
    if isinstance(storage, DatabaseUrl):
        with psycopg.connect(storage.url) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
    with closing(sqlite3.connect(storage / FILE)) as database, database:
        return database.execute(statement).fetchall()


def migrations(storage: Storage) -> list[int]:
    """Return the migrations that a store has seen."""
    rows = execute(storage, "SELECT format, applied FROM migration ORDER BY format")
    assert all(applied.endswith("+00:00") for _, applied in rows)
    return [format_ for format_, _ in rows]


def test_a_store_is_migrated_once_and_keeps_what_is_in_it(storage: Storage) -> None:
    formats = len(MIGRATIONS)
    store = SessionStore(storage)
    store.create("a", "/", [], {})
    store.close()
    assert migrations(storage) == list(range(1, formats + 1))
    later = (*MIGRATIONS, ("ALTER TABLE session ADD COLUMN colour TEXT",))
    for _ in range(2):
        store = SessionStore(storage, later)
        assert store.get("a") is not None
        store.close()
    assert migrations(storage) == list(range(1, formats + 2))
    with pytest.raises(StoreError, match="newer acp-agent"):
        SessionStore(storage)


def test_a_session_of_the_first_format_was_made_when_it_was_used(storage: Storage) -> None:
    SessionStore(storage, MIGRATIONS[:1]).close()
    execute(storage, "INSERT INTO session (id, cwd, updated) VALUES ('a', '/', 'then')")
    record = SessionStore(storage).get("a")
    assert record is not None
    assert (record.created, record.updated) == ("then", "then")


def test_a_migration_that_fails_changes_nothing(storage: Storage) -> None:
    SessionStore(storage).close()
    broken = (*MIGRATIONS, ("CREATE TABLE half (x INTEGER)", "CREATE NONSENSE"))
    with pytest.raises(StoreError):
        SessionStore(storage, broken)
    with pytest.raises((sqlite3.Error, psycopg.Error), match="half"):
        execute(storage, "SELECT * FROM half")
    SessionStore(storage).close()
