"""SessionLocks: one process at a time, and none after its death."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from acp_agent.store.locks import SessionLocks

HOLDER = """
import sys
from pathlib import Path
from acp_agent.store.locks import SessionLocks
claims = SessionLocks(Path(sys.argv[1]))
print(claims.take(7), flush=True)
sys.stdin.read()
"""


def test_who_has_claimed_has_it_until_it_is_released(tmp_path: Path) -> None:
    one, other = SessionLocks(tmp_path), SessionLocks(tmp_path)
    assert one.take(1)
    assert one.take(1)
    assert other.is_taken(1)
    assert not other.take(1)
    one.release(1)
    one.release(1)
    assert not other.is_taken(1)
    assert other.take(1)
    assert not one.is_taken(2)


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


def test_a_claim_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        claims = SessionLocks(tmp_path)
        assert claims.is_taken(7)
        assert not claims.take(7)
        process.kill()
    assert not claims.is_taken(7)
    assert claims.take(7)
