"""What the model of a session knows, kept as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from acp_agent.memory import Kept
from acp_agent.sessions.chronicle import Chronicle


class History(list[Kept]):
    """What the model knows; what is added is kept."""

    def __init__(self, entries: Sequence[Kept], chronicle: Chronicle) -> None:
        super().__init__(entries)
        self._chronicle = chronicle

    def append(self, entry: Kept, /) -> None:
        """Add an entry."""
        super().append(entry)
        self._chronicle.remember(entry)

    def extend(self, entries: object, /) -> None:
        """Add several entries."""
        for entry in cast("Sequence[Kept]", entries):
            self.append(entry)

    def __iadd__(self, entries: object, /) -> Self:
        """Add several entries."""
        self.extend(entries)
        return self
