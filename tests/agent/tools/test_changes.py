"""Changes that are made only where they still fit."""

from __future__ import annotations

from typing import Any

import pytest

from acp_agent.tools.call import Content, ToolFailedError
from acp_agent.tools.changes import CHANGE_LIMIT, FileEdit, prepare_changes
from acp_agent.world.workspace import Workspace
from acp_protocol.host.sandbox import FileRefusedError


async def ignore(content: Content) -> None:
    del content


async def test_of_several_changes_none_is_made_where_one_does_not_fit(workspace: Workspace) -> None:
    one, two = (workspace.cwd / name for name in ("one", "two"))
    two.write_text("a")
    call = prepare_changes(
        workspace, "Edit", [FileEdit(str(one), None, "new"), FileEdit(str(two), "a", "b")]
    )
    assert [location["path"] for location in call.locations] == [str(one), str(two)]
    assert [subject.words for subject in call.subjects] == [("one",), ("two",)]
    two.write_text("somebody else's")
    with pytest.raises(ToolFailedError, match="changed meanwhile; nothing was written"):
        await call.run(ignore)
    assert not one.exists()
    two.write_text("a")
    assert (await call.run(ignore)).raw == {"files": 2}
    assert (one.read_text(), two.read_text()) == ("new", "b")


async def test_what_was_written_before_a_failure_is_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, paths = workspace.write_text, [str(workspace.cwd / name) for name in ("a", "b")]

    async def fail_second(path: str, text: str, goal: str) -> None:
        if path == paths[1]:
            raise FileRefusedError(path, "the disk is on fire")
        await write(path, text, goal)

    monkeypatch.setattr(workspace, "write_text", fail_second)
    call = prepare_changes(workspace, "Edit", [FileEdit(path, None, "new") for path in paths])
    with pytest.raises(ToolFailedError) as caught:
        await call.run(ignore)
    assert str(caught.value) == f"{paths[1]}: the disk is on fire; written before: {paths[0]}"


async def test_a_change_that_is_too_large_to_be_shown_is_not_made(workspace: Workspace) -> None:
    half = "x" * (CHANGE_LIMIT // 2)
    with pytest.raises(ToolFailedError, match="too large"):
        prepare_changes(workspace, "Edit", [FileEdit("/x", half, f"{half}x")])


@pytest.fixture
def turned(workspace: Workspace) -> Workspace:
    """A directory with a twin that nobody has consented to."""
    for name in ("src", "priv"):
        (workspace.cwd / name).mkdir(exist_ok=True)
        (workspace.cwd / name / "a").write_text("a")
    return workspace


def turn(workspace: Workspace) -> None:
    (workspace.cwd / "src").rename(workspace.cwd / "away")
    (workspace.cwd / "src").symlink_to("priv")


async def test_consent_is_to_the_file_that_was_meant_and_not_to_its_name(
    turned: Workspace,
) -> None:
    path = str(turned.cwd / "src" / "a")
    call = prepare_changes(turned, "Edit", [FileEdit(path, "a", "b")])
    turn(turned)
    with pytest.raises(ToolFailedError, match="leads elsewhere by now; nothing was written"):
        await call.run(ignore)
    assert (turned.cwd / "priv" / "a").read_text() == "a"


async def test_a_link_that_is_put_there_at_the_last_moment_is_not_followed(
    turned: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = turned.write_text

    async def turn_and_write(*arguments: Any, **named: Any) -> None:
        turn(turned)
        await write(*arguments, **named)

    path = str(turned.cwd / "src" / "a")
    call = prepare_changes(turned, "Edit", [FileEdit(path, "a", "b")])
    monkeypatch.setattr(turned, "write_text", turn_and_write)
    with pytest.raises(ToolFailedError, match="not a directory"):
        await call.run(ignore)
    assert (turned.cwd / "priv" / "a").read_text() == "a"


async def test_what_is_named_by_a_link_is_changed_where_it_lies(turned: Workspace) -> None:
    (turned.cwd / "link").symlink_to("src/a")
    (turned.cwd / "in").symlink_to("src")
    for name in ("link", "in/a", "in/new"):
        path = str(turned.cwd / name)
        before = None if name == "in/new" else "a"
        await prepare_changes(turned, "Edit", [FileEdit(path, before, name)]).run(ignore)
        if before:
            assert (turned.cwd / "src" / "a").read_text() == name
            (turned.cwd / "src" / "a").write_text("a")
    assert (turned.cwd / "link").is_symlink()
    assert (turned.cwd / "src" / "new").read_text() == "in/new"
