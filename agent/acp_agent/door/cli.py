"""The command `acp-agent`: the agent on stdin and stdout, over HTTP, or another command."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from acp_agent.door.flags import new_parser, new_serve_parser
from acp_agent.settings.providers import PROVIDERS, SettingsError, check_key
from acp_protocol.host.sanitize import error_text

COMMANDS: Final = frozenset({"agent-json", "config"})
"""First arguments that are commands which serve no client."""
SERVE: Final = "serve"
LOG_FORMAT: Final = "acp-agent: %(message)s"


def run(arguments: Sequence[str] | None = None) -> int:
    """Serve one client until it closes stdin; return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] and arguments[0] in COMMANDS:
        from acp_agent.door.config_commands import run_command

        return run_command(arguments)
    if arguments[:1] == [SERVE]:
        from acp_agent.door.network import run_server

        logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT, stream=sys.stderr)
        return run_server(new_serve_parser().parse_args(arguments[1:]))
    options = new_parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT, stream=sys.stderr)
    # Python leaves out the streams that are closed at its start; their numbers mean other files.
    if None in (sys.stdin, sys.stdout):
        return _fail("stdin and stdout are needed: an ACP client talks to the agent there")
    if options.login is not None:
        return log_in(options.login, os.environ)
    if options.script is not None:
        from acp_agent.scripted.command import run_script

        return run_script(options)
    if options.seed is not None or options.check or options.debug:
        return _fail("--seed, --check and --debug need a script", "name it with --script FILE")
    if sys.stdin.isatty():
        sys.stderr.write(
            "acp-agent is an agent: an ACP client, such as an editor or acp-console, starts it "
            "and talks to it on stdin and stdout. Ctrl-D ends it.\n"
        )
    # A script and a login do without it.
    from acp_agent.door.serving import run_agent

    return run_agent(options)


def _fail(text: str, hint: str = "") -> int:
    sys.stderr.write(error_text(text, hint))
    return 2


def log_in(prefix: str, environment: Mapping[str, str]) -> int:
    """Read a provider's key from this terminal and store it; return the exit code.

    Source: ACP, Authentication, "Terminal Auth".
    """
    import getpass

    from acp_agent.models.factory import keyring

    if not sys.stdin.isatty():
        return _fail("to log in, type a key in a terminal; stdin is not a terminal")
    try:
        # Not echoed, and not in the arguments of any program.
        key = getpass.getpass(f"Key of {PROVIDERS[prefix].title}: ", sys.stderr).strip()
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\nNothing was changed.\n")
        return 130
    if not key:
        return _fail("no key was entered; nothing was changed")
    ring = keyring(environment)
    try:
        check_key(key, "The key")
        ring.put(prefix, key)
    except SettingsError as error:
        return _fail(str(error))
    sys.stderr.write(f"The key is stored in {ring.path}, which only you can read.\n")
    return 0


if __name__ == "__main__":
    sys.exit(run())
