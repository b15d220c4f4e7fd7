"""Between a lane and who decides about its frames: what each hands to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from acp_inspector.intercept.passage import Passage
from acp_inspector.journal import Frame
from acp_protocol.errors import AcpError


class LaneClosedError(AcpError):
    """Nothing more can be sent in this direction."""


@dataclass(slots=True)
class Held:
    """A frame that waits for somebody's decision."""

    id: int
    passage: Passage
    breakpoint: int | None
    """Which one holds it; None for the pause of everything."""
    since: float
    until: float
    """When it leaves if nobody decides."""
    is_decided: bool = False


@dataclass(slots=True)
class Insertion:
    """A frame of ours that waits for its turn."""

    raw: bytes
    by: str
    answers: int | None = None
    """Number of the request that it answers."""
    left: Callable[[int], None] = field(default=lambda n: None)
    """Is told its number when it leaves."""


class Desk(Protocol):
    """Decides about the frames of a lane."""

    def judge(self, frame: Frame) -> Passage:
        """Return what shall be done; called without the lock, from the lane's writer."""
        ...

    def admit(self, passage: Passage, *, is_exempt: bool) -> Held | None:
        """Return the hold of a frame whose turn has come; None when it may go on."""
        ...

    def time_out(self, held: Held) -> None:
        """Hear that nobody has decided in time."""
        ...

    def settle(self, passage: Passage) -> None:
        """Do what a passage wants done elsewhere, now that its turn has come."""
        ...

    @property
    def is_active(self) -> bool:
        """Whether frames have to be looked at."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether everything shall leave without any wait."""
        ...


@dataclass(frozen=True, slots=True)
class Wait:
    """There is nothing to write."""

    seconds: float | None
    """For how long; None for until something happens."""
