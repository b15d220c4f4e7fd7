"""What a project tells the model: found within the session's directories, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from acp_agent.models.types import (
    HistoryEntry,
    ModelEvent,
    ProjectInstructions,
    SlashCommand,
    TextDelta,
    ToolSpec,
)
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.files import read_tool
from acp_agent.turn.instructions import (
    CUT,
    MAX_CHARS,
    LoadedInstructions,
    read_instructions,
)
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.rules import Effect, PolicyRule
from tests.agent.client import open_session, selected


class Attentive:
    """Keeps what it is told of the project."""

    name = "attentive"
    commands: Sequence[SlashCommand] = ()

    def __init__(self) -> None:
        self.told: list[list[ProjectInstructions]] = []

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del tools
        self.told.append([entry for entry in history if isinstance(entry, ProjectInstructions)])
        yield TextDelta("well")


NAMES = ("AGENTS.md",)


def write(directory: Path, text: str, name: str = "AGENTS.md") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text)
    return directory / name


def read(
    names: Sequence[str], directories: Sequence[Path], rules: PermissionPolicy | None = None
) -> LoadedInstructions | None:
    """Read in the bounds of a session in these directories."""
    workspace = Workspace("s", directories[0], additional=directories[1:])
    return read_instructions(
        names, directories, workspace, SessionPermissions(rules, directories[0])
    )


def texts(
    *directories: Path,
    names: Sequence[str] = NAMES,
    rules: PermissionPolicy | None = None,
) -> list[str]:
    """Return what is told, file by file."""
    told = read(names, directories, rules)
    return told.guidance.text.split("<instructions ")[1:] if told else []


def test_the_own_directory_comes_last_and_what_lies_above_it_outermost_first(
    tmp_path: Path,
) -> None:
    repository, other = tmp_path / "repository", tmp_path / "other"
    inner = repository / "a" / "b"
    paths = [
        write(other, "of another"),
        write(repository, "of all"),
        write(repository / "a", "of a"),
        write(inner, "of b"),
    ]
    told = read(NAMES, [inner, repository, other])
    assert told is not None
    assert list(told.paths) == paths
    assert [text.splitlines()[1] for text in texts(inner, repository, other)] == [
        "of another",
        "of all",
        "of a",
        "of b",
    ]


def test_nothing_is_read_outside_of_the_directories(tmp_path: Path) -> None:
    outside = write(tmp_path, "outside")
    inner = tmp_path / "work"
    inner.mkdir()
    assert texts(inner) == []
    (inner / "AGENTS.md").symlink_to(outside)
    assert texts(inner) == []
    assert texts(inner, names=["../AGENTS.md", str(outside)]) == []


def ruled(decision: Effect, pattern: str) -> PermissionPolicy:
    return PermissionPolicy(rules=(PolicyRule(decision, area="path", pattern=pattern),))


@pytest.mark.parametrize("decision", ["deny", "ask"])
@pytest.mark.parametrize("pattern", [".env", "AGENTS.md"])
def test_a_rule_holds_for_a_link_and_for_what_it_leads_to(
    tmp_path: Path, decision: Effect, pattern: str
) -> None:
    write(tmp_path, "secret", ".env")
    (tmp_path / "AGENTS.md").symlink_to(".env")
    assert len(texts(tmp_path)) == 1
    assert texts(tmp_path, rules=ruled(decision, pattern)) == []


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_rule_holds_for_a_file_that_is_named(tmp_path: Path, decision: Effect) -> None:
    write(tmp_path, "fine")
    assert texts(tmp_path, rules=ruled(decision, "AGENTS.md")) == []
    assert len(texts(tmp_path, rules=ruled(decision, "other"))) == 1


def test_what_nobody_may_read_unasked_is_told_only_where_it_lies_by_its_name(
    tmp_path: Path,
) -> None:
    asks = PermissionPolicy(default_policy="ask_always")
    write(tmp_path / "private", "secret")
    (tmp_path / "docs").symlink_to("private")
    (tmp_path / "AGENTS.md").symlink_to("private/AGENTS.md")
    assert texts(tmp_path, names=["AGENTS.md", "docs/AGENTS.md"], rules=asks) == []
    assert len(texts(tmp_path, names=["private/AGENTS.md"], rules=asks)) == 1


async def test_what_the_user_has_rejected_for_good_is_not_told(tmp_path: Path) -> None:
    path = write(tmp_path, "secret")
    workspace, permissions = Workspace("s", tmp_path), SessionPermissions(cwd=tmp_path)
    call = await read_tool.prepare({"path": str(path)}, workspace)
    permissions.record_choice(call, selected("reject-always"))
    assert read_instructions(NAMES, [tmp_path], workspace, permissions) is None


async def test_no_rule_of_a_session_is_gone_around(cwd: Path) -> None:
    write(cwd, "secret", ".env")
    (cwd / "AGENTS.md").symlink_to(".env")
    model = Attentive()
    async with open_session(cwd, model=model, permissions=ruled("deny", ".env")) as session:
        await session.turn("a")
    assert model.told == [[]]


def test_what_cannot_be_read_counts_as_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "AGENTS.md")
    (tmp_path / "CLAUDE.md").write_bytes(b"\xff\xfe")
    write(tmp_path, " \n", "EMPTY.md")
    write(tmp_path, "fine", "GEMINI.md")
    told = texts(tmp_path, names=["AGENTS.md", "CLAUDE.md", "EMPTY.md", "GEMINI.md"])
    assert [text.splitlines()[1] for text in told] == ["fine"]


def test_what_is_too_long_is_cut_and_that_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a" * (MAX_CHARS - 10))
    write(tmp_path / "sub", "b" * 100)
    told = read(NAMES, [tmp_path / "sub", tmp_path])
    assert told is not None
    assert told.is_truncated
    inner, outer = texts(tmp_path / "sub", tmp_path)[::-1]
    assert outer.count("a") >= MAX_CHARS - 10
    assert "Cut" not in outer
    assert "\n" + "b" * 10 + "\n" + CUT.format(MAX_CHARS) in inner


def test_what_a_screen_would_hide_is_told_visibly(tmp_path: Path) -> None:
    write(tmp_path, "fine\u202e\x1b[8mhidden")
    (told,) = texts(tmp_path)
    assert "\x1b" not in told
    assert "\u202e" not in told


async def test_a_change_counts_at_the_next_request(cwd: Path) -> None:
    model = Attentive()
    async with open_session(cwd, model=model) as session:
        await session.turn("a")
        write(cwd, "Use tabs.")
        await session.turn("b")
        write(cwd, "Use spaces.")
        await session.turn("c")
    none, (tabs,), (spaces,) = model.told
    assert none == []
    assert "Use tabs." in tabs.text
    assert "Use spaces." in spaces.text
    assert "Use tabs." not in spaces.text
    assert "no consent" in tabs.text.replace("\n", " ")


@pytest.mark.parametrize("names", [(), ("CLAUDE.md",)])
async def test_other_files_or_none_can_be_named(cwd: Path, names: tuple[str, ...]) -> None:
    write(cwd, "Use tabs.")
    write(cwd, "Use spaces.", "CLAUDE.md")
    model = Attentive()
    async with open_session(
        cwd,
        model=model,
        settings={"agent.instructions": names},
    ) as session:
        await session.turn("a")
    assert ["Use spaces." in told.text for told in model.told[0]] == [True] * len(names)
