"""Which slash commands there are, and what a prompt that begins with one wants.

A model's own commands come first: where one is called as one of the agent's, it is the model's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from acp_agent.models.types import Model, SlashCommand, is_scripted

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
"""What the agent answers by itself."""
MODEL_COMMANDS: Final = (COMPACT, INIT)
"""What the model has to do, for which it must understand words."""
_COMMAND: Final = re.compile(r"/(?P<name>[a-z]+)(?P<rest>(\s.*)?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """What a prompt wants of the agent."""

    command: SlashCommand
    rest: str
    """The text after the command."""

    @property
    def is_local(self) -> bool:
        """Whether the prompt itself is nothing for the model."""
        return self.command != INIT


def available_commands(model: Model) -> list[SlashCommand]:
    """Return the commands that a prompt may begin with where `model` serves."""
    known = {command.name for command in model.commands}
    own = LOCAL_COMMANDS if is_scripted(model) else LOCAL_COMMANDS + MODEL_COMMANDS
    return [*model.commands, *(command for command in own if command.name not in known)]


def parse_command(text: str, model: Model) -> ParsedCommand | None:
    """Return the order that a prompt is; None for what is said to the model."""
    match = _COMMAND.fullmatch(text)
    own = available_commands(model)[len(model.commands) :]
    found = next((each for each in own if match is not None and match["name"] == each.name), None)
    return (
        ParsedCommand(found, match["rest"].strip())
        if match is not None and found is not None
        else None
    )
