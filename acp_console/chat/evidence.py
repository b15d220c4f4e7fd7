"""What points to the dialect of an agent that does not understand the published protocol.

Nothing is guessed from a failure alone. What counts is what the agent wrote: the framing of its
first bytes, its stderr, or the text of an error that names a member of one dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from acp_protocol.errors import (
    AcpError,
    AgentExitedError,
    OperationTimeoutError,
    RemoteProtocolError,
    RequestFailedError,
)
from acp_protocol.framing import Framing
from acp_protocol.jsonrpc import INVALID_PARAMS, UNSUPPORTED_VERSION

DIALECT_HINT: Final = (
    "if the agent speaks a dialect, name it: --dialect continuum, acpex or openoxide"
)

NOT_STARTED: Final = frozenset({2, 126, 127})
"""Exit codes of a program that was called wrongly, or that a shell could not start."""
_NOT_STARTED: Final = re.compile(r"\bexited with code (?:2|126|127)\b")
"""The same in the words of a bridge."""

_LENGTHS: Final = re.compile(
    r"content[-_ ]?length|invalid digit found in string"
    r"|invalid literal for int\(\).*jsonrpc|\bparsing .*jsonrpc.*invalid syntax"
    r"|\b(?:missing|invalid|malformed|bad|no|unknown) (?:message |frame |lsp )?headers?\b",
    re.IGNORECASE,
)
"""What programs write that read a length where they got a message."""
_FAILURE: Final = re.compile(
    r"missing|requir|expect|undefined|keyerror|no (?:field|such|value)|not (?:found|given|present"
    r"|provided|set)|null|none|\bnil\b|must|lack|without|absent|invalid|unknown key",
    re.IGNORECASE,
)
_MEMBERS: Final = {
    "initialize": (
        ("acpex", re.compile(r"\b(?:fileSystem|authenticationMethods)\b")),
        ("acpex", re.compile(r"(?<!lient )(?<!gent )\bcapabilities\b")),
        ("continuum", re.compile(r"(?<!fs\.)\b(?:readTextFile|writeTextFile)\b")),
    ),
    "session/new": (
        ("openoxide", re.compile(r"\bworking_dir\b")),
        ("continuum", re.compile(r"\bmode\b")),
    ),
    "session/prompt": (
        ("openoxide", re.compile(r"\bsession_id\b")),
        ("acpex", re.compile(r"\bcontent\b")),
    ),
}
"""The members that one dialect requires in place of ours, by the request that lacks them."""
_OFFICIAL_MEMBERS: Final = {
    "session/new": re.compile(r"\b(?:cwd|mcpServers)\b"),
    "session/prompt": re.compile(r"(?<![/\w])prompt\b|\bsessionId\b"),
}
"""The members that dialects name otherwise or leave out."""
_VERSION_2: Final = re.compile(r"\binfo\b")


def wants_headers(problem: AcpError, framing: Framing | None) -> bool:
    """Return whether an agent has failed to initialize because it reads `Content-Length` headers.

    Args:
        problem: Why it failed.
        framing: The framing of what the agent has written; None: it wrote nothing.
    """
    match problem:
        case AgentExitedError(stderr_tail=tail) | OperationTimeoutError(stderr_tail=tail):
            has_complained = framing is None and any(map(_LENGTHS.search, tail))
            return framing == "headers" or has_complained
        case RemoteProtocolError():
            return framing == "headers"
        case _:
            return False


def pointed_dialect(problem: AcpError, method: str) -> str | None:
    """Return the dialect that the failure of a request points to; None if nothing does."""
    match problem:
        case AgentExitedError(stderr_tail=tail) | OperationTimeoutError(stderr_tail=tail):
            return _by_members(method, tail)
        case RequestFailedError(code=code) if code != UNSUPPORTED_VERSION:
            return _by_members(method, [str(problem)])
        case _:
            return None


def misses_official_member(problem: AcpError, method: str) -> bool:
    """Return whether an agent refuses a request of a dialect, as it lacks what the protocol has."""
    member = _OFFICIAL_MEMBERS.get(method)
    if member is None or not isinstance(problem, RequestFailedError):
        return False
    return bool(member.search(str(problem)) and _FAILURE.search(str(problem)))


def may_be_dialect(problem: AcpError, method: str) -> bool:
    """Return whether a request may have failed because the agent speaks a dialect."""
    match problem:
        case AgentExitedError(code=code) if code in NOT_STARTED:
            return False
        case AgentExitedError(stray_output=noise) | OperationTimeoutError(stray_output=noise):
            # What writes other things to stdout is no agent.
            return method == "initialize" and noise is None
        case RequestFailedError() if _NOT_STARTED.search(str(problem)):
            return False
        case RequestFailedError(code=code):
            return method == "initialize" or code == INVALID_PARAMS
        case _:
            return False


def _by_members(method: str, lines: Iterable[str]) -> str | None:
    for line in lines:
        if method == "initialize" and _VERSION_2.search(line):
            continue
        for dialect, member in _MEMBERS.get(method, ()):
            if member.search(line) and _FAILURE.search(line):
                return dialect
    return None
