"""The command `acp-console`: which command runs, and where errors become sentences."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from acp_protocol.version import SCHEMA_ID, VERSION

if TYPE_CHECKING:
    import click

COMMANDS: Final = {
    "chat": "Chat with an agent in the terminal.",
    "exec": "Run one turn without a screen.",
    "proxy": "Stand between an editor and its agent.",
    "show": "Print the frames of a recording.",
    "replay": "Play a recording against a fresh agent.",
    "agents": "List the known agents.",
    "agent": "Be an ACP agent on stdio (same as acp-agent).",
}
"""Name and one line of help of each command; its module is imported when it is called."""


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with the right exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = words[:1] == ["--debug"]
    words = words[is_debug:]
    try:
        code = _dispatch(words)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # Whoever read our output has enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except Exception as problem:
        if is_debug:
            raise
        from acp_console.cli.problems import report

        code = report(problem)
    sys.exit(code)


def _dispatch(words: list[str]) -> int:
    match words:
        case ["proxy", *rest]:
            # Started by editors, once for each session: nothing is imported that it does not need.
            from acp_console.cli.proxy import run_command

            return run_command(rest)
        case ["agent", *rest]:
            from acp_agent.main import run as run_agent

            return run_agent(rest)
        case ["--", *command]:
            from acp_console.cli.group import home

            return home(command)
        case ["--version"]:
            print(f"acp-console {VERSION} (ACP schema {SCHEMA_ID})")  # noqa: T201 - the result
            return 0
        case _:
            return _click(words)


def _click(words: list[str]) -> int:
    from acp_console.cli.group import console

    result: object = console.main(words, prog_name="acp-console", standalone_mode=False)
    return result if isinstance(result, int) else 0


def load(name: str) -> click.Command:
    """Return the command of that name, importing its module now."""
    module = importlib.import_module(f"acp_console.cli.{name}")
    return module.command
