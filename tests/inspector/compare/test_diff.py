"""Two journals compared by meaning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given

from acp_inspector.compare.diff import compare
from acp_inspector.compare.difference import StepDifference
from acp_inspector.compare.ignoring import Ignore
from acp_inspector.compare.steps import Level
from acp_inspector.compare.values import ABSENT
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.journal import Entry, Frame
from acp_inspector.jsonpath import parse_path
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.expectations import FilterSelector
from acp_protocol.jsonrpc import Json
from tests.inspector.session.traffic import TRAFFIC, real_frames, talks
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*.acp.ndjson"))
LEVELS: tuple[Level, ...] = get_args(Level)


def found(
    left: Sequence[Entry], right: Sequence[Entry], level: Level = "semantic", *ignores: Ignore
) -> list[StepDifference]:
    return list(compare(left, right, level=level, ignores=ignores).differences)


def told(left: Sequence[Said], right: Sequence[Said], level: Level = "semantic") -> list[str]:
    """Return the differences in a few words each."""
    return [
        f"{each.kind} {each.name} {each.path}".strip()
        for each in found(frames(*left), frames(*right), level)
    ]


@given(talks())
def test_nothing_differs_from_itself(talk: list[Said]) -> None:
    said = frames(*talk)
    for level in LEVELS:
        assert found(said, said, level) == []


@given(talks(), talks())
def test_every_step_is_in_one_pair_and_those_of_the_left_keep_their_order(
    one: list[Said], other: list[Said]
) -> None:
    comparison = compare(frames(*one), frames(*other))
    left = [pair.left for pair in comparison.pairs if pair.left is not None]
    right = [pair.right for pair in comparison.pairs if pair.right is not None]
    assert (len(left), len(right)) == comparison.compared
    assert [step.frames[0] for step in left] == sorted(step.frames[0] for step in left)
    differences = [each for pair in comparison.pairs for each in pair.differences]
    assert len(differences) == len(comparison.differences)
    assert set(map(id, differences)) == set(map(id, comparison.differences))


@pytest.mark.parametrize("text", [5, ["hidden"], {"text": "hidden"}])
def test_a_text_that_is_no_string_is_compared(text: object) -> None:
    odd = update("agent_message_chunk", content={"type": "text", "text": text})
    left, right = frames(chunk("a"), chunk("b")), frames(chunk("a"), odd, chunk("b"))
    assert compare(left, right).differences


def test_a_step_of_the_right_only_is_where_it_happened() -> None:
    left = [prompt(1, "x"), chunk("a"), update("plan", entries=[]), chunk("b")]
    right = [prompt(1, "x"), chunk("a"), update("tool_call", toolCallId="c"), chunk("b")]
    pairs = compare(frames(*left), frames(*right)).pairs
    names = [(pair.left and pair.left.name, pair.right and pair.right.name) for pair in pairs]
    at = names.index(("plan", None))
    assert names[at + 1] == (None, "tool call")
    assert names[at + 2] == ("agent_message_chunk", "agent_message_chunk")


def test_a_comparison_ends_with_what_its_progress_raises() -> None:
    shares: list[float] = []

    def stop(share: float) -> None:
        shares.append(share)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        compare(frames(prompt(1, "x")), frames(prompt(1, "x")), progress=stop)
    assert len(shares) == 1


@pytest.mark.parametrize("said", [[], [prompt(1, "x"), chunk("a")]], ids=len)
def test_progress_of_few_entries_is_reported_at_the_end_alone(said: list[Said]) -> None:
    shares: list[float] = []
    compare(frames(*said), frames(*said), progress=shares.append)
    assert set(shares) == {1.0}


@pytest.mark.parametrize("name", TRAFFIC)
def test_no_real_talk_differs_from_itself(shared: Path, name: str) -> None:
    said = real_frames(shared, name)
    assert found(said, said, "strict") == found(said, said) == []


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_another_run_of_the_same_is_no_difference(path: Path) -> None:
    entries = read_recording(path).entries
    again: list[Entry] = []
    for entry in entries:
        if isinstance(entry, Frame):
            raw = entry.data.replace(b'"call_', b'"tool-').replace(b"/tmp/acp-", b"/home/me/work/")
            raw = raw.replace(b'"id":1,', b'"id":101,').replace(b'"id":3,', b'"id":103,')
            entry = replace(entry, data=raw, time=entry.time * 3, seq=entry.seq + 7)
        again.append(entry)
    for level in LEVELS:
        assert found(entries, again, level) == []


@pytest.mark.long
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_every_frame_that_is_missing_is_missed(path: Path) -> None:
    entries = read_recording(path).entries
    for place, entry in enumerate(entries):
        if isinstance(entry, Frame):
            without = [*entries[:place], *entries[place + 1 :]]
            assert found(entries, without, "strict"), entry
            assert found(without, entries, "strict"), entry


def test_how_a_text_was_cut_is_no_difference_but_strictly() -> None:
    one, other = [chunk("hello")], [chunk("hel"), chunk("lo")]
    assert told(one, other) == []
    assert told(one, other, "strict") == [
        *(
            "changed agent_message_chunk $.params.update.content.text",
            "right only agent_message_chunk",
        )
    ]


def test_how_often_a_tool_call_was_touched_is_none_but_its_states_are() -> None:
    def call(**more: str) -> Said:
        return update("tool_call_update", toolCallId="c", **more)

    whole = [call(title="Look", status="pending"), call(status="completed")]
    assert told(whole, [call(title="Look"), call(status="pending"), whole[1]]) == []
    begun = [whole[0], call(status="in_progress")]
    assert told([*begun, call(status="in_progress"), whole[1]], [*begun, whole[1]]) == []
    failed = [whole[0], call(status="failed")]
    assert told(whole, failed) == ["changed tool call $.params.update.status"]
    assert told(whole, failed, "shape") == ["changed tool call $.params.update.status"]


def test_what_is_told_between_turns_may_race_with_the_prompt() -> None:
    """An agent tells its commands when a session is new, a client prompts as soon as it is."""
    commands = [update("available_commands_update", availableCommands=[name]) for name in "ab"]
    asked, ended = prompt(1, "hi"), answer("agent", 1, {"stopReason": "end_turn"})
    for ending in ({"stopReason": "end_turn"}, None, 7):
        ended = "agent", {"id": 1, "result": ending}
        early, late = (
            [commands[0], asked, chunk("x"), ended],
            [asked, commands[0], chunk("x"), ended],
        )
        assert told(early, late) == told(late, early) == []
    after = [asked, chunk("x"), ended, commands[0]]
    assert told(after, [*after[:3], commands[1]]) == [
        "changed available_commands_update $.params.update.availableCommands[0]"
    ]
    assert told(after, after[:3]) == ["left only available_commands_update"]
    assert told([commands[0], asked], [commands[1], asked]) != []


def test_words_are_no_part_of_the_shape_but_endings_are() -> None:
    def turn(words: str, stop: str = "end_turn") -> list[Said]:
        return [prompt(1, words), chunk(words), answer("agent", 1, {"stopReason": stop})]

    assert told(turn("one"), turn("two"), "shape") == []
    ending = told(turn("one"), turn("two", "refusal"), "shape")
    assert ending == ["changed response to session/prompt $.result.stopReason"]


def test_one_more_call_in_the_middle_is_told_alone() -> None:
    def calls(*titles: str) -> list[Said]:
        return [update("tool_call", toolCallId=title, title=title) for title in titles]

    (extra,) = found(frames(*calls("a", "b", "c")), frames(*calls("a", "new", "b", "c")))
    assert (extra.kind, extra.right_frames, extra.left) == ("right only", (2,), ABSENT)


def test_an_id_that_stands_for_two_things_is_a_difference() -> None:
    def twice(second: str) -> list[Said]:
        return [
            update("tool_call", toolCallId="a", title="One"),
            update("tool_call", toolCallId="b", title="Two"),
            ask(
                *("agent", 1, "session/request_permission"),
                sessionId="s1",
                toolCall={"toolCallId": second},
            ),
        ]

    assert told(twice("a"), twice("b")) == [
        "changed session/request_permission $.params.toolCall.toolCallId"
    ]


def test_an_id_of_another_type_is_a_difference() -> None:
    one, other = [ask("client", 1, "initialize")], [ask("client", "1", "initialize")]
    assert told(one, other) == ["changed initialize id"]


def test_sessions_are_paired_in_their_order_and_may_interleave() -> None:
    one = [chunk("a"), chunk("x", session="s2"), chunk("b")]
    other = [chunk("a", session="t"), chunk("b", session="t"), chunk("x", session="u")]
    assert told(one, other) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"rawOutput": {"exit code": 1}}, {"rawOutput": {"exit code": 2}}),
        ({"status": "completed"}, {"status": "failed"}),
    ],
)
def test_the_path_of_a_difference_is_one_to_ignore(
    one: dict[str, Json], other: dict[str, Json]
) -> None:
    left, right = (
        frames(update("tool_call_update", toolCallId="c", **members)) for members in (one, other)
    )
    (difference,) = found(left, right)
    ignore = Ignore("…", parse_path(difference.path))
    assert found(left, right, "semantic", ignore) == []


def test_true_is_no_one_and_a_whole_float_is_an_integer() -> None:
    def sized(value: object) -> list[Said]:
        return [update("usage_update", used=value)]

    assert told(sized(1), sized(1.0)) == []
    assert told(sized(1), sized(True)) == ["changed usage_update $.params.update.used"]
    assert told(sized(None), sized(False)) == ["changed usage_update $.params.update.used"]


def test_frames_that_a_filter_means_are_ignored_and_counted() -> None:
    one, other = frames(chunk("a"), update("usage_update", used=1)), frames(chunk("a"))
    ignore = Ignore("…", FilterSelector(compile_filter("update == usage_update")))
    assert found(one, other, "semantic", ignore) == []
    assert ignore.applied == 1
    pending = Ignore("pending", FilterSelector(compile_filter("pending")))
    asked = frames(ask("client", 1, "a"), ask("client", 2, "b"), answer("agent", 1, {}))
    assert found(asked, [asked[0], asked[2]], "semantic", pending) == []


def test_a_place_is_ignored_wherever_it_stands() -> None:
    one, other = frames(update("session_info_update", title="a")), frames(
        update("session_info_update", title="b")
    )  # fmt: skip
    title = Ignore("…", parse_path("$.params.update.title"))
    assert found(one, other, "semantic", title) == []
    assert title.applied == 2
    assert len(found(one, other)) == 1
    nowhere = Ignore("…", parse_path("$.params.nowhere"))
    assert len(found(one, other, "semantic", nowhere)) == 1
    assert nowhere.applied == 0


def test_an_item_of_a_list_is_ignored() -> None:
    one, other = (frames(update("brand_new", words=["same", word])) for word in ("a", "b"))
    for path in ("$.params.update.words[1]", "$.params.update.words[*]"):
        ignore = Ignore("…", parse_path(path))
        assert found(one, other, "semantic", ignore) == []
        assert ignore.applied


def test_the_directory_of_the_session_stands_for_itself() -> None:
    def opened(cwd: str) -> list[Said]:
        return [
            ask("client", 1, "session/new", cwd=cwd),
            answer("agent", 1, {"sessionId": "s1"}),
            chunk(f"in {cwd}/notes.md, not in {cwd}-2"),
        ]

    assert told(opened("/a"), opened("/tmp/b")) == [
        "changed agent_message_chunk $.params.update.content.text"
    ]
    assert told(opened("/a")[:2], opened("/tmp/b")[:2]) == []


def test_what_is_nested_without_end_is_compared_too() -> None:
    deep = b'{"jsonrpc":"2.0","method":"m","params":%s1%s}' % (b'{"a":' * 400, b"}" * 400)
    other = deep.replace(b"1}", b"2}")
    assert json.loads(deep) != json.loads(other)
    assert found(frames(("agent", deep)), frames(("agent", deep))) == []
    assert len(found(frames(("agent", deep)), frames(("agent", other)))) == 1


def alike(count: int) -> list[Said]:
    """Return turns of which each says the same, with ids of its own."""
    said: list[Said] = []
    for number in range(count):
        call = {"toolCallId": f"call {number}"}
        said += [
            prompt(number, "go"),
            update("tool_call", **call, title="Do"),
            ask("agent", number, "session/request_permission", sessionId="s1", toolCall=call),
            answer("client", number, {"outcome": {"outcome": "cancelled"}}),
            answer("agent", number, {"stopReason": "end_turn"}),
        ]
    return said


def test_a_step_that_is_missing_makes_no_other_turn_look_wrong() -> None:
    whole = frames(*alike(20))
    without = [*whole[:26], *whole[27:]]
    assert whole[26].seq == 27
    found_there = found(whole, without)
    assert [(each.kind, each.left_frames) for each in found_there] == [("left only", (27,))]


def test_a_turn_that_is_missing_is_told_alone() -> None:
    def turn(number: int, words: str) -> list[Said]:
        stop = answer("agent", number, {"stopReason": "end_turn"})
        return [prompt(number, words), chunk(words), stop]

    one = [*turn(1, "a"), *turn(2, "b"), *turn(3, "c")]
    assert told(one, [*turn(1, "a"), *turn(2, "c")]) == [
        "left only session/prompt",
        "left only agent_message_chunk",
        "left only response to session/prompt",
    ]


def test_a_value_that_the_other_run_replaced_within_a_turn_is_late() -> None:
    def talk(first: Sequence[str], second: Sequence[str]) -> list[Said]:
        modes = [
            [update("current_mode_update", currentModeId=each) for each in turn]
            for turn in (first, second)
        ]
        end = {"stopReason": "end_turn"}
        return [
            *(prompt(1, "a"), *modes[0], answer("agent", 1, end)),
            *(prompt(2, "b"), *modes[1], answer("agent", 2, end)),
        ]

    one, other = frames(*talk(["ask"], ["code"])), frames(*talk([], ["ask", "code"]))
    for found in (compare(one, other), compare(other, one)):
        assert (found.differences, found.tolerated["late-updates"]) == ((), 1)
        assert [pair.left is not None and pair.right is not None for pair in found.pairs].count(
            False
        ) == 1
    lost = frames(*talk([], ["code"]))
    assert [each.kind for each in compare(one, lost).differences] == ["left only"]


def test_the_id_of_a_session_that_no_response_opens_is_one_in_texts_too() -> None:
    def talk(id_: str, mentioned: str) -> list[Said]:
        return [chunk(f"log of {mentioned}", session=id_)]

    assert told(talk("sess-0001", "sess-0001"), talk("sess-0002", "sess-0002")) == []
    assert told(talk("sess-0001", "sess-0001"), talk("sess-0002", "sess-0003")) != []


def test_ids_that_disagree_are_told_once() -> None:
    def said(first: str) -> list[Said]:
        calls = [update("tool_call", toolCallId=each, title=each) for each in ("a", "b")]
        asks = [
            ask(
                *("agent", number, "session/request_permission"),
                sessionId="s1",
                toolCall={"toolCallId": first},
            )
            for number in range(3)
        ]
        return [*calls, *asks]

    assert len(told(said("a"), said("b"))) == 1


def test_two_stretches_of_one_journal_can_be_compared() -> None:
    said = frames(*alike(3), prompt(7, "stop"))
    turns = [FilterSelector(compile_filter(f"turn == {number}")) for number in (1, 3, 4)]
    same = compare(said, said, selectors=(turns[0], turns[1]))
    assert (same.differences, same.compared) == ((), (5, 5))
    other = compare(said, said, selectors=(turns[0], turns[2])).differences
    assert (other[0].kind, other[0].path) == ("changed", "$.params.prompt[0].text")


def test_a_tool_call_that_is_never_announced_differs() -> None:
    left = [update("tool_call", toolCallId="call-1", title="Edit")]
    right = [update("tool_call_update", toolCallId="call-1", title="Edit")]
    assert told(left, right) == ["changed tool call $.params.update.sessionUpdate"]
    assert told([*left, *right], [*left, *right]) == []


@pytest.mark.parametrize(
    ("params", "members", "content", "path"),
    [
        ({"_meta": {"x": 1}}, {}, {}, "$.params._meta"),
        ({}, {"_meta": {"x": 1}}, {}, "$.params.update._meta"),
        ({}, {"later": True}, {}, "$.params.update.later"),
        ({}, {}, {"annotations": {"priority": 1}}, "$.params.update.content.annotations"),
    ],
)
def test_members_beside_a_text_are_compared(
    params: dict[str, Json], members: dict[str, Json], content: dict[str, Json], path: str
) -> None:
    def said(text: str) -> Said:
        block = {"type": "text", "text": text, **content}
        inner = {"sessionUpdate": "agent_message_chunk", "content": block, **members}
        outer = {"sessionId": "s1", "update": inner, **params}
        return "agent", {"method": "session/update", "params": outer}

    assert told([chunk("Hello")], [said("Hello")]) == [f"changed agent_message_chunk {path}"]
    # How often they come depends on the boundaries of chunks.
    assert told([said("Hello")], [said("Hel"), said("lo")]) == []


def test_of_meta_beside_a_text_only_names_and_types_count() -> None:
    def said(took: Json) -> list[Said]:
        return [chunk("Hello", _meta={"took": took})]

    assert told(said(12), said(700)) == []
    assert told(said(12), said("long")) == ["changed agent_message_chunk $.params.update._meta"]
    assert told(said(12), said(700), "strict")


@pytest.mark.parametrize("result", [{"result": {}}, {"error": {"code": 1, "message": "no"}}])
def test_members_that_json_rpc_does_not_have_are_compared(result: dict[str, Json]) -> None:
    def said(**more: Json) -> list[Said]:
        return [ask("client", 1, "initialize"), ("agent", {"id": 1, **result, **more})]

    assert told(said(), said(trace=5)) == ["changed response to initialize $.trace"]
    assert told(said(trace=5), said(trace=6)) == ["changed response to initialize $.trace"]


def test_the_shape_has_what_does_not_depend_on_the_model() -> None:
    def said(*kinds: str, load: bool = False, text: Json = "one") -> list[Said]:
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in kinds]
        capabilities = {"agentCapabilities": {"loadSession": load}}
        return [
            ask("client", 1, "initialize", protocolVersion=1),
            answer("agent", 1, {"protocolVersion": 1, **capabilities}),
            ask("agent", 1, "session/request_permission", sessionId="s1", options=options),
            update("agent_message_chunk", content={"type": "text", "text": text}),
        ]

    usual = said("allow_once", "reject_once")
    assert told(usual, said("allow_once", "reject_once", "reject_once", text="two"), "shape") == []
    for other, path in (
        (said("allow_once", "reject_always"), "$.params.options[1].kind"),
        (said("allow_once", "reject_once", load=True), "$.result.agentCapabilities.loadSession"),
        (said("allow_once", "reject_once", text=5), "$.params.update.content.text"),
    ):
        assert [each.path for each in found(frames(*usual), frames(*other), "shape")] == [path]
