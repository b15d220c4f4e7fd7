"""Two journals compared by meaning, not by line.

Ids that one side mints anew in each run are bound at first sight and then have to agree; times are
not compared; the working directory stands for itself. Sessions may interleave as they like, and so
may the two sides of one: what a side said in a session keeps its order.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.analysis.ignores import Ignore, is_ignored, without
from acp_inspector.analysis.steps import Level, Step, Steps
from acp_inspector.analysis.study import Study
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.filter.language import Filter
from acp_inspector.journal import Entry, Frame
from acp_inspector.replay.bindings import MINTED, MOMENTS, Bindings
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, id_key

Kind: TypeAlias = Literal["changed", "left only", "right only"]

ABSENT: Final = "«absent»"
"""Stands for the value of a member that is not there."""
_DEPTH: Final = 100
"""Levels of nesting that are looked into; what lies deeper is compared as a whole."""
_MANY: Final = 2_000
"""Steps of one side in one session from which on what is frequent does not help to align them."""
_NONE: Final = -1
"""Number of a turn that one of the two does not have."""
_SIDES: Final[tuple[Side, ...]] = ("client", "agent")
_Lane: TypeAlias = tuple[str | None, int, Side]
"""What a side said in one turn of one session."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the two do not mean the same."""

    kind: Kind
    side: Side
    """Whose step it is."""
    session: str | None
    """As the left calls it; as the right does where only that has it."""
    name: str
    """What kind of thing the step is."""
    path: str
    """Where in it; empty for all of it."""
    left: Json
    right: Json
    left_frames: tuple[int, ...]
    right_frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of comparing two journals."""

    differences: tuple[Difference, ...]
    compared: tuple[int, int]
    """Steps of the left and of the right."""


def compare(
    left: Sequence[Entry],
    right: Sequence[Entry],
    *,
    level: Level = "semantic",
    ignores: Sequence[Ignore] = (),
    stretches: tuple[Filter | None, Filter | None] = (None, None),
) -> Comparison:
    """Return where two journals differ.

    Args:
        left: The entries of the one.
        right: The entries of the other.
        level: How closely they are looked at.
        ignores: What is not compared; they are told how often they applied.
        stretches: Which frames of each are compared at all; None: all.
    """
    ours = _read(left, level, ignores, stretches[0])
    theirs = _read(right, level, ignores, stretches[1])
    lanes, others = _lanes(ours), _lanes(theirs)
    comparing = _Comparing()
    found = [
        difference
        for pair in _paired_sessions(ours, theirs)
        for turns in _paired_turns(lanes, others, *pair)
        for side in _SIDES
        for difference in comparing.lane(
            lanes.get((pair[0], turns[0], side), []), others.get((pair[1], turns[1], side), [])
        )
    ]
    found.sort(key=lambda each: (each.left_frames or each.right_frames)[:1])
    return Comparison(tuple(found), (len(ours), len(theirs)))


# Reading


def _read(
    entries: Sequence[Entry], level: Level, ignores: Sequence[Ignore], wanted: Filter | None
) -> list[Step]:
    study, steps = Study(), Steps(level)
    exchanges = study.exchanges
    filters = [each.what for each in ignores if isinstance(each.what, Filter)]
    filters += [] if wanted is None else [wanted]
    if any("pending" in each.needs for each in filters):
        # Whether a question was answered is known at the end only.
        before = Study()
        before.read(entries)
        exchanges = before.exchanges
    for entry in entries:
        frame = study.apply(entry)
        if isinstance(frame, Frame):
            facts = FrameFacts(frame, exchanges, notes=study.notes())
            is_wanted = wanted is None or wanted.matches(facts)
            if is_wanted and not is_ignored(facts, ignores):
                messages = [without(message, ignores) for message in study.said]
                steps.apply(frame, messages, study.exchanges.all_of(frame))
    around = (talk.surroundings.cwd for talk in study.conversations.sessions.values())
    cwds = sorted({cwd for cwd in around if cwd and cwd != "/"}, key=len, reverse=True)
    finished = steps.finished()
    for step in finished:
        step.value = _placed(step.value, cwds)
    return finished


def _placed(value: Json, cwds: Sequence[str]) -> Json:
    """Return a value with every working directory replaced, wherever it stands in text."""
    if not cwds:
        return value
    try:
        text = json.dumps(value, ensure_ascii=False)
        for cwd in cwds:
            spelled = re.escape(json.dumps(cwd, ensure_ascii=False)[1:-1])
            text = re.sub(rf"{spelled}(?![\w.-])", "«cwd»", text)
        return json.loads(text)
    except RecursionError:
        # Nested as deep as can only be read: it is compared as it is.
        return value


# Comparing


def _lanes(steps: Iterable[Step]) -> dict[_Lane, list[Step]]:
    lanes: dict[_Lane, list[Step]] = {}
    for step in steps:
        lanes.setdefault((step.session, step.turn, step.side), []).append(step)
    return lanes


def _paired_sessions(
    left: Sequence[Step], right: Sequence[Step]
) -> list[tuple[str | None, str | None]]:
    """Pair the sessions in the order of their first step; what belongs to none stands first."""
    ours = list(dict.fromkeys(step.session for step in left if step.session is not None))
    theirs = list(dict.fromkeys(step.session for step in right if step.session is not None))
    missing = "\0"
    longest = max(len(ours), len(theirs))
    ours += [missing] * (longest - len(ours))
    theirs += [missing] * (longest - len(theirs))
    return [(None, None), *zip(ours, theirs, strict=True)]


def _paired_turns(
    lanes: Mapping[_Lane, Sequence[Step]],
    others: Mapping[_Lane, Sequence[Step]],
    one: str | None,
    other: str | None,
) -> Iterator[tuple[int, int]]:
    """Pair the turns of two sessions by their prompts; what stands before the first is turn 0.

    A step that is missing then makes no other turn look wrong.
    """
    yield 0, 0
    marks = _prompts(lanes, one), _prompts(others, other)
    for tag, a, b, c, d in _aligned(*marks):
        if tag == "equal":
            yield from zip(range(a + 1, b + 1), range(c + 1, d + 1), strict=True)
            continue
        for place in range(max(b - a, d - c)):
            is_ours, is_theirs = a + place < b, c + place < d
            yield a + place + 1 if is_ours else _NONE, c + place + 1 if is_theirs else _NONE


def _prompts(lanes: Mapping[_Lane, Sequence[Step]], session: str | None) -> list[str]:
    """Return what marks each turn of a session from the first on: its prompt."""
    marks: list[str] = []
    while steps := lanes.get((session, len(marks) + 1, "client")):
        marks.append(_mark(steps[0]))
    return marks


class _Comparing:
    """Compares lanes; what is bound in one holds in all."""

    def __init__(self) -> None:
        self._bindings = Bindings()
        self._told: set[tuple[str, str, str]] = set()
        """Ids that were told to disagree: once is enough."""

    def lane(self, left: list[Step], right: list[Step]) -> Iterator[Difference]:
        """Align what is the same but for its ids first, and then what is of the same kind."""
        marks = list(map(_mark, left)), list(map(_mark, right))
        for tag, a, b, c, d in _aligned(*marks):
            if tag == "equal":
                yield from self._pairs(left[a:b], right[c:d])
                continue
            names = [step.name for step in left[a:b]], [step.name for step in right[c:d]]
            for inner, e, f, g, h in _aligned(*names):
                ours, theirs = left[a + e : a + f], right[c + g : c + h]
                if inner == "equal":
                    yield from self._pairs(ours, theirs)
                    continue
                yield from (_only("left only", step) for step in ours)
                yield from (_only("right only", step) for step in theirs)

    def _pairs(self, left: Sequence[Step], right: Sequence[Step]) -> Iterator[Difference]:
        for one, other in zip(left, right, strict=True):
            frames = tuple(one.frames), tuple(other.frames)
            for path, ours, theirs in self._places(one, other):
                step = one.side, one.session, one.name
                yield Difference("changed", *step, path, ours, theirs, *frames)

    def _places(self, one: Step, other: Step) -> Iterator[tuple[str, Json, Json]]:
        if one.is_request:
            # Each side has ids of its own.
            kind = f"request of the {one.side}"
            is_same_type = id_key(one.id)[0] == id_key(other.id)[0]
            if not is_same_type or not self._agree(kind, one.id, other.id):
                yield "id", one.id, other.id
        yield from self._differing(one.value, other.value, "", _DEPTH)

    def _agree(self, kind: str, one: Json, other: Json) -> bool:
        """Tell whether two ids may stand for each other, or were told not to."""
        if self._bindings.agree(kind, one, other):
            return True
        pair = (kind, repr(one), repr(other))
        is_told = pair in self._told
        self._told.add(pair)
        return is_told

    def _differing(
        self, one: Json, other: Json, path: str, depth: int
    ) -> Iterator[tuple[str, Json, Json]]:
        """Yield each place where two values differ: its path, and both values there."""
        if depth and isinstance(one, dict) and isinstance(other, dict):
            ours, theirs = cast("dict[str, Json]", one), cast("dict[str, Json]", other)
            for name in dict.fromkeys([*ours, *theirs]):
                values = ours.get(name, ABSENT), theirs.get(name, ABSENT)
                here = f"{path}.{name}" if path else name
                if name in MINTED and not isinstance(values[0], dict | list) and name in ours:
                    if name not in theirs or not self._agree(name, *values):
                        yield here, *values
                elif name not in MOMENTS:
                    yield from self._differing(*values, here, depth - 1)
        elif depth and isinstance(one, list) and isinstance(other, list):
            mine, yours = cast("list[Json]", one), cast("list[Json]", other)
            for place in range(max(len(mine), len(yours))):
                values = _item(mine, place), _item(yours, place)
                yield from self._differing(*values, f"{path}[{place}]", depth - 1)
        elif _is_other(one, other):
            yield path, one, other


def _aligned(left: list[str], right: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    is_long = max(len(left), len(right)) > _MANY
    return SequenceMatcher(None, left, right, autojunk=is_long).get_opcodes()


def _mark(step: Step) -> str:
    """Return what is the same for steps that mean the same, whatever their ids."""
    return f"{step.name} {json.dumps(_plain(step.value, _DEPTH), sort_keys=True)}"


def _plain(value: Json, depth: int) -> Json:
    if not depth:
        return _opaque(value)
    if isinstance(value, dict):
        members = cast("dict[str, Json]", value).items()
        return {
            name: f"«{name}»" if name in MINTED and not isinstance(inner, dict | list)
            else _plain(inner, depth - 1)
            for name, inner in members if name not in MOMENTS
        }  # fmt: skip
    if isinstance(value, list):
        return [_plain(each, depth - 1) for each in cast("list[Json]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _opaque(value: Json) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "«nested too deeply»"


def _only(kind: Kind, step: Step) -> Difference:
    is_left = kind == "left only"
    frames = tuple(step.frames)
    return Difference(
        *(kind, step.side, step.session, step.name, ""),
        *((step.value, ABSENT) if is_left else (ABSENT, step.value)),
        *((frames, ()) if is_left else ((), frames)),
    )


def _is_other(one: Json, other: Json) -> bool:
    """Tell whether two values differ; true is no 1, but 1.0 is."""
    return isinstance(one, bool) is not isinstance(other, bool) or _plain(one, 1) != _plain(
        other, 1
    )


def _item(items: list[Json], place: int) -> Json:
    return items[place] if place < len(items) else ABSENT
