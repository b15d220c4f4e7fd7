"""`acp-console help`: the pages of the documentation, without a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.help import topics
from tests.console.cli.conftest import on_terminal
from tests.console.conftest import Call

DOCS = Path(__file__).parents[3] / "docs"


def test_it_lists_each_page_of_the_documentation_once(call: Call) -> None:
    pages = {str(each.relative_to(DOCS).with_suffix("")) for each in DOCS.rglob("*.md")}
    reports = {each for each in pages if each.startswith("conformance/")}
    assert topics().keys() == pages - reports - {"index"}
    shown = call("help").out
    listed = re.findall(r"^  ([\w/-]+)  +\S", shown, re.MULTILINE)
    assert listed == list(topics())


@pytest.mark.parametrize("topic", ["tutorial", "docs/tutorial.md"])
def test_a_page_is_printed_as_it_is(call: Call, topic: str) -> None:
    done = call("help", topic)
    assert (done.code, done.out) == (exit_codes.DONE, (DOCS / "tutorial.md").read_text())


@pytest.mark.parametrize("command", ["show", "proxy", "conform"])
def test_a_command_without_a_page_of_its_name_explains_itself(call: Call, command: str) -> None:
    assert command not in topics()
    assert call("help", command).out == call(command, "--help").out


def test_a_page_is_drawn_on_a_terminal_and_names_other_pages_as_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PAGER", "cat")
    shown = on_terminal("help", "agent-hangs").out
    assert "](" not in shown
    assert "My agent hangs: what now" in shown
    assert "(intercept)" in re.sub(r"\x1b\[[\d;]*m", "", shown)


def test_a_mistyped_topic_is_told_what_was_meant(call: Call) -> None:
    done = call("help", "tutoral")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert done.err.endswith("hint: did you mean tutorial?\n")
