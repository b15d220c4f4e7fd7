"""What frames say in official words, whatever dialect they came in.

A journal keeps frames as they were on the wire. Whoever folds them reads them here: a connection in
a dialect is recognised, or known beforehand, and its frames then count as what they mean.

Source: the documents of each dialect; see `acp_protocol.dialects`.
"""

from __future__ import annotations

from collections import deque

from acp_inspector.journal import Frame
from acp_protocol.dialects.dialect import Dialect
from acp_protocol.dialects.recognition import PATIENCE, Recognition
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Malformed, Message, read_message


class Reader:
    """Reads the frames of one connection, in order."""

    def __init__(self, dialect: Dialect | None = None) -> None:
        """Read frames of `dialect`; None: of the published protocol, until another is heard."""
        self._dialect = dialect
        self._recognition = Recognition()
        self._before: deque[Frame] = deque(maxlen=2 * PATIENCE)
        """Frames that a dialect has not seen yet, should one be recognised."""

    @property
    def dialect(self) -> str | None:
        """The name of the dialect that is spoken; None for the published protocol."""
        return self._dialect.name if self._dialect else None

    def messages(self, frame: Frame) -> tuple[Message, ...]:
        """Return what a frame means: one message, but for dialects none or several too."""
        if self._dialect is None:
            name = self._recognition.see(frame.raw, frame.side)
            if name is None:
                self._keep(frame)
                return (read_message(frame.raw),)
            self._dialect = _opened(name)
            for earlier in self._before:
                # Answers name no method: what they answer has to be known.
                self._dialect.read(earlier.raw, earlier.side)
            self._before.clear()
        read = tuple(map(read_message, self._dialect.read(frame.raw, frame.side).onward))
        return tuple(message for message in read if not isinstance(message, Malformed)) or read

    def _keep(self, frame: Frame) -> None:
        sides: tuple[Side, ...] = ("client", "agent")
        if all(self._recognition.has_settled(side) for side in sides):
            self._before.clear()
        else:
            self._before.append(frame)


def _opened(name: str) -> Dialect:
    # Dialects are rare, and what they bring along is not.
    from acp_protocol.dialects.catalogue import open_dialect

    return open_dialect(name)
