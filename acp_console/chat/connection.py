"""A connection to a running agent, and the requests of a client.

Every line sent or received and every chunk of stderr is first added to the journal; subscribe to
the journal to show or record the traffic.

Source: ACP, Initialization; Session Setup; Prompt Turn.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar, cast

import anyio

from acp_console.agents.session_options import SessionOption
from acp_console.agents.spec import AgentSpec, AuthMethodError, Login, SignInRequiredError
from acp_console.chat.evidence import (
    DIALECT_HINT,
    may_be_dialect,
    misses_official_member,
    pointed_dialect,
    wants_headers,
)
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.logins import (
    LoginMethod,
    describe_login,
    login_hint,
    login_line,
    login_meta,
    login_methods,
)
from acp_console.chat.prompt_blocks import PromptAbilities
from acp_console.paths import FileWriteError
from acp_inspector.journal import DIALECT, Journal
from acp_protocol.concurrency import InterruptibleWaits
from acp_protocol.connection import Connection
from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.detect import is_official_agent
from acp_protocol.dialects.spellings import BATCHES, BATCHES_HINT, NO_DIALECT, SENDS_BATCHES
from acp_protocol.endpoint import ProtocolViolation
from acp_protocol.errors import (
    AcpError,
    AgentExitedError,
    ConnectionClosedError,
    OperationTimeoutError,
    RemoteProtocolError,
    RequestFailedError,
)
from acp_protocol.framing import Framing
from acp_protocol.json_values import as_list, as_object, get, get_list, get_text
from acp_protocol.jsonrpc import (
    AUTH_REQUIRED,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Json,
)
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.opening import OpenedAgent, open_agent
from acp_protocol.transport.remote import Notify
from acp_protocol.version import VERSION

LEFT_HINT: Final = (
    "the command has exited with code 0; something that it started holds its output open"
)
WRITES_HEADERS: Final = "writes Content-Length headers before its messages, which ACP does not have"
NO_AGENT_HINT: Final = "is it an ACP agent? Many need an argument such as --acp"
SECOND_TRY_S: Final = 10.0
"""Seconds that an agent has to respond when it is started once more, in its dialect."""
_V2_FIELDS: Final = frozenset({"info", "capabilities"})

OpeningWay: TypeAlias = Literal["new", "load", "resume", "fork"]
SessionAbility: TypeAlias = Literal[
    "load",
    "list",
    "resume",
    "fork",
    "close",
    "delete",
    "archive",
    "status",
    "title",
    "additionalDirectories",
]

_Result = TypeVar("_Result")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietTimes:
    """Seconds without a frame after which an agent has no more to send, though it should not."""

    after_turn: float = 0.08
    after_silent_turn: float = 0.5
    """After a turn without any text: its reply may still come."""
    after_opening: float = 0.3
    """After a session is loaded or resumed: its history may still come."""
    limit: float = 3.0
    """How long an agent is waited for that is never quiet."""


QUIET: Final = QuietTimes()
AGENT_GONE: Final = (AgentExitedError, ConnectionClosedError)
"""The errors of whatever waits for an agent that has ended, or cannot be reached any more."""


class CapabilityError(AcpError):
    """The agent does not claim that it can do that."""


class AgentConnection:
    """A connection to a running agent that has answered `initialize`."""

    def __init__(
        self,
        spec: AgentSpec,
        opened: OpenedAgent,
        connection: Connection,
        handlers: ClientHandlers,
        quiet: QuietTimes = QUIET,
        wire: AgentWire | None = None,
        directory: Path | None = None,
    ) -> None:
        self.spec = spec
        self._directory = Path() if directory is None else directory
        self.connection = connection
        self.other_spec: AgentSpec | None = None
        """How to start the agent once more, if its refusal of a first request points there."""
        self.version = 1
        """The negotiated protocol version."""
        self.is_version_1_in_disguise = False
        """Whether the agent agreed on version 2 and answered as in version 1."""
        self.agent_info: Mapping[str, Json] = {}
        self.capabilities: Mapping[str, Json] = {}
        self.auth_methods: tuple[Json, ...] = ()
        """As the agent sent them, not validated."""
        self._opened = opened
        self._handlers = handlers
        self._quiet = quiet
        self._wire = wire
        self._requested: str | None = None
        """The open request that shows whether the agent understands us."""
        self._received = 0
        """Frames of the agent before that request."""
        self._is_open = False
        """Whether it has responded to `initialize`."""
        self._model: str | None = None
        """The model that each prompt names, where the dialect has a place for it."""
        self._has_worked = False
        """Whether a prompt had a response."""
        self._waits = InterruptibleWaits()
        """What waits for the agent."""
        connection.on_violation = self._note_violation

    @property
    def title(self) -> str:
        """The name of the agent; untrusted.

        An agent that is chosen by a name keeps it. One that is started by a command has the name
        that it gives itself, or else that of its program.
        """
        if self.spec.is_named:
            return self.spec.title
        for key in ("title", "name"):
            name = self.agent_info.get(key)
            if isinstance(name, str) and name:
                return name
        return self.spec.title

    @property
    def disguise(self) -> str:
        """The sentence for an agent that speaks version 1 after it agreed on version 2."""
        return f"{self.title} says version 2 and answered as in version 1: speaking version 1"

    @property
    def dialect(self) -> str | None:
        """The dialect that the agent speaks; None for the published protocol."""
        return None if self._wire is None else self._wire.dialect

    @property
    def _newest(self) -> int:
        """The newest protocol version to ask for; dialects have the first one."""
        return 1 if self._translator is not None else self.spec.max_protocol_version

    @property
    def _translator(self) -> Dialect | None:
        return None if self._wire is None else self._wire.translator

    async def initialize(self, *, timeout: float | None = None) -> None:
        """Agree on the version; `connect_agent` does this.

        `timeout` is in seconds; None: the agent's own limit.

        Raises:
            RemoteProtocolError: the agent speaks another version, or its response is invalid.
            AgentExitedError: it ended instead of responding.
            OperationTimeoutError: it did not respond in `timeout` seconds.
        """
        timeout = self.spec.start_timeout if timeout is None else timeout
        try:
            answer = await self._watched(
                self.connection.request("initialize", self._initialize_params(), timeout=timeout)
            )
        except (OperationTimeoutError, AgentExitedError) as problem:
            if isinstance(problem, OperationTimeoutError) or problem.stray_output is not None:
                problem.hint = NO_AGENT_HINT
            raise
        except RequestFailedError as refusal:
            if refusal.code == METHOD_NOT_FOUND:
                reason = "the program does not speak ACP: it does not know initialize"
                raise RemoteProtocolError(reason, hint=NO_AGENT_HINT) from None
            if refusal.code != UNSUPPORTED_VERSION:
                raise
            raise RemoteProtocolError(_no_version(refusal.data, self._newest)) from None
        members = _object(answer, "initialize")
        version = members.get("protocolVersion")
        if version == 2 and "agentCapabilities" in members and not _V2_FIELDS & members.keys():
            # Some agents repeat any version and speak version 1 all the same.
            version = 1
            self.is_version_1_in_disguise = True
        if type(version) is not int or not 1 <= version <= self._newest:
            raise RemoteProtocolError(_no_version({"supported": [version]}, self._newest))
        self.version = self._handlers.version = version
        info, able = (
            ("agentInfo", "agentCapabilities") if version == 1 else ("info", "capabilities")
        )
        self.agent_info = _object(members.get(info) or {}, "initialize")
        self._handlers.agent_name = self.agent_info.get("name")
        self._is_open = True
        self.capabilities = _object(members.get(able) or {}, "initialize")
        self.auth_methods = tuple(as_list(members.get("authMethods")))

    def _initialize_params(self) -> dict[str, Json]:
        us = {"name": "acp-console", "title": "acp-console", "version": VERSION}
        first = {"clientInfo": us, "clientCapabilities": self._handlers.capabilities}
        # The version is not known yet, so also send the fields of version 1.
        second: dict[str, Json] = (
            {"info": us, "capabilities": self._handlers.capabilities_v2} if self._newest > 1 else {}
        )
        return {"protocolVersion": self._newest, **first, **second}

    async def authenticate(self, method_id: str, secret: str | None = None) -> None:
        """Log in with one of the agent's methods; in a dialect perhaps with a token or data.

        Raises:
            AuthMethodError: the agent does not offer it, it needs a terminal, or there is no place
            for a secret.
            RequestFailedError: the agent refused.
        """
        method = next((each for each in self.logins if each.id == method_id), None)
        # Agents of a dialect need not name their methods.
        if method is None and (self.logins or self._translator is None):
            offered = ", ".join(self._described_logins()) or "none"
            raise AuthMethodError(
                f"the agent has no login method {method_id!r}; it offers: {offered}"
            )
        if method is not None and method.kind == "terminal":
            raise AuthMethodError(f"{method_id} needs a terminal; run: {login_line(method)}")
        name = "authenticate" if self.version == 1 else "auth/login"
        params: dict[str, Json] = {"methodId": method_id}
        if secret is not None:
            params["_meta"] = login_meta(self._translator, secret)
        try:
            await self._watched(self.connection.request(name, params))
        except AcpError as problem:
            if secret is not None:
                _hide(problem, Login(method_id, secret))
            raise

    def use_model(self, name: str, model: str, offered: Sequence[SessionOption]) -> bool:
        """Name a model in each prompt, if the option `name` means that; return whether it does.

        It does where the agent offers no choice of models, and prompts of its dialect name one.
        """
        is_offered = any("model" in {option.id, option.category} for option in offered)
        is_named = self._translator is not None and self._translator.takes_model
        if name != "model" or is_offered or not is_named:
            return False
        self._model = model
        return True

    @property
    def logins(self) -> list[LoginMethod]:
        """The ways to log in that the agent offers."""
        return login_methods(self.auth_methods, self.spec)

    def _described_logins(self) -> list[str]:
        return [describe_login(each) for each in self.logins]

    async def set_option(self, session_id: str, option: SessionOption, value: Json) -> None:
        """Set a mode, a model or another option of a session.

        Raises:
            RequestFailedError: the agent refused.
        """
        params = {"sessionId": session_id, **option.params(value, self.version)}
        await self._watched(self.connection.request(option.method, params))

    def can(self, ability: SessionAbility) -> bool:
        """Return whether the agent claims that it can do something with sessions."""
        if self.version == 1:
            if ability == "load":
                return self.capabilities.get("loadSession") is True
            return get(self.capabilities.get("sessionCapabilities"), ability) is not None
        session = self.capabilities.get("session")
        # Version 2: what is not listed is part of every agent with sessions.
        is_basic = ability in {"load", "list", "resume", "close"}
        return session is not None and (is_basic or get(session, ability) is not None)

    async def new_session(self, cwd: Path) -> Mapping[str, Json]:
        """Open a new session; see `open_session`."""
        return await self.open_session("new", cwd)

    async def open_session(
        self,
        way: OpeningWay,
        cwd: Path,
        session_id: str | None = None,
        *,
        directories: Sequence[Path] = (),
        servers: Sequence[Mapping[str, Json]] | None = None,
    ) -> Mapping[str, Json]:
        """Open a session in the absolute directory `cwd`; return the whole result, with its id.

        Args:
            way: new; load, which repeats the whole conversation; resume, which does not; or fork,
            which begins a copy. All but new need `session_id`.
            cwd: the directory.
            session_id: the id of the session that is known already.
            directories: other absolute directories that the agent may read and write.
            servers: MCP servers as version 2 writes them; None: those of the agent. Those that the
            agent cannot reach are left out.

        Raises:
            CapabilityError: it cannot work in other directories.
            SignInRequiredError: the agent requires authentication.
            RequestFailedError: the agent refused for another reason.
            RemoteProtocolError: the response names no session.
            AgentExitedError: it exited instead of responding.
        """
        params: dict[str, Json] = {"cwd": str(cwd)}
        wanted = self.spec.mcp_servers if servers is None else servers
        reached = [each for each in map(self._server, wanted) if each is not None]
        if self.version == 1 or reached:
            params["mcpServers"] = reached
        if directories:
            if not self.can("additionalDirectories"):
                raise CapabilityError(f"{self.title} works in one directory only")
            params["additionalDirectories"] = list(map(str, directories))
        if session_id is not None:
            params["sessionId"] = session_id
        if way in {"load", "resume"} and session_id is not None:
            # The agent may ask for files before it responds.
            self._handlers.open_session(session_id, cwd, directories)
        method = f"session/{way}"
        if way == "load" and self.version >= 2:
            method, params["replayFrom"] = "session/resume", {"type": "start"}
        answer = await self._request_first(method, params)
        members = _object({} if answer is None else answer, method)
        opened = members.get("sessionId", session_id if way in {"load", "resume"} else None)
        if not isinstance(opened, str):
            raise RemoteProtocolError(f"the agent's response to {method} has no sessionId")
        self._handlers.open_session(opened, cwd, directories)
        return {**members, "sessionId": opened}

    def left_out(self, cwd: Path, servers: Sequence[Mapping[str, Json]] | None = None) -> list[str]:
        """Return a sentence for all that a session in `cwd` does not get; None: its own servers."""
        sentences = self.unreachable_servers(servers)
        lacks_directory = self._translator is not None and not self._translator.takes_directory
        if lacks_directory and cwd.resolve() != self._directory.resolve():
            sentences.insert(
                0,
                f"{self.dialect} has no place for a directory: {self.title} works in "
                f"{self._directory}",
            )
        return sentences

    def unreachable_servers(self, servers: Sequence[Mapping[str, Json]] | None = None) -> list[str]:
        """Return a sentence for each MCP server that the agent does not get; None: its own."""
        return [
            f"MCP server {server.get('name')} is left out: {self._why_unreachable(server)}"
            for server in (self.spec.mcp_servers if servers is None else servers)
            if self._server(server) is None
        ]

    def _why_unreachable(self, server: Mapping[str, Json]) -> str:
        if self._has_no_servers:
            return f"{self.dialect} has no place for it"
        return f"the agent has no {server.get('type')}"

    @property
    def _has_no_servers(self) -> bool:
        return self._translator is not None and not self._translator.takes_servers

    def server_types(self) -> list[str]:
        """Return the types of MCP servers that the agent can reach."""
        if self._has_no_servers:
            return []
        session = self.capabilities if self.version == 1 else self.capabilities.get("session")
        claimed = as_object(get(session, "mcpCapabilities" if self.version == 1 else "mcp"))
        # Version 1 requires the first one of every agent.
        types = ["stdio"] if self.version == 1 else []
        return types + [
            name
            for name, value in claimed.items()
            if value not in (None, False) and name not in {"_meta", *types}
        ]

    def _server(self, server: Mapping[str, Json]) -> dict[str, Json] | None:
        """Return an MCP server as this version writes it; None if the agent cannot reach it."""
        kind = server.get("type", "stdio")
        if kind not in self.server_types():
            return None
        without_type = self.version == 1 and kind == "stdio"
        return {name: each for name, each in server.items() if name != "type" or not without_type}

    async def list_sessions(
        self, cwd: Path | None = None, cursor: str | None = None, *, with_archived: bool = False
    ) -> tuple[list[Json], str | None]:
        """Return a page of the agent's sessions, not validated, and the cursor of the next page.

        `with_archived` is for agents that can archive.

        Raises:
            RequestFailedError: the agent refused.
        """
        named = {
            "cwd": None if cwd is None else str(cwd),
            "cursor": cursor,
            "archived": "include" if with_archived else None,
        }
        params: dict[str, Json] = {name: each for name, each in named.items() if each is not None}
        answer = await self._watched(self.connection.request("session/list", params))
        return get_list(answer, "sessions"), get_text(answer, "nextCursor")

    async def close_session(self, session_id: str) -> None:
        """Close a session; the agent keeps it if it can.

        Raises:
            RequestFailedError: the agent refused, and not because there is no such session.
        """
        await self._remove("session/close", session_id)

    async def delete_session(self, session_id: str) -> None:
        """Delete a session for good.

        Raises:
            RequestFailedError: the agent refused, and not because there is no such session.
        """
        await self._remove("session/delete", session_id)

    async def _remove(self, method: str, session_id: str) -> None:
        try:
            await self._watched(self.connection.request(method, {"sessionId": session_id}))
        except RequestFailedError as refusal:
            if refusal.code != RESOURCE_NOT_FOUND:
                raise

    async def archive_session(self, session_id: str, *, is_archived: bool) -> None:
        """Hide a session from the agent's list, or list it again.

        Raises:
            RequestFailedError: the agent refused.
        """
        method = "session/archive" if is_archived else "session/unarchive"
        await self._watched(self.connection.request(method, {"sessionId": session_id}))

    async def session_status(self, session_id: str) -> str:
        """Return whether some client has a session open: `open`, or otherwise `saved`.

        Raises:
            RequestFailedError: the agent refused.
        """
        params: dict[str, Json] = {"sessionId": session_id}
        answer = await self._watched(self.connection.request("session/status", params))
        return "open" if get_text(answer, "status") == "open" else "saved"

    async def set_title(self, session_id: str, title: str) -> str:
        """Give a session a title; return it as the agent keeps it.

        Raises:
            RequestFailedError: the agent refused.
        """
        params: dict[str, Json] = {"sessionId": session_id, "title": title}
        answer = await self._watched(self.connection.request("session/set_title", params))
        return get_text(answer, "title") or title

    async def auth_status(self) -> Mapping[str, Json] | None:
        """Return how the user is logged in, not validated; None if the agent cannot tell.

        Raises:
            RequestFailedError: the agent refused.
        """
        if get(self.capabilities.get("auth"), "status") is None:
            return None
        answer = await self._watched(self.connection.request("auth/status", {}))
        return _object(answer, "auth/status")

    @property
    def can_log_out(self) -> bool:
        if self.version >= 2:
            return bool(self.auth_methods)
        return get(self.capabilities.get("auth"), "logout") is not None

    async def logout(self) -> None:
        """Log out.

        Raises:
            RequestFailedError: the agent refused.
        """
        name = "logout" if self.version == 1 else "auth/logout"
        await self._watched(self.connection.request(name, {}))

    @property
    def prompt_abilities(self) -> PromptAbilities:
        return PromptAbilities(self.capabilities, self.version)

    async def prompt(self, session_id: str, prompt: str | Sequence[Json]) -> Mapping[str, Json]:
        """Send a text or content blocks; when the turn has ended, return its result.

        That is the agent's response, or in version 2 the state update that ends the turn.

        Raises:
            SignInRequiredError: the agent requires authentication.
            RequestFailedError: the agent answered with another error.
            RemoteProtocolError: the response has no stop reason.
            AgentExitedError: it exited instead of responding.
        """
        self._handlers.begin_turn(session_id)
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
        params: dict[str, Json] = {"sessionId": session_id, "prompt": blocks}
        if self._model is not None and self._translator is not None:
            params["_meta"] = {self._translator.name: {"model": self._model}}
        answer = await self._request_first("session/prompt", params)
        self._has_worked = True
        members = _object(answer, "session/prompt")
        if self.version >= 2:
            return await self._watched(
                self._handlers.turns.wait_for_end(session_id, members, self.connection)
            )
        if not isinstance(members.get("stopReason"), str):
            raise RemoteProtocolError("the agent's response to session/prompt has no stopReason")
        return members

    async def wait_for_late_updates(self, session_id: str, stop_reason: Json) -> None:
        """Wait for what some agents send after the end of a turn, longer if it had no text.

        Source: ACP, Prompt Turn: all updates come before the response.
        """
        times = self._quiet
        has_reply = stop_reason != "end_turn" or self._handlers.has_reply(session_id)
        quiet = times.after_turn if has_reply else times.after_silent_turn
        await self._watched(self.connection.wait_quiet(quiet, times.limit))

    async def wait_for_late_history(self) -> None:
        """Wait for history that some agents send after they have loaded or resumed a session.

        Source: ACP, Session Setup, "Loading Sessions": all of it comes before the response.
        """
        quiet = self.connection.wait_quiet(self._quiet.after_opening, self._quiet.limit)
        await self._watched(quiet)

    async def cancel(self, session_id: str) -> None:
        """Ask the agent to stop the running turn; the prompt's response still comes."""
        self._handlers.cancel_turn(session_id)
        await self._watched(self.connection.notify("session/cancel", {"sessionId": session_id}))

    async def cancel_subagent(self, session_id: str) -> None:
        """Ask the agent to stop what one of its subagents does."""
        await self._watched(self.connection.notify("session/cancel", {"sessionId": session_id}))

    async def cancel_work(
        self, kind: Literal["tool_call", "terminal"], session_id: str, key: str
    ) -> None:
        """Ask the agent to end one tool call or terminal, which must claim that it can be.

        Raises:
            RequestFailedError: the agent refused.
        """
        named = {"tool_call": "toolCallId", "terminal": "terminalId"}[kind]
        params: dict[str, Json] = {"sessionId": session_id, named: key}
        await self._watched(self.connection.request(f"{kind}/cancel", params))

    async def wait_closed(self) -> AcpError:
        """Wait until the connection has ended; return the reason."""
        await self.connection.wait_closed()
        problem = await self._ending()
        if self._requested is not None:
            self.note_failure(problem, self._requested)
        return problem

    async def _ending(self) -> AcpError:
        # A send may fail before the end of the agent's output is read.
        with anyio.move_on_after(1):
            await self.connection.wait_closed()
        if (problem := self.connection.frame_error) is not None:
            return RemoteProtocolError(f"the agent sent an unreadable frame: {problem}")
        return await self._opened.ending(self.unreadable_output())

    async def _watched(self, asking: Awaitable[_Result]) -> _Result:
        try:
            return await self._waits.wait(asking)
        except ConnectionClosedError:
            raise await self._ending() from None
        except RequestFailedError as refusal:
            if refusal.code != AUTH_REQUIRED:
                raise
            if methods := get_list(refusal.data, "authMethods"):
                self.auth_methods = tuple(methods)
            hint = login_hint(self.spec, self.logins)
            raise SignInRequiredError(refusal, self._described_logins(), hint) from None

    def _note_violation(self, violation: ProtocolViolation) -> None:
        if violation.is_batch:
            # It may hold what is awaited.
            problem = RemoteProtocolError(f"{self.title} {SENDS_BATCHES}", hint=BATCHES_HINT)
        elif not self._is_open and not self._has_framing and self.framing == "headers":
            # It has taken our line for a header, and will not respond to it.
            problem = RemoteProtocolError(f"{self.title} {WRITES_HEADERS}")
        else:
            return
        self._waits.interrupt(problem)

    @property
    def framing(self) -> Framing | None:
        """How the agent separates frames; None while it has not shown it."""
        return None if self._wire is None else self._wire.framing

    @property
    def _has_framing(self) -> bool:
        """Whether the framing was known before the agent wrote anything."""
        return self.spec.dialect is not None or self.spec.framing is not None

    def note_failure(self, problem: AcpError, method: str) -> None:
        """Note the dialect that a failure points to, and add to it that there are dialects."""
        if self._has_worked or self.version > 1:
            return
        if self.spec.dialect is not None and misses_official_member(problem, method):
            if self.spec.is_dialect_remembered:
                # It has learnt the protocol since.
                self.other_spec = replace(self.spec, dialect=None, is_dialect_remembered=False)
            else:
                dialect = self.spec.dialect
                hint = f"it was asked in {dialect}; without --dialect, its own dialect is detected"
                problem.hint = "; ".join(filter(None, [problem.hint, hint]))
        is_known = self.dialect is not None or self.spec.dialect is not None
        if is_known or is_official_agent(self.capabilities):
            return
        # Who sends more than a refusal has understood the request.
        has_understood = self.connection.received > self._received + 1
        if self.spec.framing is None and not has_understood:
            pointed = pointed_dialect(problem, method)
            if pointed is not None:
                self.other_spec = self.spec.with_protocol(None, pointed)
        if may_be_dialect(problem, method) and problem.hint != LEFT_HINT:
            problem.hint = "; ".join(filter(None, [problem.hint, DIALECT_HINT]))

    async def _request_first(self, method: str, params: Json) -> Json:
        """Return the result of a request that shows whether the agent understands us."""
        self._requested, self._received = method, self.connection.received
        try:
            answer = await self._watched(self.connection.request(method, params))
        except AcpError as problem:
            self.note_failure(problem, method)
            raise
        self._requested = None
        return answer

    def unreadable_output(self) -> bytes | None:
        """Return the first line of the agent's stdout that is not a message, if any."""
        return next(
            (fault.data for fault in self.connection.violations if fault.data.strip()), None
        )


class AgentWire:
    """The frames of an agent, as official ones; the journal has got the actual bytes."""

    def __init__(self, opened: OpenedAgent, spec: AgentSpec, journal: Journal) -> None:
        def report(name: str) -> None:
            journal.event(DIALECT, dialect=name)

        self._opened = opened
        self.transport: Transport = opened.transport
        if not spec.takes_batches:
            dialect = spec.open_dialect()
            self.transport = DialectTransport(opened.transport, "client", dialect, report)

    @property
    def framing(self) -> Framing | None:
        """How frames are separated; None while the agent has not shown it."""
        return self._opened.framing

    @property
    def dialect(self) -> str | None:
        """The dialect, named or recognised; None for the published protocol."""
        inner = self.transport
        return inner.dialect if isinstance(inner, DialectTransport) else BATCHES

    @property
    def translator(self) -> Dialect | None:
        inner = self.transport
        return inner.translator if isinstance(inner, DialectTransport) else None


class _NotOpenedError(Exception):
    """The agent has not responded to `initialize` as it has to."""

    def __init__(self, problem: AcpError, other: AgentSpec | None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.other = other
        """The same agent as it may have to be opened; None if nothing points to another way."""


@asynccontextmanager
async def connect_agent(
    spec: AgentSpec,
    *,
    cwd: Path,
    journal: Journal,
    handlers: ClientHandlers,
    start_timeout: float | None = None,
    quiet: QuietTimes = QUIET,
    notify: Notify | None = None,
) -> AsyncGenerator[AgentConnection]:
    """Start an agent and initialize the connection; stop the agent at the end of the block.

    If that fails and what the agent wrote points to another dialect, it is started once more in
    that dialect; `link.spec` names it. `quiet` is how long the agent has to be silent before it
    counts as done. `notify` gets a sentence about each message that did not reach a remote agent.

    Raises:
        AgentStartError: its command could not be started.
        AgentExitedError, RemoteProtocolError, OperationTimeoutError: see `initialize`.
    """

    def open_by(
        agent: AgentSpec, limit: float | None
    ) -> AbstractAsyncContextManager[AgentConnection]:
        # A recording may name that of the first try.
        named = agent.dialect or (NO_DIALECT if spec.dialect is not None else None)
        return _run_agent(agent, named, cwd, journal, handlers, limit, quiet, notify)

    async with AsyncExitStack() as stack:
        try:
            link = await stack.enter_async_context(open_by(spec, start_timeout))
        except _NotOpenedError as first:
            if first.other is None:
                raise first.problem from None
            limit = min(
                SECOND_TRY_S, spec.start_timeout if start_timeout is None else start_timeout
            )
            try:
                link = await stack.enter_async_context(open_by(first.other, limit))
            except _NotOpenedError:
                raise first.problem from None
            link.spec = replace(link.spec, dialect=link.dialect)
            if link.dialect != spec.dialect:
                remember_dialect(link.spec)
        yield link


def remember_dialect(spec: AgentSpec) -> None:
    """Remember the dialect in which an agent was opened at the second try."""
    # pydantic takes time, and this is rare.
    from acp_console.agents.choices import ChoiceStore

    try:
        ChoiceStore().remember_dialect(spec, spec.dialect)
    except FileWriteError as problem:
        logger.warning("the dialect of %s is not remembered: %s", spec.name, problem)


@asynccontextmanager
async def _run_agent(
    spec: AgentSpec,
    dialect: str | None,
    cwd: Path,
    journal: Journal,
    handlers: ClientHandlers,
    start_timeout: float | None,
    quiet: QuietTimes,
    notify: Notify | None,
) -> AsyncGenerator[AgentConnection]:
    framing = "lines" if spec.takes_batches else spec.framing
    if (translator := spec.open_dialect()) is not None:
        framing = translator.framing
    async with open_agent(
        spec.address, cwd=cwd, framing=framing, observer=journal, notify=notify
    ) as opened:
        if dialect is not None:
            journal.event(DIALECT, dialect=dialect)
        handlers.turns.names_messages = not spec.takes_batches
        wire = AgentWire(opened, spec, journal)
        connecting = Connection(wire.transport, handlers, allow_batches=spec.takes_batches)
        async with handlers, connecting as connection:
            link = AgentConnection(spec, opened, connection, handlers, quiet, wire, cwd)
            try:
                await _open(link, opened, start_timeout)
                yield link
            except OperationTimeoutError as problem:
                _complete(problem, opened, link)
                raise
            finally:
                # An agent is not to blame for requests that were open when its client left.
                side = "client" if connection.is_open else "agent"
                journal.event("eof", **{"from": side})


async def _open(link: AgentConnection, opened: OpenedAgent, timeout: float | None) -> None:
    """Initialize a connection.

    Raises:
        _NotOpenedError: that failed.
    """
    try:
        await link.initialize(timeout=timeout)
    except AcpError as problem:
        if isinstance(problem, OperationTimeoutError):
            _complete(problem, opened, link)
        link.note_failure(problem, "initialize")
        spec, other = link.spec, None
        if spec.dialect is None and spec.framing is None and wants_headers(problem, link.framing):
            # The dialect that has headers is known by its response.
            other = replace(spec, framing="headers")
        elif link.other_spec is not None:
            other = link.other_spec
        elif spec.is_dialect_remembered:
            # It may have learnt the protocol since.
            other = replace(spec, dialect=None, is_dialect_remembered=False)
        raise _NotOpenedError(problem, other) from None


def _complete(problem: OperationTimeoutError, opened: OpenedAgent, link: AgentConnection) -> None:
    """Add what the agent wrote meanwhile."""
    problem.stderr_tail, problem.stray_output = opened.stderr_tail(), link.unreadable_output()
    if opened.exit_code is not None:
        problem.hint = LEFT_HINT


def _no_version(data: Json, newest: int) -> str:
    """Return an error message with the versions of both sides, and a hint if there is one."""
    versions = get_list(data, "supported")
    theirs = ", ".join(map(repr, versions)) or "none known"
    ours = "version 1" if newest == 1 else f"versions 1 to {newest}"
    hint = "; --protocol 2 asks for version 2" if 2 in versions and newest < 2 else ""
    return f"the agent speaks protocol version {theirs}; this client speaks {ours}{hint}"


def _hide(problem: AcpError, login: Login) -> None:
    """Take the secret of a login out of an error, in which an agent may repeat the request."""
    problem.args = tuple(login.hidden(str(each)) for each in problem.args)
    if isinstance(problem, RequestFailedError):
        problem.message, problem.data = login.hidden(problem.message), None


def _object(value: Json, method: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise RemoteProtocolError(f"the agent's response to {method} is not an object")
    return cast("dict[str, Json]", value)
