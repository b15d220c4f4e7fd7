"""The state of a connection so far that several rules need.

It holds what each side sent: a session exists here from the first message that named
it. Rules see it as it was before the message they check; `tracker` updates it. State that only
one subject needs is kept by `LintState.of`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, RequestId, id_key

Own = TypeVar("Own")
IdKey: TypeAlias = tuple[Side, str, RequestId]
"""The side that sent the request, and the id with the name of its type."""
Origin: TypeAlias = Literal["new", "load", "resume", "fork", "listed", "child"]

FLAGS: Final[dict[Side, tuple[str, ...]]] = {
    "client": ("fs.readTextFile", "fs.writeTextFile", "terminal", "auth.terminal"),
    "agent": (
        "loadSession",
        "promptCapabilities.image",
        "promptCapabilities.audio",
        "promptCapabilities.embeddedContext",
        "mcpCapabilities.http",
        "mcpCapabilities.sse",
        "mcpCapabilities.acp",
    ),
}
"""Capabilities of version 1 that are booleans."""

MAX_NUMBER_CHARS: Final = 20
"""Characters of an integer of 64 bits."""


@dataclass(frozen=True, slots=True)
class Point:
    """A frame's number and time."""

    seq: int
    time: float


@dataclass(slots=True)
class SentRequest:
    """A request and, once it came, its response."""

    seq: int
    time: float
    side: Side
    """The sender."""
    id: RequestId
    method: str
    params: dict[str, Json]
    """Empty if they are not an object."""
    session: str | None
    is_invalid: bool = False
    """It breaks a rule of JSON-RPC, or came before `initialize` succeeded: -32600 is right."""
    cancelled: Point | None = None
    """The `$/cancel_request` that named it."""
    responded: Point | None = None
    result: Json = None
    """The result of the response, if it succeeded."""
    error: dict[str, Json] | None = None
    """The error of the response, if it failed."""
    is_refused: bool = False
    """The server refused the POST that carried it: the agent never got it."""


@dataclass(slots=True)
class SeenToolCall:
    """A tool call, as its updates and permission requests report it."""

    id: str
    first: Point
    is_announced: bool = False
    """By a `tool_call`, a first update (v2), or a permission request."""
    created: Point | None = None
    """The first `tool_call` (v1)."""
    title: Json = None
    kind: Json = None
    name: Json = None
    status: str | None = None
    status_at: Point | None = None
    """Where `status` was set last."""
    ended: Point | None = None
    """Where it became final."""
    permission: SentRequest | None = None
    """The last request for permission about it."""
    outcome: str | None = None
    """Its outcome: the chosen option's kind, `cancelled`, or another outcome's name."""
    terminals: set[str] = field(default_factory=set[str])
    """Ids of terminals that its content names."""
    capabilities: Json = None
    """The last reported ones (v2)."""


@dataclass(slots=True)
class SeenTerminal:
    """A terminal: the client's (v1), or one that the agent shows (v2)."""

    id: str
    session: str
    first: Point
    create: SentRequest | None = None
    """The `terminal/create` that made it (v1)."""
    released: Point | None = None
    killed: Point | None = None
    exited: Point | None = None
    exit_status: Json = None
    capabilities: Json = None
    """The last reported ones (v2)."""


@dataclass(slots=True)
class SeenSession:
    """A session, as the messages about it report it."""

    id: str
    origin: Origin
    first: Point
    cwd: Json = None
    roots: list[Json] = field(default_factory=list[Json])
    """Additional directories, as requested."""
    is_open: bool = False
    """It was created, loaded, resumed or forked on this connection, and not closed since."""
    closed: Point | None = None
    deleted: Point | None = None
    replays: list[SentRequest] = field(default_factory=list[SentRequest])
    """Loads, or resumes with replay, without a response yet."""
    prompts: list[SentRequest] = field(default_factory=list[SentRequest])
    """Prompts without a response yet, oldest first."""
    last_prompt: SentRequest | None = None
    """The newest one, with or without a response."""
    cancel: Point | None = None
    """The `session/cancel` that the running work has not ended from yet."""
    replied: Point | None = None
    """The client's last response to a request of the agent."""
    state: str | None = None
    """The last state that a `state_update` reported (v2)."""
    state_at: Point | None = None
    tools: dict[str, SeenToolCall] = field(default_factory=dict[str, SeenToolCall])
    terminals: dict[str, SeenTerminal] = field(default_factory=dict[str, SeenTerminal])
    """Those of v1 and v2 alike."""

    @property
    def replay(self) -> SentRequest | None:
        """The oldest of those, if there is one."""
        return self.replays[0] if self.replays else None

    @property
    def is_replaying(self) -> bool:
        """Whether its history is being replayed; repetitions are legal then."""
        return bool(self.replays)

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is being worked on."""
        if self.state is None:
            return bool(self.prompts)
        return self.state != "idle" or bool(self.prompts)


class LintState:
    """The state of one connection so far."""

    def __init__(self, *, unstable: bool = False, dialect: str | None = None) -> None:
        self.unstable = unstable
        """Whether the unstable parts of the protocol are allowed."""
        self.dialect = dialect
        """The dialect of the connection; its messages are in the published protocol here."""
        self.is_in_batch = False
        """Whether the message that is checked is one of an array."""
        self.is_http = False
        """An event of HTTP or of a WebSocket was recorded."""
        self.version: int | None = None
        """The negotiated version; 1 if a connection goes on without `initialize`."""
        self.is_disguised = False
        """The agent has agreed to version 2 in the form of version 1, which counts."""
        self.initialize: SentRequest | None = None
        """The newest `initialize`."""
        self.is_ready = False
        """`initialize` succeeded."""
        self.capabilities: dict[Side, dict[str, Json]] = {"client": {}, "agent": {}}
        """As each side claimed them; empty if it did not."""
        self.auth_methods: list[dict[str, Json]] = []
        self.login: Point | None = None
        """The last successful login that was not followed by a logout."""
        self.requests: dict[IdKey, SentRequest] = {}
        """Pending requests, the oldest of each id."""
        self.later: dict[IdKey, deque[SentRequest]] = {}
        """Newer requests that reuse the id of a pending one."""
        self.newest: SentRequest | None = None
        """The last request."""
        self._open: dict[tuple[Side, str, str | None], dict[int, SentRequest]] = {}
        """Requests that wait: for each side by "method" and by "session"; several may come in one
        frame, so it does not tell them apart."""
        self.responded: dict[IdKey, SentRequest] = {}
        """The newest answered request of each id, as far as they are remembered."""
        self.sessions: dict[str, SeenSession] = {}
        self.terminals: dict[str, SeenTerminal] = {}
        """The newest client's terminal (v1) of each id, of whatever session."""
        self.seen: dict[Side, int] = {"client": 0, "agent": 0}
        """Number of the newest frame of the other side that each has provably received."""
        self.last: dict[Side, Frame] = {}
        """The last frame of each side."""
        self.calls: dict[Side, int] = {"client": 0, "agent": 0}
        """Requests and notifications so far; of a run, those that were checked and the last."""
        self._own: dict[type, Any] = {}

    def of(self, kind: type[Own]) -> Own:
        """Return the private state of one subject; create it on first use."""
        try:
            return self._own[kind]
        except KeyError:
            own = self._own[kind] = kind()
            return own

    def assumed_version(self, side: Side) -> int | None:
        """Return the version by which to read a call before any was agreed upon.

        A client that goes on without `initialize` counts as version 1; one that goes on after it
        failed counts as the version it asked for.
        """
        if self.initialize is None:
            return 1
        if side != "client" or self.initialize.error is None:
            return None
        wanted = self.initialize.params.get("protocolVersion")
        return 2 if type(wanted) is int and wanted >= 2 else 1

    def request_with_other_id_type(self, side: Side, id_: RequestId) -> SentRequest | None:
        """Return the pending request of `side` whose id differs only in type."""
        if isinstance(id_, int):
            return self.requests.get((side, *id_key(str(id_))))
        if not isinstance(id_, str) or len(id_) > MAX_NUMBER_CHARS:
            return None
        is_number = id_.removeprefix("-").isdecimal() and id_.isascii()
        ask = self.requests.get((side, *id_key(int(id_)))) if is_number else None
        return ask if ask is not None and str(ask.id) == id_ else None

    def open(self) -> Iterator[SentRequest]:
        """Yield the pending requests, usually oldest first."""
        yield from self.requests.values()
        for later in self.later.values():
            yield from later

    def add_request(self, key: IdKey, ask: SentRequest) -> None:
        """Record a request."""
        self.newest = ask
        if self.requests.setdefault(key, ask) is not ask:
            self.later.setdefault(key, deque()).append(ask)
        for way in _ways(ask):
            self._open.setdefault(way, {})[id(ask)] = ask

    def close(self, key: IdKey) -> None:
        """Record the response to the request with an id.

        Peers usually respond in order: the oldest request with an id is the likeliest.
        """
        ask = self.requests.pop(key)
        for way in _ways(ask):
            del self._open[way][id(ask)]
            if not self._open[way]:
                del self._open[way]
        if later := self.later.get(key):
            self.requests[key] = later.popleft()
            if not later:
                del self.later[key]

    def refuse(self, key: IdKey) -> None:
        """Record that the server refused the POST with the newest request of an id."""
        ask = self.later[key][-1] if key in self.later else self.requests.get(key)
        if ask is None:
            return
        ask.is_refused = True
        session = None if ask.session is None else self.sessions.get(ask.session)
        for waiting in () if session is None else (session.prompts, session.replays):
            if ask in waiting:
                waiting.remove(ask)

    def waiting(
        self, side: Side, method: str | None = None, session: str | None = None
    ) -> Iterator[SentRequest]:
        """Yield the pending requests of `side`, oldest first."""
        if session is None and method is None:
            yield from (ask for ask in self.open() if ask.side == side)
            return
        way = (side, "session", session) if session is not None else (side, "method", method)
        for ask in self._open.get(way, {}).values():
            if method is None or ask.method == method:
                yield ask

    def claim(self, side: Side, path: str) -> Json:
        """Return what `side` declared for the capability at the dotted `path`; None if nothing."""
        value: Json = self.capabilities[side]
        for name in path.split("."):
            if not isinstance(value, dict):
                return None
            value = cast("dict[str, Json]", value).get(name)
        return value

    def claims(self, side: Side, path: str) -> bool:
        """Return whether `side` declared the capability at `path`.

        A declared capability is true where version 1 has a boolean, and an object elsewhere; any
        other value counts as undeclared.
        """
        value = self.claim(side, path)
        if self.version != 2 and path in FLAGS[side]:
            return value is True
        return isinstance(value, dict)


def _ways(ask: SentRequest) -> tuple[tuple[Side, str, str | None], ...]:
    return (ask.side, "method", ask.method), (ask.side, "session", ask.session)


def opposite(side: Side) -> Side:
    """Return the side that faces `side`."""
    return "agent" if side == "client" else "client"
