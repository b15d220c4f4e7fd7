"""What the user excludes from a comparison: frames, and values at a path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from acp_inspector.jsonpath import JSONPath, delete_at, find_all
from acp_inspector.messages import DecodedFrame
from acp_inspector.session.exchanges import Exchanges, PairedMessage
from acp_inspector.views.annotations import FrameNotes
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import (
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
)


class FrameSelector(Protocol):
    """Selects frames; a filter, in practice."""

    @property
    def needs_responses(self) -> bool:
        """Whether it tests for pending requests, so that all frames must be read first."""
        ...

    def matches(self, frame: DecodedFrame, exchanges: Exchanges, notes: FrameNotes) -> bool:
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


def is_ignored(
    ignores: Iterable[Ignore], frame: DecodedFrame, exchanges: Exchanges, notes: FrameNotes
) -> bool:
    """Return whether a frame is ignored, and count that."""
    is_it = False
    for ignore in ignores:
        if not isinstance(ignore.what, JSONPath) and ignore.what.matches(frame, exchanges, notes):
            ignore.applied += 1
            is_it = True
    return is_it


def count_elsewhere(
    excluding: tuple[Sequence[Ignore], Sequence[Matcher]],
    frame: DecodedFrame,
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


def without(message: Message, ignores: Iterable[Ignore], *, is_ignored: bool) -> Message:
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
