"""The options that choose an agent: AGENT, or its command after `--`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from acp_console.client.agents import DEMO_AGENT, AgentSpec, command_agent, find_agent
from acp_protocol.dialects.registry import SPOKEN

SEPARATOR: Final = "--"
NEWEST: Final = 2
"""The newest protocol version that the client speaks."""


class AgentCommand(click.Command):
    """A command that takes an agent's command after `--`, which click cannot separate."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the words after `--` before click parses the rest."""
        if SEPARATOR in args:
            at = args.index(SEPARATOR)
            ctx.meta["agent_command"] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the agent's command last."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND…]"]


class Seconds(click.FloatRange):
    """A number of seconds above 0."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a number of seconds above 0", param, ctx)


Command = TypeVar("Command", bound=Callable[..., object])


def speech_options(command: Command) -> Command:
    """Add `--protocol` and `--dialect` to a command."""
    protocol = click.option(
        "--protocol",
        type=click.IntRange(1, NEWEST),
        default=1,
        show_default=True,
        help="Newest protocol version to ask for; 2 is a draft.",
    )
    dialect = click.option(
        "--dialect",
        type=click.Choice(SPOKEN),
        help="The agent's dialect; detected by default.",
    )
    return protocol(dialect(command))


def record_option(command: Command) -> Command:
    """Give a command the option that names a new recording."""
    return click.option(
        "--record", callback=_new_file, metavar="FILE", help="Record the traffic to this new file."
    )(command)


def _new_file(context: click.Context, parameter: click.Parameter, name: str | None) -> Path | None:
    """Refuse what cannot be a new file before an agent or a screen starts."""
    if name is None:
        return None
    if not name:
        raise click.BadParameter("the name is empty", context, parameter)
    if os.path.lexists(name):
        raise click.BadParameter(f"{name} exists already; choose another name", context, parameter)
    return Path(name)


def chosen_agent(context: click.Context, name: str | None = None) -> AgentSpec | None:
    """Return the agent that was named; None when none was.

    Raises:
        UnknownAgentError: no agent has that name.
        click.UsageError: both a name and a command were given, or nothing follows `--`.
    """
    command: Sequence[str] | None = context.meta.get("agent_command")
    if command is None:
        return find_agent(name) if name else None
    if name:
        raise click.UsageError(f"give either the agent {name!r} or a command after --, not both")
    if not command:
        raise click.UsageError("missing the agent's command after --")
    return command_agent(command)


def agent_or_demo(context: click.Context, name: str | None = None) -> AgentSpec:
    """Return the agent that was named, or else the demo agent."""
    return chosen_agent(context, name) or DEMO_AGENT
