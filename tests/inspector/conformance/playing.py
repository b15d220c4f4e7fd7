"""Judges the scripted agent and the scripted client in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from acp_inspector.conformance.judge import agent_suite, judge_agent
from acp_inspector.conformance.model import Profile, Report
from acp_inspector.conformance.peer import Close, Options
from acp_inspector.conformance.stage import ClientOptions, Persona, client_suite, judge_client
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
}


async def judge(
    profile: Profile = "v1",
    defect: Defect | None = None,
    patterns: Sequence[str] = (),
    *,
    timeout: float = 5,
) -> Report:
    stored: dict[Path, dict[str, Session]] = {}

    @asynccontextmanager
    async def connect(directory: Path) -> AsyncGenerator[tuple[Transport, Close]]:
        ours, theirs = memory_pair()
        agent = ScriptedAgent(theirs, defect, is_unstable=profile == "v1-unstable")
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
        profile=profile, timeout=timeout, settle=0.02, jobs=8, prompts=PROMPTS, auth_method="key"
    )
    return await judge_agent(connect, agent_suite().select(profile, patterns), options)


async def judge_scripted_client(
    persona: Persona,
    directory: Path,
    defect: Defect | None = None,
    patterns: Sequence[str] = (),
    *,
    timeout: float = 20,
) -> Report:
    """Play a persona to the scripted client, and return the last report."""
    theirs, ours = memory_pair()
    options = ClientOptions(persona=persona, timeout=timeout, settle=0.02, delay=0.05)
    reports: list[Report] = []
    cases = client_suite().select("v1", patterns)
    async with BackgroundTasks() as tasks:
        try:
            tasks.start_soon(ScriptedClient(theirs, directory, defect).run)
            await judge_client(ours, ours.close_sending, cases, options, reports.append)
        finally:
            await ours.aclose()
            await theirs.aclose()
    return reports[-1]
