"""The command `acp-console`: which command runs, and where errors become sentences."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from acp_console.cli import exit_codes
from acp_protocol.version import SCHEMA_ID, VERSION

if TYPE_CHECKING:
    import click

COMMANDS: Final = {
    "chat": "Chat with an agent in the terminal.",
    "exec": "Run one turn without a screen.",
    "proxy": "Stand between an editor and its agent.",
    "attach": "Look at a running proxy.",
    "inspect": "Look at recordings.",
    "show": "Print the frames of a recording.",
    "lint": "Find what breaks the protocol in a recording.",
    "stats": "Count what happened in a recording, and how long it took.",
    "diff": "Compare two recordings by meaning.",
    "redact": "Take the secrets out of a recording.",
    "scan": "Look for secrets that are left in a file.",
    "import": "Make a recording of what another tool wrote down.",
    "replay": "Play a recording against a fresh agent.",
    "agents": "List the known agents.",
    "agent": "Be an ACP agent on stdio (same as acp-agent).",
}
"""Name and one line of help of each command; its module is imported when it is called."""
MODULES: Final = {"import": "import_"}
"""Modules of commands whose names are words of Python."""
WITHOUT_CLICK: Final = frozenset({"proxy", "agent"})
"""Commands that read their words themselves."""


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with the right exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = words[:1] == ["--debug"]
    try:
        code = _dispatch(words[is_debug:], is_debug=is_debug)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = exit_codes.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = exit_codes.DONE
    except Exception as problem:  # noqa: BLE001 - the top of the command line: errors become sentences
        from acp_console.cli.errors import report

        code = report(problem, is_debug=is_debug)
    sys.exit(code)


def _dispatch(words: list[str], *, is_debug: bool) -> int:
    match words:
        case ["proxy", *rest]:
            # Started by editors, once for each session: nothing is imported that it does not need.
            from acp_console.cli.proxy import run_command

            return run_command(rest)
        case ["agent", *rest]:
            from acp_agent.cli import run as run_agent

            return run_agent(rest)
        case ["--version"]:
            print(f"acp-console {VERSION} (ACP schema {SCHEMA_ID})")  # noqa: T201 - the result
            return exit_codes.DONE
        case _:
            from acp_console.cli.group import run_words

            return run_words(words, is_debug=is_debug)


def load(name: str) -> click.Command:
    """Return the command of that name, importing its module now."""
    module = importlib.import_module(f"acp_console.cli.{MODULES.get(name, name)}")
    return module.command
