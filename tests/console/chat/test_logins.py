"""The ways to log in that agents offer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acp_console.agents.spec import command_agent
from acp_console.chat.logins import describe_login, login_hint, login_methods

TERMINAL = {"id": "cli", "type": "terminal", "args": ["login"]}
BROWSER = {"id": "web", "name": "With a browser"}
KEY = {"id": "key", "type": "env_var", "vars": [{"name": "A_KEY"}, {"name": "B_URL"}]}


@pytest.mark.parametrize(
    ("methods", "hint"),
    [
        ([TERMINAL], "acp-console agents login mine does it"),
        ([BROWSER], "acp-console agents login mine does it; or exec --auth web"),
        ([KEY], "set A_KEY or B_URL"),
        ([BROWSER, KEY], "acp-console agents login mine does it; or exec --auth web; or set A_KEY"),
        ([], "known for mine: mine auth"),
        ([{"id": 7}], "known for mine: mine auth"),
    ],
)
def test_a_hint_for_a_login_names_what_the_agent_offers(methods: list[Any], hint: str) -> None:
    agent = replace(command_agent(["mine"]), is_named=True, sign_in="mine auth")
    found = login_hint(agent, login_methods(methods, agent))
    assert found.startswith(hint)
    assert found.endswith("known for mine: mine auth")


def test_a_hint_for_a_login_of_a_command_says_how_to_name_it() -> None:
    agent = command_agent(["mine"])
    assert login_hint(agent, login_methods([TERMINAL, BROWSER], agent)) == (
        "acp-console agents login does it, with the command after --; or exec --auth web"
    )
    assert login_hint(agent, []) == ("log in with the agent's own program, or set its key")


def test_a_login_is_described_with_the_command_that_it_runs() -> None:
    agent = command_agent(["mine"])
    meta = {"terminal-auth": {"command": "mine", "args": ["auth"], "env": {"A": "1"}}}
    methods = [TERMINAL, BROWSER, {"id": "old", "name": "Old", "_meta": meta}]
    assert [describe_login(each) for each in login_methods(methods, agent)] == [
        "cli (run: mine login)",
        "web (With a browser)",
        "old (Old; run: A=1 mine auth)",
    ]
