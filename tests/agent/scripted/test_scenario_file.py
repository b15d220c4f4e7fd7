"""The file in which a scenario is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scripted.faults import FAULTS
from acp_agent.scripted.scenario import (
    On,
    Prompt,
    Scenario,
    ScriptedAgentInfo,
    load_scenario,
    read_scenario,
)
from acp_agent.scripted.steps import ACTIONS
from acp_protocol.json_values import as_list, as_object
from acp_protocol.user_files.toml_source import InvalidFileError

TOP, CARD = Scenario.key_names(), ScriptedAgentInfo.key_names()
ON, PROMPTS = On.key_names(), Prompt.key_names()
WORDS = [*TOP, *ON, *CARD, *ACTIONS, *FAULTS, "method", "contains", "text", "seconds", "bytes"]
VALUES = st.recursive(
    st.integers() | st.booleans() | st.text("ab$.é", max_size=5) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=12,
)


def toml(value: Any) -> str:
    """Return a value as TOML writes it on one line."""
    if isinstance(value, dict):
        inside = [f"{key} = {toml(inner)}" for key, inner in as_object(value).items()]
        return "{" + ", ".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(inner) for inner in as_list(value)) + "]"
    return json.dumps(value)


def fields(text: str) -> list[str]:
    """Return what is wrong with a text, if anything is."""
    try:
        read_scenario(text, "it.toml")
    except InvalidFileError as problem:
        return str(problem).splitlines()
    return []


def wrong(text: str) -> str:
    with pytest.raises(InvalidFileError) as caught:
        read_scenario(text, "it.toml")
    return str(caught.value)


@given(st.dictionaries(st.sampled_from(TOP), VALUES, max_size=4))
def test_whatever_stands_in_it_is_read_or_told(members: dict[str, Any]) -> None:
    text = "".join(f"{key} = {toml(value)}\n" for key, value in members.items())
    assert all(line.startswith("it.toml") for line in fields(text))


@given(st.text(max_size=50))
def test_any_text_is_read_or_told(text: str) -> None:
    assert all(line.startswith("it.toml") for line in fields(text))


def test_an_empty_file_is_a_good_agent() -> None:
    scenario, remarks = read_scenario("")
    assert list(scenario.reactions) == []
    assert list(remarks) == ["scenario: it says nothing, and a good agent is played"]


def test_all_that_is_wrong_is_told_at_once_with_its_line() -> None:
    shown = wrong(
        "sed = 1\n[[prompt]]\nstop = 3\n[[prompt]]\nsteps = [\n{ txet = 'a' },\n{ text = 1 },\n]\n"
        "[[on]]\nmethod = 'session/prompt'\n[[fault]]\nprobability = 2\n"
    )
    assert [line.partition(": ")[0] for line in shown.splitlines()] == [
        f"it.toml:{number}" for number in (1, 3, 6, 7, 10, 12)
    ]
    assert "prompt 2, step 1: `txet` is not known here; did you mean `text`?" in shown


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[prompt]", "not TOML"),
        ("protocol = 3", "`protocol` has to be a whole number from 1 to 2"),
        ("prompt = 1", "`prompt` has to be a list of tables"),
        ("[prompt]", "`prompt` is written with two brackets: `[[prompt]]`"),
        ("[[prompt]]\ntext = 'hello'", "`text` belongs to a step: `steps = [{ text = … }]`"),
        ("prompt = ['hello']", "prompt 1: has to be a table"),
        ("[[prompt]]\nsteps = ['hello']", "prompt 1, step 1: has to be a table"),
        ("dialect = 'acpex'\nprotocol = 2", "`dialect` has only version 1"),
        ("framing = 'lsp'", "`framing` has to be `lines` or `content-length`"),
        ("[[fault]]\nlength = 3", 'write `framing = "content-length"` at the top'),
        ("[agent]\noptions = [1]", "`options` has to be a list of tables with `id`"),
        ("[[prompt]]\nnth = 0", "`nth` has to be a whole number from 1 on"),
        ("[[prompt]]\nmatches = '('", "`matches` is no pattern"),
        ("[[prompt]]\ncancel = 'never'", "`cancel` has to be `ignore`, or steps to play then"),
        ("[[prompt]]\nid = 'same'", "`id` has to be `other`"),
        ("[[prompt]]\nresult = {}\nerror = {}", "not with both"),
        ("[[prompt]]\nerror = { code = 'x' }", "`code` has to be a whole number"),
        ("[[prompt]]\nresult = '{'", "a text that is JSON"),
        ("[[prompt]]\nresult = 07:32:00", "a value that JSON knows"),
        ("[[on]]\nsteps = []", "`method` is missing"),
        ("[[on]]\nmethod = 'session/prompt'", "is written as `[[prompt]]`"),
        ("[[on]]\nmethod = 'a'\nstop = 'b'", "`stop` is not known here"),
        ("[[session]]\ntitle = 'a'", "`id` is missing"),
        ("[agent]\nauth = 1", "`auth` has to be a list"),
        ("[agent]\ncommands = { a = 1 }", "`a` has to be a text"),
        ("[[fault]]\ndrop = true\nof = 'reqeust'", "did you mean `request`?"),
        ("[[fault]]\nmethod = 'a'", "does nothing; it needs `delay`"),
    ],
)
def test_what_makes_no_sense_is_told(text: str, sentence: str) -> None:
    assert sentence in wrong(text)


def test_a_method_that_no_client_has_is_remarked() -> None:
    _, remarks = read_scenario("[[on]]\nmethod = 'session/nwe'\nresult = {}", "it.toml")
    (remark,) = remarks
    assert remark.startswith(
        "it.toml:2: on 1 (session/nwe): `method` is `session/nwe`, which is no"
    )
    assert remark.endswith("did you mean `session/new`?")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("method = 'session/promt'", "no method; did you mean `session/prompt`?"),
        ("update = 'tool-call'", "no update; did you mean `tool_call`?"),
    ],
)
def test_what_no_frame_has_is_remarked(text: str, end: str) -> None:
    """A fault that never strikes would pass for one that was survived."""
    _, (remark,) = read_scenario(f"[[fault]]\n{text}\ndrop = true", "it.toml")
    assert remark.startswith("it.toml:2: fault 1: `")
    assert remark.endswith(end)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[session]]\nid = "a"\n[[session]]\nid = "b"\n[[session]]\nid = "a"', "session 3: `id`"),
        ("[[prompt]]\nexpect = 5", "prompt 1: `expect` has to be a table"),
        (
            '[[on]]\nmethod = "session/new"\nexpect = "true"',
            "on 1 (session/new): `expect` has to be",
        ),
    ],
)
def test_what_could_never_be_played_is_told(text: str, sentence: str) -> None:
    assert sentence in wrong(text)


@pytest.mark.parametrize("expect", ["{ a = 1 }", '"$params"', "[1]", '"null"'])
def test_what_params_may_be_can_be_expected(expect: str) -> None:
    assert fields(f"[[prompt]]\nexpect = {expect}") == []


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ('[agent]\nmodes = ["a", "b", "a"]', "it.toml:2: `agent`: `modes` has `a` twice"),
        ('[agent]\nname = ""', "it.toml:2: `agent`: `name` is empty"),
        ('[[session]]\nid = "a"\ncwd = "rel"', "it.toml:3: session 1: `cwd` is no absolute path"),
    ],
)
def test_what_no_good_agent_says_of_itself_is_remarked(text: str, remark: str) -> None:
    assert read_scenario(text, "it.toml")[1] == [remark]


def test_what_a_good_agent_says_of_itself_is_not() -> None:
    text = '[agent]\nmodes = ["a", "b"]\n[[session]]\nid = "a"\ncwd = "/w"\n'
    assert read_scenario(f'{text}[[session]]\nid = "b"\ncwd = "C:\\\\w"', "it.toml")[1] == []


def test_a_seed_that_is_wanted_goes_before_the_one_in_the_file() -> None:
    assert read_scenario("seed = 3")[0].seed == 3
    assert read_scenario("seed = 3", seed=4)[0].seed == 4


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"# \xc3\xbc\n\xff")
    with pytest.raises(InvalidFileError, match=r"bad\.toml:2: not UTF-8: it has the byte 0xff"):
        load_scenario(tmp_path / "bad.toml")
    with pytest.raises(InvalidFileError, match=r"cannot be read: No such file"):
        load_scenario(tmp_path / "none.toml")


def test_a_mark_and_other_line_endings_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_bytes(b"\xef\xbb\xbfseed = 1\r\n[[prompt]]\r\ntext = 1\r\n")
    with pytest.raises(InvalidFileError, match=r"it\.toml:3: prompt 1: `text` belongs to a step"):
        load_scenario(tmp_path / "it.toml")


def test_the_page_has_every_word_and_its_examples_are_right() -> None:
    page = (Path(__file__).parents[3] / "docs/scripted-agent.md").read_text()
    named = set(re.findall(r"`\[?\[?(\w+)", page))
    assert {*TOP, *ON, *CARD, *ACTIONS, *FAULTS, *PROMPTS} - named == set()
    samples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(samples) >= 4
    for sample in samples:
        _, remarks = read_scenario(sample)
        assert not remarks
