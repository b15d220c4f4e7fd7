"""Terminals of the client, in which a program of ours runs so that its user can watch it.

A terminal that was made is released, however the work with it ends: what runs in it ends with that.

Source: ACP, Terminals.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol, cast

import anyio

from acp_protocol.errors import AcpError, ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.tasks import OwnedTasks

FAREWELL: Final = 0.5
"""Seconds that a client has to take note that a terminal is wanted no more."""


class Asker(Protocol):
    """Whoever can ask the client."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Return the client's result."""
        ...


class TerminalFailedError(AcpError):
    """The client could not run a program; the message says why."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended; neither is known where the client does not say."""

    code: int | None
    signal: str | None


class ClientTerminals:
    """The way to the terminals of one session's client."""

    def __init__(self, client: Asker, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    @asynccontextmanager
    async def open(
        self, command: Sequence[str], *, cwd: str, limit: int
    ) -> AsyncGenerator[ClientTerminal]:
        """Run a program, without a shell, in the directory `cwd`; end it with the block.

        `limit` is in bytes: how much of its newest output is kept.

        Raises:
            TerminalFailedError: the client does not run it, or does not do what it offered.
        """
        program, *arguments = command
        params: dict[str, Json] = {
            "command": program,
            "args": arguments,
            "cwd": cwd,
            "outputByteLimit": limit,
        }
        terminal = ClientTerminal(self)
        try:
            await self._create(terminal, params)
            yield terminal
        finally:
            if terminal.id:
                with (
                    anyio.move_on_after(FAREWELL, shield=True),
                    suppress(TerminalFailedError, ConnectionClosedError),
                ):
                    await self.ask("release", terminal.id)

    async def ask(self, deed: str, id_: str, **members: Json) -> Mapping[str, Json]:
        """Ask the client to do something with a terminal.

        Raises:
            TerminalFailedError: it does not.
        """
        named = {"terminalId": id_} if id_ else {}
        params = {"sessionId": self._session_id, **named, **members}
        try:
            result = await self._client.request(f"terminal/{deed}", params)
        except RequestFailedError as refusal:
            raise TerminalFailedError(refusal.message) from None
        return cast("Mapping[str, Json]", result) if isinstance(result, dict) else {}

    async def _create(self, terminal: ClientTerminal, params: Mapping[str, Json]) -> None:
        """Have the terminal made; where nobody wants it any more, learn at least what it is called.

        What is made and has no name could not be released.
        """
        has_answer = anyio.Event()
        patience = anyio.CancelScope(shield=True)
        problems: list[TerminalFailedError | ConnectionClosedError] = []

        async def create() -> None:
            with patience:
                try:
                    answer = await self.ask("create", "", **params)
                    id_ = answer.get("terminalId")
                    terminal.id = id_ if isinstance(id_, str) else ""
                except (TerminalFailedError, ConnectionClosedError) as problem:
                    problems.append(problem)
            has_answer.set()

        async with OwnedTasks() as tasks:
            tasks.start_soon(create)
            try:
                await has_answer.wait()
            except anyio.get_cancelled_exc_class():
                with anyio.move_on_after(FAREWELL, shield=True):
                    await has_answer.wait()
                raise
            finally:
                patience.cancel()
        if problems:
            raise problems[0]
        if not terminal.id:
            raise TerminalFailedError("the client's answer names no terminal")


class ClientTerminal:
    """A terminal in which a program runs or has run."""

    def __init__(self, client: ClientTerminals) -> None:
        self._client = client
        self.id = ""
        """What the client calls it."""

    async def wait(self) -> Ending:
        """Return how the program ended, once it has.

        Raises:
            TerminalFailedError: the client does not tell.
        """
        answer = await self._client.ask("wait_for_exit", self.id)
        code, signal = answer.get("exitCode"), answer.get("signal")
        return Ending(
            code if isinstance(code, int) else None, signal if isinstance(signal, str) else None
        )

    async def output(self) -> tuple[str, bool]:
        """Return what the program has written, and whether older output is left out.

        Raises:
            TerminalFailedError: the client does not tell.
        """
        answer = await self._client.ask("output", self.id)
        text = answer.get("output")
        if not isinstance(text, str):
            raise TerminalFailedError("the client's answer holds no output")
        return text, answer.get("truncated") is True

    async def kill(self) -> None:
        """End the program; what it wrote stays.

        Raises:
            TerminalFailedError: the client does not.
        """
        await self._client.ask("kill", self.id)
