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

from acp_agent.audit import Audit, Decision
from acp_agent.models.model import CallTool, ToolAnswered
from acp_agent.permissions import Permissions, Ruling, Verdict
from acp_agent.sessions.errors import StoreError
from acp_agent.tools.tool import (
    NAME_WIDTH,
    Call,
    Content,
    Kind,
    Outcome,
    Tool,
    ToolFailedError,
    text_content,
)
from acp_agent.updates import Teller, Updates
from acp_agent.workspace import Workspace
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

FAREWELL: Final = 2.0
"""Seconds for sending the final status of an open call when the turn is cancelled."""
_REASONS: Final[dict[Verdict, str]] = {
    "reject": "rejected by the user",
    "forbidden": "this mode changes nothing and runs nothing",
    "cancelled": "cancelled",
}
_NO_ANSWER: Final = (
    "not allowed: the client could not ask the user, or answered with what was not offered"
)


class Client(Teller, Protocol):
    """The client, as a turn uses it."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Send a request; return its result."""
        ...


@dataclass
class Desk:
    """What tool calls work with; it all belongs to the session."""

    session_id: str
    client: Client
    updates: Updates
    workspace: Workspace
    permissions: Permissions
    tools: Mapping[str, Tool]
    calls: int = 0
    """Calls so far; the next one is named by the number behind it."""
    audit: Audit | None = None
    asking: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while the user is asked: one question at a time, and none that the last one answers."""
    running: dict[str, anyio.CancelScope] = field(default_factory=dict[str, anyio.CancelScope])
    """The calls that run, by their ids: each can be ended by itself."""

    def call(self, wanted: CallTool) -> ShownCall:
        """Return a call that the client has not seen yet."""
        return ShownCall(self, wanted)

    async def carry_out(self, wanted: CallTool) -> ToolAnswered | None:
        """Run one call and show it; None if the user cancelled."""
        call = self.call(wanted)
        async with call.closing():
            await call.prepare()
            await call.show()
            return await call.go()


class ShownCall:
    """A tool call as the client knows it: prepared, shown, asked about, run, in this order."""

    def __init__(self, desk: Desk, wanted: CallTool) -> None:
        self._desk = desk
        self._id = ""
        self._wanted = wanted
        self._is_open = False
        self._call: Call | ToolFailedError | None = None
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
                anyio.move_on_after(FAREWELL, shield=True),
                suppress(ConnectionClosedError),
            ):
                await self._close(_REASONS["cancelled"] if is_cancelled else _broken_off(problem))
            raise

    async def prepare(self) -> None:
        """Find out what the call would do, without doing it."""
        tool = self._desk.tools.get(self._wanted.name)
        if tool is None:
            self._call = ToolFailedError(
                f"there is no tool {one_line(self._wanted.name, NAME_WIDTH)}"
            )
            return
        try:
            with self._mistakes_told():
                workspace = self._desk.workspace.filtered(self._desk.permissions.result_filter)
                self._call = await tool.prepare(self._wanted.arguments, workspace)
        except ToolFailedError as problem:
            self._call = problem

    async def show(self) -> None:
        """Show the call to the client."""
        members: Mapping[str, Json] = {"title": one_line(self._wanted.name, NAME_WIDTH)}
        if isinstance(self._call, Call):
            self._content = self._call.content
            members = _shown(self._call)
        self._desk.calls += 1
        self._id = f"call_{self._desk.calls}"
        said = {"name": self._wanted.name, "rawInput": dict(self._wanted.arguments)}
        await self._desk.updates.call(self._id, {**members, **said})
        self._is_open = True

    async def go(self) -> ToolAnswered | None:
        """Run the call if that is allowed; return its result, None if the user cancelled."""
        call = self._call
        assert call is not None
        if isinstance(call, ToolFailedError):
            return await self._failed(str(call))
        ruling = self._desk.permissions.known(call) or await self._ask(call)
        self._note(call, ruling)
        if ruling.verdict != "allow":
            answer = await self._failed(_reason(ruling))
            return None if ruling.verdict == "cancelled" else answer
        await self._tell({"status": "in_progress"})
        if call.plan is not None:
            await self._desk.updates.plan(call.plan)
        try:
            outcome = await self._run(call)
        except ToolFailedError as problem:
            return await self._failed(str(problem))
        if outcome is None:
            return await self._failed(_REASONS["cancelled"])
        return await self._ended(outcome)

    async def _run(self, call: Call) -> Outcome | None:
        """Run the call; None if it was ended by itself, and the turn goes on."""
        outcome: Outcome | None = None
        scope = self._desk.running[self._id] = anyio.CancelScope()
        try:
            with scope, self._mistakes_told():
                outcome = await call.run(self._report)
        finally:
            del self._desk.running[self._id]
        return outcome

    @contextmanager
    def _mistakes_told(self) -> Generator[None]:
        """Turn a bug in a tool into a failure of its call, not of the turn; log the traceback.

        Raises:
            ToolFailedError: there was one.
        """
        try:
            yield
        except (ToolFailedError, ConnectionClosedError, StoreError):
            raise
        except Exception:
            logger.exception("the tool %s has made a mistake", one_line(self._wanted.name, 80))
            raise ToolFailedError("failed by a mistake of the agent's") from None

    async def _close(self, reason: str) -> None:
        """Send a final status, if the call was shown and has none."""
        if not self._is_open:
            return
        # The final status may not have been sent; sending it twice does no harm.
        await self._desk.updates.farewell(self._id, self._last or self._failure(reason))

    async def _ask(self, call: Call) -> Ruling:
        try:
            async with self._desk.asking:
                # A choice made meanwhile may cover this call, too.
                known = self._desk.permissions.known(call)
                return known or await self._asked(call)
        except anyio.get_cancelled_exc_class():
            self._note(call, Ruling("cancelled", "turn"))
            raise

    async def _asked(self, call: Call) -> Ruling:
        desk = self._desk
        options = desk.permissions.options(call)
        params = desk.updates.question(self._id, _shown(call), options)
        await desk.updates.asking()
        try:
            answer = await desk.client.request("session/request_permission", params)
        except RequestFailedError:
            # A client that cannot ask its user has not consented.
            await desk.updates.answered()
            return Ruling("reject", "client")
        await desk.updates.answered()
        ruling = desk.permissions.decided(call, answer)
        known = desk.permissions.known(call) if ruling.verdict == "allow" else None
        # The mode may have been set to one that forbids it while the user thought about it.
        return known if known is not None and known.verdict != "allow" else ruling

    def _note(self, call: Call, ruling: Ruling) -> None:
        if self._desk.audit is not None:
            decision = Decision(
                session=self._desk.session_id,
                call=self._id,
                tool=self._wanted.name,
                kind=call.kind,
                subjects=call.about,
                verdict=ruling.verdict,
                why=ruling.why,
                rule=ruling.rule,
            )
            self._desk.audit.note(decision)

    async def _report(self, content: Content) -> None:
        self._content = content
        await self._tell({"content": list(content)})

    async def _ended(self, outcome: Outcome) -> ToolAnswered:
        status = "failed" if outcome.is_failed else "completed"
        members: dict[str, Json] = {"status": status, "rawOutput": dict(outcome.raw)}
        if outcome.content:
            members["content"] = list(outcome.content)
        await self._end(members)
        return ToolAnswered(self._wanted.name, outcome.text, is_failed=outcome.is_failed)

    async def _failed(self, reason: str) -> ToolAnswered:
        await self._end(self._failure(reason))
        return ToolAnswered(self._wanted.name, reason, is_failed=True)

    def _failure(self, reason: str) -> Mapping[str, Json]:
        content: Sequence[Mapping[str, Json]] = [*self._content, text_content(reason)]
        status = "cancelled" if reason == _REASONS["cancelled"] else "failed"
        return {"status": status, "content": content, "rawOutput": {"error": reason}}

    async def _end(self, members: Mapping[str, Json]) -> None:
        self._last = members
        await self._tell(members)

    async def _tell(self, members: Mapping[str, Json]) -> None:
        await self._desk.updates.tool(self._id, members)


def _broken_off(problem: BaseException) -> str:
    """Return why a call has ended with the turn."""
    return f"broken off: {problem}" if isinstance(problem, StoreError) else "broken off"


def _reason(ruling: Ruling) -> str:
    """Return why a call is not run."""
    if ruling.why == "rules":
        return f"forbidden by the configuration of the agent: {ruling.rule}"
    return _NO_ANSWER if ruling.why == "client" else _REASONS[ruling.verdict]


def _shown(call: Call) -> dict[str, Json]:
    """Return what the user sees of a call before it runs."""
    return {
        "title": call.title,
        "kind": call.kind,
        "locations": list(call.locations),
        "content": list(call.content),
    }


PARALLEL: Final = 8
"""Calls that run at once."""
_LOOKING: Final[frozenset[Kind]] = frozenset({"read", "search", "fetch"})
"""Kinds that change nothing, so that their order does not matter."""


def batches(desk: Desk, calls: Sequence[CallTool]) -> Iterator[list[CallTool]]:
    """Yield `calls` in their order: neighbours that only look together, each other one alone."""
    batch: list[CallTool] = []
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


async def carry_out(desk: Desk, batch: Sequence[CallTool]) -> list[ToolAnswered | None]:
    """Run the calls of a batch together; return their answers in their order.

    None stands for a call that has no answer because the user wants the turn to end; then the
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

    def __init__(self, desk: Desk, batch: Sequence[CallTool]) -> None:
        self._desk = desk
        self._batch = batch
        self._room = anyio.Semaphore(PARALLEL)
        self._shown = [anyio.Event() for _ in batch]
        self.answers: list[ToolAnswered | None] = [None] * len(batch)
        self.problem: Exception | None = None

    async def run(self, place: int) -> None:
        wanted = self._batch[place]
        try:
            async with self._room:
                if wanted.fault is None:
                    answer = await self._carried_out(place, self._desk.call(wanted))
                else:
                    # The model has not written it so that it can be done: nobody else is told.
                    answer = ToolAnswered(wanted.name, wanted.fault, is_failed=True)
                    await self._wait_for_those_before(place)
                    self._shown[place].set()
        except Exception as problem:  # noqa: BLE001 - it is raised again, without a group around it
            self.problem = self.problem or problem
            self.scope.cancel()
            return
        self.answers[place] = answer
        if answer is None:
            self.scope.cancel()

    async def _carried_out(self, place: int, call: ShownCall) -> ToolAnswered | None:
        async with call.closing():
            await call.prepare()
            await self._wait_for_those_before(place)
            await call.show()
            self._shown[place].set()
            return await call.go()

    async def _wait_for_those_before(self, place: int) -> None:
        """Return when the client knows of each call before the one in `place`."""
        if place > 0:
            await self._shown[place - 1].wait()


def _only_looks(desk: Desk, wanted: CallTool) -> bool:
    tool = desk.tools.get(wanted.name)
    return tool is not None and tool.kind in _LOOKING
