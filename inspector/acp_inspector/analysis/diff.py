"""Compares two journals by meaning; used by `diff` and `replay`.

Ids that each run generates are mapped when first seen and must agree from then on. Times are not
compared, and working directories are replaced by one placeholder. Sessions may interleave, and so
may the two sides of a session; the messages of one side in one session keep their order.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from itertools import islice, zip_longest
from math import inf
from typing import Final, Literal, Protocol, TypeAlias, cast

from acp_inspector.analysis.annotations import FrameNotes
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.id_map import GENERATED_IDS, TIMESTAMPS, IdMap, with_directories
from acp_inspector.analysis.items import string
from acp_inspector.analysis.session_model import SessionModel
from acp_inspector.analysis.steps import JournalStep, Level, Steps
from acp_inspector.journal import Entry, Frame
from acp_inspector.jsonpath import JSONPath, delete_at, formatted_member
from acp_protocol.framing import Side
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import (
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
    id_key,
)

Kind: TypeAlias = Literal["changed", "left only", "right only"]

ABSENT: Final = "«absent»"
"""Replaces the value of a missing member."""
MAX_FRAMES: Final = 5
"""Most frame numbers shown for one step."""
ENTRIES_PER_REPORT: Final = 64
"""Entries that are read between two reports of progress."""
_DEPTH: Final = 100
"""Levels of nesting that are compared one by one; deeper values are compared as a whole."""
_MAX_ALIGNED_STEPS: Final = 2_000
"""Above this number of steps of one side in a session, frequent steps are not used for alignment.
"""
_NONE: Final = -1
"""Number of a turn that is missing in one journal."""
SIDES: Final[tuple[Side, ...]] = ("client", "agent")
_StepKey: TypeAlias = tuple[str | None, int, Side]
"""Session, turn and side."""


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
    has_both = difference.kind == "changed"
    if has_both and isinstance(left, str) and isinstance(right, str) and "\n" in left + right:
        lines = unified_diff(left.splitlines(), right.splitlines(), lineterm="", n=1)
        yield from islice(lines, 2, None)
        return
    for mark, value, lacks in (("-", left, "right only"), ("+", right, "left only")):
        if difference.kind != lacks:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{mark} {text}"


class FrameSelector(Protocol):
    """Selects frames; a filter, in practice."""

    @property
    def needs_responses(self) -> bool:
        """Whether it tests for pending requests, so that all frames must be read first."""
        ...

    def matches(self, frame: Frame, exchanges: Exchanges, notes: FrameNotes) -> bool:
        """Return whether it selects a frame; `exchanges` has read its journal."""
        ...


@dataclass(slots=True)
class Ignore:
    """An exclusion from the comparison: frames, or a path in every message."""

    text: str
    """As the user wrote it."""
    what: FrameSelector | JSONPath
    applied: int = 0
    """How often it applied."""
    covered: int = 0
    """How often it would have applied in frames that another exclusion ignores."""


def compare(
    left: Sequence[Entry],
    right: Sequence[Entry],
    *,
    level: Level = "semantic",
    ignores: Sequence[Ignore] = (),
    selectors: tuple[FrameSelector | None, FrameSelector | None] = (None, None),
    sides: Sequence[Side] = SIDES,
    ids: IdMap | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> JournalComparison:
    """Return where two journals differ.

    Args:
        left: The entries of the left journal.
        right: The entries of the right journal.
        level: How closely they are compared.
        ignores: Exclusions; each counts how often it applied.
        selectors: Which frames of each journal are compared; None: all.
        sides: Whose frames are compared. Prompts mark the turns in any case.
        ids: The working directories of both, and whether the left one is redacted; it learns the
            ids of both.
        progress: Called now and then with the share that is done, from 0 to 1; what it raises ends
            the comparison.
    """
    ids = ids or IdMap()
    work = _Progress(progress, len(left) + len(right))
    # Each pair of directories has a name of its own, so that one cannot stand for another.
    numbers = {each: at for at, each in enumerate(dict.fromkeys(ids.directories.values()), 1)}
    names = {live: "«cwd»" if at == 1 else f"«cwd {at}»" for live, at in numbers.items()}
    recorded_names = {each: names[live] for each, live in ids.directories.items()}
    ours = _read(left, level, ignores, selectors[0], sides, recorded_names, work)
    theirs = _read(right, level, ignores, selectors[1], sides, names, work)
    steps_by_turn, other_steps = _steps_by_turn(ours), _steps_by_turn(theirs)
    comparing = _Comparing(ids)
    pairs: list[StepPair] = []
    for session, other in _paired_sessions(ours, theirs):
        for turn, other_turn in _paired_turns(steps_by_turn, other_steps, session, other):
            for side in sides:
                pairs += comparing.pair_steps(
                    steps_by_turn.get((session, turn, side), []),
                    other_steps.get((other, other_turn, side), []),
                )
            work.advance(0)
    found = [difference for pair in pairs for difference in pair.differences]
    found.sort(key=lambda each: (each.left_frames or each.right_frames)[:1])
    counts = [sum(step.side in sides for step in steps) for steps in (ours, theirs)]
    return JournalComparison(tuple(found), (counts[0], counts[1]), tuple(_in_order(pairs)))


def _in_order(pairs: Sequence[StepPair]) -> list[StepPair]:
    """Return pairs in the order of the left journal, and between them those of the right only."""
    matched = sorted(
        (pair.right.frames[0], pair.left.frames[0])
        for pair in pairs
        if pair.left is not None and pair.right is not None
    )

    def place(pair: StepPair) -> tuple[float, int, int]:
        if pair.left is not None:
            return pair.left.frames[0], 1, 0
        assert pair.right is not None
        frame = pair.right.frames[0]
        after = bisect_right(matched, (frame, 0))
        return matched[after][1] if after < len(matched) else inf, 0, frame

    return sorted(pairs, key=place)


class _Progress:
    """Reports which share of the entries was read; the rest of the work is small beside it."""

    def __init__(self, report: Callable[[float], None], entries: int) -> None:
        self._report = report
        self._entries = entries
        self._read = 0

    def advance(self, entries: int = 1) -> None:
        self._read += entries
        if not self._read % ENTRIES_PER_REPORT or not entries:
            self._report(self._read / self._entries if self._entries else 1.0)


# Reading


def _read(
    entries: Sequence[Entry],
    level: Level,
    ignores: Sequence[Ignore],
    wanted: FrameSelector | None,
    sides: Sequence[Side],
    names: Mapping[str, str],
    work: _Progress,
) -> list[JournalStep]:
    """Return the steps of a journal; ignores apply only to compared sides.

    `names` stand for directories in its texts.
    """
    model, steps = SessionModel(), Steps(level)
    exchanges = model.exchanges
    selectors = [each.what for each in ignores if not isinstance(each.what, JSONPath)]
    selectors += [] if wanted is None else [wanted]
    if any(each.needs_responses for each in selectors):
        before = SessionModel()
        before.read(entries)
        exchanges = before.exchanges
    for entry in entries:
        work.advance()
        frame = model.apply(entry)
        if not isinstance(frame, Frame):
            continue
        notes = model.notes()
        if wanted is not None and not wanted.matches(frame, exchanges, notes):
            continue
        if frame.side not in sides:
            steps.apply(frame, model.last_paired)
            continue
        paired = model.last_paired
        is_ignored = _is_ignored(ignores, frame, exchanges, notes)
        if ignores:
            paired = tuple(
                (_without(message, ignores, is_ignored=is_ignored), its) for message, its in paired
            )
        if not is_ignored:
            steps.apply(frame, paired)
    known = (talk.info.cwd for talk in model.conversations.sessions.values())
    places = {each: "«cwd»" for each in known if each and each != "/"}
    places.update(names)
    finished = steps.finished()
    for step in finished:
        step.value = _placed(step.value, places)
    return finished


def _placed(value: Json, places: Mapping[str, str]) -> Json:
    """Return a value with the directories in its texts replaced."""
    if not places:
        return value
    try:
        text = json.dumps(value, ensure_ascii=False)
        spelled = {json.dumps(each, ensure_ascii=False)[1:-1]: places[each] for each in places}
        return json.loads(with_directories(text, spelled))
    except RecursionError:
        # Too deeply nested to copy: it is compared unchanged.
        return value


# Ignoring


def _is_ignored(
    ignores: Iterable[Ignore], frame: Frame, exchanges: Exchanges, notes: FrameNotes
) -> bool:
    """Return whether a frame is ignored, and count that."""
    is_ignored = False
    for ignore in ignores:
        if not isinstance(ignore.what, JSONPath) and ignore.what.matches(frame, exchanges, notes):
            ignore.applied += 1
            is_ignored = True
    return is_ignored


def _without(message: Message, ignores: Iterable[Ignore], *, is_ignored: bool) -> Message:
    """Return a message without ignored paths, and count them.

    `is_ignored`: the whole frame is ignored.
    """
    paths = [(ignore, ignore.what) for ignore in ignores if isinstance(ignore.what, JSONPath)]
    match message:
        case Request() | Notification():
            whole: dict[str, Json] = {"method": message.method, "params": _copied(message.params)}
        case SuccessResponse():
            whole = {"result": _copied(message.result)}
        case ErrorResponse(code=code, message=text):
            whole = {"error": {"code": code, "message": text, "data": _copied(message.data)}}
        case _:
            return message
    deleted = 0
    for ignore, path in paths:
        count = delete_at(whole, path)
        if is_ignored:
            ignore.covered += count
        else:
            ignore.applied += count
        deleted += count
    if not deleted:
        return message
    match message:
        case Request() | Notification():
            return replace(message, params=whole.get("params"))
        case SuccessResponse():
            return replace(message, result=whole.get("result"))
        case ErrorResponse():
            error = whole.get("error")
            return replace(message, message=string(error, "message"), data=get(error, "data"))


def _copied(value: Json) -> Json:
    try:
        return json.loads(json.dumps(value))
    except RecursionError:
        return value


# Comparing


def _steps_by_turn(steps: Iterable[JournalStep]) -> dict[_StepKey, list[JournalStep]]:
    steps_by_turn: dict[_StepKey, list[JournalStep]] = {}
    for step in steps:
        steps_by_turn.setdefault((step.session, step.turn, step.side), []).append(step)
    return steps_by_turn


def _paired_sessions(
    left: Sequence[JournalStep], right: Sequence[JournalStep]
) -> list[tuple[str | None, str | None]]:
    """Pair the sessions in the order of their first step; steps without a session come first."""
    ours, theirs = (
        dict.fromkeys(step.session for step in steps if step.session is not None)
        for steps in (left, right)
    )
    # No session has this id: a session missing in the other journal is compared with nothing.
    return [(None, None), *zip_longest(ours, theirs, fillvalue="\0")]


def _paired_turns(
    steps_by_turn: Mapping[_StepKey, Sequence[JournalStep]],
    other_steps: Mapping[_StepKey, Sequence[JournalStep]],
    one: str | None,
    other: str | None,
) -> Iterator[tuple[int, int]]:
    """Pair the turns of two sessions by their prompts; steps before the first are turn 0.

    A missing step then affects no other turn.
    """
    yield 0, 0
    marks = _prompts(steps_by_turn, one), _prompts(other_steps, other)
    for tag, a, b, c, d in _aligned(*marks):
        if tag == "equal":
            yield from zip(range(a + 1, b + 1), range(c + 1, d + 1), strict=True)
            continue
        for place in range(max(b - a, d - c)):
            is_ours, is_theirs = a + place < b, c + place < d
            yield a + place + 1 if is_ours else _NONE, c + place + 1 if is_theirs else _NONE


def _prompts(
    steps_by_turn: Mapping[_StepKey, Sequence[JournalStep]], session: str | None
) -> list[str]:
    """Return the prompt of each turn of a session, from the first on."""
    marks: list[str] = []
    while steps := steps_by_turn.get((session, len(marks) + 1, "client")):
        marks.append(_mark(steps[0]))
    return marks


class _Comparing:
    """Compares the steps of turns; all turns share one map of ids."""

    def __init__(self, ids: IdMap) -> None:
        self._ids = ids
        self._reported: set[tuple[str, str, str]] = set()
        """Pairs of ids that disagree; each is reported once only."""

    def pair_steps(self, left: list[JournalStep], right: list[JournalStep]) -> Iterator[StepPair]:
        """First align steps that differ only in ids, then steps of the same kind."""
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
                for step in ours:
                    yield StepPair(step, None, (_only("left only", step),))
                for step in theirs:
                    yield StepPair(None, step, (_only("right only", step),))

    def _pairs(
        self, left: Sequence[JournalStep], right: Sequence[JournalStep]
    ) -> Iterator[StepPair]:
        for one, other in zip(left, right, strict=True):
            frames = tuple(one.frames), tuple(other.frames)
            step = one.side, one.session, one.name
            differences = [
                StepDifference("changed", *step, path, ours, theirs, *frames)
                for path, ours, theirs in self._places(one, other)
            ]
            yield StepPair(one, other, tuple(differences))

    def _places(self, one: JournalStep, other: JournalStep) -> Iterator[tuple[str, Json, Json]]:
        if one.is_request:
            # Each side has ids of its own.
            kind = f"request of the {one.side}"
            is_same_type = id_key(one.id)[0] == id_key(other.id)[0]
            if not is_same_type or not self._agree(kind, one.id, other.id):
                yield "id", one.id, other.id
        for path, *values in self._differing(one.value, other.value, "$", _DEPTH):
            yield one.path_in_message(path), values[0], values[1]

    def _agree(self, kind: str, one: Json, other: Json) -> bool:
        """Return whether two ids agree or their disagreement is already reported."""
        if self._ids.agree(kind, one, other):
            return True
        pair = (kind, repr(one), repr(other))
        is_reported = pair in self._reported
        self._reported.add(pair)
        return is_reported

    def _differing(
        self, one: Json, other: Json, path: str, depth: int
    ) -> Iterator[tuple[str, Json, Json]]:
        """Yield each difference of two values: its path, and both values there."""
        if depth and isinstance(one, dict) and isinstance(other, dict):
            ours, theirs = cast("dict[str, Json]", one), cast("dict[str, Json]", other)
            for name in dict.fromkeys([*ours, *theirs]):
                values = ours.get(name, ABSENT), theirs.get(name, ABSENT)
                member_path = path + formatted_member(name)
                if (
                    name in GENERATED_IDS
                    and not isinstance(values[0], dict | list)
                    and name in ours
                ):
                    if name not in theirs or not self._agree(name, *values):
                        yield member_path, *values
                elif name not in TIMESTAMPS:
                    yield from self._differing(*values, member_path, depth - 1)
        elif depth and isinstance(one, list) and isinstance(other, list):
            mine, yours = cast("list[Json]", one), cast("list[Json]", other)
            for place in range(max(len(mine), len(yours))):
                values = _item(mine, place), _item(yours, place)
                yield from self._differing(*values, f"{path}[{place}]", depth - 1)
        elif _is_other(one, other) and not self._are_secrets(one, other):
            yield path, one, other

    def _are_secrets(self, one: Json, other: Json) -> bool:
        are_texts = isinstance(one, str) and isinstance(other, str)
        return are_texts and self._ids.agree_on_secrets(one, other)


def _aligned(left: list[str], right: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    is_long = max(len(left), len(right)) > _MAX_ALIGNED_STEPS
    return SequenceMatcher(None, left, right, autojunk=is_long).get_opcodes()


def _mark(step: JournalStep) -> str:
    """Return a key that is equal for steps that differ only in ids."""
    return f"{step.name} {json.dumps(_plain(step.value, _DEPTH), sort_keys=True)}"


def _plain(value: Json, depth: int) -> Json:
    if not depth:
        return _opaque(value)
    if isinstance(value, dict):
        members = cast("dict[str, Json]", value).items()
        return {
            name: f"«{name}»" if name in GENERATED_IDS and not isinstance(inner, dict | list)
            else _plain(inner, depth - 1)
            for name, inner in members if name not in TIMESTAMPS
        }  # fmt: skip
    if isinstance(value, list):
        return [_plain(each, depth - 1) for each in cast("list[Json]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _opaque(value: Json) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "«nested too deeply»"


def _only(kind: Kind, step: JournalStep) -> StepDifference:
    is_left = kind == "left only"
    frames = tuple(step.frames)
    return StepDifference(
        *(kind, step.side, step.session, step.name, ""),
        *((step.value, ABSENT) if is_left else (ABSENT, step.value)),
        *((frames, ()) if is_left else ((), frames)),
    )


def _is_other(one: Json, other: Json) -> bool:
    """Return whether two values differ; true differs from 1, 1.0 does not."""
    return isinstance(one, bool) is not isinstance(other, bool) or _plain(one, 1) != _plain(
        other, 1
    )


def _item(items: list[Json], place: int) -> Json:
    return items[place] if place < len(items) else ABSENT
