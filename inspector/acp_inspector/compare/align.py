"""Finds which steps of two journals belong together.

Sessions may interleave, and so may the two sides of a session; the messages of one side in one
session keep their order, but for steps that may pass each other.

Source: docs/design/replay.md.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final, TypeAlias, cast

from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.steps import JournalStep
from acp_inspector.compare.tolerances import ToleranceName
from acp_inspector.compare.values import (
    ABSENT,
    Place,
    Templates,
    Variable,
    id_fields,
    id_kind,
    is_id,
    opaque,
)
from acp_protocol.framing import Side
from acp_protocol.json_text import json_text
from acp_protocol.json_values import get, get_list
from acp_protocol.jsonrpc import (
    Json,
    id_key,
)
from acp_protocol.schema.vocabulary import OPENING
from acp_protocol.tool_calls import is_final

_MAX_ALIGNED_STEPS: Final = 2_000
"""Above this number of steps of one side in a session, frequent steps are not used for alignment.
"""
_NONE: Final = -1
"""Number of a turn that is missing in one journal."""
_NO_SESSION: Final = "\0"
"""The id of no session; a session missing in the other journal is compared with nothing."""
_MAX_MOVES: Final = 1_000_000
"""Above this number of pairs of steps in a turn, steps in another order are not matched."""
_UNORDERED: Final = ({"session/new"}, {"session/set_mode", "session/set_model"})
"""Requests of a client that do not touch what the other one of their set touches."""
_FIXED: Final = frozenset({"initialize", "session/prompt", *OPENING}) - {"session/new"}
"""Requests of a client that keep their place, even if others are open at the same time."""
_Match: TypeAlias = "tuple[JournalStep | None, JournalStep | None]"
_Pair: TypeAlias = tuple[JournalStep, JournalStep]
"""A step and its counterpart."""
_STREAMED: Final = frozenset({"agent_message", "agent_thought", "plan", "plan_update"})
"""Updates that an agent streams in a turn, beside chunks."""


class MarkedSteps:
    """The steps of one journal, and their variables."""

    def __init__(self, steps: list[JournalStep], templates: Templates) -> None:
        self.steps = steps
        self.templates = templates
        self._marks: dict[JournalStep, tuple[str, list[Variable]]] = {}
        for session in {step.session for step in steps}:
            templates.add_id(session)
        for step in steps:
            for name, value in id_fields(step.value):
                if name != "requestId":
                    templates.add_id(value)
        self._parts: dict[tuple[str | None, int | str, Side], list[JournalStep]] = {}
        for step in steps:
            key = step.session, step.channel or step.turn, step.side
            self._parts.setdefault(key, []).append(step)

    def part(self, session: str | None, turn: int | str, side: Side) -> list[JournalStep]:
        """Return what a side did in a turn of a session, or in a channel over all turns."""
        return self._parts.get((session, turn, side), [])

    def channels(self, session: str | None) -> list[tuple[str, Side]]:
        """Return the channels of asynchronous updates in a session."""
        return [
            (turn, side)
            for id_, turn, side in self._parts
            if id_ == session and isinstance(turn, str)
        ]

    def mark_of(self, step: JournalStep) -> str:
        """Return a key that is equal for steps that differ only in variables."""
        return self.mark(step)[0]

    def mark(self, step: JournalStep) -> tuple[str, list[Variable]]:
        """Return the key of a step, and its variables."""
        found = self._marks.get(step)
        if found is None:
            variables: list[Variable] = []
            type_ = ""
            if step.is_request:
                variables.append(Variable(f"request of the {step.side}", step.id))
                type_ = id_key(step.id)[0]
            place = Place.of(step)
            value = self._masked(step.value, place, variables)
            mark = f"{step.name} {type_} {json_text(value)}"
            if step.beside:
                beside = self._masked(step.beside, place, variables)
                mark += json_text(beside)
            found = self._marks[step] = mark, variables
        return found

    def _masked(self, value: Json, place: Place, variables: list[Variable]) -> Json:
        if (variable := self.leaf(value, place)) is not None:
            variables.append(variable)
            return {"«»": variable.kind}
        if isinstance(value, dict):
            if not place.depth:
                return opaque(value)
            members = cast("dict[str, Json]", value)
            masked: dict[str, Json] = {}
            for key, name in sorted(self.names(members).items()):
                variables += self.templates.text(name)[1] if key != name else ()
                masked[key] = self._masked(members[name], place.member(name), variables)
            return masked
        if isinstance(value, list):
            if not place.depth:
                return opaque(value)
            below = place.item(0)
            return [self._masked(each, below, variables) for each in cast("list[Json]", value)]
        if isinstance(value, str):
            text, found = self.templates.text(value, place)
            variables += found
            return text
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def names(self, members: Mapping[str, Json]) -> dict[str, str]:
        """Return the names of members by themselves with their variables replaced.

        They may be paths and ids. One that would be the same as another is left as it is.
        """
        names: dict[str, str] = {}
        for name in members:
            # Most are plain words.
            key = name if name.isalpha() else self.templates.text(name)[0]
            names[name if key in members or key in names else key] = name
        return names

    def leaf(self, value: Json, place: Place) -> Variable | None:
        """Return the variable that a value is as a whole."""
        if is_id(place.name, value):
            return None if value == ABSENT else Variable(id_kind(place.name, place.step), value)
        return self.templates.whole(value, place)

    def replaced_marks(self, steps: Iterable[JournalStep]) -> Iterator[str]:
        """Yield the marks of the values that others of their turn have replaced."""
        for step in steps:
            for value in step.replaced:
                yield self.mark_of(replace(step, value=value, replaced=[]))

    def other_marks(self, step: JournalStep) -> set[str]:
        """Return the marks of the other values that a step had."""
        steps = (replace(step, value=value, replaced=[], beside={}) for value in step.other_values)
        return set(map(self.mark_of, steps))

    def prompts(self, session: str | None) -> list[str]:
        """Return the mark of the prompt of each turn of a session, from the first on."""
        marks: list[str] = []
        while steps := self.part(session, len(marks) + 1, "client"):
            marks.append(self.mark_of(steps[0]))
        return marks

    def belongs(self, request: JournalStep, call: JournalStep) -> bool:
        """Return whether a request names a tool call, or came between its first and last frame."""
        if call.name != "tool call" or call.session != request.session:
            return False
        is_within = call.frames[0] < request.frames[0] < call.frames[-1]
        return is_within or get(call.value, "toolCallId") in self.calls_of(request)

    def calls_of(self, step: JournalStep) -> set[Json]:
        """Return the ids of the tool calls that a step names."""
        return {each.value for each in self.mark(step)[1] if each.kind == "toolCallId"}

    def are_parallel(self, one: JournalStep, other: JournalStep) -> bool:
        """Return whether two steps were open at the same time, or do not touch the same."""
        kinds = {_order_kind(one), _order_kind(other)}
        if "" in kinds or len(kinds) > 1:
            return False
        if kinds == {"call"} and any({one.name, other.name} == each for each in _UNORDERED):
            return True
        if one.is_request != other.is_request and self.calls_of(one) & self.calls_of(other):
            return True
        (start, end), (other_start, other_end) = _span(one), _span(other)
        return start < other_end and other_start < end

    def shown(self, value: Json) -> Json:
        """Return a value with the names of directories in its texts."""
        if isinstance(value, str):
            return self.templates.placed(value)
        return value


def _order_kind(step: JournalStep) -> str:
    """Return `work` for tool calls and requests of an agent, `call`, `response`; empty for others.

    A call is a request of a client that may come in another order.
    """
    if step.opened and step.name != "response to session/prompt":
        return "response"
    if step.is_request and step.side == "client":
        return "" if step.name in _FIXED else "call"
    return "work" if step.is_request or step.name in {"tool call", "terminal"} else ""


def _has_ended(call: JournalStep) -> bool:
    states = get_list(call.value, "states")
    return bool(states) and is_final(states[-1])


def _span(step: JournalStep) -> tuple[int, int]:
    """Return the first and the last frame between which a step was open."""
    if step.opened:
        return step.opened, step.frames[0]
    return step.frames[0], step.closed or step.frames[-1]


def paired_sessions(
    left: Sequence[JournalStep], right: Sequence[JournalStep], ids: IdMap
) -> list[tuple[str | None, str | None]]:
    """Pair the sessions that are known to be one, and the others in the order of their opening.

    Steps without a session come first.
    """
    ours, theirs = _sessions(left), _sessions(right)
    known = {one: ids.counterpart("sessionId", one) for one in ours}
    pairs = [(one, other) for one, other in known.items() if other in theirs]
    rest = (
        [one for one in ours if known[one] not in theirs],
        [other for other in theirs if other not in known.values()],
    )
    return [(None, None), *pairs, *zip_longest(*rest, fillvalue=_NO_SESSION)]


def _sessions(steps: Sequence[JournalStep]) -> list[str]:
    opened: dict[str, int] = {}
    for step in steps:
        if step.session is not None:
            # Parallel requests for sessions may get their responses in any order.
            at = step.opened if step.name == "response to session/new" else step.frames[0]
            opened[step.session] = min(at, opened.get(step.session, at))
    return sorted(opened, key=lambda session: opened[session])


class Alignment:
    """Which steps of two runs belong together."""

    def __init__(
        self,
        left: MarkedSteps,
        right: MarkedSteps,
        ids: IdMap,
        tolerances: frozenset[ToleranceName],
    ) -> None:
        self.left = left
        self.right = right
        self.ids = ids
        self.tolerances = tolerances
        self.matches: list[_Match] = []
        """Each step and its counterpart; one of them may be missing."""
        self.misplaced: set[JournalStep] = set()
        """Steps of the left whose counterpart is in another place of its turn."""
        self.superseded: set[JournalStep] = set()
        """Values of channels that the other journal has replaced within a turn."""
        self.counts: Counter[ToleranceName] = Counter()
        """How often steps were matched by a tolerance."""
        self._calls: dict[tuple[JournalStep, int], list[_Pair]] = {}
        """The tool calls that requests of a turn belong to, with how many pairs were known."""

    def match_session(
        self, one: str | None, other: str | None, sides: Sequence[Side], advance: Callable[[], None]
    ) -> None:
        """Match the steps of a session with those of its counterpart."""
        if _NO_SESSION not in (one, other) and one is not None:
            self.ids.agree("sessionId", one, other)
        turns: dict[int, int] = {}
        for turn, other_turn in self._paired_turns(one, other):
            turns[turn] = other_turn
            for side in sides:
                self._match_steps(
                    self.left.part(one, turn, side), self.right.part(other, other_turn, side)
                )
            advance()
        for channel, side in dict.fromkeys(self.left.channels(one) + self.right.channels(other)):
            if side in sides:
                ours = self.left.part(one, channel, side)
                theirs = self.right.part(other, channel, side)
                self._match_channel(ours, theirs, turns)

    def _paired_turns(self, one: str | None, other: str | None) -> Iterator[tuple[int, int]]:
        """Pair the turns of two sessions by their prompts; steps before the first are turn 0.

        A missing step then affects no other turn.
        """
        yield 0, 0
        for tag, a, b, c, d in _aligned(self.left.prompts(one), self.right.prompts(other)):
            if tag == "equal":
                yield from zip(range(a + 1, b + 1), range(c + 1, d + 1), strict=True)
                continue
            for place in range(max(b - a, d - c)):
                is_ours, is_theirs = a + place < b, c + place < d
                yield a + place + 1 if is_ours else _NONE, c + place + 1 if is_theirs else _NONE

    def _match_steps(self, left: list[JournalStep], right: list[JournalStep]) -> None:
        """First match steps that differ only in variables, then steps of the same kind."""
        begin = len(self.matches)
        opcodes = _aligned(list(map(self.left.mark_of, left)), list(map(self.right.mark_of, right)))
        equal = [
            (left[a + at], right[c + at])
            for tag, a, b, c, _ in opcodes if tag == "equal" for at in range(b - a)
        ]  # fmt: skip
        self.matches += equal
        ours = [step for tag, a, b, *_ in opcodes if tag != "equal" for step in left[a:b]]
        theirs = [step for tag, *_, c, d in opcodes if tag != "equal" for step in right[c:d]]
        moved = self._match_moved(ours, theirs, equal)
        moved |= self._match_misplaced(ours, theirs, moved)
        for tag, a, b, c, d in opcodes:
            if tag != "equal":
                ours = [step for step in left[a:b] if step not in moved]
                theirs = [step for step in right[c:d] if step not in moved]
                self._match_by_name(ours, theirs)
        self._find_late_permissions(self.matches[begin:])

    def _find_late_permissions(self, matches: Sequence[_Match]) -> None:
        """Find the permissions that one of the runs asked for when the call had ended already."""
        pairs = [(one, other) for one, other in matches if one is not None and other is not None]
        calls = {
            get(one.value, "toolCallId"): (one, other)
            for one, other in pairs if one.name == "tool call"
        }  # fmt: skip
        for one, other in pairs:
            named = self.left.calls_of(one) if one.name == "session/request_permission" else ()
            for one_call, other_call in (calls[id_] for id_ in named if id_ in calls):
                are_late = [
                    _has_ended(call) and call.frames[-1] < permission.frames[0]
                    for permission, call in ((one, one_call), (other, other_call))
                ]
                if are_late[0] != are_late[1]:
                    self.misplaced.add(one)

    def _match_by_name(self, left: list[JournalStep], right: list[JournalStep]) -> None:
        names = [step.name for step in left], [step.name for step in right]
        for tag, a, b, c, d in _aligned(*names):
            if tag == "equal":
                self.matches += zip(left[a:b], right[c:d], strict=True)
                continue
            self.matches += ((step, None) for step in left[a:b])
            self.matches += ((None, step) for step in right[c:d])

    def _match_moved(
        self,
        left: Sequence[JournalStep],
        right: Sequence[JournalStep],
        equal: Sequence[tuple[JournalStep, JournalStep]],
    ) -> set[JournalStep]:
        """Match equal steps in another order, if they may pass all that is between; return them."""
        moved: set[JournalStep] = set()
        is_long = len(left) * len(equal) > _MAX_MOVES
        if "request-order" not in self.tolerances or is_long:
            return moved
        fixed = list(equal)
        self._calls.clear()
        for one in left:
            mark = self.left.mark_of(one)
            for other in right:
                if other in moved or self.right.mark_of(other) != mark:
                    continue
                passed = [
                    (mine, yours)
                    for mine, yours in fixed
                    if (mine.frames[0] < one.frames[0]) != (yours.frames[0] < other.frames[0])
                ]
                if all(self.may_pass((one, other), each, fixed) for each in passed):
                    moved |= {one, other}
                    fixed.append((one, other))
                    self.matches.append((one, other))
                    self.counts["request-order"] += 1
                break
        return moved

    def may_pass(self, one: _Pair, other: _Pair, known: Sequence[_Pair]) -> bool:
        """Return whether two steps of one side, with their counterparts, may be in either order.

        They may if nothing but time orders them in one of the runs:

        - a request of an agent and the tool call that it names,
        - parallel tool calls and requests of an agent,
        - responses to requests that were open at the same time,
        - requests of a client that were open at the same time, or that do not touch the same,
        - a request of an agent and what it streams, unless its tool call had ended before.

        Asynchronous updates are not asked about: they are in channels of their own.
        """
        return (
            self.left.are_parallel(one[0], other[0])
            or self.right.are_parallel(one[1], other[1])
            or self._are_untied(one, other, known)
        )

    def _are_untied(self, one: _Pair, other: _Pair, known: Sequence[_Pair]) -> bool:
        """Return whether nothing but time orders a request of an agent and a streamed update.

        Agents send requests past updates that are still on their way. So the request has to belong
        to a tool call, and the call may not have ended before the update: the end depends on the
        response to the request, and updates keep their order.
        """
        for request, streamed in ((one, other), (other, one)):
            is_request = request[0].is_request and request[0].side == "agent"
            is_streamed = streamed[0].name in _STREAMED or streamed[0].name.endswith("_chunk")
            if is_request and is_streamed:
                calls = self._calls_of(request, known)
                return bool(calls) and not any(
                    call[run].frames[-1] < streamed[run].frames[0]
                    for call in calls for run in (0, 1)
                )  # fmt: skip
        return False

    def _calls_of(self, request: _Pair, known: Sequence[_Pair]) -> list[_Pair]:
        """Return the tool calls that a request belongs to in one of the runs."""
        key = request[0], len(known)
        if key not in self._calls:
            self._calls[key] = [
                call for call in known
                if self.left.belongs(request[0], call[0])
                or self.right.belongs(request[1], call[1])
            ]  # fmt: skip
        return self._calls[key]

    def _match_misplaced(
        self, left: Sequence[JournalStep], right: Sequence[JournalStep], moved: set[JournalStep]
    ) -> set[JournalStep]:
        """Match equal steps that are in another order although they may not; return them."""
        places: dict[str, deque[JournalStep]] = {}
        for step in right:
            if step not in moved:
                places.setdefault(self.right.mark_of(step), deque()).append(step)
        misplaced: set[JournalStep] = set()
        for step in left:
            if step not in moved and (found := places.get(self.left.mark_of(step))):
                self.matches.append((step, found[0]))
                self.misplaced.add(step)
                misplaced |= {step, found.popleft()}
        return misplaced

    def _match_channel(
        self, left: list[JournalStep], right: list[JournalStep], turns: Mapping[int, int]
    ) -> None:
        """Match the values of an asynchronous channel, in order but whatever their turn.

        The last value of each turn has to be in the other journal too; there, a later one may have
        replaced it within a turn. The last one of all has to be the same.
        """
        marks = list(map(self.left.mark_of, left)), list(map(self.right.mark_of, right))
        for tag, a, b, c, d in _aligned(*marks):
            if tag == "equal":
                for one, other in zip(left[a:b], right[c:d], strict=True):
                    self.matches.append((one, other))
                    is_late = turns.get(one.turn) != other.turn
                    is_noted = one.is_between_turns != other.is_between_turns
                    self.counts["late-updates"] += is_late and not is_noted
                continue
            replaced = (
                Counter(self.left.replaced_marks(left[a : b + 1])),
                Counter(self.right.replaced_marks(right[c : d + 1])),
            )
            ours = self._superseded(left, (a, b), self.left, replaced[1] - replaced[0])
            theirs = self._superseded(right, (c, d), self.right, replaced[0] - replaced[1])
            self.matches += ((step, None) for step in ours)
            self.matches += ((None, step) for step in theirs)
            self.superseded |= {*ours, *theirs}
            self.counts["late-updates"] += len(ours) + len(theirs)
            self._match_by_name(
                [step for step in left[a:b] if step not in self.superseded],
                [step for step in right[c:d] if step not in self.superseded],
            )

    def _superseded(
        self,
        channel: Sequence[JournalStep],
        part: tuple[int, int],
        run: MarkedSteps,
        there: Counter[str],
    ) -> list[JournalStep]:
        """Return the steps of a part whose value the other channel has replaced within a turn.

        `there`: what only the other channel has replaced.
        """
        found: list[JournalStep] = []
        for step in channel[slice(*part)]:
            mark = run.mark_of(step)
            if step is not channel[-1] and there[mark]:
                found.append(step)
            there[mark] -= 1
        return found


def _aligned(left: list[str], right: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if left == right:
        return [("equal", 0, len(left), 0, len(left))] if left else []
    is_long = max(len(left), len(right)) > _MAX_ALIGNED_STEPS
    return SequenceMatcher(None, left, right, autojunk=is_long).get_opcodes()
