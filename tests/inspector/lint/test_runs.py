"""Runs of frames that differ in a text alone are read as if each frame was read by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.lint.context import Context
from acp_inspector.lint.engine import STREAMED, Linter, lint
from acp_inspector.lint.state import LintState
from acp_inspector.messages import TextRun
from acp_inspector.session.items import AgentMessage
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.to_json import session_to_json
from acp_protocol.json_values import as_list, as_object, get
from tests.inspector.lint.talk import Case, Talk, cases

PLAIN = ["a", "b c", "\n", 'say "hi"', "é", "日本", "/home/ada", '"_meta":{}', "x" * 500]
OTHER = ["", "\u0000", "\ud800", "\x7f", "sk-ant-api03-" + "a" * 40, None, 7, ["a"], {"text": "a"}]
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("mark", {}),
    ("eof", {"from": "client"}),
    ("spawn", {}),
    ("ws_message", {"id": 1}),
]
PAUSES = [0.0, 0.0001, 0.01, 0.01, 3.0]


def linted(entries: Sequence[Entry], case: Case, streamed: frozenset[str]) -> list[Any]:
    """Return what is found at each entry, and the rest of the report."""
    linter = Linter(unstable=case.is_unstable, streamed=streamed)
    found = [linter.feed(entry) for entry in entries]
    report = linter.report
    return [*found, linter.finish(), report.counts, report.exercised, report.failed]


def stretched(talk: Talk, random: Random) -> list[Entry]:
    """Return the entries with a few repeated several times, each time with another text."""
    entries = list(talk.entries)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(entries) + 1)
        updates = [each for each in entries if isinstance(each, Frame) and _is_streamed(each)]
        sample = random.choice(updates) if updates and random.random() < 0.6 else _chunk(random)
        entries[at:at] = list(_varied(sample, random))
    pauses = [0.0, *(after.time - before.time for before, after in pairwise(talk.entries))]
    times = accumulate(random.choice([*pauses, *PAUSES]) for _ in entries)
    numbers = range(1, len(entries) + 1)
    return [
        replace(entry, seq=n, time=time)
        for entry, n, time in zip(entries, numbers, times, strict=True)
    ]


def _is_streamed(frame: Frame) -> bool:
    return any(b'"%b"' % name.encode() in frame.data for name in STREAMED)


def _chunk(random: Random) -> Frame:
    content = {"type": "text", "text": "words"}
    if random.random() < 0.3:
        update = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": random.choice(["t1", "call-1"]),
        }
        update["content"] = [{"type": "content", "content": content}]
        if random.random() < 0.5:
            update["status"] = random.choice(["in_progress", "completed", "pending", "paused"])
    else:
        kinds = ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
        update: dict[str, Any] = {"sessionUpdate": random.choice(kinds), "content": content}
        if random.random() < 0.5:
            update["messageId"] = random.choice(["m1", "m2"])
        if random.random() < 0.2:
            update["_meta"] = {"text": "b"}
    params = {"sessionId": random.choice(["s1", "s1", "s1", "s2"]), "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return Frame(0, 0.0, "agent", json.dumps(message).encode())


def _varied(sample: Frame, random: Random) -> Iterator[Entry]:
    """Yield a frame several times, most often with another plain text, and sometimes others."""
    separators = random.choice([None, (",", ":")])
    oddity = random.choice([0.0, 0.2])
    for _ in range(random.randint(2, 8)):
        chance = random.random()
        if chance < oddity / 4:
            yield StderrChunk(0, 0.0, b"a line\n")
        elif chance < oddity / 2:
            name, data = random.choice(EVENTS)
            yield JournalEvent(0, 0.0, name, data)
        value = json.loads(sample.data)
        texts = list(_holders(value))
        if texts:
            texts[0]["text"] = random.choice(OTHER if random.random() < oddity / 2 else PLAIN)
        is_ascii = random.random() < oddity / 4
        text = json.dumps(value, ensure_ascii=is_ascii, separators=separators)
        ending = b"\r\n" if random.random() < oddity / 8 else sample.line_ending
        data = text.encode(errors="backslashreplace")
        yield replace(sample, data=data, line_ending=ending)


def _holders(value: Any) -> Iterator[dict[str, Any]]:
    """Yield each object of a value that has a text."""
    if isinstance(value, dict):
        if isinstance(get(value, "text"), str):
            yield as_object(value)
        for each in as_object(value).values():
            yield from _holders(each)
    for each in as_list(value):
        yield from _holders(each)


properties: Callable[..., Any] = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@properties
@given(st.sampled_from(cases()), st.randoms(use_true_random=False))
def test_findings_in_runs_are_those_of_each_frame(case: Case, random: Random) -> None:
    entries = stretched(case.talk(), random)
    assert linted(entries, case, STREAMED) == linted(entries, case, frozenset())


@properties
@given(st.sampled_from(cases()), st.randoms(use_true_random=False))
def test_conversations_with_runs_are_those_of_each_frame(case: Case, random: Random) -> None:
    entries = stretched(case.talk(), random)
    models = SessionModel(), SessionModel(has_conversations_only=True)
    for model in models:
        model.read(entries)
    whole, quick = (
        [
            [session_to_json(each) for each in model.conversations.at(n).values()]
            for n in range(0, model.n + 1, 5)
        ]
        for model in models
    )
    assert whole == quick
    assert [e.response_frame for e in models[0].exchanges.all] == [
        e.response_frame for e in models[1].exchanges.all
    ]


@pytest.mark.parametrize("said", ["?", "!", "words"])
def test_a_run_that_differs_elsewhere_is_no_run_of_chunks(said: str) -> None:
    def chunk(n: int, note: str) -> Frame:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}}
        params = {"_meta": {"text": note}, "sessionId": "s1", "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        return Frame(n, 0.0, "agent", json.dumps(message).encode())

    # After some frames it is clear that they are of no dialect; only then is a run read at once.
    entries = [chunk(n, note) for n, note in enumerate(25 * "?ab!", start=1)]
    model = SessionModel(has_conversations_only=True)
    model.read(entries)
    (talk,) = model.conversations.at(model.n).values()
    assert [item.text for item in talk.items if isinstance(item, AgentMessage)] == [100 * said]


def test_a_secret_in_the_middle_of_a_run_is_found() -> None:
    (case,) = [case for case in cases() if case.script.__name__ == "no_token_comes_back"]
    talk = case.talk()
    for text in ("Who is it?", "Ada.", "It is ghp_0123456789abcdefghijABCDEFGHIJ012345.", "Ada."):
        talk.say(text)
    found = [each.frames[-1] for each in lint(talk.entries).findings if each.rule.id == "ACP-L348"]
    assert found == [len(talk.entries) - 1]


def test_reading_the_time_of_a_frame_makes_it_particular() -> None:
    context = Context(frame("a"), LintState())
    assert not context.is_particular
    assert context.time == 0.0
    assert context.is_particular


def frame(text: str, seq: int = 1, **more: Any) -> Frame:
    value = {"method": "session/update", "text": text} | more
    return Frame(seq, 0.0, "agent", json.dumps(value, ensure_ascii=False).encode())


@pytest.mark.parametrize("text", ["b", "é", "two\nlines", 'a "word"', "c:\\", "/"])
def test_a_run_goes_on_with_another_plain_text(text: str) -> None:
    run = TextRun.of(frame("a"))
    assert run is not None
    following = frame(text, 2)
    assert run.take(iter([following])) == ([following], None)
    assert (run.text_of(following), run.last, run.length) == (text, following, 2)


def test_a_run_may_begin_with_an_empty_text_but_not_go_on_with_one() -> None:
    run = TextRun.of(frame(""))
    assert run is not None
    assert run.take(iter([frame("b", 2), frame("", 3)])) == ([frame("b", 2)], frame("", 3))


def test_a_run_takes_all_frames_up_to_the_first_that_differs() -> None:
    run = TextRun.of(frame("a"))
    assert run is not None
    entries = [frame("b", 2), frame("c", 3), JournalEvent(4, 0.0, "mark"), frame("d", 5)]
    rest = iter(entries)
    assert run.take(rest) == (entries[:2], entries[2])
    assert run.length == 3
    assert list(rest) == entries[3:]


@pytest.mark.parametrize(
    "other",
    [
        frame("", 2),
        frame("\x01", 2),
        frame("b", 1),
        frame("b", 2**41),
        replace(frame("b", 2), time=float("nan")),
        frame("b", 2, id=1),
        replace(frame("b", 2), side="client"),
        replace(frame("b", 2), line_ending=b"\r\n"),
        replace(frame("b", 2), data=b'{"method": "session/update", "text": "\xff"}'),
        replace(frame("b", 2), data=b'{"method": "session/update", "text": "\\ud800"}'),
        replace(frame("b", 2), data=b'{"method": "session/update", "text": "b", "x": "c"}'),
    ],
    ids=repr,
)
def test_a_run_ends_at_a_frame_that_differs_otherwise(other: Frame) -> None:
    run = TextRun.of(frame("a"))
    assert run is not None
    assert run.take(iter([other])) == ([], other)
    assert run.length == 1
