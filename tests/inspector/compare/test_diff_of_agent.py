"""The comparison of a replay: the agent's side alone, tested by mutation of every frame."""

from __future__ import annotations

from pathlib import Path

from acp_inspector.compare.diff import compare
from acp_inspector.compare.difference import StepDifference
from acp_inspector.compare.id_map import IdMap
from acp_inspector.journal import Frame
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


def test_a_secret_may_stand_where_a_placeholder_does_and_has_to_stay_the_same() -> None:
    recorded = frames(chunk("key «secret:1» and «secret:1»"), chunk("; «secret:2»"))
    live = [frames(chunk(f"key {one} and {other}; x")) for one, other in (("a", "a"), ("a", "b"))]
    assert differences(recorded, live[0], is_redacted=True) == ()
    assert len(differences(recorded, live[1], is_redacted=True)) == 1


def test_a_placeholder_in_a_recording_that_is_not_redacted_is_a_text_like_any_other() -> None:
    assert differ((chunk("key «secret:1»"),), (chunk("key abc"),)) == [
        "agent_message_chunk $.params.update.content.text"
    ]
