"""Which commands there are, and which prompts are one."""

from __future__ import annotations

import pytest

from acp_agent.models.demo import DemoModel
from acp_agent.turn.slash_commands import (
    COMPACT,
    HELP,
    INIT,
    PERMISSIONS,
    TOOLS,
    USAGE,
    available_commands,
    parse_command,
)
from tests.agent.visits import Counting


def test_a_model_that_understands_words_can_be_given_every_command() -> None:
    assert available_commands(Counting()) == [HELP, TOOLS, USAGE, PERMISSIONS, COMPACT, INIT]


def test_a_scripted_model_keeps_its_own_and_gets_no_tasks() -> None:
    demo = DemoModel()
    assert available_commands(demo) == [*demo.commands, USAGE, PERMISSIONS]
    for text in ("/help", "/tools", "/tour", "/init", "/compact"):
        assert parse_command(text, demo) is None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("/init", ""),
        ("/init  the tests\nare slow ", "the tests\nare slow"),
        ("/init\tx", "x"),
    ],
)
def test_what_stands_behind_a_command_is_its_rest(text: str, rest: str) -> None:
    order = parse_command(text, Counting())
    assert order is not None
    assert (order.command, order.rest) == (INIT, rest)


@pytest.mark.parametrize("text", ["", "/", "/ help", "/helping", "/Help", " /help", "/etc/hosts"])
def test_all_else_is_said_to_the_model(text: str) -> None:
    assert parse_command(text, Counting()) is None
