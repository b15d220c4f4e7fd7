"""Feeding the fold stays as quick as it was, and a session as small, however long a talk goes on.

Steps and objects are counted: times depend on the machine.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from itertools import chain, count, islice
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from acp_inspector.journal import Frame
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Sessions
from tests.inspector.talks import Said, answer, ask, chunk, encoded, prompt, update

NUMBERS = range(100, 10**9)


def opening(version: int) -> list[Said]:
    return [
        ask("client", 1, "initialize", protocolVersion=version),
        answer("agent", 1, {"protocolVersion": version}),
        ask("client", 2, "session/new", cwd="/w"),
        answer("agent", 2, {"sessionId": "s1"}),
    ]


def chunks() -> Iterator[Said]:
    yield prompt(3, "a")
    yield from (chunk("x") for _ in NUMBERS)


def calls() -> Iterator[Said]:
    yield prompt(3, "a")
    for n in NUMBERS:
        yield update("tool_call", toolCallId=str(n), title="a", status="pending")
        yield update("tool_call_update", toolCallId=str(n), status="completed")


def turns() -> Iterator[Said]:
    for n in NUMBERS:
        yield prompt(n, "a")
        yield update("tool_call", toolCallId=str(n), title="a", status="pending")
        yield chunk("a", kind="user_message_chunk")
        yield answer("agent", n, {"stopReason": "cancelled" if n % 2 else "end_turn"})


def turns_of_version_2() -> Iterator[Said]:
    for n in NUMBERS:
        yield prompt(n, "a")
        yield answer("agent", n, {"messageId": str(n)})
        yield update("state_update", state="running")
        yield update("state_update", state="idle", stopReason="end_turn")


def permissions() -> Iterator[Said]:
    yield prompt(3, "a")
    for n in NUMBERS:
        call = {"toolCallId": str(n), "title": "a"}
        options = [{"optionId": "o", "name": "o", "kind": "allow_once"}]
        yield ask("agent", n, "session/request_permission", sessionId="s1", toolCall=call,
                  options=options)  # fmt: skip
        yield answer("client", n, {"outcome": {"outcome": "selected", "optionId": "o"}})


def prompts_without_a_response() -> Iterator[Said]:
    return (prompt(n, "a") for n in NUMBERS)


def late_responses() -> Iterator[Said]:
    """Each prompt gets its response when two more are sent; the first gets none."""
    yield prompt(3, "a")
    for n in NUMBERS:
        yield prompt(2 * n, "a")
        yield prompt(2 * n + 1, "a")
        yield answer("agent", n + NUMBERS.start, {"stopReason": "end_turn"})


def responses_to_nothing() -> Iterator[Said]:
    for n in NUMBERS:
        yield ask("agent", n, "fs/read_text_file", sessionId="s1", path="/w/a")
        yield answer("agent", 2**60 + n, {})


def an_id_again_and_again() -> Iterator[Said]:
    for _ in NUMBERS:
        yield ask("client", 5, "authenticate")
        yield "client", {"method": "$/cancel_request", "params": {"requestId": 5}}


def sessions() -> Iterator[Said]:
    for n in NUMBERS:
        yield ask("client", n, "session/new", cwd="/w")
        yield answer("agent", n, {"sessionId": f"s{n}"})
        yield chunk("x", session=f"s{n}")


TALKS: dict[str, tuple[int, Callable[[], Iterator[Said]]]] = {
    "chunks": (1, chunks),
    "calls": (1, calls),
    "turns": (1, turns),
    "turns of version 2": (2, turns_of_version_2),
    "permissions": (1, permissions),
    "prompts without a response": (1, prompts_without_a_response),
    "prompts that join": (2, prompts_without_a_response),
    "late responses": (1, late_responses),
    "responses to nothing": (1, responses_to_nothing),
    "an id again and again": (1, an_id_again_and_again),
    "sessions": (1, sessions),
}
BOUNDED = ("chunks", "calls", "turns", "turns of version 2", "permissions")
"""Talks in which every request gets its response, in one session."""


def frames_of(name: str) -> Iterator[Frame]:
    version, talk = TALKS[name]
    said = chain(opening(version), talk())
    for n, (side, what) in zip(count(1), said):
        assert not isinstance(what, bytes)
        yield Frame(n, n / 10, side, encoded(what))


def steps(do: Callable[[], object]) -> int:
    """Return how many instructions of Python are run."""
    found = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        del arg
        nonlocal found
        frame.f_trace_opcodes = True
        found += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", TALKS)
@pytest.mark.parametrize("fold", [Sessions, Conversations])
def test_a_frame_takes_as_many_steps_late_in_a_talk_as_early(
    name: str, fold: type[Sessions | Conversations]
) -> None:
    found, model = frames_of(name), fold()
    feed = model.feed if isinstance(model, Sessions) else model.apply

    def read(frames: int) -> None:
        for frame in islice(found, frames):
            feed(frame)

    read(240)
    early = steps(lambda: read(60))
    read(2400)
    late = steps(lambda: read(60))
    assert late < 1.1 * early


def objects(root: object) -> int:
    """Return how many objects one keeps."""
    seen, rest = set[int](), [root]
    while rest:
        each = rest.pop()
        if id(each) not in seen and not isinstance(each, type | ModuleType | FunctionType):
            seen.add(id(each))
            rest += gc.get_referents(each)
    return len(seen)


@pytest.mark.parametrize("name", BOUNDED)
def test_a_session_takes_no_more_memory_late_in_a_talk_than_early(name: str) -> None:
    found, model = frames_of(name), Sessions(exchanges=Exchanges(is_lean=True))
    kept: list[int] = []
    for frames in (240, 2400):
        for frame in islice(found, frames):
            model.feed(frame)
        kept.append(objects(model))
    assert kept[1] < kept[0] + 50
