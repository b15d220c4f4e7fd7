"""All exceptions that callers of this package may catch.

```
AcpError
├─ ProtocolError
│  ├─ LocalProtocolError      we used the protocol or this library wrongly
│  └─ RemoteProtocolError     the peer violated it, and we cannot go on
├─ TransportError
│  ├─ FrameTooLongError       a frame exceeds the limit
│  ├─ ConnectionClosedError   the peer left, or we closed
│  ├─ AgentStartError         the agent's command could not be started
│  └─ AgentExitedError        the agent's process ended: code, last stderr lines
├─ OperationTimeoutError      an operation took longer than its timeout
└─ RequestFailedError         a response with an error: code, message, data
```

Violations of the peer that we can recover from are values (`InvalidMessage`, `ProtocolViolation`),
not exceptions.
"""

from __future__ import annotations

import signal
from typing import Any


class AcpError(Exception):
    """The base class of all our exceptions."""

    def __init__(self, *args: object, hint: str = "") -> None:
        super().__init__(*args)
        self.hint = hint
        """What the user can do about it, if anything; `str()` ends with it."""

    @property
    def summary(self) -> str:
        """What failed, without the hint."""
        return super().__str__()

    def __str__(self) -> str:
        if not self.hint:
            return self.summary
        # Behind a list, a hint would read like a part of its last line.
        separator = "\nhint: " if "\n" in self.summary else "; "
        return f"{self.summary}{separator}{self.hint}"


class ProtocolError(AcpError):
    """One side violated the protocol."""


class LocalProtocolError(ProtocolError):
    """We tried something that the protocol or this library does not allow."""


class RemoteProtocolError(ProtocolError):
    """The peer violated the protocol, and we cannot go on."""


class TransportError(AcpError):
    """Frames cannot be sent or received."""


class FrameTooLongError(TransportError):
    """A frame has more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a frame is longer than the limit of {limit} bytes")
        self.limit = limit


class ConnectionClosedError(TransportError):
    """The connection is closed: nothing can be sent and no response will come."""

    def __init__(self, message: str = "the connection is closed", *, hint: str = "") -> None:
        super().__init__(message, hint=hint)


class AgentStartError(TransportError):
    """The agent's command could not be started."""


class AgentExitedError(TransportError):
    """The agent's process has ended."""

    def __init__(
        self, code: int | None, stderr_tail: tuple[str, ...] = (), stray_output: bytes | None = None
    ) -> None:
        super().__init__(f"the agent {describe_exit(code)}")
        self.code = code
        """The exit code; the negative number of the signal that ended it; None if unknown."""
        self.stderr_tail = stderr_tail
        """The last lines of the agent's stderr, oldest first."""
        self.stray_output = stray_output
        """The first line of its stdout that was no message; None if all were."""


class OperationTimeoutError(AcpError):
    """An operation took longer than its timeout."""

    def __init__(self, operation: str, timeout: float) -> None:
        super().__init__(f"{operation} took longer than {timeout:g} s")
        self.operation = operation
        self.timeout = timeout
        """Seconds."""
        self.stderr_tail: tuple[str, ...] = ()
        """The last lines of the stderr of an agent that did not respond."""
        self.stray_output: bytes | None = None
        """The first line of its stdout that was no message; None if all were."""


class RequestFailedError(AcpError):
    """An error response: from the peer to us, or from a handler to the peer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        detail = error_detail(data)
        more = f": {detail}" if detail and detail not in message else ""
        super().__init__(f"{message} ({code}){more}")
        self.code = code
        self.message = message
        self.data = data


def error_detail(data: Any) -> str | None:
    """Return the text in the `data` of an error, where many agents put the cause."""
    for _ in range(4):
        match data:
            case str():
                return data
            case {"details": found} | {"reason": found} | {"message": found} | {"error": found}:
                data = found
            case _:
                return None
    return None


def describe_exit(code: int | None) -> str:
    """Describe how a process ended; `code` is negative for the number of a signal."""
    if code is None:
        return "closed its stdin or stdout without ending"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def describe_os_error(problem: OSError) -> str:
    words = problem.strerror or "the operating system refused"
    return words[:1].lower() + words[1:]
