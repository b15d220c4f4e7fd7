"""Starts agents, several at a time, to see which of them work on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio

from acp_console.agents.catalogue import Catalogue, CatalogueEntry
from acp_console.agents.session_options import SessionOption
from acp_console.agents.spec import AgentSpec, SignInRequiredError
from acp_console.chat.probe import (
    COMMANDS_TIMEOUT_S,
    SESSION_TIMEOUT_S,
    AgentClaims,
    probe_agent,
)
from acp_protocol.errors import AcpError

JOBS: Final = 4
"""Agents that run at a time."""
MODE: Final = "mode"
MODEL: Final = "model"
"""Categories of options, and their ids where an agent names no category."""

Login: TypeAlias = Literal["", "ok", "needed"]
"""Empty: no session was opened, for another reason."""


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """What came of one agent."""

    entry: CatalogueEntry
    reason: str = ""
    """Why it was not started, did not start, or opened no session; untrusted."""
    claims: AgentClaims | None = None
    """None if it was not started, or did not start."""
    is_tried: bool = False
    """Whether it was started."""

    @property
    def has_failed(self) -> bool:
        """Whether it was started and does not work; a login that is missing is no failure."""
        return self.is_tried and self.login == "" and bool(self.reason)

    @property
    def login(self) -> Login:
        if self.claims is None:
            return ""
        match self.claims.session_error:
            case None:
                return "ok"
            case SignInRequiredError():
                return "needed"
            case _:
                return ""

    def values(self, category: str) -> tuple[str, ...]:
        """Return the ids of the modes or models of a new session."""
        options = () if self.claims is None else self.claims.options
        found = (each for each in options if _is_of(each, category))
        return tuple(dict.fromkeys(id_ for option in found for id_, _ in option.values))


def _is_of(option: SessionOption, category: str) -> bool:
    return category in {option.category, option.id if option.category is None else None}


async def check_agents(
    catalogue: Catalogue,
    entries: Sequence[CatalogueEntry],
    *,
    start_unconfirmed: bool = False,
    jobs: int = JOBS,
    start_timeout: float | None = None,
    session_timeout: float = SESSION_TIMEOUT_S,
    commands_timeout: float = COMMANDS_TIMEOUT_S,
    on_checked: Callable[[AgentCheck], object] = lambda check: None,
) -> list[AgentCheck]:
    """Start each agent whose program is there, in a directory of its own, and return what came.

    Nothing is downloaded: what `npx` or `uvx` would download is not started. Commands of the
    catalogue that the user has not confirmed are started only with `start_unconfirmed`. Without
    `start_timeout` each has as long to start as it is known to need. `on_checked` gets each result
    as soon as it is known.
    """
    results: dict[str, AgentCheck] = {}
    limiter = anyio.CapacityLimiter(jobs)

    async def check(entry: CatalogueEntry) -> None:
        if reason := why_not_started(entry, start_unconfirmed=start_unconfirmed):
            found = AgentCheck(entry, reason)
        else:
            async with limiter:
                found = await try_one(entry)
        results[entry.name] = found
        on_checked(found)

    async def try_one(entry: CatalogueEntry) -> AgentCheck:
        try:
            spec = catalogue.spec(entry, is_remembered=False)
            with tempfile.TemporaryDirectory(prefix="acp-check-", ignore_cleanup_errors=True) as at:
                claims = await probe_agent(
                    spec,
                    _directory(spec, at),
                    start_timeout=start_timeout,
                    session_timeout=session_timeout,
                    commands_timeout=commands_timeout,
                )
        except AcpError as problem:
            return AgentCheck(entry, str(problem), is_tried=True)
        error = claims.session_error
        return AgentCheck(entry, "" if error is None else str(error), claims, is_tried=True)

    async with anyio.create_task_group() as tasks:
        for entry in entries:
            tasks.start_soon(check, entry)
    return [results[entry.name] for entry in entries]


def why_not_started(entry: CatalogueEntry, *, start_unconfirmed: bool = False) -> str:
    """Return why an agent is not started; empty if it is."""
    if entry.state == "missing":
        return f"not installed; install it: {entry.install}" if entry.install else "not installed"
    if entry.state == "wrapper":
        return f"not installed; {entry.command[0]} would download it"
    if not (entry.is_confirmed or start_unconfirmed):
        return f"not started: you have not confirmed its command yet: {entry.command_line}"
    return ""


def _directory(spec: AgentSpec, temporary: str) -> Path:
    """Return where a session is opened: an agent may look for its project there."""
    return (spec.cwd or Path(temporary)).resolve()
