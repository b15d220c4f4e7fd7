"""Breakpoints, holds and injected frames, in the order in which they happen."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.filter.errors import FilterError
from acp_inspector.intercept.channel import ChannelClosedError
from acp_inspector.intercept.controller import (
    ABSENCE_S,
    HOLD_TIMEOUT_S,
    MAX_WARNING_CHARS,
    MAX_WARNINGS,
    InterceptController,
    WarnOnce,
)
from acp_inspector.intercept.live_filter import LiveFilters
from acp_inspector.intercept.message import InterceptError
from acp_inspector.journal import Frame
from tests.inspector.intercept.scene import NOTIFICATION, REQUEST, Scene, everything, holding

SOON = 20
"""Seconds after which a thread counts as hung."""


def test_a_held_frame_holds_only_those_behind_it() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("x", holding(b"stop"))
    assert scene.passed("agent", b"one", b"stop", b"two") == [b"one\n"]
    assert scene.passed("client", b"other") == [b"other\n"]
    (hold,) = scene.controller.holds()
    assert (hold.seq, hold.side, hold.raw, hold.waiting) == (2, "agent", b"stop", 1)
    scene.controller.release(hold.id)
    assert scene.out("agent") == [b"stop\n", b"two\n"]
    assert scene.events() == [
        ("held", {"of": 2, "by": "person", "filter": "x"}),
        ("released", {"of": 2, "by": "person"}),
    ]


Decision = Callable[[InterceptController, int], object]


DECISIONS: list[tuple[Decision, list[bytes], list[str]]] = [
    (lambda it, n: it.edit(n, b"{}"), [b"{}\n"], ["edited", "released"]),
    (lambda it, n: it.edit(n, b"{", is_forced=True), [b"{\n"], ["edited", "released"]),
    (lambda it, n: it.edit(n, REQUEST), [REQUEST + b"\n"], ["released"]),
    (lambda it, n: it.discard(n, is_silent=True), [], ["discarded"]),
    (lambda it, n: it.duplicate(n), [REQUEST + b"\n"] * 2, ["duplicated", "released"]),
    (lambda it, n: it.answer(n, result={}), [], ["answered"]),
    (lambda it, n: it.release_all(), [REQUEST + b"\n"], ["released"]),
    (lambda it, n: it.finish(), [REQUEST + b"\n"], ["released"]),
]
SENSELESS: list[Decision] = [
    lambda it, n: it.edit(n, b"{"),
    lambda it, n: it.edit(n, b"{\n}"),
    lambda it, n: it.edit(n, b"{\r}", is_forced=True),
    lambda it, n: it.duplicate(n, 1),
    lambda it, n: it.delay(n, -1),
    lambda it, n: it.delay(n, float("nan")),
    lambda it, n: it.answer(n, result={}),
    lambda it, n: it.release(n + 1),
    lambda it, n: it.read(n + 1),
    lambda it, n: it.extend_timeouts(0),
    lambda it, n: it.extend_timeouts(1e9),
    lambda it, n: it.clear_breakpoint(99),
]


@pytest.mark.parametrize(("decision", "left", "names"), DECISIONS)
def test_a_decision_determines_what_leaves(
    decision: Decision, left: list[bytes], names: list[str]
) -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    assert scene.passed("client", REQUEST) == []
    decision(scene.controller, scene.controller.holds()[0].id)
    assert scene.out("client") == left
    assert [name for name, _ in scene.events("held")] == names
    assert scene.controller.holds() == []


@pytest.mark.parametrize("decision", SENSELESS)
def test_a_decision_that_makes_no_sense_is_refused_and_changes_nothing(decision: Decision) -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("agent", NOTIFICATION)
    with pytest.raises(InterceptError):
        decision(scene.controller, scene.controller.holds()[0].id)
    assert [hold.raw for hold in scene.controller.holds()] == [NOTIFICATION]
    assert scene.events("held") == []


def test_an_edit_is_recorded_with_the_original_even_where_that_is_no_text() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("agent", b"\xff")
    scene.controller.edit(scene.controller.holds()[0].id, b"{}")
    assert ("edited", {"of": 1, "by": "person", "was_b64": "/w==", "now": "{}"}) in scene.events()


def test_a_response_by_hand_reaches_only_the_sender_of_the_request() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", holding(b"prompt"))
    scene.passed("client", REQUEST)
    hold = scene.controller.holds()[0]
    scene.controller.answer(hold.id, error={"code": -1, "message": "no"})
    assert scene.out("client") == []
    (answer,) = scene.out("agent")
    assert json.loads(answer) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -1, "message": "no"},
    }
    injected = [data for name, data in scene.events() if name == "injected"]
    assert [(data["by"], data["answers"]) for data in injected] == [("person", 1)]


def test_the_sender_of_a_discarded_request_gets_an_error() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("client", b"[%b,%b]" % (REQUEST, NOTIFICATION), REQUEST)
    for _ in range(2):
        scene.controller.discard(scene.controller.holds()[0].id)
        assert scene.out("client") == []
    array, single = map(json.loads, scene.out("agent"))
    assert array == [single]
    assert (single["id"], single["error"]["code"]) == (1, -32603)
    assert "discarded" in single["error"]["message"]
    assert [name for name, _ in scene.events("held")] == ["discarded", "discarded"] + [
        "injected"
    ] * 2


def test_discarded_responses_and_notifications_cause_no_error() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("agent", NOTIFICATION)
    scene.controller.discard(scene.controller.holds()[0].id)
    assert scene.out("agent") + scene.out("client") == []


def test_a_delayed_frame_leaves_when_its_time_has_come() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", holding(b"stop"))
    scene.passed("agent", b"stop", b"behind")
    scene.controller.delay(scene.controller.holds()[0].id, 5)
    assert scene.out("agent") == []
    scene.now = 4.9
    assert scene.out("agent") == []
    scene.now = 5
    assert scene.out("agent") == [b"stop\n", b"behind\n"]


def test_a_timeout_releases_the_frame_and_those_that_waited_behind_it() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    assert scene.passed("agent", b"one", b"two") == []
    scene.now = HOLD_TIMEOUT_S - 1
    assert scene.controller.holds()[0].left == pytest.approx(1)
    assert scene.controller.holds()[0].age == pytest.approx(HOLD_TIMEOUT_S - 1)
    scene.controller.heartbeat()
    scene.now = HOLD_TIMEOUT_S
    assert scene.out("agent") == [b"one\n", b"two\n"]
    assert ("released", {"of": 1, "by": "time limit"}) in scene.events()
    assert scene.passed("agent", b"three") == []


def test_a_hold_that_is_too_old_releases_everything_both_ways() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("agent", b"one", b"two")
    scene.now = HOLD_TIMEOUT_S - 1
    scene.passed("client", b"other", b"more")
    scene.now = HOLD_TIMEOUT_S
    assert scene.out("agent") == [b"one\n", b"two\n"]
    assert scene.out("client") == [b"other\n", b"more\n"]


def test_without_observers_traffic_waits_only_once() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything, is_lasting=True)
    scene.now = 1
    assert scene.passed("agent", b"one") == []
    scene.now = 1 + HOLD_TIMEOUT_S
    assert scene.out("agent") == [b"one\n"]
    assert scene.passed("agent", b"two", b"three") == [b"two\n", b"three\n"]
    (warning,) = scene.warnings
    assert "nothing is held until somebody attaches" in warning
    scene.controller.heartbeat()
    assert scene.passed("agent", b"four") == []


@pytest.mark.parametrize(("looked", "holds"), [(ABSENCE_S - 1, True), (ABSENCE_S, False)])
def test_who_is_there_and_does_not_decide_goes_on_holding(looked: float, holds: bool) -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.now = 1
    scene.passed("agent", b"one")
    scene.now = 1 + HOLD_TIMEOUT_S - looked
    scene.controller.heartbeat()
    scene.now = 1 + HOLD_TIMEOUT_S
    assert scene.out("agent") == [b"one\n"]
    assert (scene.passed("agent", b"two") == []) is holds
    assert (scene.warnings == []) is holds


def test_extending_restarts_the_countdown_with_the_given_length() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("agent", b"one")
    scene.now = HOLD_TIMEOUT_S - 1
    scene.controller.extend_timeouts()
    assert scene.controller.holds()[0].left == HOLD_TIMEOUT_S
    scene.controller.extend_timeouts(5)
    assert scene.controller.holds()[0].left == 5
    scene.now += 5
    assert scene.out("agent") == [b"one\n"]
    scene.controller.heartbeat()
    scene.passed("agent", b"two")
    assert scene.controller.holds()[0].left == 5


def test_waiting_for_a_hold_returns_when_there_is_one() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    assert not scene.controller.wait_for_hold(0)
    results: list[bool] = []
    waiter = threading.Thread(target=lambda: results.append(scene.controller.wait_for_hold(SOON)))
    waiter.start()
    scene.passed("agent", b"one")
    waiter.join(SOON)
    assert results == [True]
    (hold,) = scene.controller.holds()
    assert not scene.controller.wait_for_hold(0, after=hold.id)
    assert scene.controller.read(hold.id) == b"one"


def test_when_the_last_observer_leaves_everything_flows_and_only_lasting_breakpoints_stay() -> None:
    scene = Scene()
    lasting = scene.controller.set_breakpoint("a", holding(b"a"), is_lasting=True)
    scene.controller.set_breakpoint("b", holding(b"b"))
    scene.controller.pause()
    assert scene.passed("agent", b"a", b"b", b"c") == []
    scene.controller.observers_left()
    assert scene.out("agent") == [b"a\n", b"b\n", b"c\n"]
    assert scene.controller.breakpoints == (lasting,)
    assert scene.passed("agent", b"b", b"a") == [b"b\n"]


def test_a_pause_holds_both_ways_until_it_ends() -> None:
    scene = Scene()
    scene.controller.pause()
    assert scene.passed("agent", b"a") + scene.passed("client", b"c") == []
    assert [hold.breakpoint for hold in scene.controller.holds()] == [None, None]
    scene.controller.resume()
    assert scene.out("agent") + scene.out("client") == [b"a\n", b"c\n"]
    assert not scene.controller.is_active


def test_a_pause_ends_with_the_timeout_of_its_first_hold() -> None:
    scene = Scene()
    scene.controller.pause()
    scene.passed("agent", b"a")
    scene.now = HOLD_TIMEOUT_S
    assert scene.out("agent") == [b"a\n"]
    assert not scene.controller.is_paused
    assert scene.passed("agent", b"b") == [b"b\n"]


def test_a_breakpoint_is_an_expression_or_what_is_wrong_with_it() -> None:
    scene = Scene()
    with pytest.raises(FilterError):
        scene.controller.set_breakpoint("method ==")
    point = scene.controller.set_breakpoint("method == session/prompt and from == client")
    assert scene.passed("client", NOTIFICATION, REQUEST) == [NOTIFICATION + b"\n"]
    scene.controller.clear_breakpoint(point.id)
    assert len(scene.controller.holds()) == 1
    scene.controller.release_all()
    assert scene.passed("client", REQUEST) == [REQUEST + b"\n", REQUEST + b"\n"]


def test_a_failing_breakpoint_is_reported_once_and_holds_nothing() -> None:
    def broken(frame: Frame) -> bool:
        raise ValueError(frame.seq)

    scene = Scene()
    scene.controller.set_breakpoint("", broken)
    assert scene.passed("agent", b"one", b"two") == [b"one\n", b"two\n"]
    assert scene.warnings == ["breakpoint 1 failed and is skipped: ValueError: 1"]


def test_forwarders_pass_chunks_while_nothing_intercepts() -> None:
    scene = Scene()
    channel = scene.controller.channels["agent"]
    assert not channel.wants_frames
    point = scene.controller.set_breakpoint("", everything)
    assert channel.wants_frames
    scene.passed("agent", b"one")
    scene.controller.clear_breakpoint(point.id)
    assert channel.wants_frames, "one is still held"
    scene.controller.release_all()
    scene.out("agent")
    assert not channel.wants_frames


def test_an_injected_request_gets_an_id_of_its_own_and_its_answer_for_itself() -> None:
    scene = Scene()
    injection = scene.controller.inject("client", REQUEST + b"\n")
    (line,) = scene.out("client")
    request = json.loads(line)
    assert request == json.loads(REQUEST) | {"id": injection.id}
    answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": 7}).encode()
    assert scene.passed("agent", b"before", answer, b"behind") == [b"before\n", b"behind\n"]
    assert injection.wait_for_response(0) == answer
    assert scene.events() == [
        ("injected", {"of": 1, "by": "person"}),
        ("discarded", {"of": 4, "by": "person", "answers": 1}),
    ]
    assert not scene.controller.is_active
    # The same id in the other direction is somebody else's.
    assert scene.passed("client", answer) == [answer + b"\n"]


def test_an_injected_frame_overtakes_what_is_held() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("agent", b"held")
    injection = scene.controller.inject("agent", b"no JSON at all")
    assert scene.out("agent") == [b"no JSON at all\n"]
    assert (injection.id, injection.seq) == (None, 3)


def test_an_injection_of_several_lines_has_to_be_meant() -> None:
    scene = Scene()
    with pytest.raises(InterceptError):
        scene.controller.inject("agent", b"one\ntwo")
    injection = scene.controller.inject(
        "agent", NOTIFICATION + b"\n" + REQUEST + b"\n", is_forced=True
    )
    notification, request = scene.out("agent")
    assert notification == NOTIFICATION + b"\n"
    assert json.loads(request)["id"] == injection.id, "each line is a frame"


def test_nothing_can_be_injected_where_nothing_leaves_any_more() -> None:
    scene = Scene()
    scene.controller.channels["agent"].end()
    scene.out("agent")
    with pytest.raises(ChannelClosedError):
        scene.controller.inject("agent", NOTIFICATION)


IDS = st.one_of(
    st.integers(),
    st.none(),
    st.text(max_size=5),
    # What a peer would use that wanted to collide.
    st.builds("acp-console-t{}-{}".format, st.integers(0, 3), st.integers(1, 4)),
)


@given(st.lists(st.one_of(IDS, st.just("inject")), max_size=30))
def test_an_id_of_ours_is_never_one_that_was_seen(traffic: list[object]) -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", lambda frame: False)
    seen: set[object] = set()
    for step in traffic:
        if step == "inject":
            issued = scene.controller.inject("client", REQUEST).id
            assert issued not in seen
            seen.add(issued)
        else:
            seen.add(step)
            request = json.dumps({"jsonrpc": "2.0", "id": step, "method": "x"}).encode()
            assert scene.passed("client", request)[-1] == request + b"\n"


def test_a_person_decides_while_both_directions_run_in_threads() -> None:
    """The real thing: a writer thread each, an injection and a release from a third."""
    scene = Scene()
    scene.controller.set_breakpoint("", holding(b"stop"))
    written: dict[str, list[bytes]] = {"client": [], "agent": []}
    is_held = threading.Event()

    def write(side: str) -> None:
        channel = scene.controller.channels["client" if side == "client" else "agent"]
        while (piece := channel.take()) is not None:
            written[side].append(piece)
            if piece == b"before\n":
                is_held.set()

    threads = [threading.Thread(target=write, args=(side,), daemon=True) for side in written]
    for thread in threads:
        thread.start()
    scene.put("agent", b"before", b"stop", b"behind")
    assert is_held.wait(SOON)
    scene.put("client", b"other")
    scene.controller.inject("agent", b"ours")
    for channel in scene.controller.channels.values():
        channel.end()
    scene.controller.finish()
    for thread in threads:
        thread.join(SOON)
    assert not any(thread.is_alive() for thread in threads)
    assert written["client"] == [b"other\n"]
    assert [line for line in written["agent"] if line != b"ours\n"] == [
        b"before\n",
        b"stop\n",
        b"behind\n",
    ]
    assert b"ours\n" in written["agent"]


@pytest.mark.parametrize("expression", ["", " \t"])
def test_an_empty_breakpoint_is_refused(expression: str) -> None:
    with pytest.raises(FilterError, match="an empty breakpoint would hold everything"):
        Scene().controller.set_breakpoint(expression)


def test_a_breakpoint_with_a_slow_pattern_holds_nothing_and_is_reported_once() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("/((a|a)+)+$/")
    line = b'{"m":"' + b"a" * 60 + b'b"}'
    assert scene.passed("client", line, line) == [line + b"\n"] * 2
    (warning,) = scene.warnings
    assert warning.startswith("breakpoint 1 failed and is skipped: its pattern takes longer")


def test_each_kind_of_failure_is_reported_once_for_each_source() -> None:
    texts: list[str] = []
    warnings = WarnOnce(texts.append)
    for who in ("a", "b"):
        for problem in (ValueError(1), ValueError(2), TypeError(3)):
            warnings.failure(who, problem)
    assert texts == [
        "a failed and is skipped: ValueError: 1",
        "a failed and is skipped: TypeError: 3",
        "b failed and is skipped: ValueError: 1",
        "b failed and is skipped: TypeError: 3",
    ]


def test_our_own_errors_are_reported_without_their_class() -> None:
    texts: list[str] = []
    WarnOnce(texts.append).failure("a", ChannelClosedError("nothing more goes out"))
    assert texts == ["a failed and is skipped: nothing more goes out"]


def test_warnings_are_short_and_safe_to_show() -> None:
    texts: list[str] = []
    WarnOnce(texts.append).warn("\x1b[2J" + "x" * 10 * MAX_WARNING_CHARS)
    assert len(texts[0]) <= MAX_WARNING_CHARS
    assert "\x1b" not in texts[0]


def test_there_is_an_end_to_it_and_a_broken_ear_stops_nothing() -> None:
    texts: list[str] = []

    def warn(text: str) -> None:
        texts.append(text)
        raise OSError(text)

    warnings = WarnOnce(warn)
    for number in range(MAX_WARNINGS + 10):
        warnings.once(str(number), "x")
    assert len(texts) == MAX_WARNINGS


def test_an_exception_whose_text_fails_is_reported_too() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    texts: list[str] = []
    WarnOnce(texts.append).failure("a", MuteError())
    assert texts == ["a failed and is skipped: MuteError: without a message"]


# Dialects.


def test_a_response_to_an_injected_frame_is_matched_by_what_it_means() -> None:
    scene = Scene(filters=LiveFilters("continuum"))
    scene.controller.set_breakpoint("$.result.modes.currentModeId == ask")
    ask = b'{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"mode":"ask"}}'
    scene.controller.inject("client", ask, keeps_id=True)
    assert scene.out("client") == [ask + b"\n"]
    scene.passed("agent", b'{"jsonrpc":"2.0","id":"n","result":{"sessionId":"s","mode":"ask"}}')
    assert [hold.seq for hold in scene.controller.holds()] == [3]


def test_a_breakpoint_that_is_set_while_all_is_paused_matches_what_waits() -> None:
    scene = Scene()
    frames: list[Frame] = []
    scene.filters = LiveFilters(earlier=lambda: frames)
    scene.open()
    asked = b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mode":"ask"}}'
    scene.passed("client", asked)
    scene.controller.pause()
    scene.passed("agent", NOTIFICATION)
    answered = b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","mode":"ask"}}'
    scene.put("agent", answered)
    frames += [each for each in scene.journal.entries if isinstance(each, Frame)]
    scene.controller.set_breakpoint("$.result.modes.currentModeId == ask")
    scene.controller.resume()
    assert scene.out("agent") == [NOTIFICATION + b"\n"]
    assert [hold.raw for hold in scene.controller.holds()] == [answered]
