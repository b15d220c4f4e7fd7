"""Slash commands: which there are, and what the agent answers to them.

A model's own commands come first: where one has the name of one of the agent's, it is the model's.

Names and descriptions may come from servers and models: in replies they are on one line, as code or
with nothing in them that a screen would interpret.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from acp_agent.markdown import code, escape
from acp_agent.mcp.servers import McpServers
from acp_agent.models.types import (
    Model,
    ModelFailedError,
    PromptMessage,
    SlashCommand,
    TokenUsage,
    is_scripted,
)
from acp_agent.permissions.decide import MODES, POLICIES, SessionPermissions
from acp_agent.store.entries import LocalExchange
from acp_agent.turn.compaction import CompactionFailedError, compact
from acp_agent.turn.context import TurnContext
from acp_agent.turn.instructions import MAX_CHARS
from acp_agent.turn.loop import model_error_response, run_turn, timeout_notice
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import StopReason

HELP: Final = SlashCommand("help", "What you can say here, and which commands there are")
TOOLS: Final = SlashCommand("tools", "The tools and MCP servers of this session")
USAGE: Final = SlashCommand("usage", "Tokens and cost of this session, and how full the window is")
PERMISSIONS: Final = SlashCommand(
    "permissions", "What was allowed or rejected for good in this session", "forget"
)
COMPACT: Final = SlashCommand(
    "compact", "Let the model sum up what was said and go on with that alone", "what matters"
)
INIT: Final = SlashCommand(
    "init", "Let the model write an AGENTS.md for this project", "what matters"
)
LOCAL_COMMANDS: Final = (HELP, TOOLS, USAGE, PERMISSIONS)
"""Commands that the agent answers by itself."""
MODEL_COMMANDS: Final = (COMPACT, INIT)
"""Commands that need a model that understands language."""
ABOUT_WIDTH: Final = 100
"""Characters shown of a description."""
NAME_WIDTH: Final = 200
FORGET: Final = "forget"
"""The argument of `/permissions` that removes all grants."""
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
_COMMAND: Final = re.compile(r"/(?P<name>[a-z]+)(?P<rest>(\s.*)?)", re.DOTALL)
_NO_GRANTS: Final = "Nothing is remembered of your answers in this session."


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """A prompt that is a command of the agent."""

    command: SlashCommand
    rest: str
    """The text after the command."""

    @property
    def is_local(self) -> bool:
        """Whether the model does not get the prompt."""
        return self.command != INIT


def available_commands(model: Model) -> list[SlashCommand]:
    """Return the commands that a prompt for `model` may begin with."""
    known = {command.name for command in model.commands}
    own = LOCAL_COMMANDS if is_scripted(model) else LOCAL_COMMANDS + MODEL_COMMANDS
    return [*model.commands, *(command for command in own if command.name not in known)]


def parse_command(text: str, model: Model) -> ParsedCommand | None:
    """Return the command of the agent that a prompt is; None for a prompt for the model."""
    match = _COMMAND.fullmatch(text)
    if match is None:
        return None
    for command in available_commands(model)[len(model.commands) :]:
        if command.name == match["name"]:
            return ParsedCommand(command, match["rest"].strip())
    return None


def history_item(
    command: ParsedCommand | None, prompt: PromptMessage
) -> PromptMessage | LocalExchange:
    """Return what the history keeps of `prompt`."""
    if command is None:
        return prompt
    if command.is_local:
        return LocalExchange(prompt.text)
    also = _ALSO.format(command.rest) if command.rest else ""
    return replace(prompt, text=INIT_PROMPT + also)


@dataclass(frozen=True, slots=True)
class CommandFacts:
    """What the commands report about a session."""

    commands: Sequence[SlashCommand]
    """As the client knows them."""
    model: str
    tools: McpServers
    permissions: SessionPermissions
    spent: TokenUsage
    usage: Mapping[str, Json] | None
    """How full the context window is, as last reported to the client."""
    instructions: Sequence[str]
    """Files of the project that the model gets."""
    is_cut: bool = False
    """Whether a part of them was cut off."""
    prefix: str = ""
    """What precedes the names of commands."""


async def run_command(
    context: TurnContext,
    command: ParsedCommand,
    prompt: PromptMessage,
    facts: Callable[[], Awaitable[CommandFacts]],
) -> StopReason:
    """Run the command that `prompt` is; return why the turn stopped."""
    # First of all: the model does not know what follows a local exchange.
    context.history.append(history_item(command, prompt))
    if not command.is_local:
        return await run_turn(context)
    if command.command == COMPACT:
        return await _compact(context, command.rest)
    reply = _reply(command, await facts())
    await context.updates.text("agent_message_chunk", reply)
    return "end_turn"


async def _compact(context: TurnContext, focus: str) -> StopReason:
    with anyio.move_on_after(context.limits.seconds) as clock:
        try:
            await compact(context, focus)
        except CompactionFailedError:
            # The client knows, and all is as it was.
            pass
        except ModelFailedError as problem:
            raise model_error_response(problem) from None
    if not clock.cancelled_caught:
        return "end_turn"
    await context.updates.text("agent_message_chunk", timeout_notice(context))
    return "max_turn_requests"


def _reply(command: ParsedCommand, facts: CommandFacts) -> str:
    if command.command == HELP:
        return help_text(facts)
    if command.command == TOOLS:
        return tools_text(facts)
    if command.command == USAGE:
        return usage_text(facts)
    return permissions_text(facts, command.rest)


def help_text(facts: CommandFacts) -> str:
    """Return the available commands, and the files with instructions."""
    lines = [f"Say what you want done, in your own words: {code(facts.model)} answers. Or:", ""]
    for command in facts.commands:
        hint = f" [{command.hint}]" if command.hint else ""
        lines.append(
            f"- {code(f'/{command.name}{hint}')}: {single_line(command.description, ABOUT_WIDTH)}"
        )
    if facts.instructions:
        files = ", ".join(map(code, facts.instructions))
        cut = f" They are too long: it gets the first {MAX_CHARS} characters."
        cut = cut if facts.is_cut else ""
        lines += ["", f"The model gets the instructions of the project in {files}.{cut}"]
    return "\n".join(lines)


def tools_text(facts: CommandFacts) -> str:
    """Return the tools, those of the agent and those of each server."""
    lines = ["The model can call these tools:", ""]
    for name, tool in facts.tools.items():
        first, stop, _ = " ".join(tool.offer.description.split()).partition(". ")
        about = single_line(first + stop.strip(), ABOUT_WIDTH)
        lines.append(f"- {code(name)} ({tool.kind}): {escape(about)}")
    servers = facts.tools.counts
    lines += ["", "MCP servers:" if servers else "There are no MCP servers in this session.", ""]
    lines += [f"- {code(id_)}: {_count(count, 'tool')}" for id_, count in servers.items()]
    for title, about in facts.tools.warnings:
        lines.append(f"- {escape(single_line(f'{title}. {about}', 3 * NAME_WIDTH))}")
    return "\n".join(lines).rstrip()


def usage_text(facts: CommandFacts) -> str:
    """Return what was spent, and how full the window is."""
    spent = facts.spent
    if not spent.total:
        return "Nothing was spent in this session so far, as far as the model's service tells."
    cached = f", {spent.cache_read_tokens} of them from a cache" if spent.cache_read_tokens else ""
    thought = f", {spent.reasoning_tokens} of them for thoughts" if spent.reasoning_tokens else ""
    cost = "unknown" if spent.cost is None else f"${spent.cost:.4f}"
    lines = [
        f"All replies of this session together, by {code(facts.model)} now:",
        "",
        f"- read: {spent.input_tokens} tokens{cached}",
        f"- written: {spent.output_tokens} tokens{thought}",
        f"- cost: {cost}",
        f"- window: {_window(facts.usage)}",
    ]
    return "\n".join(lines)


def permissions_text(facts: CommandFacts, rest: str) -> str:
    """Return what is remembered of the user's answers; forget it where `rest` says so."""
    permissions = facts.permissions
    shows = f"/{facts.prefix}{PERMISSIONS.name}"
    forgets = code(f"{shows} {FORGET}")
    if rest == FORGET:
        count = permissions.clear_grants()
        if not count:
            return _NO_GRANTS
        verb = "was" if count == 1 else "were"
        return f"{_count(count, 'answer')} {verb} forgotten: you are asked again."
    if rest:
        return f"{code(shows)} shows what is remembered, {forgets} forgets it."
    mode = next(name for id_, name, _ in MODES if id_ == permissions.mode)
    policy = next(name for id_, name, _ in POLICIES if id_ == permissions.policy)
    lines = [f"The mode is *{mode}*, the policy *{policy}*."]
    if standing := permissions.settings.rules:
        lines += ["", "Rules of the configuration:", ""]
        lines += [f"- {code(str(rule))}" for rule in standing]
    known = permissions.grants
    lines += ["", "You have said for this session:" if known else _NO_GRANTS, ""]
    for rule, verdict in known.items():
        verb = "allow" if verdict == "allow" else "reject"
        lines.append(f"- {verb} {_quoted(rule.describe())}")
    if known:
        lines += ["", f"{forgets} forgets these."]
    return "\n".join(lines).rstrip()


def _quoted(words: str) -> str:
    """Return what a rule means, with the command in it as code and nothing else as markup."""
    before, tick, inner = words.partition("`")
    if not tick or "`" not in inner:
        return escape(single_line(words, NAME_WIDTH))
    command, _, after = inner.rpartition("`")
    return f"{escape(before)}{code(command)}{escape(after)}"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _window(usage: Mapping[str, Json] | None) -> str:
    used, size = (usage.get("used"), usage.get("size")) if usage else (None, None)
    if not isinstance(used, int) or not isinstance(size, int) or size <= 0:
        return "the size of the model's context window is not known; set it with `--window`"
    return f"{used} of {size} tokens, {round(100 * used / size)} %"
