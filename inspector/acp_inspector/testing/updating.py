"""Rewrites a recording with what an agent does now, and keeps every line that means the same.

A step that has not changed keeps its recorded bytes and times. One that has is written as it came,
with the ids and directories of the recording in place of the new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

from acp_inspector.compare.diff import compare
from acp_inspector.compare.difference import StepPair
from acp_inspector.compare.id_map import IdMap
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.writer import RecordingWriter, atomic_replacement
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import check_replaceable
from acp_protocol.jsonrpc import Json, encode, parse


def updated_entries(
    recorded: Sequence[Entry],
    live: Sequence[Entry],
    places: Mapping[str, str],
    *,
    dialect: str | None = None,
) -> list[Entry]:
    """Return the entries of the new recording.

    Args:
        recorded: The entries of the old one.
        live: The entries of a conversation.
        places: The live directory of each recorded one.
        dialect: The dialect of both; None: it is recognised.
    """
    frames = {each.seq: each for each in recorded if isinstance(each, Frame)}
    # The map is made from the live side to the recorded one, to read it in this direction.
    ids = IdMap({place: each for each, place in places.items()})
    pairs = compare(live, recorded, ids=ids, dialect=dialect).pairs
    kept = _kept_frames(pairs)
    for pair in pairs:
        if pair.left is not None and pair.right is not None and pair.left.is_request:
            ids.agree("request", pair.left.id, pair.right.id)
    written: list[Entry] = list(_others_after(0, recorded))
    for entry in live:
        if not isinstance(entry, Frame):
            continue
        if entry.seq in kept:
            written.append(frames[kept[entry.seq]])
            written += _others_after(kept[entry.seq], recorded)
        else:
            written.append(replace(entry, data=_as_recorded(entry, ids)))
    return _in_order(written, recorded)


def _kept_frames(pairs: Iterable[StepPair]) -> dict[int, int]:
    """Return the recorded frame of each live one that means the same."""
    kept: dict[int, int] = {}
    changed: set[int] = set()
    for pair in pairs:
        if pair.left is None:
            continue
        right = [] if pair.right is None or pair.differences else pair.right.frames
        if len(pair.left.frames) == len(right):
            kept |= zip(pair.left.frames, right, strict=True)
        else:
            changed |= set(pair.left.frames)
    # A batch holds several steps: it is kept if none of them has changed.
    return {live: seq for live, seq in kept.items() if live not in changed}


def _others_after(seq: int, recorded: Sequence[Entry]) -> list[Entry]:
    """Return the events and the stderr between a recorded frame and the next one."""
    found: list[Entry] = []
    for entry in recorded:
        if isinstance(entry, Frame) and entry.seq > seq:
            break
        if entry.seq > seq:
            found.append(entry)
    return found


def _as_recorded(frame: Frame, ids: IdMap) -> bytes:
    try:
        message = parse(frame.data)
    except ValueError:
        return frame.data
    after = _message_as_recorded(frame, message, ids)
    return frame.data if after == message else encode(after)


def _message_as_recorded(frame: Frame, message: Json, ids: IdMap) -> Json:
    if isinstance(message, list):
        every = cast("list[Json]", message)
        return [_message_as_recorded(frame, each, ids) for each in every]
    after: Json = ids.to_live(message)
    if not isinstance(after, dict):
        return after
    whole = cast("dict[str, Json]", after)
    id_ = whole.get("id")
    # Requests of the client have the recorded ids already.
    if isinstance(id_, str | int) and (frame.side == "client") is ("method" not in whole):
        whole["id"] = ids.live_id(id_)
    return whole


def _in_order(entries: Sequence[Entry], recorded: Sequence[Entry]) -> list[Entry]:
    """Return entries with new numbers, and with times that never go back."""
    times = {id(each): each.time for each in recorded}
    now = 0.0
    ordered: list[Entry] = []
    for number, entry in enumerate(entries, start=1):
        now = max(now, times.get(id(entry), now))
        ordered.append(replace(entry, seq=number, time=now))
    return ordered


def replace_recording(
    path: Path, header: Header, entries: Iterable[Entry], *, is_ours: bool = False
) -> None:
    """Write a recording at `path`, whole or not at all.

    `is_ours`: all of it was sent on this machine.

    Raises:
        RecordingError: it cannot be written, or there is a link or no regular file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_replaceable(path)
    except OSError as problem:
        raise RecordingError(f"cannot write {path}: {describe_os_error(problem)}") from None
    with atomic_replacement(path, overwrite=True) as part:
        writer = RecordingWriter(part, header, is_ours=is_ours)
        writer.write(entries)
        writer.close()
        if writer.failure:
            raise RecordingError(f"cannot write {path}: {writer.failure}")
        with suppress(FileNotFoundError):
            part.chmod(path.stat().st_mode & 0o777)
