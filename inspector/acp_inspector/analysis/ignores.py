"""What is left out when journals are compared: frames, or a place in every message."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from acp_inspector.analysis.items import member, string
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.filter.language import Filter
from acp_inspector.filter.paths import Member, Path, look_up
from acp_protocol.jsonrpc import Failure, Json, Message, Notification, Request, Result


@dataclass(slots=True)
class Ignore:
    """What is not compared: frames that a filter means, or a place in every message."""

    text: str
    what: Filter | Path
    applied: int = 0
    """How often it was."""


def is_ignored(facts: FrameFacts, ignores: Iterable[Ignore]) -> bool:
    """Tell whether a frame is left out, and count that."""
    is_ignored = False
    for ignore in ignores:
        if isinstance(ignore.what, Filter) and ignore.what.matches(facts):
            ignore.applied += 1
            is_ignored = True
    return is_ignored


def without(message: Message, ignores: Iterable[Ignore]) -> Message:
    """Return a message without the places that are left out, and count these."""
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
