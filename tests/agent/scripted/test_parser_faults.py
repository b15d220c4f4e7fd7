"""How faults are written."""

from __future__ import annotations

import signal

import pytest

from acp_agent.scripted import faults
from acp_agent.scripted.faults import FaultTarget, FrameFault
from acp_agent.scripted.parser import FAULTS, read_scenario
from acp_agent.scripted.wire import CrashExit, HangExit

SAMPLES: dict[str, list[tuple[str, FrameFault]]] = {
    "delay": [
        ("0.5", faults.DelayFault(0.5, 0.0)),
        ("{ seconds = 1, jitter = 2 }", faults.DelayFault(1.0, 2.0)),
    ],
    "drop": [("true", faults.DropFault())],
    "duplicate": [("true", faults.DuplicateFault(2)), ("3", faults.DuplicateFault(3))],
    "reorder": [
        ("true", faults.ReorderFault(1, None, 5.0)),
        ("3", faults.ReorderFault(3, None, 5.0)),
        ("{ of = 'answer', seconds = 1 }", faults.ReorderFault(1, "answer", 1.0)),
    ],
    "split": [
        ("'characters'", faults.SplitFault("characters", 0.001)),
        ("{ bytes = 2, pause = 1 }", faults.SplitFault(2, 1.0)),
    ],
    "throttle": [("100", faults.ThrottleFault(100))],
    "cut": [("0", faults.CutFault(0))],
    "corrupt": [
        ("true", faults.CorruptFault(1, "flip")),
        ("{ bytes = 2, mode = 'replace' }", faults.CorruptFault(2, "replace")),
    ],
    "invalid": [("true", faults.InvalidUtf8Fault())],
    "noise": [
        ("true", faults.NoiseFault(None, newline=True)),
        ("'a'", faults.NoiseFault(b"a", newline=True)),
        ("{ hex = 'ff', newline = false }", faults.NoiseFault(b"\xff", newline=False)),
    ],
    "ending": [
        ("'crlf'", faults.LineEndingFault(b"\r\n")),
        ("'none'", faults.LineEndingFault(b"")),
    ],
    "length": [("-3", faults.WrongLengthFault(-3)), ("{ by = 5 }", faults.WrongLengthFault(5))],
    "spelling": [("'ascii'", faults.EncodingFault("ascii"))],
    "pad": [("1000", faults.PadFault(1000))],
    "nest": [("1000", faults.NestFault(1000))],
    "crash": [
        ("true", faults.ExitFault(CrashExit(code=1))),
        ("0", faults.ExitFault(CrashExit(code=0))),
        ("'KILL'", faults.ExitFault(CrashExit(signal=signal.SIGKILL))),
        ("{ signal = 'SIGSEGV' }", faults.ExitFault(CrashExit(signal=signal.SIGSEGV))),
    ],
    "hang": [
        ("true", faults.ExitFault(HangExit(600.0))),
        ("3", faults.ExitFault(HangExit(3.0))),
        (
            "{ seconds = 3, ignore = ['TERM', 'HUP'] }",
            faults.ExitFault(HangExit(3.0, (signal.SIGTERM, signal.SIGHUP))),
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
    assert prompt.answer.faults == prompt.steps[0].faults == (fault,)
    assert scenario.fault_rules[0].faults == (fault,)


def test_an_aim_is_read() -> None:
    scenario, _ = read_scenario(
        "[[fault]]\nmethod = 'm'\nupdate = 'u'\nof = 'answer'\nafter = 1\nfirst = 2\nevery = 3\n"
        "probability = 0.5\ndrop = true\n"
    )
    assert scenario.fault_rules[0].aim == FaultTarget("m", "u", "answer", 1, 2, 3, 0.5)


def test_faults_happen_in_the_order_in_which_they_are_written() -> None:
    scenario, _ = read_scenario("start = [{ text = 'a', pad = 10, invalid = true }]")
    assert scenario.start[0].faults == (faults.PadFault(10), faults.InvalidUtf8Fault())


def test_each_fault_has_dice_of_its_own() -> None:
    scenario, _ = read_scenario("[[fault]]\ndrop = true\n[[fault]]\ndrop = true\n")
    first, second = scenario.fault_rules
    assert first.random.random() != second.random.random()
