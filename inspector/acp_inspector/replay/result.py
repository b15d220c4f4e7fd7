"""The result of a replay, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from acp_inspector.analysis.diff import StepDifference
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

MAX_FRAMES = 5
"""Frame numbers that are named of one step, at most."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The end of a replay."""

    differences: tuple[StepDifference, ...]
    """The recording on the left, the live agent on the right."""
    errors: tuple[str, ...]
    """What kept the replay from its end."""
    played: int
    """Client frames that were sent."""
    compared: int
    """Recorded steps of the agent that were compared."""
    unreached: int = 0
    """Recorded steps after the barrier that did not open."""
    has_agent_ended: bool = False
    """Whether the agent ended too early."""

    @property
    def is_passed(self) -> bool:
        """Whether everything was played and nothing differs."""
        return not self.differences and not self.errors

    def render(self) -> str:
        """Return the result as text that is safe to show."""
        return escape_controls("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        counts = f"{self.played} client frames played, {self.compared} steps compared"
        if self.unreached:
            counts += f", {self.unreached} not reached"
        if self.is_passed:
            yield f"pass: {counts}"
            return
        count = len(self.differences) + len(self.errors)
        yield f"fail: {count} {'problem' if count == 1 else 'problems'}; {counts}"
        for error in self.errors:
            yield f"\n* {error}"
        for difference in self.differences:
            yield from _difference_lines(difference)


def _difference_lines(difference: StepDifference) -> Iterator[str]:
    name = difference.name
    if difference.kind == "right only":
        yield f"\n* {name} is not in the recording (live {_frames(difference.right_frames)})"
        yield f"    + {_text(difference.right)}"
        return
    frames = f"recorded {_frames(difference.left_frames)}"
    if difference.kind == "left only":
        yield f"\n* {name} is missing ({frames})"
        yield f"    - {_text(difference.left)}"
        return
    where = f", at {difference.path}" if difference.path else ""
    yield f"\n* {name}{where} ({frames})"
    recorded, live = _text(difference.left), _text(difference.right)
    if isinstance(difference.left, str) and "\n" in recorded + live:
        lines = unified_diff(
            recorded.splitlines(), live.splitlines(), "recorded", "live", lineterm="", n=1
        )
        yield from (f"    {line}" for line in lines)
        return
    yield f"    - {recorded}"
    yield f"    + {live}"


def _frames(numbers: tuple[int, ...]) -> str:
    more = "…" if len(numbers) > MAX_FRAMES else ""
    word = "frame" if len(numbers) == 1 else "frames"
    return f"{word} {', '.join(map(str, numbers[:MAX_FRAMES]))}{more}"


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
