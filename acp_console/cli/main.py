"""The entry point of `acp-console`: dispatches commands and reports errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from acp_console.cli import exit_codes
from acp_protocol.version import SCHEMA_ID, SCHEMA_RELEASE, SCHEMA_RELEASED, VERSION


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with the right exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = words[:1] == ["--debug"]
    code = exit_codes.DONE
    try:
        code = _dispatch(words[is_debug:], is_debug=is_debug)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = exit_codes.INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has left: discard what is still buffered.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except Exception as problem:  # noqa: BLE001 - the top of the command line: errors become sentences
        from acp_console.cli.errors import report
        from acp_protocol.host.lasting_output import lasting_output

        with lasting_output():
            code = report(problem, is_debug=is_debug)
    sys.exit(code)


def _dispatch(words: list[str], *, is_debug: bool) -> int:
    match words:
        case ["proxy", *rest]:
            # Started by editors for each session: import only what it needs.
            from acp_console.cli.proxy import run_command

            return run_command(rest)
        case ["agent", *rest]:
            from acp_agent.door.cli import run as run_agent

            return run_agent(rest)
        case ["--version"]:
            print(f"acp-console {VERSION} (ACP schema {SCHEMA_ID})")  # noqa: T201 - the result
            print(f"schema of {SCHEMA_RELEASED}; {SCHEMA_RELEASE}")  # noqa: T201 - the result
            return exit_codes.DONE
        case _:
            from acp_console.cli.group import run_words

            return run_words(words, is_debug=is_debug)
