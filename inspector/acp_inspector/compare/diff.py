"""Compares two journals by meaning; used by `diff` and `replay`.

Ids that each run generates are mapped when first seen and must agree from then on. Times are not
compared, and working directories are replaced by one placeholder. Sessions may interleave, and so
may the two sides of a session; the messages of one side in one session keep their order.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher, unified_diff
from itertools import islice, zip_longest
from math import inf
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final, Literal, Protocol, TypeAlias, TypedDict, cast, get_args

from acp_inspector.compare.id_map import (
    GENERATED_IDS,
    TIMESTAMPS,
    TOLERANCES,
    IdMap,
    Templates,
    TextContext,
    Tolerance,
    Variable,
)
from acp_inspector.compare.steps import JournalStep, Level, Steps
from acp_inspector.journal import MAX_GAP, Entry, Frame, JournalEvent
from acp_inspector.jsonpath import JSONPath, delete_at, find_all, formatted_member, parse_path
from acp_inspector.session.exchanges import Exchanges, PairedMessage
from acp_inspector.session.fold import Sessions
from acp_inspector.views.annotations import FrameNotes
from acp_inspector.views.session_model import SessionModel
from acp_protocol.framing import Side, opposite
from acp_protocol.json_values import get, get_list, get_string
from acp_protocol.jsonrpc import (
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
    id_key,
)
from acp_protocol.schema.vocabulary import CALL_UPDATES, OPENING
from acp_protocol.tool_calls import is_final

Kind: TypeAlias = Literal["changed", "moved", "left only", "right only"]
"""`moved`: nothing but the order differs."""

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
_NO_SESSION: Final = "\0"
"""The id of no session; a session missing in the other journal is compared with nothing."""
SIDES: Final[tuple[Side, ...]] = ("client", "agent")
_MAX_MOVES: Final = 1_000_000
"""Above this number of pairs of steps in a turn, steps in another order are not matched."""
_UNORDERED: Final = ({"session/new"}, {"session/set_mode", "session/set_model"})
"""Requests of a client that do not touch what the other one of their set touches."""
_FIXED: Final = frozenset({"initialize", "session/prompt", *OPENING}) - {"session/new"}
"""Requests of a client that keep their place, even if others are open at the same time."""
_BINDINGS: Final[frozenset[Tolerance]] = frozenset({"ids-in-text", "shapes", "temp-paths"})
"""Tolerances of the level `strict`."""
_StepKey: TypeAlias = tuple[str | None, int, Side]
"""Session, turn and side."""
_ChannelKey: TypeAlias = tuple[str | None, Side, str]
"""Session, side and kind of asynchronous updates."""
_Found: TypeAlias = tuple[str, Json, Json, str]
"""A difference: its path, both values there, and what a matcher says about them."""
_Match: TypeAlias = "tuple[JournalStep | None, JournalStep | None]"
_Pair: TypeAlias = tuple[JournalStep, JournalStep]
"""A step and its counterpart."""
_STREAMED: Final = frozenset({"agent_message", "agent_thought", "plan", "plan_update"})
"""Updates that an agent streams in a turn, beside chunks."""


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
    tolerated: Mapping[Tolerance, int] = field(default_factory=dict[Tolerance, int])
    """How often each tolerance was needed, as far as it was."""


_TOLERATED: Final[dict[Tolerance, tuple[str, str]]] = {
    "ids-in-text": ("id inside a text", "ids inside texts"),
    "shapes": ("value bound by shape", "values bound by shape"),
    "temp-paths": ("temporary path", "temporary paths"),
    "usage": ("usage number", "usage numbers"),
    "process-ids": ("process id", "process ids"),
    "late-updates": ("update late", "updates late"),
    "call-states": (
        "tool call with other states repeated",
        "tool calls with other states repeated",
    ),
    "replaced-values": (
        "step with other values that were replaced",
        "steps with other values that were replaced",
    ),
    "output-lines": (
        "output with lines interleaved otherwise",
        "outputs with lines interleaved otherwise",
    ),
    "request-order": ("call or request in another order", "calls and requests in another order"),
    "cut-titles": ("title cut at a path", "titles cut at a path"),
    "relative-titles": (
        "title relative to another directory",
        "titles relative to another directory",
    ),
}


_TITLES: Final = re.compile(
    r"tool call \$\.params\.update\.title"
    r"|session/request_permission \$\.params(?:\.subject)?\.toolCall\.title"
)
"""The titles of tool calls: the step and the path."""


def tolerated_text(tolerated: Mapping[Tolerance, int]) -> str:
    """Return what was tolerated, e.g. `3 values bound by shape, 2 updates late`."""
    return ", ".join(f"{count} {_TOLERATED[name][count != 1]}" for name, count in tolerated.items())


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
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
    elsewhere: int = 0
    """How often it would have applied to a side that is not compared."""


@dataclass(slots=True)
class Matcher:
    """Decides about the values at a path instead of the comparison."""

    text: str
    """As the user wrote it."""
    path: JSONPath
    mismatch: Callable[[Json, Json], str]
    """Returns why the values of both journals are not as they should be; empty if they are."""
    applied: int = 0
    """How often there was a value at the path."""
    elsewhere: int = 0
    """How often there was one in a side that is not compared."""


class CompareOptions(TypedDict, total=False):
    """Arguments of `compare` that other functions pass on."""

    level: Level
    matchers: Sequence[Matcher]
    tolerances: Collection[Tolerance]


def compare(
    left: Sequence[Entry],
    right: Sequence[Entry],
    *,
    level: Level = "semantic",
    ignores: Sequence[Ignore] = (),
    selectors: tuple[FrameSelector | None, FrameSelector | None] = (None, None),
    sides: Sequence[Side] = SIDES,
    ids: IdMap | None = None,
    matchers: Sequence[Matcher] = (),
    tolerances: Collection[Tolerance] = TOLERANCES,
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
        matchers: Paths whose values are not compared but matched; each counts how often.
        tolerances: What may differ; on the level `strict`, only what is bound.
        progress: Called now and then with the share that is done, from 0 to 1; what it raises ends
            the comparison.
    """
    ids = ids or IdMap()
    allowed = frozenset(tolerances) & (_BINDINGS if level == "strict" else TOLERANCES)
    work = _Progress(progress, len(left) + len(right))
    # Each pair of directories has a name of its own, so that one cannot stand for another.
    numbers = {each: at for at, each in enumerate(dict.fromkeys(ids.directories.values()), 1)}
    names = {live: _directory_name(at) for live, at in numbers.items()}
    recorded_names = {each: names[live] for each, live in ids.directories.items()}
    excluding = ignores, matchers
    ours = _read(left, level, excluding, selectors[0], sides, recorded_names, allowed, work)
    theirs = _read(right, level, excluding, selectors[1], sides, names, allowed, work)
    comparing = _Comparing(ours, theirs, ids, allowed, matchers)
    for session, other in _paired_sessions(ours.steps, theirs.steps, ids):
        comparing.match_session(session, other, sides, lambda: work.advance(0))
    pairs = comparing.pairs()
    found = [difference for pair in pairs for difference in pair.differences]
    found.sort(key=lambda each: (each.left_frames or each.right_frames)[:1])
    counts = [sum(step.side in sides for step in run.steps) for run in (ours, theirs)]
    return JournalComparison(
        tuple(found), (counts[0], counts[1]), tuple(_in_order(pairs)), comparing.tolerated
    )


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


class _Run:
    """The steps of one journal, and their variables."""

    def __init__(self, steps: list[JournalStep], templates: Templates) -> None:
        self.steps = steps
        self.templates = templates
        self._marks: dict[JournalStep, tuple[str, list[Variable]]] = {}
        for session in {step.session for step in steps}:
            templates.add_id(session)
        for step in steps:
            for name, value in _id_fields(step.value):
                if name != "requestId":
                    templates.add_id(value)
        self.by_turn = _steps_by_turn(steps)
        self.by_channel = _steps_by_channel(steps)

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
            place = _Place(step, "$", context_of(step), "", _DEPTH)
            value = self._masked(step.value, place, variables)
            mark = f"{step.name} {type_} {json.dumps(value, sort_keys=True)}"
            if step.beside:
                beside = self._masked(step.beside, place, variables)
                mark += json.dumps(beside, sort_keys=True)
            found = self._marks[step] = mark, variables
        return found

    def _masked(self, value: Json, place: _Place, variables: list[Variable]) -> Json:
        if isinstance(value, dict):
            if not place.depth:
                return _opaque(value)
            members = cast("dict[str, Json]", value)
            if (duration := self.templates.duration(members, place.context)) is not None:
                variables.append(duration)
                return {"«»": duration.kind}
            masked: dict[str, Json] = {}
            for key, name in sorted(self.names(members).items()):
                variables += self.templates.text(name)[1] if key != name else ()
                masked[key] = self._masked(members[name], place.member(name), variables)
            return masked
        if isinstance(value, list):
            if not place.depth:
                return _opaque(value)
            below = place.item(0)
            return [self._masked(each, below, variables) for each in cast("list[Json]", value)]
        if (variable := self.leaf(value, place)) is not None:
            variables.append(variable)
            return {"«»": variable.kind}
        if isinstance(value, str):
            text, found = self.templates.text(value, place.context)
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

    def leaf(self, value: Json, place: _Place) -> Variable | None:
        """Return the variable that a value is as a whole."""
        if isinstance(value, dict | list):
            return None
        if is_id(place.name, value):
            return None if value == ABSENT else Variable(id_kind(place.name, place.step), value)
        if place.name in TIMESTAMPS and isinstance(value, str) and value != ABSENT:
            return self.templates.timestamp(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self.templates.number(place.name, value, place.context)
        if isinstance(value, str):
            return self.templates.process_id(place.name, value, place.context)
        return None

    def replaced_marks(self, steps: Iterable[JournalStep]) -> Iterator[str]:
        """Yield the marks of the values that others of their turn have replaced."""
        for step in steps:
            for value in step.earlier:
                yield self.mark_of(replace(step, value=value, earlier=[]))

    def other_marks(self, step: JournalStep) -> set[str]:
        """Return the marks of the other values that a step had."""
        steps = (replace(step, value=value, replaced=[], beside={}) for value in step.replaced)
        return set(map(self.mark_of, steps))

    def prompts(self, session: str | None) -> list[str]:
        """Return the mark of the prompt of each turn of a session, from the first on."""
        marks: list[str] = []
        while steps := self.by_turn.get((session, len(marks) + 1, "client")):
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

    def may_pass(self, one: JournalStep, other: JournalStep) -> bool:
        """Return whether two steps of one side may come in either order.

        A request and the tool call that it names may, parallel tool calls and requests of an agent,
        responses to requests that were open at the same time, and requests of a client that are
        open at the same time or do not touch the same.
        """
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


def is_id(name: str, value: Json) -> bool:
    return name in GENERATED_IDS and not isinstance(value, dict | list)


def id_kind(name: str, step: JournalStep) -> str:
    """Return the kind of the id in a field; `requestId` names a request of one of the sides."""
    if name != "requestId":
        return name
    is_own = step.name == "$/cancel_request"
    return f"request of the {step.side if is_own else opposite(step.side)}"


def _id_fields(value: Json) -> Iterator[tuple[str, Json]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            for name, inner in cast("dict[str, Json]", each).items():
                if isinstance(inner, dict | list):
                    waiting.append(cast("Json", inner))
                elif name in GENERATED_IDS:
                    yield name, inner
        elif isinstance(each, list):
            waiting += cast("list[Json]", each)


_OUTPUT_STEPS: Final = frozenset(
    {
        "tool call",
        *CALL_UPDATES,
        *("terminal", "terminal_update", "terminal_output_chunk", "response to terminal/output"),
    }
)


def context_of(step: JournalStep) -> TextContext:
    return TextContext(
        is_usage=step.name == "usage_update",
        is_output=step.name in _OUTPUT_STEPS,
        is_input=step.is_request and step.side == "agent",
    )


def _read(
    entries: Sequence[Entry],
    level: Level,
    excluding: tuple[Sequence[Ignore], Sequence[Matcher]],
    wanted: FrameSelector | None,
    sides: Sequence[Side],
    names: Mapping[str, str],
    tolerances: frozenset[Tolerance],
    work: _Progress,
) -> _Run:
    """Return the steps of a journal; ignores apply only to compared sides.

    `names` stand for directories in its texts.
    """
    ignores, _ = excluding
    steps, places = Steps(level, tolerances), dict(names)
    selectors = [each.what for each in ignores if not isinstance(each.what, JSONPath)]
    selectors += [] if wanted is None else [wanted]
    # Without filters no more is needed than requests and their responses.
    model = SessionModel() if selectors else _Pairing(steps.sessions)
    exchanges = model.exchanges
    if any(each.needs_responses for each in selectors):
        before = SessionModel()
        before.read(entries)
        exchanges = before.exchanges
    for entry in entries:
        work.advance()
        frame = model.apply(entry)
        if isinstance(frame, JournalEvent) and frame.begins_connection:
            steps.restart(frame.seq, frame.time)
        if not isinstance(frame, Frame):
            continue
        paired = model.last_paired
        _add_directories(places, paired)
        notes = model.notes()
        if wanted is not None and not wanted.matches(frame, exchanges, notes):
            continue
        if frame.side not in sides:
            if any(excluding):
                _count_elsewhere(excluding, frame, paired, exchanges, notes)
            steps.apply(frame, paired)
            continue
        is_ignored = _is_ignored(ignores, frame, exchanges, notes)
        if ignores:
            paired = tuple(
                (_without(message, ignores, is_ignored=is_ignored), its) for message, its in paired
            )
        if not is_ignored:
            steps.apply(frame, paired)
    return _Run(steps.finished(), Templates(places, tolerances))


_NO_NOTES: Final = FrameNotes()


class _Pairing:
    """Decodes and pairs frames, and numbers entries, as `SessionModel` does."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.exchanges = sessions.exchanges
        self.last_paired: tuple[PairedMessage, ...] = ()
        self._seq = 0

    def apply(self, entry: Entry) -> Entry:
        # Files may contain any numbers, and the order of frames is known by them.
        if not self._seq < entry.seq < self._seq + MAX_GAP:
            entry = replace(entry, seq=self._seq + 1)
        self._seq = entry.seq
        if isinstance(entry, Frame):
            self.last_paired = self._sessions.pair(entry)
        return entry

    def notes(self) -> FrameNotes:
        return _NO_NOTES


def _add_directories(places: dict[str, str], paired: Iterable[PairedMessage]) -> None:
    """Name the working directory of each session that is opened; each has a name of its own.

    A relative one is another value where an absolute one was recorded.
    """
    for message, _ in paired:
        if isinstance(message, Request) and message.method in OPENING:
            cwd = get_string(message.params, "cwd").rstrip("/")
            is_absolute = any(kind(cwd).is_absolute() for kind in (PurePosixPath, PureWindowsPath))
            if is_absolute and cwd not in places:
                known = len({*places.values()})
                places[cwd] = _directory_name(known + 1)


def _directory_name(number: int) -> str:
    return "«cwd»" if number == 1 else f"«cwd {number}»"


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


def _count_elsewhere(
    excluding: tuple[Sequence[Ignore], Sequence[Matcher]],
    frame: Frame,
    paired: Iterable[PairedMessage],
    exchanges: Exchanges,
    notes: FrameNotes,
) -> None:
    """Count what would apply in a frame of a side that is not compared."""
    ignores, matchers = excluding
    paths = [(each, each.what) for each in ignores if isinstance(each.what, JSONPath)]
    paths += [(each, each.path) for each in matchers]
    for message, _ in paired:
        for each, path in paths:
            each.elsewhere += len(find_all(_whole(message), path))
    for ignore in ignores:
        if not isinstance(ignore.what, JSONPath):
            ignore.elsewhere += ignore.what.matches(frame, exchanges, notes)


def _whole(message: Message) -> dict[str, Json]:
    """Return a copy of a message as paths see it; empty if it has none."""
    match message:
        case Request() | Notification():
            return {"method": message.method, "params": _copied(message.params)}
        case SuccessResponse():
            return {"result": _copied(message.result)}
        case ErrorResponse(code=code, message=text):
            return {"error": {"code": code, "message": text, "data": _copied(message.data)}}
        case _:
            return {}


def _without(message: Message, ignores: Iterable[Ignore], *, is_ignored: bool) -> Message:
    """Return a message without ignored paths, and count them.

    `is_ignored`: the whole frame is ignored.
    """
    paths = [(ignore, ignore.what) for ignore in ignores if isinstance(ignore.what, JSONPath)]
    whole = _whole(message)
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
            return replace(message, message=get_string(error, "message"), data=get(error, "data"))
        case _:
            return message


def _copied(value: Json) -> Json:
    try:
        return json.loads(json.dumps(value))
    except RecursionError:
        return value


# Comparing


def _steps_by_turn(steps: Iterable[JournalStep]) -> dict[_StepKey, list[JournalStep]]:
    steps_by_turn: dict[_StepKey, list[JournalStep]] = {}
    for step in steps:
        if not step.channel:
            steps_by_turn.setdefault((step.session, step.turn, step.side), []).append(step)
    return steps_by_turn


def _steps_by_channel(steps: Iterable[JournalStep]) -> dict[_ChannelKey, list[JournalStep]]:
    """Return asynchronous updates by session, side and kind, over all turns."""
    channels: dict[_ChannelKey, list[JournalStep]] = {}
    for step in steps:
        if step.channel:
            channels.setdefault((step.session, step.side, step.channel), []).append(step)
    return channels


def _paired_sessions(
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


class _Comparing:
    """Compares the steps of two runs; all turns share one map of ids."""

    def __init__(
        self,
        left: _Run,
        right: _Run,
        ids: IdMap,
        tolerances: frozenset[Tolerance],
        matchers: Sequence[Matcher],
    ) -> None:
        self._left = left
        self._right = right
        self._ids = ids
        self._tolerances = tolerances
        self._matchers = matchers
        self._reported: set[tuple[str, str, str]] = set()
        """Pairs of ids that disagree; each is reported once only."""
        self._matches: list[_Match] = []
        self._calls: dict[tuple[JournalStep, int], list[_Pair]] = {}
        """The tool calls that requests of a turn belong to, with how many pairs were known."""
        self._misplaced: set[JournalStep] = set()
        """Steps of the left whose counterpart is in another place of its turn."""
        self._values: dict[Tolerance, set[tuple[str, str]]] = {}
        """Values that differ and are tolerated."""
        self._counts: Counter[Tolerance] = Counter()
        self._replaced: set[JournalStep | None] = set()
        """Values of channels that the other journal has replaced earlier."""

    @property
    def tolerated(self) -> dict[Tolerance, int]:
        """How often each tolerance was needed."""
        counts = Counter(self._counts)
        counts.update({name: len(values) for name, values in self._values.items()})
        return {name: counts[name] for name in get_args(Tolerance) if counts[name]}

    # Which steps belong together

    def match_session(
        self, one: str | None, other: str | None, sides: Sequence[Side], advance: Callable[[], None]
    ) -> None:
        """Match the steps of a session with those of its counterpart."""
        if _NO_SESSION not in (one, other) and one is not None:
            self._ids.agree("sessionId", one, other)
        turns: dict[int, int] = {}
        for turn, other_turn in self._paired_turns(one, other):
            turns[turn] = other_turn
            for side in sides:
                self._match_steps(
                    self._left.by_turn.get((one, turn, side), []),
                    self._right.by_turn.get((other, other_turn, side), []),
                )
            advance()
        channels = [key[1:] for key in self._left.by_channel if key[0] == one]
        channels += [key[1:] for key in self._right.by_channel if key[0] == other]
        for side, channel in dict.fromkeys(channels):
            if side in sides:
                self._match_channel(
                    self._left.by_channel.get((one, side, channel), []),
                    self._right.by_channel.get((other, side, channel), []),
                    turns,
                )

    def _paired_turns(self, one: str | None, other: str | None) -> Iterator[tuple[int, int]]:
        """Pair the turns of two sessions by their prompts; steps before the first are turn 0.

        A missing step then affects no other turn.
        """
        yield 0, 0
        for tag, a, b, c, d in _aligned(self._left.prompts(one), self._right.prompts(other)):
            if tag == "equal":
                yield from zip(range(a + 1, b + 1), range(c + 1, d + 1), strict=True)
                continue
            for place in range(max(b - a, d - c)):
                is_ours, is_theirs = a + place < b, c + place < d
                yield a + place + 1 if is_ours else _NONE, c + place + 1 if is_theirs else _NONE

    def _match_steps(self, left: list[JournalStep], right: list[JournalStep]) -> None:
        """First match steps that differ only in variables, then steps of the same kind."""
        begin = len(self._matches)
        opcodes = _aligned(
            list(map(self._left.mark_of, left)), list(map(self._right.mark_of, right))
        )
        equal = [
            (left[a + at], right[c + at])
            for tag, a, b, c, _ in opcodes if tag == "equal" for at in range(b - a)
        ]  # fmt: skip
        self._matches += equal
        ours = [step for tag, a, b, *_ in opcodes if tag != "equal" for step in left[a:b]]
        theirs = [step for tag, *_, c, d in opcodes if tag != "equal" for step in right[c:d]]
        moved = self._match_moved(ours, theirs, equal)
        moved |= self._match_misplaced(ours, theirs, moved)
        for tag, a, b, c, d in opcodes:
            if tag != "equal":
                ours = [step for step in left[a:b] if step not in moved]
                theirs = [step for step in right[c:d] if step not in moved]
                self._match_by_name(ours, theirs)
        self._find_late_permissions(self._matches[begin:])

    def _find_late_permissions(self, matches: Sequence[_Match]) -> None:
        """Find the permissions that one of the runs asked for when the call had ended already."""
        pairs = [(one, other) for one, other in matches if one is not None and other is not None]
        calls = {
            get(one.value, "toolCallId"): (one, other)
            for one, other in pairs if one.name == "tool call"
        }  # fmt: skip
        for one, other in pairs:
            named = self._left.calls_of(one) if one.name == "session/request_permission" else ()
            for one_call, other_call in (calls[id_] for id_ in named if id_ in calls):
                are_late = [
                    _has_ended(call) and call.frames[-1] < permission.frames[0]
                    for permission, call in ((one, one_call), (other, other_call))
                ]
                if are_late[0] != are_late[1]:
                    self._misplaced.add(one)

    def _match_by_name(self, left: list[JournalStep], right: list[JournalStep]) -> None:
        names = [step.name for step in left], [step.name for step in right]
        for tag, a, b, c, d in _aligned(*names):
            if tag == "equal":
                self._matches += zip(left[a:b], right[c:d], strict=True)
                continue
            self._matches += ((step, None) for step in left[a:b])
            self._matches += ((None, step) for step in right[c:d])

    def _match_moved(
        self,
        left: Sequence[JournalStep],
        right: Sequence[JournalStep],
        equal: Sequence[tuple[JournalStep, JournalStep]],
    ) -> set[JournalStep]:
        """Match equal steps in another order, if they may pass all that is between; return them."""
        moved: set[JournalStep] = set()
        is_long = len(left) * len(equal) > _MAX_MOVES
        if "request-order" not in self._tolerances or is_long:
            return moved
        fixed = list(equal)
        self._calls.clear()
        for one in left:
            mark = self._left.mark_of(one)
            for other in right:
                if other in moved or self._right.mark_of(other) != mark:
                    continue
                passed = (
                    (mine, yours)
                    for mine, yours in fixed
                    if (mine.frames[0] < one.frames[0]) != (yours.frames[0] < other.frames[0])
                )
                if all(
                    self._left.may_pass(one, mine)
                    or self._right.may_pass(other, yours)
                    or self._are_untied((one, other), (mine, yours), fixed)
                    for mine, yours in passed
                ):
                    moved |= {one, other}
                    fixed.append((one, other))
                    self._matches.append((one, other))
                    self._counts["request-order"] += 1
                break
        return moved

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
                if self._left.belongs(request[0], call[0])
                or self._right.belongs(request[1], call[1])
            ]  # fmt: skip
        return self._calls[key]

    def _match_misplaced(
        self, left: Sequence[JournalStep], right: Sequence[JournalStep], moved: set[JournalStep]
    ) -> set[JournalStep]:
        """Match equal steps that are in another order although they may not; return them."""
        places: dict[str, deque[JournalStep]] = {}
        for step in right:
            if step not in moved:
                places.setdefault(self._right.mark_of(step), deque()).append(step)
        misplaced: set[JournalStep] = set()
        for step in left:
            if step not in moved and (found := places.get(self._left.mark_of(step))):
                self._matches.append((step, found[0]))
                self._misplaced.add(step)
                misplaced |= {step, found.popleft()}
        return misplaced

    def _match_channel(
        self, left: list[JournalStep], right: list[JournalStep], turns: Mapping[int, int]
    ) -> None:
        """Match the values of an asynchronous channel, in order but whatever their turn.

        The last value of each turn has to be in the other journal too; there, a later one may have
        replaced it within a turn. The last one of all has to be the same.
        """
        marks = list(map(self._left.mark_of, left)), list(map(self._right.mark_of, right))
        for tag, a, b, c, d in _aligned(*marks):
            if tag == "equal":
                for one, other in zip(left[a:b], right[c:d], strict=True):
                    self._matches.append((one, other))
                    is_late = turns.get(one.turn) != other.turn
                    is_noted = one.is_between_turns != other.is_between_turns
                    self._counts["late-updates"] += is_late and not is_noted
                continue
            replaced = (
                Counter(self._left.replaced_marks(left[a : b + 1])),
                Counter(self._right.replaced_marks(right[c : d + 1])),
            )
            ours = self._not_replaced(left, (a, b), self._left, replaced[1] - replaced[0])
            theirs = self._not_replaced(right, (c, d), self._right, replaced[0] - replaced[1])
            self._counts["late-updates"] += b - a - len(ours) + d - c - len(theirs)
            self._matches += ((step, None) for step in left[a:b] if step not in ours)
            self._matches += ((None, step) for step in right[c:d] if step not in theirs)
            self._match_by_name(ours, theirs)
            self._replaced |= {*left[a:b], *right[c:d]} - {*ours, *theirs}

    def _not_replaced(
        self, channel: Sequence[JournalStep], part: tuple[int, int], run: _Run, there: Counter[str]
    ) -> list[JournalStep]:
        """Return the steps of a part whose value a later one has not replaced in the other channel.

        `there`: what only the other channel has replaced.
        """
        kept: list[JournalStep] = []
        for step in channel[slice(*part)]:
            mark = run.mark_of(step)
            if step is channel[-1] or not there[mark]:
                kept.append(step)
            there[mark] -= 1
        return kept

    # How they differ

    def pairs(self) -> list[StepPair]:
        """Return all steps in pairs, with their differences."""
        self._bind()
        return [self._pair(one, other) for one, other in self._matches]

    def _bind(self) -> None:
        """Bind the ids in fields of all pairs, first those of pairs that are equal otherwise."""
        changed: list[tuple[JournalStep, JournalStep]] = []
        for one, other in self._matches:
            if one is None or other is None:
                continue
            mine, yours = self._left.mark(one), self._right.mark(other)
            if mine[0] != yours[0] or len(mine[1]) != len(yours[1]):
                changed.append((one, other))
                continue
            for variable, its in zip(mine[1], yours[1], strict=True):
                if variable.tolerance is None:
                    self._ids.agree_on(variable, its)
        for one, other in changed:
            if one.is_request:
                self._ids.agree(f"request of the {one.side}", one.id, other.id)
            _bind_fields(self._ids, one, one.value, other.value, _DEPTH)

    def _pair(self, one: JournalStep | None, other: JournalStep | None) -> StepPair:
        if one is None or other is None:
            only = _only("left only", one) if one is not None else _only("right only", other)
            is_replaced = one in self._replaced or other in self._replaced
            return StepPair(one, other, () if is_replaced else (only,))
        if not self._matchers and self._is_equal(one, other):
            differences: tuple[StepDifference, ...] = ()
        else:
            frames = tuple(one.frames), tuple(other.frames)
            step = one.side, one.session, one.name
            differences = tuple(
                StepDifference("changed", *step, path, ours, theirs, *frames, why)
                for path, ours, theirs, why in self._places(one, other)
            )
        if one in self._misplaced:
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
            if mine.tolerance is not None and mine.value != yours.value:
                values = self._values.setdefault(mine.tolerance, set())
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
        pair = _Place(one, "$", context_of(one), "", _DEPTH)
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

    def _differing(self, one: Json, other: Json, place: _Place) -> Iterator[_Found]:
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
        self, one: Mapping[str, Json], other: Mapping[str, Json], place: _Place
    ) -> Iterator[_Found]:
        took = self._left.templates.duration(one, place.context)
        other_took = self._right.templates.duration(other, place.context)
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

    def _mismatch(self, one: Json, other: Json, place: _Place) -> str | None:
        """Return what the matcher of a path says about both values; None if it has none."""
        path = place.step.path_in_message(place.path)
        # The whole message has no path, nor has a part of one that is no message.
        if not path.startswith("$") or path == "$":
            return None
        parsed = parse_path(path)
        for matcher in self._matchers:
            if matcher.path.covers(parsed):
                matcher.applied += 1
                return matcher.mismatch(one, other)
        return None

    def _are_same(self, one: Json, other: Json, place: _Place) -> bool:
        ours, theirs = self._left.leaf(one, place), self._right.leaf(other, place)
        if ours is not None and theirs is not None:
            return ours.kind == theirs.kind and self._agree(ours, theirs)
        if not isinstance(one, str) or not isinstance(other, str):
            return not is_other(one, other)
        return self._are_same_texts(one, other, place)

    def _are_same_texts(self, one: str, other: str, place: _Place) -> bool:
        text, ours = self._left.templates.text(one, place.context)
        other_text, theirs = self._right.templates.text(other, place.context)
        if text == other_text and len(ours) == len(theirs):
            return all(self._agree(*each) for each in zip(ours, theirs, strict=True))
        if self._ids.agree_on_secrets(one, other):
            return True
        if self._ids.agree_on_secrets(text, other_text) and len(ours) == len(theirs):
            return all(self._agree(*each) for each in zip(ours, theirs, strict=True))
        if place.context.is_output and "output-lines" in self._tolerances:
            return self._are_interleaved(one, other, place.context)
        is_title = _TITLES.fullmatch(f"{place.step.name} {place.step.path_in_message(place.path)}")
        tolerance = self._title_tolerance(one, other) if is_title else None
        if tolerance is None:
            return False
        self._counts[tolerance] += 1
        return True

    def _title_tolerance(self, one: str, other: str) -> Tolerance | None:
        """Return the tolerance by which two titles are one in different directories."""
        left, right = self._left.templates, self._right.templates
        if (
            "cut-titles" in self._tolerances
            and len(one) == len(other)
            and any(
                ours.is_cut_from(theirs)
                for ours in left.cut_titles(one)
                for theirs in right.cut_titles(other)
            )
        ):
            return "cut-titles"
        others = list(right.placed_titles(other))
        found = (
            ours.tolerance_beside(theirs) for ours in left.placed_titles(one) for theirs in others
        )
        return next((each for each in found if each in self._tolerances), None)

    def _are_interleaved(self, one: str, other: str, context: TextContext) -> bool:
        """Return whether two texts have the same lines from two streams, interleaved otherwise."""
        lines = [self._left.templates.text(line, context) for line in one.split("\n")]
        found: dict[str, deque[int]] = {}
        for at, line in enumerate(other.split("\n")):
            found.setdefault(self._right.templates.text(line, context)[0], deque()).append(at)
        order = [found[text].popleft() for text, _ in lines if found.get(text)]
        if len(order) != len(lines) or any(found.values()) or not are_two_streams(order):
            return False
        others = other.split("\n")
        pairs = [
            pair
            for at, (_, ours) in zip(order, lines, strict=True)
            for pair in zip(ours, self._right.templates.text(others[at], context)[1], strict=False)
        ]
        self._counts["output-lines"] += 1
        return all(self._agree(*pair) for pair in pairs)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where two values are compared."""

    step: JournalStep
    path: str
    context: TextContext
    name: str
    """The name of its field; of items, that of their list."""
    depth: int
    """Levels of nesting that are compared one by one from here."""

    def member(self, name: str) -> _Place:
        path = self.path + formatted_member(name)
        return _Place(self.step, path, self.context.below(name), name, self.depth - 1)

    def item(self, at: int) -> _Place:
        return replace(self, path=f"{self.path}[{at}]", depth=self.depth - 1)


def are_two_streams(order: Sequence[int]) -> bool:
    """Return whether numbers are two ascending sequences, interleaved."""
    low, high = -1, -1
    """The last number of each; the greater one takes what it can."""
    for number in order:
        if number > high:
            high = number
        elif number > low:
            low = number
        else:
            return False
    return True


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


def _aligned(left: list[str], right: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if left == right:
        return [("equal", 0, len(left), 0, len(left))] if left else []
    is_long = max(len(left), len(right)) > _MAX_ALIGNED_STEPS
    return SequenceMatcher(None, left, right, autojunk=is_long).get_opcodes()


def _opaque(value: Json) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "«nested too deeply»"


def _only(kind: Kind, step: JournalStep | None) -> StepDifference:
    assert step is not None
    is_left = kind == "left only"
    frames = tuple(step.frames)
    return StepDifference(
        *(kind, step.side, step.session, step.name, ""),
        *((step.value, ABSENT) if is_left else (ABSENT, step.value)),
        *((frames, ()) if is_left else ((), frames)),
    )


def is_other(one: Json, other: Json) -> bool:
    """Return whether two values differ; true differs from 1, 1.0 does not."""
    if isinstance(one, bool) is not isinstance(other, bool):
        return True
    try:
        return one != other
    except RecursionError:
        return _opaque(one) != _opaque(other)


def _item(items: list[Json], place: int) -> Json:
    return items[place] if place < len(items) else ABSENT
