"""How an agent is named on the command line: AGENT, or its command behind `--`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from acp_console.client.agents import DEMO_AGENT, AgentSpec, command_agent, find_agent
from acp_protocol.dialects.registry import SPOKEN

SEPARATOR: Final = "--"
NEWEST: Final = 2
"""The newest protocol version that the client speaks."""


class AgentCommand(click.Command):
    """A command that takes an agent's command behind `--`; click alone would mix it in."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the words behind `--` aside before click reads the rest."""
        if SEPARATOR in args:
            at = args.index(SEPARATOR)
            ctx.meta["agent_command"] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Name the command where it stands: last."""
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
    """Let a command say how an agent is to be spoken to; `spoken_to` takes it up."""
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
        help="How the agent speaks, if not by the published protocol; recognised by default.",
    )
    return protocol(dialect(command))


def chosen_agent(context: click.Context, name: str | None = None) -> AgentSpec | None:
    """Return the agent that was named; None when none was.

    Raises:
        UnknownAgentError: no agent has that name.
        click.UsageError: both a name and a command were given, or `--` stands with nothing behind.
    """
    command: Sequence[str] | None = context.meta.get("agent_command")
    if command is None:
        return find_agent(name) if name else None
    if name:
        raise click.UsageError(f"either the agent {name!r} or a command behind --, not both")
    if not command:
        raise click.UsageError("behind -- stands the agent's command, but there is none")
    return command_agent(command)


def agent_or_demo(context: click.Context, name: str | None = None) -> AgentSpec:
    """Return the agent that was named, or the embedded one."""
    return chosen_agent(context, name) or DEMO_AGENT
