"""A comparison that finds nothing has compared: no changed recording passes, but by rule.

Every frame of every recording is dropped, swapped with the next one, repeated, given another
method, changed in each field, given another id, and the recording is cut off before it. What is
equal all the same has to be equal by one of the rules below.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from acp_inspector.analysis.diff import compare
from acp_inspector.journal import Frame
from acp_inspector.recording.reader import read_recording

FOLDER = Path(__file__).parents[3] / "recordings"
RECORDINGS = sorted(FOLDER.rglob("*.acp.ndjson"))
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
        params = self.value.get("params")
        found = params.get("update") if isinstance(params, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def kind(self) -> str:
        return str(self.update.get("sessionUpdate") or self.value.get("method") or "response")

    @property
    def call(self) -> str:
        named = self.update or (self.value.get("params") or {})
        inner = named.get("toolCall") or named.get("subject") or {}
        inner = inner.get("toolCall", inner) if isinstance(inner, dict) else {}
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


@dataclass(frozen=True)
class Mutation:
    name: str
    at: int
    path: tuple[str | int, ...]
    frames: list[Frame]


def parsed(frame: Frame) -> Message:
    try:
        value = json.loads(frame.data)
    except ValueError:
        value = {}
    return Message(frame, value if isinstance(value, dict) else {})


def leaves(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
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


def mutations(said: list[Frame]) -> Iterator[Mutation]:
    messages = list(map(parsed, said))
    seen: set[tuple[str, tuple[str | int, ...]]] = set()
    for at, frame in enumerate(said):
        yield Mutation("drop", at, (), said[:at] + said[at + 1 :])
        yield Mutation("repeat", at, (), [*said[: at + 1], frame, *said[at + 1 :]])
        if at:
            yield Mutation("truncate", at, (), said[:at])
        if at + 1 < len(said):
            yield Mutation("swap", at, (), [*said[:at], said[at + 1], frame, *said[at + 2 :]])

        def mutated(
            name: str, path: tuple[str | int, ...], change: Callable[[Any], Any]
        ) -> Mutation:
            frames = [*said[:at], with_leaf(said[at], path, change), *said[at + 1 :]]  # noqa: B023
            return Mutation(name, at, path, frames)  # noqa: B023

        message = messages[at]
        for path, value in leaves(message.value):
            generic = tuple("*" if isinstance(each, int) else each for each in path)
            # Each field of each kind of message once.
            if not path or (message.kind, generic) in seen:
                continue
            seen.add((message.kind, generic))
            if path[-1] in {"method", "sessionUpdate"}:
                yield mutated("retype", path, lambda name: f"{name}_other")
            elif path[-1] in IDS or path == ("id",):
                others = [
                    other
                    for each in messages
                    for its, other in leaves(each.value)
                    if its[-1:] == path[-1:] and other != value
                ]
                if others:
                    other = others[0]
                    yield mutated("exchange ids", path, lambda _: other)  # noqa: B023
                yield mutated("change", path, changed)
            else:
                yield mutated("change", path, changed)


RULES: Final = (
    "the two sides of a connection may interleave",
    "sessions may interleave",
    "an asynchronous update may come late",
    "only the first update of a tool call has a place",
    "a permission request and the tool call it names have no order",
    "responses to parallel requests have no order",
    "of an update only the last value in its turn counts",
    "a later update of the tool call has the same fields",
    "times differ between two runs",
    "of usage numbers only the type counts",
    "a directory has another name in each run",
    "an id that is mentioned once may be any",
)


def rule(mutation: Mutation, said: list[Frame]) -> str | None:
    """Return the rule by which the mutated frames mean the same."""
    messages = list(map(parsed, said))
    message = messages[mutation.at]
    if mutation.name == "swap":
        return swap_rule(message, messages[mutation.at + 1], messages)
    if mutation.name == "truncate":
        later = messages[mutation.at :]
        drops = (drop_rule(each, messages) for each in later)
        return RULES[6] if all(drops) else None
    if mutation.name in {"drop", "repeat"}:
        return drop_rule(message, messages, is_repeat=mutation.name == "repeat")
    return change_rule(mutation, message, messages)


def swap_rule(one: Message, other: Message, messages: list[Message]) -> str | None:
    if one.frame.side != other.frame.side:
        return RULES[0]
    sessions = [session_of(each, messages) for each in (one, other)]
    if sessions[0] != sessions[1]:
        return RULES[1]
    kinds = {one.kind, other.kind}
    if kinds & LANES:
        return RULES[2]
    repeated = [each for each in (one, other) if each.key in keys_before(each, messages)]
    if any(each.kind in CALLS | TERMINALS | LAST_VALUE for each in repeated):
        return RULES[3]
    if "session/request_permission" in kinds and one.call == other.call:
        return RULES[4]
    if kinds == {"response"}:
        return RULES[5]
    return None


def drop_rule(message: Message, messages: list[Message], *, is_repeat: bool = False) -> str | None:
    if message.kind in LAST_VALUE:
        later = messages[messages.index(message) + 1 :]
        ends = [at for at, each in enumerate(later) if "stopReason" in str(each.value.get("result"))]
        same = [at for at, each in enumerate(later) if each.key == message.key]
        is_replaced = same and same[0] < min(ends, default=len(later))
        return RULES[6] if is_repeat or is_replaced else None
    if message.kind in CALLS | TERMINALS and is_repeat:
        return RULES[7]
    return None


def change_rule(mutation: Mutation, message: Message, messages: list[Message]) -> str | None:
    path = mutation.path
    if path[-1] in {"updatedAt", "createdAt"}:
        return RULES[8]
    if message.kind == "usage_update":
        return RULES[9]
    if path[-1] == "cwd":
        return RULES[10]
    if message.kind in CALLS and path[:2] == ("params", "update"):
        later = messages[messages.index(message) + 1 :]
        if any(each.key == message.key and path[2] in each.update for each in later):
            return RULES[7]
    if drop_rule(message, messages):
        return RULES[6]
    if path[-1] in IDS or path == ("id",):
        value = message.value
        for name in path:
            value = value[name]
        text = json.dumps(value)
        mentions = sum(text.encode() in each.frame.data for each in messages)
        return RULES[11] if mentions == 1 else None
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
            return result.get("sessionId")
    params = value.get("params")
    return params.get("sessionId") if isinstance(params, dict) else None


def keys_before(message: Message, messages: list[Message]) -> set[tuple[str, str]]:
    return {each.key for each in messages[: messages.index(message)]}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem.removesuffix(".acp"))
def test_every_mutation_of_every_frame_is_found_or_equal_by_rule(path: Path) -> None:
    said = list(read_recording(path).frames)
    assert not compare(said, said).differences
    unexplained: list[str] = []
    for mutation in mutations(said):
        side = said[mutation.at].side
        sides: Any = ("agent",) if side == "agent" else ("client", "agent")
        if not compare(said, mutation.frames, sides=sides).differences:
            if rule(mutation, said) is None:
                frame = said[mutation.at]
                nxt = said[mutation.at + 1].data[:100] if mutation.name == "swap" else b""
                unexplained.append(
                    f"{mutation.name} {mutation.path} {parsed(frame).kind} {frame.data[:200]!r} {nxt}"
                )
    print(len(list(mutations(said))))
    assert unexplained == []
