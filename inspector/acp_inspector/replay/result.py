"""The result of a replay, and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from acp_inspector.compare.difference import (
    JournalComparison,
    Kind,
    StepDifference,
    frame_numbers,
    value_lines,
)
from acp_inspector.compare.tolerances import ToleranceName, tolerated_text
from acp_inspector.recording.reader import unread_problem
from acp_protocol.framing import Side
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import descendants
from acp_protocol.jsonrpc import Json

_WORDS: Final[dict[Kind, str]] = {
    "right only": "is not in the recording",
    "left only": "is missing",
    "changed": "differs",
    "moved": "comes in another order",
}
_PROBLEM_WIDTH: Final = 300
"""Characters of a problem in one line."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The end of a replay."""

    differences: tuple[StepDifference, ...]
    """The recording on the left, the live agent on the right."""
    errors: tuple[str, ...]
    """Why the replay stopped early."""
    played: int
    """Frames of the played side that were sent."""
    compared: int
    """Recorded steps of the other side that were compared."""
    unreached: int = 0
    """What the agent had sent after the wait that failed."""
    notes: tuple[str, ...] = ()
    """What is no failure: gaps in the recording, frames behind its end, forwarded requests."""
    has_agent_ended: bool = False
    """Whether the agent ended too early."""
    tolerated: Mapping[ToleranceName, int] = field(default_factory=dict[ToleranceName, int])
    """How often each tolerance was needed."""
    side: Side = "client"
    """The played side."""
    unread: int = 0
    """Lines of the recording that could not be read; the notes name them."""

    @property
    def is_passed(self) -> bool:
        """Whether everything was read and played, and nothing differs."""
        return not self.differences and not self.errors and not self.unread

    def joined(self, other: ReplayResult) -> ReplayResult:
        """Return the result of two connections, one after the other."""
        return ReplayResult(
            self.differences + other.differences,
            self.errors + other.errors,
            self.played + other.played,
            self.compared + other.compared,
            self.unreached + other.unreached,
            self.notes + other.notes,
            self.has_agent_ended or other.has_agent_ended,
            Counter(self.tolerated) + Counter(other.tolerated),
        )

    def to_json(self) -> dict[str, Json]:
        return {
            "passed": self.is_passed,
            "played": self.played,
            "compared": self.compared,
            "unreached": self.unreached,
            "unread": self.unread,
            "tolerated": dict(self.tolerated),
            "errors": list(self.errors),
            "notes": list(self.notes),
            "differences": [each.to_json() for each in self.differences],
        }

    def render(self, *, limit: int | None = None) -> str:
        """Return the result as text that is safe to show, with `limit` differences of a kind."""
        return escape_controls("\n".join(self._lines(limit)))

    def _lines(self, limit: int | None) -> Iterator[str]:
        counts = f"{counted(self.played, f'{self.side} frame')} played, "
        counts += f"{counted(self.compared, 'step')} compared"
        if self.unreached:
            counts += f", {self.unreached} not reached"
        if self.tolerated:
            counts += f"; tolerated: {tolerated_text(self.tolerated)}"
        if self.is_passed:
            yield f"pass: {counts}"
            yield from (f"\nnote: {note}" for note in self.notes)
            return
        errors = [*self.errors, *([unread_problem(self.unread)] if self.unread else [])]
        count = len(self.differences) + len(errors)
        yield f"fail: {counted(count, 'problem')}; {counts}"
        for error in errors:
            yield f"\n* {error}"
        yield from (f"\nnote: {note}" for note in self.notes)
        counts_by_kind: Counter[str] = Counter()
        for difference in self.differences:
            kind = f"{difference.name} {_WORDS[difference.kind]}"
            counts_by_kind[kind] += 1
            if limit is None or counts_by_kind[kind] <= limit:
                yield from _difference_lines(difference)
        for kind, number in counts_by_kind.items():
            if limit is not None and number > limit:
                yield f"\n… and {number - limit} more: {kind} (--all shows them)"


def first_problem(text: str) -> str:
    """Return the first problem in the text of a result as one line; its first line if it has none.

    The agent of a client writes the result on its stderr.
    """
    lines = [line.removeprefix("agent | ") for line in text.split("\n")]
    start = next((n for n, line in enumerate(lines) if line.startswith("* ")), None)
    if start is None:
        return lines[0]
    values = takewhile(lambda line: line.startswith("    "), lines[start + 1 :])
    whole = " ".join([lines[start].removeprefix("* "), *(each.strip() for each in values)])
    return single_line(whole, _PROBLEM_WIDTH)


def emptiness(comparison: JournalComparison) -> tuple[list[str], list[str]]:
    """Return an error if no step was compared, and a note if no value of any step was."""
    if not comparison.compared[0]:
        why = "nothing was compared: the recording has no step of that side, or all are ignored"
        return [why], []
    values = descendants([pair.left.value for pair in comparison.pairs if pair.left is not None])
    if any(value is not None and not isinstance(value, dict | list) for value in values):
        return [], []
    return [], ["no value was compared: the ignored paths leave only the names of the steps"]


def counted(count: int, word: str) -> str:
    """Return a number with its noun."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _difference_lines(difference: StepDifference) -> Iterator[str]:
    recorded, live = map(frame_numbers, (difference.left_frames, difference.right_frames))
    match difference.kind:
        case "right only":
            what = f" {_WORDS[difference.kind]} (live {live})"
        case "left only":
            what = f" {_WORDS[difference.kind]} (recorded {recorded})"
        case "moved":
            what = f" {_WORDS[difference.kind]} (recorded {recorded}, live {live})"
        case "changed":
            what = f"{f', at {difference.path}' if difference.path else ''} (recorded {recorded})"
    yield f"\n* {difference.name}{what}"
    yield from (f"    {line}" for line in value_lines(difference))
