"""The agents that can be chosen, and how each is started."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from acp_protocol.errors import AcpError


class UnknownAgentError(AcpError):
    """No agent has that name."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent that can be started."""

    name: str
    title: str
    command: tuple[str, ...]
    about: str


DEMO_AGENT: Final = AgentSpec(
    name="demo",
    title="Demo agent",
    command=(sys.executable, "-m", "acp_agent"),
    about="no key, no network, yet it truly reads, searches, edits and runs",
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
        f"there is no agent {name!r}; known are: {known}. Any other stands behind -- as its command"
    )


def command_agent(command: Sequence[str]) -> AgentSpec:
    """Return an agent that is started by `command`."""
    words = tuple(command)
    return AgentSpec(PurePath(words[0]).name, PurePath(words[0]).name, words, " ".join(words))
