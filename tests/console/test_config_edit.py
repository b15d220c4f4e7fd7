from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_console.config_edit import ConfigEditError, EditableConfig

WRITTEN = """# all of it

[mcp.files]
command = "files" # fine

# the good one
[agents.good]
command = [
    "good", # here
]

[agents.good.env]
A = "1"

# the other one
[agents.other] # here too
command = ["other"]
"""


def config(tmp_path: Path, text: str | None = None) -> Path:
    path = tmp_path / "folder" / "config.toml"
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)
    return path


def test_the_first_agent_makes_a_private_file(tmp_path: Path) -> None:
    path = config(tmp_path)
    EditableConfig(path).add_agent("mine", {"command": ["run", "--acp"]})
    assert path.read_text() == '[agents.mine]\ncommand = ["run", "--acp"]\n'
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_agent_is_added_below_what_is_there(tmp_path: Path) -> None:
    path = config(tmp_path, WRITTEN.rstrip("\n"))
    path.chmod(0o640)
    EditableConfig(path).add_agent("a.b", {"command": ["run"], "env": {"X Y": 'a"b\\\x7f'}})
    assert path.read_text() == WRITTEN + (
        '\n[agents."a.b"]\ncommand = ["run"]\nenv = { "X Y" = "a\\"b\\\\\\u007f" }\n'
    )
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_known_agent_that_the_file_changes_gets_a_command_in_its_table(tmp_path: Path) -> None:
    path = config(tmp_path, '[agents.gemini] # strict\nmode = "plan"\n')
    EditableConfig(path).add_agent("gemini", {"command": ["gemini"]})
    assert path.read_text() == ('[agents.gemini] # strict\ncommand = ["gemini"]\nmode = "plan"\n')


def test_an_agent_is_removed_with_its_comments_and_nothing_else(tmp_path: Path) -> None:
    path = config(tmp_path, WRITTEN)
    file = EditableConfig(path)
    file.remove_agent("good")
    assert path.read_text() == (
        '# all of it\n\n[mcp.files]\ncommand = "files" # fine\n\n'
        '# the other one\n[agents.other] # here too\ncommand = ["other"]\n'
    )
    file.remove_agent("other")
    assert path.read_text() == '# all of it\n\n[mcp.files]\ncommand = "files" # fine\n'


def test_an_agent_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    path = config(tmp_path, WRITTEN)
    with pytest.raises(ConfigEditError, match=r"already .*toml:7: agents.good\); remove it first"):
        EditableConfig(path).add_agent("good", {"command": ["x"]})
    assert path.read_text() == WRITTEN


@pytest.mark.parametrize(
    "text",
    [
        '[agents]\nmine = { command = ["x"] }\n',
        'agents.mine.command = ["x"]\n',
        '[agents]\nmine.command = ["x"]\n',
        '[agents.mine]\ncommand = [\n"x", """\n[agents.other]\n""",\n]\n',
    ],
)
def test_what_is_written_in_another_way_is_left_to_the_user(tmp_path: Path, text: str) -> None:
    path = config(tmp_path, text)
    with pytest.raises(ConfigEditError, match=r"toml:\d: agents.mine: written in a way"):
        EditableConfig(path).remove_agent("mine")
    assert path.read_text() == text


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    path = config(tmp_path, WRITTEN)
    link = tmp_path / "config.toml"
    link.symlink_to(path)
    EditableConfig(link).remove_agent("good")
    assert link.is_symlink()
    assert "good" not in path.read_text()


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(st.lists(WORDS, min_size=1, max_size=4), st.dictionaries(WORDS, WORDS, max_size=3))
def test_any_command_is_read_back_as_it_was_added(
    tmp_path_factory: pytest.TempPathFactory, command: list[str], env: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("any") / "config.toml"
    command = ["run", *command]
    env = {name.replace("=", "") or "A": value for name, value in env.items()}
    file = EditableConfig(path)
    file.add_agent("mine", {"command": command, "env": env})
    assert tomllib.loads(path.read_text())["agents"]["mine"] == {"command": command, "env": env}
    file.remove_agent("mine")
    assert path.read_text() == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "[privacy]\njournal = false\n"),
        ("[privacy] # why\n", "[privacy] # why\njournal = false\n"),
        ("[privacy]\n\n[mcp]\n", "[privacy]\njournal = false\n\n[mcp]\n"),
        ("[privacy]\n journal=true # x", "[privacy]\njournal = false # x\n"),
        ("[mcp]", "[mcp]\n\n[privacy]\njournal = false\n"),
    ],
)
def test_a_value_is_set_and_the_rest_stays(tmp_path: Path, before: str, after: str) -> None:
    path = config(tmp_path, before)
    EditableConfig(path).set_value("privacy", "journal", False)
    assert path.read_text() == after


@pytest.mark.parametrize("text", ["privacy.journal = true\n", "privacy = { journal = true }\n"])
def test_a_value_that_stands_elsewhere_is_left_to_the_user(tmp_path: Path, text: str) -> None:
    path = config(tmp_path, text)
    with pytest.raises(ConfigEditError, match=r"privacy\.journal is written in a way"):
        EditableConfig(path).set_value("privacy", "journal", False)
    assert path.read_text() == text


def test_a_choice_is_set_in_place_of_another_one(tmp_path: Path) -> None:
    path = config(tmp_path, '[notifications]\ndesktop = "osc9"  # mine\n')
    EditableConfig(path).set_value("notifications", "desktop", "off")
    assert path.read_text() == '[notifications]\ndesktop = "off"  # mine\n'
