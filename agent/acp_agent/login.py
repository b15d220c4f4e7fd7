"""Logging in on a terminal: the user types a key, which is kept for the next start.

Source: ACP, Authentication, "Terminal Auth".
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping

from acp_agent.models.keyring import keyring
from acp_agent.models.services import SERVICES, SettingsError, check_key


def log_in(prefix: str, environment: Mapping[str, str]) -> int:
    """Ask for the key of a service on this terminal and keep it; return the exit code."""
    service = SERVICES[prefix]
    if not sys.stdin.isatty():
        _tell("To log in, a key is typed in on a terminal; this is none.")
        return 2
    try:
        # Not echoed, and not in the arguments of any program.
        key = getpass.getpass(f"Key of {service.title}: ", sys.stderr).strip()
    except (EOFError, KeyboardInterrupt):
        _tell("\nNothing was changed.")
        return 130
    if not key:
        _tell("Nothing was typed in, and nothing was changed.")
        return 2
    ring = keyring(environment)
    try:
        check_key(key, "What was typed in")
        ring.put(prefix, key)
    except SettingsError as problem:
        _tell(str(problem))
        return 2
    _tell(f"The key is kept in {ring.path}, which only you can read.")
    return 0


def _tell(sentence: str) -> None:
    sys.stderr.write(f"acp-agent: {sentence}\n")
