"""Keeps what the user has given for a login out of recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from acp_console.agents.spec import AgentSpec
from acp_inspector.journal import Sink
from acp_inspector.recording.format import Header

if TYPE_CHECKING:
    from acp_inspector.redaction.stream import EntryRedactor


class LoginRedaction:
    """Replaces the token or the data of a login; nothing else, and nothing without these."""

    def __init__(self, redactor: EntryRedactor | None, warn: Callable[[str], None]) -> None:
        self._redactor = redactor
        self._warn = warn

    def header(self, header: Header) -> Header:
        """Return the header of the recording."""
        return header if self._redactor is None else self._redactor.header(header)

    def sink(self, inner: Sink) -> Sink:
        """Return what writes the recording to `inner`."""
        if self._redactor is None:
            return inner
        from acp_inspector.redaction.stream import RedactingSink

        return RedactingSink(inner, self._redactor, self._warn)


def login_redaction(agent: AgentSpec, path: Path, warn: Callable[[str], None]) -> LoginRedaction:
    """Return what keeps the login of an agent out of the recording at `path`."""
    if agent.login is None or not agent.login.secret:
        return LoginRedaction(None, warn)
    # Imported late: the rules take time to compile, and few logins have a secret.
    from acp_inspector.redaction.stream import EntryRedactor, next_placeholder

    environment = {f"LOGIN_{n}_TOKEN": value for n, value in enumerate(agent.login.values)}
    first = next_placeholder(path) if path.is_file() else 1
    return LoginRedaction(
        EntryRedactor(environment=environment, rules=("environment", "key"), first=first), warn
    )
