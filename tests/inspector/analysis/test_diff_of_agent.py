"""The comparison of a replay: the agent's side alone, tested by mutation of every frame."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acp_inspector.analysis.diff import StepDifference, compare
from acp_inspector.analysis.id_map import IdMap
from acp_inspector.journal import Frame
from acp_inspector.recording.reader import read_recording
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*.acp.ndjson"))


def differences(
    recorded: list[Frame], live: list[Frame], *cwds: str, is_redacted: bool = False
) -> tuple[StepDifference, ...]:
    ids = IdMap({cwds[0]: cwds[1]} if cwds else {}, is_redacted=is_redacted)
    return compare(recorded, live, sides=("agent",), ids=ids).differences


def differ(recorded: tuple[Said, ...], live: tuple[Said, ...], *cwds: str) -> list[str]:
    return [
        f"{difference.name} {difference.path}".strip()
        for difference in differences(frames(*recorded), frames(*live), *cwds)
    ]


def test_how_text_was_cut_makes_no_difference() -> None:
    assert differ((chunk("Hel"), chunk("lo")), (chunk("H"), chunk("ell"), chunk("o"))) == []


def test_another_text_does() -> None:
    assert differ((chunk("Hello"),), (chunk("Hallo"),)) == [
        "agent_message_chunk $.params.update.content.text"
    ]


def test_the_order_of_keys_makes_no_difference() -> None:
    one = b'{"jsonrpc":"2.0","method":"x","params":{"a":1,"b":2}}'
    other = b'{"params":{"b":2.0,"a":1},"method":"x","jsonrpc":"2.0"}'
    assert differ((("agent", one),), (("agent", other),)) == []


def test_true_is_not_one() -> None:
    one: Said = ("agent", {"method": "x", "params": {"a": True}})
    other: Said = ("agent", {"method": "x", "params": {"a": 1}})
    assert differ((one,), (other,)) == ["x $.params.a"]


def test_minted_ids_are_bound_at_first_sight_and_then_have_to_agree() -> None:
    def talk(first: str, second: str) -> tuple[Said, ...]:
        return (
            update("tool_call", toolCallId=first, title="T"),
            ask("agent", 1, "x", sessionId="s1", toolCallId=second),
        )

    assert differ(talk("c1", "c1"), talk("other", "other")) == []
    assert differ(talk("c1", "c1"), talk("other", "third")) == ["x $.params.toolCallId"]
    assert differ(talk("c1", "c2"), talk("other", "other")) == ["x $.params.toolCallId"]


def test_an_id_of_a_request_keeps_its_type() -> None:
    assert differ((ask("agent", 1, "x"),), (ask("agent", 7, "x"),)) == []
    assert differ((ask("agent", 1, "x"),), (ask("agent", "1", "x"),)) == ["x id"]


def test_a_tool_call_is_its_states_in_order_and_its_last_content() -> None:
    once = (update("tool_call", toolCallId="c", title="T", status="completed", content=[1]),)
    often = (
        update("tool_call", toolCallId="c", title="T"),
        update("tool_call_update", toolCallId="c", content=[1]),
        update("tool_call_update", toolCallId="c", status="completed"),
    )
    failed = (
        *once[:0],
        update("tool_call", toolCallId="c", title="T", status="failed", content=[1]),
    )
    assert differ(once, often) == []
    assert differ(once, failed) == ["tool call $.params.update.status"]


def test_the_working_directory_stands_for_itself_inside_text() -> None:
    recorded, live = chunk("see /old/a.txt"), chunk("see /new/place/a.txt")
    assert differ((recorded,), (live,), "/old", "/new/place") == []
    assert differ((recorded,), (live,)) == ["agent_message_chunk $.params.update.content.text"]


def test_a_moment_is_no_promise() -> None:
    assert differ(
        (update("session_info_update", updatedAt="2026-01-01"),),
        (update("session_info_update", updatedAt="2027-01-01"),),
    ) == []  # fmt: skip


def test_what_is_missing_is_told_as_missing_alone() -> None:
    said = (prompt(1, "x"), chunk("a"), update("plan", entries=[]), chunk("b"))
    without = (said[0], said[1], said[3])
    found = differences(frames(*said), frames(*without))
    assert "plan" in [difference.name for difference in found]


def test_sessions_may_interleave() -> None:
    a, b = chunk("a", session="a"), chunk("b", session="b")
    again = chunk("A", session="a")
    assert differ((a, again, b), (a, b, again)) == []


def test_an_error_is_not_a_result() -> None:
    good = (prompt(1, "x"), answer("agent", 1, {"stopReason": "end_turn"}))
    bad: tuple[Said, ...] = (good[0], ("agent", {"id": 1, "error": {"code": -1, "message": "no"}}))
    assert differ(good, bad) == [
        "response to session/prompt $.result",
        "response to session/prompt $.error",
    ]


# The comparison, tested by mutation: none of these may pass.


def drop(at: int, said: list[Frame]) -> list[Frame]:
    return said[:at] + said[at + 1 :]


def repeat(at: int, said: list[Frame]) -> list[Frame]:
    return [*said[: at + 1], said[at], *said[at + 1 :]]


def cut(at: int, said: list[Frame]) -> list[Frame]:
    return said[:at]


def swap(at: int, said: list[Frame]) -> list[Frame]:
    """Move a frame behind the next one of the agent that is of another kind."""
    for other in range(at + 1, len(said)):
        if said[other].side == "agent" and kind_of(said[other]) != kind_of(said[at]):
            return [*said[:at], *said[at + 1 : other + 1], said[at], *said[other + 1 :]]
    return said[:at]


def change(at: int, said: list[Frame]) -> list[Frame]:
    """Change the last string of a frame."""
    raw = said[at].data
    end = raw.rstrip(b'"}]').rfind(b'"') + 1
    return [*said[:at], replace(said[at], data=raw[:end] + b"X" + raw[end:]), *said[at + 1 :]]


def rename_id(at: int, said: list[Frame]) -> list[Frame]:
    """Let one frame speak of another session."""
    message: dict[str, Any] = json.loads(said[at].data)
    if "sessionId" not in message.get("params", {}):
        return said[:at]
    message["params"]["sessionId"] = "another"
    return [*said[:at], replace(said[at], data=json.dumps(message).encode()), *said[at + 1 :]]


def kind_of(frame: Frame) -> str:
    message: dict[str, Any] = json.loads(frame.data)
    update_ = message.get("params", {}).get("update", {})
    return str(update_.get("sessionUpdate") or message.get("method") or "answer")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
@pytest.mark.parametrize("mutate", [drop, repeat, cut, swap, change, rename_id])
def test_every_mutation_of_every_frame_is_caught(
    path: Path, mutate: Callable[[int, list[Frame]], list[Frame]]
) -> None:
    said = list(read_recording(path).frames)
    assert differences(said, said) == ()
    missed: list[tuple[int, bytes]] = []
    for at, frame in enumerate(said):
        if frame.side == "agent" and not is_harmless(mutate, at, said):
            mutated = mutate(at, said)
            if not differences(said, mutated):
                missed.append((frame.seq, frame.data))
    assert missed == []


BETWEEN_TURNS = frozenset({"session_info_update", "available_commands_update"})


def is_harmless(
    mutate: Callable[[int, list[Frame]], list[Frame]], at: int, said: list[Frame]
) -> bool:
    """Tell whether the mutation keeps the meaning.

    Of a plan, a title and the list of commands only the last value of a turn counts, of a tool call
    its states in order and its last content; between the states of a call other things may come as
    they like. Titles and commands that are sent between two turns may be sent within the later one.
    Timestamps do not count.
    """
    kinds = [kind_of(frame) for frame in said]
    later = [kinds[n] for n in range(at + 1, len(said)) if said[n].side == "agent"]
    if mutate is repeat:
        return kinds[at] in {"plan", "tool_call_update", "tool_call", *BETWEEN_TURNS}
    if mutate is swap and at == kinds.index("answer"):
        return (
            True  # The response to initialize belongs to no session, and sessions may interleave.
        )
    if mutate is swap:
        other = next((kind for kind in later if kind != kinds[at]), "")
        is_between = other in BETWEEN_TURNS and "session/prompt" not in kinds[:at]
        return is_between or "tool_call_update" in {kinds[at], other} or kinds[at] == "plan"
    if mutate is change:
        replaced = {"plan", "tool_call_update"} & set(later)
        is_a_timestamp = kinds[at] == "session_info_update" and b'"title"' not in said[at].data
        return is_a_timestamp or (kinds[at] in {"plan", "tool_call"} and bool(replaced))
    return mutate is drop and kinds[at] == "plan" and "plan" in later


def test_there_are_recordings_to_mutate() -> None:
    assert len(RECORDINGS) >= 3


def test_a_secret_may_stand_where_a_placeholder_does_and_has_to_stay_the_same() -> None:
    recorded = frames(chunk("key «secret:1» and «secret:1»"), chunk("; «secret:2»"))
    live = [frames(chunk(f"key {one} and {other}; x")) for one, other in (("a", "a"), ("a", "b"))]
    assert differences(recorded, live[0], is_redacted=True) == ()
    assert len(differences(recorded, live[1], is_redacted=True)) == 1


def test_a_placeholder_in_a_recording_that_is_not_redacted_is_a_text_like_any_other() -> None:
    assert differ((chunk("key «secret:1»"),), (chunk("key abc"),)) == [
        "agent_message_chunk $.params.update.content.text"
    ]
