"""Carries out the orders that a prompt can be, inside a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import anyio

from acp_agent.asking import Context
from acp_agent.commands import answers
from acp_agent.commands.catalogue import COMPACT, HELP, PERMISSIONS, TOOLS, USAGE, Order
from acp_agent.compaction import CompactionFailedError, compact
from acp_agent.mcp.servers import McpServers
from acp_agent.memory import Aside
from acp_agent.models.model import Command, ModelFailedError, UserSaid
from acp_agent.turn import StopReason, out_of_time, refused, run_turn
from acp_protocol.jsonrpc import Json

GUIDE: Final = """\
Look at this project and write an AGENTS.md for agents that will work in it, in the session's
directory. If there is one, improve it and keep what is right in it.

- Read before you write: the README, what builds and tests it, its configuration, some of the code.
- Say how to build it, run it and test it, one test alone as well, with the exact commands.
- Say how it is divided, and what is not plain from one file: what depends on what, and why.
- Say which habits it has: style, names, messages of commits, what must not be done.
- Leave out what is obvious or what any project has. Make nothing up. At most 100 lines.
"""
_ALSO: Final = "\nThe user says what matters besides: {}\n"


def taken(order: Order | None, said: UserSaid) -> UserSaid | Aside:
    """Return what is borne in mind of the prompt `said`, which wants `order`."""
    if order is None:
        return said
    if order.is_aside:
        return Aside(said.text)
    also = _ALSO.format(order.rest) if order.rest else ""
    return replace(said, text=GUIDE + also)


class Surrounded(Protocol):
    """The session, as far as commands ask about it."""

    prefix: str

    @property
    def servers(self) -> McpServers:
        """Tools and servers."""
        ...

    def listed(self) -> Sequence[Command]:
        """Return the commands as the client knows them."""
        ...

    def usage(self) -> Mapping[str, Json] | None:
        """Return how full the model's mind is, as the client was told last."""
        ...


class Clerk:
    """Does what the commands of the agent want."""

    def __init__(self, context: Context, session: Surrounded) -> None:
        self._context = context
        self._session = session
        self._answers: Mapping[Command, Callable[[answers.Surroundings, str], str]] = {
            HELP: lambda around, _: answers.help_answer(around),
            TOOLS: lambda around, _: answers.tools_answer(around),
            USAGE: lambda around, _: answers.usage_answer(around),
            PERMISSIONS: answers.permissions_answer,
        }

    async def carry_out(self, order: Order, said: UserSaid) -> StopReason:
        """Do what `order` wants, of which `said` is the whole prompt; return how that ended."""
        # First of all: what is said behind an aside counts as nothing that the model has said.
        self._context.history.append(taken(order, said))
        if not order.is_aside:
            return await run_turn(self._context)
        if order.command == COMPACT:
            return await self._compact(order.rest)
        await self._answer(order)
        return "end_turn"

    async def _compact(self, focus: str) -> StopReason:
        with anyio.move_on_after(self._context.limits.seconds) as clock:
            try:
                await compact(self._context, focus)
            except CompactionFailedError:
                # The client was told, and all is as it was.
                pass
            except ModelFailedError as problem:
                raise refused(problem) from None
        if not clock.cancelled_caught:
            return "end_turn"
        why = out_of_time(self._context.limits)
        await self._context.desk.updates.text("agent_message_chunk", why)
        return "max_turn_requests"

    async def _answer(self, order: Order) -> None:
        """Answer without the model, which is to know nothing of it."""
        answer = self._answers[order.command](await self._around(), order.rest)
        await self._context.desk.updates.text("agent_message_chunk", answer)

    async def _around(self) -> answers.Surroundings:
        context, session = self._context, self._session
        told = await context.instructed()
        return answers.Surroundings(
            session.listed(),
            context.model.name,
            session.servers,
            context.desk.permissions,
            context.spent,
            session.usage(),
            tuple(map(context.desk.workspace.shown, told.paths)) if told is not None else (),
            is_cut=told is not None and told.is_cut,
            prefix=session.prefix,
        )
