"""Looking for a word."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_agent.tools import walk
from acp_agent.tools.call import Content, Outcome, PreparedCall, ToolFailedError
from acp_agent.tools.search import search_tool
from acp_agent.tools.walk import SearchLimits
from acp_agent.world.workspace import Workspace
from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.jsonrpc import Json


async def ignore(content: Content) -> None:
    del content


def ignored_tree(cwd: Path) -> None:
    """Make a repository whose .gitignore files leave out some of what it holds."""
    ignores = {"": "*.log\n!keep.log\n/build/\n*.tmp\n", "src/": "deep/no.txt\n!again.tmp\n"}
    (cwd / ".git").mkdir()
    for name in (
        *("a.log", "keep.log", "build/x.txt", "x.tmp", "src/b.log", "src/build.txt"),
        *("src/deep/no.txt", "src/deep/again.tmp", "web/x.txt"),
    ):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text("needle\n")
    for folder, text in ignores.items():
        (cwd / folder / ".gitignore").write_text(text)


@dataclass
class Engine:
    """Calls the tool, with ripgrep or without it."""

    ripgrep: str

    async def prepare(
        self, workspace: Workspace, arguments: dict[str, Json], **limits: Any
    ) -> PreparedCall:
        tool = search_tool(SearchLimits(ripgrep=self.ripgrep, **limits))
        return await tool.prepare(arguments, workspace)

    async def __call__(self, workspace: Workspace, **arguments: Json) -> Outcome:
        return await (await self.prepare(workspace, arguments)).run(ignore)


@pytest.fixture(params=["rg", ""])
def found(request: pytest.FixtureRequest) -> Engine:
    """Each test holds with ripgrep and without it."""
    if request.param and shutil.which(request.param) is None:
        pytest.skip("ripgrep is not installed")
    return Engine(request.param)


async def test_lines_are_found_in_any_case_and_told_by_file_and_number(
    workspace: Workspace,
    found: Engine,
) -> None:
    outcome = await found(workspace, pattern="ToDo", path=".")
    assert outcome.text == "notes.md:4: TODO: call Ada.\nsrc/main.py:1: print('hi')  # todo later"
    assert outcome.raw == {"hits": 2}


@pytest.mark.parametrize(("path", "hits"), [("src", 1), ("notes.md", 1), ("src/main.py", 1)])
async def test_the_place_bounds_the_search(
    workspace: Workspace, found: Engine, path: str, hits: int
) -> None:
    assert (await found(workspace, pattern="todo", path=path)).raw == {"hits": hits}


async def test_nothing_found_is_said(workspace: Workspace, found: Engine) -> None:
    outcome = await found(workspace, pattern="nowhere")
    assert (outcome.text, outcome.raw) == ("nothing found", {"hits": 0})


@pytest.mark.parametrize(
    ("path", "reason"),
    [("..", "outside"), ("/etc", "outside"), ("gone", "does not exist"), ("out.txt", "outside")],
)
async def test_a_place_that_is_not_there_or_not_ours_fails_the_tool(
    workspace: Workspace, found: Engine, path: str, reason: str
) -> None:
    (workspace.cwd / "out.txt").symlink_to(workspace.cwd.parent / "secret.txt")
    with pytest.raises(ToolFailedError, match=reason):
        await found(workspace, pattern="x", path=path)


async def test_nothing_to_look_for_fails_the_tool(workspace: Workspace, found: Engine) -> None:
    for pattern in ("", "a\nb", "a\0", "x" * 1001):
        with pytest.raises(ToolFailedError, match="nothing to look for"):
            await found(workspace, pattern=pattern)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "t.do"}, []),
        ({"pattern": "t.do", "is_regex": True}, [4, 1]),
        ({"pattern": "TODO", "is_exact": True}, [4]),
        ({"pattern": "^#", "is_regex": True}, [1]),
        ({"pattern": "-e"}, []),
        ({"pattern": "print('"}, [1]),
        ({"pattern": "todo", "files": "*.py"}, [1]),
        ({"pattern": "todo", "files": "src/*"}, [1]),
        ({"pattern": "todo", "files": "*.{md,rst}"}, [4]),
        ({"pattern": "todo", "files": "main.py", "path": "src/main.py"}, [1]),
        ({"pattern": "milk.", "is_regex": True, "is_exact": True}, [3]),
    ],
)
async def test_what_is_looked_for_can_be_told_closer(
    workspace: Workspace, found: Engine, arguments: dict[str, Json], lines: list[int]
) -> None:
    outcome = await found(workspace, **arguments)
    numbers = [int(line.split(":")[1]) for line in outcome.text.splitlines() if ":" in line]
    assert numbers == lines


@pytest.mark.parametrize(
    "arguments", [{"is_regex": "yes"}, {"files": ""}, {"files": 1}, {"path": 1}, {"files": "a{b"}]
)
async def test_arguments_that_make_no_sense_fail_the_tool(
    workspace: Workspace, found: Engine, arguments: dict[str, Json]
) -> None:
    with pytest.raises(ToolFailedError):
        await found(workspace, pattern="x", **arguments)


async def test_a_pattern_that_is_no_regular_expression_fails_the_tool(
    workspace: Workspace, found: Engine
) -> None:
    with pytest.raises(ToolFailedError, match="not a regular expression"):
        await found(workspace, pattern="(", is_regex=True)


async def test_an_additional_directory_is_searched_too(workspace: Workspace, found: Engine) -> None:
    other = workspace.cwd.parent / "other"
    other.mkdir()
    (other / "far.txt").write_text("needle\n")
    wide = Workspace("s", workspace.cwd, additional=[other])
    outcome = await found(wide, pattern="needle", path=str(other))
    assert outcome.text == f"{other / 'far.txt'}:1: needle"


async def test_both_answer_in_the_same_order(workspace: Workspace, found: Engine) -> None:
    for name in ("b.txt", "a/x.txt", "a.txt", "a/b/y.txt", "Z.txt", "a-b.txt"):
        (workspace.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.cwd / name).write_text("needle\n")
    outcome = await found(workspace, pattern="needle")
    assert [line.partition(":")[0] for line in outcome.text.splitlines()] == [
        "Z.txt",
        "a/b/y.txt",
        "a/x.txt",
        "a-b.txt",
        "a.txt",
        "b.txt",
    ]


async def test_links_that_lead_out_hidden_folders_binaries_and_pipes_are_passed_over(
    workspace: Workspace,
    found: Engine,
) -> None:
    cwd = workspace.cwd
    (cwd / "out").symlink_to(cwd.parent)
    (cwd / "out.txt").symlink_to(cwd.parent / "secret.txt")
    (cwd / ".hidden").mkdir()
    (cwd / ".hidden" / "x").write_text("secret")
    (cwd / ".hidden.txt").write_text("secret")
    (cwd / "binary").write_bytes(b"\0secret \xff")
    os.mkfifo(cwd / "fifo")
    assert (await found(workspace, pattern="secret")).raw == {"hits": 0}
    with pytest.raises(ToolFailedError, match="outside"):
        await found(workspace, pattern="secret", path="out")


async def test_what_git_ignores_is_not_searched(workspace: Workspace, found: Engine) -> None:
    ignored_tree(workspace.cwd)
    outcome = await found(workspace, pattern="needle")
    assert outcome.text.splitlines() == [
        "keep.log:1: needle",
        "src/build.txt:1: needle",
        "src/deep/again.tmp:1: needle",
        "web/x.txt:1: needle",
    ]
    below = await found(workspace, pattern="needle", path="src")
    assert below.text.splitlines() == ["src/build.txt:1: needle", "src/deep/again.tmp:1: needle"]
    named = await found(workspace, pattern="needle", path="build")
    assert named.text == "build/x.txt:1: needle"
    assert (await found(workspace, pattern="needle", path="a.log")).raw == {"hits": 1}


async def test_outside_of_a_repository_nothing_is_ignored(
    workspace: Workspace, found: Engine
) -> None:
    (workspace.cwd / ".gitignore").write_text("*.log\n")
    (workspace.cwd / "a.log").write_text("needle\n")
    assert (await found(workspace, pattern="needle")).raw == {"hits": 1}


async def test_limits_are_told(workspace: Workspace, found: Engine) -> None:
    (workspace.cwd / "long.txt").write_text("needle " + "x" * 1000 + "\nneedle\n" * 100)
    outcome = await found(workspace, pattern="needle")
    assert all(len(line) < 250 for line in outcome.text.splitlines())
    assert outcome.raw == {"hits": 100}
    assert outcome.text.endswith("\n… stopped after 100 hits")


async def test_too_many_files_are_not_looked_into(workspace: Workspace, found: Engine) -> None:
    call = await found.prepare(workspace, {"pattern": "o"}, max_files=1)
    assert (await call.run(ignore)).text.splitlines()[-1] == "… stopped after 1 files"


async def test_a_search_that_takes_too_long_is_ended(workspace: Workspace) -> None:
    found = Engine("")
    (workspace.cwd / "evil.txt").write_text(",".join(map(str, range(60))))
    slow: dict[str, Json] = {"pattern": "(.*?,){25}P", "is_regex": True}
    call = await found.prepare(workspace, slow, timeout_s=0.2)
    assert (await call.run(ignore)).text == "… stopped after 0.2 s"
    (workspace.cwd / "evil.txt").write_text("x" * 200_000)
    slow["pattern"] = "(x+x+)+y"
    call = await found.prepare(workspace, slow, timeout_s=3600.0, line_timeout_s=0.05)
    assert (await call.run(ignore)).text == (
        "… stopped after 0.05 s on one line, which the pattern is too slow for"
    )


async def test_what_only_one_engine_knows_is_found_by_it(
    workspace: Workspace, found: Engine
) -> None:
    """Ripgrep refuses a look behind; then the files are read without its help."""
    outcome = await found(workspace, pattern=r"(?<=# )todo", is_regex=True)
    assert outcome.text == "src/main.py:1: print('hi')  # todo later"


async def test_a_search_that_is_no_longer_wanted_stops(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = anyio.Event(), threading.Event()
    read: list[str] = []

    def read_slowly(self: SandboxedFiles, path: str) -> bytes:
        del self
        read.append(path)
        anyio.from_thread.run_sync(begun.set)
        go_on.wait()
        return b""

    monkeypatch.setattr(SandboxedFiles, "read_bytes", read_slowly)
    async with anyio.create_task_group() as tasks:

        async def look() -> None:
            await Engine("")(workspace, pattern="x")

        tasks.start_soon(look)
        await begun.wait()
        tasks.cancel_scope.cancel()
        go_on.set()
    assert len(read) == 1


async def test_no_name_and_no_line_makes_up_another_hit(
    workspace: Workspace, found: Engine
) -> None:
    (workspace.cwd / "a\nnotes.md:7: forged").write_text("needle\rnotes.md:8: forged\n")
    (workspace.cwd / "half.txt").write_bytes(b"needle\n" + b"x" * 200_000 + b"\0")
    (workspace.cwd / "z.txt").write_text("needle\n")
    outcome = await found(workspace, pattern="needle")
    assert outcome.text.splitlines() == [
        "a⏎notes.md:7: forged:1: needle⏎notes.md:8: forged",
        "half.txt:1: needle",
        "z.txt:1: needle",
    ]


async def test_a_pipe_is_not_waited_for(workspace: Workspace, found: Engine) -> None:
    os.mkfifo(workspace.cwd / "fifo")
    with pytest.raises(ToolFailedError, match="not a regular file"):
        await found(workspace, pattern="x", path="fifo")


async def test_what_a_swapped_directory_leads_to_is_not_told(
    workspace: Workspace, found: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ripgrep follows a link that takes a directory's place; here it always does."""
    outside = workspace.cwd.parent / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("secret one\nsecret two\n")
    (outside / "far.py").write_text("secret three\n")
    (workspace.cwd / "src" / "main.py").write_text("secret one\n")
    call = await found.prepare(workspace, {"pattern": "secret", "path": "src"})
    src, away = workspace.cwd / "src", workspace.cwd / "away"
    if found.ripgrep:
        ask = walk.ripgrep_files

        async def ask_outside(place: Path, *arguments: Any) -> Any:
            src.rename(away)
            src.symlink_to(outside)
            through: Any = f"{place}/"
            names = await ask(through, *arguments)
            src.unlink()
            away.rename(src)
            return names

        monkeypatch.setattr(walk, "ripgrep_files", ask_outside)
    else:
        scan = os.scandir

        def swap_and_scan(place: Any) -> Any:
            src.rename(away)
            src.symlink_to(outside)
            return scan(place)

        monkeypatch.setattr(os, "scandir", swap_and_scan)
    outcome = await call.run(ignore)
    assert outcome.text == ("src/main.py:1: secret one" if found.ripgrep else "nothing found")


async def test_text_in_other_encodings_is_told_as_it_is(
    workspace: Workspace, found: Engine
) -> None:
    cwd = workspace.cwd
    (cwd / "a.txt").write_text("needle ä\n", encoding="utf-16")
    (cwd / "b.txt").write_text("needle ä\n", encoding="utf-8-sig")
    (cwd / "c.txt").write_text("needle ä\n", encoding="latin-1")
    outcome = await found(workspace, pattern="needle")
    assert outcome.text.splitlines() == [
        "a.txt:1: needle ä",
        "b.txt:1: needle ä",
        "c.txt:1: needle ?",
    ]
