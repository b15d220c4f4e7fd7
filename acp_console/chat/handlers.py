"""Handles requests of an agent: files, terminals, permissions and elicitations.

Source: ACP, File System; ACP, Terminals; ACP, Tool Calls, "Requesting Permission"; Elicitation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread

from acp_console.chat.elicitation import ElicitationAnswer, Elicitor, parse_elicitation
from acp_console.chat.permissions import (
    Decider,
    PermissionPrompt,
    Rules,
    parse_permission_request,
    requested_tool_call,
)
from acp_console.chat.requested_calls import find_announced, with_announced
from acp_protocol import jsonrpc
from acp_protocol.client_duties import (
    TERMINAL_METHODS,
    permission_result,
    read_file,
    serve_terminal,
    write_file,
)
from acp_protocol.errors import RequestFailedError
from acp_protocol.handler import Response
from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.host.terminals import TerminalMissingError, TerminalPool
from acp_protocol.json_values import as_list, get_object, get_string, get_text
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.vocabulary import CALL_UPDATES, REPLIES
from acp_protocol.schema.words import ToolKind
from acp_protocol.tool_calls import is_final, merge
from acp_protocol.turns import TurnTracker

logger = logging.getLogger(__name__)

CANNOT_READ_ERRORS: Final = frozenset({"gemini-cli"})
"""Agents that take the error for a missing file for a failure, and so cannot create one.

They get an empty text, as from editors that open a missing file as a new one.
"""

MAX_TOOL_CALLS: Final = 1000
"""Tool calls of one session that are remembered until they have ended."""
MAX_SESSIONS: Final = 1000
"""Sessions whose tool calls are remembered: an agent may name as many as it likes."""
MAX_CONTENT: Final = 10_000
"""Entries of the content of one tool call; one with more is not asked about."""
MAX_OPEN_PROMPTS: Final = 100
"""Permission requests and elicitations that may wait for the user; more are refused."""
MAX_READS: Final = 4
"""Files that are read, or sent to an agent that has not taken them yet."""


class ClientHandlers:
    """Handles what an agent asks of its client.

    `reads` and `writes` enable file requests, `runs` enables terminals, an `elicitor` forms and
    pages; the capabilities in `initialize` follow them. `runs` is off by default, because no
    directory confines a command. It requires an `async with` around the connection, whose end kills
    the commands.
    """

    def __init__(
        self,
        decider: Decider,
        *,
        reads: bool = True,
        writes: bool = True,
        runs: bool = False,
        elicitor: Elicitor | None = None,
        runs_logins: bool = False,
        shows_all_updates: bool = False,
        rules: Rules | None = None,
        on_output: Callable[[str, str], object] = lambda session_id, terminal: None,
        on_account: Callable[[Json], object] = lambda status: None,
    ) -> None:
        """Serve `decider`, and what else is named.

        `runs_logins`: whether logins of the agent that need a terminal are run in one.

        `shows_all_updates`: whether notices, compactions, plans by their ids and subagents are
        shown.

        `rules` refuse files and commands that the agent requests without asking first.

        `on_output`: called when a terminal of a session has new output; must be quick.

        `on_account`: called when the agent reports who is logged in; must be quick.
        """
        self._decider = decider
        self._elicitor = elicitor
        self._runs_logins = runs_logins
        self._shows_all_updates = shows_all_updates
        self._rules = rules
        self._on_output = on_output
        self._on_account = on_account
        self._reads = reads
        self._writes = writes
        self._runs = runs
        self._terminals: TerminalPool | None = None
        self._cwds: dict[str, Path] = {}
        self._roots: dict[str, SandboxedFiles] = {}
        self._cancelled: set[str] = set()
        self._calls: dict[str, dict[str, dict[str, Json]]] = {}
        self._answered: set[str] = set()
        self._open_prompts = 0
        self._reading = anyio.Semaphore(MAX_READS)
        self.turns = TurnTracker()
        self.version = 1
        """The protocol version that was agreed on."""
        self.agent_name: Json = None
        """As the agent calls itself."""

    async def __aenter__(self) -> Self:
        if self._runs:
            self._terminals = await TerminalPool(on_output=self._on_output).__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill every running command and the processes that it started."""
        terminals, self._terminals = self._terminals, None
        if terminals is not None:
            await terminals.__aexit__(kind, error, trace)

    @property
    def capabilities(self) -> dict[str, Json]:
        """The client capabilities in `initialize` of version 1."""
        shows = self._shows_all_updates
        shown: dict[str, Json] = {"notices": {}, "compaction": {}} if shows else {}
        claimed: dict[str, Json] = {
            "fs": {"readTextFile": self._reads, "writeTextFile": self._writes},
            "terminal": self._terminals is not None,
            "session": {"configOptions": {"boolean": {}}, **shown},
            **({"plan": {}, "subagents": {}} if shows else {}),
            **self._elicitation,
        }
        if self._runs_logins:
            # Agents of before the capability look for the key in `_meta`.
            claimed |= {"auth": {"terminal": True}, "_meta": {"terminal-auth": True}}
        return claimed

    @property
    def capabilities_v2(self) -> dict[str, Json]:
        """The client capabilities in `initialize` of version 2."""
        return {**self._elicitation, **({"auth": {"terminal": {}}} if self._runs_logins else {})}

    @property
    def _elicitation(self) -> dict[str, Json]:
        return {} if self._elicitor is None else {"elicitation": {"form": {}, "url": {}}}

    def open_session(self, session_id: str, cwd: Path, others: Sequence[Path] = ()) -> None:
        """Allow the agent to read and write below `cwd` and `others` in this session."""
        self._cwds[session_id] = cwd
        self._roots[session_id] = SandboxedFiles([cwd, *others])

    def terminal_output(self, session_id: str, terminal: str) -> str | None:
        """Return what a command has written so far; None if there is no such terminal."""
        if self._terminals is None:
            return None
        with suppress(TerminalMissingError):
            return self._terminals.find(session_id, terminal).output().output
        return None

    def begin_turn(self, session_id: str) -> None:
        """Allow permission requests of the session again; earlier updates no longer count."""
        self._cancelled.discard(session_id)
        self._answered.discard(session_id)
        self.turns.begin(session_id)

    def has_reply(self, session_id: str) -> bool:
        """Return whether the agent has sent text of a message since the turn began."""
        return session_id in self._answered

    def cancel_turn(self, session_id: str) -> None:
        """Cancel every permission request and elicitation of the session until its next turn."""
        self._cancelled.add(session_id)

    async def handle_request(self, request: Request) -> Json:
        is_offered = self.version == 1
        match request.method:
            case "session/request_permission":
                return await self._decide(request, _read(request, self.version))
            case "fs/read_text_file" if self._reads and is_offered:
                return await self._read_file(self._allowed(request, "read"))
            case "fs/write_text_file" if self._writes and is_offered:
                return await anyio.to_thread.run_sync(self._write, self._allowed(request, "edit"))
            case method if method in TERMINAL_METHODS and self._terminals and is_offered:
                return await self._run(self._terminals, request)
            case "elicitation/create" if self._elicitor is not None:
                return await self._elicit(self._elicitor, request)
            case _:
                raise RequestFailedError(
                    jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": request.method}
                )

    async def handle_notification(self, notification: Notification) -> None:
        self.observe_notification(notification)

    def observe_notification(self, notification: Notification) -> None:
        """Record updates of turns, tool calls, pages and accounts; screens read the journal."""
        params = notification.params
        match notification.method:
            case "session/update":
                self._observe_update(get_text(params, "sessionId"), get_object(params, "update"))
            case "auth/status_update":
                self._on_account(params)
            case "elicitation/complete" if self._elicitor is not None:
                if (id_ := get_text(params, "elicitationId")) is not None:
                    self._elicitor.complete(id_)
            case _:
                logger.debug("ignored notification %s", notification.method)

    def _observe_update(self, session_id: str | None, update: dict[str, Json]) -> None:
        if session_id is None:
            return
        if self.version >= 2:
            self.turns.observe(session_id, update)
        kind, call_id = get_string(update, "sessionUpdate"), update.get("toolCallId")
        if kind in REPLIES:
            if len(self._answered) < MAX_SESSIONS:
                self._answered.add(session_id)
        elif kind in CALL_UPDATES and isinstance(call_id, str):
            # Updates of a call may be partial; the permission request shows them merged.
            self._remember(session_id, call_id, update)

    def _remember(self, session_id: str, call_id: str, update: Mapping[str, Json]) -> None:
        calls = self._calls.setdefault(session_id, {})
        if len(self._calls) > MAX_SESSIONS:
            del self._calls[next(iter(self._calls))]
        known = calls.pop(call_id, {})
        is_chunk = update.get("sessionUpdate") == "tool_call_content_chunk"
        if is_final(update.get("status")) and not is_chunk:
            return
        is_full = is_chunk and len(as_list(known.get("content"))) > MAX_CONTENT
        calls[call_id] = known if is_full else merge(known, update, self.version)
        if len(calls) > MAX_TOOL_CALLS:
            del calls[next(iter(calls))]

    async def _decide(self, request: Request, params: dict[str, Json]) -> Json:
        session_id: str = params["sessionId"]
        requested = requested_tool_call(params, self.version) or {}
        calls, call_id = self._calls.get(session_id, {}), requested.get("toolCallId")
        call = calls.get(call_id) if isinstance(call_id, str) else None
        ask = parse_permission_request(
            request.id,
            params,
            known=call,
            cwd=self._cwds.get(session_id),
            version=self.version,
        )
        if ask is None:
            raise RequestFailedError(jsonrpc.INVALID_PARAMS, "Invalid params")
        if call is None and (announced := find_announced(requested, calls.values())) is not None:
            ask = replace(ask, tool_call=with_announced(announced, ask.tool_call))
        if len(as_list(ask.tool_call.get("content"))) > MAX_CONTENT:
            # What cannot be shown cannot be allowed.
            raise RequestFailedError(
                jsonrpc.INVALID_PARAMS, "the call has too much content to show"
            )
        chosen = None
        with self._prompting():
            if session_id not in self._cancelled:
                chosen = await self._decider.decide(ask)
        # Only an offered option may be sent, and none after the turn was cancelled.
        is_offered = any(option.id == chosen for option in ask.options)
        is_late = session_id in self._cancelled
        return permission_result(chosen if is_offered and not is_late else None)

    async def _elicit(self, elicitor: Elicitor, request: Request) -> Json:
        ask = parse_elicitation(request.id, _read(request, self.version))
        answer = ElicitationAnswer("cancel")
        with self._prompting():
            if ask.session_id not in self._cancelled:
                answer = await elicitor.elicit(ask)
        # A cancelled turn takes no answers.
        is_late = ask.session_id in self._cancelled
        return (ElicitationAnswer("cancel") if is_late else answer).result()

    @contextmanager
    def _prompting(self) -> Generator[None]:
        """Count what waits for the user."""
        if self._open_prompts >= MAX_OPEN_PROMPTS:
            raise RequestFailedError(jsonrpc.INTERNAL_ERROR, "too many requests wait for the user")
        self._open_prompts += 1
        try:
            yield
        finally:
            self._open_prompts -= 1

    async def _read_file(self, params: dict[str, Json]) -> Response:
        await self._reading.acquire()

        async def release() -> None:
            self._reading.release()

        try:
            return Response(await anyio.to_thread.run_sync(self._read, params), release)
        except BaseException:
            self._reading.release()
            raise

    def _read(self, params: dict[str, Json]) -> Json:
        roots = self._roots_of(params)
        try:
            return read_file(roots, params)
        except RequestFailedError as problem:
            is_missing = problem.code == jsonrpc.RESOURCE_NOT_FOUND
            if is_missing and self.agent_name in CANNOT_READ_ERRORS:
                return {"content": ""}
            raise

    def _write(self, params: dict[str, Json]) -> Json:
        return write_file(self._roots_of(params), params)

    async def _run(self, terminals: TerminalPool, request: Request) -> Json:
        is_start = request.method == "terminal/create"
        params = self._allowed(request, "execute") if is_start else _read(request, self.version)
        roots, cwd = self._roots_of(params), self._cwds[params["sessionId"]]
        return await serve_terminal(terminals, request.method, params, cwd=cwd, roots=roots)

    def _allowed(self, request: Request, kind: ToolKind) -> dict[str, Json]:
        """Return the params of a request for a file or a terminal, if no rule denies it."""
        params = _read(request, self.version)
        if self._rules is None:
            return params
        call: dict[str, Json] = {"kind": kind, "rawInput": params}
        ask = PermissionPrompt(
            request.id, params["sessionId"], call, (), self._cwds.get(params["sessionId"])
        )
        ruling = self._rules.decide(ask)
        if ruling is not None and ruling[0] == "reject":
            data = {"reason": jsonrpc.NOT_PERMITTED}
            raise RequestFailedError(jsonrpc.INVALID_PARAMS, "denied by the user's policy", data)
        return params

    def _roots_of(self, params: dict[str, Json]) -> SandboxedFiles:
        roots = self._roots.get(params["sessionId"])
        if roots is None:
            raise RequestFailedError(
                jsonrpc.RESOURCE_NOT_FOUND, "No such session", {"sessionId": params["sessionId"]}
            )
        return roots


def _read(request: Request, version: int) -> dict[str, Json]:
    """Return the params without tolerated errors; other errors name the field."""
    # Import the schema with the first request of the agent, not at the start.
    from acp_protocol.schema.validate import parse_params

    params, errors = parse_params(request.method, request.params, version, kind="request")
    if wrong := [str(each) for each in errors if not each.is_tolerated]:
        raise RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {'; '.join(wrong)}")
    return params
