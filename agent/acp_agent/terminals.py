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
from acp_protocol.json_values import as_object, get_int, get_text
from acp_protocol.jsonrpc import Json

RELEASE_TIMEOUT_S: Final = 0.5
"""Seconds that a client has to kill and release a terminal."""
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


class ClientTerminals:
    """The terminals of one session's client."""

    def __init__(self, client: RequestSender, session_id: str, tasks: TaskGroup) -> None:
        """`tasks` lives as long as the connection: requests in it outlive the turn."""
        self._client = client
        self._session_id = session_id
        self._tasks = tasks

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
            if terminal.id and terminal.is_wanted:
                await self._request_quietly("release", terminal.id)

    async def request(self, command: str, id_: str, /, **members: Json) -> Mapping[str, Json]:
        """Ask the client to do something with a terminal.

        Raises:
            TerminalFailedError: it does not.
        """
        named = {"terminalId": id_} if id_ else {}
        params = {"sessionId": self._session_id, **named, **members}
        try:
            result = await self._client.request(f"terminal/{command}", params)
        except RequestFailedError as refusal:
            raise TerminalFailedError(refusal.message) from None
        return as_object(result)

    async def _create(self, terminal: ClientTerminal, params: Mapping[str, Json]) -> None:
        """Create the terminal.

        If the turn ends before the response, the request outlives it: a terminal whose id is not
        known cannot be released.
        """
        self._tasks.start_soon(self._make, terminal, params)
        try:
            await terminal.has_response.wait()
        except anyio.get_cancelled_exc_class():
            if not terminal.has_response.is_set():
                terminal.is_wanted = False
                with anyio.move_on_after(RELEASE_TIMEOUT_S, shield=True):
                    await terminal.is_settled.wait()
            raise
        if terminal.problem is not None:
            raise terminal.problem
        if not terminal.id:
            raise TerminalFailedError("the client's answer names no terminal")

    async def _make(self, terminal: ClientTerminal, params: Mapping[str, Json]) -> None:
        try:
            answer = await self.request("create", "", **params)
            terminal.id = get_text(answer, "terminalId") or ""
        except (TerminalFailedError, ConnectionClosedError) as problem:
            terminal.problem = problem
        finally:
            terminal.has_response.set()
        if terminal.id and not terminal.is_wanted:
            await self._request_quietly("kill", terminal.id)
            await self._request_quietly("release", terminal.id)
        terminal.is_settled.set()

    async def _request_quietly(self, command: str, id_: str) -> None:
        with (
            anyio.move_on_after(RELEASE_TIMEOUT_S, shield=True),
            suppress(TerminalFailedError, ConnectionClosedError),
        ):
            await self.request(command, id_)


class ClientTerminal:
    """A terminal in which a program runs or has run."""

    def __init__(self, client: ClientTerminals) -> None:
        self._client = client
        self.id = ""
        """The client's id."""
        self.has_response = anyio.Event()
        """The client has responded to its creation."""
        self.is_settled = anyio.Event()
        """Nothing more is sent about its creation."""
        self.problem: TerminalFailedError | ConnectionClosedError | None = None
        """Why it was not created."""
        self.is_wanted = True
        """The call that needs it still waits."""

    async def wait(self) -> ProgramExit:
        """Return how the program ended, once it has.

        Raises:
            TerminalFailedError: the client does not return it.
        """
        answer = await self._client.request("wait_for_exit", self.id)
        code = get_int(answer, "exitCode")
        is_code = code is not None and 0 <= code <= MAX_EXIT_CODE
        return ProgramExit(code if is_code else None, get_text(answer, "signal"))

    async def output(self) -> tuple[str, bool]:
        """Return what the program has written, and whether older output is left out.

        Raises:
            TerminalFailedError: the client does not return it.
        """
        answer = await self._client.request("output", self.id)
        text = get_text(answer, "output")
        if text is None:
            raise TerminalFailedError("the client's answer holds no output")
        return text, answer.get("truncated") is True

    async def kill(self) -> None:
        """End the program; what it wrote stays.

        Raises:
            TerminalFailedError: the client does not.
        """
        await self._client.request("kill", self.id)
