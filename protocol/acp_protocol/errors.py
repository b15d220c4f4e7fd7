"""What can go wrong on floor 1, and what a caller may catch.

```
AcpError
├─ ProtocolError
│  ├─ LocalProtocolError      we used the protocol wrongly
│  └─ RemoteProtocolError     the peer did, so that the job cannot be done
├─ TransportError
│  ├─ FrameTooLongError       an unfinished frame passed its limit
│  ├─ ConnectionClosedError   the peer is gone, or we have closed
│  ├─ AgentStartError         the agent's command could not be started
│  └─ AgentExitedError        the agent's process ended: exit code, last stderr lines
├─ TimeLimitError             a wait took longer than it was allowed to
└─ RequestFailedError         the peer answered with an error: code, message, data
```

Faults of the peer that do not stop the job are values (`Malformed`, `Fault`), not exceptions.
"""

from __future__ import annotations

import signal
from typing import Any


class AcpError(Exception):
    """Everything that this program raises on purpose."""


class ProtocolError(AcpError):
    """Somebody did not keep to the protocol."""


class LocalProtocolError(ProtocolError):
    """We asked for something that the protocol or our own rules do not allow."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol in a way that ends the job."""


class TransportError(AcpError):
    """Bytes could not be moved."""


class FrameTooLongError(TransportError):
    """A frame holds more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a frame is longer than the limit of {limit} bytes")
        self.limit = limit


class ConnectionClosedError(TransportError):
    """The connection is closed; nothing can be sent and no answer will come."""

    def __init__(self, message: str = "the connection is closed") -> None:
        super().__init__(message)


class AgentStartError(TransportError):
    """The agent's command could not be started."""


class AgentExitedError(TransportError):
    """The agent's process has ended."""

    def __init__(
        self, code: int | None, stderr_tail: tuple[str, ...] = (), noise: bytes | None = None
    ) -> None:
        super().__init__(f"the agent {describe_exit(code)}")
        self.code = code
        """Exit code; negative for the number of the signal that ended it; None when unknown."""
        self.stderr_tail = stderr_tail
        """The last lines that the agent wrote to stderr, oldest first, as they came."""
        self.noise = noise
        """The first line on stdout that was no message, as it came; None when all were."""


class TimeLimitError(AcpError):
    """Something took longer than its limit."""

    def __init__(self, what: str, limit: float) -> None:
        super().__init__(f"{what} took longer than {limit:g} s")
        self.what = what
        self.limit = limit
        """Seconds."""
        self.stderr_tail: tuple[str, ...] = ()
        """What an agent that kept us waiting last wrote to stderr."""
        self.noise: bytes | None = None
        """The first line on its stdout that was no message; None when all were."""


class RequestFailedError(AcpError):
    """An error answer: the peer's to us, or ours to the peer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


def describe_exit(code: int | None) -> str:
    """Say in words how a process ended; `code` is negative for a signal's number."""
    if code is None:
        return "closed its output without ending"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def describe_os_error(problem: OSError) -> str:
    """Say in a few words what the operating system had against it."""
    words = problem.strerror or "the operating system refused"
    return words[:1].lower() + words[1:]


def start_error(program: str, problem: OSError | ValueError) -> AgentStartError:
    """Return the one sentence for why `program` could not be started."""
    match problem:
        case FileNotFoundError():
            reason = "there is no such command; check its spelling and PATH"
        case PermissionError():
            reason = "it may not be executed; check its permissions"
        case OSError():
            reason = describe_os_error(problem)
        case _:
            reason = "it is no valid command"
    return AgentStartError(f"cannot start {program}: {reason}")
