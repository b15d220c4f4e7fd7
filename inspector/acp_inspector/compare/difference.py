"""Where the counterparts of two journals differ.

Ids that each run generates are mapped when first seen and must agree from then on. Times are not
compared, and working directories are replaced by one placeholder.

Source: docs/design/replay.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import islice
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.compare.align import Alignment
from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.ignoring import Matcher
from acp_inspector.compare.steps import JournalStep
from acp_inspector.compare.tolerances import TABLE, ToleranceName, tolerance_of
from acp_inspector.compare.values import (
    ABSENT,
    MAX_DEPTH,
    Place,
    PlacedText,
    Variable,
    id_kind,
    is_id,
    is_other,
)
from acp_inspector.jsonpath import parse_path
from acp_protocol.framing import Side
from acp_protocol.json_text import json_text
from acp_protocol.jsonrpc import (
    Json,
    id_key,
)

Kind: TypeAlias = Literal["changed", "moved", "left only", "right only"]
"""`moved`: nothing but the order differs."""
MAX_FRAMES: Final = 5
"""Most frame numbers shown for one step."""
_Found: TypeAlias = tuple[str, Json, Json, str]
"""A difference: its path, both values there, and what a matcher says about them."""


@dataclass(frozen=True, slots=True)
class StepDifference:
    """One place where the two journals differ."""

    kind: Kind
    side: Side
    """The side whose step it is."""
    session: str | None
    """Its id in the left journal; in the right one for `right only`."""
    name: str
    """The name of the step."""
    path: str
    """JSONPath in the message; empty for the whole message."""
    left: Json
    right: Json
    left_frames: tuple[int, ...]
    right_frames: tuple[int, ...]
    why: str = ""
    """What a matcher says about both; empty without one."""

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": self.kind,
            "from": self.side,
            "session": self.session,
            "step": self.name,
            "path": self.path,
            "left": self.left,
            "right": self.right,
            "left_frames": list(self.left_frames),
            "right_frames": list(self.right_frames),
            **({"why": self.why} if self.why else {}),
        }


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step of the left journal and its counterpart in the right one; one of them may be missing.

    Without differences both mean the same.
    """

    left: JournalStep | None
    right: JournalStep | None
    differences: tuple[StepDifference, ...]


@dataclass(frozen=True, slots=True)
class JournalComparison:
    """The result of comparing two journals."""

    differences: tuple[StepDifference, ...]
    compared: tuple[int, int]
    """Steps of the left and of the right."""
    pairs: tuple[StepPair, ...] = ()
    """All steps, in the order of the left; one that is in the right only precedes the next pair."""
    tolerated: Mapping[ToleranceName, int] = field(default_factory=dict[ToleranceName, int])
    """How often each tolerance was needed, as far as it was."""


def frame_numbers(numbers: Sequence[int]) -> str:
    """Return frame numbers as text, e.g. `frames 3, 4`."""
    more = "…" if len(numbers) > MAX_FRAMES else ""
    word = "frame" if len(numbers) == 1 else "frames"
    return f"{word} {', '.join(map(str, numbers[:MAX_FRAMES]))}{more}"


def value_lines(difference: StepDifference) -> Iterator[str]:
    """Yield the lines of both values, marked by - and +; of multi-line texts only the difference.

    They are not safe to show.
    """
    left, right = difference.left, difference.right
    if difference.kind == "moved":
        yield f"  {_one_line(left)}"
        return
    has_both = difference.kind == "changed"
    if has_both and isinstance(left, str) and isinstance(right, str) and "\n" in left + right:
        lines = unified_diff(left.splitlines(), right.splitlines(), lineterm="", n=1)
        yield from islice(lines, 2, None)
        return
    for mark, value, lacks in (("-", left, "right only"), ("+", right, "left only")):
        if difference.kind != lacks:
            yield f"{mark} {_one_line(value)}"
    if difference.why:
        yield difference.why


def _one_line(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)


class Differences:
    """How two runs differ; all turns share one map of ids."""

    def __init__(self, alignment: Alignment, matchers: Sequence[Matcher]) -> None:
        self._alignment = alignment
        self._left = alignment.left
        self._right = alignment.right
        self._ids = alignment.ids
        self._tolerances = alignment.tolerances
        self._counts = alignment.counts
        self._matchers = matchers
        self._reported: set[tuple[str, str, str]] = set()
        """Pairs of ids that disagree; each is reported once only."""
        self._values: dict[ToleranceName, set[tuple[str, str]]] = {}
        """Values that differ and are tolerated."""

    @property
    def tolerated(self) -> dict[ToleranceName, int]:
        """How often each tolerance was needed."""
        counts = Counter(self._counts)
        counts.update({name: len(values) for name, values in self._values.items()})
        return {name: counts[name] for name in (each.name for each in TABLE) if counts[name]}

    def pairs(self) -> list[StepPair]:
        """Return all steps in pairs, with their differences."""
        self._bind()
        return [self._pair(one, other) for one, other in self._alignment.matches]

    def _bind(self) -> None:
        """Bind the ids in fields of all pairs, first those of pairs that are equal otherwise."""
        changed: list[tuple[JournalStep, JournalStep]] = []
        for one, other in self._alignment.matches:
            if one is None or other is None:
                continue
            mine, yours = self._left.mark(one), self._right.mark(other)
            if mine[0] != yours[0] or len(mine[1]) != len(yours[1]):
                changed.append((one, other))
                continue
            for variable, its in zip(mine[1], yours[1], strict=True):
                if variable.form is None:
                    self._ids.agree_on(variable, its)
        for one, other in changed:
            if one.is_request:
                self._ids.agree(f"request of the {one.side}", one.id, other.id)
            _bind_fields(self._ids, one, one.value, other.value, MAX_DEPTH)

    def _pair(self, one: JournalStep | None, other: JournalStep | None) -> StepPair:
        if one is None or other is None:
            only = _only("left only", one) if one is not None else _only("right only", other)
            is_superseded = not self._alignment.superseded.isdisjoint({one, other})
            return StepPair(one, other, () if is_superseded else (only,))
        if not self._matchers and self._is_equal(one, other):
            differences: tuple[StepDifference, ...] = ()
        else:
            frames = tuple(one.frames), tuple(other.frames)
            step = one.side, one.session, one.name
            differences = tuple(
                StepDifference("changed", *step, path, ours, theirs, *frames, why)
                for path, ours, theirs, why in self._places(one, other)
            )
        if one in self._alignment.misplaced:
            place = one.side, one.session, one.name, "", one.value, other.value
            moved = StepDifference("moved", *place, tuple(one.frames), tuple(other.frames))
            differences = (moved, *differences)
        self._counts["call-states"] += one.dropped_states != other.dropped_states
        if one.replaced or other.replaced:
            marks = self._left.other_marks(one) ^ self._right.other_marks(other)
            self._counts["replaced-values"] += bool(marks) and not differences
        self._counts["late-updates"] += one.is_between_turns != other.is_between_turns
        return StepPair(one, other, differences)

    def _is_equal(self, one: JournalStep, other: JournalStep) -> bool:
        (mark, ours), (other_mark, theirs) = self._left.mark(one), self._right.mark(other)
        return (
            mark == other_mark
            and len(ours) == len(theirs)
            and all(
                self._ids.agree_on(mine, yours) for mine, yours in zip(ours, theirs, strict=True)
            )
            and self._note(ours, theirs)
        )

    def _note(self, ours: Iterable[Variable], theirs: Iterable[Variable]) -> bool:
        for mine, yours in zip(ours, theirs, strict=True):
            tolerance = tolerance_of(mine)
            if tolerance is not None and mine.value != yours.value:
                values = self._values.setdefault(tolerance, set())
                values.add((mine.kind, str(mine.value)))
        return True

    def _places(self, one: JournalStep, other: JournalStep) -> Iterator[_Found]:
        if one.is_request:
            # Each side has ids of its own.
            kind = f"request of the {one.side}"
            is_same_type = id_key(one.id)[0] == id_key(other.id)[0]
            if not is_same_type or not self._agree(
                Variable(kind, one.id), Variable(kind, other.id)
            ):
                yield "id", one.id, other.id, ""
        pair = Place.of(one)
        for path, mine, yours, why in self._differing(one.value, other.value, pair):
            path = one.path_in_message(path)  # noqa: PLW2901
            yield path, self._left.shown(mine), self._right.shown(yours), why
        for path in dict.fromkeys([*one.beside, *other.beside]):
            ours, theirs = one.beside.get(path, ABSENT), other.beside.get(path, ABSENT)
            if any(self._differing(ours, theirs, pair)):
                yield path, ours, theirs, ""

    def _agree(self, one: Variable, other: Variable) -> bool:
        """Return whether two variables agree or their disagreement is already reported."""
        if self._ids.agree_on(one, other):
            self._note([one], [other])
            return True
        pair = (one.kind, repr(one.value), repr(other.value))
        is_reported = pair in self._reported
        self._reported.add(pair)
        return is_reported

    def _differing(self, one: Json, other: Json, place: Place) -> Iterator[_Found]:
        """Yield each difference of two values."""
        if self._matchers and (mismatch := self._mismatch(one, other, place)) is not None:
            if mismatch:
                yield place.path, one, other, mismatch
        elif place.depth and isinstance(one, dict) and isinstance(other, dict):
            ours, theirs = cast("dict[str, Json]", one), cast("dict[str, Json]", other)
            yield from self._differing_members(ours, theirs, place)
        elif place.depth and isinstance(one, list) and isinstance(other, list):
            mine, yours = cast("list[Json]", one), cast("list[Json]", other)
            for at in range(max(len(mine), len(yours))):
                yield from self._differing(_item(mine, at), _item(yours, at), place.item(at))
        elif not self._are_same(one, other, place):
            yield place.path, one, other, ""

    def _differing_members(
        self, one: Mapping[str, Json], other: Mapping[str, Json], place: Place
    ) -> Iterator[_Found]:
        took, other_took = self._left.leaf(one, place), self._right.leaf(other, place)
        is_duration = bool(took and other_took and self._agree(took, other_took))
        ours, theirs = self._left.names(one), self._right.names(other)
        for key in dict.fromkeys([*ours, *theirs]):
            mine, yours = ours.get(key, ""), theirs.get(key, "")
            values = one.get(mine, ABSENT), other.get(yours, ABSENT)
            inner = place.member(mine if key in ours else yours)
            found = self._differing(*values, inner)
            yield from (each for each in found if each[3] or not is_duration)
            if key in ours and key in theirs and not self._are_same_names(mine, yours):
                yield inner.path, mine, yours, "the name differs"

    def _are_same_names(self, one: str, other: str) -> bool:
        variables = self._left.templates.text(one)[1], self._right.templates.text(other)[1]
        return all(self._agree(*each) for each in zip(*variables, strict=False))

    def _mismatch(self, one: Json, other: Json, place: Place) -> str | None:
        """Return what the matcher of a path says about both values; None if it has none."""
        path = place.path_in_message
        # The whole message has no path, nor has a part of one that is no message.
        if not path.startswith("$") or path == "$":
            return None
        parsed = parse_path(path)
        for matcher in self._matchers:
            if matcher.path.covers(parsed):
                matcher.applied += 1
                return matcher.mismatch(one, other)
        return None

    def _are_same(self, one: Json, other: Json, place: Place) -> bool:
        ours, theirs = self._left.leaf(one, place), self._right.leaf(other, place)
        if ours is not None and theirs is not None:
            return ours.kind == theirs.kind and self._agree(ours, theirs)
        if not isinstance(one, str) or not isinstance(other, str):
            return not is_other(one, other)
        return self._are_same_texts(one, other, place)

    def _are_same_texts(self, one: str, other: str, place: Place) -> bool:
        text, ours = self._left.templates.text(one, place)
        other_text, theirs = self._right.templates.text(other, place)
        if text == other_text and len(ours) == len(theirs):
            return all(self._agree(*each) for each in zip(ours, theirs, strict=True))
        if self._ids.agree_on_secrets(one, other):
            return True
        if self._ids.agree_on_secrets(text, other_text) and len(ours) == len(theirs):
            return all(self._agree(*each) for each in zip(ours, theirs, strict=True))
        placed = PlacedText(one, place, self._left.templates)
        other_placed = PlacedText(other, place, self._right.templates)
        for tolerance in TABLE:
            if tolerance.name in self._tolerances and tolerance.where(place):
                pairs = tolerance.agree(placed, other_placed)
                if pairs is not None:
                    self._counts[tolerance.name] += 1
                    return all(self._agree(*pair) for pair in pairs)
        return False


def _bind_fields(ids: IdMap, step: JournalStep, one: Json, other: Json, depth: int) -> None:
    """Bind the ids in the same fields of two values that differ."""
    if isinstance(one, dict) and isinstance(other, dict) and depth:
        theirs = cast("dict[str, Json]", other)
        for name, value in cast("dict[str, Json]", one).items():
            if is_id(name, value) and is_id(name, theirs.get(name, [])):
                ids.agree(id_kind(name, step), value, theirs[name])
            else:
                _bind_fields(ids, step, value, theirs.get(name), depth - 1)
    elif isinstance(one, list) and isinstance(other, list) and depth:
        for mine, yours in zip(cast("list[Json]", one), cast("list[Json]", other)):  # noqa: B905
            _bind_fields(ids, step, mine, yours, depth - 1)


def _only(kind: Kind, step: JournalStep | None) -> StepDifference:
    assert step is not None
    is_left = kind == "left only"
    frames = tuple(step.frames)
    return StepDifference(
        *(kind, step.side, step.session, step.name, ""),
        *((step.value, ABSENT) if is_left else (ABSENT, step.value)),
        *((frames, ()) if is_left else ((), frames)),
    )


def _item(items: list[Json], place: int) -> Json:
    return items[place] if place < len(items) else ABSENT
