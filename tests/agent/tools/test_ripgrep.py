"""Asking another program, which may say what it wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.tools import ripgrep
from acp_agent.tools.call import ToolFailedError
from acp_agent.tools.ripgrep import run_ripgrep
from tests.agent.tools.test_run import have_ended


def program(cwd: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cwd / "rg"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(ripgrep, "PROGRAM", str(path))


async def said(cwd: Path, limit: int = 10) -> tuple[list[str], bool]:
    found, is_all = await run_ripgrep(["-x"], cwd, cwd=cwd, ends=[b"\n"], limit=limit)
    return [line for (line,) in found], is_all


async def test_it_is_told_everything_and_read_piece_by_piece(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(cwd, 'for each in "$@"; do echo "$each"; done; printf unfinished', monkeypatch)
    assert await said(cwd) == (
        ["--no-config", "--no-messages", "--color=never", "--sort=path", "-x", "--", str(cwd)],
        True,
    )


async def test_no_more_is_read_than_wanted(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(cwd, "yes needle", monkeypatch)
    assert await said(cwd, 3) == (["needle"] * 3, False)


async def test_a_piece_that_never_ends_is_left_out(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(cwd, "head -c 1000000 /dev/zero; echo; echo next", monkeypatch)
    assert await said(cwd) == (["next"], True)


async def test_a_name_may_hold_what_ends_a_line(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(cwd, r"printf 'a\nb\0001:x\nc\0002:y\n'", monkeypatch)
    found = await run_ripgrep([], cwd, cwd=cwd, ends=[b"\0", b"\n"], limit=10)
    assert found == ([("a\nb", "1:x"), ("c", "2:y")], True)


async def test_nothing_found_is_no_failure_and_a_failure_is_told(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(cwd, "exit 1", monkeypatch)
    assert await said(cwd) == ([], True)
    program(cwd, "printf 'what\\033?' >&2; exit 2", monkeypatch)
    with pytest.raises(ToolFailedError, match=r"^the search failed: what␛\?$"):
        await said(cwd)
    monkeypatch.setattr(ripgrep, "PROGRAM", str(cwd / "gone"))
    with pytest.raises(ToolFailedError, match="cannot start"):
        await said(cwd)


async def test_what_it_leaves_behind_ends_with_it(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by `--pre` and by programs that stand in for it."""
    program(cwd, "setsid sleep 1000 >/dev/null 2>&1 & echo $!", monkeypatch)
    (pid,), is_all = await said(cwd)
    assert is_all
    await have_ended(int(pid))
