"""One tool call, from what the user first sees of it to its end.

A call that was shown always gets a last status, whatever happens: success, failure, a refusal, the
turn's cancellation, or a mistake of ours.

Source: ACP, Tool Calls; ACP, Prompt Turn, "Cancellation".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import anyio

from acp_agent.models.model import CallTool, ToolAnswered
from acp_agent.permissions import Permissions, Verdict
from acp_agent.tools.tool import Call, Content, Outcome, Tool, ToolFailedError, text_content
from acp_agent.updates import Teller, Updates
from acp_agent.workspace import Workspace
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import Json

FAREWELL: Final = 2.0
"""Seconds for telling the client what became of an open call when the turn is cancelled."""
_REASONS: Final[dict[Verdict, str]] = {
    "reject": "rejected by the user",
    "forbidden": "this mode changes nothing and runs nothing",
    "cancelled": "cancelled",
}


class Client(Teller, Protocol):
    """The client as a turn sees it."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Ask the client."""
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

    async def carry_out(self, wanted: CallTool) -> ToolAnswered | None:
        """Run what the model wants, with all that the user sees; None when the user cancelled."""
        self.calls += 1
        shown = _ShownCall(self, f"call_{self.calls}", wanted)
        try:
            return await shown.go()
        except BaseException as problem:
            is_cancelled = isinstance(problem, anyio.get_cancelled_exc_class())
            with (
                anyio.move_on_after(FAREWELL, shield=True),
                suppress(ConnectionClosedError),
            ):
                await shown.close(_REASONS["cancelled"] if is_cancelled else "broken off")
            raise


class _ShownCall:
    """A tool call as the client knows it."""

    def __init__(self, desk: Desk, id_: str, wanted: CallTool) -> None:
        self._desk = desk
        self._id = id_
        self._wanted = wanted
        self._is_open = False
        self._content: Content = ()
        self._last: Mapping[str, Json] | None = None

    async def go(self) -> ToolAnswered | None:
        try:
            call = await self._prepared()
        except ToolFailedError as problem:
            await self._open({"title": self._wanted.name})
            return await self._failed(str(problem))
        self._content = call.content
        await self._open(
            {
                "title": call.title,
                "kind": call.kind,
                "locations": list(call.locations),
                "content": list(call.content),
            }
        )
        verdict = self._desk.permissions.known(call) or await self._ask(call)
        if verdict != "allow":
            answer = await self._failed(_REASONS[verdict])
            return None if verdict == "cancelled" else answer
        await self._tell({"status": "in_progress"})
        try:
            return await self._ended(await call.run(self._report))
        except ToolFailedError as problem:
            return await self._failed(str(problem))

    async def close(self, reason: str) -> None:
        """Say how the call ended, if it was shown and nothing was said yet."""
        if not self._is_open:
            return
        if self._last is None:
            await self._failed(reason)
        else:
            # Its last words may not have left; said twice they mean the same.
            await self._tell(self._last)

    async def _prepared(self) -> Call:
        tool = self._desk.tools.get(self._wanted.name)
        if tool is None:
            raise ToolFailedError(f"there is no tool {self._wanted.name}")
        return await tool.prepare(self._wanted.arguments, self._desk.workspace)

    async def _open(self, members: Mapping[str, Json]) -> None:
        shown = {"name": self._wanted.name, "rawInput": dict(self._wanted.arguments)}
        await self._desk.updates.call(self._id, {**members, **shown})
        self._is_open = True

    async def _ask(self, call: Call) -> Verdict:
        permissions = self._desk.permissions
        shown: dict[str, Json] = {
            "title": call.title,
            "kind": call.kind,
            "locations": list(call.locations),
            "content": list(call.content),
        }
        params = self._desk.updates.question(self._id, shown, permissions.options(call))
        await self._desk.updates.asking()
        try:
            answer = await self._desk.client.request("session/request_permission", params)
        except RequestFailedError:
            # A client that cannot ask its user has not consented.
            return "reject"
        await self._desk.updates.answered()
        return permissions.decided(call, answer)

    async def _report(self, content: Content) -> None:
        await self._tell({"content": list(content)})

    async def _ended(self, outcome: Outcome) -> ToolAnswered:
        status = "failed" if outcome.is_failed else "completed"
        members: dict[str, Json] = {"status": status, "rawOutput": dict(outcome.raw)}
        if outcome.content:
            members["content"] = list(outcome.content)
        await self._end(members)
        return ToolAnswered(self._wanted.name, outcome.text, is_failed=outcome.is_failed)

    async def _failed(self, reason: str) -> ToolAnswered:
        content: Sequence[Mapping[str, Json]] = [*self._content, text_content(reason)]
        status = "cancelled" if reason == _REASONS["cancelled"] else "failed"
        await self._end({"status": status, "content": content, "rawOutput": {"error": reason}})
        return ToolAnswered(self._wanted.name, reason, is_failed=True)

    async def _end(self, members: Mapping[str, Json]) -> None:
        self._last = members
        await self._tell(members)

    async def _tell(self, members: Mapping[str, Json]) -> None:
        await self._desk.updates.tool(self._id, members)
