"""What two runs of one conversation may differ in, and what they may not."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.analysis.diff import compare, tolerated_text
from acp_inspector.analysis.id_map import TOLERANCES, IdMap, Tolerance
from acp_inspector.journal import Frame
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

UUIDS = [f"0b0d3d4e-5c1f-4c7e-9d53-00000000000{n}" for n in range(4)]
DIGEST = "5d41402abc4b2a76b9719d911017c59{}"
CALL = {"toolCallId": "call_0001"}


def outcome(left: Sequence[Said], right: Sequence[Said]) -> tuple[int, dict[Tolerance, int]]:
    """Return the number of differences, and what was tolerated."""
    found = compare(frames(*left), frames(*right))
    return len(found.differences), dict(found.tolerated)


def output(text: str, **more: Any) -> Said:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return update("tool_call", **CALL, kind="execute", content=content, **more)


def states(*states: str) -> list[Said]:
    return [update("tool_call", **CALL, status=each) for each in states]


def usage(used: object) -> Said:
    return update("usage_update", used=used, size=200_000)


def turn(*inner: Said) -> list[Said]:
    return [prompt(1, "go"), *inner, answer("agent", 1, {"stopReason": "end_turn"})]


def opened(cwd: str, *inner: Said) -> list[Said]:
    return [
        ask("client", 1, "session/new", cwd=cwd),
        answer("agent", 1, {"sessionId": "s1"}),
        *inner,
    ]


CASES: dict[Tolerance, tuple[list[Said], list[Said], list[Said]]] = {
    # Two that are equal by the rule, and one that differs from the first all the same.
    "ids-in-text": (
        [update("tool_call", toolCallId="call_0001"), chunk("see call_0001.")],
        [update("tool_call", toolCallId="call_0007"), chunk("see call_0007.")],
        [update("tool_call", toolCallId="call_0007"), chunk("see call_0001.")],
    ),
    "shapes": (
        [chunk(f"{UUIDS[0]} at 2026-01-01T10:00:00Z, {DIGEST.format(2)}, 1764189123456")],
        [chunk(f"{UUIDS[1]} at 2026-02-02T12:30:00.5Z, {DIGEST.format(3)}, 1764189999999")],
        [chunk(f"{UUIDS[1]} at noon, {DIGEST.format(3)}, 1764189999999")],
    ),
    "temp-paths": (
        [ask("agent", 1, "fs/read_text_file", sessionId="s1", path="/tmp/run-a1/log.txt")],
        [ask("agent", 1, "fs/read_text_file", sessionId="s1", path="/tmp/run-b2/log.txt")],
        [ask("agent", 1, "fs/read_text_file", sessionId="s1", path="/tmp/run-b2/other.txt")],
    ),
    "usage": (turn(usage(1)), turn(usage(2)), turn(usage("2"))),
    "process-ids": (
        [output("pid 100", rawOutput={"pid": 100})],
        [output("pid 2345", rawOutput={"pid": 2345})],
        [output("pid none", rawOutput={"pid": None})],
    ),
    "late-updates": (
        turn(update("current_mode_update", currentModeId="ask"), chunk("a"), chunk("b")),
        turn(chunk("a"), chunk("b"), update("current_mode_update", currentModeId="ask")),
        turn(chunk("a"), chunk("b"), update("current_mode_update", currentModeId="code")),
    ),
    "call-states": (
        states("pending", "in_progress"),
        states("pending", "pending", "in_progress", "pending"),
        states("pending", "completed", "in_progress"),
    ),
    "replaced-values": (
        [update("tool_call", **CALL, title="Edit"), update("tool_call_update", **CALL, title="E")],
        [update("tool_call", **CALL, title="Read"), update("tool_call_update", **CALL, title="E")],
        [update("tool_call", **CALL, title="Edit"), update("tool_call_update", **CALL, title="R")],
    ),
    "output-lines": ([output("a\nb\nerr\n")], [output("a\nerr\nb\n")], [output("err\nb\na\n")]),
    "request-order": (
        [
            update("tool_call", **CALL, title="Edit"),
            ask("agent", 1, "session/request_permission", sessionId="s1", toolCall=CALL),
        ],
        [
            ask("agent", 1, "session/request_permission", sessionId="s1", toolCall=CALL),
            update("tool_call", **CALL, title="Edit"),
        ],
        [
            ask("agent", 1, "session/request_permission", sessionId="s1", toolCall=CALL),
            update("tool_call", **CALL, title="Read"),
        ],
    ),
    "cut-titles": (
        opened("/home/ada/work", update("tool_call", **CALL, title="Read /home/ada/work/src/m...")),
        opened("/srv/w", update("tool_call", **CALL, title="Read /srv/w/src/main/java...")),
        opened("/srv/w", update("tool_call", **CALL, title="Read /srv/w/src/other/jav...")),
    ),
}  # fmt: skip


def test_every_tolerance_has_a_case() -> None:
    assert CASES.keys() == TOLERANCES


@pytest.mark.parametrize("name", CASES)
def test_a_tolerance_is_reported_can_be_switched_off_and_hides_nothing_else(
    name: Tolerance,
) -> None:
    left, right, other = (frames(*said) for said in CASES[name])
    assert not compare(left, left).tolerated
    tolerant = compare(left, right)
    assert tolerant.differences == ()
    # A value that comes late has only another place in its turn, which is no tolerance to report.
    assert set(tolerant.tolerated) <= {name}
    assert compare(left, right, tolerances=TOLERANCES - {name}).differences
    assert compare(left, other).differences


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        # Cut within the directory.
        ("Read /home/ad...", "Read /srv/w/s...", True),
        ("Read /home/ad…", "Read /srv/w/s…", True),
        ("Edit /home/ad...", "Read /srv/w/s...", False),
        # Not cut to one length, or not cut at all.
        ("Read /home/ada/work/a...", "Read /srv/w/a.py...", False),
        ("Read /home/ada/work/a", "Read /srv/w/a.py.java", False),
        # No directory explains it.
        ("Read it in th...", "Read it in a ...", False),
        ("Read /home/ad...", "Read /etc/pas...", False),
        # What only begins like a directory is none.
        ("Read lib/h...", "Read lib/s...", False),
        ("See https://h...", "See https://s...", False),
        ("Read /home/...", "Read /srvx/...", False),
        ("Read /home/ada/workshop/a...", "Read /srv/w/workshop/abcd...", False),
        # The mark is another one, or a command follows instead of a path.
        ("Read /home/ad...", "Read /srv/w/sr…", False),
        ("Read /home/ada/work...", "Run /srv/w && rm x...", False),
        ("Run /home/ada/work...", "Run /srv/w && rm x...", False),
        ('Run {"in": "/home/ada/work", "a...', 'Run {"in": "/srv/w", "all": tru...', True),
    ],
)
def test_a_title_may_be_cut_behind_another_directory(left: str, right: str, is_equal: bool) -> None:
    ours = opened("/home/ada/work", update("tool_call", **CALL, title=left))
    theirs = opened("/srv/w", update("tool_call", **CALL, title=right))
    assert outcome(ours, theirs) == ((0, {"cut-titles": 1}) if is_equal else (1, {}))


def test_a_cut_title_explains_nothing_if_the_directory_is_the_same() -> None:
    titles = "Run /home/ada/rm -...", "Run /home/ada/rm /..."
    ours, theirs = (opened("/home/ada", update("tool_call", **CALL, title=each)) for each in titles)
    assert outcome(ours, theirs) == (1, {})


def test_a_cut_title_may_name_any_of_several_directories() -> None:
    def talk(*directories: str, title: str) -> list[Said]:
        said: list[Said] = []
        for n, directory in enumerate(directories, start=1):
            said.append(ask("client", n, "session/new", cwd=directory))
            said.append(answer("agent", n, {"sessionId": f"s{n}"}))
        return [*said, update("tool_call", **CALL, title=title)]

    ours = talk("/home/ada/one", "/home/ada/two", "/home/ada/two/sub", title="Read /home/ada/...")
    for place in ("/srv/one/", "/srv/two/", "/srv/two/s"):
        theirs = talk("/srv/one", "/srv/two", "/srv/two/sub", title=f"Read {place:x<10}...")
        assert outcome(ours, theirs)[0] == 0, place


@pytest.mark.parametrize(
    "titled",
    [
        update("tool_call", **CALL, rawInput={"title": "Read /home/ad..."}),
        update("session_info_update", title="Read /home/ad..."),
        ask("agent", 1, "x/ask", sessionId="s1", title="Read /home/ad..."),
        ask("client", 2, "session/set_title", sessionId="s1", title="Read /home/ad..."),
    ],
    ids=["input", "session", "request", "client"],
)
def test_only_titles_of_tool_calls_may_be_cut(titled: Said) -> None:
    side, message = titled
    other = json.loads(json.dumps(message).replace("/home/ad", "/srv/w/s"))
    assert outcome(opened("/home/ada/work", titled), opened("/srv/w", (side, other)))[0] == 1


@pytest.mark.parametrize("value", [{"cost": 12}, {"usage": {"max": 3}}, {"pid": 4711}])
def test_numbers_in_the_input_of_a_tool_are_compared(value: dict[str, Any]) -> None:
    def inputs(value: dict[str, Any]) -> list[Said]:
        return [
            update("tool_call", toolCallId="call_0001", rawInput=value),
            ask("agent", 1, "session/request_permission", toolCall={"rawInput": value}),
            ask("agent", 2, "terminal/create", sessionId="s1", **value),
        ]

    other = json.loads(re.sub(r"\d", "9", json.dumps(value)))
    assert outcome(inputs(value), inputs(other)) == (3, {})


def test_what_was_tolerated_is_reported_in_words() -> None:
    _, tolerated = outcome(*CASES["shapes"][:2])
    assert tolerated_text(tolerated) == "4 values bound by shape"
    assert tolerated_text({"usage": 1, "late-updates": 2}) == "1 usage number, 2 updates late"


def test_an_update_that_comes_in_the_next_turn_is_late() -> None:
    def talk(early: bool) -> list[Said]:
        commands = update("available_commands_update", availableCommands=[{"name": "x"}])
        first = turn(commands, chunk("a")) if early else turn(chunk("a"))
        second = [prompt(2, "again"), *([] if early else [commands]), chunk("b")]
        return [*first, *second]

    assert outcome(talk(early=True), talk(early=False)) == (0, {"late-updates": 1})
    assert outcome(talk(early=True), talk(early=True)[:1] + talk(early=True)[2:])[0] == 1


def test_a_value_bound_by_shape_has_to_agree_wherever_it_is() -> None:
    one = [chunk(f"{UUIDS[0]} and"), update("plan", entries=[{"content": UUIDS[0]}])]
    same = [chunk(f"{UUIDS[1]} and"), update("plan", entries=[{"content": UUIDS[1]}])]
    other = [chunk(f"{UUIDS[1]} and"), update("plan", entries=[{"content": UUIDS[2]}])]
    assert outcome(one, same)[0] == 0
    assert outcome(one, other)[0] == outcome(other, one)[0] == 1


def test_times_of_one_run_may_be_one_time_in_the_other_if_they_are_close() -> None:
    def talk(*seconds: int) -> list[Said]:
        return [chunk(" ".join(f"2026-01-01T10:00:{each:02}Z" for each in seconds))]

    assert outcome(talk(1, 1), talk(7, 8))[0] == 0
    assert outcome(talk(1, 1), talk(7, 40))[0] == 1


def test_an_id_in_a_uuid_field_agrees_with_the_same_uuid_in_a_text() -> None:
    def talk(id_: str, mentioned: str) -> list[Said]:
        return [chunk(f"log of {mentioned}", session=id_)]

    assert outcome(talk(UUIDS[0], UUIDS[0]), talk(UUIDS[1], UUIDS[1]))[0] == 0
    assert outcome(talk(UUIDS[0], UUIDS[0]), talk(UUIDS[1], UUIDS[2]))[0] == 1


def test_a_cancelled_request_is_the_one_of_that_id() -> None:
    def talk(first: int, second: int, cancelled: int) -> list[Said]:
        cancel: Said = "agent", {"method": "$/cancel_request", "params": {"requestId": cancelled}}
        return [ask("agent", first, "a/b"), ask("agent", second, "c/d"), cancel]

    assert outcome(talk(1, 2, 2), talk(7, 8, 8))[0] == 0
    assert outcome(talk(1, 2, 2), talk(7, 8, 7))[0] >= 1


def test_short_ids_stay_ordinary_words_in_texts() -> None:
    one = [update("tool_call", toolCallId="1"), chunk("1 file")]
    other = [update("tool_call", toolCallId="2"), chunk("1 file")]
    assert outcome(one, other) == (0, {})


def test_the_history_that_a_load_replays_has_tool_calls_of_its_own() -> None:
    call = update("tool_call", **CALL, title="Edit", status="completed")
    load = [ask("client", 5, "session/load", sessionId="s1"), call, answer("agent", 5, {})]
    whole = [*turn(call), *load]
    assert outcome(whole, [each for at, each in enumerate(whole) if at != 4])[0] == 1


def test_a_placeholder_and_a_uuid_are_bound_in_one_text() -> None:
    recorded = frames(chunk(f"{UUIDS[0]}: «secret:1»"))
    for live, count in ((f"{UUIDS[1]}: abc", 0), (f"{UUIDS[1]}! abc", 1)):
        found = compare(recorded, frames(chunk(live)), ids=IdMap(is_redacted=True))
        assert len(found.differences) == count


# A property: consistent renaming and any order that causality allows change nothing.

WORDS = st.text("abc \n", max_size=12)


@st.composite
def conversations(draw: st.DrawFn) -> list[list[Said]]:
    """Draw the lanes of a conversation of two sessions: each lane keeps its order."""
    lanes: list[list[Said]] = []
    for session in ("session-0001", "session-0002"):
        lane: list[Said] = []
        for number in range(draw(st.integers(1, 2))):
            lane.append(prompt(100 * len(lanes) + number, draw(WORDS), session=session))
            for at in range(draw(st.integers(0, 3))):
                id_ = f"call_{len(lanes)}{number}{at}9"
                lane += [
                    chunk(draw(WORDS) + f" {id_} ", session=session),
                    update("tool_call", session=session, toolCallId=id_, status="pending"),
                    update("tool_call_update", session=session, toolCallId=id_, status="completed"),
                ]
            stop = {"stopReason": "end_turn", "_meta": {"run": UUIDS[draw(st.integers(0, 3))]}}
            lane.append(answer("agent", 100 * len(lanes) + number, stop))
        lanes.append(lane)
    return lanes


def renamed(said: Sequence[Said]) -> list[Said]:
    """Return the same with other ids, everywhere."""
    text = json.dumps(said)
    for old, new in (("session-000", "sitting-77"), ("0b0d3d4e", "ffffffff")):
        text = text.replace(old, new)
    text = re.sub(r"call_(?=\d)", "toolu_", text)
    return [(side, message) for side, message in json.loads(text)]


@given(conversations(), st.randoms(use_true_random=False))
def test_other_ids_and_another_interleaving_are_no_difference(
    lanes: list[list[Said]], random: Any
) -> None:
    one = [each for lane in lanes for each in lane]
    lanes = [list(lane) for lane in lanes]
    first = [lane.pop(0) for lane in lanes]
    other = first
    while any(lanes):
        other.append(random.choice([lane for lane in lanes if lane]).pop(0))
    left, right = frames(*one), frames(*renamed(other))
    assert compare(left, right).differences == ()
    assert compare(right, left).differences == ()


@given(conversations(), st.data())
def test_a_conversation_with_another_text_differs(
    lanes: list[list[Said]], data: st.DataObject
) -> None:
    said = frames(*(each for lane in lanes for each in lane))
    at = data.draw(st.integers(0, len(said) - 1))
    frame = said[at]
    changed: list[Frame] = [
        *said[:at],
        replace(frame, data=frame.data.replace(b'text": "', b'text": "X')),
        *said[at + 1 :],
    ]
    assert bool(compare(said, changed).differences) == (changed[at].data != frame.data)
