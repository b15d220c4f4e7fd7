"""The audit log: one line of JSON for each decision about a tool call.

A line holds what the call would touch and what decided, never what it would write: of the arguments
only paths, commands and hosts. If the file cannot be written, one warning is logged and the work
goes on: a full disk must not stop it.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from acp_protocol.call_rules.subjects import Subject
from acp_protocol.errors import describe_os_error
from acp_protocol.schema.words import ToolKind

logger = logging.getLogger(__name__)

Verdict: TypeAlias = Literal["allow", "reject", "forbidden", "cancelled"]
"""`reject` comes from the user, `forbidden` from the mode or a rule."""
DecidedBy: TypeAlias = Literal[
    "mode", "rules", "auto_allow", "policy", "rule", "question", "user", "client", "turn"
]
"""What decided: the session's mode, a rule, a list or the policy, an earlier "always", a form that
is its own consent, the user, a client that could not ask its user, or the end of the turn."""
MAX_CHARS: Final = 4096
"""Characters of one path or command that are kept."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a call, and what decided it."""

    verdict: Verdict
    decided_by: DecidedBy
    rule: str | None = None
    """The rule or grant that decided, or the grant that the user's choice made."""


class AuditLog:
    """Appends decisions to a file that only its owner may read.

    Several processes may write to one file: a line is written at once.
    """

    def __init__(
        self, path: Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._clock = clock
        self._descriptor: int | None = None
        self._is_warned = False
        try:
            self._descriptor = _opened(path)
        except OSError as problem:
            self._warn(problem)

    def append(
        self,
        decision: Decision,
        *,
        session: str,
        call: str,
        tool: str,
        kind: ToolKind | None,
        subjects: Sequence[Subject],
    ) -> None:
        """Append what was decided about a call, if the file can be written.

        `call` is the id that the client knows it by; `kind` is None where there is no such tool.
        """
        if self._descriptor is None:
            return
        time = self._clock().astimezone(UTC).isoformat(timespec="milliseconds")
        entry: dict[str, object] = {
            "time": time,
            "session": session,
            "call": call,
            "tool": tool,
            "kind": kind,
        }
        for name, area in (("paths", "path"), ("commands", "command"), ("names", "name")):
            found = [each.full_text()[:MAX_CHARS] for each in subjects if each.area == area]
            if any(found):
                entry[name] = found
        if place := next((each.directory for each in subjects if each.directory), None):
            entry["cwd"] = place[:MAX_CHARS]
        entry |= {"verdict": decision.verdict, "why": decision.decided_by}
        if decision.rule is not None:
            entry["rule"] = decision.rule
        line = (json.dumps(entry, separators=(",", ":")) + "\n").encode()
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                # What came through is ended, so that the next line is one.
                os.write(self._descriptor, b"\n")
        except OSError as problem:
            self._warn(problem)

    def close(self) -> None:
        """Close the file; decisions that come later are not recorded."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _warn(self, problem: OSError) -> None:
        if not self._is_warned:
            self._is_warned = True
            reason = describe_os_error(problem)
            logger.warning("the audit log %s is not written: %s", self._path, reason)


def _opened(path: Path) -> int:
    """Open the file to append to it, made if it is missing, readable for its owner alone.

    Raises:
        OSError: that is not possible, or what is there is no file.
    """
    descriptor = os.open(path, _FLAGS, _MODE)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")  # noqa: TRY301 - the way out is the same
        os.fchmod(descriptor, _MODE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
