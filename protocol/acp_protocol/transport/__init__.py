"""How frames get from one side to the other.

Every transport keeps the same contract, which one suite of tests holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

__all__ = ["EagerTransport", "Transport"]


class Transport(Protocol):
    """Moves frames, whole and in order, both ways."""

    async def send(self, line: bytes) -> None:
        """Send one frame (without its newline); return when there is room for the next.

        Callers take turns: two sends never run at once. A send that is cancelled has sent nothing,
        or its frame leaves whole before the next one: the stream is never cut in the middle of a
        frame.

        Raises:
            ConnectionClosedError: nobody reads any more, or the transport is closed.
        """
        ...

    async def receive(self) -> bytes:
        """Return the peer's next frame, without its newline.

        A frame that the end of the stream cut off is handed on too.

        Raises:
            ConnectionClosedError: no more frames will come.
            FrameTooLongError: the peer's frame passes the limit; the transport is of no more use.
        """
        ...

    async def aclose(self) -> None:
        """Close both directions; closing twice is no error."""
        ...


@runtime_checkable
class EagerTransport(Transport, Protocol):
    """A transport that does without waiting what can be done without.

    The other transports are made such ones by `transport.eager`.
    """

    def begin(self, lines: Sequence[bytes]) -> bool:
        """Send frames as far as there is room; return whether all of them have left.

        Otherwise `finish` has to be awaited, before anything else is sent.

        Raises:
            ConnectionClosedError: nobody reads any more, or the transport is closed.
        """
        ...

    async def finish(self) -> None:
        """Send what `begin` had to leave; return when there is room for the next frame.

        Cancelled, it keeps to what `send` promises.

        Raises:
            ConnectionClosedError: nobody reads any more, or the transport is closed.
        """
        ...

    def receive_nowait(self) -> bytes | None:
        """Return the next frame if it has come already; None if `receive` has to be awaited."""
        ...
