"""The agent that a client talks to while it is judged: it plays one persona.

It responds to the client as an agent of version 1 that offers everything. The first prompt makes it
play the cases of its persona, one after the other, within that turn; what the client sends besides
is judged by the rules of the linter when the client has left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import anyio

from acp_inspector.conformance.model import VERSION_OF, CaseFailedError, NotOfferedError, Profile
from acp_inspector.conformance.peer import SETTLE_S, TIMEOUT_S
from acp_inspector.conformance.wire import CaseWire, Reply
from acp_protocol.dialects.registry import DIALECTS
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.json_values import as_object, get, get_object, get_string, get_text
from acp_protocol.jsonrpc import (
    AUTH_REQUIRED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Json,
    Message,
    Notification,
    Request,
    encode_error,
    encode_result,
)
from acp_protocol.transport import Transport

Persona: TypeAlias = Literal[
    "well-behaved", "chatty", "slow", "out-of-order", "hostile", "dying", "login", "future"
]
PERSONAS: Final[tuple[Persona, ...]] = get_args(Persona)
DELAY_S: Final = 2.0
"""Seconds that the slow persona takes for each response."""
CASE_FACTOR: Final = 3
"""Timeouts that one case may take, at most."""
CAPABILITIES: Final[Mapping[int, Json]] = {
    1: {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": True},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
        "auth": {"logout": {}},
    },
    2: {
        "session": {
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}},
            "delete": {},
        },
        "auth": {},
    },
}
"""By version of the protocol."""
ONLY_IN: Final[Mapping[int, frozenset[str]]] = {
    1: frozenset({"authenticate", "logout", "session/load", "session/set_mode"}),
    2: frozenset({"auth/login", "auth/logout"}),
}
"""Requests of the client that only one version has."""
LATE_UPDATES: Final = "updates after session/cancel"
LATE_UPDATES_READ: Final = "response after those updates"
"""Moments in the notes of a stage."""
FUTURE_VERSION: Final = 77
MODES: Final[Json] = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How a client is judged."""

    persona: Persona = "well-behaved"
    profile: Profile = "v1"
    dialect: str | None = None
    timeout: float = TIMEOUT_S
    settle: float = SETTLE_S
    delay: float = DELAY_S


class Stage(CaseWire):
    """One connection to the judged client."""

    side = "agent"

    def __init__(
        self,
        transport: Transport,
        close: Callable[[], Awaitable[None]],
        options: ClientOptions,
        play: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(
            transport,
            timeout=options.timeout,
            settle=options.settle,
            takes_batches=options.dialect == BATCHES,
        )
        self.options = options
        self.persona = options.persona
        self.version = VERSION_OF[options.profile]
        self.capabilities: Mapping[str, Json] = {}
        """What the client claims."""
        self.cwd = "/"
        self.sessions: dict[str, str] = {}
        """The directory of each session."""
        self.session = ""
        """The session of the first prompt."""
        self.first_prompt: int | None = None
        """The place of the first prompt among the client's messages."""
        self.turn_ended: int | None = None
        """How many messages the client had sent when its first turn ended."""
        self.notes: dict[str, int] = {}
        """How many messages the client had sent at certain moments."""
        dialect = DIALECTS.get(options.dialect or "")
        self._refuses_all = dialect is not None and dialect.initializes_first
        """Whether only `initialize` is served as yet."""
        self.is_older = False
        """Whether the client speaks only versions before that of the persona."""
        self._close = close
        self._play = play
        self._turn: anyio.CancelScope | None = None
        self._values = {"model": "small"}

    # What cases do

    async def close_output(self) -> None:
        """End our output, as an agent that dies does."""
        await self._close()

    def offers(self, path: str) -> bool:
        """Return whether the client claims a capability."""
        value: Json = dict(self.capabilities)
        for name in path.split("."):
            value = get(value, name)
        return value not in {None, False} if not isinstance(value, dict | list) else True

    def require(self, path: str) -> None:
        if not self.offers(path):
            raise NotOfferedError(f"{path} is not offered")

    async def update(self, kind: str, /, session: str | None = None, **fields: Json) -> None:
        """Send a `session/update` for the session of the prompt."""
        body: Json = {"sessionUpdate": kind, **fields}
        await self.notify("session/update", {"sessionId": session or self.session, "update": body})

    async def say(self, text: str, session: str | None = None) -> None:
        await self.chunk("agent_message_chunk", {"type": "text", "text": text}, session)

    async def chunk(
        self, kind: str, content: Json, session: str | None = None, **more: Json
    ) -> None:
        """Send a part of a message, with the message's id where the version wants one."""
        id_: dict[str, Json] = {} if self.version == 1 else {"messageId": f"{kind}-1"}
        await self.update(kind, session, **id_, content=content, **more)

    async def ask(self, *options: tuple[str, str], call: str = "call-0") -> Reply:
        """Request a permission with options of these ids and kinds."""
        return await self.request(
            "session/request_permission", self.permission(*options, call=call)
        )

    def permission(self, *options: tuple[str, str], call: str = "call-0") -> Json:
        """Return the params of a permission request."""
        choices: list[Json] = [
            {"optionId": id_, "name": id_.capitalize(), "kind": kind} for id_, kind in options
        ]
        title = "A call that does nothing"
        about: dict[str, Json] = {"toolCall": {"toolCallId": call, "title": title}}
        if self.version == 2:
            tool_call: Json = {"toolCallId": call, "title": title, "status": "pending"}
            about = {"title": title, "subject": {"type": "tool_call", "toolCall": tool_call}}
        return {"sessionId": self.session, **about, "options": choices}

    # What the client requests

    def received(self, message: Message, at: int) -> None:
        match message:
            case Request():
                if message.method == "session/prompt" and self.first_prompt is None:
                    self.first_prompt = at
                self._tasks.start_soon(self._respond, message)
            case Notification(method="session/cancel"):
                if self._turn is not None:
                    self._turn.cancel()
            case _:
                pass

    async def _respond(self, request: Request) -> None:
        try:
            await self._serve(request, as_object(request.params))
        except CaseFailedError:
            # The client has left; what it owes is judged at the end.
            self.wake()

    async def _serve(self, request: Request, params: dict[str, Json]) -> None:
        if self.persona == "slow" and request.method in {"initialize", "session/new"}:
            await anyio.sleep(self.options.delay)
            self.notes.setdefault(request.method, len(self.messages))
        if self._refuses_all and request.method != "initialize":
            text = "The first request is initialize"
            await self.send(encode_error(request.id, INVALID_REQUEST, text))
            return
        if request.method == "session/prompt":
            await self._prompt(request, params)
            return
        result = self._result(request.method, params)
        if request.method == "initialize":
            self._refuses_all = False
        if isinstance(result, int):
            versions: Json = None
            if result == UNSUPPORTED_VERSION:
                requested = get(params, "protocolVersion")
                versions = {"requested": requested, "supported": [self.version]}
            await self.send(encode_error(request.id, result, "That cannot be done.", versions))
            return
        if request.method == "session/new" and self.persona == "out-of-order":
            await self._commands(str(result["sessionId"]))
        await self.send(encode_result(request.id, result))
        if request.method == "session/new" and self.persona != "out-of-order":
            await self._commands(str(result["sessionId"]))

    async def _commands(self, session: str) -> None:
        await self.update("available_commands_update", session, availableCommands=self._tour())

    def _tour(self) -> Json:
        type_: dict[str, Json] = {} if self.version == 1 else {"type": "command"}
        return [{**type_, "name": "tour", "description": "Show everything"}]

    def _result(self, method: str, params: dict[str, Json]) -> dict[str, Json] | int:
        """Return the result of a request, or the code of its error."""
        session = get_string(params, "sessionId")
        if method in ONLY_IN[3 - self.version]:
            return METHOD_NOT_FOUND
        match method:
            case "initialize":
                return self._initialize(params)
            case "authenticate" | "logout" | "auth/login" | "auth/logout":
                self.notes.setdefault(method, len(self.messages))
                return {}
            case "session/new":
                if self.persona == "login" and self.login_method not in self.notes:
                    return AUTH_REQUIRED
                new = f"session-{len(self.sessions) + 1}"
                self.sessions[new] = get_text(params, "cwd") or "/"
                return {"sessionId": new, **self._setup()}
            case "session/load" | "session/resume":
                self.sessions.setdefault(session, get_text(params, "cwd") or "/")
                return self._setup()
            case "session/list":
                return {"sessions": [{"sessionId": k, "cwd": v} for k, v in self.sessions.items()]}
            case "session/close" | "session/delete" | "session/set_mode":
                return {}
            case "session/set_config_option":
                self._values[str(params.get("configId"))] = str(params.get("value"))
                return {"configOptions": self._options()}
            case _:
                return METHOD_NOT_FOUND

    @property
    def login_method(self) -> str:
        return "authenticate" if self.version == 1 else "auth/login"

    def _initialize(self, params: dict[str, Json]) -> dict[str, Json] | int:
        wanted = get(params, "protocolVersion")
        if isinstance(wanted, int) and wanted < self.version:
            self.is_older = True
            return UNSUPPORTED_VERSION
        claims = "clientCapabilities" if self.version == 1 else "capabilities"
        self.capabilities = get_object(params, claims)
        names = (
            ("agentCapabilities", "agentInfo") if self.version == 1 else ("capabilities", "info")
        )
        method: dict[str, Json] = {"id": "key", "name": "A key"}
        if self.version == 2:
            method = {"methodId": "key", "name": "A key", "type": "agent"}
        return {
            "protocolVersion": FUTURE_VERSION if self.persona == "future" else self.version,
            names[0]: CAPABILITIES[self.version],
            names[1]: {"name": f"conform-{self.persona}", "version": "1"},
            "authMethods": [method],
        }

    def _setup(self) -> dict[str, Json]:
        if self.version == 2:
            return {"configOptions": self._options(), "availableCommands": self._tour()}
        return {"modes": MODES, "configOptions": self._options()}

    def _options(self) -> Json:
        values: Json = [{"value": each, "name": each} for each in ("small", "large")]
        return [
            {
                "id" if self.version == 1 else "configId": "model",
                "name": "Model",
                "type": "select",
                "currentValue": self._values["model"],
                "options": values,
            }
        ]

    async def _prompt(self, request: Request, params: dict[str, Json]) -> None:
        session = get_string(params, "sessionId")
        if session not in self.sessions:
            await self.send(encode_error(request.id, RESOURCE_NOT_FOUND, "No such session"))
            return
        reason = "end_turn"
        if self.version == 2:
            # The response says that the prompt is in the session; the turn ends with a state.
            id_ = f"prompt-{len(self.messages)}"
            await self.send(encode_result(request.id, {"messageId": id_}))
            content = params.get("prompt")
            await self.update("user_message", session, messageId=id_, content=content)
            await self.update("state_update", session, state="running")
        if self._turn is None:
            self.session, self.cwd = session, self.sessions[session]
            with anyio.CancelScope() as self._turn:
                await self._play()
            if self._turn.cancelled_caught:
                reason = "cancelled"
                await self._update_late()
        else:
            await self.say("That was all.", session)
        if self.turn_ended is None:
            self.turn_ended = len(self.messages)
        if self.version == 1:
            await self.send(encode_result(request.id, {"stopReason": reason}))
        else:
            await self.update("state_update", session, state="idle", stopReason=reason)
        if self.persona == "out-of-order":
            await self.say("One more thing.")

    async def _update_late(self) -> None:
        """Send updates of a tool call between the cancellation and the end of the turn."""
        self.notes[LATE_UPDATES] = len(self.messages)
        kind = "tool_call" if self.version == 1 else "tool_call_update"
        await self.update(kind, toolCallId="late", title="A call that ends", status="pending")
        await self.update("tool_call_update", toolCallId="late", status="failed")
        await self.ping()
        self.notes[LATE_UPDATES_READ] = len(self.messages)
