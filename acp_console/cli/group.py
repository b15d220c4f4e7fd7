"""The commands as click sees them: names and help lines now, modules when called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from acp_console.cli.main import COMMANDS, load
from acp_console.client.agents import DEMO_AGENT, command_agent


class LazyGroup(click.Group):
    """Knows its commands by name and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command; while only help is written, no more than its line."""
        if cmd_name not in COMMANDS:
            return None
        if ctx.resilient_parsing or ctx.params.get("is_listing") or cmd_name in {"proxy", "agent"}:
            return click.Command(cmd_name, short_help=COMMANDS[cmd_name])
        return load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing a command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": False},
    epilog="Everything behind -- is an agent's command: acp-console chat -- my-agent --acp",
)
@click.option("--debug", is_flag=True, help="Show tracebacks; stands before the command.")
@click.option("--version", is_flag=True, help="Show the version and the built-in ACP schema.")
@click.pass_context
def console(context: click.Context, *, debug: bool, version: bool) -> int:
    """Chat with, inspect, record and replay agents that speak the Agent Client Protocol.

    Without a command: the console, or without a terminal one turn with the demo agent.
    """
    del debug
    if version or context.invoked_subcommand is not None:
        return 0
    return home()


def home(command: Sequence[str] = ()) -> int:
    """Open the console at Home, with the agent that `command` starts among the agents."""
    agent = command_agent(command) if command else None
    if sys.stdin.isatty() and sys.stdout.isatty():
        from acp_console.tui.app import run_console

        return run_console(agent=agent, cwd=Path.cwd())
    from acp_console.cli.exec import run_demo_turn

    return run_demo_turn(agent or DEMO_AGENT)
