"""The contract of all transports; one suite of tests holds every implementation to it."""

from __future__ import annotations

from typing import Protocol


class Transport(Protocol):
    """Moves frames, whole and in order, both ways."""

    async def send(self, line: bytes) -> None:
        """Send one frame (without its newline); return when there is room for the next.

        Callers take turns: two sends never run at once. A send that is cancelled has sent nothing,
        or its frame is sent whole before the next one: the stream is never cut inside a frame.

        Raises:
            ConnectionClosedError: the peer does not read any more, or the transport is closed.
        """
        ...

    async def receive(self) -> bytes:
        """Return the peer's next frame, without its newline.

        A frame that the end of the stream cut off is returned too.

        Raises:
            ConnectionClosedError: no more frames will come.
            FrameTooLongError: the peer's frame exceeds the limit; the transport cannot be used any
                more.
        """
        ...

    async def aclose(self) -> None:
        """Close both directions; closing twice is no error."""
        ...
