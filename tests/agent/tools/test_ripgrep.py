"""What stands in for ripgrep may print and do what it wants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_agent.tools.call import ToolFailedError
from acp_agent.tools.walk import SearchLimits, ripgrep_files
from tests.agent.tools.test_run import have_ended


async def named(
    cwd: Path, script: str, enough: int = 100, **limits: Any
) -> tuple[list[str], bool] | None:
    """Return what a program in place of ripgrep is taken to name, below `cwd`."""
    program = cwd.parent / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    engine = SearchLimits(ripgrep=str(program), **limits)
    named = await ripgrep_files(cwd, engine, ["-x"], lambda path: path.name != "no", enough)
    return named and ([str(path.relative_to(cwd)) for path in named[0]], named[1])


async def test_its_arguments_are_fixed_and_a_nul_ends_each_name(cwd: Path) -> None:
    (cwd.parent / "out").touch()
    script = r'for each in "$@"; do printf "$PWD/%s\n\0" "$each"; done; printf unfinished'
    fixed = ["--no-config", "--no-messages", "--color=never", "--sort=path", "--null", "-x", "--"]
    assert await named(cwd, script) == ([f"{each}\n" for each in [*fixed, str(cwd)[1:]]], True)


async def test_no_more_is_read_than_wanted(cwd: Path) -> None:
    script = r'while :; do printf "$PWD/a\0$PWD/no\0"; done'
    assert await named(cwd, script, max_files=3) == (["a"] * 2, False)
    assert await named(cwd, script, enough=2) == (["a"] * 2, False)


async def test_a_name_that_never_ends_is_not_read(cwd: Path) -> None:
    assert await named(cwd, r'printf "$PWD/a\0"; head -c 1000000 /dev/zero | tr "\0" x') == (
        ["a"],
        False,
    )


async def test_names_outside_of_the_directory_are_left_out(cwd: Path) -> None:
    assert await named(cwd, r'printf "/etc/passwd\0$PWD/a\0b\0"') == (["a"], True)


async def test_nothing_found_is_no_failure_and_after_a_failure_it_is_not_needed(cwd: Path) -> None:
    assert await named(cwd, "exit 1") == ([], True)
    assert await named(cwd, "exit 2") is None
    assert await named(cwd, r'printf "$PWD/a\0"; exit 2') == (["a"], True)
    gone = SearchLimits(ripgrep=str(cwd / "gone"))
    assert await ripgrep_files(cwd, gone, [], lambda _: True, 1) is None


async def test_it_is_not_waited_for_too_long(cwd: Path) -> None:
    with pytest.raises(ToolFailedError, match=r"takes longer than 0.05 s"):
        await named(cwd, "exec sleep 1000", timeout_s=0.05)


async def test_what_it_leaves_behind_ends_with_it(cwd: Path) -> None:
    """As by `--pre` and by programs that stand in for it."""
    script = r'setsid sleep 1000 >/dev/null 2>&1 & printf "$PWD/$!\0"'
    found = await named(cwd, script)
    assert found is not None
    await have_ended(int(found[0][0]))
