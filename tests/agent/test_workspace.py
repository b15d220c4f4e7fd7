"""The files of a session: through the client where it offers that, else on the disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acp_agent.world.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.sandbox import FileMissingError, FileRefusedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import open_session


class Editor:
    """A client with unsaved text."""

    def __init__(self, **texts: Json) -> None:
        self.texts = texts
        self.asked: list[tuple[str, Json]] = []

    async def request(self, method: str, params: Json = None) -> Json:
        self.asked.append((method, params))
        name = Path(params["path"]).stem
        if method == "fs/write_text_file":
            self.texts[name] = params["content"]
            return None
        if name not in self.texts:
            raise RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, "Resource not found")
        if isinstance(self.texts[name], Exception):
            raise self.texts[name]
        return self.texts[name]


def through(editor: Editor, cwd: Path) -> Workspace:
    return Workspace("s", cwd, client=editor, client_reads=True, client_writes=True)


async def test_without_offers_of_the_client_the_disk_is_used(cwd: Path) -> None:
    editor = Editor()
    workspace = Workspace("s", cwd, client=editor)
    path = workspace.path("notes.md")
    await workspace.write_text(path, "new")
    assert await workspace.read_text(path) == "new"
    assert editor.asked == []


async def test_what_stands_in_the_editor_counts(cwd: Path) -> None:
    editor = Editor(notes={"content": "unsaved"})
    workspace = through(editor, cwd)
    assert await workspace.read_text(workspace.path("notes.md")) == "unsaved"
    await workspace.write_text(workspace.path("./src/../new.md"), "x")
    path = {"sessionId": "s", "path": str(cwd / "new.md")}
    assert editor.asked[1] == ("fs/write_text_file", path | {"content": "x"})
    assert not (cwd / "new.md").exists()


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "src/../../secret.txt", "a\0b"])
async def test_a_path_that_leads_out_is_not_even_asked_for(cwd: Path, name: str) -> None:
    editor = Editor(secret={"content": "secret"}, passwd={"content": "secret"})
    for workspace in (through(editor, cwd), Workspace("s", cwd)):
        path = workspace.path(name)
        with pytest.raises(FileRefusedError):
            await workspace.read_text(path)
        with pytest.raises(FileRefusedError):
            await workspace.write_text(path, "x")
        with pytest.raises(FileRefusedError):
            workspace.disk.delete(path, is_followed=False, seen=cwd.stat())
    assert editor.asked == []
    assert (cwd.parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("name", ["link.txt", "away/secret.txt", "new.txt", "twice.txt"])
async def test_a_link_that_leads_out_is_not_even_asked_for(cwd: Path, name: str) -> None:
    (cwd / "link.txt").symlink_to("../secret.txt")
    (cwd / "away").symlink_to(cwd.parent)
    (cwd / "new.txt").symlink_to(cwd.parent / "not there yet")
    (cwd / "twice.txt").symlink_to("link.txt")
    editor = Editor(**{Path(name).stem: {"content": "secret"}})
    workspace = through(editor, cwd)
    with pytest.raises(FileRefusedError, match="outside"):
        await workspace.read_text(workspace.path(name))
    with pytest.raises(FileRefusedError, match="outside"):
        await workspace.write_text(workspace.path(name), "x")
    assert editor.asked == []


@pytest.mark.parametrize("name", ["fifo", "link", "src/zero"])
async def test_no_client_is_asked_for_what_is_no_file(cwd: Path, name: str) -> None:
    """It would wait for ever, or read without an end."""
    os.mkfifo(cwd / "fifo")
    (cwd / "link").symlink_to("fifo")
    (cwd / "src" / "zero").symlink_to("/dev/zero")
    editor = Editor(**{name: {"content": "x"}})
    workspace = through(editor, cwd)
    with pytest.raises(FileRefusedError):
        await workspace.read_text(workspace.path(name))
    with pytest.raises(FileRefusedError):
        await workspace.write_text(workspace.path(name), "x")
    assert editor.asked == []


async def test_an_edit_leaves_the_other_name_of_a_file_as_it_was(cwd: Path) -> None:
    """Where the other name lies cannot be told, so it is never written through."""
    (cwd / "inner.txt").hardlink_to(cwd.parent / "secret.txt")
    await Workspace("s", cwd).write_text(str(cwd / "inner.txt"), "new")
    assert (cwd / "inner.txt").read_text() == "new"
    assert (cwd.parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("name", ["link.md", "unsaved.md", "src/new/unsaved.md", "inner/new.md"])
async def test_what_only_the_client_knows_and_a_link_that_stays_inside_is_asked_for(
    cwd: Path, name: str
) -> None:
    (cwd / "link.md").symlink_to("notes.md")
    (cwd / "inner").symlink_to("src")
    for home in (cwd, cwd.parent / "on another machine"):
        workspace = through(Editor(**{Path(name).stem: {"content": "hers"}}), home)
        assert await workspace.read_text(workspace.path(name)) == "hers"
        await workspace.write_text(workspace.path(name), "x")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RequestFailedError(jsonrpc.INTERNAL_ERROR, "the disk is on fire"), "the disk is on fire"),
        ({}, "holds no text"),
        ({"content": None}, "holds no text"),
        ([], "holds no text"),
    ],
)
async def test_an_error_of_the_client_is_an_error_and_never_an_empty_text(
    cwd: Path, answer: Json, reason: str
) -> None:
    workspace = through(Editor(notes=answer), cwd)
    with pytest.raises(FileRefusedError, match=reason):
        await workspace.read_text(workspace.path("notes.md"))


async def test_a_file_that_the_client_misses_is_told_apart(cwd: Path) -> None:
    workspace = through(Editor(), cwd)
    with pytest.raises(FileMissingError):
        await workspace.read_text(workspace.path("gone.md"))


@pytest.mark.parametrize("name", ["gone.md", "gone/too.md", "link.md"])
async def test_a_file_that_the_client_misses_in_its_own_words_is_missed_if_the_disk_has_none(
    cwd: Path, name: str
) -> None:
    """Clients tell it by codes of their own, as -32603."""
    (cwd / "link.md").symlink_to("away.md")
    refusal: Any = RequestFailedError(jsonrpc.INTERNAL_ERROR, "ENOENT")
    stem = Path(name).stem
    with pytest.raises(FileMissingError):
        await through(Editor(**{stem: refusal}), cwd).read_text(str(cwd / name))
    elsewhere = cwd / "on another machine"
    with pytest.raises(FileRefusedError, match="ENOENT") as caught:
        await through(Editor(**{stem: refusal}), elsewhere).read_text(str(elsewhere / name))
    assert not isinstance(caught.value, FileMissingError)


async def test_an_agent_writes_a_new_file_whatever_the_client_says_to_reading_it(cwd: Path) -> None:
    gone = RequestFailedError(jsonrpc.INTERNAL_ERROR, "ENOENT: new.txt")
    answers: dict[str, Json] = {"fs/read_text_file": gone, "fs/write_text_file": {}}
    offered = {"fs": {"readTextFile": True, "writeTextFile": True}}
    async with open_session(cwd, answers=answers, capabilities=offered) as session:
        await session.turn("write new.txt: hi")
    assert session.calls[0]["content"][0]["newText"] == "hi\n"
    written = [
        each.params for each in session.client.requests if each.method == "fs/write_text_file"
    ]
    assert [each["content"] for each in written] == ["hi\n"]


async def test_an_agent_edits_what_stands_in_the_editor(cwd: Path) -> None:
    buffers = {str(cwd / "notes.md"): "unsaved milk\n"}

    def read(params: Json) -> Json:
        return {"content": buffers[params["path"]]}

    def write(params: Json) -> Json:
        buffers[params["path"]] = params["content"]
        return {}

    answers = {"fs/read_text_file": read, "fs/write_text_file": write}
    offered = {"fs": {"readTextFile": True, "writeTextFile": True}}
    async with open_session(cwd, answers=answers, capabilities=offered) as session:
        await session.turn("edit notes.md: milk => bread")
    assert buffers == {str(cwd / "notes.md"): "unsaved bread\n"}
    assert session.calls[0]["content"][0]["oldText"] == "unsaved milk\n"
    assert "Buy milk" in (cwd / "notes.md").read_text()


async def test_a_capability_that_is_no_boolean_is_none(cwd: Path) -> None:
    async with open_session(
        cwd, capabilities={"fs": {"readTextFile": "yes"}}, lints=False
    ) as session:
        await session.turn("read notes.md")
    assert session.client.requests == []
    assert session.calls[0]["statuses"][-1] == "completed"


async def test_a_place_is_looked_up_on_the_disk_and_lies_inside(cwd: Path) -> None:
    workspace = Workspace("s", cwd)
    (cwd / "link").symlink_to("notes.md")
    (cwd / "loop").symlink_to("loop")
    (cwd / "out").symlink_to(cwd.parent / "secret.txt")
    assert await workspace.resolve(str(cwd)) == cwd
    assert await workspace.resolve(str(cwd / "src")) == cwd / "src"
    assert await workspace.resolve(str(cwd / "link")) == cwd / "notes.md"
    for name in ("out", "gone", "loop", "src/gone/x", "../secret.txt"):
        with pytest.raises(FileRefusedError):
            await workspace.resolve(workspace.path(name))


def test_a_path_is_told_from_the_directory_by_whichever_name_that_has(cwd: Path) -> None:
    (cwd.parent / "alias").symlink_to(cwd)
    workspace = Workspace("s", cwd.parent / "alias")
    assert workspace.display_path(cwd / "src" / "main.py") == "src/main.py"
    assert workspace.display_path(cwd.parent / "alias" / "notes.md") == "notes.md"
    assert workspace.display_path(Path("/etc")) == "/etc"


async def test_terminals_are_the_clients_or_nobodys(cwd: Path) -> None:
    editor = Editor()
    assert Workspace("s", cwd, client=editor).terminals is None
    async with BackgroundTasks() as tasks:
        assert Workspace("s", cwd, terminal_tasks=tasks).terminals is None
        offered = Workspace("s", cwd, client=editor, terminal_tasks=tasks)
    assert offered.terminals is not None
