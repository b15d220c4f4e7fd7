"""Two journals that were compared, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from acp_console.wording.values import format_number
from acp_inspector.compare.difference import (
    JournalComparison,
    StepDifference,
    frame_numbers,
    value_lines,
)
from acp_inspector.compare.steps import JournalStep
from acp_inspector.compare.values import ABSENT
from acp_inspector.views.frame_row import call_summary, update_summary
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import get, get_list, get_string
from acp_protocol.jsonrpc import Json

VALUE_WIDTH: Final = 200
"""Most characters shown of a value, where nothing else is said."""


def difference_lines(
    each: StepDifference, *, are_many: bool, width: int = VALUE_WIDTH
) -> Iterator[str]:
    """Yield a difference as lines that are safe to show; `are_many`: it names its session.

    Values are cut to a width.
    """
    where = f" in {single_line(each.session, 40)}" if are_many and each.session else ""
    step = f"{each.side}{where}: {single_line(each.name, 80)}"
    ours, theirs = frame_numbers(each.left_frames), frame_numbers(each.right_frames)
    match each.kind:
        case "left only":
            yield f"- {step}, {ours} of the left"
        case "right only":
            yield f"+ {step}, {theirs} of the right"
        case "moved":
            yield f"~ {step} comes in another order, {ours} and {theirs}"
        case "changed":
            path = f" at {single_line(each.path, 120)}" if each.path else ""
            yield f"* {step}{path}, {ours} and {theirs}"
    for line in value_lines(each):
        # The mark before a value does not count.
        yield f"    {single_line(line, width + 2)}"


def comparison_summary(found: JournalComparison) -> str:
    """Return how many steps are equal, changed, and in one of the journals only."""
    kinds = Counter(
        pair.differences[0].kind if pair.differences else "equal" for pair in found.pairs
    )
    parts = [f"{format_number(kinds[kind])} {kind}" for kind in _KINDS if kinds[kind]]
    return " · ".join(parts) or "nothing to compare"


_KINDS: Final = ("changed", "moved", "left only", "right only", "equal")


def step_text(step: JournalStep, width: int) -> str:
    """Return a step on one line that is safe to show: its name and the begin of what it says."""
    shown = _summary(step) or value_text(step.value)
    return single_line(f"{single_line(step.name, 40)}  {shown}", max(width, 1))


def _summary(step: JournalStep) -> str:
    value = step.value
    prompt = get_list(value, "prompt")
    text = get_string(value, "text") or get_string(get(value, "last"), "title")
    text = text or (get_string(prompt[0], "text") if prompt else "")
    if text or step.root == "$":
        return text or _error(get(value, "error"))
    is_update = get_string(value, "sessionUpdate") != ""
    return update_summary(value) if is_update else call_summary(step.name, value)


def _error(error: Json) -> str:
    return "" if error is None else f"{get(error, 'code')} {get_string(error, 'message')}".rstrip()


def value_text(value: Json) -> str:
    """Return a value of a difference as text, which is not safe to show."""
    if value == ABSENT or isinstance(value, str):
        return str(value)
    return json_text(value)


def step_json(step: JournalStep) -> str:
    """Return all that a step says as indented JSON, which is not safe to show."""
    return json_text(step.value, indent=2)
