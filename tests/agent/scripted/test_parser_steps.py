"""How steps are written."""

from __future__ import annotations

import pytest

from acp_agent.config.source import InvalidFileError
from acp_agent.scripted import actions, requests
from acp_agent.scripted.faults import DuplicateFault, SplitFault
from acp_agent.scripted.parser import ACTIONS, read_scenario
from acp_agent.scripted.run import Action, ScriptStep

SAMPLES: dict[str, tuple[str, type[Action]]] = {
    "run": ("['echo', 'a']", requests.RequestRunCommand),
    "terminal": ("'a'", actions.SendTerminal),
    "tool": ("'a'", actions.SendToolCall),
    "permission": ("'a'", requests.RequestPermission),
    "read": ("'/a'", requests.RequestReadFile),
    "write": ("'/a'", requests.RequestWriteFile),
    "elicit": ("'who?'", requests.RequestElicitation),
    "ask": ("'a/b'", requests.SendRequest),
    "tell": ("'a/b'", actions.SendNotification),
    "text": ("'a'", actions.SendText),
    "thought": ("'a'", actions.SendText),
    "user": ("'a'", actions.SendText),
    "block": ("{ type = 'text', text = 'a' }", actions.SendBlock),
    "plan": ("['a']", actions.SendPlan),
    "update": ("{ sessionUpdate = 'plan' }", actions.SendUpdate),
    "mode": ("'ask'", actions.SetMode),
    "commands": ("['a']", actions.SendCommands),
    "state": ("'idle'", actions.SendState),
    "title": ("'a'", actions.SetTitle),
    "frame": ("'null'", actions.SendFrame),
    "line": ("'a'", actions.WriteText),
    "raw": ("'a'", actions.WriteText),
    "hex": ("'ff 0a'", actions.WriteBytes),
    "stderr": ("'a'", actions.WriteStderr),
    "wait": ("1.5", actions.WaitSeconds),
    "close": ("'stdout'", actions.CloseStdout),
    "batch": ("[{ text = 'a' }]", actions.SendBatch),
    "one_of": ("[[{ text = 'a' }], []]", actions.PlayOneOf),
    "beside": ("[[{ text = 'a' }], []]", actions.PlayConcurrently),
    "steps": ("[{ text = 'a' }]", actions.PlaySteps),
}


def read(step: str) -> ScriptStep:
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
    value, kind = SAMPLES[word]
    assert isinstance(read(f"{{ {word} = {value} }}").action, kind)


@pytest.mark.parametrize("word", [word for word in ACTIONS if word != "frame"])
def test_a_deed_of_the_wrong_kind_is_told_with_its_line(word: str) -> None:
    assert wrong(f"{{ {word} = false }}").startswith("it.toml:1: `start` step 1: ")


def test_what_stands_beside_any_deed_is_read() -> None:
    how = "chance = 0.5, repeat = 3, only = 2, session = 's'"
    step = read(f"{{ text = 'a', {how}, duplicate = 2, split = 4 }}")
    assert (step.chance, step.repeat, step.version, step.session) == (0.5, 3, 2, "s")
    assert step.faults == (DuplicateFault(2), SplitFault(4, 0.001))
    assert step.place == "it.toml:1: `start` step 1"


@pytest.mark.parametrize("accident", ["crash = 3", "hang = true", "noise = 'a'"])
def test_an_accident_needs_no_deed(accident: str) -> None:
    step = read(f"{{ {accident} }}")
    assert step.action is None
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
        ("{ beside = [[{ txt = 'a' }]] }", "`beside` 1, step 1: `txt` is not known"),
        ("{ crash = 'KIL' }", "is no signal here; try `KILL`"),
        ("{ text = 'a', split = 'words' }", "has to be a whole number"),
        ("{ text = 'a', ending = 'lfcr' }", "did you mean `lf`?"),
        ("{ text = 'a', drop = 3 }", "`drop` has to be `true`"),
    ],
)
def test_what_makes_no_sense_is_told(step: str, sentence: str) -> None:
    assert sentence in wrong(step)
