"""Judges an agent: plays the cases, several connections at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import anyio

from acp_inspector.conformance.model import (
    AGENT,
    Case,
    CaseFailedError,
    NotOfferedError,
    NotReachedError,
    Report,
    Result,
    Suite,
    Traffic,
)
from acp_inspector.conformance.peer import NOTES, Connect, Options, Peer
from acp_inspector.conformance.wire import START_FACTOR
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AgentStartError
from acp_protocol.json_values import get_text

SUBJECTS: Final = ("opening", "sessions", "turns", "observed")
CASE_FACTOR: Final = 4
"""Timeouts that one case may take, at most, beside the start of the agent."""
MAX_SILENT: Final = 2
"""Connections without any message of the agent, after which it is not started again."""


async def judge_agent(
    connect: Connect, cases: Sequence[Case], options: Options, *, name: str = ""
) -> Report:
    """Play `cases` and return the verdicts.

    Cases that leave no trace share connections; the others have one each.

    Raises:
        AgentStartError: the agent could not be started.
    """
    judge = _AgentJudge(connect, options)
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
        import_module(f"acp_inspector.conformance.agent_cases.{name}")
    return AGENT


class _AgentJudge:
    def __init__(self, connect: Connect, options: Options) -> None:
        self._connect = connect
        self._options = options
        self._traffic = Traffic()
        self._results: dict[str, Result] = {}
        self._queue: list[list[Case]] = []
        self._start_error: AgentStartError | None = None
        self._silent = 0
        self.name = ""
        """How the agent introduced itself."""

    async def run(self, cases: Sequence[Case]) -> None:
        played = [case for case in cases if case.steps is not None]
        shared = [case for case in played if not case.own]
        each = -(-len(shared) // self._options.jobs)
        self._queue = [shared[at : at + each] for at in range(0, len(shared), each)] if each else []
        self._queue += [[case] for case in played if case.own]
        if not self._queue:
            # Cases without steps are judged by the traffic of one plain turn.
            self._queue = [[]]
        async with anyio.create_task_group() as tasks:
            for _ in range(min(self._options.jobs, len(self._queue))):
                tasks.start_soon(self._work, tasks.cancel_scope)
        if self._start_error is not None:
            raise self._start_error

    def verdict(self, case: Case) -> Result:
        played = self._results.get(case.id)
        if played is not None and played.verdict != "pass":
            return played
        return self._traffic.judge(case, AGENT)

    async def _work(self, scope: anyio.CancelScope) -> None:
        try:
            while self._queue:
                batch = self._queue.pop(0)
                while batch := await self._connection(batch):
                    pass
        except AgentStartError as problem:
            self._start_error = problem
            scope.cancel()

    async def _connection(self, cases: list[Case]) -> list[Case]:
        """Play cases on one connection; return those that need another one."""
        async with AsyncExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="acp-conform-"))
            home = Path(await anyio.Path(directory).resolve())
            await anyio.Path(home / "notes.txt").write_text(NOTES)
            transport, close = await stack.enter_async_context(self._connect(home))
            tasks = await stack.enter_async_context(BackgroundTasks())
            is_bare = bool(cases) and cases[0].is_bare
            peer = Peer(transport, close, self._connect, home, self._options, is_bare=is_bare)
            peer.run(tasks)
            try:
                return await self._play(peer, cases)
            finally:
                is_hung = not peer.messages and not peer.has_ended
                self._silent += is_hung and bool(peer.journal.entries)
                unstable = self._options.profile == "v1-unstable"
                self._traffic.add(peer.journal.entries, "agent", unstable=unstable)
                info = peer.initialized.get("agentInfo") or peer.initialized.get("info")
                self.name = self.name or get_text(info, "name") or ""

    async def _play(self, peer: Peer, cases: list[Case]) -> list[Case]:
        if not cases or not cases[0].own:
            try:
                await peer.open()
                if not cases:
                    await peer.turn(await peer.session(), self._options.prompts["text"])
            except (CaseFailedError, NotReachedError) as problem:
                reason = f"no session could be opened: {problem}"
                self._results |= {each.id: Result(each, "not reached", reason) for each in cases}
                return []
        for place, case in enumerate(cases):
            if self._silent >= MAX_SILENT:
                reason = f"the agent sent nothing on {MAX_SILENT} connections"
                self._results[case.id] = Result(case, "not reached", reason)
                continue
            result = await self._judge(case, peer)
            self._results[case.id] = result
            if result.verdict == "fail" and not case.own:
                # What failed may have left something behind.
                return cases[place + 1 :]
        return []

    async def _judge(self, case: Case, peer: Peer) -> Result:
        assert case.steps is not None
        peer.begin()
        try:
            factor = CASE_FACTOR + START_FACTOR * case.own
            with anyio.fail_after(factor * self._options.timeout):
                await case.steps(peer)
        except TimeoutError:
            return Result(case, "fail", "the case took too long", peer.frames())
        except CaseFailedError as problem:
            return Result(case, "fail", str(problem), peer.frames())
        except NotOfferedError as problem:
            return Result(case, "not offered", str(problem))
        except NotReachedError as problem:
            return Result(case, "not reached", str(problem))
        return Result(case, "pass", frames=peer.frames())
