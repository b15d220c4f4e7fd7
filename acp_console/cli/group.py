"""The click group: knows names and help lines, and imports a command's module when called."""

from __future__ import annotations

import importlib
import io
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import click

from acp_console.agents.spec import DEMO_AGENT, command_agent
from acp_console.cli import exit_codes
from acp_console.cli.agent_option import SEPARATOR, agent_names
from acp_console.cli.command import Group
from acp_console.cli.errors import Sentences, UsageError
from acp_console.cli.other_words import OTHER_WORDS
from acp_console.cli.theme_option import theme_option
from acp_protocol.host.did_you_mean import nearest
from acp_protocol.host.lasting_output import open_closed_streams

PROGRAM: Final = "acp-console"
COMPLETION: Final = "_ACP_CONSOLE_COMPLETE"
"""The variable that a shell sets to ask for completions."""

SECRETIVE: Final = ("httpx", "httpcore", "hpack", "websockets")
"""Libraries whose details in a log have the headers of requests, and so secrets."""
GROUPS: Final = {
    "Chat": {
        "chat": "Chat with an agent in the terminal.",
        "exec": "Run one turn without a screen.",
        "sessions": "List, read, resume, export and remove the sessions of chats.",
        "agents": "List, add and inspect agents, and log in to them.",
    },
    "Capture": {
        "proxy": "Record the traffic between an editor and its agent.",
        "attach": "Watch a running proxy.",
        "bridge": "Put a stdio agent on the network, or a network agent on stdio.",
        "recover": "Write what a killed proxy had not written.",
        "import": "Convert the log of another tool to a recording.",
    },
    "Look": {
        "inspect": "Browse recordings in the terminal.",
        "show": "Print the frames of a recording.",
        "stats": "Print counts and times of a recording.",
        "diff": "Compare two recordings by meaning.",
        "lint": "Check recordings against the rules of the protocol.",
        "scan": "Search files for secrets.",
        "redact": "Replace the secrets in a recording.",
    },
    "Test": {
        "replay": "Play the client of a recording against a fresh agent.",
        "mock": "Play the agent of a recording for a client.",
        "snapshot": "Compare what a recording means with what was stored.",
        "test": "Play many recordings as regression tests of an agent or a client.",
        "model": "Record the traffic between an agent and its model, and replay it.",
        "conform": "Judge an agent or a client against the protocol.",
    },
    "System": {
        "agent": "Run an ACP agent on stdio (same as acp-agent).",
        "doctor": "Check what the console needs on this machine.",
        "completion": "Print the script that makes a shell complete commands.",
        "help": "Read a page of the documentation.",
    },
}
"""The commands of each section of the help, with their help lines."""
COMMANDS: Final = {name: about for group in GROUPS.values() for name, about in group.items()}
"""Name and help line of each command."""
MODULES: Final = {"import": "import_"}
"""Modules of commands whose names are Python keywords."""
WITHOUT_CLICK: Final = frozenset({"proxy", "agent"})
"""Commands that parse their own arguments."""


def load(name: str) -> click.Command:
    module = importlib.import_module(f"acp_console.cli.{MODULES.get(name, name)}")
    return module.command


_SIMILAR: Final = 0.75
_SOMEWHAT_SIMILAR: Final = 0.6
"""How similar a word is to the one that was probably meant; 1 is the same."""
_AGENT: Final = f"{__name__}.agent"
"""Where a context keeps the command of an agent that follows the options."""


class LazyGroup(Group):
    """Knows its commands by name and imports the one that is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options; what follows them and `--` is the command of an agent."""
        if SEPARATOR in args:
            options = args[: args.index(SEPARATOR)]
            _, words, _ = self.make_parser(ctx).parse_args([*options])
            if not words:
                ctx.meta[_AGENT] = args[len(options) + 1 :]
                args = options
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command; for one without click, a stub with its help line."""
        del ctx
        if cmd_name in WITHOUT_CLICK:
            return click.Command(cmd_name, short_help=COMMANDS[cmd_name])
        return load(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; an agent is chatted with, and a file is inspected."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            if name in agent_names():
                return "chat", load("chat"), args
            if Path(name).is_file():
                return "inspect", load("inspect"), args
            if "/" in name or "." in name or Path(name).is_dir():
                _check_recordings(name, f"{ctx.command_path} -- COMMAND starts an agent")
                return "inspect", load("inspect"), args
        return super().resolve_command(ctx, args)

    def hint(self, ctx: click.Context, name: str) -> str:
        """Return what to do instead: another command before an agent that is as similar."""
        found = (
            nearest(name, known, cutoff)
            for cutoff in (_SIMILAR, _SOMEWHAT_SIMILAR)
            for known in (COMMANDS, agent_names())
        )
        near = None if name in self.hints else next(filter(None, found), None)
        return f"did you mean {near}?" if near else super().hint(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", commands[name]) for name in commands])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    topic="index",
    hints=OTHER_WORDS,
)
@click.option("--debug", is_flag=True, help="Show tracebacks; goes before the command.")
@click.option(
    "--huge",
    is_flag=True,
    help="Read compressed files of any size; goes before the command.",
)
@click.option("--version", is_flag=True, help="Show the version and the built-in ACP schema.")
@theme_option
@click.pass_context
def console(
    context: click.Context, *, debug: bool, huge: bool, version: bool, theme: str | None
) -> int:
    """Chat with, inspect, record and replay agents that speak the Agent Client Protocol.

    \b
    acp-console                        # start the console
    acp-console gemini                 # chat with an agent by name
    acp-console -- my-agent --acp      # chat with the agent that a command starts
    acp-console session.acp.ndjson     # browse a recording
    acp-console exec "read README.md"  # run one turn without a screen

    Without a terminal, acp-console runs one turn with the demo agent.
    """  # noqa: D301 - the mark by which click keeps lines apart
    del debug
    if huge:
        from acp_inspector.recording.compression import DecompressedFile

        DecompressedFile.max_ratio = None
    if version or context.invoked_subcommand is not None:
        return 0
    if context.meta.get(_AGENT) == []:
        raise UsageError("missing the agent's command after --", "e.g. -- my-agent --acp")
    return home(context.meta.get(_AGENT, ()), theme=theme)


def run_words(words: list[str], *, is_debug: bool) -> int:
    """Run the command that `words` name, or the console; return the exit code."""
    level = logging.DEBUG if is_debug else logging.WARNING
    logging.basicConfig(level=level, handlers=None if is_debug else [Sentences()])
    for name in SECRETIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    open_closed_streams()
    # A character that the terminal cannot encode must not end the command.
    cast("io.TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    if COMPLETION in os.environ:
        console.main(words, prog_name=PROGRAM)
    try:
        # Not through main(): on a broken pipe it exits with 1, which here means "found".
        with console.make_context(PROGRAM, words) as context:
            result: object = console.invoke(context)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    return result if isinstance(result, int) else exit_codes.DONE


def _check_recordings(name: str, hint: str) -> None:
    """Check that a folder or pattern has recordings.

    Raises:
        UsageError: it has none, or there is no such folder.
    """
    from acp_inspector.recording.finding import find_recordings
    from acp_inspector.recording.format import RecordingError

    try:
        find_recordings([Path(name)])
    except RecordingError as problem:
        raise UsageError(problem.summary, f"{hint} by its command") from None


def home(command: Sequence[str] = (), theme: str | None = None) -> int:
    """Open the console: at Home, or at a chat with the agent that `command` starts."""
    agent = command_agent(command) if command else None
    if sys.stdin.isatty() and sys.stdout.isatty():
        from acp_console.tui.app import run_console

        start = "chat" if agent else "home"
        return run_console(agent=agent, start=start, cwd=Path.cwd(), theme=theme)
    from acp_console.cli.exec import run_demo_turn

    return run_demo_turn(agent or DEMO_AGENT)
