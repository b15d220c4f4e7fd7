"""What a script says about its agent, and what is known of its sessions and its client."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from acp_agent.models.types import SlashCommand
from acp_agent.options import MODE, OfferedOption, OptionChoice
from acp_agent.scripted.wire import Wire
from acp_agent.updates.v1 import SessionUpdates
from acp_agent.updates.v2 import SessionUpdatesV2
from acp_protocol.connection import Connection
from acp_protocol.faults import Fault
from acp_protocol.framing import Framing
from acp_protocol.jsonrpc import Json

ScriptFunction: TypeAlias = Callable[[Any], Awaitable[Any]]
"""What a script does about a message of the client; it gets the call."""
MAX_UPDATES: Final = 10_000
"""Updates of a session that are kept for a replay; the oldest go first."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A session from before, and the function that sends what happened in it."""

    id: str
    cwd: str | None = None
    """None: where the agent was started."""
    title: str | None = None
    updated_at: str | None = None
    history: ScriptFunction | None = None


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What an agent says about itself; a script assigns it to `agent`."""

    name: str = "scripted"
    title: str = "Scripted agent"
    version: str = "1.0.0"
    protocol: int = 1
    """The newest version of the protocol."""
    capabilities: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Merged into those of the version, member by member."""
    modes: Sequence[str] = ()
    """A session starts in the first."""
    options: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The values of each option."""
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each slash command does."""
    logins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of the login methods, by their ids."""
    wants_login: bool = False
    """Whether sessions are refused until the client has logged in."""
    sessions: Sequence[Saved] = ()
    page: int | None = None
    """Sessions on one page of the list; None for all."""
    strict: bool = True
    """Whether params that violate the schema are refused."""
    seed: int = 0
    framing: Literal["lines", "content-length"] | None = None
    dialect: str | None = None

    @property
    def offered(self) -> list[OfferedOption]:
        """What can be chosen in a session."""
        rows = {MODE: self.modes, **self.options}
        return [_option(name, values) for name, values in rows.items() if values]

    @property
    def slash_commands(self) -> list[SlashCommand]:
        return [SlashCommand(name, about) for name, about in self.commands.items()]

    @property
    def wire_framing(self) -> Framing | None:
        """How frames are kept apart; None for as the dialect does."""
        names: dict[str | None, Framing] = {"lines": "lines", "content-length": "headers"}
        return names.get(self.framing)


def _option(name: str, values: Sequence[str]) -> OfferedOption:
    choices = tuple(OptionChoice(value, value.capitalize()) for value in values)
    category = name if name in {MODE, "model"} else f"_{name}"
    return OfferedOption(name, name.capitalize(), category, choices)


class Script:
    """A script that was read: its agent, and a function for each method."""

    def __init__(
        self,
        agent: Agent,
        functions: Mapping[str, ScriptFunction],
        faults: Callable[[Json, Random], Iterable[Fault]] | None = None,
    ) -> None:
        self.agent = agent
        self.functions = functions
        self.faults = faults


@dataclass(slots=True, eq=False)
class ScriptSession:
    """A session, as far as a script knows it."""

    id: str
    updates: SessionUpdates
    cwd: str = "/"
    title: str | None = None
    updated_at: str | None = None
    chosen: dict[str, str] = field(default_factory=dict[str, str])
    is_open: bool = True
    saved: ScriptFunction | None = None
    """What a replay begins with."""
    sent: deque[tuple[str, Json]] = field(
        default_factory=lambda: deque[tuple[str, Json]](maxlen=MAX_UPDATES)
    )
    """The updates so far, to send them again."""
    calls: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    """The tool calls, and what is known of each."""
    prompts: int = 0
    turns: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while a turn runs."""


class ScriptClient:
    """The client, as the calls of a script reach it."""

    version = 1
    connection: Connection
    wire: Wire
    tasks: TaskGroup

    def __init__(self, script: Script) -> None:
        self.script = script
        self.sessions: dict[str, ScriptSession] = {}
        self.capabilities: dict[str, Json] = {}
        self.has_left = anyio.Event()

    def new_session(self, session_id: str, **fields: Any) -> ScriptSession:
        """Return a new session, which the client may not know yet."""
        notifier = _Notifier(self)
        kind = SessionUpdatesV2 if self.version >= 2 else SessionUpdates
        numbers = iter(range(1, 2**62))
        updates = kind(notifier, session_id, new_id=lambda: f"{session_id}-message-{next(numbers)}")
        offered = self.script.agent.offered
        chosen = {option.id: option.chosen({}) for option in offered}
        notifier.session = ScriptSession(session_id, updates, chosen=chosen, **fields)
        return notifier.session


class _Notifier:
    """Sends the updates of a session, and keeps them for a replay."""

    session: ScriptSession

    def __init__(self, client: ScriptClient) -> None:
        self._client = client

    async def notify(self, method: str, params: Json = None) -> None:
        update = params["update"]
        # A script does not end a call that the client cancels.
        if update["sessionUpdate"] == "tool_call_update":
            update.pop("capabilities", None)
        if update["sessionUpdate"] != "state_update":
            self.session.sent.append((method, params))
        await self._client.connection.notify(method, params)
