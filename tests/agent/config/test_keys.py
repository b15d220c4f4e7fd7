"""The table of all that can be set."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from acp_agent.config.configuration import ROOMS
from acp_agent.config.keys import BY_PATH, BY_VARIABLE, FORMER, KEYS, STORAGE_PATH, Key
from acp_agent.config.showing import toml, written
from acp_agent.flags import new_parser

PAGE = Path(__file__).parents[3] / "docs/configuration.md"
ELSEWHERE = {"enabled", "transport.stdio.enabled", "model.service"}
"""Keys that set nothing by themselves."""


def test_every_key_is_a_field_and_every_field_a_key() -> None:
    members = {f"{room}.{each.name}" for room, kind in ROOMS.items() for each in fields(kind)}
    assert set(BY_PATH) - ELSEWHERE == members


def test_every_former_name_stands_for_a_key() -> None:
    assert set(FORMER.values()) <= set(BY_PATH)
    assert not set(FORMER) & set(BY_PATH)


def test_no_two_keys_have_one_variable() -> None:
    assert len(BY_VARIABLE) == len([key for key in KEYS if key.variable is not None])


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_every_default_is_a_value_that_could_be_set(key: Key) -> None:
    told = written(key.path, key.default)
    if told is not None:
        assert key.kind.value(told) == key.default


def test_every_flag_of_a_key_is_one_of_the_agent_s() -> None:
    actions = new_parser()._actions
    flags = {action.option_strings[0]: action.dest for action in actions if "." in action.dest}
    assert flags == {key.flag: key.path for key in KEYS if key.flag is not None}


def row(key: Key) -> str:
    """Return how the page of the docs tells of a key."""
    default = written(key.path, key.default)
    shown = f"`{toml(default)}`" if default is not None else ""
    flag = f"`{key.flag}`" if key.flag is not None else ""
    return f"| `{key.path}` | {key.kind.must} | {shown} | {key.about} | {flag} |"


def test_the_page_tells_of_every_key_as_it_is_and_of_no_other() -> None:
    section = PAGE.read_text().partition("## Keys\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows[-1].startswith("| `model.others` |")
    assert rows[:-1] == [row(key) for key in KEYS]


def test_the_page_tells_what_keys_were_called_before() -> None:
    page = PAGE.read_text()
    assert [name for name in FORMER if f"`{name}`" not in page] == []


def test_the_page_tells_which_keys_are_something_else_in_the_continuum_router(shared: Path) -> None:
    [text] = [
        told
        for told in (path.read_text() for path in (shared / "seeds").glob("*.txt"))
        if "Configuration Reference\n\nTop-Level Options" in told
    ]
    reference = text.partition("Configuration Reference\n")[2]
    pattern = r"(?m)^([a-z][\w.]+) (?:bool|int|enum|list|string) (\[.*?\]|\S+) "
    by_itself: dict[str, str] = dict(re.findall(pattern, reference))
    assert len(by_itself) == 15
    others: dict[str, tuple[str, str]] = {}
    for path, there in by_itself.items():
        if path == STORAGE_PATH:
            continue
        key = BY_PATH[FORMER.get(path, path)]
        told = written(key.path, key.default)
        here = toml(told) if told is not None else "none"
        plain = re.sub(r"[\w]+", lambda word: f'"{word[0]}"', there) if "[" in there else there
        if path != "default_model" and here.strip('"') != plain.strip('"'):
            others[path] = (plain, here)
    section = PAGE.read_text().partition("by themselves there:")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", section)
    assert {path: (there.strip('"'), here) for path, there, here in rows} == others
