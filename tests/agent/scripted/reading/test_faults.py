"""How faults are written."""

from __future__ import annotations

import signal

import pytest

from acp_agent.scripted import faults
from acp_agent.scripted.aims import Aim
from acp_agent.scripted.faults import Fault
from acp_agent.scripted.reading.faults import FAULTS
from acp_agent.scripted.reading.file import read_scenario
from acp_agent.scripted.wire import Crash, Hang

SAMPLES: dict[str, list[tuple[str, Fault]]] = {
    "delay": [
        ("0.5", faults.Delay(0.5, 0.0)),
        ("{ seconds = 1, jitter = 2 }", faults.Delay(1.0, 2.0)),
    ],
    "drop": [("true", faults.Drop())],
    "duplicate": [("true", faults.Duplicate(2)), ("3", faults.Duplicate(3))],
    "reorder": [
        ("true", faults.Reorder(1, None, 5.0)),
        ("3", faults.Reorder(3, None, 5.0)),
        ("{ of = 'answer', seconds = 1 }", faults.Reorder(1, "answer", 1.0)),
    ],
    "split": [
        ("'characters'", faults.InPieces("characters", 0.001)),
        ("{ bytes = 2, pause = 1 }", faults.InPieces(2, 1.0)),
    ],
    "throttle": [("100", faults.Throttle(100))],
    "cut": [("0", faults.Cut(0))],
    "corrupt": [
        ("true", faults.Corrupt(1, "flip")),
        ("{ bytes = 2, mode = 'replace' }", faults.Corrupt(2, "replace")),
    ],
    "invalid": [("true", faults.Invalid())],
    "noise": [
        ("true", faults.Noise(None, newline=True)),
        ("'a'", faults.Noise(b"a", newline=True)),
        ("{ hex = 'ff', newline = false }", faults.Noise(b"\xff", newline=False)),
    ],
    "ending": [("'crlf'", faults.Ending(b"\r\n")), ("'none'", faults.Ending(b""))],
    "length": [("-3", faults.WrongLength(-3)), ("{ by = 5 }", faults.WrongLength(5))],
    "spelling": [("'ascii'", faults.Spelling("ascii"))],
    "pad": [("1000", faults.Pad(1000))],
    "nest": [("1000", faults.Nest(1000))],
    "crash": [
        ("true", faults.Meets(Crash(code=1))),
        ("0", faults.Meets(Crash(code=0))),
        ("'KILL'", faults.Meets(Crash(signal=signal.SIGKILL))),
        ("{ signal = 'SIGSEGV' }", faults.Meets(Crash(signal=signal.SIGSEGV))),
    ],
    "hang": [
        ("true", faults.Meets(Hang(600.0))),
        ("3", faults.Meets(Hang(3.0))),
        (
            "{ seconds = 3, ignore = ['TERM', 'HUP'] }",
            faults.Meets(Hang(3.0, (signal.SIGTERM, signal.SIGHUP))),
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
    word: str, value: str, fault: Fault
) -> None:
    said = f"{word} = {value}"
    text = f"[[prompt]]\n{said}\nsteps = [{{ text = 'a', {said} }}]\n[[fault]]\n{said}\n"
    text = 'framing = "content-length"\n' + text if word == "length" else text
    scenario, remarks = read_scenario(text)
    assert not remarks
    (prompt,) = scenario.reactions
    assert prompt.answer.faults == prompt.steps[0].faults == (fault,)
    assert scenario.mishaps[0].faults == (fault,)


def test_an_aim_is_read() -> None:
    scenario, _ = read_scenario(
        "[[fault]]\nmethod = 'm'\nupdate = 'u'\nof = 'answer'\nafter = 1\nfirst = 2\nevery = 3\n"
        "probability = 0.5\ndrop = true\n"
    )
    assert scenario.mishaps[0].aim == Aim("m", "u", "answer", 1, 2, 3, 0.5)


def test_faults_happen_in_the_order_in_which_they_are_written() -> None:
    scenario, _ = read_scenario("start = [{ text = 'a', pad = 10, invalid = true }]")
    assert scenario.start[0].faults == (faults.Pad(10), faults.Invalid())


def test_each_fault_has_dice_of_its_own() -> None:
    scenario, _ = read_scenario("[[fault]]\ndrop = true\n[[fault]]\ndrop = true\n")
    first, second = scenario.mishaps
    assert first.dice.random() != second.dice.random()
