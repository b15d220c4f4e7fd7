"""What a replay found, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from acp_inspector.replay.comparison import ABSENT, Difference
from acp_protocol.host.text import visible
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a replay."""

    differences: tuple[Difference, ...]
    troubles: tuple[str, ...]
    """What kept the replay from being played to its end."""
    played: int
    """Client frames that were sent."""
    compared: int
    """Recorded beats that were held against what came."""
    unreached: int = 0
    """Recorded beats that stand behind the barrier that did not open."""
    has_agent_ended: bool = False
    """Whether the agent ended before its time."""

    @property
    def is_passed(self) -> bool:
        """Whether all was played and nothing differs."""
        return not self.differences and not self.troubles

    def render(self) -> str:
        """Return the verdict as text that is safe to show."""
        return visible("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        counts = f"{self.played} client frames played, {self.compared} beats compared"
        if self.unreached:
            counts += f", {self.unreached} not reached"
        if self.is_passed:
            yield f"pass: {counts}"
            return
        found = len(self.differences) + len(self.troubles)
        yield f"fail: {found} {'thing' if found == 1 else 'things'} wrong; {counts}"
        for trouble in self.troubles:
            yield f"\n* {trouble}"
        for difference in self.differences:
            yield from _difference(difference)


def _difference(difference: Difference) -> Iterator[str]:
    frames = ", ".join(map(str, difference.frames[:5]))
    more = "…" if len(difference.frames) > 5 else ""
    where = f", at {difference.path}" if difference.path else ""
    if difference.expected == ABSENT and not difference.path:
        yield f"\n* {difference.what} was not expected (live frames {frames}{more})"
    elif difference.got == ABSENT and not difference.path:
        yield f"\n* {difference.what} did not come (recorded frames {frames}{more})"
    else:
        yield f"\n* {difference.what}{where} (recorded frames {frames}{more})"
    expected, got = _text(difference.expected), _text(difference.got)
    if isinstance(difference.expected, str) and "\n" in expected + got:
        lines = unified_diff(
            expected.splitlines(), got.splitlines(), "recorded", "came", lineterm="", n=1
        )
        yield from (f"    {line}" for line in lines)
        return
    yield f"    - {expected}"
    yield f"    + {got}"


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
