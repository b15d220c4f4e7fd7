"""A comparison that finds nothing has compared: no changed recording passes, but by rule.

Every frame of every recording is dropped, swapped with the next one, repeated, given another
method, changed in each field, given another id, and the recording is cut off before it. Of the
mutations of one sort the first one is tried, with `make fuzz` each. What is equal all the same has
to be equal by one of the rules below.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from acp_inspector.compare.diff import compare
from acp_inspector.journal import Frame
from acp_inspector.recording.reader import read_recording
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object, get, get_object, get_text

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[3] / "recordings"
RECORDINGS = sorted(set(FOLDER.rglob("*.acp.ndjson")) - set(FOLDER.glob("dialects/*")))
"""Those in the published protocol: what a dialect adds to it may differ."""
PLAYS_ALL = "FUZZ_EXAMPLES" in os.environ
"""Whether each mutation is tried, as `make fuzz` wants."""
LANES = {
    *("current_mode_update", "config_option_update", "usage_update"),
    *("session_info_update", "available_commands_update"),
}
LAST_VALUE = {*LANES, "plan", "plan_update"}
CALLS = {"tool_call", "tool_call_update", "tool_call_content_chunk"}
TERMINALS = {"terminal_update", "terminal_output_chunk"}
IDS = {"sessionId", "toolCallId", "terminalId", "messageId", "planId", "elicitationId", "requestId"}


@dataclass(frozen=True)
class Message:
    """What a rule looks at in a frame."""

    frame: Frame
    value: dict[str, Any]

    @property
    def update(self) -> dict[str, Any]:
        return get_object(get(self.value, "params"), "update")

    @property
    def kind(self) -> str:
        return str(self.update.get("sessionUpdate") or self.value.get("method") or "response")

    @property
    def call(self) -> str:
        named = self.update or get_object(self.value, "params")
        inner = get_object(named, "toolCall") or get_object(get(named, "subject"), "toolCall")
        return str(named.get("toolCallId") or named.get("terminalId") or inner.get("toolCallId"))

    @property
    def key(self) -> tuple[str, str]:
        """What the update is about: updates with the same key are joined."""
        group = "call" if self.kind in CALLS else "terminal" if self.kind in TERMINALS else ""
        return (
            (group, self.call)
            if group
            else (self.kind, str(self.value.get("params", {}).get("sessionId")))
        )


Sort: TypeAlias = tuple[str, tuple[str, ...]]
"""What is done, and the kinds of the frame and its neighbours, or the kind and its field."""


@dataclass(frozen=True)
class Mutation:
    name: str
    at: int
    path: tuple[str | int, ...]
    frames: list[Frame]
    sort: Sort


def parsed(frame: Frame) -> Message:
    try:
        value = json.loads(frame.data)
    except ValueError:
        value = {}
    return Message(frame, as_object(value))


def leaves(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict) and value:
        for name, inner in as_object(value).items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list) and value:
        for at, inner in enumerate(as_list(value)):
            yield from leaves(inner, (*path, at))
    else:
        yield path, value


def with_leaf(frame: Frame, path: tuple[str | int, ...], change: Callable[[Any], Any]) -> Frame:
    value = deepcopy(json.loads(frame.data))
    holder = value
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = change(holder[path[-1]])
    return replace(frame, data=json.dumps(value, ensure_ascii=False).encode())


def changed(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "X"
        case list() | dict():
            return "X"
        case _:
            return "X"


def fields(message: Message) -> Iterator[tuple[tuple[str, ...], tuple[str | int, ...], Any]]:
    """Yield the fields, named without places in lists, with their paths and values."""
    for path, value in leaves(message.value):
        yield (
            (message.kind, *("*" if isinstance(each, int) else each for each in path)),
            path,
            value,
        )


@cache
def sorts_before(path: Path) -> frozenset[Sort]:
    """Return the sorts of the mutations of the recordings before this one."""
    earlier = RECORDINGS[: RECORDINGS.index(path)]
    if not earlier:
        return frozenset()
    said = list(read_recording(earlier[-1]).frames)
    return sorts_before(earlier[-1]) | {mutation.sort for mutation in mutations(said)}


def sampled(path: Path, said: list[Frame]) -> Iterator[Mutation]:
    """Yield the first mutation of each sort."""
    seen = set(sorts_before(path))
    for mutation in mutations(said):
        if PLAYS_ALL or mutation.sort not in seen:
            seen.add(mutation.sort)
            yield mutation


def mutations(said: list[Frame]) -> Iterator[Mutation]:
    messages = list(map(parsed, said))
    seen: set[tuple[str, ...]] = set()
    for at, frame in enumerate(said):
        near = tuple(each.kind for each in messages[max(at - 1, 0) : at + 2])
        moved = {
            "drop": said[:at] + said[at + 1 :],
            "repeat": [*said[: at + 1], frame, *said[at + 1 :]],
            "truncate": said[:at],
            "swap": [*said[:at], *said[at : at + 2][::-1], *said[at + 2 :]],
        }
        for name, frames in moved.items():
            if (name != "truncate" or at) and (name != "swap" or at + 1 < len(said)):
                yield Mutation(name, at, (), frames, (name, near))

        for field, path, value in fields(messages[at]):
            # Each field of each kind of message once.
            if not path or field in seen:
                continue
            seen.add(field)
            for name, change in changes(messages, path, value):
                changed_frame = with_leaf(frame, path, change)
                frames = [*said[:at], changed_frame, *said[at + 1 :]]
                yield Mutation(name, at, path, frames, (name, field))


def changes(
    messages: list[Message], path: tuple[str | int, ...], value: Any
) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield what is done to the value of a field."""
    if path[-1] in {"method", "sessionUpdate"}:
        yield "retype", lambda name: f"{name}_other"
        return
    if path[-1] in IDS or path == ("id",):
        found = (
            other
            for each in messages
            for its, other in leaves(each.value)
            if its[-1:] == path[-1:] and other != value
        )
        for other in islice(found, 1):
            yield "exchange ids", lambda _: other  # noqa: B023 - called before the next one
    yield "change", changed


SIDES = "the two sides of a connection may interleave"
SESSIONS = "sessions may interleave"
LATE = "an asynchronous update may come late"
FIRST = "only the first update of a tool call has a place"
PERMISSION = "a permission request and the tool call it names have no order"
RESPONSES = "responses to parallel requests have no order"
TOGETHER = "calls and requests of an agent that are open together have no order"
LAST = "of an update only the last value in its turn counts"
OVERWRITTEN = "a later update of the tool call has the same fields"
TIMES = "times differ between two runs"
USAGE = "of usage numbers only the type counts"
DIRECTORY = "a directory has another name in each run"
ONCE = "an id that is mentioned once may be any"
RULES = {
    *(SIDES, SESSIONS, LATE, FIRST, PERMISSION, RESPONSES, TOGETHER),
    *(LAST, OVERWRITTEN, TIMES, USAGE, DIRECTORY, ONCE),
}


def rule(mutation: Mutation, said: list[Frame]) -> str | None:
    """Return the rule by which the mutated frames mean the same."""
    messages = list(map(parsed, said))
    message = messages[mutation.at]
    if mutation.name == "swap":
        return swap_rule(message, messages[mutation.at + 1], messages)
    if mutation.name == "truncate":
        later = messages[mutation.at :]
        drops = (drop_rule(each, messages) for each in later)
        return LAST if all(drops) else None
    if mutation.name in {"drop", "repeat"}:
        return drop_rule(message, messages, is_repeat=mutation.name == "repeat")
    return change_rule(mutation, message, messages)


def swap_rule(one: Message, other: Message, messages: list[Message]) -> str | None:
    if one.frame.side != other.frame.side:
        return SIDES
    sessions = [session_of(each, messages) for each in (one, other)]
    if sessions[0] != sessions[1]:
        return SESSIONS
    kinds = {one.kind, other.kind}
    if kinds & LANES:
        return LATE
    repeated = [each for each in (one, other) if each.key in keys_before(each, messages)]
    if any(each.kind in CALLS | TERMINALS | LAST_VALUE for each in repeated):
        return FIRST
    if "session/request_permission" in kinds and one.call == other.call:
        return PERMISSION
    if kinds == {"response"}:
        return RESPONSES
    if one.frame.side == "agent" and any(each.value.get("id") for each in (one, other)):
        return TOGETHER if kinds & CALLS and "terminal/wait_for_exit" in kinds else None
    return None


def drop_rule(message: Message, messages: list[Message], *, is_repeat: bool = False) -> str | None:
    if message.kind in LAST_VALUE:
        at = messages.index(message)
        is_replaced = any(each.key == message.key for each in until_end(messages[at + 1 :]))
        before = (each for each in until_end(messages[:at][::-1]) if each.key == message.key)
        is_unchanged = next((each.update for each in before), None) == message.update
        return LAST if is_repeat or is_replaced or is_unchanged else None
    if message.kind in CALLS | TERMINALS:
        later = messages[messages.index(message) + 1 :]
        names = message.update.keys() - {"sessionUpdate", "toolCallId", "terminalId"}
        given = {name for each in later if each.key == message.key for name in each.update}
        is_overwritten = names <= given and "status" not in names
        return OVERWRITTEN if is_repeat or is_overwritten else None
    return None


def until_end(messages: list[Message]) -> Iterator[Message]:
    """Yield messages up to the end of a turn."""
    return takewhile(lambda each: "stopReason" not in str(each.value.get("result")), messages)


def change_rule(mutation: Mutation, message: Message, messages: list[Message]) -> str | None:
    path = mutation.path
    if path[-1] in {"updatedAt", "createdAt"}:
        return TIMES
    if message.kind == "usage_update":
        return USAGE
    if path[-1] == "cwd":
        return DIRECTORY
    if message.kind in CALLS and path[:2] == ("params", "update"):
        later = messages[messages.index(message) + 1 :]
        if any(each.key == message.key and path[2] in each.update for each in later):
            return OVERWRITTEN
    if drop_rule(message, messages):
        return LAST
    if path[-1] in IDS or path == ("id",):
        value: Any = message.value
        for name in path:
            value = value[name]
        text = json.dumps(value)
        mentions = sum(text.encode() in each.frame.data for each in messages)
        return ONCE if mentions == 1 else None
    return None


def session_of(message: Message, messages: list[Message]) -> str | None:
    """Return the session of a message; of a response, that of its request."""
    value = message.value
    if message.kind == "response":
        asked = [
            each.value
            for each in messages
            if each.frame.side != message.frame.side
            and each.value.get("method")
            and each.value.get("id") == value.get("id")
            and each.frame.seq < message.frame.seq
        ]
        result = value.get("result")
        value = asked[-1] if asked else {}
        if str(value.get("method")).startswith("session/new") and isinstance(result, dict):
            return get_text(result, "sessionId")
    return get_text(get(value, "params"), "sessionId")


def keys_before(message: Message, messages: list[Message]) -> set[tuple[str, str]]:
    return {each.key for each in messages[: messages.index(message)]}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem.removesuffix(".acp"))
def test_every_mutation_of_every_frame_is_found_or_equal_by_rule(path: Path) -> None:
    said = list(read_recording(path).frames)
    assert not compare(said, said).differences
    unexplained = [
        f"{mutation.name} frame {said[mutation.at].seq} {mutation.path}"
        for mutation in sampled(path, said)
        if rule(mutation, said) is None and is_equal(mutation, said)
    ]
    assert unexplained == []


def is_equal(mutation: Mutation, said: list[Frame]) -> bool:
    # A replay compares the agent alone; that a request has another id shows in its response.
    is_agent = said[mutation.at].side == "agent" and mutation.path != ("id",)
    sides: tuple[Side, ...] = ("agent",) if is_agent else ("client", "agent")
    return not compare(said, mutation.frames, sides=sides).differences


def test_every_rule_is_needed() -> None:
    """A rule that explains nothing would only hide what is not found."""
    names = ("hello", "reading/allowed", "reading/trouble", "turns/load", "turns/parallel")
    needed: set[str | None] = set()
    for name in names:
        said = list(read_recording(FOLDER / f"{name}.acp.ndjson").frames)
        for mutation in mutations(said):
            explains = rule(mutation, said)
            if explains not in {None, *needed} and is_equal(mutation, said):
                needed.add(explains)
    assert needed == RULES


def test_there_are_recordings_to_mutate() -> None:
    assert len(RECORDINGS) >= 20
    assert (
        sum(len(list(mutations(list(read_recording(path).frames)))) for path in RECORDINGS) > 5_000
    )
