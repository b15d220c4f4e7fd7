"""Decides which differences between a recording and a live agent fail, and which are only noted."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from acp_inspector.compare.difference import JournalComparison, StepDifference, frame_numbers
from acp_inspector.compare.steps import Level
from acp_inspector.compare.values import ABSENT, is_other
from acp_inspector.replay.client_script import ClientScript, ConnectionEvents
from acp_protocol.json_values import get, get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import ASYNCHRONOUS

_SETTINGS: Final = frozenset({"current_mode_update", "config_option_update"})
"""Asynchronous updates that say how the agent works from then on."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Knows what was played."""

    script: ClientScript
    run: ConnectionEvents
    live_session: Callable[[str | None], str | None]
    """Returns the live session of a recorded one."""
    requests: AbstractSet[int]
    """Numbers of live requests."""
    forwarded: AbstractSet[int]
    """Numbers of live requests that the recording does not have."""
    level: Level

    def judge(self, comparison: JournalComparison) -> tuple[list[StepDifference], list[str]]:
        """Return the differences that fail, and sentences about those that do not."""
        ends: dict[Hashable, int] = {}
        """The last live frame with a counterpart: of all, of each session, of each kind in it."""
        values: dict[Hashable, Json] = {}
        turns: dict[str | None, int] = {}
        for pair in comparison.pairs:
            step = pair.right
            if step is not None and pair.left is not None:
                kind = (step.session, step.name)
                for key in (None, step.session, kind):
                    ends[key] = max(ends.get(key, 0), *step.frames)
                values[kind] = step.value
                turns[step.session] = max(turns.get(step.session, 0), step.turn)
        # The recorded agent may have sent it too, between two turns or behind the end.
        unseen = {
            step.frames[0]
            for step in (pair.right for pair in comparison.pairs)
            if step is not None
            and step.name not in _SETTINGS
            and (step.is_between_turns or step.turn >= turns.get(step.session, math.inf))
        }
        failing: list[StepDifference] = []
        notes: list[str] = []
        for difference in comparison.differences:
            frame = difference.right_frames[0] if difference.kind == "right only" else 0
            kind = (difference.session, difference.name)
            is_behind = frame > ends.get(difference.session, math.inf)
            is_tolerant = difference.name in ASYNCHRONOUS and self.level != "strict"
            if is_tolerant and frame > ends.get(kind, 0):
                is_repeated = not is_other(values.get(kind, ABSENT), difference.right)
                is_behind |= frame in unseen or is_repeated
            if frame in self.forwarded:
                notes.append(f"{difference.name} (live frame {frame}) was forwarded")
            elif is_behind and not self._must_be_recorded(difference):
                notes.append(
                    f"{difference.name} (live frame {frame}) came behind the last recorded frame "
                    f"of its {'kind' if difference.name in ASYNCHRONOUS else 'session'}"
                )
            elif self._is_cancelled_text(difference):
                notes.append(
                    f"{difference.name} (live {frame_numbers(difference.right_frames)}) ends "
                    "elsewhere: its turn was cancelled"
                )
            elif not self._goes_on(difference):
                failing.append(difference)
        return failing, notes

    def _must_be_recorded(self, difference: StepDifference) -> bool:
        """Return whether something fails even behind the last recorded frame."""
        if difference.session in set(map(self.live_session, self.script.run.working)):
            return False
        is_request = not self.requests.isdisjoint(difference.right_frames)
        is_response = difference.name.startswith("response to ")
        return is_request or is_response or difference.name == "malformed message"

    def _goes_on(self, difference: StepDifference) -> bool:
        """Return whether the recording ends within a turn that goes on as it began."""
        begun = self._open_since(difference.session)
        if begun is None or difference.kind != "changed" or difference.left_frames[0] < begun:
            return False
        left, right = difference.left, difference.right
        is_longer = isinstance(left, str) and isinstance(right, str) and right.startswith(left)
        if difference.path.endswith(".text"):
            texts = [each.seq for each in self.script.events if each.kind == "text"]
            return is_longer and texts[-1] in difference.left_frames
        return difference.name == "tool call" and left == ABSENT

    def _is_cancelled_text(self, difference: StepDifference) -> bool:
        """Return whether a text differs only in where the cancellation of its turn has ended it.

        What had come before the cancellation must be there.
        """
        left, right = difference.left, difference.right
        is_text = isinstance(left, str) and isinstance(right, str)
        is_cut = is_text and (left.startswith(right) or right.startswith(left))
        if not is_cut or self.level == "strict" or not difference.path.endswith(".text"):
            return False
        texts = [
            event for event in self.script.events
            if event.kind == "text" and (event.session, event.name)
            == (difference.session, difference.name)
        ]  # fmt: skip
        for cancel in self.script.cancels:
            end = self.script.turn_end(cancel)
            last = max((each.seq for each in texts if each.seq < end), default=0)
            if cancel.session == difference.session and last in difference.left_frames:
                before = sum(
                    len(get_text(get(get(each.params, "update"), "content"), "text") or "")
                    for each in texts
                    if each.seq in difference.left_frames and each.seq < cancel.seq
                )
                return min(len(left), len(right)) >= before
        return False

    def _open_since(self, session: str | None) -> int | None:
        """Return the frame of the prompt of a turn that the recording ends in; None if none."""
        turns = self.script.run.session(session).turns
        return next((turn.began for turn in turns), None)

    def double_responses(self) -> list[str]:
        """Return a sentence for each second response that the recording does not have."""
        recorded = sum(fault.kind == "double" for fault in self.script.run.exchanges.faults)
        found = [fault for fault in self.run.exchanges.faults if fault.kind == "double"]
        return [
            f"the agent responded twice to {fault.exchange.request.method} (live frame "
            f"{fault.frame.seq}): {fault.why}"
            for fault in found[recorded:]
            if fault.exchange is not None
        ]
