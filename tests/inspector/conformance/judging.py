"""Judges the scripted agent and the scripted client in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from acp_inspector.conformance.agent.judge import agent_suite, judge_agent
from acp_inspector.conformance.client.judge import client_suite, judge_client
from acp_inspector.conformance.client.stage import ClientOptions, Persona
from acp_inspector.conformance.model import VERSION_OF, Case, Profile, Report, Suite
from acp_inspector.conformance.peer import Close, Options
from acp_inspector.conformance.wire import MAX_BYTES, MAX_MESSAGES
from acp_inspector.journal import Journal
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.transport import Transport
from acp_protocol.transport.memory import memory_pair
from tests.inspector.conformance.scripted_agent import Defect, ScriptedAgent, Session
from tests.inspector.conformance.scripted_client import ScriptedClient

PROMPTS = {
    "text": "hello",
    "tool": "tool",
    "permission": "edit",
    "terminal": "terminal",
    "slow": "slow",
    "plan": "plan",
    "elicitation": "form",
    "mcp": "mcp",
}


AnyProfile: TypeAlias = Profile | Literal["v2-batch"]
"""A profile, or the dialect of version 2."""


def profile_and_dialect(name: AnyProfile) -> tuple[Profile, str | None]:
    return ("v2", name) if name == "v2-batch" else (name, None)


def cases_of(suite: Suite, name: AnyProfile, patterns: Sequence[str] = ()) -> list[Case]:
    profile, dialect = profile_and_dialect(name)
    return suite.select(profile, patterns, dialect=dialect)


async def judge(
    name: AnyProfile = "v1",
    defect: Defect | None = None,
    patterns: Sequence[str] = (),
    *,
    timeout: float = 5,
    max_messages: int = MAX_MESSAGES,
    max_bytes: int = MAX_BYTES,
    prompts: Mapping[str, str] = PROMPTS,
    auth_method: str | None = "key",
) -> Report:
    """Judge the scripted agent."""
    profile, dialect = profile_and_dialect(name)
    stored: dict[Path, dict[str, Session]] = {}

    @asynccontextmanager
    async def connect(directory: Path) -> AsyncGenerator[tuple[Transport, Close]]:
        ours, theirs = memory_pair()
        agent = ScriptedAgent(theirs, defect, is_unstable=profile == "v1-unstable")
        agent.takes_batches = dialect is not None
        agent.take_over(stored.setdefault(directory, {}))

        async def live() -> None:
            await agent.run()
            await theirs.aclose()

        async with BackgroundTasks() as tasks:
            tasks.start_soon(live)
            try:
                yield ours, ours.close_sending
            finally:
                await ours.aclose()
                await theirs.aclose()

    options = Options(
        profile=profile,
        dialect=dialect,
        timeout=timeout,
        settle=0.02,
        list_wait=0.1,
        jobs=8,
        prompts=prompts,
        auth_method=auth_method,
        max_messages=max_messages,
        max_bytes=max_bytes,
    )
    return await judge_agent(connect, cases_of(agent_suite(), name, patterns), options)


class Recorded:
    """The end of the client, with a journal of what passes."""

    def __init__(self, transport: Transport, journal: Journal) -> None:
        self._transport = transport
        self._journal = journal

    async def send(self, line: bytes) -> None:
        self._journal.line("client", line)
        await self._transport.send(line)

    async def receive(self) -> bytes:
        line = await self._transport.receive()
        self._journal.line("agent", line)
        return line

    async def aclose(self) -> None:
        await self._transport.aclose()


async def judge_scripted_client(
    persona: Persona,
    directory: Path,
    defect: Defect | None = None,
    patterns: Sequence[str] = (),
    *,
    profile: AnyProfile = "v1",
    timeout: float = 20,
    journal: Journal | None = None,
) -> Report:
    """Play a persona to the scripted client, and return the last report.

    What both sides send is put into `journal`.
    """
    theirs, ours = memory_pair()
    client: Transport = theirs if journal is None else Recorded(theirs, journal)
    official, dialect = profile_and_dialect(profile)
    options = ClientOptions(persona, official, dialect, timeout, settle=0.02, delay=0.05)
    reports: list[Report] = []
    cases = cases_of(client_suite(), profile, patterns)
    version = VERSION_OF[official]
    async with BackgroundTasks() as tasks:
        try:
            scripted = ScriptedClient(client, directory, defect, version=version)
            scripted.takes_batches = dialect is not None
            tasks.start_soon(scripted.run)
            await judge_client(ours, ours.close_sending, cases, options, reports.append)
        finally:
            await ours.aclose()
            await theirs.aclose()
    return reports[-1]
