"""Slash commands: which there are, and what the agent answers to them.

A model's own commands come first: where one has the name of one of the agent's, it is the model's.

Names and descriptions may come from servers and models: in replies they are on one line, as code or
with nothing in them that a screen would interpret.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from acp_agent.turn.compaction import ALSO, CompactionFailedError, compact
from acp_agent.turn.context import ContextWindow, TurnContext
from acp_agent.turn.instructions import MAX_CHARS
from acp_agent.turn.loop import model_error_response, run_turn, timeout_notice
from acp_protocol.host.sanitize import single_line
from acp_protocol.schema.words import StopReason

HELP: Final = SlashCommand("help", "Show what you can say here, and the commands")
TOOLS: Final = SlashCommand("tools", "The tools and MCP servers of this session")
USAGE: Final = SlashCommand("usage", "Tokens and cost of this session, and how full the window is")
PERMISSIONS: Final = SlashCommand(
    "permissions", "What was allowed or rejected for good in this session", "forget"
)
COMPACT: Final = SlashCommand(
    "compact",
    "Have the model summarize the conversation and continue from the summary",
    "what matters",
)
INIT: Final = SlashCommand(
    "init", "Have the model write an AGENTS.md for this project", "what matters"
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
_COMMAND: Final = re.compile(r"/(?P<name>[a-z]+)(?P<rest>(\s.*)?)", re.DOTALL)
_NO_GRANTS: Final = "None of your answers are remembered in this session."


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


def available_commands(model: Model, prefix: str = "") -> list[SlashCommand]:
    """Return the commands that a prompt for `model` may begin with; `prefix` precedes the names."""
    known = {command.name for command in model.commands}
    own = LOCAL_COMMANDS if is_scripted(model) else LOCAL_COMMANDS + MODEL_COMMANDS
    commands = [*model.commands, *(command for command in own if command.name not in known)]
    return [replace(command, name=prefix + command.name) for command in commands]


def without_prefix(message: PromptMessage, model: Model, prefix: str) -> PromptMessage:
    """Return a prompt whose command has no prefix; one that is no command stays unchanged."""
    if not prefix or not message.text.startswith(f"/{prefix}"):
        return message
    rest = message.text[len(prefix) + 1 :]
    known = {command.name for command in available_commands(model)}
    is_command = known.intersection(rest.split(maxsplit=1)[:1]) and not rest[0].isspace()
    return replace(message, text=f"/{rest}") if is_command else message


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
    also = ALSO.format(command.rest) if command.rest else ""
    return replace(prompt, text=INIT_PROMPT + also)


async def run_command(
    context: TurnContext, command: ParsedCommand, prompt: PromptMessage, servers: McpServers
) -> StopReason:
    """Run the command that `prompt` is; return why the turn stopped."""
    # First of all: the model does not know what follows a local exchange.
    context.history.append(history_item(command, prompt))
    match command.command.name:
        case INIT.name:
            return await run_turn(context)
        case COMPACT.name:
            return await _compact(context, command.rest)
        case HELP.name:
            commands = available_commands(context.model, context.command_prefix)
            instructions = await context.read_instructions()
            paths = instructions.paths if instructions is not None else ()
            reply = help_text(
                context.model.name,
                commands,
                [context.workspace.display_path(path) for path in paths],
                is_cut=instructions is not None and instructions.is_truncated,
            )
        case TOOLS.name:
            reply = tools_text(servers)
        case USAGE.name:
            reply = usage_text(context.model.name, context.usage, context.context_window)
        case _:
            reply = permissions_text(context.permissions, command.rest, context.command_prefix)
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


def help_text(
    model: str, commands: Sequence[SlashCommand], instructions: Sequence[str], *, is_cut: bool
) -> str:
    """Return the available commands, and the files with instructions that the model gets.

    `is_cut` if a part of the instructions was cut off.
    """
    lines = [f"Say what you want done, in your own words; {code(model)} answers. Commands:", ""]
    for command in commands:
        hint = f" [{command.hint}]" if command.hint else ""
        lines.append(
            f"- {code(f'/{command.name}{hint}')}: {single_line(command.description, ABOUT_WIDTH)}"
        )
    if instructions:
        files = ", ".join(map(code, instructions))
        cut = (
            f" They are too long; it gets only the first {MAX_CHARS} characters." if is_cut else ""
        )
        lines += ["", f"The model also gets the project's instructions from {files}.{cut}"]
    return "\n".join(lines)


def tools_text(servers: McpServers) -> str:
    """Return the tools, those of the agent and those of each server."""
    lines = ["The model can call these tools:", ""]
    for name, tool in servers.items():
        first, stop, _ = " ".join(tool.offer.description.split()).partition(". ")
        about = single_line(first + stop.strip(), ABOUT_WIDTH)
        lines.append(f"- {code(name)} ({tool.kind}): {escape(about)}")
    counts = servers.counts
    lines += ["", "MCP servers:" if counts else "There are no MCP servers in this session.", ""]
    lines += [f"- {code(id_)}: {_count(count, 'tool')}" for id_, count in counts.items()]
    for title, about in servers.warnings:
        lines.append(f"- {escape(single_line(f'{title}. {about}', 3 * NAME_WIDTH))}")
    return "\n".join(lines).rstrip()


def usage_text(model: str, spent: TokenUsage, window: ContextWindow) -> str:
    """Return what was spent, and how full the window is."""
    if not spent.total:
        return "Nothing has been spent in this session, as far as the model's service reports."
    cached = f", {spent.cache_read_tokens} of them from a cache" if spent.cache_read_tokens else ""
    thought = f", {spent.reasoning_tokens} of them for thinking" if spent.reasoning_tokens else ""
    if window.size > 0:
        share = round(100 * window.used / window.size)
        fullness = f"{window.used} of {window.size} tokens, {share} %"
    else:
        fullness = "the size of the model's context window is not known; set it with `--window`"
    cost = "unknown" if spent.cost is None else f"${spent.cost:.4f}"
    lines = [
        f"All replies in this session; the model is now {code(model)}:",
        "",
        f"- input: {spent.input_tokens} tokens{cached}",
        f"- output: {spent.output_tokens} tokens{thought}",
        f"- cost: {cost}",
        f"- context window: {fullness}",
    ]
    return "\n".join(lines)


def permissions_text(permissions: SessionPermissions, rest: str, prefix: str = "") -> str:
    """Return what is remembered of the user's answers; forget it where `rest` says so."""
    shows = f"/{prefix}{PERMISSIONS.name}"
    forgets = code(f"{shows} {FORGET}")
    if rest == FORGET:
        count = permissions.clear_grants()
        if not count:
            return _NO_GRANTS
        verb = "was" if count == 1 else "were"
        return f"{_count(count, 'answer')} {verb} forgotten; you will be asked again."
    if rest:
        return f"{code(shows)} shows what is remembered, {forgets} forgets it."
    mode = next(name for id_, name, _ in MODES if id_ == permissions.mode)
    policy = next(name for id_, name, _ in POLICIES if id_ == permissions.policy)
    lines = [f"The mode is *{mode}*, the policy *{policy}*."]
    if standing := permissions.settings.rules:
        lines += ["", "Rules of the configuration:", ""]
        lines += [f"- {code(str(rule))}" for rule in standing]
    known = permissions.grants
    lines += ["", "You decided for this session:" if known else _NO_GRANTS, ""]
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
