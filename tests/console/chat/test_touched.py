"""Commands and paths of a tool call are found wherever the agent puts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_console.chat.permissions import AllowLevel, PermissionPrompt, allows
from acp_console.chat.policy_file import PolicyFile, load_policy
from acp_console.chat.touched import commands_of, has_command, paths_of

CHANGE = {"type": "diff", "path": "in.txt", "oldText": "a", "newText": "b"}
ENVELOPE = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch"
GIT = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["/etc", "rm -rf ~"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["command", "args", "path", "changes", "x"]), inner)
    ),
)


def asked(cwd: Path, **call: Any) -> PermissionPrompt:
    return PermissionPrompt(1, "s", call, (), cwd)


def policy(directory: Path, key: str, pattern: str, decision: str = "deny") -> PolicyFile:
    file = directory / "policy.toml"
    file.write_text(f'[[rules]]\n{key} = "{pattern}"\ndecision = "{decision}"\n')
    return load_policy(file)


def verdict(rules: PolicyFile, ask: PermissionPrompt) -> str | None:
    found = rules.decide(ask)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    "call",
    [
        {"kind": "read", "rawInput": {"input": {"command": "rm -rf ~"}}},
        {"kind": "read", "rawInput": [{"CommandLine": "rm -rf ~"}]},
        {"kind": "read", "rawInput": '{"command": "rm -rf ~"}'},
        {"kind": "read", "content": [{"type": "terminal", "terminalId": "t"}]},
        {"content": [CHANGE], "rawInput": {"parameters": {"script": "rm -rf ~"}}},
    ],
)
def test_a_command_at_any_depth_is_no_read_and_no_edit(call: dict[str, Any]) -> None:
    assert not allows("edits", asked(Path("/ada"), **call))


@pytest.mark.parametrize(
    ("level", "call"),
    [
        ("reads", {"kind": "read", "locations": [{"path": "FILE:///etc/passwd"}]}),
        ("reads", {"kind": "read", "rawInput": {"files": {"/etc/passwd": {}}}}),
        ("reads", {"kind": "read", "rawInput": {"context": "/etc/passwd"}}),
        ("reads", {"kind": "read", "rawInput": {"context": "file:///etc/passwd"}}),
        ("reads", {"kind": "read", "rawInput": {"targets": {"/etc/passwd": {}}}}),
        ("reads", {"kind": "read", "rawInput": {"targets": "/etc/passwd\n/etc/shadow\n"}}),
        ("edits", {"kind": "edit", "rawInput": {"path": "a", "changes": {"/etc/passwd": {}}}}),
        ("edits", {"kind": "edit", "rawInput": {"path": "a", "input": ENVELOPE.format("/etc/x")}}),
        ("edits", {"kind": "move", "rawInput": {"path": "a", "old": "a", "new": "/etc/x"}}),
        (
            "edits",
            {
                "kind": "edit",
                "content": [
                    {
                        "type": "diff",
                        "changes": [{"path": "in.txt"}],
                        "patch": {"text": "--- a/in.txt\n+++ /etc/x\n@@ -1 +1 @@\n-a\n+b\n"},
                    }
                ],
            },
        ),
    ],
)
def test_a_path_outside_is_found_wherever_it_stands(
    level: AllowLevel, call: dict[str, Any]
) -> None:
    assert not allows(level, asked(Path("/ada"), **call))


def test_a_link_below_any_name_of_a_path_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    for name in ("file", "target_file", "fileName", "paths", "absolutePath"):
        assert not allows("reads", asked(tmp_path, kind="read", rawInput={name: ["link/passwd"]}))


def test_the_files_that_a_diff_changes_are_its_paths() -> None:
    change = {"operation": "move", "oldPath": "old.txt", "path": "new.txt"}
    content = [{"type": "diff", "changes": [change]}]
    assert paths_of({"kind": "edit", "content": content}) == ("new.txt", "old.txt")


def test_texts_are_no_paths() -> None:
    raw = {"path": "a", "old_string": "/etc", "newText": "/etc", "content": GIT.format("/etc/x")}
    assert paths_of({"kind": "edit", "rawInput": raw}) == ("a",)
    raw = {"path": "a", "old": "/etc", "new": "/etc/x"}
    assert paths_of({"kind": "edit", "rawInput": raw}) == ("a",)


@pytest.mark.parametrize(
    "raw",
    [
        {"script": "rm x"},
        {"commands": ["ls", "rm x"]},
        {"argv": ["rm", "x"]},
        {"command": "ls", "cmd": "rm x"},
        {"command": {"program": "rm", "args": ["x"]}},
        {"input": {"command": "rm x"}},
        "rm x",
        {"command": "bash -lc 'rm x'"},
        {"command": ["/bin/bash", "-l", "-c", "rm x", "name"]},
        {"command": "sudo -u ada rm x"},
        {"command": "if true; then rm x; fi"},
        {"command": "echo `rm x`"},
        {"command": 'echo "$(rm x)"'},
        {"command": ">log rm x"},
        {"command": "cat <<END\nit's\nEND\nrm x"},
        {"command": "echo a # it's\nrm x # it's"},
        {"command": "eval 'rm x'"},
        {"command": "find . -exec rm {} +"},
    ],
)
def test_a_denied_command_is_found_wherever_it_stands(tmp_path: Path, raw: Any) -> None:
    ask = asked(tmp_path, kind="execute", rawInput=raw)
    assert verdict(policy(tmp_path, "command", "rm *"), ask) == "reject"


@pytest.mark.parametrize(
    ("raw", "commands"),
    [
        ({"command": "rm", "args": ["-r", "x"]}, [["rm", "-r", "x"]]),
        ({"command": ["rm", "-r"], "args": ["x"]}, [["rm", "-r", "x"]]),
        ({"commands": ["ls", "rm x"]}, ["ls", "rm x"]),
    ],
)
def test_arguments_belong_to_their_command(raw: Any, commands: list[Any]) -> None:
    assert commands_of({"kind": "execute", "rawInput": raw}) == commands


@pytest.mark.parametrize("raw", [{"command": "man rm"}, {"command": 'git commit -m "a; rm x"'}])
def test_the_word_of_a_denied_command_is_not_the_command(tmp_path: Path, raw: Any) -> None:
    ask = asked(tmp_path, kind="execute", rawInput=raw)
    assert verdict(policy(tmp_path, "command", "rm *"), ask) is None


@pytest.mark.parametrize(
    "raw",
    [
        {"command": "ls", "cmd": "rm x"},
        {"command": "ls", "input": {"script": "rm x"}},
        {"command": "sudo ls"},
        {"command": "bash -c ls rm"},
    ],
)
def test_an_allowed_command_covers_no_other(tmp_path: Path, raw: Any) -> None:
    ask = asked(tmp_path, kind="execute", rawInput=raw)
    assert verdict(policy(tmp_path, "command", "ls *", "allow"), ask) is None


def test_an_allowed_path_covers_no_command(tmp_path: Path) -> None:
    rules = policy(tmp_path, "path", "src/**", "allow")
    for more in ({"script": "rm x"}, {"parameters": {"command": "rm x"}}, {"args": ["rm"]}):
        ask = asked(tmp_path, kind="edit", rawInput={"path": "src/a", **more})
        assert verdict(rules, ask) is None


def test_an_allowed_kind_covers_no_command(tmp_path: Path) -> None:
    rules = policy(tmp_path, "kind", "edit", "allow")
    plain = {"path": "src/a"}
    assert verdict(rules, asked(tmp_path, kind="edit", rawInput=plain)) == "allow"
    ask = asked(tmp_path, kind="edit", rawInput={**plain, "script": "rm x"})
    assert verdict(rules, ask) is None


def test_a_call_with_any_command_is_denied_as_one_that_runs(tmp_path: Path) -> None:
    rules = policy(tmp_path, "kind", "execute")
    for raw in ({"script": "rm"}, {"input": {"command": "rm"}}, {"command": {"program": "rm"}}):
        assert verdict(rules, asked(tmp_path, kind="edit", rawInput=raw)) == "reject"


def test_a_denied_path_is_found_in_every_spelling(tmp_path: Path) -> None:
    rules, file = policy(tmp_path, "path", "secrets/**"), tmp_path / "secrets" / "key"
    calls: list[dict[str, Any]] = [
        {"locations": [{"path": f"file://{file}"}]},
        {"locations": [{"path": f"~{'/..' * 20}{file}"}]},
        {"rawInput": {"file": "secrets/key"}},
        {"rawInput": {"files": [{"fileName": "secrets/key"}]}},
        {"rawInput": {"changes": {"secrets/key": {}}}},
        {"rawInput": {"input": ENVELOPE.format("secrets/key")}},
        {"rawInput": {"patch": GIT.format("secrets/key")}},
        {"rawInput": {"patch": "diff --git a/x b/y\nrename from secrets/key\nrename to y\n"}},
    ]
    found = [verdict(rules, asked(tmp_path, kind="read", **call)) for call in calls]
    assert found == ["reject"] * len(calls)


@given(JSON)
def test_no_input_raises(raw: Any) -> None:
    call = {"kind": "execute", "rawInput": raw}
    assert has_command(call) or not [each for each in commands_of(call) if not isinstance(raw, str)]
    paths_of(call)


@pytest.mark.parametrize("path", ["file://[", "FILE://[x/in.txt", "file:///a\0b"])
def test_an_address_that_is_none_is_outside(path: str, tmp_path: Path) -> None:
    ask = asked(tmp_path, kind="read", locations=[{"path": path}])
    assert not allows("reads", ask)
    assert verdict(policy(tmp_path, "path", "in.txt", "allow"), ask) is None
