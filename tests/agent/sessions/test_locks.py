"""Locks of sessions: one connection at a time, and none after the death of its process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.database import SessionStore
from acp_agent.store.locks import SessionLocks

HOLDER = """
import sys
from pathlib import Path
from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.database import SessionStore
where = DatabaseUrl(sys.argv[1]) if "://" in sys.argv[1] else Path(sys.argv[1])
store = SessionStore(where)
print(store.locks.take(7), flush=True)
sys.stdin.read()
"""


def test_who_has_claimed_has_it_until_it_is_released(storage: Path | DatabaseUrl) -> None:
    stores = [SessionStore(storage), SessionStore(storage)]
    one, other = (store.locks for store in stores)
    assert one.take(1)
    # Another connection of the same process may not have it either.
    assert not one.take(1)
    assert one.is_taken(1)
    assert other.is_taken(1)
    assert not other.take(1)
    one.release(1)
    one.release(1)
    assert not other.is_taken(1)
    assert other.take(1)
    assert not one.is_taken(2)
    other.release(1)
    assert one.take(1)


def test_a_store_that_is_closed_unlocks_its_sessions(storage: Path | DatabaseUrl) -> None:
    one, other = SessionStore(storage), SessionStore(storage)
    number = one.create("a", "/", [], {}).number
    assert not other.locks.take(number)
    one.close()
    assert other.locks.take(number)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    claims = SessionLocks(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else None
    for number in range(10):
        claims.take(number)
        claims.is_taken(number)
    claims.close()
    assert list(tmp_path.iterdir()) == []
    if before is not None:
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_in_memory_nobody_else_can_have_it() -> None:
    claims = SessionLocks(None)
    assert not claims.is_taken(1)
    assert claims.take(1)
    assert claims.is_taken(1)
    claims.release(1)
    assert not claims.is_taken(1)


async def test_a_claim_ends_with_its_process_however_that_ends(
    storage: Path | DatabaseUrl,
) -> None:
    where = storage.url if isinstance(storage, DatabaseUrl) else str(storage)
    store = SessionStore(storage)
    command = [sys.executable, "-c", HOLDER, where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        assert store.locks.is_taken(7)
        assert not store.locks.take(7)
        process.kill()
    # A server needs a moment to notice; taking a session waits for that.
    assert await store.take(7)
