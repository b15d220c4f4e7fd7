"""Tool calls of a turn: shown, permitted, run and reported.

Calls that only read run together, each other one alone. However they end, the client sees them, and
the model gets their results, in the order in which the model made them.

Source: ACP, Tool Calls; ACP, Prompt Turn, "Cancellation".
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from acp_agent.models.types import REJECTED, ToolResult, ToolUse
from acp_agent.permissions.audit import Decision, Verdict
from acp_agent.store.errors import StoreError
from acp_agent.tools.call import (
    NAME_WIDTH,
    CallForbiddenError,
    Content,
    Outcome,
    PreparedCall,
    ReportContent,
    SideEffect,
    ToolFailedError,
    text_content,
)
from acp_agent.turn.context import TurnContext
from acp_agent.world.workspace import PathEffect
from acp_protocol.call_rules.subjects import path_subject
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind

logger = logging.getLogger(__name__)

FINAL_STATUS_TIMEOUT_S: Final = 2.0
"""How long sending the final status of an open call may take when the turn is cancelled."""
MAX_PARALLEL_CALLS: Final = 8
_READ_ONLY: Final[frozenset[ToolKind]] = frozenset({"read", "search", "fetch"})
"""Kinds that change nothing, so that their order does not matter."""
_REASONS: Final[dict[Verdict, str]] = {
    "reject": REJECTED,
    "forbidden": "this mode changes nothing and runs nothing",
    "cancelled": "cancelled",
}
_NO_RESPONSE: Final = (
    "not allowed: the client could not ask the user, or answered with what was not offered"
)


class _ToolCall:
    """A tool call as the client knows it: prepared, shown, asked about, run, in this order."""

    def __init__(self, context: TurnContext, wanted: ToolUse) -> None:
        self._context = context
        self._wanted = wanted
        self._id = ""
        """Empty until the client knows the call."""
        self._content: Content = ()
        self._final: Mapping[str, Json] | None = None
        self._read: PreparedCall | None = None
        """Reading what the call looks at, if the user has to be asked about that."""

    async def run(self, previous: anyio.Event | None, shown: anyio.Event) -> ToolResult | None:
        """Run the call if that is allowed; return its result, None if the user cancelled.

        It is shown after `previous` is set, and sets `shown` then.
        """
        if self._wanted.fault is not None:
            # The model has not written it so that it can be run: the client need not know.
            if previous is not None:
                await previous.wait()
            shown.set()
            return self._result(self._wanted.fault, is_failed=True)
        async with self._closing():
            call = await self._prepare()
            if previous is not None:
                await previous.wait()
            await self._show(call)
            shown.set()
            if isinstance(call, ToolFailedError):
                return await self._fail(str(call))
            decision = self._context.permissions.decide(call) or await self._ask(call)
            self._audit(call, decision)
            if decision.verdict != "allow":
                result = await self._fail(_reason(decision))
                return None if decision.verdict == "cancelled" else result
            return await self._run(call)

    @asynccontextmanager
    async def _closing(self) -> AsyncGenerator[None]:
        """Send a final status when the block ends by an exception."""
        try:
            yield
        except BaseException as problem:
            if isinstance(problem, anyio.get_cancelled_exc_class()):
                reason = _REASONS["cancelled"]
            else:
                detail = f": {problem}" if isinstance(problem, StoreError) else ""
                reason = f"broken off{detail}"
            if self._id:
                # The final status may not have been sent; sending it twice does no harm.
                members = self._final or self._failure(reason)
                with (
                    anyio.move_on_after(FINAL_STATUS_TIMEOUT_S, shield=True),
                    suppress(ConnectionClosedError),
                ):
                    await self._context.updates.finish_call(self._id, members)
            raise

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

    async def _prepare(self) -> PreparedCall | ToolFailedError:
        """Return what the call would do, without doing it."""
        context, name = self._context, self._wanted.name
        tool = context.tools.get(name)
        if tool is None:
            return ToolFailedError(f"there is no tool {single_line(name, NAME_WIDTH)}")
        try:
            with self._bugs_as_failures():
                workspace = context.workspace.filtered(
                    context.permissions.result_filter, self._refuse_forbidden
                )
                return await tool.prepare(self._wanted.arguments, workspace)
        except CallForbiddenError as refusal:
            return refusal.call
        except ToolFailedError as problem:
            return problem if self._read is None else _explained(self._read, problem)

    def _refuse_forbidden(
        self,
        title: str,
        kind: ToolKind,
        paths: Sequence[str],
        effects: Sequence[PathEffect],
    ) -> None:
        """Refuse a call that its paths forbid; see `Workspace.refuse_forbidden`."""
        # A file is written through a link; deleting and moving are about the link.
        subject = partial(
            path_subject, self._context.workspace.cwd, is_last_followed=kind == "edit"
        )
        call = PreparedCall(
            title,
            kind,
            _unprepared,
            [{"path": path} for path in paths],
            subjects=[subject(path) for path in paths],
            effects=[SideEffect(effect, subject(path)) for effect, path in effects],
        )
        decision = self._context.permissions.decide(call)
        if decision is not None and decision.verdict in {"forbidden", "reject"}:
            raise CallForbiddenError(call)
        for path in paths:
            # It fails whatever is there, so no permission is requested.
            self._context.workspace.disk.check_inside(path)
        read = [effect.subject for effect in call.effects if effect.kind == "read"]
        reading = replace(call, kind="read", subjects=read, effects=())
        if read and self._context.permissions.decide(reading) is None:
            self._read = reading

    async def _show(self, call: PreparedCall | ToolFailedError) -> None:
        members: Mapping[str, Json] = {"title": single_line(self._wanted.name, NAME_WIDTH)}
        if isinstance(call, PreparedCall):
            self._content = call.content
            members = _shown(call)
        self._context.call_count += 1
        id_ = f"call_{self._context.call_count}"
        fields = {"name": self._wanted.name, "rawInput": dict(self._wanted.arguments)}
        await self._context.updates.start_call(id_, {**members, **fields})
        self._id = id_

    async def _ask(self, call: PreparedCall) -> Decision:
        """Return what the user decides, or a choice that was made meanwhile and covers the call."""
        permissions = self._context.permissions
        try:
            async with self._context.permission_lock:
                return permissions.decide(call) or await self._request_permission(call)
        except anyio.get_cancelled_exc_class():
            self._audit(call, Decision("cancelled", "turn"))
            raise

    async def _request_permission(self, call: PreparedCall) -> Decision:
        updates, permissions = self._context.updates, self._context.permissions
        options = permissions.options(call)
        params = updates.permission_request(self._id, _shown(call), options)
        await updates.enter_waiting()
        try:
            result = await self._context.client.request("session/request_permission", params)
        except RequestFailedError:
            # A client that cannot ask its user has not consented.
            await updates.leave_waiting()
            return Decision("reject", "client")
        await updates.leave_waiting()
        decision = permissions.record_choice(call, result)
        if decision.rule is not None and not permissions.settings.options_are_shown:
            # The user has chosen "always" without having read what for.
            chosen = get(get(result, "outcome"), "optionId")
            kept = next(each["name"] for each in options if each["optionId"] == chosen)
            await updates.text("agent_message_chunk", f"Remembered: {kept}.\n\n")
        known = permissions.decide(call) if decision.verdict == "allow" else None
        # The mode may have been set to one that forbids it while the user thought about it.
        return known if known is not None and known.verdict != "allow" else decision

    def _audit(self, call: PreparedCall, decision: Decision) -> None:
        if self._context.audit is not None:
            self._context.audit.append(
                decision,
                session=self._context.session_id,
                call=self._id,
                tool=self._wanted.name,
                kind=call.kind,
                subjects=call.touched,
            )

    async def _run(self, call: PreparedCall) -> ToolResult:
        await self._update({"status": "in_progress"})
        if call.plan is not None:
            await self._context.updates.plan(call.plan)
        outcome: Outcome | None = None
        # Where the call is cancelled by itself, the turn goes on.
        failure = _REASONS["cancelled"]
        scope = self._context.running[self._id] = anyio.CancelScope()
        try:
            with scope, self._bugs_as_failures():
                outcome = await call.run(self._report)
        except ToolFailedError as problem:
            failure = str(problem)
        finally:
            del self._context.running[self._id]
        if outcome is None:
            return await self._fail(failure)
        status = "failed" if outcome.is_failed else "completed"
        self._final = {"status": status, "rawOutput": dict(outcome.raw)}
        if outcome.content:
            self._final["content"] = list(outcome.content)
        await self._update(self._final)
        return self._result(outcome.text, is_failed=outcome.is_failed)

    async def _report(self, content: Content) -> None:
        self._content = content
        await self._update({"content": list(content)})

    async def _fail(self, reason: str) -> ToolResult:
        self._final = self._failure(reason)
        await self._update(self._final)
        return self._result(reason, is_failed=True)

    def _failure(self, reason: str) -> Mapping[str, Json]:
        content: Sequence[Mapping[str, Json]] = [*self._content, text_content(reason)]
        status = "cancelled" if reason == _REASONS["cancelled"] else "failed"
        return {"status": status, "content": content, "rawOutput": {"error": reason}}

    def _result(self, text: str, *, is_failed: bool) -> ToolResult:
        return ToolResult(self._wanted.name, text, is_failed=is_failed)

    async def _update(self, members: Mapping[str, Json]) -> None:
        await self._context.updates.update_call(self._id, members)


async def _unprepared(_: ReportContent) -> Outcome:
    raise ToolFailedError("the call was allowed before it was prepared")


def _explained(reading: PreparedCall, problem: ToolFailedError) -> PreparedCall:
    """Return a call that fails once the user allows the reading: its reason has the content."""

    async def fail(_: ReportContent) -> Outcome:
        raise problem

    title = f"{reading.title}: it fails, and the reason shows what is in the file"
    return replace(reading, title=title, run=fail, content=[text_content(str(problem))])


def _reason(decision: Decision) -> str:
    """Return why a call is not run."""
    if decision.decided_by == "rules":
        return f"forbidden by the configuration of the agent: {decision.rule}"
    return _NO_RESPONSE if decision.decided_by == "client" else _REASONS[decision.verdict]


def _shown(call: PreparedCall) -> dict[str, Json]:
    """Return what the user sees of a call before it runs."""
    return {
        "title": call.title,
        "kind": call.kind,
        "locations": list(call.locations),
        "content": list(call.content),
    }


def batches(context: TurnContext, calls: Sequence[ToolUse]) -> Iterator[list[ToolUse]]:
    """Yield `calls` in their order: neighbours that only read together, each other one alone."""
    batch: list[ToolUse] = []
    for wanted in calls:
        tool = context.tools.get(wanted.name)
        if tool is not None and tool.kind in _READ_ONLY:
            batch.append(wanted)
            continue
        if batch:
            yield batch
        batch = []
        yield [wanted]
    if batch:
        yield batch


async def run_batch(context: TurnContext, batch: Sequence[ToolUse]) -> list[ToolResult | None]:
    """Run the calls of a batch together; return their results in their order.

    None means a call that has no result because the user wants the turn to end; then the
    others are cancelled, too.

    Raises:
        Exception: the first one that a call has raised; then the others are cancelled, too.
    """
    results: list[ToolResult | None] = [None] * len(batch)
    problems: list[Exception] = []
    slots = anyio.Semaphore(MAX_PARALLEL_CALLS)
    shown = [anyio.Event() for _ in batch]

    async def run(place: int) -> None:
        previous = shown[place - 1] if place else None
        try:
            async with slots:
                results[place] = await _ToolCall(context, batch[place]).run(previous, shown[place])
        except Exception as problem:  # noqa: BLE001 - it is raised again, without a group around it
            problems.append(problem)
        if results[place] is None:
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for place in range(len(batch)):
            tasks.start_soon(run, place)
    if problems:
        raise problems[0]
    return results
