"""How an agent is named on the command line: AGENT, or its command behind `--`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from acp_console.client.agents import DEMO_AGENT, AgentSpec, command_agent, find_agent

SEPARATOR = "--"


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
