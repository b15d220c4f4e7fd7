"""Changes that are made only where they still fit."""

from __future__ import annotations

import pytest

from acp_agent.tools import changes
from acp_agent.tools.changes import Change, change_call
from acp_agent.tools.tool import Content, ToolFailedError
from acp_agent.workspace import Workspace
from acp_protocol.host.files import FileRefusedError


async def ignore(content: Content) -> None:
    del content


async def test_of_several_changes_none_is_made_where_one_does_not_fit(workspace: Workspace) -> None:
    one, two = (workspace.cwd / name for name in ("one", "two"))
    two.write_text("a")
    call = change_call(
        workspace, "Edit", [Change(str(one), None, "new"), Change(str(two), "a", "b")]
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

    async def fail_second(path: str, text: str) -> None:
        if path == paths[1]:
            raise FileRefusedError(path, "the disk is on fire")
        await write(path, text)

    monkeypatch.setattr(workspace, "write_text", fail_second)
    call = change_call(workspace, "Edit", [Change(path, None, "new") for path in paths])
    with pytest.raises(ToolFailedError) as caught:
        await call.run(ignore)
    assert str(caught.value) == f"{paths[1]}: the disk is on fire; written before: {paths[0]}"


async def test_a_change_that_is_too_large_to_be_shown_is_not_made(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "CHANGE_LIMIT", 20)
    with pytest.raises(ToolFailedError, match="too large"):
        change_call(workspace, "Edit", [Change("/x", "x" * 10, "x" * 11)])
