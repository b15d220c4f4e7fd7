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

from acp_inspector.compare.diff import compare
from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.tolerances import TOLERANCES, tolerated_text
from acp_inspector.compare.tolerances import ToleranceName as Tolerance
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
        states("pending", "pending", "in_progress", "in_progress", "pending"),
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
    "relative-titles": (
        opened("/home/ada/repo", update("tool_call", **CALL, title="src/a.py")),
        opened("/srv/w", update("tool_call", **CALL, title="w/src/a.py")),
        opened("/srv/w", update("tool_call", **CALL, title="x/src/a.py")),
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
    ("left", "right", "tolerated"),
    [
        ("Edit ...-of-ada/p1/src/x.py", "Edit ...of-bob/p12/src/x.py", {"cut-titles": 1}),
        ("Edit …a/p1/src/x.py", "Edit …b/p12/src/x.py", None),
        ("Edit …da/p1/src/x.py", "Edit …b/p12/src/x.py", {"cut-titles": 1}),
        # Cut in the longer directory alone.
        ("Edit /t/x-of-ada/p1/x.py", "Edit ...x-of-bob/p12/x.py", {"cut-titles": 1}),
        ("Edit /t/x-of-ada/p1/x.py", "Edit ...bob/p12/x.py", None),
        # Another file, another word, or another directory.
        ("Edit ...-of-ada/p1/src/x.py", "Edit ...of-bob/p12/src/y.py", None),
        ("Edit ...-of-ada/p1/src/x.py", "Read ...of-bob/p12/src/x.py", None),
        ("Edit ...-of-ada/p1/src/x.py", "Edit ...of-bob/p13/src/x.py", None),
        ("Edit ...-of-ada/p1/src/x.py", "Edit ...of-bob/p123/src/x.p", None),
        # From the root of the files, of a repository, or of the directory itself.
        ("t/x-of-ada/p1/src/x.py", "t/x-of-bob/p12/src/x.py", {}),
        ("src/x.py", "t/x-of-bob/p12/src/x.py", {"relative-titles": 1}),
        ("p1/src/x.py", "src/x.py", {"relative-titles": 1}),
        ("x-of-ada/p1", "p12", {"relative-titles": 1}),
        ("src/x.py", "t/x-of-bob/p12/src/y.py", None),
        ("src/x.py", "p1/src/x.py", None),
        ("src/x.py", "2/src/x.py", None),
    ],
)
def test_a_title_may_spell_a_path_in_another_way(
    left: str, right: str, tolerated: dict[Tolerance, int] | None
) -> None:
    ours = opened("/t/x-of-ada/p1", update("tool_call", **CALL, title=left))
    theirs = opened("/t/x-of-bob/p12", update("tool_call", **CALL, title=right))
    assert outcome(ours, theirs) == ((1, {}) if tolerated is None else (0, tolerated))


def changes(cwd: str, *names: str, told: str = "abc") -> list[Said]:
    """Return an edit whose input names files by their paths, as keys."""
    files = {f"{cwd}/{name}": {"type": "add", "content": told} for name in names}
    return opened(cwd, update("tool_call", **CALL, rawInput={"changes": files}))


def test_paths_may_be_keys() -> None:
    one = changes("/home/ada/w", "a.txt", "b.txt")
    assert outcome(one, changes("/srv/w", "a.txt", "b.txt")) == (0, {})
    assert outcome(one, changes("/srv/w", "b.txt", "a.txt")) == (0, {})
    assert outcome(one, changes("/srv/w", "a.txt", "c.txt"))[0] == 2
    assert outcome(one, changes("/srv/w", "a.txt", "b.txt", told="x"))[0] == 2
    elsewhere = opened("/srv/w", *changes("/home/ada/w", "a.txt", "b.txt")[2:])
    assert outcome(one, elsewhere)[0] == 4


def test_ids_in_keys_have_to_agree() -> None:
    def talk(call: str, key: str) -> list[Said]:
        return [update("tool_call", toolCallId=call, rawOutput={"calls": {key: 1}, "x": call})]

    one = talk("call_0001", "call_0001")
    assert outcome(one, talk("call_0002", "call_0002")) == (0, {"ids-in-text": 1})
    assert outcome(one, talk("call_0002", "call_0001"))[0] > 0


@pytest.mark.parametrize("text", ["see home/ada/w/x", "(home/ada/w)"])
def test_a_directory_may_lack_its_leading_slash(text: str) -> None:
    ours = opened("/home/ada/w", chunk(text))
    theirs = text.replace("home/ada/w", "srv/x/proj")
    assert outcome(ours, opened("/srv/x/proj", chunk(theirs))) == (0, {})
    assert outcome(ours, opened("/srv/x/proj", chunk(f"/{theirs}")))[0] == 1
    longer = text.replace("home", "my-home"), theirs.replace("srv", "my-srv")
    assert outcome([*ours[:2], chunk(longer[0])], opened("/srv/x/proj", chunk(longer[1])))[0] == 1


def test_a_single_name_is_no_directory() -> None:
    assert outcome(opened("/work", chunk("do work")), opened("/play", chunk("do play")))[0] == 1


QUESTION = ask("agent", 5, "session/request_permission", sessionId="s1", toolCall=CALL)
YES = answer("client", 5, {"outcome": {"outcome": "selected", "optionId": "yes"}})
WRITE = ask("agent", 6, "fs/write_text_file", sessionId="s1", path="/x", content="abc")
WRITTEN = answer("client", 6, {})
BEGUN = update("tool_call", **CALL, title="Write", status="pending")
ENDED = update("tool_call_update", **CALL, status="completed")
SAID = chunk("I will write. ")
DONE = chunk("It is written.")


def named(text: str) -> Said:
    return chunk(text, messageId="m1")


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        # The request is faster than what was streamed before it.
        ([SAID, BEGUN, QUESTION, YES, ENDED], [QUESTION, YES, SAID, BEGUN, ENDED], True),
        ([SAID, BEGUN, QUESTION, YES, ENDED], [SAID, QUESTION, YES, BEGUN, ENDED], True),
        ([SAID, BEGUN, WRITE, WRITTEN, ENDED], [WRITE, WRITTEN, SAID, BEGUN, ENDED], True),
        (
            [QUESTION, YES, SAID, BEGUN, WRITE, WRITTEN, ENDED, DONE],
            [QUESTION, YES, WRITE, WRITTEN, SAID, BEGUN, ENDED, DONE],
            True,
        ),
        # It may come within a message, if the agent names that.
        (
            [*map(named, "abc"), BEGUN, QUESTION, YES, ENDED],
            [named("a"), QUESTION, YES, named("b"), named("c"), BEGUN, ENDED],
            True,
        ),
        # What follows the end of the call cannot precede its request.
        ([BEGUN, QUESTION, YES, ENDED, DONE], [BEGUN, DONE, QUESTION, YES, ENDED], False),
        ([BEGUN, WRITE, WRITTEN, ENDED, DONE], [DONE, BEGUN, WRITE, WRITTEN, ENDED], False),
        # A request of no tool call: the text may be about its response.
        ([WRITE, WRITTEN, DONE], [DONE, WRITE, WRITTEN], False),
        # The agent asks after it has acted.
        ([BEGUN, QUESTION, YES, ENDED], [BEGUN, ENDED, QUESTION, YES], False),
        ([QUESTION, YES, BEGUN, ENDED], [BEGUN, ENDED, QUESTION, YES], False),
        # A state says that the agent waits for a response.
        (
            [BEGUN, update("state_update", state="requires_action"), QUESTION, YES, ENDED],
            [BEGUN, QUESTION, update("state_update", state="requires_action"), YES, ENDED],
            False,
        ),
    ],
)
def test_a_request_of_the_agent_may_pass_what_it_streams_where_nothing_ties_them(
    left: list[Said], right: list[Said], is_equal: bool
) -> None:
    for one, other in ((left, right), (right, left)):
        found = compare(frames(*turn(*one)), frames(*turn(*other)))
        assert [each.kind for each in found.differences] == ([] if is_equal else ["moved"])
        assert not is_equal or "request-order" in found.tolerated


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


def took(seconds: int, **more: Any) -> dict[str, Any]:
    return {"duration": {"secs": seconds, "nanos": 5, **more}}


def test_a_duration_is_a_value_of_a_known_shape() -> None:
    one, other = (output("x", rawOutput=took(seconds)) for seconds in (1, 2))
    assert outcome([one], [other]) == (0, {"shapes": 1})
    strange = [output("x", rawOutput=took(2, more=1)), output("x", rawOutput={"duration": 2})]
    assert [outcome([one], [each])[0] > 0 for each in strange] == [True, True]
    limits = [update("tool_call", **CALL, rawInput=took(seconds)) for seconds in (1, 2)]
    assert outcome(limits[:1], limits[1:])[0] == 1


@pytest.mark.parametrize("type_", [int, str])
def test_a_process_id_may_be_a_text_and_in_input_it_has_to_agree(type_: type) -> None:
    def talk(*ids: int) -> list[Said]:
        return [
            update("tool_call", toolCallId=f"c{n}", rawInput={"process_id": type_(id_)})
            for n, id_ in enumerate(ids)
        ]

    assert outcome(talk(17, 17), talk(4711, 4711)) == (0, {"process-ids": 1})
    assert outcome(talk(17, 17), talk(4711, 4712))[0] == 1
    assert outcome(talk(17, 18), talk(4711, 4711))[0] == 1
    told = [[output("x", rawOutput={"pid": type_(id_)})] for id_ in (17, 4711)]
    assert outcome(*told) == (0, {"process-ids": 1})
    assert outcome(talk(17), [update("tool_call", toolCallId="c0", rawInput={"process_id": "x"})])[
        0
    ]


@pytest.mark.parametrize("value", [{"cost": 12}, {"usage": {"max": 3}}, {"signal": 15}])
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
