"""What people report about recordings that are played again, retold as pairs of conversations.

Each pair is one public report of somebody whose recording or snapshot of a conversation with an
agent or a model was flaky, or passed although something had changed; with made-up names.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.inspector.compare.test_tolerances import CALL, opened, outcome, output, turn
from tests.inspector.talks import Said, answer, ask, chunk, update


def call(id_: str, *more: Said, **members: Any) -> list[Said]:
    return [update("tool_call", toolCallId=id_, title="Run", **members), *more]


def ended(id_: str, status: str = "completed", **members: Any) -> Said:
    return update("tool_call_update", toolCallId=id_, status=status, **members)


def reported(value: Any) -> list[Said]:
    """Return a call with a structured output."""
    return [output("done", rawOutput=value)]


def permitted(*options: tuple[str, str]) -> list[Said]:
    offered = [{"optionId": id_, "name": id_, "kind": kind} for id_, kind in options]
    return [
        ask(
            "agent",
            5,
            "session/request_permission",
            sessionId="s1",
            toolCall=CALL,
            options=offered,
        ),
        answer("client", 5, {"outcome": {"outcome": "selected", "optionId": options[0][0]}}),
    ]


def edited(old: str, new: str) -> list[Said]:
    diff = {"type": "diff", "path": "/w/a.css", "oldText": old, "newText": new}
    return [update("tool_call", **CALL, kind="edit", content=[diff])]


A, B = call("call_aaa1"), call("call_bbb2")
A_ENDED, B_ENDED = ended("call_aaa1"), ended("call_bbb2")
OUTPUTS: Final = {
    "the test runner says how long it took": ("3 passed in 0.02s", "3 passed in 0.13s"),
    "so does the package manager": ("added 5 packages in 812ms", "added 5 packages in 1s"),
    "and the shell": ("real\t0m0.012s\nuser\t0m0.001s", "real\t0m1.100s\nuser\t0m0.031s"),
    "and the wrapper of a tool": ("Wall time: 0.1 seconds", "Wall time: 12.4 seconds"),
    "and each test": ("--- PASS: TestA (0.00s)", "--- PASS: TestA (0.05s)"),
    "a listing has dates": ("rw-r--r-- 12 Nov 28 21:42 a", "rw-r--r-- 12 Dec  3 01:02 a"),
    "the history has dates": (
        "Date:   Sat Nov 28 21:42:47 2026 +0000",
        "Date:   Thu Dec 3 01:02:03 2026 +0100",
    ),
    "a header has one": (
        "date: Sat, 28 Nov 2026 21:42:47 GMT",
        "date: Thu, 03 Dec 2026 01:02:03 GMT",
    ),
    "a log has the time of day": ("[21:42:47.120] built", "[01:02:03.007] built"),
    "a commit has a new digest": (
        "[main (root-commit) 3f2a1bc] add",
        "[main (root-commit) 9e8d7c6] add",
    ),
    "and its whole digest": (f"commit {'3f2a1bc' * 6}"[:47], f"commit {'9e8d7c6' * 6}"[:47]),
    "the server gets a free port": ("on http://127.0.0.1:43123/", "on http://127.0.0.1:51999/"),
    "an object has an address": ("<f at 0x7f1b95cd02c0>", "<f at 0x7f0c11cd9fe0>"),
    "an error names its request": (
        "overloaded (req_011CXabc123DEF)",
        "overloaded (req_011CYxyz987QRS)",
    ),
    "the system is Windows": (
        "C:\\Users\\ada\\AppData\\Local\\Temp\\tmpabc1\\x.py",
        "C:\\Users\\bob\\AppData\\Local\\Temp\\tmpxyz2\\x.py",
    ),
    "a task has an id that begins with its time": (
        "saved 01J9Z3NDEKTSV4RRFFQ69G5FAV",
        "saved 01JB43NDEKTSV4RRFFQ69G5FZZ",
    ),
}
EQUAL: Final[dict[str, tuple[list[Said], list[Said]]]] = {
    **{name: ([output(one)], [output(other)]) for name, (one, other) in OUTPUTS.items()},
    "run times are numbers": (
        reported({"durationMs": 12, "wall_time_seconds": 0.1, "exitCode": 0}),
        reported({"durationMs": 15, "wall_time_seconds": 7.5, "exitCode": 0}),
    ),
    "the answer of the model service is passed on": (
        reported({"id": "msg_01XFDUDYJgAACzvnpt", "see": "msg_01XFDUDYJgAACzvnpt"}),
        reported({"id": "msg_01ABCDYJgAACzvnptq", "see": "msg_01ABCDYJgAACzvnptq"}),
    ),
    "each message has a trace": (
        [chunk("a", _meta={"traceparent": f"00-{'0af7' * 8}-{'b7ad' * 4}-01"})],
        [chunk("a", _meta={"traceparent": f"00-{'1bf8' * 8}-{'c7ad' * 4}-01"})],
    ),
    "two calls run at once and end in another order": (
        turn(*A, *B, A_ENDED, B_ENDED),
        turn(*A, *B, B_ENDED, A_ENDED),
    ),
    "the output of a command is streamed in other pieces": (
        turn(*call("c1"), ended("c1", "in_progress", rawOutput="a"), ended("c1", rawOutput="ab")),
        turn(*call("c1"), ended("c1", "in_progress"), ended("c1", rawOutput="ab")),
    ),
    "the tokens of a reply come in other pieces, one of them empty": (
        turn(chunk("He"), chunk(""), chunk("llo")),
        turn(chunk("Hello")),
    ),
    "the usage is reported once more": (
        turn(chunk("a"), update("usage_update", used=1, size=10), chunk("b"),
             update("usage_update", used=3, size=10)),
        turn(chunk("ab"), update("usage_update", used=4, size=10)),
    ),
    "the title of the session comes while the reply is streamed": (
        turn(update("session_info_update", title="T"), chunk("a")),
        turn(chunk("a"), update("session_info_update", title="T")),
    ),
    "a serializer leaves null out": (call("c1", rawInput=None), call("c1")),
    "the project is checked out elsewhere": (
        opened("/home/ada/shop", output("/home/ada/shop/a.py:3: E1")),
        opened("/builds/42/shop", output("/builds/42/shop/a.py:3: E1")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_what_each_run_has_anew_is_no_difference(name: str) -> None:
    one, other = EQUAL[name]
    assert outcome(one, other)[0] == 0
    assert outcome(other, one)[0] == 0


DIFFERENT: Final[dict[str, tuple[list[Said], list[Said]]]] = {
    "the same tool is called with other input": (
        call("c1", rawInput={"query": "flights"}),
        call("c1", rawInput={"query": "hotels"}),
    ),
    "two calls got the results of each other": (
        turn(*call("c1", rawInput={"q": "a"}), ended("c1", rawOutput="A"),
             *call("c2", rawInput={"q": "b"}), ended("c2", rawOutput="B")),
        turn(*call("c1", rawInput={"q": "a"}), ended("c1", rawOutput="B"),
             *call("c2", rawInput={"q": "b"}), ended("c2", rawOutput="A")),
    ),
    "the agent no longer asks": (
        turn(*call("c1"), *permitted(("yes", "allow_once")), ended("c1")),
        turn(*call("c1"), ended("c1")),
    ),
    "what an option allows has changed, not its name": (
        permitted(("yes", "allow_once"), ("no", "reject_once")),
        permitted(("yes", "allow_always"), ("no", "reject_once")),
    ),
    "a tool is called twice": (turn(*A, A_ENDED), turn(*A, A_ENDED, *B, B_ENDED)),
    "a call that failed is said to be done": (
        turn(*A, ended("call_aaa1", "failed")),
        turn(*A, ended("call_aaa1")),
    ),
    "the reply is empty": (turn(chunk("Done.")), turn()),
    "the turn is refused": (
        turn(chunk("a")),
        [*turn(chunk("a"))[:-1], answer("agent", 1, {"stopReason": "refusal"})],
    ),
    "a limit that the model chose is another one": (
        call("c1", rawInput={"duration": 5, "timeout_ms": 100}),
        call("c1", rawInput={"duration": 9, "timeout_ms": 100}),
    ),
    "an edit writes another time": (
        edited("", "a { transition: opacity (0.5s) }"),
        edited("", "a { transition: opacity (0.8s) }"),
    ),
    "an edit writes another date": (edited("", "due: 28 Nov 2026"), edited("", "due: 3 Dec 2026")),
    "the reply names another date": ([chunk("due 28 Nov 2026")], [chunk("due 3 Dec 2026")]),
    "the server has another name": (
        [output("on http://127.0.0.1:43123/")],
        [output("on http://0.0.0.0:51999/")],
    ),
    "one test more fails": ([output("1 failed in 0.02s")], [output("2 failed in 0.02s")]),
    "the commit is on another branch": (
        [output("[main 3f2a1bc] add")],
        [output("[next 9e8d7c6] add")],
    ),
    "a place in a file is another one": ([output("error at 3:10")], [output("error at 4:11")]),
    "the id that a tool returned is not the one that is used": (
        reported({"id": "run_01XFDUDYJgAACz", "see": "run_01XFDUDYJgAACz"}),
        reported({"id": "run_01ABCDYJgAACzq", "see": "run_01XFDUDYJgAACz"}),
    ),
    "a short random id is no known shape": (
        [output("Scheduled f4af for 02:00")],
        [output("Scheduled 09bc for 02:00")],
    ),
    "a number became a text": (reported({"count": 1}), reported({"count": "1"})),
    "the line ends are those of another system": ([output("a\r\nb")], [output("a\nb")]),
    "a letter is composed in another way": ([chunk("caf\u00e9")], [chunk("cafe\u0301")]),
    "it works in another directory": (
        opened("/home/ada/shop", output("/home/ada/shop/a.py")),
        opened("/builds/42/shop", output("/home/ada/shop/a.py")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_has_changed_is_a_difference(name: str) -> None:
    one, other = DIFFERENT[name]
    assert outcome(one, other)[0] > 0
    assert outcome(other, one)[0] > 0
