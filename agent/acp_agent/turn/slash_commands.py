"""Carries out the orders that a prompt can be, inside a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import anyio

from acp_agent.mcp.servers import McpServers
from acp_agent.models.types import ModelFailedError, PromptMessage, SlashCommand
from acp_agent.turn import slash_command_replies
from acp_agent.turn.compaction import CompactionFailedError, compact
from acp_agent.turn.context import TurnContext
from acp_agent.turn.history import LocalExchange
from acp_agent.turn.loop import StopReason, model_error_response, run_turn, timeout_notice
from acp_agent.turn.slash_command_list import (
    COMPACT,
    HELP,
    PERMISSIONS,
    TOOLS,
    USAGE,
    ParsedCommand,
)
from acp_protocol.jsonrpc import Json

INIT_PROMPT: Final = """\
Look at this project and write an AGENTS.md for agents that will work in it, in the session's
directory. If there is one, improve it and keep what is right in it.

- Read before you write: the README, what builds and tests it, its configuration, some of the code.
- Say how to build it, run it and test it, one test alone as well, with the exact commands.
- Say how it is divided, and what is not plain from one file: what depends on what, and why.
- Say which habits it has: style, names, messages of commits, what must not be done.
- Leave out what is obvious or what any project has. Make nothing up. At most 100 lines.
"""
_ALSO: Final = "\nThe user says what matters besides: {}\n"


def history_item(
    order: ParsedCommand | None, prompt: PromptMessage
) -> PromptMessage | LocalExchange:
    """Return what is borne in mind of the prompt `prompt`, which wants `order`."""
    if order is None:
        return prompt
    if order.is_local:
        return LocalExchange(prompt.text)
    also = _ALSO.format(order.rest) if order.rest else ""
    return replace(prompt, text=INIT_PROMPT + also)


class CommandSession(Protocol):
    """The session, as far as commands ask about it."""

    prefix: str

    @property
    def servers(self) -> McpServers:
        """Tools and servers."""
        ...

    def listed_commands(self) -> Sequence[SlashCommand]:
        """Return the commands as the client knows them."""
        ...

    def usage(self) -> Mapping[str, Json] | None:
        """Return how full the context window is, as last reported to the client."""
        ...


class SlashCommands:
    """Does what the commands of the agent want."""

    def __init__(self, context: TurnContext, session: CommandSession) -> None:
        self._context = context
        self._session = session
        self._answers: Mapping[
            SlashCommand, Callable[[slash_command_replies.SessionInfo, str], str]
        ] = {
            HELP: lambda around, _: slash_command_replies.help_text(around),
            TOOLS: lambda around, _: slash_command_replies.tools_text(around),
            USAGE: lambda around, _: slash_command_replies.usage_text(around),
            PERMISSIONS: slash_command_replies.permissions_text,
        }

    async def run(self, order: ParsedCommand, prompt: PromptMessage) -> StopReason:
        """Do what `order` wants, of which `prompt` is the whole prompt; return how that ended."""
        # First of all: what is said behind an aside counts as nothing that the model has said.
        self._context.history.append(history_item(order, prompt))
        if not order.is_local:
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
                # The client was notified, and all is as it was.
                pass
            except ModelFailedError as problem:
                raise model_error_response(problem) from None
        if not clock.cancelled_caught:
            return "end_turn"
        why = timeout_notice(self._context.limits)
        await self._context.tool_context.updates.text("agent_message_chunk", why)
        return "max_turn_requests"

    async def _answer(self, order: ParsedCommand) -> None:
        """Answer without the model, which is to know nothing of it."""
        answer = self._answers[order.command](await self._around(), order.rest)
        await self._context.tool_context.updates.text("agent_message_chunk", answer)

    async def _around(self) -> slash_command_replies.SessionInfo:
        context, session = self._context, self._session
        instructions = await context.read_instructions()
        return slash_command_replies.SessionInfo(
            session.listed_commands(),
            context.model.name,
            session.servers,
            context.tool_context.permissions,
            context.usage,
            session.usage(),
            tuple(map(context.tool_context.workspace.display_path, instructions.paths))
            if instructions is not None
            else (),
            is_cut=instructions is not None and instructions.is_truncated,
            prefix=session.prefix,
        )
