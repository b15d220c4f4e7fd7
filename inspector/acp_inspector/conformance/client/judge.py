"""Judges a client: plays the cases of a persona in its first turn, then looks at all it sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Final

import anyio

from acp_inspector.conformance.client.stage import CASE_FACTOR, ClientOptions, Stage
from acp_inspector.conformance.model import (
    CLIENT,
    Case,
    CaseFailedError,
    NotOfferedError,
    NotReachedError,
    Report,
    Result,
    Suite,
    Traffic,
    softened,
)
from acp_inspector.conformance.observed import observed_cases
from acp_inspector.conformance.wire import play_case
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.json_values import get_object, get_text
from acp_protocol.jsonrpc import Request
from acp_protocol.transport import Transport

SUBJECTS: Final = (
    *("requests", "permissions", "files", "terminals", "elicitation"),
    *("chatty", "slow", "out_of_order", "hostile", "batches", "leaving"),
)


@cache
def client_suite() -> Suite:
    """Return all cases for clients."""
    for name in SUBJECTS:
        import_module(f"acp_inspector.conformance.client.cases.{name}")
    for case in observed_cases("client"):
        CLIENT.add(case)
    return CLIENT


class _ClientJudge:
    def __init__(
        self,
        transport: Transport,
        close: Callable[[], Awaitable[None]],
        cases: Sequence[Case],
        options: ClientOptions,
        report: Callable[[Report], object],
    ) -> None:
        self._cases = cases
        self._options = options
        self._report = report
        self._results: dict[str, Result] = {}
        self._is_idle = anyio.Event()
        """Set while no case is being played."""
        self._is_idle.set()
        self.stage = Stage(transport, close, options, self._play)

    async def run(self) -> None:
        try:
            async with BackgroundTasks() as tasks:
                self.stage.run(tasks)
                while not self.stage.has_ended:
                    change = self.stage.change
                    await change.wait()
                # The case that is being played notices it too, and is judged.
                await self._is_idle.wait()
        finally:
            await self._finish()

    async def _play(self) -> None:
        """Play the cases of the persona within the first turn."""
        self._is_idle = anyio.Event()
        try:
            for case in self._cases:
                is_ours = case.persona == self._options.persona and not case.own
                if is_ours and case.steps is not None and not self.stage.has_ended:
                    self._results[case.id] = await self._judge(case)
        finally:
            self._is_idle.set()
        self._report(self.report())

    async def _judge(self, case: Case) -> Result:
        return await play_case(case, self.stage, CASE_FACTOR * self._options.timeout)

    async def _finish(self) -> None:
        """Judge what can be judged when the client has left; nothing here waits."""
        for case in self._cases:
            if case.own and case.persona == self._options.persona and case.steps is not None:
                self._results[case.id] = await self._at_end(case)
        self._report(self.report())

    async def _at_end(self, case: Case) -> Result:
        assert case.steps is not None
        try:
            await case.steps(self.stage)
        except CaseFailedError as problem:
            return Result(case, "fail", str(problem), self.stage.frames())
        except (NotReachedError, NotOfferedError) as problem:
            return Result(case, "not reached", str(problem))
        return Result(case, "pass")

    def report(self) -> Report:
        traffic = Traffic()
        unstable = self._options.profile == "v1-unstable"
        traffic.add(
            self.stage.linted(),
            "client",
            unstable=unstable,
            takes_batches=self.stage.takes_batches,
        )
        infos = [
            get_object(each.params, "clientInfo")
            for each in self.stage.messages
            if isinstance(each, Request) and each.method == "initialize"
        ]
        return Report(
            (get_text(infos[0], "name") if infos else None) or "client",
            "client",
            self._options.profile,
            tuple(self._verdict(case, traffic) for case in self._cases),
            self._options.persona,
        )

    def _verdict(self, case: Case, traffic: Traffic) -> Result:
        return softened(self._judged(case, traffic), self._options.profile)

    def _judged(self, case: Case, traffic: Traffic) -> Result:
        if case.steps is None:
            return traffic.judge(case, CLIENT, self._options.profile)
        result = self._results.get(case.id)
        if result is None:
            reason = f"it needs --persona {case.persona}"
            if case.persona == self._options.persona:
                reason = "the client left before, or sent no prompt"
                if self.stage.is_older:
                    reason = f"the client does not speak version {self.stage.version}"
                elif self.stage.flood:
                    reason = f"the client {self.stage.flood}"
            return Result(case, "not reached", reason)
        if result.verdict != "pass":
            return result
        return traffic.judge(case, CLIENT, self._options.profile)


async def judge_client(
    transport: Transport,
    close: Callable[[], Awaitable[None]],
    cases: Sequence[Case],
    options: ClientOptions,
    report: Callable[[Report], object],
) -> Report:
    """Play a persona until the client leaves; `report` gets the verdicts after the turn and then.

    A client may kill its agent when it leaves, hence the first report.
    """
    judge = _ClientJudge(transport, close, cases, options, report)
    await judge.run()
    return judge.report()
