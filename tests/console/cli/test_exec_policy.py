"""`acp-console exec --policy FILE`: rules decide what the agent asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from tests.console.conftest import Agent, Call

GIT = """
[[rules]]
command = "git push *"
decision = "deny"

[[rules]]
command = "git *"
decision = "allow"

[[rules]]
kind = "execute"
name = "probe"
title = "Run ?"
decision = "allow"
"""
PATHS = """
[[rules]]
path = "docs/private/**"
decision = "deny"

[[rules]]
kind = "edit"
path = "docs/**"
decision = "allow"

[[rules]]
kind = "edit"
path = "/srv/shared/**"
decision = "allow"
"""


def asking(call: dict[str, Any]) -> str:
    return f"""
prompt = hear_prompt()
say(ask_consent(**json.loads({json.dumps(json.dumps({"toolCallId": "t", **call}))})))
end(prompt)
hear("never")
"""


def shell(command: object, **more: object) -> dict[str, Any]:
    return {"kind": "execute", "rawInput": {"command": command, **more}}


def edit(*paths: str, **more: object) -> dict[str, Any]:
    content = [{"type": "diff", "path": path, "newText": "x"} for path in paths]
    return {"kind": "edit", "content": content, **more}


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


@pytest.mark.parametrize(
    ("wanted", "is_allowed"),
    [
        (shell("git status"), True),
        (shell("git status", cwd="sub"), True),
        (shell(["git", "status"]), True),
        (shell("git status 2>&1"), True),
        (shell("git status 2>/dev/null"), True),
        (shell("git status 2>/dev/nullx"), False),
        (shell("git status 2>&1 | tee x"), False),
        (shell("git", args=["status"]), True),
        (shell(["bash", "-lc", "git status"]), True),
        (shell("git push origin main"), False),
        (shell("git", args=["push"]), False),
        (shell("git status && git push"), False),
        (shell("git status; rm -rf x"), False),
        (shell("git log\nrm -rf x"), False),
        (shell("git log $(rm -rf x)"), False),
        (shell("git log > /etc/passwd"), False),
        (shell(["bash", "-c", "git log | sh"]), False),
        (shell("git 'log"), False),
        (shell("GIT_EXTERNAL_DIFF=./x git diff"), False),
        (shell("git status", cwd="/"), False),
        (shell("rm x"), False),
        (shell("git status") | {"kind": "read"}, True),
        (shell("make") | {"name": "probe", "title": "Run x"}, True),
        (shell("make") | {"name": "other", "title": "Run x"}, False),
        (shell("make") | {"title": "Run x"}, False),
    ],
)
def test_a_command_is_allowed_only_as_the_one_program_that_a_rule_names(
    agent: Agent, call: Call, policy: Path, wanted: dict[str, Any], is_allowed: bool
) -> None:
    policy.write_text(GIT)
    done = call("exec", "--policy", str(policy), "go", "--", *agent(asking(wanted)))
    assert (done.code, done.out) == (exit_codes.DONE, "yes\n" if is_allowed else "no\n")


@pytest.mark.parametrize(
    ("command", "line"),
    [("git push", 2), ("true && git push", 2), ("FORCE=1 /usr/bin/git push -f", 2)],
)
def test_a_denial_finds_its_command_among_others_and_names_its_rule(
    agent: Agent, call: Call, policy: Path, command: str, line: int
) -> None:
    policy.write_text(GIT)
    options = ["--allow", "all", "--policy", str(policy)]
    peer = agent(asking(shell(command)))
    done = call("exec", *options, "--fail-on-refusal", "go", "--", *peer)
    assert (done.code, done.out) == (exit_codes.REFUSED, "no\n")
    assert f"denied by the rule at {policy}:{line}\n" in done.err
    done = call("exec", *options, "--format", "json", "go", "--", *peer)
    events = [json.loads(each) for each in done.out.splitlines()]
    (decided,) = [event["permission"] for event in events if "permission" in event]
    assert (decided["decision"], decided["rule"]) == ("reject", f"{policy}:{line}")


@pytest.mark.parametrize(
    ("wanted", "allow", "is_allowed"),
    [
        (edit("docs/a.md"), "none", True),
        (edit("docs/a.md", "docs/b/c.md"), "none", True),
        (edit("docs/a.md", "src/a.py"), "none", False),
        (edit("docs/a.md", "src/a.py"), "edits", True),
        (edit("src/a.py"), "reads", False),
        (edit("docs/../src/a.py"), "none", False),
        (edit("docs/a.md", rawInput={"command": "rm -r /"}), "none", False),
        (edit("/etc/docs/a.md"), "none", False),
        (edit("/srv/shared/a.md"), "none", True),
        (edit("docs/private/a.md"), "all", False),
        (edit("docs/a.md", "docs/private/a.md"), "all", False),
        (edit("DOCS/Private/a.md"), "all", False),
        ({"kind": "read", "locations": [{"path": "docs/private/a.md"}]}, "reads", False),
        ({"kind": "move", "locations": [{"path": "docs"}]}, "all", False),
        ({"kind": "delete", "locations": [{"path": "docs"}]}, "all", False),
        ({"kind": "delete", "locations": [{"path": "src"}]}, "all", True),
        ({"kind": "edit"}, "edits", False),
    ],
)
def test_a_path_is_decided_by_the_first_rule_that_fits_else_by_the_level(
    agent: Agent,
    call: Call,
    policy: Path,
    tmp_path: Path,
    wanted: dict[str, Any],
    allow: str,
    is_allowed: bool,
) -> None:
    policy.write_text(PATHS)
    options = ["--allow", allow, "--policy", str(policy), "--cwd", str(tmp_path)]
    done = call("exec", *options, "go", "--", *agent(asking(wanted)))
    assert done.out == ("yes\n" if is_allowed else "no\n")


def test_a_link_that_leads_to_a_denied_file_is_denied(
    agent: Agent, call: Call, policy: Path, tmp_path: Path
) -> None:
    policy.write_text(PATHS)
    (tmp_path / "docs" / "private").mkdir(parents=True)
    (tmp_path / "docs" / "open").symlink_to("private")
    options = ["--policy", str(policy), "--cwd", str(tmp_path)]
    done = call("exec", *options, "go", "--", *agent(asking(edit("docs/open/a.md"))))
    assert done.out == "no\n"


def test_an_allowing_rule_reaches_no_path_outside_unless_it_names_one(
    agent: Agent, call: Call, policy: Path, tmp_path: Path
) -> None:
    policy.write_text('[[rules]]\nkind = "edit"\ndecision = "allow"\n')
    options = ["--policy", str(policy), "--cwd", str(tmp_path)]
    assert call("exec", *options, "go", "--", *agent(asking(edit("a")))).out == "yes\n"
    assert call("exec", *options, "go", "--", *agent(asking(edit("/etc/a")))).out == "no\n"
    policy.write_text('[[rules]]\npath = "**"\ndecision = "allow"\n')
    assert call("exec", *options, "go", "--", *agent(asking(edit("/etc/a")))).out == "no\n"
    policy.write_text('[[rules]]\npath = "/**"\ndecision = "allow"\n')
    assert call("exec", *options, "go", "--", *agent(asking(edit("/etc/a")))).out == "yes\n"


def test_what_a_rule_denies_is_not_served_to_an_agent_that_does_not_ask(
    agent: Agent, call: Call, policy: Path, tmp_path: Path
) -> None:
    policy.write_text(
        '[[rules]]\npath = ".env"\ndecision = "deny"\n'
        '[[rules]]\ncommand = "touch *"\ndecision = "deny"\n'
    )
    (tmp_path / ".env").write_text("secret")
    (tmp_path / "a.txt").write_text("open")
    script = """
prompt = hear_prompt()
here = os.getcwd()
for path in ("a.txt", ".env"):
    say(str("result" in ask("fs/read_text_file", path=f"{here}/{path}")) + " ")
say(str("result" in ask("fs/write_text_file", path=here + "/.env", content="x")) + " ")
say(str("result" in ask("terminal/create", command="touch", args=["b"])))
end(prompt)
"""
    options = ["--allow", "all", "--policy", str(policy), "--cwd", str(tmp_path)]
    done = call("exec", *options, "go", "--", *agent("import os\n" + script))
    assert done.out == "True False False False\n"
    assert (tmp_path / ".env").read_text() == "secret"


def test_with_a_policy_that_allows_something_no_mode_that_only_plans_is_chosen(
    agent: Agent, call: Call, policy: Path
) -> None:
    script = """
greet()
modes = [{"id": each, "name": each.title()} for each in ("auto", "plan", "ask")]
tell(id=hear("session/new")["id"],
     result={"sessionId": "s1", "modes": {"currentModeId": "auto", "availableModes": modes}})
tell(id=hear("session/set_mode")["id"], result={})
message = hear("session/prompt")
say("done")
end(message)
hear("never")
"""
    policy.write_text(GIT)
    done = call("exec", "--policy", str(policy), "go", "--", *agent(script))
    assert "mode ask, in which the agent asks" in done.err
    policy.write_text('[[rules]]\nkind = "fetch"\ndecision = "deny"\n')
    done = call("exec", "--policy", str(policy), "go", "--", *agent(script))
    assert "mode plan, the most restrictive" in done.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[rules]]\nkind = edit\n", ":2: not TOML, at column 8: invalid value; put strings"),
        (
            '[[rules]]\nkind = "edits"\ndecision = "deny"\n',
            ":2: rules.1.kind: must be one of read, edit, delete",
        ),
        (
            '[[rules]]\nkind = "edit"\n\ndecision = "ask"\n',
            ":4: rules.1.decision: must be allow or deny: exec cannot ask a person",
        ),
        ('[[rules]]\nkind = "edit"\n', ":1: rules.1.decision: is missing"),
        (
            '[[rules]]\ntitel = "x"\ndecision = "deny"\n',
            ":2: rules.1.titel: unknown key; did you mean title?",
        ),
        ('[[rule]]\nkind = "edit"\n', ":1: rule: unknown key; did you mean rules?"),
        ("rules = 3\n", ":1: rules: must be a list of tables, as in [[rules]]"),
        ('[[rules]]\ndecision = "deny"\n', ":1: rules.1: matches nothing: it needs kind, path"),
        (
            '[[rules]]\ntitle = "*"\ndecision = "allow"\n',
            ":1: rules.1: a title alone allows nothing, because the agent chooses it",
        ),
        (
            '[[rules]]\npath = "../x"\ndecision = "deny"\n',
            ":2: rules.1.path: must be a path without ..",
        ),
        (
            '[[rules]]\ncommand = "git \'x"\ndecision = "deny"\n',
            ":2: rules.1.command: must be words; a quotation has no end",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_the_line_before_the_agent_starts(
    call: Call, policy: Path, text: str, problem: str
) -> None:
    policy.write_text(text)
    done = call("exec", "--policy", str(policy), "go", "--", "no-such-agent")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert done.err.startswith(f"error: {policy}{problem}")
    assert done.err.count("\n") == 1


def test_a_file_that_is_not_there_is_named(call: Call, policy: Path) -> None:
    done = call("exec", "--policy", str(policy), "go", "--", "no-such-agent")
    assert done.code == exit_codes.USAGE
    assert done.err == f"error: {policy}: cannot be read: No such file or directory\n"
