"""What models are told of the tools."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from acp_agent.models.demo import script
from acp_agent.models.types import PromptMessage, ToolUse
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.tools.call import (
    MAX_REASON_CHARS,
    MAX_TEXT_CHARS,
    NAME_WIDTH,
    Content,
    ToolFailedError,
)
from acp_agent.tools.registry import builtin_tools
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json

TOOLS = builtin_tools()


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_what_it_does_and_what_it_takes(name: str) -> None:
    offer = TOOLS[name].offer
    assert offer.name == name
    assert offer.description.endswith(".")
    Draft202012Validator.check_schema(offer.parameters)
    assert offer.parameters["type"] == "object"


@pytest.mark.parametrize(
    "prompt",
    [
        "read a",
        "search a",
        "list a b",
        "find *.py",
        "fetch https://example.com/?a=b&c",
        'call patch {"patch": "x"}',
        'call plan {"steps": [{"content": "x", "status": "pending"}]}',
        "call think thought=x",
        "move a to b",
        "edit a",
        "edit a: b => c",
        "write a: b",
        "delete a",
        "run a b",
        "/tour",
    ],
)
def test_what_the_demo_model_calls_fits_what_it_is_told(prompt: str) -> None:
    running = script(PromptMessage(prompt))
    call = next(event for event in running if isinstance(event, ToolUse))
    schema = TOOLS[call.name].offer.parameters
    given = {name: value for name, value in call.arguments.items() if value is not None}
    assert list(Draft202012Validator(schema).iter_errors(given)) == []


HARMLESS = sorted(TOOLS.keys() - {"run", "fetch"})
"""Tools that can be run with whatever a model makes up: these two reach beyond the directory."""
NAMES = [
    *("notes.md", "src", "gone", "new/x", "..", "../secret.txt", "/", "/etc/passwd", ".", "", "~"),
    *("a\0b", "\ud800", "x" * 300, "x" * 5000, "a/" * 3000, "fifo", "out", "out/secret.txt"),
    *("loop", "zero", "proc/environ", "binary", "crlf", "mark", "shut", "line\nname", "/dev/stdin"),
    *("-rf", "*", "**/" * 60, "{a,", "[", "(a+)+$", "((a{1000}){1000}){1000}", "\u202e", "\x1b[2J"),
]
PATCHES = [
    "--- a\n+++ b\n",
    "--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-# Notes\n+x\n" * 2,
    "--- a/notes.md\n+++ b/notes.md\n@@ -9,9 +9,9 @@\n x\n",
    "--- a/notes.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
    "--- a/crlf\n+++ b/crlf\n@@ -1 +1 @@\n-a\n+b\n",
    "--- a/fifo\n+++ b/fifo\n@@ -1 +1 @@\n-a\n+b\n",
    "@@ -1 +1 @@\n",
]
LEAVES: st.SearchStrategy[Json] = (
    st.sampled_from(NAMES)
    | st.sampled_from(PATCHES)
    | st.sampled_from([None, True, False, 0, -1, 1, 1.5, float("inf"), 10**400])
    | st.text(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["new", "old", "all", "content", "status"]), inner)
    ),
    max_leaves=5,
)


def furnished(folder: Path) -> Path:
    """Return a session's directory with all that a name may turn out to be."""
    cwd = folder / "work"
    (cwd / "src").mkdir(parents=True)
    (folder / "secret.txt").write_text("secret")
    (cwd / "notes.md").write_text("# Notes\n")
    for name, target in (("out", ".."), ("loop", "loop"), ("zero", "/dev/zero")):
        (cwd / name).symlink_to(target)
    (cwd / "proc").symlink_to("/proc/self")
    os.mkfifo(cwd / "fifo")
    (cwd / "binary").write_bytes(bytes(range(256)))
    (cwd / "crlf").write_bytes(b"a\r\nb\r\n")
    (cwd / "mark").write_bytes(b"\xef\xbb\xbfa\n")
    (cwd / "shut").mkdir(0)
    (cwd / "line\nname").write_text("x")
    return cwd


def checked(reason: str) -> str:
    """Return why a tool has failed: there is a reason, it is short, and can be sent."""
    assert 0 < len(reason) <= MAX_REASON_CHARS + 1
    assert reason.encode()
    return reason


async def called(name: str, arguments: dict[str, Json], workspace: Workspace) -> str:
    """Return what a model is told of a call; whatever else is told has a form on the wire."""

    async def report(content: Content) -> None:
        json.dumps(list(content), ensure_ascii=False).encode()

    try:
        call = await TOOLS[name].prepare(arguments, workspace)
        SessionPermissions().options(call)
        assert len(call.title) <= 3 * NAME_WIDTH
        outcome = await call.run(report)
    except ToolFailedError as problem:
        return checked(str(problem))
    shown = [*call.content, *outcome.content, *call.locations, dict(outcome.raw)]
    json.dumps(shown, ensure_ascii=False).encode()
    assert len(outcome.text) < MAX_TEXT_CHARS + 1000
    return outcome.text


@pytest.mark.parametrize("name", HARMLESS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
async def test_whatever_a_model_makes_up_ends_in_a_clear_result(
    name: str, data: st.DataObject
) -> None:
    members = list(TOOLS[name].offer.parameters["properties"])
    told = st.dictionaries(st.sampled_from([*members, "nonsense"]), VALUES)
    likely = st.fixed_dictionaries(dict.fromkeys(members, LEAVES))
    arguments = data.draw(told | likely)
    with tempfile.TemporaryDirectory() as folder:
        cwd = furnished(Path(folder))
        told_back = await called(name, arguments, Workspace("s", cwd))
        assert "secret" not in told_back.replace("secret.txt", "")
        assert sorted(each.name for each in Path(folder).iterdir()) == ["secret.txt", "work"]
        assert Path(folder, "secret.txt").read_text() == "secret"


def grow(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 * 2**20)


def spoil(path: Path) -> None:
    path.write_bytes(b"\xff")


@pytest.mark.parametrize(
    ("name", "make", "arguments", "reason"),
    [
        ("read", grow, {}, "larger than"),
        ("edit", grow, {"new": "y"}, "larger than"),
        ("read", spoil, {}, "not UTF-8 text"),
        ("read", Path.mkdir, {}, "is a directory"),
        ("write", Path.mkdir, {"text": "x"}, "is a directory"),
        ("write", os.mkfifo, {"text": "x"}, "not a regular file"),
        ("list", Path.touch, {}, "not a directory"),
        ("search", os.mkfifo, {"pattern": "x"}, "not a regular file"),
    ],
)
async def test_what_cannot_be_done_is_told_plainly(
    workspace: Workspace,
    name: str,
    make: Callable[[Path], object],
    arguments: dict[str, Json],
    reason: str,
) -> None:
    make(workspace.cwd / "it")
    assert reason in await called(name, {"path": "it", **arguments}, workspace)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run", {"command": ["\0"]}),
        ("run", {"command": [""]}),
        ("run", {"command": ["\ud800"]}),
        ("run", {"command": ["src"]}),
        ("run", {"command": ["x" * 200_000]}),
        ("run", {"command": "true"}),
        ("run", {"command": ["true"], "seconds": float("inf")}),
        ("run", {"command": ["true"], "cwd": ".."}),
        ("fetch", {"url": "http://[::1"}),
        ("fetch", {"url": "http://a b/\r\nX: y"}),
        ("fetch", {"url": "file:///etc/passwd"}),
        ("fetch", {"url": ["http://x"]}),
        ("fetch", {"url": "http://" + "a" * 5000}),
    ],
)
async def test_no_program_and_no_address_is_made_of_nonsense(
    workspace: Workspace, name: str, arguments: dict[str, Json]
) -> None:
    with pytest.raises(ToolFailedError) as failed:
        await (await TOOLS[name].prepare(arguments, workspace)).run(ignore)
    assert len(str(failed.value)) <= MAX_REASON_CHARS + 1


async def ignore(content: Content) -> None:
    del content
