"""The agents that can be chosen, and the commands that start them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.registry import BATCHES
from acp_protocol.errors import AcpError, RequestFailedError


class UnknownAgentError(AcpError):
    """No agent has that name."""


class SignInRequiredError(AcpError):
    """The agent requires authentication first."""

    def __init__(self, refusal: RequestFailedError, methods: Mapping[str, str]) -> None:
        ways = [f"{name} ({about})" if about else name for name, about in methods.items()]
        offers = f". The agent offers: {', '.join(ways)}" if ways else ""
        super().__init__(
            f"the agent wants you to log in ({refusal.message}), which acp-console cannot do yet: "
            f"log in with the agent's own program or set its key, then start again{offers}"
        )
        self.methods = tuple(methods)
        """Names of the login methods that the agent offers; untrusted."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent that can be started."""

    name: str
    title: str
    command: tuple[str, ...]
    description: str
    max_protocol_version: int = 1
    """The newest protocol version to ask it for; 2 is a draft."""
    dialect: str | None = None
    """The dialect of the agent; None: detect it."""

    def with_protocol(self, newest: int, dialect: str | None = None) -> AgentSpec:
        """Return the same agent with another protocol version or dialect."""
        command = self.command
        if dialect == BATCHES:
            newest = max(newest, 2)
        if self.is_embedded_demo and newest > 1:
            command = (*command, "--protocol", str(newest))
        if self.is_embedded_demo and dialect is not None:
            command = (*command, "--dialect", dialect)
        return replace(self, command=command, max_protocol_version=newest, dialect=dialect)

    def open_dialect(self) -> Dialect | None:
        """Return a new dialect for one connection; None: not known yet."""
        if self.dialect is None or self.dialect == BATCHES:
            return None
        # Imported late: dialects are rare, and their modules are slow to import.
        from acp_protocol.dialects.registry import open_dialect

        return open_dialect(self.dialect)

    @property
    def is_embedded_demo(self) -> bool:
        """Whether it is the embedded demo agent, which takes the version as an option."""
        return self.name == "demo" and self.command[:3] == (sys.executable, "-m", "acp_agent")


DEMO_AGENT: Final = AgentSpec(
    name="demo",
    title="Demo agent",
    command=(sys.executable, "-m", "acp_agent", "--no-config"),
    description="reads, searches, edits and runs for real, without key or network",
)
AGENTS: Final = (DEMO_AGENT,)


def find_agent(name: str) -> AgentSpec:
    """Return the known agent of that name.

    Raises:
        UnknownAgentError: there is none.
    """
    for agent in AGENTS:
        if agent.name == name:
            return agent
    known = ", ".join(agent.name for agent in AGENTS)
    raise UnknownAgentError(
        f"unknown agent {name!r}; known agents: {known}. Give other agents as a command after --"
    )


def command_agent(command: Sequence[str]) -> AgentSpec:
    words = tuple(command)
    return AgentSpec(PurePath(words[0]).name, PurePath(words[0]).name, words, " ".join(words))
