"""How steps are written."""

from __future__ import annotations

import pytest

from acp_agent.scripted.faults import DuplicateFault, SplitFault
from acp_agent.scripted.run import Step
from acp_agent.scripted.scenario import read_scenario
from acp_agent.scripted.steps import ACTIONS, FaultStep
from acp_protocol.user_files.toml_source import InvalidFileError

SAMPLES: dict[str, str] = {
    "run": "['echo', 'a']",
    "terminal": "'a'",
    "tool": "'a'",
    "permission": "'a'",
    "read": "'/a'",
    "write": "'/a'",
    "elicit": "'who?'",
    "ask": "'a/b'",
    "tell": "'a/b'",
    "text": "'a'",
    "thought": "'a'",
    "user": "'a'",
    "block": "{ type = 'text', text = 'a' }",
    "plan": "['a']",
    "update": "{ sessionUpdate = 'plan' }",
    "mode": "'ask'",
    "commands": "['a']",
    "state": "'idle'",
    "title": "'a'",
    "frame": "'null'",
    "line": "'a'",
    "raw": "'a'",
    "hex": "'ff 0a'",
    "stderr": "'a'",
    "wait": "1.5",
    "close": "'stdout'",
    "batch": "[{ text = 'a' }]",
    "one_of": "[[{ text = 'a' }], []]",
    "beside": "[[{ text = 'a' }], []]",
    "steps": "[{ text = 'a' }]",
}


def read(step: str) -> Step:
    scenario, _ = read_scenario(f"start = [{step}]", "it.toml")
    (found,) = scenario.start
    return found


def wrong(step: str) -> str:
    with pytest.raises(InvalidFileError) as caught:
        read(step)
    return str(caught.value)


def test_every_deed_has_a_sample() -> None:
    assert set(SAMPLES) == set(ACTIONS)


@pytest.mark.parametrize("word", ACTIONS)
def test_a_deed_is_read(word: str) -> None:
    assert type(read(f"{{ {word} = {SAMPLES[word]} }}")) is ACTIONS[word]


@pytest.mark.parametrize("word", [word for word in ACTIONS if word != "frame"])
def test_a_deed_of_the_wrong_kind_is_told_with_its_line(word: str) -> None:
    assert wrong(f"{{ {word} = false }}").startswith("it.toml:1: `start` step 1: ")


def test_what_stands_beside_any_deed_is_read() -> None:
    how = "chance = 0.5, repeat = 3, only = 2, session = 's'"
    step = read(f"{{ text = 'a', {how}, duplicate = 2, split = 4 }}")
    assert (step.chance, step.repeat, step.only, step.session_id()) == (0.5, 3, 2, "s")
    assert step.faults == [DuplicateFault(times=2), SplitFault(bytes=4)]
    assert step.place == "it.toml:1: `start` step 1"


@pytest.mark.parametrize("accident", ["crash = 3", "hang = true", "noise = 'a'"])
def test_an_accident_needs_no_deed(accident: str) -> None:
    step = read(f"{{ {accident} }}")
    assert isinstance(step, FaultStep)
    assert len(step.faults) == 1


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ("{ text = 'a', thought = 'b' }", "does `text` and `thought`, and a step does one thing"),
        ("{ }", "does nothing; it needs `run`"),
        ("{ delay = 1 }", "`delay` belongs to a frame; to let time pass, there is `wait`"),
        ("{ drop = true }", "does nothing"),
        ("{ text = 'a', only = 3 }", "`only` has to be a whole number from 1 to 2"),
        ("{ text = 'a', pieces = 'wrods' }", "did you mean `words`?"),
        ("{ text = 'a', title = 'b' }", "does `text` and `title`"),
        ("{ tool = 'a', stauts = 'b' }", "did you mean `status`?"),
        ("{ tool = 'a', diff = { path = 'a', nwe = 'b' } }", "did you mean `new`?"),
        ("{ permission = 'a', options = ['allow'] }", "`options` has to be a list of"),
        ("{ permission = 'a', allowed = [{ txt = 'a' }] }", "`allowed` step 1: `txt` is not known"),
        ("{ permission = 'a', chosen = { x = [{ txt = 'a' }] } }", "`chosen`, `x` step 1: `txt`"),
        ("{ run = [] }", "`run` has to hold a command"),
        ("{ ask = 'a', id = 1.5 }", "`id` has to be a text or a whole number"),
        ("{ hex = 'f' }", "`hex` has to be bytes like `ff fe 0a`"),
        ("{ wait = 'soon' }", "`wait` has to be seconds, `cancel` or `forever`"),
        ("{ close = 'stdin' }", "`close` has to be `stdout`"),
        ("{ one_of = [{ text = 'a' }] }", "`one_of` has to be a list of lists of steps"),
        ("{ one_of = [] }", "`one_of` has to be a list of lists of steps"),
        ("{ noise = 'a', delay = 1 }", "`delay` is not known here; there is `noise`"),
        ("{ noise = 'a', session = 'b' }", "`session` is not known here"),
        ("{ beside = [[{ txt = 'a' }]] }", "`beside` 1, step 1: `txt` is not known"),
        ("{ crash = 'KIL' }", "is no signal here; try `KILL`"),
        ("{ text = 'a', split = 'words' }", "has to be a whole number"),
        ("{ text = 'a', ending = 'lfcr' }", "did you mean `lf`?"),
        ("{ text = 'a', drop = 3 }", "`drop` has to be `true`"),
    ],
)
def test_what_makes_no_sense_is_told(step: str, sentence: str) -> None:
    assert sentence in wrong(step)
