"""Stores: what is kept, for whom, and what is said of one that cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.database import SessionQuery, SessionStore
from acp_agent.store.errors import StoreError
from acp_agent.store.sqlite import FILE, SqliteDriver
from tests.warm import WARM

LIMIT = 30
"""Seconds that another process may take."""
WRITER = """
import sys
from functools import partial
from pathlib import Path
import anyio
from acp_agent.store.database import SessionStore
from acp_agent.settings.types import DatabaseUrl
where = DatabaseUrl(sys.argv[1]) if "://" in sys.argv[1] else Path(sys.argv[1])
store = SessionStore(where)
async def write():
    for n in range(int(sys.argv[3])):
        record = await store.run(partial(store.create, f"{sys.argv[2]}_{n}", "/", [], {}))
        for m in range(5):
            await store.run(partial(store.append, record.number, f'{{"n": {m}}}'))
        title = f"{sys.argv[2]} {n}"
        await store.run(partial(store.change, record.number, title=title))
        store.locks.release(record.number)
anyio.run(write)
"""


Storage: TypeAlias = Path | DatabaseUrl


def connection_of(store: SessionStore) -> sqlite3.Connection:
    assert isinstance(store._driver, SqliteDriver)
    return store._driver.connection


def test_what_was_kept_is_there_for_the_next(storage: Storage) -> None:
    first = SessionStore(storage)
    record = first.create("a", "/work", ["/more"], {"mode": "code"})
    first.append(record.number, '{"x": 1}')
    first.change(record.number, title="it", usage={"used": 1, "size": 2})
    first.close()
    second = SessionStore(storage)
    again = second.get("a")
    assert again is not None
    assert (again.cwd, again.directories, again.title) == ("/work", ("/more",), "it")
    assert (again.settings, again.usage) == ({"mode": "code"}, {"used": 1, "size": 2})
    assert list(second.events(again.number)) == ['{"x": 1}']
    assert second.get("b") is None


@pytest.mark.parametrize("half", ["/x \ud800", "/x \0", "\x1a", "\x1a{", "/ä", "x\x1a"])
def test_half_a_sign_is_kept_as_it_came(storage: Storage, half: str) -> None:
    first = SessionStore(storage)
    record = first.create("a", half, [half], {"mode": half})
    assert first.suggest_title(record.number, half)
    first.copy(record.number, half, half, [half])
    first.close()
    second = SessionStore(storage)
    for id_ in ("a", half):
        again = second.get(id_)
        assert again is not None
        assert (again.id, again.cwd, again.directories) == (id_, half, (half,))
        assert (again.title, again.settings) == (half, {"mode": half})
    assert {each.id for each in second.page(SessionQuery(half), 9)} == {"a", half}
    assert second.get("\udfff") is None
    assert second.page(SessionQuery("\udfff"), 9) == []


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SessionStore(tmp_path / "kept")
        store.create("a", "/", [], {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700
    files = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {FILE, f"{FILE}-wal", "1"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_directory_that_others_may_write_to_is_narrowed(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    SessionStore(tmp_path).close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_directory_that_all_users_share_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(StoreError, match="shared by all users"):
        SessionStore(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give directories away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 1234)
    with pytest.raises(StoreError, match="belongs to another user"):
        SessionStore(tmp_path)


def test_a_store_without_content_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).touch()
    SessionStore(tmp_path).close()
    assert "is empty: former sessions are lost" in caplog.text


def test_more_events_than_are_read_at_once_come_in_their_order(storage: Storage) -> None:
    store = SessionStore(storage, events_per_read=3)
    one, two = (store.create(name, "/", [], {}) for name in "ab")
    for n in range(9):
        store.append(one.number, str(n))
        store.append(two.number, "other")
    assert list(store.events(one.number)) == [str(n) for n in range(9)]


def test_a_copy_is_one_and_what_is_deleted_leaves_nothing(storage: Storage) -> None:
    store = SessionStore(storage)
    source = store.create("a", "/", ["/b"], {"mode": "code"})
    store.append(source.number, "1")
    store.change(source.number, title="it", is_archived=1)
    copy = store.copy(source.number, "c", "/c", [])
    store.delete(source.number)
    assert (copy.cwd, copy.title, copy.settings) == ("/c", "it", {"mode": "code"})
    assert (copy.is_archived, copy.directories) == (False, ())
    assert list(store.events(copy.number)) == ["1"]
    assert list(store.events(source.number)) == []


def test_a_title_is_only_suggested_where_there_is_none(storage: Storage) -> None:
    store = SessionStore(storage)
    record = store.create("a", "/", [], {})
    assert store.suggest_title(record.number, "first")
    assert not store.suggest_title(record.number, "second")


def test_in_memory_the_oldest_closed_session_makes_room() -> None:
    store = SessionStore(memory_limit=3)
    first, second = (store.create(name, "/", [], {}) for name in "ab")
    store.locks.release(second.number)
    for name in "cdef":
        record = store.create(name, "/", [], {})
        store.locks.release(record.number)
    ids = {record.id for record in store.page(SessionQuery(), 10)}
    assert first.id in ids
    assert len(ids) == 3


@pytest.mark.parametrize("column", ["settings", "directories", "usage", "spent"])
@pytest.mark.parametrize("value", ["x", "[1]", '{"mode": 1}', "7", b"\xff"])
def test_damage_to_what_is_set_costs_the_settings_and_not_the_session(
    column: str, value: str | bytes
) -> None:
    store = SessionStore()
    record = store.create("a", "/", ["/b"], {"mode": "code"})
    store.change(record.number, **{column: value})
    (listed,) = store.page(SessionQuery(), 9)
    assert (listed.id, listed.cwd) == ("a", "/")
    assert listed == store.get("a")
    assert all(isinstance(each, str) for each in listed.settings.values())


def test_one_session_that_makes_no_sense_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    store = SessionStore()
    numbers = [store.create(name, "/", [], {}).number for name in "abcdefg"]
    for number in numbers[2:6]:
        store.change(number, cwd=b"\xff")
    assert [record.id for record in store.page(SessionQuery(), 9)] == ["g", "b", "a"]
    assert [record.id for record in store.page(SessionQuery(), 2)] == ["g", "b"]
    assert "4 sessions" in caplog.messages[0]
    with pytest.raises(StoreError, match="damaged"):
        store.get("c")


def test_pages_follow_each_other_whatever_is_in_them(storage: Storage) -> None:
    store = SessionStore(storage)
    for place in range(7):
        record = store.create(f"s{place}", "/ä" if place % 2 else "/b", [], {})
        # Two of them have the same time.
        store.change(record.number, updated=f"2026-0{1 + place // 2}", is_archived=int(place == 6))
    found: list[str] = []
    query = SessionQuery()
    while records := store.page(query, 2):
        found += [record.id for record in records]
        query = replace(query, before=(records[-1].updated, records[-1].number))
    assert found == ["s5", "s4", "s3", "s2", "s1", "s0"]
    assert [record.id for record in store.page(SessionQuery("/ä"), 9)] == ["s5", "s3", "s1"]
    assert [record.id for record in store.page(SessionQuery(archived="only"), 9)] == ["s6"]
    assert len(store.page(SessionQuery(archived="include"), 9)) == 7


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, but long enough to look like one" * 50)


def truncated(path: Path) -> None:
    os.truncate(path, 5000)


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE other (x)")
    database.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (garbage, "damaged"),
        (truncated, "damaged"),
        (foreign, "another program"),
        (newer, "newer acp-agent: it has format 99"),
        (a_directory, "cannot be used"),
    ],
)
def test_a_store_that_cannot_be_used_is_told_in_a_sentence(
    tmp_path: Path, spoil: Callable[[Path], None], sentence: str
) -> None:
    store = SessionStore(tmp_path)
    record = store.create("a", "/", [], {})
    for n in range(1000):
        store.append(record.number, f'"{n}"')
    store.close()
    for path in tmp_path.glob(f"{FILE}-*"):
        path.unlink()
    spoil(tmp_path / FILE)
    with pytest.raises(StoreError, match=sentence):
        list(SessionStore(tmp_path).events(1))
    command = [*WARM, "-m", "acp_agent", "--sessions", str(tmp_path)]
    if spoil is not truncated:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LIMIT
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert sentence in done.stderr.decode()
        assert b"Traceback" not in done.stderr


def test_a_directory_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Not a directory"):
        SessionStore(tmp_path / "file" / "kept")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a store with a session in it."""
    directory = tmp_path_factory.mktemp("kept")
    store = SessionStore(directory)
    record = store.create("a", "/", [], {})
    for n in range(200):
        store.append(record.number, f'"{n}"')
    store.close()
    return (directory / FILE).read_bytes()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_anywhere_is_a_sentence_or_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, stored: bytes, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("damaged")
    content = bytearray(stored)
    for _ in range(data.draw(st.integers(1, 20))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    (directory / FILE).write_bytes(content)
    with suppress(StoreError):
        spoiled = SessionStore(directory)
        for found in spoiled.page(SessionQuery(archived="include"), 10):
            list(spoiled.events(found.number))
        spoiled.create("b", "/", [], {})
        spoiled.close()


def test_two_processes_write_one_store(storage: Storage) -> None:
    """They open it at the same moment, too: the tables are made once."""
    count = 30
    commands = [
        [sys.executable, "-c", WRITER, getattr(storage, "url", str(storage)), name, str(count)]
        for name in "abc"
    ]
    running = [subprocess.Popen(command) for command in commands]
    assert [process.wait(LIMIT) for process in running] == [0, 0, 0]
    store = SessionStore(storage)
    records = store.page(SessionQuery(), 1000)
    assert len(records) == 3 * count
    for record in records:
        assert list(store.events(record.number)) == [f'{{"n": {m}}}' for m in range(5)]
        assert record.title == record.id.replace("_", " ")


def test_a_full_disk_is_told_as_such_and_loses_nothing(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    record = store.create("a", "/", [], {})
    (pages,) = connection_of(store).execute("PRAGMA page_count").fetchone()
    connection_of(store).execute(f"PRAGMA max_page_count = {pages + 2}")
    kept = 0
    with pytest.raises(StoreError, match="no room left"):
        while True:
            store.append(record.number, f'"{"x" * 1000}"')
            kept += 1
    assert len(list(store.events(record.number))) == kept > 0
    with pytest.raises(StoreError, match="no room left"):
        store.copy(record.number, "b", "/", [])
    assert store.get("b") is None


def test_a_store_that_was_left_behind_is_closed_by_whoever_finds_it() -> None:
    stores = [SessionStore()]
    database = connection_of(stores[0])
    finder = threading.Thread(target=stores.clear)
    finder.start()
    finder.join(LIMIT)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")
