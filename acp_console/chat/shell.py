"""Commands that the user runs beside a chat, each on a terminal of its own.

What runs is what the user typed, never anything from the wire, and the agent sees neither the
command nor its output unless the user sends them. All end with the chat, together with what they
have started.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from acp_console.wording.message_markdown import code_block
from acp_inspector.session.items import TerminalItem, ToolCallItem
from acp_protocol.errors import AgentStartError
from acp_protocol.host.terminals import (
    GRACE,
    ExitStatus,
    OutputTail,
    PreparedCommand,
    RunningCommand,
)

MAX_OUTPUT_BYTES: Final = 2**18
"""Bytes of the output of a command that are kept, the last ones."""
MAX_SENT_CHARS: Final = 20_000
"""Characters of output that go into a prompt, the last ones."""
LOOK_S: Final = 0.1
"""Seconds between two looks at the output of a command."""
TICK_S: Final = 1.0
"""Seconds after which the time of a silent command is shown anew."""
PAGERS: Final = ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER")
"""Variables that name a pager: one would wait for keys."""
END_OF_INPUT: Final = b"\x04"

_SHELL: Final = "/bin/sh"
_UNSEEN: Final = re.compile(r"\x1b\[0?K|\x1b\(B")
"""Erasing what is right of the end of the output, which is nothing; the character set of now."""
_COLORS: Final = re.compile(r"\x1b\[[0-9;:]{0,100}m")


def shell_of(env: Mapping[str, str]) -> str:
    """Return the shell of the user."""
    found = env.get("SHELL", "")
    return found if Path(found).is_absolute() and os.access(found, os.X_OK) else _SHELL


def shown_text(output: str) -> str:
    """Return output without what a terminal does not show; colours stay.

    What is written after a carriage return replaces what its line had before.
    """
    if "\r" in output:
        lines = (line.rstrip("\r").rpartition("\r")[2] for line in output.split("\n"))
        output = "\n".join(lines)
    return _UNSEEN.sub("", output)


class ShellItem(ToolCallItem):
    """A command of the user and its output; it belongs to no frame."""

    __slots__ = ("_terminal", "command", "exit", "is_cut", "is_stopped", "problem", "seconds")

    def __init__(self, key: str, command: str) -> None:
        super().__init__(key)
        self.command = command
        self.seconds = 0.0
        """How long it has run."""
        self.exit: ExitStatus | None = None
        """How it ended; None: it runs, or did not start."""
        self.is_cut = False
        """Whether the begin of its output is no longer kept."""
        self.is_stopped = False
        """Whether the user has stopped it."""
        self.problem = ""
        """Why it did not start."""
        self.change(0, title=command, kind="execute", status="in_progress")
        self.replace([{"type": "terminal", "terminalId": key}], 0)
        self._terminal = TerminalItem(key)
        self._terminal.live = ""
        self.show(self._terminal)

    @property
    def output(self) -> str:
        """What a terminal would show of its output, with colours."""
        return self._terminal.live or ""

    def take(self, output: OutputTail, seconds: float) -> None:
        text, self.is_cut = output.text()
        self._terminal.live = shown_text(text)
        self.seconds = seconds

    def end(self, status: ExitStatus | None, problem: str = "") -> None:
        self.exit, self.problem = status, problem
        word = "completed" if status is not None and status.code == 0 else "failed"
        self.change(0, status="cancelled" if self.is_stopped else word)

    @property
    def outcome(self) -> str:
        """How it ended, in words; empty while it runs."""
        if self.problem:
            return self.problem
        if self.exit is None:
            return ""
        how = self.exit.signal or f"exit {self.exit.code}"
        return f"stopped, {how}" if self.is_stopped else how

    def as_prompt(self) -> str:
        """Return the command and the end of its output as a part of a prompt."""
        text = _COLORS.sub("", self.output)
        cut = text[-MAX_SENT_CHARS:]
        left_out = "the end of " if self.is_cut or cut != text else ""
        about = f" ({self.outcome})" if self.outcome else ""
        head = f"I ran `{self.command}`{about}; this is {left_out}its output:"
        return "\n".join([head, "", *code_block(cut), ""])


@dataclass(slots=True)
class _Running:
    item: ShellItem
    command: RunningCommand
    scope: anyio.CancelScope
    is_started: bool = False


class Shell:
    """The commands of the user in one chat.

    Args:
        cwd: the directory that they start in.
        show: called with a command that has something new to show; must be quick.
    """

    def __init__(self, cwd: Path, show: Callable[[ShellItem], object]) -> None:
        self._cwd = cwd
        self._show = show
        self._count = 0
        self.last = ""
        """The line that was run last."""
        self._running: list[_Running] = []
        self._is_closed = False

    @property
    def newest(self) -> ShellItem | None:
        """The command that was started last, of those that run."""
        found = self._newest()
        return None if found is None else found.item

    def _newest(self) -> _Running | None:
        found = (each for each in reversed(self._running) if each.is_started)
        return next((each for each in found if each.item.exit is None), None)

    async def run(self, line: str, columns: int) -> None:
        """Run a line of the user's shell until it and what it started in its group have ended."""
        if self._is_closed:
            return
        self._count += 1
        self.last = line
        item, output = ShellItem(f"shell {self._count}", line), OutputTail(MAX_OUTPUT_BYTES)
        news = anyio.Event()

        def note() -> None:
            news.set()

        async def watch() -> None:
            nonlocal news
            while True:
                with anyio.move_on_after(TICK_S if item.exit is None else None):
                    await news.wait()
                news = anyio.Event()
                item.take(output, item.seconds if item.exit else time.monotonic() - began)
                self._show(item)
                await anyio.sleep(LOOK_S)

        command, began = RunningCommand(output, GRACE, on_output=note), time.monotonic()
        with anyio.CancelScope() as scope:
            mine = _Running(item, command, scope)
            self._running.append(mine)
            self._show(item)
            env = {"TERM": "xterm-256color", **os.environ, **dict.fromkeys(PAGERS, "cat")}
            start = PreparedCommand((shell_of(env), "-c", line), self._cwd, env, columns)
            try:
                async with anyio.create_task_group() as tasks:
                    try:
                        await tasks.start(command.run, start)
                    except AgentStartError as problem:
                        item.end(None, str(problem))
                        return
                    mine.is_started = True
                    tasks.start_soon(watch)
                    self._show(item)
                    status = await command.wait()
                    item.take(output, time.monotonic() - began)
                    item.end(status)
                    self._show(item)
                    await command.wait_all()
                    tasks.cancel_scope.cancel()
            finally:
                self._running.remove(mine)
                self._finish(item, output)

    def _finish(self, item: ShellItem, output: OutputTail) -> None:
        """Show the rest of the output, and a command as stopped that the end of the chat ended."""
        item.take(output, item.seconds)
        if item.exit is None and not item.problem:
            item.is_stopped = True
            item.end(None)
        self._show(item)

    async def stop(self) -> bool:
        """Stop the command that was started last, as ^C does; the second time, kill it.

        Return whether one ran.
        """
        mine = self._newest()
        if mine is None:
            return False
        if mine.item.is_stopped:
            await mine.command.kill()
        else:
            mine.item.is_stopped = True
            mine.command.interrupt()
            self._show(mine.item)
        return True

    async def write(self, text: str) -> bool:
        """Write a line to the command that was started last, or the end of its input for none.

        Return whether one runs.
        """
        mine = self._newest()
        if mine is None:
            return False
        await mine.command.write(f"{text}\n".encode(errors="replace") if text else END_OF_INPUT)
        return True

    async def close(self) -> None:
        """End all commands, and what they have left running."""
        self._is_closed = True
        for each in self._running:
            each.scope.cancel()
        # Each takes itself off the list once it has ended.
        while self._running:  # noqa: ASYNC110 - at most for the time that an end may take
            await anyio.sleep(LOOK_S / 10)
