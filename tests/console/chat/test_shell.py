"""Commands of the user beside a chat: real ones, on real terminals."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from acp_console.chat.shell import MAX_OUTPUT_BYTES, MAX_SENT_CHARS, Shell, ShellItem, shown_text
from tests.protocol.host.test_processes import is_running

LIMIT = 20.0
"""Seconds after which a command counts as hung."""


class Bench:
    """A shell, and the commands that it has shown."""

    def __init__(self, cwd: Path) -> None:
        self.items: dict[str, ShellItem] = {}
        self.shell = Shell(cwd, self._show)

    def _show(self, item: ShellItem) -> None:
        self.items[item.key] = item

    @property
    def last(self) -> ShellItem:
        return list(self.items.values())[-1]

    async def until(self, holds: Callable[[ShellItem], object]) -> None:
        with anyio.fail_after(LIMIT):
            while not self.items or not holds(self.last):
                await anyio.sleep(0.01)


@pytest.fixture(autouse=True)
def _plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")


@asynccontextmanager
async def running(cwd: Path, *lines: str) -> AsyncGenerator[Bench]:
    bench = Bench(cwd)
    async with anyio.create_task_group() as tasks:
        for line in lines:
            tasks.start_soon(bench.shell.run, line, 70)
        with anyio.fail_after(LIMIT):
            yield bench
        await bench.shell.close()


async def test_a_command_runs_on_a_terminal_of_its_own_and_says_how_it_ended(
    tmp_path: Path,
) -> None:
    line = r"printf '\033[31mred\033[0m\n'; stty size </dev/tty; pwd; echo $PAGER; exit 3"
    async with running(tmp_path, line) as bench:
        await bench.until(lambda item: item.exit)
    assert bench.last.output.splitlines() == ["\x1b[31mred\x1b[0m", "24 70", str(tmp_path), "cat"]
    assert (bench.last.outcome, bench.last.status) == ("exit 3", "failed")


async def test_a_command_reads_what_the_user_writes_until_the_end_of_input(tmp_path: Path) -> None:
    async with running(tmp_path, "read first; cat >/dev/null; echo $first, done") as bench:
        await bench.until(lambda item: bench.shell.newest is item)
        assert await bench.shell.write("hello")
        await bench.until(lambda item: "hello" in item.output)
        await bench.shell.write("")
        await bench.until(lambda item: item.exit)
        assert not await bench.shell.write("nobody reads it")
    assert bench.last.output.endswith("hello, done\n")


async def test_a_command_is_interrupted_and_one_that_does_not_mind_is_killed(
    tmp_path: Path,
) -> None:
    line = "trap 'echo no' INT; echo begun; while :; do sleep 0.01; done"
    async with running(tmp_path, line) as bench:
        await bench.until(lambda item: "begun" in item.output)
        await bench.shell.stop()
        await bench.until(lambda item: "no" in item.output)
        assert bench.last.exit is None
        await bench.shell.stop()
        await bench.until(lambda item: item.exit)
        assert not await bench.shell.stop()
    assert (bench.last.outcome, bench.last.status) == ("stopped, SIGTERM", "cancelled")


async def test_of_a_flood_the_end_is_kept(tmp_path: Path) -> None:
    line = f"head -c {3 * MAX_OUTPUT_BYTES} /dev/zero | tr '\\0' x; echo; echo the end"
    async with running(tmp_path, line) as bench:
        await bench.until(lambda item: item.exit)
    assert len(bench.last.output) <= MAX_OUTPUT_BYTES
    assert bench.last.is_cut
    prompt = bench.last.as_prompt()
    assert "xxx\nthe end\n```" in prompt
    assert "this is the end of its output" in prompt
    assert len(prompt) < MAX_SENT_CHARS + len(line) + 200


async def test_what_a_command_leaves_running_ends_with_the_chat(tmp_path: Path) -> None:
    async with running(tmp_path, "trap '' HUP; sleep 1000 >/dev/null & echo $!") as bench:
        await bench.until(lambda item: item.exit)
        pid = int(bench.last.output)
        assert is_running(pid)
        assert bench.shell.newest is None
    assert not is_running(pid)


async def test_a_command_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    async with running(tmp_path / "gone", "true") as bench:
        await bench.until(lambda item: item.problem)
    assert "is not a directory" in bench.last.outcome


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("10 %\r20 %\r30 %", "30 %"),
        ("10 %\r20 %\r", "20 %"),
        ("\x1b[1m\x1b[Kx\x1b(B\x1b[m\x1b[K\r\n", "\x1b[1mx\x1b[m\n"),
        ("\x1b]0;title\x07\x1b[2J", "\x1b]0;title\x07\x1b[2J"),
    ],
)
def test_what_a_terminal_would_not_show_is_left_out_and_nothing_else(
    written: str, shown: str
) -> None:
    assert shown_text(written) == shown


def test_colours_and_fences_of_output_do_not_confuse_the_prompt() -> None:
    item = ShellItem("shell 1", "make")
    item._terminal.live = "\x1b[31m```\x1b[0m\nx\x1b[2J\n"  # pyright: ignore[reportPrivateUsage] - as a command would
    assert "````\n```\nx␛[2J\n````" in item.as_prompt()
