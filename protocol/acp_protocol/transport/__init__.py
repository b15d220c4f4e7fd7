"""How frames get from one side to the other.

Every transport keeps the same contract, which one suite of tests holds.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Transport"]


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
