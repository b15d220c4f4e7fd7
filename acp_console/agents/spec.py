"""The agents that can be chosen, and the commands that start them."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Final

from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.errors import AcpError, RequestFailedError
from acp_protocol.framing import Framing
from acp_protocol.host.agent_command import resolved_command
from acp_protocol.json_values import as_object, as_text
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.opening import AgentAddress, AgentCommand
from acp_protocol.transport.remote import RemoteAgent

START_TIMEOUT_S: Final = 60.0
"""Seconds that an agent has to respond to `initialize`."""
START_TIMEOUTS_S: Final = {
    # They may download the agent first.
    **dict.fromkeys(("npx", "pnpx", "bunx", "uvx", "pipx"), 300.0),
    # They import much.
    **dict.fromkeys(("openhands", "openhands-acp", "dcode", "deepagents-acp"), 180.0),
}
"""Programs that take longer."""
MAX_PROGRAM_WORDS: Final = 4
"""Words of a command among which a program is looked for, as in `env A=1 openhands acp`."""


class UnknownAgentError(AcpError):
    """No agent has that name."""


class UnconfirmedAgentError(AcpError):
    """The user has not agreed to run the command of an agent from the catalogue."""


class SignInRequiredError(AcpError):
    """The agent requires authentication first."""

    def __init__(
        self,
        refusal: RequestFailedError,
        methods: Sequence[str],
        hint: str = "log in with the agent's own program, or set its key",
    ) -> None:
        offers = f". The agent offers: {', '.join(methods)}" if methods else ""
        super().__init__(
            f"the agent wants you to log in ({refusal.message})", hint=f"{hint}{offers}"
        )
        self.methods = tuple(methods)
        """The login methods that the agent offers, described; untrusted."""


class AuthMethodError(AcpError):
    """A login method is not offered, or cannot be used here."""


def shell_line(command: Sequence[str], env: Mapping[str, str]) -> str:
    """Return a command with its variables as one types it in a shell."""
    return " ".join([*(f"{name}={shlex.quote(env[name])}" for name in env), shlex.join(command)])


HIDDEN: Final = "…"
"""Replaces a secret in an error."""
MIN_HIDDEN: Final = 6
"""Characters of a secret that is looked for; a shorter one may be a word."""


@dataclass(frozen=True, slots=True)
class Login:
    """A login that the user has chosen before the agent offers one."""

    method: str
    """The id of the method."""
    secret: str | None = field(default=None, repr=False)
    """The token or the data that go with it, in dialects that have a place for these."""

    def hidden(self, text: str) -> str:
        """Return a text of the agent, without the token or the data if it repeats them."""
        for value in sorted(self.values, key=len, reverse=True):
            for spelling in (value, json.dumps(value)[1:-1]):
                text = text.replace(spelling, HIDDEN)
        return text

    @property
    def values(self) -> list[str]:
        """The token, or the texts of the data, as far as they differ from words."""
        secret = self.secret or ""
        try:
            data = as_object(json.loads(secret))
        except (ValueError, RecursionError):
            data = {}
        texts = [secret, *filter(None, map(as_text, data.values()))]
        return [each for each in texts if len(each) >= MIN_HIDDEN]


ACP_AGENT: Final = (sys.executable, "-P", "-m", "acp_agent")
"""The command of our agent."""
"""With -P, a package of that name in the working directory is not run instead."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent that can be started."""

    name: str
    title: str
    command: tuple[str, ...]
    """What starts it; of a remote agent its URL, without secrets, which only names it."""
    description: str
    max_protocol_version: int = 1
    """The newest protocol version to ask it for; 2 is a draft."""
    dialect: str | None = None
    """The dialect of the agent; None: detect it."""
    framing: Framing | None = None
    """The framing of the agent; None: that of its dialect, or lines until it shows another."""
    is_dialect_remembered: bool = False
    """Whether the dialect is the one of last time, and was not named now."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, repr=False)
    """Variables that it gets besides ours; may hold secrets."""
    cwd: Path | None = None
    """The directory of its sessions, unless the user names one."""
    mode: str | None = None
    """The mode of new sessions; None: the agent's own choice."""
    options: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Other options of new sessions, by id, as texts."""
    is_named: bool = False
    """Whether it was chosen by name, so that choices for it are remembered under that name."""
    mcp_servers: tuple[Mapping[str, Json], ...] = field(default=(), hash=False, repr=False)
    """The MCP servers of its sessions as version 2 writes them; may hold secrets."""
    sign_in: str = ""
    """How one signs in, where that is known."""
    login: Login | None = field(default=None, hash=False, repr=False)
    """How to log in before its first session is opened."""
    remote: RemoteAgent | None = field(default=None, repr=False)
    """Where it is, if it runs elsewhere."""

    @property
    def start_timeout(self) -> float:
        """Seconds that it has to respond to `initialize`, by the programs in its command."""
        if self.remote is not None:
            return START_TIMEOUT_S
        names = (PurePath(word).name for word in self.command[:MAX_PROGRAM_WORDS])
        return max((START_TIMEOUTS_S.get(name, START_TIMEOUT_S) for name in names), default=0.0)

    def with_protocol(self, newest: int | None, dialect: str | None = None) -> AgentSpec:
        """Return the same agent with another protocol version or dialect; None: its own."""
        command = self.command
        newest = newest or self.max_protocol_version
        is_remembered = self.is_dialect_remembered and dialect is None
        dialect = dialect or self.dialect
        if dialect == BATCHES:
            newest = max(newest, 2)
        if self.is_embedded_demo and newest > 1:
            command = (*command, "--protocol", str(newest))
        if self.is_embedded_demo and dialect is not None:
            command = (*command, "--dialect", dialect)
        return replace(
            self,
            command=command,
            max_protocol_version=newest,
            dialect=dialect,
            is_dialect_remembered=is_remembered,
        )

    @property
    def speech(self) -> str:
        """What is known of how it speaks, as the end of a sentence."""
        if self.dialect is not None:
            return f"speaks {self.dialect}"
        if self.framing == "headers":
            return "writes Content-Length headers before its messages"
        return "speaks no dialect any more"

    @property
    def takes_batches(self) -> bool:
        """Whether arrays of messages are accepted from it."""
        return self.dialect == BATCHES

    def open_dialect(self, directory: Path | None = None) -> Dialect | None:
        """Return a new dialect for one connection; None: not known yet.

        The agent works in `directory`, which readers have to know.
        """
        if self.dialect is None or self.takes_batches:
            return None
        # Imported late: dialects are rare, and their modules are slow to import.
        from acp_protocol.dialects.registry import open_dialect

        return open_dialect(self.dialect, str(directory or ""))

    def absolute_command(self) -> tuple[str, ...]:
        """Return the command with absolute paths for files of our directory.

        It was typed here, and is started in the directory of the session. The words of an agent
        with a name were not typed here, except for the path of its program. A remote agent has no
        command to start; see `address`.
        """
        if self.remote is not None:
            return self.command
        if self.is_named:
            return (*resolved_command(self.command[:1], Path.cwd()), *self.command[1:])
        return resolved_command(self.command, Path.cwd())

    @property
    def address(self) -> AgentAddress:
        """Where it is, and so how it is opened."""
        if self.remote is not None:
            return replace(self.remote, dialect=self.dialect)
        return AgentCommand(self.absolute_command(), {**os.environ, **self.env})

    @property
    def transport(self) -> str:
        """What carries its frames, as recordings name it."""
        if self.remote is None:
            return "stdio"
        return "websocket" if self.remote.is_websocket else "http"

    @property
    def is_embedded_demo(self) -> bool:
        """Whether it is the embedded demo agent, which takes the version as an option."""
        return self.name == "demo" and self.command[: len(ACP_AGENT)] == ACP_AGENT


DEMO_AGENT: Final = AgentSpec(
    name="demo",
    title="Demo agent",
    command=(*ACP_AGENT, "--no-config"),
    description="reads, searches, edits and runs for real, without key or network",
    is_named=True,
)
AGENTS: Final = (DEMO_AGENT,)


def remote_agent(remote: RemoteAgent) -> AgentSpec:
    """Return an agent without a name that runs elsewhere."""
    url = remote.shown_url
    return AgentSpec(remote.host, remote.host, (url,), url, remote=remote)


def command_agent(command: Sequence[str]) -> AgentSpec:
    words = tuple(command)
    return AgentSpec(PurePath(words[0]).name, PurePath(words[0]).name, words, " ".join(words))
