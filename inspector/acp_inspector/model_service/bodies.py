"""Changes texts in the body of a response without changing where its chunks are cut.

A model's text comes in many events, so a path or a key in it may be spread over several of them.
The strings at the same path of successive events are searched as one text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, TypeAlias, cast

from acp_protocol.json_codec import encode, parse
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json


class TextEdit(NamedTuple):
    """A part of a text, and what takes its place."""

    start: int
    end: int
    text: str


FindEdits: TypeAlias = Callable[[str], Sequence[TextEdit]]

_DATA: Final = b"data:"
_STREAM_FIELDS: Final = ("type", "index", "output_index", "content_index", "item_id")
"""Members of an event that say which of several parallel texts it continues."""


@dataclass(slots=True)
class _Leaf:
    """A string in an event."""

    event: int
    container: Any
    key: str | int
    text: str


def edit_chunks(chunks: Sequence[bytes], find: FindEdits) -> list[bytes]:
    """Return `chunks` with the parts replaced that `find` finds in their texts."""
    return _edit_lines(_edit_values(list(chunks), find), find)


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return `text` with edits applied that are in order and do not overlap."""
    pieces: list[str] = []
    at = 0
    for edit in edits:
        pieces += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join([*pieces, text[at:]])


def _edit_values(chunks: list[bytes], find: FindEdits) -> list[bytes]:
    """Edit the strings of the JSON in a body, across events."""
    body = b"".join(chunks)
    events = list(_events(body))
    streams: dict[tuple[object, ...], list[_Leaf]] = {}
    for number, (_, _, value) in enumerate(events):
        members = as_object(value)
        discriminators = tuple(str(members.get(name)) for name in _STREAM_FIELDS)
        for path, leaf in _leaves(value, number):
            streams.setdefault((discriminators, path), []).append(leaf)
    changed: set[int] = set()
    for leaves in streams.values():
        changed |= _edit_stream(leaves, find)
    return _replace(
        chunks, ((events[i][0], events[i][1], encode(events[i][2])) for i in sorted(changed))
    )


def _events(body: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield the JSON values in a body with their positions: the whole of it, or each event."""
    try:
        yield 0, len(body), parse(body)
    except ValueError:
        at = 0
        for line in body.splitlines(keepends=True):
            content = line.strip()
            start = at + line.find(content)
            if content.startswith(_DATA):
                content = content[len(_DATA) :].lstrip()
                start = at + line.rfind(content)
            at += len(line)
            if content[:1] in (b"{", b"["):
                try:
                    value = parse(content)
                except ValueError:
                    continue
                yield start, start + len(content), value


def _leaves(value: Json, event: int) -> Iterator[tuple[tuple[object, ...], _Leaf]]:
    """Yield the strings in a value with their paths; the index of an item may be a member."""
    waiting: list[tuple[tuple[object, ...], Any]] = [((), value)]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, dict):
            items: Iterable[tuple[str | int, Any]] = cast("dict[str, Any]", each).items()
        else:
            items = enumerate(cast("list[Any]", each)) if isinstance(each, list) else ()
        for key, child in items:
            named: object = key
            if isinstance(key, int) and isinstance(child, dict):
                named = cast("dict[str, Any]", child).get("index", key)
            if isinstance(child, str):
                yield (*path, named), _Leaf(event, each, key, child)
            else:
                waiting.append(((*path, named), cast("Any", child)))


def _edit_stream(leaves: Sequence[_Leaf], find: FindEdits) -> set[int]:
    """Edit the texts of a stream; return the events that have changed."""
    ends = [0, *accumulate(len(leaf.text) for leaf in leaves)]
    edits = find("".join(leaf.text for leaf in leaves))
    if not edits:
        return set()
    changed: set[int] = set()
    for leaf, (begin, end) in zip(leaves, pairwise(ends), strict=True):
        own = [
            TextEdit(
                max(edit.start, begin) - begin,
                min(edit.end, end) - begin,
                # What takes the place of several parts is in the first of them.
                edit.text if edit.start >= begin else "",
            )
            for edit in edits
            if edit.start < end and edit.end > begin
        ]
        if own:
            leaf.container[leaf.key] = apply_edits(leaf.text, own)
            changed.add(leaf.event)
    return changed


def _edit_lines(chunks: list[bytes], find: FindEdits) -> list[bytes]:
    """Edit the lines of a body as text."""
    replaced: list[tuple[int, int, bytes]] = []
    at = 0
    for line in b"".join(chunks).splitlines(keepends=True):
        text = line.decode(errors="surrogateescape")
        if edits := find(text):
            new = apply_edits(text, edits).encode(errors="surrogateescape")
            replaced.append((at, at + len(line), new))
        at += len(line)
    return _replace(chunks, replaced)


def _replace(chunks: list[bytes], replaced: Iterable[tuple[int, int, bytes]]) -> list[bytes]:
    """Return `chunks` with parts of the body replaced; cuts elsewhere stay where they are."""
    body = b"".join(chunks)
    cuts = [0, *accumulate(map(len, chunks))]
    pieces: list[bytes] = []
    moved: list[int] = []
    at = size = 0
    for first, last, whole in replaced:
        same = _common_prefix(body[first:last], whole)
        start, new = first + same, whole[same:]
        tail = _common_prefix(body[start:last][::-1], new[::-1])
        end, new = last - tail, new[: len(new) - tail]
        pieces += (body[at:start], new)
        while len(moved) < len(cuts) and cuts[len(moved)] <= start:
            moved.append(size + cuts[len(moved)] - at)
        size += start - at + len(new)
        while len(moved) < len(cuts) and cuts[len(moved)] < end:
            moved.append(size)
        at = end
    moved += [size + cut - at for cut in cuts[len(moved) :]]
    body = b"".join([*pieces, body[at:]])
    return [body[start:end] for start, end in pairwise(moved)]


def _common_prefix(one: bytes, other: bytes) -> int:
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    return next(at for at in range(limit) if one[at] != other[at])
