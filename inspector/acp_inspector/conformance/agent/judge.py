"""Judges an agent: plays the cases, several connections at a time."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import anyio

from acp_inspector.conformance.agent.cases.ordinary import ORDINARY
from acp_inspector.conformance.batches import add_batch_cases
from acp_inspector.conformance.model import (
    AGENT,
    Case,
    CaseFailedError,
    NotReachedError,
    Report,
    Result,
    Suite,
    Traffic,
    softened,
)
from acp_inspector.conformance.observed import OTHER_TRAFFIC, observed_cases
from acp_inspector.conformance.peer import NOTES, Connect, Options, Peer
from acp_inspector.conformance.wire import START_FACTOR, play_case
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AgentStartError
from acp_protocol.json_values import get_string

SUBJECTS: Final = ("opening", "sessions", "servers", "turns")
CASE_FACTOR: Final = 4
"""Timeouts that one case may take, at most, beside the start of the agent."""
MAX_USELESS: Final = 2
"""Connections on which the agent sends nothing or floods, after which it is not started again."""
MAX_SILENT: Final = 4
"""Connections on which no session was opened, for lack of a response, if none was on any other."""
MAX_UNANSWERED: Final = 2
"""Requests for a session without a response, after which a connection is given up."""


async def judge_agent(
    connect: Connect,
    cases: Sequence[Case],
    options: Options,
    *,
    name: str = "",
    on_played: Callable[[int, int], object] = lambda played, total: None,
) -> Report:
    """Play `cases` and return the verdicts.

    Cases that leave no trace share connections; the others have one each. `on_played` gets after
    each case how many were played, and how many will be: those without steps are judged at the end.

    Raises:
        AgentStartError: the agent could not be started.
        AcpError: it does not work at all, see `Peer.greet`.
    """
    judge = _AgentJudge(connect, options, on_played)
    await judge.greet()
    await judge.run(cases)
    return Report(
        judge.name or name,
        "agent",
        options.profile,
        tuple(judge.verdict(case) for case in cases),
    )


@cache
def agent_suite() -> Suite:
    """Return all cases for agents."""
    for name in SUBJECTS:
        import_module(f"acp_inspector.conformance.agent.cases.{name}")
    add_batch_cases(AGENT)
    for case in (*observed_cases("agent"), OTHER_TRAFFIC):
        AGENT.add(case)
    return AGENT


class _AgentJudge:
    def __init__(
        self, connect: Connect, options: Options, on_played: Callable[[int, int], object]
    ) -> None:
        self._connect = connect
        self._on_played = on_played
        self._total = 0
        self._options = options
        self._traffic = Traffic()
        self._results: dict[str, Result] = {}
        self._queue: list[list[Case]] = []
        self._start_error: AgentStartError | None = None
        self._useless: Counter[str] = Counter()
        """How many connections were useless, by what the agent did."""
        self._has_session = False
        """Whether the agent has ever opened a session."""
        self.name = ""
        """How the agent introduced itself."""

    async def greet(self) -> None:
        """Raise unless the agent sends a message."""
        async with self._peer() as peer:
            await peer.greet()

    async def run(self, cases: Sequence[Case]) -> None:
        played = [case for case in cases if case.steps is not None]
        shared = [case for case in played if not case.own]
        each = -(-len(shared) // self._options.jobs)
        self._queue = [shared[at : at + each] for at in range(0, len(shared), each)] if each else []
        if len(played) < len(cases):
            # Cases without steps are judged by traffic; here is some, whatever else is played.
            self._queue += [[case] for case in ORDINARY]
        self._queue += [[case] for case in played if case.own]
        self._total = sum(map(len, self._queue))
        async with anyio.create_task_group() as tasks:
            for _ in range(min(self._options.jobs, len(self._queue))):
                tasks.start_soon(self._work, tasks.cancel_scope)
        if self._start_error is not None:
            raise self._start_error

    def verdict(self, case: Case) -> Result:
        played = self._results.get(case.id)
        if played is not None and played.verdict != "pass":
            return softened(played, self._options.profile)
        return softened(
            self._traffic.judge(case, AGENT, self._options.profile), self._options.profile
        )

    async def _work(self, scope: anyio.CancelScope) -> None:
        try:
            while self._queue:
                batch = self._queue.pop(0)
                while batch:
                    if reason := self._given_up():
                        self._pass_over(batch, reason)
                        break
                    batch = await self._connection(batch)
        except AgentStartError as problem:
            self._start_error = problem
            scope.cancel()

    @asynccontextmanager
    async def _peer(self, *, is_bare: bool = False) -> AsyncGenerator[Peer]:
        """Yield a connection to an agent that works in a directory of its own."""
        with tempfile.TemporaryDirectory(prefix="acp-conform-") as directory:
            home = Path(await anyio.Path(directory).resolve())
            await anyio.Path(home / "notes.txt").write_text(NOTES)
            async with (
                self._connect(home) as (transport, close),
                BackgroundTasks() as tasks,
            ):
                peer = Peer(transport, close, self._connect, home, self._options, is_bare=is_bare)
                peer.run(tasks)
                yield peer

    async def _connection(self, cases: list[Case]) -> list[Case]:
        """Play cases on one connection; return those that need another one."""
        async with self._peer(is_bare=cases[0].is_bare) as peer:
            try:
                return await self._play(peer, cases)
            finally:
                if peer.flood:
                    self._useless[peer.flood] += 1
                elif peer.journal.entries and not peer.messages and not peer.has_ended:
                    self._useless["sent nothing"] += 1
                elif silence := _silence(peer):
                    self._useless[silence] += 1
                unstable = self._options.profile == "v1-unstable"
                self._traffic.add(
                    peer.linted(), "agent", unstable=unstable, takes_batches=peer.takes_batches
                )
                info = peer.initialized.get("agentInfo") or peer.initialized.get("info")
                self.name = self.name or get_string(info, "name")

    def _given_up(self) -> str:
        """Return why the agent is not started again; empty if it is."""
        for what, number in self._useless.items():
            most = MAX_SILENT if what.startswith("did not respond") else MAX_USELESS
            if number >= most and not (most == MAX_SILENT and self._has_session):
                return f"the agent {what} on {number} connections"
        return ""

    def _pass_over(self, cases: Sequence[Case], reason: str) -> None:
        for each in cases:
            self._note(Result(each, "not reached", reason))

    def _note(self, result: Result) -> None:
        self._results[result.case.id] = result
        self._on_played(len(self._results), self._total)

    async def _play(self, peer: Peer, cases: list[Case]) -> list[Case]:
        if not cases[0].own:
            try:
                await peer.open()
            except (CaseFailedError, NotReachedError) as problem:
                self._pass_over(cases, f"no session could be opened: {problem}")
                return []
        for place, case in enumerate(cases):
            result = await self._judge(case, peer)
            self._note(result)
            self._has_session = self._has_session or bool(peer.opened)
            if _silence(peer) and not self._has_session:
                # Each other case would wait as long; perhaps not on another connection.
                return cases[place + 1 :]
            if result.verdict == "fail" and not case.own:
                # What failed may have left something behind.
                return cases[place + 1 :]
        return []

    async def _judge(self, case: Case, peer: Peer) -> Result:
        factor = CASE_FACTOR + START_FACTOR * case.own
        return await play_case(case, peer, factor * self._options.timeout)


def _silence(peer: Peer) -> str:
    """Return to which request the agent does not respond before a session; empty if it does."""
    if peer.opened or peer.has_ended:
        return ""
    for method, number in peer.unanswered.items():
        if number >= (MAX_UNANSWERED if method == "session/new" else 1):
            return f"did not respond to {method}"
    return ""
