"""What a proxy makes of messages on their way, as far as the recording tells both sides of it.

Source: ACP, "Extensibility"; docs/recording-format.md, `edited`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.journal import JournalEvent, StderrText
from acp_inspector.lint.moment import FINE, Found, Problem, entries, members
from acp_inspector.lint.registry import check_beside
from acp_inspector.lint.state import State
from acp_protocol.jsonrpc import Json, parse
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.strangers import find_strangers
from acp_protocol.schema.validate import shape

DEPTH: Final = 64
"""Levels of a message that are looked at."""


@check_beside("ACP-L380", fix="Pass on what you do not know, and every _meta, as it came.")
def what_is_not_known_passes(entry: StderrText | JournalEvent, state: State) -> Found:
    """Tell of `_meta` and unknown members that were lost where a message was changed."""
    if not isinstance(entry, JournalEvent) or entry.name != "edited":
        return None
    was, now = (_message(entry.data.get(name)) for name in ("was", "now"))
    if was is None or now is None:
        return None
    frame = entry.data.get("of")
    frames = (frame, entry.n) if isinstance(frame, int) else (entry.n,)
    places = [*_metas(was, ""), *_strangers(was, state.version or 1)]
    for place in places:
        if not _has(now, place):
            return (Problem(f"{place} was lost on the way", frames, None, place),)
    return FINE if places else None


def _message(line: Json) -> Json:
    if not isinstance(line, str):
        return None
    try:
        return parse(line.encode())
    except ValueError:
        return None


def _metas(value: Json, path: str, depth: int = 0) -> Iterator[str]:
    """Yield the places of everything below a `_meta`."""
    if depth > DEPTH:
        return
    for name, inner in members(value).items():
        place = f"{path}.{name}" if path else name
        if name == "_meta":
            yield from (f"{place}.{key}" for key in members(inner))
        else:
            yield from _metas(inner, place, depth + 1)
    for n, inner in enumerate(entries(value)):
        yield from _metas(inner, f"{path}.{n}", depth + 1)


def _strangers(message: Json, version: int) -> list[str]:
    method = members(message).get("method")
    kind = "request" if "id" in members(message) else "notification"
    row = find_method(method, version, kind=kind) if isinstance(method, str) else None
    if row is None or row.params is None:
        return []
    return find_strangers(shape(row.params, version), members(message).get("params"), "params")


def _has(value: Json, path: str) -> bool:
    parts = path.split(".")
    for place, part in enumerate(parts):
        held, listed = members(value), entries(value)
        # Keys of _meta may have dots in them.
        rest = ".".join(parts[place:])
        if rest in held:
            return True
        if part in held:
            value = held[part]
        elif part.isdigit() and int(part) < len(listed):
            value = listed[int(part)]
        else:
            return False
    return True
