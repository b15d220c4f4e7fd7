"""The client that cases play: it can send any bytes, and each of its waits has a limit.

It responds to what the agent requests: files come from the directory of the session, terminals are
made up and run nothing, permissions are decided as a case wants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio

from acp_inspector.conformance.model import (
    VERSION_OF,
    CaseFailedError,
    NotOfferedError,
    NotReachedError,
    Profile,
)
from acp_inspector.conformance.wire import (
    MAX_BYTES,
    MAX_MESSAGES,
    START_FACTOR,
    CaseWire,
    Reply,
    result_of,
)
from acp_protocol.client_duties import (
    exit_result,
    find_option,
    output_result,
    permission_options,
    permission_result,
    read_file,
    write_file,
)
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.dialects.spellings import BATCHES, BATCHES_HINT, SENDS_BATCHES, WIRE_NAMES
from acp_protocol.errors import (
    AcpError,
    ConnectionClosedError,
    OperationTimeoutError,
    RemoteProtocolError,
    RequestFailedError,
)
from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.host.terminals import ExitStatus
from acp_protocol.json_values import (
    as_object,
    get,
    get_list,
    get_object,
    get_objects,
    get_string,
    get_text,
)
from acp_protocol.jsonrpc import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode_error,
    encode_request,
    encode_result,
    id_key,
)
from acp_protocol.transport import Transport

Close: TypeAlias = Callable[[], Awaitable[None]]
Connect: TypeAlias = Callable[[Path], AbstractAsyncContextManager[tuple[Transport, Close]]]
"""Starts an agent that works in a directory, and ends it; the function closes the agent's stdin."""
Permission: TypeAlias = Literal["allow", "reject", "cancel", "fail", "hold"]

TIMEOUT_S: Final = 30.0
"""Seconds that the agent has for each step."""
SETTLE_S: Final = 0.2
"""Seconds in which an agent may still send what it must not."""
LIST_WAIT_S: Final = 5.0
"""Seconds in which a session with a turn behind it may come into the list."""
NOTES: Final = "first line\nsecond line\nthird line\n"
CLAIMS: Final[Mapping[int, Mapping[str, Json]]] = {
    1: {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "auth": {"terminal": True},
        "elicitation": {"form": {}, "url": {}},
        "session": {"configOptions": {"boolean": {}}},
    },
    2: {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}},
}
INFO: Final[Mapping[str, Json]] = {"name": "acp-console-conform", "version": "1"}
DEMO_PROMPTS: Final[Mapping[str, str]] = {
    "text": "hello",
    "tool": "read notes.txt",
    "permission": "edit notes.txt: second => 2nd",
    "terminal": "run echo conformance",
    "slow": "run sleep 20",
    "plan": "plan",
    "elicitation": "ask Which one?: this, that",
    "mcp": "call conform__conform_note",
}
"""Prompts that make the demo agent do what cases need."""
PLAIN_PROMPTS: Final[Mapping[str, str]] = {"text": "Reply with one short sentence."}
PROMPT_KINDS: Final = tuple(DEMO_PROMPTS)


@dataclass(frozen=True, slots=True)
class Options:
    """How an agent is judged."""

    profile: Profile = "v1"
    dialect: str | None = None
    timeout: float = TIMEOUT_S
    settle: float = SETTLE_S
    list_wait: float = LIST_WAIT_S
    jobs: int = 4
    """Connections at a time."""
    prompts: Mapping[str, str] = field(default_factory=lambda: dict(PLAIN_PROMPTS))
    """The prompt for each kind of turn; a case whose kind is missing is not reached."""
    auth_method: str | None = None
    auth_meta: Mapping[str, Json] = field(default_factory=dict[str, Json], repr=False)
    """The `_meta` of a login by that method, with which a dialect sends a secret of the user."""
    transport: str = "stdio"
    """What carries its messages, as recordings name it."""
    max_messages: int = MAX_MESSAGES
    max_bytes: int = MAX_BYTES

    @property
    def version(self) -> int:
        return VERSION_OF[self.profile]


@dataclass(frozen=True, slots=True)
class Update:
    """One `session/update`."""

    session: str
    kind: str
    body: Mapping[str, Json]
    at: int
    """Its place among the agent's messages."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that has ended."""

    reply: Reply
    stop_reason: str | None
    updates: Sequence[Update]
    requests: Sequence[Request]
    """What the agent requested meanwhile."""

    @property
    def text(self) -> str:
        """The text of the agent's message."""
        chunks = (each.body for each in self.updates if each.kind == "agent_message_chunk")
        return "".join(get_string(get(body, "content"), "text") for body in chunks)


@dataclass(slots=True)
class StartedPrompt:
    """A prompt that was sent."""

    session: str
    id: RequestId
    at: int


class LoginNotOfferedError(AcpError):
    """The login method that the user wants is none of the agent's."""


class Peer(CaseWire):
    """One connection to the judged agent."""

    side = "client"

    def __init__(
        self,
        transport: Transport,
        close: Close,
        connect: Connect,
        directory: Path,
        options: Options,
        *,
        is_bare: bool = False,
    ) -> None:
        super().__init__(
            transport,
            timeout=options.timeout,
            settle=options.settle,
            takes_batches=options.dialect == BATCHES,
            max_messages=options.max_messages,
            max_bytes=options.max_bytes,
        )
        self._close = close
        self._connect = connect
        self.directory = directory
        self.options = options
        self.version = options.version
        self.is_bare = is_bare
        self.updates: list[Update] = []
        self.requests: list[Request] = []
        self.initialized: Mapping[str, Json] = {}
        """The result of `initialize`."""
        self.permission: Permission = "allow"
        """How permission requests are decided."""
        self.refuses_files = False
        self.elicitation: str = "decline"
        self.held: list[Request] = []
        """Permission requests that wait for a decision."""
        self._terminals = count(1)
        self._running: dict[str, list[RequestId]] = {}
        """Terminals whose command runs, with the requests that wait for its end."""
        self._session: str | None = None
        self.unanswered: Counter[str] = Counter()
        """Logins and plain `session/new` without a response, since the last one that had one."""
        self.opened: dict[str, Mapping[str, Json]] = {}
        """The result of `session/new`, by session."""
        self._files = SandboxedFiles([directory])

    def begin(self) -> None:
        """Begin a case: its frames are those from here on."""
        super().begin()
        self.permission, self.elicitation, self.refuses_files = "allow", "decline", False

    async def close_stdin(self) -> None:
        """End the agent's input; its output is still read."""
        await self._close()

    @asynccontextmanager
    async def restarted(self) -> AsyncGenerator[Peer]:
        """End the agent, and yield a connection to one that is started in the same directory."""
        await self._close()
        with anyio.move_on_after(self.timeout):
            while not self.has_ended:
                change = self.change
                await change.wait()
        self.is_left = True
        async with self._connect(self.directory) as (transport, close), BackgroundTasks() as tasks:
            later = Peer(transport, close, self._connect, self.directory, self.options)
            later.journal, later._begun = self.journal, self._begun
            self.journal.event("spawn")
            later.run(tasks)
            yield later

    # The protocol

    def claims(self) -> dict[str, Json]:
        """Return the params of `initialize`."""
        capabilities: dict[str, Json] = {} if self.is_bare else dict(CLAIMS[self.version])
        names = (
            ("clientCapabilities", "clientInfo") if self.version == 1 else ("capabilities", "info")
        )
        return {"protocolVersion": self.version, names[0]: capabilities, names[1]: dict(INFO)}

    async def initialize(self, **changes: Json) -> Mapping[str, Json]:
        """Return the result of `initialize`."""
        params = {**self.claims(), **changes}
        self.initialized = await self.result("initialize", params)
        return self.initialized

    async def greet(self) -> None:
        """Initialize, as a first try of an agent.

        Raises:
            ConnectionClosedError: the agent ends without a message.
            OperationTimeoutError: the agent sends no message.
            RemoteProtocolError: the agent sends no message, but much else, or an array of messages.
            LoginNotOfferedError: it does not offer the login that the user has chosen.
        """
        try:
            await self.initialize()
        except CaseFailedError:
            if self.has_sent_array:
                problem = f"the agent {SENDS_BATCHES}"
                raise RemoteProtocolError(problem, hint=BATCHES_HINT) from None
            if not all(isinstance(each, InvalidMessage) for each in self.messages):
                # What it sends instead of a result is judged.
                return
            if self.flood:
                raise RemoteProtocolError(f"the agent {self.flood}, and no message") from None
            if self.has_ended:
                raise ConnectionClosedError from None
            raise OperationTimeoutError("initialize", START_FACTOR * self.timeout) from None
        name = "id" if self.version == 1 else "methodId"
        offered = [
            get_string(each, name) for each in get_objects(dict(self.initialized), "authMethods")
        ]
        # An agent of a dialect need not name its methods.
        is_named = bool(offered) or self.options.dialect not in WIRE_NAMES
        if is_named and self.options.auth_method not in {None, *offered}:
            raise LoginNotOfferedError(
                f"the agent offers no login method {self.options.auth_method!r}",
                hint=f"it offers {', '.join(offered) or 'none'}",
            )

    async def open(self) -> None:
        """Initialize, once, and log in if the user has chosen how.

        Raises:
            NotReachedError: the agent does not initialize or speak the version, or the login fails.
        """
        if self.initialized:
            return
        try:
            got = (await self.initialize()).get("protocolVersion")
        except CaseFailedError as problem:
            raise NotReachedError(f"the agent did not initialize: {problem}") from None
        if got != self.version:
            raise NotReachedError(f"the agent speaks version {got}, not {self.version}")
        if self.options.auth_method is not None:
            try:
                await self.log_in(self.options.auth_method)
            except CaseFailedError as problem:
                raise NotReachedError(f"the login failed: {problem}") from None

    async def log_in(self, method_id: str) -> None:
        method = "authenticate" if self.version == 1 else "auth/login"
        self.unanswered[method] += 1
        params: dict[str, Json] = {"methodId": method_id}
        if self.options.auth_meta and method_id == self.options.auth_method:
            params["_meta"] = dict(self.options.auth_meta)
        reply = await self.request(method, params)
        self.unanswered.clear()
        result_of(reply, method)

    @property
    def capabilities(self) -> Mapping[str, Json]:
        return get_object(
            dict(self.initialized), "agentCapabilities" if self.version == 1 else "capabilities"
        )

    def offers(self, v1: str, v2: str = "") -> Json:
        """Return what the agent claims at a path; None if nothing."""
        value: Json = dict(self.capabilities)
        for name in (v1 if self.version == 1 else v2 or v1).split("."):
            value = get(value, name)
        return value if value is not False else None

    def require(self, v1: str, v2: str = "") -> None:
        """Raise unless the agent claims a capability; in version 2 `-` is the baseline."""
        if self.version == 2 and v2 == "-":
            return
        if self.offers(v1, v2) is None:
            raise NotOfferedError(f"{v1 if self.version == 1 else v2 or v1} is not offered")

    def prompt_text(self, kind: str) -> str:
        """Return the prompt for a kind of turn."""
        text = self.options.prompts.get(kind)
        if text is None:
            raise NotReachedError(f"no prompt is known for it; give --prompt-for {kind}=TEXT")
        return text.replace("{cwd}", str(self.directory))

    async def new_session(self) -> str:
        """Return a new session for a case about something else.

        Raises:
            NotReachedError: there is none.
        """
        try:
            return await self.create_session()
        except CaseFailedError as problem:
            raise NotReachedError(f"no session could be created: {problem}") from None

    async def setup_turn(self, session: str, prompt: str | list[Json]) -> Turn:
        """Play a turn for a case about something else.

        Raises:
            NotReachedError: the prompt was refused.
        """
        turn = await self.prompt(session, prompt)
        if isinstance(turn.reply, ErrorResponse):
            raise NotReachedError(f"a prompt failed: {turn.reply.code} {turn.reply.message}")
        return turn

    async def create_session(self, **params: Json) -> str:
        """Create a session, which must succeed."""
        await self.open()
        wanted: dict[str, Json] = {"cwd": str(self.directory), "mcpServers": [], **params}
        # Others may be refused, or hang, for what is special about them.
        self.unanswered["session/new"] += not params
        reply = await self.request("session/new", wanted)
        self.unanswered.clear()
        if isinstance(reply, ErrorResponse) and reply.code == AUTH_REQUIRED:
            raise NotReachedError("the agent wants a login first; give --auth METHOD")
        result = result_of(reply, "session/new")
        session = get_text(dict(result), "sessionId")
        if not session:
            raise CaseFailedError("the result of session/new has no sessionId")
        self.opened[session] = result
        return session

    async def session(self) -> str:
        """Return the session of this connection; it is created on first use."""
        if self._session is None:
            self._session = await self.new_session()
        return self._session

    async def start_prompt(
        self,
        session: str,
        prompt: str | list[Json],
        *,
        before: Sequence[bytes] = (),
        after: Sequence[bytes] = (),
    ) -> StartedPrompt:
        """Send a prompt, in one write with the lines before and after it."""
        blocks: list[Json] = (
            [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        )
        at, id_ = len(self.messages), next(self._ids)
        params: Json = {"sessionId": session, "prompt": blocks}
        await self.send(*before, encode_request(id_, "session/prompt", params), *after)
        return StartedPrompt(session, id_, at)

    async def finish(self, prompt: StartedPrompt) -> Turn:
        """Wait for the end of a turn."""
        reply = await self.response(prompt.id, prompt.at, "a response to session/prompt")
        turn = self.turns[id_key(prompt.id)]
        if isinstance(reply, SuccessResponse) and self.version == 2:
            await self.wait_for(lambda: turn.ended, "a state_update idle")
        return Turn(
            reply,
            turn.stop_reason,
            [u for u in self.updates if u.at >= prompt.at and u.session == prompt.session],
            [
                each
                for each in self.messages[prompt.at :]
                if isinstance(each, Request) and get(each.params, "sessionId") == prompt.session
            ],
        )

    async def prompt(self, session: str, prompt: str | list[Json]) -> Turn:
        """Play a whole turn."""
        return await self.finish(await self.start_prompt(session, prompt))

    async def turn(self, session: str, prompt: str | list[Json]) -> Turn:
        """Play a turn that must not be refused."""
        turn = await self.prompt(session, prompt)
        if isinstance(turn.reply, ErrorResponse):
            raise CaseFailedError(f"the prompt was refused: {turn.reply.code} {turn.reply.message}")
        return turn

    async def await_work(self, prompt: StartedPrompt) -> None:
        """Wait until the agent visibly works on a prompt."""

        def works() -> bool | None:
            if any(
                each.at >= prompt.at and each.session == prompt.session for each in self.updates
            ):
                return True
            return (
                True
                if any(isinstance(each, Request) for each in self.messages[prompt.at :])
                else None
            )

        await self.wait_for(works, "an update of the turn")

    async def start_slow(self) -> StartedPrompt:
        """Start a turn that takes long, and return when it works.

        Raises:
            NotReachedError: it has ended by then, or so soon that a cancellation may cross it.
        """
        text = self.prompt_text("slow")
        prompt = await self.start_prompt(await self.new_session(), text)
        await self.await_work(prompt)
        await self.settle()
        if self.is_over(prompt):
            raise NotReachedError("the turn ended before it could be cancelled")
        return prompt

    def is_over(self, prompt: StartedPrompt) -> bool:
        """Return whether a turn has ended, or its prompt was refused."""
        replies = (reply for _, reply in self._replies.get(id_key(prompt.id), ()))
        is_refused = any(isinstance(each, ErrorResponse) for each in replies)
        return is_refused or self.turns[id_key(prompt.id)].ended is not None

    # What the agent requests

    async def release(self, permission: Permission) -> None:
        """Decide the permission requests that wait."""
        held, self.held = self.held, []
        for request in held:
            await self._decide(request, permission)

    def received(self, message: Message, at: int) -> None:
        match message:
            case Notification(method="session/update", params=params):
                body = get_object(params, "update")
                session, kind = get_text(params, "sessionId"), get_text(body, "sessionUpdate")
                self.updates.append(Update(session or "", kind or "", body, at))
            case Request():
                self.requests.append(message)
                # An agent that waits until its output is read must not keep us from reading.
                self._tasks.start_soon(self._respond, message, self.permission)
            case _:
                pass

    async def _decide(self, request: Request, permission: Permission) -> None:
        if permission == "hold":
            self.held.append(request)
            self.wake()
            return
        if permission == "fail":
            await self.send(encode_error(request.id, INTERNAL_ERROR, "The dialog failed."))
            return
        option = None
        if permission != "cancel":
            option = find_option(permission_options(request.params), permission)
        await self.send(encode_result(request.id, permission_result(option and option.id)))

    async def _respond(self, request: Request, permission: Permission) -> None:
        """Respond to what the agent requests, unless it has closed the connection."""
        with suppress(CaseFailedError):
            if request.method == "session/request_permission":
                await self._decide(request, permission)
            else:
                await self._serve(request)

    async def _serve(self, request: Request) -> None:
        """Respond to a request for a file, a terminal or a form."""
        params = as_object(request.params)
        is_client_side = request.method.startswith(("fs/", "terminal/"))
        if self.is_bare or (self.version == 2 and is_client_side):
            await self.send(encode_error(request.id, METHOD_NOT_FOUND, "Method not found"))
        elif request.method in {"fs/read_text_file", "fs/write_text_file"}:
            await self.send(self._file(request, params))
        elif request.method.startswith("terminal/"):
            await self._terminal(request, params)
        elif request.method == "elicitation/create":
            await self.send(encode_result(request.id, {"action": self.elicitation}))
        else:
            await self.send(encode_error(request.id, METHOD_NOT_FOUND, "Method not found"))

    def _file(self, request: Request, params: Mapping[str, Json]) -> bytes:
        """Return the response to a request for a file."""
        if self.refuses_files:
            return encode_error(request.id, INTERNAL_ERROR, "The disk is broken.")
        serve = read_file if request.method == "fs/read_text_file" else write_file
        try:
            return encode_result(request.id, serve(self._files, params))
        except RequestFailedError as problem:
            return encode_error(request.id, problem.code, problem.message)

    async def _terminal(self, request: Request, params: Mapping[str, Json]) -> None:
        """Respond for a terminal: a command with `sleep` runs until it is killed or released."""
        if request.method == "terminal/create":
            id_ = f"term-{next(self._terminals)}"
            words = [params.get("command"), *get_list(dict(params), "args")]
            if any("sleep" in str(word) for word in words):
                self._running[id_] = []
            await self.send(encode_result(request.id, {"terminalId": id_}))
            return
        id_ = get_string(dict(params), "terminalId")
        runs = id_ in self._running
        result: Json = None
        match request.method:
            case "terminal/wait_for_exit" if runs:
                self._running[id_].append(request.id)
                return
            case "terminal/wait_for_exit":
                result = exit_result(ExitStatus(0, None))
            case "terminal/output" if runs:
                result = output_result("", None)
            case "terminal/output":
                result = output_result("conformance\n", ExitStatus(0, None))
            case _:
                for waiting in self._running.pop(id_, ()):
                    killed = exit_result(ExitStatus(None, "SIGKILL"))
                    await self.send(encode_result(waiting, killed))
                result = {}
        await self.send(encode_result(request.id, result))
