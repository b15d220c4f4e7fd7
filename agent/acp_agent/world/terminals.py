"""Terminals of the client, in which programs run so that the user can watch them.

Each terminal that was created is released, however the work with it ends; that ends its program.

Source: ACP, Terminals.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

import anyio
from anyio.abc import TaskGroup

from acp_protocol.errors import AcpError, ConnectionClosedError, RequestFailedError
from acp_protocol.json_values import as_object, get_int, get_string, get_text
from acp_protocol.jsonrpc import Json

MAX_EXIT_CODE: Final = 2**32 - 1
"""The greatest exit code, as the schema has it."""


class RequestSender(Protocol):
    """Sends requests to the client."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Return the client's result."""
        ...


class TerminalFailedError(AcpError):
    """The client could not run a program; the message says why."""


@dataclass(frozen=True, slots=True)
class ProgramExit:
    """How a program ended; None is unknown."""

    code: int | None
    signal: str | None


@dataclass(frozen=True, slots=True)
class ClientTerminals:
    """The terminals of one session's client."""

    client: RequestSender
    session_id: str
    tasks: TaskGroup
    """Lives as long as the connection: requests in it outlive the turn."""
    release_timeout_s: float = 0.5
    """How long a client has to kill and release a terminal."""

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
        params = {"command": program, "args": arguments, "cwd": cwd, "outputByteLimit": limit}
        terminal = ClientTerminal(self)
        try:
            await self._create(terminal, params)
            yield terminal
        finally:
            if terminal.id and terminal.is_wanted:
                await self._request_quietly("release", terminal.id)

    async def request(self, action: str, /, **members: Json) -> Mapping[str, Json]:
        """Ask the client to do something with a terminal.

        Raises:
            TerminalFailedError: it does not.
        """
        params = {"sessionId": self.session_id, **members}
        try:
            return as_object(await self.client.request(f"terminal/{action}", params))
        except RequestFailedError as refusal:
            raise TerminalFailedError(refusal.message) from None

    async def _create(self, terminal: ClientTerminal, params: Mapping[str, Json]) -> None:
        """Create the terminal.

        If the turn ends before the response, the request outlives it: a terminal whose id is not
        known cannot be released.
        """
        is_settled = anyio.Event()
        problem: TerminalFailedError | ConnectionClosedError | None = None

        async def make() -> None:
            nonlocal problem
            try:
                response = await self.request("create", **params)
                terminal.id = get_string(response, "terminalId")
                if terminal.id and not terminal.is_wanted:
                    await self._request_quietly("kill", terminal.id)
                    await self._request_quietly("release", terminal.id)
            except (TerminalFailedError, ConnectionClosedError) as caught:
                problem = caught
            finally:
                is_settled.set()

        self.tasks.start_soon(make)
        try:
            await is_settled.wait()
        except anyio.get_cancelled_exc_class():
            if not is_settled.is_set():
                terminal.is_wanted = False
                with anyio.move_on_after(self.release_timeout_s, shield=True):
                    await is_settled.wait()
            raise
        if problem is not None:
            raise problem
        if not terminal.id:
            raise TerminalFailedError("the client's answer names no terminal")

    async def _request_quietly(self, action: str, id_: str) -> None:
        with (
            anyio.move_on_after(self.release_timeout_s, shield=True),
            suppress(TerminalFailedError, ConnectionClosedError),
        ):
            await self.request(action, terminalId=id_)


class ClientTerminal:
    """A terminal in which a program runs or has run.

    Its methods raise `TerminalFailedError` if the client does not do what is asked.
    """

    def __init__(self, terminals: ClientTerminals) -> None:
        self._terminals = terminals
        self.id = ""
        """The client's id."""
        self.is_wanted = True
        """The call that needs it still waits."""

    async def wait(self) -> ProgramExit:
        """Return how the program ended, once it has."""
        answer = await self._terminals.request("wait_for_exit", terminalId=self.id)
        code = get_int(answer, "exitCode")
        is_code = code is not None and 0 <= code <= MAX_EXIT_CODE
        return ProgramExit(code if is_code else None, get_text(answer, "signal"))

    async def output(self) -> tuple[str, bool]:
        """Return what the program has written, and whether older output is left out."""
        answer = await self._terminals.request("output", terminalId=self.id)
        text = get_text(answer, "output")
        if text is None:
            raise TerminalFailedError("the client's answer holds no output")
        return text, answer.get("truncated") is True

    async def kill(self) -> None:
        """End the program; what it wrote stays."""
        await self._terminals.request("kill", terminalId=self.id)
