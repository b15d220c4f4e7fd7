"""What is said of the end of a tool call: only what was sent."""

from __future__ import annotations

from typing import Any

import pytest

from acp_console.wording.calls import call_result, kind_word
from acp_console.wording.values import format_clock, format_seconds
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import ToolCallItem
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from tests.inspector.talks import Said, answer, ask, frames, prompt, update

ALLOWED = {"outcome": {"outcome": "selected", "optionId": "yes"}}
PYTEST = "F....\nFAILED test_a.py::test_b\n1 failed, 4 passed in 3.10s\n"


def folded(*timed: tuple[float, Said]) -> Conversations:
    conversations = Conversations()
    for (at, _), frame in zip(timed, frames(*(said for _, said in timed)), strict=True):
        conversations.apply(type(frame)(frame.seq, at, frame.side, frame.data))
    return conversations


def the_call(*timed: tuple[float, Said]) -> ToolCallItem:
    (call,) = (each for each in folded(*timed).get("s1").items if isinstance(each, ToolCallItem))
    return call


def call(status: str = "pending", **more: Any) -> Said:
    return update("tool_call", toolCallId="c", status=status, **more)


def then(status: str, **more: Any) -> Said:
    return update("tool_call_update", toolCallId="c", status=status, **more)


def text(words: str) -> Json:
    return [{"type": "content", "content": {"type": "text", "text": words}}]


def done(status: str = "completed", **more: Any) -> list[str]:
    """Return what is said of a call that took 3.14 seconds."""
    return call_result(
        the_call((0, prompt(1, "go")), (1, call("in_progress")), (4.14, then(status, **more)))
    ).parts


def test_time_counts_from_the_begin_of_the_work_and_without_what_the_user_took() -> None:
    request = ask("agent", 1, "session/request_permission", sessionId="s1",
                  toolCall={"toolCallId": "c"})  # fmt: skip
    asked = [(0, prompt(1, "go")), (1, call()), (2, request), (9, answer("client", 1, ALLOWED))]
    assert call_result(the_call(*asked, (9.25, then("completed")))).took == "250 ms"
    started = [(0, prompt(1, "go")), (1, call()), (5, then("in_progress"))]
    assert call_result(the_call(*started, (7, then("completed")))).took == "2.0 s"
    # It runs.
    assert call_result(the_call(*started)).parts == []


def test_nothing_is_said_of_the_time_of_a_call_that_comes_with_its_end_or_is_repeated() -> None:
    assert call_result(the_call((0, prompt(1, "go")), (1, call("completed")))).took == ""
    hindsight = (1, call("in_progress")), (1.0004, then("completed"))
    assert call_result(the_call((0, prompt(1, "go")), *hindsight)).took == ""
    # No turn runs: it is the history of the session.
    assert call_result(the_call((1, call()), (1.5, then("completed")))).took == ""


def test_a_moment_before_its_end_a_call_has_no_result() -> None:
    talk = folded((0, prompt(1, "go")), (1, call("in_progress")), (2, then("completed"))).get("s1")
    (before,) = (each for each in talk.at(2).items if isinstance(each, ToolCallItem))
    (after,) = (each for each in talk.at(3).items if isinstance(each, ToolCallItem))
    assert call_result(before).parts == []
    assert call_result(after).parts == ["1.0 s"]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"content": text("a\nb\n")}, ["3.1 s", "2 lines"]),
        ({"content": text("```console\none\n```")}, ["3.1 s", "1 line"]),
        ({"rawOutput": "a\nb"}, ["3.1 s", "2 lines"]),
        ({"rawOutput": [{"query": "q", "result": "a\nb"}]}, ["3.1 s", "2 lines"]),
        ({"rawOutput": {"output": PYTEST, "exitCode": 1}},
         ["1 failed", "exit 1", "3.1 s", "3 lines"]),
        ({"rawOutput": {"output": "", "metadata": {"exit": 2}}}, ["exit 2", "3.1 s"]),
        ({"rawOutput": {"exit_code": 0}}, ["3.1 s"]),
        ({"_meta": {"terminal_exit": {"exit_code": 3}}}, ["exit 3", "3.1 s"]),
        ({"_meta": {"terminal_exit": {"signal": "SIGKILL\x1b"}}}, ["ended by SIGKILL␛", "3.1 s"]),
        # A text that speaks of failures is none, as long as nothing has failed.
        ({"content": text("0 errors, 3 failed earlier")}, ["3.1 s", "1 line"]),
        ({"rawOutput": {"exitCode": "1"}}, ["3.1 s"]),
    ],
)  # fmt: skip
def test_how_a_call_ended_is_what_the_agent_sent(sent: dict[str, Any], said: list[str]) -> None:
    assert done(**sent) == said


def test_a_failed_call_says_what_its_program_counted() -> None:
    assert done("failed", content=text(PYTEST)) == ["1 failed", "3.1 s", "3 lines"]
    assert done("failed", content=text("no such file")) == ["3.1 s", "1 line"]


def test_the_exit_code_of_a_terminal_is_that_of_its_call() -> None:
    def by(side: Side, id_: int, method: str, **params: Any) -> Said:
        return ask(side, id_, method, sessionId="s1", **params)

    shown = the_call(
        (0, prompt(1, "go")),
        (1, by("agent", 1, "terminal/create", command="make")),
        (1, answer("client", 1, {"terminalId": "t"})),
        (2, call("in_progress", content=[{"type": "terminal", "terminalId": "t"}])),
        (3, by("agent", 2, "terminal/output", terminalId="t")),
        (3, answer("client", 2, {"output": "x\ny\n", "exitStatus": {"exitCode": 1}})),
        (4, then("completed")),
    )
    assert call_result(shown).parts == ["exit 1", "2.0 s", "2 lines"]


@pytest.mark.parametrize(
    ("title", "kind", "said"),
    [
        ("Run pytest -q", "execute", ""),
        ("bash: ls", "execute", ""),
        ("ls -la", "execute", "execute"),
        ("cart.py", "read", "read"),
        ("anything", "other", ""),
        ("x", "kind\x1b", "kind␛"),
    ],
)
def test_a_kind_is_said_unless_the_title_says_it(title: str, kind: str, said: str) -> None:
    assert kind_word(the_call((0, call(title=title, kind=kind)))) == said


def test_durations_are_short() -> None:
    times = (0.0004, 0.031, 0.9996, 3.14, 59.94, 59.96, 65, 3723)
    assert [format_seconds(each, is_rough=True) for each in times] == [
        "0 ms", "31 ms", "1.0 s", "3.1 s", "59.9 s", "0:01:00", "0:01:05", "1:02:03",
    ]  # fmt: skip
    assert [format_clock(each) for each in (0, 41.9, 3723)] == ["0:00", "0:41", "1:02:03"]


def test_an_output_may_be_nested_more_deeply_than_calls() -> None:
    nested: Any = "1\n2"
    for _ in range(3000):
        nested = [nested]
    item = ToolCallItem("c")
    item.change(1, status="completed", raw_output=nested)
    assert call_result(item).parts == ["2 lines"]
