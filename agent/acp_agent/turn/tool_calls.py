"""Tool calls: preparing, showing, asking about and running them, alone and in batches.

A call that was shown always gets a final status: success, failure, rejection, cancellation of the
turn, or a bug of ours. Calls of one reply that only read run together, all others one by one; the
client sees them, and the model gets their results, in the order in which the model made them.

Source: ACP, Tool Calls; ACP, Prompt Turn, "Cancellation".
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

import anyio

from acp_agent.models.types import ToolResult, ToolUse
from acp_agent.permissions.audit import AuditLog, AuditRecord
from acp_agent.permissions.decide import Decision, SessionPermissions, Verdict
from acp_agent.sessions.store import StoreError
from acp_agent.tools.call import (
    NAME_WIDTH,
    Content,
    Outcome,
    PreparedCall,
    Tool,
    ToolFailedError,
    ToolKind,
    text_content,
)
from acp_agent.updates.v1 import Notifier, SessionUpdates
from acp_agent.workspace import Workspace
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

FINAL_STATUS_TIMEOUT_S: Final = 2.0
"""Seconds for sending the final status of an open call when the turn is cancelled."""
_REASONS: Final[dict[Verdict, str]] = {
    "reject": "rejected by the user",
    "forbidden": "this mode changes nothing and runs nothing",
    "cancelled": "cancelled",
}
_NO_ANSWER: Final = (
    "not allowed: the client could not ask the user, or answered with what was not offered"
)


class SessionClient(Notifier, Protocol):
    """The client, as a turn uses it."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Send a request; return its result."""
        ...


@dataclass
class ToolContext:
    """What tool calls work with; it all belongs to the session."""

    session_id: str
    client: SessionClient
    updates: SessionUpdates
    workspace: Workspace
    permissions: SessionPermissions
    tools: Mapping[str, Tool]
    call_count: int = 0
    """Calls so far; the next one is named by the number behind it."""
    audit: AuditLog | None = None
    permission_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while the user is asked: one question at a time, and none that the last one answers."""
    running: dict[str, anyio.CancelScope] = field(default_factory=dict[str, anyio.CancelScope])
    """The calls that run, by their ids: each can be ended by itself."""

    def new_call(self, wanted: ToolUse) -> ToolCallRunner:
        """Return a call that the client has not seen yet."""
        return ToolCallRunner(self, wanted)

    async def run_call(self, wanted: ToolUse) -> ToolResult | None:
        """Run one call and show it; None if the user cancelled."""
        call = self.new_call(wanted)
        async with call.closing():
            await call.prepare()
            await call.show()
            return await call.run()


class ToolCallRunner:
    """A tool call as the client knows it: prepared, shown, asked about, run, in this order."""

    def __init__(self, desk: ToolContext, wanted: ToolUse) -> None:
        self._desk = desk
        self._id = ""
        self._wanted = wanted
        self._is_open = False
        self._call: PreparedCall | ToolFailedError | None = None
        self._content: Content = ()
        self._last: Mapping[str, Json] | None = None

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[None]:
        """Send a final status when the block ends, however it ends."""
        try:
            yield
        except BaseException as problem:
            is_cancelled = isinstance(problem, anyio.get_cancelled_exc_class())
            with (
                anyio.move_on_after(FINAL_STATUS_TIMEOUT_S, shield=True),
                suppress(ConnectionClosedError),
            ):
                await self._close(_REASONS["cancelled"] if is_cancelled else _broken_off(problem))
            raise

    async def prepare(self) -> None:
        """Find out what the call would do, without doing it."""
        tool = self._desk.tools.get(self._wanted.name)
        if tool is None:
            self._call = ToolFailedError(
                f"there is no tool {single_line(self._wanted.name, NAME_WIDTH)}"
            )
            return
        try:
            with self._bugs_as_failures():
                workspace = self._desk.workspace.filtered(self._desk.permissions.result_filter)
                self._call = await tool.prepare(self._wanted.arguments, workspace)
        except ToolFailedError as problem:
            self._call = problem

    async def show(self) -> None:
        """Show the call to the client."""
        members: Mapping[str, Json] = {"title": single_line(self._wanted.name, NAME_WIDTH)}
        if isinstance(self._call, PreparedCall):
            self._content = self._call.content
            members = _shown(self._call)
        self._desk.call_count += 1
        self._id = f"call_{self._desk.call_count}"
        fields = {"name": self._wanted.name, "rawInput": dict(self._wanted.arguments)}
        await self._desk.updates.start_call(self._id, {**members, **fields})
        self._is_open = True

    async def run(self) -> ToolResult | None:
        """Run the call if that is allowed; return its result, None if the user cancelled."""
        call = self._call
        assert call is not None
        if isinstance(call, ToolFailedError):
            return await self._failed(str(call))
        ruling = self._desk.permissions.decide(call) or await self._decide_with_user(call)
        self._audit(call, ruling)
        if ruling.verdict != "allow":
            answer = await self._failed(_reason(ruling))
            return None if ruling.verdict == "cancelled" else answer
        await self._send_update({"status": "in_progress"})
        if call.plan is not None:
            await self._desk.updates.plan(call.plan)
        try:
            outcome = await self._run(call)
        except ToolFailedError as problem:
            return await self._failed(str(problem))
        if outcome is None:
            return await self._failed(_REASONS["cancelled"])
        return await self._ended(outcome)

    async def _run(self, call: PreparedCall) -> Outcome | None:
        """Run the call; None if it was ended by itself, and the turn goes on."""
        outcome: Outcome | None = None
        scope = self._desk.running[self._id] = anyio.CancelScope()
        try:
            with scope, self._bugs_as_failures():
                outcome = await call.run(self._report)
        finally:
            del self._desk.running[self._id]
        return outcome

    @contextmanager
    def _bugs_as_failures(self) -> Generator[None]:
        """Turn a bug in a tool into a failure of its call, not of the turn; log the traceback.

        Raises:
            ToolFailedError: there was one.
        """
        try:
            yield
        except (ToolFailedError, ConnectionClosedError, StoreError):
            raise
        except Exception:
            logger.exception("the tool %s has made a mistake", single_line(self._wanted.name, 80))
            raise ToolFailedError("failed by a mistake of the agent's") from None

    async def _close(self, reason: str) -> None:
        """Send a final status, if the call was shown and has none."""
        if not self._is_open:
            return
        # The final status may not have been sent; sending it twice does no harm.
        await self._desk.updates.finish_call(self._id, self._last or self._failure(reason))

    async def _decide_with_user(self, call: PreparedCall) -> Decision:
        try:
            async with self._desk.permission_lock:
                # A choice made meanwhile may cover this call, too.
                known = self._desk.permissions.decide(call)
                return known or await self._request_permission(call)
        except anyio.get_cancelled_exc_class():
            self._audit(call, Decision("cancelled", "turn"))
            raise

    async def _request_permission(self, call: PreparedCall) -> Decision:
        desk = self._desk
        options = desk.permissions.options(call)
        params = desk.updates.permission_request(self._id, _shown(call), options)
        await desk.updates.enter_waiting()
        try:
            answer = await desk.client.request("session/request_permission", params)
        except RequestFailedError:
            # A client that cannot ask its user has not consented.
            await desk.updates.leave_waiting()
            return Decision("reject", "client")
        await desk.updates.leave_waiting()
        ruling = desk.permissions.record_choice(call, answer)
        known = desk.permissions.decide(call) if ruling.verdict == "allow" else None
        # The mode may have been set to one that forbids it while the user thought about it.
        return known if known is not None and known.verdict != "allow" else ruling

    def _audit(self, call: PreparedCall, ruling: Decision) -> None:
        if self._desk.audit is not None:
            decision = AuditRecord(
                session=self._desk.session_id,
                call=self._id,
                tool=self._wanted.name,
                kind=call.kind,
                subjects=call.touched,
                verdict=ruling.verdict,
                decided_by=ruling.decided_by,
                rule=ruling.rule,
            )
            self._desk.audit.append(decision)

    async def _report(self, content: Content) -> None:
        self._content = content
        await self._send_update({"content": list(content)})

    async def _ended(self, outcome: Outcome) -> ToolResult:
        status = "failed" if outcome.is_failed else "completed"
        members: dict[str, Json] = {"status": status, "rawOutput": dict(outcome.raw)}
        if outcome.content:
            members["content"] = list(outcome.content)
        await self._end(members)
        return ToolResult(self._wanted.name, outcome.text, is_failed=outcome.is_failed)

    async def _failed(self, reason: str) -> ToolResult:
        await self._end(self._failure(reason))
        return ToolResult(self._wanted.name, reason, is_failed=True)

    def _failure(self, reason: str) -> Mapping[str, Json]:
        content: Sequence[Mapping[str, Json]] = [*self._content, text_content(reason)]
        status = "cancelled" if reason == _REASONS["cancelled"] else "failed"
        return {"status": status, "content": content, "rawOutput": {"error": reason}}

    async def _end(self, members: Mapping[str, Json]) -> None:
        self._last = members
        await self._send_update(members)

    async def _send_update(self, members: Mapping[str, Json]) -> None:
        await self._desk.updates.update_call(self._id, members)


def _broken_off(problem: BaseException) -> str:
    """Return why a call has ended with the turn."""
    return f"broken off: {problem}" if isinstance(problem, StoreError) else "broken off"


def _reason(ruling: Decision) -> str:
    """Return why a call is not run."""
    if ruling.decided_by == "rules":
        return f"forbidden by the configuration of the agent: {ruling.rule}"
    return _NO_ANSWER if ruling.decided_by == "client" else _REASONS[ruling.verdict]


def _shown(call: PreparedCall) -> dict[str, Json]:
    """Return what the user sees of a call before it runs."""
    return {
        "title": call.title,
        "kind": call.kind,
        "locations": list(call.locations),
        "content": list(call.content),
    }


MAX_PARALLEL_CALLS: Final = 8
"""Calls that run at once."""
_LOOKING: Final[frozenset[ToolKind]] = frozenset({"read", "search", "fetch"})
"""Kinds that change nothing, so that their order does not matter."""


def batches(desk: ToolContext, calls: Sequence[ToolUse]) -> Iterator[list[ToolUse]]:
    """Yield `calls` in their order: neighbours that only look together, each other one alone."""
    batch: list[ToolUse] = []
    for wanted in calls:
        if _only_looks(desk, wanted):
            batch.append(wanted)
            continue
        if batch:
            yield batch
        batch = []
        yield [wanted]
    if batch:
        yield batch


async def run_batch(desk: ToolContext, batch: Sequence[ToolUse]) -> list[ToolResult | None]:
    """Run the calls of a batch together; return their results in their order.

    None means a call that has no answer because the user wants the turn to end; then the
    others are ended, too.

    Raises:
        Exception: whatever a call has raised first; then the others are ended, too.
    """
    running = _Running(desk, batch)
    async with anyio.create_task_group() as tasks:
        running.scope = tasks.cancel_scope
        for place in range(len(batch)):
            tasks.start_soon(running.run, place)
    if running.problem is not None:
        raise running.problem
    return running.answers


class _Running:
    """A batch whose calls run."""

    scope: anyio.CancelScope

    def __init__(self, desk: ToolContext, batch: Sequence[ToolUse]) -> None:
        self._desk = desk
        self._batch = batch
        self._room = anyio.Semaphore(MAX_PARALLEL_CALLS)
        self._shown = [anyio.Event() for _ in batch]
        self.answers: list[ToolResult | None] = [None] * len(batch)
        self.problem: Exception | None = None

    async def run(self, place: int) -> None:
        wanted = self._batch[place]
        try:
            async with self._room:
                if wanted.fault is None:
                    answer = await self._carried_out(place, self._desk.new_call(wanted))
                else:
                    # The model has not written it so that it can be done: nobody else is told.
                    answer = ToolResult(wanted.name, wanted.fault, is_failed=True)
                    await self._wait_for_those_before(place)
                    self._shown[place].set()
        except Exception as problem:  # noqa: BLE001 - it is raised again, without a group around it
            self.problem = self.problem or problem
            self.scope.cancel()
            return
        self.answers[place] = answer
        if answer is None:
            self.scope.cancel()

    async def _carried_out(self, place: int, call: ToolCallRunner) -> ToolResult | None:
        async with call.closing():
            await call.prepare()
            await self._wait_for_those_before(place)
            await call.show()
            self._shown[place].set()
            return await call.run()

    async def _wait_for_those_before(self, place: int) -> None:
        """Return when the client knows of each call before the one in `place`."""
        if place > 0:
            await self._shown[place - 1].wait()


def _only_looks(desk: ToolContext, wanted: ToolUse) -> bool:
    tool = desk.tools.get(wanted.name)
    return tool is not None and tool.kind in _LOOKING
