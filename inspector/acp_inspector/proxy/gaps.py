"""What is missing in a recording: told in one event for each run, however many frames it is."""

from __future__ import annotations

from typing import Literal, TypeAlias

from acp_inspector.journal import JournalEvent
from acp_protocol.jsonrpc import Json

Stream: TypeAlias = Literal["client", "agent", "stderr"]


class Gaps:
    """Gathers what is left out between two entries that are not."""

    def __init__(self) -> None:
        self._runs: dict[tuple[Stream | None, str], _Run] = {}

    def __bool__(self) -> bool:
        """Tell whether anything is missing that was not told."""
        return bool(self._runs)

    def add(
        self, n: int, at: float, stream: Stream | None, why: str, *, size: int = 0, count: int = 0
    ) -> None:
        """Note that entry `n` is missing: `count` entries or `size` bytes of `stream`, or both."""
        run = self._runs.pop((stream, why), None) or _Run()
        run.n, run.at = n, at
        run.size += size
        run.count += count
        # Put behind the others: their numbers have to rise.
        self._runs[stream, why] = run

    def told(self) -> list[JournalEvent]:
        """Return what tells of the gaps, and forget them; each has the number of its last entry."""
        events = [
            JournalEvent(run.n, run.at, "dropped", _members(run, stream, why))
            for (stream, why), run in self._runs.items()
        ]
        self._runs.clear()
        return events


class _Run:
    __slots__ = ("at", "count", "n", "size")

    def __init__(self) -> None:
        self.at = 0.0
        self.n = self.size = self.count = 0


def _members(run: _Run, stream: Stream | None, why: str) -> dict[str, Json]:
    members: dict[str, Json] = {"count": run.count, "bytes": run.size, "from": stream, "why": why}
    return {name: value for name, value in members.items() if value}
