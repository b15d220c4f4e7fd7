"""Compares two journals by meaning; used by `diff` and `replay`.

Source: docs/design/replay.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final, TypedDict

from acp_inspector.compare.align import Alignment, MarkedSteps, paired_sessions
from acp_inspector.compare.difference import Differences, JournalComparison, StepPair
from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.ignoring import (
    FrameSelector,
    Ignore,
    Matcher,
    count_elsewhere,
    is_ignored,
    without,
)
from acp_inspector.compare.steps import Level, Steps
from acp_inspector.compare.tolerances import STRICT, TOLERANCES, ToleranceName, forms_of
from acp_inspector.compare.values import Templates
from acp_inspector.journal import MAX_GAP, Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.jsonpath import JSONPath
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import Row
from acp_inspector.session.exchanges import PairedMessage
from acp_inspector.session.fold import Sessions
from acp_inspector.views.annotations import FrameNotes
from acp_inspector.views.session_model import SessionModel
from acp_protocol.framing import Side
from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import (
    Request,
)
from acp_protocol.schema.vocabulary import OPENING

ENTRIES_PER_REPORT: Final = 64
"""Entries that are read between two reports of progress."""
SIDES: Final[tuple[Side, ...]] = ("client", "agent")


class CompareOptions(TypedDict, total=False):
    """Arguments of `compare` that other functions pass on."""

    level: Level
    ignores: Sequence[Ignore]
    matchers: Sequence[Matcher]
    tolerances: Collection[ToleranceName]


def compare(
    left: Sequence[Row],
    right: Sequence[Row],
    *,
    level: Level = "semantic",
    ignores: Sequence[Ignore] = (),
    selectors: tuple[FrameSelector | None, FrameSelector | None] = (None, None),
    sides: Sequence[Side] = SIDES,
    ids: IdMap | None = None,
    matchers: Sequence[Matcher] = (),
    tolerances: Collection[ToleranceName] = TOLERANCES,
    dialect: str | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> JournalComparison:
    """Return where two journals differ.

    Args:
        left: The entries of the left journal; the header of a recording says how they are read.
        right: The same of the right one.
        level: How closely they are compared.
        ignores: Exclusions; each counts how often it applied.
        selectors: Which frames of each journal are compared; None: all.
        sides: Whose frames are compared. Prompts mark the turns in any case.
        ids: The working directories of both, and whether the left one is redacted; it learns the
            ids of both.
        matchers: Paths whose values are not compared but matched; each counts how often.
        tolerances: What may differ; on the level `strict`, only what is bound.
        dialect: The dialect of both; None: it is recognised.
        progress: Called now and then with the share that is done, from 0 to 1; what it raises ends
            the comparison.
    """
    ids = ids or IdMap()
    allowed = frozenset(tolerances) & (STRICT if level == "strict" else TOLERANCES)
    work = _Progress(progress, len(left) + len(right))
    # Each pair of directories has a name of its own, so that one is never taken for another.
    numbers = {each: at for at, each in enumerate(dict.fromkeys(ids.directories.values()), 1)}
    names = {live: _directory_name(at) for live, at in numbers.items()}
    recorded_names = {each: names[live] for each, live in ids.directories.items()}
    excluding = ignores, matchers
    ours = _read(
        left, level, excluding, selectors[0], sides, recorded_names, allowed, dialect, work
    )
    theirs = _read(right, level, excluding, selectors[1], sides, names, allowed, dialect, work)
    alignment = Alignment(ours, theirs, ids, allowed)
    for session, other in paired_sessions(ours.steps, theirs.steps, ids):
        alignment.match_session(session, other, sides, lambda: work.advance(0))
    differences = Differences(alignment, matchers)
    pairs = differences.pairs()
    found = [difference for pair in pairs for difference in pair.differences]
    found.sort(key=lambda each: (each.left_frames or each.right_frames)[:1])
    counts = [sum(step.side in sides for step in run.steps) for run in (ours, theirs)]
    return JournalComparison(
        tuple(found), (counts[0], counts[1]), tuple(_in_order(pairs)), differences.tolerated
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


def _read(
    rows: Sequence[Row],
    level: Level,
    excluding: tuple[Sequence[Ignore], Sequence[Matcher]],
    wanted: FrameSelector | None,
    sides: Sequence[Side],
    names: Mapping[str, str],
    tolerances: frozenset[ToleranceName],
    dialect: str | None,
    work: _Progress,
) -> MarkedSteps:
    """Return the steps of a journal; ignores apply only to compared sides.

    `names` replace directories in its texts.
    """
    ignores, _ = excluding
    steps, places = Steps(level, strict=TOLERANCES - tolerances, dialect=dialect), dict(names)
    selectors = [each.what for each in ignores if not isinstance(each.what, JSONPath)]
    selectors += [] if wanted is None else [wanted]
    # Without filters no more is needed than requests and their responses.
    model = SessionModel(dialect) if selectors else _Pairing(steps.sessions)
    exchanges = model.exchanges
    if any(each.needs_responses for each in selectors):
        before = SessionModel(dialect)
        before.read(rows)
        exchanges = before.exchanges
    for frame, decoded in _frames(rows, model, steps, work):
        paired = model.last_paired
        _add_directories(places, paired)
        notes = model.notes()
        if wanted is not None and not wanted.matches(decoded, exchanges, notes):
            continue
        if frame.side not in sides:
            if any(excluding):
                count_elsewhere(excluding, decoded, paired, exchanges, notes)
            steps.apply(frame, paired)
            continue
        is_left_out = is_ignored(ignores, decoded, exchanges, notes)
        if ignores:
            paired = tuple(
                (without(message, ignores, is_ignored=is_left_out), its) for message, its in paired
            )
        if not is_left_out:
            steps.apply(frame, paired)
    return MarkedSteps(steps.finished(), Templates(places, forms_of(tolerances)))


def _frames(
    rows: Sequence[Row], model: SessionModel | _Pairing, steps: Steps, work: _Progress
) -> Iterator[tuple[Frame, DecodedFrame]]:
    """Yield each frame of a journal once the model has it, as that numbers and decodes it."""
    for row in rows:
        if isinstance(row, Header):
            model.decoder.begin_recording(row.dialect, row.cwd)
        if not isinstance(row, Frame | StderrChunk | JournalEvent):
            continue
        work.advance()
        entry, decoded = model.apply(row), model.decoded
        if isinstance(entry, JournalEvent) and entry.begins_connection:
            steps.restart(entry.seq, entry.time)
        if isinstance(entry, Frame) and decoded is not None:
            yield entry, decoded


_NO_NOTES: Final = FrameNotes()


class _Pairing:
    """Decodes and pairs frames, and numbers entries, as `SessionModel` does."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.exchanges = sessions.exchanges
        self.decoder = sessions.decoder
        self.last_paired: tuple[PairedMessage, ...] = ()
        self._seq = 0

    def apply(self, entry: Entry) -> Entry:
        # Files may contain any numbers, and the order of frames is known by them.
        if not self._seq < entry.seq < self._seq + MAX_GAP:
            entry = replace(entry, seq=self._seq + 1)
        self._seq = entry.seq
        if isinstance(entry, JournalEvent):
            self._sessions.decoder.note(entry)
        if isinstance(entry, Frame):
            self.last_paired = self._sessions.pair(entry)
        return entry

    @property
    def decoded(self) -> DecodedFrame | None:
        return self._sessions.decoded

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
