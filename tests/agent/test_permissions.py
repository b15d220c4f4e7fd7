"""Decisions by kind and scope."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from acp_agent.permissions import ModeId, Permissions, Ruling, Verdict
from acp_agent.rules import PermissionRules, PolicyId
from acp_agent.standing import StandingRule
from acp_agent.tools.subject import command_subject, path_subject
from acp_agent.tools.tool import Call, Kind, Outcome, Report
from acp_protocol.jsonrpc import Json
from tests.agent.conftest import selected

SEED = PermissionRules(
    "ask_always",
    frozenset({"read", "search", "think"}),
    frozenset({"edit", "delete", "execute"}),
)
"""What the Continuum Router has by default."""


def call(kind: Kind, scope: str = "", title: str = "Read") -> Call:
    async def run(report: Report) -> Outcome:
        del report
        return Outcome("")

    return Call(title, kind, run, scope=scope)


def command(*words: str) -> Call:
    return replace(call("execute"), subjects=[command_subject(words)])


def edit(cwd: Path, *names: str) -> Call:
    subjects = [path_subject(cwd, os.path.normpath(cwd / name)) for name in names]
    return replace(call("edit"), subjects=subjects)


def verdict_of(permissions: Permissions, wanted: Call) -> Verdict | None:
    found = permissions.known(wanted)
    return found.verdict if found is not None else None


@pytest.mark.parametrize(
    ("mode", "kind", "verdict"),
    [
        ("ask", "read", "allow"),
        ("ask", "search", "allow"),
        ("ask", "edit", None),
        ("ask", "delete", None),
        ("ask", "execute", None),
        ("code", "execute", "allow"),
        ("code", "delete", "allow"),
        ("architect", "read", "allow"),
        ("architect", "think", "allow"),
        ("architect", "fetch", None),
        ("architect", "edit", "forbidden"),
        ("architect", "execute", "forbidden"),
    ],
)
def test_the_mode_and_the_kind_decide(mode: ModeId, kind: Kind, verdict: Verdict | None) -> None:
    permissions = Permissions()
    permissions.mode = mode
    assert verdict_of(permissions, call(kind)) == verdict


def test_a_title_decides_nothing() -> None:
    permissions = Permissions()
    assert permissions.known(call("delete", title="Read notes.md")) is None


@pytest.mark.parametrize(
    ("answer", "verdict", "is_remembered"),
    [
        (selected("allow"), "allow", False),
        (selected("allow-always"), "allow", True),
        (selected("reject"), "reject", False),
        (selected("reject-always"), "reject", True),
        (selected("allow_once"), "reject", False),
        (selected(""), "reject", False),
        ({"outcome": {"outcome": "cancelled"}}, "cancelled", False),
        ({"outcome": {"outcome": "approved", "optionId": "allow"}}, "reject", False),
        ({"outcome": {"outcome": "selected", "optionId": 1}}, "reject", False),
        ({"outcome": "selected", "optionId": "allow"}, "reject", False),
        ({"outcome": None}, "reject", False),
        (None, "reject", False),
        ([], "reject", False),
        ("allow", "reject", False),
    ],
)
def test_an_answer_means(answer: Json, verdict: Verdict, is_remembered: bool) -> None:
    permissions = Permissions()
    wanted = call("execute", "ls")
    assert permissions.decided(wanted, answer).verdict == verdict
    assert verdict_of(permissions, wanted) == (verdict if is_remembered else None)


def test_always_is_bound_to_kind_and_scope() -> None:
    permissions = Permissions()
    permissions.decided(call("execute", "w__look"), selected("allow-always"))
    assert verdict_of(permissions, call("execute", "w__look")) == "allow"
    assert permissions.known(call("execute", "w__paint")) is None
    assert permissions.known(call("delete", "w__look")) is None
    assert permissions.known(command("w__look")) is None
    assert Permissions().known(call("execute", "w__look")) is None


def test_always_holds_for_a_program_and_what_it_is_told_to_do() -> None:
    permissions = Permissions()
    permissions.decided(command("git", "status"), selected("allow-always"))
    assert verdict_of(permissions, command("git", "status", "-s")) == "allow"
    for words in (
        ("git", "push"),
        ("git",),
        ("git", "-c", "core.pager=x", "status"),
        ("git", "status;", "rm", "-rf"),
        ("git status; rm -rf",),
        ("sh", "-c", "git status"),
        ("/tmp/git", "status"),
    ):
        assert permissions.known(command(*words)) is None, words


@pytest.mark.parametrize("words", [("./prog",), ("git", "status")])
@pytest.mark.parametrize(("place", "other"), [("", "fx"), ("fx", ""), ("fx", "fx/d")])
def test_always_holds_for_a_command_in_its_directory(
    words: tuple[str, ...], place: str, other: str
) -> None:
    permissions = Permissions()
    here = replace(call("execute"), subjects=[command_subject(words, place)])
    there = replace(call("execute"), subjects=[command_subject(words, other)])
    permissions.decided(here, selected("allow-always"))
    assert verdict_of(permissions, here) == "allow"
    assert permissions.known(there) is None


def test_always_holds_for_the_files_of_a_folder(cwd: Path) -> None:
    permissions = Permissions()
    permissions.decided(edit(cwd, "src/main.py"), selected("allow-always"))
    for name in ("src/main.py", "src/new.py", "src/deep/x"):
        assert verdict_of(permissions, edit(cwd, name)) == "allow", name
    (cwd / "src" / "out").symlink_to(cwd)
    for name in ("notes.md", "srcs/x", "src/../notes.md", "src/out/notes.md", "/etc/passwd"):
        assert permissions.known(edit(cwd, name)) is None, name


def test_a_wide_always_ends_where_the_directory_does(cwd: Path) -> None:
    permissions = Permissions()
    permissions.decided(edit(cwd, "src/main.py"), selected("allow-all"))
    assert verdict_of(permissions, edit(cwd, "notes.md")) == "allow"
    assert permissions.known(edit(cwd, "../secret.txt")) is None


def test_consent_to_several_files_needs_consent_to_each(cwd: Path) -> None:
    permissions = Permissions()
    permissions.decided(edit(cwd, "src/a"), selected("allow-always"))
    assert permissions.known(edit(cwd, "src/a", "notes.md")) is None
    permissions.decided(edit(cwd, "notes.md"), selected("reject-always"))
    assert verdict_of(permissions, edit(cwd, "src/a", "notes.md")) == "reject"


def test_a_mode_that_forbids_outweighs_an_earlier_always() -> None:
    permissions = Permissions()
    permissions.decided(call("edit"), selected("allow-always"))
    permissions.mode = "architect"
    assert verdict_of(permissions, call("edit")) == "forbidden"


def test_the_options_spell_out_what_always_means(cwd: Path) -> None:
    def names(wanted: Call) -> list[str]:
        options = Permissions().options(wanted)
        assert len({option["optionId"] for option in options}) == len(options)
        return [option["name"] for option in options]

    assert names(command("ls", "-l")) == [
        "Allow",
        "Allow `ls` with any arguments, and do not ask again in this session",
        "Reject",
        "Reject `ls` with any arguments, and do not ask again in this session",
    ]
    below = replace(call("execute"), subjects=[command_subject(("ls", "-l"), "a\x1b/b")])
    assert names(below)[1] == (
        "Allow `ls` with any arguments in a␛/b, and do not ask again in this session"
    )
    exact = replace(call("execute"), subjects=[command_subject(("x", "y"), "/other")])
    assert names(exact)[1] == "Allow exactly `x y` in /other, and do not ask again in this session"
    decided = Permissions().decided(exact, selected("allow-always"))
    assert decided.rule == "execute x y (in /other)"
    assert names(edit(cwd, "src/main.py")) == [
        "Allow",
        "Allow edits under src/, and do not ask again in this session",
        "Reject",
        "Reject edits under src/, and do not ask again in this session",
        "Allow all edits in this directory, and do not ask again in this session",
    ]


def test_always_is_offered_as_far_as_it_can_be_read(cwd: Path) -> None:
    wanted = edit(cwd, "a/x", "b/x", "c/x", "d/x")
    assert [option["optionId"] for option in Permissions().options(wanted)] == [
        "allow",
        "reject",
        "allow-all",
    ]
    permissions = Permissions()
    assert permissions.decided(wanted, selected("allow-always")).verdict == "reject"
    permissions.decided(wanted, selected("allow-all"))
    assert verdict_of(permissions, wanted) == "allow"


def test_what_is_asked_about_each_time_offers_no_always() -> None:
    permissions = Permissions()
    permissions.mode, permissions.policy = "code", "allow_all"
    wanted = replace(call("fetch", "localhost"), asks_always=True)
    assert permissions.known(wanted) is None
    assert [option["optionId"] for option in permissions.options(wanted)] == ["allow", "reject"]
    assert permissions.decided(wanted, selected("allow-always")).verdict == "reject"
    assert permissions.known(wanted) is None


@pytest.mark.parametrize(
    ("rules", "mode", "kind", "expected"),
    [
        (PermissionRules("ask_always"), "ask", "read", None),
        (PermissionRules("ask_always"), "ask", "think", ("allow", "policy")),
        (PermissionRules(always_ask=frozenset({"think"})), "ask", "think", None),
        (PermissionRules("allow_all"), "ask", "execute", ("allow", "policy")),
        (PermissionRules("allow_read"), "ask", "think", ("allow", "policy")),
        (PermissionRules("allow_read"), "ask", "fetch", None),
        (SEED, "ask", "read", ("allow", "auto_allow")),
        (SEED, "ask", "think", ("allow", "auto_allow")),
        (SEED, "ask", "edit", None),
        (SEED, "ask", "move", None),
        (SEED, "ask", "other", None),
        (SEED, "code", "edit", None),
        (SEED, "code", "move", ("allow", "mode")),
        (SEED, "architect", "move", ("forbidden", "mode")),
        (replace(SEED, default_policy="allow_all"), "ask", "edit", None),
        (replace(SEED, default_policy="allow_all"), "ask", "fetch", ("allow", "policy")),
        (replace(SEED, auto_allow=frozenset({"edit"})), "ask", "edit", None),
    ],
)
def test_lists_come_before_the_policy(
    rules: PermissionRules, mode: ModeId, kind: Kind, expected: tuple[str, str] | None
) -> None:
    permissions = Permissions(rules)
    permissions.mode = mode
    found = permissions.known(call(kind))
    assert (found and (found.verdict, found.why)) == expected


def test_the_users_own_always_comes_before_every_list() -> None:
    permissions = Permissions(SEED)
    permissions.decided(call("edit"), selected("allow-always"))
    permissions.decided(call("read"), selected("reject-always"))
    assert permissions.known(call("edit")) == Ruling("allow", "rule", "edit")
    assert permissions.known(call("read")) == Ruling("reject", "rule", "read")


STANDING = PermissionRules(
    "allow_all",
    always_ask=frozenset({"execute"}),
    standing=(
        StandingRule("allow", "execute", "command", "git status *"),
        StandingRule("deny", "execute", "command", "git push *"),
        StandingRule("ask", "edit", "path", "src/**"),
        StandingRule("deny", None, "path", "secret/**"),
    ),
)


def test_standing_rules_come_before_lists_mode_and_policy(cwd: Path) -> None:
    permissions = Permissions(STANDING)
    permissions.mode = "code"
    status = Ruling("allow", "rules", "allow execute git status *")
    assert permissions.known(command("git", "status", "-s")) == status
    push = Ruling("forbidden", "rules", "deny execute git push *")
    assert permissions.known(command("git", "push")) == push
    assert permissions.known(command("ls")) is None
    assert permissions.known(edit(cwd, "src/a")) is None
    assert permissions.known(edit(cwd, "a")) == Ruling("allow", "mode")
    assert verdict_of(permissions, edit(cwd, "a", "secret/a")) == "forbidden"


def test_no_always_outweighs_a_rule_that_denies_and_one_that_asks_can_be_answered(
    cwd: Path,
) -> None:
    permissions = Permissions(STANDING)
    permissions.decided(command("git", "push"), selected("allow-always"))
    assert verdict_of(permissions, command("git", "push")) == "forbidden"
    permissions.decided(edit(cwd, "src/a"), selected("allow-always"))
    assert verdict_of(permissions, edit(cwd, "src/b")) == "allow"
    permissions.decided(command("git", "status"), selected("reject-always"))
    assert verdict_of(permissions, command("git", "status")) == "reject"


def test_a_rule_allows_nothing_in_a_mode_that_forbids_and_no_private_address() -> None:
    permissions = Permissions(
        PermissionRules(standing=(StandingRule("allow", "execute"), StandingRule("allow", "fetch")))
    )
    wanted = replace(call("fetch", "localhost"), asks_always=True)
    assert permissions.known(wanted) is None
    permissions.mode = "architect"
    assert verdict_of(permissions, command("ls")) == "forbidden"


def test_a_rule_may_name_the_session_s_own_directory(cwd: Path) -> None:
    rules = PermissionRules(standing=(StandingRule("deny", None, "path", f"{cwd}/secret/**"),))
    assert verdict_of(Permissions(rules, cwd), edit(cwd, "secret/a")) == "forbidden"
    assert Permissions(rules, cwd).known(edit(cwd, "a")) is None


@pytest.mark.parametrize("policy", ["ask_always", "allow_read", "allow_all"])
def test_a_question_to_the_user_is_its_own_consent(policy: PolicyId) -> None:
    wanted = replace(call("think"), is_question=True)
    permissions = Permissions(PermissionRules(policy, always_ask=frozenset({"think"})))
    assert permissions.known(wanted) == Ruling("allow", "question")
    asking = PermissionRules(policy, standing=(StandingRule("ask", "think"),))
    assert permissions.known(wanted) == Permissions(asking).known(wanted)
    denying = PermissionRules(policy, standing=(StandingRule("deny", "think"),))
    assert verdict_of(Permissions(denying), wanted) == "forbidden"
