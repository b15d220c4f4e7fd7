"""The items that an importer yields, and the encoding of messages that a source stores parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

EARLIEST: Final = -62_135_596_800.0
LATEST: Final = 253_402_300_799.0
"""Seconds since 1970 of the earliest and the latest moment that a date can represent."""


@dataclass(frozen=True, slots=True)
class FrameItem:
    """A frame."""

    side: Side
    raw: bytes
    end: bytes = b"\n"
    at: float | None = None
    """Seconds on the clock of the source; None if it has no time."""
    guess: str = ""
    """What was guessed about it, if anything."""
    is_broken: bool = False
    """Whether it is not a message."""
    header: bytes = b""
    """The header with its length, if it has one."""


@dataclass(frozen=True, slots=True)
class StderrItem:
    """A piece of the agent's stderr."""

    text: bytes
    at: float | None = None


@dataclass(frozen=True, slots=True)
class NoteItem:
    """Text of the source that is not traffic, or an unreadable line."""

    text: str
    at: float | None = None
    is_broken: bool = False


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event of a recording."""

    name: str
    data: Mapping[str, Json]
    at: float | None = None


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """A message that is not imported because it belongs to another connection."""

    why: str


Item: TypeAlias = FrameItem | StderrItem | NoteItem | EventItem | SkippedItem


def broken(line: bytes, at: float | None = None) -> NoteItem:
    """Return the note that keeps a line that cannot be read."""
    return NoteItem(line.decode(errors="backslashreplace").rstrip("\r\n"), at, is_broken=True)


def request(method: Json, params: Json, id_: Json = None, *, has_id: bool) -> bytes:
    """Return the usual bytes of a request or notification; its params only if there are any."""
    members: dict[str, Json] = {"jsonrpc": "2.0"}
    if has_id:
        members["id"] = id_
    members["method"] = method
    if params is not None:
        members["params"] = params
    return jsonrpc.encode(members)


def response(id_: Json, payload: Json, *, is_error: bool) -> bytes:
    return jsonrpc.encode({"jsonrpc": "2.0", "id": id_, "error" if is_error else "result": payload})


def seconds(value: Json, unit: float = 1.0) -> float:
    """Return a time of a source, given in units of `unit` seconds.

    Raises:
        ValueError: it is not a number, or not a date between the years 1 and 9999.
        TypeError: it is neither a number nor text.
    """
    try:
        at = float(value) * unit
    except OverflowError:
        raise ValueError("the time is out of range") from None
    if not EARLIEST <= at <= LATEST:
        raise ValueError("the time is out of range")
    return at
