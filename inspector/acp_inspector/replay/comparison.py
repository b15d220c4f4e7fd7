"""Two lists of beats, compared by meaning.

Beats of different sessions may interleave as they like; those of one session keep their order.
Beats are lined up by their names first, so that one that is missing is told as missing and does not
make all that follow it look wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import cast

from acp_inspector.replay.beats import Beat
from acp_inspector.replay.bindings import MINTED, MOMENTS, Bindings
from acp_protocol.jsonrpc import Json, id_key

ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what came is not what was recorded."""

    what: str
    """The beat, by its name."""
    path: str
    """Where in it; empty for the beat as a whole."""
    expected: Json
    got: Json
    frames: tuple[int, ...]
    """Numbers of the recorded frames; of the live ones, for a beat that was not expected."""


def compare(
    recorded: Sequence[Beat], live: Sequence[Beat], bindings: Bindings
) -> tuple[Difference, ...]:
    """Return all differences, in the order of the recording; none when both mean the same."""
    differences: list[Difference] = []
    left, right = _by_session(recorded), _by_session(live)
    pairs = _paired_sessions(recorded, live)
    for ours, theirs in pairs:
        differences += _compare_lists(left.get(ours, []), right.get(theirs, []), bindings)
    return tuple(differences)


def _by_session(beats: Sequence[Beat]) -> dict[str | None, list[Beat]]:
    sessions: dict[str | None, list[Beat]] = {}
    for beat in beats:
        sessions.setdefault(beat.session, []).append(beat)
    return sessions


def _paired_sessions(
    recorded: Sequence[Beat], live: Sequence[Beat]
) -> list[tuple[str | None, str | None]]:
    """Pair the sessions in the order of their first beat; what belongs to none stands first."""
    left = [session for session in _by_session(recorded) if session is not None]
    right = [session for session in _by_session(live) if session is not None]
    missing = "\0"
    longest = max(len(left), len(right))
    left += [missing] * (longest - len(left))
    right += [missing] * (longest - len(right))
    return [(None, None), *zip(left, right, strict=True)]


def _compare_lists(
    recorded: list[Beat], live: list[Beat], bindings: Bindings
) -> Iterator[Difference]:
    names = [[beat.name for beat in beats] for beats in (recorded, live)]
    matcher = SequenceMatcher(None, names[0], names[1], autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(recorded[start:end], live[other_start:other_end], strict=True):
                yield from _compare_beats(one, other, bindings)
            continue
        for beat in recorded[start:end]:
            yield Difference(beat.name, "", _plain(beat), ABSENT, tuple(beat.frames))
        for beat in live[other_start:other_end]:
            yield Difference(beat.name, "", ABSENT, _plain(beat), tuple(beat.frames))


def _compare_beats(recorded: Beat, live: Beat, bindings: Bindings) -> Iterator[Difference]:
    if recorded.is_request:
        ids = id_key(recorded.id), id_key(live.id)
        is_pair = ids[0][0] == ids[1][0] and bindings.agree("request", *ids)
        if not is_pair:
            yield Difference(recorded.name, "id", recorded.id, live.id, tuple(recorded.frames))
    expected, got = (
        _placed(recorded.value, bindings.recorded_cwd),
        _placed(live.value, bindings.live_cwd),
    )
    for path, one, other in _places(expected, got, bindings, ""):
        yield Difference(recorded.name, path, one, other, tuple(recorded.frames))


def _places(
    expected: Json, got: Json, bindings: Bindings, path: str
) -> Iterator[tuple[str, Json, Json]]:
    """Yield each place where the two values differ: its path, and both values there."""
    if isinstance(expected, dict) and isinstance(got, dict):
        ours, theirs = cast("dict[str, Json]", expected), cast("dict[str, Json]", got)
        for name in dict.fromkeys([*ours, *theirs]):
            here = f"{path}.{name}" if path else name
            if name not in ours or name not in theirs:
                yield here, ours.get(name, ABSENT), theirs.get(name, ABSENT)
            else:
                yield from _member(name, ours[name], theirs[name], bindings, here)
    elif isinstance(expected, list) and isinstance(got, list):
        mine, yours = cast("list[Json]", expected), cast("list[Json]", got)
        for position in range(max(len(mine), len(yours))):
            here = f"{path}.{position}" if path else str(position)
            if position >= len(mine) or position >= len(yours):
                one = mine[position] if position < len(mine) else ABSENT
                yield here, one, yours[position] if position < len(yours) else ABSENT
            else:
                yield from _places(mine[position], yours[position], bindings, here)
    elif isinstance(expected, str) and isinstance(got, str):
        if expected != got and not bindings.agree_on_secrets(expected, got):
            yield path, expected, got
    elif not _is_same(expected, got):
        yield path, expected, got


def _member(
    name: str, expected: Json, got: Json, bindings: Bindings, path: str
) -> Iterator[tuple[str, Json, Json]]:
    if name in MOMENTS and isinstance(expected, str) and isinstance(got, str):
        return
    if name in MINTED and type(expected) is type(got) and not isinstance(expected, dict | list):
        if not bindings.agree(name, expected, got):
            yield path, expected, got
        return
    yield from _places(expected, got, bindings, path)


def _is_same(one: Json, other: Json) -> bool:
    """Compare by value; true is no 1, and 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def _placed(value: Json, cwd: str) -> Json:
    """Return `value` with the working directory replaced by its name wherever it stands in text."""
    if not cwd:
        return value
    if isinstance(value, dict):
        return {name: _placed(one, cwd) for name, one in cast("dict[str, Json]", value).items()}
    if isinstance(value, list):
        return [_placed(one, cwd) for one in cast("list[Json]", value)]
    return value.replace(cwd, "«cwd»") if isinstance(value, str) else value


def _plain(beat: Beat) -> Json:
    return beat.value
