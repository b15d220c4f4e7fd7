"""Two journals compared by meaning, not by line.

Ids that one side mints anew in each run are bound at first sight and then have to agree; times are
not compared; the working directory stands for itself. Sessions may interleave as they like, and so
may the two sides of one: what a side said in a session keeps its order.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.analysis.items import member, string
from acp_inspector.analysis.steps import Level, Step, Steps
from acp_inspector.analysis.study import Study
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.filter.language import Filter
from acp_inspector.filter.paths import Member, Path, look_up
from acp_inspector.journal import Entry, Frame
from acp_inspector.replay.bindings import MINTED, MOMENTS, Bindings
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Failure, Json, Message, Notification, Request, Result, id_key

Kind: TypeAlias = Literal["changed", "left only", "right only"]

ABSENT: Final = "«absent»"
"""Stands for the value of a member that is not there."""
_DEPTH: Final = 100
"""Levels of nesting that are looked into; what lies deeper is compared as a whole."""
_MANY: Final = 2_000
"""Steps of one side in one session from which on what is frequent does not help to align them."""
_Lane: TypeAlias = tuple[str | None, Side]


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


@dataclass(slots=True)
class Ignore:
    """What is not compared: frames that a filter means, or a place in every message."""

    text: str
    what: Filter | Path
    applied: int = 0
    """How often it was."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of comparing two journals."""

    differences: tuple[Difference, ...]
    compared: tuple[int, int]
    """Steps of the left and of the right."""


@dataclass(slots=True)
class _Side:
    """The steps of one journal, and what is replaced in them."""

    steps: list[Step]
    places: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def compare(
    left: Sequence[Entry],
    right: Sequence[Entry],
    *,
    level: Level = "semantic",
    ignores: Sequence[Ignore] = (),
) -> Comparison:
    """Return where two journals differ; `ignores` are told how often they applied."""
    ours, theirs = (_read(entries, level, ignores) for entries in (left, right))
    bindings = Bindings()
    found: list[Difference] = []
    lanes, others = _lanes(ours.steps), _lanes(theirs.steps)
    for one, other in _paired(ours.steps, theirs.steps):
        for side in _SIDES:
            pair = lanes.get((one, side), []), others.get((other, side), [])
            found += _compare_lane(*pair, bindings, ours.places, theirs.places)
    found.sort(key=lambda each: (each.left_frames or each.right_frames)[:1])
    return Comparison(tuple(found), (len(ours.steps), len(theirs.steps)))


_SIDES: Final[tuple[Side, ...]] = ("client", "agent")


# Reading


def _read(entries: Sequence[Entry], level: Level, ignores: Sequence[Ignore]) -> _Side:
    study, steps = Study(), Steps(level)
    exchanges = study.exchanges
    filters = [each for each in ignores if isinstance(each.what, Filter)]
    if any("pending" in each.what.needs for each in filters if isinstance(each.what, Filter)):
        # Whether a question was answered is known at the end only.
        before = Study()
        before.read(entries)
        exchanges = before.exchanges
    for entry in entries:
        study.apply(entry)
        if isinstance(entry, Frame):
            facts = FrameFacts(entry, exchanges, notes=study.notes())
            if not _is_ignored(facts, filters):
                messages = [_without(message, ignores) for message in study.said]
                steps.apply(entry, messages, study.exchanges.all_of(entry))
    around = (talk.surroundings.cwd for talk in study.conversations.sessions.values())
    cwds = dict.fromkeys(cwd for cwd in around if cwd and cwd != "/")
    places = [(cwd, "«cwd»") for cwd in sorted(cwds, key=len, reverse=True)]
    return _Side(steps.finished(), places)


def _is_ignored(facts: FrameFacts, filters: Iterable[Ignore]) -> bool:
    is_ignored = False
    for ignore in filters:
        if isinstance(ignore.what, Filter) and ignore.what.matches(facts):
            ignore.applied += 1
            is_ignored = True
    return is_ignored


def _without(message: Message, ignores: Iterable[Ignore]) -> Message:
    """Return a message without the places that are ignored."""
    for ignore in ignores:
        if isinstance(ignore.what, Path):
            message = _cut(message, ignore, ignore.what)
    return message


def _cut(message: Message, ignore: Ignore, path: Path) -> Message:
    match message:
        case Request(params=value) | Notification(params=value):
            whole: dict[str, Json] = {"method": message.method, "params": _copy(value)}
        case Result(result=value):
            whole = {"result": _copy(value)}
        case Failure(code=code, message=text, data=data):
            whole = {"error": {"code": code, "message": text, "data": _copy(data)}}
        case _:
            return message
    last = path.steps[-1]
    if not isinstance(last, Member):
        return message
    places = look_up(whole, Path(path.steps[:-1])) if len(path.steps) > 1 else [whole]
    holders = [cast("dict[str, Json]", place) for place in places if isinstance(place, dict)]
    before = ignore.applied
    for holder in holders:
        if last.name in holder:
            del holder[last.name]
            ignore.applied += 1
    return message if ignore.applied == before else _rebuilt(message, whole)


def _copy(value: Json) -> Json:
    try:
        return json.loads(json.dumps(value))
    except RecursionError:
        return value


def _rebuilt(message: Message, whole: dict[str, Json]) -> Message:
    match message:
        case Request(id=id_, method=method, raw=raw):
            return Request(id_, method, whole.get("params"), raw)
        case Notification(method=method, raw=raw):
            return Notification(method, whole.get("params"), raw)
        case Result(id=id_, raw=raw):
            return Result(id_, whole.get("result"), raw)
        case Failure(id=id_, code=code, raw=raw):
            error = whole.get("error")
            return Failure(id_, code, string(error, "message"), member(error, "data"), raw)
        case _:
            return message


# Comparing


def _lanes(steps: Iterable[Step]) -> dict[_Lane, list[Step]]:
    lanes: dict[_Lane, list[Step]] = {}
    for step in steps:
        lanes.setdefault((step.session, step.side), []).append(step)
    return lanes


def _paired(left: Sequence[Step], right: Sequence[Step]) -> list[tuple[str | None, str | None]]:
    """Pair the sessions in the order of their first step; what belongs to none stands first."""
    ours = list(dict.fromkeys(step.session for step in left if step.session is not None))
    theirs = list(dict.fromkeys(step.session for step in right if step.session is not None))
    missing = "\0"
    longest = max(len(ours), len(theirs))
    ours += [missing] * (longest - len(ours))
    theirs += [missing] * (longest - len(theirs))
    return [(None, None), *zip(ours, theirs, strict=True)]


def _compare_lane(
    left: list[Step],
    right: list[Step],
    bindings: Bindings,
    ours: list[tuple[str, str]],
    theirs: list[tuple[str, str]],
) -> Iterator[Difference]:
    """Align what is the same but for its ids first, and what is of the same kind between that."""
    for step in left:
        step.value = _placed(step.value, ours)
    for step in right:
        step.value = _placed(step.value, theirs)
    marks = [_mark(step) for step in left], [_mark(step) for step in right]
    for tag, a, b, c, d in _aligned(*marks):
        if tag == "equal":
            yield from _compare_pairs(left[a:b], right[c:d], bindings)
            continue
        names = [step.name for step in left[a:b]], [step.name for step in right[c:d]]
        for inner, e, f, g, h in _aligned(*names):
            if inner == "equal":
                yield from _compare_pairs(left[a + e : a + f], right[c + g : c + h], bindings)
                continue
            yield from (_only("left only", step) for step in left[a + e : a + f])
            yield from (_only("right only", step) for step in right[c + g : c + h])


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


def _placed(value: Json, places: Sequence[tuple[str, str]]) -> Json:
    """Return a value with every working directory replaced, wherever it stands in text."""
    if not places:
        return value
    try:
        text = json.dumps(value, ensure_ascii=False)
        for cwd, name in places:
            spelled = re.escape(json.dumps(cwd, ensure_ascii=False)[1:-1])
            text = re.sub(rf"{spelled}(?![\w.-])", name, text)
        return json.loads(text)
    except RecursionError:
        # Nested as deep as can only be read: it is compared as it is.
        return value


def _only(kind: Kind, step: Step) -> Difference:
    is_left = kind == "left only"
    frames = tuple(step.frames)
    return Difference(
        *(kind, step.side, step.session, step.name, ""),
        *((step.value, ABSENT) if is_left else (ABSENT, step.value)),
        *((frames, ()) if is_left else ((), frames)),
    )


def _compare_pairs(
    left: Sequence[Step], right: Sequence[Step], bindings: Bindings
) -> Iterator[Difference]:
    for one, other in zip(left, right, strict=True):
        for path, ours, theirs in _places_of(one, other, bindings):
            frames = tuple(one.frames), tuple(other.frames)
            yield Difference(
                "changed", one.side, one.session, one.name, path, ours, theirs, *frames
            )


def _places_of(one: Step, other: Step, bindings: Bindings) -> Iterator[tuple[str, Json, Json]]:
    if one.is_request:
        ours, theirs = id_key(one.id), id_key(other.id)
        kind = f"request of the {one.side}"
        if ours[0] != theirs[0] or not bindings.agree(kind, one.id, other.id):
            yield "id", one.id, other.id
    yield from _differing(one.value, other.value, bindings, "", _DEPTH)


def _differing(
    one: Json, other: Json, bindings: Bindings, path: str, depth: int
) -> Iterator[tuple[str, Json, Json]]:
    """Yield each place where two values differ: its path, and both values there."""
    if depth and isinstance(one, dict) and isinstance(other, dict):
        ours, theirs = cast("dict[str, Json]", one), cast("dict[str, Json]", other)
        for name in dict.fromkeys([*ours, *theirs]):
            values = ours.get(name, ABSENT), theirs.get(name, ABSENT)
            here = f"{path}.{name}" if path else name
            if name in MINTED and not isinstance(values[0], dict | list) and name in ours:
                if name not in theirs or not bindings.agree(name, *values):
                    yield here, *values
            elif name not in MOMENTS:
                yield from _differing(*values, bindings, here, depth - 1)
    elif depth and isinstance(one, list) and isinstance(other, list):
        mine, yours = cast("list[Json]", one), cast("list[Json]", other)
        for place in range(max(len(mine), len(yours))):
            values = _item(mine, place), _item(yours, place)
            yield from _differing(*values, bindings, f"{path}[{place}]", depth - 1)
    elif _plain(one, 1) != _plain(other, 1) or isinstance(one, bool) is not isinstance(other, bool):
        yield path, one, other


def _item(items: list[Json], place: int) -> Json:
    return items[place] if place < len(items) else ABSENT
