"""How faults are written."""

from __future__ import annotations

import signal

import pytest

from acp_agent.scripted import faults
from acp_agent.scripted.faults import FAULTS, FrameFault
from acp_agent.scripted.scenario import read_scenario

SAMPLES: dict[str, list[tuple[str, FrameFault]]] = {
    "delay": [
        ("0.5", faults.DelayFault(seconds=0.5, jitter=0.0)),
        ("{ seconds = 1, jitter = 2 }", faults.DelayFault(seconds=1.0, jitter=2.0)),
    ],
    "drop": [("true", faults.DropFault())],
    "duplicate": [
        ("true", faults.DuplicateFault(times=2)),
        ("3", faults.DuplicateFault(times=3)),
    ],
    "reorder": [
        ("true", faults.ReorderFault(frames=1, of=None, seconds=5.0)),
        ("3", faults.ReorderFault(frames=3, of=None, seconds=5.0)),
        (
            "{ of = 'answer', seconds = 1 }",
            faults.ReorderFault(frames=1, of="answer", seconds=1.0),
        ),
    ],
    "split": [
        ("'characters'", faults.SplitFault(bytes="characters", pause=0.001)),
        ("{ bytes = 2, pause = 1 }", faults.SplitFault(bytes=2, pause=1.0)),
    ],
    "throttle": [("100", faults.ThrottleFault(rate=100))],
    "cut": [("0", faults.CutFault(bytes=0))],
    "corrupt": [
        ("true", faults.CorruptFault(bytes=1, mode="flip")),
        ("{ bytes = 2, mode = 'replace' }", faults.CorruptFault(bytes=2, mode="replace")),
    ],
    "invalid": [("true", faults.InvalidUtf8Fault())],
    "noise": [
        ("true", faults.NoiseFault(newline=True)),
        ("'a'", faults.NoiseFault(text="a", newline=True)),
        (
            "{ hex = 'ff', newline = false }",
            faults.NoiseFault.model_validate({"hex": "ff", "newline": False}),
        ),
    ],
    "ending": [("'crlf'", faults.LineEndingFault.model_validate({"as": "crlf"}))],
    "length": [
        ("-3", faults.WrongLengthFault(by=-3)),
        ("{ by = 5 }", faults.WrongLengthFault(by=5)),
    ],
    "spelling": [("'ascii'", faults.EncodingFault.model_validate({"as": "ascii"}))],
    "pad": [("1000", faults.PadFault(bytes=1000))],
    "nest": [("1000", faults.NestFault(depth=1000))],
    "crash": [
        ("true", faults.CrashFault(code=1)),
        ("0", faults.CrashFault(code=0)),
        ("'KILL'", faults.CrashFault.model_construct(code=1, signal=signal.SIGKILL)),
        (
            "{ signal = 'SIGSEGV' }",
            faults.CrashFault.model_construct(code=1, signal=signal.SIGSEGV),
        ),
    ],
    "hang": [
        ("true", faults.HangFault(seconds=600.0)),
        ("3", faults.HangFault(seconds=3.0)),
        (
            "{ seconds = 3, ignore = ['TERM', 'HUP'] }",
            faults.HangFault.model_construct(seconds=3.0, ignore=[signal.SIGTERM, signal.SIGHUP]),
        ),
    ],
}


def test_every_fault_has_a_sample() -> None:
    assert set(SAMPLES) == set(FAULTS)


@pytest.mark.parametrize(
    ("word", "value", "fault"),
    [(word, value, fault) for word, all_ in SAMPLES.items() for value, fault in all_],
)
def test_a_fault_is_read_behind_a_step_an_answer_and_for_any_frame(
    word: str, value: str, fault: FrameFault
) -> None:
    shown = f"{word} = {value}"
    text = f"[[prompt]]\n{shown}\nsteps = [{{ text = 'a', {shown} }}]\n[[fault]]\n{shown}\n"
    text = 'framing = "content-length"\n' + text if word == "length" else text
    scenario, remarks = read_scenario(text)
    assert not remarks
    (prompt,) = scenario.reactions
    assert prompt.faults == prompt.steps[0].faults == [fault]
    assert scenario.fault[0].faults == [fault]


def test_an_aim_is_read() -> None:
    scenario, _ = read_scenario(
        "[[fault]]\nmethod = 'm'\nupdate = 'u'\nof = 'answer'\nafter = 1\nfirst = 2\nevery = 3\n"
        "probability = 0.5\ndrop = true\n"
    )
    assert scenario.fault[0].model_dump(exclude=set(FAULTS)) == {
        "method": "m",
        "update": "u",
        "of": "answer",
        "after": 1,
        "first": 2,
        "every": 3,
        "probability": 0.5,
    }


def test_faults_happen_in_the_order_in_which_they_are_written() -> None:
    scenario, _ = read_scenario("start = [{ text = 'a', pad = 10, invalid = true }]")
    assert scenario.start[0].faults == [faults.PadFault(bytes=10), faults.InvalidUtf8Fault()]
