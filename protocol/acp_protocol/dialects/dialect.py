"""What every dialect can do, whatever it sounds like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from acp_protocol.framing import Framing, Side


@dataclass(frozen=True, slots=True)
class Reading:
    """What a frame in a dialect comes to."""

    onward: tuple[bytes, ...]
    """The official v1 frames that say the same, in order; there may be none, or several."""
    back: tuple[bytes, ...] = ()
    """Frames in the dialect that its sender has to get, because official ACP has no such answer."""


class Dialect(Protocol):
    """Reads and writes one way of speaking; each connection has its own, for it remembers.

    Answers name no method, so a dialect has to see the questions too, whichever way they go: of
    each exchange one frame is read or written, and so is the other. What is official already,
    unknown or malformed passes as the same bytes.
    """

    @property
    def name(self) -> str:
        """The word that chooses this dialect."""
        ...

    @property
    def framing(self) -> Framing:
        """How its frames are kept apart on stdio."""
        ...

    def read(self, raw: bytes, sent_by: Side) -> Reading:
        """Turn a frame of the dialect, from either side, into official v1; never raises."""
        ...

    def write(self, raw: bytes, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official v1 frame, from either side, into the dialect; never raises."""
        ...
