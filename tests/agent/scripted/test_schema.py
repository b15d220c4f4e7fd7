"""Values of a scenario: what each key takes, and what a wrong one is said of."""

from __future__ import annotations

from typing import get_args

import pytest

from acp_agent.scripted import schema
from acp_agent.scripted.scenario import Reaction, Scenario, read_scenario
from acp_agent.scripted.schema import listed, nearest
from acp_agent.scripted.steps import SendFrame
from acp_protocol.schema.words import ToolKind
from acp_protocol.user_files.toml_source import InvalidFileError


def read(text: str) -> Scenario:
    return read_scenario(text, "it.toml")[0]


def wrong(text: str) -> str:
    with pytest.raises(InvalidFileError) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("contains", "1", "has to be a text"),
        ("with", "'{'", "has to be a table, or a text that is JSON"),
        ("with", "'1'", "has to be a table, or a text that is an object in JSON"),
        ("echo", "1", "has to be `true` or `false`"),
        ("times", "0", "has to be a whole number from 1 to 2147483648"),
        ("times", "true", "has to be a whole number from 1 to 2147483648"),
        ("times", "1.0", "has to be a whole number from 1 to 2147483648"),
        ("delay", "-1", "has to be a number from 0 to 43200"),
        ("delay", "nan", "has to be a number from 0 to 43200"),
        ("delay", "true", "is missing"),
        ("error", "1", "has to be a table"),
        ("steps", "1", "has to be a list of tables"),
        ("result", "inf", "has to be a value that JSON knows: no date, no inf, no nan"),
        ("result", "{ a = [nan] }", "has to be a value that JSON knows"),
    ],
)
def test_a_wrong_value_is_told_with_key_and_line(key: str, value: str, sentence: str) -> None:
    shown = wrong(f"[[prompt]]\n{key} = {value}")
    assert shown.startswith("it.toml:2: prompt 1")
    assert f"` {sentence}" in shown


@pytest.mark.parametrize("value", ["[1]", "1"])
def test_what_is_no_list_of_texts_is_told(value: str) -> None:
    assert "`modes` has to be a text, or a list of texts" in wrong(f"[agent]\nmodes = {value}")


def test_one_text_may_stand_for_a_list() -> None:
    assert read("[agent]\nmodes = 'ask'").agent.modes == ["ask"]


def test_all_keys_that_are_not_known_are_told() -> None:
    first, second = wrong("[[session]]\nid = 'a'\ntilte = 2\nzzz = 3").splitlines()
    assert first.endswith("session 1: `tilte` is not known here; did you mean `title`?")
    assert second.endswith(
        "`zzz` is not known here; there is `id`, `cwd`, `title`, `updated_at` or `steps`"
    )


def test_a_word_that_is_not_known_has_a_nearest_one() -> None:
    shown = wrong("[[prompt]]\nending = 'crfl'")
    assert shown.endswith("has to be `lf`, `crlf`, `cr` or `none`; did you mean `crlf`?")


@pytest.mark.parametrize(("word", "count"), [("end_trun", 1), ("_own", 0), ("end_turn", 0)])
def test_a_word_that_the_protocol_does_not_know_is_remarked_and_taken(
    word: str, count: int
) -> None:
    scenario, remarks = read_scenario(f"[[prompt]]\nstop = '{word}'")
    assert scenario.prompt[0].stop == word
    assert len(remarks) == count
    assert all("no stop reason; did you mean `end_turn`?" in remark for remark in remarks)


def test_null_can_be_written_in_a_text() -> None:
    assert read("[[prompt]]\nwith = '{\"title\": null}'").prompt[0].over == {"title": None}


def test_a_name_that_stands_for_a_value_is_no_json() -> None:
    assert read("[[prompt]]\nwith = '$params'").prompt[0].over == "$params"


def test_a_lone_surrogate_in_json_is_kept() -> None:
    (step,) = read("start = [{ frame = '\"\\ud800\"' }]").start
    assert isinstance(step, SendFrame)
    assert step.frame == "\ud800"


def test_complaints_are_told_from_top_to_end() -> None:
    lines = "\n" * 8
    shown = wrong(f"[[prompt]]\nstop = 1\n{lines}echo = 1\n[agent]\npage = 0\n")
    assert [line.split(":")[1] for line in shown.splitlines()] == ["2", "11", "13"]


def test_what_the_file_says_nothing_of_is_as_usual() -> None:
    assert Reaction().place == "usual"


def test_words_are_listed_as_in_a_sentence() -> None:
    assert listed(("a",)) == "`a`"
    assert listed(("a", "b", "c")) == "`a`, `b` or `c`"
    assert nearest("a", ()) == ""


def test_kinds_are_those_that_the_agent_has_tools_of() -> None:
    assert set(schema.tool_kinds()) == set(get_args(ToolKind))


def test_the_words_of_both_versions_are_known_once() -> None:
    statuses, updates = schema.tool_statuses(), schema.update_names()
    assert {"completed", "paused"} <= set(statuses)
    assert {"tool_call", "state_update", "tool_call_content_chunk"} <= set(updates)
    for words in (statuses, updates):
        assert len(words) == len(set(words))


def test_why_a_turn_ends() -> None:
    assert "max_turn_requests" in schema.stop_reasons()
