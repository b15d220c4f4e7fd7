"""How stores of earlier formats become those of today."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acp_agent.store.database import FILE, MIGRATIONS, SessionStore, StoreError


def migrations(path: Path) -> list[int]:
    """Return the migrations that a store has seen."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT format, applied FROM migration ORDER BY format").fetchall()
    assert all(applied.endswith("+00:00") for _, applied in rows)
    return [format_ for format_, _ in rows]


def test_a_store_is_migrated_once_and_keeps_what_is_in_it(tmp_path: Path) -> None:
    formats = len(MIGRATIONS)
    store = SessionStore(tmp_path)
    store.create("a", "/", [], {})
    store.close()
    assert migrations(tmp_path / FILE) == list(range(1, formats + 1))
    later = (*MIGRATIONS, ("ALTER TABLE session ADD COLUMN colour TEXT",))
    for _ in range(2):
        store = SessionStore(tmp_path, later)
        assert store.get("a") is not None
        store.close()
    assert migrations(tmp_path / FILE) == list(range(1, formats + 2))
    with pytest.raises(StoreError, match="newer acp-agent"):
        SessionStore(tmp_path)


def test_a_session_of_the_first_format_was_made_when_it_was_used(tmp_path: Path) -> None:
    SessionStore(tmp_path, MIGRATIONS[:1]).close()
    with closing(sqlite3.connect(tmp_path / FILE)) as database, database:
        database.execute("INSERT INTO session (id, cwd, updated) VALUES ('a', '/', 'then')")
    record = SessionStore(tmp_path).get("a")
    assert record is not None
    assert (record.created, record.updated) == ("then", "then")


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    SessionStore(tmp_path).close()
    broken = (*MIGRATIONS, ("CREATE TABLE half (x)", "CREATE NONSENSE"))
    with pytest.raises(StoreError):
        SessionStore(tmp_path, broken)
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
    assert "half" not in names
    SessionStore(tmp_path).close()
