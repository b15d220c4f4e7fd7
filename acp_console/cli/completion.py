"""`acp-console completion`: print the script that makes a shell complete commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.group import COMPLETION, PROGRAM, console


@click.command(name="completion", cls=CliCommand, topic="how-to")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(*, shell: str) -> int:
    """Print the script that makes SHELL complete commands, options and agents.

    \b
    eval "$(acp-console completion bash)"        # in ~/.bashrc
    eval "$(acp-console completion zsh)"         # in ~/.zshrc
    acp-console completion fish | source         # in ~/.config/fish/config.fish
    """  # noqa: D301 - the mark by which click keeps lines apart
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(console, {}, PROGRAM, COMPLETION)
    click.echo(script.source_template % script.source_vars())
    return exit_codes.DONE
