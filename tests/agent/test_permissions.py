"""Decisions by kind and scope."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from acp_agent.permissions.audit import Decision, Verdict
from acp_agent.permissions.decide import ModeId, SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.settings.keys import PolicyId
from acp_agent.tools.call import Outcome, PreparedCall, ReportContent
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.call_rules.subjects import command_subject, path_subject
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from tests.agent.client import selected

SEED = PermissionPolicy(
    "ask_always",
    frozenset({"read", "search", "think"}),
    frozenset({"edit", "delete", "execute"}),
)
"""What the Continuum Router has by default."""


def call(kind: ToolKind, scope: str = "", title: str = "Read") -> PreparedCall:
    async def run(report: ReportContent) -> Outcome:
        del report
        return Outcome("")

    return PreparedCall(title, kind, run, scope=scope)


def command(*words: str) -> PreparedCall:
    return replace(call("execute"), subjects=[command_subject(words)])


def edit(cwd: Path, *names: str) -> PreparedCall:
    subjects = [path_subject(cwd, os.path.normpath(cwd / name)) for name in names]
    return replace(call("edit"), subjects=subjects)


def verdict_of(permissions: SessionPermissions, wanted: PreparedCall) -> Verdict | None:
    found = permissions.decide(wanted)
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
def test_the_mode_and_the_kind_decide(
    mode: ModeId, kind: ToolKind, verdict: Verdict | None
) -> None:
    permissions = SessionPermissions()
    permissions.mode = mode
    assert verdict_of(permissions, call(kind)) == verdict


def test_a_title_decides_nothing() -> None:
    permissions = SessionPermissions()
    assert permissions.decide(call("delete", title="Read notes.md")) is None


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
    permissions = SessionPermissions()
    wanted = call("execute", "ls")
    assert permissions.record_choice(wanted, answer).verdict == verdict
    assert verdict_of(permissions, wanted) == (verdict if is_remembered else None)


def test_always_is_bound_to_kind_and_scope() -> None:
    permissions = SessionPermissions()
    permissions.record_choice(call("execute", "w__look"), selected("allow-always"))
    assert verdict_of(permissions, call("execute", "w__look")) == "allow"
    assert permissions.decide(call("execute", "w__paint")) is None
    assert permissions.decide(call("delete", "w__look")) is None
    assert permissions.decide(command("w__look")) is None
    assert SessionPermissions().decide(call("execute", "w__look")) is None


def test_always_holds_for_a_program_and_what_it_is_told_to_do() -> None:
    permissions = SessionPermissions()
    permissions.record_choice(command("git", "status"), selected("allow-always"))
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
        assert permissions.decide(command(*words)) is None, words


@pytest.mark.parametrize("words", [("./prog",), ("git", "status")])
@pytest.mark.parametrize(("place", "other"), [("", "fx"), ("fx", ""), ("fx", "fx/d")])
def test_always_holds_for_a_command_in_its_directory(
    words: tuple[str, ...], place: str, other: str
) -> None:
    permissions = SessionPermissions()
    here = replace(call("execute"), subjects=[command_subject(words, place)])
    there = replace(call("execute"), subjects=[command_subject(words, other)])
    permissions.record_choice(here, selected("allow-always"))
    assert verdict_of(permissions, here) == "allow"
    assert permissions.decide(there) is None


def test_always_holds_for_the_files_of_a_folder(cwd: Path) -> None:
    permissions = SessionPermissions()
    permissions.record_choice(edit(cwd, "src/main.py"), selected("allow-always"))
    for name in ("src/main.py", "src/new.py", "src/deep/x"):
        assert verdict_of(permissions, edit(cwd, name)) == "allow", name
    (cwd / "src" / "out").symlink_to(cwd)
    for name in ("notes.md", "srcs/x", "src/../notes.md", "src/out/notes.md", "/etc/passwd"):
        assert permissions.decide(edit(cwd, name)) is None, name


def test_a_wide_always_ends_where_the_directory_does(cwd: Path) -> None:
    permissions = SessionPermissions()
    permissions.record_choice(edit(cwd, "src/main.py"), selected("allow-all"))
    assert verdict_of(permissions, edit(cwd, "notes.md")) == "allow"
    assert permissions.decide(edit(cwd, "../secret.txt")) is None


def test_consent_to_several_files_needs_consent_to_each(cwd: Path) -> None:
    permissions = SessionPermissions()
    permissions.record_choice(edit(cwd, "src/a"), selected("allow-always"))
    assert permissions.decide(edit(cwd, "src/a", "notes.md")) is None
    permissions.record_choice(edit(cwd, "notes.md"), selected("reject-always"))
    assert verdict_of(permissions, edit(cwd, "src/a", "notes.md")) == "reject"


def test_a_mode_that_forbids_outweighs_an_earlier_always() -> None:
    permissions = SessionPermissions()
    permissions.record_choice(call("edit"), selected("allow-always"))
    permissions.mode = "architect"
    assert verdict_of(permissions, call("edit")) == "forbidden"


def test_the_options_spell_out_what_always_means(cwd: Path) -> None:
    def names(wanted: PreparedCall) -> list[str]:
        options = SessionPermissions().options(wanted)
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
    decided = SessionPermissions().record_choice(exact, selected("allow-always"))
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
    assert [option["optionId"] for option in SessionPermissions().options(wanted)] == [
        "allow",
        "reject",
        "allow-all",
    ]
    permissions = SessionPermissions()
    assert permissions.record_choice(wanted, selected("allow-always")).verdict == "reject"
    permissions.record_choice(wanted, selected("allow-all"))
    assert verdict_of(permissions, wanted) == "allow"


def test_what_is_asked_about_each_time_offers_no_always() -> None:
    permissions = SessionPermissions()
    permissions.mode, permissions.policy = "code", "allow_all"
    wanted = replace(call("fetch", "localhost"), must_ask=True)
    assert permissions.decide(wanted) is None
    assert [option["optionId"] for option in permissions.options(wanted)] == ["allow", "reject"]
    assert permissions.record_choice(wanted, selected("allow-always")).verdict == "reject"
    assert permissions.decide(wanted) is None


@pytest.mark.parametrize(
    ("rules", "mode", "kind", "expected"),
    [
        (PermissionPolicy("ask_always"), "ask", "read", None),
        (PermissionPolicy("ask_always"), "ask", "think", ("allow", "policy")),
        (PermissionPolicy(always_ask=frozenset({"think"})), "ask", "think", None),
        (PermissionPolicy("allow_all"), "ask", "execute", ("allow", "policy")),
        (PermissionPolicy("allow_read"), "ask", "think", ("allow", "policy")),
        (PermissionPolicy("allow_read"), "ask", "fetch", None),
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
    rules: PermissionPolicy, mode: ModeId, kind: ToolKind, expected: tuple[str, str] | None
) -> None:
    permissions = SessionPermissions(rules)
    permissions.mode = mode
    found = permissions.decide(call(kind))
    assert (found and (found.verdict, found.decided_by)) == expected


def test_the_users_own_always_comes_before_every_list() -> None:
    permissions = SessionPermissions(SEED)
    permissions.record_choice(call("edit"), selected("allow-always"))
    permissions.record_choice(call("read"), selected("reject-always"))
    assert permissions.decide(call("edit")) == Decision("allow", "rule", "edit")
    assert permissions.decide(call("read")) == Decision("reject", "rule", "read")


STANDING = PermissionPolicy(
    "allow_all",
    always_ask=frozenset({"execute"}),
    rules=(
        PolicyRule("allow", "execute", "command", "git status *"),
        PolicyRule("deny", "execute", "command", "git push *"),
        PolicyRule("ask", "edit", "path", "src/**"),
        PolicyRule("deny", None, "path", "secret/**"),
    ),
)


def test_standing_rules_come_before_lists_mode_and_policy(cwd: Path) -> None:
    permissions = SessionPermissions(STANDING)
    permissions.mode = "code"
    status = Decision("allow", "rules", "allow execute git status *")
    assert permissions.decide(command("git", "status", "-s")) == status
    push = Decision("forbidden", "rules", "deny execute git push *")
    assert permissions.decide(command("git", "push")) == push
    assert permissions.decide(command("ls")) is None
    assert permissions.decide(edit(cwd, "src/a")) is None
    assert permissions.decide(edit(cwd, "a")) == Decision("allow", "mode")
    assert verdict_of(permissions, edit(cwd, "a", "secret/a")) == "forbidden"


def test_no_always_outweighs_a_rule_that_denies_and_one_that_asks_can_be_answered(
    cwd: Path,
) -> None:
    permissions = SessionPermissions(STANDING)
    permissions.record_choice(command("git", "push"), selected("allow-always"))
    assert verdict_of(permissions, command("git", "push")) == "forbidden"
    permissions.record_choice(edit(cwd, "src/a"), selected("allow-always"))
    assert verdict_of(permissions, edit(cwd, "src/b")) == "allow"
    permissions.record_choice(command("git", "status"), selected("reject-always"))
    assert verdict_of(permissions, command("git", "status")) == "reject"


def test_a_rule_allows_nothing_in_a_mode_that_forbids_and_no_private_address() -> None:
    permissions = SessionPermissions(
        PermissionPolicy(rules=(PolicyRule("allow", "execute"), PolicyRule("allow", "fetch")))
    )
    wanted = replace(call("fetch", "localhost"), must_ask=True)
    assert permissions.decide(wanted) is None
    permissions.mode = "architect"
    assert verdict_of(permissions, command("ls")) == "forbidden"


def test_a_rule_may_name_the_session_s_own_directory(cwd: Path) -> None:
    rules = PermissionPolicy(rules=(PolicyRule("deny", None, "path", f"{cwd}/secret/**"),))
    assert verdict_of(SessionPermissions(rules, cwd), edit(cwd, "secret/a")) == "forbidden"
    assert SessionPermissions(rules, cwd).decide(edit(cwd, "a")) is None


@pytest.mark.parametrize("policy", ["ask_always", "allow_read", "allow_all"])
def test_a_question_to_the_user_is_its_own_consent(policy: PolicyId) -> None:
    wanted = replace(call("think"), is_elicitation=True)
    permissions = SessionPermissions(PermissionPolicy(policy, always_ask=frozenset({"think"})))
    assert permissions.decide(wanted) == Decision("allow", "question")
    asking = PermissionPolicy(policy, rules=(PolicyRule("ask", "think"),))
    assert permissions.decide(wanted) == SessionPermissions(asking).decide(wanted)
    denying = PermissionPolicy(policy, rules=(PolicyRule("deny", "think"),))
    assert verdict_of(SessionPermissions(denying), wanted) == "forbidden"
