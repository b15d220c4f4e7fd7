"""Sessions in PostgreSQL while its server, the network and other processes fail."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import psycopg
import pytest

from acp_agent.settings.types import DatabaseUrl
from acp_agent.store import events
from acp_agent.store.database import SessionQuery, SessionStore
from acp_agent.store.errors import BusyError, LostLockError, StoreError
from acp_agent.store.log import SessionLog
from acp_agent.store.postgres import error_for
from acp_protocol.errors import RequestFailedError
from tests.agent.client import connected
from tests.postgres import PostgresServer, Relay
from tests.warm import WARM

LIMIT = 30


@pytest.fixture
def url(postgres: PostgresServer) -> DatabaseUrl:
    return postgres.url(postgres.new_schema())


@pytest.fixture
def relay(postgres: PostgresServer) -> Generator[Relay]:
    # The name of a socket may only be short.
    with TemporaryDirectory(prefix="acp-relay-") as folder:
        relay = Relay(postgres, Path(folder))
        yield relay
        relay.close()


def end_connection(postgres: PostgresServer, store: SessionStore) -> None:
    """End the connection of a store, as the server does when it gets no answer any more."""
    ((pid,),) = store._driver.execute("SELECT pg_backend_pid()")
    with postgres.connect() as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])


def eventually(work: Callable[[], object]) -> object:
    """Do `work` in the thread of the test, again while the store says that it is busy."""
    while True:
        try:
            return work()
        except BusyError:
            continue


def bodies(store: SessionStore, number: int) -> list[str]:
    return list(store.events(number))


def test_a_connection_that_broke_is_made_again_and_keeps_its_sessions(
    postgres: PostgresServer, url: DatabaseUrl
) -> None:
    one, other = SessionStore(url), SessionStore(url)
    numbers = [one.create(name, "/", [], {}).number for name in "abc"]
    one.append(numbers[0], "1")
    end_connection(postgres, one)
    with pytest.raises(BusyError, match="does not answer"):
        one.append(numbers[0], "2")
    eventually(partial(one.append, numbers[0], "2"))
    assert bodies(other, numbers[0]) == ["1", "2"]
    assert [other.locks.take(number) for number in numbers] == [False] * 3
    one.locks.release(numbers[1])
    assert other.locks.take(numbers[1])


@pytest.mark.parametrize("is_closed_again", [True, False])
async def test_a_session_that_another_process_has_opened_meanwhile_is_lost(
    postgres: PostgresServer, url: DatabaseUrl, *, is_closed_again: bool
) -> None:
    one, other = SessionStore(url), SessionStore(url)
    log = SessionLog(one, one.create("a", "/", [], {}))
    number = log.record.number
    await log.append_now(events.plan([1]))
    end_connection(postgres, one)
    assert other.locks.take(number)
    other.append(number, '{"what": "plan", "entries": [2]}')
    if is_closed_again:
        other.locks.release(number)
    for _ in range(2):
        with pytest.raises(LostLockError, match="another process has opened the session"):
            await log.append_now(events.plan([3]))
    with pytest.raises(LostLockError):
        await log.update_now(title="mine")
    log.update(title="mine")
    with pytest.raises(LostLockError):
        await log.flush()
    # What cannot be written any more keeps nothing open.
    assert log.is_flushed()
    assert [event["entries"] for event in log.events()] == [[1], [2]]
    assert (await log.current()).title is None
    # When it is opened again, it is as the other one has left it.
    await one.release(number)
    assert await one.take(number) is is_closed_again


async def test_an_event_that_was_stored_when_the_connection_broke_is_stored_once(
    postgres: PostgresServer, relay: Relay
) -> None:
    store = SessionStore(postgres.url(postgres.new_schema(), relay.folder))
    log = SessionLog(store, store.create("a", "/", [], {}))
    await log.append_now(events.plan([1]))
    relay.is_silent = True

    def restore_network() -> None:
        assert relay.answered.wait(LIMIT)
        relay.is_silent = False
        relay.cut()

    network = threading.Thread(target=restore_network)
    network.start()
    await log.append_now(events.plan([2]))
    network.join(LIMIT)
    await log.append_now(events.plan([3]))
    assert [event["entries"] for event in log.events()] == [[1], [2], [3]]
    store.close()


async def test_an_event_that_was_given_up_when_the_connection_broke_is_not_stored(
    postgres: PostgresServer, relay: Relay
) -> None:
    store = SessionStore(postgres.url(postgres.new_schema(), relay.folder), busy_timeout_s=0.0)
    log = SessionLog(store, store.create("a", "/", [], {}))
    relay.is_silent = True

    def restore_network() -> None:
        assert relay.answered.wait(LIMIT)
        relay.is_silent = False
        relay.cut()

    network = threading.Thread(target=restore_network)
    network.start()
    with pytest.raises(BusyError):
        await log.append_now(events.plan([1]))
    network.join(LIMIT)
    store.busy_timeout_s = LIMIT
    await log.append_now(events.plan([2]))
    assert [event["entries"] for event in log.events()] == [[2]]
    store.close()


async def test_a_server_that_does_not_answer_does_not_stop_the_event_loop(
    postgres: PostgresServer, relay: Relay
) -> None:
    url = postgres.url(postgres.new_schema(), relay.folder)
    store = SessionStore(url, max_statement_s=0.3)
    number = store.create("a", "/", [], {}).number
    relay.is_silent = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.run, partial(store.append, number, "1"))
        # The loop goes on, and the other end is there again.
        await anyio.to_thread.run_sync(relay.answered.wait, LIMIT)
        relay.is_silent = False
    assert bodies(store, number) == ["1"]
    store.close()


async def test_a_store_closes_although_its_server_does_not_answer(
    postgres: PostgresServer, relay: Relay
) -> None:
    store = SessionStore(postgres.url(postgres.new_schema(), relay.folder), max_statement_s=0.3)
    log = SessionLog(store, store.create("a", "/", [], {}))
    relay.is_silent = True
    log.append(events.plan([1]))
    store.close()
    assert relay.answered.is_set()


async def test_a_request_waits_for_the_restart_of_the_server(
    postgres: PostgresServer, url: DatabaseUrl
) -> None:
    store = SessionStore(url)
    log = SessionLog(store, store.create("a", "/", [], {}))
    await log.append_now(events.plan([1]))
    await anyio.to_thread.run_sync(postgres.stop)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.append_now, events.plan([2]))
        with pytest.raises(BusyError, match="does not answer"):
            await store.run(partial(store.page, SessionQuery(), 9), 0.0)
        await anyio.to_thread.run_sync(postgres.start)
    assert [event["entries"] for event in log.events()] == [[1], [2]]
    assert not SessionStore(url).locks.take(log.record.number)


async def test_what_is_written_without_waiting_is_stored_before_the_store_closes(
    url: DatabaseUrl,
) -> None:
    store = SessionStore(url)
    log = SessionLog(store, store.create("a", "/", [], {}))
    for place in range(20):
        log.append(events.plan([place]))
    store.close()
    again = SessionStore(url)
    assert len(bodies(again, log.record.number)) == 20


async def test_a_table_that_another_one_keeps_locked_makes_only_its_writers_wait(
    postgres: PostgresServer, url: DatabaseUrl
) -> None:
    store = SessionStore(url)
    number = store.create("a", "/", [], {}).number
    with psycopg.connect(url.url) as other:
        other.execute("LOCK TABLE event IN EXCLUSIVE MODE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run, partial(store.append, number, "1"))
            await anyio.to_thread.run_sync(wait_for_writer, postgres)
            other.rollback()
    assert bodies(store, number) == ["1"]


def wait_for_writer(postgres: PostgresServer) -> None:
    with postgres.connect() as connection:
        while not connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            pass


def test_the_number_of_a_session_is_not_locked_for_other_schemas(postgres: PostgresServer) -> None:
    stores = [SessionStore(postgres.url(postgres.new_schema())) for _ in range(2)]
    assert [store.create("a", "/", [], {}).number for store in stores] == [1, 1]


async def test_the_agent_goes_on_after_another_one_took_its_session(
    postgres: PostgresServer, url: DatabaseUrl, cwd: Path
) -> None:
    stores = [SessionStore(url), SessionStore(url)]
    async with (
        connected(cwd, store=stores[0], lints=False) as one,
        connected(cwd, store=stores[1]) as other,
    ):
        session = await one.new()
        await session.turn("hello")
        end_connection(postgres, stores[0])
        again = other.session(session.id)
        await again.reopen()
        assert again.text == session.text
        with pytest.raises(RequestFailedError, match="another process has opened the session"):
            await session.prompt("hello")
        assert await again.turn("hello") == "end_turn"
        assert await (await one.new()).turn("hello") == "end_turn"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("postgresql://acp:canary@127.0.0.1:1/x", "server at 127.0.0.1, port 1 does not answer"),
        ("postgresql://acp:canary@/nope?host={directory}", "no such database"),
        ("postgresql://nobody:canary@/postgres?host={directory}", "refuses the user"),
        ("postgresql://acp:canary@/x?nonsense=1", "URL of the database is invalid"),
        (
            "postgresql://acp:canary@/postgres?host={directory}&options=-csearch_path%3Dnowhere",
            "no schema",
        ),
    ],
)
def test_a_database_that_cannot_be_used_is_a_sentence_without_the_password(
    postgres: PostgresServer, address: str, sentence: str
) -> None:
    environment = dict(os.environ)
    environment["ACP_AGENT_SESSIONS_STORAGE"] = address.format(directory=postgres.directory)
    done = subprocess.run(
        [*WARM, "-m", "acp_agent"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=LIMIT,
        env=environment,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    message = done.stderr.decode()
    assert sentence in message
    assert "Traceback" not in message
    assert "canary" not in message


def test_tables_of_another_program_are_left_alone(
    postgres: PostgresServer, url: DatabaseUrl
) -> None:
    with psycopg.connect(url.url) as connection:
        connection.execute("CREATE TABLE session (x INTEGER)")
    with pytest.raises(StoreError, match="another program"):
        SessionStore(url)


def test_errors_of_the_server_are_sentences() -> None:
    assert isinstance(error_for(psycopg.errors.DeadlockDetected()), BusyError)
    assert "no room left" in str(error_for(psycopg.errors.DiskFull()))
    assert "may not be written" in str(error_for(psycopg.errors.ReadOnlySqlTransaction()))
    assert "22012" in str(error_for(psycopg.errors.DivisionByZero()))
    assert "may not use or make" in str(error_for(psycopg.errors.InsufficientPrivilege()))
    assert "canary" not in str(error_for(psycopg.errors.UniqueViolation("canary")))


def test_without_a_url_no_library_of_databases_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from acp_agent.store.database import SessionStore\n"
        f"SessionStore(Path({str(tmp_path)!r})).create('a', '/', [], {{}})\n"
        "print({'sqlalchemy', 'psycopg'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, check=True, timeout=LIMIT, text=True)
    assert done.stdout == "set()\n"
